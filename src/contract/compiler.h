// SPDX-License-Identifier: Apache-2.0
// Inside the compiler: what its parts share. The order is that of compile(): read the files, give the names their numbers, then
// the session, the tools, and what the two say about each other.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "contract/compile.h"
#include "contract/findings.h"
#include "contract/plan.h"
#include "json/document.h"

namespace baton::contract {

// A file of the pack as a document; no document when it could not be read.
struct Parsed {
  std::string file;
  std::optional<json::Document> document;
  json::Node root() const { return document && document->root().is_object() ? document->root() : json::Node(); }
};

Parsed parse_file(Findings& findings, const SourceFile& file);
// The same for a file with rules. One with a number of more than limits::kNumberDigitsMax digits is not read: no argument can have
// it, and nothing can be compared with it. Scenarios and golden cases may hold such numbers, because calls may.
Parsed parse_rules(Findings& findings, const SourceFile& file);

// What tools.json says of one tool.
struct ToolSchema {
  json::Node schema;  // of its arguments; no node: it has none
  json::Node output;  // of its output, where the definition has one
  std::string description;
  json::Node annotations;  // MCP's hints: readOnlyHint, destructiveHint, ...
};
// Any of the forms of compile.h, in the order of the file. Reports what is none of them.
std::vector<std::pair<std::string, ToolSchema>> read_tool_definitions(Findings& findings, json::Node root);

struct Compiler {
  const PackSource& source;
  const CompileOptions& options;
  Findings findings = {};
  Plan plan = {};

  Parsed session = {}, tools = {};
  std::vector<Parsed> contracts = {};  // those whose tool has a name, by ToolId
  std::map<std::string, ToolId, std::less<>> tool_ids = {};
  std::map<std::string, PhaseId, std::less<>> phase_ids = {};
  std::map<std::string, SlotId, std::less<>> slot_ids = {};
  std::vector<ToolId> binders = {};  // by SlotId
  struct ForbidAt {                  // an entry of forbids_after with `per`
    ToolId tool;
    std::size_t index;  // in Tool::forbids_per
    json::Node entry;
  };
  std::vector<ForbidAt> forbids_at = {};
  std::map<std::string, ToolSchema, std::less<>> schemas = {};
  bool has_phases = false;  // session.yaml declares some
  // What could not be read has been reported; what would only follow from that is not.
  std::set<std::string, std::less<>> unread = {};  // tools whose contract has no name, by the stems of the files
  bool phases_unread = false;

  void read_files();
  void name_tools();
  void name_slots();
  void read_session();  // phases first: tools refer to them
  void read_tool(ToolId id);
  void read_rules_over_tools();  // what of the session refers to tools and slots
  void derive_invariants(ToolId id);
  void fix_types();        // of what `per` names: PER_TYPE_OPEN
  void check_evidence();   // OUTPUT_NOT_EVIDENCE
  void check_beginning();  // PRINCIPAL_REQUIRED, EXECUTION_CONSTRAINT_UNWRAPPED, variables
  void check_servers();    // TOOL_OF_SEVERAL_SERVERS
  void list_checks();

  // The tool of this name; a finding with `code` when there is none.
  std::optional<ToolId> need_tool(json::Node at, Code code);
  std::optional<PhaseId> need_phase(json::Node at);
  std::optional<SlotId> need_slot(json::Node at);
  Checkpoint checkpoint_at(json::Node entry);
  // FACT_PATH_MOVED, when `path` is an old path into the arguments of `tool`.
  void warn_of_moved(std::string_view tool, json::Node path);
};

}  // namespace baton::contract
