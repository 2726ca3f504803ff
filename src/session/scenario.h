// SPDX-License-Identifier: Apache-2.0
// Runs the body `run` of a scenario file (docs/formats/scenarios.md) through a door: what happens, and what must be decided.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "contract/scenario.h"
#include "session/door.h"

namespace baton::session {

// What a session of a scenario is opened with.
struct ScenarioSession {
  std::shared_ptr<const contract::Plan> plan;
  const contract::PackSource* pack;  // what the plan was compiled from
  json::Node principal;              // no node: there is none
  std::map<std::string, std::string> environment;
  std::vector<std::string> labels;
  Mode mode = Mode::Enforce;
  Gate gate = Gate::RejectAll;
};
using MakeDoor = std::function<std::unique_ptr<Door>(const ScenarioSession&)>;

// The pure engine.
std::unique_ptr<Door> engine_door(const ScenarioSession& opened);

// A body whose pack has errors fails as a whole: its findings are in the report, and its entries say so.
contract::ScenarioReport judge_run(const contract::SourceFile& file, std::string_view stem,
                                   const MakeDoor& make = engine_door);

}  // namespace baton::session
