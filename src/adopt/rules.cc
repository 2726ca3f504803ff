// SPDX-License-Identifier: Apache-2.0
#include "adopt/rules.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "adopt/outside.h"
#include "base/text.h"
#include "hooks/names.h"
#include "hooks/paths.h"
#include "json/parse.h"
#include "json/value.h"
#include "secrets/detector.h"

namespace baton::adopt {
namespace {

using hooks::Client;
using json::Node;

// Tools that a client has, with what they do: each gets a contract, because a tool without one is refused.
struct Tool {
  Client client;
  std::string_view name, side_effect;
};
constexpr Tool kTools[] = {
    {Client::Claude, "Agent", "write"},
    {Client::Claude, "AskUserQuestion", "read"},
    {Client::Claude, "Bash", "write"},
    {Client::Claude, "BashOutput", "read"},
    {Client::Claude, "Edit", "write"},
    {Client::Claude, "EnterPlanMode", "read"},
    {Client::Claude, "ExitPlanMode", "read"},
    {Client::Claude, "Glob", "read"},
    {Client::Claude, "Grep", "read"},
    {Client::Claude, "KillShell", "write"},
    {Client::Claude, "LS", "read"},
    {Client::Claude, "LSP", "read"},
    {Client::Claude, "ListMcpResourcesTool", "read"},
    {Client::Claude, "MultiEdit", "write"},
    {Client::Claude, "NotebookEdit", "write"},
    {Client::Claude, "Read", "read"},
    {Client::Claude, "ReadMcpResourceTool", "read"},
    {Client::Claude, "SendMessage", "write"},
    {Client::Claude, "Skill", "write"},
    {Client::Claude, "SlashCommand", "write"},
    {Client::Claude, "Task", "write"},
    {Client::Claude, "TaskCreate", "read"},
    {Client::Claude, "TaskGet", "read"},
    {Client::Claude, "TaskList", "read"},
    {Client::Claude, "TaskOutput", "read"},
    {Client::Claude, "TaskStop", "write"},
    {Client::Claude, "TaskUpdate", "read"},
    {Client::Claude, "TodoWrite", "read"},
    {Client::Claude, "ToolSearch", "read"},
    {Client::Claude, "WebFetch", "read"},
    {Client::Claude, "WebSearch", "read"},
    {Client::Claude, "Write", "write"},
    {Client::Codex, "Bash", "write"},
    {Client::Codex, "apply_patch", "write"},
    {Client::Codex, "spawn_agent", "write"},
    {Client::Codex, "update_plan", "read"},
    {Client::Codex, "view_image", "read"},
    {Client::Codex, "web_search", "read"},
    {Client::Gemini, "Bash", "write"},
    {Client::Gemini, "ask_user", "read"},
    {Client::Gemini, "glob", "read"},
    {Client::Gemini, "google_web_search", "read"},
    {Client::Gemini, "grep_search", "read"},
    {Client::Gemini, "list_directory", "read"},
    {Client::Gemini, "read_file", "read"},
    {Client::Gemini, "read_many_files", "read"},
    {Client::Gemini, "replace", "write"},
    {Client::Gemini, "save_memory", "write"},
    {Client::Gemini, "search_file_content", "read"},
    {Client::Gemini, "update_topic", "read"},
    {Client::Gemini, "web_fetch", "read"},
    {Client::Gemini, "write_file", "write"},
    {Client::Gemini, "write_todos", "read"},
    {Client::Copilot, "Bash", "write"},
    {Client::Copilot, "apply_patch", "write"},
    {Client::Copilot, "ask_user", "read"},
    {Client::Copilot, "create", "write"},
    {Client::Copilot, "edit", "write"},
    {Client::Copilot, "glob", "read"},
    {Client::Copilot, "grep", "read"},
    {Client::Copilot, "list_bash", "read"},
    {Client::Copilot, "read_bash", "read"},
    {Client::Copilot, "report_intent", "read"},
    {Client::Copilot, "skill", "write"},
    {Client::Copilot, "stop_bash", "write"},
    {Client::Copilot, "task", "write"},
    {Client::Copilot, "update_todo", "read"},
    {Client::Copilot, "view", "read"},
    {Client::Copilot, "web_fetch", "read"},
    {Client::OpenCode, "Bash", "write"},
    {Client::OpenCode, "apply_patch", "write"},
    {Client::OpenCode, "edit", "write"},
    {Client::OpenCode, "glob", "read"},
    {Client::OpenCode, "grep", "read"},
    {Client::OpenCode, "list", "read"},
    {Client::OpenCode, "multiedit", "write"},
    {Client::OpenCode, "question", "read"},
    {Client::OpenCode, "read", "read"},
    {Client::OpenCode, "skill", "write"},
    {Client::OpenCode, "task", "write"},
    {Client::OpenCode, "todoread", "read"},
    {Client::OpenCode, "todowrite", "read"},
    {Client::OpenCode, "webfetch", "read"},
    {Client::OpenCode, "websearch", "read"},
    {Client::OpenCode, "write", "write"},
    {Client::Cursor, "Bash", "write"},
    {Client::Cursor, "Delete", "write"},
    {Client::Cursor, "Edit", "write"},
    {Client::Cursor, "Glob", "read"},
    {Client::Cursor, "Grep", "read"},
    {Client::Cursor, "LS", "read"},
    {Client::Cursor, "Read", "read"},
    {Client::Cursor, "StrReplace", "write"},
    {Client::Cursor, "Task", "write"},
    {Client::Cursor, "Write", "write"},
};

// Which tools a rule about files is for: of those with such a name in a client, and what commands are held to.
struct FileRule {
  Client client;
  std::string_view rule;
  bool writes;  // commands: what they write, rather than whatever they name
  std::string_view tools;
};
constexpr FileRule kFileRules[] = {
    {Client::Claude, "Read", false, "Read"},
    {Client::Claude, "Edit", true, "Edit Write MultiEdit NotebookEdit"},
    {Client::Claude, "Write", true, "Write Edit MultiEdit NotebookEdit"},
    {Client::Cursor, "Read", false, "Read"},
    {Client::Cursor, "Write", true, "Write Edit StrReplace Delete"},
    {Client::Cursor, "Edit", true, "Write Edit StrReplace Delete"},
    {Client::OpenCode, "read", false, "read"},
    {Client::OpenCode, "edit", true, "edit write multiedit"},
};

std::string yaml_quoted(std::string_view text) { return json::write(json::Value(text)); }

constexpr std::size_t kToolNameMax = 128;  // of a contract

bool is_tool_name(std::string_view tool) {
  return !tool.empty() && std::all_of(tool.begin(), tool.end(), [](char c) {
    return is_alphanumeric(c) || std::string_view("_.:-").find(c) != std::string_view::npos;
  });
}

struct Contract {
  std::string side_effect = "write";
  bool denied = false, asked = false;
  bool only = false;                                            // nothing but `commands`
  std::vector<std::string> commands;                            // regular expressions of what is admitted
  std::vector<std::pair<std::string, std::string>> invariants;  // path and rule
};

class Carrying {
 public:
  Carrying(Client client, std::string_view project, std::string_view home, const std::vector<ServerTool>& tools)
      : client_(client), project_(project), home_(home), tools_(tools) {
    for (const ServerTool& tool : tools)
      if (const std::string name = contract_of(tool.server, tool.name); !name.empty())
        contracts_[name].side_effect = tool.reads ? "read" : "write";
    for (const Tool& tool : kTools)
      if (tool.client == client) contracts_[std::string(tool.name)].side_effect = tool.side_effect;
  }

  Pack run(const std::vector<Rule>& rules) {
    for (const Rule& rule : rules) {
      const std::size_t open = rule.text.find('(');
      if (rule.effect == Effect::Allow && open != std::string::npos && !rule.text.ends_with("(*)"))
        partly_allowed_.insert(own_name(rule.text.substr(0, open)));
      if (rule.effect == Effect::Only) only_.insert(own_name(rule.text.substr(0, open)));
      if (rule.text.find('*') != 0) named_.insert(own_name(rule.text.substr(0, open)));
    }
    for (const Effect effect : {Effect::Deny, Effect::Ask, Effect::Only, Effect::Allow})
      for (const Rule& rule : rules)
        if (rule.effect == effect) carry(rule);
    if (!only_.empty())
      for (const Tool& tool : kTools)
        if (tool.client == client_ && only_.count(std::string(tool.name)) == 0)
          contracts_[std::string(tool.name)].denied = true;
    write();
    return std::move(out_);
  }

 private:
  static std::string_view word(Effect effect) {
    switch (effect) {
      case Effect::Allow: return "allow";
      case Effect::Ask: return "ask";
      case Effect::Deny: return "deny";
      case Effect::Only: break;
    }
    return "only";
  }
  static std::string line(const Rule& rule, std::string_view what) {
    return rule.where + ": " + std::string(word(rule.effect)) + " `" + printable(rule.text, 200) +
           "`: " + std::string(what);
  }
  void carried(const Rule& rule, std::string_view how) { out_.carried.push_back(line(rule, how)); }
  void not_carried(const Rule& rule, std::string_view why) {
    out_.not_carried.push_back(line(rule, std::string(why) + "; it stays in force in the client"));
  }
  void refused_for_now(const Rule& rule, std::string_view why) {
    out_.not_carried.push_back(line(rule, std::string(why) + "; Baton refuses it until a contract admits it"));
  }

  bool is_own(std::string_view tool) const {
    return std::any_of(std::begin(kTools), std::end(kTools),
                       [&](const Tool& one) { return one.client == client_ && one.name == tool; });
  }

  // What the contract of a server's tool is called; empty: there can be none, or the tool is called like one of the client's own.
  std::string contract_of(std::string_view server, std::string_view tool) const {
    std::string name = std::string(server) + ":" + std::string(tool);
    const bool is_one = is_tool_name(server) && server.find(':') == std::string_view::npos && is_tool_name(tool);
    return is_one && name.size() <= kToolNameMax && !is_own(tool) ? name : std::string();
  }

  // As contracts call it.
  std::string own_name(const std::string& name) const {
    return hooks::shape_of(client_, name).shape == hooks::Shape::Shell ? "Bash" : name;
  }

  // --- one rule

  void carry(const Rule& rule) {
    if (!rule.why_not.empty())
      return out_.not_carried.push_back(rule.where + ": `" + printable(rule.text, 200) + "`: " + rule.why_not +
                                        "; it stays in force in the client");
    // Neither the pack nor its list is a place for it.
    if (secrets::holds_secret(rule.text))
      return out_.not_carried.push_back(rule.where + ": " + std::string(word(rule.effect)) + " `" +
                                        printable(secrets::redact(rule.text), 200) +
                                        "`: it holds what looks like a secret; it stays in force in the client");
    const std::size_t open = rule.text.find('(');
    const bool has_part = open != std::string::npos && rule.text.ends_with(')');
    std::string name = rule.text.substr(0, open);
    const std::string part = has_part ? rule.text.substr(open + 1, rule.text.size() - open - 2) : std::string();
    if (open != std::string::npos && !has_part) return not_carried(rule, "it is not in the form TOOL or TOOL(...)");
    if (name == "*") return every_tool(rule);
    if (client_ == Client::Cursor && name == "Mcp") {
      const std::size_t colon = part.find(':');
      if (colon == std::string::npos || part.substr(colon + 1) == "*") return whole_server(rule, part.substr(0, colon));
      return whole_of_server(rule, part.substr(0, colon), part.substr(colon + 1));
    }
    if (name.starts_with("mcp_")) {
      const auto server = hooks::canonical_name(client_, name);
      if (!server || !server->is_mcp || server->tool.ends_with("/*")) {
        std::string which = name.substr(name.starts_with("mcp__") ? 5 : 4);
        if (which.ends_with("__*")) which.resize(which.size() - 3);
        return whole_server(rule, which);
      }
      return whole_of_server(rule, server->server, server->tool.substr(server->server.size() + 1));
    }
    name = own_name(name);
    if (!has_part || part == "*") return whole(rule, name);
    if (name == "Bash") return command(rule, part);
    if (name == "WebFetch" && part.starts_with("domain:")) return domain(rule, part.substr(7));
    for (const FileRule& one : kFileRules)
      if (one.client == client_ && one.rule == name) return path(rule, one, part);
    not_carried(rule, "what stands in its brackets is not known to Baton for this tool");
  }

  void whole_server(const Rule& rule, const std::string& server) {
    std::size_t known = 0;
    for (const ServerTool& tool : tools_) {
      const std::string name = contract_of(tool.server, tool.name);
      if (tool.server != server || name.empty()) continue;
      ++known;
      if (rule.effect == Effect::Deny) contracts_[name].denied = true;
      if (rule.effect == Effect::Ask) contracts_[name].asked = true;
    }
    if (known != 0)
      return carried(rule, std::string("the contracts of its tools, as the server listed them, ") +
                               (rule.effect == Effect::Deny  ? "block them"
                                : rule.effect == Effect::Ask ? "have checkpoints"
                                                             : "allow them"));
    if (rule.effect == Effect::Deny)
      return carried(rule, "a tool without a contract is refused, and none is written for this server");
    refused_for_now(rule,
                    "which tools the server has is not in its client's settings; `baton adopt --ask-servers` asks it");
  }

  // Those that no rule names.
  void every_tool(const Rule& rule) {
    if (rule.effect == Effect::Allow) return carried(rule, "the contracts allow what no other rule is about");
    for (const Tool& tool : kTools)
      if (tool.client == client_ && named_.count(std::string(tool.name)) == 0)
        (rule.effect == Effect::Deny ? contracts_[std::string(tool.name)].denied
                                     : contracts_[std::string(tool.name)].asked) = true;
    carried(rule, std::string("the contracts of all tools that no other rule is about ") +
                      (rule.effect == Effect::Deny ? "block them" : "have a checkpoint"));
  }

  void whole_of_server(const Rule& rule, const std::string& server, const std::string& tool) {
    if (is_own(tool))
      return rule.effect == Effect::Deny
                 ? carried(rule,
                           "a contract for the client's own " + tool + " is none for a server's, and none is written")
                 : refused_for_now(rule, "a tool of a server that is called like one of the client's own");
    const std::string name = contract_of(server, tool);
    if (name.empty()) return not_carried(rule, "it names no tool");
    whole(rule, name);
  }

  void whole(const Rule& rule, const std::string& tool) {
    if (!is_tool_name(tool)) return not_carried(rule, "it names no tool");
    // The more special rule wins there: all but what another one allows.
    const bool but_some = client_ == Client::OpenCode && partly_allowed_.count(tool) != 0;
    if (but_some && rule.effect == Effect::Ask)
      return not_carried(rule, "a checkpoint cannot leave out what another rule allows");
    if (but_some && rule.effect == Effect::Deny && tool == "Bash") {
      contracts_[tool].only = true;
      return carried(rule, "the contract of Bash admits the commands that are allowed, and nothing else");
    }
    Contract& contract = contracts_[tool];
    if (rule.effect == Effect::Deny) contract.denied = true;
    if (rule.effect == Effect::Ask) contract.asked = true;
    carried(rule, rule.effect == Effect::Deny  ? "the contract of " + tool + " blocks it"
                  : rule.effect == Effect::Ask ? "the contract of " + tool + " has a checkpoint"
                                               : "the contract of " + tool + " allows it");
  }

  void invariant(const std::string& tool, std::string path, const std::string& rule) {
    auto& all = contracts_[tool].invariants;
    if (std::find(all.begin(), all.end(), std::pair(path, rule)) == all.end()) all.emplace_back(std::move(path), rule);
  }
  void regex(const std::string& tool, std::string path, const std::string& pattern) {
    invariant(tool, std::move(path), "regex: " + yaml_quoted(pattern));
  }

  // A command as the hook writes its words into `lines`: a blank stands between words, and nowhere else.
  static std::optional<std::string> words_of(std::string_view part) {
    std::string out;
    for (const std::string_view one : split(part, ' ')) {
      if (one.empty()) continue;
      for (const char c : one)
        if (static_cast<unsigned char>(c) <= ' ' || static_cast<unsigned char>(c) > '~' ||
            std::string_view("%\"'\\$`|&;<>(){}*?[]~#!").find(c) != std::string_view::npos)
          return std::nullopt;
      out += (out.empty() ? "" : " ") + std::string(one);
    }
    return out.empty() ? std::nullopt : std::optional(out);
  }

  void command(const Rule& rule, std::string part) {
    if (rule.effect == Effect::Ask) return not_carried(rule, "a checkpoint cannot be for some commands only");
    // Of these clients a command stands for all that begin with it.
    bool open_end = client_ == Client::Gemini || client_ == Client::Cursor;
    for (const std::string_view end : {":*", " *", "*"})
      if (part.ends_with(end)) {
        part.resize(part.size() - end.size()), open_end = true;
        break;
      }
    while (part.ends_with(' ')) part.pop_back();
    Contract& shell = contracts_["Bash"];
    if (rule.effect == Effect::Deny) {
      const auto words = words_of(part);
      if (!words)
        return not_carried(rule,
                           "what is not plain words, with at most one `*` at the end, cannot be said in a contract");
      // First the one whose refusal says what is meant.
      if (open_end) invariant("Bash", "\"$['dev.baton'].uses['" + *words + "']\"", "exists: false");
      regex("Bash", "\"$['dev.baton'].lines.commands\"",
            whole_text(beyond(*words, open_end ? std::optional(' ') : std::nullopt, Among::Lines), Among::Lines));
      return carried(rule,
                     "the contract of Bash blocks it, wherever it stands in a command line; one that cannot be "
                     "read has a checkpoint");
    }
    const bool listed = rule.effect == Effect::Only || shell.only;
    if (!listed) return carried(rule, "the contract of Bash allows it");
    if (part.empty() || part.find('*') != std::string::npos)
      return refused_for_now(rule, "a wildcard in the middle of a command cannot be said in a contract");
    shell.only = true;
    shell.commands.push_back(regex_quoted(part) + (open_end ? "(?: .*)?" : ""));
    carried(rule, "the contract of Bash admits it, as a single command without substitutions");
  }

  void domain(const Rule& rule, const std::string& part) {
    if (rule.effect == Effect::Allow) return carried(rule, "the contract of WebFetch allows it");
    if (rule.effect == Effect::Ask) return not_carried(rule, "a checkpoint cannot be for some addresses only");
    const std::string_view host = std::string_view(part).substr(part.starts_with("*.") ? 2 : 0);
    if (!std::all_of(host.begin(), host.end(), [](char c) { return is_alphanumeric(c) || c == '-' || c == '.'; }) ||
        host.empty())
      return not_carried(rule, "it is no name of a host, with at most `*.` before it");
    regex("WebFetch", "$.url", another_host(part));
    carried(rule, "the contract of WebFetch blocks it");
  }

  // `./secrets/**`, `~/.ssh/**`, `//etc/**`, `**/.env`, `*.pem`: a folder, and perhaps a name below it. Nothing: another kind of pattern.
  std::optional<PathRule> path_of(std::string part) const {
    PathRule out;
    for (const std::string_view end : {"/**", "/*"})
      if (part.ends_with(end)) {
        part.resize(part.size() - end.size());
        break;
      }
    std::string base = project_;
    if (part.starts_with("//")) base = "/", part.erase(0, 2);
    else if (part.starts_with("~/")) base = home_, part.erase(0, 2);
    else if (part.starts_with("/") && client_ == Client::Claude) part.erase(0, 1);  // below the settings' folder
    else if (part.starts_with("/")) base = "/";
    const bool is_bare = part.find('/') == std::string::npos;
    if (part.starts_with("**/")) part.erase(0, 3), out.any_depth = true, base = "/";
    if (const std::size_t deep = part.find("/**/"); deep != std::string::npos) {
      out.any_depth = true;
      out.name = part.substr(deep + 4);
      part.resize(deep);
    } else if (const std::size_t slash = part.rfind('/'), star = part.find('*'); star != std::string::npos) {
      if (slash != std::string::npos && star < slash) return std::nullopt;
      out.name = part.substr(slash == std::string::npos ? 0 : slash + 1);
      part.resize(slash == std::string::npos ? 0 : slash);
      out.any_depth |= is_bare;
    } else if (out.any_depth || (is_bare && base == project_)) {
      // A name alone is one at any depth, as in .gitignore.
      if (!is_bare && !out.any_depth) return std::nullopt;
      out.any_depth = true;
      out.name = std::move(part);
      part.clear();
    }
    if (base.empty() || part.find_first_of("*?[]{}!\\") != std::string::npos) return std::nullopt;
    if (out.name.find('/') != std::string::npos) return std::nullopt;
    out.folder = part.empty() ? base : hooks::absolute_path(part, base);
    if (out.folder == "/") out.folder.clear();
    if (!out.folder.empty() && out.folder[0] != '/') return std::nullopt;
    if (out.folder.empty() && out.name.empty()) return std::nullopt;
    for (const std::string* text : {&out.folder, &out.name})
      for (const char c : *text)
        if (static_cast<unsigned char>(c) <= ' ' || static_cast<unsigned char>(c) > '~' || c == '%')
          return std::nullopt;
    return out;
  }

  void path(const Rule& rule, const FileRule& files, const std::string& part) {
    if (rule.effect == Effect::Allow) return carried(rule, "the contract allows the tool wherever it is not closed");
    if (rule.effect == Effect::Ask) return not_carried(rule, "a checkpoint cannot be for some files only");
    const auto closed = path_of(part);
    const auto alone = closed ? outside(*closed, Among::Alone) : std::nullopt;
    const auto lines = closed ? outside(*closed, Among::Lines) : std::nullopt;
    if (!alone || !lines)
      return not_carried(
          rule,
          "a pattern of this kind cannot be said in a contract, which knows folders and names with one `*` "
          "at their beginning or end");
    for (const std::string_view tool : split(files.tools, ' ')) {
      // What the hook lists, whichever member of the input it stood in.
      invariant(std::string(tool), "\"$['dev.baton'].paths\"", "length_lte: 1");
      regex(std::string(tool), "\"$['dev.baton'].paths[0]\"", whole_text(*alone, Among::Alone));
    }
    regex("Bash", files.writes ? "\"$['dev.baton'].lines.writes\"" : "\"$['dev.baton'].lines.paths\"",
          whole_text(*lines, Among::Lines));
    carried(rule, "the contracts of the tools for files keep out of " + shown(*closed) +
                      ", and that of Bash as far as a command " + (files.writes ? "says what it writes" : "names it"));
  }

  static std::string shown(const PathRule& rule) {
    if (rule.name.empty()) return rule.folder;
    return rule.folder + (rule.any_depth ? "/**/" : "/") + rule.name;
  }

  // --- the pack

  void write() {
    out_.files.emplace_back(
        "session.yaml",
        "# Made by `baton adopt " + std::string(hooks::client_name(client_)) +
            "` from the client's own rules; yours to change.\n"
            "schema_version: \"1.0\"\nagent: " +
            std::string(hooks::client_name(client_)) +
            "\nrisk_defaults: {read: allow, write: allow, destructive: block, admin: block, financial: block}\n");
    for (const auto& [name, contract] : contracts_) out_.files.emplace_back(name + ".yaml", text_of(name, contract));
  }

  // Tools whose calls Baton cannot always read: then a person is asked.
  bool may_be_opaque(std::string_view tool) const {
    return tool == "Bash" || hooks::shape_of(client_, tool).shape == hooks::Shape::Patch;
  }

  std::string text_of(const std::string& name, const Contract& contract) const {
    std::string out = "tool: " + yaml_quoted(name) + "\nside_effect: " + contract.side_effect +
                      "\nevidence_class: ack_only\ncommit_requirement: acknowledged\n"
                      "timeouts: {total_ms: 3600000}\nretries: {max_attempts: 1, retry_on: []}\n"
                      "rate_limits: {on_429: {respect_retry_after: true, max_sleep_seconds: 5}}\n";
    if (contract.denied) out += "gate: block\n";
    else if (contract.asked) out += "checkpoint: {when: always, timeout_seconds: 600}\n";
    else if (may_be_opaque(name))
      out += "checkpoint: {when: [{path: \"$['dev.baton'].opaque\", equals: true}], timeout_seconds: 600}\n";
    std::vector<std::string> inputs;
    const auto wants = [&](const std::string& path, const std::string& rule) {
      inputs.push_back("    - {path: " + path + ", " + rule + "}\n");
    };
    if (contract.only) {
      wants("\"$['dev.baton'].commands\"", "length_lte: 1");
      wants("\"$['dev.baton'].command\"",
            "regex: " + yaml_quoted(contract.commands.empty() ? "^$" : "^(?:" + join(contract.commands, "|") + ")$"));
    }
    for (const auto& [path, rule] : contract.invariants) wants(path, rule);
    if (inputs.empty())
      return out + "assertions: {input_invariants: [], output_invariants: []}\nallowed_errors: []\ngolden_cases: []\n";
    out += "assertions:\n  input_invariants:\n";
    for (const std::string& one : inputs) out += one;
    return out + "  output_invariants: []\nallowed_errors: []\ngolden_cases: []\n";
  }

  Client client_;
  std::string project_, home_;
  const std::vector<ServerTool>& tools_;
  std::map<std::string, Contract> contracts_;
  std::set<std::string> partly_allowed_, only_, named_;  // tools, as contracts call them
  Pack out_;
};

void take(std::vector<Rule>& out, Node list, Effect effect, std::string_view where) {
  for (const Node one : list.elements())
    if (one.is_string()) out.push_back({effect, std::string(one.string()), std::string(where)});
}

// A setting that is no rule about tools.
void take_mode(std::vector<Rule>& out, Node node, std::string_view name, std::string_view where) {
  if (!node || node.is_null()) return;
  std::string text(name);
  if (node.is_string()) text += ": " + std::string(node.string());
  out.push_back(
      {Effect::Allow, std::move(text), std::string(where), "it is a mode of the client, not a rule about a tool"});
}

std::optional<Effect> effect_of(Node node) {
  if (node.is_text("allow")) return Effect::Allow;
  if (node.is_text("ask")) return Effect::Ask;
  if (node.is_text("deny")) return Effect::Deny;
  return std::nullopt;
}

// {"permission": {"edit": "ask", "bash": {"git *": "allow", "*": "ask"}}}
void take_opencode(std::vector<Rule>& out, Node permission, std::string_view where) {
  if (const auto effect = effect_of(permission)) out.push_back({*effect, "*", std::string(where)});
  for (const json::Member member : permission.members()) {
    const std::string name(member.name());
    if (const auto effect = effect_of(member.value)) out.push_back({*effect, name, std::string(where)});
    for (const json::Member part : member.value.members())
      if (const auto effect = effect_of(part.value))
        out.push_back({*effect, name + "(" + std::string(part.name()) + ")", std::string(where)});
  }
}

void take_gemini(std::vector<Rule>& out, Node settings, std::string_view where) {
  take(out, settings["tools"]["allowed"], Effect::Allow, where);
  take(out, settings["tools"]["exclude"], Effect::Deny, where);
  take(out, settings["tools"]["core"], Effect::Only, where);
  for (const json::Member server : settings["mcpServers"].members()) {
    const std::string front = "mcp_" + std::string(server.name()) + "_";
    for (const Node tool : server.value["excludeTools"].elements())
      if (tool.is_string()) out.push_back({Effect::Deny, front + std::string(tool.string()), std::string(where)});
    for (const Node tool : server.value["includeTools"].elements())
      if (tool.is_string()) out.push_back({Effect::Allow, front + std::string(tool.string()), std::string(where)});
    if (server.value["trust"].is_true())
      take_mode(out, server.value["trust"], "mcpServers." + std::string(server.name()) + ".trust", where);
  }
  take_mode(out, settings["tools"]["sandbox"], "tools.sandbox", where);
  take_mode(out, settings["general"]["defaultApprovalMode"], "general.defaultApprovalMode", where);
  take_mode(out, settings["mcp"]["allowed"], "mcp.allowed", where);
  take_mode(out, settings["mcp"]["excluded"], "mcp.excluded", where);
}

}  // namespace

std::vector<Rule> rules_in(Client client, Node settings, std::string_view where) {
  std::vector<Rule> out;
  switch (client) {
    case Client::Claude:
    case Client::Cursor:
      take(out, settings["permissions"]["allow"], Effect::Allow, where);
      take(out, settings["permissions"]["ask"], Effect::Ask, where);
      take(out, settings["permissions"]["deny"], Effect::Deny, where);
      take_mode(out, settings["permissions"]["defaultMode"], "permissions.defaultMode", where);
      take_mode(out, settings["permissions"]["additionalDirectories"], "permissions.additionalDirectories", where);
      take_mode(out, settings["sandbox"], "sandbox", where);
      break;
    case Client::Gemini: take_gemini(out, settings, where); break;
    case Client::OpenCode: take_opencode(out, settings["permission"], where); break;
    case Client::Copilot:
      for (const std::string_view name : {"allowed_urls", "denied_urls", "trusted_folders"})
        take_mode(out, settings[name], name, where);
      break;
    case Client::Codex: break;
  }
  return out;
}

std::vector<Rule> rules_in_codex_config(std::string_view text, std::string_view where) {
  std::vector<Rule> out;
  bool at_top = true;
  for (const std::string_view line : split(text, '\n')) {
    std::string_view rest = line.substr(std::min(line.find_first_not_of(" \t"), line.size()));
    if (rest.starts_with("[")) at_top = false;
    const bool tools = rest.starts_with("enabled_tools") || rest.starts_with("disabled_tools");
    if (!tools && !(at_top && (rest.starts_with("approval_policy") || rest.starts_with("sandbox_mode")))) continue;
    while (rest.ends_with('\r') || rest.ends_with(' ')) rest.remove_suffix(1);
    out.push_back({Effect::Allow, std::string(rest), std::string(where),
                   tools ? "which tools of a server the client shows is its own matter"
                         : "it is a mode of the client, not a rule about a tool"});
  }
  return out;
}

std::vector<Rule> rules_in_codex_rules(std::string_view text, std::string_view where) {
  std::vector<Rule> out;
  constexpr std::string_view kRule = "prefix_rule(";
  for (std::size_t at = text.find(kRule); at != std::string_view::npos; at = text.find(kRule, at + 1)) {
    const std::size_t line = text.rfind('\n', at) + 1;  // npos + 1: the first line
    if (text.substr(line, at - line).find('#') != std::string_view::npos) continue;
    const std::size_t end = std::min(text.find("\n)", at), std::min(text.find(")\n", at), text.size()));
    const std::string_view body = text.substr(at + kRule.size(), end - at - kRule.size());
    const auto value_of = [&](std::string_view name) -> std::string_view {
      std::size_t from = body.find(name);
      if (from == std::string_view::npos) return {};
      from = body.find_first_not_of(" \t=", from + name.size());
      return from == std::string_view::npos ? std::string_view() : body.substr(from);
    };
    const std::string_view list = value_of("pattern"), decision = value_of("decision");
    const std::size_t close = list.find(']');
    std::vector<std::string> words;
    const auto parsed = close == std::string_view::npos ? json::parse_owned("null")
                                                        : json::parse_owned(std::string(list.substr(0, close + 1)));
    bool plain = parsed && parsed->root().is_array() && parsed->root().size() != 0;
    if (plain)
      for (const Node one : parsed->root().elements()) {
        plain = plain && one.is_string();
        if (plain) words.emplace_back(one.string());
      }
    const Effect effect = decision.starts_with("\"forbidden\"") ? Effect::Deny
                          : decision.starts_with("\"prompt\"")  ? Effect::Ask
                                                                : Effect::Allow;
    if (plain) out.push_back({effect, "Bash(" + join(words, " ") + ":*)", std::string(where)});
    else
      out.push_back(
          {effect, "prefix_rule(" + printable(body, 120), std::string(where), "a rule with alternatives is not read"});
  }
  return out;
}

Pack pack_of(Client client, const std::vector<Rule>& rules, std::string_view project, std::string_view home,
             const std::vector<ServerTool>& tools) {
  return Carrying(client, project, home, tools).run(rules);
}

}  // namespace baton::adopt
