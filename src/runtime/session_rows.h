// SPDX-License-Identifier: Apache-2.0
// Governed sessions and approvals as rows of the store, and back.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "json/value.h"
#include "runtime/sighting.h"
#include "session/rules_version.h"
#include "session/state.h"
#include "store/value.h"

namespace baton::runtime {

// An agent that the session's agent started, inside its session.
struct Subagent {
  std::string id;    // issued: what its agent-contract block must name
  std::string type;  // as the client calls its kind; may be empty
  bool open = true;
  std::string outcome;                 // of the handoff that ended it; empty: it ended without one
  std::string plan_status;             // of its last agent-contract block
  std::uint32_t reports_in_a_row = 0;  // IN_PROGRESS ones
  std::uint32_t repairs = 0;           // how often it was asked again, since it last began
  std::string handoff_digest;          // of the handoff that ended it, SHA-256 of the bytes
  Time started_at;
  std::optional<Time> ended_at;

  json::Value to_json() const;
};

struct GovernedSession {
  std::string id, pack, role, agent_id, actor_id;
  std::string work_id;      // empty: without a work item
  std::string workflow_id;  // empty: of no workflow
  std::uint64_t fence = 0;
  Time opened_at, changed_at;
  std::int64_t rules_version = session::kFirstRulesVersion;  // that it was opened with
  std::string principal_sha256;                              // empty: there is none
  std::shared_ptr<const session::Rules> rules;
  session::State state;
  std::map<std::string, Time> begun;  // when each call that executes began
  // In the order in which they began; of those that have ended the newest (limits::kSubagentsMax).
  std::vector<Subagent> subagents;
  std::int64_t unhooked_calls = 0;  // that were made without having been allowed
  // Calls that one door proposed and another is to begin, which proposes them too: it begins these. Pending or awaiting.
  std::vector<std::string> other_doors;
  SightedCalls sighted;  // open calls that a hook proposed or began

  // The first of them that is this tool's with these arguments; null: there is none.
  const session::OpenCall* at_other_door(session::ToolId tool, std::string_view digest) const;
  void prune_other_doors();
  void prune_sighted();

  Subagent* find_subagent(std::string_view agent_id);
  const Subagent* find_subagent(std::string_view agent_id) const;
  // Is there room for another one? One that has ended makes it.
  bool has_room_for_subagent() const;
  // What becomes of one: it begins, or goes on after it had ended; was asked again; has ended. The latter two: of one that is known.
  void begin_subagent(const std::string& agent_id, const std::string& type, Time at);
  void repair_subagent(const std::string& agent_id, std::uint32_t repairs);
  struct SubagentEnd {
    std::string outcome, plan_status, handoff_digest;
    std::uint32_t reports_in_a_row = 0;
  };
  void end_subagent(const std::string& agent_id, const SubagentEnd& how, Time at);

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
  // How many secrets are marked in subject and context, and why it cannot be approved (runtime/shown_subject.h). Nothing in entries of
  // versions before there were lengths in the marks.
  std::optional<std::int64_t> hidden_parts;
  json::Value not_shown = json::Value::array();
  std::string risk, requested_by;
  Time requested_at, expires_at;
  json::Decimal spend_seconds;  // after it was approved
  bool allow_on_timeout = false;
  std::optional<Time> spend_until, decided_at;
  std::string decided_by, note;

  // When something becomes due without anyone acting: nanoseconds; INT64_MAX: never.
  std::int64_t deadline() const;
  json::Value to_json() const;
  // Why it cannot be approved, as of this version too: [{pointer, problem}].
  json::Value cannot_be_shown() const;
  // As a person is shown it: with `not_shown`, and `look_alikes` where there are such characters.
  json::Value told() const;
};
store::Row row_of(const Approval& approval);
Result<Approval> read_approval(const store::Row& row);
std::optional<Approval> read_approval(json::Node node);

}  // namespace baton::runtime
