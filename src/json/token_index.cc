// SPDX-License-Identifier: Apache-2.0
#include "json/token_index.h"

#include <algorithm>
#include <bit>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/check.h"
#include "base/kernel.h"

namespace baton::json {
namespace {

// Each bit becomes the parity of itself and all below: set from an opening quote on, clear from a closing one on.
inline std::uint64_t parity_up_to(std::uint64_t bits) {
  for (int shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
  return bits;
}

}  // namespace

// The bytes that a backslash before them takes away the meaning of. A backslash that is itself one of them takes nothing.
std::uint64_t TokenIndex::State::escaped_by(std::uint64_t backslash) {
  std::uint64_t escaped = escapes_next ? 1 : 0;
  escapes_next = false;
  for (backslash &= ~escaped; backslash != 0;) {
    const std::uint64_t first = backslash & -backslash;
    if (first == std::uint64_t{1} << 63) {
      escapes_next = true;
      break;
    }
    escaped |= first << 1;
    backslash &= ~(first | first << 1);
  }
  return escaped;
}

// Inlined into each of the loops below, and so compiled for the instructions of each.
[[gnu::always_inline]] inline std::uint64_t TokenIndex::State::tokens_in(const Kinds& kinds) {
  std::uint64_t quote = kinds.quote;
  if (kinds.backslash != 0 || escapes_next) [[unlikely]] {
    strings_are_plain = false;
    quote &= ~escaped_by(kinds.backslash);
  }
  // The opening quote counts as in the string, the closing one does not.
  const std::uint64_t inside = parity_up_to(quote) ^ in_string;
  in_string = std::uint64_t{0} - (inside >> 63);
  if ((kinds.control & inside) != 0) [[unlikely]]
    strings_are_plain = false;
  const std::uint64_t run = ~(kinds.sign | kinds.white_space | quote | inside);
  const std::uint64_t tokens = quote | (kinds.sign & ~inside) | (run & ~(run << 1 | in_run));
  in_run = run >> 63;
  return tokens;
}

#if defined(__x86_64__)

namespace {

// By the low half of a byte, the white space, or the sign with bit 5 set, that has it; what equals its entry is one. Bit 5
// makes one of `[` and `{`. It also makes a sign of two control characters, which are wrong wherever they stand.
const __m128i kWhiteSpaces = _mm_setr_epi8(' ', 0, 0, 0, 0, 0, 0, 0, 0, '\t', '\n', 0, 0, '\r', 0, 0);
const __m128i kSigns = _mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, ':', '{', ',', '}', 0, 0);

constexpr std::array<std::uint8_t, 64> kBitPlaces = [] {
  std::array<std::uint8_t, 64> out{};
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::uint8_t>(i);
  return out;
}();

// For each byte, the places of its bits.
struct alignas(8) Places {
  std::uint8_t of[8];
};
constexpr std::array<Places, 256> kPlacesOfBits = [] {
  std::array<Places, 256> out{};
  for (std::size_t byte = 0; byte < out.size(); ++byte) {
    std::size_t count = 0;
    for (std::uint8_t bit = 0; bit < 8; ++bit)
      if ((byte >> bit & 1) != 0) out[byte].of[count++] = bit;
  }
  return out;
}();

}  // namespace

[[gnu::target("avx2,bmi,popcnt")]] void TokenIndex::index_avx2(std::size_t last) {
  const __m256i white_spaces = _mm256_broadcastsi128_si256(kWhiteSpaces), signs = _mm256_broadcastsi128_si256(kSigns);
  State state = state_;
  std::uint32_t* out = places_.data() + end_;
  for (; at_ < last; at_ += kBlock) {
    Kinds kinds{};
    for (int part = 0; part < 2; ++part) {
      const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(text_ + at_) + part);
      const __m256i quote = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('"'));
      const __m256i backslash = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('\\'));
      const __m256i control = _mm256_cmpeq_epi8(_mm256_min_epu8(bytes, _mm256_set1_epi8(0x1f)), bytes);
      const __m256i white_space = _mm256_cmpeq_epi8(_mm256_shuffle_epi8(white_spaces, bytes), bytes);
      const __m256i sign =
          _mm256_cmpeq_epi8(_mm256_shuffle_epi8(signs, bytes), _mm256_or_si256(bytes, _mm256_set1_epi8(0x20)));
      const int shift = 32 * part;
      kinds.quote |= std::uint64_t{static_cast<std::uint32_t>(_mm256_movemask_epi8(quote))} << shift;
      kinds.backslash |= std::uint64_t{static_cast<std::uint32_t>(_mm256_movemask_epi8(backslash))} << shift;
      kinds.control |= std::uint64_t{static_cast<std::uint32_t>(_mm256_movemask_epi8(control))} << shift;
      kinds.white_space |= std::uint64_t{static_cast<std::uint32_t>(_mm256_movemask_epi8(white_space))} << shift;
      kinds.sign |= std::uint64_t{static_cast<std::uint32_t>(_mm256_movemask_epi8(sign))} << shift;
    }
    // Eight places are written for each byte, however many it has: that takes longer than to write those alone, but not
    // as long as guessing wrong how many there are.
    std::uint64_t tokens = state.tokens_in(kinds);
    __m256i base = _mm256_set1_epi32(static_cast<int>(at_));
    for (int byte = 0; byte < 8; ++byte, tokens >>= 8) {
      const __m128i places = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(&kPlacesOfBits[tokens & 0xff]));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm256_add_epi32(_mm256_cvtepu8_epi32(places), base));
      base = _mm256_add_epi32(base, _mm256_set1_epi32(8));
      out += std::popcount(tokens & 0xff);
    }
  }
  end_ = static_cast<std::size_t>(out - places_.data());
  state_ = state;
}

// The same with masks from the comparisons, and an instruction that packs the places of the bits that are set.
[[gnu::target("avx512f,avx512bw,avx512vbmi2,bmi,popcnt")]] void TokenIndex::index_avx512(std::size_t last) {
  // g++ 12 takes the forms without a mask for a use of something uninitialised (GCC bug 105593).
  constexpr __mmask16 kAll = 0xffff;
  const __m512i white_spaces = _mm512_maskz_broadcast_i32x4(kAll, kWhiteSpaces),
                signs = _mm512_maskz_broadcast_i32x4(kAll, kSigns);
  const __m512i bit_places = _mm512_loadu_si512(kBitPlaces.data());
  State state = state_;
  std::uint32_t* out = places_.data() + end_;
  for (; at_ < last; at_ += kBlock) {
    const __m512i bytes = _mm512_loadu_si512(text_ + at_);
    const __m512i folded = _mm512_or_si512(bytes, _mm512_set1_epi8(0x20));
    const std::uint64_t tokens =
        state.tokens_in({.quote = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('"')),
                         .backslash = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('\\')),
                         .control = _mm512_cmplt_epu8_mask(bytes, _mm512_set1_epi8(0x20)),
                         .white_space = _mm512_cmpeq_epi8_mask(_mm512_shuffle_epi8(white_spaces, bytes), bytes),
                         .sign = _mm512_cmpeq_epi8_mask(_mm512_shuffle_epi8(signs, bytes), folded)});
    // Sixteen places are written first, however few there are: mostly they are all, and there is no guessing.
    alignas(64) std::uint8_t places[kBlock];
    _mm512_store_si512(places, _mm512_maskz_compress_epi8(tokens, bit_places));
    const __m512i base = _mm512_set1_epi32(static_cast<int>(at_));
    const auto count = static_cast<std::size_t>(std::popcount(tokens));
    std::size_t written = 0;
    do {
      const __m128i some = _mm_load_si128(reinterpret_cast<const __m128i*>(places + written));
      _mm512_storeu_si512(out + written, _mm512_add_epi32(_mm512_maskz_cvtepu8_epi32(kAll, some), base));
      written += 16;
    } while (written < count);
    out += count;
  }
  end_ = static_cast<std::size_t>(out - places_.data());
  state_ = state;
}

// SSE2: every x86-64 has it.
TokenIndex::Kinds TokenIndex::kinds_in(const char* block) {
  Kinds kinds{};
  for (int part = 0; part < 4; ++part) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block) + part);
    const auto bits = [part](__m128i equal) {
      return std::uint64_t{static_cast<std::uint16_t>(_mm_movemask_epi8(equal))} << 16 * part;
    };
    const auto are = [bytes](char c) { return _mm_cmpeq_epi8(bytes, _mm_set1_epi8(c)); };
    const auto either = [](__m128i left, __m128i right) { return _mm_or_si128(left, right); };
    kinds.quote |= bits(are('"'));
    kinds.backslash |= bits(are('\\'));
    kinds.control |= bits(_mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)), bytes));
    kinds.white_space |= bits(either(either(are(' '), are('\n')), either(are('\r'), are('\t'))));
    kinds.sign |=
        bits(either(either(either(are('{'), are('}')), either(are('['), are(']'))), either(are(':'), are(','))));
  }
  return kinds;
}

#else

void TokenIndex::index_avx2(std::size_t) { CHECK(false); }
void TokenIndex::index_avx512(std::size_t) { CHECK(false); }

TokenIndex::Kinds TokenIndex::kinds_in(const char* block) {
  Kinds kinds{};
  for (std::size_t i = 0; i < kBlock; ++i) {
    const char c = block[i];
    const std::uint64_t bit = std::uint64_t{1} << i;
    if (c == '"') kinds.quote |= bit;
    if (c == '\\') kinds.backslash |= bit;
    if (static_cast<unsigned char>(c) < 0x20) kinds.control |= bit;
    if (c == ' ' || c == '\n' || c == '\r' || c == '\t') kinds.white_space |= bit;
    if (c == '{' || c == '}' || c == '[' || c == ']' || c == ':' || c == ',') kinds.sign |= bit;
  }
  return kinds;
}

#endif

void TokenIndex::index_portable(std::size_t last) {
  for (; at_ < last; at_ += kBlock) {
    for (std::uint64_t tokens = state_.tokens_in(kinds_in(text_ + at_)); tokens != 0; tokens &= tokens - 1)
      places_[end_++] = static_cast<std::uint32_t>(at_) + static_cast<std::uint32_t>(std::countr_zero(tokens));
  }
}

const std::uint32_t* TokenIndex::refill() {
  end_ = 0;
  while (end_ == 0 && at_ < size_) {
    const std::size_t last = std::min(size_, at_ + kBlock * kBlocksAtOnce);
    switch (best_kernel()) {
      case Kernel::Portable: index_portable(last); break;
      case Kernel::Avx2: index_avx2(last); break;
      case Kernel::Avx512: index_avx512(last); break;
    }
  }
  // The zeros behind the text are no white space: they may have become a token, which is the end.
  if (end_ == 0) places_[end_++] = static_cast<std::uint32_t>(size_);
  places_[end_] = kMore;
  return places_.data();
}

}  // namespace baton::json
