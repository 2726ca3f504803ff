// SPDX-License-Identifier: Apache-2.0
// Who waits for what inside one process: for the transaction before, for the ledger to grow; and what becomes of a
// transaction in which something failed. For backends that have one writer.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>

#include "base/result.h"

namespace baton::store {

// One at a time. Not a mutex, because a transaction may be ended by another thread than the one that began it.
class Turn {
 public:
  void take();  // waits for whoever has it
  void give();

 private:
  std::mutex mutex_;
  std::condition_variable given_;
  bool taken_ = false;
};

// How many entries are committed, and waiting for more of them.
class Growth {
 public:
  void set(std::uint64_t size);
  // Gives the size as soon as it is more than `seen`, and when the time is over.
  std::uint64_t wait(std::uint64_t seen, std::chrono::milliseconds timeout);

 private:
  std::mutex mutex_;
  std::condition_variable grown_;
  std::uint64_t size_ = 0;
};

// After a failure a transaction does nothing more: whoever overlooked it cannot commit the half that went well. Rolling
// back to a savepoint cures a conflict and a refused row (no code), after which the storage is as it was; nothing cures
// the rest.
class Setback {
 public:
  // The failure that stands in the way, if there is one.
  Result<void> check() const;
  // Keeps the failure of a result, and hands the result on.
  template <class T>
  Result<T> keep(Result<T> result) {
    if (!result) note(result.error());
    return result;
  }
  void note(const Failure& failure);
  // Before rolling back to a savepoint: the failure when it cannot be cured.
  Result<void> cure();

 private:
  std::optional<Failure> failure_;
};

}  // namespace baton::store
