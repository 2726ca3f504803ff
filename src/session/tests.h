// SPDX-License-Identifier: Apache-2.0
// The operators of contracts, on one value.
#pragma once

#include <string>

#include "contract/plan.h"
#include "json/document.h"
#include "session/facts.h"

namespace baton::session {

// What equals_env compares with: the session's, in the order of Plan::environment.
struct Environment {
  const std::vector<std::string>& names;
  const std::vector<Fact>& values;
  const Hiding* hiding;
};

// `value` may be no node: the value is absent.
bool passes(const contract::Test& test, json::Node value, const Environment& environment);
// All tests of an invariant. What a schema says holds for values that are there.
bool passes(const contract::Invariant& invariant, json::Node value, const Environment& environment);
// The first test that fails; null when all pass.
const contract::Test* failing(const contract::Invariant& invariant, json::Node value, const Environment& environment);

// gte, lte and equals on a fact; nothing when it cannot be told (absent, no number, hidden).
std::optional<bool> passes(const contract::Test& test, const Fact& fact);

bool equal(json::Node node, const json::Value& value);

// What is wrong and what would be right, in words: "is 7, and must be at most 5", "use a number of at most 5". Says numbers and
// booleans of the value, never its text.
struct Wording {
  std::string problem, remedy;
};
Wording wording_of(const contract::Test& test, json::Node value);

}  // namespace baton::session
