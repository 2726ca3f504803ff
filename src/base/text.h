// SPDX-License-Identifier: Apache-2.0
// Small questions about bytes and characters. Text is UTF-8 in std::string / std::string_view throughout.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace baton {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
constexpr bool is_lower_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }
constexpr bool is_alphanumeric(char c) { return is_digit(c) || is_lower(c) || is_upper(c); }
// The value of a hexadecimal digit of either case; -1 for anything else.
constexpr int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}
constexpr char to_lower(char c) { return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c; }

std::string to_lower_ascii(std::string_view text);

// Lower-case hexadecimal.
std::string hex(std::span<const std::uint8_t> bytes);

// left == right, for short texts: names and words. It calls nothing, and has no branch for each byte.
inline bool same_text(std::string_view left, std::string_view right) {
  const std::size_t size = left.size();
  if (size != right.size()) return false;
  const char *a = left.data(), *b = right.data();
  const auto differ = [&]<class Word>(Word, std::size_t at) {
    Word x, y;
    std::memcpy(&x, a + at, sizeof(Word));
    std::memcpy(&y, b + at, sizeof(Word));
    return x ^ y;
  };
  // Words from both ends, which overlap in the middle.
  if (size > 16) return std::memcmp(a, b, size) == 0;
  if (size >= 8) return (differ(std::uint64_t{}, 0) | differ(std::uint64_t{}, size - 8)) == 0;
  if (size >= 4) return (differ(std::uint32_t{}, 0) | differ(std::uint32_t{}, size - 4)) == 0;
  if (size == 0) return true;
  return a[0] == b[0] && a[size / 2] == b[size / 2] && a[size - 1] == b[size - 1];
}

// Every byte is below 0x80.
bool is_ascii(std::string_view text);

// The first byte that does not belong to well-formed UTF-8 (no overlong forms, no surrogates, nothing above U+10FFFF);
// text.size() when all do.
std::size_t find_invalid_utf8(std::string_view text);

// Reads the character at `at` and moves past it. The text must be valid UTF-8 and `at` in it.
char32_t next_character(std::string_view text, std::size_t& at);
void append_utf8(std::string& out, char32_t character);

// How many characters (code points) valid UTF-8 holds.
std::size_t count_characters(std::string_view text);

bool is_control(char32_t character);  // Unicode Cc
bool is_blank(char32_t character);    // Unicode Zs, Zl or Zp

// Empty, or nothing but blanks and white space (tab, line feed and their kind).
bool is_blank_text(std::string_view text);

// The text without leading and trailing blanks and white space.
std::string_view trim(std::string_view text);

// For showing text somebody else wrote: control characters, bidirectional controls and zero-width characters become
// visible escapes, invalid bytes become `\xNN`, so that nothing can hide or move the cursor. Cut at `characters_max`
// characters, saying how much was left out.
std::string printable(std::string_view text, std::size_t characters_max = SIZE_MAX);

std::vector<std::string_view> split(std::string_view text, char separator);
std::string join(const std::vector<std::string>& parts, std::string_view separator);

}  // namespace baton
