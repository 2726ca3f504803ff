// SPDX-License-Identifier: Apache-2.0
#include "session/judge.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "json/pointer.h"

namespace baton::session {

using contract::Check;
using contract::Constraint;
using contract::Invariant;
using contract::PathAt;
using contract::Precondition;
using contract::Role;
using json::Decimal;

std::string pointer_of(const json::Path& path) {
  std::string out;
  for (const json::Path::Step& step : path.steps()) {
    out.push_back('/');
    if (const auto* name = std::get_if<std::string>(&step)) {
      for (const char c : *name) {
        if (c == '~') out += "~0";
        else if (c == '/') out += "~1";
        else out.push_back(c);
      }
    } else {
      out += std::to_string(std::get<std::size_t>(step));
    }
  }
  return out;
}

LoopStep::Call Judge::looped(ToolId tool, std::string_view digest) {
  LoopStep::Call out{tool, {}};
  for (std::size_t i = 0; i < out.digest.size() && 2 * i + 1 < digest.size(); ++i)
    std::from_chars(digest.data() + 2 * i, digest.data() + 2 * i + 2, out.digest[i], 16);
  return out;
}

void Judge::refuse(CallVerdict& out, Code code, const PathAt* at, std::initializer_list<Argument> arguments,
                   std::string detail) {
  Place place = at == nullptr ? Place{} : place_named(pointer_of(at->path));
  out.failures.push_back({report(code, std::move(place), arguments), std::move(detail)});
}

bool Judge::is_kept_away(ToolId tool) const {
  return std::ranges::binary_search(state_.denied, tool) ||
         std::ranges::any_of(rules_.tool(tool).label_gates,
                             [&](std::uint32_t gate) { return state_.has_label(plan_.label_gates[gate].label); });
}

// --- the order --------------------------------------------------------------------------------------------------------------------

void Judge::all(const Values* arguments, CallVerdict& out) {
  for (const Check check : tool_.checks) {
    // Whoever may not call the tool learns nothing of the state.
    if (check > Check::Policy && !out.failures.empty() &&
        (out.failures[0].code() == Code::label_denied || out.failures[0].code() == Code::policy_denied))
      return;
    one(check, arguments, out);
  }
}

void Judge::one(Check check, const Values* arguments, CallVerdict& out) {
  switch (check) {
    case Check::Labels: return labels(out);
    case Check::Policy: return policy(out);
    case Check::Gate: return gate(out);
    case Check::Phase: return phase(out);
    case Check::Forbidden: return forbidden(out);
    case Check::Limits: return limits(out);
    case Check::Loop: return loop(out);
    case Check::ResponseFormat: return response_format(out);
    case Check::BoundaryAssertions: return boundary(out);
    case Check::Preconditions: return preconditions(out);
    case Check::Arguments:
      if (arguments != nullptr) invariants(*arguments, out);
      return;
    case Check::InputAssertions:
      if (arguments != nullptr) input_assertions(*arguments, out);
      return;
    case Check::ExecutionConstraints:
      if (arguments != nullptr) execution_constraints(*arguments, out);
      return;
    case Check::Refs: return refs(out);
    case Check::Aggregates: return aggregates(out);
    case Check::Envelopes: return envelopes(out);
    case Check::Resources: return resources(out);
    case Check::Checkpoints:
      if (arguments != nullptr && out.failures.empty()) out.asked = checkpoints(*arguments);
      return;
  }
}

void Judge::arguments_again(const Values& arguments, CallVerdict& out) {
  for (const Check check : tool_.checks)
    if (check >= Check::Preconditions && check < Check::Checkpoints) one(check, &arguments, out);
}

void Judge::measure(const Values& arguments, std::vector<Fact>& facts) {
  facts.reserve(tool_rules_.paths.size());
  for (const PathAt& at : tool_rules_.paths) facts.push_back(fact_of(arguments.at(at), at, hiding_));
}

// --- 4 to 10: who, and where the session is -----------------------------------------------------------------------------------------

void Judge::labels(CallVerdict& out) {
  for (const std::uint32_t index : tool_.label_gates) {
    const contract::LabelGate& gate = plan_.label_gates[index];
    if (!state_.has_label(gate.label)) continue;
    refuse(out, Code::label_denied, nullptr, {{"label", gate.label}, {"reason", gate.reason}}, gate.label);
    return;
  }
}

void Judge::policy(CallVerdict& out) {
  if (std::ranges::binary_search(state_.denied, id_)) refuse(out, Code::policy_denied, nullptr, {{"tool", tool_.name}});
}

void Judge::gate(CallVerdict& out) {
  if (!tool_.passes_gate)
    refuse(out, Code::risk_gate_blocked, nullptr, {{"tool", tool_.name}, {"effect", name_of(tool_.side_effect)}},
           std::string(name_of(tool_.side_effect)));
}

void Judge::phase(CallVerdict& out) {
  const contract::Phase& now = plan_.phases[state_.phase];
  if (tool_.names_phases && !tool_.valid_in.has(state_.phase)) {
    std::string phases;
    tool_.valid_in.each(
        [&](PhaseId id) { phases.append(phases.empty() ? "`" : ", `").append(plan_.phases[id].name).append("`"); });
    refuse(out, Code::wrong_phase, nullptr,
           {{"tool", tool_.name},
            {"phases", phases},
            {"phase", now.name},
            {"remedy", "bring the session into one of these phases first"}},
           now.name);
  }
  if (!tool_.advances_to) return;
  const std::string& to = plan_.phases[*tool_.advances_to].name;
  if (!plan_.is_legal(state_.phase, *tool_.advances_to))
    refuse(out, Code::illegal_phase_transition, nullptr,
           {{"tool", tool_.name},
            {"to", to},
            {"phase", now.name},
            {"remedy", "go by way of a phase from which `" + to + "` can be reached"}},
           to);
  for (const Ahead& other : step_.ahead) {
    const auto& advances = rules_.tool(other.tool).advances_to;
    if (!advances || *advances == *tool_.advances_to) continue;
    refuse(out, Code::phase_conflict, nullptr, {{"other", plan_.phases[*advances].name}, {"to", to}}, to);
    return;
  }
}

void Judge::forbidden(CallVerdict& out) {
  entities(out);
  ToolId by = forbidden_by(rules_, state_, id_, &out.facts, step_.number);
  for (const Ahead& other : step_.ahead) {
    if (by != kNone) break;
    if (forbids(rules_, other.tool, *other.facts, id_, &out.facts)) by = other.tool;
  }
  const auto refuse_for = [&](ToolId forbidding, std::string_view when, std::string_view remedy) {
    const std::string& name = rules_.tool(forbidding).name;
    refuse(out, Code::forbidden_in_state, nullptr,
           {{"tool", tool_.name}, {"by", name}, {"when", when}, {"remedy", remedy}}, name);
  };
  if (by != kNone)
    return refuse_for(by, "after", "nothing undoes this in the session: go on without it, or ask an operator");
  const OpenCall* call = forbidden_in_flight_by(rules_, state_, id_, &out.facts, step_.number, step_.left_out);
  if (call == nullptr) return;
  refuse_for(call->tool, "before the open call of",
             "wait until that call has ended: if it fails or is cancelled, propose this one again");
  out.failures.back().in_flight = true;
}

// Whom a call is about must be one value, of the type that both sides compare.
void Judge::entities(CallVerdict& out) {
  const auto missing = [&](const PathAt& at, std::string_view type, ToolId forbidding) {
    refuse(out, Code::entity_missing, &at, {{"path", at.text}, {"type", type}}, rules_.tool(forbidding).name);
  };
  for (std::size_t i = 0; i < tool_.forbids_per.size(); ++i) {
    const contract::EntityForbid& one = tool_.forbids_per[i];
    if (!is_entity(out.facts[tool_rules_.forbids_per[i]], one.type)) return missing(one.per, one.type, id_);
  }
  for (const ToolRules::Bar& bar : tool_rules_.bars) {
    const contract::EntityForbid& one = rules_.tool(bar.by).forbids_per[bar.index];
    if (!is_entity(out.facts[bar.fact], one.target_type)) return missing(one.target_per, one.target_type, bar.by);
  }
}

void Judge::limits(CallVerdict& out) {
  const contract::Limits& limits = plan_.limits;
  const auto exceed = [&](std::string_view name, const std::string& max, std::string_view problem,
                          std::string_view remedy) {
    refuse(out, Code::session_limit_exceeded, nullptr,
           {{"limit", name}, {"max", max}, {"problem", problem}, {"remedy", remedy}}, std::string(name));
  };
  const bool again = !step_.left_out.empty();
  const auto left_out = static_cast<std::int64_t>(step_.left_out.size());
  if (limits.max_steps && state_.steps - (again ? 1 : 0) >= *limits.max_steps)
    exceed("max_steps", std::to_string(*limits.max_steps), "all of them are taken",
           "end the session with what there is");
  if (limits.max_cost) {
    const Decimal spent = state_.cost + state_.cost_before;
    if (spent >= *limits.max_cost || (step_.estimate && spent + *step_.estimate > *limits.max_cost))
      exceed("max_cost_per_session", limits.max_cost->text(), "it is spent, or this would be more than is left",
             "end the session with what there is");
  }
  if (limits.max_tool_calls) {
    const std::int64_t taken = state_.tool_calls + state_.calls_before - left_out;
    if (taken + static_cast<std::int64_t>(step_.position) >= *limits.max_tool_calls)
      exceed("max_tool_calls", std::to_string(*limits.max_tool_calls), "no call is left for this one",
             "end the session with what there is");
  }
  if (const auto max = limits.max_calls.find(id_); max != limits.max_calls.end()) {
    const auto counted = state_.calls.find(id_);
    std::int64_t taken = counted == state_.calls.end() ? 0 : counted->second;
    taken -= std::ranges::count(step_.left_out, id_, [](const OpenCall* call) { return call->tool; });
    taken += std::ranges::count(step_.ahead, id_, &Ahead::tool);
    if (taken >= max->second)
      exceed("max_calls_per_tool", std::to_string(max->second), "`" + tool_.name + "` was called so often",
             "go on without this tool");
  }
  if (step_.commons != nullptr) budgets(out);
}

std::vector<Refusal> over_budget(const Commons& commons, const Spent& spent, const std::optional<Decimal>& estimate) {
  std::vector<Refusal> out;
  const contract::WorkflowPlan& plan = commons.plan();
  const auto exceed = [&](std::string_view name, const std::string& max, std::string_view problem) {
    out.push_back({report(Code::workflow_limit_exceeded, {}, {{"limit", name}, {"max", max}, {"problem", problem}}),
                   std::string(name)});
  };
  if (plan.max_total_steps && spent.steps >= *plan.max_total_steps)
    exceed("max_total_steps", std::to_string(*plan.max_total_steps), "its sessions have taken all of them");
  if (plan.max_total_cost) {
    const Decimal taken = spent.cost + spent.reserved;
    if (taken >= *plan.max_total_cost || (estimate && taken + *estimate > *plan.max_total_cost))
      exceed("max_total_cost", plan.max_total_cost->text(), "it is spent, or this would be more than is left");
  }
  return out;
}

// Of the whole workflow. A call that is judged again is not held against itself.
void Judge::budgets(CallVerdict& out) {
  Spent spent = step_.commons->spent();
  if (!step_.left_out.empty()) {
    spent.steps -= 1;
    if (const auto& own = step_.left_out.front()->estimate) spent.reserved = spent.reserved - *own;
  }
  for (Refusal& one : over_budget(*step_.commons, spent, step_.estimate)) out.failures.push_back(std::move(one));
}

void Judge::loop(CallVerdict& out) {
  if (step_.proposal == nullptr) return;  // not repeated when a call is judged again
  const LoopStep::Call call = looped(id_, out.digest);
  const std::int64_t window = *plan_.limits.loop_window;
  std::int64_t count = 1 + std::ranges::count(step_.proposed, call);
  std::int64_t steps = 1;
  for (auto step = state_.loop.rbegin(); step != state_.loop.rend() && steps < window; ++step, ++steps)
    count += std::ranges::count(step->calls, call);
  if (count >= *plan_.limits.loop_threshold)
    refuse(out, Code::loop_detected, nullptr,
           {{"tool", tool_.name}, {"count", std::to_string(count)}, {"window", std::to_string(window)}});
}

// --- 11: what the model was asked, and what it said -----------------------------------------------------------------------------------

namespace {

std::string_view normal_finish_reason(std::string_view reason) {
  if (reason == "tool_use") return "tool_calls";
  if (reason == "end_turn") return "stop";
  if (reason == "max_tokens") return "length";
  return reason;
}

bool is_empty_content(json::Node content) {
  if (!content || content.is_null()) return true;
  if (content.is_array()) return content.size() == 0;
  return content.is_string() && is_blank_text(content.string());
}

}  // namespace

ResponseShape shape_of(json::Node response) {
  ResponseShape out;
  if (response["finish_reason"].is_string())
    out.finish_reason = normal_finish_reason(response["finish_reason"].string());
  out.content_empty = is_empty_content(response["content"]);
  out.tool_calls_present = response["tool_calls"].is_array() && response["tool_calls"].size() > 0;
  return out;
}

void Judge::response_format(CallVerdict& out) {
  if (step_.proposal == nullptr) return;
  const contract::ResponseFormat& format = *tool_.response_format;
  const std::optional<ResponseShape>& shape = step_.proposal->shape;
  if (!shape)
    return refuse(out, Code::assertion_context_missing, nullptr, {{"tool", tool_.name}, {"what", "the response"}});
  const auto wrong = [&](std::string_view problem, std::string_view remedy) {
    refuse(out, Code::response_format_invalid, nullptr,
           {{"tool", tool_.name}, {"problem", problem}, {"remedy", remedy}});
  };
  if (format.finish_reason && shape->finish_reason != *format.finish_reason)
    return wrong("does not finish with `" + *format.finish_reason + "`", "let the response finish so");
  if (format.content_empty && !shape->content_empty)
    return wrong("has text beside the call", "call the tool without saying anything beside it");
  if (format.tool_calls_present && *format.tool_calls_present != shape->tool_calls_present)
    wrong(shape->tool_calls_present ? "has tool calls" : "has no tool calls",
          "see the tool's response_format_invariants");
}

void Judge::boundary(CallVerdict& out) {
  if (step_.proposal == nullptr) return;
  const auto check = [&](const std::vector<Invariant>& list, const Values& document, Code code, std::string_view what) {
    for (const Invariant& one : list) {
      if (one.scope != contract::Scope::Boundary) continue;
      if (!document.root())
        return refuse(out, Code::assertion_context_missing, nullptr, {{"tool", tool_.name}, {"what", what}});
      const json::Node value = document.at(one.at);
      if (const contract::Test* test = failing(one, value, environment_)) {
        const Wording words = wording_of(*test, value);
        refuse(
            out, code, nullptr,
            {{"path", std::string(what) + "'s " + one.at.text}, {"problem", words.problem}, {"remedy", words.remedy}},
            one.at.text);
      }
    }
  };
  check(tool_.input_assertions, step_.proposal->request, Code::input_assertion_failed, "the request");
  check(tool_.output_assertions, step_.proposal->response, Code::output_assertion_failed, "the response");
}

// --- 12: what must have happened before ---------------------------------------------------------------------------------------------

void Judge::preconditions(CallVerdict& out) {
  for (std::size_t i = 0; i < tool_.preconditions.size(); ++i) {
    const Precondition& one = tool_.preconditions[i];
    const ToolRules::Need& need = tool_rules_.needs[i];
    if (need.watch == kNone) {
      const std::int64_t steps = state_.steps - (step_.left_out.empty() ? 0 : 1);
      if (steps >= one.steps) continue;
      refuse(out, Code::precondition_not_met, nullptr,
             {{"problem", "`" + tool_.name + "` needs " + std::to_string(one.steps) +
                              " steps before it, and there were " + std::to_string(steps)},
              {"remedy", "do the work that comes before it first"}});
      continue;
    }
    const Record& record = state_.records[need.watch];
    const bool hidden = is_kept_away(*one.prior);
    const std::string detail = hidden ? std::string() : rules_.tool(*one.prior).name;
    const std::string prior = hidden ? "another tool" : "`" + detail + "`";
    const auto remedy = [&](const std::string& same) {
      return hidden ? "this session may not call it: go on without `" + tool_.name + "`"
                    : "call " + prior + " first" + same;
    };
    if (need.fact == kNone) {
      if (record.latest.value_or(false)) continue;
      refuse(out, Code::precondition_not_met, nullptr,
             {{"problem", record.latest ? "what " + prior + " said last does not allow `" + tool_.name + "`"
                                        : "`" + tool_.name + "` needs " + prior + " before it"},
              {"remedy", remedy("")}},
             detail);
      continue;
    }
    const Fact& entity = out.facts[need.fact];
    if (!is_scalar(entity)) {
      refuse(out, Code::precondition_not_met, &*one.resource,
             {{"problem", "it cannot be told which entity `" + tool_.name + "` is about: " + one.resource->text +
                              " is no single value"},
              {"remedy", "give a string, a number or a boolean there"}},
             detail);
      out.diagnostics.push_back(report(Code::resource_unresolved, place_named(pointer_of(one.resource->path)),
                                       {{"path", one.resource->text}}));
      continue;
    }
    const auto known = record.by_entity.find(entity);
    if (known != record.by_entity.end() && known->second) continue;
    const std::string same = ", for the same " + one.resource->text;
    refuse(
        out, Code::precondition_not_met, &*one.resource,
        {{"problem", known == record.by_entity.end() ? "`" + tool_.name + "` needs " + prior + " before it" + same
                                                     : "what " + prior + " said last for the same " +
                                                           one.resource->text + " does not allow `" + tool_.name + "`"},
         {"remedy", remedy(same)}},
        detail);
  }
}

// --- 13 and 14: the arguments -----------------------------------------------------------------------------------------------------------

void Judge::hold_to(const std::vector<Invariant>& list, const Values& arguments, contract::Scope scope, Code code,
                    CallVerdict& out) {
  for (const Invariant& one : list) {
    if (one.scope != scope) continue;
    const json::Node value = arguments.at(one.at);
    const contract::Test* test = failing(one, value, environment_);
    if (test == nullptr) continue;
    const Wording words = wording_of(*test, value);
    refuse(out, code, &one.at, {{"path", one.at.text}, {"problem", words.problem}, {"remedy", words.remedy}},
           one.at.text);
    if (test->op == contract::Op::EqualsEnv && !is_set(test->value.string()))
      out.diagnostics.push_back(report(Code::env_unset, {}, {{"variable", test->value.string()}}));
  }
}

bool Judge::is_set(const std::string& variable) const {
  const auto at = std::ranges::lower_bound(plan_.environment, variable);
  const auto index = static_cast<std::size_t>(at - plan_.environment.begin());
  return index < state_.environment.size() && !state_.environment[index].empty();
}

void Judge::invariants(const Values& arguments, CallVerdict& out) {
  hold_to(tool_.arguments, arguments, contract::Scope::Call, Code::argument_value_invalid, out);
}

void Judge::input_assertions(const Values& arguments, CallVerdict& out) {
  hold_to(tool_.input_assertions, arguments, contract::Scope::Call, Code::input_assertion_failed, out);
}

void Judge::execution_constraints(const Values& arguments, CallVerdict& out) {
  hold_to(tool_.execution_constraints, arguments, contract::Scope::Call, Code::execution_constraint_violated, out);
}

void Judge::refs(CallVerdict& out) {
  for (const ToolRules::Ref& ref : tool_rules_.refs) {
    const Invariant& one = tool_.arguments[ref.invariant];
    const Fact& value = out.facts[ref.fact];
    const Fact& slot = state_.slots[*one.ref];
    const std::string& name = plan_.slots[*one.ref];
    if (!is_there(value)) {
      refuse(out, Code::argument_value_invalid, &one.at,
             {{"path", one.at.text},
              {"problem", "is missing, and must equal what `" + name + "` has"},
              {"remedy", "give the value of the slot `" + name + "`"}},
             name);
      continue;
    }
    if (!is_there(slot)) {
      std::string_view binder = "the tool that fills it";
      for (ToolId id = 0; id < plan_.tools.size(); ++id)
        for (const contract::Bind& bind : plan_.tools[id].binds)
          if (bind.slot == *one.ref && !is_kept_away(id)) binder = plan_.tools[id].name;
      refuse(out, Code::binding_unbound, &one.at, {{"path", one.at.text}, {"slot", name}, {"tool", binder}}, name);
      continue;
    }
    if (!one.tolerance) {
      if (value == slot) continue;
    } else {
      const auto given = number_of(value), bound = number_of(slot);
      if (given && bound) {
        const Decimal zero;
        const Decimal apart = *given - *bound;
        const Decimal distance = apart < zero ? -apart : apart;
        const Decimal band = *one.tolerance * (*bound < zero ? -*bound : *bound);
        if (distance <= band) continue;
      }
    }
    const std::string near = one.tolerance ? " within " + one.tolerance->text() + " of it" : "";
    const bool is_shown = is_number(slot);
    refuse(out, Code::binding_mismatch, &one.at,
           {{"path", one.at.text},
            {"problem", "is not what `" + name + "` has" + near},
            {"remedy", is_shown ? "use " + slot + (one.tolerance ? " or a number" + near : "")
                                : "use the value of `" + name + "`"}},
           name);
  }
}

// --- 15 and 16: totals and envelopes ------------------------------------------------------------------------------------------------------

const Tally& Tallies::of(const Rules& rules, const State& state, std::uint32_t aggregate, const Beside& beside) {
  auto at = kept_.find(aggregate);
  if (at == kept_.end())
    at = kept_.emplace(aggregate, Kept{Tally(rules, state, aggregate, beside), beside.ahead.size()}).first;
  Kept& kept = at->second;
  for (; kept.ahead < beside.ahead.size(); ++kept.ahead) {
    const Ahead& other = beside.ahead[kept.ahead];
    kept.tally.add(share_of(rules, other.tool, *other.facts, aggregate));
  }
  return kept.tally;
}

void Judge::aggregates(CallVerdict& out) {
  for (std::size_t i = 0; i < tool_.aggregates.size(); ++i) {
    const std::uint32_t index = tool_.aggregates[i];
    const contract::Aggregate& aggregate = plan_.aggregates[index];
    const std::uint32_t fact = tool_rules_.aggregates[i];
    const Share own = share_of(aggregate, fact == kNone ? nullptr : &out.facts[fact]);
    if (own.kind == Share::Nothing) continue;
    if (own.kind == Share::Invalid) {
      refuse(out, Code::aggregate_value_invalid, &*aggregate.at,
             {{"name", aggregate.name},
              {"expected", aggregate.metric == contract::Metric::CountDistinct ? "a value" : "a number"},
              {"path", aggregate.at->text}},
             aggregate.name);
      continue;
    }
    Tally tally = step_.tallies.of(rules_, state_, index, {step_.left_out, step_.ahead});
    tally.add(own);
    const Decimal value = tally.value();
    const contract::Bounds bounds = bounds_of(aggregate, state_);
    const bool low = bounds.gte && value < *bounds.gte, high = bounds.lte && value > *bounds.lte;
    if (!low && !high) continue;
    refuse(out, Code::aggregate_violated, aggregate.at ? &*aggregate.at : nullptr,
           {{"name", aggregate.name},
            {"value", value.text()},
            {"bound", high ? "may be at most " + bounds.lte->text() : "must be at least " + bounds.gte->text()},
            {"reason", aggregate.reason}},
           aggregate.name);
  }
}

void Judge::envelopes(CallVerdict& out) {
  for (auto at = tool_rules_.stages.begin(); at != tool_rules_.stages.end();) {
    auto end = at;
    while (end != tool_rules_.stages.end() && end->envelope == at->envelope) ++end;
    envelope({at, end}, out);
    at = end;
  }
}

// One answer for each envelope, however many values of the call it holds: no reference, else no number, else too far.
void Judge::envelope(std::span<const ToolRules::Stage> stages, CallVerdict& out) {
  const contract::Envelope& envelope = plan_.envelopes[stages.front().envelope];
  const auto is_constrained = [&](const ToolRules::Stage& at) {
    return envelope.stages[at.stage].role == Role::Constrained;
  };
  for (const ToolRules::Stage& at : stages) {
    if (!is_constrained(at)) continue;
    const Corridor corridor = corridor_of(rules_, state_, id_, at, {step_.left_out, step_.ahead});
    if (corridor.begins) return;
    if (corridor.missing == nullptr) continue;
    const contract::Stage& stage = envelope.stages[at.stage];
    const std::string& giver = rules_.tool(corridor.missing->tool).name;
    return refuse(out, Code::envelope_reference_missing, &stage.at,
                  {{"name", envelope.name},
                   {"role", name_of(corridor.missing->role)},
                   {"path", stage.at.text},
                   {"tool", is_kept_away(corridor.missing->tool) ? std::string_view("the tool that gives it") : giver}},
                  envelope.name);
  }
  for (const ToolRules::Stage& at : stages)
    if (is_constrained(at) && !number_of(out.facts[at.fact])) {
      const contract::Stage& stage = envelope.stages[at.stage];
      return refuse(out, Code::envelope_value_invalid, &stage.at, {{"name", envelope.name}, {"path", stage.at.text}},
                    envelope.name);
    }
  for (const ToolRules::Stage& at : stages) {
    if (!is_constrained(at)) continue;
    const contract::Stage& stage = envelope.stages[at.stage];
    const Corridor corridor = corridor_of(rules_, state_, id_, at, {step_.left_out, step_.ahead});
    const json::Decimal value = *number_of(out.facts[at.fact]);
    const bool high = corridor.most && value > *corridor.most, low = corridor.least && value < *corridor.least;
    if (!high && !low) continue;
    std::string bound = high ? "at most " + corridor.most->text() : "at least " + corridor.least->text();
    if (envelope.constraint == Constraint::WithinBand) bound = corridor.least->text() + " to " + corridor.most->text();
    return refuse(out, Code::envelope_violated, &stage.at,
                  {{"path", stage.at.text},
                   {"value", value.text()},
                   {"name", envelope.name},
                   {"bound", bound},
                   {"reason", envelope.reason}},
                  envelope.name);
  }
}

// --- 17: what the workflow shares ---------------------------------------------------------------------------------------------------------

template <typename Each>
void Judge::each_shared(const CallVerdict& call, const Each& each) const {
  if (step_.commons == nullptr) return;
  for (const ToolRules::Shared& one : tool_rules_.shared) {
    const Fact& value = call.facts[one.fact];
    if (!is_there(value) || is_null(value)) continue;  // it does not touch it
    each(step_.commons->plan().shared[one.resource], SharedKey{one.resource, value}, tool_rules_.paths[one.fact]);
  }
}

void Judge::resources(CallVerdict& out) {
  each_shared(out, [&](const contract::SharedResource& resource, const SharedKey& key, const PathAt& at) {
    if (!is_scalar(key.value)) return refuse(out, Code::resource_unresolved, &at, {{"path", at.text}}, resource.alias);
    const Hold hold = step_.commons->hold(key);
    const std::string& own = step_.commons->session();
    const auto held = [&](Code code) {
      refuse(out, code, &at, {{"alias", resource.alias}, {"value", key.value}}, resource.alias);
    };
    switch (resource.mode) {
      case contract::SharedMode::ExclusivePending:
        if (std::ranges::any_of(hold.open, [&](const SharedCall& call) { return call.session != own; }))
          held(Code::resource_pending_elsewhere);
        return;
      case contract::SharedMode::SingleWriter:
        if (contract::is_mutating(tool_.side_effect) && hold.owner && hold.owner->session != own)
          held(Code::resource_not_owner);
        return;
      case contract::SharedMode::SerialOnly: return;  // when it begins
    }
  });
}

void Judge::serial(const SharedCall& call, CallVerdict& out) {
  each_shared(out, [&](const contract::SharedResource& resource, const SharedKey& key, const PathAt& at) {
    if (resource.mode != contract::SharedMode::SerialOnly || step_.commons->hold(key).is_turn_of(call)) return;
    refuse(out, Code::resource_busy, &at, {{"alias", resource.alias}, {"value", key.value}}, resource.alias);
  });
}

bool Judge::is_serial(const CallVerdict& call) const {
  bool out = false;
  each_shared(call, [&](const contract::SharedResource& resource, const SharedKey&, const PathAt&) {
    out = out || resource.mode == contract::SharedMode::SerialOnly;
  });
  return out;
}

// --- 18: a person -----------------------------------------------------------------------------------------------------------------------

namespace {

// What cannot be compared counts as met: leaving a field out must not dodge a person.
bool is_met(const Invariant& condition, json::Node value, const Environment& environment) {
  if (!value || value.is_null()) return true;
  return std::ranges::all_of(condition.tests, [&](const contract::Test& test) {
    if ((test.op == contract::Op::Gte || test.op == contract::Op::Lte) && !value.is_number()) return true;
    return passes(test, value, environment);
  });
}

}  // namespace

std::optional<Asked> Judge::checkpoints(const Values& arguments) {
  std::optional<Asked> out;
  const auto ask = [&](const contract::Checkpoint& checkpoint) {
    if (checkpoint.side_effect && *checkpoint.side_effect != tool_.side_effect) return;
    const auto met = [&](const Invariant& one) { return is_met(one, arguments.at(one.at), environment_); };
    const bool fires =
        checkpoint.conditions.empty() || (checkpoint.match_all ? std::ranges::all_of(checkpoint.conditions, met)
                                                               : std::ranges::any_of(checkpoint.conditions, met));
    if (!fires) return;
    if (!out) out = Asked{checkpoint.timeout_seconds, checkpoint.allow_on_timeout, {}, {}};
    else {
      if (checkpoint.timeout_seconds < out->timeout_seconds) out->timeout_seconds = checkpoint.timeout_seconds;
      out->allow_on_timeout = out->allow_on_timeout && checkpoint.allow_on_timeout;
    }
    out->checkpoints.push_back(checkpoint.name);
    for (const contract::Checkpoint::Shown& shown : checkpoint.context) {
      Fact value = fact_of(arguments.at(shown.at), shown.at, hiding_);
      out->context.push_back({shown.label, is_there(value) ? std::move(value) : Fact("null")});
    }
  };
  if (tool_.checkpoint) ask(*tool_.checkpoint);
  for (const std::uint32_t index : tool_.checkpoints) ask(plan_.checkpoints[index]);
  return out;
}

}  // namespace baton::session
