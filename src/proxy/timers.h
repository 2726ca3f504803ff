// SPDX-License-Identifier: Apache-2.0
// The timers of a conversation on one timer of the context: calls come and go by the thousand, and most of their timers never ring.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <unordered_map>

#include "base/clock.h"
#include "mcp/conversation.h"

namespace baton::proxy {

class Timers {
 public:
  // `rang` is called from the loop, for each in the order of their times. `clock` outlives this.
  Timers(boost::asio::io_context& context, Clock& clock, std::function<void(mcp::Timer)> rang)
      : timer_(context), clock_(clock), rang_(std::move(rang)) {}
  ~Timers() { *alive_ = false; }
  Timers(const Timers&) = delete;

  void arm(mcp::Timer timer, mcp::Milliseconds after) {
    const Nanoseconds due = clock_.monotonic_ns() + after * 1'000'000;
    times_.emplace(timer, due);
    due_.emplace(due, timer);
    if (!waits_ || due < next_) wait(due);
  }
  void disarm(mcp::Timer timer) {
    const auto found = times_.find(timer);
    if (found == times_.end()) return;
    due_.erase({found->second, timer});
    times_.erase(found);  // the context's timer rings in vain then, which is cheaper than setting it anew
  }

 private:
  using Nanoseconds = std::int64_t;  // of the clock that does not go back

  void wait(Nanoseconds until) {
    waits_ = true;
    next_ = until;
    timer_.expires_after(std::chrono::nanoseconds(until - clock_.monotonic_ns()));
    timer_.async_wait([this, alive = alive_](const boost::system::error_code& error) {
      if (!error && *alive) ring();
    });
  }
  void ring() {
    waits_ = false;
    const Nanoseconds now = clock_.monotonic_ns();
    const std::shared_ptr<bool> alive = alive_;
    while (!due_.empty() && due_.begin()->first <= now) {
      const mcp::Timer timer = due_.begin()->second;
      due_.erase(due_.begin());
      times_.erase(timer);
      rang_(timer);
      if (!*alive) return;
    }
    if (!due_.empty() && !waits_) wait(due_.begin()->first);
  }

  boost::asio::steady_timer timer_;
  Clock& clock_;
  std::function<void(mcp::Timer)> rang_;
  std::unordered_map<mcp::Timer, Nanoseconds> times_;
  std::set<std::pair<Nanoseconds, mcp::Timer>> due_;
  bool waits_ = false;
  Nanoseconds next_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace baton::proxy
