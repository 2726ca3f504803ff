// SPDX-License-Identifier: Apache-2.0
// Inside the engine: what a call adds to an aggregate, and what an envelope holds it to.
#pragma once

#include <optional>
#include <span>
#include <vector>

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

// An earlier call of the same response that goes ahead, or waits.
struct Ahead {
  ToolId tool;
  const std::vector<Fact>* facts;
  const std::string* digest;  // null: not known
};
// What counts beside the call that is judged: all that is open but `left_out`, and what goes ahead of it in its response.
struct Beside {
  std::span<const OpenCall* const> left_out = {};
  std::span<const Ahead> ahead = {};

  bool counts(const OpenCall& call) const;
};

// An aggregate's value over what is committed and what counts beside the call, without copying either; and with more.
class Tally {
 public:
  Tally(const Rules& rules, const State& state, std::uint32_t aggregate, const Beside& beside);

  void add(const Share& share);
  json::Decimal value() const;
  std::int64_t count() const { return count_; }
  const std::optional<json::Decimal>& extreme() const { return extreme_; }  // of max and min
  bool has(const Fact& value) const;                                        // of count_distinct: was it counted?

 private:
  const contract::Aggregate& aggregate_;
  const Total& committed_;
  json::Decimal sum_;
  std::optional<json::Decimal> extreme_;
  std::int64_t count_;
  std::vector<const Fact*> more_;
};

// Its bounds now: what the slots say replaces what it says itself.
contract::Bounds bounds_of(const contract::Aggregate& aggregate, const State& state);

// The tighter of two, as the role wants it: the lowest ceiling, the highest floor.
bool is_monotonic(contract::Constraint constraint);
// Is `left` the stricter of two values that a chain must not pass?
json::Decimal stricter(contract::Constraint constraint, const json::Decimal& left, const json::Decimal& right);

// Where an envelope wants a constrained value of the tool to be now.
struct Corridor {
  bool begins = false;                                 // the call gives the initial value itself: it is held to nothing
  const contract::Stage* missing = nullptr;            // a stage that must have given a value and has not
  std::optional<json::Decimal> least = {}, most = {};  // both included
};
Corridor corridor_of(const Rules& rules, const State& state, ToolId tool, const ToolRules::Stage& at,
                     const Beside& beside);

}  // namespace baton::session
