// SPDX-License-Identifier: Apache-2.0
// What the rules of work know about each phase, in one table. Where leaving a phase leads is the exit protocol's own table
// (dialects/agent_exit/phase.h).
#pragma once

#include <string_view>

#include "dialects/agent_exit/phase.h"

namespace baton::work {

using agent_exit::Phase;

struct PhaseRules {
  Phase phase;
  bool claimable;         // may a session claim an item in it?
  Phase held_in;          // the phase the item is in once it is claimed
  bool is_review;         // what `review_by: operator` keeps for operators
  bool not_implementers;  // not for the actor that completed IMPLEMENTATION
  Phase unblocks_to;      // where an item that was blocked in it goes on
};

const PhaseRules& rules_of(Phase phase);

// Nothing is done in it any more: COMPLETED and BLOCKED.
bool is_final(Phase phase);

// Does `first` come before `second` on the way from DRAFT to COMPLETED? BLOCKED comes last.
bool is_before(Phase first, Phase second);

}  // namespace baton::work
