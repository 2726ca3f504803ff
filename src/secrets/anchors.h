// SPDX-License-Identifier: Apache-2.0
// Inside the detector: the literals the first look goes by, and the tables it finds them with.
//
// Every anchor is known by four characters of it in a row, its window. Anchors are spread over eight buckets, one bit
// each; a table per position and half byte says which buckets allow that half byte there, and the conjunction of all
// eight lookups leaves the buckets that may have an anchor here (the method is known as Teddy). What is left is looked up
// by pairs of whole characters, and what is left then is compared in full.
//
// The tables allow too much, never too little: whoever finds a bucket left still has to compare its anchors.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "secrets/rules.h"

namespace baton::secrets {

inline constexpr std::size_t kWindow = 4;
inline constexpr std::size_t kBuckets = 8;

enum class AnchorKind { Pattern, Keyword, Key, Escape };

struct Anchor {
  AnchorKind kind;
  std::size_t rule;  // of a Pattern
  std::string_view literal;
  bool folded;
  Tail tail;
  std::size_t tail_length;
  std::size_t window = 0;  // where in the literal its window begins
};

// The bits of a window that its literal fixes, and what they are.
struct WindowBits {
  std::uint32_t mask = 0;
  std::uint32_t bits = 0;

  bool fit(std::uint32_t window) const { return (window & mask) == bits; }
};

struct Tables {
  alignas(16) std::uint8_t low[kWindow][16] = {};
  alignas(16) std::uint8_t high[kWindow][16] = {};
  // The same by whole characters, for machines that can look up so many at once. The highest bit of a byte does not count:
  // a place in a window takes ASCII only or everything.
  alignas(64) std::uint8_t by_character[kWindow][128] = {};
  std::array<std::vector<Anchor>, kBuckets> anchors;
  std::array<std::vector<WindowBits>, kBuckets>
      windows;  // of the anchors, close together: most are looked at for nothing
  // Which buckets know the two characters of a window's first and of its second half: exact where half bytes are not.
  std::array<std::array<std::uint8_t, 65536>, 2> pairs = {};

  Tables();

  // Of `buckets`, those that may have an anchor with this window.
  unsigned narrowed(unsigned buckets, std::uint32_t window) const {
    return buckets & pairs[0][window & 0xffff] & pairs[1][window >> 16];
  }
};

// Built at the first call, from any thread; lives as long as the program.
const Tables& tables();

}  // namespace baton::secrets
