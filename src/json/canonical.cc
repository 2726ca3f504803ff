// SPDX-License-Identifier: Apache-2.0
#include "json/canonical.h"

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

// Works on the document's cells. Texts that stand in the document as they have to be written are copied in blocks, and an
// object costs no allocation.
//
// Nothing but a number can take more room than it has in the document: so there is room for the node's text from the start,
// and again after each number that was laid out anew, and nothing else has to ask for it. `to`, the place of the next byte,
// is handed on from call to call and not kept: in memory each change of it would wait for the one before.
class CanonicalWriter {
 public:
  CanonicalWriter(std::string& out, Numbers numbers, Node node, Node left_out)
      : out_(out),
        used_(out.size()),
        numbers_(numbers),
        document_(*node.document()),
        cells_(document_.cells_.get()),
        left_out_(left_out.document() == node.document() ? cells_ + left_out.index() : nullptr),
        text_(document_.text_.data()),
        text_size_(document_.text_.size()),
        room_(room_for(node)),
        byte_order_(document_.ascii_ && !document_.has_escapes()) {
    members_.reserve(64);
    out_.resize(used_ + room_ + kSlack);
  }

  bool write(Node node) {
    const char* end = write(cells_ + node.index(), out_.data() + used_);
    out_.resize(end == nullptr ? used_ : static_cast<std::size_t>(end - out_.data()));
    return end != nullptr;
  }

  CanonicalError error;

 private:
  using Cell = Document::Cell;

  struct Named {
    std::uint64_t prefix;  // the name's first eight bytes, to be compared as a number
    const Cell* key;       // the value stands after it
  };
  static constexpr std::size_t kInserted = 24;  // objects up to this size, often nearly sorted, are sorted by insertion
  static constexpr std::size_t kCopied = 32;    // short strings are copied as if they had this many bytes
  static constexpr std::size_t kSlack = 2 * kCopied;

  // At least the size of the node's text: up to where the next node begins. Not all of the document's, so that writing many parts of
  // one, each by itself, costs no more than writing it.
  std::size_t room_for(Node node) const {
    const Cell& cell = cells_[node.index()];
    const std::uint32_t behind = cell.kind >= Kind::Array ? cell.link : node.index() + 1;
    return (behind < document_.cell_count_ ? cells_[behind].at : text_size_) - cell.at;
  }

  static char* put(char* to, std::string_view text) {
    std::memcpy(to, text.data(), text.size());
    return to + text.size();
  }

  // For what may be longer than it was in the document.
  [[gnu::noinline]] char* put_anew(char* to, std::string_view text) {
    const auto used = static_cast<std::size_t>(to - out_.data());
    if (out_.size() - used < text.size() + room_ + kSlack)
      out_.resize(std::max(out_.size() * 2, used + text.size() + room_ + kSlack));
    return put(out_.data() + used, text);
  }

  std::string_view string_in(const Cell* cell) const {
    return Node(&document_, static_cast<std::uint32_t>(cell - cells_)).string();
  }

  const Cell* after(const Cell* value) const { return value->kind >= Kind::Array ? cells_ + value->link : value + 1; }

  // Where the next byte goes; null when the value has no canonical form.
  char* write(const Cell* cell, char* to) {
    switch (cell->kind) {
      case Kind::Null: return put(to, "null");
      case Kind::Boolean: return put(to, cell->size != 0 ? "true" : "false");
      case Kind::Number: return write_number(cell, to);
      case Kind::String: return write_string(cell, to);
      case Kind::Array: return write_array(cell, to);
      case Kind::Object: return write_object(cell, to);
    }
    CHECK(false);
  }

  // A string that used no escape needs none: it stands in the text, quotes and all, as it has to be written.
  char* write_string(const Cell* cell, char* to) const {
    if (cell->escaped) [[unlikely]]
      return write_escaped_string(cell, to);
    const std::size_t size = cell->size + 2;
    const char* from = text_ + cell->at;
    if (size <= kCopied && cell->at + kCopied <= text_size_) std::memcpy(to, from, kCopied);
    else std::memcpy(to, from, size);
    return to + size;
  }

  [[gnu::noinline]] char* write_escaped_string(const Cell* cell, char* to) const {
    std::string piece;
    append_canonical_string(piece, string_in(cell));
    return put(to, piece);
  }

  char* write_number(const Cell* cell, char* to) {
    const std::string_view text(text_ + cell->at, cell->size);
    return is_plain_integer(text) ? put(to, text) : write_number_anew(cell, text, to);
  }

  [[gnu::noinline]] char* write_number_anew(const Cell* cell, std::string_view text, char* to) {
    std::string piece;
    if (numbers_ == Numbers::Rfc8785) {
      if (!append_double(piece, to_double(text))) {
        error = {"JCS_NUMBER_NOT_FINITE", cell->at};
        return nullptr;
      }
    } else {
      const NumberParts parts = number_parts(text);
      if (parts.exponent_overflow) {
        error = {"JCS_NUMBER_EXPONENT", cell->at};
        return nullptr;
      }
      append_number_layout(piece, parts.negative, parts.digits, parts.exponent);
    }
    return put_anew(to, piece);
  }

  char* write_array(const Cell* array, char* to) {
    *to++ = '[';
    const Cell* end = cells_ + array->link;
    for (const Cell* element = array + 1; element < end; element = after(element)) {
      if (element != array + 1) *to++ = ',';
      to = write(element, to);
      if (to == nullptr) return nullptr;
    }
    *to++ = ']';
    return to;
  }

  char* write_object(const Cell* object, char* to) {
    // Members waiting to be written lie on one stack that all objects share.
    const std::size_t base = members_.size();
    members_.resize(base + object->size);
    const std::size_t count = collect(object, members_.data() + base);
    *to++ = '{';
    for (std::size_t i = 0; i < count; ++i) {
      if (i != 0) *to++ = ',';
      const Cell* key = members_[base + i].key;
      to = write_string(key, to);
      *to++ = ':';
      const Cell* value = key + 1;
      to = value->kind == Kind::String ? write_string(value, to) : write(value, to);
      if (to == nullptr) return nullptr;
    }
    *to++ = '}';
    members_.resize(base);
    return to;
  }

  // The members to write, in order; how many there are.
  std::size_t collect(const Cell* object, Named* members) const {
    const Cell* end = cells_ + object->link;
    Named* last = members;
    for (const Cell* key = object + 1; key < end; key = after(key + 1))
      if (key + 1 != left_out_) *last++ = {prefix_of(key), key};
    const auto count = static_cast<std::size_t>(last - members);
    if (count <= kInserted) sort_by_insertion(members, last);
    else std::sort(members, last, [this](const Named& left, const Named& right) { return less(left, right); });
    return count;
  }

  void sort_by_insertion(Named* first, Named* last) const {
    for (Named* next = first; next != last; ++next) {
      const Named moved = *next;
      Named* to = next;
      for (; to != first && less(moved, to[-1]); --to) *to = to[-1];
      *to = moved;
    }
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
    return left.prefix != right.prefix ? left.prefix < right.prefix : less_in_full(left, right);
  }
  [[gnu::noinline]] bool less_in_full(const Named& left, const Named& right) const {
    return utf16_less(string_in(left.key), string_in(right.key));
  }

  std::string& out_;
  std::size_t used_;  // of what was in it before
  Numbers numbers_;
  const Document& document_;
  const Cell* cells_;
  const Cell* left_out_;
  const char* text_;
  std::size_t text_size_, room_;
  bool byte_order_;  // all names are ASCII as they stand: byte order is UTF-16 order
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
