// SPDX-License-Identifier: Apache-2.0
#include "json/parse.h"

#include <emmintrin.h>

#include <array>
#include <bit>
#include <cstring>
#include <set>

#include "base/check.h"
#include "base/text.h"
#include "json/scan.h"
#include "json/token_index.h"

namespace baton::json {
namespace {

bool is_white_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

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

// One function over an explicit stack of open containers: nesting costs heap, not stack.
//
// It works on a copy of the text that has zeros behind it. Copying is a hundredth of the work, and saves every test for the
// end: a zero is no JSON, so whatever comes to it stops there. Offsets are the same in both. It goes from token to token by
// an index of where they are.
class Parser {
 public:
  Parser(std::string_view text, const ParseLimits& limits) : text_(text), limits_(limits) {}

  static void keep(Document& document, std::unique_ptr<std::string> text) { document.owned_ = std::move(text); }

  tl::expected<Document, ParseError> run() {
    if (text_.size() > limits_.bytes_max || text_.size() >= UINT32_MAX) {
      error_ = {Fault::TooLarge, std::min(limits_.bytes_max, text_.size()), describe(Fault::TooLarge)};
      return tl::make_unexpected(std::move(error_));
    }
    const Padded padded(text_);
    begin_ = padded.begin();
    end_ = begin_ + text_.size();
    document_.ascii_ = is_ascii(text_);
    bad_utf8_ = document_.ascii_ ? end_ : begin_ + find_invalid_utf8(text_);
    // A value takes two bytes, counting the separator or bracket after it; only containers still open took one.
    const std::size_t capacity = text_.size() / 2 + std::min(limits_.depth_max, text_.size() / 2) + 4;
    document_.cells_ = std::make_unique_for_overwrite<Document::Cell[]>(capacity);
    first_ = document_.cells_.get();
    TokenIndex tokens(begin_, text_.size());
    if (!parse_all(tokens)) return tl::make_unexpected(std::move(error_));
    document_.text_ = text_;
    return std::move(document_);
  }

 private:
  static constexpr std::size_t kPadding = TokenIndex::kPadding;

  // The copy: in a buffer of the thread's when it fits, so that small documents, nearly all, allocate nothing for it.
  class Padded {
   public:
    explicit Padded(std::string_view text) {
      thread_local std::array<char, 64 << 10> small;
      char* bytes = small.data();
      if (text.size() + kPadding > small.size()) {
        large_ = std::make_unique_for_overwrite<char[]>(text.size() + kPadding);
        bytes = large_.get();
      }
      if (!text.empty()) std::memcpy(bytes, text.data(), text.size());
      std::memset(bytes + text.size(), 0, kPadding);
      begin_ = bytes;
    }
    const char* begin() const { return begin_; }

   private:
    std::unique_ptr<char[]> large_;
    const char* begin_;
  };

  struct Open {
    std::uint32_t index;
    std::uint32_t count;
    std::uint64_t keys_seen;  // one bit per hash of a key: a clear bit proves a key is new
    std::uint32_t keys;       // 1 + index in key_sets_ of all keys so far, once there are many; 0 before
    bool is_object;
    bool has_escaped_key;  // then hashes of the text prove nothing
  };
  static constexpr std::size_t kOpenInline = 32;  // deeper than nearly everything: no allocation until then

  // Every fault goes through here; false, for the caller to return.
  [[gnu::noinline, gnu::cold]] bool failed(Fault fault, const char* at, std::string_view detail = {}) {
    error_ = {fault, static_cast<std::size_t>(at - begin_), describe(fault) + std::string(detail)};
    return false;
  }
  // For "something else was expected here": the end of the text is its own fault, but still says what was expected.
  [[gnu::noinline, gnu::cold]] bool unexpected(Fault fault, const char* at) {
    if (at < end_) return failed(fault, at);
    error_ = {Fault::UnexpectedEnd, text_.size(), describe(fault) + ", but the text ends"};
    return false;
  }
  [[gnu::noinline, gnu::cold]] bool ends_in_string() {
    error_ = {Fault::UnexpectedEnd, text_.size(), "the text ends inside a string"};
    return false;
  }

  static void put(Document::Cell* cell, Kind kind, std::size_t at, std::size_t size) {
    *cell = {static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(size), 0, kind, false, 0};
  }

  // `next`, `tokens` and `p` are local on purpose: they change with every token, and in memory each change would wait for
  // the one before.
  bool parse_all(TokenIndex& index) {
    TokenIndex::Cursor tokens(index);
    const auto next_token = [&tokens, begin = begin_] { return begin + tokens.next(); };
    const auto place = [begin = begin_](const char* at) { return static_cast<std::size_t>(at - begin); };
    Document::Cell* next = first_;
    // The token after a number or literal that ends at `end`. What goes on there without being a part of it is where the
    // text is wrong, though no token begins there.
    const auto token_after = [&next_token](const char* end) {
      const char* token = next_token();
      return token == end || is_white_space(*end) ? token : end;
    };
    // `start` is the opening quote. The closing one is the next token.
    const auto parse_string = [&](const char* start) {
      const char* end = next_token();
      if (!index.strings_are_plain() || *end != '"' || bad_utf8_ < end) [[unlikely]]
        return parse_rare_string(start, next++);
      put(next++, Kind::String, place(start), static_cast<std::size_t>(end - start - 1));
      return true;
    };

    const char* p = next_token();
  value:
    switch (*p) {
      case '{':
        if (!open(Kind::Object, next++, p)) return false;
        p = next_token();
        if (*p == '}') goto close;
        goto key;
      case '[':
        if (!open(Kind::Array, next++, p)) return false;
        p = next_token();
        if (*p == ']') goto close;
        goto element;
      case '"':
        if (!parse_string(p)) return false;
        p = next_token();
        break;
      case 't':
        if (!is_literal(p, "true")) return false;
        put(next++, Kind::Boolean, place(p), 1);
        p = token_after(p + 4);
        break;
      case 'f':
        if (!is_literal(p, "false")) return false;
        put(next++, Kind::Boolean, place(p), 0);
        p = token_after(p + 5);
        break;
      case 'n':
        if (!is_literal(p, "null")) return false;
        put(next++, Kind::Null, place(p), 0);
        p = token_after(p + 4);
        break;
      case '-':
      case '0':
      case '1':
      case '2':
      case '3':
      case '4':
      case '5':
      case '6':
      case '7':
      case '8':
      case '9': {
        const char* end = end_of_number(p);
        if (end == nullptr) return false;
        put(next++, Kind::Number, place(p), static_cast<std::size_t>(end - p));
        p = token_after(end);
        break;
      }
      default: return unexpected(Fault::ExpectedValue, p);
    }

  after_value:
    if (depth_ == 0) {
      document_.cell_count_ = static_cast<std::uint32_t>(next - first_);
      return p == end_ || failed(Fault::TrailingText, p);
    }
    if (*p == ',') {
      p = next_token();
      if (top_->is_object) goto key;
      goto element;
    }
    if (*p == (top_->is_object ? '}' : ']')) goto close;
    return unexpected(top_->is_object ? Fault::ExpectedCommaOrBrace : Fault::ExpectedCommaOrBracket, p);

  element:
    if (++top_->count > limits_.members_max) return failed(Fault::TooManyMembers, p);
    goto value;

  key: {
    if (top_->count >= limits_.members_max) return failed(Fault::TooManyMembers, p);
    if (*p != '"') return unexpected(Fault::ExpectedKey, p);
    const Document::Cell* key = next;
    if (!parse_string(p)) return false;
    if (!is_new_key(*top_, key)) return failed(Fault::DuplicateKey, p, duplicate_detail(key));
    ++top_->count;
    p = next_token();
    if (*p != ':') return unexpected(Fault::ExpectedColon, p);
    p = next_token();
    goto value;
  }

  close:
    first_[top_->index].size = top_->count;
    first_[top_->index].link = static_cast<std::uint32_t>(next - first_);
    pop();
    p = next_token();
    goto after_value;
  }

  bool open(Kind kind, Document::Cell* cell, const char* p) {
    if (depth_ >= limits_.depth_max) return failed(Fault::TooDeep, p, ", at most " + std::to_string(limits_.depth_max));
    const Open opened{static_cast<std::uint32_t>(cell - first_), 0, 0, 0, kind == Kind::Object, false};
    if (depth_ < kOpenInline) {
      top_ = &open_inline_[depth_];
      *top_ = opened;
    } else {
      top_ = &open_deep_.emplace_back(opened);
    }
    ++depth_;
    put(cell, kind, static_cast<std::size_t>(p - begin_), 0);
    return true;
  }

  void pop() {
    if (top_->keys != 0) key_sets_.pop_back();  // sets are made for open objects only, so the newest is this one's
    --depth_;
    if (depth_ >= kOpenInline) open_deep_.pop_back();
    top_ = depth_ == 0 ? nullptr : depth_ <= kOpenInline ? &open_inline_[depth_ - 1] : &open_deep_.back();
  }

  bool is_literal(const char* p, std::string_view word) {
    if (std::string_view(p, word.size()) == word) return true;
    const std::string_view rest(p, std::min(word.size(), static_cast<std::size_t>(end_ - p)));
    return unexpected(Fault::ExpectedValue, word.starts_with(rest) ? end_ : p);
  }

  // Null when it is none.
  const char* end_of_number(const char* p) {
    const char* start = p;
    const auto digits = [&] {
      const char* first = p;
      while (is_digit(*p)) ++p;
      return p > first;
    };
    const auto bad = [&](std::string_view why) -> const char* {
      p >= end_ ? unexpected(Fault::BadNumber, p) : failed(Fault::BadNumber, p, why);
      return nullptr;
    };
    if (*p == '-') ++p;
    if (*p == '0') {
      ++p;
      if (is_digit(*p)) return bad(": a leading zero");
    } else if (!digits()) {
      return bad(": expected a digit");
    }
    if (*p == '.') {
      ++p;
      if (!digits()) return bad(": expected a digit after the point");
    }
    const bool has_exponent = *p == 'e' || *p == 'E';
    if (has_exponent) {
      ++p;
      if (*p == '+' || *p == '-') ++p;
      if (!digits()) return bad(": expected a digit in the exponent");
    }
    const auto size = static_cast<std::size_t>(p - start);
    document_.plain_numbers_ &= size < 15 && !has_exponent;
    return p;
  }

  // The next quote, backslash or control character; the zeros at the end are control characters.
  static const char* find_special(const char* p) {
    for (;; p += 16) {
      const unsigned special = string_specials(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
      if (special != 0) return p + std::countr_zero(special);
    }
  }

  bool end_of_string(const char* q) {
    if (bad_utf8_ < q) return failed(Fault::BadUtf8, bad_utf8_);
    if (*q == '"') return true;
    return q < end_ ? failed(Fault::ControlCharacter, q) : ends_in_string();
  }

  // A string that may have an escape, or be wrong.
  [[gnu::noinline]] bool parse_rare_string(const char* start, Document::Cell* cell) {
    const char* q = find_special(start + 1);
    if (*q != '\\') {
      if (!end_of_string(q)) return false;
      put(cell, Kind::String, static_cast<std::size_t>(start - begin_), static_cast<std::size_t>(q - start - 1));
      return true;
    }
    if (!document_.decoded_) document_.decoded_ = std::make_unique<std::string>();
    std::string& out = *document_.decoded_;
    const std::size_t out_start = out.size();
    out.append(start + 1, q);
    while (*q == '\\') {
      if (!parse_escape(q, out)) return false;
      const char* plain = q;
      q = find_special(q);
      out.append(plain, q);
    }
    if (!end_of_string(q)) return false;
    put(cell, Kind::String, static_cast<std::size_t>(start - begin_), out.size() - out_start);
    out.push_back('\n');  // so that strings that stand end to end do not run into each other
    cell->escaped = true;
    cell->link = static_cast<std::uint32_t>(out_start);
    return true;
  }

  // `q` stands on a backslash; moves it past the escape.
  bool parse_escape(const char*& q, std::string& out) {
    const char* escape_at = q++;
    if (q >= end_) return ends_in_string();
    static constexpr std::string_view kEscapes = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
    if (*q != 'u') {
      const std::size_t meaning = kEscapes.find(*q);
      if (meaning == std::string_view::npos) return failed(Fault::BadEscape, q);
      out.push_back(kMeanings[meaning]);
      ++q;
      return true;
    }
    ++q;
    char32_t unit = 0;
    if (!parse_hex4(q, unit)) return false;
    if (unit >= 0xdc00 && unit <= 0xdfff) return failed(Fault::LoneSurrogate, escape_at);
    if (unit >= 0xd800 && unit <= 0xdbff) {
      char32_t low = 0;
      if (q[0] != '\\' || q[1] != 'u') return failed(Fault::LoneSurrogate, escape_at);
      q += 2;
      if (!parse_hex4(q, low)) return false;
      if (low < 0xdc00 || low > 0xdfff) return failed(Fault::LoneSurrogate, escape_at);
      unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
    }
    append_utf8(out, unit);
    return true;
  }

  bool parse_hex4(const char*& q, char32_t& unit) {
    for (int i = 0; i < 4; ++i, ++q) {
      if (q >= end_) return ends_in_string();
      const int digit = hex_value(*q);
      if (digit < 0) return failed(Fault::BadEscape, q);
      unit = unit << 4 | static_cast<char32_t>(digit);
    }
    return true;
  }

  // The document has no text yet, so strings are read from the copy.
  std::string_view string_in(const Document::Cell* cell) const {
    if (cell->escaped) return std::string_view(*document_.decoded_).substr(cell->link, cell->size);
    return {begin_ + cell->at + 1, cell->size};
  }

  bool is_new_key(Open& object, const Document::Cell* key) {
    if (object.keys != 0) return key_sets_[object.keys - 1].insert(stable(key)).second;
    // Of the bytes as they stand in the text: good enough while no key is escaped.
    const char* name = begin_ + key->at + 1;
    const std::uint32_t hash = key->size * 5u + static_cast<unsigned char>(name[0]) * 3u +
                               static_cast<unsigned char>(name[key->size / 2]) * 7u;
    const std::uint64_t bit = std::uint64_t{1} << (hash & 63);
    const bool rare = key->escaped || object.has_escaped_key;
    if (((object.keys_seen & bit) != 0 || rare) && has_key(object, string_in(key))) return false;
    object.keys_seen |= bit;
    object.has_escaped_key |= key->escaped;
    if (object.count + 1 == kKeysComparedOneByOne) collect_keys(object, key);
    return true;
  }

  [[gnu::noinline]] void collect_keys(Open& object, const Document::Cell* newest) {
    key_sets_.emplace_back();
    for_each_key(object, [&](const Document::Cell* earlier) { key_sets_.back().insert(stable(earlier)); });
    key_sets_.back().insert(stable(newest));
    object.keys = static_cast<std::uint32_t>(key_sets_.size());
  }

  // Visits the keys before the newest one of an object.
  template <class Visit>
  void for_each_key(const Open& object, Visit visit) const {
    const Document::Cell* key = first_ + object.index + 1;
    for (std::uint32_t i = 0; i < object.count; ++i) {
      visit(key);
      const Document::Cell& value = key[1];
      key = value.kind >= Kind::Array ? first_ + value.link : key + 2;
    }
  }

  [[gnu::noinline]] bool has_key(const Open& object, std::string_view name) const {
    bool found = false;
    for_each_key(object, [&](const Document::Cell* earlier) {
      found |= earlier->size == name.size() && string_in(earlier) == name;
    });
    return found;
  }

  // A view of a key that stays good while the parse goes on: unescaped keys move when decoded_ grows, so they are kept.
  std::string_view stable(const Document::Cell* cell) {
    if (!cell->escaped) return string_in(cell);
    kept_keys_.push_back(std::make_unique<std::string>(string_in(cell)));
    return *kept_keys_.back();
  }

  std::string duplicate_detail(const Document::Cell* key) const { return " `" + printable(string_in(key), 64) + "`"; }

  std::string_view text_;
  const ParseLimits& limits_;
  const char* begin_ = nullptr;  // of the copy
  const char* end_ = nullptr;
  const char* bad_utf8_ = nullptr;  // the first byte that is no UTF-8; end_ when all are
  Document document_;
  Document::Cell* first_ = nullptr;
  Open* top_ = nullptr;
  std::size_t depth_ = 0;
  std::array<Open, kOpenInline> open_inline_;
  std::vector<Open> open_deep_;
  std::vector<std::set<std::string_view>> key_sets_;  // of the open objects with many keys, outermost first
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
