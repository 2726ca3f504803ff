// SPDX-License-Identifier: Apache-2.0
// Workflows as they are shown: nothing is recorded here.
#include <algorithm>

#include "base/sha256.h"
#include "diagnostics/diagnostic.h"
#include "json/parse.h"
#include "runtime/packs.h"
#include "runtime/use_cases/reading.h"
#include "runtime/use_cases/workflows.h"
#include "store/tables.h"
#include "wording/data.h"

namespace baton::runtime {

namespace tables = store::tables;
using json::Value;

Value shown_handoff(const WorkflowHandoff& handoff) {
  Value out = Value::object();
  out.set("id", handoff.handoff.id);
  out.set("workflow_id", handoff.workflow_id);
  out.set("from", handoff.handoff.from);
  out.set("to", handoff.to_role);
  out.set("stage", workflow::name_of(handoff.handoff.stage));
  if (!handoff.handoff.child.empty()) out.set("child", handoff.handoff.child);
  Value artifacts = Value::array();
  for (const Artifact& artifact : handoff.artifacts) artifacts.push(to_json(artifact));
  out.set("artifacts", std::move(artifacts));
  if (!handoff.message_id.empty()) out.set("message_id", handoff.message_id);
  out.set("offered_at", format_time(handoff.offered_at));
  if (handoff.expires_at) out.set("expires_at", format_time(*handoff.expires_at));
  return out;
}

namespace {

Value shown_workflow(const Workflow& workflow) {
  const workflow::Totals& totals = workflow.totals;
  Value out = Value::object();
  out.set("id", workflow.id);
  out.set("name", workflow.name);
  out.set("workflow", workflow.hash);
  out.set("standing", totals.killed ? "killed" : totals.active > 0 ? "open" : "ended");
  out.set("sessions", totals.sessions);
  out.set("active", totals.active);
  out.set("open_handoffs", totals.open_handoffs);
  out.set("steps", totals.spent.steps);
  out.set("cost", Value::number(totals.spent.cost.text()));
  out.set("reserved", Value::number(totals.spent.reserved.text()));
  out.set("started_by", workflow.started_by);
  out.set("started_at", format_time(workflow.started_at));
  return out;
}

Value shown_limits(const contract::WorkflowPlan& plan) {
  Value out = Value::object();
  const auto put = [&](std::string_view name, const std::optional<std::int64_t>& limit) {
    if (limit) out.set(name, *limit);
  };
  put("max_sessions", plan.max_sessions);
  put("max_active_sessions", plan.max_active_sessions);
  put("max_total_steps", plan.max_total_steps);
  put("max_open_handoffs", plan.max_open_handoffs);
  if (plan.max_total_cost) out.set("max_total_cost", Value::number(plan.max_total_cost->text()));
  return out;
}

Value shown_call(const session::SharedCall& call) {
  Value out = Value::object();
  out.set("session_id", call.session);
  out.set("call_id", call.call);
  return out;
}

Value shown_calls(const std::vector<session::SharedCall>& calls) {
  Value out = Value::array();
  for (const session::SharedCall& call : calls) out.push(shown_call(call));
  return out;
}

Value shown_hold(const contract::SharedResource& resource, const std::string& value, const session::Hold& hold) {
  Value out = Value::object();
  out.set("alias", resource.alias);
  out.set("mode", contract::name_of(resource.mode));
  const auto document = json::parse(value);
  out.set("value", document ? Value::copy(document->root()) : Value(value));
  if (hold.owner) out.set("owner", hold.owner->session);
  if (!hold.writing.empty()) out.set("writing", shown_calls(hold.writing));
  if (!hold.open.empty()) out.set("open", shown_calls(hold.open));
  if (hold.token) out.set("executing", shown_call(*hold.token));
  if (!hold.waiting.empty()) out.set("waiting", shown_calls(hold.waiting));
  return out;
}

// Reads every row of a query with `take`, which says whether it could be read.
template <class Read, class Take>
Result<void> each(store::Reader& reader, const store::Query& query, const Read& read, const Take& take) {
  std::optional<Failure> problem;
  auto found = reader.find(query, [&](const store::Row& row) {
    auto one = read(row);
    if (!one) problem = one.error();
    else take(row, *one);
    return one.has_value();
  });
  if (!found) return found;
  if (problem) return tl::make_unexpected(*problem);
  return {};
}

}  // namespace

Result<Value> UseCases::list_workflows(std::size_t limit, const std::string& after) {
  const auto reader = inside_->store.reader();
  if (!reader) return tl::make_unexpected(reader.error());
  Value workflows = Value::array();
  store::Query query{.table = tables::kWorkflows, .limit = limit + 2};
  if (!after.empty()) query.from = after;
  std::string last;
  bool more = false;
  auto done = each(**reader, query, read_workflow, [&](const store::Row&, const Workflow& one) {
    if (one.id == after) return;
    if (workflows.elements().size() == limit) {
      more = true;
      return;
    }
    workflows.push(shown_workflow(one));
    last = one.id;
  });
  if (!done) return tl::make_unexpected(done.error());
  Value out = Value::object();
  out.set("workflows", std::move(workflows));
  if (more) out.set("next", last);
  return out;
}

Result<std::optional<Value>> UseCases::show_workflow(const std::string& workflow_id) {
  Caller node;
  node.actor = {node_actor().id, work::ActorKind::Node};
  return show_workflow(node, workflow_id);
}

Result<std::optional<Value>> UseCases::show_workflow(const Caller& caller, const std::string& workflow_id) {
  if (!work::is_work_id(workflow_id)) return std::nullopt;
  const auto opened = inside_->store.reader();
  if (!opened) return tl::make_unexpected(opened.error());
  store::Reader& reader = **opened;
  const auto row = reader.get(tables::kWorkflows, {workflow_id});
  if (!row) return tl::make_unexpected(row.error());
  if (!*row) return std::nullopt;
  const auto whole = read_workflow(**row);
  if (!whole) return tl::make_unexpected(whole.error());
  const auto plan = workflow_plan_in(reader, whole->hash);
  if (!plan) return tl::make_unexpected(plan.error());
  if (*plan == nullptr) return failure("reading workflows", "the plan of `" + workflow_id + "` is not there");
  const auto as = runtime::reading_as(reader, inside_->config.policy, caller, false);
  if (!as) return tl::make_unexpected(as.error());
  Value body = shown_workflow(*whole);
  body.set("limits", shown_limits(**plan));

  Value sessions = Value::array();
  std::optional<Failure> problem;
  auto done = each(
      reader, {.table = tables::kWorkflowMembers, .index = &tables::kWorkflowMembersByWorkflow, .equal = {workflow_id}},
      read_member, [&](const store::Row&, const WorkflowMember& one) {
        Value shown = Value::object();
        shown.set("id", one.member.session);
        shown.set("role", (*plan)->roles[one.member.role].name);
        if (!one.member.parent.empty()) shown.set("parent", one.member.parent);
        if (!one.member.handoff.empty()) shown.set("handoff", one.member.handoff);
        auto about = shown_governed(reader, one.member.session);
        const auto labels = labels_of_session(reader, one.member.session);
        if (!about) problem = about.error();
        else if (!labels) problem = labels.error();
        else if (*about) {
          const work::ReadDecision decision = work::decide_read(as->clearance, {}, *labels);
          const bool is_whole = decision.is_whole() || one.member.session == as->session_id;
          for (const char* member : {"standing", "ended_because", "phase", "paused", "cancel_requested", "labels",
                                     "counters", "open_calls", "opened_at", "changed_at", "actor_id", "work_id"}) {
            const std::string_view name = member;
            if (!is_whole && (name == "ended_because" || name == "open_calls")) continue;
            if (const Value* found = (*about)->find(member)) shown.set(member, *found);
          }
          if (!is_whole)
            shown.set("withheld", shown_withheld(withheld_because("what `" + one.member.session + "` does", decision),
                                                 decision.missing));
        }
        sessions.push(std::move(shown));
      });
  if (!done) return tl::make_unexpected(done.error());
  if (problem) return tl::make_unexpected(*problem);
  body.set("members", std::move(sessions));

  Value handoffs = Value::array();
  done =
      each(reader,
           {.table = tables::kWorkflowHandoffs, .index = &tables::kWorkflowHandoffsByWorkflow, .equal = {workflow_id}},
           read_handoff, [&](const store::Row&, const WorkflowHandoff& one) { handoffs.push(shown_handoff(one)); });
  if (!done) return tl::make_unexpected(done.error());
  body.set("handoffs", std::move(handoffs));

  // Keys of what is shared are values that calls had.
  const auto all_labels = labels_of_workflow(reader, workflow_id);
  if (!all_labels) return tl::make_unexpected(all_labels.error());
  const work::ReadDecision of_keys = work::decide_read(as->clearance, {}, *all_labels);
  Value resources = Value::array();
  done = each(
      reader, {.table = tables::kWorkflowHolds, .equal = {workflow_id}}, read_hold,
      [&](const store::Row& hold_row, const session::Hold& hold) {
        Value held =
            shown_hold((*plan)->shared[static_cast<std::size_t>(number_at(hold_row, 1))], text_at(hold_row, 2), hold);
        if (!of_keys.is_whole()) {
          held.set("value", nullptr);
          held.set("withheld", shown_withheld(withheld_because("the key of what is shared", of_keys), of_keys.missing));
        }
        resources.push(std::move(held));
      });
  if (!done) return tl::make_unexpected(done.error());
  body.set("resources", std::move(resources));
  Value out = Value::object();
  out.set("workflow", std::move(body));
  return std::optional(std::move(out));
}

Result<Value> UseCases::list_handoffs(std::string_view stage, std::string_view role, std::size_t limit) {
  const auto reader = inside_->store.reader();
  if (!reader) return tl::make_unexpected(reader.error());
  Value handoffs = Value::array();
  store::Query query{.table = tables::kWorkflowHandoffs, .limit = limit};
  query.index = &tables::kWorkflowHandoffsByStage;
  query.equal = {std::string(stage)};
  if (!role.empty()) query.equal.emplace_back(std::string(role));
  auto done = each(**reader, query, read_handoff,
                   [&](const store::Row&, const WorkflowHandoff& one) { handoffs.push(shown_handoff(one)); });
  if (!done) return tl::make_unexpected(done.error());
  Value out = Value::object();
  out.set("handoffs", std::move(handoffs));
  return out;
}

Result<Answer> UseCases::artifacts(const Caller& caller, const std::string& session_id, const std::string& name) {
  const auto refuse = [](Code code, std::initializer_list<Argument> arguments) {
    Answer out;
    out.refused = {report(code, {}, arguments)};
    return out;
  };
  const auto opened = inside_->store.reader();
  if (!opened) return tl::make_unexpected(opened.error());
  store::Reader& reader = **opened;
  const auto row = work::is_work_id(session_id) ? reader.get(tables::kWorkflowMembers, {session_id})
                                                : Result<std::optional<store::Row>>(std::nullopt);
  if (!row) return tl::make_unexpected(row.error());
  if (!*row) return refuse(Code::SESSION_WORKFLOW, {{"problem", "is one of no workflow"}});
  const auto session_row = reader.get(tables::kSessions, {session_id});
  if (!session_row) return tl::make_unexpected(session_row.error());
  const auto session = *session_row ? read_session(**session_row) : Result<work::Session>(work::Session());
  if (!session) return tl::make_unexpected(session.error());
  const bool above = caller.actor.kind == work::ActorKind::Operator;
  if (caller.session_id.empty() ? !above && caller.actor.id != session->actor_id : caller.session_id != session_id)
    return refuse(Code::SESSION_NOT_YOURS, {{"session", session_id}});
  const auto member = read_member(**row);
  if (!member) return tl::make_unexpected(member.error());
  std::vector<Artifact> all;
  std::string from, author;  // who handed them over
  if (!member->member.handoff.empty()) {
    const auto handoff_row = reader.get(tables::kWorkflowHandoffs, {member->member.handoff});
    if (!handoff_row) return tl::make_unexpected(handoff_row.error());
    if (*handoff_row) {
      auto handoff = read_handoff(**handoff_row);
      if (!handoff) return tl::make_unexpected(handoff.error());
      all = std::move(handoff->artifacts);
      from = handoff->handoff.from;
      const auto giver_row = reader.get(tables::kSessions, {from});
      if (!giver_row) return tl::make_unexpected(giver_row.error());
      if (*giver_row)
        if (const auto giver = read_session(**giver_row)) author = giver->actor_id;
    }
  }
  Answer out;
  if (name.empty()) {
    Value list = Value::array();
    for (const Artifact& artifact : all) list.push(to_json(artifact));
    out.body.set("artifacts", std::move(list));
    return out;
  }
  const auto at = std::ranges::find(all, name, &Artifact::name);
  if (at == all.end()) return refuse(Code::ARTIFACT_UNKNOWN, {{"name", name}});
  const auto blob = reader.get(tables::kBlobs, {at->sha256});
  if (!blob) return tl::make_unexpected(blob.error());
  const auto* bytes = *blob ? std::get_if<std::string>(&(**blob)[1]) : nullptr;
  if (bytes == nullptr) return refuse(Code::ARTIFACT_UNKNOWN, {{"name", name}});  // erased
  if (sha256_hex(*bytes) != at->sha256)
    return failure_of(Code::LEDGER_PROJECTION, "reading an artifact",
                      {{"table", tables::kBlobs.name}, {"problem", "the row `" + at->sha256 + "` has other content"}});
  Value shown = to_json(*at);
  const auto document = json::parse(*bytes);
  if (at->type == "application/json" && document) shown.set("content", Value::copy(document->root()));
  else shown.set("content", *bytes);
  if (!author.empty()) shown.set("author", author);
  if (!from.empty()) shown.set("session_id", from);
  wording::flag(shown, *shown.find("content"), "content");
  shown.set("data_notice", wording::kDataNotice);
  out.body.set("artifact", std::move(shown));
  return out;
}

}  // namespace baton::runtime
