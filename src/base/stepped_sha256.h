// SPDX-License-Identifier: Apache-2.0
// SHA-256 in steps, to be taken between pieces of other work.
//
// The rounds of SHA-256 are one long chain: each waits for the one before, and meanwhile most of the processor is idle.
// Whoever has other work to do takes a step after each small piece of it, and the processor does both at once: the rounds
// then cost next to nothing. How many steps are taken, and when, does not change the digest.
//
//   SteppedSha256 hash(bytes);
//   for (...) { work(); hash.step(); }
//   const Sha256 digest = hash.finish();   // takes the steps that are left
//
// A step is a quarter of a block of 64 bytes, sixteen rounds: about a dozen nanoseconds. Where the processor has not the
// instructions for it (SHA and AVX-512), a step does nothing and finish() is sha256().
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/sha256.h"

namespace baton {

class SteppedSha256 {
 public:
  // Refers to `bytes`, which must stay as they are until finish().
  explicit SteppedSha256(std::string_view bytes);

  void step() {
    if (taken_ != steps_) take_step();
  }

  Sha256 finish();  // once

 private:
  static constexpr std::size_t kBlock = 64;
  static constexpr std::size_t kBlocksAtOnce = 16;  // whose message schedules are worked out together
  static constexpr std::size_t kStepsOfBlock = 4;

  void take_step();
  void schedule();  // of the next blocks
  const char* block_at(std::size_t index) const;

  std::string_view bytes_;
  std::size_t blocks_;  // with the padding
  std::size_t steps_;   // to take
  std::size_t taken_ = 0;
  char last_[2 * kBlock];  // what follows the whole blocks of the text: its end and the padding, in one block or two
  // The working variables as the instructions want them, A B E F and C D G H, now and at the start of the block.
  alignas(16) std::array<std::uint32_t, 8> now_, before_;
  // What the rounds add: words of the message schedule and round constants, four words at a time. See schedule().
  alignas(64) std::array<std::uint32_t, kBlocksAtOnce * 64> added_;
};

}  // namespace baton
