// SPDX-License-Identifier: Apache-2.0
#include "protection/commands.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <span>

#include "base/limits.h"
#include "base/text.h"
#include "shell/effects.h"
#include "shell/parse.h"

namespace baton::protection {
namespace {

using shell::Command;
using shell::Word;

constexpr std::size_t kLoopedMax = 8;  // values of loops that are looked at
constexpr std::string_view kMentioned = "something of Baton's in the command";

bool is_one_of(std::string_view name, std::string_view names) {
  const auto all = split(names, ' ');
  return std::ranges::find(all, name) != all.end();
}

// Programs for which a folder that is written is one that is gone, or another, afterwards.
constexpr std::string_view kTakesAway =
    "rm rmdir chmod chown chgrp unlink shred find chattr setfacl setfattr chcon restorecon";
constexpr std::string_view kRemoves =
    "rm rmdir chmod chown chgrp unlink shred chattr setfacl setfattr chcon restorecon mv gmv ln gln link";
// A folder comes to lie over another, or has another name.
constexpr std::string_view kMounts = "mount bindfs sshfs unionfs mergerfs fuse-overlayfs overlayfs losetup umount";
// Programs that run, or read as commands or names of files, the text in one of their words or on their standard input.
constexpr std::string_view kRunsText =
    "python python2 python3 pypy pypy3 ipython node nodejs perl ruby php lua luajit deno bun awk gawk mawk nawk "
    "Rscript R "
    "julia tclsh expect ed ex vi vim nvim emacs sqlite3 psql mysql mongosh gdb lldb osascript pwsh powershell guile "
    "racket "
    "ghc runghc elixir erl iex swift kotlin scala groovy jshell go xargs gxargs parallel read mapfile readarray socat "
    "apply_patch applypatch patch cpio bsdcpio afio pax ftp sftp dc m4 "
    "tsx ts-node original-awk bpython jruby pike yq gojq vimdiff view rvim gvim";
constexpr std::string_view kCopies = "cp gcp rsync scp ditto install ginstall";
constexpr std::string_view kMoves = "mv gmv";
constexpr std::string_view kLinks = "ln gln link";
constexpr std::string_view kPacks = "tar gtar bsdtar zip 7z 7za 7zr pax cpio jar rar";
constexpr std::string_view kUnpacks =
    "tar gtar bsdtar unzip 7z 7za 7zr pax cpio jar unrar rar bsdcpio ar patch unsquashfs";
// What these are given is packed with another name: `x.json.gz` becomes `x.json`.
constexpr std::array<std::string_view, 13> kPacked = {".gz",  ".bz2", ".xz",  ".zst", ".lz4", ".lzma", ".Z",
                                                      ".gpg", ".pgp", ".asc", ".age", ".br",  ".enc"};
// They write files of names that come from elsewhere, into a folder that they are given or the current one.
constexpr std::string_view kFetches = "wget curl aria2c http https svn hg fossil jj degit rclone gsutil aws s3cmd";
// Their words are text, not files.
constexpr std::string_view kPrints = "echo printf : true false test [ export alias";
// Their first operand is text.
constexpr std::string_view kSearches = "grep egrep fgrep zgrep rg ag ack sed gsed awk gawk mawk nawk jq yq";

// What compilers, editors and tests leave behind: nothing of Baton's is called so.
constexpr std::string_view kLeftovers =
    "*.pyc *.pyo *.o *.obj *.class *.orig *.rej *.swp *~ *.gcda *.gcno *.tsbuildinfo *.egg-info .DS_Store Thumbs.db "
    "__pycache__ "
    "node_modules .pytest_cache .mypy_cache .ruff_cache .ipynb_checkpoints";

std::string_view program_of(const Command& command) {
  return command.words.empty() || !command.words.front().is_literal() ? std::string_view()
                                                                      : shell::base_name(command.words.front().text);
}

// `python3.11`, `lua5.4` and `node-18` without the version, `vim.basic` without what kind it is.
std::string_view without_version(std::string_view program) {
  if (program.starts_with("vim.")) return "vim";
  std::size_t end = program.find_last_not_of("0123456789.");
  if (end == program.npos || end == 0) return program;
  if (program[end] == '-' && end + 1 < program.size()) --end;
  return program.substr(0, end + 1);
}

bool runs_one_of(const shell::Parsed& parsed, std::string_view programs) {
  return std::ranges::any_of(shell::programs_of(parsed), [&](const std::string& program) {
    const std::string_view name = shell::base_name(program);
    return is_one_of(name, programs) || is_one_of(without_version(name), programs);
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

// Some have another name as a package: `npx @anthropic-ai/claude-code mcp add`.
constexpr std::string_view kClients =
    "claude codex gemini copilot opencode cursor cursor-agent claude-code gemini-cli opencode-ai";

constexpr std::string_view kKills = "kill pkill killall skill systemctl service rc-service initctl launchctl";

// Is a process of Baton's ended? `pkill baton`, `kill $(pgrep -f 'baton serve')`.
bool kills_baton(const shell::Parsed& parsed) {
  if (!runs_one_of(parsed, kKills)) return false;
  std::string_view finds;  // what looks for processes that `kill` is given
  if (runs_one_of(parsed, "kill skill"))
    finds = runs_one_of(parsed, "ps") ? "pgrep pidof grep egrep awk" : "pgrep pidof";
  for (const Command& command : parsed.commands) {
    const std::string_view program = program_of(command);
    if (!is_one_of(program, finds) && !is_one_of(program, kKills)) continue;
    if (std::ranges::any_of(command.words, [](const Word& word) {
          return is_one_of(word.text, "status show cat is-active is-enabled list print");
        }))
      continue;
    for (const Word& word : std::span(command.words).subspan(1)) {
      std::string_view text = word.text;
      while (!text.empty() && std::string_view("^/[").find(text.front()) != text.npos) text.remove_prefix(1);
      if (text.starts_with("b]")) return text.starts_with("b]aton");
      if (!text.starts_with("baton")) continue;
      const std::string_view behind = text.substr(5);
      if (behind.empty() || std::string_view(" $/*").find(behind.front()) != behind.npos ||
          behind.starts_with("-hook") || behind.starts_with(".service"))
        return true;
    }
  }
  return false;
}

// A client's own command that writes the settings with its hooks and servers: `claude mcp add`.
std::optional<std::string> client_command_for_others(std::string_view client, std::span<const Word> words) {
  std::string what;
  bool may_be_value = false;
  for (const Word& word : words) {
    const bool may_be_value_here = may_be_value;
    if (may_be_value = word.text.starts_with('-'); may_be_value) continue;
    if (what.empty()) {
      if (is_one_of(word.text, "mcp plugin plugins extension extensions hooks")) what = word.text;
      else if (!may_be_value_here) return std::nullopt;
    } else if (is_one_of(word.text, "list ls get show status serve server mcp-server")) {
      return std::nullopt;
    } else {
      return "`" + std::string(client) + " " + what + " " + word.text + "`";
    }
  }
  return std::nullopt;
}

// Commands of Baton's that are for people: they take the wiring out, end the node, approve, or speak for the client.
std::optional<std::string> command_for_others(const shell::Parsed& parsed) {
  if (kills_baton(parsed)) return "what ends a process of Baton's";
  for (const Command& command : parsed.commands) {
    const std::string_view program = program_of(command);
    if (is_one_of(program, kClients))
      if (auto others = client_command_for_others(program, std::span(command.words).subspan(1))) return others;
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

// The same in a text that something else runs: `os.system("baton stop")`.
std::optional<std::string> command_in_text(std::string text) {
  for (char& c : text)
    if (std::string_view("\"'()[]{},;|&`<>=\n\t").find(c) != std::string_view::npos) c = ' ';
  std::string_view program;
  bool is_mcp = false;
  for (const std::string_view word : split(text, ' ')) {
    if (word.empty() || (!program.empty() && word.starts_with('-'))) continue;
    if (program == "baton-hook" && is_one_of(word, kClients)) return "the hook itself, which is for the client";
    if (program == "baton" && is_one_of(word, is_mcp ? "lock approve-changes" : "adopt serve stop"))
      return std::string(is_mcp ? "`baton mcp " : "`baton ") + std::string(word) + "`";
    if (is_mcp = program == "baton" && word == "mcp"; is_mcp) continue;
    program = shell::base_name(word);
    if (program != "baton" && program != "baton-hook") program = {};
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

// Every expansion as nothing: a variable that nobody set is empty. `$'...'` is left for unquoted().
// `by`: stands for it.
std::string without_expansions(std::string_view line, char by = 0) {
  std::string out;
  const auto leave_out = [&] {
    if (by != 0) out.push_back(by);
  };
  for (std::size_t at = 0; at < line.size(); ++at) {
    const char next = at + 1 < line.size() ? line[at + 1] : '\0';
    if (line[at] == '`') {
      at = std::min(line.find('`', at + 1), line.size());
      leave_out();
    } else if (line[at] != '$' || next == '\'' || next == '"' || next == '\0') {
      out.push_back(line[at]);
    } else if (next == '{' || next == '(') {
      std::size_t depth = 0;
      for (++at; at < line.size(); ++at) {
        if (line[at] == '{' || line[at] == '(') ++depth;
        if ((line[at] == '}' || line[at] == ')') && --depth == 0) break;
      }
      leave_out();
    } else {
      ++at;
      leave_out();
      while ((is_alphanumeric(next) || next == '_') && at + 1 < line.size() &&
             (is_alphanumeric(line[at + 1]) || line[at + 1] == '_'))
        ++at;
    }
  }
  return out;
}

// `$name` and `${name}` by the values that the line itself gives; `${name:-text}` without one is the text.
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
      const std::size_t text_at = end + (end < text.size() && text[end] == ':' ? 1 : 0);
      if (braced && text_at < text.size() && (text[text_at] == '-' || text[text_at] == '=')) {
        const std::size_t close = std::min(text.find('}', text_at), text.size() - 1);
        out += text.substr(text_at + 1, close - text_at - 1);
        at = close;
      } else {
        out.push_back('$');
      }
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
  using Mention = Guarded::Mention;

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
    for (const Command& command : parsed_.commands) {
      const std::string_view program = program_of(command);
      const bool launches = is_one_of(program, "env genv sudo doas make gmake");  // `env -C folder`
      if (!launches && !is_one_of(program, "cd pushd chdir")) continue;
      for (std::size_t at = 1; at < command.words.size(); ++at) {
        const Word& word = command.words[at];
        std::string_view text = word.text;
        if (!word.is_literal()) continue;
        if (launches) {
          const bool is_long = text.starts_with("--chdir=") || text.starts_with("--directory=");
          if (is_long) text.remove_prefix(text.find('=') + 1);
          else if (!is_one_of(command.words[at - 1].text, "-C -D --chdir --directory")) continue;
        }
        if (!text.empty() && !text.starts_with('-')) enters(text);
      }
    }
    // `cd ~/x`, `cd "$HOME/x"`
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
  static std::vector<std::string_view> words_in(std::string_view text) {
    std::vector<std::string_view> out;
    std::size_t from = 0;
    for (std::size_t at = 0; at <= text.size(); ++at) {
      if (at < text.size() && std::string_view(" \t\n;&|()<>`").find(text[at]) == std::string_view::npos) continue;
      if (at > from) out.push_back(text.substr(from, at - from));
      from = at + 1;
    }
    return out;
  }
  void enters(std::string_view text) {
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
      const Found found = guarded_.find(path);
      if (found.guard != Guard::None || (takes_away && found.holds && !only_searched.contains(path)))
        return touch(path);
    }
    // What is said of these words is said in words().
    std::set<std::string> told, shown;
    for (const Command& command : parsed_.commands) {
      const bool reads = only_reads(command);
      for (std::size_t at = 1; at < command.words.size(); ++at) {
        const bool is_only_told = command.words[at].is_literal() && is_told(command, at);
        if (!is_only_told && (!reads || !command.words[at].is_literal())) continue;
        for (const std::string& in : folders_)
          (is_only_told ? told : shown).insert(shell::normalised(in, command.words[at].text));
      }
    }
    for (const std::string& path : effects_.paths) {
      if (told.contains(path)) continue;
      const Guard guard = guarded_.find(path).guard;
      if (is_touched(guard) && (guard == Guard::Secret || !shown.contains(path))) return touch(path);
    }
  }

  // A message, or a line for a list of what is ignored.
  static bool is_told(const Command& command, std::size_t at) {
    const std::string_view program = program_of(command);
    const auto is = [&](std::size_t place, std::string_view words) {
      return place < at && command.words[place].is_literal() && is_one_of(command.words[place].text, words);
    };
    // The word before the option is no option that would take it for its value.
    const auto behind = [&](std::string_view options) {
      return at > 2 && is(at - 1, options) &&
             (!command.words[at - 2].text.starts_with('-') ||
              is(at - 2, "-a -s -q -v --amend --no-verify --signoff --draft --fill --web -d"));
    };
    if (program == "git") return is(1, "commit tag merge notes") && behind("-m -am --message");
    if (program == "gh")
      return is(1, "pr issue release") && behind("-t --title -b --body -n --notes -c --comment") &&
             (!is(at - 1, "-n -c") || is(2, "create close edit"));
    if (program == "echo" || program == "printf")
      return std::ranges::all_of(command.redirections,
                                 [](const shell::Redirection& one) {
                                   return one.target.is_literal() && one.target.text.ends_with("ignore");
                                 }) &&
             !command.redirections.empty();
    // `-not -path ./.baton/*`: kept out, where nothing takes the `not` back.
    if (program == "find" && at > 3 && is(at - 1, "-path -wholename -ipath -iwholename") && is(at - 2, "-not !") &&
        !is(at - 3, "-not !"))
      return std::ranges::none_of(
          command.words, [](const Word& word) { return !word.is_literal() || is_one_of(word.text, "-o -or , ( )"); });
    if (program == "find")
      return is(at - 1, "-path -wholename -ipath -iwholename") && at + 2 < command.words.size() &&
             command.words[at + 1].is("-prune") && (command.words[at + 2].is("-o") || command.words[at + 2].is("-or"));
    return false;
  }
  // What is protected from writing may be shown, and staged.
  static bool only_reads(const Command& command) {
    if (command.words.size() < 2) return false;
    if (program_of(command) == "baton")
      return command.words.size() > 2 && command.words[1].is("contract") &&
             is_one_of(command.words[2].text, "check diff test show explain");
    if (program_of(command) != "git") return false;
    const std::string_view what = command.words[1].text;
    const std::span<const Word> rest = std::span(command.words).subspan(2);
    const auto begins = [&](std::string_view front) {
      return std::ranges::any_of(rest, [&](const Word& word) { return word.text.starts_with(front) || word.splits; });
    };
    if (what == "reset") return !begins("--h") && !begins("--m") && !begins("--k") && !begins("--p") && !begins("-p");
    if (what == "restore" || what == "rm") return only_indexes(what, rest);
    return is_one_of(what, "add diff show log blame status ls-files shortlog commit") && !begins("--ou");
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
  static bool only_clears(const Command& command) { return program_of(command) != "find" || clears_leftovers(command); }
  // `find . -name '*.pyc' -delete`, without anything that would widen the search.
  static bool clears_leftovers(const Command& command) {
    const auto word = [&](std::size_t at) -> std::string_view {
      return at < command.words.size() && command.words[at].is_literal() ? std::string_view(command.words[at].text)
                                                                         : "?";
    };
    std::size_t at = 1;
    while (at < command.words.size() && !word(at).starts_with('-') && !is_one_of(word(at), "? ( ) ! ,")) ++at;
    bool names = false;
    for (; at < command.words.size(); ++at) {
      if (is_one_of(word(at), "-name -type -maxdepth -mindepth -mtime -mmin -size")) {
        names = names || (word(at) == "-name" && is_one_of(word(at + 1), kLeftovers));
        ++at;
      } else if (word(at) == "-exec" && names && word(at + 1) == "rm") {
        for (at += 2; word(at).starts_with('-');) ++at;
        if (word(at) != "{}" || !is_one_of(word(++at), "+ ;")) return false;
      } else if (!is_one_of(word(at), "-print -print0 -depth -prune") && (word(at) != "-delete" || !names)) {
        return false;
      }
    }
    return names;
  }

  // --- words

  // The text of a word with its wildcards; nothing: an expansion decides it.
  static std::optional<std::string> text_of(const Word& word) {
    if (word.kind == Word::Kind::Unknown) return std::nullopt;
    return word.kind == Word::Kind::Pattern ? word.text + word.rest : word.text;
  }

  // `shown`: it is only read.
  void word(const Word& word, bool shown = false) {
    const auto is_touched = [&](Guard guard) { return this->is_touched(guard) && (!shown || guard == Guard::Secret); };
    const auto text = text_of(word);
    if (touch_ || !text) return;
    if (text->size() > limits::kShellPathBytesMax) {
      if (is_touched(guarded_.mentioned(*text, Mention::Begins))) touch_ = Touch{std::string(kMentioned), true};
      return;
    }
    const Found found = guarded_.find_any(*text, &folders_);
    if (is_touched(found.guard) ||
        (found.guard == Guard::Fixed && word.kind == Word::Kind::Pattern && writes_in_settings()))
      return touch(found);
    for (const std::string_view end : kPacked)
      if (text->ends_with(end))
        if (const Found plain = guarded_.find_any(text->substr(0, text->size() - end.size()), &folders_);
            is_touched(plain.guard))
          return touch(plain);
  }
  // Of `tee .claude/s*` only the folder is known to be written in.
  bool writes_in_settings() {
    return std::ranges::any_of(effects_.writes, [&](const std::string& path) { return guarded_.find(path).holds; });
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
    for (std::size_t at = 1; at < command.words.size() && !touch_; ++at) {
      const Word& one = command.words[at];
      const bool is_option = one.text.starts_with('-');
      if ((program == "find" || program == "gfind") && is_option) return;  // an expression
      if (is_text && !is_option) {
        is_text = false;
        continue;
      }
      if (!is_told(command, at)) word(one, shown);
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
    else if (is_one_of(program, kMounts)) removes(command);
    else if (is_one_of(program, kTakesAway) && program != "find") {
      if (command.via != "find" || !std::ranges::all_of(parsed_.commands, only_clears)) removes(command);
    } else if (program == "git") git(command);
    else if (is_one_of(program, kFetches) || is_fetching_gh(command)) fetches(command, program);
    else if (is_one_of(program, "docker podman nerdctl kubectl") && command.words.size() > 1 &&
             command.words[1].is("cp")) {
      Command copying = command;
      copying.words.erase(copying.words.begin());
      copies(copying, "ditto");
    } else {
      if (is_one_of(program, kPacks)) packs(command);
      if (is_one_of(program, kUnpacks)) unpacks(command, program);
    }
  }

  void copies(const Command& command, std::string_view program) {
    Operands operands = operands_of(command, "-t --target-directory");
    const bool recursive = operands.recursive || program == "rsync" || program == "ditto";
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
    const Word* target = take_target(operands);
    for (const Word* source : operands.words) {
      const Found found = find(*source);
      if ((recursive && found.holds_secret) || (makes_links && (found.guard != Guard::None || found.holds)))
        return touch(found);
      if (target == nullptr) continue;
      lands(*source, *target, recursive,
            (recursive && is_whole) || (program == "rsync" && source->text.ends_with('/')));
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
    // `host:x` comes to lie as `x`.
    for (const std::string_view one : {name, name.substr(name.rfind(':') + 1)})
      if (const Found inside = find(*to + "/" + std::string(one));
          inside.guard != Guard::None || (whole && inside.holds))
        return touch(inside);
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
    if (operands.words.size() > 1 && operands.target == nullptr) {
      // A folder of settings that is a link to another.
      if (const Found found = find(*operands.words.back()); found.holds_by_name) return touch(found);
      operands.words.pop_back();
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

  void packs(const Command& command) {
    std::vector<std::string> in = folders_;
    const bool is_zip = program_of(command) == "zip";
    const bool removes = std::ranges::any_of(command.words, [&](const Word& word) {
      return word.is("--remove-files") || word.is("--move") || word.is("-sdel") ||
             (is_zip && word.text.starts_with('-') && !word.text.starts_with("--") &&
              word.text.find('m') != word.text.npos);
    });
    for (std::size_t at = 1; at < command.words.size(); ++at) {
      const auto text = text_of(command.words[at]);
      if (!text) continue;
      const auto into = at + 1 < command.words.size() ? text_of(command.words[at + 1]) : std::nullopt;
      if (into && (*text == "-C" || *text == "--directory" || *text == "--cd")) {
        for (std::string& folder : in) folder = into->starts_with('/') ? *into : folder + "/" + *into;
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
      // What is in the archive says where it goes.
      if (mode.find('P') != mode.npos || has_long("--absolute-names") || has_long("--absolute-paths"))
        return touch("/");
    }
    if ((program == "7z" || program == "7za" || program == "7zr" || program == "rar") && command.words.size() > 1 &&
        !command.words[1].is("x") && !command.words[1].is("e"))
      return;
    // The values of options; each -C is taken in the one before it.
    std::vector<std::string> in = folders_;
    for (std::size_t at = 1; at < command.words.size(); ++at) {
      const auto text = text_of(command.words[at]);
      const std::string_view before = command.words[at - 1].text;
      if (!text || (!text->starts_with('-') && (at == 1 || !before.starts_with('-')))) continue;
      if (const Found found = guarded_.find_any(*text, &in); found.holds || found.guard != Guard::None)
        return touch(found);
      if (is_one_of(before, "-C --directory --cd"))
        for (std::string& folder : in) folder = text->starts_with('/') ? *text : folder + "/" + *text;
    }
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

  // `gh repo clone x folder`, `gh release download -D folder`
  static bool is_fetching_gh(const Command& command) {
    return program_of(command) == "gh" && command.words.size() > 1 &&
           is_one_of(command.words[1].text, "repo release run");
  }

  void fetches(const Command& command, std::string_view program) {
    const Operands operands = operands_of(command, "");
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

  // `git clean -nd`. What stands behind -e is no option.
  static bool only_shows_clean(std::span<const Word> rest) {
    bool shows = false;
    for (std::size_t at = 0; at < rest.size(); ++at) {
      const std::string_view text = rest[at].text;
      if (text == "--") break;
      if (!rest[at].is_literal() || text.starts_with("--no")) return false;
      shows = shows || text == "--dry-run";
      if (text.starts_with("--e")) at += text.find('=') == text.npos ? 1 : 0;
      if (!text.starts_with('-') || text.starts_with("--")) continue;
      const std::size_t value = text.find('e');
      shows = shows || text.substr(0, value).find('n') != text.npos;
      if (value + 1 == text.size()) ++at;
    }
    return shows;
  }
  static bool only_shows_patch(std::span<const Word> rest) {
    bool shows = false;
    for (const Word& word : rest) {
      shows = shows || is_one_of(word.text, "--check --stat --numstat --summary");
      if (!word.is_literal() || (word.text.starts_with('-') &&
                                 !is_one_of(word.text,
                                            "--check --stat --numstat --summary -v --verbose -p0 -p1 -p2 -R --reverse "
                                            "--index --cached -3 --3way -")))
        return false;
    }
    return shows;
  }
  // Only what is staged is changed: `git restore --staged .`, `git rm --cached x`.
  static bool only_indexes(std::string_view what, std::span<const Word> rest) {
    bool index = false;
    for (const Word& word : rest) {
      if (word.is("--")) break;
      if (!word.is_literal()) return false;
      if (!word.text.starts_with('-')) continue;
      if (what == "restore" ? word.is("--staged") || word.is("-S") : word.is("--cached")) index = true;
      else if (!is_one_of(word.text, what == "restore" ? "-q --quiet" : "-q --quiet -r -f -rf -n --ignore-unmatch"))
        return false;
    }
    return index && (what == "restore" || what == "rm");
  }

  // What a commit brings along cannot be seen; what is named, what is removed and what is made anew can.
  void git(const Command& command) {
    std::size_t at = 1;
    std::vector<std::string> in = folders_;
    for (; at < command.words.size() && command.words[at].text.starts_with('-'); ++at) {
      const std::string_view option = command.words[at].text;
      std::string_view into;
      if (is_one_of(option, "-C -c --git-dir --work-tree --namespace")) {
        if (++at == command.words.size()) return;
        if (option == "-C" || option == "--work-tree") into = command.words[at].text;
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
    const bool cleans = what == "clean" && !only_shows_clean(rest);
    const bool applies =
        what == "am" || what == "checkout-index" || what == "read-tree" || (what == "apply" && !only_shows_patch(rest));
    const bool names = is_one_of(what, "checkout restore rm mv");
    const bool makes = is_one_of(what, "clone worktree submodule init");
    if ((!cleans && !applies && !names && !makes) || only_indexes(what, rest)) return;
    bool named = false;
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
      } else if (names && ((is_pattern(*text) && guarded_.fits_tracked(*text, in)) || text->starts_with(':'))) {
        return touches_one_of(in);
      }
    }
    if (names && std::ranges::any_of(rest, [](const Word& word) { return word.text.starts_with("--pathspec-f"); }))
      return touches_one_of(in);
    if (cleans && !named) return touches_one_of(in, false);
    if (applies) touches_one_of(in, what != "apply");
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
        return word.is("-T") || word.is("-@") || word.is("--stdin") || word.text.starts_with("--files-from") ||
               word.text.starts_with("--pathspec-from-file");
      });
    });
  }

  // What variables of the line are, as far as it says so. Of a loop there are several.
  using Values = std::map<std::string, std::string>;
  std::vector<Values> values() const {
    const std::string config = guarded_.home().empty() ? ".config" : guarded_.home() + "/.config";
    std::vector<Values> out = {{{"HOME", guarded_.home()},
                                {"PWD", std::string(cwd_)},
                                {"XDG_CONFIG_HOME", config},
                                {"BATON_STORE", ".baton"},
                                {"BATON_KEYS", ".baton"}}};
    Values& first = out.front();
    for (const Command& command : parsed_.commands) {
      for (const shell::Assignment& one : command.assignments)
        if (one.value.is_literal()) first[one.name] = one.value.text;
      const std::string_view program = program_of(command);
      std::size_t number = 0;
      for (std::size_t at = 1; at < command.words.size(); ++at) {
        const std::string& text = command.words[at].text;
        if (const std::size_t sign = text.find('=');
            sign != text.npos && is_one_of(program, "export declare typeset readonly local"))
          first[text.substr(0, sign)] = text.substr(sign + 1);
        if (program == "set" && !text.starts_with('-')) first[std::to_string(++number)] = text;
      }
      for (const shell::Redirection& one : command.redirections)
        if (program == "read" && one.operation == "<<<") first[command.words.back().text] = one.target.text;
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
    for (const Command& command : parsed_.commands)
      for (std::size_t at = 0; at < command.words.size(); ++at)
        if (command.words[at].kind == Word::Kind::Unknown && (command.words[at].splits || !is_told(command, at)))
          return out;
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
      guard = std::max(guard, guarded_.mentioned(text, Mention::Whole));
      if (takes_away && guarded_.mentions_folder(text)) touch_ = Touch{std::string(kMentioned), true};
      if (runs_text && !touch_)
        if (auto others = command_in_text(text)) touch_ = Touch{std::move(*others), true};
    };
    look_at(unquoted(without_expansions(line)));
    // `/proc/$(pgrep x)/environ`
    for (const std::string any = unquoted(without_expansions(line_, '0')); const std::string_view one : words_in(any))
      if (one.starts_with("/proc/") && is_touched(guarded_.find(one).guard)) guard = Guard::Secret;
    const std::vector<Values> all = values();
    for (const Values& values : all) {
      std::string text = unquoted(line);
      look_at(text);
      for (int round = 0; round < 3; ++round) {
        std::string next = substituted(text, values);
        if (next == text) break;
        text = std::move(next);
        look_at(text);
      }
      if (!is_touched(guard)) guard = std::max(guard, of_words(text, &values != &all.front()));
      if (touch_ || is_touched(guard)) break;
    }
    if (!touch_ && is_touched(guard)) touch_ = Touch{std::string(kMentioned), true};
  }

  // Of the paths in a text that was put together: `~/x`, `$folder/x`; of a loop also `x/*`.
  Guard of_words(std::string_view text, bool is_looped) {
    Guard out = Guard::None;
    for (const std::string_view one : words_in(text)) {
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
