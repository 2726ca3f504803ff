// SPDX-License-Identifier: Apache-2.0
// Inside the engine: the shortest sequence of calls after which a call is legal, as far as phases, preconditions, slots, envelopes,
// forbidden tools and limits say. Breadth first over what the rules tell apart: outputs are taken to be as the rules want them, so
// what is found is a way if the tools answer so, and what is not found does not exist.
//
// Tools that the policy, a label or the risk gate keeps from this session are not in it, and nothing is said of them.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "session/state.h"

namespace baton::session {

// How far it is looked: beyond it nobody follows a hint, and an answer must not take long.
inline constexpr std::size_t kRouteCallsMax = 12;
inline constexpr std::size_t kRouteStatesMax = 5'000;

struct RouteTarget {
  ToolId tool = 0;
  std::vector<Fact> facts;                                              // of the call, as ToolRules::paths
  std::vector<SlotId> refill = {};                                      // slots that must be filled anew on the way
  std::vector<std::pair<std::uint32_t, std::uint32_t>> recapture = {};  // envelope and stage, likewise
  std::int64_t responses_before = 0;                                    // that must come between, at the least
};

// What a call of the sequence is about, at one of its paths (an index into ToolRules::paths).
struct RouteEntity {
  std::uint32_t path = 0;
  Fact value;  // empty: any one that nothing is known of, the same in the whole sequence
};

struct RouteStep {
  ToolId tool = kNone;  // kNone: any response, text too
  std::vector<RouteEntity> entities = {};
};

struct Route {
  enum class Status : std::uint8_t { Found, None, NotWithinBounds };
  Status status = Status::None;
  std::vector<RouteStep> steps = {};  // none: it is legal as it is
  std::size_t states = 0;             // looked at
};
Route route_to(const Rules& rules, const State& state, const RouteTarget& target, const Hiding* hiding);

}  // namespace baton::session
