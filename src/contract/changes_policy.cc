// SPDX-License-Identifier: Apache-2.0
// The comparison of plans: who may. The rules of the session and those of a tool decide together, so they are compared together,
// tool by tool; what is the same for several tools is told once.
#include <algorithm>
#include <map>

#include "contract/comparing.h"
#include "contract/words.h"

namespace baton::contract {
namespace {

using std::string;

// Who is asked for a tool. A list that is empty lets everybody through, unless the policy denies by default.
struct Access {
  std::vector<Invariant> deny, own_allow, session_allow;
  bool nobody = false;
};

Access access_to(const Tool& tool, const Plan& plan) {
  Access out{tool.deny, tool.allow, {}};
  for (const std::uint32_t rule : tool.rules)
    (plan.rules[rule].allows ? out.session_allow : out.deny).push_back(plan.rules[rule].principal);
  out.nobody = plan.default_deny && out.own_allow.empty() && out.session_allow.empty();
  return out;
}

// Of lists of which one must match: what is matched now, against what was.
Direction direction_of_any(const std::vector<Invariant>& was, const std::vector<Invariant>& is) {
  auto left = unmatched<Invariant>(was, is, [](const Invariant& one, bool) { return principal_in_words(one); });
  Direction out = Direction::Same;
  for (const Invariant* one : left.was) {
    const auto found =
        std::ranges::find_if(left.is, [&](const Invariant* other) { return other->at.path == one->at.path; });
    out = both(out, found == left.is.end() ? Direction::Narrower : direction_of(one->tests, (*found)->tests));
    if (found != left.is.end()) left.is.erase(found);
  }
  return left.is.empty() ? out : both(out, Direction::Wider);
}

// The same of a list that lets everybody through when it is empty.
Direction direction_of_allow(const std::vector<Invariant>& was, const std::vector<Invariant>& is) {
  if (was.empty() && is.empty()) return Direction::Same;
  if (was.empty()) return Direction::Narrower;
  return is.empty() ? Direction::Wider : direction_of_any(was, is);
}

string any_of(const std::vector<Invariant>& list) {
  std::vector<string> parts;
  for (const Invariant& one : list) parts.push_back(principal_in_words(one));
  return listed(parts, "or");
}

string callers(const Access& access) {
  if (access.nobody) return "nobody";
  if (access.own_allow.empty() && access.session_allow.empty()) return "everybody who is not denied";
  if (access.own_allow.empty()) return "only " + any_of(access.session_allow);
  if (access.session_allow.empty()) return "only " + any_of(access.own_allow);
  return "only " + any_of(access.own_allow) + ", who must also be " + any_of(access.session_allow);
}

}  // namespace

void Comparison::policy() {
  if (before.default_deny != after.default_deny)
    add(Effect::Other, {}, "policy",
        after.default_deny ? "a tool that no rule allows is denied to everybody"
                           : "a tool that no rule allows is no longer denied");
  if (before.needs_principal != after.needs_principal)
    add(after.needs_principal ? Effect::Blocks : Effect::Allows, {}, "policy",
        after.needs_principal ? "a session must say on whose behalf it runs (new)"
                              : "a session need no longer say on whose behalf it runs");

  std::map<std::pair<string, Direction>, std::vector<string>> told;
  for (const Tool& tool : after.tools) {
    const auto id = before.find_tool(tool.name);
    if (!id) continue;
    const Access was = access_to(before.tools[*id], before), is = access_to(tool, after);
    const Direction denied = direction_of_any(was.deny, is.deny);
    if (denied != Direction::Same)
      told[{"denied to " + (is.deny.empty() ? "nobody" : any_of(is.deny)) +
                " (before: " + (was.deny.empty() ? "nobody" : any_of(was.deny)) + ")",
            opposite(denied)}]
          .push_back(tool.name);
    Direction allowed = Direction::Same;
    if (was.nobody != is.nobody) allowed = is.nobody ? Direction::Narrower : Direction::Wider;
    else if (!is.nobody)
      allowed = both(direction_of_allow(was.own_allow, is.own_allow),
                     direction_of_allow(was.session_allow, is.session_allow));
    if (allowed != Direction::Same)
      told[{"open to " + callers(is) + " (before: to " + callers(was) + ")", allowed}].push_back(tool.name);
  }
  for (const auto& [what, tools] : told) {
    std::vector<string> names;
    for (const string& tool : tools) names.push_back(quoted(tool));
    add(what.second, tools.size() == 1 ? tools[0] : string(), "policy",
        (tools.size() == 1 ? "it is " : listed(names) + " are ") + what.first);
  }
}

}  // namespace baton::contract
