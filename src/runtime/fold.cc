// SPDX-License-Identifier: Apache-2.0
#include "runtime/fold.h"

#include <array>

#include "base/check.h"
#include "json/parse.h"
#include "ledger/keys.h"
#include "runtime/fold_parts.h"
#include "runtime/ledger_events.h"
#include "runtime/session_events.h"
#include "runtime/work_events.h"
#include "runtime/workflow_events.h"
#include "store/rows.h"
#include "store/tables.h"
#include "work/events.h"

namespace baton::runtime {

using store::Row;
namespace tables = store::tables;

tl::unexpected<Failure> malformed(const Event& event, std::string_view what) {
  return failure("folding a " + std::string(event.type) + " entry", "its payload has no " + std::string(what));
}

Result<void> put(store::Transaction& transaction, const store::Table& table, const Row& row) {
  const auto there = transaction.get(table, store::key_of(table, row));
  if (!there) return tl::make_unexpected(there.error());
  return *there ? transaction.update(table, row) : transaction.insert(table, row);
}

namespace {

// One key becomes active or retired; `member` of the payload is its verifier key.
Result<void> put_key(const Event& event, json::Node payload, std::string_view member, std::string_view state,
                     store::Transaction& transaction) {
  const json::Node text = payload[member];
  const auto key = text.is_string() ? ledger::VerifierKey::parse(text.string()) : std::nullopt;
  if (!key) return malformed(event, member);
  return put(transaction, tables::kLedgerKeys, {key->id_text(), key->text(), std::string(state)});
}

Result<void> fold_created(const Event& event, json::Node payload, store::Transaction& transaction) {
  return put_key(event, payload, "key", "active", transaction);
}

Result<void> fold_key_rotated(const Event& event, json::Node payload, store::Transaction& transaction) {
  if (auto old_key = put_key(event, payload, "old_key", "retired", transaction); !old_key) return old_key;
  return put_key(event, payload, "new_key", "active", transaction);
}

Result<void> fold_key_retired(const Event& event, json::Node payload, store::Transaction& transaction) {
  return put_key(event, payload, "key", "retired", transaction);
}

Result<void> fold_witness_added(const Event& event, json::Node payload, store::Transaction& transaction) {
  if (!payload["witness"].is_string()) return malformed(event, "witness");
  return put(transaction, tables::kLedgerWitnesses, {std::string(payload["witness"].string())});
}

Result<void> fold_witness_removed(const Event& event, json::Node payload, store::Transaction& transaction) {
  if (!payload["witness"].is_string()) return malformed(event, "witness");
  return transaction.erase(tables::kLedgerWitnesses, {std::string(payload["witness"].string())});
}

Result<void> fold_blob_erased(const Event& event, json::Node payload, store::Transaction& transaction) {
  if (!payload["sha256"].is_string() || !payload["reason"].is_string()) return malformed(event, "sha256 and reason");
  return put(transaction, tables::kLedgerErasures,
             {std::string(payload["sha256"].string()), std::string(payload["reason"].string())});
}

struct Fold {
  std::string_view type;
  Result<void> (*fold)(const Event&, json::Node payload, store::Transaction&);
};

// Every type that changes a table, beside those of work/events.h, which are one list of their own. A capability adds its own
// here.
constexpr std::array kFolds = {
    Fold{ledger::kCreated, fold_created},
    Fold{ledger::kKeyAdmitted, fold_created},
    Fold{ledger::kKeyRotated, fold_key_rotated},
    Fold{ledger::kKeyRetired, fold_key_retired},
    Fold{kWitnessAdded, fold_witness_added},
    Fold{kWitnessRemoved, fold_witness_removed},
    Fold{kBlobErased, fold_blob_erased},
    Fold{kHandoffAccepted, fold_handoff_accepted},
    Fold{kApiAnswered, fold_answered},
    Fold{kApiForgotten, fold_forgotten},
    Fold{kContextUpdated, fold_context_updated},
    Fold{kUaixMessageSeen, fold_uaix_message_seen},
    Fold{kCiDeliveryTaken, fold_delivery_taken},
    Fold{kProcessRegistered, fold_process_registered},
    Fold{kTokenCreated, fold_token_created},
    Fold{kTokenRevoked, fold_token_revoked},
    Fold{kPackPart, fold_pack_part},
    Fold{kPackActivated, fold_pack_activated},
    Fold{kSessionOpened, fold_session_opened},
    Fold{kSessionStep, fold_session_step},
    Fold{kSessionRuled, fold_session_ruled},
    Fold{kCallStarted, fold_call_started},
    Fold{kCallSettled, fold_call_settled},
    Fold{kSessionLabelled, fold_session_labelled},
    Fold{kSessionCost, fold_session_cost},
    Fold{kSessionCancelRequested, fold_session_cancel_requested},
    Fold{kSessionEnded, fold_session_ended},
    Fold{kSessionReopened, fold_session_reopened},
    Fold{kSessionPaused, fold_session_paused},
    Fold{kSessionResumed, fold_session_resumed},
    Fold{kUnhookedCall, fold_unhooked_call},
    Fold{kSubagentStarted, fold_subagent_started},
    Fold{kSubagentRefused, fold_subagent_refused},
    Fold{kSubagentEnded, fold_subagent_ended},
    Fold{kApprovalRequested, fold_approval_requested},
    Fold{kApprovalMoved, fold_approval_moved},
    Fold{kApprovalEnriched, fold_approval_enriched},
    Fold{kWorkflowStarted, fold_workflow_started},
    Fold{kWorkflowOffered, fold_workflow_offered},
    Fold{kWorkflowClaimed, fold_workflow_claimed},
    Fold{kWorkflowHandoffEnded, fold_workflow_handoff_ended},
    Fold{kWorkflowAbandoned, fold_workflow_abandoned},
    Fold{kWorkflowKilled, fold_workflow_killed},
};

constexpr Fold kWorkFold = {"work.*", fold_work_event};

const Fold* find_fold(std::string_view type) {
  if (work::is_event(type)) return &kWorkFold;
  for (const Fold& fold : kFolds)
    if (fold.type == type) return &fold;
  return nullptr;
}

}  // namespace

bool is_folded(std::string_view type) { return find_fold(type) != nullptr; }

Result<void> fold(const Event& event, store::Transaction& transaction) {
  const Fold* found = find_fold(event.type);
  if (found == nullptr) return {};
  const auto document = json::parse(event.payload);
  if (!document) return failure("folding a " + std::string(event.type) + " entry", "its payload is not JSON");
  return found->fold(event, document->root(), transaction);
}

}  // namespace baton::runtime
