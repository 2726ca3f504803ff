// SPDX-License-Identifier: Apache-2.0
#include "contract/reach.h"

#include <algorithm>
#include <set>
#include <unordered_set>

namespace baton::contract {
namespace {

// Operations on sets of phases that the broad view may take: a pack of 500 tools and 20 phases needs some thousand.
constexpr std::size_t kReachWorkMax = 4'000'000;

// What may be looked at for each state of the budget of the exact view, on the average.
constexpr std::size_t kWorkPerState = 100;

// The roles whose stages give an envelope its reference.
bool is_reference_of(Constraint constraint, Role role) {
  switch (constraint) {
    case Constraint::LteCeiling: return role == Role::Ceiling;
    case Constraint::GteFloor: return role == Role::Floor;
    case Constraint::Bounded: return role == Role::Ceiling || role == Role::Floor;
    case Constraint::WithinBand: return role == Role::Anchor;
    case Constraint::MonotonicDecrease:
    case Constraint::MonotonicIncrease: return role == Role::Initial;
  }
  return false;
}

}  // namespace

Graph::Graph(const Plan& of)
    : plan(of), phases(std::max<std::size_t>(of.phases.size(), 1)), initial(of.initial.value_or(0)) {
  std::vector<std::vector<ToolId>> binders(plan.slots.size());
  for (ToolId id = 0; id < plan.tools.size(); ++id)
    for (const Bind& bind : plan.tools[id].binds) binders[bind.slot].push_back(id);
  for (ToolId id = 0; id < plan.tools.size(); ++id) {
    const Tool& tool = plan.tools[id];
    Node node;
    bool allowed_by_rule = false;
    for (const std::uint32_t rule : tool.rules) allowed_by_rule = allowed_by_rule || plan.rules[rule].allows;
    node.admitted = tool.passes_gate && (!plan.default_deny || allowed_by_rule || !tool.allow.empty());
    node.domain = PhaseSet(phases);
    if (plan.phases.empty()) node.domain.add(0);
    else
      tool.valid_in.each([&](PhaseId phase) {
        if (!tool.advances_to || plan.is_legal(phase, *tool.advances_to)) node.domain.add(phase);
      });
    for (const Precondition& precondition : tool.preconditions)
      if (precondition.prior) node.needs.push_back({Need::Kind::Prior, {*precondition.prior}, 0});
      else node.steps = std::max(node.steps, precondition.steps);
    // Once max_steps were made, no call is.
    if (plan.limits.max_steps && node.steps >= *plan.limits.max_steps) node.admitted = false;
    for (const Invariant& invariant : tool.arguments)
      if (invariant.ref) node.needs.push_back({Need::Kind::Ref, binders[*invariant.ref], *invariant.ref});
    for (const std::uint32_t index : tool.envelopes) {
      const Envelope& envelope = plan.envelopes[index];
      const bool held = std::ranges::any_of(
          envelope.stages, [&](const Stage& one) { return one.tool == id && one.role == Role::Constrained; });
      if (!held) continue;
      for (const Role role : {Role::Ceiling, Role::Floor, Role::Anchor, Role::Initial}) {
        if (!is_reference_of(envelope.constraint, role)) continue;
        Need need{Need::Kind::Envelope, {}, index, role};
        for (const Stage& stage : envelope.stages)
          if (stage.role == role) need.any_of.push_back(stage.tool);
        // A tool that is both: its first call gives the reference.
        if (std::ranges::find(need.any_of, id) == need.any_of.end()) node.needs.push_back(std::move(need));
      }
    }
    tools.push_back(std::move(node));
  }
}

PhaseId Graph::after(ToolId tool, PhaseId phase) const { return plan.tools[tool].advances_to.value_or(phase); }

// --- the broad view -------------------------------------------------------------------------------------------------------------

Reach reach_of(const Graph& graph) {
  const std::size_t count = graph.tools.size();
  Reach out{PhaseSet(graph.phases), std::vector<PhaseSet>(count, PhaseSet(graph.phases)),
            std::vector<PhaseSet>(count, PhaseSet(graph.phases))};
  std::vector<PhaseSet> moves(graph.phases, PhaseSet(graph.phases));  // by phase: where calls lead from it
  out.phases.add(graph.initial);
  std::size_t work = 0;
  const std::size_t set_work = graph.phases / 64 + 1;

  // Everything that moves lead to from a set.
  const auto close = [&](PhaseSet& set) {
    std::vector<PhaseId> open;
    set.each([&](PhaseId phase) { open.push_back(phase); });
    while (!open.empty()) {
      const PhaseId phase = open.back();
      open.pop_back();
      work += set_work;
      moves[phase].each([&](PhaseId next) {
        if (set.add(next)) open.push_back(next);
      });
    }
  };

  bool changed = true;
  while (changed && out.complete) {
    changed = false;
    bool moved = false;
    for (ToolId id = 0; id < count; ++id) {
      const Graph::Node& tool = graph.tools[id];
      if (!tool.admitted) continue;
      PhaseSet now = tool.domain;
      now.keep(out.phases);
      for (const Graph::Need& need : tool.needs) {
        PhaseSet met(graph.phases);
        for (const ToolId other : need.any_of) met.add(out.since[other]);
        now.keep(met);
        work += set_work * (need.any_of.size() + 1);
      }
      work += set_work * 2;
      if (!out.callable[id].add(now)) continue;
      changed = true;
      now.each([&](PhaseId phase) {
        moved = moves[phase].add(graph.after(id, phase)) || moved;
        out.since[id].add(graph.after(id, phase));
      });
    }
    if (changed) {
      if (moved) close(out.phases);
      for (PhaseSet& since : out.since)
        if (!since.empty()) close(since);
    }
    if (work > kReachWorkMax) out.complete = false;
  }
  return out;
}

// The earliest step in which each tool can be called and each phase be reached, if every other condition is taken as fulfilled as
// soon as it can be: a bound from below.
std::optional<std::size_t> steps_to_end(const Graph& graph) {
  constexpr std::size_t kNever = SIZE_MAX;
  std::vector<std::size_t> calls(graph.tools.size(), kNever), phases(graph.phases, kNever);
  phases[graph.initial] = 0;
  std::size_t work = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (ToolId id = 0; id < graph.tools.size(); ++id) {
      const Graph::Node& tool = graph.tools[id];
      if (!tool.admitted) continue;
      std::size_t before = kNever;
      tool.domain.each([&](PhaseId phase) { before = std::min(before, phases[phase]); });
      if (before != kNever) before = std::max(before, static_cast<std::size_t>(tool.steps));
      for (const Graph::Need& need : tool.needs) {
        std::size_t first = kNever;
        for (const ToolId other : need.any_of) first = std::min(first, calls[other]);
        before = std::max(before, first);
        work += need.any_of.size();
      }
      work += graph.phases;
      if (before == kNever || before + 1 >= calls[id]) continue;
      calls[id] = before + 1;
      changed = true;
      if (const auto to = graph.plan.tools[id].advances_to) phases[*to] = std::min(phases[*to], before + 1);
    }
    if (work > kReachWorkMax) return std::nullopt;
  }
  std::size_t least = kNever;
  for (PhaseId phase = 0; phase < graph.phases; ++phase)
    if (graph.is_terminal(phase)) least = std::min(least, phases[phase]);
  return least == kNever ? std::nullopt : std::optional(least);
}

// --- the exact view -------------------------------------------------------------------------------------------------------------

Walk::Walk(const Graph& graph, const Reach& reach, Forbids forbids, std::size_t states_max, Calls calls)
    : graph_(graph),
      bit_of_(graph.tools.size()),
      forbidden_by_(graph.tools.size()),
      valid_in_(graph.phases),
      first_call_(graph.tools.size()),
      first_in_phase_(graph.phases) {
  const Plan& plan = graph.plan;
  // What matters later: that others need it, that it forbids, that it may be called once.
  std::set<ToolId> matters;
  for (ToolId id = 0; id < graph.tools.size(); ++id) {
    for (const Graph::Need& need : graph.tools[id].needs) matters.insert(need.any_of.begin(), need.any_of.end());
    if (forbids == Forbids::Count)
      for (const ToolId other : plan.tools[id].forbids) {
        matters.insert(id);
        forbidden_by_[other].push_back(id);
      }
    if (const auto limit = plan.limits.max_calls.find(id); limit != plan.limits.max_calls.end() && limit->second == 1)
      matters.insert(id);
    if (graph.tools[id].admitted) graph.tools[id].domain.each([&](PhaseId phase) { valid_in_[phase].push_back(id); });
  }
  std::uint32_t bits = 0;
  for (const ToolId id : matters) bit_of_[id] = bits++;

  // What is still to be met.
  std::size_t wanted = 1;  // an end
  for (ToolId id = 0; id < graph.tools.size(); ++id) wanted += reach.can_call(id) ? 1 : 0;
  reach.phases.each([&](PhaseId) { ++wanted; });

  std::unordered_set<std::string> seen;
  const auto is_new = [&](const State& state) {
    std::string key(reinterpret_cast<const char*>(&state.phase), sizeof state.phase);
    key.append(reinterpret_cast<const char*>(state.done.data()), state.done.size() * sizeof(std::uint64_t));
    return seen.insert(std::move(key)).second;
  };
  // The budget bounds the states, and with them what is looked at on the way: a state has as many ways out as there are
  // tools. Once it is used up no state is gone on from any more; those that were reached still count.
  std::size_t work = 0;
  const std::size_t work_max = states_max * kWorkPerState;
  states_.push_back({graph.initial, std::vector<std::uint64_t>((bits + 63) / 64)});
  if (calls == Calls::Together) make_harmless_calls(states_[0], forbids);
  is_new(states_[0]);
  for (std::uint32_t at = 0; at < states_.size() && wanted != 0; ++at) {
    const PhaseId phase = states_[at].phase;
    if (!first_in_phase_[phase]) {
      first_in_phase_[phase] = at;
      --wanted;
    }
    if (!terminal_ && graph.is_terminal(phase)) {
      terminal_ = at;
      --wanted;
    }
    if (!complete_) continue;
    bool leads_on = false;
    for (const ToolId tool : valid_in_[phase]) {
      work += 1 + graph.tools[tool].needs.size() + forbidden_by_[tool].size();
      if (!can_call(states_[at], tool)) continue;
      if (!first_call_[tool]) {
        first_call_[tool] = at;
        --wanted;
      }
      if (graph.after(tool, phase) == phase && (!bit_of_[tool] || is_done(states_[at], tool))) continue;  // no change
      State next{graph.after(tool, phase), states_[at].done, at, tool};
      work += next.done.size() + 1;
      if (bit_of_[tool]) next.done[*bit_of_[tool] / 64] |= std::uint64_t{1} << (*bit_of_[tool] % 64);
      if (calls == Calls::Together) make_harmless_calls(next, forbids);
      leads_on = true;
      if (!is_new(next)) continue;
      if (states_.size() >= states_max || work > work_max) {
        complete_ = false;
        break;
      }
      states_.push_back(std::move(next));
    }
    if (work > work_max) complete_ = false;
    if (!leads_on && complete_ && !dead_end_ && !graph.is_terminal(phase)) dead_end_ = at;
  }
  // Where everything was met, nothing is left to ask.
  complete_ = complete_ || wanted == 0;
}

void Walk::make_harmless_calls(State& state, Forbids forbids) const {
  const auto& limits = graph_.plan.limits.max_calls;
  for (bool changed = true; changed;) {
    changed = false;
    for (const ToolId tool : valid_in_[state.phase]) {
      if (!bit_of_[tool] || is_done(state, tool) || graph_.after(tool, state.phase) != state.phase) continue;
      if (forbids == Forbids::Count && !graph_.plan.tools[tool].forbids.empty()) continue;
      // One that may be called once, and would lead on from another phase, is kept for that.
      const auto limit = limits.find(tool);
      if (graph_.plan.tools[tool].advances_to && limit != limits.end() && limit->second == 1) continue;
      if (!can_call(state, tool)) continue;
      state.done[*bit_of_[tool] / 64] |= std::uint64_t{1} << (*bit_of_[tool] % 64);
      changed = true;
    }
  }
}

bool Walk::is_done(const State& state, ToolId tool) const {
  return bit_of_[tool] && (state.done[*bit_of_[tool] / 64] >> (*bit_of_[tool] % 64) & 1) != 0;
}

bool Walk::can_call(const State& state, ToolId tool) const {
  for (const Graph::Need& need : graph_.tools[tool].needs)
    if (std::ranges::none_of(need.any_of, [&](ToolId other) { return is_done(state, other); })) return false;
  for (const ToolId by : forbidden_by_[tool])
    if (is_done(state, by)) return false;
  const auto limit = graph_.plan.limits.max_calls.find(tool);
  return limit == graph_.plan.limits.max_calls.end() || limit->second != 1 || !is_done(state, tool);
}

std::vector<std::string> Walk::calls_to(std::uint32_t state) const {
  std::vector<std::string> out;
  for (; state != 0; state = states_[state].from) out.push_back(graph_.plan.tools[states_[state].by].name);
  std::ranges::reverse(out);
  return out;
}

std::optional<std::vector<std::string>> Walk::to_call(ToolId tool) const {
  if (!first_call_[tool]) return std::nullopt;
  std::vector<std::string> out = calls_to(*first_call_[tool]);
  out.push_back(graph_.plan.tools[tool].name);
  return out;
}

std::optional<std::vector<std::string>> Walk::to_phase(PhaseId phase) const {
  if (!first_in_phase_[phase]) return std::nullopt;
  return calls_to(*first_in_phase_[phase]);
}

std::optional<std::vector<std::string>> Walk::to_dead_end() const {
  if (!dead_end_) return std::nullopt;
  return calls_to(*dead_end_);
}

std::optional<std::vector<std::string>> Walk::to_terminal() const {
  if (!terminal_) return std::nullopt;
  return calls_to(*terminal_);
}

std::optional<std::size_t> Walk::steps_to_terminal() const {
  if (!terminal_) return std::nullopt;
  return calls_to(*terminal_).size();
}

}  // namespace baton::contract
