// SPDX-License-Identifier: Apache-2.0
// The `agent_contract_handoff` block an agent emits at the end of its turn: found, parsed, checked.
//
// A contract is valid when nothing is missing and nothing invalid; warnings are advice. All faults are collected in the
// order of the format's table. On the wire a fault is a name, perhaps with `:<x>` (`PLAN_STATUS:DONE`), in one of three
// lists; as a diagnostic it is HANDOFF_ and the name, its place, and what to do.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnostics/diagnostic.h"
#include "handoff/handoff.h"

namespace baton::agent_contract {

struct Options {
  json::Node input_envelope;          // what the agent was given; no node: nothing
  std::vector<std::string> writable;  // sections it may write, beside those of the envelope
};

struct Checked {
  std::vector<Diagnostic> diagnostics;
  std::vector<std::string> missing, invalid, warnings;  // the wire names
  std::optional<json::Document> document;               // the block, when it is JSON

  bool valid() const { return missing.empty() && invalid.empty(); }
};

// Checks the last block of a message.
Checked check(std::string_view message, const Options& options = {});

// The wire name of a diagnostic of this dialect: `PLAN_STATUS:DONE`.
std::string wire_name(const Diagnostic& diagnostic);

// Does the envelope ask for a consolidation report?
bool consolidation_required(json::Node input_envelope);

// --- one agent's way through the statuses ---------------------------------------------------------------------------

enum class Status { InProgress, ApprovalRequest, Complete, Blocked, NeedsInput };
std::string_view status_name(Status status);
std::optional<Status> find_status(std::string_view name);  // exact case

// The machine of one agent. A refused status does not move it.
class StatusMachine {
 public:
  StatusMachine() = default;
  // Goes on where it was: the last status that was taken (nothing: none was), and how many IN_PROGRESS in a row it ends.
  StatusMachine(std::optional<Status> current, int in_progress_in_a_row)
      : current_(current), in_progress_in_a_row_(in_progress_in_a_row) {}

  std::optional<Status> current() const { return current_; }
  int in_progress_in_a_row() const { return in_progress_in_a_row_; }

  // What is wrong with going to `status` now (errors refuse it), or only worth a warning.
  std::vector<Diagnostic> advance(std::string_view status);

 private:
  std::optional<Status> current_;
  int in_progress_in_a_row_ = 0;
};

// --- update_contracts -----------------------------------------------------------------------------------------------

struct Merged {
  json::Value result;
  std::vector<Diagnostic> warnings;
};

// Merges a payload into a section: new keys are added, objects merge recursively, lists are united (current first, equal
// items once), scalars replaced; what the payload does not mention stays. A changed type and live state are warned of.
Merged merge(const json::Value& current, const json::Value& payload);

// --- as a dialect ---------------------------------------------------------------------------------------------------

bool recognise(json::Node root);
std::span<const Row> rows();
Handoff to_handoff(json::Node root, std::string_view raw);
json::Value from_handoff(const Handoff& handoff);
// The document as it goes into a message: a fence longer than any run of backticks in it.
std::string write_block(const json::Value& contract);
// Any body in such a fence.
std::string in_fence(std::string_view body);

}  // namespace baton::agent_contract
