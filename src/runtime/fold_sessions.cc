// SPDX-License-Identifier: Apache-2.0
// What becomes of entries about governed sessions, packs and approvals. What was decided is in the entry; nothing is decided here.
#include "runtime/fold_parts.h"
#include "runtime/packs.h"
#include "runtime/session_events.h"
#include "runtime/session_record.h"
#include "runtime/session_rows.h"
#include "runtime/work_rows.h"
#include "runtime/workflow_events.h"
#include "store/tables.h"

namespace baton::runtime {
namespace {

namespace tables = store::tables;

Result<GovernedSession> governed_of(const Event& event, json::Node payload, store::Transaction& transaction) {
  std::string id;
  if (!read_text(payload, "session_id", id)) return malformed(event, "session_id");
  const auto row = transaction.get(tables::kSessionStates, {id});
  if (!row) return tl::make_unexpected(row.error());
  if (!*row) return malformed(event, "session that is known");
  auto rules = rules_in(transaction, pack_in(**row));
  if (!rules) return tl::make_unexpected(rules.error());
  return read_governed(**row, std::move(*rules));
}

Result<void> store_state(const Event& event, json::Node payload, GovernedSession& session,
                         store::Transaction& transaction) {
  if (!read_time(payload, "at", session.changed_at)) return malformed(event, "at");
  session.prune_other_doors();
  session.prune_sighted();
  return transaction.update(tables::kSessionStates, row_of(session));
}

// By what a hook knows the call, where one proposed or began it.
void take_sighting(json::Node payload, std::string_view call_id, GovernedSession& session) {
  const json::Node seen = payload["sighting"];
  if (!seen.is_object() || !seen["input_sha256"].is_string()) return;
  Sighted& one = session.sighted[std::string(call_id)];
  one.input_sha256 = seen["input_sha256"].string();
  one.call_id = seen["call_id"].is_string() ? seen["call_id"].string() : std::string_view();
}

// What a session's state cannot tell others of its workflow about what happened to one of its calls.
workflow::Turn turn_of(const Event& event, json::Node payload) {
  std::string call_id;
  workflow::Turn out;
  if (!read_text(payload, "call_id", call_id)) return out;
  if (event.type == kCallStarted && is_told_to_wait(payload)) out.waits = call_id;
  if (event.type == kCallSettled && payload["state"].is_text("committed")) out.committed = call_id;
  if (event.type == kCallSettled && payload["state"].is_text("failed")) out.failed = call_id;
  return out;
}

// Reads the session, lets `change` change its state, and writes it. `change` says whether the payload held.
template <class Change>
Result<void> change_state(const Event& event, json::Node payload, store::Transaction& transaction, Change change) {
  auto session = governed_of(event, payload, transaction);
  if (!session) return tl::make_unexpected(session.error());
  std::optional<workflow::Footprint> before;
  if (!session->workflow_id.empty()) before = workflow::footprint_of(*session->rules, session->state);
  if (!change(*session)) return malformed(event, "complete account");
  if (auto done = store_state(event, payload, *session, transaction); !done) return done;
  return before ? follow_session(event, *session, *before, turn_of(event, payload), transaction) : Result<void>();
}

// Ending a session resets no budget of its item.
Result<void> add_to_totals(const Event& event, const std::string& work_id, std::int64_t calls,
                           const json::Decimal& cost, store::Transaction& transaction) {
  const auto row = transaction.get(tables::kWorkItems, {work_id});
  if (!row) return tl::make_unexpected(row.error());
  if (!*row) return malformed(event, "item that is known");
  auto item = read_item(**row);
  if (!item) return tl::make_unexpected(item.error());
  item->totals.calls += static_cast<std::uint64_t>(calls);
  item->totals.cost = item->totals.cost + cost;
  return transaction.update(tables::kWorkItems, row_of(*item));
}

}  // namespace

Result<void> fold_pack_part(const Event& event, json::Node payload, store::Transaction& transaction) {
  std::string pack, text;
  std::int64_t part = 0;
  std::vector<std::string> texts;
  if (!read_text(payload, "pack", pack) || !read_number(payload, "part", part) || !read_texts(payload, "texts", texts))
    return malformed(event, "complete part");
  for (const std::string& one : texts) text += one;
  return put(transaction, tables::kPackParts, {pack, part, text});
}

Result<void> fold_pack_activated(const Event& event, json::Node payload, store::Transaction& transaction) {
  std::string pack, role, agent;
  Time at;
  if (!read_text(payload, "pack", pack) || !read_text(payload, "role", role) || !read_text(payload, "agent", agent) ||
      !read_time(payload, "at", at))
    return malformed(event, "complete activation");
  json::Value content = json::Value::object();
  content.set("agent", agent);
  content.set("by", event.actor_id);
  content.set("at", format_time(at));
  if (payload["folder"].is_string()) content.set("folder", payload["folder"].string());
  if (payload["holds_texts"].is_true()) content.set("holds_texts", true);
  return put(transaction, tables::kPackRoles, {role, pack, json::write(content)});
}

Result<void> fold_session_opened(const Event& event, json::Node payload, store::Transaction& transaction) {
  GovernedSession out;
  std::string mode, gate, kind;
  session::Opening opening;
  std::vector<std::string> denied;
  if (!read_text(payload, "session_id", out.id) || !read_text(payload, "pack", out.pack) ||
      !read_text(payload, "actor_id", out.actor_id) || !read_text(payload, "actor_kind", kind) ||
      !read_text(payload, "mode", mode) || !read_text(payload, "gate", gate) ||
      !read_texts(payload, "labels", opening.labels) || !read_texts(payload, "denied", denied) ||
      !read_time(payload, "at", out.opened_at))
    return malformed(event, "complete opening");
  const auto named_mode = session::mode_named(mode);
  const auto named_gate = session::gate_named(gate);
  const auto named_kind = agent_exit::find_actor_kind(kind);
  if (!named_mode || !named_gate || !named_kind) return malformed(event, "known mode, gate and kind");
  opening.mode = *named_mode;
  opening.gate = *named_gate;
  out.changed_at = out.opened_at;
  if (payload["role"]) read_text(payload, "role", out.role);
  if (payload["agent_id"]) read_text(payload, "agent_id", out.agent_id);
  if (payload["principal_sha256"]) read_text(payload, "principal_sha256", out.principal_sha256);
  std::int64_t fence = 0;
  const bool bound = bool(payload["work_id"]);
  if (bound && (!read_text(payload, "work_id", out.work_id) || !read_number(payload, "fence", fence)))
    return malformed(event, "work_id and fence");
  out.fence = static_cast<std::uint64_t>(fence);
  if (payload["workflow_id"]) read_text(payload, "workflow_id", out.workflow_id);
  if (payload["rules_version"] && !read_number(payload, "rules_version", out.rules_version))
    return malformed(event, "rules_version");

  auto rules = rules_in(transaction, out.pack);
  if (!rules) return tl::make_unexpected(rules.error());
  if (*rules == nullptr) return malformed(event, "pack that is known");
  out.rules = *rules;
  for (const std::string& tool : denied) {
    const auto id = out.rules->plan->find_tool(tool);
    if (!id) return malformed(event, "tool that is known");
    opening.denied.push_back(*id);
  }
  for (const std::string& name : out.rules->plan->environment) {
    const json::Node value = payload["environment"][name];
    opening.environment.emplace_back(value.is_object() ? json::write(json::Value::copy(value)) : "");
  }
  if (payload["calls_before"] && !read_number(payload, "calls_before", opening.calls_before))
    return malformed(event, "calls_before");
  if (payload["cost_before"].is_number())
    opening.cost_before = json::Decimal::from_number(payload["cost_before"].number_text());
  out.state = session::open(*out.rules, opening);
  if (auto done = transaction.insert(tables::kSessionStates, row_of(out)); !done) return done;
  if (!out.workflow_id.empty()) {
    if (out.rules->workflow == nullptr) return malformed(event, "pack that is a role's");
    if (auto done = add_member(event, payload, out, transaction); !done) return done;
  }
  if (bound) return {};
  // Without a work item the session begins here.
  work::Session session;
  session.id = out.id;
  session.actor_id = out.actor_id;
  session.actor_kind = *named_kind;
  session.agent_id = out.agent_id;
  session.role = out.role;
  session.opened_at = out.opened_at;
  if (payload["token_id"]) read_text(payload, "token_id", session.token_id);
  return transaction.insert(tables::kSessions, row_of(session));
}

Result<void> fold_session_step(const Event& event, json::Node payload, store::Transaction& transaction) {
  return change_state(event, payload, transaction, [&](GovernedSession& session) {
    const auto step = read_step(*session.rules, payload);
    if (!step) return false;
    session::take_step(*session.rules, session.state, *step);
    if (payload["other_door"].is_true())
      for (const json::Node call : payload["calls"].elements())
        if (call["call_id"].is_string()) session.other_doors.emplace_back(call["call_id"].string());
    for (const json::Node call : payload["calls"].elements())
      if (call["call_id"].is_string()) take_sighting(payload, call["call_id"].string(), session);
    return true;
  });
}

Result<void> fold_session_ruled(const Event& event, json::Node payload, store::Transaction& transaction) {
  return change_state(event, payload, transaction, [&](GovernedSession& session) {
    std::string call_id, ruling;
    const auto resolved = read_resolved(payload);
    if (!resolved || !read_text(payload, "call_id", call_id) || !read_text(payload, "ruling", ruling)) return false;
    const auto named = ruling_named(ruling);
    if (named) session::take_ruling(*session.rules, session.state, call_id, *named, *resolved);
    return named.has_value();
  });
}

Result<void> fold_call_started(const Event& event, json::Node payload, store::Transaction& transaction) {
  return change_state(event, payload, transaction, [&](GovernedSession& session) {
    const auto begun = read_begun(*session.rules, session.state, payload);
    Time at;
    if (!begun || !read_time(payload, "at", at)) return false;
    session::take_start(*session.rules, session.state, *begun);
    take_sighting(payload, begun->call_id, session);
    const session::OpenCall* call = session.state.find(begun->call_id);
    if (call != nullptr && call->state == session::CallState::Executing) session.begun.emplace(begun->call_id, at);
    return true;
  });
}

Result<void> fold_call_settled(const Event& event, json::Node payload, store::Transaction& transaction) {
  return change_state(event, payload, transaction, [&](GovernedSession& session) {
    const auto settled = read_settled(payload);
    if (!settled) return false;
    session::take_settlement(*session.rules, session.state, *settled);
    session.begun.erase(settled->call_id);
    return true;
  });
}

Result<void> fold_session_labelled(const Event& event, json::Node payload, store::Transaction& transaction) {
  return change_state(event, payload, transaction, [&](GovernedSession& session) {
    std::string label;
    if (!read_text(payload, "label", label)) return false;
    session::take_label(session.state, label);
    return true;
  });
}

Result<void> fold_session_cost(const Event& event, json::Node payload, store::Transaction& transaction) {
  if (!payload["cost"].is_number()) return malformed(event, "cost");
  const json::Decimal cost = json::Decimal::from_number(payload["cost"].number_text());
  std::string late_for;  // the item of a session that is over already
  auto done = change_state(event, payload, transaction, [&](GovernedSession& session) {
    session::take_cost(session.state, cost);
    if (session.state.standing != session::Standing::Open) late_for = session.work_id;
    return true;
  });
  if (!done || late_for.empty()) return done;
  return add_to_totals(event, late_for, 0, cost, transaction);
}

Result<void> fold_session_cancel_requested(const Event& event, json::Node payload, store::Transaction& transaction) {
  return change_state(event, payload, transaction, [&](GovernedSession& session) {
    session::take_cancel_request(session.state);
    return true;
  });
}

Result<void> fold_session_ended(const Event& event, json::Node payload, store::Transaction& transaction) {
  auto session = governed_of(event, payload, transaction);
  if (!session) return tl::make_unexpected(session.error());
  std::string to, because;
  Time at;
  if (!read_text(payload, "to", to) || !read_text(payload, "because", because) || !read_time(payload, "at", at))
    return malformed(event, "to, because and at");
  const auto standing = to == "killed" ? session::Standing::Killed : session::Standing::Closed;
  std::optional<workflow::Footprint> before;
  if (!session->workflow_id.empty()) before = workflow::footprint_of(*session->rules, session->state);
  session::take_end(*session->rules, session->state, standing, because);
  for (Subagent& one : session->subagents)
    if (one.open) session->end_subagent(one.id, {}, at);
  if (auto done = store_state(event, payload, *session, transaction); !done) return done;
  if (before)
    if (auto done = follow_session(event, *session, *before, {}, transaction); !done) return done;
  if (!session->work_id.empty()) {
    return add_to_totals(event, session->work_id, session->state.tool_calls, session->state.cost, transaction);
  }
  const auto row = transaction.get(tables::kSessions, {session->id});
  if (!row) return tl::make_unexpected(row.error());
  if (!*row) return malformed(event, "session that is known");
  auto own = read_session(**row);
  if (!own) return tl::make_unexpected(own.error());
  own->state = standing == session::Standing::Killed ? work::SessionState::Killed : work::SessionState::Closed;
  own->ended_because = because;
  own->ended_at = at;
  return transaction.update(tables::kSessions, row_of(*own));
}

// A session that was closed, and that its client came back to.
Result<void> fold_session_reopened(const Event& event, json::Node payload, store::Transaction& transaction) {
  auto session = governed_of(event, payload, transaction);
  if (!session) return tl::make_unexpected(session.error());
  session::take_reopening(session->state);
  if (auto done = store_state(event, payload, *session, transaction); !done) return done;
  const auto row = transaction.get(tables::kSessions, {session->id});
  if (!row) return tl::make_unexpected(row.error());
  if (!*row) return malformed(event, "session that is known");
  auto own = read_session(**row);
  if (!own) return tl::make_unexpected(own.error());
  own->state = work::SessionState::Open;
  own->ended_because.clear();
  own->ended_at.reset();
  // It goes on: what it said last was not its last word.
  if (!own->plan_status.empty()) own->plan_status = "IN_PROGRESS";
  own->reports_in_a_row = 0;
  return transaction.update(tables::kSessions, row_of(*own));
}

Result<void> fold_session_paused(const Event& event, json::Node payload, store::Transaction& transaction) {
  return change_state(event, payload, transaction, [&](GovernedSession& session) {
    std::string because;
    if (!read_text(payload, "because", because)) return false;
    session::take_pause(session.state, because);
    return true;
  });
}

Result<void> fold_session_resumed(const Event& event, json::Node payload, store::Transaction& transaction) {
  return change_state(event, payload, transaction, [&](GovernedSession& session) {
    session::take_resumption(session.state);
    return true;
  });
}

Result<void> fold_unhooked_call(const Event& event, json::Node payload, store::Transaction& transaction) {
  return change_state(event, payload, transaction, [&](GovernedSession& session) {
    ++session.unhooked_calls;
    return true;
  });
}

// --- subagents

Result<void> fold_subagent_started(const Event& event, json::Node payload, store::Transaction& transaction) {
  return change_state(event, payload, transaction, [&](GovernedSession& session) {
    std::string id, type;
    Time at;
    if (!read_text(payload, "agent_id", id) || !read_time(payload, "at", at)) return false;
    if (payload["type"].is_string()) read_text(payload, "type", type);
    session.begin_subagent(id, type, at);
    return true;
  });
}

Result<void> fold_subagent_refused(const Event& event, json::Node payload, store::Transaction& transaction) {
  return change_state(event, payload, transaction, [&](GovernedSession& session) {
    std::string id;
    std::int64_t repairs = 0;
    if (!read_text(payload, "agent_id", id) || !read_number(payload, "repairs", repairs)) return false;
    session.repair_subagent(id, static_cast<std::uint32_t>(repairs));
    return session.find_subagent(id) != nullptr;
  });
}

Result<void> fold_subagent_ended(const Event& event, json::Node payload, store::Transaction& transaction) {
  return change_state(event, payload, transaction, [&](GovernedSession& session) {
    std::string id;
    std::int64_t reports = 0;
    Time at;
    GovernedSession::SubagentEnd how;
    if (!read_text(payload, "agent_id", id) || !read_time(payload, "at", at) ||
        (payload["outcome"] && !read_text(payload, "outcome", how.outcome)) ||
        (payload["plan_status"] && !read_text(payload, "plan_status", how.plan_status)) ||
        (payload["digest"] && !read_text(payload, "digest", how.handoff_digest)) ||
        (payload["reports_in_a_row"] && !read_number(payload, "reports_in_a_row", reports)))
      return false;
    how.reports_in_a_row = static_cast<std::uint32_t>(reports);
    session.end_subagent(id, how, at);
    return session.find_subagent(id) != nullptr;
  });
}

Result<void> fold_approval_requested(const Event& event, json::Node payload, store::Transaction& transaction) {
  const auto approval = read_approval(payload);
  if (!approval) return malformed(event, "complete request");
  return transaction.insert(tables::kApprovals, row_of(*approval));
}

Result<void> fold_approval_moved(const Event& event, json::Node payload, store::Transaction& transaction) {
  std::string id, to, by;
  Time at;
  if (!read_text(payload, "approval_id", id) || !read_text(payload, "to", to) || !read_text(payload, "by", by) ||
      !read_time(payload, "at", at))
    return malformed(event, "complete move");
  const auto state = approval_state_named(to);
  if (!state) return malformed(event, "known state");
  const auto row = transaction.get(tables::kApprovals, {id});
  if (!row) return tl::make_unexpected(row.error());
  if (!*row) return malformed(event, "approval that is known");
  auto approval = read_approval(**row);
  if (!approval) return tl::make_unexpected(approval.error());
  const bool was_pending = approval->state == ApprovalState::Pending;
  approval->state = *state;
  if (was_pending) {
    approval->decided_by = by;
    approval->decided_at = at;
  }
  if (payload["note"]) read_text(payload, "note", approval->note);
  if (!read_optional_time(payload, "spend_until", approval->spend_until)) return malformed(event, "spend_until");
  return transaction.update(tables::kApprovals, row_of(*approval));
}

Result<void> fold_approval_enriched(const Event& event, json::Node payload, store::Transaction& transaction) {
  std::string id;
  if (!read_text(payload, "approval_id", id) || !payload["context"].is_object())
    return malformed(event, "approval_id and context");
  const auto row = transaction.get(tables::kApprovals, {id});
  if (!row) return tl::make_unexpected(row.error());
  if (!*row) return malformed(event, "approval that is known");
  auto approval = read_approval(**row);
  if (!approval) return tl::make_unexpected(approval.error());
  approval->context.set("approval_request", json::Value::copy(payload["context"]));
  return transaction.update(tables::kApprovals, row_of(*approval));
}

}  // namespace baton::runtime
