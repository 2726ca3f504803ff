// SPDX-License-Identifier: Apache-2.0
// The decisions of a session: pure functions over values. What a pack says (Rules), what has happened (State) and what is asked go in;
// a verdict with all its reasons comes out. Nothing changes; session/happenings.h has what a decision then does.
//
// The checks of a call are made in the order of contract::Check, which is the tool's list (contract/plan.h):
//   1 session · 2 arguments, protected paths · 3 contract · 4 labels · 5 policy · 6 risk gate · 7 phase · 8 forbidden · 9 limits · 10 loop ·
//   11 response and boundary assertions · 12 preconditions · 13 arguments · 14 refs · 15 aggregates · 16 envelopes · 17 shared resources · 18 checkpoints
// The first that fails is the reason; all that fail are told, except that who may not call a tool at all learns nothing of the
// state: a failure of 1 to 3 stands alone, and 4 and 5 stand without what comes after them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnostics/diagnostic.h"
#include "session/commons.h"
#include "session/happenings.h"
#include "session/state.h"

namespace baton::session {

// Why not: the code, what it is about (the limit, the aggregate, the envelope, the slot, the label, the forbidding tool), and
// where in the arguments.
struct Refusal {
  Diagnostic diagnostic;
  std::string detail = {};
  bool in_flight = false;  // of forbidden_in_state: a call that has not ended forbids it, and no longer than that
  Code code() const { return diagnostic.code; }
};

struct Proposed {
  std::string id;
  std::string_view tool;
  Values arguments;                               // no root: they could not be read
  std::string malformed;                          // then: why
  Code malformed_as = Code::arguments_malformed;  // or fact_in_arguments (`malformed` is the member), facts_missing
  std::string_view digest =
      {};  // SHA-256 of the canonical arguments, when it is known; else it is worked out when needed
  // An approval of exactly the content that stands at the tool's `command_path`, still to be spent; empty: there is none. Who keeps
  // approvals looks it up. A checkpoint that fires is met by it.
  std::string_view content_approval = {};
  // What the call would touch that no agent may (protection/protection.h); empty: nothing. Who knows the paths looks for it.
  std::string protected_path = {};
  bool protected_always = false;  // false: only a tool that writes must not
};
// What is wrong with the arguments as a whole (arguments_malformed); nothing when the rules can look at them.
std::optional<std::string> problem_of(const Proposed& call);

// What response_format_invariants look at in a response.
struct ResponseShape {
  std::string finish_reason = {};  // normalised: tool_calls, stop, length, ...
  bool content_empty = true, tool_calls_present = false;
};
ResponseShape shape_of(json::Node response);

struct Proposal {
  std::vector<Proposed> calls;              // none: the response was text
  Values request = {}, response = {};       // what the model was asked and what it said, where the host sees it
  std::optional<ResponseShape> shape = {};  // of the response, when there is one
  std::optional<json::Decimal> estimate = {};
  bool lease_stale = false;                      // the session no longer holds its lease
  std::size_t approvals_left = SIZE_MAX;         // how many more may wait, and of whom:
  std::string_view approvals_scope = "session";  // this session, the workspace, the actor who asks
  std::size_t approvals_waiting = 0;             // of that scope, now
  const Commons* commons = nullptr;              // of its workflow; null: it has none
};

// What a person is asked.
struct Asked {
  json::Decimal timeout_seconds;
  bool allow_on_timeout = false;
  std::vector<std::string> checkpoints;  // names of those of the session that fired; the tool's own is ""
  struct Shown {
    std::string label;
    Fact value;  // canonical JSON; "null" when it is not there
  };
  std::vector<Shown> context;
};

struct CallVerdict {
  Verdict verdict = Verdict::Allow;
  std::vector<Refusal> failures;  // not empty: it is a block
  std::optional<Asked> asked;     // of a checkpoint that is its own
  ToolId tool = kNone;
  std::string digest;
  std::vector<Fact> facts;
  std::vector<Diagnostic> diagnostics;  // what else is worth knowing
  // What is not told because something else stands before it, and matters where nothing is held back:
  bool would_ask = false;          // a person would have to be asked
  bool breaks_constraint = false;  // an execution constraint is against it; told or not
  std::string spends;              // the approval of content that took the place of asking: it is used up
  std::string joins;               // the call that waits already and that this one is: nothing else happens
};

enum class Outcome : std::uint8_t { Proceed, Held, Reject, Error, Text };
std::string_view name_of(Outcome outcome);

struct StepVerdict {
  std::vector<CallVerdict> calls;
  Outcome outcome = Outcome::Proceed;
};
StepVerdict decide(const Rules& rules, const State& state, const Proposal& proposal, const Hiding* hiding = nullptr);

// What happened, from what was decided.
TakenStep step_of(const Proposal& proposal, const StepVerdict& verdict);

// A ruling on a call that waits. Nothing: it does not (checkpoint_closed). An approval that is the last one its response waited for has
// all of its calls judged again, without asking again.
struct RulingVerdict {
  std::vector<CallVerdict> calls;  // of its group, in order, the ruled one among them
  std::vector<std::string> call_ids;
  std::size_t ruled = 0;
};
std::optional<RulingVerdict> rule_on(const Rules& rules, const State& state, std::string_view call_id, Ruling ruling,
                                     bool lease_stale = false, const Commons* commons = nullptr);
std::vector<Resolved> resolved_of(const RulingVerdict& verdict);

// May the call begin, with these arguments? No root: with those that were judged. `protected_path`: what they would touch that this
// tool must not.
struct StartVerdict {
  bool is_open = true;  // false: there is nothing to begin (call_not_open)
  std::vector<Refusal> failures;
  bool waits = false;                   // refused with resource_busy alone: the call stays pending, and keeps its place
  std::vector<Diagnostic> diagnostics;  // what else is worth knowing
  std::optional<std::vector<Fact>> facts;  // of arguments that differ
  std::string digest;
};
StartVerdict start(const Rules& rules, const State& state, std::string_view call_id, const Values& arguments,
                   std::string_view digest, bool lease_stale = false, const Hiding* hiding = nullptr,
                   const Commons* commons = nullptr, std::string_view protected_path = {});

Begun begun_of(std::string call_id, const StartVerdict& verdict);

// --- before the model is asked ----------------------------------------------------------------------------------------------------

struct Narrowed {
  std::vector<ToolId> kept;
  struct Removed {
    std::string tool;
    Code why;
    bool in_flight = false;  // a call that has not ended forbids it, and no longer than that
  };
  std::vector<Removed> removed;
};
// Which tools could be called now. `offered` empty: all of the pack.
Narrowed narrow(const Rules& rules, const State& state, const std::vector<std::string>& offered = {});

struct Preflight {
  std::string_view provider = {};
  json::Node request = {};
  std::optional<json::Decimal> estimate = {};
  bool lease_stale = false;
  const Commons* commons = nullptr;
};
struct PreflightVerdict {
  std::vector<Refusal> failures;
  std::vector<Diagnostic> diagnostics;
  Narrowed narrowed;
};
PreflightVerdict preflight(const Rules& rules, const State& state, const Preflight& asked);

// The names of the tools that a request offers: of OpenAI's and Anthropic's forms, or plain names.
std::vector<std::string> tools_of_request(json::Node request);

// SHA-256 over the exact canonical form; nothing when there is none (a number beyond any).
std::optional<std::string> digest_of(json::Node arguments);

}  // namespace baton::session
