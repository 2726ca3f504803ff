// SPDX-License-Identifier: Apache-2.0
// What a session shares with the other sessions of its workflow, as its own decisions see it: the budgets of all together, and who holds
// which value of a shared resource. A session without a workflow has none of it. How it changes is workflow/follow.h.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "contract/plan.h"
#include "json/decimal.h"
#include "session/facts.h"

namespace baton::session {

// One thing that is shared: a resource (by its place in WorkflowPlan::shared) and the value a call names it by.
struct SharedKey {
  std::uint32_t resource = 0;
  Fact value;
  auto operator<=>(const SharedKey&) const = default;
};

struct SharedCall {  // a call of a session of the workflow
  std::string session, call;
  bool operator==(const SharedCall&) const = default;
};

// Who has to do with a key now. Which members are used depends on the resource's mode.
struct Hold {
  std::vector<SharedCall> open;  // exclusive_pending: calls on it that are awaiting, pending, executing or unknown

  struct Owner {  // single_writer
    std::string session;
    std::vector<std::string> calls;  // its mutating calls that are not over
    std::uint32_t failed = 0;        // how many of them have
    bool for_good = false;           // one of them was done
    bool operator==(const Owner&) const = default;
  };
  std::optional<Owner> owner;
  std::vector<SharedCall> writing;  // single_writer: its owner's mutating calls that are executing or unknown

  std::optional<SharedCall> token;  // serial_only: the call that executes
  std::vector<SharedCall>
      waiting;  // serial_only: calls that were told to wait, in their order; the first may be its turn

  // Of a call that would execute: nobody does, and nobody was told to wait before it.
  bool is_turn_of(const SharedCall& call) const {
    return (!token || *token == call) && (waiting.empty() || waiting.front() == call);
  }
  bool is_free() const { return open.empty() && !owner && writing.empty() && !token && waiting.empty(); }
  bool operator==(const Hold&) const = default;
};

// Of all sessions of the workflow together, those that are over too.
struct Spent {
  std::int64_t steps = 0;
  json::Decimal cost;
  json::Decimal reserved;  // what steps under way are expected to cost
};

class Commons {
 public:
  virtual ~Commons() = default;
  virtual const contract::WorkflowPlan& plan() const = 0;
  virtual const std::string& session() const = 0;  // whose decisions these are
  virtual Spent spent() const = 0;
  virtual Hold hold(const SharedKey& key) const = 0;  // nobody has to do with it: an empty one
};

}  // namespace baton::session
