// SPDX-License-Identifier: Apache-2.0
// What is asked for: surfaces and tools.
#include "dialects/handoff_spec/steps.h"

namespace baton::handoff_spec {
namespace {

// Stripped tools are a warning, not an error: what is handed on is safe either way, and the record says why.
void check_tool(Run& run, json::Node node, const std::optional<std::set<std::string_view>>& surfaces) {
  const std::string_view tool = node.string();
  if (holds(run.profile.excluded, tool)) {
    run.add(Code::SPEC_TOOL_ALWAYS_EXCLUDED, node, {{"tool", tool}});
    return;
  }
  if (holds(run.profile.baseline, tool)) return;
  const AddableTool* addable = find_addable(run.profile, tool);
  if (addable == nullptr) {
    run.add(Code::SPEC_TOOL_UNKNOWN, node, {{"tool", tool}});
  } else if (surfaces && !addable->surface.empty() && !surfaces->contains(addable->surface)) {
    run.add(Code::SPEC_TOOL_SURFACE_MISSING, node, {{"tool", tool}, {"surface", addable->surface}});
  }
}

}  // namespace

std::optional<std::set<std::string_view>> check_surfaces(Run& run) {
  const json::Node list = run.take("surfaces", json::Kind::Array, Need::Required);
  if (!list) return std::nullopt;
  if (list.size() == 0) run.add(Code::SPEC_SURFACES_EMPTY, list);
  std::set<std::string_view> seen;
  for (const json::Node node : run.take_strings(list)) {
    const std::string_view surface = node.string();
    if (!seen.insert(surface).second) run.add(Code::SPEC_SURFACE_DUPLICATE, node, {{"surface", surface}});
    else if (!holds(run.profile.surfaces, surface)) run.add(Code::SPEC_SURFACE_UNKNOWN, node, {{"surface", surface}});
  }
  return seen;
}

void check_mcp_tools(Run& run, const std::optional<std::set<std::string_view>>& surfaces) {
  const json::Node list = run.take("mcp_tools", json::Kind::Array, Need::Optional);
  if (!list) return;
  if (list.size() > run.profile.tools_max) {
    run.add(Code::SPEC_TOOLS_TOO_MANY, list,
            {{"count", std::to_string(list.size())}, {"tools_max", std::to_string(run.profile.tools_max)}});
    return;
  }
  std::set<std::string_view> seen;
  for (const json::Node node : run.take_strings(list)) {
    if (seen.insert(node.string()).second) check_tool(run, node, surfaces);
    else run.add(Code::SPEC_TOOL_DUPLICATE, node, {{"tool", node.string()}});
  }
}

}  // namespace baton::handoff_spec
