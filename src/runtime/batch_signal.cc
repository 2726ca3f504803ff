// SPDX-License-Identifier: Apache-2.0
#include "runtime/batch_signal.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

namespace baton::runtime {
namespace {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

// Numbers may run over.
bool is_before(std::uint32_t left, std::uint32_t right) { return static_cast<std::int32_t>(left - right) < 0; }

}  // namespace

void BatchSignal::wait(std::uint32_t batch) {
  std::atomic<std::uint32_t>& done = word(batch);
  for (std::uint32_t seen = done.load(std::memory_order_acquire); is_before(seen, batch);
       seen = done.load(std::memory_order_acquire))
    // Returns at once when the word is another already, and now and then for no reason: hence the loop.
    ::syscall(SYS_futex, &done, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
}

void BatchSignal::done(std::uint32_t batch) {
  std::atomic<std::uint32_t>& done = word(batch);
  done.store(batch, std::memory_order_release);
  ::syscall(SYS_futex, &done, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace baton::runtime
