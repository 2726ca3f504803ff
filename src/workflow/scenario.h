// SPDX-License-Identifier: Apache-2.0
// Runs the body `events` of a scenario file (docs/formats/scenarios.md) through a door: a workflow with its sessions, and what must be
// decided.
#pragma once

#include "contract/scenario.h"
#include "workflow/door.h"

namespace baton::workflow {

// A body whose workflow or packs have errors fails as a whole.
contract::ScenarioReport judge_events(const contract::SourceFile& file, std::string_view stem,
                                      const MakeDoor& make = engine_door);

}  // namespace baton::workflow
