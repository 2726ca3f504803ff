// SPDX-License-Identifier: Apache-2.0
// A client's own permission rules as a contract pack.
//
// What a client's user expects of a rule (docs/decisions/0047-an-allow-rule-is-not-a-list.md): what is denied is blocked, what is to be asked about
// waits for a person, what is allowed is allowed; and about the rest the client asks its user as before, for Baton says nothing to a call that it lets
// go. Rules that say "only these" (Gemini's `tools.core`, a `*` that OpenCode denies) are carried as that. What is carried is never wider than the rule
// it came from. What cannot be said is listed with the reason; it stays in force in the client, whose rules are not touched.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hooks/event.h"
#include "json/document.h"

namespace baton::adopt {

enum class Effect : std::uint8_t { Allow, Ask, Deny, Only /* this and the others of its kind, and nothing else */ };

// A rule as somebody wrote it: `Bash(git:*)` of `permissions.allow`.
struct Rule {
  Effect effect;
  std::string text;          // as written
  std::string where;         // the file
  std::string why_not = {};  // it is none that a contract could say, and why: a mode, a sandbox
};

// Those of a settings file.
std::vector<Rule> rules_in(hooks::Client client, json::Node settings, std::string_view where);
// Those of Codex: of its config.toml (modes, which no contract says), and of a file of rules (`prefix_rule(pattern=[...], decision="...")`).
std::vector<Rule> rules_in_codex_config(std::string_view text, std::string_view where);
std::vector<Rule> rules_in_codex_rules(std::string_view text, std::string_view where);

struct Pack {
  std::vector<std::pair<std::string, std::string>> files;  // name and text
  std::vector<std::string> carried;                        // a line for each rule: what became of it
  std::vector<std::string> not_carried;                    // a line for each: why not
};

// A tool of an MCP server that somebody has asked for its list.
struct ServerTool {
  std::string server, name;
  bool reads = false;  // it changes nothing
};

Pack pack_of(hooks::Client client, const std::vector<Rule>& rules, std::string_view project, std::string_view home,
             const std::vector<ServerTool>& tools = {});

}  // namespace baton::adopt
