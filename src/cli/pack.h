// SPDX-License-Identifier: Apache-2.0
// A contract pack on disk: a folder of {tool}.yaml, session.yaml, perhaps workflow.yaml, tools.json, tools.lock.json and golden/.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/world.h"
#include "contract/compile.h"
#include "contract/graph.h"

namespace baton::cli {

// What a folder holds. Files are named by their paths from there as they were given, so that an editor can open them.
struct PackFolder {
  std::string folder;
  contract::PackSource pack;
  bool has_pack = false;                             // there is a contract or a session.yaml
  std::optional<contract::WorkflowSource> workflow;  // when there is a workflow.yaml: with the packs of its roles
};

// A folder, or the session.yaml or workflow.yaml in one. Fails when there is nothing of a pack in it.
Result<PackFolder> read_pack(World& world, const std::string& path);

// A pack, compiled and looked at as a whole.
struct CheckedPack {
  std::string name;  // of the role; empty: the folder itself
  std::shared_ptr<const contract::Plan> plan;
};
struct Checked {
  std::vector<contract::Finding> findings;  // compiler and graph
  std::vector<contract::Finding> suppressed;
  std::vector<CheckedPack> packs;
  std::shared_ptr<const contract::WorkflowPlan> workflow;
};
Checked check_pack(const PackFolder& folder, const contract::CompileOptions& options);

// The one plan of a folder, for commands that need one: `role` when it is a workflow. Says why there is none, findings and all.
std::shared_ptr<const contract::Plan> need_plan(World& world, const std::string& path, const std::string& role);

// The text of a file of the pack, for showing the line of a finding; empty when it is none.
std::string_view text_of(const PackFolder& folder, std::string_view file);

}  // namespace baton::cli
