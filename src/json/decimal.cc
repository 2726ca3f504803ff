// SPDX-License-Identifier: Apache-2.0
#include "json/decimal.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/text.h"

namespace baton::json {

NumberParts number_parts(std::string_view text) {
  NumberParts parts;
  std::size_t at = 0;
  if (at < text.size() && text[at] == '-') parts.negative = true, ++at;
  std::int64_t point = 0;  // digits before the point
  bool after_point = false;
  for (; at < text.size() && text[at] != 'e' && text[at] != 'E'; ++at) {
    if (text[at] == '.') {
      after_point = true;
      continue;
    }
    parts.digits.push_back(text[at]);
    if (!after_point) ++point;
  }
  if (at < text.size()) {
    ++at;
    const bool negative = at < text.size() && text[at] == '-';
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
    std::int64_t value = 0;
    for (; at < text.size(); ++at) {
      value = std::min<std::int64_t>(value * 10 + (text[at] - '0'), 10'000'000'000);
    }
    point += negative ? -value : value;
  }
  const std::size_t leading = std::min(parts.digits.find_first_not_of('0'), parts.digits.size());
  parts.digits.erase(0, leading);
  point -= static_cast<std::int64_t>(leading);
  while (!parts.digits.empty() && parts.digits.back() == '0') parts.digits.pop_back();
  if (parts.digits.empty()) return {};  // zero, and minus zero, are one number
  parts.exponent = point;
  parts.exponent_overflow = point - 1 > 999'999'999 || point - 1 < -999'999'999;
  return parts;
}

bool same_number(std::string_view left, std::string_view right) {
  if (left == right) return true;
  const NumberParts a = number_parts(left), b = number_parts(right);
  if (a.exponent_overflow || b.exponent_overflow) return false;
  return a.negative == b.negative && a.exponent == b.exponent && a.digits == b.digits;
}

bool is_integer(std::string_view text) {
  if (text.find_first_of(".eE") == std::string_view::npos) return true;
  const NumberParts parts = number_parts(text);
  return parts.digits.empty() || parts.exponent >= static_cast<std::int64_t>(parts.digits.size());
}

std::optional<std::int64_t> to_int64(std::string_view text) {
  std::int64_t value = 0;
  const auto plain = std::from_chars(text.data(), text.data() + text.size(), value);
  if (plain.ec == std::errc() && plain.ptr == text.data() + text.size()) return value;
  const NumberParts parts = number_parts(text);
  if (parts.digits.empty()) return 0;
  const auto size = static_cast<std::int64_t>(parts.digits.size());
  if (parts.exponent < size || parts.exponent > 19) return std::nullopt;
  std::string digits = (parts.negative ? "-" : "") + parts.digits;
  digits.append(static_cast<std::size_t>(parts.exponent - size), '0');
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (result.ec != std::errc()) return std::nullopt;
  return value;
}

double to_double(std::string_view text) {
  double value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc::result_out_of_range) return value;
  // Too large or too small for a double: from_chars does not say which.
  const NumberParts parts = number_parts(text);
  const double magnitude = parts.exponent > 0 ? std::numeric_limits<double>::infinity() : 0.0;
  return parts.negative ? -magnitude : magnitude;
}

Decimal Decimal::inexact(double value) {
  Decimal out;
  out.exact_ = false;
  out.approximate_ = value;
  return out;
}

void Decimal::trim() {
  while (scale_ > 0 && coefficient_ % 10 == 0) coefficient_ /= 10, --scale_;
}

Decimal Decimal::from_number(std::string_view text) {
  const NumberParts parts = number_parts(text);
  if (parts.digits.empty()) return {};
  const auto size = static_cast<std::int64_t>(parts.digits.size());
  const std::int64_t scale = size - parts.exponent;
  const std::int64_t zeros = std::max<std::int64_t>(-scale, 0);
  if (scale > 18 || size + zeros > 37) return inexact(to_double(text));
  Decimal out;
  for (const char digit : parts.digits) out.coefficient_ = out.coefficient_ * 10 + (digit - '0');
  for (std::int64_t i = 0; i < zeros; ++i) out.coefficient_ *= 10;
  if (parts.negative) out.coefficient_ = -out.coefficient_;
  out.scale_ = static_cast<int>(std::max<std::int64_t>(scale, 0));
  return out;
}

double Decimal::approximate() const {
  return exact_ ? static_cast<double>(static_cast<long double>(coefficient_) / std::pow(10.0L, scale_)) : approximate_;
}

Decimal Decimal::operator-() const {
  if (!exact_) return inexact(-approximate_);
  Decimal out = *this;
  out.coefficient_ = -out.coefficient_;
  return out;
}

namespace {

// Multiplies by ten `times` times; false when that does not fit.
template <class Wide>
bool scale_up(Wide& value, int times) {
  for (int i = 0; i < times; ++i)
    if (__builtin_mul_overflow(value, Wide{10}, &value)) return false;
  return true;
}

}  // namespace

Decimal operator+(const Decimal& left, const Decimal& right) {
  if (left.exact_ && right.exact_) {
    Decimal a = left, b = right;
    const int scale = std::max(a.scale_, b.scale_);
    Decimal out;
    if (scale_up(a.coefficient_, scale - a.scale_) && scale_up(b.coefficient_, scale - b.scale_) &&
        !__builtin_add_overflow(a.coefficient_, b.coefficient_, &out.coefficient_)) {
      out.scale_ = scale;
      out.trim();
      return out;
    }
  }
  return Decimal::inexact(left.approximate() + right.approximate());
}

Decimal operator*(const Decimal& left, const Decimal& right) {
  if (left.exact_ && right.exact_) {
    Decimal out;
    if (!__builtin_mul_overflow(left.coefficient_, right.coefficient_, &out.coefficient_)) {
      out.scale_ = left.scale_ + right.scale_;
      out.trim();
      if (out.scale_ <= 18) return out;
    }
  }
  return Decimal::inexact(left.approximate() * right.approximate());
}

std::partial_ordering operator<=>(const Decimal& left, const Decimal& right) {
  if (left.exact_ && right.exact_) {
    Decimal a = left, b = right;
    const int scale = std::max(a.scale_, b.scale_);
    if (scale_up(a.coefficient_, scale - a.scale_) && scale_up(b.coefficient_, scale - b.scale_)) {
      if (a.coefficient_ == b.coefficient_) return std::partial_ordering::equivalent;
      return a.coefficient_ < b.coefficient_ ? std::partial_ordering::less : std::partial_ordering::greater;
    }
  }
  return left.approximate() <=> right.approximate();
}

std::string Decimal::text() const {
  if (!exact_) {
    char buffer[32];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, approximate_);
    return {buffer, end.ptr};
  }
  Wide value = coefficient_ < 0 ? -coefficient_ : coefficient_;
  std::string digits;
  do digits.push_back(static_cast<char>('0' + static_cast<int>(value % 10)));
  while ((value /= 10) != 0);
  while (digits.size() <= static_cast<std::size_t>(scale_)) digits.push_back('0');
  std::reverse(digits.begin(), digits.end());
  if (scale_ > 0) digits.insert(digits.size() - static_cast<std::size_t>(scale_), 1, '.');
  if (coefficient_ < 0) digits.insert(0, 1, '-');
  return digits;
}

}  // namespace baton::json
