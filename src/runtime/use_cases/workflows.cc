// SPDX-License-Identifier: Apache-2.0
// Workflows: started by an operator, their sessions bound to one another by handoffs. What is decided here is decided by
// workflow/family.h; what follows from the end of a session is recorded with it.
#include <algorithm>

#include "base/ids.h"
#include "base/limits.h"
#include "dialects/uaix/packet.h"
#include "ledger/blob.h"
#include "runtime/packs.h"
#include "runtime/session_events.h"
#include "runtime/use_cases/activation.h"
#include "runtime/use_cases/packets.h"
#include "runtime/use_cases/workflows.h"
#include "runtime/work_events.h"
#include "runtime/workflow_events.h"
#include "secrets/detector.h"
#include "store/tables.h"

namespace baton::runtime {
namespace {

namespace tables = store::tables;
using json::Value;
using workflow::Consequence;

Value workflow_payload(const Act& act, const std::string& workflow_id) {
  Value out = Value::object();
  out.set("workflow_id", workflow_id);
  out.set("at", format_time(act.now));
  return out;
}

Result<void> append_workflow(Act& act, const std::string& workflow_id, std::string_view type, Value payload,
                             Act::Is is = Act::Is::Main) {
  std::vector<std::string> pointers = {"/workflow_id", "/handoff_id", "/session_id", "/from",
                                       "/by",          "/workflow",   "/message_id"};
  if (const Value* artifacts = payload.find("artifacts"))
    for (std::size_t i = 0; i < artifacts->elements().size(); ++i)
      pointers.push_back("/artifacts/" + std::to_string(i) + "/sha256");
  return act.append_as(ledger_actor(act.caller().actor), workflow_stream(workflow_id), type, std::move(payload), is,
                       {pointers.begin(), pointers.end()});
}

// The workflow's row and plan, as its rules see it. Nothing: there is none (refused, WORKFLOW_UNKNOWN).
Result<std::shared_ptr<WorkflowView>> view_of(Act& act, const std::string& workflow_id,
                                              const std::string& session_id = {}) {
  const auto row = work::is_work_id(workflow_id) ? act.unit.get(tables::kWorkflows, {workflow_id})
                                                 : Result<std::optional<store::Row>>(std::nullopt);
  if (!row) return tl::make_unexpected(row.error());
  if (!*row) return act.refuse(report(Code::WORKFLOW_UNKNOWN, {}, {{"workflow", workflow_id}})), nullptr;
  const auto found = read_workflow(**row);
  if (!found) return tl::make_unexpected(found.error());
  auto plan = workflow_plan_in(act.unit, found->hash);
  if (!plan) return tl::make_unexpected(plan.error());
  if (*plan == nullptr) return failure("reading workflows", "the plan of `" + workflow_id + "` is not there");
  return view_in(act.unit, std::move(*plan), workflow_id, session_id);
}

void refuse(Act& act, const workflow::Refusal& refusal) { act.refuse(refusal.diagnostic); }

Result<void> problem_of(const WorkflowView& view) {
  if (view.problem()) return tl::make_unexpected(*view.problem());
  return {};
}

// Rows are locked in one order everywhere, so that two nodes do not wait for each other: sessions, then the workflow, then its handoffs and
// holds. To know which they are, they are looked up without a lock first.

template <class Take>
Result<void> look(Act& act, const store::Index* index, const std::string& value, const Take& take) {
  std::optional<Failure> problem;
  auto found = act.unit.find({.table = tables::kWorkflowMembers, .index = index, .equal = {value}}, store::Lock::None,
                             [&](const store::Row& row) {
                               auto member = read_member(row);
                               if (!member) problem = member.error();
                               else take(*member);
                               return member.has_value();
                             });
  if (!found) return found;
  if (problem) return tl::make_unexpected(*problem);
  return {};
}

// The workflow that a session is one of; empty: of none.
Result<std::string> workflow_of(Act& act, const std::string& session_id) {
  std::string out;
  auto found = look(act, nullptr, session_id, [&](const WorkflowMember& member) { out = member.workflow_id; });
  if (!found) return tl::make_unexpected(found.error());
  return out;
}

Result<void> lock_all(Act& act, const std::set<std::string>& sessions) {
  for (const std::string& session : sessions)
    if (auto row = act.unit.get(tables::kSessionStates, {session}); !row) return tl::make_unexpected(row.error());
  return {};
}

// The session, its parent, which gets its labels, and all below it.
Result<void> lock_around(Act& act, const std::string& session_id) {
  std::set<std::string> all = {session_id};
  std::vector<std::string> open = {session_id};
  auto done = look(act, nullptr, session_id, [&](const WorkflowMember& member) {
    if (!member.member.parent.empty()) all.insert(member.member.parent);
  });
  while (done && !open.empty()) {
    const std::string parent = std::move(open.back());
    open.pop_back();
    done = look(act, &tables::kWorkflowMembersByParent, parent, [&](const WorkflowMember& member) {
      if (all.insert(member.member.session).second) open.push_back(member.member.session);
    });
  }
  return done ? lock_all(act, all) : done;
}

}  // namespace

// --- what follows from an end ---------------------------------------------------------------------------------------------------------

Result<void> Act::about_to_end(const std::string& session_id) {
  const auto id = workflow_of(*this, session_id);
  if (!id) return tl::make_unexpected(id.error());
  return id->empty() ? Result<void>() : lock_around(*this, session_id);
}

Result<void> Act::leave_workflow(const std::string& session_id, session::Standing how) {
  const auto id = workflow_of(*this, session_id);
  if (!id) return tl::make_unexpected(id.error());
  if (id->empty()) return {};
  auto view = view_of(*this, *id, session_id);
  if (!view) return tl::make_unexpected(view.error());
  const auto all = workflow::end_of((*view)->plan(), **view, session_id, how);
  if (auto seen = problem_of(**view); !seen) return seen;
  return carry_out(**view, all);
}

Result<void> Act::carry_out(const WorkflowView& view, const std::vector<Consequence>& all) {
  for (const Consequence& one : all) {
    Value payload = one.kind == Consequence::Abandon || one.kind == Consequence::EndHandoff
                        ? workflow_payload(*this, view.workflow_id())
                        : session_payload(*this, one.session);
    Result<void> done;
    switch (one.kind) {
      case Consequence::Kill: {
        auto held = governed(one.session, By::Node);
        if (!held) return tl::make_unexpected(held.error());
        if (!*held) break;
        const auto ended = end_one(one.session, session::Standing::Killed, one.because);
        if (!ended) return tl::make_unexpected(ended.error());
        if (!*ended || !(*held)->item || (*held)->lease_stale) break;
        const work::Ruling failed = work::fail(*(*held)->item, *(*held)->leased, one.because, now);
        for (const work::Event& event : failed.events)
          if (auto recorded = record(event, *(*held)->item, Is::Beside); !recorded) return recorded;
        break;
      }
      case Consequence::RequestCancel:
        done = append(session_stream(one.session), kSessionCancelRequested, std::move(payload), Is::Beside,
                      {"/session_id"});
        break;
      case Consequence::Abandon:
        payload.set("session_id", one.session);
        done = append_workflow(*this, view.workflow_id(), kWorkflowAbandoned, std::move(payload), Is::Beside);
        break;
      case Consequence::EndHandoff:
        payload.set("handoff_id", one.handoff);
        payload.set("to", workflow::name_of(one.stage));
        done = append_workflow(*this, view.workflow_id(), kWorkflowHandoffEnded, std::move(payload), Is::Beside);
        break;
      case Consequence::AddLabels: {
        for (const std::string& label : one.labels) {
          Value labelled = session_payload(*this, one.session);
          labelled.set("label", label);
          if (auto added = append(session_stream(one.session), kSessionLabelled, std::move(labelled), Is::Beside,
                                  {"/session_id"});
              !added)
            return added;
        }
        // What a session is labelled with, its item is.
        auto held = governed(one.session, By::Node);
        if (!held) return tl::make_unexpected(held.error());
        if (!*held || !(*held)->item) break;
        for (const work::Event& event : work::add_labels(*(*held)->item, one.labels, now).events)
          if (auto recorded = record(event, *(*held)->item, Is::Beside); !recorded) return recorded;
        break;
      }
    }
    if (!done) return done;
  }
  return {};
}

// --- activating and starting ------------------------------------------------------------------------------------------------------------

void UseCases::activate_workflow(const Mutation& by, contract::WorkflowSource source, std::string expected,
                                 Answered done, std::string folder) {
  const auto refuse = [&](Code code, std::initializer_list<Argument> arguments) {
    inside_->refuse(by, {report(code, {}, arguments)}, done);
  };
  if (!secrets::find(source.workflow.text).empty()) return refuse(Code::PACK_SECRET, {{"file", source.workflow.name}});
  for (const auto& [role, pack] : source.packs)
    if (const auto file = file_with_secret(pack)) return refuse(Code::PACK_SECRET, {{"file", *file}});
  const contract::CompiledWorkflow compiled = contract::compile_workflow(source);
  if (!compiled.plan) return refuse(Code::WORKFLOW_INVALID, {{"problem", first_error(compiled.findings)}});
  for (const contract::WorkflowRole& role : compiled.plan->roles)
    if (!role.plan) return refuse(Code::WORKFLOW_INVALID, {{"problem", "the role `" + role.name + "` has no pack"}});
  if (!work::is_work_id(compiled.plan->name)) return refuse(Code::WORKFLOW_INVALID, {{"problem", "its name is none"}});
  if (!expected.empty() && expected != compiled.plan->hash)
    return refuse(Code::PACK_ACTIVE,
                  {{"hash", expected}, {"problem", "not what the files say: that is " + compiled.plan->hash}});
  Activation asked{compiled.plan->hash, compiled.plan->name, workflow_role(compiled.plan->name),
                   pack_pieces(workflow_text(source)), std::move(folder)};
  for (const contract::WorkflowRole& role : compiled.plan->roles)
    asked.holds_texts = asked.holds_texts || role.plan->tools_lock || role.plan->suspicious_text_is_withheld;
  if (!is_folder_told(asked.folder)) return refuse(Code::SESSION_OPTIONS, {{"problem", kFolderProblem}});
  if (bytes_of(asked) > limits::kPackSourceBytesMax)
    return refuse(Code::WORKFLOW_INVALID,
                  {{"problem", "its files have more than " + std::to_string(limits::kPackSourceBytesMax) + " bytes"}});
  done = protect_when_done(*inside_, asked.folder, std::move(done));
  inside_->run(by, [asked = std::move(asked)](Act& act) { return activate(act, asked); }, std::move(done),
               {.adds = Engine::Adds::Work});
}

namespace {

// By name, or by the hash of one that is active. Empty: there is none.
Result<std::string> active_workflow(Act& act, const std::string& wanted) {
  std::string out;
  auto found = act.unit.find({.table = tables::kPackRoles}, store::Lock::None, [&](const store::Row& row) {
    if (text_at(row, 0) == workflow_role(wanted) ||
        (text_at(row, 1) == wanted && text_at(row, 0).starts_with(workflow_role(""))))
      out = text_at(row, 1);
    return out.empty();
  });
  if (!found) return tl::make_unexpected(found.error());
  return out;
}

Result<void> start(Act& act, const StartWorkflow& asked, const std::string& workflow_id, const NewSession& made,
                   const std::optional<std::map<std::string, std::string>>& environment) {
  const auto hash = active_workflow(act, asked.workflow);
  if (!hash) return tl::make_unexpected(hash.error());
  if (hash->empty())
    return act.refuse(report(Code::WORKFLOW_UNKNOWN, {}, {{"workflow", asked.workflow}})), Result<void>();
  auto plan = workflow_plan_in(act.unit, *hash);
  if (!plan) return tl::make_unexpected(plan.error());
  if (*plan == nullptr) return failure("starting a workflow", "its plan is not there");
  const std::string role = asked.role.empty() && !(*plan)->roles.empty() ? (*plan)->roles.front().name : asked.role;
  if (std::ranges::find((*plan)->roles, role, &contract::WorkflowRole::name) == (*plan)->roles.end())
    return act.refuse(report(Code::WORKFLOW_ROLE, {}, {{"role", role}})), Result<void>();
  if (const auto refused = workflow::may_begin(**plan, {})) return refuse(act, *refused), Result<void>();
  Value payload = workflow_payload(act, workflow_id);
  payload.set("workflow", *hash);
  payload.set("name", (*plan)->name);
  payload.set("by", act.caller().actor.id);
  if (auto done = append_workflow(act, workflow_id, kWorkflowStarted, std::move(payload), Act::Is::Beside); !done)
    return done;
  if (auto done = open_in_workflow(act, asked.session, {workflow_id, *hash, role}, made, environment);
      !done || act.refused())
    return done;
  Value told = Value::object();
  told.set("id", workflow_id);
  told.set("name", (*plan)->name);
  told.set("workflow", *hash);
  act.answer.body.set("workflow", std::move(told));
  return {};
}

NewSession new_session(Random& random) { return {mint_id("ses_", random), mint_id("a", random)}; }

}  // namespace

void UseCases::start_workflow(const Mutation& by, StartWorkflow asked, Answered done) {
  Inside& inside = *inside_;
  std::vector<Read> reads = reads_of_governed(asked.session.session_id);
  inside.run(by,
             [&inside, asked = std::move(asked), id = mint_id("wfl_", inside.random),
              made = new_session(inside.random)](Act& act) { return start(act, asked, id, made, inside.environment); },
             std::move(done),
             {.finish_replay = session_token_again(inside), .reads = std::move(reads), .adds = Engine::Adds::Work});
}

// --- handoffs -------------------------------------------------------------------------------------------------------------------------

namespace {

// The artifacts as they are kept: text as it is, anything else as JSON. Refused: what is too large, or looks like a secret.
Result<std::vector<Artifact>> keep_artifacts(Act& act, const Value& given, const std::vector<std::string>& labels) {
  std::vector<Artifact> out;
  if (given.members().size() > limits::kArtifactsMax) {
    act.refuse(report(Code::SESSION_OPTIONS, place_named("/artifacts"),
                      {{"problem", "there are more than " + std::to_string(limits::kArtifactsMax) + " artifacts"}}));
    return out;
  }
  for (const auto& [name, value] : given.members()) {
    if (value.is_null()) continue;
    const std::string place = "/artifacts/" + name;
    const std::string text = value.is_string() ? value.string() : json::write(value);
    if (name.empty() || name.size() > limits::kArtifactNameBytesMax || text.size() > limits::kArtifactBytesMax) {
      act.refuse(report(Code::SESSION_OPTIONS, place_named("/artifacts"),
                        {{"problem", "an artifact's name or content is too long"}}));
      return out;
    }
    if (const auto found = secrets::find(text); !found.empty()) {
      act.refuse(report(Code::LEDGER_SECRET, place_named(place), {{"rule", found.front().rule}, {"place", place}}));
      return out;
    }
    const ledger::Blob blob = ledger::plain_blob(text);
    if (auto kept = act.unit.keep(blob); !kept) return tl::make_unexpected(kept.error());
    out.push_back({name, value.is_string() ? "text/plain" : "application/json", blob.sha256,
                   static_cast<std::int64_t>(text.size()), labels});
  }
  return out;
}

}  // namespace

std::string handoff_id_of(std::string_view source_id, std::string_view message_id) {
  return "hnd_" + short_hash(std::string(source_id) + "\n" + std::string(message_id));
}

Result<std::optional<WorkflowHandoff>> make_offer(Act& act, Act::Governed& held, const Offer& offer, Act::Is is) {
  const std::string& session_id = held.session.id;
  if (!held.workflow)
    return act.refuse(report(Code::SESSION_WORKFLOW, {}, {{"problem", "is one of no workflow"}})), std::nullopt;
  if (offer.for_parent)
    if (auto locked = act.about_to_end(session_id); !locked) return tl::make_unexpected(locked.error());
  WorkflowView& view = *held.workflow;
  const auto whole = view.workflow();
  const auto sender = view.member(session_id);
  const auto from = offer.for_parent && sender ? view.member(sender->parent) : sender;
  if (auto seen = problem_of(view); !seen) return tl::make_unexpected(seen.error());
  if (!whole || !sender || !from) return failure("offering a handoff", "the session's workflow is not there");
  std::set<std::string, std::less<>> there;
  for (const auto& [name, value] : offer.artifacts.members())
    if (!value.is_null()) there.insert(name);
  WorkflowHandoff made;
  made.handoff = {offer.handoff_id, 0, from->session, {}, workflow::Stage::Offered, {}};
  workflow::Member parent = *from;
  parent.role = sender->role;
  if (const auto refused = workflow::may_offer(view.plan(), whole->totals, parent, offer.to, there, made.handoff.edge))
    return refuse(act, *refused), std::nullopt;
  if (const auto refused = workflow::may_hand_over(view.plan(), offer.resources, made.handoff.resources))
    return refuse(act, *refused), std::nullopt;
  if (held.lease_stale) return act.refuse(report(Code::lease_stale, {})), std::nullopt;
  auto artifacts = keep_artifacts(act, offer.artifacts, held.session.state.labels);
  if (!artifacts) return tl::make_unexpected(artifacts.error());
  if (act.refused()) return std::nullopt;
  made.workflow_id = view.workflow_id();
  made.to_role = offer.to;
  made.artifacts = std::move(*artifacts);
  made.message_id = offer.message_id;
  made.target_id = offer.target_id;
  made.offered_at = act.now;
  made.expires_at = offer.expires_at;
  Value payload = workflow_payload(act, made.workflow_id);
  payload.set("handoff_id", made.handoff.id);
  payload.set("from", made.handoff.from);
  payload.set("to", made.to_role);
  payload.set("edge", made.handoff.edge);
  Value list = Value::array();
  for (const Artifact& artifact : made.artifacts) list.push(to_json(artifact));
  payload.set("artifacts", std::move(list));
  if (!offer.resources.empty()) payload.set("resources", texts_value(offer.resources));
  if (offer.for_parent) payload.set("by", session_id);
  if (!made.message_id.empty()) payload.set("message_id", made.message_id);
  if (!made.target_id.empty()) payload.set("target_id", made.target_id);
  if (made.expires_at) payload.set("expires_at", format_time(*made.expires_at));
  if (auto done = append_workflow(act, made.workflow_id, kWorkflowOffered, std::move(payload), is); !done)
    return tl::make_unexpected(done.error());
  return std::optional(std::move(made));
}

namespace {

Result<void> offer_one(Act& act, const std::string& session_id, const OfferRequest& asked,
                       const std::string& handoff_id) {
  auto held = act.governed(session_id);
  if (!held) return tl::make_unexpected(held.error());
  if (!*held) return {};
  Offer offer{handoff_id, asked.to, asked.artifacts, asked.resources};
  if (asked.expires_seconds > 0) offer.expires_at = act.now + asked.expires_seconds;
  const auto made = make_offer(act, **held, offer, Act::Is::Main);
  if (!made) return tl::make_unexpected(made.error());
  if (!*made) return {};
  act.answer.created = true;
  act.answer.body.set("handoff", shown_handoff(**made));
  return {};
}

// With the session that offers it and its workflow, in the order of locking.
Result<std::optional<WorkflowHandoff>> handoff_named(Act& act, const std::string& id) {
  std::string workflow_id, from;
  if (work::is_work_id(id)) {
    auto found = act.unit.find({.table = tables::kWorkflowHandoffs, .equal = {id}}, store::Lock::None,
                               [&](const store::Row& row) {
                                 workflow_id = text_at(row, 1);
                                 from = text_at(row, 2);
                                 return false;
                               });
    if (!found) return tl::make_unexpected(found.error());
  }
  if (workflow_id.empty()) return act.refuse(report(Code::HANDOFF_UNKNOWN, {}, {{"id", id}})), std::nullopt;
  if (auto locked = lock_all(act, {from}); !locked) return tl::make_unexpected(locked.error());
  if (auto locked = act.unit.get(tables::kWorkflows, {workflow_id}); !locked)
    return tl::make_unexpected(locked.error());
  const auto row = act.unit.get(tables::kWorkflowHandoffs, {id});
  if (!row) return tl::make_unexpected(row.error());
  if (!*row) return failure("reading a handoff", "it was there and is not");
  auto handoff = read_handoff(**row);
  if (!handoff) return tl::make_unexpected(handoff.error());
  return std::optional(std::move(*handoff));
}

// When an offer is over, of a clock that was not set ahead meanwhile.
bool is_due(const Act& act, const WorkflowHandoff& handoff) {
  return handoff.handoff.stage == workflow::Stage::Offered && handoff.expires_at &&
         handoff.expires_at->nanoseconds + act.engine.timekeeper.skipped_since(handoff.offered_at) <=
             act.now.nanoseconds;
}

Result<void> end_handoff(Act& act, WorkflowHandoff& handoff, workflow::Stage stage, Act::Is is) {
  Value payload = workflow_payload(act, handoff.workflow_id);
  payload.set("handoff_id", handoff.handoff.id);
  payload.set("to", workflow::name_of(stage));
  handoff.handoff.stage = stage;
  return append_workflow(act, handoff.workflow_id, kWorkflowHandoffEnded, std::move(payload), is);
}

Result<void> claim_one(Act& act, const ClaimHandoff& asked, const NewSession& made,
                       const std::optional<std::map<std::string, std::string>>& environment) {
  auto found = handoff_named(act, asked.handoff_id);
  if (!found) return tl::make_unexpected(found.error());
  if (!*found) return {};
  WorkflowHandoff& handoff = **found;
  auto view = view_of(act, handoff.workflow_id);
  if (!view) return tl::make_unexpected(view.error());
  if (*view == nullptr) return {};
  const auto whole = (*view)->workflow();
  if (auto seen = problem_of(**view); !seen) return seen;
  if (is_due(act, handoff)) handoff.handoff.stage = workflow::Stage::Expired;
  if (const auto refused = workflow::may_claim((*view)->plan(), whole->totals, handoff.handoff))
    return refuse(act, *refused), Result<void>();
  InWorkflow in{handoff.workflow_id,  whole->hash,        handoff.to_role,
                handoff.handoff.from, handoff.handoff.id, (*view)->labels(handoff.handoff.from)};
  for (const Artifact& artifact : handoff.artifacts)
    in.labels.insert(in.labels.end(), artifact.labels.begin(), artifact.labels.end());
  if (auto seen = problem_of(**view); !seen) return seen;
  if (auto done = open_in_workflow(act, asked.session, in, made, environment); !done || act.refused()) return done;
  const std::string session_id = act.answer.body.find("session")->find("id")->string();
  Value payload = workflow_payload(act, handoff.workflow_id);
  payload.set("handoff_id", handoff.handoff.id);
  payload.set("session_id", session_id);
  if (!handoff.message_id.empty()) payload.set("message_id", handoff.message_id);
  if (auto done = append_workflow(act, handoff.workflow_id, kWorkflowClaimed, std::move(payload), Act::Is::Beside);
      !done)
    return done;
  handoff.handoff.stage = workflow::Stage::Claimed;
  handoff.handoff.child = session_id;
  act.answer.body.set("handoff", shown_handoff(handoff));
  return {};
}

Result<void> end_one_offer(Act& act, const std::string& id, workflow::Event event) {
  auto found = handoff_named(act, id);
  if (!found) return tl::make_unexpected(found.error());
  if (!*found) return {};
  WorkflowHandoff& handoff = **found;
  const Caller& who = act.caller();
  const bool stands_above = who.session_id.empty() &&
                            (who.actor.kind == work::ActorKind::Operator || who.actor.kind == work::ActorKind::Node);
  if (event == workflow::Event::Cancel && !stands_above) {
    // By the session that offered it.
    auto held = act.governed(handoff.handoff.from);
    if (!held) return tl::make_unexpected(held.error());
    if (!*held) return {};
  }
  if (const auto refused = workflow::may_end(handoff.handoff, event)) return refuse(act, *refused), Result<void>();
  if (auto done = end_handoff(act, handoff, *workflow::next(handoff.handoff.stage, event), Act::Is::Main); !done)
    return done;
  act.answer.body.set("handoff", shown_handoff(handoff));
  return {};
}

// --- an acknowledgement is the claim --------------------------------------------------------------------------------------------------

struct Ack {
  PacketIds packet;
  std::string of_source, of_message;  // what it acknowledges
  std::string decision;
};

// What a packet says that is an acknowledgement; refused: what is wrong with it.
tl::expected<Ack, std::vector<Diagnostic>> read_ack(const std::string& text, Time now) {
  uaix::Options options;
  options.now = now;
  const uaix::Checked checked = uaix::check(text, options);
  if (!checked.valid()) {
    std::vector<Diagnostic> errors;
    for (const Diagnostic& one : checked.diagnostics)
      if (one.severity == Severity::Error) errors.push_back(one);
    return tl::make_unexpected(std::move(errors));
  }
  const json::Node root = checked.document->root();
  const auto refused = [](std::string_view what) {
    return tl::make_unexpected(
        std::vector<Diagnostic>{report(Code::HANDOFF_DIALECT_NOT_TAKEN, place_named("/profile"), {{"what", what}})});
  };
  if (!root["profile"].is_text(uaix::kAckProfile)) return refused("only an acknowledgement is taken here");
  Ack out;
  const json::Node body = root["body"], delivery = root["delivery"];
  const std::optional<Time> until = parse_time(delivery["expires_at"].string()).time;
  if (!until || *until <= now)
    return tl::make_unexpected(std::vector<Diagnostic>{
        report(Code::UAIX_EXPIRED, place_named("/delivery/expires_at"), {{"time", delivery["expires_at"].string()}})});
  out.packet = {std::string(root["source"]["id"].string()),
                std::string(root["message_id"].string()),
                std::string(delivery["idempotency_key"].string()),
                uaix::replay_digest(root).value_or(sha256_hex(text)),
                {},
                *until};
  out.of_source = root["target"]["id"].string();
  out.of_message = body["acknowledged_message_id"].string();
  out.decision = body["decision"].string();
  if (out.decision == "escalate")
    return refused("an escalation is for a person to decide, who claims the handoff or declines it");
  return out;
}

Result<void> acknowledge_one(Act& act, const Ack& ack, const NewSession& made,
                             const std::optional<std::map<std::string, std::string>>& environment) {
  const auto unattributed = [&](std::string_view problem) {
    act.refuse(report(Code::UAIX_UNATTRIBUTED, place_named("/source/id"), {{"problem", problem}}));
    return Result<void>();
  };
  const auto& names = act.caller().actor.names;
  if (std::ranges::find(names, ack.packet.source) == names.end())
    return unattributed("its source is not registered to whoever sent it");
  const std::string id = handoff_id_of(ack.of_source, ack.of_message);
  auto found = handoff_named(act, id);
  if (!found) return tl::make_unexpected(found.error());
  if (!*found) return {};
  if ((*found)->target_id != ack.packet.source)
    return unattributed("what it acknowledges is for `" + (*found)->target_id + "`");
  const auto seen = find_seen(act, ack.packet);
  if (!seen) return tl::make_unexpected(seen.error());
  if (act.refused()) return {};
  if (*seen) {
    act.answer.replayed = true;
    act.answer.body.set("handoff", shown_handoff(**found));
    return {};
  }
  const std::string stream = workflow_stream((*found)->workflow_id);
  if (auto done = record_seen(act, ack.packet, stream, stream); !done) return done;
  if (ack.decision == "accept") return claim_one(act, {id, {}}, made, environment);
  if (ack.decision == "reject") return end_one_offer(act, id, workflow::Event::Decline);
  act.answer.body.set("handoff", shown_handoff(**found));  // deferred: the offer stands, and its time goes on
  return {};
}

}  // namespace

void UseCases::offer(const Mutation& by, std::string session_id, OfferRequest asked, Answered done) {
  std::vector<Read> reads = reads_of_governed(session_id);
  Inside& inside = *inside_;
  inside.run(by,
             [session_id = std::move(session_id), asked = std::move(asked),
              id = mint_id("hnd_", inside.random)](Act& act) { return offer_one(act, session_id, asked, id); },
             std::move(done), {.reads = std::move(reads), .adds = Engine::Adds::Work});
}

void UseCases::claim_handoff(const Mutation& by, ClaimHandoff asked, Answered done) {
  Inside& inside = *inside_;
  std::vector<Read> reads = reads_of_governed(asked.session.session_id);
  inside.run(by,
             [&inside, asked = std::move(asked), made = new_session(inside.random)](Act& act) {
               return claim_one(act, asked, made, inside.environment);
             },
             std::move(done),
             {.finish_replay = session_token_again(inside), .reads = std::move(reads), .adds = Engine::Adds::Work});
}

void UseCases::acknowledge(const Mutation& by, std::string packet, Answered done) {
  Inside& inside = *inside_;
  auto ack = read_ack(packet, inside.clock.now());
  if (!ack) return inside.refuse(by, std::move(ack.error()), done);
  // Only an acceptance begins anything.
  const auto adds = ack->decision == "accept" ? Engine::Adds::Work : Engine::Adds::Little;
  inside.run(by,
             [&inside, ack = std::move(*ack), made = new_session(inside.random)](Act& act) {
               return acknowledge_one(act, ack, made, inside.environment);
             },
             std::move(done), {.finish_replay = session_token_again(inside), .adds = adds});
}

void UseCases::end_offer(const Mutation& by, std::string handoff_id, workflow::Event event, Answered done) {
  inside_->run(
      by, [handoff_id = std::move(handoff_id), event](Act& act) { return end_one_offer(act, handoff_id, event); },
      std::move(done));
}

Result<bool> expire_handoff(Act& act, const std::string& handoff_id) {
  auto found = handoff_named(act, handoff_id);
  if (!found) return tl::make_unexpected(found.error());
  if (!*found || !is_due(act, **found)) return false;
  if (auto done = end_handoff(act, **found, workflow::Stage::Expired, Act::Is::Beside); !done)
    return tl::make_unexpected(done.error());
  return true;
}

// --- killing ----------------------------------------------------------------------------------------------------------------------------

namespace {

// Is `session` the other one, or above it?
bool is_above(const WorkflowView& view, const std::string& session, std::string other) {
  for (std::size_t depth = 0; depth < limits::kWorkflowDepthMax && !other.empty(); ++depth) {
    if (other == session) return true;
    const auto member = view.member(other);
    other = member ? member->parent : std::string();
  }
  return false;
}

Result<void> kill_one(Act& act, const KillWorkflow& asked) {
  std::string workflow_id = asked.workflow_id;
  if (workflow_id.empty()) {
    auto found = work::is_work_id(asked.session_id) ? workflow_of(act, asked.session_id) : Result<std::string>("");
    if (!found) return tl::make_unexpected(found.error());
    workflow_id = *found;
  }
  if (asked.scope == workflow::Scope::Workflow) {
    std::set<std::string> all;
    auto looked = look(act, &tables::kWorkflowMembersByWorkflow, workflow_id,
                       [&](const WorkflowMember& member) { all.insert(member.member.session); });
    if (!looked) return looked;
    if (auto locked = lock_all(act, all); !locked) return locked;
  } else if (work::is_work_id(asked.session_id)) {
    if (auto locked = lock_around(act, asked.session_id); !locked) return locked;
  }
  auto view = view_of(act, workflow_id);
  if (!view) return tl::make_unexpected(view.error());
  if (*view == nullptr) return {};
  const Caller& who = act.caller();
  const bool by_operator = who.session_id.empty() && who.actor.kind == work::ActorKind::Operator;
  if (asked.scope != workflow::Scope::Workflow) {
    const auto target = (*view)->member(asked.session_id);
    const bool may = by_operator || is_above(**view, who.session_id, asked.session_id);
    if (auto seen = problem_of(**view); !seen) return seen;
    if (!target) return act.refuse(report(Code::SESSION_UNKNOWN, {}, {{"session", asked.session_id}})), Result<void>();
    if (!may) return act.refuse(report(Code::kill_not_permitted, {})), Result<void>();
  } else if (!by_operator) {
    const bool is_one = (*view)->member(who.session_id).has_value();
    if (auto seen = problem_of(**view); !seen) return seen;
    if (!is_one) return act.refuse(report(Code::kill_not_permitted, {})), Result<void>();
  }
  if (const auto refused = workflow::may_kill((*view)->plan(), asked.scope, by_operator))
    return refuse(act, *refused), Result<void>();
  auto all = workflow::kill_of((*view)->plan(), **view, asked.scope, asked.session_id);
  if (auto seen = problem_of(**view); !seen) return seen;
  if (!asked.reason.empty())
    for (Consequence& one : all)
      if (one.kind == Consequence::Kill) one.because += ": " + asked.reason;
  if (asked.scope == workflow::Scope::Workflow) {
    Value payload = workflow_payload(act, workflow_id);
    payload.set("because", asked.reason.empty() ? "killed" : asked.reason);
    if (auto done = append_workflow(act, workflow_id, kWorkflowKilled, std::move(payload)); !done) return done;
  }
  if (auto done = act.carry_out(**view, all); !done) return done;
  Value killed = Value::array();
  for (const Consequence& one : all)
    if (one.kind == Consequence::Kill) killed.push(one.session);
  act.answer.body.set("killed", std::move(killed));
  return {};
}

}  // namespace

void UseCases::kill_workflow(const Mutation& by, KillWorkflow asked, Answered done) {
  inside_->run(by, [asked = std::move(asked)](Act& act) { return kill_one(act, asked); }, std::move(done));
}

}  // namespace baton::runtime
