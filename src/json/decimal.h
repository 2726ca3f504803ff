// SPDX-License-Identifier: Apache-2.0
// Decimal arithmetic on JSON numbers, because a bound on money must not be judged in binary: 0.1 + 0.2 <= 0.3 holds.
//
// A Decimal is exact while it fits 38 digits with at most 18 after the point; beyond that it falls back to a double and
// says so (exact() is false).
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace baton::json {

// The digits of a JSON number without the text's accidents: value = 0.DIGITS x 10^exponent, no leading or trailing zeros.
struct NumberParts {
  bool negative = false;
  std::string digits;         // empty for zero
  std::int64_t exponent = 0;  // where the point stands, counted from the first digit
  bool exponent_overflow =
      false;  // written as d.ddd, the exponent has more than 9 digits; `exponent` may only have the right sign
};

// `text` must be a JSON number.
NumberParts number_parts(std::string_view text);

// Do two JSON numbers name the same value? Exact, whatever their size.
bool same_number(std::string_view left, std::string_view right);

// Is it a whole number (3, 3.0 and 3e2 are)?
bool is_integer(std::string_view number_text);

// The whole number as 64 bits, when it is one and fits.
std::optional<std::int64_t> to_int64(std::string_view number_text);

// The nearest double; infinite when it is beyond them.
double to_double(std::string_view number_text);

class Decimal {
 public:
  Decimal() = default;
  explicit Decimal(std::int64_t value) : coefficient_(value) {}
  // `text` must be a JSON number.
  static Decimal from_number(std::string_view text);

  bool exact() const { return exact_; }
  double approximate() const;
  std::string text() const;  // plain decimal notation, no trailing zeros

  Decimal operator-() const;
  friend Decimal operator+(const Decimal& left, const Decimal& right);
  friend Decimal operator-(const Decimal& left, const Decimal& right) { return left + (-right); }
  friend Decimal operator*(const Decimal& left, const Decimal& right);
  friend std::partial_ordering operator<=>(const Decimal& left, const Decimal& right);
  friend bool operator==(const Decimal& left, const Decimal& right) { return (left <=> right) == 0; }

 private:
  static Decimal inexact(double value);
  void trim();

  __extension__ using Wide = __int128;
  Wide coefficient_ = 0;  // value = coefficient / 10^scale
  int scale_ = 0;         // 0..18
  bool exact_ = true;
  double approximate_ = 0;  // when not exact
};

}  // namespace baton::json
