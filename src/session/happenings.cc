// SPDX-License-Identifier: Apache-2.0
#include "session/happenings.h"

#include <algorithm>

#include "session/judge.h"
#include "session/totals.h"

namespace baton::session {
namespace {

using contract::Role;
using json::Decimal;

// Blocks that say nothing about what the agent does: neither loop nor breaker counts them.
bool is_beside(Code code) {
  return code == Code::session_paused || code == Code::batch_rejected || code == Code::cancel_requested ||
         code == Code::resource_busy || code == Code::session_killed || code == Code::session_closed ||
         code == Code::lease_stale;
}

void count_call(const Rules& rules, State& state, ToolId tool, std::int64_t by) {
  state.tool_calls += by;
  if (tool != kNone && rules.plan->limits.max_calls.contains(tool)) state.calls[tool] += by;
}

void erase(State& state, const OpenCall* call) { state.open.erase(state.open.begin() + (call - state.open.data())); }

class Change {
 public:
  Change(const Rules& rules, State& state, Effects& effects) : rules_(rules), state_(state), effects_(effects) {}

  void note(Code code, std::initializer_list<Argument> arguments) {
    effects_.diagnostics.push_back(report(code, {}, arguments));
  }

  void end(Standing to, const std::string& because) {
    if (state_.standing != Standing::Open) return;
    state_.standing = to;
    state_.ended_because = because;
    for (std::size_t i = 0; i < state_.open.size();) {
      OpenCall& call = state_.open[i];
      const bool began = call.state == CallState::Executing || call.state == CallState::Unknown;
      if (began || call.committed) {
        if (began && to == Standing::Killed) call.state = CallState::Unknown;
        ++i;
        continue;
      }
      effects_.cancelled.push_back(call.id);
      count_call(rules_, state_, call.tool, -1);
      state_.open.erase(state_.open.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  void kill(const std::string& because) {
    if (state_.mode != Mode::Enforce || state_.standing != Standing::Open) return;
    effects_.killed = true;
    end(Standing::Killed, because);
  }

  void add_block() {
    if (state_.mode == Mode::LogOnly || state_.standing != Standing::Open) return;
    ++state_.consecutive_blocks;
    const auto& max = rules_.plan->limits.consecutive_blocks;
    if (max && state_.consecutive_blocks >= *max) kill("consecutive_blocks");
  }

  void add_error() {
    ++state_.consecutive_errors;
    const auto& max = rules_.plan->limits.consecutive_errors;
    if (max && state_.consecutive_errors >= *max) kill("consecutive_errors");
  }

  // What a call adds to totals and chains becomes part of what has been committed.
  void keep_share(const OpenCall& call) {
    const contract::Tool& tool = rules_.tool(call.tool);
    for (const std::uint32_t index : tool.aggregates)
      add(rules_.plan->aggregates[index], state_.totals[index], share_of(rules_, call.tool, call.facts, index));
    for (const ToolRules::Stage& stage : rules_.tools[call.tool].stages) {
      const contract::Envelope& envelope = rules_.plan->envelopes[stage.envelope];
      Held& held = state_.envelopes[stage.envelope];
      if (envelope.stages[stage.stage].role != Role::Constrained || !is_monotonic(envelope.constraint)) continue;
      const auto value = number_of(call.facts[stage.fact]);
      if (!value || call.number == held.began_by) continue;
      if (call.committed && call.number < held.since) continue;  // it was done before the chain began anew
      held.strictest = held.strictest ? stricter(envelope.constraint, *held.strictest, *value) : *value;
    }
  }

  // The rest of a commit: history, phase, slots, captures, what is forbidden from now on. `output` null: there is none.
  void commit(const OpenCall& call, const Settled* output) {
    const contract::Tool& tool = rules_.tool(call.tool);
    const ToolRules& indexes = rules_.tools[call.tool];
    for (std::size_t i = 0; i < indexes.told.size(); ++i) {
      const bool told = output != nullptr ? output->told[i] : without_output(indexes.told[i].watch);
      Record& record = state_.records[indexes.told[i].watch];
      if (indexes.told[i].fact == kNone) record.latest = told;
      else if (const Fact& entity = call.facts[indexes.told[i].fact]; is_scalar(entity))
        record.by_entity[entity] = told;
    }
    advance(tool);
    bind(call, tool, indexes, output);
    capture(call, indexes, output);
    forbid(call);
  }

  void forbid(const OpenCall& call) {
    const contract::Tool& tool = rules_.tool(call.tool);
    for (const ToolId other : tool.forbids) state_.forbidden.push_back({other, call.tool, call.number});
    for (std::uint32_t i = 0; i < tool.forbids_per.size(); ++i)
      if (const Fact& entity = call.facts[rules_.tools[call.tool].forbids_per[i]]; is_there(entity))
        state_.forbidden.push_back({tool.forbids_per[i].tool, call.tool, call.number, i, entity});
  }

 private:
  // A precondition that asks nothing of the output is met by a call without one.
  bool without_output(std::uint32_t watch) const {
    const Watch& one = rules_.watches[watch];
    return rules_.tool(one.dependent).preconditions[one.precondition].with_output.empty();
  }

  void advance(const contract::Tool& tool) {
    if (!tool.advances_to) return;
    if (rules_.plan->is_legal(state_.phase, *tool.advances_to)) {
      state_.phase = *tool.advances_to;
      return;
    }
    note(Code::phase_advance_skipped,
         {{"phase", rules_.plan->phases[state_.phase].name}, {"to", rules_.plan->phases[*tool.advances_to].name}});
  }

  void bind(const OpenCall& call, const contract::Tool& tool, const ToolRules& indexes, const Settled* output) {
    std::size_t from_output = 0;
    for (std::size_t i = 0; i < tool.binds.size(); ++i) {
      Fact value;
      if (indexes.binds[i] != kNone) value = call.facts[indexes.binds[i]];
      else if (output != nullptr) value = output->binds[from_output++];
      if (is_null(value)) value.clear();
      if (value.empty())
        note(Code::bind_source_missing,
             {{"path", tool.binds[i].at.text}, {"slot", rules_.plan->slots[tool.binds[i].slot]}});
      state_.slots[tool.binds[i].slot] = std::move(value);
    }
  }

  void capture(const OpenCall& call, const ToolRules& indexes, const Settled* output) {
    std::size_t from_output = 0;
    for (const ToolRules::Stage& at : indexes.stages) {
      const contract::Envelope& envelope = rules_.plan->envelopes[at.envelope];
      const contract::Stage& stage = envelope.stages[at.stage];
      Held& held = state_.envelopes[at.envelope];
      Fact value;
      if (at.fact != kNone) value = call.facts[at.fact];
      else if (output != nullptr) value = output->captures[from_output++];
      if (stage.role == Role::Constrained) continue;
      // A tool that both begins the chain and is held to it begins it once.
      if (stage.role == Role::Initial && held.stages[at.stage] && is_also_constrained(envelope, call.tool)) continue;
      held.stages[at.stage] = number_of(value);
      if (stage.role == Role::Initial) {  // the chain begins anew
        held.began_by = call.number;
        held.since = state_.next_number;
        held.strictest.reset();
      }
      if (!held.stages[at.stage])
        note(Code::envelope_capture_missing, {{"name", envelope.name}, {"path", stage.at.text}});
    }
  }

  static bool is_also_constrained(const contract::Envelope& envelope, ToolId tool) {
    return std::ranges::any_of(envelope.stages, [&](const contract::Stage& stage) {
      return stage.tool == tool && stage.role == Role::Constrained;
    });
  }

  const Rules& rules_;
  State& state_;
  Effects& effects_;
};

}  // namespace

Effects take_step(const Rules& rules, State& state, const TakenStep& step) {
  Effects out;
  if (state.standing != Standing::Open) return out;  // nothing changes any more but what is under way
  Change change(rules, state, out);
  const bool lets_through = state.is_letting_through();
  std::size_t ahead = 0, allowed = 0;
  bool blocked = false, only_beside = true;
  const bool is_held = state.gate == Gate::RejectAll && !lets_through;
  const std::uint32_t group = state.next_group;
  bool used_group = false;
  LoopStep looped;
  std::vector<std::uint32_t> none;  // numbers of calls that count as done now
  for (const TakenCall& call : step.calls) {
    const bool beside = call.in_flight || (call.reason && is_beside(*call.reason));
    if (call.verdict == Verdict::Block) {
      blocked = true;
      only_beside = only_beside && beside;
    }
    if (call.verdict == Verdict::Allow) ++allowed;
    if (!beside && call.tool != kNone && !call.digest.empty() && rules.plan->limits.loop_window)
      looped.calls.push_back(Judge::looped(call.tool, call.digest));
    if (!lets_through && call.verdict == Verdict::Block) continue;
    ++ahead;
    OpenCall open;
    open.id = call.id;
    open.tool = call.tool;
    open.tool_name = call.tool_name;
    open.number = state.next_number++;
    open.refused = call.verdict == Verdict::Block;
    open.breaks_constraint = call.breaks_constraint;
    open.digest = call.digest;
    open.facts = call.facts;
    open.step = static_cast<std::uint32_t>(state.steps + 1);
    open.estimate = step.estimate;
    if (call.tool != kNone && open.facts.size() != rules.tools[call.tool].paths.size())
      open.facts.resize(rules.tools[call.tool].paths.size());  // what could not be read, in shadow mode
    open.asks = call.asks;
    if (!lets_through && call.verdict == Verdict::Checkpoint) {
      open.state = CallState::Awaiting;
      open.allow_on_timeout = call.allow_on_timeout;
      if (is_held && step.calls.size() > 1) {
        open.group = group;
        used_group = true;
      }
    } else if (call.tool != kNone && rules.tool(call.tool).commit == contract::Commit::None) {
      open.committed = true;
      none.push_back(open.number);
    }
    count_call(rules, state, call.tool, 1);
    state.open.push_back(std::move(open));
  }
  if (used_group) ++state.next_group;
  if (ahead > 0 || step.calls.empty()) ++state.steps;
  if (const auto& window = rules.plan->limits.loop_window) {
    state.loop.push_back(std::move(looped));
    // The current step is one of the window.
    const auto kept = static_cast<std::size_t>(*window > 0 ? *window - 1 : 0);
    if (state.loop.size() > kept)
      state.loop.erase(state.loop.begin(), state.loop.begin() + static_cast<std::ptrdiff_t>(state.loop.size() - kept));
  }
  for (const std::uint32_t number : none) {
    const auto call = std::ranges::find(state.open, number, &OpenCall::number);
    change.commit(*call, nullptr);
  }
  if (blocked && !only_beside) change.add_block();
  else if (!blocked && allowed > 0 && state.mode != Mode::LogOnly) state.consecutive_blocks = 0;
  return out;
}

Effects take_ruling(const Rules& rules, State& state, const std::string& call_id, Ruling ruling,
                    const std::vector<Resolved>& resolved) {
  Effects out;
  Change change(rules, state, out);
  OpenCall* ruled = state.find(call_id);
  if (ruled == nullptr) return out;
  if (ruling == Ruling::Approved || (ruling == Ruling::TimedOut && ruled->allow_on_timeout)) ruled->approved = true;
  bool blocked = false, held_back = false, ahead = false;
  std::vector<std::uint32_t> none;
  for (const Resolved& one : resolved) {
    OpenCall* call = state.find(one.call_id);
    if (call == nullptr) continue;
    if (one.verdict == Verdict::Checkpoint) continue;
    if (one.verdict == Verdict::Block) {
      blocked = blocked || !(one.in_flight || (one.reason && is_beside(*one.reason)));
      held_back = true;
      count_call(rules, state, call->tool, -1);
      erase(state, call);
      continue;
    }
    ahead = true;
    call->state = CallState::Pending;
    call->group = 0;
    if (call->tool != kNone && rules.tool(call->tool).commit == contract::Commit::None) {
      call->committed = true;
      none.push_back(call->number);
    }
  }
  for (const std::uint32_t number : none)
    change.commit(*std::ranges::find(state.open, number, &OpenCall::number), nullptr);
  if (blocked) change.add_block();
  else if (ahead && !held_back && state.mode != Mode::LogOnly) state.consecutive_blocks = 0;
  return out;
}

Effects take_start(const Rules& rules, State& state, const Begun& begun) {
  Effects out;
  OpenCall* call = state.find(begun.call_id);
  if (call == nullptr) return out;
  if (begun.waits && !state.is_letting_through()) {  // it waits with what it is to begin with
    if (begun.facts) {
      call->facts = *begun.facts;
      call->digest = begun.digest;
    }
    return out;
  }
  if (!begun.refused || state.is_letting_through()) {
    call->state = CallState::Executing;
    if (begun.facts) {
      call->facts = *begun.facts;
      call->digest = begun.digest;
    }
    // A call that was refused already is not refused a second time.
    if (begun.refused && !begun.waits && !begun.in_flight && !call->refused) Change(rules, state, out).add_block();
    return out;
  }
  count_call(rules, state, call->tool, -1);
  erase(state, call);
  if (!begun.in_flight) Change(rules, state, out).add_block();
  return out;
}

Effects take_settlement(const Rules& rules, State& state, const Settled& settled) {
  Effects out;
  Change change(rules, state, out);
  OpenCall* open = state.find(settled.call_id);
  if (open == nullptr) return out;
  const bool was_unknown = open->state == CallState::Unknown;
  const bool is_live = state.standing != Standing::Killed;
  if (settled.to == CallState::Unknown) {
    open->state = CallState::Unknown;
  } else {
    const OpenCall call = std::move(*open);
    erase(state, open);
    if (call.tool != kNone) {
      if (settled.to == CallState::Committed) {
        change.keep_share(call);
        if (!call.committed && is_live) change.commit(call, &settled);
        else if (!call.committed) change.forbid(call);
      } else if (call.committed) {
        change.note(Code::late_failure, {{"tool", rules.tool(call.tool).name}});
      }
    }
  }
  if (settled.counts_as_error && !was_unknown) change.add_error();
  else if (settled.to == CallState::Committed) state.consecutive_errors = 0;
  return out;
}

void take_label(State& state, const std::string& label) {
  const auto at = std::ranges::lower_bound(state.labels, label);
  if (at == state.labels.end() || *at != label) state.labels.insert(at, label);
}

void take_cancel_request(State& state) { state.cancel_requested = true; }

void take_pause(State& state, const std::string& because) { state.paused_because = because; }

void take_resumption(State& state) { state.paused_because.clear(); }

void take_reopening(State& state) {
  if (state.standing != Standing::Closed) return;
  state.standing = Standing::Open;
  state.ended_because.clear();
}

void take_cost(State& state, const Decimal& cost) { state.cost = state.cost + cost; }

Effects take_end(const Rules& rules, State& state, Standing to, const std::string& because) {
  Effects out;
  Change(rules, state, out).end(to, because);
  return out;
}

}  // namespace baton::session
