// SPDX-License-Identifier: Apache-2.0
// A session as whoever drives it sees it, whatever is behind: the pure engine, a node in the same process, or one over HTTP. Questions and
// answers are the JSON of session/shown.h, so that one scenario runs through every door.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "json/value.h"
#include "session/decide.h"
#include "session/settle.h"

namespace baton::session {

class Door {
 public:
  virtual ~Door() = default;
  // An answer with `refused` (a code) says that nothing was done.
  // {calls[{call_id, tool, arguments | arguments_text}], request?, response?, estimate?}
  virtual json::Value propose(const json::Value& step) = 0;
  // {provider?, request?, estimate?}
  virtual json::Value preflight(const json::Value& asked) = 0;
  virtual json::Value rule(const std::string& call_id, Ruling ruling) = 0;
  virtual json::Value start(const std::string& call_id, const json::Value* arguments) = 0;
  // {result: ok|error|timeout|unknown, output?, ack?, error?{code, class, http_status, message}}
  virtual json::Value settle(const std::string& call_id, const json::Value& receipt) = 0;
  virtual json::Value add_label(const std::string& label) = 0;
  virtual json::Value report_cost(const json::Value& cost) = 0;
  virtual json::Value kill() = 0;
  virtual json::Value close() = 0;
  virtual json::Value view() = 0;
};

// The pure engine behind a door: state in memory, nothing recorded.
class EngineDoor : public Door {
 public:
  // Who wrote the arguments. An agent must not write facts (contract/facts.h): the door refuses its call when the arguments have the member
  // of facts (fact_in_arguments). OfHost: the host refuses that member itself and adds the facts that it derives; a scenario writes them
  // out. Either way the door refuses a call without facts where the contract reads some (facts_missing).
  enum class Arguments : std::uint8_t { OfAgent, OfHost };

  // `commons`: of its workflow; it outlives the door.
  EngineDoor(std::shared_ptr<const Rules> rules, State state, const Commons* commons = nullptr,
             Arguments arguments = Arguments::OfAgent)
      : rules_(std::move(rules)), state_(std::move(state)), commons_(commons), arguments_(arguments) {}

  json::Value propose(const json::Value& step) override;
  json::Value preflight(const json::Value& asked) override;
  json::Value rule(const std::string& call_id, Ruling ruling) override;
  json::Value start(const std::string& call_id, const json::Value* arguments) override;
  json::Value settle(const std::string& call_id, const json::Value& receipt) override;
  json::Value add_label(const std::string& label) override;
  json::Value report_cost(const json::Value& cost) override;
  json::Value kill() override;
  json::Value close() override;
  json::Value view() override;

  const State& state() const { return state_; }

 protected:
  std::shared_ptr<const Rules> rules_;
  State state_;

 private:
  std::optional<Code> problem_of_facts(json::Node arguments, std::optional<ToolId> tool) const;

  const Commons* commons_;
  Arguments arguments_;
};

// --- questions, read ------------------------------------------------------------------------------------------------------------------

// Reads an amount that was spent, or that a step is expected to cost: a number of 0 or more with at most limits::kNumberDigitsMax
// digits. One below 0 would make room in a limit; a longer one could not be added up. Returns what is wrong, in words that call the
// amount `name`; empty: `out` has it.
std::string read_cost(json::Node node, std::string_view name, std::optional<json::Decimal>& out);

// A proposal, and the documents its calls are views of.
struct ReadProposal {
  std::vector<json::Document> documents;  // reserved once: nodes point into them
  Proposal proposal;
  std::string problem;  // not empty: the question is none
};
ReadProposal read_proposal(json::Node step);

struct ReadPreflight {
  Preflight question;
  std::string problem;
};
ReadPreflight read_preflight(json::Node asked);

// A receipt, and the document its output may have been parsed into.
struct ReadReceipt {
  std::unique_ptr<json::Document> parsed;  // never moves: the receipt points into it
  Receipt receipt;
  std::string problem;
};
ReadReceipt read_receipt(json::Node receipt);

}  // namespace baton::session
