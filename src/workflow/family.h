// SPDX-License-Identifier: Apache-2.0
// A workflow's sessions and the handoffs between them, and what may happen to them: pure functions over values. What is decided comes
// out; who calls records it and carries it out.
//
//   offered -> claimed -> completed        a child claims once; its end completes (closed) or cancels (killed) the handoff
//           -> declined | cancelled | expired
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "contract/plan.h"
#include "session/commons.h"
#include "session/decide.h"

namespace baton::workflow {

using contract::WorkflowPlan;
using session::Refusal;
using session::Standing;

enum class Stage : std::uint8_t { Offered, Claimed, Completed, Declined, Cancelled, Expired };
enum class Event : std::uint8_t { Claim, Complete, Decline, Cancel, Expire };
enum class Scope : std::uint8_t { Session, Subtree, Workflow };

std::string_view name_of(Stage stage);
std::optional<Stage> stage_named(std::string_view name);
std::string_view name_of(Scope scope);
std::optional<Scope> scope_named(std::string_view name);

// Where an event leads; nothing: it cannot happen there.
std::optional<Stage> next(Stage stage, Event event);
// Counts as open: offered, or claimed by a child that has not ended.
constexpr bool is_open(Stage stage) { return stage == Stage::Offered || stage == Stage::Claimed; }

struct Member {  // a session of the workflow
  std::string session;
  std::uint32_t role = 0;
  std::string parent;   // empty: the first session, or one that was abandoned
  std::string handoff;  // it came by; empty: the first session
  Standing standing = Standing::Open;
  bool operator==(const Member&) const = default;
};

struct Handoff {
  std::string id;
  std::uint32_t edge = 0;  // of WorkflowPlan::handoffs
  std::string from;        // session
  std::string child;       // session that claimed it
  Stage stage = Stage::Offered;
  // Of WorkflowPlan::shared: what of these the session that offers owns becomes the child's when it claims.
  std::vector<std::uint32_t> resources = {};
  bool operator==(const Handoff&) const = default;
};

// What is counted over a workflow's life.
struct Totals {
  bool killed = false;
  std::int64_t sessions = 0;       // ever, the first one included
  std::int64_t active = 0;         // neither closed nor killed
  std::int64_t open_handoffs = 0;  // is_open()
  session::Spent spent;
};

// --- may it? Nothing: yes -------------------------------------------------------------------------------------------------------------

std::optional<Refusal> may_begin(const WorkflowPlan& plan, const Totals& totals);
// `artifacts`: the names of those that are there and not null. `edge`: of the handoff, when it is declared.
std::optional<Refusal> may_offer(const WorkflowPlan& plan, const Totals& totals, const Member& parent,
                                 std::string_view to, const std::set<std::string, std::less<>>& artifacts,
                                 std::uint32_t& edge);
// What is to be handed over with it, by alias; only what one session owns (single_writer) can be.
std::optional<Refusal> may_hand_over(const WorkflowPlan& plan, const std::vector<std::string>& aliases,
                                     std::vector<std::uint32_t>& resources);
std::optional<Refusal> may_claim(const WorkflowPlan& plan, const Totals& totals, const Handoff& handoff);
// An offer that ends unclaimed: Decline, Cancel, Expire.
std::optional<Refusal> may_end(const Handoff& handoff, Event event);
std::optional<Refusal> may_kill(const WorkflowPlan& plan, Scope scope, bool by_operator);

// --- what follows from the end of a session ---------------------------------------------------------------------------------------------

// The workflow as far as ends look at it.
class Family {
 public:
  virtual ~Family() = default;
  virtual std::optional<Member> member(const std::string& session) const = 0;
  virtual std::vector<Member> children(
      const std::string& session) const = 0;        // of that parent, in order of their begin
  virtual std::vector<Member> orphans() const = 0;  // without a parent
  virtual std::vector<Handoff> offered_by(const std::string& session) const = 0;  // not claimed
  virtual std::optional<Handoff> handoff(const std::string& id) const = 0;
  virtual std::vector<std::string> labels(const std::string& session) const = 0;
};

// One thing to be done, in the order of the list.
struct Consequence {
  enum Kind : std::uint8_t {
    Kill,           // the session, because
    RequestCancel,  // of the session
    Abandon,        // the session has no parent any more
    EndHandoff,     // the handoff, which is then in `stage`
    AddLabels       // to the session
  } kind = Kill;
  std::string session = {}, handoff = {};
  Stage stage = Stage::Cancelled;
  std::vector<std::string> labels = {};
  std::string because = {};
  bool operator==(const Consequence&) const = default;
};

// Of a session that has been closed, or killed alone: its children by their close policy, its offers, its own handoff, its labels.
std::vector<Consequence> end_of(const WorkflowPlan& plan, const Family& family, const std::string& session,
                                Standing how);
// Of a kill, the killed sessions included.
std::vector<Consequence> kill_of(const WorkflowPlan& plan, const Family& family, Scope scope,
                                 const std::string& session);

}  // namespace baton::workflow
