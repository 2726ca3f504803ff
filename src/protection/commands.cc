// SPDX-License-Identifier: Apache-2.0
#include "protection/commands.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>

#include "base/limits.h"
#include "base/text.h"
#include "shell/effects.h"
#include "shell/parse.h"

namespace baton::protection {
namespace {

using shell::Command;
using shell::Word;

constexpr std::string_view kMentioned = "something of Baton's in the command";

bool is_one_of(std::string_view name, std::string_view names) {
  const auto all = split(names, ' ');
  return std::ranges::find(all, name) != all.end();
}

// Programs for which a folder that is written is one that is gone, or another, afterwards.
constexpr std::string_view kTakesAway = "rm rmdir chmod chown chgrp unlink shred find";
// Programs that run, or read as commands or names of files, the text in one of their words or on their standard input.
constexpr std::string_view kRunsText =
    "python python2 python3 pypy pypy3 ipython node nodejs perl ruby php lua luajit deno bun awk gawk mawk nawk "
    "Rscript R "
    "julia tclsh expect ed ex vi vim nvim emacs sqlite3 psql mysql mongosh gdb lldb osascript pwsh powershell guile "
    "racket "
    "ghc runghc elixir erl iex swift kotlin scala groovy jshell go xargs gxargs parallel read mapfile readarray socat";
constexpr std::string_view kCopies = "cp gcp rsync scp ditto install ginstall";
constexpr std::string_view kMoves = "mv gmv";
constexpr std::string_view kLinks = "ln gln link";
constexpr std::string_view kPacks = "tar gtar bsdtar zip 7z 7za 7zr pax cpio jar rar";
constexpr std::string_view kUnpacks =
    "tar gtar bsdtar unzip 7z 7za 7zr pax cpio jar unrar rar bsdcpio ar patch unsquashfs";
// Their words are text, not files.
constexpr std::string_view kPrints = "echo printf : true false test [ export alias";
// Their first operand is text.
constexpr std::string_view kSearches = "grep egrep fgrep zgrep rg ag ack sed gsed awk gawk mawk nawk jq yq";

std::string_view program_of(const Command& command) {
  return command.words.empty() || !command.words.front().is_literal() ? std::string_view()
                                                                      : shell::base_name(command.words.front().text);
}

bool runs_one_of(const shell::Parsed& parsed, std::string_view programs) {
  return std::ranges::any_of(shell::programs_of(parsed), [&](const std::string& program) {
    return is_one_of(shell::base_name(program), programs);
  });
}

// What approves definitions of MCP servers. The proxy itself is for agents, too; the words behind `--` are the server's.
std::optional<std::string> mcp_command_for_others(std::span<const Word> words) {
  for (const Word& word : words) {
    if (!word.is_literal()) return "a command of Baton's that is not known";
    if (word.text == "--") break;
    if (is_one_of(word.text, "lock approve-changes")) return "`baton mcp " + word.text + "`";
  }
  return std::nullopt;
}

// Commands of Baton's that are for people: they take the wiring out, end the node, approve, or speak for the client.
std::optional<std::string> command_for_others(const shell::Parsed& parsed) {
  for (const Command& command : parsed.commands) {
    const std::string_view program = program_of(command);
    if (program == "baton-hook") return "the hook itself, which is for the client";
    if (program != "baton") continue;
    // The subcommand. A word behind an option may be the option's value or the subcommand.
    bool may_be_value = false;
    for (std::size_t at = 1; at < command.words.size(); ++at) {
      const Word& word = command.words[at];
      if (!word.is_literal()) return "a command of Baton's that is not known";
      if (is_one_of(word.text, "adopt serve stop")) return "`baton " + word.text + "`";
      if (word.is("mcp")) return mcp_command_for_others(std::span(command.words).subspan(at + 1));
      const bool is_option = word.text.starts_with('-');
      if (!is_option && !may_be_value) break;
      may_be_value = is_option;
    }
  }
  return std::nullopt;
}

// --- the text that mentions are looked for in ---------------------------------------------------------------------------------------

// Without quotes and backslashes, `$'...'` decoded.
std::string unquoted(std::string_view line) {
  std::string out;
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (line[at] == '$' && at + 1 < line.size() && line[at + 1] == '\'') {
      std::size_t end = at + 2;
      while (end < line.size() && line[end] != '\'') end += line[end] == '\\' ? 2 : 1;
      end = std::min(end, line.size());
      out += unescaped(line.substr(at + 2, end - at - 2));
      at = end;
    } else if (line[at] != '\'' && line[at] != '"' && line[at] != '\\') {
      out.push_back(line[at]);
    }
  }
  return out;
}

// `$name` and `${name}` by the values that the line itself gives.
std::string substituted(const std::string& text, const std::map<std::string, std::string>& values) {
  std::string out;
  for (std::size_t at = 0; at < text.size() && out.size() < 4 * limits::kShellCommandBytesMax; ++at) {
    if (text[at] != '$') {
      out.push_back(text[at]);
      continue;
    }
    const bool braced = at + 1 < text.size() && text[at + 1] == '{';
    std::size_t begin = at + (braced ? 2 : 1), end = begin;
    while (end < text.size() && (is_alphanumeric(text[end]) || text[end] == '_')) ++end;
    const auto known = values.find(text.substr(begin, end - begin));
    if (known == values.end()) {
      out.push_back('$');
      continue;
    }
    out += known->second;
    if (braced) end = std::min(text.find('}', end), text.size() - 1) + 1;
    at = end - 1;
  }
  return out;
}

class Line {
 public:
  Line(Guarded& guarded, std::string_view line, std::string_view cwd)
      : guarded_(guarded),
        line_(line),
        cwd_(cwd),
        parsed_(shell::parse(line)),
        effects_(shell::effects_of(parsed_, cwd)) {}

  std::optional<Touch> look() {
    if (auto others = command_for_others(parsed_)) return Touch{std::move(*others), true};
    if (cwd_.starts_with('/') && guarded_.find(cwd_).guard == Guard::Secret) return Touch{std::string(cwd_), true};
    find_folders();
    for (const char* option : {"dotglob", "globdots", "GLOB_DOTS", "glob_dots", "globdot"})
      if (line_.find(option) != line_.npos) guarded_.dots = true;
    effects();
    for (const Command& command : parsed_.commands) {
      if (touch_) break;
      words(command);
      trees(command);
    }
    if (!touch_) mentions();
    if (!touch_ && guarded_.is_exhausted()) touch_ = Touch{"more paths than are looked through", true};
    return std::move(touch_);
  }

 private:
  using Found = Guarded::Found;

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

  // Where a relative path may be taken: `cd` may or may not have happened.
  void find_folders() {
    if (!cwd_.starts_with('/')) {
      folders_ = guarded_.folders();
    } else {
      folders_ = {std::string(cwd_)};
    }
    for (const Command& command : parsed_.commands) {
      if (!is_one_of(program_of(command), "cd pushd chdir")) continue;
      for (std::size_t at = 1; at < command.words.size(); ++at) {
        const Word& word = command.words[at];
        if (!word.is_literal() || word.text.empty() || word.text.starts_with('-')) continue;
        const std::vector<std::string> before = folders_;
        for (const std::string& folder : before)
          if (folders_.size() < limits::kShellFoldersMax)
            folders_.push_back(word.text.starts_with('/') ? word.text : folder + "/" + word.text);
      }
    }
  }

  void effects() {
    const bool takes_away = runs_one_of(parsed_, kTakesAway);
    for (const std::string& path : effects_.writes) {
      const Found found = guarded_.find(path);
      if (found.guard != Guard::None || (takes_away && found.holds)) return touch(path);
    }
    for (const std::string& path : effects_.paths)
      if (is_touched(guarded_.find(path).guard)) return touch(path);
  }

  // --- words

  // The text of a word with its wildcards; nothing: an expansion decides it.
  static std::optional<std::string> text_of(const Word& word) {
    if (word.kind == Word::Kind::Unknown) return std::nullopt;
    return word.kind == Word::Kind::Pattern ? word.text + word.rest : word.text;
  }

  void word(const Word& word) {
    const auto text = text_of(word);
    if (touch_ || !text) return;
    if (text->size() > limits::kShellPathBytesMax) {
      if (is_touched(guarded_.mentioned(*text, Guarded::Mention::Begins))) touch_ = Touch{std::string(kMentioned), true};
      return;
    }
    const Found found = guarded_.find_any(*text, &folders_);
    if (is_touched(found.guard)) touch(found);
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
    for (std::size_t at = 1; at < command.words.size() && !touch_; ++at) {
      const Word& one = command.words[at];
      const bool is_option = one.text.starts_with('-');
      if ((program == "find" || program == "gfind") && is_option) return;  // an expression
      if (is_text && !is_option) {
        is_text = false;
        continue;
      }
      word(one);
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

  struct Operands {
    std::vector<const Word*> words;
    const Word* target = nullptr;  // of -t, -C, -d
    bool recursive = false;
    std::string letters = {};  // of short options
  };

  // `into`: options with the folder that is written into.
  static Operands operands_of(const Command& command, std::string_view into) {
    Operands out;
    bool options = true;
    for (std::size_t at = 1; at < command.words.size(); ++at) {
      const Word& word = command.words[at];
      const std::string_view text = word.text;
      if (options && word.is("--")) {
        options = false;
      } else if (options && text.size() > 1 && text.front() == '-') {
        const bool is_long = text.starts_with("--");
        if (!is_long) out.letters += text.substr(1);
        if (is_one_of(text, into) && at + 1 < command.words.size()) out.target = &command.words[++at];
        if (is_long && (text.starts_with("--r") || text.starts_with("--a"))) out.recursive = true;
        if (!is_long && text.find_first_of("rRa") != text.npos) out.recursive = true;
      } else {
        out.words.push_back(&word);
      }
    }
    return out;
  }

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
    if (is_one_of(program, kCopies)) copies(command, program);
    else if (is_one_of(program, kMoves)) moves(command);
    else if (is_one_of(program, kLinks)) links(command);
    else if (program == "git") git(command);
    else {
      if (is_one_of(program, kPacks)) packs(command);
      if (is_one_of(program, kUnpacks)) unpacks(command, program);
    }
  }

  void copies(const Command& command, std::string_view program) {
    Operands operands = operands_of(command, "-t --target-directory");
    const bool recursive = operands.recursive || program == "rsync" || program == "ditto";
    const Word* target = take_target(operands);
    for (const Word* source : operands.words) {
      if (recursive && find(*source).holds_secret) return touch(find(*source));
      if (target != nullptr) lands(*source, *target, recursive, program == "rsync" && source->text.ends_with('/'));
    }
  }

  void moves(const Command& command) {
    Operands operands = operands_of(command, "-t --target-directory");
    const Word* target = take_target(operands);
    for (const Word* source : operands.words) {
      const Found found = find(*source);
      if (found.guard != Guard::None || found.holds) return touch(found);
      if (target != nullptr) lands(*source, *target, true, false);
    }
  }

  static const Word* take_target(Operands& operands) {
    if (operands.target != nullptr) return operands.target;
    if (operands.words.size() < 2) return nullptr;
    const Word* out = operands.words.back();
    operands.words.pop_back();
    return out;
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
    if (opened || is_pattern(name)) {
      if (there.holds || there.guard != Guard::None) touch(there);
      return;
    }
    const Found inside = find(*to + "/" + std::string(name));
    if (inside.guard != Guard::None || (whole && inside.holds)) return touch(inside);
    if (whole && !is_folder(*to) && !is_current(*to) && there.holds) touch(there);
  }

  // The folder of the call, or one above it: it is there.
  bool is_current(std::string_view text) const {
    const std::string path = shell::normalised(cwd_, text);
    return !path.empty() && cwd_.starts_with('/') && shell::is_within(shell::normalised("", cwd_), path);
  }

  // A second name for a file, or for the folder it lies in.
  void links(const Command& command) {
    Operands operands = operands_of(command, "-t --target-directory");
    if (operands.words.size() > 1 && operands.target == nullptr) operands.words.pop_back();
    for (const Word* one : operands.words)
      if (const Found found = find(*one); found.guard != Guard::None || found.holds) return touch(found);
  }

  void packs(const Command& command) {
    std::vector<std::string> in = folders_;
    for (std::size_t at = 1; at < command.words.size(); ++at) {
      const auto text = text_of(command.words[at]);
      if (!text) continue;
      const auto into = at + 1 < command.words.size() ? text_of(command.words[at + 1]) : std::nullopt;
      if (into && (*text == "-C" || *text == "--directory" || *text == "--cd")) {
        for (std::string& folder : in) folder = into->starts_with('/') ? *into : folder + "/" + *into;
        ++at;
      } else if (const Found found = guarded_.find(*text, &in); found.holds_secret) {
        return touch(found);
      }
    }
  }

  void unpacks(const Command& command, std::string_view program) {
    const Operands operands = operands_of(command, "-C --directory -d --cd");
    if (program == "tar" || program == "gtar" || program == "bsdtar" || program == "jar" || program == "ar") {
      // `tar czf`, `-cf`, `--create`, `--list`: these write no folder.
      std::string mode = operands.letters;
      if (!operands.words.empty() && command.words[1].text.front() != '-') mode += command.words[1].text;
      const auto has_long = [&](std::string_view option) {
        return std::ranges::any_of(command.words, [&](const Word& word) { return word.is(option); });
      };
      const bool extracts = mode.find('x') != mode.npos || has_long("--extract") || has_long("--get");
      const bool knows = mode.find_first_of("ctruA") != mode.npos || has_long("--create") || has_long("--list");
      if (!extracts && knows) return;
    }
    if ((program == "7z" || program == "7za" || program == "7zr" || program == "rar") && command.words.size() > 1 &&
        !command.words[1].is("x") && !command.words[1].is("e"))
      return;
    if (operands.target != nullptr) {
      if (const Found found = find(*operands.target); found.holds || found.guard != Guard::None) touch(found);
      return;
    }
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
    for (const std::string& folder : folders_)
      if (const Found found = guarded_.find(folder); found.holds || found.guard != Guard::None) return touch(found);
  }

  // What a commit brings along cannot be seen; what is named, and what is removed, can.
  void git(const Command& command) {
    std::size_t at = 1;
    while (at < command.words.size() && command.words[at].text.starts_with('-'))
      at += is_one_of(command.words[at].text, "-C -c --git-dir --work-tree --namespace") ? 2 : 1;
    if (at >= command.words.size()) return;
    const std::string_view what = command.words[at].text;
    const std::span<const Word> rest = std::span(command.words).subspan(at + 1);
    const auto has = [&](std::string_view option) {
      return std::ranges::any_of(rest, [&](const Word& word) { return word.is(option); });
    };
    const bool cleans = what == "clean" && !has("-n") && !has("--dry-run");
    const bool applies = what == "am" || (what == "apply" && !has("--check") && !has("--stat"));
    const bool names = is_one_of(what, "checkout restore rm mv");
    if (!cleans && !applies && !names) return;
    bool named = false;
    for (const Word& word : rest) {
      if (word.text.starts_with('-') && word.is_literal()) continue;
      if (applies) break;
      named = true;
      // A branch has no such name.
      if (const Found found = find(word); found.guard != Guard::None || found.holds) return touch(found);
    }
    if (named || names) return;
    for (const std::string& folder : folders_)
      if (const Found found = guarded_.find(folder); found.holds || found.guard != Guard::None) return touch(found);
  }

  // --- mentions

  void mentions() {
    if (!parsed_.opaque() && effects_.paths_known && !runs_one_of(parsed_, kRunsText)) return;
    std::map<std::string, std::string> values = {{"HOME", guarded_.home()}, {"PWD", std::string(cwd_)}};
    for (const Command& command : parsed_.commands)
      for (const shell::Assignment& one : command.assignments)
        if (one.value.is_literal()) values[one.name] = one.value.text;
    std::string text(line_);
    Guard guard = guarded_.mentioned(text, Guarded::Mention::Whole);
    text = unquoted(text);
    guard = std::max(guard, guarded_.mentioned(text, Guarded::Mention::Whole));
    for (int round = 0; round < 3; ++round) {
      std::string next = substituted(text, values);
      if (next == text) break;
      text = std::move(next);
      guard = std::max(guard, guarded_.mentioned(text, Guarded::Mention::Whole));
    }
    if (!is_touched(guard)) guard = std::max(guard, of_words(text));
    if (is_touched(guard)) touch_ = Touch{std::string(kMentioned), true};
  }

  // Of the paths in a text that was put together: `~/x`, `$folder/x`.
  Guard of_words(std::string_view text) {
    Guard out = Guard::None;
    std::size_t from = 0;
    for (std::size_t at = 0; at <= text.size(); ++at) {
      if (at < text.size() && std::string_view(" \t\n;&|()<>`").find(text[at]) == std::string_view::npos) continue;
      const std::string_view one = text.substr(from, at - from);
      from = at + 1;
      if (one.find('/') != one.npos && one.find('$') == one.npos && !is_pattern(one))
        out = std::max(out, guarded_.find_any(one, &folders_).guard);
    }
    return out;
  }

  Guarded& guarded_;
  const std::string_view line_, cwd_;
  const shell::Parsed parsed_;
  const shell::Effects effects_;
  std::vector<std::string> folders_;
  std::optional<Touch> touch_;
};

}  // namespace

std::optional<Touch> touched_by_command(Guarded& guarded, std::string_view line, std::string_view cwd) {
  return Line(guarded, line, cwd).look();
}

}  // namespace baton::protection
