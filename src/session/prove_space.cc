// SPDX-License-Identifier: Apache-2.0
#include "session/prove_space.h"

#include <algorithm>

#include "contract/reach.h"
#include "session/judge.h"

namespace baton::session {
namespace {

const Fact kSymbol = "1";  // every value: it is a number, it is a scalar, and it equals itself
const std::string kCall = "call";

// Refusals that other values might have escaped.
bool depends_on_values(Code code) {
  return code == Code::binding_mismatch || code == Code::aggregate_violated || code == Code::aggregate_value_invalid ||
         code == Code::envelope_violated || code == Code::envelope_value_invalid || code == Code::entity_missing;
}

void append(std::string& key, std::int64_t number) {
  key += std::to_string(number);
  key.push_back(',');
}

std::string key_of(const State& state) {
  std::string out;
  append(out, state.phase);
  append(out, state.tool_calls);
  for (const auto& [tool, count] : state.calls) append(out, count);
  out.push_back('|');
  for (const Forbidding& one : state.forbidden) append(out, one.tool);
  out.push_back('|');
  for (const Record& record : state.records) out.push_back(record.latest || !record.by_entity.empty() ? '1' : '0');
  for (const Fact& slot : state.slots) out.push_back(is_there(slot) ? '1' : '0');
  for (const Held& held : state.envelopes)
    for (const auto& stage : held.stages) out.push_back(stage ? '1' : '0');
  return out;
}

}  // namespace

Space::Space(std::shared_ptr<const Rules> rules, ToolId counted, bool count_calls)
    : rules_(std::move(rules)), counted_(counted) {
  constexpr std::int64_t kCountedMax = 12;  // more would be a state for each count, and say nothing
  const auto& max_calls = rules_->plan->limits.max_tool_calls;
  counts_calls_ = count_calls && max_calls && *max_calls <= kCountedMax;
  Opening opening;
  const contract::Graph graph(*rules_->plan);
  // What no principal is ever allowed.
  for (ToolId id = 0; id < graph.tools.size(); ++id)
    if (!graph.tools[id].admitted) opening.denied.push_back(id);
  State state = open(*rules_, opening);
  const State before = state;
  keep(std::move(state), before);
}

const std::vector<ToolId>& Space::allowed(Id id) {
  if (!states_[id].is_judged) {
    for (ToolId tool = 0; tool < rules_->plan->tools.size(); ++tool)
      if (is_allowed(states_[id].state, tool)) states_[id].allowed.push_back(tool);
    states_[id].is_judged = true;
  }
  return states_[id].allowed;
}

bool Space::is_allowed(const State& from, ToolId tool) const {
  State state = from;
  // Text may come before any call: as many steps as the tool needs, and no more.
  for (const contract::Precondition& one : rules_->tool(tool).preconditions)
    state.steps = std::max(state.steps, one.steps);
  CallVerdict verdict;
  verdict.facts.assign(rules_->tools[tool].paths.size(), kSymbol);
  const Step step;  // no proposal: what depends on the arguments alone has passed
  Judge(*rules_, state, tool, step, nullptr).all(nullptr, verdict);
  return std::ranges::all_of(verdict.failures, [](const Refusal& one) { return depends_on_values(one.code()); });
}

bool Space::may_begin(Id id, ToolId tool) const {
  // One that is committed when it is allowed does not forbid itself.
  return rules_->tool(tool).commit == contract::Commit::None || forbidden_by(*rules_, state(id), tool) == kNone;
}

State Space::propose(const State& from, ToolId tool) const {
  State out = from;
  TakenCall call;
  call.id = kCall;
  call.tool = tool;
  call.verdict = Verdict::Allow;
  call.facts.assign(rules_->tools[tool].paths.size(), kSymbol);
  take_step(*rules_, out, {{std::move(call)}, std::nullopt});
  if (rules_->tool(tool).commit == contract::Commit::None) {
    // When it is refused as it begins it leaves all counts, and what it did by then stays: it cannot be counted on.
    out.tool_calls = from.tool_calls;
    out.calls = from.calls;
  }
  return out;
}

State Space::commit(const State& from, ToolId tool) const {
  State out = from;
  Settled settled;
  settled.call_id = kCall;
  const ToolRules& rules = rules_->tools[tool];
  settled.binds.assign(rules.binds.size(), kSymbol);
  settled.captures.assign(rules.stages.size(), kSymbol);
  settled.told.assign(rules.told.size(), true);
  take_start(*rules_, out, {kCall, false, std::nullopt, {}});
  take_settlement(*rules_, out, settled);
  return out;
}

Space::Id Space::proposed(Id id, ToolId tool) {
  if (const auto known = states_[id].proposed.find(tool); known != states_[id].proposed.end()) return known->second;
  const State before = states_[id].state;
  const Id out = keep(propose(before, tool), before);
  states_[id].proposed[tool] = out;
  return out;
}

Space::Id Space::held(Id id, ToolId tool) {
  if (const auto known = states_[id].held.find(tool); known != states_[id].held.end()) return known->second;
  const State before = states_[id].state;
  State after = before;
  const State counted = propose(before, tool);
  after.tool_calls = counted.tool_calls;
  after.calls = counted.calls;
  const Id out = keep(std::move(after), before);
  states_[id].held[tool] = out;
  return out;
}

Space::Id Space::called(Id id, ToolId tool) {
  if (const auto known = states_[id].called.find(tool); known != states_[id].called.end()) return known->second;
  const State before = states_[id].state;
  const Id out = keep(commit(propose(before, tool), tool), before);
  states_[id].called[tool] = out;
  return out;
}

Space::Id Space::committed(Id id, ToolId tool) {
  if (const auto known = states_[id].committed.find(tool); known != states_[id].committed.end()) return known->second;
  const State before = states_[id].state;
  State after = commit(propose(before, tool), tool);
  after.tool_calls = before.tool_calls;  // it was counted when it was proposed
  after.calls = before.calls;
  const Id out = keep(std::move(after), before);
  states_[id].committed[tool] = out;
  return out;
}

Space::Id Space::lost(Id id, ToolId tool) {
  if (const auto known = states_[id].lost.find(tool); known != states_[id].lost.end()) return known->second;
  const State before = states_[id].state;
  State after = propose(before, tool);
  Settled settled;
  settled.call_id = kCall;
  settled.to = CallState::Unknown;
  take_start(*rules_, after, {kCall, false, std::nullopt, {}});
  take_settlement(*rules_, after, settled);
  // The call is not kept, so what it forbids is.
  for (ToolId other = 0; other < rules_->plan->tools.size(); ++other)
    if (const ToolId by = forbidden_by(*rules_, after, other); by != kNone) after.forbidden.push_back({other, by, 1});
  const Id out = keep(std::move(after), before);
  states_[id].lost[tool] = out;
  return out;
}

Space::Id Space::unproven(Id id, ToolId tool) {
  if (const auto known = states_[id].unproven.find(tool); known != states_[id].unproven.end()) return known->second;
  const State before = states_[id].state;
  State after = propose(before, tool);
  Settled settled;
  settled.call_id = kCall;
  settled.to = CallState::Failed;
  take_start(*rules_, after, {kCall, false, std::nullopt, {}});
  take_settlement(*rules_, after, settled);
  const Id out = keep(std::move(after), before);
  states_[id].unproven[tool] = out;
  return out;
}

std::vector<ToolId> Space::forbidden(Id id) const {
  std::vector<ToolId> out;
  for (const Forbidding& one : state(id).forbidden) out.push_back(one.tool);
  return out;
}

// One form for all states that allow the same, and never less than was allowed before: what was known, bound or captured of one
// entity may still be so of another.
Space::Id Space::keep(State state, const State& before) {
  state.open.clear();
  state.loop.clear();
  state.steps = 0;
  state.next_number = state.next_group = 1;
  state.consecutive_blocks = state.consecutive_errors = 0;
  for (Total& total : state.totals) total = {};
  std::erase_if(state.calls, [&](const auto& one) { return one.first != counted_; });
  if (!counts_calls_) state.tool_calls = 0;
  // What is forbidden of one entity is not of another.
  std::erase_if(state.forbidden, [](const Forbidding& one) { return one.index != kNone; });
  std::ranges::sort(state.forbidden, {}, &Forbidding::tool);
  const auto same = std::ranges::unique(state.forbidden, {}, &Forbidding::tool);
  state.forbidden.erase(same.begin(), same.end());
  for (Forbidding& one : state.forbidden) one.number = 1;
  for (std::size_t i = 0; i < state.records.size(); ++i) {
    Record& record = state.records[i];
    const Record& earlier = before.records[i];
    if (record.latest && !*record.latest) record.latest = earlier.latest;
    std::erase_if(record.by_entity, [](const auto& one) { return !one.second; });
    for (const auto& [entity, known] : earlier.by_entity)
      if (known) record.by_entity[entity] = true;
  }
  for (std::size_t i = 0; i < state.slots.size(); ++i)
    if (!is_there(state.slots[i])) state.slots[i] = before.slots[i];
  for (std::size_t i = 0; i < state.envelopes.size(); ++i) {
    Held& held = state.envelopes[i];
    held.began_by = 0;
    held.since = 0;
    held.strictest.reset();
    for (std::size_t s = 0; s < held.stages.size(); ++s)
      if (!held.stages[s]) held.stages[s] = before.envelopes[i].stages[s];
  }
  const auto [at, is_new] = ids_.emplace(key_of(state), static_cast<Id>(states_.size()));
  if (is_new) states_.push_back({std::move(state)});
  return at->second;
}

}  // namespace baton::session
