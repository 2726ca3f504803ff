// SPDX-License-Identifier: Apache-2.0
// Inside the detector: which characters tokens, values, names and runs are made of, and comparing without regard to
// case. All of it is inline: the first look asks these questions for single characters.
//
// Text is bytes, not UTF-8: what is not ASCII belongs to kAny and kUserinfo only.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "base/check.h"
#include "base/text.h"
#include "secrets/rules.h"

namespace baton::secrets {

using CharacterSet = std::array<bool, 256>;

template <class Predicate>
constexpr CharacterSet set_of(Predicate holds) {
  CharacterSet set{};
  for (int c = 0; c < 256; ++c) set[static_cast<std::size_t>(c)] = holds(static_cast<char>(c));
  return set;
}

// The classes of Tail, then what values, runs, names and user:password are made of.
inline constexpr CharacterSet kAny = set_of([](char) { return true; });
inline constexpr CharacterSet kLowerHex = set_of(is_lower_hex);
inline constexpr CharacterSet kAlphanumeric = set_of(is_alphanumeric);
inline constexpr CharacterSet kWide =
    set_of([](char c) { return is_alphanumeric(c) || std::string_view("_~.=+/-").find(c) != std::string_view::npos; });
inline constexpr const CharacterSet& kValue = kWide;
inline constexpr CharacterSet kRun =
    set_of([](char c) { return is_alphanumeric(c) || c == '+' || c == '/' || c == '_' || c == '-'; });
// Values with punctuation: up to a blank, a quote or a backslash.
inline constexpr CharacterSet kPunctuated =
    set_of([](char c) { return c > ' ' && c < 0x7f && std::string_view("\"'`\\").find(c) == std::string_view::npos; });
// What a shell takes for structure: a finding never extends over it.
inline constexpr CharacterSet kStructure = set_of([](char c) {
  return c == ' ' || (c >= '\t' && c <= '\r') || std::string_view("|;&$()<>\"'`\\").find(c) != std::string_view::npos;
});
inline constexpr CharacterSet kName =
    set_of([](char c) { return is_alphanumeric(c) || c == '_' || c == '-' || c == '.'; });
inline constexpr CharacterSet kUserinfo = set_of([](char c) {
  return c != ' ' && !(c >= '\t' && c <= '\r') && std::string_view("/?#\"'<>\\").find(c) == std::string_view::npos;
});

constexpr bool in(const CharacterSet& set, char c) { return set[static_cast<unsigned char>(c)]; }
constexpr bool is_letter(char c) { return is_lower(c) || is_upper(c); }
constexpr bool is_quote(char c) { return c == '"' || c == '\'' || c == '`'; }

inline const CharacterSet& characters_of(Tail tail) {
  switch (tail) {
    case Tail::Any: return kAny;
    case Tail::LowerHex: return kLowerHex;
    case Tail::Alphanumeric: return kAlphanumeric;
    case Tail::Wide: return kWide;
  }
  CHECK(false);
}

// Compared without regard to case; `lower` has no upper case.
inline bool equals_folded(std::string_view text, std::string_view lower) {
  if (text.size() != lower.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (to_lower(text[i]) != lower[i]) return false;
  }
  return true;
}

inline bool starts_with_folded(std::string_view text, std::string_view lower) {
  return equals_folded(text.substr(0, lower.size()), lower);
}

inline bool ends_with_folded(std::string_view text, std::string_view lower) {
  return text.size() >= lower.size() && equals_folded(text.substr(text.size() - lower.size()), lower);
}

template <class Predicate>
bool all_of(std::string_view text, Predicate holds) {
  return std::all_of(text.begin(), text.end(), holds);
}

}  // namespace baton::secrets
