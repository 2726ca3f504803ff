// SPDX-License-Identifier: Apache-2.0
#include "runtime/recheck.h"

#include <algorithm>
#include <set>

#include "json/parse.h"
#include "runtime/packs.h"
#include "runtime/session_events.h"
#include "runtime/session_record.h"
#include "runtime/work_rows.h"
#include "runtime/workflow_events.h"
#include "runtime/workflow_rows.h"
#include "session/decide.h"
#include "session/settle.h"
#include "store/tables.h"

namespace baton::runtime {
namespace {

namespace tables = store::tables;

std::string text_in(json::Node node, std::string_view name) {
  return node[name].is_string() ? std::string(node[name].string()) : std::string();
}

constexpr const char* kInFlight = " in flight";

// The verdict with all its reasons: a decision that names others is another one.
std::string recorded_verdict(json::Node call) {
  std::string out = text_in(call, "verdict");
  for (const json::Node one : call["failures"].elements())
    out += ":" + text_in(one, "code") + (one["detail"] ? "(" + text_in(one, "detail") + ")" : "") +
           (one["in_flight"].is_true() ? kInFlight : "");
  return out;
}

std::string verdict_of(std::string_view verdict, const std::vector<session::Refusal>& failures) {
  std::string out(verdict);
  for (const session::Refusal& one : failures)
    out += ":" + std::string(info(one.code()).name) + (one.detail.empty() ? "" : "(" + one.detail + ")") +
           (one.in_flight ? kInFlight : "");
  return out;
}

// What a variable was is kept as a keyed hash: without the key nothing can be compared with it.
bool compares_environment(const session::Rules& rules, std::string_view tool) {
  const auto id = rules.plan->find_tool(tool);
  if (!id) return false;
  const contract::Tool& found = rules.tool(*id);
  for (const auto* list :
       {&found.arguments, &found.input_assertions, &found.output_assertions, &found.execution_constraints})
    for (const contract::Invariant& one : *list)
      for (const contract::Test& test : one.tests)
        if (test.op == contract::Op::EqualsEnv) return true;
  return false;
}

void redecide_step(json::Node payload, const session::Rules& rules, const session::State& state,
                   const session::Commons* commons, Redecided& out) {
  session::Proposal proposal = recorded_proposal(payload);
  proposal.commons = commons;
  const session::StepVerdict verdict = session::decide(rules, state, proposal);
  std::size_t i = 0;
  for (const json::Node call : payload["calls"].elements()) {
    const session::CallVerdict& judged = verdict.calls[i++];
    out.calls.push_back({text_in(call, "call_id"), text_in(call, "tool"), recorded_verdict(call),
                         verdict_of(session::name_of(judged.verdict), judged.failures)});
  }
}

void redecide_ruling(json::Node payload, const session::Rules& rules, const session::State& state,
                     const session::Commons* commons, Redecided& out) {
  const auto ruling = ruling_named(text_in(payload, "ruling"));
  if (!ruling) return;
  const auto verdict =
      session::rule_on(rules, state, text_in(payload, "call_id"), *ruling, payload["lease_stale"].is_true(), commons);
  std::size_t i = 0;
  for (const json::Node call : payload["calls"].elements()) {
    const std::string id = text_in(call, "call_id");
    std::string now = "nothing: no call waits";
    if (verdict && i < verdict->calls.size() && verdict->call_ids[i] == id)
      now = verdict_of(session::name_of(verdict->calls[i].verdict), verdict->calls[i].failures);
    ++i;
    const session::OpenCall* open = state.find(id);
    out.calls.push_back({id, open != nullptr && open->tool != session::kNone ? rules.tool(open->tool).name : "",
                         recorded_verdict(call), std::move(now)});
  }
}

void redecide_start(json::Node payload, const session::Rules& rules, const session::State& state,
                    const session::Commons* commons, Redecided& out) {
  const std::string id = text_in(payload, "call_id");
  session::Values values;
  if (payload["values"].is_object()) values = session::Values::of_record(payload["values"]);
  else if (payload["malformed"].is_true()) values = session::Values::of_document(payload["malformed"]);  // no object
  const session::StartVerdict verdict =
      session::start(rules, state, id, values, text_in(payload, "arguments_sha256"), payload["lease_stale"].is_true(),
                     nullptr, commons, text_in(payload, "protected_path"));
  std::string now = verdict.is_open ? verdict_of(verdict.failures.empty() ? "allow" : "block", verdict.failures)
                                    : "nothing: no call is pending";
  std::string recorded = recorded_verdict(payload);
  // That an approval was over is for the node to know, and for its entries: the rules have no clock. A call that nobody began in that
  // time is over whatever else the rules have against it.
  const session::OpenCall* open = state.find(id);
  const bool lapsed = payload["lapsed"].is_true() && open != nullptr && open->approved;
  if (verdict.is_open && (verdict.failures.empty() || lapsed) && recorded == "block:checkpoint_timeout") now = recorded;
  // Nor do they know the files that an approval was bound to.
  if (verdict.is_open && verdict.failures.empty() && open != nullptr && open->approved &&
      recorded == "block:approval_stale")
    now = recorded;
  out.calls.push_back({id, open != nullptr && open->tool != session::kNone ? rules.tool(open->tool).name : "",
                       std::move(recorded), std::move(now)});
}

void redecide_settlement(json::Node payload, const session::Rules& rules, const session::State& state, Redecided& out) {
  const std::string id = text_in(payload, "call_id");
  const session::SettleVerdict verdict = session::settle(rules, state, id, recorded_receipt(payload));
  std::string recorded = text_in(payload, "state"), now = "nothing: no call is open";
  for (const json::Node one : payload["failures"].elements()) recorded += ":" + text_in(one, "code");
  if (payload["counts_as_error"].is_true()) recorded += " (an error)";
  if (verdict.is_open) {
    now = session::name_of(verdict.state);
    for (const session::Refusal& one : verdict.failures) now += ":" + std::string(info(one.code()).name);
    if (verdict.settled.counts_as_error) now += " (an error)";
  }
  const session::OpenCall* open = state.find(id);
  out.calls.push_back({id, open != nullptr && open->tool != session::kNone ? rules.tool(open->tool).name : "",
                       std::move(recorded), std::move(now)});
}

}  // namespace

std::optional<Redecided> redecide(std::string_view type, json::Node payload, const session::Rules& rules,
                                  const session::State& state, const session::Commons* commons) {
  Redecided out;
  if (type == kSessionStep) redecide_step(payload, rules, state, commons, out);
  else if (type == kSessionRuled) redecide_ruling(payload, rules, state, commons, out);
  else if (type == kCallStarted) redecide_start(payload, rules, state, commons, out);
  else if (type == kCallSettled) redecide_settlement(payload, rules, state, out);
  else return std::nullopt;
  // What others of the workflow had to do with it is not known here.
  const bool looks_alone = rules.workflow != nullptr && commons == nullptr;
  out.is_replayable =
      !has_hidden_values(payload) && !looks_alone && std::ranges::none_of(out.calls, [&](const Redecided::Call& call) {
        return compares_environment(rules, call.tool);
      });
  return out;
}

namespace {

// Handoffs that were offered or claimed: do the rules of the workflow say so too?
Result<std::string> recheck_handoff(const Event& event, store::Transaction& transaction) {
  const auto document = json::parse(event.payload);
  if (!document) return std::string("its payload is not JSON");
  const json::Node payload = document->root();
  const auto row = transaction.get(tables::kWorkflows, {text_in(payload, "workflow_id")});
  if (!row) return tl::make_unexpected(row.error());
  if (!*row) return std::string("its workflow is not known");
  const auto whole = read_workflow(**row);
  if (!whole) return tl::make_unexpected(whole.error());
  const auto plan = workflow_plan_in(transaction, whole->hash);
  if (!plan) return tl::make_unexpected(plan.error());
  if (*plan == nullptr) return std::string("its workflow's plan is not known");
  const auto view = view_in(transaction, *plan, whole->id);
  std::optional<workflow::Refusal> refused;
  if (event.type == kWorkflowOffered) {
    auto parent = view->member(text_in(payload, "from"));
    // A session that ends with what it says offers in the name of the one it works for.
    const auto sender = payload["by"] ? view->member(text_in(payload, "by")) : parent;
    if (view->problem()) return tl::make_unexpected(*view->problem());
    if (!parent || !sender) return std::string("the session that offers is none of the workflow");
    if (payload["by"] && sender->parent != parent->session)
      return std::string("the session that offers does not work for the one it offers for");
    parent->role = sender->role;
    std::set<std::string, std::less<>> artifacts;
    for (const json::Node one : payload["artifacts"].elements()) artifacts.insert(text_in(one, "name"));
    std::uint32_t edge = 0;
    refused = workflow::may_offer(**plan, whole->totals, *parent, text_in(payload, "to"), artifacts, edge);
    if (!refused && json::to_int64(payload["edge"].number_text()) != edge)
      return std::string("it is recorded as another handoff than it is");
  } else {
    // The child was opened just before, in the same commit, and is not held against itself.
    workflow::Totals before = whole->totals;
    --before.sessions;
    --before.active;
    const auto handoff = view->handoff(text_in(payload, "handoff_id"));
    if (view->problem()) return tl::make_unexpected(*view->problem());
    if (!handoff) return std::string("there is no such handoff");
    refused = workflow::may_claim(**plan, before, *handoff);
  }
  if (view->problem()) return tl::make_unexpected(*view->problem());
  if (refused) return "the rules of the workflow refuse it: " + std::string(info(refused->code()).name);
  return std::string();
}

// An approval of content that a call spent: was it one, of this item, approved, of what the call says? Empty: yes.
Result<std::string> check_spent(json::Node call, const GovernedSession& session, store::Transaction& transaction) {
  const std::string id = text_in(call, "spends");
  const auto row = transaction.get(tables::kApprovals, {id});
  if (!row) return tl::make_unexpected(row.error());
  std::optional<Approval> approval;
  if (*row) {
    auto read = read_approval(**row);
    if (!read) return tl::make_unexpected(read.error());
    approval = std::move(*read);
  }
  const auto tool = session.rules->plan->find_tool(text_in(call, "tool"));
  const json::Value* shown = approval ? approval->subject.find("exact_content") : nullptr;
  bool good = shown != nullptr && shown->is_string() && approval->kind == "content" &&
              approval->state == ApprovalState::Approved && approval->work_id == session.work_id && tool &&
              session.rules->tool(*tool).command_path;
  if (good) {
    const session::Values values = session::Values::of_record(call["values"], call["arguments"]);
    const json::Node value = values.at(*session.rules->tool(*tool).command_path);
    good = values.is_hidden(value) || (value.is_string() && value.string() == shown->string());
  }
  return good
             ? std::string()
             : "the call `" + text_in(call, "call_id") + "` spends the approval `" + id + "`, which does not permit it";
}

}  // namespace

Result<Rechecked> recheck(const Event& event, store::Transaction& transaction) {
  const auto found = [](Result<std::string> problem) -> Result<Rechecked> {
    if (!problem) return tl::make_unexpected(problem.error());
    return Rechecked{std::move(*problem)};
  };
  if (event.type == kWorkflowOffered || event.type == kWorkflowClaimed)
    return found(recheck_handoff(event, transaction));
  constexpr std::array kDecisions = {kSessionStep, kSessionRuled, kCallStarted, kCallSettled};
  if (std::ranges::find(kDecisions, event.type) == kDecisions.end()) return Rechecked();
  const auto document = json::parse(event.payload);
  if (!document) return Rechecked{"its payload is not JSON"};
  const json::Node payload = document->root();
  const auto row = transaction.get(tables::kSessionStates, {text_in(payload, "session_id")});
  if (!row) return tl::make_unexpected(row.error());
  if (!*row) return Rechecked{"its session is not known"};
  auto rules = rules_in(transaction, pack_in(**row));
  if (!rules) return tl::make_unexpected(rules.error());
  const auto session = read_governed(**row, std::move(*rules));
  if (!session) return tl::make_unexpected(session.error());
  for (const json::Node call : payload["calls"].elements()) {
    if (!call["spends"]) continue;
    auto problem = check_spent(call, *session, transaction);
    if (!problem || !problem->empty()) return found(std::move(problem));
  }
  // What other rules said is not for these to judge.
  if (session->rules_version != session::kRulesVersion)
    return Rechecked{{}, payload["calls"] ? static_cast<std::int64_t>(payload["calls"].size()) : 1};
  std::shared_ptr<WorkflowView> workflow;
  if (!session->workflow_id.empty())
    workflow = view_in(transaction, session->rules->workflow, session->workflow_id, session->id);
  const auto again = redecide(event.type, payload, *session->rules, session->state, workflow.get());
  if (workflow && workflow->problem()) return tl::make_unexpected(*workflow->problem());
  if (!again || !again->is_replayable) return Rechecked();
  for (const Redecided::Call& call : again->calls)
    if (call.recorded != call.now)
      return Rechecked{"the call `" + call.call_id + "` was decided `" + call.recorded + "`, and the rules say `" +
                       call.now + "`"};
  return Rechecked();
}

}  // namespace baton::runtime
