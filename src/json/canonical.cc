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

}  // namespace

// On UTF-8 bytes the order is that of the bytes, except that characters above U+FFFF (written with surrogates,
// D800..DFFF) come before U+E000..U+FFFF.
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

// Works on the document's cells, through a pointer into the output: room is made in large steps, texts that stand in the
// document as they have to be written are copied in blocks, and an object costs no allocation.
class CanonicalWriter {
 public:
  CanonicalWriter(std::string& out, Numbers numbers, Node node, Node left_out)
      : out_(out),
        numbers_(numbers),
        document_(*node.document()),
        cells_(document_.cells_.get()),
        left_out_(left_out.document() == node.document() ? cells_ + left_out.index() : nullptr),
        text_(document_.text_.data()),
        text_size_(document_.text_.size()),
        byte_order_(document_.ascii_ && !document_.has_escapes()) {
    members_.reserve(64);
    const std::size_t used = out_.size();
    out_.resize(used + document_.text_.size() + 64);  // mostly all it takes: what is canonical has no blanks
    at_ = out_.data() + used;
    limit_ = out_.data() + out_.size();
  }
  ~CanonicalWriter() { out_.resize(static_cast<std::size_t>(at_ - out_.data())); }

  bool write(Node node) { return write(cells_ + node.index()); }

  CanonicalError error;

 private:
  using Cell = Document::Cell;

  struct Named {
    std::uint64_t prefix;  // the name's first eight bytes, to be compared as a number
    const Cell* key;       // the value stands after it
  };
  static constexpr std::size_t kInserted =
      24;  // objects up to this size are sorted by insertion: small, often nearly sorted

  void ensure(std::size_t more) {
    if (static_cast<std::size_t>(limit_ - at_) < more) grow(more);
  }
  [[gnu::noinline]] void grow(std::size_t more) {
    const auto used = static_cast<std::size_t>(at_ - out_.data());
    out_.resize(std::max(out_.size() * 2, used + more + 4096));
    at_ = out_.data() + used;
    limit_ = out_.data() + out_.size();
  }
  void put(char c) {
    ensure(1);
    *at_++ = c;
  }
  void put(std::string_view text) {
    ensure(text.size());
    std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
  }

  std::string_view string_in(const Cell* cell) const {
    return Node(&document_, static_cast<std::uint32_t>(cell - cells_)).string();
  }

  bool write(const Cell* cell) {
    switch (cell->kind) {
      case Kind::Null: put("null"); return true;
      case Kind::Boolean: put(cell->size != 0 ? "true" : "false"); return true;
      case Kind::Number: return write_number(cell);
      case Kind::String: write_string(cell, '\0'); return true;
      case Kind::Array: {
        put('[');
        const Cell* end = cells_ + cell->link;
        for (const Cell* element = cell + 1; element < end;) {
          if (element != cell + 1) put(',');
          if (!write(element)) return false;
          element = element->kind >= Kind::Array ? cells_ + element->link : element + 1;
        }
        put(']');
        return true;
      }
      case Kind::Object: return write_object(cell);
    }
    CHECK(false);
  }

  // A string that used no escape needs none: it stands in the text, quotes and all, as it has to be written. `after`, when
  // it is not zero, follows it.
  void write_string(const Cell* cell, char after) {
    if (cell->escaped) {
      std::string piece;
      append_canonical_string(piece, string_in(cell));
      put(piece);
      if (after != '\0') put(after);
      return;
    }
    const std::size_t size = cell->size + 2;
    ensure(size + 33);
    char* to = at_;
    const char* from = text_ + cell->at;
    if (size <= 32 && cell->at + std::size_t{32} <= text_size_) {
      const auto* blocks = reinterpret_cast<const __m128i*>(from);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_loadu_si128(blocks));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to) + 1, _mm_loadu_si128(blocks + 1));
    } else {
      std::memcpy(to, from, size);
    }
    to[size] = after;
    at_ += size + (after != '\0' ? 1 : 0);
  }

  bool write_number(const Cell* cell) {
    const std::string_view text(text_ + cell->at, cell->size);
    if (is_plain_integer(text)) {
      put(text);
      return true;
    }
    std::string piece;
    if (numbers_ == Numbers::Rfc8785) {
      if (!append_double(piece, to_double(text))) {
        error = {"JCS_NUMBER_NOT_FINITE", cell->at};
        return false;
      }
    } else {
      const NumberParts parts = number_parts(text);
      if (parts.exponent_overflow) {
        error = {"JCS_NUMBER_EXPONENT", cell->at};
        return false;
      }
      append_number_layout(piece, parts.negative, parts.digits, parts.exponent);
    }
    put(piece);
    return true;
  }

  bool write_object(const Cell* object) {
    // Members waiting to be written lie on one stack that all objects share.
    const std::size_t base = members_.size();
    const Cell* end = cells_ + object->link;
    for (const Cell* key = object + 1; key < end;) {
      const Cell* value = key + 1;
      if (value != left_out_) insert(base, {prefix_of(key), key});
      key = value->kind >= Kind::Array ? cells_ + value->link : value + 1;
    }
    const std::size_t count = members_.size();
    if (count - base > kInserted)
      std::sort(members_.begin() + static_cast<std::ptrdiff_t>(base), members_.end(),
                [this](const Named& left, const Named& right) { return less(left, right); });
    put('{');
    for (std::size_t i = base; i < count; ++i) {
      if (i != base) put(',');
      const Cell* key = members_[i].key;
      write_string(key, ':');
      if (!write(key + 1)) return false;
    }
    put('}');
    members_.resize(base);
    return true;
  }

  void insert(std::size_t base, Named named) {
    members_.push_back(named);
    std::size_t at = members_.size() - 1;
    if (at - base >= kInserted) return;
    Named* members = members_.data();
    for (; at > base && less(named, members[at - 1]); --at) members[at] = members[at - 1];
    members[at] = named;
  }

  std::uint64_t prefix_of(const Cell* key) const {
    if (!byte_order_) return 0;
    std::uint64_t prefix = 0;
    if (key->at + std::size_t{9} <= text_size_) {
      std::memcpy(&prefix, text_ + key->at + 1, 8);
      if (key->size < 8) prefix &= (std::uint64_t{1} << key->size * 8) - 1;
    } else {
      std::memcpy(&prefix, text_ + key->at + 1, std::min<std::size_t>(key->size, 8));
    }
    return __builtin_bswap64(prefix);
  }

  bool less(const Named& left, const Named& right) const {
    if (left.prefix != right.prefix) return left.prefix < right.prefix;
    return utf16_less(string_in(left.key), string_in(right.key));
  }

  std::string& out_;
  Numbers numbers_;
  const Document& document_;
  const Cell* cells_;
  const Cell* left_out_;
  const char* text_;
  std::size_t text_size_;
  bool byte_order_;  // all names are ASCII as they stand: byte order is UTF-16 order
  char* at_;         // where the next byte goes
  char* limit_;      // of the room made so far
  std::vector<Named> members_;
};

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
  CanonicalWriter writer(out, numbers, node, left_out);
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
