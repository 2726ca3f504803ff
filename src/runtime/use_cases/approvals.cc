// SPDX-License-Identifier: Apache-2.0
// What people decide: an approval is single, of exact content, by an operator who is not the one who asked; and it is spent by the one
// call it was given for. What is approved is judged again on the state as it then is.
#include <algorithm>

#include "base/limits.h"
#include "runtime/session_events.h"
#include "runtime/use_cases/govern.h"
#include "runtime/use_cases/reading.h"
#include "runtime/work_events.h"
#include "session/shown.h"
#include "store/tables.h"

namespace baton::runtime {
namespace {

namespace tables = store::tables;
using json::Value;

// When it is over, of a clock that was not set ahead meanwhile.
Time due_at(const Act& act, const Approval& approval) {
  return Time{approval.deadline() + act.engine.timekeeper.skipped_since(approval.requested_at)};
}

// The person has acted: the lease's clock goes on.
Result<void> unpark(Act& act, Act::Governed& held, std::string_view answer) {
  if (!held.item || held.session.state.is_paused()) return {};
  const work::Ruling answered = work::answer(*held.item, answer, act.now);
  for (const work::Event& event : answered.events)
    if (auto done = act.record(event, *held.item, Act::Is::Beside); !done) return done;
  return {};
}

constexpr std::int64_t kSpendSeconds = 3600;  // stated: of content, once it was approved

// Content that an agent asked about: the answer goes to the item, and to the session that goes on.
Result<void> rule_on_content(Act& act, const Approval& approval, const RuledBy& by) {
  const bool yes = by.ruling == session::Ruling::Approved;
  if (approval.work_id.empty())  // of a session without an item: whoever asked looks at the approval
    return move_approval(act, by.actor, approval,
                         by.ruling == session::Ruling::TimedOut ? ApprovalState::Expired
                         : yes                                  ? ApprovalState::Approved
                                                                : ApprovalState::Denied,
                         by.note, yes ? std::optional(act.now + kSpendSeconds) : std::nullopt, by.is);
  auto item = act.settled_item(approval.work_id);
  if (!item) return tl::make_unexpected(item.error());
  if (!*item) return {};
  if (by.ruling == session::Ruling::TimedOut) {
    // Nobody acted: the item is blocked with its question, as when nobody answers.
    const auto session = act.session(approval.session_id);
    if (!session) return tl::make_unexpected(session.error());
    if (*session)
      for (const work::Event& event :
           work::give_up_waiting(**item, **session, "nobody decided in time", act.now).events)
        if (auto done = act.record_as(by.actor, event, **item, Act::Is::Beside); !done) return done;
    return move_approval(act, by.actor, approval, ApprovalState::Expired, "");
  }
  const std::string text =
      std::string(yes ? "approved" : "denied") + ": " + approval.id + (by.note.empty() ? "" : "\n" + by.note);
  const work::Ruling answered = work::answer(**item, text, act.now);
  if (!answered.allowed() && by.is == Act::Is::Main) return act.refuse(answered.refused), Result<void>();
  for (const work::Event& event : answered.events)
    if (auto done = act.record_as(by.actor, event, **item, by.is); !done) return done;
  const auto to = yes ? ApprovalState::Approved : ApprovalState::Denied;
  return move_approval(act, by.actor, approval, to, by.note,
                       yes ? std::optional(act.now + kSpendSeconds) : std::nullopt, by.is);
}

}  // namespace

Result<std::optional<Approval>> approval_of(Act& act, const std::string& id) {
  const auto row = act.unit.get(tables::kApprovals, {id});
  if (!row) return tl::make_unexpected(row.error());
  if (!*row) return std::nullopt;
  auto approval = read_approval(**row);
  if (!approval) return tl::make_unexpected(approval.error());
  return std::optional(std::move(*approval));
}

bool waits_for_decision(const Act& act, const Approval& approval) {
  return approval.state == ApprovalState::Pending && due_at(act, approval) > act.now;
}

Result<std::optional<Approval>> approved_content(Act& act, const std::string& work_id, std::string_view content,
                                                 const std::deque<Approval>& taken) {
  std::vector<std::string> ids;
  std::optional<Failure> problem;
  const auto fits = [&](const Approval& approval) {
    const Value* shown = approval.subject.find("exact_content");
    return approval.state == ApprovalState::Approved && approval.kind == "content" && approval.work_id == work_id &&
           due_at(act, approval) > act.now && shown != nullptr && shown->is_string() && shown->string() == content &&
           std::ranges::find(taken, approval.id, &Approval::id) == taken.end();
  };
  auto found = act.unit.find({.table = tables::kApprovals,
                              .index = &tables::kApprovalsByState,
                              .equal = {std::string(name_of(ApprovalState::Approved))}},
                             store::Lock::None, [&](const store::Row& row) {
                               const auto approval = read_approval(row);
                               if (!approval) problem = approval.error();
                               else if (fits(*approval)) ids.push_back(approval->id);
                               return approval.has_value() && ids.empty();
                             });
  if (!found) return tl::make_unexpected(found.error());
  if (problem) return tl::make_unexpected(*problem);
  if (ids.empty()) return std::nullopt;
  // Read again, this time to be changed.
  auto approval = approval_of(act, ids.front());
  if (!approval || !*approval || fits(**approval)) return approval;
  return std::nullopt;
}

Result<void> move_approval(Act& act, const ledger::Actor& actor, const Approval& approval, ApprovalState to,
                           std::string_view note, std::optional<Time> spend_until, Act::Is is) {
  Value payload = Value::object();
  payload.set("approval_id", approval.id);
  payload.set("to", name_of(to));
  payload.set("by", actor.id);
  if (!note.empty()) payload.set("note", note);
  if (spend_until) payload.set("spend_until", format_time(*spend_until));
  payload.set("at", format_time(act.now));
  return act.append_as(actor, std::string(kApprovalsStream), kApprovalMoved, std::move(payload), is, {"/approval_id"});
}

Result<void> rule_on_call(Act& act, Approval approval, const RuledBy& by) {
  auto found = act.governed(approval.session_id);
  if (!found) return tl::make_unexpected(found.error());
  if (!*found) return {};
  Act::Governed& held = **found;
  const auto verdict = session::rule_on(*held.session.rules, held.session.state, approval.call_id, by.ruling,
                                        held.lease_stale, held.workflow.get());
  if (auto seen = was_seen(held); !seen) return seen;
  if (!verdict) {
    // The call is not there any more: nothing that could be decided.
    if (by.is == Act::Is::Main) act.refuse(report(Code::APPROVAL_CLOSED, {}, {{"state", "about a call that is over"}}));
    return by.is == Act::Is::Main
               ? Result<void>()
               : move_approval(act, node_actor(), approval, ApprovalState::Cancelled, "the call is over");
  }
  const bool yes =
      by.ruling == session::Ruling::Approved || (by.ruling == session::Ruling::TimedOut && approval.allow_on_timeout);
  const auto to = yes ? ApprovalState::Approved
                      : (by.ruling == session::Ruling::Denied ? ApprovalState::Denied : ApprovalState::Expired);
  const auto spend = approval.spend_seconds.rounded_up(limits::kApprovalSecondsMax);
  if (auto done = move_approval(act, by.actor, approval, to, by.note,
                                yes ? std::optional(act.now + spend) : std::nullopt, by.is);
      !done)
    return done;
  Value payload = session_payload(act, approval.session_id);
  payload.set("call_id", approval.call_id);
  payload.set("ruling", name_of(by.ruling));
  payload.set("calls", resolved_value(*verdict));
  if (held.lease_stale) payload.set("lease_stale", true);
  const session::Effects effects = session::take_ruling(*held.session.rules, held.session.state, approval.call_id,
                                                        by.ruling, session::resolved_of(*verdict));
  if (effects.killed) payload.set("killed", true);
  std::vector<std::string> pointers = {"/session_id", "/call_id"};
  for (std::size_t i = 0; i < verdict->calls.size(); ++i)
    pointers.push_back("/calls/" + std::to_string(i) + "/call_id");
  if (auto done = act.append_as(by.actor, session_stream(approval.session_id), kSessionRuled, std::move(payload),
                                Act::Is::Beside, {pointers.begin(), pointers.end()});
      !done)
    return done;
  // What shared the fate of a call that did not pass cannot be approved any more; and what was and did not pass is not spent.
  for (std::size_t i = 0; i < verdict->calls.size(); ++i) {
    if (verdict->calls[i].verdict != session::Verdict::Block) continue;
    const bool own = verdict->call_ids[i] == approval.call_id;
    if (own && !yes) continue;
    auto other = approval_of(act, approval_id_of(approval.session_id, verdict->call_ids[i]));
    if (!other) return tl::make_unexpected(other.error());
    if (!*other || ((*other)->state != ApprovalState::Pending && (*other)->state != ApprovalState::Approved)) continue;
    if (auto done = move_approval(act, node_actor(), **other, ApprovalState::Cancelled,
                                  own ? "it did not pass when it was judged again" : "its response was rejected");
        !done)
      return done;
  }
  act.answer.body = session::shown(*verdict, effects);
  if (effects.killed) return ended_by_breaker(act, held);
  return unpark(act, held, std::string(name_of(to)) + ": " + approval.id);
}

Result<bool> settle_approval(Act& act, const std::string& approval_id) {
  auto found = approval_of(act, approval_id);
  if (!found) return tl::make_unexpected(found.error());
  if (!*found || (*found)->deadline() == INT64_MAX || due_at(act, **found) > act.now) return false;
  const Approval& approval = **found;
  if (approval.state == ApprovalState::Pending) {
    // What could not be shown to anybody does not pass because nobody answered.
    const bool passes_unseen = approval.allow_on_timeout && !approval.cannot_be_shown().elements().empty();
    const RuledBy by{node_actor(), passes_unseen ? session::Ruling::Denied : session::Ruling::TimedOut,
                     passes_unseen ? "nobody decided in time, and it could not be shown" : "", Act::Is::Beside};
    auto done = approval.kind == "call" ? rule_on_call(act, approval, by) : rule_on_content(act, approval, by);
    if (!done) return tl::make_unexpected(done.error());
    return true;
  }
  // Approved, and nobody began the call in time.
  if (auto done = move_approval(act, node_actor(), approval, ApprovalState::Lapsed, ""); !done)
    return tl::make_unexpected(done.error());
  if (approval.kind != "call") return true;
  auto held = act.governed(approval.session_id);
  if (!held) return tl::make_unexpected(held.error());
  if (!*held) return true;
  session::State& state = (*held)->session.state;
  const session::OpenCall* call = state.find(approval.call_id);
  if (call == nullptr || call->state != session::CallState::Pending) return true;
  const session::Effects effects =
      session::take_start(*(*held)->session.rules, state, {approval.call_id, true, std::nullopt, {}});
  Value payload = session_payload(act, approval.session_id);
  payload.set("call_id", approval.call_id);
  payload.set("verdict", "block");
  payload.set("failures", failures_value({{report(Code::checkpoint_timeout, {}), {}}}));
  payload.set("lapsed", true);
  if (effects.killed) payload.set("killed", true);
  if (auto done = act.append_as(node_actor(), session_stream(approval.session_id), kCallStarted, std::move(payload),
                                Act::Is::Beside, {"/session_id", "/call_id"});
      !done)
    return tl::make_unexpected(done.error());
  if (effects.killed)
    if (auto done = ended_by_breaker(act, **held); !done) return tl::make_unexpected(done.error());
  return true;
}

void UseCases::decide_approval(const Mutation& by, ApprovalDecision decision, Answered done) {
  inside_->run(
      by,
      [decision = std::move(decision)](Act& act) -> Result<void> {
        if (!work::is_work_id(decision.approval_id))
          return act.refuse(report(Code::APPROVAL_UNKNOWN, {}, {{"id", decision.approval_id}})), Result<void>();
        auto found = approval_of(act, decision.approval_id);
        if (!found) return tl::make_unexpected(found.error());
        if (!*found)
          return act.refuse(report(Code::APPROVAL_UNKNOWN, {}, {{"id", decision.approval_id}})), Result<void>();
        Approval& approval = **found;
        if (approval.state != ApprovalState::Pending || due_at(act, approval) <= act.now)
          return act.refuse(report(Code::APPROVAL_CLOSED, {},
                                   {{"state", approval.state == ApprovalState::Pending ? std::string_view("expired")
                                                                                       : name_of(approval.state)}})),
                 Result<void>();
        if (decision.digest != approval.digest) return act.refuse(report(Code::APPROVAL_DIGEST, {})), Result<void>();
        if (act.caller().actor.id == approval.requested_by)
          return act.refuse(report(Code::APPROVAL_OWN, {})), Result<void>();
        if (decision.approve)
          if (const Value problems = approval.cannot_be_shown(); !problems.elements().empty()) {
            const Value& first = problems.elements().front();
            return act.refuse(report(
                       Code::APPROVAL_NOT_SHOWN, {},
                       {{"place", first.find("pointer")->string()}, {"problem", first.find("problem")->string()}})),
                   Result<void>();
          }
        const RuledBy ruled{ledger_actor(act.caller().actor),
                            decision.approve ? session::Ruling::Approved : session::Ruling::Denied, decision.note,
                            Act::Is::Main};
        const std::string id = approval.id;
        auto done = approval.kind == "call" ? rule_on_call(act, std::move(approval), ruled)
                                            : rule_on_content(act, approval, ruled);
        if (!done || act.refused()) return done;
        auto now = approval_of(act, id);
        if (!now) return tl::make_unexpected(now.error());
        act.answer.body.set("approval", (*now)->told());
        return {};
      },
      std::move(done));
}

namespace {

// What is asked about a labelled session's work is that session's content: without it, what there is to know that it waits.
Result<Value> shown_to(store::Reader& reader, const ReadingAs& as, const Approval& approval) {
  if (as.clearance.reads_all) return approval.told();
  if (!approval.session_id.empty() && approval.session_id == as.session_id) return approval.told();
  auto labels = labels_of_session(reader, approval.session_id);
  const auto of_item = labels ? labels_of_item(reader, approval.work_id) : labels;
  if (!of_item) return tl::make_unexpected(of_item.error());
  labels->insert(labels->end(), of_item->begin(), of_item->end());
  std::ranges::sort(*labels);
  labels->erase(std::unique(labels->begin(), labels->end()), labels->end());
  const work::ReadDecision decision = work::decide_read(as.clearance, {}, *labels);
  if (decision.is_whole()) return approval.told();
  Value whole = approval.told(), out = Value::object();
  for (const std::string_view member :
       {"id", "kind", "state", "session_id", "work_id", "requested_at", "expires_at", "decided_at", "spend_until"})
    if (const Value* value = whole.find(member)) out.set(member, *value);
  out.set("withheld",
          shown_withheld(withheld_because("the approval `" + approval.id + "`", decision), decision.missing));
  return out;
}

Caller the_node() {
  Caller node;
  node.actor = {node_actor().id, work::ActorKind::Node};
  return node;
}

}  // namespace

Result<Value> UseCases::list_approvals(std::string_view state, std::size_t limit) {
  return list_approvals(the_node(), state, limit);
}

Result<Value> UseCases::list_approvals(const Caller& caller, std::string_view state, std::size_t limit) {
  const auto reader = inside_->store.reader();
  if (!reader) return tl::make_unexpected(reader.error());
  const auto as = runtime::reading_as(**reader, inside_->config.policy, caller, false);
  if (!as) return tl::make_unexpected(as.error());
  Value approvals = Value::array();
  std::optional<Failure> problem;
  store::Query query{.table = tables::kApprovals, .limit = limit};
  if (!state.empty()) {
    query.index = &tables::kApprovalsByState;
    query.equal = {std::string(state)};
  }
  std::vector<Approval> all;
  auto found = (*reader)->find(query, [&](const store::Row& row) {
    auto approval = read_approval(row);
    if (!approval) problem = approval.error();
    else all.push_back(std::move(*approval));
    return !problem;
  });
  if (!found) return tl::make_unexpected(found.error());
  if (problem) return tl::make_unexpected(*problem);
  for (const Approval& approval : all) {
    auto one = shown_to(**reader, *as, approval);
    if (!one) return one;
    approvals.push(std::move(*one));
  }
  Value out = Value::object();
  out.set("approvals", std::move(approvals));
  return out;
}

Result<std::optional<Value>> UseCases::show_approval(std::string_view id) { return show_approval(the_node(), id); }

Result<std::optional<Value>> UseCases::show_approval(const Caller& caller, std::string_view id) {
  if (!work::is_work_id(id)) return std::nullopt;
  const auto reader = inside_->store.reader();
  if (!reader) return tl::make_unexpected(reader.error());
  const auto row = (*reader)->get(tables::kApprovals, {std::string(id)});
  if (!row) return tl::make_unexpected(row.error());
  if (!*row) return std::nullopt;
  const auto approval = read_approval(**row);
  if (!approval) return tl::make_unexpected(approval.error());
  const auto as = runtime::reading_as(**reader, inside_->config.policy, caller, false);
  if (!as) return tl::make_unexpected(as.error());
  auto one = shown_to(**reader, *as, *approval);
  if (!one) return tl::make_unexpected(one.error());
  Value out = Value::object();
  out.set("approval", std::move(*one));
  return std::optional(std::move(out));
}

}  // namespace baton::runtime
