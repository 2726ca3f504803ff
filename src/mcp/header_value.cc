// SPDX-License-Identifier: Apache-2.0
#include "mcp/header_value.h"

#include <algorithm>
#include <cstdint>

#include "base/text.h"

namespace baton::mcp {

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::string out;
  std::uint32_t bits = 0;
  std::size_t padding = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    std::uint32_t value = 0;
    if (c == '=' && at + 2 >= text.size()) ++padding;
    else if (padding != 0) return std::nullopt;
    else if (is_upper(c)) value = static_cast<std::uint32_t>(c - 'A');
    else if (is_lower(c)) value = static_cast<std::uint32_t>(c - 'a') + 26;
    else if (is_digit(c)) value = static_cast<std::uint32_t>(c - '0') + 52;
    else if (c == '+') value = 62;
    else if (c == '/') value = 63;
    else return std::nullopt;
    bits = bits << 6 | value;
    if (at % 4 != 3) continue;
    for (const int shift : {16, 8, 0}) out += static_cast<char>(bits >> shift & 0xff);
    bits = 0;
  }
  // What the padding stands for is no byte, and has to be zero: each value is written in one way only.
  for (; padding > 0; --padding) {
    if (out.back() != 0) return std::nullopt;
    out.pop_back();
  }
  return out;
}

std::string encoded_value(std::string_view text) {
  bool is_plain = !text.starts_with(' ') && !text.ends_with(' ') && !text.starts_with("=?");
  for (const char c : text) is_plain = is_plain && c >= 0x20 && c < 0x7f;
  if (is_plain) return std::string(text);
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out = "=?base64?";
  for (std::size_t at = 0; at < text.size(); at += 3) {
    std::uint32_t held = 0;
    for (std::size_t i = 0; i < 3; ++i)
      held = (held << 8) | (at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u);
    for (std::size_t i = 0; i < 4; ++i) out += at + i <= text.size() ? kLetters[(held >> (18 - 6 * i)) & 63] : '=';
  }
  return out + "?=";
}

std::optional<std::string> decoded_value(std::string_view value) {
  constexpr std::string_view kBegin = "=?base64?", kEnd = "?=";
  value = trim(value);
  if (std::ranges::any_of(
          value, [](char c) { return (c < ' ' && c != '\t') || c == 0x7f || static_cast<signed char>(c) < 0; }))
    return std::nullopt;
  if (value.size() < kBegin.size() + kEnd.size() || !value.starts_with(kBegin) || !value.ends_with(kEnd))
    return std::string(value);
  return from_base64(value.substr(kBegin.size(), value.size() - kBegin.size() - kEnd.size()));
}

}  // namespace baton::mcp
