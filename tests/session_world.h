// SPDX-License-Identifier: Apache-2.0
// What the tests of sessions share: a session of a small pack on the pure engine, and its state written and read again.
#pragma once

#include <functional>

#include "contract_world.h"
#include "json/parse.h"
#include "session/decide.h"
#include "session/settle.h"

namespace baton::session {

// "code code ..." of a verdict's failures, in order; empty: there is none.
inline std::string codes_of(const CallVerdict& verdict) {
  std::string out;
  for (const Refusal& one : verdict.failures) out.append(out.empty() ? "" : " ").append(info(one.code()).name);
  return out;
}

// The state as its text says it: byte for byte the same when it is written again.
inline State reread(const Rules& rules, const State& state) {
  const std::string text = json::write(to_json(state));
  const auto document = json::parse(text);
  EXPECT_TRUE(document) << text;
  std::optional<State> again;
  if (document) again = read_state(rules, document->root());
  EXPECT_TRUE(again) << text;
  if (!again) return state;
  EXPECT_EQ(json::write(to_json(*again)), text);
  return std::move(*again);
}

class Session {
 public:
  Session(std::vector<contract::SourceFile> contracts, const std::string& session, const Opening& opening = {},
          const std::function<void(std::string&)>& edit = {}) {
    contract::PackSource source;
    source.contracts = std::move(contracts);
    if (edit)
      for (contract::SourceFile& file : source.contracts) edit(file.text);
    source.session = contract::session_file(session);
    rules = make_rules(contract::plan_of(source));
    state = open(*rules, opening);
  }

  StepVerdict decide_with(std::string_view tool, std::string_view arguments,
                          const std::function<void(Proposal&)>& change = {}) const {
    const auto document = json::parse(arguments);
    EXPECT_TRUE(document) << arguments;
    Proposal proposal;
    proposal.calls.push_back({"?", tool, Values::of_call(document->root()), {}});
    if (change) change(proposal);
    return decide(*rules, state, proposal);
  }

  // Calls are "1", "2", ... in the order they are proposed.
  StepVerdict propose(std::string_view tool, std::string_view arguments) {
    const auto document = json::parse(arguments);
    EXPECT_TRUE(document) << arguments;
    Proposal proposal;
    proposal.calls.push_back({std::to_string(++proposed_), tool, Values::of_call(document->root()), {}});
    StepVerdict verdict = decide(*rules, state, proposal);
    take_step(*rules, state, step_of(proposal, verdict));
    return verdict;
  }

  std::shared_ptr<const Rules> rules;
  State state;

 private:
  std::size_t proposed_ = 0;
};

}  // namespace baton::session
