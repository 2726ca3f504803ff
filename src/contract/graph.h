// SPDX-License-Identifier: Apache-2.0
// What can be said of a plan without running it: can every tool be called, can every session end, does every guard guard.
//
// Two views of the same plan. The broad one asks which tools are callable in which phases at all, taking every condition that a
// session could ever fulfil as fulfilled (a least fixpoint; linear in what the pack says). The exact one walks through what a
// session can do, call by call, breadth first: phase, committed tools, forbidden tools, counts; it finds shortest sequences and
// is bounded by a budget. Where the budget runs out before an answer, that is said (graph_undecided), never guessed.
//
// Findings are reported under the name of their check, with a shortest sequence of calls that shows the fault. A suppression in
// session.yaml takes one away; one that takes none away is reported itself.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "contract/findings.h"
#include "contract/plan.h"

namespace baton::contract {

struct GraphBudget {
  std::size_t states = 20'000;  // of the exact walk
};

struct Analysis {
  std::vector<Finding> findings;    // file: that of the tool, or session.yaml
  std::vector<Finding> suppressed;  // what suppressions took away
};

// `session_file`: what the pack calls its session.yaml.
Analysis analyse(const Plan& plan, std::string_view session_file = "session.yaml", const GraphBudget& budget = {});

bool is_graph_check(std::string_view name);

}  // namespace baton::contract
