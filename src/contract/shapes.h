// SPDX-License-Identifier: Apache-2.0
// The three kinds of file of a pack, field by field (contract/shape.h says how the tables are read).
#pragma once

#include <span>
#include <string_view>

#include "contract/shape.h"

namespace baton::contract {

extern const Shape kToolShape;        // {tool}.yaml
extern const Shape kSessionShape;     // session.yaml
extern const Shape kWorkflowShape;    // workflow.yaml
extern const Shape kGoldenFileShape;  // golden/NAME: a case that input_ref names, as JSON

// The words of the enumerations, in the order of the enums of contract/plan.h.
extern const std::span<const std::string_view> kSideEffectNames, kEvidenceNames, kCommitNames, kGateNames, kMetricNames,
    kRoleNames, kConstraintNames, kTypeNames, kSharedModeNames, kClosePolicyNames, kClaimsNames, kOwedNames,
    kUnlistedNames, kUnknownContentNames;

// Operators of an invariant, in the order of contract/plan.h's Op; `ref` and `tolerance` are none.
extern const std::span<const std::string_view> kOperatorNames;

bool is_tool_name(std::string_view text);

}  // namespace baton::contract
