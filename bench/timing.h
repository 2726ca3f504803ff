// SPDX-License-Identifier: Apache-2.0
// Measuring short things on a machine that others use too.
//
// Time is the process's CPU time. A case runs in short rounds, and the cases of one Race take turns, round by round, so
// that what disturbs one disturbs all. What counts is the best round, because a neighbour on the core or in the cache can
// only make a round longer; the median is kept to show how much neighbours did. Cases that are compared have rounds of the
// same length: a shorter one would find a quieter moment.
#pragma once

#include <time.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace baton::bench {

// Makes the compiler believe that `value` is used.
template <class T>
inline void keep(const T& value) {
  asm volatile("" : : "r"(&value) : "memory");
}

inline double cpu_ns() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

// What the rounds of one case came to, in nanoseconds for one repetition.
struct Rounds {
  std::vector<double> ns;

  double best() const { return *std::min_element(ns.begin(), ns.end()); }
  double median() const {
    std::vector<double> sorted = ns;
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
    std::nth_element(sorted.begin(), middle, sorted.end());
    return *middle;
  }
};

class Race {
 public:
  // `round` runs as often as it is told and gives the nanoseconds one repetition took. Returns the case's number.
  std::size_t add_round(std::size_t repetitions, std::function<double(std::size_t)> round) {
    cases_.push_back({std::move(round), repetitions, {}});
    return cases_.size() - 1;
  }

  // A case of this process; the repetitions are chosen so that a round takes about `round_ns`.
  template <class Body>
  std::size_t add(Body body, double round_ns = 1e6) {
    auto round = [body](std::size_t repetitions) mutable {
      const double start = cpu_ns();
      for (std::size_t i = 0; i < repetitions; ++i) body();
      return (cpu_ns() - start) / static_cast<double>(repetitions);
    };
    double once = round(1);  // the first one builds tables
    for (std::size_t repetitions = 1; once * static_cast<double>(repetitions) < round_ns / 4; repetitions *= 4)
      once = round(repetitions * 4);
    return add_round(static_cast<std::size_t>(std::max(1.0, round_ns / once)), std::move(round));
  }

  void run(std::size_t rounds) {
    for (std::size_t i = 0; i < rounds; ++i)
      for (Case& one : cases_) one.rounds.ns.push_back(one.round(one.repetitions));
  }

  const Rounds& operator[](std::size_t number) const { return cases_[number].rounds; }

 private:
  struct Case {
    std::function<double(std::size_t)> round;
    std::size_t repetitions;
    Rounds rounds;
  };
  std::vector<Case> cases_;
};

}  // namespace baton::bench
