// SPDX-License-Identifier: Apache-2.0
// Calls made up and run through the engine itself: arguments and outputs that a pack's own rules accept, and a session that takes them
// one after the other. What a proof found by leaving values out is believed only when it goes through here.
//
// Values that must agree (the entity of a precondition, a slot and the arguments that refer to it, the stages of an envelope) are made up
// once and used in all their places. Making up is a search over few candidates: that none is found says nothing about the pack.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "json/value.h"
#include "session/decide.h"
#include "session/settle.h"

namespace baton::session {

class MadeUp {
 public:
  explicit MadeUp(std::shared_ptr<const Rules> rules);

  // `turn` tells calls apart that would be equal: from 1 on it is among the arguments.
  json::Value arguments(ToolId tool, std::int64_t turn = 0) const;
  json::Value output(ToolId tool) const;
  json::Value request() const { return request_; }
  json::Value response() const { return response_; }
  // What every variable that the pack names is set to.
  std::vector<Fact> environment() const;
  // Is the value at this place of the arguments one that other calls must agree with?
  bool is_shared(ToolId tool, const contract::PathAt& at) const;

 private:
  struct Place {
    ToolId tool;
    contract::Source source;
    contract::PathAt at;
    bool must_be_there = false;
    std::vector<const contract::Invariant*> rules = {};
  };
  std::uint32_t place(ToolId tool, contract::Source source, const contract::PathAt& at);
  std::uint32_t root(std::uint32_t place) const;
  void join(std::uint32_t left, std::uint32_t right);
  void collect();
  void collect(ToolId id);
  void choose();
  json::Value built(ToolId tool, contract::Source source) const;
  json::Value boundary(bool of_request) const;
  std::optional<json::Value> fitting(const std::vector<const contract::Invariant*>& rules, bool must_be_there,
                                     const std::vector<json::Value>& known) const;

  std::shared_ptr<const Rules> rules_;
  std::vector<std::string> environment_names_;
  std::vector<Fact> environment_;
  std::vector<Place> places_;
  std::vector<std::uint32_t> parents_;
  std::map<std::uint32_t, std::optional<json::Value>> values_;  // by root; nothing: left out
  json::Value request_, response_;
};

// A session that calls are tried in. Nothing is decided here: every answer is the engine's.
class Rehearsal {
 public:
  Rehearsal(std::shared_ptr<const Rules> rules, std::shared_ptr<const MadeUp> made_up, State state)
      : rules_(std::move(rules)), made_up_(std::move(made_up)), state_(std::move(state)) {}

  struct Refused {
    std::optional<Code> code;  // nothing: it could not even be asked
    std::string detail;
  };
  // Proposes a call, and a person approves it where one is asked; its number. Text comes before it where the tool needs steps.
  std::optional<std::uint32_t> propose(ToolId tool, Refused& refused);
  bool start(std::uint32_t call, Refused& refused);
  bool settle(std::uint32_t call, Refused& refused);
  void lose(std::uint32_t call);            // nobody knows what became of it
  void leave_unproven(std::uint32_t call);  // an ok answer without evidence: it fails
  void fail(std::uint32_t call);

  // The first call of the tool that was proposed and has not begun, or that has begun and is not over.
  std::optional<std::uint32_t> waiting(ToolId tool) const;
  std::optional<std::uint32_t> begun(ToolId tool) const;

  struct Call {
    ToolId tool;
    json::Value arguments, output;
    bool approved = false;
    enum class At : std::uint8_t { Proposed, Begun, Committed, Lost, Failed } at = At::Proposed;
  };
  const std::vector<Call>& calls() const { return calls_; }
  const State& state() const { return state_; }

 private:
  void end(std::uint32_t call, Receipt::Kind kind, Call::At at);

  std::shared_ptr<const Rules> rules_;
  std::shared_ptr<const MadeUp> made_up_;
  State state_;
  std::vector<Call> calls_;
};

}  // namespace baton::session
