// SPDX-License-Identifier: Apache-2.0
// How what a workflow's sessions share changes when one of them does: who owns a key, who executes on it, who waits, what is spent. Nothing
// is decided here. It is read off from the session before and after, so that whatever happens to a session is followed in one way.
#pragma once

#include <string>
#include <vector>

#include "session/commons.h"
#include "session/state.h"

namespace baton::workflow {

// What of a session's state has to do with others.
struct Footprint {
  struct Touch {  // a call that is not over, and the shared keys it names
    std::string call;
    session::CallState state = session::CallState::Pending;
    bool mutating = false;
    bool counts_as_done = false;  // it was committed when it was allowed
    std::vector<session::SharedKey> keys;
  };
  std::int64_t steps = 0;
  json::Decimal cost, reserved;
  bool open = true;  // the session
  std::vector<Touch> calls;
};
Footprint footprint_of(const session::Rules& rules, const session::State& state);

// What cannot be read off: of the one call it was about.
struct Turn {
  std::string waits;      // this call was told to wait for its turn
  std::string committed;  // this call is over because it was done
  std::string failed;     // this one, because it was not; whatever else is gone was cancelled
};

// The holds of a workflow, wherever they are kept.
class Holds {
 public:
  virtual ~Holds() = default;
  virtual session::Hold get(const session::SharedKey& key) = 0;
  virtual void put(const session::SharedKey& key, const session::Hold& hold) = 0;  // is_free(): it may be forgotten
  virtual std::vector<session::SharedKey> owned_by(const std::string& session) = 0;
};

void follow(const contract::WorkflowPlan& plan, Holds& holds, const std::string& session, const Footprint& before,
            const Footprint& after, const Turn& turn);
// A child has claimed: what its parent owns of these resources is the child's. A key that a mutating call of the parent is not over on
// stays the parent's.
void hand_over(Holds& holds, const std::string& parent, const std::string& child,
               const std::vector<std::uint32_t>& resources);
void add(session::Spent& spent, const Footprint& before, const Footprint& after);

}  // namespace baton::workflow
