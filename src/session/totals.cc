// SPDX-License-Identifier: Apache-2.0
#include "session/totals.h"

#include <algorithm>

#include "session/tests.h"

namespace baton::session {

using contract::Aggregate;
using contract::Constraint;
using contract::Metric;
using contract::Role;
using json::Decimal;

Share share_of(const Aggregate& aggregate, const Fact* fact) {
  if (aggregate.metric == Metric::Count) {
    const bool counts = fact == nullptr || (is_there(*fact) && !is_null(*fact));
    return {counts ? Share::Counted : Share::Nothing, {}, nullptr};
  }
  // An aggregate over all tools takes what there is; one that names its tools wants a value of each call.
  if (!is_there(*fact)) return {aggregate.all_tools ? Share::Nothing : Share::Invalid, {}, nullptr};
  if (aggregate.metric == Metric::CountDistinct) return {Share::Counted, {}, fact};
  const auto number = number_of(*fact);
  if (!number) return {Share::Invalid, {}, nullptr};
  return {Share::Counted, *number, nullptr};
}

Share share_of(const Rules& rules, ToolId tool, const std::vector<Fact>& facts, std::uint32_t aggregate) {
  const std::vector<std::uint32_t>& list = rules.tool(tool).aggregates;
  const auto at = std::ranges::find(list, aggregate);
  if (at == list.end()) return {};
  const std::uint32_t fact = rules.tools[tool].aggregates[static_cast<std::size_t>(at - list.begin())];
  return share_of(rules.plan->aggregates[aggregate], fact == kNone ? nullptr : &facts[fact]);
}

void add(const Aggregate& aggregate, Total& total, const Share& share) {
  if (share.kind != Share::Counted) return;
  ++total.count;
  switch (aggregate.metric) {
    case Metric::Count: return;
    case Metric::Sum: total.sum = total.sum + share.number; return;
    case Metric::Max:
      if (!total.extreme || share.number > *total.extreme) total.extreme = share.number;
      return;
    case Metric::Min:
      if (!total.extreme || share.number < *total.extreme) total.extreme = share.number;
      return;
    case Metric::CountDistinct: {
      const auto at = std::ranges::lower_bound(total.distinct, *share.value);
      if (at == total.distinct.end() || *at != *share.value) total.distinct.insert(at, *share.value);
      return;
    }
  }
}

std::optional<json::Decimal> value_of(const Aggregate& aggregate, const Total& total) {
  if (total.count == 0) return std::nullopt;
  switch (aggregate.metric) {
    case Metric::Count: return json::Decimal(total.count);
    case Metric::Sum: return total.sum;
    case Metric::Max:
    case Metric::Min: return total.extreme;
    case Metric::CountDistinct: return json::Decimal(static_cast<std::int64_t>(total.distinct.size()));
  }
  return std::nullopt;
}

bool Beside::counts(const OpenCall& call) const {
  return call.tool != kNone && std::ranges::find(left_out, &call) == left_out.end();
}

Tally::Tally(const Rules& rules, const State& state, std::uint32_t aggregate, const Beside& beside)
    : aggregate_(rules.plan->aggregates[aggregate]),
      committed_(state.totals[aggregate]),
      sum_(committed_.sum),
      extreme_(committed_.extreme),
      count_(committed_.count) {
  for (const OpenCall& call : state.open)
    if (beside.counts(call)) add(share_of(rules, call.tool, call.facts, aggregate));
  for (const Ahead& other : beside.ahead) add(share_of(rules, other.tool, *other.facts, aggregate));
}

void Tally::add(const Share& share) {
  if (share.kind != Share::Counted) return;
  ++count_;
  switch (aggregate_.metric) {
    case Metric::Count: break;
    case Metric::Sum: sum_ = sum_ + share.number; break;
    case Metric::Max:
      if (!extreme_ || share.number > *extreme_) extreme_ = share.number;
      break;
    case Metric::Min:
      if (!extreme_ || share.number < *extreme_) extreme_ = share.number;
      break;
    case Metric::CountDistinct:
      if (!has(*share.value)) more_.push_back(share.value);
      break;
  }
}

bool Tally::has(const Fact& value) const {
  return std::ranges::binary_search(committed_.distinct, value) ||
         std::ranges::any_of(more_, [&](const Fact* one) { return *one == value; });
}

Decimal Tally::value() const {
  switch (aggregate_.metric) {
    case Metric::Count: return Decimal(count_);
    case Metric::Sum: return sum_;
    case Metric::Max:
    case Metric::Min: return extreme_.value_or(Decimal());
    case Metric::CountDistinct: return Decimal(static_cast<std::int64_t>(committed_.distinct.size() + more_.size()));
  }
  return {};
}

contract::Bounds bounds_of(const Aggregate& aggregate, const State& state) {
  contract::Bounds out = aggregate.bounds;
  for (const Aggregate::When& when : aggregate.when) {
    const Fact& slot = state.slots[when.slot];
    const bool holds =
        std::ranges::all_of(when.tests, [&](const contract::Test& test) { return passes(test, slot).value_or(false); });
    if (!holds) continue;
    if (when.then.gte) out.gte = when.then.gte;
    if (when.then.lte) out.lte = when.then.lte;
    break;
  }
  return out;
}

bool is_monotonic(contract::Constraint constraint) {
  return constraint == contract::Constraint::MonotonicDecrease || constraint == contract::Constraint::MonotonicIncrease;
}

json::Decimal stricter(contract::Constraint constraint, const json::Decimal& left, const json::Decimal& right) {
  const bool falls = constraint == contract::Constraint::MonotonicDecrease;
  return falls == (left < right) ? left : right;
}

Corridor corridor_of(const Rules& rules, const State& state, ToolId tool, const ToolRules::Stage& at,
                     const Beside& beside) {
  const contract::Envelope& envelope = rules.plan->envelopes[at.envelope];
  const Held& held = state.envelopes[at.envelope];
  const Constraint constraint = envelope.constraint;
  Corridor out;
  std::optional<Decimal> ceiling, floor, reference;  // the tightest of each
  bool own_initial = false;
  for (std::size_t s = 0; s < envelope.stages.size(); ++s) {
    const contract::Stage& other = envelope.stages[s];
    const auto& value = held.stages[s];
    if (other.role == Role::Constrained) continue;
    if (!value) {
      own_initial = own_initial || (other.role == Role::Initial && other.tool == tool);
      continue;
    }
    if (other.role == Role::Ceiling) ceiling = ceiling ? std::min(*ceiling, *value, std::less<>()) : *value;
    else if (other.role == Role::Floor) floor = floor ? std::max(*floor, *value, std::less<>()) : *value;
    else reference = *value;
  }
  // The first call of a tool that gives the initial value gives it; only later ones are held to it.
  if (own_initial && !reference) {
    out.begins = true;
    return out;
  }
  const auto need = [&](Role role, const std::optional<Decimal>& value) {
    if (value || out.missing != nullptr) return;
    for (const contract::Stage& other : envelope.stages)
      if (other.role == role) out.missing = &other;
  };
  if (constraint == Constraint::LteCeiling || constraint == Constraint::Bounded) {
    need(Role::Ceiling, ceiling);
    out.most = ceiling;
  }
  if (constraint == Constraint::GteFloor || constraint == Constraint::Bounded) {
    need(Role::Floor, floor);
    out.least = floor;
  }
  if (constraint == Constraint::WithinBand) {
    need(Role::Anchor, reference);
    if (!reference) return out;
    const Decimal band = *envelope.band * (*reference < Decimal() ? -*reference : *reference);
    out.least = *reference - band;
    out.most = *reference + band;
  }
  if (is_monotonic(constraint)) {
    need(Role::Initial, reference);
    if (!reference) return out;
    Decimal last = *reference;
    if (held.strictest) last = stricter(constraint, last, *held.strictest);
    const auto take = [&](ToolId other, const std::vector<Fact>& facts) {
      for (const ToolRules::Stage& stage : rules.tools[other].stages)
        if (stage.envelope == at.envelope && envelope.stages[stage.stage].role == Role::Constrained)
          if (const auto number = number_of(facts[stage.fact])) last = stricter(constraint, last, *number);
    };
    // What is not over always counts, and so does what nobody knows the outcome of. What counted as done when it was allowed counts only
    // if that was since the chain began.
    const auto is_of_before = [&](const OpenCall& call) {
      return call.committed && call.state != CallState::Unknown && call.number < held.since;
    };
    for (const OpenCall& call : state.open)
      if (beside.counts(call) && call.number != held.began_by && !is_of_before(call)) take(call.tool, call.facts);
    for (const Ahead& other : beside.ahead) take(other.tool, *other.facts);
    (constraint == Constraint::MonotonicDecrease ? out.most : out.least) = last;
  }
  return out;
}

}  // namespace baton::session
