// SPDX-License-Identifier: Apache-2.0
#include "session/totals.h"

#include <algorithm>

#include "session/tests.h"

namespace baton::session {

using contract::Aggregate;
using contract::Metric;

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

}  // namespace baton::session
