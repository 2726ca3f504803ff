// SPDX-License-Identifier: Apache-2.0
// Inside the graph analysis: what values can be at a place, as far as invariants say. Only what is certain: whatever is not
// understood leaves the value open.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "contract/plan.h"

namespace baton::contract {

// The values that pass tests: numbers between two bounds, and, when `among` is set, only these.
struct Possible {
  std::optional<json::Decimal> least, most;
  std::optional<std::vector<json::Value>> among;
  bool must_be_absent = false;  // exists: false
  bool never = false;           // nothing passes

  // Takes the tests in as well.
  void narrow(std::span<const Test> tests);
  // Can a value that is possible pass the tests?
  bool can_pass(std::span<const Test> tests) const;
};

// What a tool's arguments can be at a path, if there is something: its invariants, the schema's among them.
Possible possible_at(const Tool& tool, const json::Path& path);

// Can a call be made only with a value at the path? Schemas do not ask for one, and null counts as none.
bool must_be_there(const Tool& tool, const json::Path& path);
// And only with a number, if with any?
bool must_be_number(const Tool& tool, const json::Path& path);

// What a JSON Schema lets a value at a path be: enum, const, minimum, maximum.
Possible possible_in_schema(const json::Value& schema, const json::Path& path);

// Does everything that passes `narrow` pass `wide`? False when that is not certain.
bool implies(std::span<const Test> narrow, std::span<const Test> wide);

// Are they the same tests?
bool same_tests(std::span<const Test> left, std::span<const Test> right);

}  // namespace baton::contract
