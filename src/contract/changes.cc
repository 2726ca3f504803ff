// SPDX-License-Identifier: Apache-2.0
// The comparison of plans: the session, and all of it together.
#include "contract/changes.h"

#include <algorithm>
#include <map>

#include "contract/comparing.h"
#include "contract/describe.h"
#include "contract/reach.h"
#include "contract/tools_lock.h"
#include "contract/words.h"

namespace baton::contract {
namespace {

using std::string;

Direction wider_if(bool wider) { return wider ? Direction::Wider : Direction::Narrower; }

std::optional<json::Decimal> decimal(const std::optional<std::int64_t>& number) {
  if (!number) return std::nullopt;
  return json::Decimal(*number);
}

string bound_text(const std::optional<json::Decimal>& bound) { return bound ? bound->text() : "none"; }

std::set<string> names_of(const std::vector<ToolId>& tools, const Plan& plan) {
  std::set<string> out;
  for (const ToolId tool : tools) out.insert(plan.tools[tool].name);
  return out;
}

// Items of two lists that have names of their own.
template <class Item, class Came, class Went, class Both>
void by_name(const std::vector<Item>& was, const std::vector<Item>& is, const Came& came, const Went& went,
             const Both& in_both) {
  for (const Item& old_one : was)
    if (std::ranges::find(is, old_one.name, &Item::name) == is.end()) went(old_one);
  for (const Item& one : is) {
    const auto found = std::ranges::find(was, one.name, &Item::name);
    if (found == was.end()) came(one);
    else in_both(*found, one);
  }
}

// --- phases and limits --------------------------------------------------------------------------------------------------------

std::set<string> next_of(const Phase& phase, const Plan& plan) {
  std::set<string> out;
  phase.next.each([&](PhaseId to) { out.insert(plan.phases[to].name); });
  return out;
}

void compare_phases(Comparison& to) {
  const auto came = [&](const Phase& phase) {
    const auto next = only_in(next_of(phase, to.after), {});
    to.add(Effect::Other, {}, "phases",
           "the phase " + quoted(phase.name) + " is new" + (phase.terminal ? ", and a session may end in it" : "") +
               (next.empty() ? "" : "; from it a session can go to " + listed(next, "or")));
  };
  const auto went = [&](const Phase& phase) {
    to.add(Effect::Other, {}, "phases", "the phase " + quoted(phase.name) + " is gone");
  };
  by_name(to.before.phases, to.after.phases, came, went, [&](const Phase& was, const Phase& is) {
    const std::set<string> old_next = next_of(was, to.before), new_next = next_of(is, to.after);
    if (const auto more = only_in(new_next, old_next); !more.empty())
      to.add(Effect::Allows, {}, "transitions",
             "from " + quoted(is.name) + " a session can go to " + listed(more, "or"));
    if (const auto less = only_in(old_next, new_next); !less.empty())
      to.add(Effect::Blocks, {}, "transitions",
             "from " + quoted(is.name) + " a session can no longer go to " + listed(less, "or"));
    if (was.terminal != is.terminal)
      to.add(is.terminal ? Effect::Allows : Effect::Blocks, {}, "phases",
             "a session may " + string(is.terminal ? "" : "no longer ") + "end in " + quoted(is.name));
  });
  const auto beginning = [](const Plan& plan) { return plan.initial ? plan.phases[*plan.initial].name : string(); };
  const string was = beginning(to.before), is = beginning(to.after);
  if (was != is)
    to.add(Effect::Other, {}, "phases",
           is.empty()    ? "a session no longer has phases"
           : was.empty() ? "a session has phases, and begins in " + quoted(is)
                         : "a session begins in " + quoted(is) + " (before: " + quoted(was) + ")");
}

void compare_limits(Comparison& to) {
  const Limits &was = to.before.limits, &is = to.after.limits;
  const auto limit = [&](std::string_view name, const std::optional<json::Decimal>& old_limit,
                         const std::optional<json::Decimal>& new_limit, const string& of = {}) {
    to.add(direction_of_most(old_limit, new_limit), of, "session_limits",
           quoted(name) + " is " + bound_text(new_limit) + " (before: " + bound_text(old_limit) + ")");
  };
  limit("max_steps", decimal(was.max_steps), decimal(is.max_steps));
  limit("max_tool_calls", decimal(was.max_tool_calls), decimal(is.max_tool_calls));
  limit("max_cost_per_session", was.max_cost, is.max_cost);
  if (was.narrow != is.narrow)
    to.add(is.narrow ? Effect::Allows : Effect::Blocks, {}, "session_limits",
           is.narrow ? "at `max_tool_calls` the model may still answer in text"
                     : "at `max_tool_calls` the model is not asked again, not even for text");
  for (const Tool& tool : to.after.tools) {
    const auto old_id = to.before.find_tool(tool.name), new_id = to.after.find_tool(tool.name);
    if (!old_id) continue;  // what is said of a new tool is told with it
    const auto at = [](const Limits& limits, ToolId id) -> std::optional<json::Decimal> {
      const auto found = limits.max_calls.find(id);
      if (found == limits.max_calls.end()) return std::nullopt;
      return json::Decimal(found->second);
    };
    limit("max_calls_per_tool", at(was, *old_id), at(is, *new_id), tool.name);
  }
  // Looking back further finds more loops; asking for more repetitions finds fewer.
  Direction loops = direction_of_most(decimal(was.loop_threshold), decimal(is.loop_threshold));
  if (was.loop_threshold && is.loop_threshold && was.loop_window != is.loop_window)
    loops = both(loops, wider_if(is.loop_window.value_or(0) < was.loop_window.value_or(0)));
  const auto loop = [](const Limits& limits) {
    return limits.loop_threshold ? std::to_string(*limits.loop_threshold) + " times within " +
                                       std::to_string(limits.loop_window.value_or(0)) + " steps"
                                 : string("never");
  };
  to.add(loops, {}, "session_limits", "the same call again is a loop: " + loop(is) + " (before: " + loop(was) + ")");
  limit("consecutive_blocks", decimal(was.consecutive_blocks), decimal(is.consecutive_blocks));
  limit("consecutive_errors", decimal(was.consecutive_errors), decimal(is.consecutive_errors));
}

void compare_risk(Comparison& to) {
  for (std::size_t i = 0; i < 5; ++i) {
    const bool was = to.before.risk_allows[i], is = to.after.risk_allows[i];
    if (was == is) continue;
    const auto effect = static_cast<SideEffect>(i);
    std::vector<string> concerned;
    for (const Tool& tool : to.after.tools)
      if (tool.side_effect == effect && !tool.gate) concerned.push_back(quoted(tool.name));
    const string text = "tools of the kind " + quoted(name_of(effect)) + " are " + (is ? "let through" : "blocked") +
                        " by the risk gate: ";
    if (concerned.empty()) to.add(Effect::Other, {}, "risk_defaults", text + "it concerns no tool of the pack");
    else to.add(is ? Effect::Allows : Effect::Blocks, {}, "risk_defaults", text + listed(concerned));
  }
}

// --- labels, models, resources ------------------------------------------------------------------------------------------------

struct Label {
  bool all = false;
  std::set<string> tools, reasons;
};

std::map<string, Label> labels_of(const Plan& plan) {
  std::map<string, Label> out;
  for (const LabelGate& gate : plan.label_gates) {
    Label& label = out[gate.label];
    label.all = label.all || gate.all_tools;
    label.tools.merge(names_of(gate.tools, plan));
    label.reasons.insert(gate.reason);
  }
  return out;
}

void compare_labels(Comparison& to) {
  const auto was = labels_of(to.before), is = labels_of(to.after);
  std::set<string> names;
  for (const auto* labels : {&was, &is})
    for (const auto& [name, label] : *labels) names.insert(name);
  const auto at = [](const std::map<string, Label>& labels, const string& name) {
    const auto found = labels.find(name);
    return found == labels.end() ? Label{} : found->second;
  };
  for (const string& name : names) {
    const Label old_label = at(was, name), label = at(is, name);
    std::vector<string> more, less;
    for (const Tool& tool : to.after.tools) {
      if (!to.before.find_tool(tool.name)) continue;
      const bool blocked = old_label.all || old_label.tools.contains(tool.name);
      const bool blocks = label.all || label.tools.contains(tool.name);
      if (blocks && !blocked) more.push_back(quoted(tool.name));
      if (blocked && !blocks) less.push_back(quoted(tool.name));
    }
    if (!more.empty())
      to.add(Effect::Blocks, {}, "label_gates", "the label " + quoted(name) + " blocks " + listed(more));
    if (!less.empty())
      to.add(Effect::Allows, {}, "label_gates", "the label " + quoted(name) + " no longer blocks " + listed(less));
    if (was.contains(name) && is.contains(name) ? old_label.reasons != label.reasons : more.empty() && less.empty())
      to.add(Effect::Other, {}, "label_gates",
             "the label " + quoted(name) +
                 (!is.contains(name)    ? " has no gate any more"
                  : !was.contains(name) ? " has a gate, which concerns no tool that was there before"
                                        : " blocks for another reason: " + listed(only_in(label.reasons, {}))));
  }
}

void compare_providers(Comparison& to) {
  const auto texts = [](const std::vector<Provider::Named>& list) {
    std::set<string> out;
    for (const Provider::Named& one : list) out.insert(one.text);
    return out;
  };
  const auto compare = [&](const Provider& was, const Provider& is, const string& name) {
    const string request = "a request to " + quoted(name) + " with ";
    const auto blocked = texts(was.block), blocks = texts(is.block), warned = texts(was.warn), warns = texts(is.warn);
    for (const string& one : only_in(blocks, blocked))
      to.add(Effect::Blocks, {}, "provider_constraints", request + one + " is blocked");
    for (const string& one : only_in(blocked, blocks))
      to.add(Effect::Allows, {}, "provider_constraints", request + one + " is no longer blocked");
    for (const string& one : only_in(warns, warned))
      to.add(Effect::Other, {}, "provider_constraints", request + one + " gives a warning");
    for (const string& one : only_in(warned, warns))
      to.add(Effect::Other, {}, "provider_constraints", request + one + " no longer gives a warning");
    if (was.warn_floating_alias != is.warn_floating_alias)
      to.add(Effect::Other, {}, "provider_constraints",
             "a model of " + quoted(name) + " without a fixed version " +
                 (is.warn_floating_alias ? "gives a warning" : "no longer gives a warning"));
  };
  by_name(
      to.before.providers, to.after.providers, [&](const Provider& one) { compare({}, one, one.name); },
      [&](const Provider& one) { compare(one, {}, one.name); },
      [&](const Provider& was, const Provider& is) { compare(was, is, is.name); });
}

void compare_resources(Comparison& to) {
  const auto says = [](const Resource& one) {
    return words_of(one.at.path) + " of a call's arguments names the " + one.type + " it touches (" + quoted(one.name) +
           ")";
  };
  by_name(
      to.before.resources, to.after.resources,
      [&](const Resource& one) { to.add(Effect::Other, {}, "resources", says(one) + " (new)"); },
      [&](const Resource& one) {
        to.add(Effect::Other, {}, "resources",
               "the resource " + quoted(one.name) + " is gone: no lock or record knows it");
      },
      [&](const Resource& was, const Resource& is) {
        if (says(was) != says(is)) to.add(Effect::Other, {}, "resources", says(is) + " (before: " + says(was) + ")");
      });
}

// --- totals, envelopes, approvals ---------------------------------------------------------------------------------------------

Bounds bounds_with(const Aggregate& aggregate, const Aggregate::When& when) {
  return {when.then.gte ? when.then.gte : aggregate.bounds.gte, when.then.lte ? when.then.lte : aggregate.bounds.lte};
}

Direction direction_of_bounds(const Bounds& was, const Bounds& is) {
  return both(direction_of_least(was.gte, is.gte), direction_of_most(was.lte, is.lte));
}

// The first entry that holds counts, so an entry that comes or goes is judged only at the end of the list.
Direction direction_of_when(const Aggregate& was, const Plan& before, const Aggregate& is, const Plan& after) {
  const auto condition = [](const Aggregate::When& when, const Plan& plan) {
    return plan.slots[when.slot] + " " + words_of(when.tests, Mood::Does);
  };
  Direction out = Direction::Same;
  const std::size_t common = std::min(was.when.size(), is.when.size());
  for (std::size_t i = 0; i < common; ++i) {
    if (condition(was.when[i], before) != condition(is.when[i], after)) return Direction::Different;
    const Bounds &old_then = was.when[i].then, &then = is.when[i].then;
    if (old_then.gte == then.gte && old_then.lte == then.lte) continue;
    out = both(out, direction_of_bounds(bounds_with(was, was.when[i]), bounds_with(is, is.when[i])));
  }
  for (std::size_t i = common; i < was.when.size(); ++i)
    out = both(out, direction_of_bounds(bounds_with(was, was.when[i]), was.bounds));
  for (std::size_t i = common; i < is.when.size(); ++i)
    out = both(out, direction_of_bounds(is.bounds, bounds_with(is, is.when[i])));
  return out;
}

void compare_aggregate(Comparison& to, const Aggregate& was, const Aggregate& is) {
  const string which = "the total " + quoted(is.name) + " ";
  const auto add = [&](Direction direction, string text) { to.add(direction, {}, "aggregates", which + text); };
  if (was.metric != is.metric)
    add(Direction::Different,
        "is the " + string(name_of(is.metric)) + " (before: the " + string(name_of(was.metric)) + ")");
  const auto path = [](const Aggregate& one) { return one.at ? words_of(one.at->path) : string("no path"); };
  if (path(was) != path(is)) add(Direction::Different, "is over " + path(is) + " (before: " + path(was) + ")");
  // More calls in a total come to its upper bound sooner; to a lower bound, too.
  const bool has_least = is.bounds.gte || was.bounds.gte;
  const auto tools = [&](bool more, const string& text) {
    add(has_least ? Direction::Different : wider_if(!more), text);
  };
  if (was.all_tools != is.all_tools)
    tools(is.all_tools, "is over calls of " + tools_in_words(is.all_tools, is.tools, to.after) + " (before: of " +
                            tools_in_words(was.all_tools, was.tools, to.before) + ")");
  else if (!is.all_tools) {
    const auto old_tools = names_of(was.tools, to.before), new_tools = names_of(is.tools, to.after);
    if (const auto more = only_in(new_tools, old_tools); !more.empty())
      tools(true, "also counts calls of " + listed(more));
    if (const auto less = only_in(old_tools, new_tools); !less.empty())
      tools(false, "no longer counts calls of " + listed(less));
  }
  add(direction_of_least(was.bounds.gte, is.bounds.gte),
      "must be at least " + bound_text(is.bounds.gte) + " (before: " + bound_text(was.bounds.gte) + ")");
  add(direction_of_most(was.bounds.lte, is.bounds.lte),
      "must be at most " + bound_text(is.bounds.lte) + " (before: " + bound_text(was.bounds.lte) + ")");
  const auto conditions = [](const Aggregate& one, const Plan& plan) {
    std::vector<string> out;
    for (const Aggregate::When& when : one.when) out.push_back(words_of(when, plan));
    return out;
  };
  const auto old_when = conditions(was, to.before), new_when = conditions(is, to.after);
  if (old_when != new_when) {
    const string text = "has other bounds at times: " + (new_when.empty() ? "none" : listed(new_when, "else")) +
                        " (before: " + (old_when.empty() ? "none" : listed(old_when, "else")) + ")";
    const Direction direction = direction_of_when(was, to.before, is, to.after);
    if (direction == Direction::Same) to.add(Effect::Other, {}, "aggregates", which + text);
    else add(direction, text);
  }
  if (was.reason != is.reason) to.add(Effect::Other, {}, "aggregates", which + "gives another reason: " + is.reason);
}

Direction direction_of(Constraint was, Constraint is) {
  const auto half = [](Constraint one) { return one == Constraint::LteCeiling || one == Constraint::GteFloor; };
  if (was == is) return Direction::Same;
  if (is == Constraint::Bounded && half(was)) return Direction::Narrower;
  if (was == Constraint::Bounded && half(is)) return Direction::Wider;
  return Direction::Different;
}

void compare_envelope(Comparison& to, const Envelope& was, const Envelope& is) {
  const string which = "the envelope " + quoted(is.name) + " ";
  const auto add = [&](Direction direction, string text) { to.add(direction, {}, "envelopes", which + text); };
  add(direction_of(was.constraint, is.constraint),
      "is " + quoted(name_of(is.constraint)) + " (before: " + quoted(name_of(was.constraint)) + ")");
  if (was.band && is.band)
    add(direction_of_most(was.band, is.band),
        "has a band of " + is.band->text() + " (before: " + was.band->text() + ")");
  const auto left = unmatched<Stage>(was.stages, is.stages, [&](const Stage& stage, bool after) {
    return string(name_of(stage.role)) + " " + words_of(stage, after ? to.after : to.before);
  });
  const auto stage = [&](const Stage& one, const Plan& plan, bool came) {
    const string words = words_of(one, plan);
    if (one.role == Role::Constrained) add(wider_if(!came), (came ? "holds " : "no longer holds ") + words);
    else
      add(Direction::Different,
          (came ? "takes its " : "no longer takes its ") + string(name_of(one.role)) + " from " + words);
  };
  for (const Stage* one : left.is) stage(*one, to.after, true);
  for (const Stage* one : left.was) stage(*one, to.before, false);
  if (was.reason != is.reason) to.add(Effect::Other, {}, "envelopes", which + "gives another reason: " + is.reason);
}

// A sentence of words.h as part of a change: it begins small and has no full stop.
string as_part(string sentence) {
  if (sentence.ends_with('.')) sentence.pop_back();
  if (!sentence.empty() && sentence[0] >= 'A' && sentence[0] <= 'Z')
    sentence[0] = static_cast<char>(sentence[0] - 'A' + 'a');
  return sentence;
}

void compare_session_checkpoint(Comparison& to, const Checkpoint& was, const Checkpoint& is) {
  const auto name = [](const Checkpoint& one, const Plan& plan) {
    return one.tool ? plan.tools[*one.tool].name : string();
  };
  const string old_tool = name(was, to.before), new_tool = name(is, to.after);
  if (old_tool != new_tool) {
    const auto whose = [](const string& tool) { return tool.empty() ? string("every tool") : quoted(tool); };
    const Direction asks = new_tool.empty()   ? Direction::Wider
                           : old_tool.empty() ? Direction::Narrower
                                              : Direction::Different;
    to.add(opposite(asks), {}, "checkpoints",
           "the approval " + quoted(is.name) + " is for " + whose(new_tool) + " (before: " + whose(old_tool) + ")");
  }
  to.checkpoint(was, is, {});
}

// --- what no field accounts for -----------------------------------------------------------------------------------------------

// A part of described(), and the field or two that changes of it are told under.
// How much is asked: of what an agent claims, and of its last words. One dialect instead of another is neither more nor less.
int asked_by(Owed owed) { return owed == Owed::None ? 0 : owed == Owed::Any ? 1 : 2; }

Effect effect_of(int was, int is) { return was == is ? Effect::Other : is > was ? Effect::Blocks : Effect::Allows; }

void compare_handoff(Comparison& to) {
  const Plan &was = to.before, &is = to.after;
  if (was.owed != is.owed)
    to.add(effect_of(asked_by(was.owed), asked_by(is.owed)), {}, "handoff",
           as_part(words_of_owed(is.owed)) + " (before: " + as_part(words_of_owed(was.owed)) + ")");
  if (was.owed_by_subagents != is.owed_by_subagents)
    to.add(effect_of(asked_by(was.owed_by_subagents), asked_by(is.owed_by_subagents)), {}, "handoff",
           is.owed_by_subagents == Owed::None ? "no longer: a subagent ends with an `agent-contract` block"
                                              : "a subagent ends with an `agent-contract` block (new)");
  if (was.claims != is.claims)
    to.add(effect_of(static_cast<int>(was.claims), static_cast<int>(is.claims)), {}, "claims",
           as_part(words_of_claims(is.claims)) + " (before: " + as_part(words_of_claims(was.claims)) + ")");
}

void compare_mcp(Comparison& to) {
  const Plan &was = to.before, &is = to.after;
  const auto flag = [&](bool before, bool after, Effect when_set, const string& what) {
    if (before == after) return;
    const Effect other = when_set == Effect::Allows ? Effect::Blocks : Effect::Allows;
    to.add(after ? when_set : other, {}, "mcp", after ? what + " (new)" : "no longer: " + what);
  };
  flag(was.wording_may_change, is.wording_may_change, Effect::Allows,
       "a tool of an MCP server may be called when only texts of its locked definition changed");
  flag(was.suspicious_text_is_withheld, is.suspicious_text_is_withheld, Effect::Blocks,
       "a tool of an MCP server is withheld when its texts look like instructions to a model");
  flag(was.unlisted == Unlisted::Record, is.unlisted == Unlisted::Record, Effect::Allows,
       as_part(std::string(words_of_unlisted())));
  flag(was.unknown_content == UnknownContent::Drop, is.unknown_content == UnknownContent::Drop, Effect::Allows,
       as_part(std::string(words_of_unknown_content())));
  if (!was.tools_lock != !is.tools_lock)
    return to.add(is.tools_lock ? Effect::Blocks : Effect::Allows, {}, "tools_lock",
                  is.tools_lock ? "tools of MCP servers are held to tools.lock.json (new)"
                                : "no longer: tools of MCP servers are held to tools.lock.json");
  if (!is.tools_lock) return;
  for (const auto& [name, server] : was.tools_lock->servers)
    if (is.tools_lock->server(name) == nullptr)
      to.add(Effect::Blocks, {}, "tools_lock", "no longer approved: the MCP server " + quoted(name));
  for (const ToolChange& change : changes_of(*was.tools_lock, *is.tools_lock)) {
    const bool is_gone = change.kind == ToolChange::Kind::Gone;
    to.add(is_gone ? Effect::Blocks : Effect::Other, {}, "tools_lock", "tools.lock.json: " + headline_of(change));
    to.changes.back().details = lines_of(change, Detail::All);
  }
}

struct Part {
  std::string_view name;
  std::string_view field, other_field = {};
};
constexpr Part kParts[] = {{"agent", "agent"},
                           {"phases", "phases", "transitions"},
                           {"limits", "session_limits"},
                           {"risk_defaults", "risk_defaults"},
                           {"default_deny", "policy"},
                           {"rules", "policy"},
                           {"label_gates", "label_gates"},
                           {"provider_constraints", "provider_constraints"},
                           {"resources", "resources"},
                           {"aggregates", "aggregates"},
                           {"envelopes", "envelopes"},
                           {"checkpoints", "checkpoints"},
                           {"approvals", "approvals"},
                           {"claims", "claims"},
                           {"handoff", "handoff"},
                           {"mcp", "mcp"},
                           {"tools_lock", "tools_lock"}};

// Every part that differs is named, be it only because its list is in another order.
void account_for_the_rest(Comparison& to) {
  const json::Value was = described(to.before), is = described(to.after);
  const auto at = [](const json::Value& plan, std::string_view part) {
    json::Value out = json::Value::object();
    if (const json::Value* value = plan.find(part)) out.set(part, *value);
    return out;
  };
  for (const Part& part : kParts) {
    const json::Value old_part = at(was, part.name), new_part = at(is, part.name);
    const bool told = std::ranges::any_of(to.changes, [&](const Change& change) {
      return change.field == part.field || (change.tool.empty() && change.field == part.other_field);
    });
    if (!told && !equal(old_part, new_part)) to.add(Effect::Other, {}, "plan", first_difference(old_part, new_part));
  }
  for (const Tool& tool : to.after.tools) {
    const auto old_id = to.before.find_tool(tool.name);
    if (!old_id) continue;
    const json::Value old_tool = described(to.before.tools[*old_id], to.before), new_tool = described(tool, to.after);
    const bool told = std::ranges::any_of(to.changes, [&](const Change& change) {
      return change.tool == tool.name || (change.tool.empty() && change.field == "policy");
    });
    if (!told && !equal(old_tool, new_tool))
      to.add(Effect::Other, tool.name, "plan", first_difference(old_tool, new_tool));
  }
  // Nothing that is known is left; the hashes say that something is.
  if (to.changes.empty()) to.add(Effect::Other, {}, "plan", first_difference(was, is));
}

}  // namespace

void Comparison::session() {
  if (before.agent != after.agent)
    add(Effect::Other, {}, "agent",
        "the agent is called " + quoted(after.agent) + " (before: " + quoted(before.agent) + ")");
  compare_phases(*this);
  compare_limits(*this);
  compare_risk(*this);
  policy();
  compare_labels(*this);
  by_name(
      before.aggregates, after.aggregates,
      [&](const Aggregate& one) { add(Effect::Blocks, {}, "aggregates", as_part(words_of(one, after)) + " (new)"); },
      [&](const Aggregate& one) {
        add(Effect::Allows, {}, "aggregates", "no longer: " + as_part(words_of(one, before)));
      },
      [&](const Aggregate& was, const Aggregate& is) { compare_aggregate(*this, was, is); });
  by_name(
      before.envelopes, after.envelopes,
      [&](const Envelope& one) { add(Effect::Blocks, {}, "envelopes", as_part(words_of(one, after)) + " (new)"); },
      [&](const Envelope& one) {
        add(Effect::Allows, {}, "envelopes", "no longer: " + as_part(words_of(one, before)));
      },
      [&](const Envelope& was, const Envelope& is) { compare_envelope(*this, was, is); });
  by_name(
      before.checkpoints, after.checkpoints,
      [&](const Checkpoint& one) {
        add(Effect::Blocks, one.tool ? after.tools[*one.tool].name : string(), "checkpoints",
            as_part(words_of(one, after)) + " (new)");
      },
      [&](const Checkpoint& one) {
        add(Effect::Allows, one.tool ? before.tools[*one.tool].name : string(), "checkpoints",
            "no longer: " + as_part(words_of(one, before)));
      },
      [&](const Checkpoint& was, const Checkpoint& is) { compare_session_checkpoint(*this, was, is); });
  if (before.client_user_is_operator != after.client_user_is_operator)
    add(after.client_user_is_operator ? Effect::Allows : Effect::Blocks, {}, "approvals",
        after.client_user_is_operator
            ? "the user of the agent's MCP client decides approvals as the operator (new)"
            : "no longer: the user of the agent's MCP client decides approvals as the operator");
  compare_handoff(*this);
  compare_mcp(*this);
  compare_providers(*this);
  compare_resources(*this);
}

std::vector<Change> changes_between(const Plan& before, const Plan& after) {
  if (before.hash == after.hash) return {};
  Comparison out{before, after};
  out.session();
  const Reach reached_before = reach_of(Graph(before)), reached_after = reach_of(Graph(after));
  // A tool that nobody could ever call takes nothing away when it goes.
  const auto callable = [](const Reach& reach, ToolId id) { return !reach.complete || reach.can_call(id); };
  for (ToolId id = 0; id < before.tools.size(); ++id) {
    const Tool& tool = before.tools[id];
    if (after.find_tool(tool.name)) continue;
    const bool could = callable(reached_before, id);
    out.add(could ? Effect::Blocks : Effect::Other, tool.name, "tool",
            could ? "it is no longer a tool of the pack: every call is blocked"
                  : "it is no longer a tool of the pack; it could not be called before either");
  }
  for (ToolId id = 0; id < after.tools.size(); ++id) {
    const Tool& tool = after.tools[id];
    const bool can = callable(reached_after, id);
    if (const auto old_id = before.find_tool(tool.name)) {
      out.tool(before.tools[*old_id], tool);
      // What follows from changes elsewhere: a tool that it needs is blocked, a phase is not reached any more.
      if (const bool could = callable(reached_before, *old_id); could != can)
        out.add(can ? Effect::Allows : Effect::Blocks, tool.name, "reach",
                can ? "all in all, it can be called now; before, no session could"
                    : "all in all, no session can call it any more");
      continue;
    }
    out.add(can ? Effect::Allows : Effect::Other, tool.name, "tool",
            can ? "it is a new tool" : "it is a new tool, which cannot be called as the pack stands");
    out.changes.back().details = words_of(tool, after).sentences;
  }
  account_for_the_rest(out);
  return std::move(out.changes);
}

}  // namespace baton::contract
