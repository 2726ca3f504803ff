// SPDX-License-Identifier: Apache-2.0
// Inside the engine: which values would pass at one place of a call's arguments now, by everything that concerns it together: what
// was written, what the schema says, slots, aggregates with what is left of them, envelopes.
//
// What comes out is data that says when a value passes, and no more: a text of an argument or of a slot is never in it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "session/tests.h"
#include "session/totals.h"

namespace baton::session {

// One thing that must be so of a value: an operator of contracts, or
//   scalar          a string, a number or a boolean
//   equals_slot     what the slot has            (its text is not said; a number is: then it is `equals`)
//   counted_by      a value that the aggregate has counted already
//   not_counted_by  one that it has not
//   same_as         what the refused call has at this place
struct Must {
  std::string op;
  json::Value value;
};

// What a value must be to pass: all of `must`.
struct Change {
  enum class In : std::uint8_t { Arguments, Output, Request, Response };
  In in = In::Arguments;
  std::string place;  // JSON Pointer
  std::vector<Must> must = {};
  bool may_be_left_out = false;             // beside that: nothing at all passes too
  bool impossible = false;                  // nothing passes
  std::optional<json::Value> nearest = {};  // of those that pass, the one nearest to the number that was given
};

class Fit {
 public:
  Fit(const contract::PathAt& at, const Environment& environment) : at_(&at), environment_(environment) {}

  void test(const std::vector<contract::Test>& tests, bool may_be_absent);
  // A number, between these where they are there.
  void be_between(const std::optional<json::Decimal>& least, const std::optional<json::Decimal>& most,
                  bool may_be_absent);
  void be_there();
  void be_scalar();
  void be_entity(std::string_view type);  // a scalar of this type of a JSON Schema
  void be_left_out();
  void be_nothing(bool may_be_absent);  // no value passes
  void equal(const Fact& value, const std::string& slot);
  void be_counted(std::shared_ptr<const Tally> tally, const std::string& aggregate, bool before, bool may_be_absent);

  const json::Path& path() const { return at_->path; }
  // Does this value pass? No node: nothing is there.
  bool admits(json::Node value) const;
  // The only values that can pass, where they can be listed.
  std::optional<std::vector<json::Value>> listed() const;
  // Can it be one that nothing is known of?
  bool admits_new() const;
  bool is_impossible() const { return change({}).impossible; }
  Change change(json::Node current) const;

 private:
  bool admits_present(json::Node value) const;

  const contract::PathAt* at_;
  Environment environment_;
  unsigned kinds_ = 0x7f;  // a bit for each json::Kind, and one for absence
  bool integer_ = false, scalar_ = false;
  std::vector<const contract::Test*> tests_ = {};
  std::optional<json::Decimal> least_ = {}, most_ = {}, length_least_ = {}, length_most_ = {};
  struct Equal {
    Fact value;
    std::string slot;
  };
  std::vector<Equal> equals_ = {};
  struct Counted {
    std::shared_ptr<const Tally> tally;
    std::string aggregate;
    bool before;
  };
  std::vector<Counted> counted_ = {};
};

// By place. `with_references` false: without slots and envelopes, which other calls may fill.
using Fits = std::map<std::string, Fit>;
Fits fits_of(const Rules& rules, const State& state, ToolId tool, bool with_references, const Hiding* hiding);
// Of assertions about what the model was asked, or what it said.
Fits boundary_fits(const Rules& rules, const State& state, const std::vector<contract::Invariant>& assertions,
                   const Hiding* hiding);

}  // namespace baton::session
