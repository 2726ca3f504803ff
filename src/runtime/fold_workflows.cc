// SPDX-License-Identifier: Apache-2.0
// What becomes of entries about workflows, and of what their sessions share when an entry changes one of them. Nothing is decided here.
#include "runtime/fold_parts.h"
#include "runtime/work_rows.h"
#include "runtime/workflow_events.h"
#include "runtime/workflow_rows.h"
#include "store/tables.h"

namespace baton::runtime {
namespace {

namespace tables = store::tables;

Result<Workflow> workflow_in(const Event& event, const std::string& id, store::Transaction& transaction) {
  const auto row = transaction.get(tables::kWorkflows, {id});
  if (!row) return tl::make_unexpected(row.error());
  if (!*row) return malformed(event, "workflow that is known");
  return read_workflow(**row);
}

Result<WorkflowHandoff> handoff_of(const Event& event, json::Node payload, store::Transaction& transaction) {
  std::string id;
  if (!read_text(payload, "handoff_id", id)) return malformed(event, "handoff_id");
  const auto row = transaction.get(tables::kWorkflowHandoffs, {id});
  if (!row) return tl::make_unexpected(row.error());
  if (!*row) return malformed(event, "handoff that is known");
  return read_handoff(**row);
}

// The holds of a workflow in the transaction. What goes wrong is kept until it is looked at.
class StoredHolds final : public workflow::Holds {
 public:
  StoredHolds(store::Transaction& transaction, const std::string& workflow_id)
      : transaction_(transaction), workflow_id_(workflow_id) {}

  session::Hold get(const session::SharedKey& key) override {
    const auto row = transaction_.get(tables::kWorkflowHolds, key_of(key));
    if (!row) return failed(row.error());
    if (!*row) return {};
    auto hold = read_hold(**row);
    return hold ? std::move(*hold) : failed(hold.error());
  }
  void put(const session::SharedKey& key, const session::Hold& hold) override {
    const auto done = hold.is_free()
                          ? transaction_.erase(tables::kWorkflowHolds, key_of(key))
                          : runtime::put(transaction_, tables::kWorkflowHolds, row_of(workflow_id_, key, hold));
    if (!done) failed(done.error());
  }
  std::vector<session::SharedKey> owned_by(const std::string& session) override {
    std::vector<session::SharedKey> out;
    const auto found = transaction_.find(
        {.table = tables::kWorkflowHolds, .index = &tables::kWorkflowHoldsByOwner, .equal = {session}},
        store::Lock::Wait, [&](const store::Row& row) {
          if (text_at(row, 0) == workflow_id_)
            out.push_back({static_cast<std::uint32_t>(number_at(row, 1)), text_at(row, 2)});
          return true;
        });
    if (!found) failed(found.error());
    return out;
  }

  const std::optional<Failure>& problem() const { return problem_; }

 private:
  store::Row key_of(const session::SharedKey& key) const {
    return {workflow_id_, static_cast<std::int64_t>(key.resource), key.value};
  }
  session::Hold failed(const Failure& failure) {
    problem_ = failure;
    return {};
  }

  store::Transaction& transaction_;
  const std::string& workflow_id_;
  std::optional<Failure> problem_;
};

}  // namespace

Result<void> follow_session(const Event& event, const GovernedSession& session, const workflow::Footprint& before,
                            const workflow::Turn& turn, store::Transaction& transaction) {
  const workflow::Footprint after = workflow::footprint_of(*session.rules, session.state);
  // Locked before the holds, as by whoever decides: what is absent cannot be.
  auto whole = workflow_in(event, session.workflow_id, transaction);
  if (!whole) return tl::make_unexpected(whole.error());
  StoredHolds holds(transaction, session.workflow_id);
  workflow::follow(*session.rules->workflow, holds, session.id, before, after, turn);
  if (holds.problem()) return tl::make_unexpected(*holds.problem());
  const bool ended = before.open && !after.open;
  if (before.steps == after.steps && before.cost == after.cost && before.reserved == after.reserved && !ended)
    return {};
  workflow::add(whole->totals.spent, before, after);
  if (ended) {
    --whole->totals.active;
    const auto row = transaction.get(tables::kWorkflowMembers, {session.id});
    if (!row) return tl::make_unexpected(row.error());
    if (!*row) return malformed(event, "session of the workflow");
    auto member = read_member(**row);
    if (!member) return tl::make_unexpected(member.error());
    member->member.standing = session.state.standing;
    if (auto done = transaction.update(tables::kWorkflowMembers, row_of(*member)); !done) return done;
  }
  return transaction.update(tables::kWorkflows, row_of(*whole));
}

Result<void> add_member(const Event& event, json::Node payload, const GovernedSession& session,
                        store::Transaction& transaction) {
  auto whole = workflow_in(event, session.workflow_id, transaction);
  if (!whole) return tl::make_unexpected(whole.error());
  WorkflowMember out;
  out.workflow_id = session.workflow_id;
  out.member.session = session.id;
  const auto& roles = session.rules->workflow->roles;
  while (out.member.role < roles.size() && roles[out.member.role].name != session.role) ++out.member.role;
  if (out.member.role == roles.size()) return malformed(event, "role of the workflow");
  if (payload["parent"]) read_text(payload, "parent", out.member.parent);
  if (payload["handoff_id"]) read_text(payload, "handoff_id", out.member.handoff);
  ++whole->totals.sessions;
  ++whole->totals.active;
  if (auto done = transaction.insert(tables::kWorkflowMembers, row_of(out)); !done) return done;
  return transaction.update(tables::kWorkflows, row_of(*whole));
}

Result<void> fold_workflow_started(const Event& event, json::Node payload, store::Transaction& transaction) {
  Workflow out;
  if (!read_text(payload, "workflow_id", out.id) || !read_text(payload, "workflow", out.hash) ||
      !read_text(payload, "name", out.name) || !read_text(payload, "by", out.started_by) ||
      !read_time(payload, "at", out.started_at))
    return malformed(event, "complete start");
  return transaction.insert(tables::kWorkflows, row_of(out));
}

Result<void> fold_workflow_offered(const Event& event, json::Node payload, store::Transaction& transaction) {
  WorkflowHandoff out;
  std::int64_t edge = 0;
  if (!read_text(payload, "workflow_id", out.workflow_id) || !read_text(payload, "handoff_id", out.handoff.id) ||
      !read_text(payload, "from", out.handoff.from) || !read_text(payload, "to", out.to_role) ||
      !read_number(payload, "edge", edge) || !read_time(payload, "at", out.offered_at) ||
      !read_optional_time(payload, "expires_at", out.expires_at))
    return malformed(event, "complete offer");
  out.handoff.edge = static_cast<std::uint32_t>(edge);
  if (payload["message_id"]) read_text(payload, "message_id", out.message_id);
  if (payload["target_id"]) read_text(payload, "target_id", out.target_id);
  for (const json::Node one : payload["artifacts"].elements()) {
    auto artifact = read_artifact(one);
    if (!artifact) return malformed(event, "complete artifact");
    out.artifacts.push_back(std::move(*artifact));
  }
  auto whole = workflow_in(event, out.workflow_id, transaction);
  if (!whole) return tl::make_unexpected(whole.error());
  if (payload["resources"]) {
    std::vector<std::string> aliases;
    const auto plan = workflow_plan_in(transaction, whole->hash);
    if (!plan) return tl::make_unexpected(plan.error());
    if (*plan == nullptr || !read_texts(payload, "resources", aliases) ||
        workflow::may_hand_over(**plan, aliases, out.handoff.resources))
      return malformed(event, "resources that are the workflow's");
  }
  ++whole->totals.open_handoffs;
  if (auto done = transaction.insert(tables::kWorkflowHandoffs, row_of(out)); !done) return done;
  return transaction.update(tables::kWorkflows, row_of(*whole));
}

Result<void> fold_workflow_claimed(const Event& event, json::Node payload, store::Transaction& transaction) {
  auto handoff = handoff_of(event, payload, transaction);
  if (!handoff) return tl::make_unexpected(handoff.error());
  if (!read_text(payload, "session_id", handoff->handoff.child)) return malformed(event, "session_id");
  handoff->handoff.stage = workflow::Stage::Claimed;
  StoredHolds holds(transaction, handoff->workflow_id);
  if (!handoff->handoff.resources.empty())
    workflow::hand_over(holds, handoff->handoff.from, handoff->handoff.child, handoff->handoff.resources);
  if (holds.problem()) return tl::make_unexpected(*holds.problem());
  return transaction.update(tables::kWorkflowHandoffs, row_of(*handoff));
}

Result<void> fold_workflow_handoff_ended(const Event& event, json::Node payload, store::Transaction& transaction) {
  auto handoff = handoff_of(event, payload, transaction);
  if (!handoff) return tl::make_unexpected(handoff.error());
  std::string to;
  if (!read_text(payload, "to", to)) return malformed(event, "to");
  const auto stage = workflow::stage_named(to);
  if (!stage || workflow::is_open(*stage)) return malformed(event, "stage that is an end");
  auto whole = workflow_in(event, handoff->workflow_id, transaction);
  if (!whole) return tl::make_unexpected(whole.error());
  if (workflow::is_open(handoff->handoff.stage)) --whole->totals.open_handoffs;
  handoff->handoff.stage = *stage;
  if (auto done = transaction.update(tables::kWorkflowHandoffs, row_of(*handoff)); !done) return done;
  return transaction.update(tables::kWorkflows, row_of(*whole));
}

Result<void> fold_workflow_abandoned(const Event& event, json::Node payload, store::Transaction& transaction) {
  std::string session;
  if (!read_text(payload, "session_id", session)) return malformed(event, "session_id");
  const auto row = transaction.get(tables::kWorkflowMembers, {session});
  if (!row) return tl::make_unexpected(row.error());
  if (!*row) return malformed(event, "session that is known");
  auto member = read_member(**row);
  if (!member) return tl::make_unexpected(member.error());
  member->member.parent.clear();
  return transaction.update(tables::kWorkflowMembers, row_of(*member));
}

Result<void> fold_workflow_killed(const Event& event, json::Node payload, store::Transaction& transaction) {
  std::string id;
  if (!read_text(payload, "workflow_id", id)) return malformed(event, "workflow_id");
  auto whole = workflow_in(event, id, transaction);
  if (!whole) return tl::make_unexpected(whole.error());
  whole->totals.killed = true;
  return transaction.update(tables::kWorkflows, row_of(*whole));
}

}  // namespace baton::runtime
