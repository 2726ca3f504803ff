// SPDX-License-Identifier: Apache-2.0
#include "adopt/rules.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/text.h"
#include "hooks/names.h"
#include "hooks/paths.h"
#include "json/value.h"

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
    {Client::Claude, "Edit", "write"},
    {Client::Claude, "Glob", "read"},
    {Client::Claude, "Grep", "read"},
    {Client::Claude, "MultiEdit", "write"},
    {Client::Claude, "NotebookEdit", "write"},
    {Client::Claude, "Read", "read"},
    {Client::Claude, "Skill", "write"},
    {Client::Claude, "Task", "write"},
    {Client::Claude, "TaskCreate", "read"},
    {Client::Claude, "TaskUpdate", "read"},
    {Client::Claude, "TodoWrite", "read"},
    {Client::Claude, "ToolSearch", "read"},
    {Client::Claude, "WebFetch", "read"},
    {Client::Claude, "WebSearch", "read"},
    {Client::Claude, "Write", "write"},
    {Client::Codex, "Bash", "write"},
    {Client::Codex, "apply_patch", "write"},
    {Client::Codex, "view_image", "read"},
    {Client::Codex, "spawn_agent", "write"},
    {Client::Gemini, "Bash", "write"},
    {Client::Gemini, "glob", "read"},
    {Client::Gemini, "google_web_search", "read"},
    {Client::Gemini, "grep_search", "read"},
    {Client::Gemini, "list_directory", "read"},
    {Client::Gemini, "read_file", "read"},
    {Client::Gemini, "read_many_files", "read"},
    {Client::Gemini, "replace", "write"},
    {Client::Gemini, "update_topic", "read"},
    {Client::Gemini, "web_fetch", "read"},
    {Client::Gemini, "write_file", "write"},
    {Client::Gemini, "write_todos", "read"},
    {Client::Copilot, "Bash", "write"},
    {Client::Copilot, "create", "write"},
    {Client::Copilot, "edit", "write"},
    {Client::Copilot, "glob", "read"},
    {Client::Copilot, "grep", "read"},
    {Client::Copilot, "report_intent", "read"},
    {Client::Copilot, "task", "write"},
    {Client::Copilot, "view", "read"},
    {Client::OpenCode, "Bash", "write"},
    {Client::OpenCode, "edit", "write"},
    {Client::OpenCode, "glob", "read"},
    {Client::OpenCode, "grep", "read"},
    {Client::OpenCode, "read", "read"},
    {Client::OpenCode, "task", "write"},
    {Client::OpenCode, "todowrite", "read"},
    {Client::OpenCode, "webfetch", "read"},
    {Client::OpenCode, "write", "write"},
    {Client::Cursor, "Bash", "write"},
    {Client::Cursor, "Delete", "write"},
    {Client::Cursor, "Edit", "write"},
    {Client::Cursor, "Glob", "read"},
    {Client::Cursor, "Grep", "read"},
    {Client::Cursor, "Read", "read"},
    {Client::Cursor, "StrReplace", "write"},
    {Client::Cursor, "Task", "write"},
    {Client::Cursor, "Write", "write"},
};

std::string regex_quoted(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (!is_alphanumeric(c) && c != '_' && c != '/' && c != ' ' && static_cast<unsigned char>(c) < 0x80)
      out.push_back('\\');
    out.push_back(c);
  }
  return out;
}

std::string yaml_quoted(std::string_view text) { return json::write(json::Value(text)); }

// What is neither below one of `folders` (each without a slash at its end) nor one of them: as a regular expression without lookaround, a way
// down the tree of their characters that leaves it somewhere.
std::string outside(std::vector<std::string> folders) {
  std::sort(folders.begin(), folders.end());
  const auto down = [&](auto& self, const std::string& front) -> std::string {
    std::string next;
    for (const std::string& one : folders) {
      if (one == front) {
        // Here only what goes on with another character than a slash is another name.
        std::string more;
        for (const std::string& longer : folders)
          if (longer.size() > one.size() && longer.starts_with(one) && longer[one.size()] != '/' &&
              more.find(longer[one.size()]) == std::string::npos)
            more.push_back(longer[one.size()]);
        std::string out = "(?:[^/" + regex_quoted(more) + "].*";
        for (const char c : more) out += "|" + regex_quoted(std::string(1, c)) + self(self, front + c);
        return out + ")";
      }
      if (one.size() > front.size() && one.starts_with(front) && next.find(one[front.size()]) == std::string::npos)
        next.push_back(one[front.size()]);
    }
    std::string out = "(?:|[^" + regex_quoted(next) + "].*";
    for (const char c : next) out += "|" + regex_quoted(std::string(1, c)) + self(self, front + c);
    return out + ")";
  };
  return "(?s)^" + down(down, std::string()) + "$";
}

struct Contract {
  std::string side_effect = "write";
  bool denied = false, asked = false, allowed = false;
  std::vector<std::string> commands;  // regular expressions of what is admitted
  std::vector<std::string> urls;
  std::vector<std::string> closed;  // folders and files, absolute
};

class Carrying {
 public:
  Carrying(Client client, std::string_view project, std::string_view home)
      : client_(client), project_(project), home_(home) {
    for (const Tool& tool : kTools)
      if (tool.client == client) contracts_[std::string(tool.name)].side_effect = tool.side_effect;
  }

  Pack run(const std::vector<Rule>& rules) {
    // What is closed is known before it is said what is open.
    for (const Effect effect : {Effect::Deny, Effect::Ask, Effect::Allow})
      for (const Rule& rule : rules)
        if (rule.effect == effect) carry(rule);
    for (const Rule* rule : held_back_) settle(*rule);
    write();
    return std::move(out_);
  }

 private:
  static std::string_view word(Effect effect) {
    return effect == Effect::Allow ? "allow" : effect == Effect::Ask ? "ask" : "deny";
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

  // --- one rule

  void carry(const Rule& rule) {
    const std::size_t open = rule.text.find('(');
    const bool has_part = open != std::string::npos && rule.text.ends_with(')');
    std::string name = rule.text.substr(0, open);
    const std::string part = has_part ? rule.text.substr(open + 1, rule.text.size() - open - 2) : std::string();
    if (open != std::string::npos && !has_part) return not_carried(rule, "it is not in the form TOOL or TOOL(...)");
    if (name == "*") return not_carried(rule, "a contract is about one tool");
    if (client_ == Client::Claude && name.starts_with("mcp__")) return server_rule(rule, name);
    if (hooks::shape_of(client_, name).shape == hooks::Shape::Shell) name = "Bash";
    if (name == "Bash" && part == "*" && rule.effect == Effect::Ask) return held_back_.push_back(&rule);
    if (!has_part || part == "*") return whole(rule, name);
    if (name == "Bash") return command(rule, part);
    if (name == "WebFetch" && part.starts_with("domain:")) return domain(rule, part.substr(7));
    if (name == "Read" || name == "Edit" || name == "Write") return path(rule, name, part);
    not_carried(rule, "what stands in its brackets is not known to Baton for this tool");
  }

  void server_rule(const Rule& rule, const std::string& name) {
    const auto canonical = hooks::canonical_name(client_, name);
    if (!canonical) {
      if (rule.effect == Effect::Deny)
        return carried(rule, "a tool without a contract is refused, and none is written for this server");
      return refused_for_now(
          rule,
          "which tools the server has is not known before the proxy has seen them; `baton contract new` "
          "makes contracts from them");
    }
    whole(rule, canonical->tool.substr(canonical->server.size() + 1));
  }

  void whole(const Rule& rule, const std::string& tool) {
    if (tool.empty() || !std::all_of(tool.begin(), tool.end(), [](char c) {
          return is_alphanumeric(c) || std::string_view("_.:-").find(c) != std::string_view::npos;
        }))
      return not_carried(rule, "it names no tool");
    Contract& contract = contracts_[tool];
    if (rule.effect == Effect::Deny) contract.denied = true;
    if (rule.effect == Effect::Ask) contract.asked = true;
    if (rule.effect == Effect::Allow) contract.allowed = true;
    carried(rule, rule.effect == Effect::Deny  ? "the contract of " + tool + " blocks it"
                  : rule.effect == Effect::Ask ? "the contract of " + tool + " has a checkpoint"
                                               : "the contract of " + tool + " allows it");
  }

  void command(const Rule& rule, std::string part) {
    if (rule.effect != Effect::Allow) return held_back_.push_back(&rule);
    // Of these clients a command stands for all that begin with it.
    bool open_end = client_ == Client::Gemini || client_ == Client::Cursor;
    for (const std::string_view end : {":*", " *"})
      if (part.ends_with(end)) part.resize(part.size() - end.size()), open_end = true;
    if (part.empty() || part.find('*') != std::string::npos)
      return refused_for_now(rule, "a wildcard in the middle of a command cannot be said in a contract");
    admitted_.push_back(part);
    contracts_["Bash"].commands.push_back(regex_quoted(part) + (open_end ? "(?: .*)?" : ""));
    carried(rule,
            "the contract of Bash admits it, as a single command without substitutions, and what no rule allows is "
            "refused");
  }

  // Rules about some commands: only a list of what is admitted keeps the others out, and only those that it does not admit.
  void settle(const Rule& rule) {
    const Contract& shell = contracts_["Bash"];
    std::string part = rule.text.substr(rule.text.find('(') + 1);
    part.resize(std::min(part.find_first_of("*)"), part.size()));
    while (part.ends_with(':') || part.ends_with(' ')) part.pop_back();
    const bool listed = !shell.commands.empty() && !shell.allowed;
    const auto overlaps = [&](const std::string& one) { return one.starts_with(part) || part.starts_with(one); };
    const bool admits = std::any_of(admitted_.begin(), admitted_.end(), overlaps);
    if (rule.effect == Effect::Deny && (shell.denied || (listed && !admits)))
      return carried(rule, "it is not among the commands that the contract of Bash admits");
    if (rule.effect == Effect::Deny)
      return not_carried(rule,
                         admits ? "it is a part of what another rule allows, and a contract cannot take it out of that"
                                : "a contract says which commands are admitted, not which are not");
    not_carried(rule, "a checkpoint cannot be for some commands only");
  }

  void domain(const Rule& rule, const std::string& part) {
    if (rule.effect != Effect::Allow)
      return not_carried(rule, "a contract says which addresses are admitted, not which are not");
    if (part.empty() || part.find('*') != std::string::npos)
      return refused_for_now(rule, "a wildcard in a domain cannot be said exactly");
    contracts_["WebFetch"].urls.push_back(regex_quoted(part));
    carried(rule, "the contract of WebFetch admits it");
  }

  void path(const Rule& rule, const std::string& name, std::string part) {
    if (rule.effect != Effect::Deny)
      return not_carried(rule, "the contract allows the tool wherever it is not closed, and asks nobody");
    for (const std::string_view end : {"/**", "/*"})
      if (part.ends_with(end)) {
        part.resize(part.size() - end.size());
        break;
      }
    if (part.find_first_of("*?[{") != std::string::npos)
      return not_carried(rule, "a wildcard in a path, but for one at its end, cannot be said in a contract");
    std::string whole;
    if (part.starts_with("//")) whole = hooks::absolute_path(part.substr(1), "/");
    else if (part.starts_with("~/") && !home_.empty()) whole = hooks::absolute_path(part.substr(2), home_);
    else if (part.starts_with("/"))
      whole = hooks::absolute_path(part.substr(1), project_);  // below the settings' folder
    else whole = hooks::absolute_path(part, project_);
    if (whole.size() < 2 || whole[0] != '/' || !is_ascii(whole))
      return not_carried(rule, "which folder it means is not known");
    for (const auto& [tool, member] : {std::pair<std::string_view, std::string_view>("Read", "Read"),
                                       {"Edit", "Edit"},
                                       {"Edit", "Write"},
                                       {"Edit", "MultiEdit"},
                                       {"Edit", "NotebookEdit"},
                                       {"Edit", "StrReplace"},
                                       {"Edit", "Delete"},
                                       {"Write", "Write"},
                                       {"Write", "Edit"},
                                       {"Write", "StrReplace"},
                                       {"Write", "Delete"}})
      if (tool == name && contracts_.count(std::string(member)))
        contracts_[std::string(member)].closed.push_back(whole);
    carried(rule, "the contracts of the tools for files keep out of " + whole + "; commands are not held to it");
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

  std::string text_of(const std::string& name, const Contract& contract) const {
    std::string out = "tool: " + yaml_quoted(name) + "\nside_effect: " + contract.side_effect +
                      "\nevidence_class: ack_only\ncommit_requirement: acknowledged\n"
                      "timeouts: {total_ms: 3600000}\nretries: {max_attempts: 1, retry_on: []}\n"
                      "rate_limits: {on_429: {respect_retry_after: true, max_sleep_seconds: 5}}\n";
    if (contract.denied) out += "gate: block\n";
    if (contract.asked) out += "checkpoint: {when: always, timeout_seconds: 600}\n";
    std::vector<std::string> inputs;
    const auto wants = [&](std::string_view path, std::string_view rule) {
      inputs.push_back("    - {path: " + std::string(path) + ", " + std::string(rule) + "}\n");
    };
    if (name == "Bash" && !contract.commands.empty() && !contract.allowed) {
      wants("$.opaque", "equals: false");
      wants("$.commands", "length_lte: 1");
      wants("$.command", "regex: " + yaml_quoted("^(?:" + join(contract.commands, "|") + ")$"));
    }
    if (!contract.urls.empty() && !contract.allowed)
      wants("$.url",
            "regex: " + yaml_quoted("^https?://(?:" + join(contract.urls, "|") + ")(?::[0-9]+)?(?:[/?#].*)?$"));
    if (!contract.closed.empty()) {
      // What the hook lists, whichever member of the input it stood in.
      wants("$.paths", "length_lte: 1");
      wants("\"$.paths[0]\"", "regex: " + yaml_quoted(outside(contract.closed)));
    }
    if (inputs.empty())
      return out + "assertions: {input_invariants: [], output_invariants: []}\nallowed_errors: []\ngolden_cases: []\n";
    out += "assertions:\n  input_invariants:\n";
    for (const std::string& one : inputs) out += one;
    return out + "  output_invariants: []\nallowed_errors: []\ngolden_cases: []\n";
  }

  Client client_;
  std::string project_, home_;
  std::map<std::string, Contract> contracts_;
  std::vector<const Rule*> held_back_;
  std::vector<std::string> admitted_;  // the fronts of commands
  Pack out_;
};

void take(std::vector<Rule>& out, Node list, Effect effect, std::string_view where) {
  for (const Node one : list.elements())
    if (one.is_string()) out.push_back({effect, std::string(one.string()), std::string(where)});
}

std::optional<Effect> effect_of(Node node) {
  if (node.is_text("allow")) return Effect::Allow;
  if (node.is_text("ask")) return Effect::Ask;
  if (node.is_text("deny")) return Effect::Deny;
  return std::nullopt;
}

// {"permission": {"edit": "ask", "bash": {"git *": "allow", "*": "ask"}}}
void take_opencode(std::vector<Rule>& out, Node permission, std::string_view where) {
  for (const json::Member member : permission.members()) {
    const std::string name(member.name());
    if (const auto effect = effect_of(member.value)) out.push_back({*effect, name, std::string(where)});
    for (const json::Member part : member.value.members())
      if (const auto effect = effect_of(part.value))
        out.push_back({*effect, name + "(" + std::string(part.name()) + ")", std::string(where)});
  }
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
      break;
    case Client::Gemini:
      take(out, settings["tools"]["allowed"], Effect::Allow, where);
      take(out, settings["tools"]["exclude"], Effect::Deny, where);
      break;
    case Client::OpenCode: take_opencode(out, settings["permission"], where); break;
    case Client::Codex:
    case Client::Copilot: break;  // they are options of a run, or a sandbox's: no rules about tools
  }
  return out;
}

Pack pack_of(Client client, const std::vector<Rule>& rules, std::string_view project, std::string_view home) {
  return Carrying(client, project, home).run(rules);
}

}  // namespace baton::adopt
