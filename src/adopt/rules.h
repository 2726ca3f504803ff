// SPDX-License-Identifier: Apache-2.0
// A client's own permission rules as a contract pack.
//
// A contract says what is allowed; so rules that allow, or that close a whole tool, carry over, and so do rules that keep a file tool out of a
// folder. What is carried is never wider than the rule it came from: a list of commands, say, admits single commands without substitutions only.
// What cannot be said is listed with the reason; it stays in force in the client, whose settings are not touched for it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hooks/event.h"
#include "json/document.h"

namespace baton::adopt {

enum class Effect : std::uint8_t { Allow, Ask, Deny };

// A rule as somebody wrote it: `Bash(git:*)` of `permissions.allow`.
struct Rule {
  Effect effect;
  std::string text;   // as written
  std::string where;  // the file
};

// Those of a settings file.
std::vector<Rule> rules_in(hooks::Client client, json::Node settings, std::string_view where);

struct Pack {
  std::vector<std::pair<std::string, std::string>> files;  // name and text
  std::vector<std::string> carried;                        // a line for each rule: what became of it
  std::vector<std::string> not_carried;                    // a line for each: why not
};

Pack pack_of(hooks::Client client, const std::vector<Rule>& rules, std::string_view project, std::string_view home);

}  // namespace baton::adopt
