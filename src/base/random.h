// SPDX-License-Identifier: Apache-2.0
// Randomness is passed in, like the clock, so that anything that mints an id can be tested to the byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace baton {

class Random {
 public:
  virtual ~Random() = default;
  // Fills `out`; fit for keys and tokens when the implementation is SystemRandom.
  virtual void fill(std::span<std::uint8_t> out) = 0;
};

// The kernel's generator (getrandom). Aborts if the kernel has none: there is no safe way to go on.
class SystemRandom final : public Random {
 public:
  void fill(std::span<std::uint8_t> out) override;
};

// Counts up from a seed: the same ids every time. For tests only.
class CountingRandom final : public Random {
 public:
  explicit CountingRandom(std::uint8_t first = 0) : next_(first) {}
  void fill(std::span<std::uint8_t> out) override {
    for (auto& byte : out) byte = next_++;
  }

 private:
  std::uint8_t next_;
};

}  // namespace baton
