// SPDX-License-Identifier: Apache-2.0
// The vectorised look for the bytes that matter inside a JSON string. SSE2: every x86-64 has it.
#pragma once

#include <emmintrin.h>

#include <bit>
#include <cstddef>
#include <string_view>

namespace baton::json {

// One bit per byte of the sixteen: quote, backslash or control character.
inline unsigned string_specials(__m128i bytes) {
  const __m128i quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
  const __m128i backslash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));
  const __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)), bytes);
  return static_cast<unsigned>(_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quote, backslash), control)));
}

// The first byte from `from` on that is a quote, a backslash or a control character; text.size() when none is.
inline std::size_t find_string_special(std::string_view text, std::size_t from) {
  std::size_t at = from;
  for (; at + 16 <= text.size(); at += 16) {
    const unsigned mask = string_specials(_mm_loadu_si128(reinterpret_cast<const __m128i*>(text.data() + at)));
    if (mask != 0) return at + static_cast<std::size_t>(std::countr_zero(mask));
  }
  for (; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte == '"' || byte == '\\' || byte < 0x20) return at;
  }
  return text.size();
}

}  // namespace baton::json
