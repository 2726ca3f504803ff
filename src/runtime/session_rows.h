// SPDX-License-Identifier: Apache-2.0
// Governed sessions and approvals as rows of the store, and back.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "json/value.h"
#include "session/state.h"
#include "store/value.h"

namespace baton::runtime {

struct GovernedSession {
  std::string id, pack, role, agent_id, actor_id;
  std::string work_id;      // empty: without a work item
  std::string workflow_id;  // empty: of no workflow
  std::uint64_t fence = 0;
  Time opened_at, changed_at;
  std::string principal_sha256;  // empty: there is none
  std::shared_ptr<const session::Rules> rules;
  session::State state;
  std::map<std::string, Time> begun;  // when each call that executes began

  // When the first of them has taken longer than its contract lets it: nanoseconds; INT64_MAX: none will.
  std::int64_t deadline() const;
  Time over_at(const session::OpenCall& call, Time began) const;
};
store::Row row_of(const GovernedSession& session);
// Which pack a row needs.
const std::string& pack_in(const store::Row& row);
Result<GovernedSession> read_governed(const store::Row& row, std::shared_ptr<const session::Rules> rules);

enum class ApprovalState { Pending, Approved, Denied, Expired, Cancelled, Spent, Lapsed };
std::string_view name_of(ApprovalState state);
std::optional<ApprovalState> approval_state_named(std::string_view name);

struct Approval {
  std::string id, kind;  // `call`, `content`
  ApprovalState state = ApprovalState::Pending;
  std::string session_id, work_id, call_id, tool;
  json::Value subject = json::Value::object();  // what is decided on, sealed:
  std::string digest;                           // SHA-256 of its canonical form
  json::Value context = json::Value::object();  // shown beside it
  std::string risk, requested_by;
  Time requested_at, expires_at;
  json::Decimal spend_seconds;  // after it was approved
  bool allow_on_timeout = false;
  std::optional<Time> spend_until, decided_at;
  std::string decided_by, note;

  // When something becomes due without anyone acting: nanoseconds; INT64_MAX: never.
  std::int64_t deadline() const;
  json::Value to_json() const;
};
store::Row row_of(const Approval& approval);
Result<Approval> read_approval(const store::Row& row);
std::optional<Approval> read_approval(json::Node node);

}  // namespace baton::runtime
