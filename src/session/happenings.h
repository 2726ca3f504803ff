// SPDX-License-Identifier: Apache-2.0
// How a session's state changes: one function for each thing that can happen to it. What was decided comes in; nothing is decided
// here, so that replaying what was recorded gives the same state whatever the rules would say today.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "session/state.h"

namespace baton::session {

// What else is worth knowing about something that happened.
struct Effects {
  std::vector<Diagnostic> diagnostics;
  bool killed = false;                 // by a circuit breaker, just now
  std::vector<std::string> cancelled;  // calls that ended with the session
};

struct TakenCall {
  std::string id;
  ToolId tool = kNone;
  std::string tool_name;  // when it has no contract
  Verdict verdict = Verdict::Block;
  std::optional<Code> reason;  // of a block
  bool in_flight = false;      // and it is a forbid of a call in flight: it is held against nobody
  bool asks = false;           // a person is asked about this one
  bool allow_on_timeout = false;
  bool breaks_constraint = false;  // an execution constraint is among the reasons
  std::string digest;
  std::vector<Fact> facts;
};
struct TakenStep {
  std::vector<TakenCall> calls;  // none: the response was text
  std::optional<json::Decimal> estimate;
};
Effects take_step(const Rules& rules, State& state, const TakenStep& step);

// A person, or time, has decided about a call that waits; what became of it and of those held with it.
enum class Ruling : std::uint8_t { Approved, Denied, TimedOut };
struct Resolved {
  std::string call_id;
  Verdict verdict = Verdict::Allow;  // Checkpoint: others of the response wait still
  std::optional<Code> reason;
  bool in_flight = false;  // as of a call that is taken
};
Effects take_ruling(const Rules& rules, State& state, const std::string& call_id, Ruling ruling,
                    const std::vector<Resolved>& resolved);

// The call begins, with other arguments than were judged where `facts` are given; or it was refused and is cancelled.
struct Begun {
  std::string call_id;
  bool refused = false;
  std::optional<std::vector<Fact>> facts;
  std::string digest;      // of those
  bool waits = false;      // refused, because others of its workflow execute: it stays as it is
  bool in_flight = false;  // refused for what a call in flight forbids
};
Effects take_start(const Rules& rules, State& state, const Begun& begun);

// The call is over, or its outcome is unknown.
struct Settled {
  std::string call_id;
  CallState to = CallState::Committed;  // Committed, Failed, Unknown
  bool counts_as_error = false;
  std::vector<Fact> binds;     // of those from the output, in the order of the tool's binds
  std::vector<Fact> captures;  // of the stages that take their value from it, in order
  std::vector<bool> told;      // what each watch on the tool asks for: was it so?
};
Effects take_settlement(const Rules& rules, State& state, const Settled& settled);

void take_label(State& state, const std::string& label);
void take_cost(State& state, const json::Decimal& cost);
void take_cancel_request(State& state);  // the session is to end: its parent has
// Nothing is decided any more until somebody has looked at it; and they have.
void take_pause(State& state, const std::string& because);
void take_resumption(State& state);
// A session that was closed goes on, with all that it has used up. One that was killed does not.
void take_reopening(State& state);
// Calls that have not begun are cancelled; after a kill those under way are unknown.
Effects take_end(const Rules& rules, State& state, Standing to, const std::string& because);

}  // namespace baton::session
