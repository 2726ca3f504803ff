// SPDX-License-Identifier: Apache-2.0
#include "base/look_alikes.h"

#include <algorithm>

#include "base/hidden_characters.h"
#include "base/text.h"

namespace baton {
namespace {

// Latin, Greek, Cyrillic, Armenian, Hebrew, Arabic, Cherokee, phonetic letters, Georgian, Coptic, Tifinagh; sorted.
constexpr char32_t kLetters[] = {
    0x131,  0x17f,  0x184,  0x18d,  0x192,  0x1a6,  0x1bd,  0x1c0,  0x1c3,  0x237,  0x251,  0x261,  0x263,  0x269,
    0x26a,  0x26f,  0x28b,  0x28f,  0x37f,  0x391,  0x392,  0x395,  0x396,  0x397,  0x399,  0x39a,  0x39c,  0x39d,
    0x39f,  0x3a1,  0x3a4,  0x3a5,  0x3a7,  0x3b1,  0x3b3,  0x3b9,  0x3ba,  0x3bd,  0x3bf,  0x3c1,  0x3c3,  0x3c4,
    0x3c5,  0x3c7,  0x3c9,  0x3dc,  0x3f2,  0x3f3,  0x3f9,  0x3fa,  0x405,  0x406,  0x408,  0x410,  0x412,  0x415,
    0x417,  0x41a,  0x41c,  0x41d,  0x41e,  0x420,  0x421,  0x422,  0x423,  0x425,  0x42c,  0x430,  0x433,  0x435,
    0x43a,  0x43e,  0x43f,  0x440,  0x441,  0x442,  0x443,  0x445,  0x448,  0x44c,  0x455,  0x456,  0x457,  0x458,
    0x461,  0x474,  0x475,  0x4ae,  0x4af,  0x4bb,  0x4bd,  0x4c0,  0x4cf,  0x4d4,  0x4d5,  0x4e0,  0x501,  0x50c,
    0x51a,  0x51b,  0x51c,  0x51d,  0x54d,  0x54f,  0x555,  0x561,  0x563,  0x566,  0x56c,  0x570,  0x578,  0x57a,
    0x57c,  0x57d,  0x581,  0x584,  0x585,  0x5c0,  0x5d5,  0x5d8,  0x5df,  0x5e1,  0x627,  0x647,  0x6be,  0x6c1,
    0x6d5,  0x10e7, 0x10ff, 0x13a0, 0x13a1, 0x13a2, 0x13a5, 0x13a9, 0x13aa, 0x13ab, 0x13ac, 0x13b3, 0x13b7, 0x13bb,
    0x13be, 0x13c0, 0x13c2, 0x13c3, 0x13ce, 0x13cf, 0x13d2, 0x13d4, 0x13d5, 0x13d9, 0x13da, 0x13de, 0x13df, 0x13e2,
    0x13e6, 0x13e7, 0x13f3, 0x13f4, 0x1d00, 0x1d04, 0x1d05, 0x1d07, 0x1d0a, 0x1d0b, 0x1d0d, 0x1d0f, 0x1d11, 0x1d18,
    0x1d1b, 0x1d1c, 0x1d20, 0x1d21, 0x1d22, 0x1d26, 0x1d83, 0x1e9d, 0x1eff, 0x2c7c, 0x2c82, 0x2c85, 0x2c8e, 0x2c92,
    0x2c93, 0x2c94, 0x2c98, 0x2c9c, 0x2c9e, 0x2c9f, 0x2ca2, 0x2ca3, 0x2ca4, 0x2ca5, 0x2ca6, 0x2ca8, 0x2cac, 0x2d38,
    0x2d39, 0x2d4f, 0x2d54, 0x2d55, 0x2d5d};

bool is_between(char32_t c, char32_t first, char32_t last) { return first <= c && c <= last; }

// Alphabets that exist to look like ASCII: nobody writes a text in them.
bool is_styled(char32_t c) {
  return is_between(c, 0x1d400, 0x1d7ff) || is_between(c, 0x1f130, 0x1f189) || is_between(c, 0x249c, 0x24e9) ||
         is_between(c, 0x1fbf0, 0x1fbf9) || c == 0x2102 || c == 0x210a || c == 0x210b || c == 0x210c || c == 0x210d ||
         c == 0x210e || c == 0x2110 || c == 0x2111 || c == 0x2112 || c == 0x2113 || c == 0x2115 || c == 0x2119 ||
         c == 0x211a || c == 0x211b || c == 0x211c || c == 0x211d || c == 0x2124 || c == 0x2128 || c == 0x212a ||
         c == 0x212c || c == 0x212d || c == 0x212f || c == 0x2130 || c == 0x2131 || c == 0x2133 || c == 0x2134 ||
         c == 0x2139 || is_between(c, 0x2145, 0x2149);
}

bool is_letter_like(char32_t c) {
  return std::binary_search(std::begin(kLetters), std::end(kLetters), c) || is_styled(c) ||
         is_between(c, 0x2160, 0x217f) ||  // Roman numerals
         is_between(c, 0xa4d0, 0xa4f7) ||  // Lisu
         is_between(c, 0xff10, 0xff19) || is_between(c, 0xff21, 0xff3a) || is_between(c, 0xff41, 0xff5a);  // fullwidth
}

// Of the signs of shells, paths and URLs.
bool is_sign_like(char32_t c) {
  return is_between(c, 0xff01, 0xff0f) || is_between(c, 0xff1a, 0xff20) || is_between(c, 0xff3b, 0xff40) ||
         is_between(c, 0xff5b, 0xff5e) || is_between(c, 0xfe50, 0xfe6b) || is_between(c, 0x2010, 0x2015) ||
         is_between(c, 0x2018, 0x201f) || is_between(c, 0x2032, 0x2037) || c == 0x2024 || c == 0x2025 || c == 0x2026 ||
         c == 0x2039 || c == 0x203a || c == 0x2041 || c == 0x2043 || c == 0x2044 || c == 0x204e || c == 0x204f ||
         c == 0x2053 || c == 0x2212 || c == 0x2215 || c == 0x2216 || c == 0x2217 || c == 0x2223 || c == 0x2228 ||
         c == 0x2236 || c == 0x223c || c == 0x22c5 || c == 0x2500 || c == 0x2502 || c == 0x2571 || c == 0x2572 ||
         c == 0x2758 || c == 0x2768 || c == 0x2769 || c == 0x276e || c == 0x276f || c == 0x2774 || c == 0x2775 ||
         c == 0x27cb || c == 0x27cd || c == 0x27e8 || c == 0x27e9 || c == 0x29f5 || c == 0x29f8 || c == 0x29f9 ||
         c == 0x2e1d || c == 0x2e31 || c == 0x3002 || c == 0x3014 || c == 0x3015 || c == 0x37e || c == 0x387 ||
         c == 0x2b9 || c == 0x2bb || c == 0x2bc || c == 0x2bd || c == 0x2c2 || c == 0x2c3 || c == 0x2c8 || c == 0x2cb ||
         c == 0x2d0 || c == 0x2d7 || c == 0x2dc || c == 0x384 || c == 0x374 || c == 0x589 || c == 0x5c3 || c == 0x5be ||
         c == 0x5f3 || c == 0x5f4 || c == 0x60c || c == 0x61b || c == 0x66a || c == 0x66d || c == 0xb4 || c == 0xb7 ||
         c == 0xa789 || c == 0xa78c || c == 0xa6f4 || c == 0x1806 || c == 0x1c80 || c == 0xd7 || c == 0xab || c == 0xbb;
}

// Drawn over or beside the character before: `a` with a slash through it. And the selectors of a variant, which are seen by emoji alone.
bool is_overlay(char32_t c) { return is_between(c, 0x334, 0x338) || is_between(c, 0xfe00, 0xfe0f) || c == 0x20e5; }

bool is_other_blank(char32_t c) { return (is_blank(c) && c != ' ') || c == 0x2800; }

// What a reader takes for one word.
bool is_of_word(char32_t c) {
  if (c < 0x80) return is_alphanumeric(static_cast<char>(c)) || c == '_';
  return !is_other_blank(c) && !is_sign_like(c) && !is_control(c) && !is_between(c, 0x3000, 0x303f);
}

// Calls `body(character, at, length, is_marked)` for each character; of bytes that are no UTF-8 with length 1 and character 0.
template <class Body>
void for_each_marked(std::string_view text, Where where, Body body) {
  std::size_t valid_end = find_invalid_utf8(text);
  bool word_is_mixed = false;
  std::size_t word_end = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (at >= valid_end) {
      body(char32_t{0}, at, std::size_t{1}, true);
      ++at;
      valid_end = at + find_invalid_utf8(text.substr(at));
      continue;
    }
    std::size_t next = at;
    const char32_t c = next_character(text.substr(0, valid_end), next);
    if (at >= word_end && is_of_word(c)) {
      bool has_ascii = false;
      std::size_t end = at;
      while (end < valid_end) {
        std::size_t after = end;
        const char32_t one = next_character(text, after);
        if (!is_of_word(one)) break;
        has_ascii |= one < 0x80 && (is_lower(static_cast<char>(one)) || is_upper(static_cast<char>(one)));
        end = after;
      }
      word_end = end;
      word_is_mixed = has_ascii;
    }
    bool marked = is_control(c) || is_hidden(c) || is_styled(c);
    if (where == Where::Machine) marked |= is_look_alike(c) || is_overlay(c);
    else marked |= is_letter_like(c) && at < word_end && word_is_mixed;
    body(c, at, next - at, marked);
    at = next;
  }
}

}  // namespace

bool is_executed_name(std::string_view name) {
  static constexpr std::string_view kNames[] = {
      "arg",     "args",         "argv",      "arguments_text", "cmd",           "cmdline", "code",
      "command", "command_line", "commands",  "eval",           "exact_content", "exec",    "expression",
      "line",    "lines",        "program",   "query",          "run",           "script",  "shell",
      "sql",     "source_code",  "statement", "stdin",          "uses"};
  const std::string lower = to_lower_ascii(name);
  return std::find(std::begin(kNames), std::end(kNames), lower) != std::end(kNames);
}

Where where_read(std::string_view name, std::string_view text) {
  static constexpr std::string_view kNames[] = {"tool", "path", "file", "file_path", "filename", "url",
                                                "uri",  "host", "cwd",  "pattern",   "branch",   "remote"};
  const std::string lower = to_lower_ascii(name);
  return is_executed_name(name) || std::find(std::begin(kNames), std::end(kNames), lower) != std::end(kNames) ||
                 text.find('/') != std::string_view::npos
             ? Where::Machine
             : Where::Prose;
}

bool is_look_alike(char32_t c) { return c >= 0x80 && (is_letter_like(c) || is_sign_like(c) || is_other_blank(c)); }

bool has_look_alikes(std::string_view text, Where where) {
  bool any = false;
  for_each_marked(text, where, [&](char32_t c, std::size_t, std::size_t, bool marked) {
    any |= marked && c != '\n' && c != '\t' && c != '\r';
  });
  return any;
}

std::string with_look_alikes_marked(std::string_view text, Where where) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for_each_marked(text, where, [&](char32_t c, std::size_t at, std::size_t length, bool marked) {
    if (!marked) {
      out.append(text, at, length);
    } else if (length == 1 && static_cast<unsigned char>(text[at]) >= 0x80) {
      const auto byte = static_cast<unsigned char>(text[at]);
      out.append("<0x").append({kDigits[byte >> 4], kDigits[byte & 15]}).append(">");
    } else {
      out += "<U+";
      for (int shift = c > 0xffff ? (c > 0xfffff ? 20 : 16) : 12; shift >= 0; shift -= 4)
        out += kDigits[c >> shift & 15];
      out += '>';
    }
  });
  return out;
}

}  // namespace baton
