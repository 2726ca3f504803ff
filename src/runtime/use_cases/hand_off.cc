// SPDX-License-Identifier: Apache-2.0
// A handoff is taken: what was said becomes an entry, and what it does to the item happens in the same transaction.
#include <algorithm>

#include "base/ids.h"
#include "base/limits.h"
#include "base/text.h"
#include "checker/checker.h"
#include "claims/claims.h"
#include "dialects/agent_contract/contract.h"
#include "dialects/uaix/packet.h"
#include "json/canonical.h"
#include "json/parse.h"
#include "runtime/packs.h"
#include "runtime/seen_calls.h"
#include "runtime/session_events.h"
#include "runtime/use_cases/context.h"
#include "runtime/use_cases/document.h"
#include "runtime/use_cases/govern.h"
#include "runtime/use_cases/packets.h"
#include "runtime/use_cases/workflows.h"
#include "runtime/work_events.h"
#include "secrets/detector.h"
#include "store/tables.h"

namespace baton::runtime {
namespace {

namespace tables = store::tables;
using agent_contract::Status;
using json::Value;

constexpr std::string_view kExternal = "external";

// The same for the same document of the same session under the same fence.
std::string key_of(const std::string& session_id, std::uint64_t fence, const Document& document) {
  return sha256_hex(session_id + "\n" + std::to_string(fence) + "\n" + document.canonical);
}

Value handoff_value(std::string_view id, std::string_view dialect, std::string_view mode, std::string_view outcome) {
  Value out = Value::object();
  out.set("id", id);
  out.set("dialect", dialect);
  out.set("mode", mode);
  out.set("outcome", outcome);
  return out;
}

work::Exit exit_of(const Handoff& handoff, std::string event_id) {
  work::Exit exit;
  exit.phase_completed = agent_exit::find_phase(handoff.text(Field::phase_completed));
  exit.reason = agent_exit::find_reason(handoff.text(Field::reason)).value_or(agent_exit::Reason::Error);
  exit.event_id = std::move(event_id);
  exit.pr_url = handoff.text(Field::pr_url);
  exit.evidence_bundle_ref = handoff.text(Field::evidence_bundle_ref);
  exit.notes = handoff.text(Field::summary);
  return exit;
}

// --- what is asked of a person ------------------------------------------------------------------------------------------------

std::string question_of(const Handoff& handoff) {
  if (const Value* approval = handoff.value(Field::approval);
      approval != nullptr && handoff.outcome == Outcome::NeedsApproval) {
    std::string out;
    for (const std::string_view member :
         {"operation", "exact_content", "scope", "risk_level", "rollback", "verification"})
      if (const std::string words = words_of(approval->find(member)); !words.empty())
        out += (out.empty() ? "" : "\n") + std::string(member) + ": " + words;
    if (!out.empty()) return out;
  }
  std::string out(handoff.text(Field::next_action));
  for (const Field field : {Field::summary_for_people, Field::open_gaps})
    if (const std::string words = words_of(handoff.value(field)); !words.empty()) out += "\n" + words;
  return out;
}

// --- what is handed to a role ---------------------------------------------------------------------------------------------------

// The last part of a reference, without what says which kind of file it is: `reports/plan.json` is `plan`, `urn:x#diff` is `diff`.
std::string name_in(std::string_view reference) {
  if (const std::size_t hash = reference.rfind('#'); hash != std::string_view::npos && hash + 1 < reference.size())
    return std::string(reference.substr(hash + 1));
  if (const std::size_t cut = reference.find_last_of("/:"); cut != std::string_view::npos)
    reference.remove_prefix(cut + 1);
  if (const std::size_t dot = reference.find('.'); dot != std::string_view::npos && dot > 0)
    reference = reference.substr(0, dot);
  return std::string(reference);
}

// A document's evidence as artifacts: of a block its evidence_report, and each list of it by its own name; of a packet what it refers to,
// by the last part of the reference. Nothing is fetched: the reference is the artifact.
Value artifacts_of(const Handoff& handoff) {
  Value out = Value::object();
  if (handoff.dialect == Dialect::Uaix) {
    if (const Value* references = handoff.value(Field::evidence_refs); references != nullptr && references->is_array())
      for (const Value& one : references->elements())
        if (one.is_string())
          if (std::string name = name_in(one.string()); !name.empty()) out.set(name, one);
    return out;
  }
  const Value block = agent_contract::from_handoff(handoff);
  const Value* report = block.find("evidence_report");
  if (report == nullptr || !report->is_object()) return out;
  out.set("evidence_report", *report);
  for (const auto& [name, value] : report->members())
    if (!value.is_null() && !(value.is_array() && value.elements().empty())) out.set(name, value);
  return out;
}

// --- one handoff of one session -------------------------------------------------------------------------------------------------

struct Given {
  std::string session_id;
  Document document;
  std::string handoff_id, event_id, offer_id = {};  // minted
  // What it claims, held against the calls that were seen, where the session's pack wants that.
  contract::Claims claims = contract::Claims::Off;
  claims::Report claimed = {};
};

class HandingOff {
 public:
  HandingOff(Act& act, const Given& given)
      : act_(act), given_(given), document_(given.document), handoff_(given.document.handoff) {
    mode_ = handoff_.mode;
    warnings_ = document_.warnings;
  }

  Result<void> run() {
    if (auto found = find_session(); !found || act_.refused()) return found;
    key_ = key_of(session_.id, session_.fence, document_);
    if (session_.took(key_)) return first_receipt(stream(), "\"key\":\"" + key_ + "\"");
    if (!item_)
      if (auto ended = check_standing(); ended) return act_.refuse(std::move(*ended)), Result<void>();
    if (auto other = check_owed(); other) return act_.refuse(std::move(*other)), Result<void>();
    switch (document_.dialect()) {
      case Dialect::AgentExit: return take_signal();
      case Dialect::AgentContract: return take_contract();
      case Dialect::Uaix: return take_packet();
      case Dialect::HandoffSpec: break;
    }
    return failure("taking a handoff", "its dialect is none that is taken");
  }

 private:
  // The session, its item where it has one, and what it is held to.
  Result<void> find_session() {
    auto found = work::is_work_id(given_.session_id) ? act_.session(given_.session_id)
                                                     : Result<std::optional<work::Session>>(std::nullopt);
    if (!found) return tl::make_unexpected(found.error());
    if (*found && (*found)->work_id.empty()) {
      session_ = std::move(**found);
    } else {
      auto holding = act_.holding(given_.session_id);
      if (!holding) return tl::make_unexpected(holding.error());
      if (!*holding) return {};
      session_ = std::move((*holding)->session);
      item_ = std::move((*holding)->item);
      const auto row = act_.unit.get(tables::kSessionStates, {session_.id});
      if (!row) return tl::make_unexpected(row.error());
      if (!*row || text_at(**row, 1) != "open") return {};
    }
    auto held = act_.governed(session_.id);
    if (!held) return tl::make_unexpected(held.error());
    if (*held) held_ = std::move(**held);
    return {};
  }

  // Of a session without an item: nobody hands over twice.
  std::optional<Diagnostic> check_standing() const {
    const session::State& state = held_->session.state;
    if (state.standing == session::Standing::Killed)
      return report(Code::session_killed, {}, {{"reason", state.ended_because}});
    if (state.standing == session::Standing::Closed) return report(Code::session_closed, {});
    return std::nullopt;
  }

  // Of a session whose pack asks for one dialect: nothing else ends it. A packet that only reports, or offers something to a role of the
  // workflow, ends nobody's work.
  std::optional<Diagnostic> check_owed() const {
    if (!held_) return std::nullopt;
    const contract::Owed owed = held_->session.rules->plan->owed;
    const bool is_contract = owed == contract::Owed::AgentContract;
    if (!is_contract && owed != contract::Owed::AgentExit) return std::nullopt;
    if (document_.dialect() == (is_contract ? Dialect::AgentContract : Dialect::AgentExit)) return std::nullopt;
    if (document_.dialect() == Dialect::Uaix) {
      const Value* target = handoff_.value(Field::to);
      if (handoff_.mode == Mode::Report || (target != nullptr && role_of(*target) != nullptr)) return std::nullopt;
    }
    return report(Code::HANDOFF_DIALECT_OWED, {},
                  {{"dialect", dialect_name(document_.dialect())},
                   {"owed", contract::name_of(owed)},
                   {"what", is_contract ? "an `agent_contract_handoff` block" : "an exit signal"}});
  }

  // Where what it says is recorded, and found again.
  std::string stream() const { return item_ ? work_stream(item_->id) : session_stream(session_.id); }

  // Sent again after it was taken: what was told then. `mark` is what its entry holds and no other does.
  Result<void> first_receipt(std::string stream, std::string mark) {
    act_.answer.replayed = true;
    tell_where_it_is();
    act_.answer.body.set("warnings", Value::array());
    act_.finish_with(
        [stream = std::move(stream), mark = std::move(mark)](store::Reader& reader, Answer& answer) -> Result<void> {
          const auto found = find_entry(reader, stream, kHandoffAccepted, [&](std::string_view payload) {
            return payload.find(mark) != std::string_view::npos;
          });
          if (!found) return tl::make_unexpected(found.error());
          if (!*found) return {};
          answer.entry = (*found)->place;
          const auto parsed = json::parse((*found)->payload);
          if (!parsed) return {};
          std::string id, dialect, mode, outcome;
          const json::Node root = parsed->root();
          if (read_text(root, "handoff_id", id) && read_text(root, "dialect", dialect) &&
              read_text(root, "mode", mode) && read_text(root, "outcome", outcome))
            answer.body.set("handoff", handoff_value(id, dialect, mode, outcome));
          for (const std::string_view member : {"claims", "claims_counted"})
            if (const json::Node claimed = root[member]) answer.body.set(member, Value::copy(claimed));
          return {};
        });
    return {};
  }

  // --- agent-exit -----------------------------------------------------------------------------------------------------------

  Result<void> take_signal() {
    const work::Exit exit = exit_of(handoff_, given_.event_id);
    if (!item_) {
      if (exit.reason == agent_exit::Reason::Completed) check_governed();
      ends_ = agent_exit::reason_name(exit.reason);
      return act_.refused() ? Result<void>() : take({});
    }
    const work::Ruling ruling = work::exit(*item_, session_, act_.caller().actor, exit, act_.now);
    if (ruling.allowed() && exit.reason == agent_exit::Reason::Completed) check_governed();
    return act_.refused() ? Result<void>() : take(ruling);
  }

  // What is said to be done must be: no call under way, and the session where its pack lets it end.
  void check_governed() {
    if (!held_) return;
    const GovernedSession& session = held_->session;
    const contract::Plan& plan = *session.rules->plan;
    if (!plan.phases.empty() && !plan.phases[session.state.phase].terminal) {
      std::string terminal;
      for (const contract::Phase& phase : plan.phases)
        if (phase.terminal) terminal += (terminal.empty() ? "`" : ", `") + phase.name + "`";
      act_.refuse(report(Code::EXIT_SESSION_PHASE, {},
                         {{"phase", plan.phases[session.state.phase].name}, {"terminal", terminal}}));
      return;
    }
    std::string calls;
    for (const session::OpenCall& call : session.state.open)
      if (call.state != session::CallState::Pending)
        calls += (calls.empty() ? "" : ", ") + call.id + " (" + std::string(session::name_of(call.state)) + ")";
    if (!calls.empty()) act_.refuse(report(Code::EXIT_CALLS_OPEN, {}, {{"calls", calls}}));
    // What a subagent still owes, nobody has seen.
    if (!subagents_owe(plan)) return;
    std::string subagents;
    for (const Subagent& one : session.subagents)
      if (one.open)
        subagents += (subagents.empty() ? "" : ", ") + one.id + (one.type.empty() ? "" : " (" + one.type + ")");
    if (!subagents.empty()) act_.refuse(report(Code::EXIT_SUBAGENTS_OPEN, {}, {{"subagents", subagents}}));
  }

  // --- agent-contract ---------------------------------------------------------------------------------------------------------

  Result<void> take_contract() {
    if (const std::string_view agent_id = handoff_.text(Field::agent_id); agent_id != session_.agent_id) {
      Diagnostic mismatch =
          report(Code::HANDOFF_AGENT_ID_MISMATCH, place_named("/agent_status/agent_id"), {{"agent_id", agent_id}});
      mismatch.argument = agent_id;
      mismatch.has_argument = true;
      return act_.refuse(std::move(mismatch)), Result<void>();
    }
    if (item_)
      if (auto stale = work::check_lease(*item_, session_, act_.now, Code::EXIT_LEASE); !stale.empty())
        return act_.refuse(std::move(stale)), Result<void>();
    agent_contract::StatusMachine machine(agent_contract::find_status(session_.plan_status),
                                          static_cast<int>(session_.reports_in_a_row));
    auto judged = machine.advance(handoff_.text(Field::status));
    if (has_errors(judged)) return act_.refuse(std::move(judged)), Result<void>();
    std::ranges::move(judged, std::back_inserter(warnings_));
    auto changes = merge_updates(act_, handoff_.value(Field::context_updates), session_, item_ ? *item_ : work::Item());
    if (!changes) return tl::make_unexpected(changes.error());
    if (!changes->refused.empty()) return act_.refuse(std::move(changes->refused)), Result<void>();
    std::ranges::move(changes->warnings, std::back_inserter(warnings_));

    auto joined = find_joined();
    if (!joined) return tl::make_unexpected(joined.error());
    if (act_.refused()) return {};

    plan_status_ = handoff_.text(Field::status);
    reports_in_a_row_ = machine.in_progress_in_a_row();
    const Status status = *machine.current();
    if (!*joined && status == Status::ApprovalRequest) {
      joined = prepare_approval();
      if (!joined) return tl::make_unexpected(joined.error());
      if (act_.refused()) return {};
    }
    const bool is_last = status == Status::Complete || status == Status::Blocked;
    if (is_last && !item_) ends_ = status == Status::Complete ? "completed" : "blocked";
    if (is_last && is_delegated()) mode_ = Mode::Delegate;
    const work::Ruling ruling = !item_ || (*joined && waits_already() && status == Status::ApprovalRequest)
                                    ? work::Ruling()
                                    : ruling_for(status);
    if (ruling.allowed() && status == Status::Complete) check_governed();
    if (ruling.allowed() && !act_.refused()) check_claims();
    if (act_.refused()) return {};
    if (const Value* report = handoff_.value(Field::consolidation); report != nullptr && report->is_object())
      offer_to(words_of(report->find("next_best_agent")), is_last);
    if (auto done = take(ruling); !done || act_.refused()) return done;
    if (*joined) {
      if (auto done = enrich(**joined); !done) return done;
    } else if (to_ask_) {
      if (auto done = request_approval(act_, *to_ask_); !done) return done;
    }
    return record_changes(act_, *changes);
  }

  // The last thing that is asked: whoever mends what it claims does so for a handoff that is taken then.
  void check_claims() {
    if (given_.claims == contract::Claims::Off) return;
    std::vector<Diagnostic> wrong = claims::diagnostics_of(given_.claimed);
    if (given_.claims == contract::Claims::Require) {
      if (!wrong.empty()) act_.refuse(std::move(wrong));
      return;
    }
    for (Diagnostic& one : wrong) {
      one.severity = Severity::Warning;
      warnings_.push_back(std::move(one));
    }
  }

  // The approval that the block joins, by `approval_id`. Nothing: it names none. Refused: it is not one that waits for a decision about
  // this very content, in this session.
  Result<std::optional<Approval>> find_joined() {
    const Value* asked = handoff_.value(Field::approval);
    const Value* named = asked != nullptr && asked->is_object() ? asked->find("approval_id") : nullptr;
    if (named == nullptr || named->is_null()) return std::nullopt;
    const std::string id = words_of(named);
    if (named->is_string() && work::is_work_id(id)) {
      auto approval = approval_of(act_, id);
      if (!approval) return tl::make_unexpected(approval.error());
      if (*approval && (*approval)->session_id == session_.id && waits_for_decision(act_, **approval)) {
        const auto same = has_content(**approval, asked->find("exact_content"));
        if (!same) return tl::make_unexpected(same.error());
        if (*same) return approval;
      }
    }
    Diagnostic unknown =
        report(Code::HANDOFF_APPROVAL_ID_UNKNOWN, place_named("/approval_request/approval_id"), {{"id", id}});
    unknown.argument = id;
    unknown.has_argument = true;
    return act_.refuse(std::move(unknown)), std::nullopt;
  }

  // Is this what the approval is about? Of content: what was asked, as it is shown. Of a call: the value at the tool's `command_path`,
  // as it is shown; where there is none, its canonical arguments, as text or as the object itself.
  Result<bool> has_content(const Approval& approval, const Value* content) {
    if (content == nullptr) return false;
    if (approval.kind == "content") {
      const Value* shown = approval.subject.find("exact_content");
      return shown != nullptr && json::write(*shown) == json::write(*content);
    }
    auto rules = rules_in(act_.unit, words_of(approval.subject.find("contract")));
    if (!rules) return tl::make_unexpected(rules.error());
    if (*rules == nullptr) return false;
    const auto tool = (*rules)->plan->find_tool(approval.tool);
    if (!tool) return false;
    if (const auto& at = (*rules)->tool(*tool).command_path) {
      const Value* inline_arguments = approval.subject.find("arguments");
      const Value* text = approval.subject.find("arguments_text");
      const auto arguments = json::parse_owned(inline_arguments != nullptr            ? json::write(*inline_arguments)
                                               : text != nullptr && text->is_string() ? text->string()
                                                                                      : std::string());
      const json::Node value = arguments ? at->path.resolve(arguments->root()) : json::Node();
      if (value.is_string()) return content->is_string() && value.string() == content->string();
    }
    std::string canonical;
    if (content->is_string()) canonical = content->string();
    else if (!json::append_canonical(canonical, *content, json::Numbers::Exact)) return false;
    return sha256_hex(canonical) == words_of(approval.subject.find("arguments_sha256"));
  }

  // A person was asked before, and the lease's clock stands still already.
  bool waits_already() const {
    return item_ && item_->lease && item_->lease->parked_until && item_->waits_for == work::WaitsFor::Approval;
  }

  // What the agent says of it is shown beside what is decided on, which stays as it is.
  Result<void> enrich(const Approval& approval) {
    Value context = Value::object();
    for (const std::string_view member : {"operation", "scope", "risk_level", "rollback", "verification"})
      if (const Value* there = handoff_.value(Field::approval)->find(member)) context.set(member, *there);
    Value payload = Value::object();
    payload.set("approval_id", approval.id);
    payload.set("context", std::move(context));
    payload.set("at", format_time(act_.now));
    return act_.append(std::string(kApprovalsStream), kApprovalEnriched, std::move(payload), Act::Is::Beside,
                       {"/approval_id"});
  }

  // What the agent wants to do, in its own words, for a person to decide: the same kind of approval as for a call. The approval that
  // waits for the same decision already; else it is ready to be asked for, unless too many wait.
  Result<std::optional<Approval>> prepare_approval() {
    const Value* asked = handoff_.value(Field::approval);
    if (asked == nullptr || !asked->is_object()) return std::nullopt;
    Approval approval;
    approval.kind = "content";
    approval.session_id = session_.id;
    if (item_) {
      approval.work_id = item_->id;
      approval.subject.set("work", item_->id);
    }
    approval.subject.set("session", session_.id);
    for (const std::string_view member :
         {"operation", "exact_content", "scope", "risk_level", "rollback", "verification"})
      if (const Value* there = asked->find(member)) approval.subject.set(member, *there);
    approval.risk = words_of(asked->find("risk_level"));
    approval.requested_by = session_.actor_id;
    approval.requested_at = act_.now;
    constexpr std::int64_t kPendingSeconds = 24 * 3600, kSpendSeconds = 3600;  // stated
    approval.expires_at = act_.now + kPendingSeconds;
    approval.spend_seconds = json::Decimal(kSpendSeconds);
    approval.id = approval_id_of(session_.id, "handoff " + key_);
    const auto room = approval_room(act_, session_.id, approval.requested_by);
    if (!room) return tl::make_unexpected(room.error());
    // Content that waits already is not asked for a second time: the handoff joins that approval.
    Approval sealed = approval;
    if (auto done = seal_subject(sealed); !done) return tl::make_unexpected(done.error());
    auto same = waiting_for(act_, sealed);
    if (!same || *same) return same;
    if (room->left == 0)
      act_.refuse(report(Code::approval_queue_full, place_named("/approval_request"),
                         {{"count", std::to_string(room->waiting)}, {"scope", room->scope}}));
    to_ask_ = std::move(approval);
    return std::nullopt;
  }

  work::Ruling ruling_for(Status status) {
    const auto exit = [&](agent_exit::Reason reason) {
      work::Exit asked;
      asked.reason = reason;
      asked.event_id = given_.event_id;
      asked.source = "agent_contract_handoff";
      if (reason != agent_exit::Reason::Completed) asked.notes = words_of(handoff_.value(Field::open_gaps));
      return work::exit(*item_, session_, act_.caller().actor, asked, act_.now);
    };
    const auto park = [&](work::WaitsFor waits_for) {
      return work::park(*item_, session_, waits_for, question_of(handoff_), act_.policy(), act_.now);
    };
    switch (status) {
      case Status::InProgress: return renewed();
      case Status::Complete:
      case Status::Blocked:
        // A child's last word ends the child, not the item: that is the parent's to say.
        if (is_delegated()) return work::release(*item_, session_, "the child's last word", act_.now);
        return exit(status == Status::Complete ? agent_exit::Reason::Completed : agent_exit::Reason::Blocked);
      case Status::NeedsInput: return park(work::WaitsFor::Input);
      case Status::ApprovalRequest: return park(work::WaitsFor::Approval);
    }
    return {};
  }

  // A sign of life. One that comes before the clock has moved extends nothing, and is a sign of life all the same.
  work::Ruling renewed() {
    work::Ruling ruling = work::renew(*item_, session_, 0, act_.policy(), act_.now);
    if (!ruling.allowed() && ruling.refused.front().code == Code::LEASE_NOT_EXTENDED) return {};
    return ruling;
  }

  // --- uaix -------------------------------------------------------------------------------------------------------------------

  Result<void> take_packet() {
    const Value* source = handoff_.value(Field::from);
    const Value* target = handoff_.value(Field::to);
    const std::string source_id = source == nullptr ? "" : words_of(source->find("id"));
    const std::string target_id = target == nullptr ? "" : words_of(target->find("id"));
    const auto& names = act_.caller().actor.names;
    attributed_ = std::ranges::find(names, source_id) != names.end();
    packet_.message_id = handoff_.text(Field::message_id);
    packet_.idempotency_key = handoff_.text(Field::idempotency_key);
    packet_.digest = document_.replay_digest;
    // Nobody can use up the ids of somebody he does not speak for.
    packet_.source = *attributed_ ? source_id : "unattributed:" + act_.caller().actor.id + ":" + source_id;
    const auto seen = find_seen(act_, packet_);
    if (!seen) return tl::make_unexpected(seen.error());
    if (act_.refused()) return {};
    if (*seen) return first_receipt((*seen)->stream, "\"message_id\":\"" + (*seen)->message_id + "\"");

    const std::optional<Time> until = parse_time(handoff_.text(Field::expires_at)).time;
    if (!until || *until <= act_.now)
      return act_.refuse(report(Code::UAIX_EXPIRED, place_named("/delivery/expires_at"),
                                {{"time", handoff_.text(Field::expires_at)}})),
             Result<void>();
    packet_.expires_at = *until;
    if (item_)
      if (auto stale = work::check_lease(*item_, session_, act_.now, Code::EXIT_LEASE); !stale.empty())
        return act_.refuse(std::move(stale)), Result<void>();
    std::vector<std::string> labels = labels_of(handoff_.value(Field::extensions));
    work::Ruling ruling;
    if (!*attributed_) {
      labels.emplace_back(kExternal);
      mode_ = Mode::Report;
    } else if (handoff_.mode == Mode::Report) {
      if (item_) ruling = renewed();
    } else if (const auto* role = target == nullptr ? nullptr : role_of(*target)) {
      packet_.target = target_id;
      offer_to(role->name, false);
    } else if (!item_) {
      refuse_target(target_id);
      return {};
    } else {
      ruling = work::offer(*item_, session_, {target_id, *until, packet_.message_id}, act_.policy(), act_.now);
    }
    if (!item_) {
      if (auto done = take(ruling); !done || act_.refused()) return done;
      return label_session(labels);
    }
    const work::Ruling labelled = work::add_labels(*item_, std::move(labels), act_.now);
    if (!labelled.allowed()) return act_.refuse(labelled.refused), Result<void>();
    if (auto done = take(ruling); !done || act_.refused()) return done;
    return label(labelled);
  }

  void refuse_target(const std::string& target_id) {
    if (!held_->workflow)
      return act_.refuse(
          report(Code::SESSION_WORKFLOW, {}, {{"problem", "has no work item, and is one of no workflow"}}));
    act_.refuse(report(Code::handoff_not_declared, place_named("/target/id"),
                       {{"from", held_->session.role}, {"to", target_id}}));
  }

  // What a session without an item is told brings its labels to the session.
  Result<void> label_session(const std::vector<std::string>& labels) {
    for (const std::string& label : labels) {
      if (std::ranges::find(held_->session.state.labels, label) != held_->session.state.labels.end()) continue;
      held_->session.state.labels.push_back(label);
      Value payload = session_payload(act_, session_.id);
      payload.set("label", label);
      if (auto done = act_.append(session_stream(session_.id), kSessionLabelled, std::move(payload), Act::Is::Beside,
                                  {"/session_id"});
          !done)
        return done;
    }
    return {};
  }

  static std::vector<std::string> labels_of(const Value* extensions) {
    std::vector<std::string> out;
    if (extensions == nullptr || !extensions->is_array()) return out;
    for (const Value& extension : extensions->elements()) {
      const Value* name = extension.find("namespace");
      const Value* data = extension.find("data");
      if (name == nullptr || !name->is_string() || name->string() != uaix::kLabelsExtension) continue;
      if (data == nullptr || !data->is_array()) continue;
      for (const Value& label : data->elements())
        if (label.is_string() && work::is_label(label.string())) out.push_back(label.string());
    }
    return out;
  }

  Result<void> label(const work::Ruling& labelled) {
    for (const work::Event& event : labelled.events)
      if (auto done = act_.record(event, *item_, Act::Is::Beside); !done) return done;
    act_.answer.body.set("work", shown(*item_));
    return {};
  }

  // --- what all of them do ------------------------------------------------------------------------------------------------------

  // What was said, then what it does.
  Result<void> take(const work::Ruling& ruling) {
    // What could not be read of the workflow looked as if it were not there.
    if (held_)
      if (auto seen = was_seen(*held_); !seen) return seen;
    if (!ruling.allowed()) return act_.refuse(ruling.refused), Result<void>();
    const work::Phase before = item_ ? item_->phase : work::Phase();
    if (auto done = record_handoff(); !done) return done;
    if (!packet_.message_id.empty())
      if (auto done = record_seen(act_, packet_, stream(), item_ ? item_->id : stream()); !done) return done;
    if (offer_)
      if (auto done = record_offer(); !done || act_.refused()) return done;
    if (item_) {
      const auto recorded = act_.record(ruling, *item_);
      if (!recorded) return tl::make_unexpected(recorded.error());
    } else if (!ends_.empty()) {
      if (auto done = act_.end_governed(session_.id, session::Standing::Closed, ends_); !done) return done;
      held_->session.state.standing = session::Standing::Closed;
    }
    Value& body = act_.answer.body;
    body.set("handoff", handoff_value(given_.handoff_id, dialect_name(document_.dialect()), mode_name(mode_),
                                      outcome_name(handoff_.outcome)));
    if (attributed_) body.set("attributed", *attributed_);
    tell_where_it_is();
    if (item_ && item_->phase != before) body.set("next_phase", agent_exit::phase_name(item_->phase));
    if (given_.claims != contract::Claims::Off) {
      body.set("claims", claims::list_value(given_.claimed));
      body.set("claims_counted", claims::counts_value(given_.claimed));
    }
    Value warnings = Value::array();
    for (const Diagnostic& warning : warnings_) warnings.push(checker::to_json(warning));
    body.set("warnings", std::move(warnings));
    return {};
  }

  void tell_where_it_is() {
    if (item_) act_.answer.body.set("work", shown(*item_));
    else act_.answer.body.set("standing", session::name_of(held_->session.state.standing));
  }

  // --- to a role of the session's workflow ----------------------------------------------------------------------------------------

  // Of the session's workflow; null: there is no such role, or no workflow.
  const contract::WorkflowRole* find_role(std::string_view name) const {
    if (!held_ || !held_->workflow || name.empty()) return nullptr;
    const auto& roles = held_->workflow->plan().roles;
    const auto at = std::ranges::find(roles, name, &contract::WorkflowRole::name);
    return at == roles.end() ? nullptr : &*at;
  }

  // Whom a packet names: by the role it says, or else by the name after `agt_` and the like.
  const contract::WorkflowRole* role_of(const Value& party) const {
    if (const auto* role = find_role(words_of(party.find("role")))) return role;
    const std::string id = words_of(party.find("id"));
    const std::size_t kind = id.find('_');
    return kind == std::string::npos ? nullptr : find_role(std::string_view(id).substr(kind + 1));
  }

  // Did it come by a handoff of a workflow?
  bool is_delegated() const {
    if (!held_ || !held_->workflow) return false;
    const auto member = held_->workflow->member(session_.id);
    return member && !member->handoff.empty();
  }

  // A document that names a role of the session's workflow offers a handoff to it, by the rules of the workflow. The last word of a
  // session offers for the one it works for; of the first session, there is nobody left whose offer it would be.
  void offer_to(const std::string& role, bool is_last) {
    if (find_role(role) == nullptr) return;
    const auto member = held_->workflow->member(session_.id);
    const auto parent = member && !member->parent.empty() ? held_->workflow->member(member->parent) : std::nullopt;
    if (is_last && (!parent || parent->standing != session::Standing::Open)) {
      warnings_.push_back(report(Code::HANDOFF_NOT_OFFERED, {}, {{"role", role}}));
      return;
    }
    offer_.emplace();
    offer_->handoff_id =
        packet_.message_id.empty() ? given_.offer_id : handoff_id_of(packet_.source, packet_.message_id);
    offer_->to = role;
    offer_->message_id = packet_.message_id;
    offer_->target_id = packet_.target;
    if (!packet_.message_id.empty()) offer_->expires_at = packet_.expires_at;
    offer_->for_parent = is_last;
    offer_->artifacts = artifacts_of(handoff_);
    if (!is_last) mode_ = Mode::Delegate;
  }

  Result<void> record_offer() {
    const auto made = make_offer(act_, *held_, *offer_, Act::Is::Beside);
    if (!made) return tl::make_unexpected(made.error());
    if (*made) act_.answer.body.set("offered", shown_handoff(**made));
    return {};
  }

  Result<void> record_handoff() {
    Value payload = Value::object();
    payload.set("handoff_id", given_.handoff_id);
    if (item_) payload.set("work_id", item_->id);
    payload.set("session_id", session_.id);
    payload.set("fence", session_.fence);
    payload.set("dialect", dialect_name(document_.dialect()));
    payload.set("mode", mode_name(mode_));
    payload.set("outcome", outcome_name(handoff_.outcome));
    payload.set("digest", document_.digest);
    payload.set("key", key_);
    payload.set("raw", document_.raw);
    if (!plan_status_.empty()) {
      payload.set("plan_status", plan_status_);
      payload.set("reports_in_a_row", reports_in_a_row_);
    }
    if (attributed_) payload.set("attributed", *attributed_);
    if (!packet_.message_id.empty()) payload.set("message_id", packet_.message_id);
    payload.set("at", format_time(act_.now));
    std::vector<std::string_view> ids = {"/handoff_id", "/session_id", "/digest", "/key", "/message_id"};
    std::vector<std::string> of_calls;
    if (given_.claims != contract::Claims::Off) {
      Value list = claims::list_value(given_.claimed);
      for (std::size_t at = 0; at < list.elements().size(); ++at)
        of_calls.push_back("/claims/" + std::to_string(at) + "/call_id");
      payload.set("claims", std::move(list));
      payload.set("claims_counted", claims::counts_value(given_.claimed));
    }
    ids.insert(ids.end(), of_calls.begin(), of_calls.end());
    return act_.append(stream(), kHandoffAccepted, std::move(payload), Act::Is::Main, std::move(ids));
  }

  Act& act_;
  const Given& given_;
  const Document& document_;
  const Handoff& handoff_;
  work::Session session_;
  std::optional<work::Item> item_;     // nothing: the session has none
  std::optional<Act::Governed> held_;  // where it is held to a pack, and open
  std::string key_;
  Mode mode_;
  std::vector<Diagnostic> warnings_;
  std::string ends_;            // the session, because; empty: it goes on
  std::optional<Offer> offer_;  // to a role of its workflow
  // agent-contract
  std::string plan_status_;
  std::optional<Approval> to_ask_;  // content that is asked about with this handoff
  int reports_in_a_row_ = 0;
  // uaix
  std::optional<bool> attributed_;
  PacketIds packet_;
};

// --- CI, which has no session ---------------------------------------------------------------------------------------------------

std::string key_of_ci(const std::string& actor_id, const std::string& work_id, std::uint64_t fence,
                      const Document& document) {
  return key_of("ci/" + actor_id + "/" + work_id, fence, document);
}

// The item has left CI_PENDING. Where CI's last signal about it was this very one, what was told then; anything else is
// refused. Which one was the last is in the ledger alone, under the fence that the item had then.
void tell_ci_again(Act& act, const work::Item& item, const std::shared_ptr<const Given>& given,
                   std::vector<Diagnostic> refused) {
  act.answer.body.set("work", shown(item));
  act.finish_with([work_id = item.id, actor_id = act.caller().actor.id, given, refused = std::move(refused)](
                      store::Reader& reader, Answer& answer) -> Result<void> {
    const auto found = find_entry(reader, work_stream(work_id), kHandoffAccepted, [](std::string_view payload) {
      const auto parsed = json::parse(payload);
      return parsed && !parsed->root()["session_id"];
    });
    if (!found) return tl::make_unexpected(found.error());
    const auto parsed = json::parse(*found ? std::string_view((*found)->payload) : std::string_view());
    std::string id, mode, outcome, key;
    std::int64_t fence = 0;
    if (!parsed || !read_number(parsed->root(), "fence", fence) || !read_text(parsed->root(), "key", key) ||
        !read_text(parsed->root(), "handoff_id", id) || !read_text(parsed->root(), "mode", mode) ||
        !read_text(parsed->root(), "outcome", outcome) ||
        key != key_of_ci(actor_id, work_id, static_cast<std::uint64_t>(fence), given->document)) {
      answer.refused = refused;
      return {};
    }
    answer.replayed = true;
    answer.entry = (*found)->place;
    answer.body.set("handoff", handoff_value(id, dialect_name(given->document.dialect()), mode, outcome));
    answer.body.set("warnings", Value::array());
    return {};
  });
}

Result<void> take_from_ci(Act& act, const std::string& work_id, const std::shared_ptr<const Given>& sent) {
  auto item = act.settled_item(work_id);
  if (!item) return tl::make_unexpected(item.error());
  if (!*item) return {};
  const Given& given = *sent;
  const Handoff& handoff = given.document.handoff;
  const work::Ruling ruling =
      work::exit_as_ci(**item, act.caller().actor, exit_of(handoff, given.event_id), act.policy(), act.now);
  if (!ruling.allowed()) {
    if ((*item)->phase == work::Phase::CiPending || act.caller().actor.kind != work::ActorKind::Ci)
      return act.refuse(ruling.refused), Result<void>();
    return tell_ci_again(act, **item, sent, ruling.refused), Result<void>();
  }
  Value payload = Value::object();
  payload.set("handoff_id", given.handoff_id);
  payload.set("work_id", work_id);
  payload.set("fence", (*item)->fence);
  payload.set("dialect", dialect_name(handoff.dialect));
  payload.set("mode", mode_name(handoff.mode));
  payload.set("outcome", outcome_name(handoff.outcome));
  payload.set("digest", given.document.digest);
  payload.set("key", key_of_ci(act.caller().actor.id, work_id, (*item)->fence, given.document));
  payload.set("raw", given.document.raw);
  payload.set("at", format_time(act.now));
  if (auto done = act.append(work_stream(work_id), kHandoffAccepted, std::move(payload), Act::Is::Main,
                             {"/handoff_id", "/digest", "/key"});
      !done)
    return done;
  const auto recorded = act.record(ruling, **item);
  if (!recorded) return tl::make_unexpected(recorded.error());
  act.answer.body.set("handoff", handoff_value(given.handoff_id, dialect_name(handoff.dialect), mode_name(handoff.mode),
                                               outcome_name(handoff.outcome)));
  act.answer.body.set("work", shown(**item));
  act.answer.body.set("next_phase", agent_exit::phase_name((*item)->phase));
  act.answer.body.set("warnings", Value::array());
  return {};
}

// --- what is claimed --------------------------------------------------------------------------------------------------------------

// What the session's pack wants done about it. Only a block claims anything.
Result<contract::Claims> claims_wanted(Engine& engine, const std::string& session_id, const Document& document) {
  if (document.dialect() != Dialect::AgentContract || !work::is_work_id(session_id)) return contract::Claims::Off;
  const auto reader = engine.store.reader();
  if (!reader) return tl::make_unexpected(reader.error());
  const auto row = (*reader)->get(tables::kSessionStates, {session_id});
  if (!row) return tl::make_unexpected(row.error());
  if (!*row) return contract::Claims::Off;
  const auto rules = rules_in(**reader, pack_in(**row));
  if (!rules) return tl::make_unexpected(rules.error());
  return *rules == nullptr ? contract::Claims::Off : (*rules)->plan->claims;
}

// As the entries have what they say: without secrets.
void take_secrets_out(Value& value) {
  if (value.is_string()) value = Value(secrets::redact(value.string()));
  if (value.is_array())
    for (Value& one : value.elements()) take_secrets_out(one);
  if (value.is_object())
    for (auto& [name, one] : value.members()) take_secrets_out(one);
}

Result<void> judge_claims(Engine& engine, Given& given) {
  if (given.claims == contract::Claims::Off) return {};
  const auto reader = engine.store.reader();
  if (!reader) return tl::make_unexpected(reader.error());
  const auto seen = seen_calls(**reader, given.session_id);
  if (!seen) return tl::make_unexpected(seen.error());
  Value block = agent_contract::from_handoff(given.document.handoff);
  take_secrets_out(block);
  const auto document = json::parse_owned(json::write(block));
  if (document) given.claimed = claims::judge(document->root(), *seen);
  return {};
}

}  // namespace

void UseCases::hand_off(const Mutation& by, std::string session_id, std::string text, Answered done) {
  ReadDocument read = read_document(std::move(text), inside_->config, inside_->clock.now());
  if (!read.document) return inside_->refuse(by, std::move(read.refused), done, "session/" + session_id);
  auto given = std::make_shared<Given>(Given{std::move(session_id), std::move(*read.document),
                                             mint_id("handoff_", inside_->random), mint_uuid(inside_->random),
                                             mint_id("hnd_", inside_->random)});
  Inside* inside = inside_.get();
  const auto take = [inside, by, given, done] {
    if (auto judged = judge_claims(*inside, *given); !judged) return done(tl::make_unexpected(judged.error()));
    inside->run(by, [given](Act& act) { return HandingOff(act, *given).run(); }, done,
                {.signal = "session/" + given->session_id,
                 .reads = reads_of_session(given->session_id),
                 .adds = Engine::Adds::Handoff});
  };
  const auto wanted = claims_wanted(*inside, given->session_id, given->document);
  if (!wanted) return done(tl::make_unexpected(wanted.error()));
  given->claims = *wanted;
  if (given->claims == contract::Claims::Off || !inside->lane) return take();
  // Reads that were answered and not recorded yet are seen calls too: what is queued behind them runs when they are in the ledger.
  inside->run(
      {.caller = by.caller}, [](Act&) { return Result<void>(); },
      [take, done](const Result<Answer>& recorded) {
        if (!recorded) return done(tl::make_unexpected(recorded.error()));
        take();
      },
      {.touches = given->session_id});
}

void UseCases::hand_off_as_ci(const Mutation& by, std::string work_id, std::string text, Answered done) {
  ReadDocument read = read_document(std::move(text), inside_->config, inside_->clock.now());
  if (read.document && read.document->dialect() != Dialect::AgentExit) {
    read.document.reset();
    read.refused = {report(Code::HANDOFF_DIALECT_NOT_TAKEN, {}, {{"what", "CI hands over by an exit signal"}})};
  }
  const std::string signal = "work/" + work_id;
  if (!read.document) return inside_->refuse(by, std::move(read.refused), done, signal);
  Given given{{}, std::move(*read.document), mint_id("handoff_", inside_->random), mint_uuid(inside_->random)};
  inside_->run(by,
               [work_id = std::move(work_id), given = std::make_shared<const Given>(std::move(given))](Act& act) {
                 return take_from_ci(act, work_id, given);
               },
               std::move(done), {.signal = signal, .adds = Engine::Adds::Handoff});
}

}  // namespace baton::runtime
