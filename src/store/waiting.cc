// SPDX-License-Identifier: Apache-2.0
#include "store/waiting.h"

#include <algorithm>

#include "diagnostics/diagnostic.h"

namespace baton::store {

void Turn::take() {
  std::unique_lock lock(mutex_);
  given_.wait(lock, [&] { return !taken_; });
  taken_ = true;
}

void Turn::give() {
  // Told while the lock is held: whoever is woken may end the store, and this object with it.
  const std::lock_guard lock(mutex_);
  taken_ = false;
  given_.notify_one();
}

void Growth::set(std::uint64_t size) {
  const std::lock_guard lock(mutex_);
  size_ = size;
  grown_.notify_all();
}

std::uint64_t Growth::wait(std::uint64_t seen, std::chrono::milliseconds timeout) {
  // Clocks count in 63 bits of nanoseconds: a longer wait than this would wrap to the past.
  constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24 * 365);
  std::unique_lock lock(mutex_);
  grown_.wait_for(lock, std::clamp(timeout, std::chrono::milliseconds(0), kLongest), [&] { return size_ > seen; });
  return size_;
}

Result<void> Setback::check() const {
  if (failure_) return tl::make_unexpected(*failure_);
  return {};
}

void Setback::note(const Failure& failure) {
  if (!failure_) failure_ = failure;
}

Result<void> Setback::cure() {
  if (failure_ && !failure_->code.empty() && failure_->code != info(Code::STORE_CONFLICT).name)
    return tl::make_unexpected(*failure_);
  failure_.reset();
  return {};
}

}  // namespace baton::store
