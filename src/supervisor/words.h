// SPDX-License-Identifier: Apache-2.0
// What `baton run` says: to the agent, what its work is and how it ends; to people, how it came out. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dialects/agent_contract/turn.h"
#include "handoff/handoff.h"
#include "json/value.h"
#include "supervisor/life.h"

namespace baton::supervisor {

// What the agent's last words must hold, by the pack of its session (docs/formats/contracts.md, `handoff`).
struct Owed {
  std::string dialect = "any";  // agent-contract, agent-exit, any, none
  std::string agent_id = {}, phase = {};

  bool in_output = true;  // its last words are searched for it; otherwise it comes by an explicit channel

  bool is_nothing() const { return dialect == "none"; }
  bool is_signal() const { return dialect == "agent-exit"; }
};
// How an agent hands in whose output is not searched: "on the standard input of ...".
inline constexpr std::string_view kExplicitChannel =
    "on the standard input of `baton handoff submit`, or by the tool baton_handoff; what you print does not count";
// A signal to be filled in; of any other dialect a block.
std::string handoff_form(const Owed& owed);

// The brief that goes with the INPUT envelope: what the agent is on, and how it hands over. An envelope that is too large for a command
// line is only named by its file.
std::string brief(const json::Value& envelope, std::string_view input_file, const Owed& owed);

// What an agent is told that goes on: after a person has acted (with words or without), or after a report. After a question the format
// lets only IN_PROGRESS follow, so that is asked for first.
std::string go_on_text(bool answered, std::string_view answer, const Owed& owed);

// The problems that a node's refusal lists (application/problem+json).
std::vector<agent_contract::Problem> problems_in(json::Node problem);
// For people and for the record, one line each.
std::string listed(const std::vector<agent_contract::Problem>& problems);
// The same for people who can do something about it: with what to do, as the first problem that knows it says.
std::string advised(const std::vector<agent_contract::Problem>& problems);

// What a person is handed of a handoff: by its dialect (agent-contract: relay; agent-exit: its notes). `body` without a fence.
std::string relay_of(Dialect dialect, std::string_view body);

// How one item came out.
struct Outcome {
  End end = End::CouldNot;
  std::string why;
  std::string work_id, session_id, agent_id;
  std::string title, phase, state;           // of the item, now; empty: it could not be asked for
  std::string dialect, handoff_id, outcome;  // of the handoff that was taken; empty: none was
  std::uint64_t sequence = 0;                // of its entry; 0: none
  std::string hash, relay;
  json::Value claims = {}, claims_counted = {};  // as its answer or entry has them; null: they were not looked at
  int repairs = 0;
};
std::string outcome_text(const Outcome& outcome);
json::Value outcome_json(const Outcome& outcome);

// "W-1  2:05  14 calls  working"
std::string status_line(std::string_view work_id, std::int64_t running_ns, std::uint64_t calls,
                        std::string_view standing, std::size_t columns);

// The last part of what an agent printed, as text: at most `bytes`, whole characters, without secrets.
std::string last_words(std::string_view output, std::size_t bytes);

}  // namespace baton::supervisor
