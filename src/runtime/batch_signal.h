// SPDX-License-Identifier: Apache-2.0
// Wakes everyone who waits for a batch with one system call of the thread that committed it.
//
// A semaphore for each waiter would cost that thread a system call each, one after the other, before it can turn to the
// next batch. Linux futexes, because no standard primitive wakes a group without handing a lock from one to the next, and
// those of libstdc++ yield the processor several times before they sleep.
//
// Batches are numbered 1, 2, 3, ... and done in that order. While one is committed, waiters of the next gather; there are
// never waiters of more than two batches that are not done, so two words are enough for nobody to be woken for another's.
#pragma once

#include <atomic>
#include <cstdint>

namespace baton::runtime {

class BatchSignal {
 public:
  // Returns when done(batch) was called. Any thread.
  void wait(std::uint32_t batch);
  // The batch is done. One thread at a time, in order.
  void done(std::uint32_t batch);

 private:
  struct alignas(64) Side {
    std::atomic<std::uint32_t> done = 0;  // the newest batch of this parity that is done
  };
  std::atomic<std::uint32_t>& word(std::uint32_t batch) { return sides_[batch % 2].done; }

  Side sides_[2];
};

}  // namespace baton::runtime
