// SPDX-License-Identifier: Apache-2.0
// Knows how long the ledger is, and wakes whoever waits for it to grow.
//
// A thread holds one connection that listens for the NOTIFY of every commit. It begins with the first wait(). When the
// server goes away, it connects again, waiting longer after each attempt, and reads the size anew after it has begun to
// listen: a commit is then either in what was read or announced afterwards, so none is missed. Nothing is polled.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "base/result.h"
#include "store/postgres/connection.h"

namespace baton::store::postgres {

// For any number of threads.
class Listener {
 public:
  Listener(std::shared_ptr<const Libpq> libpq, Target target, const ConnectionOptions& options);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // A commit of this very process made the ledger so long.
  void grown_to(std::uint64_t size);

  // Until the ledger is longer than `seen` or the time is over; its size then. STORE_UNAVAILABLE when the time is over and
  // the server is away.
  Result<std::uint64_t> wait(std::uint64_t seen, std::chrono::milliseconds timeout);

 private:
  Result<void> start();
  void run();
  Result<void> listen(Connection& connection);  // until the connection fails or the store is closed
  Result<void> read_size(Connection& connection);
  void hear(Connection& connection, std::string_view payload);

  const std::shared_ptr<const Libpq> libpq_;
  const Target target_;
  const ConnectionOptions options_;
  int stop_fd_ = -1;    // readable once the thread is to end
  std::string schema_;  // the thread's own

  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t size_ = 0;
  bool stopping_ = false;
  bool tried_ = false;              // the first attempt to connect has ended
  std::optional<Failure> failure_;  // why it does not listen now
  std::thread thread_;
};

}  // namespace baton::store::postgres
