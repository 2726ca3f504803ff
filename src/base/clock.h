// SPDX-License-Identifier: Apache-2.0
// The clock is passed in: rules take a Time, shells take a Clock, and only main/ makes a real one.
#pragma once

#include "base/time.h"

namespace baton {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual Time now() = 0;
  // Nanoseconds from some fixed moment, at the pace of real time whatever is done to the wall clock: what tells a jump of
  // it from time that passed.
  virtual std::int64_t monotonic_ns() = 0;
};

// The machine's wall clock, UTC.
class SystemClock final : public Clock {
 public:
  Time now() override;
  std::int64_t monotonic_ns() override;
};

// A clock turned by hand, for tests, vectors and `--now`.
class FixedClock final : public Clock {
 public:
  explicit FixedClock(Time time) : time_(time) {}
  Time now() override { return time_; }
  std::int64_t monotonic_ns() override { return monotonic_ns_; }
  void set(Time time) { time_ = time; }  // the wall clock is set, no time passes
  void advance(std::int64_t nanoseconds) {
    time_.nanoseconds += nanoseconds;
    monotonic_ns_ += nanoseconds;
  }

 private:
  Time time_;
  std::int64_t monotonic_ns_ = 0;
};

}  // namespace baton
