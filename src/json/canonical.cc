// SPDX-License-Identifier: Apache-2.0
#include "json/canonical.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/check.h"
#include "base/text.h"
#include "json/decimal.h"
#include "json/scan.h"

namespace baton::json {
namespace {

// Compares as UTF-16 code units do. On UTF-8 bytes that is byte order, except that characters above U+FFFF (written with
// surrogates, D800..DFFF) come before U+E000..U+FFFF.
bool utf16_less(std::string_view left, std::string_view right) {
  const std::size_t common = std::min(left.size(), right.size());
  std::size_t at = 0;
  while (at < common && left[at] == right[at]) ++at;
  if (at == common) return left.size() < right.size();
  const auto a = static_cast<unsigned char>(left[at]), b = static_cast<unsigned char>(right[at]);
  // Lead bytes from 0xf0 on are surrogate pairs; 0xee and 0xef lead U+E000..U+FFFF, which sort after them.
  if (a >= 0xee && b >= 0xee && (a >= 0xf0) != (b >= 0xf0)) return a >= 0xf0;
  return a < b;
}

// ECMAScript's layout of a decimal: 0.DIGITS x 10^point.
void append_number_layout(std::string& out, bool negative, std::string_view digits, std::int64_t point) {
  if (digits.empty()) {
    out.push_back('0');
    return;
  }
  if (negative) out.push_back('-');
  const auto count = static_cast<std::int64_t>(digits.size());
  if (count <= point && point <= 21) {
    out += digits;
    out.append(static_cast<std::size_t>(point - count), '0');
  } else if (0 < point && point <= 21) {
    out += digits.substr(0, static_cast<std::size_t>(point));
    out.push_back('.');
    out += digits.substr(static_cast<std::size_t>(point));
  } else if (-6 < point && point <= 0) {
    out += "0.";
    out.append(static_cast<std::size_t>(-point), '0');
    out += digits;
  } else {
    out.push_back(digits[0]);
    if (count > 1) {
      out.push_back('.');
      out += digits.substr(1);
    }
    out.push_back('e');
    const std::int64_t exponent = point - 1;
    out.push_back(exponent < 0 ? '-' : '+');
    out += std::to_string(exponent < 0 ? -exponent : exponent);
  }
}

bool append_double(std::string& out, double value) {
  if (!std::isfinite(value)) return false;
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
  CHECK(end.ec == std::errc());
  const NumberParts parts = number_parts({buffer, static_cast<std::size_t>(end.ptr - buffer)});
  append_number_layout(out, parts.negative, parts.digits, parts.exponent);
  return true;
}

// Whole numbers of up to fifteen digits are their own canonical form in both modes; they are nearly all there are.
bool is_plain_integer(std::string_view text) {
  if (text.size() > 15 || text[0] == '-') return false;
  for (const char c : text)
    if (!is_digit(c)) return false;
  return true;
}

class Writer {
 public:
  Writer(std::string& out, Numbers numbers, Node left_out) : out_(out), numbers_(numbers), left_out_(left_out) {}

  bool write(Node node) {
    switch (node.kind()) {
      case Kind::Null: out_ += "null"; return true;
      case Kind::Boolean: out_ += node.boolean() ? "true" : "false"; return true;
      case Kind::Number: return write_number(node);
      case Kind::String: append_canonical_string(out_, node.string()); return true;
      case Kind::Array: {
        char separator = '[';
        for (const Node element : node.elements()) {
          out_.push_back(separator);
          separator = ',';
          if (!write(element)) return false;
        }
        if (separator == '[') out_.push_back('[');
        out_.push_back(']');
        return true;
      }
      case Kind::Object: return write_object(node);
    }
    CHECK(false);
  }

  CanonicalError error;

 private:
  bool write_number(Node node) {
    const std::string_view text = node.number_text();
    if (is_plain_integer(text)) {
      out_ += text;
      return true;
    }
    if (numbers_ == Numbers::Rfc8785) {
      if (append_double(out_, to_double(text))) return true;
      error = {"JCS_NUMBER_NOT_FINITE", node.offset()};
      return false;
    }
    const NumberParts parts = number_parts(text);
    if (parts.exponent_overflow) {
      error = {"JCS_NUMBER_EXPONENT", node.offset()};
      return false;
    }
    append_number_layout(out_, parts.negative, parts.digits, parts.exponent);
    return true;
  }

  bool write_object(Node node) {
    // Members waiting to be written lie on one shared stack, so that an object costs no allocation of its own.
    const std::size_t base = members_.size();
    bool sorted = true;
    for (const Member member : node.members()) {
      if (member.value == left_out_) continue;
      const std::string_view name = member.name();
      if (sorted && members_.size() > base && utf16_less(name, members_.back().name)) sorted = false;
      members_.push_back({name, member.value});
    }
    const std::size_t end = members_.size();
    if (!sorted) {
      std::sort(members_.begin() + static_cast<std::ptrdiff_t>(base), members_.end(),
                [](const Named& left, const Named& right) { return utf16_less(left.name, right.name); });
    }
    char separator = '{';
    for (std::size_t i = base; i < end; ++i) {
      out_.push_back(separator);
      separator = ',';
      append_canonical_string(out_, members_[i].name);
      out_.push_back(':');
      if (!write(members_[i].value)) return false;
    }
    if (separator == '{') out_.push_back('{');
    out_.push_back('}');
    members_.resize(base);
    return true;
  }

  struct Named {
    std::string_view name;
    Node value;
  };

  std::string& out_;
  Numbers numbers_;
  Node left_out_;
  std::vector<Named> members_;
};

}  // namespace

void append_canonical_string(std::string& out, std::string_view text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  out.push_back('"');
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = find_string_special(text, at);
    out.append(text, at, end - at);
    at = end;
    if (at == text.size()) break;
    const char c = text[at++];
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\b': out += "\\b"; break;
      case '\t': out += "\\t"; break;
      case '\n': out += "\\n"; break;
      case '\f': out += "\\f"; break;
      case '\r': out += "\\r"; break;
      default:
        out += "\\u00";
        out.push_back(kDigits[static_cast<unsigned char>(c) >> 4]);
        out.push_back(kDigits[c & 0x0f]);
    }
  }
  out.push_back('"');
}

tl::expected<void, CanonicalError> append_canonical(std::string& out, Node node, Numbers numbers, Node left_out) {
  Writer writer(out, numbers, left_out);
  if (!writer.write(node)) return tl::make_unexpected(std::move(writer.error));
  return {};
}

tl::expected<std::string, CanonicalError> canonical(Node node, Numbers numbers) {
  std::string out;
  if (auto written = append_canonical(out, node, numbers); !written) return tl::make_unexpected(written.error());
  return out;
}

tl::expected<std::string, CanonicalError> canonical_double(double value) {
  std::string out;
  if (!append_double(out, value)) return tl::make_unexpected(CanonicalError{"JCS_NUMBER_NOT_FINITE", 0});
  return out;
}

}  // namespace baton::json
