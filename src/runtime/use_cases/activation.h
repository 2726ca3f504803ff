// SPDX-License-Identifier: Apache-2.0
// Inside the use cases: how packs and workflows become usable. Both are texts that are recorded in parts under their hash, and a name
// that says which of them holds from now on.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "contract/compile.h"
#include "runtime/use_cases/inside.h"

namespace baton::runtime {

struct Activation {
  std::string hash, agent, role;
  std::vector<std::string> pieces;
  std::string folder = {};   // where the files lie; empty: not told
  bool holds_texts = false;  // what MCP servers say of themselves is held to the pack
};
Result<void> activate(Act& act, const Activation& asked);
// Is it empty, or an absolute path that something can be below of?
bool is_folder_told(std::string_view folder);
inline constexpr std::string_view kFolderProblem = "`folder` is not an absolute path";
// The folder, where one is told, is protected from when the activation is recorded.
Answered protect_when_done(Engine& engine, std::string folder, Answered done);
std::size_t bytes_of(const Activation& asked);

// Under which name a workflow is kept among the roles, none of which has a slash.
std::string workflow_role(std::string_view name);

std::optional<std::string> file_with_secret(const contract::PackSource& pack);
// In words; empty: there is none.
std::string first_error(const std::vector<contract::Finding>& findings);

}  // namespace baton::runtime
