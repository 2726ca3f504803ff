// SPDX-License-Identifier: Apache-2.0
#include "protection/protection.h"

#include <algorithm>
#include <array>
#include <span>

#include "adopt/adopt.h"
#include "base/text.h"
#include "shell/effects.h"
#include "shell/parse.h"

namespace baton::protection {
namespace {

enum class Guard : std::uint8_t { None, Fixed, Secret };

// --- by name ----------------------------------------------------------------------------------------------------------------------

// Wherever they lie: the last parts of a path, or its parts in the middle when a folder is meant (it ends with a slash).
constexpr std::array<std::string_view, 3> kSecretNames = {".baton/", ".config/baton/", "operator.token"};
// Files of clients that adopt does not write and that switch hooks or servers on and off all the same, and folders of a run.
// What was approved of MCP servers lies in packs, which may lie in a project.
constexpr std::array<std::string_view, 11> kFixedNames = {
    ".codex/hooks.json",   ".github/hooks/",    ".copilot/hooks/",   ".copilot/config.json",
    ".opencode/plugins/",  ".opencode/plugin/", "opencode/plugins/", ".cursor/hooks.json",
    ".gemini/extensions/", ".claude/plugins/",  "tools.lock.json"};
constexpr std::string_view kRunFolder = "baton-run-";

using Parts = std::vector<std::string_view>;

Parts parts_of(std::string_view path) {
  Parts out;
  for (const std::string_view part : split(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == ".." && !out.empty() && out.back() != "..") out.pop_back();
    else out.push_back(part);
  }
  return out;
}

struct Name {
  Parts parts;
  bool is_folder = false;
  std::string text;  // the parts with a slash between

  Name(std::string_view path, bool folder) : parts(parts_of(path)), is_folder(folder) {
    for (const std::string_view part : parts) text.append(text.empty() ? "" : "/").append(part);
  }
};

const std::vector<Name>& fixed_names() {
  static const std::vector<Name> kNames = [] {
    std::vector<Name> out;
    for (const std::string_view name : kFixedNames) out.emplace_back(name, name.ends_with('/'));
    for (const hooks::Client client : {hooks::Client::Claude, hooks::Client::Codex, hooks::Client::Gemini,
                                       hooks::Client::Copilot, hooks::Client::OpenCode, hooks::Client::Cursor})
      for (const adopt::Place& place : adopt::places_of(client)) out.emplace_back(place.path, false);
    return out;
  }();
  return kNames;
}

const std::vector<Name>& secret_names() {
  static const std::vector<Name> kNames = [] {
    std::vector<Name> out;
    for (const std::string_view name : kSecretNames) out.emplace_back(name, name.ends_with('/'));
    return out;
  }();
  return kNames;
}

bool is_at(const Parts& path, std::size_t at, const Parts& name) {
  return at + name.size() <= path.size() &&
         std::equal(name.begin(), name.end(), path.begin() + static_cast<std::ptrdiff_t>(at));
}

bool is_named(const Parts& path, const Name& name) {
  if (path.size() < name.parts.size()) return false;
  if (!name.is_folder) return is_at(path, path.size() - name.parts.size(), name.parts);
  for (std::size_t at = 0; at + name.parts.size() <= path.size(); ++at)
    if (is_at(path, at, name.parts)) return true;
  return false;
}

// The folder a protected file lies in, by its name: taking that away takes the file away.
bool is_folder_of(const Parts& path, const Name& name) {
  for (std::size_t length = 1; length < name.parts.size(); ++length)
    if (const Parts head(name.parts.begin(), name.parts.begin() + static_cast<std::ptrdiff_t>(length));
        path.size() >= length && is_at(path, path.size() - length, head) && head.back().starts_with('.'))
      return true;
  return false;
}

// --- by place ---------------------------------------------------------------------------------------------------------------------

class Guarded {
 public:
  explicit Guarded(const Paths& paths) : paths_(paths) {}

  Guard guard(std::string_view path) const {
    const Parts parts = parts_of(path);
    const auto names = [&](const std::vector<Name>& all) {
      return std::ranges::any_of(all, [&](const Name& name) { return is_named(parts, name); });
    };
    const auto within = [&](const std::vector<std::string>& all) {
      return std::ranges::any_of(all, [&](const std::string& one) { return shell::is_within(path, one); });
    };
    if (names(secret_names()) || within(paths_.secret)) return Guard::Secret;
    if (names(fixed_names()) || within(paths_.fixed)) return Guard::Fixed;
    if (std::ranges::any_of(parts, [](std::string_view part) { return part.starts_with(kRunFolder); }))
      return Guard::Fixed;
    return Guard::None;
  }

  // Does something protected lie in it, so that moving or removing it would do the same to that?
  bool holds_guarded(std::string_view folder) const {
    const Parts parts = parts_of(folder);
    if (std::ranges::any_of(fixed_names(), [&](const Name& name) { return is_folder_of(parts, name); })) return true;
    for (const auto* all : {&paths_.secret, &paths_.fixed})
      if (std::ranges::any_of(*all, [&](const std::string& one) { return shell::is_within(one, folder); })) return true;
    return false;
  }

  std::string absolute(std::string_view path, std::string_view cwd) const {
    if (!paths_.home.empty() && (path == "~" || path.starts_with("~/")))
      return shell::normalised("", paths_.home + "/" + std::string(path.substr(1)));
    const std::string out = shell::normalised(cwd, path);
    return out.empty() ? std::string(path) : out;
  }

  // In a text that was not read to its end: does something in it look like a name or a place of these?
  Guard mentioned(std::string_view text) const {
    const auto says = [&](const std::string& what) {
      const auto is_part = [](char c) { return is_alphanumeric(c) || c == '_' || c == '-' || c == '.'; };
      for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) {
        const std::size_t end = at + what.size();
        const bool begins = at == 0 || !is_part(text[at - 1]) || what.front() == '/';
        if (begins && (end == text.size() || !is_part(text[end]))) return true;
      }
      return false;
    };
    const auto any_name = [&](const std::vector<Name>& all) {
      return std::ranges::any_of(all, [&](const Name& name) { return says(name.text); });
    };
    if (any_name(secret_names()) || std::ranges::any_of(paths_.secret, says)) return Guard::Secret;
    if (any_name(fixed_names()) || std::ranges::any_of(paths_.fixed, says)) return Guard::Fixed;
    return Guard::None;
  }

 private:
  const Paths& paths_;
};

// --- command lines ----------------------------------------------------------------------------------------------------------------

// Programs for which a folder that is written is one that is gone, or another, afterwards.
constexpr std::array<std::string_view, 10> kTakesAway = {"rm",    "rmdir", "mv",     "ln",    "chmod",
                                                         "chown", "chgrp", "unlink", "shred", "find"};
// Programs that run the text in one of their words.
constexpr std::array<std::string_view, 12> kRunsText = {"python", "python2", "python3", "node", "nodejs", "perl",
                                                        "ruby",   "php",     "lua",     "deno", "bun",    "awk"};

bool runs_one_of(const shell::Parsed& parsed, std::span<const std::string_view> programs) {
  for (const std::string& program : shell::programs_of(parsed))
    if (std::ranges::find(programs, shell::base_name(program)) != programs.end()) return true;
  return false;
}

// What approves definitions of MCP servers. The proxy itself is not for others; what is behind `--` is the server's.
std::optional<std::string> mcp_command_for_others(const shell::Command& command) {
  static constexpr std::array<std::string_view, 2> kForOthers = {"lock", "approve-changes"};
  for (const shell::Word& word : std::span(command.words).subspan(1)) {
    if (!word.is_literal()) return "a command of Baton's that is not known";
    if (word.text == "--") break;
    if (std::ranges::find(kForOthers, word.text) != kForOthers.end()) return "`baton mcp " + word.text + "`";
  }
  return std::nullopt;
}

// Commands of Baton's that are for whoever stands above the agent: they take the wiring out, end the node, or speak for the client.
std::optional<std::string> command_for_others(const shell::Parsed& parsed) {
  static constexpr std::array<std::string_view, 3> kForOthers = {"adopt", "serve", "stop"};
  for (const shell::Command& command : parsed.commands) {
    if (command.words.empty() || !command.words.front().is_literal()) continue;
    const std::string_view program = shell::base_name(command.words.front().text);
    if (program == "baton-hook") return "the hook itself, which is for the client";
    if (program != "baton") continue;
    // The subcommand, or what may be it.
    for (const shell::Word& word : std::span(command.words).subspan(1)) {
      if (!word.is_literal()) return "a command of Baton's that is not known";
      if (std::ranges::find(kForOthers, word.text) != kForOthers.end()) return "`baton " + word.text + "`";
      if (word.text == "mcp") return mcp_command_for_others(command);
      if (!word.text.starts_with('-')) break;
    }
  }
  return std::nullopt;
}

std::optional<Touch> touched_by_command(const Guarded& guarded, std::string_view line, std::string_view cwd) {
  const shell::Parsed parsed = shell::parse(line);
  if (auto others = command_for_others(parsed)) return Touch{std::move(*others), true};
  const shell::Effects effects = shell::effects_of(parsed, cwd);
  const bool takes_away = runs_one_of(parsed, kTakesAway);
  for (const std::string& path : effects.writes)
    if (guarded.guard(path) != Guard::None || (takes_away && guarded.holds_guarded(path))) return Touch{path, true};
  for (const std::string& path : effects.paths) {
    const Guard guard = guarded.guard(path);
    if (guard == Guard::Secret || (guard == Guard::Fixed && !effects.writes_known)) return Touch{path, true};
  }
  if (parsed.opaque() || !effects.paths_known || runs_one_of(parsed, kRunsText)) {
    const Guard guard = guarded.mentioned(line);
    if (guard == Guard::Secret || (guard == Guard::Fixed && !effects.writes_known))
      return Touch{"something of Baton's in the command", true};
  }
  return std::nullopt;
}

// --- other tools ------------------------------------------------------------------------------------------------------------------

bool is_one_of(std::string_view name, std::span<const std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

// Members that hold what is written, or words, rather than where.
constexpr std::array<std::string_view, 16> kContent = {
    "content", "contents", "new_string", "old_string", "newText", "oldText", "new_str",     "old_str",
    "text",    "message",  "body",       "prompt",     "query",   "pattern", "description", "patch"};
constexpr std::array<std::string_view, 22> kPathNames = {
    "path",      "paths",    "file",     "files",         "file_path",     "filePath",
    "filepath",  "filename", "fileName", "absolute_path", "notebook_path", "dir",
    "directory", "folder",   "source",   "destination",   "target",        "from",
    "to",        "uri",      "writes",   "location"};

constexpr std::size_t kTextsMax = 10'000;

// Words in the names of tools for which a folder is gone, or another, afterwards.
bool takes_away(std::string_view tool) {
  static constexpr std::array<std::string_view, 5> kWords = {"move", "rename", "delete", "remove", "link"};
  return std::ranges::any_of(kWords, [&](std::string_view word) { return tool.find(word) != tool.npos; });
}

class Leaves {
 public:
  Leaves(const Guarded& guarded, std::string_view tool, std::string_view cwd)
      : guarded_(guarded), takes_away_(takes_away(tool)), cwd_(cwd) {}

  std::optional<Touch> look(json::Node node, std::string_view name) {
    if (node.is_string()) return look_at(node.string(), name);
    std::optional<Touch> found;
    const auto keep = [&](std::optional<Touch> one) {
      if (one && (!found || one->always)) found = std::move(one);
    };
    if (node.is_array())
      for (const json::Node one : node.elements()) {
        keep(look(one, name));
        if (found && found->always) break;
      }
    if (node.is_object())
      for (const json::Member member : node.members()) {
        keep(look(member.value, member.name()));
        if (found && found->always) break;
      }
    return found;
  }

 private:
  std::optional<Touch> look_at(std::string_view text, std::string_view name) {
    // More texts than that are no call that anybody understands: each of them would have to be looked at.
    if (++count_ > kTextsMax) return Touch{"more texts than are looked through", true};
    if (text.empty() || text.size() > 4096 || text.find('\n') != text.npos) return std::nullopt;
    if (text.starts_with("file://")) text.remove_prefix(7);
    const bool looks = text.starts_with('/') || text.starts_with("~/") || text.starts_with("./") ||
                       text.starts_with("../") || text.starts_with(".");
    if (is_one_of(name, kContent) || (!looks && !is_one_of(name, kPathNames))) return std::nullopt;
    std::string path = guarded_.absolute(text, cwd_);
    const Guard guard = guarded_.guard(path);
    if (guard == Guard::None && !(takes_away_ && guarded_.holds_guarded(path))) return std::nullopt;
    return Touch{std::move(path), guard == Guard::Secret};
  }

  const Guarded& guarded_;
  const bool takes_away_;
  const std::string_view cwd_;
  std::size_t count_ = 0;
};

}  // namespace

std::optional<Touch> touched(const Paths& paths, std::string_view tool, json::Node arguments) {
  if (!arguments.is_object()) return std::nullopt;
  const Guarded guarded(paths);
  const std::string cwd = arguments["cwd"].is_string() ? std::string(arguments["cwd"].string()) : std::string();
  if (tool == "Bash" && arguments["command"].is_string())
    return touched_by_command(guarded, arguments["command"].string(), cwd);
  return Leaves(guarded, tool, cwd).look(arguments, {});
}

}  // namespace baton::protection
