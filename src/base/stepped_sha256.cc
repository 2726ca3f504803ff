// SPDX-License-Identifier: Apache-2.0
// FIPS 180-4, section 6.2.2. The rounds are done by the processor's instructions for them. Those for the message schedule
// are not used: on Intel's processors they are microcode, during which nothing else gets in. Schedules of different blocks
// do not depend on each other, so those of sixteen blocks are worked out side by side.
#include "base/stepped_sha256.h"

#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#include "base/check.h"
#include "base/kernel.h"

namespace baton {

#if defined(__x86_64__)

// g++ 12 sees something uninitialised in its own header for these instructions (GCC bug 105593).
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

namespace {

alignas(16) constexpr std::array<std::uint32_t, 64> kRoundConstants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

// F, E, B, A, H, G, D, C: the order of the instructions, from the lowest word up.
constexpr std::array<std::uint32_t, 8> kInitialState = {0x9b05688c, 0x510e527f, 0xbb67ae85, 0x6a09e667,
                                                        0x5be0cd19, 0x1f83d9ab, 0xa54ff53a, 0x3c6ef372};
constexpr std::array<std::size_t, 8> kPlaceOfWord = {3, 2, 7, 6, 1, 0, 5, 4};  // of A, B, C, ...

bool can_step() {
  static const bool has_sha = [] {
    unsigned a = 0, b = 0, c = 0, d = 0;
    // g++ 12 has no name for this one in __builtin_cpu_supports.
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & bit_SHA) != 0;
  }();
  return has_sha && best_kernel() == Kernel::Avx512;
}

// Four vectors of four times four words: in each four of them, what was the i-th word of the j-th vector becomes the j-th
// word of the i-th. So words side by side in a block come to be side by side with those of other blocks, and back.
[[gnu::target("avx512f"), gnu::always_inline]] inline void transpose(__m512i* four) {
  const __m512i a = _mm512_unpacklo_epi32(four[0], four[1]), b = _mm512_unpackhi_epi32(four[0], four[1]);
  const __m512i c = _mm512_unpacklo_epi32(four[2], four[3]), d = _mm512_unpackhi_epi32(four[2], four[3]);
  four[0] = _mm512_unpacklo_epi64(a, c);
  four[1] = _mm512_unpackhi_epi64(a, c);
  four[2] = _mm512_unpacklo_epi64(b, d);
  four[3] = _mm512_unpackhi_epi64(b, d);
}

[[gnu::target("avx512f"), gnu::always_inline]] inline __m512i xor_of(__m512i a, __m512i b, __m512i c) {
  return _mm512_ternarylogic_epi32(a, b, c, 0x96);
}

[[gnu::target("avx512f"), gnu::always_inline]] inline __m512i sigma0(__m512i x) {
  return xor_of(_mm512_ror_epi32(x, 7), _mm512_ror_epi32(x, 18), _mm512_srli_epi32(x, 3));
}

[[gnu::target("avx512f"), gnu::always_inline]] inline __m512i sigma1(__m512i x) {
  return xor_of(_mm512_ror_epi32(x, 17), _mm512_ror_epi32(x, 19), _mm512_srli_epi32(x, 10));
}

}  // namespace

// Vector i of four holds blocks i, 4+i, 8+i and 12+i of the sixteen. That is the order in which they are written, too: so
// the four words of round 4q of block b stand at 16q + 4(b % 4) + b / 4, counted in fours.
[[gnu::target("avx512f,avx512bw")]] void SteppedSha256::schedule() {
  const std::size_t first = taken_ / kStepsOfBlock;
  const __m512i big_endian = _mm512_set4_epi32(0x0c0d0e0f, 0x08090a0b, 0x04050607, 0x00010203);
  const char* blocks[kBlocksAtOnce];
  for (std::size_t i = 0; i < kBlocksAtOnce; ++i) blocks[i] = block_at(first + i);
  __m512i words[16];  // the last sixteen of the schedule, by which the next are made
  for (std::size_t quad = 0; quad < 4; ++quad) {
    __m512i* four = words + 4 * quad;
    for (std::size_t i = 0; i < 4; ++i) {
      const auto part = [&](std::size_t j) {
        return _mm_loadu_si128(reinterpret_cast<const __m128i*>(blocks[4 * j + i]) + quad);
      };
      four[i] = _mm512_castsi128_si512(part(0));
      four[i] = _mm512_inserti32x4(four[i], part(1), 1);
      four[i] = _mm512_inserti32x4(four[i], part(2), 2);
      four[i] = _mm512_inserti32x4(four[i], part(3), 3);
      four[i] = _mm512_shuffle_epi8(four[i], big_endian);
    }
    transpose(four);
  }
  auto* out = reinterpret_cast<__m512i*>(added_.data());
#pragma GCC unroll 16
  for (std::size_t quad = 0; quad < 16; ++quad) {
    __m512i four[4];
#pragma GCC unroll 4
    for (std::size_t i = 0; i < 4; ++i) {
      const std::size_t t = 4 * quad + i;  // as in the standard, indices taken modulo 16
      if (t >= 16)
        words[t % 16] = _mm512_add_epi32(_mm512_add_epi32(words[t % 16], sigma0(words[(t - 15) % 16])),
                                         _mm512_add_epi32(words[(t - 7) % 16], sigma1(words[(t - 2) % 16])));
      four[i] = _mm512_add_epi32(words[t % 16], _mm512_set1_epi32(static_cast<int>(kRoundConstants[t])));
    }
    transpose(four);
    for (std::size_t i = 0; i < 4; ++i) _mm512_store_si512(out + 4 * quad + i, four[i]);
  }
}

[[gnu::target("sha,sse4.1")]] void SteppedSha256::take_step() {
  if (taken_ % (kBlocksAtOnce * kStepsOfBlock) == 0) [[unlikely]]
    schedule();
  const std::size_t block = taken_ / kStepsOfBlock % kBlocksAtOnce, quarter = taken_ % kStepsOfBlock;
  ++taken_;
  auto* const now = reinterpret_cast<__m128i*>(now_.data());
  auto* const before = reinterpret_cast<__m128i*>(before_.data());
  __m128i abef = _mm_load_si128(now), cdgh = _mm_load_si128(now + 1);
  if (quarter == 0) {
    _mm_store_si128(before, abef);
    _mm_store_si128(before + 1, cdgh);
  }
  const auto* added = reinterpret_cast<const __m128i*>(added_.data()) + 64 * quarter + 4 * (block % 4) + block / 4;
  for (std::size_t quad = 0; quad < 4; ++quad) {
    const __m128i words = _mm_load_si128(added + 16 * quad);
    cdgh = _mm_sha256rnds2_epu32(cdgh, abef, words);
    abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(words, 0x0e));
  }
  if (quarter == kStepsOfBlock - 1) {
    abef = _mm_add_epi32(abef, _mm_load_si128(before));
    cdgh = _mm_add_epi32(cdgh, _mm_load_si128(before + 1));
  }
  _mm_store_si128(now, abef);
  _mm_store_si128(now + 1, cdgh);
}

#else

namespace {
constexpr std::array<std::uint32_t, 8> kInitialState = {};
constexpr std::array<std::size_t, 8> kPlaceOfWord = {};
bool can_step() { return false; }
}  // namespace
void SteppedSha256::schedule() { CHECK(false); }
void SteppedSha256::take_step() { CHECK(false); }

#endif

namespace {

void put_big_endian(std::uint64_t value, std::size_t size, void* to) {
  auto* bytes = static_cast<std::uint8_t*>(to);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>(value >> 8 * (size - 1 - i));
}

}  // namespace

SteppedSha256::SteppedSha256(std::string_view bytes)
    : bytes_(bytes),
      blocks_((bytes.size() + 1 + sizeof(std::uint64_t) + kBlock - 1) / kBlock),
      steps_(can_step() ? blocks_ * kStepsOfBlock : 0),
      now_(kInitialState) {
  // What is left over, a one bit, zeros, and the length in bits at the end of the last block.
  const std::size_t whole = bytes.size() / kBlock, left = bytes.size() % kBlock;
  const std::size_t last_size = (blocks_ - whole) * kBlock;
  std::memset(last_, 0, sizeof last_);
  if (left != 0) std::memcpy(last_, bytes.data() + whole * kBlock, left);
  last_[left] = static_cast<char>(0x80);
  put_big_endian(std::uint64_t{bytes.size()} * 8, sizeof(std::uint64_t), last_ + last_size - sizeof(std::uint64_t));
}

// A block behind the last is some block: its schedule is worked out and not used.
inline const char* SteppedSha256::block_at(std::size_t index) const {
  const std::size_t whole = bytes_.size() / kBlock;
  return index < whole ? bytes_.data() + index * kBlock : last_ + (index == whole ? 0 : kBlock);
}

Sha256 SteppedSha256::finish() {
  if (steps_ == 0) return sha256(bytes_);
  while (taken_ != steps_) take_step();
  Sha256 digest;
  for (std::size_t i = 0; i < now_.size(); ++i)
    put_big_endian(now_[kPlaceOfWord[i]], sizeof(std::uint32_t), digest.data() + i * sizeof(std::uint32_t));
  return digest;
}

}  // namespace baton
