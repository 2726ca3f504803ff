// SPDX-License-Identifier: Apache-2.0
// Decimal arithmetic on JSON numbers, because a bound on money must not be judged in binary: 0.1 + 0.2 <= 0.3 holds.
//
// A Decimal is exact at any length; there is no fallback to binary. Up to 37 digits with at most 18 after the point are one
// integer, which is nearly every number; longer ones are digits in memory.
//
// A short text can name a number that nobody can write out (1e999999999). Numbers that are added up or remembered must pass
// is_within_digits(); the caller checks it where a number comes in.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace baton::json {

class Node;

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

// Has the number at most limits::kNumberDigitsMax digits when it is written out without an exponent (1e3 has four, 1e-3 has
// four)? Zeros that do not change the value do not count.
bool is_within_digits(std::string_view number_text);
// Has every number of the value? The other gives the first that has not, or no node.
bool are_within_digits(Node node);
Node number_beyond_digits(Node node);
// Has every number of the value a canonical form? One with an exponent of more than nine digits has none.
bool are_writable(Node node);

class Decimal {
 public:
  Decimal() = default;
  explicit Decimal(std::int64_t value) : coefficient_(value) {}
  // `text` must be a JSON number. The point of one beyond a hundred thousand places is moved there: it stays larger, or
  // smaller, than every number that is_within_digits().
  static Decimal from_number(std::string_view text);

  std::string text() const;  // plain decimal notation, no trailing zeros
  // The least whole number that is not below it, held between 0 and `most`.
  std::int64_t rounded_up(std::int64_t most) const;

  Decimal operator-() const;
  friend Decimal operator+(const Decimal& left, const Decimal& right);
  friend Decimal operator-(const Decimal& left, const Decimal& right) { return left + (-right); }
  friend Decimal operator*(const Decimal& left, const Decimal& right);
  friend std::strong_ordering operator<=>(const Decimal& left, const Decimal& right);
  friend bool operator==(const Decimal& left, const Decimal& right) { return (left <=> right) == 0; }

 private:
  static Decimal of(NumberParts parts);
  NumberParts parts() const;
  void trim();

  __extension__ using Wide = __int128;
  Wide coefficient_ = 0;                      // value = coefficient / 10^scale
  int scale_ = 0;                             // 0..18
  std::shared_ptr<const NumberParts> large_;  // what does not fit; then the two above say nothing
};

}  // namespace baton::json
