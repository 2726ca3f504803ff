// SPDX-License-Identifier: Apache-2.0
// Workflows, their sessions, handoffs and holds as rows of the store, and back; and the store as the rules of workflows see it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "json/value.h"
#include "runtime/packs.h"
#include "store/store.h"
#include "workflow/family.h"
#include "workflow/follow.h"

namespace baton::runtime {

struct Workflow {
  std::string id, hash, name, started_by;
  Time started_at;
  workflow::Totals totals;
};
store::Row row_of(const Workflow& workflow);
Result<Workflow> read_workflow(const store::Row& row);

struct WorkflowMember {
  workflow::Member member;
  std::string workflow_id;
};
store::Row row_of(const WorkflowMember& member);
Result<WorkflowMember> read_member(const store::Row& row);

struct Artifact {  // something named that is handed over; its bytes are a blob
  std::string name, type, sha256;
  std::int64_t bytes = 0;
  std::vector<std::string> labels;  // of the session that made it
};
json::Value to_json(const Artifact& artifact);
std::optional<Artifact> read_artifact(json::Node node);

struct WorkflowHandoff {
  workflow::Handoff handoff;
  std::string workflow_id, to_role;
  std::vector<Artifact> artifacts;
  std::string message_id = {};  // of the packet that offers it; empty: none does
  std::string target_id = {};   // whom that packet names
  Time offered_at;
  std::optional<Time> expires_at;
};
store::Row row_of(const WorkflowHandoff& handoff);
Result<WorkflowHandoff> read_handoff(const store::Row& row);

store::Row row_of(const std::string& workflow_id, const session::SharedKey& key, const session::Hold& hold);
Result<session::Hold> read_hold(const store::Row& row);

// --- the store, seen by rules ---------------------------------------------------------------------------------------------------------

// Rows of a transaction or of a use case's unit. What could not be read is kept: rules see nothing there, and whoever asked looks at
// problem() before believing them.
class WorkflowView final : public session::Commons, public workflow::Family {
 public:
  using Find = std::function<Result<void>(const store::Query&, const store::TakeRow&)>;
  // `session_id`: whose decisions are made; may be empty where none are.
  WorkflowView(GetRow get, Find find, std::shared_ptr<const contract::WorkflowPlan> plan, std::string workflow_id,
               std::string session_id = {});

  const contract::WorkflowPlan& plan() const override { return *plan_; }
  const std::string& session() const override { return session_id_; }
  session::Spent spent() const override;
  session::Hold hold(const session::SharedKey& key) const override;

  std::optional<workflow::Member> member(const std::string& session) const override;
  std::vector<workflow::Member> children(const std::string& session) const override;
  std::vector<workflow::Member> orphans() const override;
  std::vector<workflow::Handoff> offered_by(const std::string& session) const override;
  std::optional<workflow::Handoff> handoff(const std::string& id) const override;
  std::vector<std::string> labels(const std::string& session) const override;

  std::optional<Workflow> workflow() const;
  const std::string& workflow_id() const { return workflow_id_; }
  const std::optional<Failure>& problem() const { return problem_; }

 private:
  std::vector<workflow::Member> members_by(const store::Index& index, const std::string& value) const;

  GetRow get_;
  Find find_;
  std::shared_ptr<const contract::WorkflowPlan> plan_;
  const std::string workflow_id_, session_id_;
  mutable bool is_locked_ = false;  // the workflow's row, where the rows are a transaction's
  mutable std::optional<Failure> problem_;
};

template <class Rows>
std::shared_ptr<WorkflowView> view_in(Rows& rows, std::shared_ptr<const contract::WorkflowPlan> plan,
                                      std::string workflow_id, std::string session_id = {}) {
  return std::make_shared<WorkflowView>(
      [&rows](const store::Table& table, const store::Row& key) { return rows.get(table, key); },
      [&rows](const store::Query& query, const store::TakeRow& take) {
        if constexpr (requires { rows.find(query, take); }) return rows.find(query, take);
        else return rows.find(query, store::Lock::Wait, take);
      },
      std::move(plan), std::move(workflow_id), std::move(session_id));
}

}  // namespace baton::runtime
