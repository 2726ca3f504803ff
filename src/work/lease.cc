// SPDX-License-Identifier: Apache-2.0
// How a lease is kept and how it ends without a handoff.
#include "base/limits.h"
#include "work/phases.h"
#include "work/ruling.h"

namespace baton::work {
namespace {

// One more session ended without a handoff: where that leaves the item.
struct Attempt {
  std::uint32_t attempts;
  Phase phase;

  bool exhausted() const { return phase == Phase::Blocked; }
};
Attempt count_attempt(const Item& item, const Policy& policy) {
  const std::uint32_t attempts = item.attempts + 1;
  return {attempts, attempts >= policy.max_attempts ? Phase::Blocked : item.phase};
}

Ruling expire(const Item& item, const Policy& policy, Time now) {
  const Attempt attempt = count_attempt(item, policy);
  // The lease ended when it said it would, whenever that is noticed.
  return Happens(kExpired, item, *item.lease, now)
      .with("expired_at", format_time(item.lease->expires_at))
      .with("attempts", attempt.attempts)
      .with("phase", agent_exit::phase_name(attempt.phase))
      .with_text("because",
                 attempt.exhausted() ? "the lease expired " + std::to_string(attempt.attempts) + " times" : "");
}

// Why a session does not hold an item's lease; empty when it does.
std::string_view why_stale(const Item& item, const Session& session, Time now) {
  if (session.work_id != item.id) return "the session is not one of this item's";
  if (session.state == SessionState::Killed) return "the session was ended";
  if (session.state != SessionState::Open && session.state != SessionState::Paused) return "the session is closed";
  if (!item.lease) return "nobody holds it";
  if (item.lease->session_id != session.id || item.lease->fence != session.fence)
    return "another session holds it by now";
  if (item.lease->is_over(now)) return "it is over";
  return "";
}

}  // namespace

Ruling settle(const Item& item, const Policy& policy, Time now) {
  if (item.lease && item.lease->is_over(now))
    return item.lease->parked_until ? Ruling(Happens(kParkingLapsed, item, *item.lease, now))
                                    : expire(item, policy, now);
  if (item.offer && now >= item.offer->until)
    return Happens(kOfferEnded, item, now).with("to", item.offer->to).with("because", "its time is over");
  return {};
}

Ruling postpone(const Item& item, std::int64_t by, Time now) {
  if (by <= 0 || item.deadline() == INT64_MAX) return {};
  return Happens(kPostponed, item, now).with("by_ns", by).with("until", format_time(later({item.deadline()}, by)));
}

std::vector<Diagnostic> check_lease(const Item& item, const Session& session, Time now, Code code) {
  const std::string_view problem = why_stale(item, session, now);
  if (problem.empty()) return {};
  return {report(code, {}, {{"work", item.id}, {"problem", problem}})};
}

Ruling renew(const Item& item, const Session& session, std::int64_t ttl, const Policy& policy, Time now) {
  if (auto refused = check_lease(item, session, now, Code::LEASE_STALE); !refused.empty()) return {refused, {}};
  const Lease& lease = *item.lease;
  if (lease.parked_until)
    return refuse(Code::LEASE_PARKED, {{"work", item.id}, {"waits_for", waits_for_name(item.waits_for)}});
  if (auto refused = check_lease_ttl(ttl, policy)) return refuse(std::move(*refused));
  const Time until = later(now, ttl == 0 ? lease.ttl : ttl);
  if (until <= lease.expires_at)
    return refuse(Code::LEASE_NOT_EXTENDED,
                  {{"until", format_time(until)}, {"expires_at", format_time(lease.expires_at)}});
  return Happens(kRenewed, item, lease, now).with("expires_at", format_time(until));
}

Ruling release(const Item& item, const Session& session, std::string_view reason, Time now) {
  if (auto refused = check_lease(item, session, now, Code::LEASE_STALE); !refused.empty()) return {refused, {}};
  // The question would be gone with it, and whoever came next would go on as if nobody had asked.
  if (item.lease->parked_until)
    return refuse(Code::LEASE_PARKED, {{"work", item.id}, {"waits_for", waits_for_name(item.waits_for)}});
  return Happens(kReleased, item, *item.lease, now)
      .with_text("reason", beginning_of(reason, limits::kWorkTextBytesMax));
}

Ruling abandon(const Item& item, const Session& session, std::string_view output, const Policy& policy, Time now) {
  if (auto refused = check_lease(item, session, now, Code::LEASE_STALE); !refused.empty()) return {refused, {}};
  // A session that waits for a person has said so; its process need not live until the answer comes.
  if (item.lease->parked_until) return {};
  const Attempt attempt = count_attempt(item, policy);
  return Happens(kAbandoned, item, *item.lease, now)
      .with("attempts", attempt.attempts)
      .with("phase", agent_exit::phase_name(attempt.phase))
      .with_text("output", end_of(output, limits::kWorkOutputBytesMax));
}

Ruling give_up_waiting(const Item& item, const Session& session, std::string_view because, Time now) {
  if (auto refused = check_lease(item, session, now, Code::LEASE_STALE); !refused.empty()) return {refused, {}};
  if (!item.lease->parked_until) return {};
  return Happens(kParkingLapsed, item, *item.lease, now).with("because", because);
}

Ruling fail(const Item& item, const Session& session, std::string_view text, Time now) {
  if (auto refused = check_lease(item, session, now, Code::LEASE_STALE); !refused.empty()) return {refused, {}};
  return Happens(kFailed, item, *item.lease, now).with_text("output", end_of(text, limits::kWorkOutputBytesMax));
}

}  // namespace baton::work
