// SPDX-License-Identifier: Apache-2.0
#include "runtime/disk_floor.h"

#include <utility>

#include "base/limits.h"

namespace baton::runtime {

DiskFloor::DiskFloor(std::uint64_t floor, FreeBytes free_bytes, Clock& clock)
    : floor_(floor),
      free_bytes_(std::move(free_bytes)),
      clock_(clock),
      look_again_at_(clock.monotonic_ns() + limits::kDiskLookNanoseconds),
      free_(free_bytes_().value_or(kUnknown)) {}

std::optional<std::uint64_t> DiskFloor::free() {
  const std::int64_t now = clock_.monotonic_ns();
  std::int64_t due = look_again_at_.load(std::memory_order_relaxed);
  // One of those who come when it is due looks; the others go by what was found before.
  if (now >= due && look_again_at_.compare_exchange_strong(due, now + limits::kDiskLookNanoseconds))
    free_.store(free_bytes_().value_or(kUnknown), std::memory_order_relaxed);
  const std::uint64_t free = free_.load(std::memory_order_relaxed);
  return free == kUnknown ? std::nullopt : std::optional(free);
}

bool DiskFloor::is_low() {
  const auto free = this->free();
  return free && *free < floor_;
}

}  // namespace baton::runtime
