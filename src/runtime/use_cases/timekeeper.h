// SPDX-License-Identifier: Apache-2.0
// The time that leases, offers and people's deadlines are judged by: the store's clock, without its jumps. A clock that is
// set is not time that passed, so nothing ends by it and nothing lasts longer by it.
//
// Set back, the time goes on from where it was (`now` is never earlier than before, nor than the newest entry). Set ahead,
// it goes along, and what was due at a time is due later by the jump: skipped_since() says by how much for an item that has
// not changed since, and work::postpone records it. What tells a jump from time that passed is the process's steady clock;
// of jumps before the process began the ledger tells (ledger.clock_jumped).
//
// May be used by several threads.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "store/store.h"

namespace baton::runtime {

class Timekeeper {
 public:
  explicit Timekeeper(Clock& clock) : clock_(clock) {}

  // Reads how late it is by the ledger, and which jumps it knows.
  Result<void> begin(store::Reader& reader);

  // The time that stands for `wall`, which the store's clock says now.
  Time judge(Time wall);

  // How much of the time since then was a clock set ahead: nanoseconds.
  std::int64_t skipped_since(Time time);

 private:
  // The clock said `from` and then, with no time between, something later by so much.
  struct Jump {
    std::int64_t from, by;
  };
  void jumped(std::int64_t expected, std::int64_t by);
  void remember(Jump jump);

  Clock& clock_;
  std::mutex mutex_;
  std::int64_t earliest_ = INT64_MIN;  // no time is judged to be before it
  std::int64_t began_steady_ = 0;      // when that was read
  std::int64_t ahead_ = 0;             // how far the clock was set back, and not ahead again
  struct Seen {
    std::int64_t wall, steady;
    std::int64_t offset;  // what the wall clock is beyond the steady one
  };
  std::optional<Seen> seen_;
  std::vector<Jump> jumps_;  // in their order
};

}  // namespace baton::runtime
