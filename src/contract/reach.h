// SPDX-License-Identifier: Apache-2.0
// Inside the graph analysis: what can be called, and what a session can come to. graph.h says what the two views are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "contract/plan.h"

namespace baton::contract {

// A plan as a graph. One that declares no phases has a single one, in which a session begins and may end.
struct Graph {
  explicit Graph(const Plan& plan);

  const Plan& plan;
  std::size_t phases;
  PhaseId initial = 0;

  // What a call needs to have happened before: one of these tools at least.
  struct Need {
    enum class Kind { Prior, Ref, Envelope } kind;
    std::vector<ToolId> any_of;
    std::uint32_t index;  // of the slot, or of the envelope
    Role role = Role::Ceiling;
  };
  struct Node {
    bool admitted = true;  // gate and policy let it through for somebody, and the limits leave it a step
    PhaseSet domain;       // where it is valid and its advance is legal
    std::vector<Need> needs;
    std::int64_t steps = 0;  // that must have come before
  };
  std::vector<Node> tools;

  PhaseId after(ToolId tool, PhaseId phase) const;
  bool is_terminal(PhaseId phase) const { return plan.phases.empty() || plan.phases[phase].terminal; }
};

// --- the broad view -------------------------------------------------------------------------------------------------------------

struct Reach {
  PhaseSet phases;                 // that a session can be in
  std::vector<PhaseSet> callable;  // by tool: where it can be called
  std::vector<PhaseSet> since;     // by tool: where a session can be once it was called
  bool complete = true;            // the budget sufficed

  bool can_call(ToolId tool) const { return !callable[tool].empty(); }
};
Reach reach_of(const Graph& graph);

// How many steps it takes at the least until a session may end. Calls that do not wait for each other can be made in one step, so
// this may be fewer than the calls. Nothing when there is no way, or it could not be worked out within the budget.
std::optional<std::size_t> steps_to_end(const Graph& graph);

// --- the exact view -------------------------------------------------------------------------------------------------------------

// The states of a session that calls can lead to, breadth first, until everything that the broad view holds possible was met: each
// tool's first call, each phase, an end. Most packs are answered after a few states, however many there are.
class Walk {
 public:
  enum class Forbids { Count, Ignored };
  // Single: one call after another, so that sequences are shortest. Together: calls that neither lead to another phase nor forbid
  // anything are made as soon as they can be. They take nothing away from what can follow, so what can be reached stays the same,
  // with far fewer states; sequences then leave these calls out.
  enum class Calls { Single, Together };
  Walk(const Graph& graph, const Reach& reach, Forbids forbids, std::size_t states_max, Calls calls = Calls::Single);

  // Is what was not met impossible? False: the budget was used up.
  bool complete() const { return complete_; }
  bool reaches_terminal() const { return terminal_.has_value(); }
  std::optional<std::size_t> steps_to_terminal() const;

  // Shortest sequences of calls, by name. To a call of the tool, that call included; to a phase; to a state from which nothing
  // leads on. Nothing when there is none among the states that were visited.
  std::optional<std::vector<std::string>> to_call(ToolId tool) const;
  std::optional<std::vector<std::string>> to_phase(PhaseId phase) const;
  std::optional<std::vector<std::string>> to_dead_end() const;
  std::optional<std::vector<std::string>> to_terminal() const;

 private:
  struct State {
    PhaseId phase;
    std::vector<std::uint64_t> done;  // which of the tools that matter later were called
    std::uint32_t from = 0;
    ToolId by = 0;
  };
  bool can_call(const State& state, ToolId tool) const;
  void make_harmless_calls(State& state, Forbids forbids) const;
  bool is_done(const State& state, ToolId tool) const;
  std::vector<std::string> calls_to(std::uint32_t state) const;

  const Graph& graph_;
  std::vector<std::optional<std::uint32_t>> bit_of_;  // by tool: its place in `done`
  std::vector<std::vector<ToolId>> forbidden_by_;     // by tool
  std::vector<std::vector<ToolId>> valid_in_;         // by phase: tools that may be callable
  std::vector<State> states_;
  std::vector<std::optional<std::uint32_t>> first_call_, first_in_phase_;
  std::optional<std::uint32_t> dead_end_, terminal_;
  bool complete_ = true;
};

}  // namespace baton::contract
