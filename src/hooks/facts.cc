// SPDX-License-Identifier: Apache-2.0
#include "hooks/facts.h"

#include <algorithm>
#include <array>

#include "hooks/names.h"

namespace baton::hooks {
namespace {

constexpr std::array<std::string_view, 17> kOfCommands = {
    "command_count", "commands",          "cwd",           "lines",       "may",
    "opaque",        "opaque_because",    "paths",         "paths_known", "program",
    "program_count", "programs",          "substitutions", "uses",        "writes",
    "writes_known",  "writes_outside_cwd"};
constexpr std::array<std::string_view, 4> kOfFiles = {"cwd", "opaque", "paths", "writes"};

}  // namespace

FactsOf facts_of(std::string_view tool) {
  if (tool == "Bash") return FactsOf::Command;
  for (const Client client : kClients) {
    const Shape shape = shape_of(client, tool).shape;
    if (shape == Shape::Files || shape == Shape::Patch) return FactsOf::Files;
  }
  return FactsOf::None;
}

bool is_fact_name(FactsOf of, std::string_view name) {
  const auto is_in = [&](const auto& names) { return std::ranges::find(names, name) != names.end(); };
  return of == FactsOf::Command ? is_in(kOfCommands) : of == FactsOf::Files && is_in(kOfFiles);
}

}  // namespace baton::hooks
