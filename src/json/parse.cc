// SPDX-License-Identifier: Apache-2.0
#include "json/parse.h"

#include <emmintrin.h>

#include <bit>
#include <set>

#include "base/check.h"
#include "base/text.h"
#include "json/scan.h"

namespace baton::json {
namespace {

inline unsigned white_space_in(__m128i bytes) {
  const __m128i blank = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(' '));
  const __m128i line_feed = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\n'));
  const __m128i carriage_return = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\r'));
  const __m128i tab = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\t'));
  return static_cast<unsigned>(
      _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(blank, line_feed), _mm_or_si128(carriage_return, tab))));
}

inline bool is_white_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string describe(Fault fault) {
  switch (fault) {
    case Fault::TooLarge: return "the text is too large";
    case Fault::UnexpectedEnd: return "the text ends too early";
    case Fault::ExpectedValue: return "expected a value";
    case Fault::ExpectedKey: return "expected `\"`";
    case Fault::ExpectedColon: return "expected `:`";
    case Fault::ExpectedCommaOrBrace: return "expected `,` or `}`";
    case Fault::ExpectedCommaOrBracket: return "expected `,` or `]`";
    case Fault::TrailingText: return "unexpected text after the document";
    case Fault::BadNumber: return "not a JSON number";
    case Fault::ControlCharacter: return "control character in a string, write it as an escape";
    case Fault::BadEscape: return "invalid escape in a string";
    case Fault::LoneSurrogate: return "half of a surrogate pair in a string";
    case Fault::BadUtf8: return "invalid UTF-8";
    case Fault::DuplicateKey: return "duplicate key";
    case Fault::TooDeep: return "nested too deeply";
    case Fault::TooManyMembers: return "too many members";
  }
  CHECK(false);
}

// Beyond this many keys an object's earlier keys are looked up in a tree instead of being compared one by one.
constexpr std::size_t kKeysComparedOneByOne = 32;

}  // namespace

// A loop over an explicit stack of open containers; `failed()` records the fault and the caller returns at once.
class Parser {
 public:
  Parser(std::string_view text, const ParseLimits& limits)
      : text_(text), begin_(text.data()), at_(text.data()), end_(text.data() + text.size()), limits_(limits) {}

  static void keep(Document& document, std::unique_ptr<std::string> text) { document.owned_ = std::move(text); }

  tl::expected<Document, ParseError> run() {
    if (text_.size() > limits_.bytes_max || text_.size() >= UINT32_MAX) {
      at_ = begin_ + std::min(limits_.bytes_max, text_.size());
      failed(Fault::TooLarge);
      return tl::make_unexpected(std::move(error_));
    }
    // A value takes two bytes, counting the separator or bracket after it; only containers still open took one.
    capacity_ = text_.size() / 2 + std::min(limits_.depth_max, text_.size() / 2) + 4;
    document_.cells_ = std::make_unique_for_overwrite<Document::Cell[]>(capacity_);
    if (!parse_all()) return tl::make_unexpected(std::move(error_));
    document_.text_ = text_;
    document_.cell_count_ = count_;
    document_.has_escapes_ = document_.decoded_ != nullptr;
    return std::move(document_);
  }

 private:
  struct Open {
    std::uint32_t index;
    std::uint32_t count;
    std::uint64_t keys_seen;  // one bit per hash of a key: a clear bit proves a key is new
    bool is_object;
    std::unique_ptr<std::set<std::string_view>> keys;  // all keys so far, once there are many
  };

  bool failed(Fault fault, const char* at, std::string detail = {}) {
    error_ = {fault, static_cast<std::size_t>(at - begin_), describe(fault) + detail};
    return false;
  }
  bool failed(Fault fault) { return failed(fault, at_); }

  // For "something else was expected here": the end of the text is its own fault, but still says what was expected.
  bool unexpected(Fault fault) {
    if (at_ < end_) return failed(fault);
    error_ = {Fault::UnexpectedEnd, text_.size(), describe(fault) + ", but the text ends"};
    return false;
  }

  void skip_white_space() {
    if (at_ < end_ && static_cast<unsigned char>(*at_) > ' ') return;
    while (end_ - at_ >= 16) {
      const unsigned blanks = white_space_in(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at_)));
      if (blanks != 0xffff) {
        at_ += std::countr_one(blanks);
        return;
      }
      at_ += 16;
    }
    while (at_ < end_ && is_white_space(*at_)) ++at_;
  }

  Document::Cell& add(Kind kind, const char* at, std::uint32_t size) {
    Document::Cell& cell = document_.cells_[count_++];
    cell = {static_cast<std::uint32_t>(at - begin_), size, 0, kind, false, 0};
    return cell;
  }

  bool parse_all() {
    skip_white_space();
    if (!parse_value()) return false;
    while (!open_.empty()) {
      if (!(open_.back().is_object ? step_object() : step_array())) return false;
    }
    skip_white_space();
    if (at_ < end_) return failed(Fault::TrailingText);
    return true;
  }

  // One member, or the closing brace. A container that opens as the member's value goes on top of the stack.
  bool step_object() {
    Open& object = open_.back();
    skip_white_space();
    if (at_ < end_ && *at_ == '}') {
      if (object.count > 0 && pending_comma_) return unexpected(Fault::ExpectedKey);
      return close();
    }
    if (object.count > 0 && !pending_comma_) {
      if (at_ >= end_ || *at_ != ',') return unexpected(Fault::ExpectedCommaOrBrace);
      ++at_;
      pending_comma_ = true;
      return true;
    }
    pending_comma_ = false;
    if (object.count >= limits_.members_max) return failed(Fault::TooManyMembers);
    if (at_ >= end_ || *at_ != '"') return unexpected(Fault::ExpectedKey);
    const char* key_at = at_;
    const std::uint32_t key = count_;
    if (!parse_string()) return false;
    if (!is_new_key(object, key)) return failed(Fault::DuplicateKey, key_at, duplicate_detail(key));
    ++object.count;
    skip_white_space();
    if (at_ >= end_ || *at_ != ':') return unexpected(Fault::ExpectedColon);
    ++at_;
    skip_white_space();
    return parse_value();
  }

  bool step_array() {
    Open& array = open_.back();
    skip_white_space();
    if (at_ < end_ && *at_ == ']') {
      if (array.count > 0 && pending_comma_) return unexpected(Fault::ExpectedValue);
      return close();
    }
    if (array.count > 0 && !pending_comma_) {
      if (at_ >= end_ || *at_ != ',') return unexpected(Fault::ExpectedCommaOrBracket);
      ++at_;
      pending_comma_ = true;
      return true;
    }
    pending_comma_ = false;
    if (array.count >= limits_.members_max) return failed(Fault::TooManyMembers);
    ++array.count;
    return parse_value();
  }

  bool parse_value() {
    if (at_ >= end_) return unexpected(Fault::ExpectedValue);
    switch (*at_) {
      case '{': return open(Kind::Object);
      case '[': return open(Kind::Array);
      case '"': return parse_string();
      case 't': return parse_literal("true", Kind::Boolean, 1);
      case 'f': return parse_literal("false", Kind::Boolean, 0);
      case 'n': return parse_literal("null", Kind::Null, 0);
      case '-': case '0': case '1': case '2': case '3': case '4':
      case '5': case '6': case '7': case '8': case '9': return parse_number();
      default: return failed(Fault::ExpectedValue);
    }
  }

  bool open(Kind kind) {
    if (open_.size() >= limits_.depth_max) return failed(Fault::TooDeep, at_, ", at most " + std::to_string(limits_.depth_max));
    open_.push_back({count_, 0, 0, kind == Kind::Object, nullptr});
    CHECK(count_ < capacity_);
    add(kind, at_, 0);
    ++at_;
    pending_comma_ = false;
    return true;
  }

  bool close() {
    Document::Cell& cell = document_.cells_[open_.back().index];
    cell.size = open_.back().count;
    cell.link = count_;
    open_.pop_back();
    ++at_;
    pending_comma_ = false;
    return true;
  }

  bool parse_literal(std::string_view word, Kind kind, std::uint32_t value) {
    const std::string_view rest(at_, static_cast<std::size_t>(end_ - at_));
    if (!rest.starts_with(word)) {
      const bool cut_short = word.starts_with(rest);
      if (cut_short) at_ = end_;
      return unexpected(Fault::ExpectedValue);
    }
    add(kind, at_, value);
    at_ += word.size();
    return true;
  }

  bool parse_number() {
    const char* start = at_;
    const char* p = at_;
    const auto digits = [&] {
      const char* first = p;
      while (p < end_ && is_digit(*p)) ++p;
      return p > first;
    };
    const auto bad = [&](const char* why) {
      at_ = p;
      if (p >= end_) return unexpected(Fault::BadNumber);
      return failed(Fault::BadNumber, p, why);
    };
    if (*p == '-') ++p;
    if (p < end_ && *p == '0') {
      ++p;
      if (p < end_ && is_digit(*p)) return bad(": a leading zero");
    } else if (!digits()) {
      return bad(": expected a digit");
    }
    if (p < end_ && *p == '.') {
      ++p;
      if (!digits()) return bad(": expected a digit after the point");
    }
    if (p < end_ && (*p == 'e' || *p == 'E')) {
      ++p;
      if (p < end_ && (*p == '+' || *p == '-')) ++p;
      if (!digits()) return bad(": expected a digit in the exponent");
    }
    add(Kind::Number, start, static_cast<std::uint32_t>(p - start));
    at_ = p;
    return true;
  }

  // Moves `p` to the next quote, backslash or control character; notes whether a byte beyond ASCII was passed.
  const char* find_special(const char* p, bool& beyond_ascii) const {
    while (end_ - p >= 16) {
      const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
      const unsigned special = string_specials(bytes);
      const unsigned high = static_cast<unsigned>(_mm_movemask_epi8(bytes));
      if (special != 0) {
        const int place = std::countr_zero(special);
        beyond_ascii |= (high & ((1u << place) - 1)) != 0;
        return p + place;
      }
      beyond_ascii |= high != 0;
      p += 16;
    }
    for (; p < end_; ++p) {
      const auto byte = static_cast<unsigned char>(*p);
      if (byte == '"' || byte == '\\' || byte < 0x20) return p;
      beyond_ascii |= byte >= 0x80;
    }
    return p;
  }

  bool parse_string() {
    const char* start = at_;
    bool beyond_ascii = false;
    const char* p = find_special(start + 1, beyond_ascii);
    if (p < end_ && *p == '\\') return parse_escaped_string(start, p, beyond_ascii);
    if (!end_of_string(p)) return false;
    if (beyond_ascii && !is_utf8(start + 1, p)) return false;
    add(Kind::String, start, static_cast<std::uint32_t>(p - start - 1));
    at_ = p + 1;
    return true;
  }

  bool end_of_string(const char* p) {
    if (p < end_ && *p == '"') return true;
    at_ = p;
    if (p < end_) return failed(Fault::ControlCharacter);
    error_ = {Fault::UnexpectedEnd, text_.size(), "the text ends inside a string"};
    return false;
  }

  bool is_utf8(const char* from, const char* to) {
    const std::size_t size = static_cast<std::size_t>(to - from);
    const std::size_t bad = find_invalid_utf8({from, size});
    if (bad == size) return true;
    at_ = from + bad;
    return failed(Fault::BadUtf8);
  }

  bool parse_escaped_string(const char* start, const char* p, bool beyond_ascii) {
    if (!document_.decoded_) document_.decoded_ = std::make_unique<std::string>();
    std::string& out = *document_.decoded_;
    const std::size_t out_start = out.size();
    out.append(start + 1, p);
    while (p < end_ && *p == '\\') {
      if (!parse_escape(p, out)) return false;
      const char* plain = p;
      p = find_special(p, beyond_ascii);
      out.append(plain, p);
    }
    if (!end_of_string(p)) return false;
    if (beyond_ascii && !is_utf8(start + 1, p)) return false;
    Document::Cell& cell = add(Kind::String, start, static_cast<std::uint32_t>(out.size() - out_start));
    cell.escaped = true;
    cell.link = static_cast<std::uint32_t>(out_start);
    at_ = p + 1;
    return true;
  }

  // `p` stands on a backslash; moves it past the escape.
  bool parse_escape(const char*& p, std::string& out) {
    at_ = p + 1;
    if (at_ >= end_) {
      error_ = {Fault::UnexpectedEnd, text_.size(), "the text ends inside a string"};
      return false;
    }
    switch (*at_) {
      case '"': out.push_back('"'); break;
      case '\\': out.push_back('\\'); break;
      case '/': out.push_back('/'); break;
      case 'b': out.push_back('\b'); break;
      case 'f': out.push_back('\f'); break;
      case 'n': out.push_back('\n'); break;
      case 'r': out.push_back('\r'); break;
      case 't': out.push_back('\t'); break;
      case 'u': {
        const char* escape_at = p;
        p += 2;
        char32_t unit = 0;
        if (!parse_hex4(p, unit)) return false;
        if (unit >= 0xdc00 && unit <= 0xdfff) return failed(Fault::LoneSurrogate, escape_at);
        if (unit >= 0xd800 && unit <= 0xdbff) {
          char32_t low = 0;
          if (end_ - p < 2 || p[0] != '\\' || p[1] != 'u') return failed(Fault::LoneSurrogate, escape_at);
          p += 2;
          if (!parse_hex4(p, low)) return false;
          if (low < 0xdc00 || low > 0xdfff) return failed(Fault::LoneSurrogate, escape_at);
          unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
        }
        append_utf8(out, unit);
        return true;
      }
      default: return failed(Fault::BadEscape);
    }
    p += 2;
    return true;
  }

  bool parse_hex4(const char*& p, char32_t& unit) {
    for (int i = 0; i < 4; ++i, ++p) {
      at_ = p;
      if (p >= end_) {
        error_ = {Fault::UnexpectedEnd, text_.size(), "the text ends inside a string"};
        return false;
      }
      const int digit = hex_digit(*p);
      if (digit < 0) return failed(Fault::BadEscape);
      unit = unit << 4 | static_cast<char32_t>(digit);
    }
    return true;
  }

  // The key's cell may still lie in a document without its text set, so strings are read from here.
  std::string_view string_at(std::uint32_t index) const {
    const Document::Cell& cell = document_.cells_[index];
    if (cell.escaped) return std::string_view(*document_.decoded_).substr(cell.link, cell.size);
    return {begin_ + cell.at + 1, cell.size};
  }

  bool is_new_key(Open& object, std::uint32_t key) {
    const std::string_view name = string_at(key);
    if (object.keys) return object.keys->emplace(stable(key)).second;
    std::uint64_t hash = name.size();
    if (!name.empty()) {
      hash = hash * 31 + static_cast<unsigned char>(name.front());
      hash = hash * 31 + static_cast<unsigned char>(name.back());
      hash = hash * 31 + static_cast<unsigned char>(name[name.size() / 2]);
    }
    const std::uint64_t bit = std::uint64_t{1} << (hash & 63);
    if ((object.keys_seen & bit) != 0) {
      if (has_key(object, key, name)) return false;
    }
    object.keys_seen |= bit;
    if (object.count + 1 == kKeysComparedOneByOne) {
      object.keys = std::make_unique<std::set<std::string_view>>();
      for_each_key(object, [&](std::uint32_t earlier) { object.keys->insert(stable(earlier)); });
      object.keys->insert(stable(key));
    }
    return true;
  }

  // Visits the keys before the newest one of the object on top of the stack.
  template <class Visit>
  void for_each_key(const Open& object, Visit visit) const {
    std::uint32_t at = object.index + 1;
    for (std::uint32_t i = 0; i < object.count; ++i) {
      visit(at);
      const Document::Cell& value = document_.cells_[at + 1];
      at = value.kind >= Kind::Array ? value.link : at + 2;
    }
  }

  bool has_key(const Open& object, std::uint32_t key, std::string_view name) const {
    bool found = false;
    for_each_key(object, [&](std::uint32_t earlier) { found = found || (earlier != key && string_at(earlier) == name); });
    return found;
  }

  // A view of a key that stays good while the parse goes on: unescaped keys move when decoded_ grows, so they are kept.
  std::string_view stable(std::uint32_t index) {
    if (!document_.cells_[index].escaped) return string_at(index);
    kept_keys_.push_back(std::make_unique<std::string>(string_at(index)));
    return *kept_keys_.back();
  }

  std::string duplicate_detail(std::uint32_t key) const { return " `" + printable(string_at(key), 64) + "`"; }

  std::string_view text_;
  const char* begin_;
  const char* at_;
  const char* end_;
  const ParseLimits& limits_;
  Document document_;
  std::size_t capacity_ = 0;
  std::uint32_t count_ = 0;
  std::vector<Open> open_;
  bool pending_comma_ = false;
  std::vector<std::unique_ptr<std::string>> kept_keys_;
  ParseError error_{};
};

tl::expected<Document, ParseError> parse(std::string_view text, const ParseLimits& limits) {
  return Parser(text, limits).run();
}

tl::expected<Document, ParseError> parse_owned(std::string text, const ParseLimits& limits) {
  auto owned = std::make_unique<std::string>(std::move(text));
  Parser parser(*owned, limits);
  auto document = parser.run();
  if (document) Parser::keep(*document, std::move(owned));
  return document;
}

}  // namespace baton::json
