// SPDX-License-Identifier: Apache-2.0
// The file `changed` of a store's folder: how the process that writes tells others that the ledger grew.
//
// The writer writes eight bytes to it after each commit; who waits has the kernel watch the file (inotify). What the
// bytes say does not matter: whoever wakes reads the head.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>

#include "base/clock.h"
#include "base/result.h"

namespace baton::store::sqlite {

// The writer's side.
class ChangeSignal {
 public:
  ChangeSignal() = default;
  ChangeSignal(const ChangeSignal&) = delete;
  ChangeSignal& operator=(const ChangeSignal&) = delete;
  ~ChangeSignal();

  // Makes the file when it is not there.
  Result<void> open(const std::filesystem::path& path);
  void announce(std::uint64_t size);

 private:
  int descriptor_ = -1;
};

// The waiting side, for any number of threads: one of them listens for all.
class ChangeWatch {
 public:
  ChangeWatch(std::filesystem::path folder, std::filesystem::path file, Clock& clock)
      : folder_(std::move(folder)), file_(std::move(file)), clock_(clock) {}
  ChangeWatch(const ChangeWatch&) = delete;
  ChangeWatch& operator=(const ChangeWatch&) = delete;
  ~ChangeWatch();

  // Gives what `read_size` gives as soon as that is more than `seen`, and when the time is over.
  Result<std::uint64_t> wait(std::uint64_t seen, std::chrono::milliseconds timeout,
                             const std::function<Result<std::uint64_t>()>& read_size);

 private:
  Result<void> arm();
  Result<bool> listen(std::chrono::milliseconds timeout);  // false: the time was over

  const std::filesystem::path folder_;
  const std::filesystem::path file_;
  Clock& clock_;
  std::mutex mutex_;
  std::condition_variable heard_;
  int descriptor_ = -1;
  bool listening_ = false;   // some thread listens
  std::uint64_t times_ = 0;  // that somebody stopped listening
};

}  // namespace baton::store::sqlite
