// SPDX-License-Identifier: Apache-2.0
// Every table of a store beside the ledger itself. A capability that needs one adds it here, with a migration that
// makes it (store/migrations.cc) and a fold that fills it.
#pragma once

#include <span>

#include "store/value.h"

namespace baton::store {

namespace tables {

// Keys that may seal this ledger, or once could: key_id, key (a C2SP verifier key), state (`active`, `retired`).
extern const Table kLedgerKeys;

// Second places the newest seal is kept in: witness (a URI).
extern const Table kLedgerWitnesses;

// Blobs whose content was erased: sha256, reason.
extern const Table kLedgerErasures;

// What is too large for an entry, or must be erasable: sha256 (of the stored bytes), bytes (nothing once erased), key
// (of an encrypted one; nothing when plain or erased). Not a projection: entries hold the hash only.
extern const Table kBlobs;

// Work items: work_id, what they are found by (queue, rank, deadline, pull_request, phase: work/item.h says what each is),
// item (JSON).
extern const Table kWorkItems;
extern const Index& kWorkItemsByQueue;        // queue, rank
extern const Index& kWorkItemsByDeadline;     // deadline
extern const Index& kWorkItemsByPullRequest;  // pull_request
extern const Index& kWorkItemsByPhase;        // phase

// Sessions: session_id, work_id, state, session (JSON).
extern const Table kSessions;
extern const Index& kSessionsByWork;  // work_id

// Which items wait for which: depends_on, work_id. Only while they wait.
extern const Table kWorkDependencies;

// Numbers: name, value. `work` is the last of W-1, W-2, ...; `items/ACTOR` how many items that the actor created are not done.
extern const Table kCounters;

// Tokens of actors: token_id, token (JSON, with the hash of its secret).
extern const Table kTokens;

// What was answered to an idempotency key: key (hashed), actor_id, expires_at, request_sha256, answer (JSON).
extern const Table kAnswers;
extern const Index& kAnswersByExpiry;  // expires_at

// Webhook deliveries that were taken: delivery_id (hashed), received_at.
extern const Table kDeliveries;
extern const Index& kDeliveriesByTime;  // received_at

// Processes under which everything is an agent: boot_id, pid, started, session_id.
extern const Table kSupervisedProcesses;

// What agents pass on beside the work: section, version, content (JSON: value, author, session_id, work_id, labels, changed_at).
extern const Table kContextSections;

// UAIX packets that were seen, for the rules about replay: message_id, source_id, idempotency_key, digest, work_id,
// expires_at (when it may be forgotten).
extern const Table kUaixMessages;
extern const Index& kUaixMessagesByKey;     // source_id, idempotency_key
extern const Index& kUaixMessagesByExpiry;  // expires_at

// Contract packs that were activated, in parts: pack (its hash), part (from 0), text (one after another they are the pack as JSON).
extern const Table kPackParts;
// Which pack holds sessions of a role: role, pack, content (JSON: by whom, when).
extern const Table kPackRoles;

// Governed sessions: session_id, standing (`open`, `killed`, `closed`), pack, deadline (when a call that was begun is over without
// anyone saying what became of it), content (JSON: what it was opened with, and its state).
extern const Table kSessionStates;
extern const Index& kSessionStatesByDeadline;  // deadline
extern const Index& kSessionStatesByStanding;  // standing

// What a person is asked, was asked and said: approval_id, state, deadline (when something becomes due without anyone acting),
// session_id, content (JSON).
extern const Table kApprovals;
extern const Index& kApprovalsByState;     // state
extern const Index& kApprovalsByDeadline;  // deadline
extern const Index& kApprovalsBySession;   // session_id

// Workflows: workflow_id, standing (`open`, `killed`), content (JSON: which one, and what is counted over all its sessions).
extern const Table kWorkflows;
// Their sessions: session_id, workflow_id, parent (a session, or empty), content (JSON: role, handoff, standing).
extern const Table kWorkflowMembers;
extern const Index& kWorkflowMembersByWorkflow;  // workflow_id
extern const Index& kWorkflowMembersByParent;    // parent
// Handoffs between them: handoff_id, workflow_id, from_session, stage, to_role, deadline (when an offer is over), content (JSON).
extern const Table kWorkflowHandoffs;
extern const Index& kWorkflowHandoffsByWorkflow;  // workflow_id
extern const Index& kWorkflowHandoffsByFrom;      // from_session
extern const Index& kWorkflowHandoffsByStage;     // stage, to_role
extern const Index& kWorkflowHandoffsByDeadline;  // deadline
// Who holds what: workflow_id, resource (its place in the workflow), value, owner (a session, or empty), content (JSON). Only while
// somebody has to do with it.
extern const Table kWorkflowHolds;
extern const Index& kWorkflowHoldsByOwner;  // owner

// How far each webhook target has been told: target, sequence, owner, owned_until, failures, next_at. Not a projection: it is
// about what was sent, not about what happened.
extern const Table kWebhookCursors;

}  // namespace tables

std::span<const Table* const> all_tables();

}  // namespace baton::store
