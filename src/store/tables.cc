// SPDX-License-Identifier: Apache-2.0
#include "store/tables.h"

#include <array>

namespace baton::store {
namespace tables {
namespace {

constexpr std::array kLedgerKeysColumns = {Column{"key_id", Type::Text}, Column{"key", Type::Text},
                                           Column{"state", Type::Text}};
constexpr std::array kLedgerWitnessesColumns = {Column{"witness", Type::Text}};
constexpr std::array kLedgerErasuresColumns = {Column{"sha256", Type::Text}, Column{"reason", Type::Text}};
constexpr std::array kBlobsColumns = {Column{"sha256", Type::Text}, Column{"bytes", Type::Bytes, true},
                                      Column{"key", Type::Bytes, true}};

constexpr std::array kWorkItemsColumns = {Column{"work_id", Type::Text},      Column{"queue", Type::Text},
                                          Column{"rank", Type::Integer},      Column{"deadline", Type::Integer},
                                          Column{"pull_request", Type::Text}, Column{"phase", Type::Text},
                                          Column{"item", Type::Text}};
constexpr std::size_t kByQueue[] = {1, 2}, kByDeadline[] = {3}, kByPullRequest[] = {4}, kByPhase[] = {5};
constexpr std::array kWorkItemsIndexes = {
    Index{"work_items_by_queue", kByQueue}, Index{"work_items_by_deadline", kByDeadline},
    Index{"work_items_by_pull_request", kByPullRequest}, Index{"work_items_by_phase", kByPhase}};

constexpr std::array kSessionsColumns = {Column{"session_id", Type::Text}, Column{"work_id", Type::Text},
                                         Column{"state", Type::Text}, Column{"session", Type::Text}};
constexpr std::size_t kByWork[] = {1};
constexpr std::array kSessionsIndexes = {Index{"sessions_by_work", kByWork}};

constexpr std::array kWorkDependenciesColumns = {Column{"depends_on", Type::Text}, Column{"work_id", Type::Text}};
constexpr std::array kCountersColumns = {Column{"name", Type::Text}, Column{"value", Type::Integer}};
constexpr std::array kTokensColumns = {Column{"token_id", Type::Text}, Column{"token", Type::Text}};

constexpr std::array kAnswersColumns = {Column{"key", Type::Text}, Column{"actor_id", Type::Text},
                                        Column{"expires_at", Type::Integer}, Column{"request_sha256", Type::Text},
                                        Column{"answer", Type::Text}};
constexpr std::size_t kAnswersExpiry[] = {2};
constexpr std::array kAnswersIndexes = {Index{"answers_by_expiry", kAnswersExpiry}};

constexpr std::array kDeliveriesColumns = {Column{"delivery_id", Type::Text}, Column{"received_at", Type::Integer}};
constexpr std::size_t kDeliveriesTime[] = {1};
constexpr std::array kDeliveriesIndexes = {Index{"deliveries_by_time", kDeliveriesTime}};

constexpr std::array kSupervisedProcessesColumns = {Column{"boot_id", Type::Text}, Column{"pid", Type::Integer},
                                                    Column{"started", Type::Integer}, Column{"session_id", Type::Text}};
constexpr std::array kContextSectionsColumns = {Column{"section", Type::Text}, Column{"version", Type::Integer},
                                                Column{"content", Type::Text}};

constexpr std::array kUaixMessagesColumns = {
    Column{"message_id", Type::Text}, Column{"source_id", Type::Text}, Column{"idempotency_key", Type::Text},
    Column{"digest", Type::Text},     Column{"work_id", Type::Text},   Column{"expires_at", Type::Integer}};
constexpr std::size_t kUaixKey[] = {1, 2}, kUaixExpiry[] = {5};
constexpr std::array kUaixMessagesIndexes = {Index{"uaix_messages_by_key", kUaixKey},
                                             Index{"uaix_messages_by_expiry", kUaixExpiry}};

constexpr std::array kPackPartsColumns = {Column{"pack", Type::Text}, Column{"part", Type::Integer},
                                          Column{"text", Type::Text}};
constexpr std::array kPackRolesColumns = {Column{"role", Type::Text}, Column{"pack", Type::Text},
                                          Column{"content", Type::Text}};
constexpr std::array kSessionStatesColumns = {Column{"session_id", Type::Text}, Column{"standing", Type::Text},
                                              Column{"pack", Type::Text}, Column{"deadline", Type::Integer},
                                              Column{"content", Type::Text}};
constexpr std::size_t kByStanding[] = {1}, kByCallDeadline[] = {3};
constexpr std::array kSessionStatesIndexes = {Index{"session_states_by_standing", kByStanding},
                                              Index{"session_states_by_deadline", kByCallDeadline}};
constexpr std::array kApprovalsColumns = {Column{"approval_id", Type::Text}, Column{"state", Type::Text},
                                          Column{"deadline", Type::Integer}, Column{"session_id", Type::Text},
                                          Column{"content", Type::Text}};
constexpr std::size_t kApprovalState[] = {1}, kApprovalDeadline[] = {2}, kApprovalSession[] = {3};
constexpr std::array kApprovalsIndexes = {Index{"approvals_by_state", kApprovalState},
                                          Index{"approvals_by_deadline", kApprovalDeadline},
                                          Index{"approvals_by_session", kApprovalSession}};

constexpr std::array kWorkflowsColumns = {Column{"workflow_id", Type::Text}, Column{"standing", Type::Text},
                                          Column{"content", Type::Text}};
constexpr std::array kWorkflowMembersColumns = {Column{"session_id", Type::Text}, Column{"workflow_id", Type::Text},
                                                Column{"parent", Type::Text}, Column{"content", Type::Text}};
constexpr std::size_t kMemberWorkflow[] = {1}, kMemberParent[] = {2};
constexpr std::array kWorkflowMembersIndexes = {Index{"workflow_members_by_workflow", kMemberWorkflow},
                                                Index{"workflow_members_by_parent", kMemberParent}};
constexpr std::array kWorkflowHandoffsColumns = {Column{"handoff_id", Type::Text},   Column{"workflow_id", Type::Text},
                                                 Column{"from_session", Type::Text}, Column{"stage", Type::Text},
                                                 Column{"to_role", Type::Text},      Column{"deadline", Type::Integer},
                                                 Column{"content", Type::Text}};
constexpr std::size_t kHandoffWorkflow[] = {1}, kHandoffFrom[] = {2}, kHandoffStage[] = {3, 4},
                      kHandoffDeadline[] = {5};
constexpr std::array kWorkflowHandoffsIndexes = {
    Index{"workflow_handoffs_by_workflow", kHandoffWorkflow}, Index{"workflow_handoffs_by_from", kHandoffFrom},
    Index{"workflow_handoffs_by_stage", kHandoffStage}, Index{"workflow_handoffs_by_deadline", kHandoffDeadline}};
constexpr std::array kWorkflowHoldsColumns = {Column{"workflow_id", Type::Text}, Column{"resource", Type::Integer},
                                              Column{"value", Type::Text}, Column{"owner", Type::Text},
                                              Column{"content", Type::Text}};
constexpr std::size_t kHoldOwner[] = {3};
constexpr std::array kWorkflowHoldsIndexes = {Index{"workflow_holds_by_owner", kHoldOwner}};

constexpr std::array kWebhookCursorsColumns = {Column{"target", Type::Text},      Column{"sequence", Type::Integer},
                                               Column{"owner", Type::Text},       Column{"owned_until", Type::Integer},
                                               Column{"failures", Type::Integer}, Column{"next_at", Type::Integer}};

}  // namespace

const Table kLedgerKeys = {"ledger_keys", kLedgerKeysColumns, 1};
const Table kLedgerWitnesses = {"ledger_witnesses", kLedgerWitnessesColumns, 1};
const Table kLedgerErasures = {"ledger_erasures", kLedgerErasuresColumns, 1};
const Table kBlobs = {.name = "blobs", .columns = kBlobsColumns, .key_columns = 1, .projection = false};

const Table kWorkItems = {"work_items", kWorkItemsColumns, 1, kWorkItemsIndexes};
const Index& kWorkItemsByQueue = kWorkItemsIndexes[0];
const Index& kWorkItemsByDeadline = kWorkItemsIndexes[1];
const Index& kWorkItemsByPullRequest = kWorkItemsIndexes[2];
const Index& kWorkItemsByPhase = kWorkItemsIndexes[3];
const Table kSessions = {"sessions", kSessionsColumns, 1, kSessionsIndexes};
const Index& kSessionsByWork = kSessionsIndexes[0];
const Table kWorkDependencies = {"work_dependencies", kWorkDependenciesColumns, 2};
const Table kCounters = {"counters", kCountersColumns, 1};
const Table kTokens = {"tokens", kTokensColumns, 1};
const Table kAnswers = {"answers", kAnswersColumns, 2, kAnswersIndexes};
const Index& kAnswersByExpiry = kAnswersIndexes[0];
const Table kDeliveries = {"deliveries", kDeliveriesColumns, 1, kDeliveriesIndexes};
const Index& kDeliveriesByTime = kDeliveriesIndexes[0];
const Table kSupervisedProcesses = {"supervised_processes", kSupervisedProcessesColumns, 3};
const Table kContextSections = {"context_sections", kContextSectionsColumns, 1};
const Table kUaixMessages = {"uaix_messages", kUaixMessagesColumns, 2, kUaixMessagesIndexes};
const Index& kUaixMessagesByKey = kUaixMessagesIndexes[0];
const Index& kUaixMessagesByExpiry = kUaixMessagesIndexes[1];
const Table kPackParts = {"pack_parts", kPackPartsColumns, 2};
const Table kPackRoles = {"pack_roles", kPackRolesColumns, 1};
const Table kSessionStates = {"session_states", kSessionStatesColumns, 1, kSessionStatesIndexes};
const Index& kSessionStatesByStanding = kSessionStatesIndexes[0];
const Index& kSessionStatesByDeadline = kSessionStatesIndexes[1];
const Table kApprovals = {"approvals", kApprovalsColumns, 1, kApprovalsIndexes};
const Index& kApprovalsByState = kApprovalsIndexes[0];
const Index& kApprovalsByDeadline = kApprovalsIndexes[1];
const Index& kApprovalsBySession = kApprovalsIndexes[2];
const Table kWorkflows = {"workflows", kWorkflowsColumns, 1};
const Table kWorkflowMembers = {"workflow_members", kWorkflowMembersColumns, 1, kWorkflowMembersIndexes};
const Index& kWorkflowMembersByWorkflow = kWorkflowMembersIndexes[0];
const Index& kWorkflowMembersByParent = kWorkflowMembersIndexes[1];
const Table kWorkflowHandoffs = {"workflow_handoffs", kWorkflowHandoffsColumns, 1, kWorkflowHandoffsIndexes};
const Index& kWorkflowHandoffsByWorkflow = kWorkflowHandoffsIndexes[0];
const Index& kWorkflowHandoffsByFrom = kWorkflowHandoffsIndexes[1];
const Index& kWorkflowHandoffsByStage = kWorkflowHandoffsIndexes[2];
const Index& kWorkflowHandoffsByDeadline = kWorkflowHandoffsIndexes[3];
const Table kWorkflowHolds = {"workflow_holds", kWorkflowHoldsColumns, 3, kWorkflowHoldsIndexes};
const Index& kWorkflowHoldsByOwner = kWorkflowHoldsIndexes[0];
const Table kWebhookCursors = {
    .name = "webhook_cursors", .columns = kWebhookCursorsColumns, .key_columns = 1, .projection = false};

}  // namespace tables

std::span<const Table* const> all_tables() {
  static constexpr std::array all = {
      &tables::kLedgerKeys,       &tables::kLedgerWitnesses, &tables::kLedgerErasures,   &tables::kBlobs,
      &tables::kWorkItems,        &tables::kSessions,        &tables::kWorkDependencies, &tables::kCounters,
      &tables::kTokens,           &tables::kAnswers,         &tables::kDeliveries,       &tables::kSupervisedProcesses,
      &tables::kContextSections,  &tables::kUaixMessages,    &tables::kPackParts,        &tables::kPackRoles,
      &tables::kSessionStates,    &tables::kApprovals,       &tables::kWorkflows,        &tables::kWorkflowMembers,
      &tables::kWorkflowHandoffs, &tables::kWorkflowHolds,   &tables::kWebhookCursors};
  return all;
}

}  // namespace baton::store
