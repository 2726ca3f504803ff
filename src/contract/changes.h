// SPDX-License-Identifier: Apache-2.0
// What becomes of a pack when it is changed: what becomes allowed, what becomes blocked, what else is different.
//
// Two plans are compared field by field, by names, and every field has its direction: a bound that is raised allows more, a
// precondition that is added blocks more, a call that waits for a person counts as blocked until then. A change that lets some
// calls through and stops others, or neither, is of the third kind. A tool that both packs have is compared; one that comes or
// goes is one change, with what the pack says of it as details.
//
// When the hashes differ there is at least one change: what no field accounts for (a list in another order) is named by its
// place in described() of contract/describe.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "contract/plan.h"

namespace baton::contract {

enum class Effect { Allows, Blocks, Other };
std::string_view name_of(Effect effect);  // allowed, blocked, other

struct Change {
  Effect effect = Effect::Other;
  std::string tool;   // empty: of the session
  std::string field;  // as the files call it
  std::string text;   // a sentence without a full stop
  std::vector<std::string> details = {};
};

// In the order of the plans: the session first, then tool by tool. Empty when the hashes are the same.
std::vector<Change> changes_between(const Plan& before, const Plan& after);
// Of a workflow itself; the packs of its roles are compared as packs.
std::vector<Change> changes_between(const WorkflowPlan& before, const WorkflowPlan& after);

}  // namespace baton::contract
