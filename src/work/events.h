// SPDX-License-Identifier: Apache-2.0
// What can happen to a work item: the events, and what each does to the item and to the session. A rule gives events, the
// ledger keeps them, and applying them is the only way an item changes; so the same entries give the same items again.
//
// Every payload names its item (`work_id`) and says when (`at`, RFC 3339); what a later rule needs is in the payload. Members
// beyond those listed are kept in the ledger and read by nobody here. A text that is too long for an entry is a reference to a
// blob in the payload (ledger/redaction.h); the item then has `blob:sha256:<digest>` in its place.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "json/document.h"
#include "json/value.h"
#include "work/item.h"

namespace baton::work {

struct Event {
  std::string type;
  json::Value payload = json::Value::object();
};

// On the stream `work/<id>`. Members beside work_id and at:
inline constexpr std::string_view kCreated =
    "work.created";  // title, text?, phase, priority, created_by, depends_on[], open_dependencies[], labels[], author_labels[]? (of the session that wrote it), pr_url?, commit?
inline constexpr std::string_view kClaimed =
    "work.claimed";  // session_id, lease_id, fence, actor_id, actor_kind, agent_id, role, from_phase, phase, ttl (ns), expires_at, superseded? (a session of the same actor), token_id? (what it was claimed with)
inline constexpr std::string_view kRenewed = "work.renewed";    // session_id, fence, expires_at
inline constexpr std::string_view kReleased = "work.released";  // session_id, fence, reason?
inline constexpr std::string_view kExpired =
    "work.lease_expired";  // session_id, fence, expired_at, attempts, phase (the same, or BLOCKED), because?
inline constexpr std::string_view kAbandoned = "work.session_abandoned";  // session_id, fence, attempts, phase, output?
inline constexpr std::string_view kFailed = "work.session_failed";  // session_id, fence, output? : refused too often
inline constexpr std::string_view kParked = "work.parked";          // session_id, fence, waits_for, question, until
inline constexpr std::string_view kAnswered =
    "work.answered";  // session_id, fence, text : the person has acted; the clock goes on: expires_at
inline constexpr std::string_view kParkingLapsed =
    "work.parking_lapsed";  // session_id, fence, because? : nobody acted; BLOCKED
// AgentSessionCompleted, member by member as agent-exit.md lists them: event_id, event_type, timestamp, source, session_id,
// actor_id, work_id, phase_completed, exit_reason, next_phase, pr_url?, evidence_bundle_ref?, notes?; and fence, at, because? (how
// notes begin that are too long for an item).
inline constexpr std::string_view kCompleted = "work.session_completed";
inline constexpr std::string_view kOffered =
    "work.offered";  // session_id, fence, to, until, message_id : the sender's session ends
inline constexpr std::string_view kOfferEnded = "work.offer_ended";  // to, because
inline constexpr std::string_view kPostponed =
    "work.postponed";  // by_ns, until : the clock was set ahead by so much; what is due (first at `until`) is due so much later
inline constexpr std::string_view kUnblocked = "work.unblocked";  // from, phase, note?
inline constexpr std::string_view kAborted = "work.aborted";      // reason, session_id?
inline constexpr std::string_view kCiReported =
    "work.ci_reported";  // check, conclusion, commit?, source (webhook, api, signal), delivery_id?, next_phase (CI_PENDING when more checks are to come); of a signal also event_id, pr_url?, evidence_bundle_ref?, notes?, because?
inline constexpr std::string_view kCommitSeen =
    "work.commit_seen";  // commit : the pull request's head; clears the checks of any other
inline constexpr std::string_view kDependencyDone = "work.dependency_done";  // dependency
inline constexpr std::string_view kDependencyAborted =
    "work.dependency_aborted";  // dependency : it will never be COMPLETED; BLOCKED, unless it is closed
inline constexpr std::string_view kLabelled = "work.labelled";  // labels[] : added

// Where the effect of an event goes.
struct Effect {
  std::optional<Item> item;        // as it is now
  std::optional<Session> session;  // the one the event names, as it is now
  std::optional<Session> superseded;
};

// Is this a type of the list above?
bool is_event(std::string_view type);

// The item and sessions after the event. `item` and `session` are what the store has (nothing: none). A Failure means that the
// payload is not what its type says: the entry cannot be folded.
Result<Effect> apply(std::string_view type, json::Node payload, const std::optional<Item>& item,
                     const std::optional<Session>& session, const std::optional<Session>& superseded);
// Which sessions apply() will want: those the payload names as `session_id` and `superseded`. Empty: none.
struct SessionNames {
  std::string session, superseded;
};
SessionNames sessions_of(json::Node payload);

}  // namespace baton::work
