// SPDX-License-Identifier: Apache-2.0
#include "json/canonical.h"

#include <emmintrin.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

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

// Writes to the end of a string, through a pointer: room is made in large steps, and short texts are copied in blocks.
class Sink {
 public:
  explicit Sink(std::string& out) : out_(out), used_(out.size()) {}
  ~Sink() { out_.resize(used_); }

  void put(char c) {
    ensure(1);
    out_[used_++] = c;
  }
  void put(std::string_view text) {
    ensure(text.size());
    std::memcpy(out_.data() + used_, text.data(), text.size());
    used_ += text.size();
  }
  // The same for a text after which at least 32 bytes can be read: no call for the short ones, which are most.
  void put_readable(std::string_view text) {
    ensure(text.size() + 32);
    char* to = out_.data() + used_;
    if (text.size() <= 32) {
      const auto* from = reinterpret_cast<const __m128i*>(text.data());
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_loadu_si128(from));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to) + 1, _mm_loadu_si128(from + 1));
    } else {
      std::memcpy(to, text.data(), text.size());
    }
    used_ += text.size();
  }
  // For writers that append to a string of their own.
  template <class Write>
  void append(Write write) {
    std::string piece;
    write(piece);
    put(piece);
  }

 private:
  void ensure(std::size_t more) {
    if (out_.size() - used_ < more) out_.resize(std::max(out_.size() * 2, used_ + more + 4096));
  }

  std::string& out_;
  std::size_t used_;
};

class Writer {
 public:
  Writer(std::string& out, Numbers numbers, Node left_out, const Document& document)
      : out_(out), numbers_(numbers), left_out_(left_out), text_(document.text()), ascii_(document.is_ascii() && !document.has_escapes()) {
    members_.reserve(64);
  }

  bool write(Node node) {
    switch (node.kind()) {
      case Kind::Null: out_.put("null"); return true;
      case Kind::Boolean: out_.put(node.boolean() ? "true" : "false"); return true;
      case Kind::Number: return write_number(node);
      case Kind::String: write_string(node); return true;
      case Kind::Array: {
        char separator = '[';
        for (const Node element : node.elements()) {
          out_.put(separator);
          separator = ',';
          if (!write(element)) return false;
        }
        if (separator == '[') out_.put('[');
        out_.put(']');
        return true;
      }
      case Kind::Object: return write_object(node);
    }
    CHECK(false);
  }

  CanonicalError error;

 private:
  // A string that used no escape needs none: it stands in the text, quotes and all, as it has to be written.
  void write_string(Node node) {
    const std::string_view content = node.string();
    if (content.data() != text_.data() + node.offset() + 1) {
      out_.append([&](std::string& piece) { append_canonical_string(piece, content); });
      return;
    }
    const std::string_view quoted(content.data() - 1, content.size() + 2);
    if (text_.data() + text_.size() - quoted.data() >= 32) out_.put_readable(quoted);
    else out_.put(quoted);
  }

  bool write_number(Node node) {
    const std::string_view text = node.number_text();
    if (is_plain_integer(text)) {
      out_.put(text);
      return true;
    }
    if (numbers_ == Numbers::Rfc8785) {
      bool finite = true;
      out_.append([&](std::string& piece) { finite = append_double(piece, to_double(text)); });
      if (!finite) error = {"JCS_NUMBER_NOT_FINITE", node.offset()};
      return finite;
    }
    const NumberParts parts = number_parts(text);
    if (parts.exponent_overflow) {
      error = {"JCS_NUMBER_EXPONENT", node.offset()};
      return false;
    }
    out_.append([&](std::string& piece) { append_number_layout(piece, parts.negative, parts.digits, parts.exponent); });
    return true;
  }

  bool write_object(Node node) {
    // Members waiting to be written lie on one shared stack, so that an object costs no allocation of its own.
    const std::size_t base = members_.size();
    for (const Member member : node.members()) {
      if (member.value == left_out_) continue;
      const Named named{prefix_of(member.name()), member.key, member.value};
      // Insertion: objects are small, and often nearly sorted.
      members_.push_back(named);
      if (members_.size() - base > kInserted) continue;
      std::size_t at = members_.size() - 1;
      for (; at > base && less(named, members_[at - 1]); --at) members_[at] = members_[at - 1];
      members_[at] = named;
    }
    const std::size_t end = members_.size();
    if (end - base > kInserted)
      std::sort(members_.begin() + static_cast<std::ptrdiff_t>(base), members_.end(), [this](const Named& left, const Named& right) { return less(left, right); });
    char separator = '{';
    for (std::size_t i = base; i < end; ++i) {
      out_.put(separator);
      separator = ',';
      write_string(members_[i].key);
      out_.put(':');
      if (!write(members_[i].value)) return false;
    }
    if (separator == '{') out_.put('{');
    out_.put('}');
    members_.resize(base);
    return true;
  }

  static constexpr std::size_t kInserted = 24;

  struct Named {
    std::uint64_t prefix;  // the first eight bytes, to be compared as a number
    Node key;
    Node value;
  };

  static std::uint64_t prefix_of(std::string_view name) {
    std::uint64_t prefix = 0;
    std::memcpy(&prefix, name.data(), std::min<std::size_t>(name.size(), 8));
    return __builtin_bswap64(prefix);
  }

  bool less(const Named& left, const Named& right) const {
    if (ascii_ && left.prefix != right.prefix) return left.prefix < right.prefix;
    return utf16_less(left.key.string(), right.key.string());
  }

  Sink out_;
  Numbers numbers_;
  Node left_out_;
  std::string_view text_;
  bool ascii_;  // then byte order is UTF-16 order
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
  Writer writer(out, numbers, left_out, *node.document());
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
