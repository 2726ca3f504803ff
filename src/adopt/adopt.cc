// SPDX-License-Identifier: Apache-2.0
#include "adopt/adopt.h"

#include <algorithm>
#include <optional>

#include "adopt/merge.h"
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
enum Holds : unsigned {
  kHooks = 1,
  kServers = 2,
  kRules = 4,
  kPlugin = 8,
  kToml = 16,
  kCodexRules = 32,
  kSwitches = 64
};
struct Known {
  Client client;
  Place place;
  unsigned holds;
};
constexpr Known kFiles[] = {
    {Client::Claude, {Base::Project, ".claude/settings.json"}, kHooks | kRules},
    {Client::Claude, {Base::Project, ".claude/settings.local.json"}, kRules | kSwitches},
    {Client::Claude, {Base::Project, ".mcp.json"}, kServers},
    {Client::Claude, {Base::Home, ".claude/settings.json"}, kRules | kSwitches},
    {Client::Claude, {Base::Home, ".claude.json"}, kServers},
    {Client::Codex, {Base::Project, ".codex/hooks.json"}, kHooks},
    {Client::Codex, {Base::Home, ".codex/config.toml"}, kToml},
    {Client::Codex, {Base::Project, ".codex/config.toml"}, kToml},
    {Client::Codex, {Base::Home, ".codex/rules/default.rules"}, kCodexRules},
    {Client::Codex, {Base::Project, ".codex/rules/default.rules"}, kCodexRules},
    {Client::Gemini, {Base::Project, ".gemini/settings.json"}, kHooks | kServers | kRules},
    {Client::Gemini, {Base::Home, ".gemini/settings.json"}, kServers | kRules},
    {Client::Copilot, {Base::Project, ".github/hooks/baton.json"}, kHooks},
    {Client::Copilot, {Base::Home, ".copilot/mcp-config.json"}, kServers},
    {Client::Copilot, {Base::Home, ".copilot/config.json"}, kRules},
    {Client::OpenCode, {Base::Project, ".opencode/plugins/baton.js"}, kPlugin},
    {Client::OpenCode, {Base::Project, "opencode.json"}, kServers | kRules},
    {Client::OpenCode, {Base::Project, "opencode.jsonc"}, kServers | kRules},
    {Client::OpenCode, {Base::Home, ".config/opencode/opencode.json"}, kServers | kRules},
    {Client::OpenCode, {Base::Home, ".config/opencode/opencode.jsonc"}, kServers | kRules},
    {Client::Cursor, {Base::Project, ".cursor/hooks.json"}, kHooks},
    {Client::Cursor, {Base::Project, ".cursor/mcp.json"}, kServers},
    {Client::Cursor, {Base::Home, ".cursor/mcp.json"}, kServers},
    {Client::Cursor, {Base::Project, ".cursor/cli.json"}, kRules},
    {Client::Cursor, {Base::Home, ".cursor/cli-config.json"}, kRules},
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
    {Client::Claude, "ConfigChange", false},  // settings that are edited in mid-run: they would count at once
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

// Wherever it lies: a hook of a version that was installed elsewhere is ours, too.
constexpr std::string_view kHookName = "baton-hook";

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
      else if (known->holds & kCodexRules) add(rules, rules_in_codex_rules(file.text, where_));
      else if (known->holds & kToml) toml(file), add(rules, rules_in_codex_config(file.text, where_));
      else if (file.exists || (known->holds & kHooks)) settings(file, known->holds, rules);
    }
    out_.pack = pack_of(client_, rules, options_.project, options_.home, options_.tools);
    return std::move(out_);
  }

 private:
  static void add(std::vector<Rule>& to, std::vector<Rule> more) {
    for (Rule& rule : more) to.push_back(std::move(rule));
  }

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
    std::string text = hooks::opencode_plugin(options_.hook, surroundings(true));
    if (file.exists && file.text == text) return;
    changed("the plugin");
    keep(file, std::move(text));
  }

  void settings(const File& file, unsigned holds, std::vector<Rule>& rules) {
    auto splice = Splice::of(file.text);
    if (!splice) {
      if (holds & kHooks) unhooked(splice.error());
      else left(splice.error());
      return out_.unreadable.push_back(out_.left_alone.back());
    }
    if (holds & kRules)
      for (Rule& rule : rules_in(client_, splice->root(), where_)) rules.push_back(std::move(rule));
    if (holds & kServers) servers_in(*splice);
    if (holds & kHooks) hooks_in(*splice);
    if (holds & kSwitches) switches(*splice);
    if (splice->is_changed()) keep(file, splice->text());
  }

  // --- hooks

  // What the hook and the proxy are told of where and what they are.
  std::vector<std::string> surroundings(bool of_hook) const {
    std::vector<std::string> out;
    if (!options_.socket.empty())
      out.insert(out.end(), {of_hook ? "--socket" : "--node", (of_hook ? "" : "unix:") + options_.socket});
    else if (!options_.store.empty()) out.insert(out.end(), {"--store", options_.store});
    if (of_hook && !options_.node_key.empty()) out.insert(out.end(), {"--node-key", options_.node_key});
    if (!options_.role.empty()) out.insert(out.end(), {"--role", options_.role});
    return out;
  }

  std::string command(std::string_view event) const {
    std::string out =
        shell_word(options_.hook) + " " + std::string(hooks::client_name(client_)) + " " + std::string(event);
    for (const std::string& word : surroundings(true)) out += " " + shell_word(word);
    return out;
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
      if (mentions(one, options_.hook) || mentions(one, kHookName)) changed_one = one;
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

  // --- a server's command line behind the proxy

  std::string key_of(std::string_view name) const { return where_ + " " + std::string(name); }
  void behind(std::string_view name) { out_.servers.push_back(key_of(name)); }

  // The proxy's arguments up to what it stands in front of.
  std::vector<std::string> front_of(std::string_view name) const {
    // The client may have servers that are not in this file: a contract has to name the server.
    std::vector<std::string> out = {
        "mcp", "--name", std::string(name), "--client", std::string(hooks::client_name(client_)), "--among-others"};
    for (std::string& word : surroundings(false)) out.push_back(std::move(word));
    return out;
  }
  // For a server that it starts. Its environment is the client's to give, and is handed on by name.
  std::vector<std::string> started(std::string_view name, const std::vector<std::string>& environment) const {
    std::vector<std::string> out = front_of(name);
    for (const std::string& variable : environment) out.insert(out.end(), {"--env", variable});
    out.push_back("--");
    return out;
  }

  // A line that calls `baton mcp`: is it as it should be? One that somebody wrote by hand is theirs, unless it was ours before.
  enum class Line : std::uint8_t { Another, Good, Changed };
  Line line_of(std::string_view name, std::string_view command, const std::vector<std::string>& arguments) const {
    const bool is_baton = command == options_.baton || command == "baton" || command.ends_with("/baton");
    const bool was_ours = std::find(options_.wired.begin(), options_.wired.end(), key_of(name)) != options_.wired.end();
    const bool is_proxy = is_baton && (was_ours || (!arguments.empty() && arguments[0] == "mcp"));
    if (!is_proxy) return Line::Another;
    const std::vector<std::string> front = front_of(name);
    if (command == options_.baton && arguments.size() > front.size() &&
        std::equal(front.begin(), front.end(), arguments.begin())) {
      std::size_t at = front.size();
      while (at + 1 < arguments.size() && arguments[at] == "--env") at += 2;
      if (at < arguments.size() && (arguments[at] == "--" || arguments[at] == "--upstream")) return Line::Good;
      return Line::Changed;
    }
    const bool looks_ours = arguments.size() > 2 && arguments[1] == "--name" && arguments[2] == name;
    return was_ours || looks_ours ? Line::Changed : Line::Good;
  }
  // What stands behind `baton mcp`: from `--` or `--upstream` on. Nothing: it cannot be told.
  static std::optional<std::vector<std::string>> back_of(const std::vector<std::string>& arguments) {
    for (auto at = arguments.begin(); at != arguments.end(); ++at)
      if ((*at == "--" || *at == "--upstream") && at + 1 != arguments.end()) return std::vector(at, arguments.end());
    return std::nullopt;
  }
  // The arguments of a line whose front somebody changed.
  std::optional<std::vector<std::string>> mended(std::string_view name, const std::vector<std::string>& arguments,
                                                 const std::vector<std::string>& environment) const {
    auto back = back_of(arguments);
    if (!back) return std::nullopt;
    std::vector<std::string> out = back->front() == "--" ? started(name, environment) : front_of(name);
    if (out.back() == "--") out.pop_back();
    out.insert(out.end(), back->begin(), back->end());
    return out;
  }
  // How the server is started without the proxy.
  void note_server(const std::string& name, const std::string& command, const std::vector<std::string>& arguments,
                   Line line, Node environment) {
    Server server;
    server.name = name;
    std::vector<std::string> words = {command};
    words.insert(words.end(), arguments.begin(), arguments.end());
    if (line != Line::Another) {
      auto back = back_of(arguments);
      if (!back) return;
      if (back->front() == "--upstream") server.url = (*back)[1];
      words.assign(back->begin() + 1, back->end());
    }
    if (server.url.empty()) server.argv = std::move(words);
    for (const json::Member variable : environment.members())
      if (variable.value.is_string() && variable.value.string().find("${") == std::string_view::npos)
        server.environment.push_back(std::string(variable.name()) + "=" + std::string(variable.value.string()));
    out_.reached.push_back(std::move(server));
  }

  void not_mended(std::string_view name) {
    unhooked("the MCP server `" + std::string(name) + "` calls `baton mcp` in a way that does not say for what");
  }

  static Value list_of(const std::vector<std::string>& texts) {
    Value out = Value::array();
    for (const std::string& text : texts) out.push(text);
    return out;
  }
  static std::optional<std::vector<std::string>> texts_of(Node list) {
    std::vector<std::string> out;
    for (const Node one : list.elements()) {
      if (!one.is_string()) return std::nullopt;
      out.emplace_back(one.string());
    }
    return out;
  }
  static std::vector<std::string> names_of(Node object) {
    std::vector<std::string> out;
    for (const json::Member one : object.members()) out.emplace_back(one.name());
    return out;
  }

  void server(Splice& splice, const json::Member& member) {
    const Node one = member.value, command = one["command"], args = one["args"];
    const std::string name(member.name());
    if (!one.is_object()) return left("the MCP server `" + name + "` is not an object");
    if (!command.is_string()) return remote(splice, one, name);
    const auto arguments = texts_of(args);
    if (!arguments) return left("the MCP server `" + name + "` has an argument that is not a text");
    const std::vector<std::string> environment = names_of(one["env"]);
    const Line line = line_of(name, command.string(), *arguments);
    note_server(name, std::string(command.string()), *arguments, line, one["env"]);
    if (line == Line::Good) return behind(name);
    std::vector<std::string> words;
    if (line == Line::Changed) {
      auto whole = mended(name, *arguments, environment);
      if (!whole) return not_mended(name);
      words = std::move(*whole);
    } else {
      words = started(name, environment);
      words.emplace_back(command.string());
      words.insert(words.end(), arguments->begin(), arguments->end());
    }
    splice.replace(command, Value(options_.baton));
    if (args) splice.replace(args, list_of(words));
    else splice.add(one, {{"args", list_of(words)}});
    changed("the MCP server " + name);
    behind(name);
  }

  // The arguments for a server that runs; the values of its headers are in files. Nothing: it is left alone.
  std::optional<std::vector<std::string>> reached(const std::string& name, std::string_view url, Node headers) {
    const auto no = [&](std::string_view why) {
      left("the MCP server `" + name + "` " + std::string(why));
      return std::nullopt;
    };
    if (url.find('$') != std::string_view::npos || url.find('{') != std::string_view::npos)
      return no("has a URL with a variable, which the client would fill in and the proxy does not");
    std::vector<std::string> out = front_of(name);
    std::vector<SecretFile> files;
    for (const json::Member header : headers.members()) {
      if (options_.secrets.empty())
        return no("has headers, which do not belong on a command line; name it in a file for `baton mcp --config`");
      if (!header.value.is_string() || header.value.string().find_first_of("$\r\n{") != std::string_view::npos)
        return no("has a header with a variable, which the client would fill in and the proxy does not");
      std::string file = options_.secrets + "/" + plain(name) + "-" + plain(header.name());
      out.insert(out.end(), {"--upstream-header", std::string(header.name()) + "=@" + file});
      files.push_back({std::move(file), std::string(header.value.string())});
    }
    Server server;
    server.name = name;
    server.url = url;
    for (const json::Member header : headers.members())
      server.headers.emplace_back(header.name(), header.value.string());
    out_.reached.push_back(std::move(server));
    for (SecretFile& file : files) out_.secrets.push_back(std::move(file));
    const auto place = out.begin() + static_cast<std::ptrdiff_t>(front_of(name).size());
    out.insert(place, {"--upstream", std::string(url)});
    return out;
  }
  static std::string plain(std::string_view text) {
    std::string out;
    for (const char c : text) out.push_back(is_alphanumeric(c) || c == '-' || c == '_' ? c : '_');
    return out;
  }

  void remote(Splice& splice, Node one, const std::string& name) {
    const Node url = one["httpUrl"] ? one["httpUrl"] : one["url"] ? one["url"] : one["serverUrl"];
    if (!url.is_string()) return left("the MCP server `" + name + "` has neither a command nor a URL");
    const bool sse =
        one["type"].is_text("sse") || (client_ == Client::Gemini && !one["httpUrl"] && !one["type"].is_text("http"));
    if (sse)
      return left("the MCP server `" + name +
                  "` speaks the old transport over server-sent events, which the proxy does not");
    const auto words = reached(name, url.string(), one["headers"]);
    if (!words) return;
    Value fresh = Value::object();
    if (client_ == Client::Copilot) fresh.set("type", "local");
    fresh.set("command", options_.baton);
    fresh.set("args", list_of(*words));
    for (const json::Member member : one.members())
      if (member.name() != "url" && member.name() != "httpUrl" && member.name() != "serverUrl" &&
          member.name() != "type" && member.name() != "headers")
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
      auto words = reached(name, one["url"].string(), one["headers"]);
      if (!words) return;
      words->insert(words->begin(), options_.baton);
      Value fresh = object({{"type", "local"}, {"command", list_of(*words)}});
      if (const Node enabled = one["enabled"]) fresh.set("enabled", Value::copy(enabled));
      splice.replace(one, fresh);
    } else if (command.is_array() && command.size() != 0) {
      auto words = texts_of(command);
      if (!words) return left("the MCP server `" + name + "` has a command that is not a list of texts");
      const std::string program = words->front();
      const std::vector<std::string> arguments(words->begin() + 1, words->end());
      const std::vector<std::string> environment = names_of(one["environment"]);
      const Line line = line_of(name, program, arguments);
      note_server(name, program, arguments, line, one["environment"]);
      if (line == Line::Good) return behind(name);
      std::vector<std::string> fresh = started(name, environment);
      if (line == Line::Changed) {
        auto whole = mended(name, arguments, environment);
        if (!whole) return not_mended(name);
        fresh = std::move(*whole);
      } else {
        fresh.insert(fresh.end(), words->begin(), words->end());
      }
      fresh.insert(fresh.begin(), options_.baton);
      splice.replace(command, list_of(fresh));
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
        const Line seen = line_of(one.name, one.command_text, one.arguments);
        note_server(one.name, one.command_text, one.arguments, seen, {});
        if (seen == Line::Good) {
          behind(one.name);
          continue;
        }
        if (seen == Line::Changed) {
          auto whole = mended(one.name, one.arguments, one.environment);
          if (!whole) {
            not_mended(one.name);
            continue;
          }
          line = std::move(*whole);
        } else {
          line = started(one.name, one.environment);
          line.push_back(one.command_text);
          line.insert(line.end(), one.arguments.begin(), one.arguments.end());
        }
        edits.push_back({one.command.at, one.command.size, toml_quoted(options_.baton)});
      } else if (one.url.is_there() && !one.has_headers) {
        line = front_of(one.name);
        line.insert(line.end(), {"--upstream", one.url_text});
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
      else edits.push_back({one.end - (one.end > 0 && file.text[one.end - 1] == '\r'), 0, "\nargs = " + list + "]"});
      changed("the MCP server " + one.name);
      behind(one.name);
    }
    std::sort(edits.begin(), edits.end(), [](const Change& a, const Change& b) { return a.at < b.at; });
    if (file.text.find("\r\n") != std::string::npos)
      for (Change& edit : edits) edit.text = with_returns(edit.text);
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

// How often a settings file speaks of Baton's programs.
std::size_t mentions_of_ours(std::string_view text) {
  std::size_t out = 0;
  for (const std::string_view part : {kHookName, std::string_view("/baton\"")})
    for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++out;
  return out;
}

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
  if (now == edit.after || now == edit.before) return edit.before;
  // Somebody took it out already.
  const std::size_t others = mentions_of_ours(edit.before);
  if (mentions_of_ours(edit.after) > others && mentions_of_ours(now) <= others) return std::string(now);
  const auto cannot = [&](std::string_view why) {
    return tl::make_unexpected(std::string(edit.place.path) + " was changed after `baton adopt`, and " +
                               std::string(why));
  };
  auto merged = without_change(edit.before, edit.after, now);
  if (!merged) return cannot("that is next to what Baton has in it: the two cannot be told apart");
  // Whatever was merged, it is one of the client's files, and nothing of ours is in it.
  if (mentions_of_ours(*merged) > others) return cannot("something of Baton would stay in it");
  const bool is_json = edit.place.path.ends_with(".json") || edit.place.path.ends_with(".jsonc");
  if (is_json && (!Splice::of(edit.after) || !Splice::of(*merged))) return cannot("what is left would not be JSON");
  return std::move(*merged);
}

std::vector<std::string> left_to_do(Client client, const std::string& project) {
  switch (client) {
    case Client::Claude:
      return {
          "Claude Code runs hooks of a project once its folder is trusted: it asks when it is first started there, in "
          "a terminal"};
    case Client::Codex:
      return {
          "Codex reads " + project + "/.codex only when the folder is trusted: start `codex` there once and say yes",
          "Codex runs no hook before it is trusted, and asks anew when one has changed: look at them with /hooks in "
          "`codex` and "
          "trust them. Until then nothing is held to the contract"};
    case Client::Gemini:
      return {
          "Gemini CLI reads .gemini of a project only when the folder is trusted: start `gemini` there once and say "
          "yes. "
          "Until then nothing is held to the contract"};
    case Client::Copilot:
      return {
          "Copilot CLI reads .github/hooks only when the folder is in `trusted_folders`: start `copilot` there once "
          "and say yes. Until then nothing is held to the contract"};
    case Client::OpenCode: return {"OpenCode loads plugins when it starts: one that runs has to be started again"};
    case Client::Cursor:
      return {"Cursor reads hooks when a workspace is opened; before version 2.4 it has none for all tools"};
  }
  return {};
}

bool is_used(const std::vector<File>& files) {
  const auto is_there = [&](const File& file) {
    return file.exists && file.place.path != ".github/hooks/baton.json" &&
           file.place.path != ".opencode/plugins/baton.js";
  };
  return std::any_of(files.begin(), files.end(), is_there);
}

}  // namespace baton::adopt
