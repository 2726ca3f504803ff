// SPDX-License-Identifier: Apache-2.0
// What operators do with an item.
#include "base/limits.h"
#include "work/phases.h"
#include "work/ruling.h"

namespace baton::work {
namespace {

Ruling closed(const Item& item) {
  return refuse(Code::WORK_CLOSED, {{"work", item.id}, {"problem", item.aborted ? "was aborted" : "is COMPLETED"}});
}

}  // namespace

Ruling unblock(const Item& item, std::optional<Phase> to, std::string_view note, Time now) {
  if (item.aborted) return closed(item);
  if (item.phase != Phase::Blocked)
    return refuse(Code::UNBLOCK_NOT_BLOCKED, {{"work", item.id}, {"phase", agent_exit::phase_name(item.phase)}});
  const Phase blocked_in = item.blocked_in.value_or(Phase::Implementation);
  const Phase phase = to.value_or(rules_of(blocked_in).unblocks_to);
  if (is_final(phase) || is_before(blocked_in, phase))
    return refuse(report(Code::UNBLOCK_PHASE, place_named("/to"),
                         {{"work", item.id},
                          {"blocked_in", agent_exit::phase_name(blocked_in)},
                          {"phase", agent_exit::phase_name(phase)}}));
  if (const std::string problem = note.empty() ? "" : problem_with_text(note); !problem.empty())
    return refuse(bad_field("note", problem));
  return Happens(kUnblocked, item, now)
      .with("from", agent_exit::phase_name(blocked_in))
      .with("phase", agent_exit::phase_name(phase))
      .with_text("note", note);
}

Ruling answer(const Item& item, std::string_view text, Time now) {
  if (item.aborted || item.waits_for == WaitsFor::Nothing)
    return refuse(Code::ANSWER_NOT_ASKED, {{"work", item.id}, {"problem", "it does not wait for a person"}});
  if (!item.lease || !item.lease->parked_at || item.lease->is_over(now))
    return refuse(Code::ANSWER_NOT_ASKED, {{"work", item.id}, {"problem", "it waited too long and is BLOCKED now"}});
  if (const std::string problem = problem_with_text(text); !problem.empty()) return refuse(bad_field("text", problem));
  // The clock goes on with what was left when it stopped.
  const Lease& lease = *item.lease;
  const std::int64_t left = lease.expires_at.nanoseconds - lease.parked_at->nanoseconds;
  return Happens(kAnswered, item, lease, now).with("text", text).with("expires_at", format_time(later(now, left)));
}

Ruling abort(const Item& item, std::string_view reason, Time now) {
  if (item.aborted || item.phase == Phase::Completed) return closed(item);
  return Happens(kAborted, item, now)
      .with("reason", beginning_of(reason, limits::kWorkTextBytesMax))
      .with_text("session_id", item.lease ? item.lease->session_id : "");
}

}  // namespace baton::work
