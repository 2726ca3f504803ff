// SPDX-License-Identifier: Apache-2.0
// Inside the detector: the vectorised pass over a text that finds what is worth a full look. may_hold_secret(), in
// secrets/detector.h, is the same pass over a document and stands beside it.
//
// The pass has a kernel for each level of base/kernel.h.
#pragma once

#include <string_view>
#include <vector>

#include "secrets/detector.h"
#include "secrets/rules.h"

namespace baton::secrets {

struct FirstLook {
  std::vector<Finding> findings;  // by the rules that need no pattern; in no order, and they may overlap
  PatternRules pattern_rules;     // those whose pattern is to be tried
};

FirstLook first_look(std::string_view text);

}  // namespace baton::secrets
