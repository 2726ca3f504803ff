// SPDX-License-Identifier: Apache-2.0
// Agents that a session's agent starts and that work inside its session (docs/decisions/0048): they begin, hand over to the agent that
// started them, and end. What they do counts for the session; their last words end them, never the session or its item.
#include <algorithm>

#include "base/ids.h"
#include "base/limits.h"
#include "checker/checker.h"
#include "dialects/agent_contract/contract.h"
#include "dialects/agent_contract/turn.h"
#include "runtime/session_events.h"
#include "runtime/use_cases/context.h"
#include "runtime/use_cases/document.h"
#include "runtime/use_cases/govern.h"
#include "runtime/work_events.h"

namespace baton::runtime {
namespace {

using json::Value;

// How often one is asked again for its handoff before it has ended without. Stated.
constexpr std::uint32_t kRepairsMax = 2;
constexpr std::size_t kOutputTail = 4096;
constexpr std::string_view kOwed = "agent-contract";

Result<void> append(Act& act, const std::string& session_id, std::string_view type, Value payload, Act::Is is) {
  const std::vector<std::string> pointers = id_pointers(payload);
  return act.append(session_stream(session_id), type, std::move(payload), is, {pointers.begin(), pointers.end()});
}

std::string told_at_start(const GovernedSession& session, const std::string& agent_id) {
  std::string out = "You are a subagent in a session that Baton holds to a contract (session " + session.id +
                    "). A call that the contract does not allow is refused with the reason and what to do instead.";
  if (!subagents_owe(*session.rules->plan)) return out;
  return out + " Your agent_id is " + agent_id +
         ". You owe a handoff: end your last message with this block, filled in with what is true, and nothing behind "
         "it (plan_status is COMPLETE only with verification.result \"pass\"; otherwise BLOCKED, with the "
         "open_gaps):\n\n" +
         agent_contract::skeleton(agent_id);
}

// The last words of one, as they were read before the transaction.
struct LastWords {
  std::string session_id, agent_id, text;
  SubagentSeen seen;
  ReadDocument read;
  std::string handoff_id;  // minted
};

class Ending {
 public:
  Ending(Act& act, const LastWords& words) : act_(act), words_(words) {}

  Result<void> run() {
    auto found = act_.governed(words_.session_id);
    if (!found) return tl::make_unexpected(found.error());
    if (!*found) return {};
    held_ = std::move(**found);
    GovernedSession& session = held_.session;
    if (session.state.standing != session::Standing::Open)
      return act_.refuse(report(Code::SESSION_ENDED, {}, {{"state", session::name_of(session.state.standing)}})),
             Result<void>();
    const bool owes = subagents_owe(*session.rules->plan);
    if (const Subagent* known = session.find_subagent(words_.agent_id); known != nullptr && !known->open) {
      // Told again what it was told: another hook may have held it up in between.
      const bool same = words_.read.document && words_.read.document->digest == known->handoff_digest;
      if (!owes || same) return tell(), Result<void>();
    }
    if (auto done = see_subagent(act_, session, words_.seen); !done || act_.refused()) return done;
    if (!owes) return end(Value::object());
    std::vector<Diagnostic> wrong = words_.read.refused;
    ContextChanges changes;
    if (wrong.empty()) {
      auto judged = judge(wrong);
      if (!judged) return tl::make_unexpected(judged.error());
      changes = std::move(*judged);
    }
    if (!wrong.empty()) return refuse(wrong);
    if (auto done = take(); !done) return done;
    return record_changes(act_, changes);
  }

 private:
  Subagent& subagent() { return *held_.session.find_subagent(words_.agent_id); }

  // Whose it is, and whether it can come now; and what it passes on, as far as the session's role may write it.
  Result<ContextChanges> judge(std::vector<Diagnostic>& wrong) {
    const Handoff& handoff = words_.read.document->handoff;
    if (handoff.dialect != Dialect::AgentContract) {
      wrong = {
          report(Code::HANDOFF_DIALECT_NOT_TAKEN, {}, {{"what", "a subagent hands over by an agent-contract block"}})};
      return ContextChanges();
    }
    if (const std::string_view named = handoff.text(Field::agent_id); named != words_.agent_id) {
      Diagnostic mismatch =
          report(Code::HANDOFF_AGENT_ID_MISMATCH, place_named("/agent_status/agent_id"), {{"agent_id", named}});
      mismatch.argument = named;
      mismatch.has_argument = true;
      wrong = {std::move(mismatch)};
      return ContextChanges();
    }
    agent_contract::StatusMachine machine(agent_contract::find_status(subagent().plan_status),
                                          static_cast<int>(subagent().reports_in_a_row));
    auto judged = machine.advance(handoff.text(Field::status));
    if (has_errors(judged)) {
      wrong = std::move(judged);
      return ContextChanges();
    }
    reports_in_a_row_ = machine.in_progress_in_a_row();
    auto session = held_.leased ? Result<std::optional<work::Session>>(held_.leased) : act_.session(words_.session_id);
    if (!session) return tl::make_unexpected(session.error());
    if (!*session) return failure("taking a subagent's handoff", "its session is not there");
    auto changes =
        merge_updates(act_, handoff.value(Field::context_updates), **session, held_.item ? *held_.item : work::Item());
    if (changes) wrong = changes->refused;
    return changes;
  }

  Result<void> take() {
    const Document& document = *words_.read.document;
    Value payload = Value::object();
    payload.set("outcome", outcome_name(document.handoff.outcome));
    payload.set("handoff_id", words_.handoff_id);
    payload.set("dialect", dialect_name(document.dialect()));
    payload.set("mode", mode_name(Mode::Delegate));
    payload.set("digest", document.digest);
    payload.set("key", sha256_hex(words_.session_id + "\n" + words_.agent_id + "\n" + document.canonical));
    payload.set("raw", document.raw);
    payload.set("plan_status", document.handoff.text(Field::status));
    payload.set("reports_in_a_row", reports_in_a_row_);
    return end(std::move(payload));
  }

  // Asked again, or given up.
  Result<void> refuse(const std::vector<Diagnostic>& wrong) {
    Value codes = Value::array();
    for (const Diagnostic& one : wrong) codes.push(info(one.code).name);
    const std::uint32_t repairs = subagent().repairs + 1;
    if (repairs > kRepairsMax) {
      Value payload = Value::object();
      payload.set("outcome", outcome_name(Outcome::Blocked));
      payload.set("because", "its handoff was refused " + std::to_string(repairs) + " times");
      payload.set("codes", std::move(codes));
      std::string tail = words_.text;
      if (tail.size() > kOutputTail) tail.erase(0, tail.size() - kOutputTail);
      // Not in the middle of a character.
      while (!tail.empty() && (static_cast<unsigned char>(tail[0]) & 0xC0) == 0x80) tail.erase(0, 1);
      if (!tail.empty()) payload.set("output", tail);
      return end(std::move(payload));
    }
    Value payload = session_payload(act_, words_.session_id);
    payload.set("agent_id", words_.agent_id);
    payload.set("codes", std::move(codes));
    payload.set("repairs", repairs);
    held_.session.repair_subagent(words_.agent_id, repairs);
    if (auto done = append(act_, words_.session_id, kSubagentRefused, std::move(payload), Act::Is::Main); !done)
      return done;
    agent_contract::Refusal refusal;
    refusal.agent_id = words_.agent_id;
    refusal.repair = static_cast<int>(repairs);
    refusal.repairs_max = kRepairsMax;
    refusal.at_last = "you have ended as BLOCKED";
    for (const Diagnostic& one : wrong)
      if (one.code != Code::HANDOFF_BLOCK_MISSING)
        refusal.problems.push_back({std::string(info(one.code).name), one.message, one.help, one.place.pointer});
    tell();
    act_.answer.body.set("asked_again", agent_contract::repair_text(refusal));
    return {};
  }

  Result<void> end(Value said) {
    Value payload = session_payload(act_, words_.session_id);
    payload.set("agent_id", words_.agent_id);
    GovernedSession::SubagentEnd how;
    for (auto& [name, value] : said.members()) {
      if (name == "outcome") how.outcome = value.string();
      if (name == "plan_status") how.plan_status = value.string();
      if (name == "digest") how.handoff_digest = value.string();
      payload.set(name, std::move(value));
    }
    how.reports_in_a_row = static_cast<std::uint32_t>(reports_in_a_row_);
    held_.session.end_subagent(words_.agent_id, how, act_.now);
    if (auto done = append(act_, words_.session_id, kSubagentEnded, std::move(payload), Act::Is::Main); !done)
      return done;
    tell();
    return {};
  }

  void tell() { act_.answer.body.set("subagent", subagent().to_json()); }

  Act& act_;
  const LastWords& words_;
  Act::Governed held_;
  int reports_in_a_row_ = 0;
};

}  // namespace

bool subagents_owe(const contract::Plan& plan) { return plan.owed_by_subagents == contract::Owed::AgentContract; }

std::string subagent_id_of(std::string_view session_id, const SubagentSeen& seen) {
  return "a" + short_hash("subagent\n" + std::string(session_id) + "\n" + seen.client_id);
}

Result<void> see_subagent(Act& act, GovernedSession& session, const SubagentSeen& seen) {
  const std::string agent_id = subagent_id_of(session.id, seen);
  const Subagent* known = session.find_subagent(agent_id);
  if (known != nullptr && known->open) return {};
  if (known == nullptr && !session.has_room_for_subagent())
    return act.refuse(report(
               Code::SESSION_OPTIONS, {},
               {{"problem", "more than " + std::to_string(limits::kSubagentsMax) + " subagents are open at once"}})),
           Result<void>();
  Value payload = session_payload(act, session.id);
  payload.set("agent_id", agent_id);
  if (!seen.type.empty()) payload.set("type", seen.type);
  payload.set("client_agent_id", seen.client_id);
  if (subagents_owe(*session.rules->plan)) payload.set("owes", kOwed);
  if (known != nullptr) payload.set("again", true);
  session.begin_subagent(agent_id, seen.type, act.now);
  return append(act, session.id, kSubagentStarted, std::move(payload), Act::Is::Beside);
}

void UseCases::start_subagent(const Mutation& by, std::string session_id, SubagentSeen seen, Answered done) {
  std::vector<Read> reads = reads_of_governed(session_id);
  std::string touches = session_id;
  inside_->run(
      by,
      [session_id = std::move(session_id), seen = std::move(seen)](Act& act) -> Result<void> {
        auto found = act.governed(session_id);
        if (!found) return tl::make_unexpected(found.error());
        if (!*found) return {};
        GovernedSession& session = (*found)->session;
        if (session.state.standing != session::Standing::Open)
          return act.refuse(report(Code::SESSION_ENDED, {}, {{"state", session::name_of(session.state.standing)}})),
                 Result<void>();
        if (auto done = see_subagent(act, session, seen); !done || act.refused()) return done;
        const std::string agent_id = subagent_id_of(session_id, seen);
        act.answer.body.set("subagent", session.find_subagent(agent_id)->to_json());
        if (subagents_owe(*session.rules->plan)) act.answer.body.set("owes", kOwed);
        act.answer.body.set("text", told_at_start(session, agent_id));
        return {};
      },
      std::move(done), {.reads = std::move(reads), .touches = std::move(touches)});
}

void UseCases::end_subagent(const Mutation& by, std::string session_id, SubagentSeen seen, std::string last_words,
                            Answered done) {
  std::vector<Read> reads = reads_of_governed(session_id);
  std::string touches = session_id;
  auto words = std::make_shared<LastWords>();
  words->agent_id = subagent_id_of(session_id, seen);
  words->session_id = std::move(session_id);
  words->seen = std::move(seen);
  words->text = std::move(last_words);
  words->read = read_document(words->text, inside_->config, inside_->clock.now());
  words->handoff_id = mint_id("handoff_", inside_->random);
  inside_->run(by, [words](Act& act) { return Ending(act, *words).run(); }, std::move(done),
               {.reads = std::move(reads), .touches = std::move(touches)});
}

void UseCases::note_unhooked(const Mutation& by, std::string session_id, UnhookedCall call, Answered done) {
  std::vector<Read> reads = reads_of_governed(session_id);
  std::string touches = session_id;
  inside_->run(by,
               [session_id = std::move(session_id), call = std::move(call)](Act& act) -> Result<void> {
                 auto found = act.governed(session_id);
                 if (!found) return tl::make_unexpected(found.error());
                 if (!*found) return {};
                 Value payload = session_payload(act, session_id);
                 payload.set("tool", call.tool);
                 if (!call.call_id.empty()) payload.set("call_id", call.call_id);
                 payload.set("arguments_sha256", call.arguments_sha256);
                 payload.set("problem", call.problem);
                 if (call.subagent) payload.set("subagent", subagent_id_of(session_id, *call.subagent));
                 act.answer.body.set("unhooked_calls", (*found)->session.unhooked_calls + 1);
                 return append(act, session_id, kUnhookedCall, std::move(payload), Act::Is::Main);
               },
               std::move(done), {.reads = std::move(reads), .touches = std::move(touches)});
}

}  // namespace baton::runtime
