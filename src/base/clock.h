// SPDX-License-Identifier: Apache-2.0
// The clock is passed in: rules take a Time, shells take a Clock, and only main/ makes a real one.
#pragma once

#include "base/time.h"

namespace baton {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual Time now() = 0;
};

// The machine's wall clock, UTC.
class SystemClock final : public Clock {
 public:
  Time now() override;
};

// A clock turned by hand, for tests, vectors and `--now`.
class FixedClock final : public Clock {
 public:
  explicit FixedClock(Time time) : time_(time) {}
  Time now() override { return time_; }
  void set(Time time) { time_ = time; }

 private:
  Time time_;
};

}  // namespace baton
