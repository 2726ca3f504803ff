// SPDX-License-Identifier: Apache-2.0
#include "yaml/scalar.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/limits.h"
#include "base/text.h"

namespace baton::yaml {
namespace {

using json::Kind;

struct Word {
  std::string_view plain;
  Kind kind;
  std::string_view json;
};
constexpr std::array kWords = {
    Word{"", Kind::Null, "null"},          Word{"~", Kind::Null, "null"},         Word{"null", Kind::Null, "null"},
    Word{"Null", Kind::Null, "null"},      Word{"NULL", Kind::Null, "null"},      Word{"true", Kind::Boolean, "true"},
    Word{"True", Kind::Boolean, "true"},   Word{"TRUE", Kind::Boolean, "true"},   Word{"false", Kind::Boolean, "false"},
    Word{"False", Kind::Boolean, "false"}, Word{"FALSE", Kind::Boolean, "false"},
};

constexpr std::array<std::string_view, 12> kNotFinite = {".inf",  ".Inf",  ".INF",  "+.inf", "+.Inf", "+.INF",
                                                         "-.inf", "-.Inf", "-.INF", ".nan",  ".NaN",  ".NAN"};

// The booleans of YAML 1.1 that YAML 1.2 made strings.
constexpr std::array<std::string_view, 16> kWordsOfYaml11 = {"y", "Y", "yes", "Yes", "YES", "on",  "On",  "ON",
                                                             "n", "N", "no",  "No",  "NO",  "off", "Off", "OFF"};
constexpr std::size_t kWordBytesMax = 5;  // of all three tables

// A whole number of another base in decimal digits: nine of them to a limb, the lowest first.
std::string decimal_digits(std::string_view digits, std::uint32_t base) {
  constexpr std::uint32_t kLimb = 1'000'000'000;
  std::vector<std::uint32_t> limbs = {0};
  for (const char digit : digits) {
    std::uint64_t carry = static_cast<std::uint64_t>(hex_value(digit));
    for (std::uint32_t& limb : limbs) {
      carry += std::uint64_t{limb} * base;
      limb = static_cast<std::uint32_t>(carry % kLimb);
      carry /= kLimb;
    }
    if (carry != 0) limbs.push_back(static_cast<std::uint32_t>(carry));
  }
  std::string out = std::to_string(limbs.back());
  for (std::size_t at = limbs.size() - 1; at-- > 0;) {
    const std::string piece = std::to_string(limbs[at]);
    out.append(9 - piece.size(), '0');
    out += piece;
  }
  return out;
}

// `0o17` and `0xff`, which have no sign.
std::optional<Scalar> radix_number(std::string_view plain) {
  const bool octal = plain.starts_with("0o");
  if (!octal && !plain.starts_with("0x")) return std::nullopt;
  const int base = octal ? 8 : 16;
  std::string_view digits = plain.substr(2);
  if (digits.empty()) return std::nullopt;
  for (const char digit : digits)
    if (hex_value(digit) < 0 || hex_value(digit) >= base) return std::nullopt;
  if (digits.size() > limits::kYamlRadixDigitsMax) return Scalar{Kind::Number, {}, "has too many digits"};
  return Scalar{Kind::Number, decimal_digits(digits, static_cast<std::uint32_t>(base))};
}

// [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?
std::optional<Scalar> decimal_number(std::string_view plain) {
  std::size_t at = 0;
  const auto next_is = [&](std::string_view characters) {
    return at < plain.size() && characters.find(plain[at]) != std::string_view::npos;
  };
  const auto digits = [&] {
    const std::size_t first = at;
    while (at < plain.size() && is_digit(plain[at])) ++at;
    return plain.substr(first, at - first);
  };
  const bool negative = next_is("-");
  if (next_is("+-")) ++at;
  std::string_view whole = digits(), fraction;
  if (next_is(".")) {
    ++at;
    fraction = digits();
  }
  if (whole.empty() && fraction.empty()) return std::nullopt;
  std::string exponent;
  if (next_is("eE")) {
    exponent = "e";
    ++at;
    if (next_is("+-")) exponent.push_back(plain[at++]);
    const std::string_view power = digits();
    if (power.empty()) return std::nullopt;
    exponent += power;
  }
  if (at != plain.size()) return std::nullopt;

  const bool leading_zero = whole.size() > 1 && whole[0] == '0';
  whole.remove_prefix(std::min(whole.find_first_not_of('0'), whole.size()));
  std::string out = negative ? "-" : "";
  out += whole.empty() ? "0" : whole;
  if (!fraction.empty()) (out += '.') += fraction;
  out += exponent;
  return Scalar{Kind::Number, std::move(out), {}, leading_zero ? Ambiguity::LeadingZero : Ambiguity::None};
}

}  // namespace

Scalar resolve(std::string_view plain) {
  if (plain.size() <= kWordBytesMax) {
    for (const Word& word : kWords)
      if (plain == word.plain) return {word.kind, std::string(word.json)};
    if (std::ranges::find(kNotFinite, plain) != kNotFinite.end()) return {Kind::Number, {}, "is not finite"};
    if (std::ranges::find(kWordsOfYaml11, plain) != kWordsOfYaml11.end())
      return {Kind::String, {}, {}, Ambiguity::Word};
  }
  if (auto number = radix_number(plain)) return *std::move(number);
  if (auto number = decimal_number(plain)) return *std::move(number);
  return {};
}

}  // namespace baton::yaml
