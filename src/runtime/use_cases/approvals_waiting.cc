// SPDX-License-Identifier: Apache-2.0
// How many more approvals may wait, counted in the transaction that asks for one.
#include <algorithm>

#include "runtime/use_cases/govern.h"
#include "store/tables.h"

namespace baton::runtime {
namespace {

namespace tables = store::tables;

// Rows beside those that count: approvals whose time is over and that the sweep has not come to yet.
constexpr std::size_t kOverdueMax = 1024;

// On PostgreSQL two nodes could count at the same moment, and each ask for the last place. So whoever counts holds rows that every
// ledger has, its keys, until the commit; the count after that sees what the other one committed. Stores in a folder have one writer.
Result<void> hold_the_queue(Act& act) {
  return act.unit.find({.table = tables::kLedgerKeys}, store::Lock::Wait, [](const store::Row&) { return true; });
}

// Calls `take` for each approval that waits for a decision now, until it returns false. False: there were more than could be read.
Result<bool> for_waiting(Act& act, std::size_t rows_max, const std::function<bool(const store::Row&)>& take) {
  std::size_t seen = 0;
  std::optional<Failure> problem;
  auto found = act.unit.find({.table = tables::kApprovals,
                              .index = &tables::kApprovalsByState,
                              .equal = {std::string(name_of(ApprovalState::Pending))},
                              .limit = rows_max},
                             store::Lock::None, [&](const store::Row& row) {
                               ++seen;
                               // Only where the clock was set ahead is one still open whose time looks over.
                               if (number_at(row, 2) <= act.now.nanoseconds) {
                                 const auto approval = read_approval(row);
                                 if (!approval) problem = approval.error();
                                 if (problem) return false;
                                 if (!waits_for_decision(act, *approval)) return true;
                               }
                               return take(row);
                             });
  if (!found) return tl::make_unexpected(found.error());
  if (problem) return tl::make_unexpected(*problem);
  return seen < rows_max;
}

}  // namespace

Result<ApprovalRoom> approval_room(Act& act, const std::string& session_id, std::string_view asker) {
  if (auto held = hold_the_queue(act); !held) return tl::make_unexpected(held.error());
  const workspace::ApprovalLimits& limits = act.engine.config.approvals;
  const std::uint64_t of_actor = is_exempt(act.caller()) ? 0 : act.engine.config.limits.per_actor.approvals;
  const std::size_t rows_max = limits.per_workspace + kOverdueMax;
  WaitingApprovals waiting;
  const auto whole = for_waiting(act, rows_max, [&](const store::Row& row) {
    ++waiting.workspace;
    if (text_at(row, 3) == session_id) ++waiting.session;
    return true;
  });
  if (!whole) return tl::make_unexpected(whole.error());
  if (!*whole) waiting.workspace = std::max(waiting.workspace, limits.per_workspace);
  // Whose they are is known only by reading them: where there are too few for the limit, they are not read.
  if (of_actor != 0 && waiting.workspace >= of_actor) {
    std::optional<Failure> problem;
    const auto counted = for_waiting(act, rows_max, [&](const store::Row& row) {
      const auto approval = read_approval(row);
      if (!approval) problem = approval.error();
      else if (approval->requested_by == asker) ++waiting.actor;
      return approval.has_value() && waiting.actor < of_actor;
    });
    if (!counted) return tl::make_unexpected(counted.error());
    if (problem) return tl::make_unexpected(*problem);
  }
  return room_for_approvals(waiting, limits, of_actor);
}

Result<std::optional<Approval>> waiting_for(Act& act, const Approval& approval) {
  std::optional<Approval> same;
  std::optional<Failure> problem;
  const auto whole = for_waiting(act, SIZE_MAX, [&](const store::Row& row) {
    if (text_at(row, 3) != approval.session_id) return true;
    auto other = read_approval(row);
    if (!other) problem = other.error();
    else if (other->kind == approval.kind && other->digest == approval.digest) same = std::move(*other);
    return !problem && !same;
  });
  if (!whole) return tl::make_unexpected(whole.error());
  if (problem) return tl::make_unexpected(*problem);
  if (!same) return same;
  return approval_of(act, same->id);  // read again, this time to be changed
}

}  // namespace baton::runtime
