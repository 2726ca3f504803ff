// SPDX-License-Identifier: Apache-2.0
// A loop that a test turns by itself, until something is so.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>

namespace baton::net {

class Loop {
 public:
  // False when patience is over, which is long: a slow machine makes a test slow, not red.
  bool until(const std::function<bool()>& holds, std::chrono::seconds patience = std::chrono::seconds(30)) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!holds()) {
      if (std::chrono::steady_clock::now() > end) return false;
      context.restart();
      context.run_one_for(std::chrono::milliseconds(20));
    }
    return true;
  }
  // For what must not happen.
  void during(std::chrono::milliseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end) {
      context.restart();
      context.run_one_for(std::chrono::milliseconds(5));
    }
  }

  boost::asio::io_context context{1};
};

}  // namespace baton::net
