// SPDX-License-Identifier: Apache-2.0
#include "protection/protection.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "hooks/facts.h"
#include "protection/commands.h"
#include "protection/guarded.h"
#include "shell/effects.h"

namespace baton::protection {
namespace {

constexpr std::size_t kTextsMax = 10'000;
constexpr std::size_t kPathBytesMax = 4096;  // Linux opens no longer one
constexpr std::size_t kJoinedMax = 24;       // strings that are tried behind each other
constexpr std::size_t kJoinedBytesMax = 1024;

// `filePath`, `file_path`, `FILE-PATH`
std::string plain_name(std::string_view name) {
  std::string out;
  for (const char c : name)
    if (is_alphanumeric(c)) out.push_back(to_lower(c));
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
    if (name.ends_with(end)) return true;
  return false;
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

// Words in the names of tools for which a folder is gone, or another, afterwards.
bool takes_away(std::string_view tool) {
  static constexpr std::array<std::string_view, 16> kWords = {
      "move",   "rename",  "delete", "remove", "link",  "copy",  "extract", "unzip",
      "unpack", "archive", "sync",   "chmod",  "chown", "trash", "zip",     "duplicate"};
  return std::ranges::any_of(kWords, [&](std::string_view word) { return tool.find(word) != tool.npos; });
}
// Of these, tools that read all that is in a folder.
bool reads_trees(std::string_view tool) {
  static constexpr std::array<std::string_view, 5> kWords = {"copy", "archive", "sync", "zip", "duplicate"};
  return std::ranges::any_of(kWords, [&](std::string_view word) { return tool.find(word) != tool.npos; });
}

class Strings {
 public:
  Strings(Guarded& guarded, std::string_view tool, std::string_view cwd)
      : guarded_(guarded), tool_(plain_name(tool)), takes_away_(takes_away(tool_)), cwd_(cwd) {}

  std::optional<Touch> run(json::Node arguments) {
    names_path_ = has_path(arguments);
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

  void walk(json::Node node, std::string_view name) {
    if (is_over()) return;
    if (node.is_string()) return string(node.string(), name);
    for (const json::Node one : node.elements()) walk(one, name);
    for (const json::Member member : node.members()) {
      const std::string own = plain_name(member.name());
      if (const std::string_view spelled = member.name();
          spelled.find_first_of("./\\%") != spelled.npos && spelled != hooks::kFacts) {
        if (count()) path(spelled);
      }
      // `files: {"a.txt": "..."}` has the path as the name: what stands there is content, and its member's name is no rule for it.
      walk(member.value, own);
    }
  }

  // More strings than that are no call that anybody understands: each of them would have to be looked at.
  bool count() {
    if (++count_ <= kTextsMax) return true;
    touch({"more texts than are looked through", true});
    return false;
  }

  void string(std::string_view text, std::string_view name) {
    if (!count() || text.empty()) return;
    if ((is_patch(name) || tool_.find("patch") != tool_.npos) && text.find('\n') != text.npos) return patch(text);
    const bool content = is_content(name);
    if (content && names_path_) return;
    if (is_command(name))
      if (auto found = touched_by_command(guarded_, text, cwd_)) return touch(std::move(*found));
    if (is_code(name)) mention(text, false);
    if (is_words(name))
      for (const std::string_view word : split(text, ' ')) path(word);
    if (text.size() <= kPathBytesMax) return path(text, !content);
    if (!content) return mention(text, true);
    for (const std::string_view line : split(text, '\n'))
      if (line.size() <= kPathBytesMax && !is_over()) path(line, false);
  }

  void mention(std::string_view text, bool begins) {
    const Guard guard = guarded_.mentioned(text, begins);
    if (guard != Guard::None) touch({"something of Baton's in a long text", guard == Guard::Secret});
  }

  void path(std::string_view text, bool joins = true) {
    if (text.empty() || is_over()) return;
    const Guarded::Found found = guarded_.find_any(text);
    take(found);
    if (joins && text.size() <= kJoinedBytesMax && joined_.size() <= kJoinedMax) joined_.emplace_back(text);
  }

  void take(const Guarded::Found& found) {
    if (found.guard != Guard::None) return touch({found.path, found.guard == Guard::Secret});
    if (takes_away_ && found.holds) touch({found.path, found.holds_secret && reads_trees(tool_)});
  }

  // A folder in one string and a path below it in another.
  void join() {
    if (joined_.size() > kJoinedMax) return;
    std::vector<std::string> folder(1);
    for (std::size_t above = 0; above < joined_.size(); ++above)
      for (std::size_t below = 0; below < joined_.size(); ++below) {
        if (above == below || is_over()) continue;
        const std::string_view rest = joined_[below];
        if (rest.starts_with('/') || rest.starts_with('~')) continue;
        take(guarded_.find(joined_[above] + "/" + std::string(rest)));
      }
  }

  // `--- a/x`, `+++ b/x`, `diff --git a/x b/x`, `rename to x`, `*** Update File: x`; other lines are content when they are marked so.
  void patch(std::string_view text) {
    for (std::string_view line : split(text, '\n')) {
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (is_over()) return;
      bool is_header = false;
      for (const std::string_view front :
           {"--- ", "+++ ", "diff --git ", "rename from ", "rename to ", "copy from ", "copy to ",
            "Index: ", "*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"}) {
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
  const std::string tool_;
  const bool takes_away_;
  const std::string_view cwd_;
  bool names_path_ = false;
  std::size_t count_ = 0;
  std::vector<std::string> joined_;
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
