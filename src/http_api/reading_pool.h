// SPDX-License-Identifier: Apache-2.0
// A few threads for what reads the store: it may block, and a server's thread must not.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace baton::http_api {

class ReadingPool {
 public:
  ReadingPool(unsigned threads, std::size_t queue_max);
  ~ReadingPool();  // ends what has begun, drops what has not

  // False, and nothing is called, when too much waits or the pool has ended.
  bool post(std::function<void()> reading);
  // Drops what waits, and returns when nothing is running any more.
  void end();

 private:
  void work();

  const std::size_t queue_max_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> queue_;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace baton::http_api
