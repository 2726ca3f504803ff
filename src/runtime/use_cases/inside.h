// SPDX-License-Identifier: Apache-2.0
// What UseCases keeps to itself.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>

#include "runtime/use_cases.h"
#include "runtime/use_cases/engine.h"

namespace baton::runtime {

struct UseCases::Inside : Engine {
  using Engine::Engine;

  // Items that the last sweep could not settle: they are due first in every sweep, and must not take up all of it.
  std::atomic<std::size_t> unsettled = 0;
  std::optional<std::map<std::string, std::string>> environment;  // of tests; else the process's
  // What counts() gave last, and until when it is given again.
  struct Counted {
    std::mutex mutex;
    json::Value value;
    std::int64_t until_ns = INT64_MIN;  // monotonic
  } counted;
  // Of sessions whose token was shown and was theirs: they never change, and every request of a session shows one.
  struct GenuineTokens {
    static constexpr std::size_t kMax = 4096;
    std::mutex mutex;
    std::unordered_map<std::string, std::string> by_session;
  };
  mutable GenuineTokens genuine_tokens;
};

}  // namespace baton::runtime
