// SPDX-License-Identifier: Apache-2.0
#include "supervisor/wiring.h"

#include <algorithm>

#include "base/text.h"
#include "hooks/opencode.h"
#include "json/parse.h"
#include "json/value.h"

namespace baton::supervisor {
namespace {

using json::Value;
using Pairs = std::vector<std::pair<std::string, std::string>>;

// Well above the deadline of baton-hook itself (5 s), because clients let the tool run when theirs is over.
constexpr int kHookSeconds = 60;
constexpr std::string_view kClaudeToolEvents[] = {"PreToolUse", "PostToolUse", "PostToolUseFailure"};
constexpr std::string_view kClaudeEvents[] = {"UserPromptSubmit", "SessionStart", "SessionEnd",  "SubagentStart",
                                              "SubagentStop",     "Stop",         "ConfigChange"};
constexpr std::string_view kCodexToolEvents[] = {"PreToolUse", "PostToolUse"};
constexpr std::string_view kCodexEvents[] = {"SessionStart", "UserPromptSubmit", "SubagentStart", "SubagentStop",
                                             "Stop"};
constexpr std::string_view kGeminiToolEvents[] = {"BeforeTool", "AfterTool"};
constexpr std::string_view kGeminiEvents[] = {"BeforeAgent", "AfterAgent", "SessionStart", "SessionEnd"};
// Not agentStop: it does not say what the model wrote last, and the file that has it may not be written yet. Here it is in the output.
constexpr std::string_view kCopilotEvents[] = {"sessionStart",  "userPromptSubmitted", "preToolUse", "postToolUse",
                                               "subagentStart", "subagentStop",        "sessionEnd"};

std::string shell_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// --- reading what the client has ---------------------------------------------------------------------------------------------------------

void put(std::vector<McpServer>& servers, McpServer server) {
  std::erase_if(servers, [&](const McpServer& known) { return known.name == server.name; });
  servers.push_back(std::move(server));
}

bool is_text(json::Node node) { return node.is_string() && node.string().find('\0') == std::string_view::npos; }

// False: one of them is no text.
bool read_pairs(json::Node node, Pairs& pairs) {
  if (node && !node.is_object() && !node.is_null()) return false;
  for (const auto& [name, value] : node.members()) {
    if (!is_text(value)) return false;
    pairs.emplace_back(name.string(), value.string());
  }
  return true;
}

bool read_texts(json::Node node, std::vector<std::string>& texts) {
  if (node && !node.is_array() && !node.is_null()) return false;
  for (const json::Node one : node.elements()) {
    if (!is_text(one)) return false;
    texts.emplace_back(one.string());
  }
  return true;
}

// In the shape that most clients have: {"command", "args", "env", "cwd"}, or {"url" or "httpUrl", "headers"}.
McpServer read_server(std::string_view name, json::Node node) {
  McpServer out;
  out.name = name;
  bool good = node.is_object() && read_texts(node["args"], out.arguments) && read_pairs(node["env"], out.environment) &&
              read_pairs(node["headers"], out.headers);
  if (is_text(node["cwd"])) out.folder = node["cwd"].string();
  // OpenCode: one list, the command its first.
  if (node["command"].is_array()) {
    std::vector<std::string> words;
    good = read_texts(node["command"], words) && !words.empty() && read_pairs(node["environment"], out.environment) &&
           good;
    if (!words.empty()) {
      out.command = words.front();
      out.arguments.assign(words.begin() + 1, words.end());
    }
  } else if (is_text(node["command"])) {
    out.command = node["command"].string();
  } else if (is_text(node["httpUrl"])) {
    out.url = node["httpUrl"].string();
  } else if (is_text(node["url"])) {
    out.url = node["url"].string();
    if (node["type"].is_text("sse")) out.problem = "it speaks the old HTTP with SSE";
  }
  if (!good || (out.command.empty() && out.url.empty())) out.problem = "its entry is not understood";
  for (const auto& [header, value] : out.headers)
    if (value.find("${") != std::string::npos) out.problem = "its header `" + header + "` refers to the environment";
  if (out.url.find("${") != std::string::npos) out.problem = "its address refers to the environment";
  return out;
}

void read_all(json::Node object, std::vector<McpServer>& servers) {
  for (const auto& [name, node] : object.members()) put(servers, read_server(name.string(), node));
}

// --- a little TOML: the tables of MCP servers in Codex's configuration ---------------------------------------------------------------------

// `a.b."c d"` as its parts; nothing when it is something else.
std::optional<std::vector<std::string>> key_parts(std::string_view text) {
  std::vector<std::string> out;
  text = trim(text);
  while (!text.empty()) {
    std::string part;
    if (text.front() == '"' || text.front() == '\'') {
      const std::size_t end = text.find(text.front(), 1);
      if (end == std::string_view::npos) return std::nullopt;
      part = text.substr(1, end - 1);
      if (part.find('\\') != std::string::npos) return std::nullopt;
      text.remove_prefix(end + 1);
    } else {
      std::size_t end = 0;
      while (end < text.size() && (is_alphanumeric(text[end]) || text[end] == '_' || text[end] == '-')) ++end;
      if (end == 0) return std::nullopt;
      part = text.substr(0, end);
      text.remove_prefix(end);
    }
    out.push_back(std::move(part));
    text = trim(text);
    if (text.empty()) break;
    if (text.front() != '.') return std::nullopt;
    text = trim(text.substr(1));
    if (text.empty()) return std::nullopt;
  }
  return out;
}

// A line without its comment, as far as quotes can be told.
std::string_view without_comment(std::string_view line) {
  char quote = 0;
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (quote != 0) {
      if (quote == '"' && line[at] == '\\') ++at;
      else if (line[at] == quote) quote = 0;
    } else if (line[at] == '"' || line[at] == '\'') {
      quote = line[at];
    } else if (line[at] == '#') {
      return line.substr(0, at);
    }
  }
  return line;
}

// Only the names matter: the values stay where they are, in the user's file. `env` may be a table of its own or stand in one line.
class TomlServers {
 public:
  explicit TomlServers(std::vector<McpServer>& servers) : servers_(servers) {}

  void read(std::string_view text) {
    for (std::string_view line : split(text, '\n')) {
      line = trim(without_comment(line));
      if (line.empty()) continue;
      if (line.starts_with('[')) read_table(line);
      else read_member(line);
    }
    for (McpServer& server : found_) {
      if (server.command.empty() && server.url.empty() && server.problem.empty())
        server.problem = "its entry is not understood";
      put(servers_, std::move(server));
    }
  }

 private:
  McpServer& server(const std::string& name) {
    const auto known = std::ranges::find(found_, name, &McpServer::name);
    if (known != found_.end()) return *known;
    found_.push_back({});
    found_.back().name = name;
    return found_.back();
  }

  void read_table(std::string_view line) {
    table_.clear();
    if (line.starts_with("[[") || !line.ends_with(']')) return;
    if (auto parts = key_parts(line.substr(1, line.size() - 2))) table_ = std::move(*parts);
    if (table_.size() >= 2 && table_[0] == "mcp_servers") server(table_[1]);
  }

  void read_member(std::string_view line) {
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) return continues(line);
    const auto key = key_parts(line.substr(0, equals));
    if (!key) return continues(line);
    std::vector<std::string> path = table_;
    path.insert(path.end(), key->begin(), key->end());
    if (path.empty() || path[0] != "mcp_servers") return;
    if (path.size() < 3) {
      // mcp_servers = {...}, or one server in one line.
      if (path.size() == 2) server(path[1]).problem = "its entry is not understood";
      return;
    }
    McpServer& of = server(path[1]);
    const std::string_view value = trim(line.substr(equals + 1));
    if (path.size() == 4 && path[2] == "env") return of.environment.emplace_back(path[3], ""), void();
    if (path.size() != 3) return;
    if (path[2] == "command") read_text(value, of, of.command);
    else if (path[2] == "url") read_text(value, of, of.url);
    else if (path[2] == "args") read_list(value, of);
    else if (path[2] == "env") read_inline(value, of);
  }

  // The rest of a list over several lines, or something else that is not read here: of a server that is not understood.
  void continues(std::string_view) {
    if (table_.size() >= 2 && table_[0] == "mcp_servers") server(table_[1]).problem = "its entry is not understood";
  }

  static void read_text(std::string_view value, McpServer& of, std::string& into) {
    if (value.size() >= 2 && value.front() == '\'' && value.back() == '\'') into = value.substr(1, value.size() - 2);
    else if (const auto parsed = json::parse(value); parsed && parsed->root().is_string())
      into = parsed->root().string();
    else of.problem = "its entry is not understood";
  }

  // A list of plain texts in one line is JSON as well.
  static void read_list(std::string_view value, McpServer& of) {
    const auto parsed = json::parse(value);
    if (!parsed || !read_texts(parsed->root(), of.arguments)) of.problem = "its arguments are not understood";
  }

  // { NAME = "value", ... }: the names.
  static void read_inline(std::string_view value, McpServer& of) {
    if (!value.starts_with('{') || !value.ends_with('}'))
      return of.problem = "its environment is not understood", void();
    value = trim(value.substr(1, value.size() - 2));
    while (!value.empty()) {
      const std::size_t equals = value.find('=');
      const auto key = equals == std::string_view::npos ? std::nullopt : key_parts(value.substr(0, equals));
      if (!key || key->size() != 1) return of.problem = "its environment is not understood", void();
      of.environment.emplace_back(key->front(), "");
      value = trim(value.substr(equals + 1));
      const char quote = value.empty() ? '\0' : value.front();
      if (quote != '"' && quote != '\'') return of.problem = "its environment is not understood", void();
      std::size_t end = 1;
      while (end < value.size() && value[end] != quote) end += quote == '"' && value[end] == '\\' ? 2 : 1;
      if (end >= value.size()) return of.problem = "its environment is not understood", void();
      value = trim(value.substr(end + 1));
      if (value.starts_with(',')) value = trim(value.substr(1));
    }
  }

  std::vector<McpServer>& servers_;
  std::vector<McpServer> found_;
  std::vector<std::string> table_;
};

// --- behind the proxy --------------------------------------------------------------------------------------------------------------------

// A name that `baton mcp --name` takes.
std::string proxy_name(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const char as = is_alphanumeric(c) || c == '-' || c == '_' ? c : '-';
    if (!(as == '_' && out.ends_with('_'))) out += as;
  }
  while (out.ends_with('_')) out.pop_back();
  while (out.starts_with('_')) out.erase(0, 1);
  return out.substr(0, 32);
}

struct Proxied {
  std::string name;  // as the client calls it
  std::vector<std::string> arguments;
  Pairs environment;
  std::string folder;
};

class Proxies {
 public:
  Proxies(const RunPlace& place, Client client, Wiring& wiring) : place_(place), client_(client), wiring_(wiring) {
    for (const McpServer& server : place.servers) add(server);
    // A contract that names no server is for none of several. The options of the proxy come before the server's command.
    if (all_.size() > 1)
      for (Proxied& one : all_) one.arguments.insert(one.arguments.begin() + 5, "--among-others");
  }
  const std::vector<Proxied>& all() const { return all_; }
  const std::vector<std::string>& left_out() const { return left_out_; }

  // For --proxied of baton-hook: their calls are judged by the proxy.
  std::string names() const {
    std::string out;
    for (const Proxied& one : all_) {
      const std::string behind = proxy_name(one.name);
      out += (out.empty() ? "" : ",") + one.name + (behind == one.name ? "" : "=" + behind);
    }
    return out;
  }

 private:
  void add(const McpServer& server) {
    const std::string name = proxy_name(server.name);
    const std::string problem = !server.problem.empty() ? server.problem : name.empty() ? "its name is none" : "";
    if (!problem.empty()) {
      left_out_.push_back(server.name);
      wiring_.left_out.push_back("the MCP server `" + server.name + "` is left out: " + problem);
      return;
    }
    Proxied out{server.name, {"mcp", "--name", name, "--client", std::string(client_name(client_))}, {}, server.folder};
    if (server.url.empty()) {
      for (const auto& [variable, value] : server.environment) {
        out.arguments.insert(out.arguments.end(), {"--env", variable});
        out.environment.emplace_back(variable, value);
      }
      out.arguments.insert(out.arguments.end(), {"--", server.command});
      out.arguments.insert(out.arguments.end(), server.arguments.begin(), server.arguments.end());
    } else {
      out.arguments.insert(out.arguments.end(), {"--upstream", server.url});
      std::size_t number = 0;
      for (const auto& [header, value] : server.headers) {
        const std::string file = place_.folder + "/headers/" + name + "-" + std::to_string(++number);
        wiring_.files.push_back({file, value + "\n"});
        out.arguments.insert(out.arguments.end(), {"--upstream-header", header + "=@" + file});
      }
    }
    // Many clients give a server little of their own environment.
    out.environment.emplace_back("BATON_NODE", place_.node);
    out.environment.emplace_back("BATON_SESSION_TOKEN", place_.session_token);
    all_.push_back(std::move(out));
  }

  const RunPlace& place_;
  const Client client_;
  Wiring& wiring_;
  std::vector<Proxied> all_;
  std::vector<std::string> left_out_;
};

Value texts(const std::vector<std::string>& all) {
  Value out = Value::array();
  for (const std::string& one : all) out.push(one);
  return out;
}

Value object_of(const Pairs& pairs) {
  Value out = Value::object();
  for (const auto& [name, value] : pairs) out.set(name, value);
  return out;
}

Value servers_object(const Proxies& proxies, const RunPlace& place, const Pairs& more = {}) {
  Value out = Value::object();
  for (const Proxied& one : proxies.all()) {
    Value server = Value::object();
    for (const auto& [name, value] : more) server.set(name, value);
    server.set("command", place.baton);
    server.set("args", texts(one.arguments));
    server.set("env", object_of(one.environment));
    if (!one.folder.empty()) server.set("cwd", one.folder);
    out.set(one.name, std::move(server));
  }
  return out;
}

// --- hooks -------------------------------------------------------------------------------------------------------------------------------

std::string hook_command(const RunPlace& place, Client client, std::string_view event, const std::string& proxied) {
  std::string out = shell_quoted(place.hook) + " " + std::string(client_name(client)) + " " + std::string(event) +
                    " --socket " + shell_quoted(place.socket);
  if (!place.node_key.empty()) out += " --node-key " + place.node_key;
  if (!place.session_id.empty()) out += " --session " + shell_quoted(place.session_id);
  if (!proxied.empty()) out += " --proxied " + shell_quoted(proxied);
  return out;
}

// {"Event": [{"matcher": ..., "hooks": [{"type": "command", "command": ..., "timeout": ...}]}]}
struct HookShape {
  std::span<const std::string_view> tool_events, events;
  std::string_view matcher;
  std::int64_t timeout;
  bool blocks_on_failure;  // the client knows `onFailure`
  std::string_view name;
};

Value hook_table(const RunPlace& place, Client client, const HookShape& shape, const std::string& proxied) {
  Value table = Value::object();
  const auto add = [&](std::string_view event, bool of_tools) {
    Value hook = Value::object();
    hook.set("type", "command");
    if (!shape.name.empty()) hook.set("name", shape.name);
    hook.set("command", hook_command(place, client, event, proxied));
    hook.set("timeout", shape.timeout);
    if (shape.blocks_on_failure) hook.set("onFailure", "block");
    Value group = Value::object();
    if (of_tools) group.set("matcher", shape.matcher);
    group.set("hooks", Value::array()).push(std::move(hook));
    table.set(event, Value::array()).push(std::move(group));
  };
  for (const std::string_view event : shape.tool_events) add(event, true);
  for (const std::string_view event : shape.events) add(event, false);
  return table;
}

// A value as TOML writes it in one line: JSON's texts, lists and numbers, and objects with `=`.
std::string toml(const Value& value) {
  if (value.is_array()) {
    std::string out = "[";
    for (const Value& one : value.elements()) out += (out.size() > 1 ? ", " : "") + toml(one);
    return out + "]";
  }
  if (value.is_object()) {
    std::string out = "{";
    for (const auto& [name, one] : value.members())
      out += (out.size() > 1 ? ", " : "") + json::write(Value(name)) + " = " + toml(one);
    return out + "}";
  }
  return json::write(value);
}

// A part of a key, in quotes where it needs them.
std::string toml_key(std::string_view name) {
  const bool bare =
      !name.empty() && std::ranges::all_of(name, [](char c) { return is_alphanumeric(c) || c == '_' || c == '-'; });
  return bare ? std::string(name) : json::write(Value(name));
}

// --- client by client --------------------------------------------------------------------------------------------------------------------

void wire_claude(const RunPlace& place, Wiring& out) {
  const Proxies proxies(place, Client::Claude, out);
  Value settings = Value::object();
  settings.set("hooks", hook_table(place, Client::Claude,
                                   {kClaudeToolEvents, kClaudeEvents, "*", kHookSeconds, true, ""}, proxies.names()));
  Value servers = Value::object();
  servers.set("mcpServers", servers_object(proxies, place, {{"type", "stdio"}}));
  const std::string settings_file = place.folder + "/settings.json", servers_file = place.folder + "/mcp.json";
  out.files.push_back({settings_file, json::write_pretty(settings) + "\n"});
  out.files.push_back({servers_file, json::write_pretty(servers) + "\n"});
  // --mcp-config takes all words up to the next option.
  out.arguments = {"--settings", settings_file, "--mcp-config", servers_file, "--strict-mcp-config"};
}

void wire_codex(const RunPlace& place, Wiring& out) {
  const Proxies proxies(place, Client::Codex, out);
  const auto set = [&](const std::string& key, const Value& value) {
    out.arguments.insert(out.arguments.end(), {"-c", key + "=" + toml(value)});
  };
  const Value hooks = hook_table(place, Client::Codex, {kCodexToolEvents, kCodexEvents, ".*", kHookSeconds, false, ""},
                                 proxies.names());
  for (const auto& [event, groups] : hooks.members()) set("hooks." + event, groups);
  for (const Proxied& one : proxies.all()) {
    const std::string key = "mcp_servers." + toml_key(one.name) + ".";
    set(key + "command", place.baton);
    set(key + "args", texts(one.arguments));
    // By name: on a command line everybody could read the token. What the user's file sets for the server stays set.
    set(key + "env_vars", texts({"BATON_NODE", "BATON_SESSION_TOKEN"}));
  }
  for (const std::string& name : proxies.left_out()) set("mcp_servers." + toml_key(name) + ".enabled", false);
  // The hooks are those of this run, which nobody can have trusted before.
  out.arguments.emplace_back("--dangerously-bypass-hook-trust");
}

// By a home of its own: settings of the system's are taken only from root's folders, and passed over with a warning otherwise.
void wire_gemini(const RunPlace& place, Wiring& out) {
  const Proxies proxies(place, Client::Gemini, out);
  const auto own = json::parse(place.client_settings);
  Value settings = own && own->root().is_object() ? Value::copy(own->root()) : Value::object();
  if (!place.client_settings.empty() && !own) {
    out.problem = "the user's settings of Gemini CLI are not JSON";
    return;
  }
  settings.set("hooks", hook_table(place, Client::Gemini,
                                   {kGeminiToolEvents, kGeminiEvents, ".*", kHookSeconds * 1000, false, "baton"},
                                   proxies.names()));
  const auto member = [&](std::string_view name) -> Value& {
    Value* known = settings.find(name);
    return known != nullptr && known->is_object() ? *known : settings.set(name, Value::object());
  };
  member("tools").set("enableHooks", true);
  settings.set("hooksConfig", Value::object()).set("enabled", true);
  settings.set("mcpServers", servers_object(proxies, place));
  const std::string folder = place.folder + "/gemini/.gemini";
  out.files.push_back({folder + "/settings.json", json::write_pretty(settings) + "\n"});
  for (const std::string_view name : {"oauth_creds.json", "google_accounts.json", "installation_id"})
    out.links.emplace_back(folder + "/" + std::string(name), place.home + "/.gemini/" + std::string(name));
  out.environment.emplace_back("GEMINI_CLI_HOME", place.folder + "/gemini");
}

void wire_opencode(const RunPlace& place, Wiring& out) {
  const Proxies proxies(place, Client::OpenCode, out);
  Value servers = Value::object();
  for (const Proxied& one : proxies.all()) {
    std::vector<std::string> command = {place.baton};
    command.insert(command.end(), one.arguments.begin(), one.arguments.end());
    Value server = Value::object();
    server.set("type", "local");
    server.set("command", texts(command));
    server.set("environment", object_of(one.environment));
    server.set("enabled", true);
    servers.set(one.name, std::move(server));
  }
  for (const std::string& name : proxies.left_out()) servers.set(name, Value::object()).set("enabled", false);
  Value config = Value::object();
  std::vector<std::string> arguments = {"--socket", place.socket};
  if (!place.node_key.empty()) arguments.insert(arguments.end(), {"--node-key", place.node_key});
  if (!place.session_id.empty()) arguments.insert(arguments.end(), {"--session", place.session_id});
  if (const std::string names = proxies.names(); !names.empty())
    arguments.insert(arguments.end(), {"--proxied", names});
  const std::string plugin = place.folder + "/opencode-plugin.js";
  out.files.push_back({plugin, hooks::opencode_plugin(place.hook, arguments)});
  config.set("plugin", texts({"file://" + plugin}));
  config.set("mcp", std::move(servers));
  const std::string file = place.folder + "/opencode.json";
  out.files.push_back({file, json::write_pretty(config) + "\n"});
  out.environment = {{"OPENCODE_CONFIG", file}};
}

void wire_copilot(const RunPlace& place, Wiring& out) {
  const Proxies proxies(place, Client::Copilot, out);
  Value servers = Value::object();
  Value all = Value::object();
  for (const Proxied& one : proxies.all()) {
    Value server = Value::object();
    server.set("type", "local");
    server.set("command", place.baton);
    server.set("args", texts(one.arguments));
    server.set("env", object_of(one.environment));
    server.set("tools", texts({"*"}));
    all.set(one.name, std::move(server));
  }
  servers.set("mcpServers", std::move(all));
  const std::string file = place.folder + "/copilot/mcp.json";
  out.files.push_back({file, json::write_pretty(servers) + "\n"});
  out.arguments = {"--additional-mcp-config", "@" + file, "--disable-builtin-mcps"};
  for (const std::string& name : proxies.left_out())
    out.arguments.insert(out.arguments.end(), {"--disable-mcp-server", name});
  Value table = Value::object();
  for (const std::string_view event : kCopilotEvents) {
    Value hook = Value::object();
    hook.set("type", "command");
    hook.set("bash", hook_command(place, Client::Copilot, event, proxies.names()));
    hook.set("timeoutSec", kHookSeconds);
    table.set(event, Value::array()).push(std::move(hook));
  }
  Value hooks = Value::object();
  hooks.set("version", 1);
  hooks.set("hooks", std::move(table));
  out.files.push_back({place.folder + "/copilot/hooks/baton.json", json::write_pretty(hooks) + "\n"});
  // A copy: the client writes into it.
  if (!place.client_settings.empty())
    out.files.push_back({place.folder + "/copilot/config.json", place.client_settings});
  out.environment.emplace_back("COPILOT_HOME", place.folder + "/copilot");
}

}  // namespace

bool read_servers(Client client, std::string_view text, std::string_view project_folder,
                  std::vector<McpServer>& servers) {
  if (client == Client::Codex) {
    TomlServers(servers).read(text);
    return true;
  }
  const auto parsed = json::parse(text);
  if (!parsed || !parsed->root().is_object()) return false;
  const json::Node root = parsed->root();
  if (client == Client::OpenCode) {
    read_all(root["mcp"], servers);
    return true;
  }
  read_all(root["mcpServers"], servers);
  // Claude Code keeps those of a folder beside those of the user.
  if (client == Client::Claude) read_all(root["projects"][project_folder]["mcpServers"], servers);
  return true;
}

std::vector<std::string> server_files(Client client, std::string_view home, std::string_view project_folder,
                                      std::string_view codex_home) {
  const std::string user(home), project(project_folder);
  switch (client) {
    case Client::Claude: return {user + "/.claude.json", project + "/.mcp.json"};
    case Client::Codex: return {(codex_home.empty() ? user + "/.codex" : std::string(codex_home)) + "/config.toml"};
    case Client::Gemini: return {user + "/.gemini/settings.json"};
    case Client::Copilot: return {user + "/.copilot/mcp-config.json"};
    case Client::OpenCode: return {user + "/.config/opencode/opencode.json", project + "/opencode.json"};
    case Client::Other: return {};
  }
  return {};
}

std::string settings_file(Client client, std::string_view home) {
  if (client == Client::Gemini) return std::string(home) + "/.gemini/settings.json";
  if (client == Client::Copilot) return std::string(home) + "/.copilot/config.json";
  return {};
}

std::string overriding_file(Client client, std::string_view project_folder) {
  return client == Client::Gemini ? std::string(project_folder) + "/.gemini/settings.json" : std::string();
}

std::string problem_with_override(Client client, std::string_view text) {
  if (client != Client::Gemini) return {};
  const auto parsed = json::parse(text);
  if (!parsed || !parsed->root().is_object()) return "it is not JSON";
  for (const std::string_view name : {"hooks", "hooksConfig", "mcpServers", "mcp"})
    if (parsed->root()[name]) return "it has `" + std::string(name) + "`";
  if (parsed->root()["tools"]["enableHooks"]) return "it has `tools.enableHooks`";
  return {};
}

Wiring wire(Client client, const RunPlace& place) {
  Wiring out;
  if (client == Client::Other) return out;
  if (place.hook.empty()) {
    out.problem = "the program baton-hook is not there: it is to be beside baton, or in PATH";
    return out;
  }
  if (place.socket.empty()) {
    out.problem = "hooks speak to a node by its socket: this one is on another machine";
    return out;
  }
  switch (client) {
    case Client::Claude: wire_claude(place, out); break;
    case Client::Codex: wire_codex(place, out); break;
    case Client::Gemini: wire_gemini(place, out); break;
    case Client::Copilot: wire_copilot(place, out); break;
    case Client::OpenCode: wire_opencode(place, out); break;
    case Client::Other: break;
  }
  return out;
}

std::string problem_with_command(Client client, const std::vector<std::string>& argv) {
  static constexpr std::pair<Client, std::string_view> kTaken[] = {{Client::Claude, "--settings"},
                                                                   {Client::Claude, "--mcp-config"},
                                                                   {Client::Claude, "--strict-mcp-config"},
                                                                   {Client::Claude, "--setting-sources"},
                                                                   {Client::Claude, "--bare"},
                                                                   {Client::Copilot, "--additional-mcp-config"}};
  for (const auto& [of, option] : kTaken)
    if (of == client)
      for (const std::string& word : argv)
        if (word == option || (word.starts_with(option) && word.size() > option.size() && word[option.size()] == '='))
          return "`" + std::string(option) +
                 "` is what the client is wired with; servers of a file are given with --mcp-config of `baton run`";
  if (client == Client::Codex && find_prompt(client, argv) == std::nullopt)
    return "only `codex exec` with a prompt can be run";
  return {};
}

}  // namespace baton::supervisor
