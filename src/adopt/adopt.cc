// SPDX-License-Identifier: Apache-2.0
#include "adopt/adopt.h"

#include <algorithm>
#include <optional>

#include "adopt/splice.h"
#include "adopt/toml.h"
#include "base/text.h"
#include "hooks/opencode.h"
#include "json/value.h"

namespace baton::adopt {
namespace {

using hooks::Client;
using json::Node;
using json::Value;

// How long a client waits for the hook: far beyond the five seconds after which baton-hook gives up by itself.
constexpr int kTimeoutSeconds = 30;

// What a file of a client holds that matters here.
enum Holds : unsigned { kHooks = 1, kServers = 2, kRules = 4, kPlugin = 8, kToml = 16 };
struct Known {
  Client client;
  Place place;
  unsigned holds;
};
constexpr Known kFiles[] = {
    {Client::Claude, {Base::Project, ".claude/settings.json"}, kHooks | kRules},
    {Client::Claude, {Base::Project, ".claude/settings.local.json"}, kRules},
    {Client::Claude, {Base::Project, ".mcp.json"}, kServers},
    {Client::Claude, {Base::Home, ".claude/settings.json"}, kRules},
    {Client::Claude, {Base::Home, ".claude.json"}, kServers},
    {Client::Codex, {Base::Home, ".codex/hooks.json"}, kHooks},
    {Client::Codex, {Base::Home, ".codex/config.toml"}, kToml},
    {Client::Codex, {Base::Project, ".codex/config.toml"}, kToml},
    {Client::Gemini, {Base::Project, ".gemini/settings.json"}, kHooks | kServers | kRules},
    {Client::Gemini, {Base::Home, ".gemini/settings.json"}, kServers | kRules},
    {Client::Copilot, {Base::Project, ".github/hooks/baton.json"}, kHooks},
    {Client::Copilot, {Base::Home, ".copilot/mcp-config.json"}, kServers},
    {Client::OpenCode, {Base::Project, ".opencode/plugins/baton.js"}, kPlugin},
    {Client::OpenCode, {Base::Project, "opencode.json"}, kServers | kRules},
    {Client::OpenCode, {Base::Project, "opencode.jsonc"}, kServers | kRules},
    {Client::OpenCode, {Base::Home, ".config/opencode/opencode.json"}, kServers | kRules},
    {Client::Cursor, {Base::Project, ".cursor/hooks.json"}, kHooks},
    {Client::Cursor, {Base::Project, ".cursor/mcp.json"}, kServers},
    {Client::Cursor, {Base::Home, ".cursor/mcp.json"}, kServers},
    {Client::Cursor, {Base::Project, ".cursor/cli.json"}, kRules},
};

struct Wired {
  Client client;
  std::string_view event;
  bool is_tool;  // can be for some tools only: it is for all
};
constexpr Wired kWired[] = {
    {Client::Claude, "PreToolUse", true},
    {Client::Claude, "PostToolUse", true},
    {Client::Claude, "PostToolUseFailure", true},
    {Client::Claude, "SessionStart", false},
    {Client::Claude, "SessionEnd", false},
    {Client::Claude, "SubagentStart", false},
    {Client::Claude, "SubagentStop", false},
    {Client::Claude, "Stop", false},
    {Client::Codex, "PreToolUse", true},
    {Client::Codex, "PostToolUse", true},
    {Client::Codex, "SessionStart", false},
    {Client::Codex, "SessionEnd", false},
    {Client::Codex, "SubagentStart", false},
    {Client::Codex, "SubagentStop", false},
    {Client::Codex, "Stop", false},
    {Client::Gemini, "BeforeTool", true},
    {Client::Gemini, "AfterTool", true},
    {Client::Gemini, "SessionStart", false},
    {Client::Gemini, "SessionEnd", false},
    {Client::Gemini, "AfterAgent", false},
    {Client::Copilot, "preToolUse", true},
    {Client::Copilot, "postToolUse", true},
    {Client::Copilot, "postToolUseFailure", true},
    {Client::Copilot, "sessionStart", false},
    {Client::Copilot, "sessionEnd", false},
    {Client::Copilot, "subagentStart", false},
    {Client::Copilot, "subagentStop", false},
    {Client::Copilot, "agentStop", false},
    // preToolUse is for all tools; the events for single kinds of them would ask about the same call twice.
    {Client::Cursor, "preToolUse", true},
    {Client::Cursor, "postToolUse", true},
    {Client::Cursor, "postToolUseFailure", true},
    {Client::Cursor, "sessionStart", false},
    {Client::Cursor, "sessionEnd", false},
    {Client::Cursor, "subagentStart", false},
    {Client::Cursor, "subagentStop", false},
    {Client::Cursor, "stop", false},
};

Value object(std::initializer_list<std::pair<std::string_view, Value>> members) {
  Value out = Value::object();
  for (const auto& [name, value] : members) out.set(name, value);
  return out;
}

// For `sh -c`: clients hand the line to a shell.
std::string shell_word(std::string_view text) {
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return is_alphanumeric(c) || std::string_view("/._-+").find(c) != std::string_view::npos;
  });
  if (plain && !text.empty()) return std::string(text);
  std::string out = "'";
  for (const char c : text) c == '\'' ? out.append("'\\''") : out.append(1, c);
  return out + "'";
}

bool mentions(Node node, std::string_view text) {
  if (node.is_string()) return node.string().find(text) != std::string_view::npos;
  for (const json::Member member : node.members())
    if (mentions(member.value, text)) return true;
  for (const Node element : node.elements())
    if (mentions(element, text)) return true;
  return false;
}

class Work {
 public:
  Work(Client client, const std::vector<File>& files, const Options& options)
      : client_(client), files_(files), options_(options) {}

  Adoption run() {
    std::vector<Rule> rules;
    for (const File& file : files_) {
      const Known* known = known_of(file.place);
      if (!known) continue;
      where_ = std::string(file.place.base == Base::Home ? "~/" : "") + std::string(file.place.path);
      if (known->holds & kPlugin) plugin(file);
      else if (known->holds & kToml) toml(file);
      else if (file.exists || (known->holds & kHooks)) settings(file, known->holds, rules);
    }
    out_.pack = pack_of(client_, rules, options_.project, options_.home);
    return std::move(out_);
  }

 private:
  const Known* known_of(const Place& place) const {
    for (const Known& known : kFiles)
      if (known.client == client_ && known.place.base == place.base && known.place.path == place.path) return &known;
    return nullptr;
  }

  void keep(const File& file, std::string after) {
    if (file.exists && after == file.text) return;
    out_.edits.push_back({file.place, file.exists, file.text, std::move(after)});
  }

  void changed(std::string what) { out_.changes.push_back(std::move(what) + " in " + where_); }
  void left(std::string what) { out_.left_alone.push_back(where_ + ": " + std::move(what)); }
  void unhooked(std::string what) {
    left(std::move(what));
    out_.unhooked.push_back(out_.left_alone.back());
  }

  void plugin(const File& file) {
    std::string text = hooks::opencode_plugin(options_.hook);
    if (file.exists && file.text == text) return;
    changed("the plugin");
    keep(file, std::move(text));
  }

  void settings(const File& file, unsigned holds, std::vector<Rule>& rules) {
    auto splice = Splice::of(file.text);
    if (!splice) return holds & kHooks ? unhooked(splice.error()) : left(splice.error());
    if (holds & kRules)
      for (Rule& rule : rules_in(client_, splice->root(), where_)) rules.push_back(std::move(rule));
    if (holds & kServers) servers_in(*splice);
    if (holds & kHooks) hooks_in(*splice);
    if (splice->is_changed()) keep(file, splice->text());
  }

  // --- hooks

  std::string command(std::string_view event) const {
    return shell_word(options_.hook) + " " + std::string(hooks::client_name(client_)) + " " + std::string(event);
  }

  Value entry(const Wired& wired) const {
    switch (client_) {
      case Client::Claude:
      case Client::Codex: {
        Value hook = object({{"type", "command"}, {"command", command(wired.event)}, {"timeout", kTimeoutSeconds}});
        // Newer versions then deny when the hook cannot be run; older ones do not know the word.
        if (client_ == Client::Claude && wired.event == "PreToolUse") hook.set("onFailure", "block");
        Value out = wired.is_tool ? object({{"matcher", client_ == Client::Claude ? "*" : ".*"}}) : Value::object();
        out.set("hooks", Value(Value::Array{std::move(hook)}));
        return out;
      }
      case Client::Gemini: {
        Value hook = object({{"name", "baton"},
                             {"type", "command"},
                             {"command", command(wired.event)},
                             {"timeout", kTimeoutSeconds * 1000}});
        Value out = wired.is_tool ? object({{"matcher", ".*"}}) : Value::object();
        out.set("hooks", Value(Value::Array{std::move(hook)}));
        return out;
      }
      case Client::Copilot:
        return object({{"type", "command"}, {"bash", command(wired.event)}, {"timeoutSec", kTimeoutSeconds}});
      case Client::Cursor: {
        Value out = object({{"command", command(wired.event)}, {"timeout", kTimeoutSeconds}});
        if (wired.event == "preToolUse") out.set("failClosed", true);
        return out;
      }
      case Client::OpenCode: break;
    }
    return Value::object();
  }

  void hooks_in(Splice& splice) {
    const Node root = splice.root();
    switches(splice);
    const Node table = root["hooks"];
    if (table && !table.is_object()) return unhooked("`hooks` is not an object");
    std::vector<std::pair<std::string, Value>> missing;
    for (const Wired& wired : kWired) {
      if (wired.client != client_) continue;
      const Value ours = entry(wired);
      const Node list = table[wired.event];
      if (!list) {
        missing.emplace_back(wired.event, Value(Value::Array{ours}));
        changed("hook " + std::string(wired.event));
      } else if (!list.is_array()) {
        unhooked("`hooks." + std::string(wired.event) + "` is not a list");
      } else {
        wire(splice, list, ours, wired.event);
      }
    }
    std::vector<std::pair<std::string, Value>> members;
    if ((client_ == Client::Copilot || client_ == Client::Cursor) && !root["version"])
      members.emplace_back("version", Value(1));
    if (table) {
      splice.add(table, missing);
    } else if (!missing.empty()) {
      Value fresh = Value::object();
      for (auto& [name, value] : missing) fresh.set(name, std::move(value));
      members.emplace_back("hooks", std::move(fresh));
    }
    if (client_ == Client::Gemini && !root["hooksConfig"])
      members.emplace_back("hooksConfig", object({{"enabled", true}}));
    splice.add(root, members);
  }

  void wire(Splice& splice, Node list, const Value& ours, std::string_view event) {
    std::optional<Node> changed_one;
    for (const Node one : list.elements()) {
      if (equal(Value::copy(one), ours)) return;
      if (mentions(one, options_.hook)) changed_one = one;
    }
    changed("hook " + std::string(event));
    if (changed_one) splice.replace(*changed_one, ours);
    else splice.push(list, ours);
  }

  // What turns all hooks off.
  void switches(Splice& splice) {
    if (const Node off = splice.root()["disableAllHooks"]; off.is_true()) {
      changed("`disableAllHooks`");
      splice.replace(off, Value(false));
    }
    if (client_ != Client::Gemini) return;
    const Node config = splice.root()["hooksConfig"];
    if (const Node enabled = config["enabled"]; config.is_object() && !enabled.is_true()) {
      changed("`hooksConfig.enabled`");
      if (enabled) splice.replace(enabled, Value(true));
      else splice.add(config, {{"enabled", Value(true)}});
    }
    if (mentions(config["disabled"], "baton")) {
      changed("`hooksConfig.disabled`");
      Value kept = Value::array();
      for (const Node name : config["disabled"].elements())
        if (!name.is_text("baton")) kept.push(Value::copy(name));
      splice.replace(config["disabled"], kept);
    }
  }

  // --- MCP servers

  void servers_in(Splice& splice) {
    const Node root = splice.root();
    if (client_ == Client::OpenCode) {
      for (const json::Member member : root["mcp"].members()) opencode_server(splice, member);
      return;
    }
    for (const json::Member member : root["mcpServers"].members()) server(splice, member);
    if (client_ == Client::Claude)
      for (const json::Member member : root["projects"][options_.project]["mcpServers"].members())
        server(splice, member);
  }

  bool is_ours(std::string_view command, std::string_view first) const {
    return command == options_.baton && first == "mcp";
  }
  void behind(std::string_view name) { out_.servers.emplace_back(name); }

  // The proxy's arguments for a server that it starts. Its environment is the client's to give, and is handed on by name.
  static std::vector<std::string> started(std::string_view name, const std::vector<std::string>& environment) {
    std::vector<std::string> out = {"mcp", "--name", std::string(name)};
    for (const std::string& variable : environment) out.insert(out.end(), {"--env", variable});
    out.push_back("--");
    return out;
  }

  static Value list_of(const std::vector<std::string>& texts) {
    Value out = Value::array();
    for (const std::string& text : texts) out.push(text);
    return out;
  }

  void server(Splice& splice, const json::Member& member) {
    const Node one = member.value, command = one["command"], args = one["args"];
    const std::string name(member.name());
    if (!one.is_object()) return left("the MCP server `" + name + "` is not an object");
    if (command.is_string()) {
      if (is_ours(command.string(), args.element(0).is_string() ? args.element(0).string() : "")) return behind(name);
      std::vector<std::string> environment, line;
      for (const json::Member variable : one["env"].members()) environment.emplace_back(variable.name());
      line = started(name, environment);
      line.emplace_back(command.string());
      for (const Node argument : args.elements()) {
        if (!argument.is_string()) return left("the MCP server `" + name + "` has an argument that is not a text");
        line.emplace_back(argument.string());
      }
      splice.replace(command, Value(options_.baton));
      if (args) splice.replace(args, list_of(line));
      else splice.add(one, {{"args", list_of(line)}});
      changed("the MCP server " + name);
      return behind(name);
    }
    remote(splice, one, name);
  }

  void remote(Splice& splice, Node one, const std::string& name) {
    const Node url = one["httpUrl"] ? one["httpUrl"] : one["url"];
    if (!url.is_string()) return left("the MCP server `" + name + "` has neither a command nor a URL");
    const bool sse = one["type"].is_text("sse") || (client_ == Client::Gemini && !one["httpUrl"]);
    if (sse)
      return left("the MCP server `" + name +
                  "` speaks the old transport over server-sent events, which the proxy does not");
    if (one["headers"].is_object() && one["headers"].size() != 0)
      return left("the MCP server `" + name +
                  "` has headers, which do not belong on a command line; name it in a file for `baton mcp --config`");
    Value fresh = Value::object();
    if (client_ == Client::Copilot) fresh.set("type", "local");
    fresh.set("command", options_.baton);
    fresh.set("args", list_of({"mcp", "--name", name, "--upstream", std::string(url.string())}));
    for (const json::Member member : one.members())
      if (member.name() != "url" && member.name() != "httpUrl" && member.name() != "type" && member.name() != "headers")
        fresh.set(member.name(), Value::copy(member.value));
    splice.replace(one, fresh);
    changed("the MCP server " + name);
    behind(name);
  }

  void opencode_server(Splice& splice, const json::Member& member) {
    const Node one = member.value, command = one["command"];
    const std::string name(member.name());
    if (one["type"].is_text("remote")) {
      if (!one["url"].is_string()) return left("the MCP server `" + name + "` has no URL");
      if (one["headers"].is_object() && one["headers"].size() != 0)
        return left("the MCP server `" + name +
                    "` has headers, which do not belong on a command line; name it in a file for `baton mcp --config`");
      Value fresh =
          object({{"type", "local"},
                  {"command",
                   list_of({options_.baton, "mcp", "--name", name, "--upstream", std::string(one["url"].string())})}});
      if (const Node enabled = one["enabled"]) fresh.set("enabled", Value::copy(enabled));
      splice.replace(one, fresh);
    } else if (command.is_array() && command.size() != 0) {
      const Node first = command.element(0), second = command.element(1);
      if (first.is_string() && second.is_string() && is_ours(first.string(), second.string())) return behind(name);
      std::vector<std::string> environment;
      for (const json::Member variable : one["environment"].members()) environment.emplace_back(variable.name());
      std::vector<std::string> line = started(name, environment);
      line.insert(line.begin(), options_.baton);
      for (const Node word : command.elements()) {
        if (!word.is_string()) return left("the MCP server `" + name + "` has a command that is not a list of texts");
        line.emplace_back(word.string());
      }
      splice.replace(command, list_of(line));
    } else {
      return left("the MCP server `" + name + "` has neither a command nor a URL");
    }
    changed("the MCP server " + name);
    behind(name);
  }

  void toml(const File& file) {
    if (!file.exists) return;
    TomlServers found = toml_servers(file.text);
    for (const std::string& why : found.not_understood) left(why);
    struct Change {
      std::size_t at, size;
      std::string text;
    };
    std::vector<Change> edits;
    for (const TomlServer& one : found.servers) {
      if (!one.not_understood.empty()) {
        left("the MCP server `" + one.name + "`: " + one.not_understood);
        continue;
      }
      std::vector<std::string> line;
      if (one.command.is_there()) {
        if (is_ours(one.command_text, one.arguments.empty() ? "" : one.arguments[0])) {
          behind(one.name);
          continue;
        }
        line = started(one.name, one.environment);
        line.push_back(one.command_text);
        line.insert(line.end(), one.arguments.begin(), one.arguments.end());
        edits.push_back({one.command.at, one.command.size, toml_quoted(options_.baton)});
      } else if (one.url.is_there() && !one.has_headers) {
        line = {"mcp", "--name", one.name, "--upstream", one.url_text};
        const std::size_t begin = file.text.rfind('\n', one.url.at) + 1;  // `url = ` too
        edits.push_back({begin, one.url.at + one.url.size - begin, "command = " + toml_quoted(options_.baton)});
      } else {
        left("the MCP server `" + one.name + "` " +
             (one.url.is_there()
                  ? "has headers, which do not belong on a command line; name it in a file for `baton mcp --config`"
                  : "has neither a command nor a URL"));
        continue;
      }
      std::string list = "[";
      for (const std::string& word : line) list += (list.size() > 1 ? ", " : "") + toml_quoted(word);
      if (one.args.is_there()) edits.push_back({one.args.at, one.args.size, list + "]"});
      else edits.push_back({one.end, 0, "\nargs = " + list + "]"});
      changed("the MCP server " + one.name);
      behind(one.name);
    }
    std::sort(edits.begin(), edits.end(), [](const Change& a, const Change& b) { return a.at < b.at; });
    std::string after;
    std::size_t at = 0;
    for (const Change& edit : edits) {
      after.append(file.text, at, edit.at - at).append(edit.text);
      at = edit.at + edit.size;
    }
    after.append(file.text, at);
    keep(file, std::move(after));
  }

  Client client_;
  const std::vector<File>& files_;
  const Options& options_;
  std::string where_;
  Adoption out_;
};

}  // namespace

std::vector<Place> places_of(Client client) {
  std::vector<Place> out;
  for (const Known& known : kFiles)
    if (known.client == client) out.push_back(known.place);
  return out;
}

Adoption adopt(Client client, const std::vector<File>& files, const Options& options) {
  return Work(client, files, options).run();
}

std::vector<std::string> tampered(Client client, const std::vector<File>& files, const Options& options) {
  Adoption again = adopt(client, files, options);
  again.changes.insert(again.changes.end(), again.unhooked.begin(), again.unhooked.end());
  return std::move(again.changes);
}

tl::expected<std::string, std::string> undo(const Edit& edit, std::string_view now) {
  if (now != edit.after && now != edit.before)
    return tl::make_unexpected(std::string(edit.place.path) +
                               " was changed after `baton adopt`: it is not put back over that");
  return edit.before;
}

}  // namespace baton::adopt
