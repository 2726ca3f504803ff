// SPDX-License-Identifier: Apache-2.0
// How many approvals may wait for a decision: of one session, of the whole workspace, of one actor. Pure: a function over counts.
// Who counts is runtime/use_cases/approvals_waiting.cc, in the transaction that asks.
#pragma once

#include <cstdint>
#include <string_view>

#include "workspace/config.h"

namespace baton::runtime {

// Those that wait for a decision now, whatever they are about: calls and content.
struct WaitingApprovals {
  std::uint64_t session = 0, workspace = 0, actor = 0;
};

struct ApprovalRoom {
  std::uint64_t left = 0;              // how many more may wait
  std::string_view scope = "session";  // whose limit that is: `session`, `workspace` or `actor`
  std::uint64_t waiting = 0;           // of that scope, now
};
// `of_actor`: the most that one actor may wait for; 0: no limit.
ApprovalRoom room_for_approvals(const WaitingApprovals& waiting, const workspace::ApprovalLimits& limits,
                                std::uint64_t of_actor);

}  // namespace baton::runtime
