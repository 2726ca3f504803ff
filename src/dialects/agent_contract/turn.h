// SPDX-License-Identifier: Apache-2.0
// One turn of an agent under this format: what it is given at the beginning (the INPUT envelope), what it is told when its contract is
// refused, and what a person is handed at the end.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "json/document.h"
#include "json/value.h"

namespace baton::agent_contract {

inline constexpr std::string_view kContractVersion = "1";

// --- INPUT -------------------------------------------------------------------------------------------------------------------------------

struct InputFacts {
  std::string session_id, agent_id, role, provider;
  json::Node work;                              // the item, as a node shows it
  json::Node context;                           // the sections that the role may read, by name; no node: none
  json::Node sources;                           // where they come from, by name: author, labels, what is suspicious
  std::vector<std::string> readable, writable;  // sections; `*`: all
  std::vector<std::string> surfaces;            // that the work touches, where somebody has said so
  bool consolidation_required = false, cross_check_required = false;
};

// What others wrote is data: `data_notice` says so, `project_knowledge_sources` who wrote each section, with which labels, and what in it
// looks like an instruction; `agent_contract_handoff.suspicious` the same of the item's texts.
//
// project_knowledge, surface_routing (more than one surface is `multi_surface`), agent_contract_handoff, write_permissions, metadata.
//
// The goal is the item's title, the scope its text; the acceptance criteria are the points listed in the text below a line that says
// "Acceptance criteria". A question that was answered stands with its answer.
json::Value input_envelope(const InputFacts& facts);

// The points of a list below a heading "Acceptance criteria" (with any number of `#` before it or a colon behind it), up to the next
// line that is neither a point nor blank.
std::vector<std::string> acceptance_criteria(std::string_view text);

// --- repair ------------------------------------------------------------------------------------------------------------------------------

// One thing that is wrong with what was handed in.
struct Problem {
  std::string code, message, help, place;  // each but the message may be empty
};

struct Refusal {
  std::vector<Problem> problems;  // none: there was no handoff at all
  std::string agent_id;
  int repair = 1, repairs_max = 2;
  std::string form = {};  // what is asked for, to be filled in; empty: a block, as skeleton() has it
  std::string at_last = "the work item is BLOCKED";  // what happens after the last one
  // How it is handed in; empty: as the last thing in the agent's message.
  std::string channel = {};
};

// What the agent is asked: every problem, and a skeleton of what is missing. Ends with what it is to fill in.
std::string repair_text(const Refusal& refusal);

// A contract block with everything the format requires, to be filled in.
std::string skeleton(std::string_view agent_id);

// --- relay -------------------------------------------------------------------------------------------------------------------------------

// What is handed to a person: of a COMPLETE contract its `user_facing_summary`, as it is, where that says anything; otherwise its
// `key_outputs`, one a line. Empty: it has neither.
std::string relay_text(json::Node contract);

}  // namespace baton::agent_contract
