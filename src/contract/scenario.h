// SPDX-License-Identifier: Apache-2.0
// Scenario files: a pack, what happens, and what must be decided (docs/formats/scenarios.md). Nothing is executed.
//
// Here the body `cases` (compile only) is judged.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "contract/compile.h"
#include "contract/findings.h"

namespace baton::contract {

// One entry of a body, judged.
struct Judged {
  std::size_t number = 0;  // from 1
  Place place;             // of the entry in the file
  bool passed = true;
  std::string expected, got;  // in words, when it did not
  std::string why;            // what the file says of it
};

enum class Body { None, Cases, Run, Events };

struct ScenarioReport {
  std::string scenario;
  Body body = Body::None;
  std::vector<Finding> findings;  // errors: the file could not be read, and nothing was judged
  std::vector<Judged> entries;

  bool is_readable() const { return !has_errors(findings); }
  bool passed() const;
};

// `stem`: the file's name without its ending, which `scenario` must be; empty: not asked.
ScenarioReport judge_scenario(const SourceFile& file, std::string_view stem);

}  // namespace baton::contract
