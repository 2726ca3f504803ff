// SPDX-License-Identifier: Apache-2.0
// The rules of work: who may do what with an item now, and what then happens. Pure: values in, events or refusals out; the
// clock, the ids and the store are the caller's (runtime/). Each rule is a list of checks in the order they are refused
// in, so that the specification can be read in it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "diagnostics/diagnostic.h"
#include "work/events.h"
#include "work/item.h"
#include "work/policy.h"

namespace baton::work {

// Who acts. `names` are further names an offer may be made to: UAIX ids registered to its token.
struct Actor {
  std::string id;
  ActorKind kind = ActorKind::Agent;
  std::vector<std::string> names = {};
};

// What a rule says: refused (nothing happens), or what happens, which may be nothing.
struct Ruling {
  std::vector<Diagnostic> refused;
  std::vector<Event> events;

  bool allowed() const { return refused.empty(); }
};

// --- creating -----------------------------------------------------------------------------------------------------------

struct NewWork {
  std::string id;
  std::string title, text;
  Phase phase = Phase::Draft;  // any but COMPLETED and BLOCKED
  std::int64_t priority = 5;
  std::vector<std::string> depends_on, labels;
  std::string pr_url, commit;
  std::string counts_for = {};  // the actor whose open items it is counted among; empty: nobody's
};
// `dependencies` are the items depends_on names, in that order; nothing where there is none. `there`: the id is taken.
// WORK_ID, WORK_FIELD (title 1..200 characters, text and lists within limits, control characters), WORK_EXISTS, WORK_DEPENDENCY.
Ruling create(const NewWork& asked, bool there, std::span<const std::optional<Item>> dependencies, const Actor& actor,
              Time now);

// --- time ---------------------------------------------------------------------------------------------------------------

// What has become due by now and was not recorded yet: a lease that is over (attempts + 1, BLOCKED when they are exhausted), a
// person who took too long, an offer that ended. Every other rule takes an item that is settled: call this first.
Ruling settle(const Item& item, const Policy& policy, Time now);
// The clock was set ahead by so many nanoseconds since the item changed: what is due at a time is due that much later. Nothing
// happens when nothing is, or when it was not. To be called before settle.
Ruling postpone(const Item& item, std::int64_t by, Time now);

// --- claiming -----------------------------------------------------------------------------------------------------------

struct Claim {
  Actor actor;
  std::string role;        // empty: whatever role the phase has
  std::string session_id;  // the new session's
  std::string lease_id, agent_id;
  std::int64_t ttl = 0;                 // nanoseconds; 0: the policy's
  std::string present_session;          // the session whose token the caller carries; empty: none
  std::string token_id = {};            // of the token it is claimed with; empty: none was presented
  std::vector<std::string> roles = {};  // that the caller may take; empty: any
};
// May this phase be claimed at all? DRAFT, IMPLEMENTATION, READY_FOR_REVIEW, REVIEW, READY_FOR_MERGE.
bool is_claimable(Phase phase);
// Claims an item. Its own session gets its lease back (no events). Another session of the same actor takes over (fence + 1),
// and waits for the person that was asked, when one was.
// WORK_CLOSED, CLAIM_PHASE, CLAIM_WAITS, CLAIM_HELD, CLAIM_OFFERED, CLAIM_ROLE, CLAIM_OPERATOR_ONLY, CLAIM_SAME_ACTOR, LEASE_TTL.
Ruling claim(const Item& item, const Claim& asked, const Policy& policy, Time now);

// The queues a claimer looks in, when it asks for the next item: `@name` for each of its names and its role first, then each phase
// that was asked for (none: all) and that its role takes.
std::vector<std::string> queues_for(const Actor& actor, std::string_view role, std::span<const Phase> phases,
                                    const Policy& policy);

// --- what the holder does -------------------------------------------------------------------------------------------------

// Does this session hold the item's lease now? LEASE_STALE when not: closed, another fence, expired. `code` is EXIT_LEASE for
// handoffs.
std::vector<Diagnostic> check_lease(const Item& item, const Session& session, Time now, Code code);

// LEASE_STALE, LEASE_NOT_EXTENDED (the new end must be later), LEASE_TTL. ttl 0: as issued. A parked lease is not renewed: LEASE_PARKED.
Ruling renew(const Item& item, const Session& session, std::int64_t ttl, const Policy& policy, Time now);
// LEASE_STALE, LEASE_PARKED.
Ruling release(const Item& item, const Session& session, std::string_view reason, Time now);
// The process ended without a handoff: attempts + 1, BLOCKED when exhausted, with the end of its output as notes. Of a session that
// waits for a person nothing happens: it has said why it stopped.
Ruling abandon(const Item& item, const Session& session, std::string_view output, const Policy& policy, Time now);
// Of a session that waits for a person, and cannot go on whatever the answer is: BLOCKED, with the question, as when nobody acts in
// time. Nothing when it is not parked.
Ruling give_up_waiting(const Item& item, const Session& session, std::string_view because, Time now);
// Its handoffs were refused too often: BLOCKED, with the last text.
Ruling fail(const Item& item, const Session& session, std::string_view text, Time now);

// --- handoffs -------------------------------------------------------------------------------------------------------------

// What a handoff of any dialect asks of the item.
struct Exit {
  std::optional<Phase> phase_completed;  // agent-exit states it; nothing: the item's phase is meant
  agent_exit::Reason reason = agent_exit::Reason::Completed;
  std::string event_id;  // of the AgentSessionCompleted
  std::string source = "agent_exit_protocol";
  std::string pr_url, evidence_bundle_ref, notes;  // empty: absent
};
// A session hands over: EXIT_LEASE, EXIT_NO_ACTIVE_PHASE, EXIT_TERMINAL, EXIT_PHASE_MISMATCH, EXIT_CI_ACTOR. Gives kCompleted.
Ruling exit(const Item& item, const Session& session, const Actor& actor, const Exit& asked, Time now);
// CI completes CI_PENDING without a session: the actor's kind must be `ci`. Gives kCiReported, source `signal`. WORK_CLOSED,
// EXIT_LEASE (any other phase needs one), EXIT_TERMINAL, EXIT_PHASE_MISMATCH, EXIT_CI_ACTOR, EXIT_CI_CHECKS (a signal names no
// check, so that it is not what makes a required one green).
Ruling exit_as_ci(const Item& item, const Actor& actor, const Exit& asked, const Policy& policy, Time now);
// NEEDS_INPUT or APPROVAL_REQUEST: the lease's clock stops. EXIT_LEASE, LEASE_PARKED. A long question is cut.
Ruling park(const Item& item, const Session& session, WaitsFor waits_for, std::string_view question,
            const Policy& policy, Time now);
// A UAIX handoff: offered to one party until a time, at most as long as a person may be waited for (max_parked), then to anyone.
// The sender's session ends. EXIT_LEASE, LEASE_PARKED, WORK_FIELD.
Ruling offer(const Item& item, const Session& session, const Offer& offer, const Policy& policy, Time now);

// Labels that the item gets beside its own; nothing happens when it has them all. WORK_FIELD when they would be more than an item
// may have: whatever brings them cannot come to it.
Ruling add_labels(const Item& item, std::vector<std::string> labels, Time now);

// --- what people do -------------------------------------------------------------------------------------------------------

// Back into work. No `to`: where it was blocked, but IMPLEMENTATION for CI_PENDING and what comes after. `to` is that phase's or an
// earlier one that is not final. WORK_CLOSED, UNBLOCK_NOT_BLOCKED, UNBLOCK_PHASE, WORK_FIELD (the note).
Ruling unblock(const Item& item, std::optional<Phase> to, std::string_view note, Time now);
// ANSWER_NOT_ASKED, WORK_FIELD (the text).
Ruling answer(const Item& item, std::string_view text, Time now);
// WORK_CLOSED when it is COMPLETED or aborted already. Whoever waits for it is told by kDependencyAborted: the caller's to record.
Ruling abort(const Item& item, std::string_view reason, Time now);

// --- CI -------------------------------------------------------------------------------------------------------------------

struct CiReport {
  std::string check;        // the check's, run's or suite's name; empty for `baton work ci` without one
  std::string kind;         // "workflow_run", "check_suite", "check_run", "api"
  std::string conclusion;   // "success", "failure", ...
  std::string commit;       // empty: not stated
  std::string delivery_id;  // empty: none
};
// What a report does. `ignored` says why it changes nothing (CiIgnored): not in CI_PENDING, another commit, not a required check, only
// a part of what is required is ambiguous, ... ; then there are no events.
struct CiRuling {
  std::string ignored;
  std::vector<Event> events;
};
CiRuling report_ci(const Item& item, const CiReport& report, const Policy& policy, Time now);
// The first pull_request event or --commit sets the head; while the item is still implemented a later one replaces it. WORK_FIELD
// when it is no full commit id; no events when it changes nothing.
Ruling see_commit(const Item& item, std::string_view commit, Time now);

}  // namespace baton::work
