// SPDX-License-Identifier: Apache-2.0
// What holds of every session of a pack: that something never happens, and that a session can always still come to an end.
//
// Every state that a session can come to is explored with the engine's own functions (the Judge that decides, the happenings that change
// the state) on a real State whose values are left out: one symbol stands for all arguments and outputs. Where a check needs the values
// it is taken to pass, what an output may fulfil it fulfils, and what was once known stays known. So more is explored than can
// happen, and what is not found does not happen: `Proved`. What is found is run through the engine with values that are made up
// (session/rehearse.h), and is `Refuted` only if that goes through. Everything else is `NotDecided`, and says why.
//
// Calls may overlap: any number of them can be under way, and each goes on when it will. A call "begins" when it is allowed and starts,
// and "happened" when it is committed. What begins may have its effect whatever its receipt says; only what is committed is known. An
// error says that there was no effect. An ok answer without evidence fails the call, too, but the call may have had its effect: a proof of
// `A twice` says whether that would break it (`Proof::unproven`).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "json/value.h"
#include "session/rules.h"

namespace baton::session {

// What must never be:
//   A                      A begins
//   A without B            A begins and B has not happened before
//   A after B              A begins and B has happened before
//   A twice                A begins again, and has begun before without failing
//   A more than N times    more than N calls of A have begun and not failed
//   A in PHASE             A begins while the session is in this phase
//   end without B          the session is in a terminal phase and B has not happened (a tool called `end` comes first)
struct Claim {
  enum class Kind : std::uint8_t { Never, Without, After, MoreThan, InPhase, EndWithout } kind = Kind::Never;
  ToolId a = kNone, b = kNone;
  PhaseId phase = 0;
  std::uint32_t count = 0;
  std::string text;
};
struct ClaimFault {
  std::size_t column;  // from 1 on
  std::string problem;
};
std::variant<Claim, ClaimFault> read_claim(const Plan& plan, std::string_view text);

struct ProveBudget {
  std::size_t states = 300'000;
  // The host lets each call end before the next one is proposed, and an outcome that is unknown stays so. Else they may overlap.
  bool one_at_a_time = false;
  bool counts_unproven = false;  // a call that failed because its ok answer lacks evidence counts as one that has begun
};

enum class Answer : std::uint8_t { Proved, Refuted, NotDecided };
std::string_view name_of(Answer answer);

// One thing of a trace, as the engine let it happen.
struct Traced {
  enum class What : std::uint8_t { Called, Proposed, Begun, Committed, Lost, Unproven, Failed } what = What::Called;
  std::string tool, phase_before, phase_after;  // phases empty: the pack has none
  bool approved = false;                        // a person was asked, and said yes
  json::Value arguments = {}, output = {};      // of what is proposed; of what is committed
};
std::string_view name_of(Traced::What what);

struct Proof {
  Answer answer = Answer::NotDecided;
  std::string why = {};
  std::size_t states = 0;
  std::vector<Traced> trace = {};  // of a refutation
  // Of a proof of `A twice` or `A more than N times`: it would not be proved if calls counted that failed because their ok answer
  // lacks evidence. The trace may be empty: not decided.
  bool unproven = false;
  std::vector<Traced> unproven_trace = {};
};
Proof prove_never(const std::shared_ptr<const Rules>& rules, const Claim& claim, const ProveBudget& budget);

// Can every session that is open still come to a terminal phase? "Can" is: there are calls that the engine allows whatever the values
// were until then, with people who approve and tools that succeed, while there are calls, steps and money left. What may be used up, and
// what labels and unknown outcomes close, is told beside the answer: it is so in nearly every pack, and does not change it.
struct FinishProof : Proof {
  struct Note {
    std::string name, text;
  };
  std::vector<Note> used_up;   // limits that can be used up before the end
  std::vector<Note> labels;    // after which there is no end any more
  std::vector<Note> unknowns;  // tools after whose unknown outcome the end has to wait until it is resolved
};
FinishProof prove_finish(const std::shared_ptr<const Rules>& rules, const ProveBudget& budget);

// What was left out of the exploration, and what was taken for granted, of this pack: sentences.
std::vector<std::string> abstracted(const Plan& plan, const ProveBudget& budget);

}  // namespace baton::session
