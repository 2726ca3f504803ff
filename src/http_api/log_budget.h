// SPDX-License-Identifier: Apache-2.0
// How many lines about requests are logged in a second: the log is for people, and whoever sends nonsense fast must not fill the
// disk with it. What is left out is counted. May be used by any thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <utility>

#include "base/time.h"

namespace baton::http_api {

class LogBudget {
 public:
  static constexpr std::uint64_t kLinesMax = 100;

  // May a line be logged now? Otherwise it is counted.
  bool take(std::int64_t monotonic_ns) {
    const std::int64_t second = monotonic_ns / kNanosecondsPerSecond;
    const std::lock_guard lock(mutex_);
    if (second > second_) {
      second_ = second;
      lines_ = 0;
    }
    if (lines_ == kLinesMax) {
      ++left_out_;
      return false;
    }
    ++lines_;
    return true;
  }

  // How many were not, told once: when their second is over, or whenever `all` are asked for.
  std::uint64_t take_left_out(std::int64_t monotonic_ns, bool all = false) {
    const std::lock_guard lock(mutex_);
    if (!all && monotonic_ns / kNanosecondsPerSecond <= second_) return 0;
    return std::exchange(left_out_, 0);
  }

 private:
  std::mutex mutex_;
  std::int64_t second_ = INT64_MIN;
  std::uint64_t lines_ = 0, left_out_ = 0;
};

}  // namespace baton::http_api
