// SPDX-License-Identifier: Apache-2.0
// Scenario files: a pack, what happens, and what must be decided (docs/formats/scenarios.md). Nothing is executed.
//
// Here the body `cases` (compile only) is judged, and the packs of `run` and `events` are compiled for whoever runs them.
#pragma once

#include <memory>
#include <optional>
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

// What is compiled for one case, or for the whole of a run or of events: everything that the file leaves out is filled in.
struct ScenarioPack {
  PackSource pack;
  std::optional<WorkflowSource> workflow;  // there is one: then it is compiled with its packs, and `pack` is empty
  CompileOptions options;
};

// One for each case; of `run` and `events` the one. Nothing of a file that cannot be read.
std::vector<ScenarioPack> scenario_packs(const SourceFile& file);

// The pack of a `run` or the workflow of `events`. A body whose pack has errors fails as a whole.
struct CompiledScenario {
  std::string scenario;
  Body body = Body::None;
  std::vector<Finding> findings;  // of the file, and, when it could be read, of its pack
  std::shared_ptr<const Plan> plan;
  std::shared_ptr<const WorkflowPlan> workflow;
  std::shared_ptr<const json::Document> document;  // of the file; null when it could not be read
  ScenarioPack source;                             // what the plan was compiled from
  bool is_readable = false;                        // else `findings` are of the file, and there is nothing to run
};
// What is said of a body whose pack or workflow has errors, in place of its entries.
Judged not_compiled(const CompiledScenario& compiled);
CompiledScenario compile_scenario(const SourceFile& file, std::string_view stem);

// `stem`: the file's name without its ending, which `scenario` must be; empty: not asked.
ScenarioReport judge_scenario(const SourceFile& file, std::string_view stem);

}  // namespace baton::contract
