// SPDX-License-Identifier: Apache-2.0
#include "http_api/reading_pool.h"

#include <utility>

namespace baton::http_api {

ReadingPool::ReadingPool(unsigned threads, std::size_t queue_max) : queue_max_(queue_max) {
  for (unsigned number = 0; number < threads; ++number) threads_.emplace_back([this] { work(); });
}

ReadingPool::~ReadingPool() { end(); }

bool ReadingPool::post(std::function<void()> reading) {
  {
    const std::lock_guard lock(mutex_);
    if (ending_ || queue_.size() >= queue_max_) return false;
    queue_.push_back(std::move(reading));
  }
  wake_.notify_one();
  return true;
}

void ReadingPool::end() {
  std::deque<std::function<void()>> dropped;  // after the lock: what they hold may answer somebody when it goes
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    dropped.swap(queue_);
  }
  wake_.notify_all();
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
}

void ReadingPool::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return ending_ || !queue_.empty(); });
    if (ending_) return;
    auto reading = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    reading();
    reading = nullptr;
    lock.lock();
  }
}

}  // namespace baton::http_api
