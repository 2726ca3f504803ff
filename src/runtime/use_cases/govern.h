// SPDX-License-Identifier: Apache-2.0
// Inside the use cases of governed sessions: what sessions and approvals have in common.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "json/document.h"
#include "runtime/approval_queue.h"
#include "runtime/session_record.h"
#include "runtime/use_cases/inside.h"
#include "session/door.h"

namespace baton::runtime {

// A body that was parsed once, for every run of the use case.
struct Question {
  json::Document document;
  json::Node root() const { return document.root(); }
};

// The proposal of a question, with an id for every call.
struct Asking {
  std::shared_ptr<const Question> question;
  session::ReadProposal read;
  std::vector<std::string> digests;  // of the calls' arguments: what their digest refers to
  bool starts = false;
  bool may_resume = false;  // one call, without an id or with `resume`: it may be one that was approved
  std::optional<SubagentSeen> subagent = {};  // that proposes it
  bool other_door = false;                    // another door proposes it too, and begins it
  std::optional<Sighting> sighting = {};      // by a hook, of the one call
  json::Value bound = {};                     // see UseCases::Facts
};

// Is it a call without facts of a tool whose contract reads some?
bool lacks_facts(const session::Rules& rules, const session::Proposed& call);

// What identifies things in an entry about a session looks random and is no secret: pointers to it.
std::vector<std::string> id_pointers(const json::Value& payload);

// The session's own token, or somebody who stands above it, or whoever it belongs to.
bool may_act_for(const Caller& caller, const work::Session& session);

// How a call that may go ahead is to be carried out, for whoever begins it: `execution` of each call of `body`, with total_ms and,
// where there is more than one attempt, max_attempts, retry_on[], respect_retry_after, max_sleep_seconds.
void tell_execution(json::Value& body, const session::Rules& rules, const session::StepVerdict& verdict);

// The members of session.call_settled beside session_id and at.
void set_settlement(json::Value& payload, const session::Rules& rules, session::ToolId tool,
                    const session::SettleVerdict& verdict, const Question& question, const session::Receipt& receipt,
                    const session::Hiding& hiding);

// The member `sighting` of an entry: by what a hook knows the call.
void set_sighting(json::Value& payload, const std::optional<Sighting>& seen);

// Could everything that a decision looked at in the workflow be read?
Result<void> was_seen(const Act::Governed& held);

// The circuit breaker has ended the session: its item is blocked, and what hangs on it in a workflow follows.
Result<void> ended_by_breaker(Act& act, Act::Governed& held);

// The agent_id of a subagent: the same for the same one, so that whoever asks again gets it again.
std::string subagent_id_of(std::string_view session_id, const SubagentSeen& seen);
// It is known from now on, and open: recorded where it was not. Refused: there are too many.
Result<void> see_subagent(Act& act, GovernedSession& session, const SubagentSeen& seen);
bool subagents_owe(const contract::Plan& plan);

// Why a session was paused, of those that Baton pauses itself.
inline constexpr std::string_view kInputChanged = "input_changed";

// Where a session of a workflow belongs.
struct InWorkflow {
  std::string workflow_id, hash, role;
  std::string parent = {}, handoff_id = {};  // empty: it is the first session
  std::vector<std::string> labels = {};      // what it inherits
};
struct NewSession {
  std::string id, agent_id;
};
Result<void> open_in_workflow(Act& act, const OpenSession& asked, const InWorkflow& in, const NewSession& made,
                              const std::optional<std::map<std::string, std::string>>& environment);
// An answer that was kept has the session's token again.
Engine::Finish session_token_again(const Engine& engine);

// An approval is known by the call it is about: asking again is asking for the same.
std::string approval_id_of(std::string_view session_id, std::string_view call_id);

// Rows that a use case of a governed session will want.
std::vector<Read> reads_of_governed(const std::string& session_id);

// {session_id, at}
json::Value session_payload(const Act& act, std::string_view session_id);

// One rule applied to a call that waits, recorded with what it does to the approval, the call and the item. The answer's body is told.
struct RuledBy {
  ledger::Actor actor;
  session::Ruling ruling = session::Ruling::Approved;
  std::string note = {};
  Act::Is is = Act::Is::Main;
};
Result<void> rule_on_call(Act& act, Approval approval, const RuledBy& by);

Result<std::optional<Approval>> approval_of(Act& act, const std::string& id);
// Pending, and its time is not over.
bool waits_for_decision(const Act& act, const Approval& approval);

// Seals the subject as it will be kept, which gives the digest: what a person is shown is what they decide on.
Result<std::vector<ledger::Blob>> seal_subject(Approval& approval);
// Asks: seals the subject and records it.
Result<void> request_approval(Act& act, Approval& approval, std::string_view executed = {});
// How many more this session, as this asker, may ask for; counted so that other nodes cannot count at the same time. Until the commit
// nobody else asks.
Result<ApprovalRoom> approval_room(Act& act, const std::string& session_id, std::string_view asker);
// The approval by which the same session waits already for a decision about exactly this, whose subject is sealed. Nothing: none.
Result<std::optional<Approval>> waiting_for(Act& act, const Approval& approval);

// Content that was approved for this item, is still to be spent and is exactly `content`, byte for byte as the person was shown it;
// none of `taken`.
Result<std::optional<Approval>> approved_content(Act& act, const std::string& work_id, std::string_view content,
                                                 const std::deque<Approval>& taken);

// The approval goes over into another state.
Result<void> move_approval(Act& act, const ledger::Actor& actor, const Approval& approval, ApprovalState to,
                           std::string_view note, std::optional<Time> spend_until = std::nullopt,
                           Act::Is is = Act::Is::Beside);

// What the pack asks of the agent's last words, where that is not so anyway: `handoff`, `claims`.
// What a proxy has to know of the pack.
void tell_mcp(json::Value& out, const contract::Plan& plan);
void tell_owed(json::Value& out, const contract::Plan& plan);

// The session as callers are told: docs/reference/sessions.md. Nothing: it is not governed.
Result<std::optional<json::Value>> shown_governed(store::Reader& reader, const std::string& session_id);

// Calls that were begun and have taken longer than their contracts let them, with nobody saying what became of them: timed out. False:
// there were none.
Result<bool> settle_overdue_calls(Act& act, const std::string& session_id);

// What time does to an approval that is due. False: it was not.
Result<bool> settle_approval(Act& act, const std::string& approval_id);

}  // namespace baton::runtime
