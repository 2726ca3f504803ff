// SPDX-License-Identifier: Apache-2.0
// What the benchmarks that wait for a disk have in common: many callers at once, a folder on the disk that is measured, and giving up.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <latch>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

namespace baton::bench {

using Steady = std::chrono::steady_clock;

inline double seconds_since(Steady::time_point start) {
  return std::chrono::duration<double>(Steady::now() - start).count();
}

// A benchmark whose own work fails says so and ends: its figures would mean nothing.
inline void insist(bool condition, const std::string& what) {
  if (condition) return;
  std::fprintf(stderr, "bench: %s\n", what.c_str());
  std::exit(1);
}

// A folder beside the results, on the disk that is measured; gone afterwards.
struct Folder {
  std::filesystem::path path;
  explicit Folder(const std::string& name) : path(std::filesystem::current_path() / "build" / "bench" / name) {
    std::filesystem::remove_all(path);
    std::filesystem::create_directories(path);
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

// `threads` callers, each with one call(caller, number) at a time, for a while: how many were done a second. A call that gives
// false has nothing left to do.
template <class Call>
double per_second(int threads, double seconds, const Call& call) {
  std::atomic<std::uint64_t> done = 0;
  std::latch ready(threads + 1);
  std::atomic<bool> stop = false;
  std::vector<std::thread> callers;
  for (int i = 0; i < threads; ++i)
    callers.emplace_back([&, i] {
      ready.arrive_and_wait();
      for (std::uint64_t k = 0; !stop.load(std::memory_order_relaxed); ++k) {
        if constexpr (std::is_void_v<decltype(call(i, k))>) call(i, k);
        else if (!call(i, k)) return;
        done.fetch_add(1, std::memory_order_relaxed);
      }
    });
  ready.arrive_and_wait();
  const auto start = Steady::now();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  const std::uint64_t count = done.load();
  const double elapsed = seconds_since(start);
  stop = true;
  for (std::thread& caller : callers) caller.join();
  return static_cast<double>(count) / elapsed;
}

}  // namespace baton::bench
