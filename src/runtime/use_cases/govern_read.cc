// SPDX-License-Identifier: Apache-2.0
// Governed sessions as they are, from the last commit; and what a request to the model would be told now.
#include "json/parse.h"
#include "runtime/packs.h"
#include "runtime/use_cases/govern.h"
#include "session/door.h"
#include "session/shown.h"
#include "store/tables.h"

namespace baton::runtime {
namespace {

namespace tables = store::tables;
using json::Value;

Result<std::optional<GovernedSession>> governed_in(store::Reader& reader, const std::string& id) {
  const auto row = reader.get(tables::kSessionStates, {id});
  if (!row) return tl::make_unexpected(row.error());
  if (!*row) return std::nullopt;
  auto rules = rules_in(reader, pack_in(**row));
  if (!rules) return tl::make_unexpected(rules.error());
  auto read = read_governed(**row, std::move(*rules));
  if (!read) return tl::make_unexpected(read.error());
  return std::optional(std::move(*read));
}

}  // namespace

void tell_mcp(Value& out, const contract::Plan& plan) {
  if (plan.unknown_content != contract::UnknownContent::Refuse)
    out.set("unknown_content", name_of(plan.unknown_content));
  if (contract::lets_unasked_answers_pass(plan)) out.set("unasked_answers", "pass");
}

void tell_owed(Value& out, const contract::Plan& plan) {
  if (plan.owed != contract::Owed::Any || plan.owed_by_subagents != contract::Owed::None) {
    Value handoff = Value::object();
    handoff.set("dialect", contract::name_of(plan.owed));
    handoff.set("subagents", contract::name_of(plan.owed_by_subagents));
    out.set("handoff", std::move(handoff));
  }
  if (plan.claims != contract::Claims::Off) out.set("claims", contract::name_of(plan.claims));
}

Result<std::optional<Value>> shown_governed(store::Reader& reader, const std::string& session_id) {
  auto found = governed_in(reader, session_id);
  if (!found) return tl::make_unexpected(found.error());
  if (!*found) return std::nullopt;
  const GovernedSession& session = **found;
  Value out = Value::object();
  out.set("pack", session.rules->plan->hash);
  out.set("rules_version", session.rules_version);
  if (!session.workflow_id.empty()) out.set("workflow_id", session.workflow_id);
  out.set("agent", session.rules->plan->agent);
  if (!session.role.empty()) out.set("role", session.role);
  if (!session.work_id.empty()) out.set("work_id", session.work_id);
  out.set("opened_at", format_time(session.opened_at));
  out.set("changed_at", format_time(session.changed_at));
  const Value state = session::shown(*session.rules, session.state);
  for (const auto& [name, value] : state.members()) out.set(name, value);
  if (!session.subagents.empty()) {
    Value subagents = Value::array();
    for (const Subagent& one : session.subagents) subagents.push(one.to_json());
    out.set("subagents", std::move(subagents));
  }
  if (session.unhooked_calls != 0) out.set("unhooked_calls", session.unhooked_calls);
  if (session.rules->plan->client_user_is_operator) out.set("client_user_is_operator", true);
  tell_mcp(out, *session.rules->plan);
  tell_owed(out, *session.rules->plan);
  const contract::Limits& held_to = session.rules->plan->limits;
  Value limits = Value::object();
  if (held_to.max_steps) limits.set("max_steps", *held_to.max_steps);
  if (held_to.max_tool_calls) limits.set("max_tool_calls", *held_to.max_tool_calls);
  if (held_to.max_cost) limits.set("max_cost_per_session", Value::number(held_to.max_cost->text()));
  if (!limits.members().empty()) out.set("limits", std::move(limits));
  return std::optional(std::move(out));
}

Result<Value> UseCases::list_sessions(std::string_view standing, std::string_view after, std::size_t limit) {
  const auto reader = inside_->store.reader();
  if (!reader) return tl::make_unexpected(reader.error());
  Value sessions = Value::array();
  store::Query query{.table = tables::kSessionStates, .limit = limit + 1};
  if (!standing.empty()) {
    query.index = &tables::kSessionStatesByStanding;
    query.equal = {std::string(standing)};
  }
  if (!after.empty()) query.from = std::string(after);
  std::string last;
  bool more = false;
  auto found = (*reader)->find(query, [&](const store::Row& row) {
    if (text_at(row, 0) == after) return true;
    if (sessions.elements().size() == limit) {
      more = true;
      return false;
    }
    Value one = Value::object();
    last = text_at(row, 0);
    one.set("id", last);
    one.set("standing", text_at(row, 1));
    one.set("pack", text_at(row, 2));
    if (const auto content = json::parse(text_at(row, 4))) {
      for (const std::string_view member : {"role", "actor_id", "work_id", "opened_at", "changed_at", "unhooked_calls"})
        if (const json::Node value = content->root()[member]) one.set(member, Value::copy(value));
      if (const json::Node because = content->root()["state"]["paused_because"])
        one.set("paused_because", Value::copy(because));
    }
    sessions.push(std::move(one));
    return true;
  });
  if (!found) return tl::make_unexpected(found.error());
  Value out = Value::object();
  out.set("sessions", std::move(sessions));
  if (more) out.set("next", last);
  return out;
}

Result<Answer> UseCases::preflight(const Caller& caller, const std::string& session_id, const std::string& asked) {
  const auto refuse = [](Code code, std::initializer_list<Argument> arguments) {
    Answer out;
    out.refused = {report(code, {}, arguments)};
    return out;
  };
  const auto document = json::parse(asked);
  if (!document || !document->root().is_object())
    return refuse(Code::SESSION_OPTIONS, {{"problem", "the body is no JSON object"}});
  const auto reader = inside_->store.reader();
  if (!reader) return tl::make_unexpected(reader.error());
  auto found = work::is_work_id(session_id) ? governed_in(**reader, session_id)
                                            : Result<std::optional<GovernedSession>>(std::nullopt);
  if (!found) return tl::make_unexpected(found.error());
  if (!*found) return refuse(Code::SESSION_UNKNOWN, {{"session", session_id}});
  GovernedSession& session = **found;
  const bool above = caller.actor.kind == work::ActorKind::Operator;
  if (caller.session_id.empty() ? !above && caller.actor.id != session.actor_id : caller.session_id != session_id)
    return refuse(Code::SESSION_NOT_YOURS, {{"session", session_id}});
  auto [question, problem] = session::read_preflight(document->root());
  if (!problem.empty()) return refuse(Code::SESSION_OPTIONS, {{"problem", problem}});
  if (!session.work_id.empty()) {
    const auto item_row = (*reader)->get(tables::kWorkItems, {session.work_id});
    if (!item_row) return tl::make_unexpected(item_row.error());
    const auto session_row = (*reader)->get(tables::kSessions, {session_id});
    if (!session_row) return tl::make_unexpected(session_row.error());
    if (*item_row && *session_row) {
      const auto item = read_item(**item_row);
      const auto leased = read_session(**session_row);
      if (!item) return tl::make_unexpected(item.error());
      if (!leased) return tl::make_unexpected(leased.error());
      const Time now{inside_->clock.now().nanoseconds};
      question.lease_stale =
          leased->fence != session.fence || !work::check_lease(*item, *leased, now, Code::LEASE_STALE).empty();
    }
  }
  std::shared_ptr<WorkflowView> workflow;
  if (!session.workflow_id.empty())
    workflow = view_in(**reader, session.rules->workflow, session.workflow_id, session_id);
  question.commons = workflow.get();
  Answer out;
  out.body = session::shown(*session.rules, session::preflight(*session.rules, session.state, question));
  if (workflow && workflow->problem()) return tl::make_unexpected(*workflow->problem());
  return out;
}

Result<bool> UseCases::is_turn_of(const std::string& session_id, const std::string& call_id) {
  const auto reader = inside_->store.reader();
  if (!reader) return tl::make_unexpected(reader.error());
  auto found = work::is_work_id(session_id) ? governed_in(**reader, session_id)
                                            : Result<std::optional<GovernedSession>>(std::nullopt);
  if (!found) return tl::make_unexpected(found.error());
  if (!*found || (*found)->workflow_id.empty()) return true;
  const GovernedSession& session = **found;
  const auto view = view_in(**reader, session.rules->workflow, session.workflow_id, session_id);
  const session::SharedCall own{session_id, call_id};
  for (const workflow::Footprint::Touch& call : workflow::footprint_of(*session.rules, session.state).calls) {
    if (call.call != call_id) continue;
    for (const session::SharedKey& key : call.keys)
      if (view->plan().shared[key.resource].mode == contract::SharedMode::SerialOnly &&
          !view->hold(key).is_turn_of(own))
        return false;
  }
  if (view->problem()) return tl::make_unexpected(*view->problem());
  return true;
}

}  // namespace baton::runtime
