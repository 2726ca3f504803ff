// SPDX-License-Identifier: Apache-2.0
#include "json/decimal.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <vector>

#include "base/limits.h"
#include "base/text.h"
#include "json/document.h"

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

bool is_within_digits(std::string_view text) {
  constexpr auto kMax = static_cast<std::int64_t>(limits::kNumberDigitsMax);
  if (text.size() <= limits::kNumberDigitsMax && text.find_first_of("eE") == std::string_view::npos) return true;
  const NumberParts parts = number_parts(text);
  const auto size = static_cast<std::int64_t>(parts.digits.size());
  if (size > kMax || parts.exponent > kMax) return false;
  // Before the point stands at least a zero.
  return size == 0 ||
         std::max<std::int64_t>(parts.exponent, 1) + std::max<std::int64_t>(size - parts.exponent, 0) <= kMax;
}

namespace {

// The first number that does not meet it; no node: all do.
template <class Meets>
Node first_number_not(Node node, const Meets& meets) {
  if (node.is_number()) return meets(node.number_text()) ? Node() : node;
  for (const Node element : node.elements())
    if (const Node found = first_number_not(element, meets)) return found;
  for (const Member member : node.members())
    if (const Node found = first_number_not(member.value, meets)) return found;
  return {};
}

}  // namespace

Node number_beyond_digits(Node node) {
  if (!node || node.document()->has_plain_numbers()) return {};
  return first_number_not(node, is_within_digits);
}

bool are_within_digits(Node node) { return !number_beyond_digits(node); }

bool are_writable(Node node) {
  if (!node || node.document()->has_plain_numbers()) return true;
  return !first_number_not(node, [](std::string_view text) { return !number_parts(text).exponent_overflow; });
}

namespace {

// Ten times what is_within_digits() lets through, so that no sum or product of such numbers gets there.
constexpr std::int64_t kExponentMax = 10 * static_cast<std::int64_t>(limits::kNumberDigitsMax);

// What fits one integer: so many digits, so many of them after the point.
constexpr std::int64_t kSmallDigits = 37, kSmallScale = 18;

// No zeros at either end, and no sign of nothing.
NumberParts stripped(NumberParts parts) {
  const std::size_t leading = std::min(parts.digits.find_first_not_of('0'), parts.digits.size());
  parts.digits.erase(0, leading);
  parts.exponent -= static_cast<std::int64_t>(leading);
  while (!parts.digits.empty() && parts.digits.back() == '0') parts.digits.pop_back();
  if (parts.digits.empty()) return {};
  return parts;
}

std::strong_ordering compare_sizes(const NumberParts& left, const NumberParts& right) {
  if (left.digits.empty() || right.digits.empty()) return !left.digits.empty() <=> !right.digits.empty();
  if (left.exponent != right.exponent) return left.exponent <=> right.exponent;
  return left.digits.compare(right.digits) <=> 0;
}

std::strong_ordering compare(const NumberParts& left, const NumberParts& right) {
  const int left_sign = left.digits.empty() ? 0 : (left.negative ? -1 : 1);
  const int right_sign = right.digits.empty() ? 0 : (right.negative ? -1 : 1);
  if (left_sign != right_sign) return left_sign <=> right_sign;
  return left_sign < 0 ? compare_sizes(right, left) : compare_sizes(left, right);
}

// The digits from the place before `top` down to `bottom`, zeros where the number has none.
std::string laid_out(const NumberParts& parts, std::int64_t top, std::int64_t bottom) {
  std::string out(static_cast<std::size_t>(top - parts.exponent), '0');
  out += parts.digits;
  out.resize(static_cast<std::size_t>(top - bottom), '0');
  return out;
}

NumberParts add(const NumberParts& left, const NumberParts& right) {
  if (left.digits.empty()) return right;
  if (right.digits.empty()) return left;
  const auto end = [](const NumberParts& one) { return one.exponent - static_cast<std::int64_t>(one.digits.size()); };
  const std::int64_t top = std::max(left.exponent, right.exponent) + 1;  // room for what is carried
  const std::int64_t bottom = std::min(end(left), end(right));
  const bool left_is_larger = compare_sizes(left, right) >= 0;
  const NumberParts &larger = left_is_larger ? left : right, &other = left_is_larger ? right : left;
  NumberParts out{larger.negative, laid_out(larger, top, bottom), top};
  const bool adds = left.negative == right.negative;
  int carried = 0;
  // Only where the other has digits, and as far up as something is carried: far apart, two short numbers lie on thousands of zeros.
  const auto first = static_cast<std::size_t>(top - other.exponent);
  for (std::size_t i = first + other.digits.size(); i-- > 0;) {
    if (i < first && carried == 0) break;
    const int own = out.digits[i] - '0', its = i < first ? 0 : other.digits[i - first] - '0';
    int digit = adds ? own + its + carried : own - its - carried;
    carried = digit < 0 || digit > 9 ? 1 : 0;
    if (digit < 0) digit += 10;
    out.digits[i] = static_cast<char>('0' + digit % 10);
  }
  return stripped(std::move(out));
}

// Nine digits to a limb, the lowest first.
constexpr std::uint64_t kLimb = 1'000'000'000;
constexpr std::size_t kLimbDigits = 9;

std::vector<std::uint64_t> limbs_of(const std::string& digits) {
  std::vector<std::uint64_t> out;
  for (std::size_t end = digits.size(); end > 0;) {
    const std::size_t begin = end > kLimbDigits ? end - kLimbDigits : 0;
    std::uint64_t limb = 0;
    for (std::size_t i = begin; i < end; ++i) limb = limb * 10 + static_cast<std::uint64_t>(digits[i] - '0');
    out.push_back(limb);
    end = begin;
  }
  return out;
}

NumberParts multiply(const NumberParts& left, const NumberParts& right) {
  if (left.digits.empty() || right.digits.empty()) return {};
  const auto a = limbs_of(left.digits), b = limbs_of(right.digits);
  std::vector<std::uint64_t> product(a.size() + b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::uint64_t carried = 0;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::uint64_t sum = product[i + j] + a[i] * b[j] + carried;
      product[i + j] = sum % kLimb;
      carried = sum / kLimb;
    }
    product[i + b.size()] += carried;
  }
  NumberParts out{left.negative != right.negative, {}, left.exponent + right.exponent};
  for (std::size_t i = product.size(); i-- > 0;) {
    const std::string limb = std::to_string(product[i]);
    out.digits.append(kLimbDigits - limb.size(), '0').append(limb);
  }
  // The point stands so many digits from the right end as in both together.
  out.exponent += static_cast<std::int64_t>(out.digits.size() - left.digits.size() - right.digits.size());
  return stripped(std::move(out));
}

// Multiplies by ten `times` times; false when that does not fit.
template <class Wide>
bool scale_up(Wide& value, int times) {
  for (int i = 0; i < times; ++i)
    if (__builtin_mul_overflow(value, Wide{10}, &value)) return false;
  return true;
}

}  // namespace

void Decimal::trim() {
  while (scale_ > 0 && coefficient_ % 10 == 0) coefficient_ /= 10, --scale_;
}

Decimal Decimal::of(NumberParts parts) {
  Decimal out;
  const auto size = static_cast<std::int64_t>(parts.digits.size());
  if (size == 0) return out;
  const std::int64_t scale = size - parts.exponent, zeros = std::max<std::int64_t>(-scale, 0);
  if (scale > kSmallScale || size + zeros > kSmallDigits) {
    out.large_ = std::make_shared<const NumberParts>(std::move(parts));
    return out;
  }
  for (const char digit : parts.digits) out.coefficient_ = out.coefficient_ * 10 + (digit - '0');
  for (std::int64_t i = 0; i < zeros; ++i) out.coefficient_ *= 10;
  if (parts.negative) out.coefficient_ = -out.coefficient_;
  out.scale_ = static_cast<int>(std::max<std::int64_t>(scale, 0));
  return out;
}

NumberParts Decimal::parts() const {
  if (large_) return *large_;
  NumberParts out{coefficient_ < 0, {}, 0};
  for (Wide left = coefficient_; left != 0; left /= 10) {
    const auto digit = static_cast<int>(left % 10);
    out.digits.push_back(static_cast<char>('0' + (digit < 0 ? -digit : digit)));
  }
  std::ranges::reverse(out.digits);
  out.exponent = static_cast<std::int64_t>(out.digits.size()) - scale_;
  return stripped(std::move(out));
}

// A number of at most this many characters without an exponent fits 64 bits, and is read without its digits as a string.
constexpr std::size_t kShortNumber = 18;

Decimal Decimal::from_number(std::string_view text) {
  if (text.size() <= kShortNumber) {
    std::int64_t value = 0;
    int scale = 0;
    bool after_point = false;
    std::size_t at = text[0] == '-' ? 1 : 0;
    for (; at < text.size() && (text[at] == '.' || is_digit(text[at])); ++at) {
      if (text[at] == '.') {
        after_point = true;
        continue;
      }
      value = value * 10 + (text[at] - '0');
      if (after_point) ++scale;
    }
    if (at == text.size()) {
      for (; scale > 0 && value % 10 == 0; --scale) value /= 10;
      Decimal out(text[0] == '-' ? -value : value);
      out.scale_ = scale;
      return out;
    }
  }
  NumberParts parts = number_parts(text);
  parts.exponent = std::clamp(parts.exponent, -kExponentMax, kExponentMax);
  parts.exponent_overflow = false;
  return of(std::move(parts));
}

Decimal Decimal::operator-() const {
  Decimal out = *this;
  // The least number of an integer has no opposite there.
  if (!large_ && !__builtin_sub_overflow(Wide{0}, coefficient_, &out.coefficient_)) return out;
  NumberParts parts = this->parts();
  parts.negative = !parts.negative;
  return of(std::move(parts));
}

Decimal operator+(const Decimal& left, const Decimal& right) {
  if (!left.large_ && !right.large_) {
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
  return Decimal::of(add(left.parts(), right.parts()));
}

Decimal operator*(const Decimal& left, const Decimal& right) {
  if (!left.large_ && !right.large_) {
    Decimal out;
    if (!__builtin_mul_overflow(left.coefficient_, right.coefficient_, &out.coefficient_)) {
      out.scale_ = left.scale_ + right.scale_;
      out.trim();
      if (out.scale_ <= kSmallScale) return out;
    }
  }
  return Decimal::of(multiply(left.parts(), right.parts()));
}

std::strong_ordering operator<=>(const Decimal& left, const Decimal& right) {
  if (!left.large_ && !right.large_) {
    Decimal a = left, b = right;
    const int scale = std::max(a.scale_, b.scale_);
    if (scale_up(a.coefficient_, scale - a.scale_) && scale_up(b.coefficient_, scale - b.scale_)) {
      if (a.coefficient_ == b.coefficient_) return std::strong_ordering::equal;
      return a.coefficient_ < b.coefficient_ ? std::strong_ordering::less : std::strong_ordering::greater;
    }
  }
  return compare(left.parts(), right.parts());
}

std::string Decimal::text() const {
  const NumberParts parts = this->parts();
  if (parts.digits.empty()) return "0";
  const auto size = static_cast<std::int64_t>(parts.digits.size());
  std::string out = parts.negative ? "-" : "";
  if (parts.exponent <= 0) {
    out += "0.";
    out.append(static_cast<std::size_t>(-parts.exponent), '0').append(parts.digits);
  } else if (parts.exponent >= size) {
    out += parts.digits;
    out.append(static_cast<std::size_t>(parts.exponent - size), '0');
  } else {
    const auto whole = static_cast<std::size_t>(parts.exponent);
    out.append(parts.digits, 0, whole).append(".").append(parts.digits, whole);
  }
  return out;
}

std::int64_t Decimal::rounded_up(std::int64_t most) const {
  if (*this <= Decimal()) return 0;
  if (*this >= Decimal(most)) return most;
  const std::string written = text();
  const std::int64_t whole = to_int64(written.substr(0, written.find('.'))).value_or(most);
  return Decimal(whole) < *this ? whole + 1 : whole;
}

}  // namespace baton::json
