// SPDX-License-Identifier: Apache-2.0
// Inside the use cases of workflows: what doing and showing have in common, and what time does.
#pragma once

#include <string>

#include "runtime/use_cases/govern.h"
#include "runtime/workflow_rows.h"

namespace baton::runtime {

json::Value shown_handoff(const WorkflowHandoff& handoff);

// An offer that is over. False: it is not.
Result<bool> expire_handoff(Act& act, const std::string& handoff_id);

}  // namespace baton::runtime
