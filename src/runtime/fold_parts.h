// SPDX-License-Identifier: Apache-2.0
// Inside the fold: what its parts have in common, and the parts. One function for each group of entry types (fold.cc has the
// table).
#pragma once

#include <string_view>

#include "base/result.h"
#include "json/document.h"
#include "runtime/fold.h"
#include "runtime/session_rows.h"
#include "store/store.h"
#include "workflow/follow.h"

namespace baton::runtime {

tl::unexpected<Failure> malformed(const Event& event, std::string_view what);

// Inserts the row, or replaces the one with its key.
Result<void> put(store::Transaction& transaction, const store::Table& table, const store::Row& row);

// fold_work.cc: every type of work/events.h, and what else changes items and sessions.
Result<void> fold_work_event(const Event& event, json::Node payload, store::Transaction& transaction);
Result<void> fold_handoff_accepted(const Event& event, json::Node payload, store::Transaction& transaction);
Result<void> fold_uaix_message_seen(const Event& event, json::Node payload, store::Transaction& transaction);
Result<void> fold_process_registered(const Event& event, json::Node payload, store::Transaction& transaction);
Result<void> fold_delivery_taken(const Event& event, json::Node payload, store::Transaction& transaction);

// fold_context.cc
Result<void> fold_context_updated(const Event& event, json::Node payload, store::Transaction& transaction);

// fold_tokens.cc: tokens and answers.
Result<void> fold_token_created(const Event& event, json::Node payload, store::Transaction& transaction);
Result<void> fold_token_revoked(const Event& event, json::Node payload, store::Transaction& transaction);
Result<void> fold_answered(const Event& event, json::Node payload, store::Transaction& transaction);
Result<void> fold_forgotten(const Event& event, json::Node payload, store::Transaction& transaction);

// fold_sessions.cc: packs, governed sessions, approvals.
Result<void> fold_pack_part(const Event& event, json::Node payload, store::Transaction& transaction);
Result<void> fold_pack_activated(const Event& event, json::Node payload, store::Transaction& transaction);
Result<void> fold_session_opened(const Event& event, json::Node payload, store::Transaction& transaction);
Result<void> fold_session_step(const Event& event, json::Node payload, store::Transaction& transaction);
Result<void> fold_session_ruled(const Event& event, json::Node payload, store::Transaction& transaction);
Result<void> fold_call_started(const Event& event, json::Node payload, store::Transaction& transaction);
Result<void> fold_call_settled(const Event& event, json::Node payload, store::Transaction& transaction);
Result<void> fold_session_labelled(const Event& event, json::Node payload, store::Transaction& transaction);
Result<void> fold_session_cost(const Event& event, json::Node payload, store::Transaction& transaction);
Result<void> fold_session_cancel_requested(const Event& event, json::Node payload, store::Transaction& transaction);
Result<void> fold_session_ended(const Event& event, json::Node payload, store::Transaction& transaction);
Result<void> fold_session_reopened(const Event& event, json::Node payload, store::Transaction& transaction);
Result<void> fold_session_paused(const Event& event, json::Node payload, store::Transaction& transaction);
Result<void> fold_session_resumed(const Event& event, json::Node payload, store::Transaction& transaction);
Result<void> fold_unhooked_call(const Event& event, json::Node payload, store::Transaction& transaction);
Result<void> fold_subagent_started(const Event& event, json::Node payload, store::Transaction& transaction);
Result<void> fold_subagent_refused(const Event& event, json::Node payload, store::Transaction& transaction);
Result<void> fold_subagent_ended(const Event& event, json::Node payload, store::Transaction& transaction);
Result<void> fold_approval_requested(const Event& event, json::Node payload, store::Transaction& transaction);
Result<void> fold_approval_moved(const Event& event, json::Node payload, store::Transaction& transaction);
Result<void> fold_approval_enriched(const Event& event, json::Node payload, store::Transaction& transaction);

// fold_workflows.cc
Result<void> fold_workflow_started(const Event& event, json::Node payload, store::Transaction& transaction);
Result<void> fold_workflow_offered(const Event& event, json::Node payload, store::Transaction& transaction);
Result<void> fold_workflow_claimed(const Event& event, json::Node payload, store::Transaction& transaction);
Result<void> fold_workflow_handoff_ended(const Event& event, json::Node payload, store::Transaction& transaction);
Result<void> fold_workflow_abandoned(const Event& event, json::Node payload, store::Transaction& transaction);
Result<void> fold_workflow_killed(const Event& event, json::Node payload, store::Transaction& transaction);
// A session of a workflow begins; and one has changed, which others may feel.
Result<void> add_member(const Event& event, json::Node payload, const GovernedSession& session,
                        store::Transaction& transaction);
Result<void> follow_session(const Event& event, const GovernedSession& session, const workflow::Footprint& before,
                            const workflow::Turn& turn, store::Transaction& transaction);

}  // namespace baton::runtime
