// SPDX-License-Identifier: Apache-2.0
// Governed sessions: opened under a pack, their calls judged, begun and settled. Each decision is recorded, with what it was made
// from, before anything happens.
#include "runtime/use_cases/govern.h"

#include <algorithm>
#include <cstdlib>
#include <deque>

#include "base/ids.h"
#include "base/limits.h"
#include "base/text.h"
#include "contract/facts.h"
#include "hooks/facts.h"
#include "json/canonical.h"
#include "json/parse.h"
#include "ledger/blob.h"
#include "protection/protection.h"
#include "runtime/client_sessions.h"
#include "runtime/packs.h"
#include "runtime/session_events.h"
#include "runtime/shown_subject.h"
#include "runtime/use_cases/document.h"
#include "runtime/use_cases/fast_lane.h"
#include "runtime/use_cases/reading.h"
#include "runtime/work_events.h"
#include "session/door.h"
#include "session/shown.h"
#include "store/tables.h"

namespace baton::runtime {
namespace {

namespace tables = store::tables;
using json::Value;
using session::kNone;

constexpr std::string_view kDefaultRole = "agent";

// Null when it is none; `refused` says why.
std::shared_ptr<const Question> read_question(std::string text, std::size_t bytes_max,
                                              std::vector<Diagnostic>& refused) {
  auto document = json::parse_owned(std::move(text), {.bytes_max = bytes_max, .depth_max = limits::kCallBodyDepthMax});
  if (document && document->root().is_object()) return std::make_shared<const Question>(Question{std::move(*document)});
  refused = {
      report(Code::SESSION_OPTIONS, {},
             {{"problem", document ? "the body is no object" : "the body is not JSON: " + document.error().what}})};
  return nullptr;
}

Result<void> append_ids_exempt(Act& act, const ledger::Actor& actor, std::string stream, std::string_view type,
                               Value payload, Act::Is is) {
  const std::vector<std::string> pointers = id_pointers(payload);
  return act.append_as(actor, std::move(stream), type, std::move(payload), is, {pointers.begin(), pointers.end()});
}

Result<void> append_session(Act& act, const std::string& session_id, std::string_view type, Value payload,
                            Act::Is is = Act::Is::Main) {
  return append_ids_exempt(act, ledger_actor(act.caller().actor), session_stream(session_id), type, std::move(payload),
                           is);
}

}  // namespace

Result<void> was_seen(const Act::Governed& held) {
  if (held.workflow && held.workflow->problem()) return tl::make_unexpected(*held.workflow->problem());
  return {};
}

bool lacks_facts(const session::Rules& rules, const session::Proposed& call) {
  const auto tool = rules.plan->find_tool(call.tool);
  return tool && rules.tools[*tool].reads_facts && call.arguments.root().is_object() &&
         !contract::facts_in(call.arguments.root());
}

std::vector<std::string> id_pointers(const Value& payload) {
  std::vector<std::string> out = {
      "/session_id", "/call_id",          "/arguments_sha256",     "/approval_id", "/pack",     "/token_id",
      "/agent_id",   "/workflow_id",      "/handoff_id",           "/parent",      "/subagent", "/digest",
      "/key",        "/sighting/call_id", "/sighting/input_sha256"};
  if (const Value* calls = payload.find("calls"))
    for (std::size_t i = 0; i < calls->elements().size(); ++i)
      for (const char* member : {"/call_id", "/arguments_sha256", "/approval_id", "/spends"})
        out.push_back("/calls/" + std::to_string(i) + member);
  return out;
}

void set_sighting(Value& payload, const std::optional<Sighting>& seen) {
  if (!seen) return;
  Value kept = Value::object();
  if (!seen->call_id.empty()) kept.set("call_id", seen->call_id);
  kept.set("input_sha256", seen->input_sha256);
  payload.set("sighting", std::move(kept));
}

std::string approval_id_of(std::string_view session_id, std::string_view call_id) {
  return "apr_" + short_hash(std::string(session_id) + "\n" + std::string(call_id));
}

std::vector<Read> reads_of_governed(const std::string& session_id) {
  if (!work::is_work_id(session_id)) return {};
  return {{&tables::kSessionStates, {session_id}}, {&tables::kSessions, {session_id}, &tables::kWorkItems, 1}};
}

Value session_payload(const Act& act, std::string_view session_id) {
  Value out = Value::object();
  out.set("session_id", session_id);
  out.set("at", format_time(act.now));
  return out;
}

Result<std::vector<ledger::Blob>> seal_subject(Approval& approval) {
  const std::vector<std::string_view> exempt = {"/session", "/arguments_sha256", "/contract"};
  approval.hidden_parts = static_cast<std::int64_t>(mark_secrets(approval.subject) + mark_secrets(approval.context));
  auto sealed = ledger::prepare_payload(approval.subject, exempt);
  if (!sealed) return tl::make_unexpected(sealed.error());
  approval.digest = sha256_hex(sealed->payload);
  approval.subject = Value::copy(json::parse(sealed->payload)->root());
  return std::move(sealed->blobs);
}

Result<void> request_approval(Act& act, Approval& approval, std::string_view executed) {
  const auto blobs = seal_subject(approval);
  if (!blobs) return tl::make_unexpected(blobs.error());
  for (const ledger::Blob& blob : *blobs)
    if (auto kept = act.unit.keep(blob); !kept) return kept;
  approval.not_shown = to_json(not_shown(approval.subject, executed));
  Value payload = approval.to_json();
  payload.set("at", format_time(act.now));
  return act.append(std::string(kApprovalsStream), kApprovalRequested, std::move(payload), Act::Is::Beside,
                    {"/id", "/session_id", "/call_id", "/digest", "/subject/session", "/subject/arguments_sha256",
                     "/subject/contract"});
}

void tell_execution(Value& body, const session::Rules& rules, const session::StepVerdict& verdict) {
  Value::Array& calls = body.find("calls")->elements();
  for (std::size_t i = 0; i < verdict.calls.size(); ++i) {
    if (verdict.calls[i].tool == kNone) continue;
    const contract::Tool& tool = rules.tool(verdict.calls[i].tool);
    Value out = Value::object();
    out.set("total_ms", tool.total_ms);
    if (tool.retries.max_attempts > 1) {
      out.set("max_attempts", tool.retries.max_attempts);
      out.set("retry_on", texts_value(tool.retries.retry_on));
      out.set("respect_retry_after", tool.retries.respect_retry_after);
      out.set("max_sleep_seconds", Value::number(tool.retries.max_sleep_seconds.text()));
    }
    calls[i].set("execution", std::move(out));
  }
}

bool may_act_for(const Caller& caller, const work::Session& session) {
  if (!caller.session_id.empty()) return caller.session_id == session.id;
  return caller.actor.kind == work::ActorKind::Operator || caller.actor.kind == work::ActorKind::Node ||
         caller.actor.id == session.actor_id;
}

// --- finding it -------------------------------------------------------------------------------------------------------------------

Result<std::optional<Act::Governed>> Act::governed(const std::string& session_id, By by) {
  Result<std::optional<work::Session>> found;
  if (work::is_work_id(session_id)) found = session(session_id);
  if (!found) return tl::make_unexpected(found.error());
  if (!*found) return refuse(report(Code::SESSION_UNKNOWN, {}, {{"session", session_id}})), std::nullopt;
  if (by == By::Caller && !may_act_for(caller(), **found))
    return refuse(report(Code::SESSION_NOT_YOURS, {}, {{"session", session_id}})), std::nullopt;
  Governed out;
  out.opened_by_operator = (*found)->actor_kind == work::ActorKind::Operator;
  if (!(*found)->work_id.empty()) {
    auto there = item((*found)->work_id);
    if (!there) return tl::make_unexpected(there.error());
    if (!*there) return failure("reading a session", "its work item is not there");
    out.item = std::move(**there);
    if (auto done = settle(*out.item); !done) return tl::make_unexpected(done.error());
    found = session(session_id);  // settling may have ended it
    if (!found) return tl::make_unexpected(found.error());
    out.leased = std::move(**found);
  }
  const auto row = unit.get(tables::kSessionStates, {session_id});
  if (!row) return tl::make_unexpected(row.error());
  if (!*row) return refuse(report(Code::SESSION_GOVERNED, {}, {{"problem", "is not held to a pack"}})), std::nullopt;
  auto rules = rules_in(unit, pack_in(**row));
  if (!rules) return tl::make_unexpected(rules.error());
  auto read = read_governed(**row, std::move(*rules));
  if (!read) return tl::make_unexpected(read.error());
  out.session = std::move(*read);
  if (!out.session.workflow_id.empty())
    out.workflow = view_in(unit, out.session.rules->workflow, out.session.workflow_id, session_id);
  if (!out.leased) return std::optional(std::move(out));
  // A session that ended with its lease is told so; one that ended for another reason is told that.
  const session::State& state = out.session.state;
  const bool by_lease = state.standing == session::Standing::Killed && state.ended_because == out.leased->ended_because;
  const bool stale = out.leased->fence != out.session.fence ||
                     !work::check_lease(*out.item, *out.leased, now, Code::LEASE_STALE).empty();
  out.lease_stale = stale && (state.standing == session::Standing::Open || by_lease);
  return std::optional(std::move(out));
}

Result<void> Act::end_governed(const std::string& session_id, session::Standing to, std::string_view because) {
  if (auto locked = about_to_end(session_id); !locked) return locked;
  const auto ended = end_one(session_id, to, because);
  if (!ended) return tl::make_unexpected(ended.error());
  return *ended ? leave_workflow(session_id, to) : Result<void>();
}

Result<bool> Act::end_one(const std::string& session_id, session::Standing to, std::string_view because) {
  const auto row = unit.get(tables::kSessionStates, {session_id});
  if (!row) return tl::make_unexpected(row.error());
  if (!*row || text_at(**row, 1) != "open") return false;
  Value payload = session_payload(*this, session_id);
  payload.set("to", session::name_of(to));
  payload.set("because", because);
  if (auto done = append_ids_exempt(*this, ledger_actor(caller().actor), session_stream(session_id), kSessionEnded,
                                    std::move(payload), Is::Beside);
      !done)
    return tl::make_unexpected(done.error());
  // Nobody needs to decide any more what cannot happen.
  std::vector<Approval> waiting;
  std::optional<Failure> problem;
  auto found = unit.find({.table = tables::kApprovals, .index = &tables::kApprovalsBySession, .equal = {session_id}},
                         store::Lock::Wait, [&](const store::Row& one) {
                           auto approval = read_approval(one);
                           if (!approval) {
                             problem = approval.error();
                             return false;
                           }
                           // Content that was approved is the item's: the next session on it may go on with it.
                           if (approval->state == ApprovalState::Pending ||
                               (approval->state == ApprovalState::Approved && approval->kind == "call"))
                             waiting.push_back(std::move(*approval));
                           return true;
                         });
  if (!found) return tl::make_unexpected(found.error());
  if (problem) return tl::make_unexpected(*problem);
  for (const Approval& approval : waiting)
    if (auto done = move_approval(*this, node_actor(), approval, ApprovalState::Cancelled, "the session ended"); !done)
      return tl::make_unexpected(done.error());
  return true;
}

Result<void> ended_by_breaker(Act& act, Act::Governed& held) {
  if (auto done = act.leave_workflow(held.session.id, session::Standing::Killed); !done) return done;
  if (!held.item || held.lease_stale) return {};
  const work::Ruling failed =
      work::fail(*held.item, *held.leased, "the session was ended by its circuit breaker", act.now);
  for (const work::Event& event : failed.events)
    if (auto done = act.record(event, *held.item, Act::Is::Beside); !done) return done;
  return {};
}

// --- opening ----------------------------------------------------------------------------------------------------------------------

namespace {

class Opening {
 public:
  Opening(Act& act, const OpenSession& asked, const std::string& new_id, const std::string& agent_id,
          const std::optional<std::map<std::string, std::string>>& environment, const InWorkflow* in = nullptr)
      : act_(act), asked_(asked), new_id_(new_id), agent_id_(agent_id), environment_(environment), in_(in) {}

  Result<void> run() {
    if (!asked_.client_key.empty()) {
      const auto found = find_again();
      if (!found) return tl::make_unexpected(found.error());
      if (*found) return {};  // what is under way there is settled, however little room there is
    }
    if (auto none = act_.engine.need_room(act_.caller(), Engine::Adds::Work)) {
      act_.answer.retry_seconds = none->retry_seconds;
      return act_.refuse(std::move(none->why)), Result<void>();
    }
    if (auto done = find_session(); !done || act_.refused()) return done;
    choose_role();
    if (act_.refused()) return {};
    if (auto done = find_pack(); !done || act_.refused()) return done;
    if (auto done = check(); !done || act_.refused()) return done;
    return record();
  }

 private:
  void refuse(Code code, std::initializer_list<Argument> arguments) { act_.refuse(report(code, {}, arguments)); }

  // The session of this key: it is answered with when there is one. False: there is none yet, and `client_id_` is to be its id.
  Result<bool> find_again() {
    client_id_ = client_session_id(asked_.client_key);
    const auto row = act_.unit.get(tables::kSessionStates, {client_id_});
    if (!row) return tl::make_unexpected(row.error());
    if (!*row) return false;
    auto found = act_.governed(client_id_);
    if (!found) return tl::make_unexpected(found.error());
    if (!*found) return true;  // refused
    GovernedSession& session = (*found)->session;
    if (session.state.standing == session::Standing::Closed) {
      session::take_reopening(session.state);
      if (auto done = append_session(act_, session.id, kSessionReopened, session_payload(act_, session.id)); !done)
        return tl::make_unexpected(done.error());
    }
    Value told = Value::object();
    told.set("id", session.id);
    told.set("pack", session.rules->plan->hash);
    told.set("role", session.role);
    told.set("agent_id", session.agent_id);
    told.set("mode", session::name_of(session.state.mode));
    told.set("gate", session::name_of(session.state.gate));
    act_.answer.body.set("session", std::move(told));
    return true;
  }

  Result<void> find_session() {
    role_ = asked_.role.empty() ? std::string(kDefaultRole) : asked_.role;
    if (in_ != nullptr) role_ = in_->role;
    if (asked_.session_id.empty()) {
      if (!act_.caller().session_id.empty() && in_ == nullptr)
        refuse(Code::SESSION_OPTIONS, {{"problem", "a session cannot open another one: name it in `session_id`"}});
      return {};
    }
    auto held = act_.holding(asked_.session_id);
    if (!held) return tl::make_unexpected(held.error());
    if (!*held) return {};
    if (auto stale = work::check_lease((*held)->item, (*held)->session, act_.now, Code::LEASE_STALE); !stale.empty())
      return act_.refuse(std::move(stale)), Result<void>();
    const auto row = act_.unit.get(tables::kSessionStates, {asked_.session_id});
    if (!row) return tl::make_unexpected(row.error());
    if (*row) return refuse(Code::SESSION_GOVERNED, {{"problem", "is held to a pack already"}}), Result<void>();
    held_ = std::move(**held);
    if (asked_.role.empty() && !held_->session.role.empty() && in_ == nullptr) role_ = held_->session.role;
    return {};
  }

  // The roles that the caller may open a session in; nothing: any.
  std::optional<std::vector<std::string>> roles() const {
    const Caller& who = act_.caller();
    auto out = roles_of(who, act_.policy());
    if (out && who.grant.roles.empty()) out->insert(out->end(), asked_.also_roles.begin(), asked_.also_roles.end());
    // Its claim was judged already. Who may not choose has no other.
    if (out && held_ && !held_->session.role.empty()) {
      if (!who.grant.is_host) out->clear();
      out->push_back(held_->session.role);
    }
    return out;
  }

  void choose_role() {
    const TokenGrant& grant = act_.caller().grant;
    // What is handed over in a workflow says the role; a token that is for other roles does not take it.
    if (in_ != nullptr && (grant.roles.empty() || act_.caller().actor.kind == work::ActorKind::Operator)) return;
    const auto allowed = in_ != nullptr ? grant.roles : roles().value_or(std::vector<std::string>());
    if (in_ == nullptr && !roles()) return;
    const bool chose = in_ != nullptr || !asked_.role.empty() || held_;
    if (!chose && grant.roles.size() == 1) role_ = grant.roles.front();
    if (auto refused = check_role(role_, allowed)) act_.refuse(std::move(*refused));
  }

  Result<void> find_pack() {
    pack_ = in_ != nullptr ? pack_of_role(in_->hash, in_->role) : asked_.pack;
    if (in_ != nullptr) {
      // The workflow was activated as a whole.
    } else if (pack_.empty()) {
      const auto row = act_.unit.get(tables::kPackRoles, {role_});
      if (!row) return tl::make_unexpected(row.error());
      if (!*row) return refuse(Code::PACK_UNKNOWN, {{"pack", "for the role `" + role_ + "`"}}), Result<void>();
      pack_ = text_at(**row, 1);
    } else if (const auto allowed = roles(); !is_active(pack_, allowed)) {
      if (problem_) return tl::make_unexpected(*problem_);
      return refuse(Code::PACK_UNKNOWN, {{"pack", "`" + pack_ + "`"}}), Result<void>();
    }
    auto rules = rules_in(act_.unit, pack_);
    if (!rules) return tl::make_unexpected(rules.error());
    if (*rules == nullptr) return refuse(Code::PACK_UNKNOWN, {{"pack", "`" + pack_ + "`"}}), Result<void>();
    rules_ = std::move(*rules);
    return {};
  }

  // Some role that the caller may have has it: what was replaced cannot be chosen any more.
  bool is_active(const std::string& pack, const std::optional<std::vector<std::string>>& roles) {
    bool active = false;
    auto found = act_.unit.find({.table = tables::kPackRoles}, store::Lock::None, [&](const store::Row& row) {
      active = active || (text_at(row, 1) == pack && (!roles || !check_role(text_at(row, 0), *roles)));
      return !active;
    });
    if (!found) problem_ = found.error();
    return active;
  }

  Result<void> check() {
    const contract::Plan& plan = *rules_->plan;
    const bool is_operator = act_.caller().actor.kind == work::ActorKind::Operator;
    if (asked_.mode != session::Mode::Enforce && !is_operator)
      refuse(Code::SESSION_OPTIONS, {{"problem", "only an operator opens a session that enforces nothing"}});
    else if (auto found = find_principal(); !found) return found;
    else if (act_.refused()) return {};
    else if (plan.needs_principal && !principal_) refuse(Code::PRINCIPAL_REQUIRED, {});
    else
      for (const std::string& tool : asked_.unwrapped)
        if (const auto id = plan.find_tool(tool); id && !plan.tools[*id].execution_constraints.empty())
          refuse(Code::EXECUTION_CONSTRAINT_UNWRAPPED, {{"tool", tool}});
    for (const std::string& label : asked_.labels)
      if (!work::is_label(label)) refuse(Code::SESSION_OPTIONS, {{"problem", "`" + label + "` is no label"}});
    return {};
  }

  Result<void> record() {
    const contract::Plan& plan = *rules_->plan;
    const KeyedHiding hiding(act_.engine.ledger.redaction_key());
    const std::string id = held_ ? held_->session.id : client_id_.empty() ? new_id_ : client_id_;
    std::vector<std::string> labels = asked_.labels;
    Value payload = session_payload(act_, id);
    if (in_ != nullptr) {
      payload.set("workflow_id", in_->workflow_id);
      if (!in_->parent.empty()) payload.set("parent", in_->parent);
      if (!in_->handoff_id.empty()) payload.set("handoff_id", in_->handoff_id);
      labels.insert(labels.end(), in_->labels.begin(), in_->labels.end());
    }
    payload.set("pack", pack_);
    payload.set("rules_version", session::kRulesVersion);
    payload.set("role", role_);
    const Caller& who = act_.caller();
    payload.set("actor_id", held_ ? held_->session.actor_id : who.actor.id);
    payload.set("actor_kind", agent_exit::actor_kind_name(held_ ? held_->session.actor_kind : who.actor.kind));
    payload.set("agent_id", held_ ? held_->session.agent_id : agent_id_);
    if (held_) {
      payload.set("work_id", held_->item.id);
      payload.set("fence", held_->session.fence);
      labels.insert(labels.end(), held_->item.labels.begin(), held_->item.labels.end());
      if (held_->item.totals.calls != 0) payload.set("calls_before", held_->item.totals.calls);
      if (held_->item.totals.cost != json::Decimal())
        payload.set("cost_before", Value::number(held_->item.totals.cost.text()));
    } else if (!who.token_id.empty()) {
      payload.set("token_id", who.token_id);
    }
    // What an agent of a labelled session opens is told what that one was.
    if (const std::string above = session_of(who); !above.empty() && above != id) {
      const auto reader = act_.engine.store.reader();
      if (!reader) return tl::make_unexpected(reader.error());
      const auto has = labels_of_session(**reader, above);
      if (!has) return tl::make_unexpected(has.error());
      labels.insert(labels.end(), has->begin(), has->end());
    }
    std::ranges::sort(labels);
    labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
    payload.set("labels", texts_value(labels));
    payload.set("mode", session::name_of(asked_.mode));
    payload.set("gate", session::name_of(asked_.gate));
    if (auto done = record_principal(payload); !done || act_.refused()) return done;
    Value environment = Value::object();
    const auto facts = session::environment_facts(plan, variables_of(plan), &hiding);
    for (std::size_t i = 0; i < facts.size(); ++i)
      if (!facts[i].empty()) environment.set(plan.environment[i], Value::copy(json::parse(facts[i])->root()));
    payload.set("environment", std::move(environment));
    if (auto done = append_session(act_, id, kSessionOpened, std::move(payload)); !done) return done;
    // What the session begins with, its item has too.
    if (held_)
      for (const work::Event& event : work::add_labels(held_->item, labels, act_.now).events)
        if (auto labelled = act_.record(event, held_->item, Act::Is::Beside); !labelled) return labelled;
    tell(id);
    return {};
  }

  std::map<std::string, std::string> variables_of(const contract::Plan& plan) const {
    if (environment_) return *environment_;
    std::map<std::string, std::string> out;
    for (const std::string& name : plan.environment)
      if (const char* value = std::getenv(name.c_str())) out.emplace(name, value);
    return out;
  }

  // Whom the session acts for. An operator and a host say it; of an agent, its token does; a child of a workflow has its parent's where
  // nobody says another.
  Result<void> find_principal() {
    const Caller& who = act_.caller();
    const bool may_name = !who.supervised && (who.actor.kind == work::ActorKind::Operator || who.grant.is_host);
    std::string named;
    if (asked_.principal && (!json::append_canonical(named, *asked_.principal, json::Numbers::Exact) ||
                             named.size() > limits::kPrincipalBytesMax))
      return refuse(Code::SESSION_OPTIONS, {{"problem", "the principal is too large"}}), Result<void>();
    if (may_name && asked_.principal) {
      principal_ = Principal{std::move(named), {}, 0};
      return {};
    }
    TokenGrant from = who.grant;
    // The token that the session was opened with speaks for it, whichever its actor shows now.
    if (from.principal_blob.empty() && !asked_.principal && in_ != nullptr && !in_->parent.empty())
      if (auto inherited = principal_of(in_->parent, from); !inherited) return inherited;
    if (!from.principal_blob.empty()) {
      auto text = content_of(from.principal_blob);
      if (!text) return tl::make_unexpected(text.error());
      if (!*text)
        return refuse(Code::ACCESS_PRINCIPAL, {{"problem", "what the token said of it was erased"}}), Result<void>();
      principal_ = Principal{std::move(**text), from.principal_blob, from.principal_bytes};
    }
    if (asked_.principal && (!principal_ || principal_->text != named))
      refuse(Code::ACCESS_PRINCIPAL, {{"problem", principal_ ? "the token names another one"
                                                             : "an agent does not say itself whom it acts for"}});
    return {};
  }

  // The principal of an open session, as its opening says it; nothing is changed where it has none.
  Result<void> principal_of(const std::string& session_id, TokenGrant& out) {
    const auto reader = act_.engine.store.reader();
    if (!reader) return tl::make_unexpected(reader.error());
    const auto state = (*reader)->get(tables::kSessionStates, {session_id});
    if (!state) return tl::make_unexpected(state.error());
    const auto content = *state ? json::parse(text_at(**state, 4)) : tl::unexpected(json::ParseError{});
    if (!content || !content->root()["principal_sha256"]) return {};
    const auto opened =
        find_entry(**reader, session_stream(session_id), kSessionOpened, [](std::string_view) { return true; });
    if (!opened) return tl::make_unexpected(opened.error());
    const auto payload = *opened ? json::parse((*opened)->payload) : tl::unexpected(json::ParseError{});
    if (!payload || !read_text(payload->root()["principal"]["blob"], "sha256", out.principal_blob) ||
        !read_number(payload->root()["principal"]["blob"], "bytes", out.principal_bytes))
      return failure("reading whom a session acts for", "its opening does not say it");
    return {};
  }

  // Of an encrypted blob; nothing when it was erased. The hash is the entry's, so that no other content is taken for it.
  Result<std::optional<std::string>> content_of(const std::string& sha256) {
    const auto reader = act_.engine.store.reader();
    if (!reader) return tl::make_unexpected(reader.error());
    const auto row = (*reader)->get(tables::kBlobs, {sha256});
    if (!row) return tl::make_unexpected(row.error());
    const auto* bytes = *row ? std::get_if<std::string>(&(**row)[1]) : nullptr;
    const auto* key = *row ? std::get_if<std::string>(&(**row)[2]) : nullptr;
    if (bytes == nullptr || key == nullptr) return std::nullopt;
    if (sha256_hex(*bytes) != sha256) return failure("reading whom a session acts for", "the blob was altered");
    auto text = ledger::open_blob(*bytes, *key);
    if (!text) return tl::make_unexpected(text.error());
    return std::optional(std::move(*text));
  }

  // The principal itself lies beside the ledger, where it can be erased; what follows from it is recorded.
  Result<void> record_principal(Value& payload) {
    std::optional<json::Document> principal;
    if (principal_) {
      payload.set("principal_sha256", keyed_digest(act_.engine.ledger.redaction_key(), principal_->text));
      if (principal_->blob.empty()) {
        const ledger::Blob blob = ledger::encrypted_blob(principal_->text, act_.engine.random);
        if (auto kept = act_.unit.keep(blob); !kept) return kept;
        principal_->blob = blob.sha256;
        principal_->bytes = static_cast<std::int64_t>(blob.bytes.size());
      }
      payload.set("principal", ledger::blob_reference(principal_->blob, static_cast<std::size_t>(principal_->bytes)));
      principal.emplace(std::move(*json::parse_owned(std::move(principal_->text))));
    }
    Value denied = Value::array();
    for (const session::ToolId id :
         session::denied_by_policy(*rules_->plan, principal ? principal->root() : json::Node()))
      denied.push(rules_->tool(id).name);
    payload.set("denied", std::move(denied));
    return {};
  }

  void tell(const std::string& id) {
    Value session = Value::object();
    session.set("id", id);
    session.set("pack", rules_->plan->hash);
    if (in_ != nullptr) session.set("workflow_id", in_->workflow_id);
    session.set("role", role_);
    session.set("agent_id", held_ ? held_->session.agent_id : agent_id_);
    session.set("mode", session::name_of(asked_.mode));
    session.set("gate", session::name_of(asked_.gate));
    if (rules_->plan->client_user_is_operator) session.set("client_user_is_operator", true);
    tell_mcp(session, *rules_->plan);
    tell_owed(session, *rules_->plan);
    act_.answer.created = true;
    act_.answer.body.set("session", std::move(session));
    if (held_) return;
    const Engine& engine = act_.engine;
    act_.dress_with([&engine](Answer& answer) {
      Value* told = answer.body.find("session");
      told->set("token", engine.session_token(told->find("id")->string()));
    });
  }

  Act& act_;
  const OpenSession& asked_;
  const std::string &new_id_, &agent_id_;
  const std::optional<std::map<std::string, std::string>>& environment_;
  const InWorkflow* const in_;  // null: of no workflow
  std::optional<Act::Holding> held_;
  std::string role_, pack_, client_id_;
  struct Principal {
    std::string text;  // canonical
    std::string blob;  // that has it already: a token's, a parent's. Erased there, it is erased here
    std::int64_t bytes = 0;
  };
  std::optional<Principal> principal_;
  std::shared_ptr<const session::Rules> rules_;
  std::optional<Failure> problem_;
};

}  // namespace

Result<void> open_in_workflow(Act& act, const OpenSession& asked, const InWorkflow& in, const NewSession& made,
                              const std::optional<std::map<std::string, std::string>>& environment) {
  return Opening(act, asked, made.id, made.agent_id, environment, &in).run();
}

Engine::Finish session_token_again(const Engine& engine) {
  return [&engine](store::Reader&, Answer& answer) -> Result<void> {
    Value* session = answer.body.find("session");
    const Value* id = session == nullptr ? nullptr : session->find("id");
    if (id != nullptr) session->set("token", engine.session_token(id->string()));
    return {};
  };
}

void UseCases::use_environment(std::map<std::string, std::string> variables) {
  inside_->environment = std::move(variables);
}

void UseCases::open_session(const Mutation& by, OpenSession asked, Answered done) {
  std::vector<Read> reads = reads_of_governed(asked.session_id);
  Inside& inside = *inside_;
  inside.run(
      by,
      [&inside, asked = std::move(asked), id = mint_id("ses_", inside.random), agent_id = mint_id("a", inside.random)](
          Act& act) { return Opening(act, asked, id, agent_id, inside.environment).run(); },
      std::move(done), {.finish_replay = session_token_again(inside), .reads = std::move(reads)});
}

// --- a response -------------------------------------------------------------------------------------------------------------------

namespace {

// The arguments of this call are not judged, and why.
void set_aside(session::Proposed& call, Code why, std::string about) {
  call.arguments = {};
  call.digest = {};
  call.malformed_as = why;
  call.malformed = std::move(about);
}

// --- beginning one call -----------------------------------------------------------------------------------------------------------

Result<std::optional<Approval>> approval_of(Act& act, const std::string& session_id, const std::string& call_id) {
  const auto row = act.unit.get(tables::kApprovals, {approval_id_of(session_id, call_id)});
  if (!row) return tl::make_unexpected(row.error());
  if (!*row) return std::nullopt;
  auto read = read_approval(**row);
  if (!read) return tl::make_unexpected(read.error());
  return std::optional(std::move(*read));
}

// With which arguments a call begins; without them it begins with those that it was judged by.
struct Beginning {
  json::Node arguments = {};
  session::Values values = {};
  std::string digest = {};
  std::string protected_path = {};
  std::optional<Sighting> sighting = {};
  const Value* bound = nullptr;  // what it relies on now, where a hook has looked
};

// What an approval was bound to and is not so any more, in words; empty: it is all as it was.
std::string changed_since(const Value* then, const Value* now) {
  if (then == nullptr || now == nullptr) return {};
  const auto text = [](const Value* of, std::string_view member) {
    const Value* found = of->find(member);
    return found != nullptr ? json::write(*found) : std::string();
  };
  if (text(then, "cwd") != text(now, "cwd")) return "the folder in which the call is made has changed";
  if (text(then, "environment_sha256") != text(now, "environment_sha256")) return "the environment has changed";
  std::map<std::string, std::string> before;
  const auto files = [](const Value* of) { return of->find("files"); };
  if (const Value* list = files(then))
    for (const Value& file : list->elements()) before.emplace(text(&file, "path"), json::write(file));
  if (const Value* list = files(now))
    for (const Value& file : list->elements()) {
      const auto was = before.find(text(&file, "path"));
      const std::string name = "`" + printable(words_of(file.find("path")), 200) + "`";
      if (was == before.end()) return name + " was not looked at";
      if (was->second != json::write(file)) return name + " has changed";
      before.erase(was);
    }
  return before.empty() ? "" : "what the call relies on has changed";
}

struct Begun {
  session::StartVerdict verdict;
  session::Effects effects;
};

// Judges the start of an open call, records it and spends its approval, which is good for one call, and for a time. A call that
// cannot be started in its state is not recorded: `verdict.is_open` is false.
Result<Begun> begin(Act& act, Act::Governed& held, const session::OpenCall& call, const Beginning& with,
                    const session::Hiding& hiding) {
  const std::string call_id = call.id;
  const session::ToolId tool = call.tool;
  const bool approved = call.approved;
  const session::Rules& rules = *held.session.rules;
  session::State& state = held.session.state;
  Begun out{session::start(rules, state, call_id, with.values, with.digest, held.lease_stale, &hiding,
                           held.workflow.get(), with.protected_path),
            {}};
  session::StartVerdict& verdict = out.verdict;
  if (auto seen = was_seen(held); !seen) return tl::make_unexpected(seen.error());
  if (!verdict.is_open) return out;
  std::optional<Approval> approval;
  if (approved) {
    auto read = approval_of(act, held.session.id, call_id);
    if (!read) return tl::make_unexpected(read.error());
    approval = std::move(*read);
    const bool good = approval && approval->state == ApprovalState::Approved &&
                      (!approval->spend_until || act.now < *approval->spend_until);
    if (!good && verdict.failures.empty()) verdict.failures.push_back({report(Code::checkpoint_timeout, {}), {}});
    if (approval && verdict.failures.empty())
      if (const std::string what = changed_since(approval->subject.find("bound"), with.bound); !what.empty())
        verdict.failures.push_back({report(Code::approval_stale, {}, {{"what", what}}), {}});
  }
  Value payload = session_payload(act, held.session.id);
  payload.set("call_id", call_id);
  payload.set("verdict", verdict.failures.empty() ? "allow" : "block");
  payload.set("failures", failures_value(verdict.failures));
  // Arguments that the rules cannot look at are not recorded: they may hold a number that no entry can hold.
  if (with.arguments && !verdict.failures.empty() && verdict.failures.back().code() == Code::arguments_malformed)
    payload.set("malformed", true);
  if (verdict.facts) {
    set_arguments(payload, with.arguments);
    payload.set("arguments_sha256", with.digest);
    if (tool != kNone) payload.set("values", recorded_values(with.values, rules.tools[tool].looked_at, hiding));
  }
  if (held.lease_stale) payload.set("lease_stale", true);
  if (!with.protected_path.empty()) payload.set("protected_path", with.protected_path);
  set_sighting(payload, with.sighting);
  out.effects = session::take_start(rules, state, session::begun_of(call_id, verdict));
  if (out.effects.killed) payload.set("killed", true);
  if (auto done = append_session(act, held.session.id, kCallStarted, std::move(payload)); !done)
    return tl::make_unexpected(done.error());
  if (out.effects.killed)
    if (auto done = ended_by_breaker(act, held); !done) return tl::make_unexpected(done.error());
  if (approval && approval->state == ApprovalState::Approved && !verdict.waits) {
    const auto to = verdict.failures.empty() ? ApprovalState::Spent : ApprovalState::Lapsed;
    if (auto done = move_approval(act, ledger_actor(act.caller().actor), *approval, to, ""); !done)
      return tl::make_unexpected(done.error());
  }
  return out;
}

class Govern {
 public:
  Govern(Act& act, const std::string& session_id, const Asking& asking)
      : act_(act), id_(session_id), asking_(asking), hiding_(act.engine.ledger.redaction_key()) {}

  Result<void> run() {
    auto found = act_.governed(id_);
    if (!found) return tl::make_unexpected(found.error());
    if (!*found) return {};
    held_ = std::move(**found);
    session::State& state = held_.session.state;
    const session::Rules& rules = *held_.session.rules;
    session::Proposal proposal = asking_.read.proposal;
    for (session::Proposed& call : proposal.calls)
      if (lacks_facts(rules, call)) set_aside(call, Code::facts_missing, std::string(call.tool));
    if (state.open.size() + proposal.calls.size() > limits::kOpenCallsMax)
      return act_.refuse(report(Code::SESSION_OPTIONS, {}, {{"problem", "too many calls are not settled"}})),
             Result<void>();
    if (asking_.subagent && state.standing == session::Standing::Open)
      if (auto done = see_subagent(act_, held_.session, *asking_.subagent); !done || act_.refused()) return done;
    const auto resumed = resume(proposal);
    if (!resumed) return tl::make_unexpected(resumed.error());
    if (*resumed) return {};
    for (const session::Proposed& call : proposal.calls)
      if (state.find(call.id) != nullptr)
        return act_.refuse(report(Code::CALL_DUPLICATE, {}, {{"id", call.id}})), Result<void>();
    const auto joined = join_other_door(proposal);
    if (!joined) return tl::make_unexpected(joined.error());
    if (*joined) return {};
    proposal.lease_stale = held_.lease_stale;
    proposal.commons = held_.workflow.get();
    if (auto done = count_approvals(rules, proposal); !done) return done;
    if (auto done = find_content(rules, proposal); !done) return done;
    session::StepVerdict verdict = session::decide(rules, state, proposal, &hiding_);
    if (auto seen = was_seen(held_); !seen) return seen;
    if (verdict.calls.size() == 1 && !verdict.calls[0].joins.empty()) return join(proposal, verdict);
    if (asking_.may_resume && verdict.calls[0].asked) {
      const auto denied = denied_before(verdict.calls[0]);
      if (!denied) return tl::make_unexpected(denied.error());
      if (*denied) return tell_denied(proposal, verdict, **denied);
    }

    std::vector<std::string> approvals;
    for (const session::Proposed& call : proposal.calls) approvals.push_back(approval_id_of(id_, call.id));
    Value payload = step_value(rules, proposal, verdict, approvals, hiding_);
    const session::Effects effects = session::take_step(rules, state, session::step_of(proposal, verdict));
    Value whole = session_payload(act_, id_);
    for (auto& [name, value] : payload.members()) whole.set(name, std::move(value));
    if (asking_.subagent) whole.set("subagent", subagent_id_of(id_, *asking_.subagent));
    if (asking_.other_door) whole.set("other_door", true);
    set_sighting(whole, asking_.sighting);
    if (effects.killed) whole.set("killed", true);
    if (auto done = append_session(act_, id_, kSessionStep, std::move(whole)); !done) return done;

    Value body = session::shown(rules, state, proposal, verdict, effects, &hiding_);
    if (state.mode == session::Mode::Enforce)
      if (auto done = ask(proposal, verdict, approvals, body); !done || act_.refused()) return done;
    if (auto done = spend_content(verdict); !done) return done;
    if (asking_.starts) {
      if (verdict.outcome != session::Outcome::Reject || state.mode != session::Mode::Enforce)
        tell_execution(body, rules, verdict);
      if (auto done = start_allowed(proposal, verdict, body); !done) return done;
    }
    if (effects.killed)
      if (auto done = ended_by_breaker(act_, held_); !done) return done;
    if (!effects.killed)
      if (auto done = extend_lease(); !done) return done;
    act_.answer.body = std::move(body);
    return {};
  }

 private:
  // The call that a person approved is proposed again, which is how a client goes on with it that has no ids, or new ones each time.
  // With `start` it begins here and spends its approval. False: there is no such call.
  Result<bool> resume(const session::Proposal& proposal) {
    if (!asking_.may_resume || !proposal.calls[0].arguments.root()) return false;
    const auto& open = held_.session.state.open;
    const auto found = std::ranges::find_if(open, [&](const session::OpenCall& call) {
      return call.approved && call.state == session::CallState::Pending && call.digest == proposal.calls[0].digest &&
             call.tool != kNone && held_.session.rules->tool(call.tool).name == proposal.calls[0].tool;
    });
    if (found == open.end()) return false;
    const std::string id = found->id;
    session::StepVerdict verdict;
    verdict.calls.emplace_back().tool = found->tool;
    Value body = goes_ahead(id, proposal.calls[0].tool);
    if (asking_.starts) {
      tell_execution(body, *held_.session.rules, verdict);
      Beginning with;
      with.sighting = asking_.sighting;
      if (asking_.bound.is_object()) with.bound = &asking_.bound;
      const auto begun = begin(act_, held_, *found, with, hiding_);
      if (!begun) return tl::make_unexpected(begun.error());
      body.find("calls")->elements()[0].set("started", begun->verdict.failures.empty());
      tell_refusal(body, id, begun->verdict.failures);
      if (begun->effects.killed) body.set("session_killed", true);
      else if (auto done = extend_lease(); !done) return tl::make_unexpected(done.error());
    }
    act_.answer.body = std::move(body);
    return true;
  }

  // The answer to a proposal of one call that was judged before.
  static Value goes_ahead(const std::string& call_id, std::string_view tool) {
    Value one = Value::object(), body = Value::object();
    one.set("call_id", call_id);
    one.set("tool", tool);
    one.set("verdict", "allow");
    one.set("failures", Value::array());
    body.set("outcome", "proceed");
    body.set("calls", Value(Value::Array{std::move(one)}));
    body.set("diagnostics", Value::array());
    body.set("session_killed", false);
    return body;
  }

  // A call that has to wait for its turn stays pending, and is begun when that comes: it is not refused.
  void tell_refusal(Value& body, const std::string& call_id, const std::vector<session::Refusal>& why) const {
    const session::OpenCall* now = held_.session.state.find(call_id);
    if (why.empty() || (now != nullptr && now->state == session::CallState::Pending)) return;
    Value& told = body.find("calls")->elements()[0];
    told.set("verdict", "block");
    told.set("reason", info(why[0].code()).name);
    for (const session::Refusal& one : why) told.find("failures")->push(session::shown(one));
    body.set("outcome", session::name_of(outcome_of_refusal()));
  }

  // What a client that proposed one call does when it is refused.
  session::Outcome outcome_of_refusal() const {
    switch (held_.session.state.gate) {
      case session::Gate::RejectAll: return session::Outcome::Reject;
      case session::Gate::StripPartial: return session::Outcome::Error;
      default: return session::Outcome::Text;
    }
  }

  // A person has said no to exactly this call in this session. Who proposes it again wants to know what became of it.
  Result<std::optional<Approval>> denied_before(const session::CallVerdict& call) {
    std::optional<Approval> out;
    std::optional<Failure> problem;
    const auto fits = [&](const Approval& approval) {
      const Value* digest = approval.subject.find("arguments_sha256");
      return approval.state == ApprovalState::Denied && approval.kind == "call" && digest != nullptr &&
             digest->is_string() && digest->string() == call.digest &&
             approval.tool == held_.session.rules->tool(call.tool).name;
    };
    auto found = act_.unit.find({.table = tables::kApprovals, .index = &tables::kApprovalsBySession, .equal = {id_}},
                                store::Lock::None, [&](const store::Row& row) {
                                  auto approval = read_approval(row);
                                  if (!approval) problem = approval.error();
                                  else if (fits(*approval)) out = std::move(*approval);
                                  return approval.has_value() && !out;
                                });
    if (!found) return tl::make_unexpected(found.error());
    if (problem) return tl::make_unexpected(*problem);
    return out;
  }

  // Nobody is asked a second time, and nothing has happened: the first answer is told again.
  Result<void> tell_denied(const session::Proposal& proposal, session::StepVerdict& verdict, const Approval& denied) {
    session::CallVerdict& call = verdict.calls[0];
    call.verdict = session::Verdict::Block;
    call.asked.reset();
    call.failures.push_back({report(Code::checkpoint_denied, {},
                                    {{"suggestion", denied.note.empty() ? "do not propose it again as it is"
                                                                        : "the note says: " + denied.note}}),
                             {}});
    verdict.outcome = outcome_of_refusal();
    act_.answer.body =
        session::shown(*held_.session.rules, held_.session.state, proposal, verdict, session::Effects(), &hiding_);
    return {};
  }

  // A call that another door has proposed, with the same arguments, and that it left for this one to begin: it was judged and counted
  // there. False: there is none.
  Result<bool> join_other_door(const session::Proposal& proposal) {
    if (asking_.other_door || !asking_.starts || proposal.calls.size() != 1 || !proposal.calls[0].arguments.root())
      return false;
    const session::Rules& rules = *held_.session.rules;
    const auto tool = rules.plan->find_tool(proposal.calls[0].tool);
    const session::OpenCall* call = tool ? held_.session.at_other_door(*tool, proposal.calls[0].digest) : nullptr;
    if (call == nullptr) return false;
    const std::string id = call->id;
    session::StepVerdict verdict;
    verdict.calls.emplace_back().tool = *tool;
    Value body = goes_ahead(id, proposal.calls[0].tool);
    tell_execution(body, rules, verdict);
    // An approval is spent where it is begun (start_call).
    if (!call->approved) {
      session::Proposal known;
      known.calls.emplace_back().id = id;
      std::vector<session::Refusal> why;
      if (auto done = start_allowed(known, verdict, body, &why, asking_.sighting); !done)
        return tl::make_unexpected(done.error());
      tell_refusal(body, id, why);
    }
    if (auto done = extend_lease(); !done) return tl::make_unexpected(done.error());
    act_.answer.body = std::move(body);
    return true;
  }

  // Whoever has the session's token asks, not the operator who opened the session for them.
  const std::string& asker() const {
    const bool by_agent = held_.opened_by_operator && !act_.caller().session_id.empty();
    return by_agent ? held_.session.agent_id : held_.session.actor_id;
  }

  // How many approvals may still be asked for. Only counted when a call could need one.
  Result<void> count_approvals(const session::Rules& rules, session::Proposal& proposal) {
    const auto asks = [&](const session::Proposed& call) {
      const auto tool = rules.plan->find_tool(call.tool);
      if (!tool) return false;
      const auto& checks = rules.tool(*tool).checks;
      return std::ranges::find(checks, contract::Check::Checkpoints) != checks.end();
    };
    if (held_.session.state.mode != session::Mode::Enforce || std::ranges::none_of(proposal.calls, asks)) return {};
    const auto room = approval_room(act_, id_, asker());
    if (!room) return tl::make_unexpected(room.error());
    proposal.approvals_left = room->left;
    proposal.approvals_scope = room->scope;
    proposal.approvals_waiting = room->waiting;
    return {};
  }

  // Content that a person approved for this item, for the calls that it would permit. Only looked for where somebody would be asked.
  Result<void> find_content(const session::Rules& rules, session::Proposal& proposal) {
    if (held_.session.state.mode != session::Mode::Enforce || held_.session.work_id.empty() || held_.lease_stale)
      return {};
    for (session::Proposed& call : proposal.calls) {
      const auto tool = rules.plan->find_tool(call.tool);
      if (!tool || !rules.tool(*tool).command_path || !call.arguments.root().is_object()) continue;
      const json::Node value = call.arguments.at(*rules.tool(*tool).command_path);
      if (!value.is_string()) continue;
      auto approval = approved_content(act_, held_.session.work_id, value.string(), content_);
      if (!approval) return tl::make_unexpected(approval.error());
      if (!*approval) continue;
      content_.push_back(std::move(**approval));
      call.content_approval = content_.back().id;
    }
    return {};
  }

  // In the transaction that decides: nobody else can spend it too.
  Result<void> spend_content(const session::StepVerdict& verdict) {
    for (const session::CallVerdict& call : verdict.calls) {
      if (call.spends.empty()) continue;
      const auto approval = std::ranges::find(content_, call.spends, &Approval::id);
      if (auto done = move_approval(act_, ledger_actor(act_.caller().actor), *approval, ApprovalState::Spent, "");
          !done)
        return done;
    }
    return {};
  }

  Result<void> join(const session::Proposal& proposal, const session::StepVerdict& verdict) {
    Value body = session::shown(proposal, verdict, {});
    const auto approval = approval_of(act_, id_, verdict.calls[0].joins);
    if (!approval) return tl::make_unexpected(approval.error());
    if (*approval) tell_approval(body.find("calls")->elements()[0], **approval);
    act_.answer.body = std::move(body);
    return {};
  }

  static void tell_approval(Value& call, const Approval& approval) {
    Value out = Value::object();
    out.set("id", approval.id);
    out.set("digest", approval.digest);
    out.set("expires_at", format_time(approval.expires_at));
    if (Value problems = approval.cannot_be_shown(); !problems.elements().empty())
      out.set("not_shown", std::move(problems));
    call.set("approval", std::move(out));
  }

  Result<void> ask(const session::Proposal& proposal, const session::StepVerdict& verdict,
                   const std::vector<std::string>& approvals, Value& body) {
    std::string question;
    for (std::size_t i = 0; i < verdict.calls.size(); ++i) {
      const session::CallVerdict& call = verdict.calls[i];
      if (!call.asked) continue;
      Approval approval;
      approval.id = approvals[i];
      // The id of a call that a person decided about names that approval for ever.
      const auto taken = act_.unit.get(tables::kApprovals, {approval.id});
      if (!taken) return tl::make_unexpected(taken.error());
      if (*taken) return act_.refuse(report(Code::CALL_DUPLICATE, {}, {{"id", proposal.calls[i].id}})), Result<void>();
      approval.kind = "call";
      approval.session_id = id_;
      approval.work_id = held_.session.work_id;
      approval.call_id = proposal.calls[i].id;
      approval.tool = proposal.calls[i].tool;
      approval.subject.set("session", id_);
      if (!approval.work_id.empty()) approval.subject.set("work", approval.work_id);
      approval.subject.set("tool", approval.tool);
      set_arguments(approval.subject, proposal.calls[i].arguments.root());
      approval.subject.set("arguments_sha256", call.digest);
      if (asking_.bound.is_object()) approval.subject.set("bound", asking_.bound);
      approval.subject.set("contract", held_.session.rules->plan->hash);
      if (held_.session.fence != 0) approval.subject.set("fence", held_.session.fence);
      approval.subject.set("labels", texts_value(held_.session.state.labels));
      approval.context = *session::shown(*call.asked).find("context");
      approval.risk = contract::name_of(held_.session.rules->tool(call.tool).side_effect);
      approval.requested_by = asker();
      approval.requested_at = act_.now;
      approval.spend_seconds = call.asked->timeout_seconds;
      approval.expires_at = act_.now + call.asked->timeout_seconds.rounded_up(limits::kApprovalSecondsMax);
      approval.allow_on_timeout = call.asked->allow_on_timeout;
      std::string executed;
      if (const auto& command = held_.session.rules->tool(call.tool).command_path)
        for (const json::Path::Step& step : command->path.steps())
          if (const auto* member = std::get_if<std::string>(&step)) executed = *member;
      if (auto done = request_approval(act_, approval, executed); !done) return done;
      tell_approval(body.find("calls")->elements()[i], approval);
      question += (question.empty() ? "approval " : ", ") + approval.id;
    }
    // While a person must act, the lease's clock stands still.
    if (question.empty() || !held_.item || held_.lease_stale) return {};
    const work::Ruling parked =
        work::park(*held_.item, *held_.leased, work::WaitsFor::Approval, question, act_.policy(), act_.now);
    for (const work::Event& event : parked.events)
      if (auto done = act_.record(event, *held_.item, Act::Is::Beside); !done) return done;
    return {};
  }

  // Nothing stands between the decision and the beginning: both are in one commit.
  Result<void> start_allowed(const session::Proposal& proposal, const session::StepVerdict& verdict, Value& body,
                             std::vector<session::Refusal>* why = nullptr,
                             const std::optional<Sighting>& seen = std::nullopt) {
    session::State& state = held_.session.state;
    for (std::size_t i = 0; i < verdict.calls.size(); ++i) {
      const session::OpenCall* call = state.find(proposal.calls[i].id);
      if (call == nullptr || call->state != session::CallState::Pending) continue;
      const session::StartVerdict started = session::start(*held_.session.rules, state, call->id, {}, {},
                                                           held_.lease_stale, &hiding_, held_.workflow.get());
      if (auto seen = was_seen(held_); !seen) return seen;
      Value payload = session_payload(act_, id_);
      payload.set("call_id", call->id);
      payload.set("verdict", started.failures.empty() ? "allow" : "block");
      payload.set("failures", failures_value(started.failures));
      if (held_.lease_stale) payload.set("lease_stale", true);
      set_sighting(payload, seen);
      const std::string call_id = call->id;
      const session::Effects effects =
          session::take_start(*held_.session.rules, state, session::begun_of(call_id, started));
      if (effects.killed) payload.set("killed", true);
      if (auto done = append_session(act_, id_, kCallStarted, std::move(payload), Act::Is::Beside); !done) return done;
      body.find("calls")->elements()[i].set("started", started.failures.empty());
      if (why != nullptr) *why = started.failures;
      if (!effects.killed) continue;
      body.set("session_killed", true);
      if (auto done = ended_by_breaker(act_, held_); !done) return done;
    }
    return {};
  }

  // Whoever works keeps its lease; not at every call, but before half of it is over.
  Result<void> extend_lease() {
    if (!held_.item || held_.lease_stale || !held_.item->lease || held_.item->lease->parked_until) return {};
    if (held_.session.state.standing != session::Standing::Open) return {};
    const work::Lease& lease = *held_.item->lease;
    if ((lease.expires_at.nanoseconds - act_.now.nanoseconds) * 2 > lease.ttl) return {};
    const work::Ruling renewed = work::renew(*held_.item, *held_.leased, 0, act_.policy(), act_.now);
    for (const work::Event& event : renewed.events)
      if (auto done = act_.record(event, *held_.item, Act::Is::Beside); !done) return done;
    return {};
  }

  Act& act_;
  const std::string& id_;
  const Asking& asking_;
  const KeyedHiding hiding_;
  Act::Governed held_;
  std::deque<Approval> content_;  // approvals of content that calls of the response could spend, each by one
};

}  // namespace

void UseCases::govern_call(const Mutation& by, std::string session_id, std::string step, Answered done,
                           std::optional<Facts> facts) {
  std::vector<Diagnostic> refused;
  auto asking = std::make_shared<Asking>();
  asking->question = read_question(std::move(step), limits::kCallArgumentsBytesMax * 2, refused);
  if (asking->question) {
    asking->read = session::read_proposal(asking->question->root());
    auto& calls = asking->read.proposal.calls;
    if (!asking->read.problem.empty())
      refused = {report(Code::SESSION_OPTIONS, {}, {{"problem", asking->read.problem}})};
    else if (calls.size() > limits::kStepCallsMax)
      refused = {report(Code::SESSION_OPTIONS, {},
                        {{"problem", "there are more than " + std::to_string(limits::kStepCallsMax) + " calls"}})};
    asking->starts = asking->question->root()["start"].is_true();
    asking->other_door = asking->question->root()["other_door"].is_true();
    if (asking->starts && asking->other_door)
      refused = {
          report(Code::SESSION_OPTIONS, {}, {{"problem", "what another door begins is not begun here: no `start`"}})};
    if (const json::Node subagent = asking->question->root()["subagent"]) {
      SubagentSeen& seen = asking->subagent.emplace();
      if (subagent["id"].is_string()) seen.client_id = subagent["id"].string();
      if (subagent["type"].is_string()) seen.type = subagent["type"].string();
      if (seen.client_id.empty() || seen.client_id.size() > limits::kHookNameBytesMax ||
          seen.type.size() > limits::kHookNameBytesMax)
        refused = {report(Code::SESSION_OPTIONS, {}, {{"problem", "`subagent` has no `id`, or one that is too long"}})};
    }
    if (facts && calls.size() == 1) {
      asking->sighting = facts->sighting;
      asking->bound = std::move(facts->bound);
    }
    asking->may_resume = calls.size() == 1 && (calls[0].id.empty() || asking->question->root()["resume"].is_true());
    for (std::size_t i = 0; i < calls.size(); ++i) {
      session::Proposed& call = calls[i];
      if (call.id.size() > limits::kCallIdBytesMax || call.tool.size() > limits::kCallIdBytesMax)
        refused = {report(Code::SESSION_OPTIONS, {}, {{"problem", "a call's id or tool is too long"}})};
      for (std::size_t other = 0; other < i; ++other)
        if (!call.id.empty() && calls[other].id == call.id)
          refused = {report(Code::CALL_DUPLICATE, {}, {{"id", call.id}})};
      if (call.id.empty()) call.id = mint_id("call_", inside_->random);
    }
  }
  if (!refused.empty()) return inside_->refuse(by, std::move(refused), done);
  // Digests are worked out here, on the caller's thread: the writer's has to do with everybody's.
  std::vector<std::string>& digests = asking->digests;
  digests.reserve(asking->read.proposal.calls.size());
  for (session::Proposed& call : asking->read.proposal.calls) {
    const bool holds_facts = !facts && call.arguments.root().is_object() && call.arguments.root()[hooks::kFacts];
    if (holds_facts || (facts && !facts->reserved.empty()))
      set_aside(call, Code::fact_in_arguments, holds_facts ? std::string(hooks::kFacts) : facts->reserved);
    digests.push_back(call.arguments.root().is_object() ? session::digest_of(call.arguments.root()).value_or("") : "");
    call.digest = digests.back();
    if (digests.back().empty() && call.arguments.root().is_object()) {
      call.arguments = {};
      call.malformed = "they hold a number beyond all bounds";
    }
    if (auto touch = protection::touched(*inside_->protects(), call.tool, call.arguments.root(),
                                         facts ? std::string_view(facts->cwd) : std::string_view())) {
      call.protected_path = std::move(touch->path);
      call.protected_always = touch->always;
    }
  }
  if (inside_->lane)
    if (auto answer = inside_->lane->propose(by, session_id, asking)) return done(std::move(*answer));
  std::vector<Read> reads = reads_of_governed(session_id);
  std::string touches = session_id;
  inside_->run(
      by, [session_id = std::move(session_id), asking](Act& act) { return Govern(act, session_id, *asking).run(); },
      std::move(done), {.reads = std::move(reads), .touches = std::move(touches), .adds = Engine::Adds::Work});
}

// --- beginning and settling ---------------------------------------------------------------------------------------------------------

namespace {

// The call of a question; refused when there is none that is open.
const session::OpenCall* open_call(Act& act, const session::State& state, json::Node question) {
  const std::string id = question["call_id"].is_string() ? std::string(question["call_id"].string()) : std::string();
  const session::OpenCall* call = state.find(id);
  if (id.empty()) act.refuse(report(Code::CALL_UNKNOWN, place_named("/call_id"), {{"id", id}}));
  else if (call == nullptr)
    act.refuse(report(Code::call_not_open, place_named("/call_id"), {{"state", "over, or was never proposed"}}));
  return call;
}

// What a call would touch with other arguments than those it was judged by, and must not; empty: nothing.
std::string protected_from(const Act& act, const session::Rules& rules, const session::OpenCall& call,
                           json::Node arguments) {
  if (!arguments) return {};
  // What has no contract may be anything, as when it was proposed.
  const contract::Tool* tool = call.tool == kNone ? nullptr : &rules.tool(call.tool);
  const auto touch =
      protection::touched(*act.engine.protects(), tool == nullptr ? call.tool_name : tool->name, arguments);
  const bool counts = touch && (touch->always || tool == nullptr || contract::is_mutating(tool->side_effect));
  return counts ? touch->path : std::string();
}

Result<void> start_one(Act& act, const std::string& session_id, const Question& question, bool waits) {
  auto found = act.governed(session_id);
  if (!found) return tl::make_unexpected(found.error());
  if (!*found) return {};
  Act::Governed& held = **found;
  session::State& state = held.session.state;
  const session::OpenCall* call = open_call(act, state, question.root());
  if (call == nullptr) return {};
  const KeyedHiding hiding(act.engine.ledger.redaction_key());
  const json::Node arguments = question.root()["arguments"];
  const std::string digest = arguments ? session::digest_of(arguments).value_or("") : "";
  // Facts come with a proposal alone: other arguments have none, and a rule on facts cannot be judged again.
  if (arguments[hooks::kFacts])
    return act.refuse(report(Code::fact_in_arguments, place_named("/arguments"), {{"member", hooks::kFacts}})),
           Result<void>();
  if (arguments && call->tool != kNone && held.session.rules->tools[call->tool].reads_facts)
    return act.refuse(report(Code::facts_missing, place_named("/arguments"),
                             {{"tool", held.session.rules->tool(call->tool).name}})),
           Result<void>();
  Beginning with{arguments, arguments ? session::Values::of_call(arguments) : session::Values(), digest,
                 protected_from(act, *held.session.rules, *call, arguments)};
  const std::string call_id = call->id;
  const session::CallState was = call->state;
  const auto begun = begin(act, held, *call, with, hiding);
  if (!begun) return tl::make_unexpected(begun.error());
  if (!begun->verdict.is_open)
    return act.refuse(report(Code::call_not_open, place_named("/call_id"), {{"state", session::name_of(was)}})),
           Result<void>();
  if (waits && begun->verdict.waits) act.leave_key_unanswered();
  act.answer.body = session::shown(begun->verdict, begun->effects);
  act.answer.body.set("call_id", call_id);
  return {};
}

}  // namespace

void set_settlement(Value& payload, const session::Rules& rules, session::ToolId tool,
                    const session::SettleVerdict& verdict, const Question& question, const session::Receipt& receipt,
                    const session::Hiding& hiding) {
  const Value settled = settled_value(verdict);
  for (const auto& [name, value] : settled.members()) payload.set(name, value);
  payload.set("result", question.root()["result"].string());
  if (const json::Node code = question.root()["exit_code"]; code.is_number())
    if (const auto number = json::to_int64(code.number_text())) payload.set("exit_code", *number);
  if (!receipt.ack) payload.set("ack", false);
  if (receipt.is_unwritable) payload.set("output_unwritable", true);
  if (const json::Node output = receipt.output.root()) {
    Value kept = Value::object();
    set_arguments(kept, output);
    if (const Value* inline_output = kept.find("arguments")) payload.set("output", *inline_output);
    else payload.set("output_text", *kept.find("arguments_text"));
    if (!output.is_object()) payload.set("output_object", false);
    if (tool != kNone) payload.set("values", recorded_values(receipt.output, rules.tools[tool].output_paths, hiding));
  }
  if (tool != kNone && receipt.error_output.root())
    payload.set("error_values", recorded_values(receipt.error_output, rules.tools[tool].output_paths, hiding));
  if (tool != kNone && !receipt.also.empty()) {
    Value also = Value::array();
    for (const session::Values& one : receipt.also)
      also.push(recorded_values(one, rules.tools[tool].output_paths, hiding));
    payload.set("also_values", std::move(also));
  }
  if (receipt.kind == session::Receipt::Error || receipt.kind == session::Receipt::Timeout) {
    const session::CallError& error = receipt.error;
    Value about = Value::object();
    if (!error.code.empty()) about.set("code", error.code);
    if (!error.error_class.empty()) about.set("class", error.error_class);
    if (error.http_status) about.set("http_status", *error.http_status);
    if (!error.message.empty()) about.set("message", error.message.substr(0, 2000));
    payload.set("error", std::move(about));
  }
}

namespace {

// Something happened that a person must look at before anything more does. The lease's clock stands still meanwhile.
Result<void> pause(Act& act, Act::Governed& held, std::string_view because, const std::string& call_id) {
  if (held.session.state.standing != session::Standing::Open || !held.session.state.paused_because.empty()) return {};
  Value payload = session_payload(act, held.session.id);
  payload.set("because", because);
  payload.set("call_id", call_id);
  session::take_pause(held.session.state, std::string(because));
  if (auto done = append_session(act, held.session.id, kSessionPaused, std::move(payload), Act::Is::Beside); !done)
    return done;
  if (!held.item || held.lease_stale) return {};
  const std::string question = std::string(because) + ": call " + call_id + "; an operator resumes the session";
  const work::Ruling parked =
      work::park(*held.item, *held.leased, work::WaitsFor::Approval, question, act.policy(), act.now);
  for (const work::Event& event : parked.events)
    if (auto done = act.record(event, *held.item, Act::Is::Beside); !done) return done;
  return {};
}

// A call that was approved and settled without a start has used its approval all the same.
Result<void> use_up_approval(Act& act, const std::string& session_id, const std::string& call_id) {
  const auto approval = approval_of(act, session_id, call_id);
  if (!approval) return tl::make_unexpected(approval.error());
  if (!*approval || (*approval)->state != ApprovalState::Approved) return {};
  return move_approval(act, ledger_actor(act.caller().actor), **approval, ApprovalState::Spent, "");
}

// What Baton itself says of a call.
std::pair<Question, session::ReadReceipt> own_receipt(const std::string& call_id, std::string_view result,
                                                      bool input_changed = false) {
  Value body = Value::object();
  body.set("call_id", call_id);
  body.set("result", result);
  if (input_changed) body.set("input_changed", true);
  Question question{std::move(*json::parse_owned(json::write(body)))};
  session::ReadReceipt receipt = session::read_receipt(question.root());
  return {std::move(question), std::move(receipt)};
}

Result<void> settle_open(Act& act, Act::Governed& held, const session::OpenCall& call, const Question& question,
                         const session::ReadReceipt& receipt) {
  const std::string session_id = held.session.id;
  session::State& state = held.session.state;
  const KeyedHiding hiding(act.engine.ledger.redaction_key());
  const session::ToolId tool = call.tool;
  const session::SettleVerdict verdict = session::settle(*held.session.rules, state, call.id, receipt.receipt, &hiding);
  if (!verdict.is_open)
    return act.refuse(report(Code::call_not_open, place_named("/call_id"), {{"state", session::name_of(call.state)}})),
           Result<void>();
  const bool was_not_begun = call.approved && call.state == session::CallState::Pending;
  Value payload = session_payload(act, session_id);
  set_settlement(payload, *held.session.rules, tool, verdict, question, receipt.receipt, hiding);
  const session::Effects effects = session::take_settlement(*held.session.rules, state, verdict.settled);
  if (effects.killed) payload.set("killed", true);
  if (auto done = append_session(act, session_id, kCallSettled, std::move(payload)); !done) return done;
  if (was_not_begun)
    if (auto done = use_up_approval(act, session_id, verdict.settled.call_id); !done) return done;
  if (effects.killed)
    if (auto done = ended_by_breaker(act, held); !done) return done;
  if (!effects.killed && question.root()["input_changed"].is_true())
    if (auto done = pause(act, held, kInputChanged, verdict.settled.call_id); !done) return done;
  act.answer.body = session::shown(verdict, effects);
  act.answer.body.set("call_id", verdict.settled.call_id);
  return {};
}

Result<void> settle_one(Act& act, const std::string& session_id, const Question& question,
                        const session::ReadReceipt& receipt, const std::optional<Sighting>& seen = std::nullopt) {
  auto found = act.governed(session_id);
  if (!found) return tl::make_unexpected(found.error());
  if (!*found) return {};
  Act::Governed& held = **found;
  const session::State& state = held.session.state;
  Match match;
  if (seen) match = find_sighted(*held.session.rules, state, held.session.sighted, *seen);
  else match.call = open_call(act, state, question.root());
  if (match.call == nullptr) {
    if (seen) act.refuse(report(Code::CALL_UNKNOWN, {}, {{"id", seen->call_id}}));
    return {};
  }
  // Whoever began it says what became of it.
  if (question.root()["confirms"].is_true() && match.call->state != session::CallState::Pending) {
    act.answer.body.set("call_id", match.call->id);
    act.answer.body.set("state", session::name_of(match.call->state));
    return {};
  }
  if (!match.is_changed) return settle_open(act, held, *match.call, question, receipt);
  // Something else was done than what was judged. What, nobody here knows.
  const auto [lost_question, lost] = own_receipt(match.call->id, "unknown", true);
  if (auto done = settle_open(act, held, *match.call, lost_question, lost); !done || act.refused()) return done;
  act.answer.body.set("input_changed", true);
  return {};
}

}  // namespace

Result<bool> settle_overdue_calls(Act& act, const std::string& session_id) {
  auto found = act.governed(session_id);
  if (!found) return tl::make_unexpected(found.error());
  if (!*found) return false;
  Act::Governed& held = **found;
  std::vector<std::string> overdue;
  for (const auto& [id, began] : held.session.begun) {
    const session::OpenCall* call = held.session.state.find(id);
    if (call == nullptr || call->state != session::CallState::Executing) continue;
    const std::int64_t skipped = act.engine.timekeeper.skipped_since(began);
    if (held.session.over_at(*call, began).nanoseconds + skipped <= act.now.nanoseconds) overdue.push_back(id);
  }
  for (const std::string& id : overdue) {
    const auto [asked, receipt] = own_receipt(id, "timeout");
    if (auto done = settle_one(act, session_id, asked, receipt); !done) return tl::make_unexpected(done.error());
    act.answer.refused.clear();
  }
  return !overdue.empty();
}

void UseCases::start_call(const Mutation& by, std::string session_id, std::string start, Answered done, bool waits) {
  std::vector<Diagnostic> refused;
  auto question = read_question(std::move(start), limits::kCallArgumentsBytesMax * 2, refused);
  if (!question) return inside_->refuse(by, std::move(refused), done);
  std::vector<Read> reads = reads_of_governed(session_id);
  std::string touches = session_id;
  inside_->run(by,
               [session_id = std::move(session_id), question, waits](Act& act) {
                 return start_one(act, session_id, *question, waits);
               },
               std::move(done), {.reads = std::move(reads), .touches = std::move(touches)});
}

void UseCases::settle_call(const Mutation& by, std::string session_id, std::string receipt, Answered done,
                           std::optional<Sighting> seen) {
  std::vector<Diagnostic> refused;
  auto question = read_question(std::move(receipt), limits::kCallOutputBytesMax, refused);
  auto read = std::make_shared<session::ReadReceipt>();
  if (question) {
    *read = session::read_receipt(question->root());
    if (!read->problem.empty()) refused = {report(Code::SESSION_OPTIONS, {}, {{"problem", read->problem}})};
    else if (question->root()["input_changed"].is_true() && read->receipt.kind != session::Receipt::Lost)
      refused = {
          report(Code::SESSION_OPTIONS, {},
                 {{"problem", "with `input_changed` nobody knows what became of the call: `result` is `unknown`"}})};
  }
  if (!refused.empty()) return inside_->refuse(by, std::move(refused), done);
  if (inside_->lane)
    if (auto answer = inside_->lane->settle(by, session_id, question, read, seen)) return done(std::move(*answer));
  std::vector<Read> reads = reads_of_governed(session_id);
  std::string touches = session_id;
  inside_->run(by,
               [session_id = std::move(session_id), question, read, seen = std::move(seen)](Act& act) {
                 return settle_one(act, session_id, *question, *read, seen);
               },
               std::move(done), {.reads = std::move(reads), .touches = std::move(touches)});
}

// --- the rest -----------------------------------------------------------------------------------------------------------------------

namespace {

// Reads the session and lets `then` record something of it while it is open; or also afterwards.
enum class While { Open, Known };
template <class Then>
Engine::Body on_governed(std::string session_id, Then then, While during = While::Open) {
  return [session_id = std::move(session_id), then = std::move(then), during](Act& act) -> Result<void> {
    auto found = act.governed(session_id);
    if (!found) return tl::make_unexpected(found.error());
    if (!*found) return {};
    if (during == While::Open && (*found)->session.state.standing != session::Standing::Open)
      return act.refuse(
                 report(Code::SESSION_ENDED, {}, {{"state", session::name_of((*found)->session.state.standing)}})),
             Result<void>();
    return then(act, session_id, **found);
  };
}

}  // namespace

void UseCases::add_label(const Mutation& by, std::string session_id, std::string label, Answered done) {
  if (!work::is_label(label))
    return inside_->refuse(
        by, {report(Code::SESSION_OPTIONS, {}, {{"problem", "a label has 1 to 64 bytes without blanks"}})}, done);
  std::vector<Read> reads = reads_of_governed(session_id);
  inside_->run(
      by,
      on_governed(std::move(session_id),
                  [label = std::move(label)](Act& act, const std::string& id, Act::Governed& held) -> Result<void> {
                    if (!held.session.state.has_label(label)) {
                      if (held.session.state.labels.size() >= limits::kWorkLabelsMax)
                        return act.refuse(
                                   report(Code::SESSION_OPTIONS, {}, {{"problem", "there are too many labels"}})),
                               Result<void>();
                      Value payload = session_payload(act, id);
                      payload.set("label", label);
                      if (auto done = append_session(act, id, kSessionLabelled, std::move(payload)); !done) return done;
                      session::take_label(held.session.state, label);
                      if (held.item)
                        for (const work::Event& event : work::add_labels(*held.item, {label}, act.now).events)
                          if (auto done = act.record(event, *held.item, Act::Is::Beside); !done) return done;
                    }
                    act.answer.body.set("labels", texts_value(held.session.state.labels));
                    return {};
                  }),
      std::move(done), {.reads = std::move(reads)});
}

void UseCases::report_cost(const Mutation& by, std::string session_id, json::Decimal cost, Answered done) {
  if (cost < json::Decimal())
    return inside_->refuse(by, {report(Code::SESSION_OPTIONS, {}, {{"problem", "a cost is not below 0"}})}, done);
  std::vector<Read> reads = reads_of_governed(session_id);
  inside_->run(by,
               on_governed(
                   std::move(session_id),
                   [cost](Act& act, const std::string& id, Act::Governed& held) -> Result<void> {
                     Value payload = session_payload(act, id);
                     payload.set("cost", Value::number(cost.text()));
                     if (auto done = append_session(act, id, kSessionCost, std::move(payload)); !done) return done;
                     act.answer.body.set("cost", Value::number((held.session.state.cost + cost).text()));
                     return {};
                   },
                   While::Known),  // what was spent is spent, however late it is told
               std::move(done), {.reads = std::move(reads)});
}

namespace {

// What ends with the session, as callers are told.
void tell_end(Act& act, Act::Governed& held, session::Standing to, const std::string& because) {
  const session::Effects effects = session::take_end(*held.session.rules, held.session.state, to, because);
  act.answer.body.set("standing", session::name_of(to));
  act.answer.body.set("cancelled", texts_value(effects.cancelled));
}

}  // namespace

void UseCases::kill_session(const Mutation& by, std::string session_id, std::string reason, Answered done) {
  std::vector<Read> reads = reads_of_governed(session_id);
  inside_->run(
      by,
      on_governed(std::move(session_id),
                  [reason = std::move(reason)](Act& act, const std::string& id, Act::Governed& held) -> Result<void> {
                    const std::string because = reason.empty() ? "killed" : "killed: " + reason;
                    tell_end(act, held, session::Standing::Killed, because);
                    if (auto ended = act.end_governed(id, session::Standing::Killed, because); !ended) return ended;
                    if (!held.item || held.lease_stale) return {};
                    const work::Ruling failed = work::fail(*held.item, *held.leased, because, act.now);
                    for (const work::Event& event : failed.events)
                      if (auto done = act.record(event, *held.item, Act::Is::Beside); !done) return done;
                    return {};
                  }),
      std::move(done), {.reads = std::move(reads)});
}

void UseCases::resume_session(const Mutation& by, std::string session_id, std::string note, Answered done) {
  std::vector<Read> reads = reads_of_governed(session_id);
  inside_->run(
      by,
      on_governed(std::move(session_id),
                  [note = std::move(note)](Act& act, const std::string& id, Act::Governed& held) -> Result<void> {
                    session::State& state = held.session.state;
                    if (state.paused_because.empty())
                      return act.refuse(report(Code::SESSION_GOVERNED, {}, {{"problem", "is not paused"}})),
                             Result<void>();
                    const std::string was = state.paused_because;
                    Value payload = session_payload(act, id);
                    payload.set("by", act.caller().actor.id);
                    if (!note.empty()) payload.set("note", note);
                    session::take_resumption(state);
                    if (auto done = append_session(act, id, kSessionResumed, std::move(payload)); !done) return done;
                    act.answer.body.set("standing", session::name_of(state.standing));
                    act.answer.body.set("was_paused_because", was);
                    if (!held.item || held.lease_stale || state.is_paused()) return {};
                    const work::Ruling answered =
                        work::answer(*held.item, "resumed: " + was + (note.empty() ? "" : "\n" + note), act.now);
                    for (const work::Event& event : answered.events)
                      if (auto done = act.record(event, *held.item, Act::Is::Beside); !done) return done;
                    return {};
                  }),
      std::move(done), {.reads = std::move(reads)});
}

void UseCases::close_session(const Mutation& by, std::string session_id, Answered done) {
  std::vector<Read> reads = reads_of_governed(session_id);
  inside_->run(
      by,
      on_governed(std::move(session_id),
                  [](Act& act, const std::string& id, Act::Governed& held) -> Result<void> {
                    if (held.item)
                      return act.refuse(report(
                                 Code::SESSION_GOVERNED, {},
                                 {{"problem", "holds a lease: it ends by a handoff, or by giving the item back"}})),
                             Result<void>();
                    tell_end(act, held, session::Standing::Closed, "closed");
                    return act.end_governed(id, session::Standing::Closed, "closed");
                  }),
      std::move(done), {.reads = std::move(reads)});
}

}  // namespace baton::runtime
