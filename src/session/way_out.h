// SPDX-License-Identifier: Apache-2.0
// The way out of a refusal: what would have to be different for a blocked call to go ahead, worked out from the rules and the state.
// "shares at most 500, or call approve_risk_check first", in words and as data.
//
// A way is as good as the rules are known: values at the edges of what is offered pass, and calls in the order that is offered are
// legal if they are committed with outputs as it says, and leave enough of the totals that it names. What it does not promise: that a
// tool answers so, that a person approves, and what others do meanwhile.
//
// It says nothing to whoever may not call a tool, and names no tool that the session may not call. Texts of arguments and of slots
// are never in it; numbers, and what stands in the contract, may be.
#pragma once

#include <string>
#include <vector>

#include "session/decide.h"
#include "session/fitting.h"
#include "session/route.h"

namespace baton::session {

// A call that has to be made before.
struct CallBefore {
  std::string tool;  // empty: any response will do, one without calls too
  struct Same {      // what it must be about
    std::string place;
    std::string as_this;                // what the refused call has at this place,
    std::optional<std::size_t> before;  // or what an earlier call of the sequence has
    std::string before_place;           // there,
    std::string known_to;               // or something this tool was called for
  };
  std::vector<Same> same = {};
  std::vector<Change> wanted = {};  // of its arguments and its output
  bool asks = false;                // a person must approve it
  bool under_way = false;           // a call of it has not ended yet: its outcome may be what is wanted
};

// All of it together makes the call legal.
struct WayOption {
  std::vector<Change> changes = {};
  std::vector<CallBefore> calls = {};
  std::vector<std::string> moved = {};  // aggregates and envelopes by which it is judged, and which `calls` move
  bool other_arguments = false;         // any that differ from these
  bool alone = false;                   // as it is, by itself: it was refused for what it was proposed with
  // `approval`: nothing goes on before one that waits is decided. `call`: an open call forbids it, until that fails or is cancelled.
  std::string wait_for;
};

struct WayOut {
  enum class Status : std::uint8_t {
    Found,
    None,     // there is none in this session, or none that may be told
    Unknown,  // none was found, and it was not looked everywhere
  };
  Status status = Status::None;
  std::string text;                     // one line
  std::vector<WayOption> options = {};  // any of them will do
};

// `state`: after the response was taken (session/happenings.h), because that is where the agent goes on from. `call`: which one of
// the proposal; `verdict`: its own.
WayOut way_out(const Rules& rules, const State& state, const Proposal& proposal, std::size_t call,
               const CallVerdict& verdict, const Hiding* hiding = nullptr);

// {status, text, options[{changes[], calls[], moved[]?, other_arguments?, alone?, wait_for?}]}
json::Value shown(const WayOut& way);

}  // namespace baton::session
