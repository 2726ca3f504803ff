// SPDX-License-Identifier: Apache-2.0
// The thread that sees to it that time is recorded: it sleeps until the next thing becomes due and then has the use case
// `sweep` settle what is due, a batch at a time, until nothing is left. The feed tells it of what becomes due earlier.
//
// When something is due is judged by the store's clock, which may differ from this machine's: who wakes too early looks
// again after a short while, and after longer ones.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>

#include "base/clock.h"
#include "runtime/feed.h"
#include "runtime/node.h"
#include "runtime/use_cases.h"

namespace baton::runtime {

// Pure: when an entry says that something becomes due; nothing when it does not.
std::optional<Time> deadline_in(std::string_view type, std::string_view payload);

class Sweeper {
 public:
  // Both outlive this.
  Sweeper(UseCases& cases, Clock& clock, Log log);
  ~Sweeper();

  // On the feed's thread.
  void see(const FedEntries& entries);
  void stop();  // after the sweep that is under way

  std::uint64_t sweeps() const { return sweeps_.load(); }

 private:
  void work();
  // How long to sleep: until the next deadline, at most kLongestSleep.
  std::int64_t nanoseconds_to_next();
  // How many were settled in all.
  Result<std::uint64_t> sweep_all();
  Result<std::uint64_t> sweep_once();
  bool is_stopping();

  UseCases& cases_;
  Clock& clock_;
  const Log log_;
  std::atomic<std::uint64_t> sweeps_ = 0;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::optional<Time> told_;  // the earliest that the feed told of since the last look
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace baton::runtime
