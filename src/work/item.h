// SPDX-License-Identifier: Apache-2.0
// A work item, the lease on it and the session that holds it: values that rules read (work/rules.h) and events change
// (work/events.h). They are kept as rows of the store; to_json and from_json are that form, the same text for the same value.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "dialects/agent_exit/phase.h"
#include "json/decimal.h"
#include "json/value.h"

namespace baton::work {

using agent_exit::ActorKind;
using agent_exit::Phase;

// The right of one session to work on one item. Issued with a fence that rises with every lease on that item: whatever the
// session writes later carries it, and a stale one is refused.
struct Lease {
  std::string id;
  std::string session_id;
  std::string holder;  // the actor's id
  std::uint64_t fence = 0;
  Time issued_at, expires_at;
  std::int64_t ttl = 0;           // nanoseconds, as issued: what a renewal extends by
  std::optional<Time> parked_at;  // the clock stands still since then, because a person must act
  std::optional<Time> parked_until;

  // Inclusive: at `expires_at` it is over. A parked one ends when the person took too long.
  bool is_over(Time now) const { return now >= deadline(); }
  Time deadline() const { return parked_until ? *parked_until : expires_at; }

  bool operator==(const Lease&) const = default;
};

enum class WaitsFor { Nothing, Input, Approval };
std::string_view waits_for_name(WaitsFor waits);                // "", "input", "approval"
std::optional<WaitsFor> find_waits_for(std::string_view name);  // nothing for ""

// To whom an item is offered alone, until when.
struct Offer {
  std::string to;  // an actor's name or a UAIX id; `role:<name>` a role
  Time until;
  std::string message_id;  // of the packet that offered it

  bool operator==(const Offer&) const = default;
};

struct Item {
  std::string id;
  std::string title, text;
  Phase phase = Phase::Draft;
  std::int32_t priority = 5;  // 0 to 9, 9 the most urgent
  Time created_at, changed_at;
  std::string created_by;
  std::string counts_for;  // the actor whose open items it is counted among; empty: nobody's
  Time waiting_since;      // when it came into its phase: what its age is counted from
  std::vector<std::string> depends_on;
  std::vector<std::string> open_dependencies;  // those not COMPLETED yet
  bool aborted = false;                        // closed for good, in whatever phase

  std::uint64_t fence = 0;  // of the newest lease
  std::optional<Lease> lease;
  std::optional<Offer> offer;
  WaitsFor waits_for = WaitsFor::Nothing;
  std::string question;  // what it waits for, in the agent's words
  std::string answer;    // an operator's, for the session that goes on

  std::optional<Phase> blocked_in;  // the phase it was blocked in
  std::string blocked_because;      // notes, open gaps, a reason
  std::uint32_t attempts = 0;       // sessions that ended without a handoff, since the last one that did
  std::string implementer;          // the actor that completed IMPLEMENTATION, of several the last
  std::vector<std::string>
      earlier_implementers;  // the others: what they did is in it too. Sorted, at most kImplementersMax

  std::string pr_url, repository, evidence_bundle_ref;  // repository: "owner/name", from pr_url
  std::uint64_t pr_number = 0;                          // 0: none
  std::string head_sha;
  std::map<std::string, std::string> checks;  // conclusions of CI for head_sha, by check
  std::string checks_sha;                     // the commit they were reported for, while head_sha is not known

  std::vector<std::string> labels;  // sorted, without repeats
  // Over all sessions of the item, so that ending one does not reset a budget.
  struct Totals {
    std::uint64_t sessions = 0, attempts = 0, calls = 0;
    json::Decimal cost = {};
    bool operator==(const Totals&) const = default;
  } totals;

  bool operator==(const Item&) const = default;

  bool is_done() const { return aborted || phase == Phase::Completed; }

  json::Value to_json() const;  // members in a fixed order; what is empty is left out
  static std::optional<Item> from_json(json::Node node);

  // --- what the store orders items by ---------------------------------------------------------------------------------

  // The queue it waits in: its phase's name when anyone may claim it, `@` and a name when it is offered to that one alone, and
  // empty when nobody can claim it (leased, blocked, waiting for others, closed, with CI).
  std::string queue() const;
  // Smaller is claimed first: priority before age, but a day of waiting outweighs one step of priority, so that nobody waits
  // for ever.
  std::int64_t rank() const;
  // When something becomes due without anyone acting (a lease is over, an offer ends): nanoseconds; INT64_MAX: never.
  std::int64_t deadline() const;
  // "owner/name#12" in lower case, for forges do not tell the cases apart; or empty.
  std::string pull_request() const;
};

// Actors that are remembered to have implemented an item: with so many of them it is a person's to say who reviews it.
inline constexpr std::size_t kImplementersMax = 64;

inline constexpr std::int64_t kPriorityStep = 24 * 3600 * kNanosecondsPerSecond;

enum class SessionState { Open, Paused, Closed, Killed, Abandoned };
std::string_view session_state_name(SessionState state);  // "open", ...
std::optional<SessionState> find_session_state(std::string_view name);

struct Session {
  std::string id;
  std::string work_id;  // empty: a session without a work item
  std::string actor_id;
  ActorKind actor_kind = ActorKind::Agent;
  std::string agent_id;  // issued: `a` and hexadecimal digits; what an agent-contract block must name
  std::string
      token_id;  // of the token it was claimed with: when that is worth nothing, the session is not either; empty: none
  std::string role;
  std::uint64_t fence = 0;
  SessionState state = SessionState::Open;
  std::string ended_because;  // "completed", "lease_expired", "superseded", ...
  Time opened_at;
  std::optional<Time> ended_at;
  std::string plan_status;                   // of its last agent-contract block
  std::uint32_t reports_in_a_row = 0;        // IN_PROGRESS ones
  std::string handoff_digest;                // the idempotency key of the last handoff that was taken; empty: none was
  std::vector<std::string> earlier_digests;  // of those before it, the newest last, at most kEarlierDigestsMax

  // Was the handoff with this key taken?
  bool took(std::string_view key) const;

  bool operator==(const Session&) const = default;

  json::Value to_json() const;
  static std::optional<Session> from_json(json::Node node);
};

// A document that is sent again is answered as it was the first time if it is among the last 32 of its session.
inline constexpr std::size_t kEarlierDigestsMax = 31;

// `owner/name` and number of an https pull-request address (github.com/OWNER/NAME/pull/N, .../merge_requests/N, .../pulls/N);
// nothing when it is none.
struct PullRequest {
  std::string repository;
  std::uint64_t number;
};
std::optional<PullRequest> parse_pull_request(std::string_view url);

// A work id somebody chose: a letter or digit, then up to 63 of letters, digits, `.`, `_`, `-`.
bool is_work_id(std::string_view text);
// A full commit id: 40 or 64 lower-case hexadecimal digits. A shortened one would never equal what a forge reports.
bool is_commit(std::string_view text);
// 1 to 64 bytes without blanks and control characters.
bool is_label(std::string_view text);

}  // namespace baton::work
