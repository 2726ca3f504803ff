// SPDX-License-Identifier: Apache-2.0
#include "protection/commands.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "base/limits.h"
#include "base/text.h"
#include "protection/harmless.h"
#include "protection/line_text.h"
#include "protection/operator_commands.h"
#include "protection/programs.h"
#include "shell/effects.h"
#include "shell/find.h"
#include "shell/parse.h"

namespace baton::protection {
namespace {

using shell::Command;
using shell::Word;

constexpr std::size_t kLoopedMax = 8;                               // values of loops that are looked at
constexpr int kReadAgainMax = 2;                                    // expansions that lead to others: `x=~/a; y=$x/b`
constexpr std::size_t kReadAgainWork = 2048, kReadAgainWeight = 6;  // of work: a line, and a byte of it
constexpr std::size_t kSpelledMin = 3;                              // letters of a pattern that say what it becomes
constexpr std::string_view kMentioned = "something of Baton's in the command";

// --- words of programs that write into a folder

struct Operands {
  std::vector<const Word*> words;
  std::optional<Word> target = {};  // of -t, -C, -d
  bool recursive = false;
  std::string letters = {};  // of short options
};

// How options of a program name the folder that is written into: `-t x`, `-tx`, `-rtx`, `--target-directory=x`, `--target-d x`.
struct Into {
  std::string_view exact = {};                     // whole words; the next one is the folder
  char letter = '\0';                              // in any cluster of short options
  std::string_view long_option = {};               // abbreviated or not
  std::string_view values = {}, long_values = {};  // other options with a value that is no operand; long ones in full
};
constexpr Into kTargetFolder = {
    .letter = 't',
    .long_option = "target-directory",
    .values = "Sgmo",
    .long_values = "suffix suffi suff suf su mode mod mo owner owne own ow group grou gro gr strip-program"};
constexpr Into kOfRsync = {
    .values = "efBTM",
    .long_values =
        "exclude include exclude-from include-from files-from filter rsh rsync-path backup-dir suffix "
        "temp-dir compare-dest copy-dest link-dest chmod chown usermap groupmap block-size max-size "
        "min-size timeout contimeout port sockopts password-file log-file log-file-format out-format "
        "bwlimit partial-dir compress-level compress-choice checksum-choice skip-compress modify-window "
        "remote-option info debug address protocol iconv checksum-seed max-delete max-alloc"};
constexpr Into kOfScp = {.values = "cDFiJloPSX"};

// The part of a word behind its first characters: the value of an option.
Word value_in(const Word& word, std::size_t from) {
  Word out = word;
  out.text.erase(0, from);
  return out;
}

Operands operands_of(const Command& command, const Into& into) {
  Operands out;
  bool options = true;
  for (std::size_t at = 1; at < command.words.size(); ++at) {
    const Word& word = command.words[at];
    const std::string_view text = word.text;
    const auto take_next = [&] {
      if (at + 1 < command.words.size()) out.target = command.words[++at];
    };
    if (options && word.is("--")) {
      options = false;
    } else if (!options || text.size() < 2 || text.front() != '-') {
      out.words.push_back(&word);
    } else if (is_one_of(text, into.exact)) {
      take_next();
    } else if (text.starts_with("--")) {
      if (text.starts_with("--r") || text.starts_with("--a")) out.recursive = true;
      const std::size_t sign = text.find('=');
      const std::string_view name = text.substr(2, sign == text.npos ? text.npos : sign - 2);
      if (!name.empty() && into.long_option.starts_with(name)) {
        if (sign != text.npos) out.target = value_in(word, sign + 1);
        else take_next();
      } else if (sign == text.npos && is_one_of(name, into.long_values)) {
        ++at;
      }
    } else {
      for (std::size_t letter = 1; letter < text.size(); ++letter) {
        const bool is_folder = into.letter != '\0' && text[letter] == into.letter;
        const bool is_glued = letter + 1 < text.size() || !word.is_literal();
        if (is_folder && is_glued) out.target = value_in(word, letter + 1);
        else if (is_folder) take_next();
        else if (into.values.find(text[letter]) == text.npos) out.letters += text[letter];
        else if (!is_glued) ++at;
        if (is_folder || into.values.find(text[letter]) != text.npos) break;
      }
      if (text.find_first_of("rRa") != text.npos) out.recursive = true;
    }
  }
  return out;
}

// The words of tar in order: folders that it changes into, and the others.
struct TarWord {
  Word word;
  bool is_folder = false;  // of -C: taken in the folder before it
};
struct TarWords {
  std::vector<TarWord> words = {};
  std::string letters = {};  // of short options
};
// Which letters have a value differs between GNU tar and bsdtar, and `tar` may be either: both are read.
constexpr std::array<std::string_view, 2> kTarValues = {"bCfFgHIKLNTVX", "bCfIsTXW"};
TarWords tar_words(const Command& command, std::string_view values) {
  TarWords out;
  bool options = true;
  std::size_t at = 1;
  const auto add = [&](const Word& word, bool is_folder) { out.words.push_back({word, is_folder}); };
  // A cluster without a dash, `tar xfC x.tar folder`: the values are the next words, in this order.
  if (command.words.size() > 1 && command.words[1].is_literal() && !command.words[1].text.starts_with('-')) {
    add(command.words[1], false);
    out.letters = command.words[1].text;
    for (const char letter : out.letters)
      if (values.find(letter) != values.npos && at + 1 < command.words.size()) add(command.words[++at], letter == 'C');
    ++at;
  }
  for (; at < command.words.size(); ++at) {
    const Word& word = command.words[at];
    const std::string_view text = word.text;
    const bool has_next = at + 1 < command.words.size();
    if (options && word.is("--")) {
      options = false;
    } else if (!options || text.size() < 2 || text.front() != '-') {
      add(word, false);
    } else if (text.starts_with("--")) {
      const std::size_t sign = text.find('=');
      const std::string_view name = text.substr(2, sign == text.npos ? text.npos : sign - 2);
      const bool is_folder = name == "cd" || (name.size() > 1 && std::string_view("directory").starts_with(name));
      if (!is_folder) add(word, false);
      else if (sign != text.npos) add(value_in(word, sign + 1), true);
      else if (has_next) add(command.words[++at], true);
    } else {
      for (std::size_t letter = 1; letter < text.size(); ++letter) {
        out.letters += text[letter];
        if (values.find(text[letter]) == values.npos) continue;
        const bool is_folder = text[letter] == 'C';
        if (letter + 1 < text.size() || !word.is_literal()) add(value_in(word, letter + 1), is_folder);
        else if (has_next) add(command.words[++at], is_folder);
        break;
      }
    }
  }
  return out;
}
bool is_tar(std::string_view program) { return is_one_of(program, "tar gtar bsdtar star"); }
void enter(std::vector<std::string>& folders, std::string_view into) {
  for (std::string& folder : folders)
    folder = into.starts_with('/') ? std::string(into) : folder + "/" + std::string(into);
}

class Line {
 public:
  // `times_read`: how often its expansions were put in.
  Line(Guarded& guarded, std::string_view line, std::string_view cwd, int times_read = 0)
      : guarded_(guarded),
        line_(line),
        cwd_(cwd),
        times_read_(times_read),
        parsed_(shell::parse(line)),
        effects_(shell::effects_of(parsed_, cwd)) {}

  std::optional<Touch> look() {
    if (auto others = operator_command(parsed_)) return Touch{std::move(*others), true};
    if (cwd_.starts_with('/') && guarded_.find(cwd_).guard == Guard::Secret) return Touch{std::string(cwd_), true};
    find_folders();
    for (const char* option : {"dotglob", "globdots", "GLOB_DOTS", "glob_dots", "globdot"})
      if (line_.find(option) != line_.npos) guarded_.dots = true;
    effects();
    for (const Command& command : parsed_.commands) {
      if (is_over()) break;
      words(command);
      trees(command);
    }
    if (!is_over()) mentions();
    if (!is_over()) read_again();
    takes_ends_ = true;
    for (const Command& command : parsed_.commands)
      if (!is_over()) trees(command);
    if (!is_over() && handles_settings_) touch_ = Touch{std::string(kMentioned), true};
    if (is_over() && !touch_) touch_ = Touch{"more paths than are looked through", true};
    return std::move(touch_);
  }

 private:
  using Found = Guarded::Found;
  using Mention = Guarded::Mention;

  // The rest of the line makes no difference.
  bool is_over() const { return touch_ || guarded_.is_exhausted(); }
  void touch(const Found& found) { touch(found.path); }
  void touch(std::string path) {
    if (touch_) return;
    const std::string whole = shell::normalised("", path);
    touch_ = Touch{whole.empty() ? std::move(path) : whole, true};
  }

  // A path that is only named is one that is read, or one that a program of which nothing is known may write.
  bool is_touched(Guard guard) const {
    return guard == Guard::Secret || (guard == Guard::Fixed && !effects_.writes_known);
  }

  // `cd /tmp && unzip x.zip`: nothing runs unless it went there. Nothing: that is not so, or not certain.
  std::optional<std::string> only_folder() const {
    if (parsed_.opaque() || parsed_.steps.empty()) return std::nullopt;
    const shell::Step& step = parsed_.steps.front();
    if (!step.simple || step.negated || step.background || step.members != 1) return std::nullopt;
    const auto is_joined = [](const shell::Step& later) { return later.joined == shell::Step::Joined::And; };
    if (!std::all_of(parsed_.steps.begin() + 1, parsed_.steps.end(), is_joined)) return std::nullopt;
    for (const Command& command : parsed_.commands) {
      const bool is_first = &command == &parsed_.commands.front();
      if (command.list != 0 || !command.assignments.empty()) return std::nullopt;
      if (is_first != (program_of(command) == "cd") ||
          is_one_of(program_of(command), "pushd popd chdir env genv sudo doas make gmake"))
        return std::nullopt;
    }
    const std::vector<Word>& words = parsed_.commands.front().words;
    // Not by CDPATH.
    if (words.size() != 2 || !words[1].is_literal() ||
        !(words[1].text.starts_with('/') || words[1].text.starts_with("./")))
      return std::nullopt;
    const std::string out = shell::normalised(cwd_, words[1].text);
    return out.empty() ? std::nullopt : std::optional(out);
  }

  // Where a relative path may be taken: `cd` may or may not have happened.
  void find_folders() {
    if (auto only = only_folder()) {
      folders_ = {std::move(*only)};
      return;
    }
    if (!cwd_.starts_with('/')) {
      folders_ = guarded_.folders();
    } else {
      folders_ = {std::string(cwd_)};
    }
    enters_of(false);
    enters_known();
    enters_of(true);
  }
  // `unknown`: of words that an expansion decides, or of the others.
  void enters_of(bool unknown) {
    for (const Command& command : parsed_.commands) {
      const std::string_view program = program_of(command);
      const bool launches = is_one_of(program, "env genv sudo doas make gmake");  // `env -C folder`
      const bool is_find = (program == "find" || program == "gfind") && runs_where_it_finds(command);
      if (!launches && !is_find && !is_one_of(program, "cd pushd chdir")) continue;
      for (std::size_t at = 1; at < command.words.size(); ++at) {
        const Word& word = command.words[at];
        if ((word.kind == Word::Kind::Unknown) != unknown) continue;
        const std::string whole = folder_of(word);
        std::string_view text = whole;
        if (is_find && word.text.starts_with('-')) {
          if (is_one_of(word.text, "-H -L -P --") || word.text.starts_with("-O")) continue;
          break;
        }
        if (launches) {
          const bool is_long = text.starts_with("--chdir=") || text.starts_with("--directory=");
          const bool is_glued = text.size() > 2 && (text.starts_with("-C") || text.starts_with("-D"));
          if (is_long) text.remove_prefix(text.find('=') + 1);
          else if (is_glued) text.remove_prefix(2);
          else if (!is_one_of(command.words[at - 1].text, "-C -D --chdir --directory")) continue;
        }
        if (!text.empty() && !text.starts_with('-')) enters(text);
      }
    }
  }
  // `cd ~/x`, `cd "$HOME/x"`
  void enters_known() {
    const std::string text = unquoted(line_);
    const std::vector<std::string_view> words = words_in(text);
    const Values known = values().front();
    for (std::size_t at = 0; at + 1 < words.size(); ++at) {
      if (!is_one_of(words[at], "cd pushd")) continue;
      const std::string_view word = words[at + 1];
      std::string to = substituted(std::string(word), known);
      if (word == "~" || word.starts_with("~/")) to = guarded_.home() + std::string(word.substr(1));
      if (to != word && to.find('$') == to.npos) enters(to);
    }
  }
  // `find x -execdir`
  static bool runs_where_it_finds(const Command& command) {
    return std::ranges::any_of(command.words,
                               [](const Word& word) { return word.is("-execdir") || word.is("-okdir"); });
  }
  // The folder that a word names, with its wildcards. What is behind an expansion is taken in a folder of which nothing is known: `cd
  // "$x/.claude"`, `cd "$x.claude"`. Empty: only the expansion decides it.
  static std::string folder_of(const Word& word) {
    if (word.kind == Word::Kind::Pattern) return word.text + word.rest;
    if (word.kind != Word::Kind::Unknown) return word.text;
    std::string_view rest = word.rest;
    while (rest.starts_with(' ')) rest.remove_prefix(1);
    if (!word.text.empty()) return word.text + "*" + std::string(rest);
    if (rest.find_first_not_of("/.") == rest.npos) return {};
    return (rest.starts_with('/') ? "/0" : "/0/") + std::string(rest);
  }
  void enters(std::string_view text) {
    if (is_pattern(text))
      if (const Braces braces = without_braces(text); braces.texts.size() > 1) {
        if (!braces.is_all) guarded_.exhaust();
        for (const std::string& one : braces.texts) enters(one);
        return;
      }
    const std::vector<std::string> before = folders_;
    for (const std::string& folder : before) {
      if (folders_.size() < limits::kShellFoldersMax)
        folders_.push_back(text.starts_with('/') ? std::string(text) : folder + "/" + std::string(text));
      // What is done in a folder beyond the bound is not seen.
      else if (const Found found = find(text); found.guard != Guard::None || found.holds_by_name) return touch(found);
    }
  }

  void effects() {
    const bool takes_away = runs_one_of(parsed_, kTakesAway);
    const std::set<std::string> only_searched = takes_away ? searched_folders() : std::set<std::string>();
    for (const std::string& path : effects_.writes) {
      if (is_over()) return;
      const Found found = guarded_.find(path);
      if (found.guard != Guard::None || (takes_away && found.holds && !only_searched.contains(path)))
        return touch(path);
    }
    // What is said of these words is said in words().
    std::set<std::string> told, shown;
    for (const Command& command : parsed_.commands) {
      const bool reads = only_reads(command);
      const ToldWords told_words(command);
      for (std::size_t at = 1; at < command.words.size(); ++at) {
        const bool is_only_told = command.words[at].is_literal() && told_words.has(at);
        if (!is_only_told && (!reads || !command.words[at].is_literal())) continue;
        for (const std::string& in : folders_)
          (is_only_told ? told : shown).insert(shell::normalised(in, command.words[at].text));
      }
    }
    for (const std::string& path : effects_.paths) {
      if (told.contains(path)) continue;
      if (is_over()) return;
      const Guard guard = guarded_.find(path).guard;
      if (is_touched(guard) && (guard == Guard::Secret || !shown.contains(path))) return touch(path);
    }
  }

  // Folders that stand for what a pattern, or a search for leftovers, finds in them (`rm *.log`), and that no other word of the line names.
  std::set<std::string> searched_folders() {
    std::set<std::string> out, named;
    for (const Command& command : parsed_.commands) {
      const std::string_view program = program_of(command);
      const bool is_find = program == "find" || program == "gfind", removes = is_one_of(program, kTakesAway);
      if (is_find && !clears_leftovers(command)) return {};
      if (command.via == "find") continue;  // what a find starts was looked at there
      for (const std::string& in : folders_)
        if (is_find) out.insert(shell::normalised("", in));
      for (std::size_t at = 1; at < command.words.size(); ++at) {
        const Word& one = command.words[at];
        const bool is_pattern = removes && one.kind == Word::Kind::Pattern;  // removes() looks at the pattern itself
        const std::size_t slash = one.text.rfind('/');
        std::string_view folder = one.text;
        if (is_pattern) folder = slash == one.text.npos ? "." : folder.substr(0, slash + 1);
        for (const std::string& in : folders_)
          (is_pattern || is_find ? out : named).insert(shell::normalised(in, folder));
      }
    }
    for (const std::string& one : named) out.erase(one);
    return out;
  }
  // Does every `find` of the line clear leftovers, and nothing else?
  bool only_clears() {
    if (!only_clears_)
      only_clears_ = std::ranges::all_of(parsed_.commands, [](const Command& command) {
        return program_of(command) != "find" || clears_leftovers(command);
      });
    return *only_clears_;
  }

  // --- words

  // The text of a word with its wildcards; nothing: an expansion decides it. In the end, what is behind an expansion is taken in a folder of
  // which nothing is known: `$x/.claude`.
  std::optional<std::string> text_of(const Word& word) const {
    if (word.kind == Word::Kind::Unknown) {
      const std::size_t slash = word.rest.find('/');
      if (!takes_ends_ || slash == word.rest.npos || slash + 1 == word.rest.size()) return std::nullopt;
      return "/0" + word.rest.substr(slash);
    }
    return word.kind == Word::Kind::Pattern ? word.text + word.rest : word.text;
  }

  // `shown`: it is only read.
  void word(const Word& word, bool shown = false) {
    const auto is_touched = [&](Guard guard) { return this->is_touched(guard) && (!shown || guard == Guard::Secret); };
    const auto text = text_of(word);
    if (is_over() || !text) return;
    if (text->size() > limits::kShellPathBytesMax) {
      // What a pattern becomes may be short.
      if (word.kind == Word::Kind::Pattern) find(*text);
      if (is_touched(guarded_.mentioned(*text, Mention::Begins))) touch_ = Touch{std::string(kMentioned), true};
      return;
    }
    const Found found = guarded_.find_any(*text, &folders_);
    if (is_touched(found.guard) ||
        (found.guard == Guard::Fixed && word.kind == Word::Kind::Pattern && writes_in_settings()))
      return touch(found);
    if (text->size() < 2) return;
    constexpr std::size_t kEndMax = 8;
    const std::string end_of_text = to_lower_ascii(text->substr(text->size() - std::min(text->size() - 1, kEndMax)));
    for (const std::string_view end : kPacked)
      if (end_of_text.ends_with(end))
        if (const Found plain = guarded_.find_any(text->substr(0, text->size() - end.size()), &folders_);
            is_touched(plain.guard))
          return touch(plain);
  }
  // Of `tee .claude/s*` only the folder is known to be written in.
  bool writes_in_settings() {
    if (!writes_in_settings_)
      writes_in_settings_ =
          std::ranges::any_of(effects_.writes, [&](const std::string& path) { return guarded_.find(path).holds; });
    return *writes_in_settings_;
  }

  void words(const Command& command) {
    for (const shell::Assignment& one : command.assignments) word(one.value);
    for (const shell::Redirection& one : command.redirections)
      if (!one.operation.starts_with("<<")) redirected(one);
    if (command.words.empty()) return;
    // What is protected from writing may be run.
    if (const auto text = text_of(command.words.front()); text && text->find('/') != text->npos)
      if (const Found found = guarded_.find(*text, &folders_); found.guard == Guard::Secret) touch(found);
    const std::string_view program = program_of(command);
    if (is_one_of(program, kPrints)) return;
    bool is_text = is_one_of(program, kSearches);
    const bool shown = only_reads(command);
    const ToldWords told_words(command);
    for (std::size_t at = 1; at < command.words.size() && !is_over(); ++at) {
      const Word& one = command.words[at];
      const bool is_option = one.text.starts_with('-');
      if ((program == "find" || program == "gfind") && is_option) return;  // an expression
      if (is_text && !is_option) {
        is_text = false;
        continue;
      }
      if (is_one_of(program, "xargs gxargs parallel") && is_one_of(one.text, "{} -I{} -i{}"))
        continue;  // what it reads
      if (!told_words.has(at)) word(one, shown);
    }
  }

  // A redirection writes, or reads, exactly what it names.
  void redirected(const shell::Redirection& one) {
    const auto text = text_of(one.target);
    if (touch_ || !text) return;
    const Found found = guarded_.find(*text, &folders_);
    if (found.guard == Guard::Secret || (found.guard == Guard::Fixed && one.operation != "<" && one.operation != "<&"))
      touch(found);
  }

  // --- whole folders

  Found find(const Word& word) {
    const auto text = text_of(word);
    return text ? guarded_.find(*text, &folders_) : Found();
  }
  Found find(std::string_view text) { return guarded_.find(text, &folders_); }

  // A folder that is there for certain.
  static bool is_folder(std::string_view text) {
    return text == "." || text == ".." || text.ends_with('/') || text.ends_with("/.") || text.ends_with("/..");
  }

  void trees(const Command& command) {
    const std::string_view program = program_of(command);
    if (touch_ || program.empty()) return;
    if (is_one_of(program, "cmake cmake3") && command.words.size() > 3 && command.words[1].is("-E"))
      return trees(by_cmake(command));
    if (is_one_of(program, kCopies)) copies(command, program);
    else if (is_one_of(program, kMoves)) moves(command);
    else if (is_one_of(program, kLinks)) links(command);
    else if (is_one_of(program, kMounts)) removes(command);
    else if (is_one_of(program, "find gfind")) searches(command);
    else if (const std::size_t at = copies_by_word(command); at > 0) {
      Command copying = command;
      copying.words.erase(copying.words.begin(), copying.words.begin() + static_cast<std::ptrdiff_t>(at));
      copies(copying, "docker");
    } else if (is_one_of(program, kTakesAway) && program != "find") {
      if (command.via != "find" || !only_clears()) removes(command);
    } else if (program == "git") git(command);
    else if (is_one_of(program, kFetches) || is_fetching_gh(command)) fetches(command, program);
    else {
      if (is_one_of(program, kPacks)) packs(command);
      if (is_one_of(program, kUnpacks)) unpacks(command, program);
      if (is_one_of(program, kOpens)) opens(command);
      if (program.starts_with("py")) unpacks_by_python(command);
    }
  }

  // `docker cp a b`, `docker -H x container cp a b`, `gio copy a b`: where the word is that says so, or 0.
  static std::size_t copies_by_word(const Command& command) {
    const std::string_view program = program_of(command);
    if (program == "gio") return command.words.size() > 1 && command.words[1].is("copy") ? 1 : 0;
    if (!is_one_of(program, "docker docker-compose podman podman-compose nerdctl kubectl oc")) return 0;
    const auto at = std::ranges::find_if(command.words, [](const Word& word) { return word.is("cp"); });
    return at == command.words.end() ? 0 : static_cast<std::size_t>(at - command.words.begin());
  }

  // `cmake -E rename a b` as `mv a b`
  static Command by_cmake(const Command& command) {
    Command out = command;
    out.words.erase(out.words.begin(), out.words.begin() + 2);
    std::string& program = out.words.front().text;
    if (program.starts_with("copy_directory")) program = "ditto";
    else if (program.starts_with("copy")) program = "cp";
    else if (program == "rename") program = "mv";
    else if (program.starts_with("rm") || program.starts_with("remove")) program = "rm";
    else if (program.starts_with("create_")) program = "ln";
    else if (program != "tar") program = "true";
    return out;
  }

  // `python3 -m zipfile -e x.zip folder`, `python3 -m tarfile -e x.tar`
  void unpacks_by_python(const Command& command) {
    const auto module = std::ranges::find_if(command.words, [](const Word& word) {
      return is_one_of(word.text, "zipfile tarfile -mzipfile -mtarfile -Imzipfile -Imtarfile");
    });
    if (module == command.words.end()) return;
    const std::span<const Word> rest(module + 1, command.words.end());
    if (!std::ranges::any_of(rest, [](const Word& word) { return word.is("-e") || word.text.starts_with("--e"); }))
      return;
    extracts_to(rest.size() > 2 ? &rest.back() : nullptr);
  }
  // An archive says what lies in it; it comes to lie in this folder, or in the one that the line is in.
  void extracts_to(const Word* folder) {
    if (folder != nullptr) {
      if (const Found found = find(*folder); found.holds || found.guard != Guard::None) touch(found);
      return;
    }
    for (const std::string& in : folders_)
      if (const Found found = guarded_.find(in); found.holds || found.guard != Guard::None) return touch(found);
  }

  void copies(const Command& command, std::string_view program) {
    const Into into = is_one_of(program, "cp gcp xcp install ginstall") ? kTargetFolder
                      : program == "rsync"                              ? kOfRsync
                      : is_one_of(program, "scp rcp")                   ? kOfScp
                                                                        : Into();
    Operands operands = operands_of(command, into);
    const bool recursive = operands.recursive || is_one_of(program, "rsync ditto docker");
    const auto has_long = [&](std::string_view front) {
      return std::ranges::any_of(command.words, [&](const Word& word) { return word.text.starts_with(front); });
    };
    const bool is_cp = program == "cp" || program == "gcp";
    // A copy that is another name of the same file.
    const bool makes_links =
        is_cp && (operands.letters.find_first_of("ls") != std::string::npos || has_long("--l") || has_long("--sy"));
    const bool is_whole = is_cp && (operands.letters.find('T') != std::string::npos || has_long("--no-t"));
    if (program == "rsync")
      for (const Word& word : command.words)
        if (word.text.starts_with("--link-dest="))
          if (const Found found = find(std::string_view(word.text).substr(12));
              found.guard != Guard::None || found.holds)
            return touch(found);
    const std::optional<Word> target = take_target(operands);
    for (const Word* source : operands.words) {
      if (is_over()) return;
      const Found found = find(*source);
      if ((recursive && found.holds_secret) || (makes_links && (found.guard != Guard::None || found.holds)))
        return touch(found);
      if (!target) continue;
      lands(*source, *target, recursive,
            (recursive && is_whole) || program == "ditto" || (program == "rsync" && source->text.ends_with('/')));
    }
  }

  void moves(const Command& command) {
    Operands operands = operands_of(command, kTargetFolder);
    const std::optional<Word> target = take_target(operands);
    for (const Word* source : operands.words) {
      if (is_over()) return;
      const Found found = find(*source);
      if (found.guard != Guard::None || found.holds) return touch(found);
      if (target) lands(*source, *target, true, false);
    }
  }

  static std::optional<Word> take_target(Operands& operands) {
    if (operands.target) return operands.target;
    if (operands.words.size() < 2) return std::nullopt;
    const Word* out = operands.words.back();
    operands.words.pop_back();
    return *out;
  }

  // What comes to lie where. `whole`: with all that is in it. `opened`: only what is in it.
  void lands(const Word& source, const Word& target, bool whole, bool opened) {
    const auto to = text_of(target), from = text_of(source);
    if (!to) return;
    const Found there = find(*to);
    std::string_view name = from ? std::string_view(*from) : std::string_view();
    opened = opened || !from || name == "." || name == ".." || name.ends_with("/.") || name.ends_with("/..");
    while (name.size() > 1 && name.ends_with('/')) name.remove_suffix(1);
    name = shell::base_name(name);
    if (opened) {
      if (there.holds || there.guard != Guard::None) touch(there);
      return;
    }
    if (is_pattern(name)) {
      if (there.holds_by_name || there.guard != Guard::None) return touch(there);
      const std::size_t spelled = static_cast<std::size_t>(std::ranges::count_if(name, is_alphanumeric));
      // Of `o*` nobody knows; `*.json` becomes no name that counts wherever it lies.
      if (there.holds && spelled < kSpelledMin && name.find('.') == name.npos && name != "*") return touch(there);
      if (!there.holds && name.starts_with("*.") && !is_pattern(name.substr(1))) return;
    }
    // `host:x` comes to lie as `x`.
    for (const std::string_view one : {name, name.substr(name.rfind(':') + 1)})
      if (const Found inside = find(*to + "/" + std::string(one));
          inside.guard != Guard::None || (whole && inside.holds))
        return touch(inside);
    if (whole && !is_folder(*to) && !is_current(*to) && there.holds) touch(there);
  }

  // The folder of the call, home, or one above them: it is there.
  bool is_current(std::string_view text) const {
    const std::string path = shell::normalised(cwd_, text);
    if (path.empty() || !cwd_.starts_with('/')) return false;
    return shell::is_within(shell::normalised("", cwd_), path) ||
           (!guarded_.home().empty() && shell::is_within(shell::normalised("", guarded_.home()), path));
  }

  // A second name for a file, or for the folder it lies in.
  void links(const Command& command) {
    Operands operands = operands_of(command, kTargetFolder);
    if (const std::optional<Word> target = take_target(operands)) {
      // A folder of settings that is a link to another.
      if (const Found found = find(*target); found.holds_by_name) return touch(found);
    }
    for (const Word* one : operands.words)
      if (const Found found = find(*one); found.guard != Guard::None || found.holds) return touch(found);
  }

  // Of a pattern only the folder is known to be written in.
  void removes(const Command& command) {
    for (const Word& word : command.words.empty() ? std::span<const Word>() : std::span(command.words).subspan(1))
      if (!word.text.starts_with('-'))
        if (const Found found = find(word); found.holds || found.guard != Guard::None) return touch(found);
  }

  // `find .claude -exec ls "$x" ...`: a word may be an action that removes or writes.
  void searches(const Command& command) {
    const shell::FindLine line = shell::find_line(command);
    if (line.is_certain) return;
    for (const Word& start : line.starts)
      if (const Found found = find(start); found.holds_by_name || found.guard != Guard::None) return touch(found);
  }

  void packs(const Command& command) {
    std::vector<std::string> in = folders_;
    const bool is_zip = program_of(command) == "zip";
    const bool removes = std::ranges::any_of(command.words, [&](const Word& word) {
      return word.is("--remove-files") || word.is("--move") || word.is("-sdel") ||
             (is_zip && word.text.starts_with('-') && !word.text.starts_with("--") &&
              word.text.find('m') != word.text.npos);
    });
    if (is_tar(program_of(command))) {
      for (const std::string_view values : kTarValues) {
        std::vector<std::string> there = folders_;
        for (const TarWord& one : tar_words(command, values).words) {
          const auto text = text_of(one.word);
          if (!text || is_over()) continue;
          if (one.is_folder) enter(there, *text);
          else if (const Found found = guarded_.find(*text, &there); found.holds_secret || (removes && found.holds))
            return touch(found);
        }
      }
      return;
    }
    for (std::size_t at = 1; at < command.words.size(); ++at) {
      const auto text = text_of(command.words[at]);
      if (!text) continue;
      const auto into = at + 1 < command.words.size() ? text_of(command.words[at + 1]) : std::nullopt;
      if (into && (*text == "-C" || *text == "--directory" || *text == "--cd")) {
        enter(in, *into);
        ++at;
      } else if (const Found found = guarded_.find(*text, &in); found.holds_secret || (removes && found.holds)) {
        return touch(found);
      }
    }
  }

  void unpacks(const Command& command, std::string_view program) {
    const auto is_word = [&](std::size_t at, std::string_view words) {
      return at < command.words.size() && command.words[at].is_literal() && is_one_of(command.words[at].text, words);
    };
    // They only list. `unzip -l --l` takes it back.
    if (program == "unzip" && is_word(1, "-l -t -v -Z -Z1") && command.words.size() == 3 &&
        command.words[2].is_literal() && !command.words[2].text.starts_with('-'))
      return;
    if (program == "patch" && is_word(1, "--dry-run -p0 -p1 -p2") &&
        (is_word(1, "--dry-run") || is_word(2, "--dry-run")))
      return;
    const Operands operands = operands_of(
        command, {.exact = program == "unar" ? "-o -output-directory --output-directory" : "-C --directory -d --cd"});
    if ((is_tar(program) && program != "star") || program == "jar" || program == "ar") {
      // `tar czf`, `-cf`, `--create`, `--list`: these write no folder.
      std::string mode = operands.letters;
      if (is_tar(program)) {
        // Letters that only one of the two readings finds do not count as "creates" or "lists".
        const std::string gnu = tar_words(command, kTarValues[0]).letters,
                          bsd = tar_words(command, kTarValues[1]).letters;
        mode.clear();
        for (const char letter : gnu + bsd)
          if (letter == 'x' || letter == 'P' || (gnu.find(letter) != gnu.npos && bsd.find(letter) != bsd.npos))
            mode += letter;
      } else if (!operands.words.empty() && !command.words[1].text.starts_with('-')) {
        mode += command.words[1].text;
      }
      const auto has_long = [&](std::string_view option) {
        return std::ranges::any_of(command.words, [&](const Word& word) { return word.is(option); });
      };
      const bool extracts = mode.find('x') != mode.npos || has_long("--extract") || has_long("--get");
      const bool knows = mode.find_first_of("ctruA") != mode.npos || has_long("--create") || has_long("--list");
      if (!extracts && knows) return;
      // What is in the archive says where it goes.
      if (mode.find('P') != mode.npos || has_long("--absolute-names") || has_long("--absolute-paths"))
        return touch("/");
    }
    if (is_one_of(program, "atool dtrx patool") && is_word(1, "-l --list -t list test") && command.words.size() == 3 &&
        !command.words[2].text.starts_with('-'))
      return;
    if (program == "dpkg" || program == "dpkg-deb") {
      const auto extracts = [](const Word& word) {
        return word.is("-x") || word.is("-X") || word.is("-R") || word.is("--extract") || word.is("--vextract") ||
               word.is("--raw-extract") || word.is("-e") || word.is("--control");
      };
      if (std::ranges::any_of(command.words, extracts)) extracts_to(&command.words.back());
      return;
    }
    const auto is_operand = [](const Word& word) { return !word.text.starts_with('-'); };
    if (is_one_of(program, "7z 7za 7zr 7zz rar"))
      if (const auto what = std::find_if(command.words.begin() + 1, command.words.end(), is_operand);
          what == command.words.end() || (what->is_literal() && !is_one_of(what->text, "x e")))
        return;
    // The values of options; each -C is taken in the one before it.
    std::vector<std::string> in = folders_;
    for (std::size_t at = 1; at < command.words.size(); ++at) {
      const auto text = text_of(command.words[at]);
      const std::string_view before = command.words[at - 1].text;
      if (!text || (!text->starts_with('-') && (at == 1 || !before.starts_with('-')))) continue;
      if (const Found found = guarded_.find_any(*text, &in); found.holds || found.guard != Guard::None)
        return touch(found);
      if (is_one_of(before, "-C --directory --cd")) enter(in, *text);
    }
    if (is_tar(program)) return extracts_by_tar(command);
    if (operands.target) return extracts_to(&*operands.target);
    for (const Word& word : command.words)
      if (const auto text = text_of(word))
        for (const std::string_view into : {"--directory=", "-o", "-d", "-C", "--directory "})
          if (text->starts_with(into) && text->size() > into.size())
            if (const Found found = find(text->substr(into.size())); found.holds || found.guard != Guard::None)
              return touch(found);
    const bool says_where = std::ranges::any_of(command.words, [](const Word& word) {
      return word.text.starts_with("--directory=") || (word.text.size() > 2 && word.text.starts_with("-o")) ||
             (word.text.size() > 2 && word.text.starts_with("-C")) ||
             (word.text.size() > 2 && word.text.starts_with("-d"));
    });
    if (says_where) return;
    extracts_to(nullptr);
  }

  // Into the folders that it changes into, or the one that the line is in.
  void extracts_by_tar(const Command& command) {
    for (const std::string_view values : kTarValues) {
      std::vector<std::string> in = folders_;
      bool is_elsewhere = false;
      for (const TarWord& one : tar_words(command, values).words) {
        if (is_over()) return;
        if (!one.is_folder) continue;
        is_elsewhere = true;
        const auto text = text_of(one.word);
        if (!text) continue;
        for (const Found& found : {guarded_.find_any(*text, &in), guarded_.find(*text, &in)})
          if (found.holds || found.guard != Guard::None) return touch(found);
        enter(in, *text);
      }
      if (!is_elsewhere) extracts_to(nullptr);
    }
  }

  // `gunzip -N x.gz`: the file says what it is called. `gunzip -S .y x.y`: the option says what the name ends with.
  void opens(const Command& command) {
    bool names = false, ends = false;
    for (const Word& word : std::span(command.words).subspan(1)) {
      const bool is_long = word.text.starts_with("--");
      if (!word.text.starts_with('-')) continue;
      names = names || (is_long ? word.text.starts_with("--na") : word.text.find('N') != word.text.npos);
      ends = ends || (is_long ? word.text.starts_with("--su") : word.text.find('S') != word.text.npos);
    }
    if (!names && !ends) return;
    for (const Word& word : std::span(command.words).subspan(1)) {
      const auto text = text_of(word);
      if (!text || is_over()) continue;
      const std::size_t name = text->size() - shell::base_name(*text).size();
      if (names && !text->starts_with('-')) {
        const Found found = find(name == 0 ? "." : std::string_view(*text).substr(0, name));
        if (found.holds || found.guard != Guard::None) return touch(found);
      }
      for (std::size_t end = text->size(); ends && end-- > name + 1 && !is_over();)
        if (const Found found = find(std::string_view(*text).substr(0, end)); is_touched(found.guard))
          return touch(found);
    }
  }

  // `gh repo clone x folder`, `gh release download -D folder`
  static bool is_fetching_gh(const Command& command) {
    return program_of(command) == "gh" && command.words.size() > 1 &&
           is_one_of(command.words[1].text, "repo release run");
  }

  void fetches(const Command& command, std::string_view program) {
    const Operands operands = operands_of(command, {});
    const auto has = [&](std::string_view letters, std::initializer_list<std::string_view> longs) {
      return operands.letters.find_first_of(letters) != std::string::npos ||
             std::ranges::any_of(longs, [&](std::string_view option) {
               return std::ranges::any_of(command.words,
                                          [&](const Word& word) { return word.text.starts_with(option); });
             });
    };
    // A folder of settings that it is given.
    for (const Word& word : command.words)
      if (const auto text = text_of(word))
        if (const Found found = text->starts_with('-') ? guarded_.find_any(*text, &folders_) : find(*text);
            found.holds_by_name)
          return touch(found);
    const bool names_by_address =
        program == "curl" ? has("OJ", {"--remote-name"}) : program != "svn" && program != "hg";
    if (!names_by_address) return;
    for (const Word* word : operands.words) {
      const auto text = text_of(*word);
      if (!text) continue;
      const std::string_view address = std::string_view(*text).substr(0, text->find_first_of("?#"));
      if (const Found found = find(shell::base_name(address)); found.guard != Guard::None) return touch(found);
    }
    // What comes says what it is called.
    const bool is_unnamed =
        program == "wget" ? has("rmix", {"--recursive", "--mirror", "--input", "--content-disposition", "--force-dir"})
                          : has("JZ", {"--remote-header-name", "--input-file"});
    const bool is_tree = program == "wget" && has("", {"-nH", "--no-host", "-nd", "--cut-dirs"});
    for (const std::string& folder : folders_)
      if (const Found found = guarded_.find(folder); is_unnamed && (found.holds_by_name || (is_tree && found.holds)))
        return touch(found);
  }

  // What a commit brings along cannot be seen; what is named, what is removed and what is made anew can.
  void git(const Command& command) {
    std::size_t at = 1;
    std::vector<std::string> in = folders_;
    for (; at < command.words.size() && command.words[at].text.starts_with('-'); ++at) {
      const std::string_view option = command.words[at].text;
      std::string_view into;
      std::string folder;
      if (is_one_of(option, "-C -c --git-dir --work-tree --namespace")) {
        if (++at == command.words.size()) return;
        if (option == "-C" || option == "--work-tree") into = folder = folder_of(command.words[at]);
      } else if (option.starts_with("--work-tree=")) {
        into = option.substr(12);
      }
      if (into.empty()) continue;
      std::vector<std::string> there;
      for (const std::string& folder : in)
        there.push_back(into.starts_with('/') ? std::string(into) : folder + "/" + std::string(into));
      if (option == "-C") in = std::move(there);
      else in.insert(in.end(), there.begin(), there.end());
      if (in.size() > limits::kShellFoldersMax) in.resize(limits::kShellFoldersMax);
    }
    if (at >= command.words.size()) return;
    const std::string_view what = command.words[at].text;
    const std::span<const Word> rest = std::span(command.words).subspan(at + 1);
    const bool stashes =
        what == "stash" && (rest.empty() || rest[0].text.starts_with('-') || rest[0].is("push") || rest[0].is("save"));
    if (stashes && stashes_untracked(rest)) return touches_one_of(in);
    const bool cleans = what == "clean" && !only_shows_clean(rest);
    const bool applies =
        what == "am" || what == "checkout-index" || what == "read-tree" || (what == "apply" && !only_shows_patch(rest));
    const bool names = is_one_of(what, "checkout restore rm mv") || stashes;
    const bool makes = is_one_of(what, "clone worktree submodule init");
    if ((!cleans && !applies && !names && !makes) || only_indexes(what, rest)) return;
    bool named = false;
    // `checkout-index --prefix=x/y`: the names of all files behind this text, in the worktree or the current folder.
    for (std::size_t place = 0; place < rest.size(); ++place) {
      if ((what != "checkout-index" && what != "read-tree") || !rest[place].text.starts_with("--pr")) continue;
      const std::size_t sign = rest[place].text.find('=');
      if (sign == std::string::npos && place + 1 == rest.size()) break;
      const auto text = text_of(sign == std::string::npos ? rest[place + 1] : value_in(rest[place], sign + 1));
      if (!text) continue;
      const std::size_t slash = text->rfind('/');
      const std::string folder = slash == std::string::npos ? "." : text->substr(0, slash + 1);
      for (const std::vector<std::string>& from : {in, folders_})
        if (const Found found = guarded_.find(folder, &from); found.holds || found.guard != Guard::None)
          return touch(found);
    }
    for (const Word& word : rest) {
      if (word.text.starts_with('-') && word.is_literal()) continue;
      if (applies) break;
      named = true;
      const auto text = text_of(word);
      if (!text) continue;
      // A branch has no such name.
      const Found found = guarded_.find(*text, &in);
      if (found.guard != Guard::None || (makes ? found.holds_by_name : found.holds)) return touch(found);
      if (makes) {
        std::string_view name = shell::base_name(*text);
        if (name.ends_with(".git") && name.size() > 4) name.remove_suffix(4);
        if (const Found there = guarded_.find(name, &in); there.guard != Guard::None || there.holds_by_name)
          return touch(there);
      } else if (cleans && text->starts_with(':')) {
        return touches_one_of(in);
      } else if (names && ((is_pattern(*text) && guarded_.fits_tracked(*text, in)) || text->starts_with(':'))) {
        return touches_one_of(in);
      }
    }
    if (names && std::ranges::any_of(rest, [](const Word& word) { return word.text.starts_with("--pathspec-f"); }))
      return touches_one_of(in);
    if (cleans && !named) return touches_one_of(in, false);
    if (applies) touches_one_of(in, what != "apply");
  }
  // All that is not in the index, of the whole project: no paths are there, which come behind `--`.
  static bool stashes_untracked(std::span<const Word> rest) {
    bool takes = false;
    for (std::size_t at = 0; at < rest.size(); ++at) {
      const std::string_view text = rest[at].text;
      if (text == "--" && at + 1 < rest.size()) return false;
      if (text.starts_with("--i") || text.starts_with("--al")) takes = true;
      if (text.starts_with('-') && !text.starts_with("--")) {
        const std::size_t message = std::min(text.find('m'), text.size());
        if (text.substr(0, message).find_first_of("ua") != text.npos) takes = true;
        if (message + 1 == text.size()) ++at;
      } else if (text == "--message") {
        ++at;
      }
    }
    return takes;
  }
  // What is done somewhere in a folder; `whole`: in all of the project that it belongs to.
  void touches_one_of(const std::vector<std::string>& folders, bool whole = true) {
    for (const std::string& folder : folders) {
      const Found found = guarded_.find(folder);
      if (found.holds || found.guard != Guard::None || (whole && guarded_.is_in_project(folder))) return touch(folder);
    }
  }

  // --- mentions

  // Do names of files come from a text or a list?
  bool reads_names() const {
    return std::ranges::any_of(parsed_.commands, [](const Command& command) {
      const std::string_view program = program_of(command);
      const bool takes_list = program == "rsync" || program == "git" || is_one_of(program, kPacks);
      return std::ranges::any_of(command.words, [&](const Word& word) {
        if (word.text.starts_with("--files0-from") || word.is("--multifile") || word.is("--stdin-paths")) return true;
        if (program == "curl" && (word.text.starts_with("-K") || word.text.starts_with("--conf"))) return true;
        if (!takes_list) return false;
        const bool is_cluster =
            word.text.starts_with('-') ? !word.text.starts_with("--") : &word == command.words.data() + 1;
        if (is_tar(program) && &word != command.words.data() && is_cluster && word.text.find('T') != word.text.npos)
          return true;
        return word.is("-T") || word.is("-@") || word.is("--stdin") || word.text.starts_with("--files-from") ||
               word.text.starts_with("--pathspec-from-file");
      });
    });
  }

  // `*`, `*/`, `./*.*`: it says nothing of the names that it becomes, and no name with a dot at its beginning is among them.
  static bool is_bare_glob(std::string_view text) {
    if (!is_pattern(text) || text.find_first_not_of("*?./") != text.npos) return false;
    return std::ranges::none_of(split(text, '/'),
                                [](std::string_view name) { return name.starts_with('.') && is_pattern(name); });
  }

  // The same checks of the line with its expansions put in, as far as they are known: `rm -rf ~`, `cp -r evil "$HOME/.claude"`.
  void read_again() {
    const auto is_unknown = [](const Word& word) { return word.kind == Word::Kind::Unknown; };
    const auto has_unknown = [&](const Command& command) {
      return std::ranges::any_of(command.words, is_unknown) ||
             std::ranges::any_of(command.assignments, is_unknown, &shell::Assignment::value) ||
             std::ranges::any_of(command.redirections, is_unknown, &shell::Redirection::target);
    };
    if (times_read_ == kReadAgainMax || (!parsed_.opaque() && std::ranges::none_of(parsed_.commands, has_unknown)))
      return;
    const bool changes_folder = folders_.size() != 1 || folders_.front() != cwd_;
    std::set<std::string> read = {std::string(line_)};
    const auto is_anything = [&](const auto& value) { return !guarded_.dots && is_bare_glob(value.second); };
    for (Values& values : this->values()) {
      if (std::ranges::any_of(values, is_anything)) continue;
      values["PWD"] = changes_folder ? "." : cwd_;
      values["OLDPWD"] = cwd_;
      if (guarded_.home().empty()) values.erase("HOME");
      const std::string line = expanded(line_, values);
      if (!read.insert(line).second) continue;
      // So long a line is not taken apart.
      const bool is_too_long =
          line.size() > limits::kShellCommandBytesMax && line_.size() <= limits::kShellCommandBytesMax;
      if (is_too_long) guarded_.exhaust();
      guarded_.count_work(kReadAgainWork + line.size() * kReadAgainWeight);
      if (is_over()) return;
      if (touch_ = Line(guarded_, line, cwd_, times_read_ + 1).look(); touch_) return;
      if (times_read_ > 0) return;
    }
  }

  // What variables of the line are, as far as it says so. Of a loop there are several, and of a name that is set twice.
  using Values = std::map<std::string, std::string>;
  std::vector<Values> values() const {
    const std::string config = guarded_.home().empty() ? ".config" : guarded_.home() + "/.config";
    std::vector<Values> out = {{{"HOME", guarded_.home()},
                                {"PWD", std::string(cwd_)},
                                {"XDG_CONFIG_HOME", config},
                                {"BATON_STORE", ".baton"},
                                {"BATON_KEYS", ".baton"}}};
    Values& first = out.front();
    std::vector<std::pair<std::string, std::string>> before;  // values that a name had
    for (const Command& command : parsed_.commands) {
      for (const shell::Assignment& one : command.assignments) {
        if (!one.value.is_literal()) continue;
        std::string& value = first[one.name];
        if (!value.empty() && value != one.value.text && before.size() < kLoopedMax)
          before.push_back({one.name, value});
        value = one.value.text;
      }
      const std::string_view program = program_of(command);
      std::size_t number = 0;
      for (std::size_t at = 1; at < command.words.size(); ++at) {
        const std::string& text = command.words[at].text;
        if (const std::size_t sign = text.find('=');
            sign != text.npos && is_one_of(program, "export declare typeset readonly local"))
          first[text.substr(0, sign)] = text.substr(sign + 1);
        if (program == "set" && !text.starts_with('-')) {
          first[std::to_string(++number)] = text;
          first["@"] += (number == 1 ? "" : " ") + text;
        }
      }
      for (const shell::Redirection& one : command.redirections)
        if (program == "read" && one.operation == "<<<") first[command.words.back().text] = one.target.text;
    }
    for (const auto& [name, value] : before) {
      if (out.size() >= kLoopedMax) break;
      out.push_back(out.front());
      out.back()[name] = value;
    }
    std::string text = unquoted(line_);
    for (char& c : text)
      if (c == '\n' || c == '\t' || c == ';') c = ' ';
    const auto words = split(text, ' ');
    for (std::size_t at = 0; at + 3 < words.size(); ++at) {
      if (words[at] != "for" || words[at + 2] != "in") continue;
      for (std::size_t value = at + 3; value < words.size() && words[value] != "do" && out.size() < kLoopedMax;
           ++value) {
        if (words[value].empty()) continue;
        out.push_back(out.front());
        out.back()[std::string(words[at + 1])] = words[value];
      }
    }
    return out;
  }

  // The line without the messages of `git commit -m "$(cat <<'EOF'`, when nothing else in it is unknown or runs text.
  std::string without_messages() const {
    std::string out(line_);
    if (parsed_.opaque() || runs_one_of(parsed_, kRunsText) || reads_names()) return out;
    for (const Command& command : parsed_.commands) {
      const ToldWords told_words(command);
      for (std::size_t at = 0; at < command.words.size(); ++at)
        if (command.words[at].kind == Word::Kind::Unknown && (command.words[at].splits || !told_words.has(at)))
          return out;
    }
    constexpr std::string_view kBegins = "\"$(cat <<'";
    for (std::size_t at = out.find(kBegins); at != out.npos; at = out.find(kBegins, at + 1)) {
      const std::size_t name = at + kBegins.size(), quote = out.find('\'', name), begin = out.find('\n', name);
      if (quote == out.npos || begin != quote + 1) break;
      const std::size_t end = out.find("\n" + out.substr(name, quote - name) + "\n)\"", begin);
      if (end == out.npos) break;
      out.erase(begin, end - begin);
    }
    return out;
  }

  void mentions() {
    const bool runs_text = parsed_.opaque() || runs_one_of(parsed_, kRunsText);
    if (!runs_text && effects_.paths_known && !reads_names()) return;
    const bool takes_away = !effects_.paths_known && runs_one_of(parsed_, kRemoves);
    const std::string line = without_messages();
    Guard guard = guarded_.mentioned(line, Mention::Whole);
    const auto look_at = [&](const std::string& text) {
      guarded_.count_work(text.size());
      guard = std::max(guard, guarded_.mentioned(text, Mention::Whole));
      if (takes_away && guarded_.mentions_folder(text)) touch_ = Touch{std::string(kMentioned), true};
      handles_settings_ = handles_settings_ || (runs_text && guarded_.handles_folder(text));
      if (runs_text && !touch_)
        if (auto others = operator_command_in_text(text)) touch_ = Touch{std::move(*others), true};
    };
    handles_settings_ = runs_text && guarded_.handles_folder(line);
    look_at(unquoted(without_expansions(line)));
    // `/proc/$(pgrep x)/environ`
    for (const std::string any = unquoted(without_expansions(line_, '0')); const std::string_view one : words_in(any))
      if (one.starts_with("/proc/") && is_touched(guarded_.find(one).guard)) guard = Guard::Secret;
    const std::vector<Values> all = values();
    for (const Values& values : all) {
      std::string text = unquoted(line);
      look_at(text);
      for (int round = 0; round < 3 && !is_over(); ++round) {
        std::string next = substituted(text, values);
        if (next == text) break;
        text = std::move(next);
        look_at(text);
      }
      if (!is_touched(guard)) guard = std::max(guard, of_words(text, &values != &all.front()));
      if (is_over() || is_touched(guard)) break;
    }
    if (!touch_ && is_touched(guard)) touch_ = Touch{std::string(kMentioned), true};
  }

  // Of the paths in a text that was put together: `~/x`, `$folder/x`; of a loop also `x/*`.
  Guard of_words(std::string_view text, bool is_looped) {
    Guard out = Guard::None;
    std::vector<std::string> settings;  // folders of settings in which the line may run
    for (const std::string& folder : folders_)
      if (guarded_.find(folder).holds_by_name) settings.push_back(folder);
    for (const std::string_view one : words_in(text)) {
      if (is_over()) break;
      if (!settings.empty() && one.find_first_of("/$") == one.npos)
        out = std::max(out, guarded_.find_any(one, &settings).guard);
      const bool may_be_pattern =
          is_looped || one.starts_with("~/") || one.starts_with("/proc/");  // `/proc/$PPID/environ`
      const bool is_plain = one.find('$') == one.npos || one.starts_with("/proc/");
      if (one.find('/') + 1 < one.size() && one.find('/') != one.npos && is_plain &&
          (may_be_pattern || !is_pattern(one)))
        out = std::max(out, guarded_.find_any(one, &folders_).guard);
    }
    return out;
  }

  Guarded& guarded_;
  const std::string_view line_, cwd_;
  const int times_read_;
  const shell::Parsed parsed_;
  const shell::Effects effects_;
  std::vector<std::string> folders_;
  std::optional<bool> writes_in_settings_, only_clears_;
  bool handles_settings_ = false;  // a text that is run does something to whole folders
  bool takes_ends_ = false;        // of words whose beginning is not known
  std::optional<Touch> touch_;
};

}  // namespace

std::optional<Touch> touched_by_command(Guarded& guarded, std::string_view line, std::string_view cwd) {
  return Line(guarded, line, cwd).look();
}

}  // namespace baton::protection
