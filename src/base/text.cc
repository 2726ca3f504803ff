// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <emmintrin.h>

#include <cstring>

#include "base/hidden_characters.h"

namespace baton {
namespace {

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// Length of the well-formed UTF-8 sequence at `at`, 0 when there is none.
std::size_t sequence_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const std::size_t left = text.size() - at;
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return left >= 2 && is_continuation(text[at + 1]) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    if (left < 3 || !is_continuation(text[at + 1]) || !is_continuation(text[at + 2])) return 0;
    if (first == 0xe0 && byte(1) < 0xa0) return 0;  // overlong
    if (first == 0xed && byte(1) > 0x9f) return 0;  // a surrogate
    return 3;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    if (left < 4) return 0;
    for (std::size_t i = 1; i < 4; ++i)
      if (!is_continuation(text[at + i])) return 0;
    if (first == 0xf0 && byte(1) < 0x90) return 0;  // overlong
    if (first == 0xf4 && byte(1) > 0x8f) return 0;  // above U+10FFFF
    return 4;
  }
  return 0;
}

}  // namespace

std::string to_lower_ascii(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = to_lower(c);
  return out;
}

std::string hex(std::span<const std::uint8_t> bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const std::uint8_t byte : bytes) {
    out.push_back(kDigits[byte >> 4]);
    out.push_back(kDigits[byte & 0x0f]);
  }
  return out;
}

bool is_ascii(std::string_view text) {
  std::size_t at = 0;
  for (; at + 64 <= text.size(); at += 64) {
    const auto* bytes = reinterpret_cast<const __m128i*>(text.data() + at);
    const __m128i all = _mm_or_si128(_mm_or_si128(_mm_loadu_si128(bytes), _mm_loadu_si128(bytes + 1)),
                                     _mm_or_si128(_mm_loadu_si128(bytes + 2), _mm_loadu_si128(bytes + 3)));
    if (_mm_movemask_epi8(all) != 0) return false;
  }
  for (; at < text.size(); ++at)
    if (static_cast<unsigned char>(text[at]) >= 0x80) return false;
  return true;
}

std::size_t find_invalid_utf8(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    if (at + 8 <= text.size()) {
      std::uint64_t word;
      std::memcpy(&word, text.data() + at, 8);
      if ((word & 0x8080808080808080u) == 0) {
        at += 8;
        continue;
      }
    }
    const std::size_t length = sequence_length(text, at);
    if (length == 0) return at;
    at += length;
  }
  return text.size();
}

char32_t next_character(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return static_cast<char32_t>(static_cast<unsigned char>(text[at + i])); };
  const char32_t first = byte(0);
  char32_t value = first;
  std::size_t length = 1;
  if (first >= 0xf0) {
    value = (first & 0x07) << 18 | (byte(1) & 0x3f) << 12 | (byte(2) & 0x3f) << 6 | (byte(3) & 0x3f);
    length = 4;
  } else if (first >= 0xe0) {
    value = (first & 0x0f) << 12 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f);
    length = 3;
  } else if (first >= 0x80) {
    value = (first & 0x1f) << 6 | (byte(1) & 0x3f);
    length = 2;
  }
  at += length;
  return value;
}

void append_utf8(std::string& out, char32_t c) {
  if (c < 0x80) {
    out.push_back(static_cast<char>(c));
  } else if (c < 0x800) {
    out.push_back(static_cast<char>(0xc0 | c >> 6));
    out.push_back(static_cast<char>(0x80 | (c & 0x3f)));
  } else if (c < 0x10000) {
    out.push_back(static_cast<char>(0xe0 | c >> 12));
    out.push_back(static_cast<char>(0x80 | (c >> 6 & 0x3f)));
    out.push_back(static_cast<char>(0x80 | (c & 0x3f)));
  } else {
    out.push_back(static_cast<char>(0xf0 | c >> 18));
    out.push_back(static_cast<char>(0x80 | (c >> 12 & 0x3f)));
    out.push_back(static_cast<char>(0x80 | (c >> 6 & 0x3f)));
    out.push_back(static_cast<char>(0x80 | (c & 0x3f)));
  }
}

std::size_t count_characters(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text) count += !is_continuation(c);
  return count;
}

bool is_control(char32_t c) { return c < 0x20 || (c >= 0x7f && c <= 0x9f); }

bool is_hidden(char32_t c) {
  const auto is_between = [c](char32_t first, char32_t last) { return first <= c && c <= last; };
  return c == 0xad || c == 0x34f || c == 0x61c || is_between(0x115f, 0x1160) || is_between(0x17b4, 0x17b5) ||
         is_between(0x180b, 0x180f) || is_between(0x200b, 0x200f) || is_between(0x2028, 0x202e) ||
         is_between(0x2060, 0x206f) || c == 0x3164 || c == 0xfeff || c == 0xffa0 || is_between(0xfff0, 0xfffb) ||
         is_between(0x1bca0, 0x1bca3) || is_between(0x1d173, 0x1d17a) || is_between(0xe0000, 0xe00ff) ||
         is_between(0xe01f0, 0xe0fff);
}

bool is_blank(char32_t c) {
  return c == 0x20 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 ||
         c == 0x202f || c == 0x205f || c == 0x3000;
}

namespace {
bool is_space(char32_t c) { return is_blank(c) || (c >= 0x09 && c <= 0x0d) || c == 0x85; }
}  // namespace

bool is_blank_text(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (static_cast<unsigned char>(c) > 0x20 && static_cast<unsigned char>(c) < 0x7f) return false;
    if (!is_space(next_character(text, at))) return false;
  }
  return true;
}

std::string_view trim(std::string_view text) {
  std::size_t first = text.size(), last = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t start = at;
    if (is_space(next_character(text, at))) continue;
    if (first == text.size()) first = start;
    last = at;
  }
  return first >= last ? std::string_view{} : text.substr(first, last - first);
}

void append_escape(std::string& out, char32_t c) {
  static constexpr char kDigits[] = "0123456789abcdef";
  out += "\\u{";
  bool leading = true;
  for (int shift = 20; shift >= 0; shift -= 4) {
    const unsigned digit = static_cast<unsigned>(c >> shift) & 0x0f;
    if (leading && digit == 0 && shift > 0) continue;
    leading = false;
    out += kDigits[digit];
  }
  out += '}';
}

std::string printable(std::string_view text, std::size_t characters_max) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  std::size_t shown = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (shown++ == characters_max) {
      out += "... (" + std::to_string(text.size() - at) + " more bytes)";
      break;
    }
    if (sequence_length(text, at) == 0) {
      const auto byte = static_cast<unsigned char>(text[at++]);
      out += "\\x";
      out += kDigits[byte >> 4];
      out += kDigits[byte & 0x0f];
      continue;
    }
    const char32_t c = next_character(text, at);
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else if (is_control(c) || is_hidden(c)) {
      append_escape(out, c);
    } else {
      append_utf8(out, c);
    }
  }
  return out;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  std::size_t start = 0;
  for (std::size_t at; (at = text.find(separator, start)) != std::string_view::npos; start = at + 1)
    parts.push_back(text.substr(start, at - start));
  parts.push_back(text.substr(start));
  return parts;
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out += separator;
    out += parts[i];
  }
  return out;
}

}  // namespace baton
