// SPDX-License-Identifier: Apache-2.0
#include "session/shown.h"

#include <set>

#include "json/parse.h"
#include "session/way_out.h"

namespace baton::session {
namespace {

using json::Value;

// A fact as the value it is.
Value value_of(const Fact& fact) {
  if (!is_there(fact)) return nullptr;
  const auto document = json::parse(fact);
  return document ? Value::copy(document->root()) : Value(fact);
}

Value shown_failures(const std::vector<Refusal>& failures) {
  Value out = Value::array();
  for (const Refusal& one : failures) out.push(shown(one));
  return out;
}

void set_effects(Value& out, const Effects& effects) {
  Value diagnostics = Value::array();
  for (const Diagnostic& one : effects.diagnostics) diagnostics.push(shown(one));
  out.set("diagnostics", std::move(diagnostics));
  out.set("session_killed", effects.killed);
  if (effects.cancelled.empty()) return;
  Value cancelled = Value::array();
  for (const std::string& id : effects.cancelled) cancelled.push(id);
  out.set("cancelled", std::move(cancelled));
}

void set_verdict(Value& out, const std::vector<Refusal>& failures) {
  out.set("verdict", failures.empty() ? "allow" : "block");
  if (!failures.empty()) out.set("reason", info(failures.front().code()).name);
  out.set("failures", shown_failures(failures));
}

}  // namespace

Value shown(const Diagnostic& diagnostic) {
  Value out = Value::object();
  out.set("code", info(diagnostic.code).name);
  out.set("message", diagnostic.message);
  out.set("help", diagnostic.help);
  if (!diagnostic.place.pointer.empty()) out.set("place", diagnostic.place.pointer);
  return out;
}

Value shown(const Refusal& refusal) {
  Value out = shown(refusal.diagnostic);
  if (!refusal.detail.empty()) out.set("detail", refusal.detail);
  if (refusal.in_flight) out.set("in_flight", true);
  return out;
}

Value shown(const Asked& asked) {
  Value out = Value::object();
  out.set("timeout_seconds", Value::number(asked.timeout_seconds.text()));
  out.set("on_timeout", asked.allow_on_timeout ? "allow" : "deny");
  Value names = Value::array();
  for (const std::string& name : asked.checkpoints) names.push(name);
  out.set("checkpoints", std::move(names));
  Value context = Value::object();
  for (const Asked::Shown& one : asked.context) context.set(one.label, value_of(one.value));
  out.set("context", std::move(context));
  return out;
}

Value shown(const CallVerdict& verdict) {
  Value out = Value::object();
  out.set("verdict", name_of(verdict.verdict));
  if (!verdict.failures.empty()) out.set("reason", info(verdict.failures.front().code()).name);
  out.set("failures", shown_failures(verdict.failures));
  if (!verdict.diagnostics.empty()) {
    Value diagnostics = Value::array();
    for (const Diagnostic& one : verdict.diagnostics) diagnostics.push(shown(one));
    out.set("diagnostics", std::move(diagnostics));
  }
  if (verdict.asked) out.set("request_approval", shown(*verdict.asked));
  if (!verdict.spends.empty()) out.set("spends", verdict.spends);
  if (!verdict.joins.empty()) out.set("joins", verdict.joins);
  return out;
}

Value shown(const Proposal& proposal, const StepVerdict& verdict, const Effects& effects) {
  Value out = Value::object();
  out.set("outcome", name_of(verdict.outcome));
  Value calls = Value::array();
  for (std::size_t i = 0; i < verdict.calls.size(); ++i) {
    Value one = Value::object();
    one.set("call_id", verdict.calls[i].joins.empty() ? proposal.calls[i].id : verdict.calls[i].joins);
    one.set("tool", proposal.calls[i].tool);
    const Value about = shown(verdict.calls[i]);
    for (const auto& [name, value] : about.members()) one.set(name, value);
    calls.push(std::move(one));
  }
  out.set("calls", std::move(calls));
  set_effects(out, effects);
  return out;
}

Value shown(const Rules& rules, const State& state, const Proposal& proposal, const StepVerdict& verdict,
            const Effects& effects, const Hiding* hiding) {
  Value out = shown(proposal, verdict, effects);
  if (state.is_letting_through()) return out;  // nothing was held back
  Value::Array& calls = out.find("calls")->elements();
  for (std::size_t i = 0; i < verdict.calls.size(); ++i)
    if (verdict.calls[i].verdict == Verdict::Block)
      calls[i].set("way_out", shown(way_out(rules, state, proposal, i, verdict.calls[i], hiding)));
  return out;
}

Value shown(const RulingVerdict& verdict, const Effects& effects) {
  Value out = Value::object();
  Value calls = Value::array();
  for (std::size_t i = 0; i < verdict.calls.size(); ++i) {
    Value one = Value::object();
    one.set("call_id", verdict.call_ids[i]);
    const Value about = shown(verdict.calls[i]);
    for (const auto& [name, value] : about.members()) one.set(name, value);
    calls.push(std::move(one));
  }
  out.set("calls", std::move(calls));
  set_effects(out, effects);
  return out;
}

Value shown(const StartVerdict& verdict, const Effects& effects) {
  Value out = Value::object();
  set_verdict(out, verdict.failures);
  set_effects(out, effects);
  for (const Diagnostic& one : verdict.diagnostics) out.find("diagnostics")->push(shown(one));
  return out;
}

Value shown(const SettleVerdict& verdict, const Effects& effects) {
  Value out = Value::object();
  out.set("state", name_of(verdict.state));
  if (!verdict.failures.empty()) out.set("reason", info(verdict.failures.front().code()).name);
  out.set("failures", shown_failures(verdict.failures));
  if (verdict.allowed_error) out.set("allowed_error", true);
  set_effects(out, effects);
  return out;
}

Value shown(const Rules& rules, const PreflightVerdict& verdict) {
  Value out = Value::object();
  set_verdict(out, verdict.failures);
  Value diagnostics = Value::array();
  for (const Diagnostic& one : verdict.diagnostics) diagnostics.push(shown(one));
  out.set("diagnostics", std::move(diagnostics));
  Value tools = Value::array();
  for (const ToolId id : verdict.narrowed.kept) tools.push(rules.tool(id).name);
  out.set("tools", std::move(tools));
  Value removed = Value::array();
  for (const Narrowed::Removed& one : verdict.narrowed.removed) {
    Value entry = Value::object();
    entry.set("tool", one.tool);
    entry.set("reason", info(one.why).name);
    if (one.in_flight) entry.set("in_flight", true);
    removed.push(std::move(entry));
  }
  out.set("removed", std::move(removed));
  return out;
}

Value shown(const Rules& rules, const State& state) {
  const Plan& plan = *rules.plan;
  Value out = Value::object();
  out.set("standing", name_of(state.standing));
  if (!state.ended_because.empty()) out.set("ended_because", state.ended_because);
  out.set("mode", name_of(state.mode));
  out.set("gate", name_of(state.gate));
  if (!plan.phases.empty()) {
    out.set("phase", plan.phases[state.phase].name);
    out.set("may_end", plan.phases[state.phase].terminal);
  }
  out.set("paused", state.mode == Mode::Enforce && state.is_paused());
  if (!state.paused_because.empty()) out.set("paused_because", state.paused_because);
  if (state.cancel_requested) out.set("cancel_requested", true);
  Value labels = Value::array();
  for (const std::string& label : state.labels) labels.push(label);
  out.set("labels", std::move(labels));
  Value bindings = Value::object();
  for (std::size_t i = 0; i < plan.slots.size(); ++i) bindings.set(plan.slots[i], value_of(state.slots[i]));
  out.set("bindings", std::move(bindings));
  Value forbidden = Value::array();
  for (ToolId id = 0; id < plan.tools.size(); ++id)
    if (const ToolId by = forbidden_by(rules, state, id); by != kNone) {
      Value one = Value::object();
      one.set("tool", plan.tools[id].name);
      one.set("by", plan.tools[by].name);
      forbidden.push(std::move(one));
    }
  out.set("forbidden", std::move(forbidden));
  Value tools = Value::array();
  for (const ToolId id : narrow(rules, state).kept) tools.push(plan.tools[id].name);
  out.set("tools", std::move(tools));
  Value counters = Value::object();
  counters.set("steps", state.steps);
  counters.set("tool_calls", state.tool_calls);
  counters.set("cost", Value::number(state.cost.text()));
  counters.set("consecutive_blocks", state.consecutive_blocks);
  counters.set("consecutive_errors", state.consecutive_errors);
  if (state.calls_before != 0) counters.set("tool_calls_before", state.calls_before);
  if (state.cost_before != json::Decimal()) counters.set("cost_before", Value::number(state.cost_before.text()));
  out.set("counters", std::move(counters));
  Value open = Value::array();
  for (const OpenCall& call : state.open) {
    Value one = Value::object();
    one.set("call_id", call.id);
    one.set("tool", call.tool == kNone ? call.tool_name : plan.tools[call.tool].name);
    one.set("state", name_of(call.state));
    if (call.asks) one.set("asks", true);
    if (call.committed) one.set("counts_as_done", true);
    open.push(std::move(one));
  }
  out.set("open_calls", std::move(open));
  return out;
}

}  // namespace baton::session
