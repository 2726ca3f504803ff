// SPDX-License-Identifier: Apache-2.0
// Inside the engine: what a call adds to an aggregate, and what an envelope holds it to.
#pragma once

#include <optional>

#include "session/state.h"

namespace baton::session {

// What one call adds.
struct Share {
  enum Kind : std::uint8_t { Nothing, Invalid, Counted } kind = Nothing;
  json::Decimal number;         // of sum, max and min
  const Fact* value = nullptr;  // of count_distinct
};
// `fact`: the call's value at the aggregate's path; null when it has none.
Share share_of(const contract::Aggregate& aggregate, const Fact* fact);
void add(const contract::Aggregate& aggregate, Total& total, const Share& share);
std::optional<json::Decimal> value_of(const contract::Aggregate& aggregate, const Total& total);  // nothing: of no call

// The share of an open call, by the position of the aggregate in its tool's list.
Share share_of(const Rules& rules, ToolId tool, const std::vector<Fact>& facts, std::uint32_t aggregate);

// Its bounds now: what the slots say replaces what it says itself.
contract::Bounds bounds_of(const contract::Aggregate& aggregate, const State& state);

// The tighter of two, as the role wants it: the lowest ceiling, the highest floor.
bool is_monotonic(contract::Constraint constraint);
// Is `left` the stricter of two values that a chain must not pass?
json::Decimal stricter(contract::Constraint constraint, const json::Decimal& left, const json::Decimal& right);

}  // namespace baton::session
