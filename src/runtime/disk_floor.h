// SPDX-License-Identifier: Apache-2.0
// Is there enough free space where the store lies? Asked of the file system at most once a second, whoever wants to know.
// Any thread may call.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>

#include "base/clock.h"

namespace baton::runtime {

class DiskFloor {
 public:
  using FreeBytes =
      std::function<std::optional<std::uint64_t>()>;  // nothing: it cannot be found out, which counts as enough
  DiskFloor(std::uint64_t floor, FreeBytes free_bytes, Clock& clock);

  std::uint64_t floor() const { return floor_; }
  // As of the last look; looks again when that is a second ago.
  std::optional<std::uint64_t> free();
  bool is_low();

 private:
  static constexpr std::uint64_t kUnknown = UINT64_MAX;

  const std::uint64_t floor_;
  const FreeBytes free_bytes_;
  Clock& clock_;
  std::atomic<std::int64_t> look_again_at_;  // monotonic
  std::atomic<std::uint64_t> free_;
};

}  // namespace baton::runtime
