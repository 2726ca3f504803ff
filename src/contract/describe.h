// SPDX-License-Identifier: Apache-2.0
// A plan as data: one value for one meaning. Defaults are filled in, paths have their normal form, members, tools and words of a
// set are sorted (a list of conditions keeps its order: it decides which one is named first); golden cases, suppressions and members of people's own are left out, because no decision depends on them.
//
// The hash is SHA-256 over the line "baton contract 1\n" and the canonical JSON (json/canonical.h, Exact) of this value.
#pragma once

#include <string>

#include "contract/plan.h"
#include "json/value.h"

namespace baton::contract {

json::Value described(const Plan& plan);
json::Value described(const Tool& tool, const Plan& plan);
json::Value described(const WorkflowPlan& plan);

std::string hash_of(const Plan& plan);  // "sha256:<64 hexadecimal digits>"
std::string hash_of(const WorkflowPlan& plan);

}  // namespace baton::contract
