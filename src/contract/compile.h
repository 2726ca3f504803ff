// SPDX-License-Identifier: Apache-2.0
// From the files of a pack to its plan. Pure: whoever reads the files gives their texts.
//
// Every file is parsed, checked against its shape (contract/shapes.h) and against the rest of the pack; all independent faults
// are collected, each with its file, line, column and the offending text. There is a plan when there is no error.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "contract/findings.h"
#include "contract/plan.h"

namespace baton::contract {

struct SourceFile {
  std::string name;  // as findings name it: "issue_refund.yaml"
  std::string text;
  bool is_json = false;  // else YAML
};

struct PackSource {
  std::vector<SourceFile> contracts;  // {tool}.yaml
  std::optional<SourceFile> session;  // absent: all defaults
  std::optional<SourceFile> tools;  // tools.json: an MCP tools/list result, or OpenAI's or Anthropic's tool definitions
  std::optional<SourceFile> tools_lock;       // tools.lock.json (contract/tools_lock.h)
  std::map<std::string, std::string> golden;  // texts of the files under golden/, by "golden/NAME"
};

struct CompileOptions {
  // Given: a variable that is not in it is not set, which is a warning. Absent: nobody has looked yet.
  std::optional<std::map<std::string, std::string>> environment = {};
  // A session is about to begin without a principal.
  bool without_principal = false;
  // Tools whose executor Baton does not stand in front of: their execution constraints could not be enforced.
  std::set<std::string> unwrapped = {};
  bool strict = false;  // warnings are errors
};

struct Compiled {
  std::shared_ptr<const Plan> plan;  // null when there is an error
  std::vector<Finding> findings;     // in the order of the files' names and of the text
};

Compiled compile(const PackSource& source, const CompileOptions& options = {});

// --- workflows ----------------------------------------------------------------------------------------------------------------

struct WorkflowSource {
  SourceFile workflow;
  std::map<std::string, PackSource> packs;  // by role; a role whose session_contract could not be read has none
};

struct CompiledWorkflow {
  std::shared_ptr<const WorkflowPlan> plan;
  std::vector<Finding> findings;
};

CompiledWorkflow compile_workflow(const WorkflowSource& source, const CompileOptions& options = {});

// Which session_contract each role of a workflow names, for whoever reads the files; nothing where it cannot be told.
std::map<std::string, std::string> session_contracts(const SourceFile& workflow);

}  // namespace baton::contract
