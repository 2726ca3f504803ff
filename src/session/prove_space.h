// SPDX-License-Identifier: Apache-2.0
// Inside the prover: the states of a session with its values left out. Each is a real State, brought into one form, so that what the
// engine says of it can be remembered; what is allowed in it and what comes after it is asked of the engine.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "session/state.h"

namespace baton::session {

class Space {
 public:
  using Id = std::uint32_t;

  // `counted`: a tool whose limit of calls counts; all others have calls without end. `count_calls`: max_tool_calls counts too, when
  // it is small. What is not counted never runs out.
  Space(std::shared_ptr<const Rules> rules, ToolId counted, bool count_calls);

  Id first() const { return 0; }
  const State& state(Id id) const { return states_[id].state; }
  std::size_t size() const { return states_.size(); }

  // Tools of which the engine would allow some call here. The reference holds until the next state is made.
  const std::vector<ToolId>& allowed(Id id);
  Id proposed(Id id, ToolId tool);  // it counts; a tool that needs no receipt is committed now
  Id held(Id id,
          ToolId tool);  // it counts, and nothing more: others of the same response are judged before it is committed
  Id called(Id id, ToolId tool);     // and committed at once
  Id committed(Id id, ToolId tool);  // a call that was proposed before
  Id unproven(Id id, ToolId tool);   // begun, and failed for want of evidence
  Id lost(Id id, ToolId tool);       // begun, and its outcome stays unknown: what it forbids is forbidden
  bool may_begin(Id id, ToolId tool) const;
  std::vector<ToolId> forbidden(Id id) const;

 private:
  struct Known {
    State state;
    bool is_judged = false;
    std::vector<ToolId> allowed = {};
    std::unordered_map<ToolId, Id> called = {}, committed = {}, held = {}, lost = {}, unproven = {}, proposed = {};
  };
  bool is_allowed(const State& state, ToolId tool) const;
  State commit(const State& from, ToolId tool) const;
  State propose(const State& from, ToolId tool) const;
  Id keep(State state, const State& before);

  std::shared_ptr<const Rules> rules_;
  ToolId counted_;
  bool counts_calls_;
  std::vector<Known> states_;
  std::unordered_map<std::string, Id> ids_;
};

}  // namespace baton::session
