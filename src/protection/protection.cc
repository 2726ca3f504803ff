// SPDX-License-Identifier: Apache-2.0
#include "protection/protection.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/limits.h"
#include "base/text.h"
#include "hooks/facts.h"
#include "json/parse.h"
#include "protection/commands.h"
#include "protection/guarded.h"
#include "protection/line_text.h"
#include "protection/spelling.h"
#include "shell/effects.h"

namespace baton::protection {
namespace {

constexpr std::size_t kTextsMax = 10'000;
constexpr std::size_t kPathBytesMax = 4096;  // Linux opens no longer one
constexpr std::size_t kJoinedMax = 24;       // strings that are tried behind each other
constexpr std::size_t kJoinedBytesMax = 1024;
constexpr std::size_t kLineBytesMax = 4 * limits::kShellCommandBytesMax;  // of a command line
// How many bytes of work a command line counts as: one, and each byte of it.
constexpr std::size_t kCommandWork = 2048;
constexpr std::size_t kCommandWeight = 6;

// `filePath`, `file_path`, `FILE-PATH`
std::string plain_name(std::string_view name) {
  std::string out;
  for (const char c : name)
    if (is_alphanumeric(c)) out.push_back(to_lower(c));
  return out;
}

// `write_bash`, `mvFile`: the words of it, each in lower case.
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> out(1);
  for (std::size_t at = 0; at < name.size(); ++at) {
    const bool begins = !is_alphanumeric(name[at]) || (is_upper(name[at]) && at > 0 && !is_upper(name[at - 1]));
    if (begins && !out.back().empty()) out.emplace_back();
    if (is_alphanumeric(name[at])) out.back().push_back(to_lower(name[at]));
  }
  return out;
}

template <std::size_t N>
bool is_in(std::string_view name, const std::array<std::string_view, N>& names) {
  return std::ranges::find(names, name) != names.end();
}

// Members that hold what is written, or words, rather than where.
bool is_content(std::string_view name) {
  static constexpr std::array<std::string_view, 8> kNames = {"body",   "description", "instruction", "message",
                                                             "newstr", "newsource",   "oldstr",      "prompt"};
  if (is_in(name, kNames)) return true;
  for (const std::string_view end : {"text", "content", "contents", "string"})  // `file_text`, `newString`
    if (name.ends_with(end)) return !name.ends_with("context");                 // of a build: a folder
  return false;
}
// Members that hold what somebody is told: names in them are only talked about.
bool is_prose(std::string_view name) {
  static constexpr std::array<std::string_view, 22> kNames = {
      "activeform",  "comment",      "description",   "explanation", "fact",    "header",
      "instruction", "instructions", "justification", "label",       "message", "note",
      "observation", "observations", "prompt",        "question",    "reason",  "subject",
      "summary",     "thought",      "title",         "topic"};
  return is_in(name, kNames);
}
// Members that hold what a tool passes over.
bool is_left_out(std::string_view name) {
  static constexpr std::array<std::string_view, 9> kNames = {"exclude",        "excludes",    "excludepatterns",
                                                             "excludepattern", "excludedirs", "ignorepatterns",
                                                             "ignoredpaths",   "ignore",      "excludeglobs"};
  return is_in(name, kNames);
}
bool is_path(std::string_view name) {
  static constexpr std::array<std::string_view, 13> kWords = {"path",     "file",      "dir",    "folder",   "uri",
                                                              "target",   "dest",      "source", "location", "root",
                                                              "notebook", "workspace", "output"};
  return std::ranges::any_of(kWords, [&](std::string_view word) { return name.find(word) != name.npos; });
}
bool is_command(std::string_view name) {
  static constexpr std::array<std::string_view, 8> kNames = {"command",  "cmd",    "commandline", "shellcommand",
                                                             "commands", "script", "shell",       "bash"};
  return is_in(name, kNames);
}
bool is_words(std::string_view name) {
  static constexpr std::array<std::string_view, 6> kNames = {"args",    "arguments", "argv",
                                                             "options", "flags",     "extraargs"};
  return is_in(name, kNames);
}
bool is_code(std::string_view name) {
  static constexpr std::array<std::string_view, 8> kNames = {"code",   "sourcecode", "python",  "javascript",
                                                             "script", "expression", "snippet", "eval"};
  return is_in(name, kNames);
}
bool is_patch(std::string_view name) {
  static constexpr std::array<std::string_view, 4> kNames = {"patch", "diff", "patchtext", "input"};
  return is_in(name, kNames);
}

// Tools of the clients' own with which an agent plans, asks and tells: no file is opened by their words. Only names that no server uses.
bool only_talks(std::string_view tool) {
  static constexpr std::array<std::string_view, 19> kTools = {
      "Agent",       "AskQuestion", "AskUserQuestion",   "ExitPlanMode",         "SemanticSearch",
      "SendMessage", "Task",        "TaskCreate",        "TaskUpdate",           "TodoWrite",
      "ToolSearch",  "WebSearch",   "google_web_search", "report_intent",        "todowrite",
      "update_plan", "update_todo", "write_todos",       "codebase_investigator"};
  return is_in(tool, kTools);
}
// Of a client's own search: what is searched for. A server's tool has no facts.
bool is_searched_for(std::string_view tool, std::string_view member) {
  static constexpr std::array<std::string_view, 4> kTools = {"Grep", "grep", "grep_search", "search_file_content"};
  return member == "pattern" && is_in(tool, kTools);
}

// The first lines of what is changed in a file.
constexpr std::array<std::string_view, 12> kHeaders = {
    "--- ",     "+++ ",    "diff --git ",   "rename from ",     "rename to ",       "copy from ",
    "copy to ", "Index: ", "*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"};

// Its lines are passed over as content, so that it has to be one.
bool is_patch_text(std::string_view text) {
  bool from = false, to = false;
  for (const std::string_view line : split(text, '\n')) {
    const std::string_view front = trim(line);
    from = from || front.starts_with("--- ");
    to = to || front.starts_with("+++ ");
    for (const std::string_view header : kHeaders)
      if (header.size() > 4 && front.starts_with(header)) return true;
  }
  return from && to;
}

// What a tool does, by the words of its name.
class Kind {
 public:
  explicit Kind(std::string_view tool) : plain_(plain_name(tool)), words_(words_of(tool)) {}

  // A folder is gone, or another, afterwards.
  bool takes_away() const {
    return has({"move", "rename", "delete", "remove", "link", "copy", "extract", "unzip", "unpack", "archive", "sync",
                "chmod", "chown", "trash", "zip", "duplicate", "erase", "purge", "clone"}) ||
           is({"cp", "ln", "mv", "rm", "rmdir", "tar", "clean", "wipe"});
  }
  // All that is in a folder is read.
  bool reads_trees() const { return has({"copy", "archive", "sync", "zip", "duplicate"}) || is({"cp", "tar"}); }
  // What it is given is typed into a shell.
  bool is_shell() const {
    return has({"bash", "shell", "stdin", "terminal", "console", "sendkeys", "command", "runprocess"}) ||
           is({"exec", "zsh", "tmux"});
  }
  bool is_patch() const { return has({"patch"}) && !has({"dispatch"}); }
  bool is_for_files() const {
    return has({"file", "folder", "director"}) || is({"fs", "dir", "ls", "cat", "cp", "mv", "rm"});
  }
  bool is_search() const { return has({"search"}); }

 private:
  using Names = std::initializer_list<std::string_view>;
  bool has(Names parts) const {
    return std::ranges::any_of(parts, [&](std::string_view part) { return plain_.find(part) != plain_.npos; });
  }
  bool is(Names names) const {
    return std::ranges::any_of(names,
                               [&](std::string_view name) { return std::ranges::find(words_, name) != words_.end(); });
  }

  const std::string plain_;
  const std::vector<std::string> words_;
};

// A program and its arguments as a line that a shell would make the same of; empty: it is none.
std::string line_of(json::Node words) {
  if (words.is_string()) return std::string(words.string());
  std::string out;
  for (const json::Node word : words.elements()) {
    if (!word.is_string()) return {};
    out += out.empty() ? "'" : " '";
    for (const char c : word.string()) c == '\'' ? out.append("'\\''") : out.append(1, c);
    out += '\'';
  }
  return out;
}

class Strings {
 public:
  Strings(Guarded& guarded, std::string_view tool, std::string_view cwd)
      : guarded_(guarded), name_(tool), tool_(tool), cwd_(cwd), only_talks_(only_talks(tool)) {}

  std::optional<Touch> run(json::Node arguments) {
    names_path_ = has_path(arguments);
    is_own_ = arguments[hooks::kFacts].is_object();
    walk(arguments, {});
    if (!is_over()) join();
    if (!is_over() && guarded_.is_exhausted()) touch({"more paths than are looked through", true});
    return std::move(touch_);
  }

 private:
  bool is_over() const { return touch_ && touch_->always; }
  void touch(Touch found) {
    if (touch_ && (touch_->always || !found.always)) return;
    const std::string whole = shell::normalised("", found.path);
    if (!whole.empty()) found.path = whole;
    touch_ = std::move(found);
  }

  static bool has_path(json::Node node) {
    for (const json::Node one : node.elements())
      if (has_path(one)) return true;
    for (const json::Member member : node.members()) {
      if (member.name() == hooks::kFacts) continue;
      const bool holds_text = member.value.is_string() || member.value.element(0).is_string();
      const std::string name = plain_name(member.name());
      if (holds_text && is_path(name) && !is_content(name)) return true;
      if (has_path(member.value)) return true;
    }
    return false;
  }

  // `names`: of the members on the way here, as folders: `{".codex": {"rules": {"default.rules": "..."}}}`.
  void walk(json::Node node, std::string_view name, const std::string& names = {}) {
    const bool is_top = std::exchange(is_top_, false);
    if (is_over() || guarded_.is_exhausted()) return;
    if (node.is_string()) return string(node.string(), name);
    if (is_command(name) || is_words(name)) command(line_of(node));
    lines(node);
    for (const json::Node one : node.elements()) walk(one, name, names);
    for (const json::Member member : node.members()) {
      if (is_top && member.name() == hooks::kFacts) {
        facts(member.value);
        continue;
      }
      const std::string own = plain_name(member.name());
      if (const std::string_view spelled = member.name(); spelled.find_first_of("./\\%") != spelled.npos) {
        if (count()) path(spelled);
        if (!names.empty()) path(names + "/" + std::string(spelled), false);
      }
      // `files: {"a.txt": "..."}` has the path as the name: what stands there is content, and its member's name is no rule for it.
      std::string below = names.empty() ? std::string(member.name()) : names + "/" + std::string(member.name());
      if (below.size() > kJoinedBytesMax) below = names;
      walk(member.value, own, below);
    }
  }

  // What the call touches; the folder it is made in is not touched by that.
  void facts(json::Node facts) {
    walk(facts["paths"], {});
    walk(facts["writes"], {});
    if (facts["cwd"].is_string())
      if (const Guarded::Found found = guarded_.find(facts["cwd"].string()); found.guard != Guard::None) take(found);
  }

  // `{"command": "sh", "args": ["-c", "..."]}`
  void lines(json::Node node) {
    std::string program, words;
    for (const json::Member member : node.members()) {
      const std::string name = plain_name(member.name());
      if (is_command(name) && program.empty()) program = line_of(member.value);
      if (is_words(name) && words.empty()) words = line_of(member.value);
    }
    if (!program.empty() && !words.empty()) command(program + " " + words);
  }

  // A line for a shell; nobody says which one. Those of Windows have other quotes.
  void command(std::string_view line) {
    if (line.empty() || is_over() || guarded_.is_exhausted()) return;
    guarded_.count_work(kCommandWork + line.size());
    // No shell runs so long a line, and reading it takes long.
    if (line.size() > kLineBytesMax) return mention(unquoted(line), Mention::Begins);
    guarded_.count_work(line.size() * kCommandWeight);
    if (auto found = touched_by_command(guarded_, line, cwd_)) return touch(std::move(*found));
    std::string plain;
    for (const char c : line)
      if (c != '`' && c != '^' && c != '"' && c != '\'') plain.push_back(c == '\\' ? '/' : c);
    mention(plain, Mention::AsPath);
    handled(plain);
  }

  // A text that is a JSON object or list: its strings, as if they stood in the call. False: it is none.
  bool json_text(std::string_view text, std::string_view name) {
    const std::string_view front = trim(text);
    if (!front.starts_with('{') && !front.starts_with('[')) return false;
    guarded_.count_work(text.size());
    if (guarded_.is_exhausted()) return false;
    const auto parsed = json::parse(front);
    if (parsed) walk(parsed->root(), name);
    return parsed.has_value();
  }

  // Something is done to whole folders.
  void handled(std::string_view text) {
    if (!is_over() && !guarded_.is_exhausted() && guarded_.handles_folder(text))
      touch({"something of Baton's in a long text", true});
  }

  // More strings than that are no call that anybody understands: each of them would have to be looked at.
  bool count() {
    if (++count_ <= kTextsMax) return true;
    touch({"more texts than are looked through", true});
    return false;
  }

  void string(std::string_view text, std::string_view name) {
    if (!count() || text.empty() || is_left_out(name)) return;
    if ((only_talks_ && !is_path(name)) || (is_own_ && is_searched_for(name_, name))) return;
    if ((is_patch(name) || tool_.is_patch()) && text.find('\n') != text.npos && is_patch_text(text)) return patch(text);
    const bool content = is_content(name);
    const bool prose =
        is_prose(name) || (tool_.is_search() && !tool_.is_for_files() && (name == "query" || name == "q"));
    const bool is_line = is_command(name) || (is_words(name) && text.find(' ') != text.npos);
    if (is_line || (tool_.is_shell() && !prose)) command(text);
    if (content && names_path_) return;
    const bool several_words = trim(text).find_first_of(" \t\n") != text.npos;
    if (prose && several_words && !tool_.is_for_files()) return;
    if (!content && !prose && json_text(text, name)) return mention(text, Mention::AsPath);
    if (content && several_words) return lines_of_content(text);
    if (is_code(name)) {
      mention(text, Mention::Whole);
      handled(text);
    }
    if (is_words(name))
      for (const std::string_view word : split(text, ' ')) path(word);
    if (text.size() <= kPathBytesMax) {
      path(text, !content);
      // `see .baton/x`, `attach '.baton/ledger.db'`
      if (!content && !prose && text.find_first_of(" \t\n\"'`()<>[]{}&?#") != text.npos && !is_page(text))
        mention(text, Mention::AsPath);
      return;
    }
    if (!content) {
      // A tool may take out what is needless in it.
      for (const std::string& folder : guarded_.folders())
        if (const std::string plain = shell::normalised(folder, text); plain.size() <= kPathBytesMax)
          path(plain, false);
      return mention(text, Mention::Begins);
    }
    path(text, false);
  }

  // A line of several words is a path only when a protected name is in it.
  void lines_of_content(std::string_view text) {
    const bool is_mentioned = guarded_.mentioned(text, Mention::Begins) != Guard::None;
    for (std::size_t at = 0; at <= text.size() && !is_over() && !guarded_.is_exhausted();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      const std::string_view line = trim(text.substr(at, end - at));
      at = end + 1;
      if (line.empty() || line.size() > kPathBytesMax) continue;
      if (line.find_first_of(" \t") == line.npos) path(line, false);
      else if (is_mentioned) take(guarded_.find(line));
    }
  }

  using Mention = Guarded::Mention;
  void mention(std::string_view text, Mention how) {
    if (is_over() || guarded_.is_exhausted()) return;
    const Guard guard = guarded_.mentioned(text, how);
    if (guard != Guard::None) touch({"something of Baton's in a long text", guard == Guard::Secret});
  }

  void path(std::string_view text, bool joins = true) {
    // An object without members is no path.
    if (text.empty() || text == "{}" || is_over() || guarded_.is_exhausted()) return;
    const Guarded::Found found = guarded_.find_any(text);
    take(found);
    if (joins && text.size() <= kJoinedBytesMax)
      joined_.push_back({std::string(text), found.holds, found.holds_by_name});
  }

  void take(const Guarded::Found& found) {
    if (found.guard != Guard::None) return touch({found.path, found.guard == Guard::Secret});
    if (tool_.takes_away() && found.holds) touch({found.path, found.holds_secret && tool_.reads_trees()});
  }

  // A folder in one string and a path below it in another. Of many strings only those are taken that name such a folder.
  void join() {
    const bool all = joined_.size() <= kJoinedMax;
    std::vector<Joined> deeper;
    for (const Joined& above : joined_)
      if ((all || above.holds) && !guarded_.is_exhausted())
        for (const Joined& below : joined_)
          if (&above != &below) join(above, below, &deeper);
    // `.codex`, `rules` and `default.rules`
    for (const Joined& above : deeper)
      for (const Joined& below : joined_) join(above, below, nullptr);
  }

  struct Joined {
    std::string text;
    bool holds, holds_by_name;
  };
  void join(const Joined& above, const Joined& below, std::vector<Joined>* deeper) {
    if (is_over() || guarded_.is_exhausted()) return;
    // `/x` may be below a root.
    std::string_view rest = trim(below.text);
    while (rest.starts_with('/')) rest.remove_prefix(1);
    if (rest.empty() || rest.starts_with('~')) return;
    std::string whole = above.text + "/" + std::string(rest);
    const Guarded::Found found = above.holds_by_name ? guarded_.find_any(whole) : guarded_.find(whole);
    take(found);
    if (deeper != nullptr && found.holds_by_name && deeper->size() < kJoinedMax)
      deeper->push_back({std::move(whole), true, true});
  }

  // `--- a/x`, `+++ b/x`, `diff --git a/x b/x`, `rename to x`, `*** Update File: x`; other lines are content when they are marked so.
  void patch(std::string_view text) {
    for (std::string_view line : split(text, '\n')) {
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (is_over()) return;
      bool is_header = false;
      for (const std::string_view front : kHeaders) {
        if (!trim(line).starts_with(front)) continue;
        is_header = true;
        const std::string_view rest = trim(trim(line).substr(front.size()));
        for (const std::string_view word : split(rest, ' ')) header(word);
        header(rest.substr(0, rest.find('\t')));
      }
      if (!is_header && line.find_first_of("+-@ \\") != 0) path(line, false);
    }
  }
  void header(std::string_view name) {
    if (name.starts_with("a/") || name.starts_with("b/")) path(name.substr(2), false);
    path(name, false);
  }

  Guarded& guarded_;
  const std::string_view name_;
  const Kind tool_;
  const std::string_view cwd_;
  const bool only_talks_;
  bool names_path_ = false, is_own_ = false, is_top_ = true;
  std::size_t count_ = 0;
  std::vector<Joined> joined_;
  std::optional<Touch> touch_;
};

std::string text_in(json::Node object, std::string_view name) {
  return object[name].is_string() ? std::string(object[name].string()) : std::string();
}

}  // namespace

std::optional<Touch> touched(const Paths& paths, std::string_view tool, json::Node arguments, std::string_view cwd) {
  if (!arguments.is_object()) return std::nullopt;
  const json::Node facts = arguments[hooks::kFacts];
  const std::string where = facts["cwd"].is_string() ? text_in(facts, "cwd") : std::string(cwd);
  Guarded guarded(paths, where);
  if (hooks::facts_of(tool) == hooks::FactsOf::Command && facts["command"].is_string())
    return touched_by_command(guarded, facts["command"].string(), where);
  return Strings(guarded, tool, where).run(arguments);
}

}  // namespace baton::protection
