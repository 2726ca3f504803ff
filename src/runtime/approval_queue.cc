// SPDX-License-Identifier: Apache-2.0
#include "runtime/approval_queue.h"

namespace baton::runtime {

ApprovalRoom room_for_approvals(const WaitingApprovals& waiting, const workspace::ApprovalLimits& limits,
                                std::uint64_t of_actor) {
  const auto room = [](std::string_view scope, std::uint64_t there, std::uint64_t most) {
    return ApprovalRoom{there < most ? most - there : 0, scope, there};
  };
  ApprovalRoom least = room("session", waiting.session, limits.per_session);
  if (of_actor != 0)
    if (const ApprovalRoom actor = room("actor", waiting.actor, of_actor); actor.left < least.left) least = actor;
  if (const ApprovalRoom all = room("workspace", waiting.workspace, limits.per_workspace); all.left < least.left)
    least = all;
  return least;
}

}  // namespace baton::runtime
