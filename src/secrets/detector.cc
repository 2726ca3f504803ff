// SPDX-License-Identifier: Apache-2.0
#include "secrets/detector.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/check.h"
#include "base/text.h"

namespace baton::secrets {
namespace {

// --- The table ------------------------------------------------------------------------------------------------------

// What may follow an anchor. Wide holds every character that any token is made of.
enum class Tail { Any, LowerHex, Alphanumeric, Wide };

struct Rule {
  std::string_view name;
  double entropy_min;
  std::string_view anchors;
  Tail tail;
  std::size_t tail_length;
  std::string_view pattern;
  bool is_context;
};

enum RuleId : std::size_t {
#define TOKEN(id, ...) id,
#define CONTEXT(id, ...) id,
#define KEYWORD(word)
#define KEY_OF(word)
#include "secrets/rules.def"
  KeywordAssignment,
  HighEntropy,
};
constexpr std::size_t kPatternRules = KeywordAssignment;
static_assert(kPatternRules <= 64, "a set of pattern rules is one 64-bit word");

constexpr Rule kRules[] = {
#define TOKEN(id, name, entropy, anchors, tail, length, pattern) \
  {name, entropy, anchors, Tail::tail, length, pattern, false},
#define CONTEXT(id, name, entropy, anchors, tail, length, pattern) \
  {name, entropy, anchors, Tail::tail, length, pattern, true},
#define KEYWORD(word)
#define KEY_OF(word)
#include "secrets/rules.def"
};

constexpr std::string_view kRuleNames[] = {
#define TOKEN(id, name, ...) name,
#define CONTEXT(id, name, ...) name,
#define KEYWORD(word)
#define KEY_OF(word)
#include "secrets/rules.def"
    "keyword-assignment",
    "high-entropy",
};

constexpr std::string_view kKeywords[] = {
#define TOKEN(...)
#define CONTEXT(...)
#define KEYWORD(word) word,
#define KEY_OF(word)
#include "secrets/rules.def"
};

constexpr std::string_view kKeysOf[] = {
#define TOKEN(...)
#define CONTEXT(...)
#define KEYWORD(word)
#define KEY_OF(word) word,
#include "secrets/rules.def"
};

// The last word of a name that says: not the secret itself, only something about it.
constexpr std::string_view kReferenceWords[] = {
    "ref",     "refs",        "reference", "uri",      "url",    "id",       "ids",     "path",
    "file",    "name",        "names",     "digest",   "hash",   "checksum", "sha256",  "type",
    "kind",    "fingerprint", "commit",    "scope",    "scopes", "policy",   "window",  "at",
    "expires", "expiry",      "env",       "endpoint", "issuer", "status",   "version", "provider"};

constexpr std::size_t kValueLengthMin = 10;
constexpr std::size_t kValueLengthMax = 150;
constexpr double kValueEntropyMin = 3.5;
constexpr std::size_t kRunLengthMin = 32;
constexpr double kRunEntropyMin = 4.5;
// `SECRET_KEY_BASE`: so much may stand between the keyword and the end of its name.
constexpr std::size_t kNameRestMax = 24;
// Blanks and quotes between name, sign and value: `"token" : "`, also as escaped in a string of a string.
constexpr std::size_t kSeparatorMax = 8;
// user:password before an `@`, as the pattern bounds it, doubled for a JSON document's escapes.
constexpr std::size_t kUserinfoMax = 2 * (128 + 1 + 256);

// --- Characters -----------------------------------------------------------------------------------------------------

using CharacterSet = std::array<bool, 256>;

template <class Predicate>
constexpr CharacterSet set_of(Predicate holds) {
  CharacterSet set{};
  for (int c = 0; c < 256; ++c) set[static_cast<std::size_t>(c)] = holds(static_cast<char>(c));
  return set;
}

constexpr CharacterSet kAny = set_of([](char) { return true; });
constexpr CharacterSet kLowerHex = set_of(is_lower_hex);
constexpr CharacterSet kAlphanumeric = set_of(is_alphanumeric);
constexpr CharacterSet kWide =
    set_of([](char c) { return is_alphanumeric(c) || std::string_view("_~.=+/-").find(c) != std::string_view::npos; });
constexpr const CharacterSet& kValue = kWide;
constexpr CharacterSet kRun =
    set_of([](char c) { return is_alphanumeric(c) || c == '+' || c == '/' || c == '_' || c == '-'; });
constexpr CharacterSet kName = set_of([](char c) { return is_alphanumeric(c) || c == '_' || c == '-' || c == '.'; });
constexpr CharacterSet kUserinfo = set_of([](char c) {
  return c != ' ' && !(c >= '\t' && c <= '\r') && std::string_view("/?#\"'<>\\").find(c) == std::string_view::npos;
});

constexpr bool in(const CharacterSet& set, char c) { return set[static_cast<unsigned char>(c)]; }
constexpr bool is_letter(char c) { return is_lower(c) || is_upper(c); }
constexpr bool is_quote(char c) { return c == '"' || c == '\'' || c == '`'; }

const CharacterSet& characters_of(Tail tail) {
  switch (tail) {
    case Tail::Any: return kAny;
    case Tail::LowerHex: return kLowerHex;
    case Tail::Alphanumeric: return kAlphanumeric;
    case Tail::Wide: return kWide;
  }
  CHECK(false);
}

bool equals_folded(std::string_view text, std::string_view lower) {
  if (text.size() != lower.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (to_lower(text[i]) != lower[i]) return false;
  }
  return true;
}

bool starts_with_folded(std::string_view text, std::string_view lower) {
  return equals_folded(text.substr(0, lower.size()), lower);
}

bool ends_with_folded(std::string_view text, std::string_view lower) {
  return text.size() >= lower.size() && equals_folded(text.substr(text.size() - lower.size()), lower);
}

template <class Predicate>
bool all_of(std::string_view text, Predicate holds) {
  return std::all_of(text.begin(), text.end(), holds);
}

// Shannon entropy in bits per character.
double entropy(std::string_view text) {
  std::array<std::uint32_t, 256> counts{};
  for (const char c : text) ++counts[static_cast<unsigned char>(c)];
  double sum = 0;
  for (const std::uint32_t count : counts) {
    if (count > 1) sum += count * std::log2(static_cast<double>(count));
  }
  const double size = static_cast<double>(text.size());
  return text.empty() ? 0 : std::log2(size) - sum / size;
}

// --- What only looks like a secret ----------------------------------------------------------------------------------

bool is_uuid(std::string_view text) {
  if (text.size() != 36) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[i] != '-' : !is_lower_hex(to_lower(text[i]))) return false;
  }
  return true;
}

// `trace_01J8Z3...`: a readable prefix and a ULID, which is as little a secret as a UUID.
bool is_prefixed_ulid(std::string_view text) {
  if (text.size() <= 27) return false;
  const std::string_view prefix = text.substr(0, text.size() - 26);
  const std::string_view ulid = text.substr(text.size() - 26);
  return (prefix.back() == '_' || prefix.back() == '-') && all_of(prefix.substr(0, prefix.size() - 1), is_lower) &&
         ulid[0] >= '0' && ulid[0] <= '7' && all_of(ulid, [](char c) {
           return is_digit(c) || (is_upper(c) && c != 'I' && c != 'L' && c != 'O' && c != 'U');
         });
}

// One part of a name, a path or a phrase: a word in some natural case, a number, or a word and a short number.
bool is_word(std::string_view part, bool& has_number) {
  std::size_t letters = 0;
  while (letters < part.size() && is_letter(part[letters])) ++letters;
  const std::string_view number = part.substr(letters);
  if (!all_of(number, is_digit)) return false;
  if (letters == 0) return number.size() <= 8;
  has_number = !number.empty();
  if (has_number && (number.size() > 4 || letters == 2)) return false;
  std::size_t humps = 0;  // camelCase: rare enough to be words, not letters picked blindly
  for (std::size_t i = 1; i < letters; ++i) humps += is_lower(part[i - 1]) && is_upper(part[i]);
  return letters <= 24 && humps * 5 <= letters;
}

// `docs/release/2026-notes.md`, `change-ticket-3310`, `process.env.API_TOKEN`: several words, none of them random. A
// random value split by dashes mixes letters and digits in its parts and has too few vowels.
bool is_made_of_words(std::string_view text) {
  std::size_t parts = 0, numbered = 0, letters = 0, vowels = 0;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && is_alphanumeric(text[end])) ++end;
    if (end > at) {
      bool has_number = false;
      if (!is_word(text.substr(at, end - at), has_number)) return false;
      ++parts;
      numbered += has_number;
    }
    at = end + 1;
  }
  for (const char c : text) {
    letters += is_letter(c);
    vowels += std::string_view("aeiou").find(to_lower(c)) != std::string_view::npos;
  }
  return parts >= 2 && numbered <= 2 && letters > 0 && vowels * 4 >= letters;
}

// Base64 has no dots and does not begin with one.
bool is_path(std::string_view text) {
  if (text.starts_with("./") || text.starts_with("../") || text.starts_with("~/")) return true;
  const std::size_t dot = text.rfind('.');
  if (dot == std::string_view::npos || text.find('/') > dot) return false;
  const std::string_view extension = text.substr(dot + 1);
  return !extension.empty() && extension.size() <= 5 && all_of(extension, is_alphanumeric) && is_lower(extension[0]);
}

bool is_digest_with_prefix(std::string_view text) {
  for (const std::string_view prefix : {"sha1", "sha256", "sha384", "sha512", "md5"}) {
    if (text.starts_with(prefix) && text.size() > prefix.size() && !is_alphanumeric(text[prefix.size()])) {
      return all_of(text.substr(prefix.size() + 1), is_lower_hex);
    }
  }
  return false;
}

// The value of `keyword = value`, which must be all of `value`.
bool is_secret_value(std::string_view value) {
  return value.size() >= kValueLengthMin && value.size() <= kValueLengthMax && !all_of(value, is_letter) &&
         entropy(value) >= kValueEntropyMin && !is_uuid(value) && !is_digest_with_prefix(value) && !is_path(value) &&
         !is_made_of_words(value);
}

// A whole run of the characters in kRun.
bool is_secret_run(std::string_view run) {
  return run.size() >= kRunLengthMin && std::any_of(run.begin(), run.end(), is_upper) &&
         std::any_of(run.begin(), run.end(), is_lower) && std::any_of(run.begin(), run.end(), is_digit) &&
         entropy(run) >= kRunEntropyMin && !is_made_of_words(run) && !is_prefixed_ulid(run);
}

// `user:${PASSWORD}`, `user:***`, `user:[REDACTED:rule]`: the place of a password, not the password.
bool is_placeholder(std::string_view password) {
  return password.starts_with("$") || password.starts_with("{") || password.starts_with("%") ||
         password.starts_with("[REDACTED:") ||
         all_of(password, [](char c) { return c == '*' || c == '.' || c == 'x'; });
}

// What the pattern of a rule cannot say.
bool is_exempt(std::size_t rule, std::string_view token) {
  switch (rule) {
    case VaultLegacyToken: return all_of(token.substr(2), is_letter);
    case CloudflareToken:  // a git id, a rule of dashes, a long name
      return all_of(token, is_lower_hex) || std::none_of(token.begin(), token.end(), is_digit) ||
             std::none_of(token.begin(), token.end(), is_letter) || is_made_of_words(token);
    case UrlUserinfo: return token.starts_with("[REDACTED:") || is_placeholder(token.substr(token.find(':') + 1));
    case AuthorizationHeader:  // "Authorization: Basic authentication is not supported"
      return all_of(token.substr(1),
                    [](char c) { return is_lower(c) || c == '-' || c == '.' || c == '_' || c == ':'; });
    default: return false;
  }
}

// --- Keyword and value ----------------------------------------------------------------------------------------------

// Text is what it seems. In the raw text of a JSON document white space may be long, and a backslash may stand for
// anything: the answer there may be too often yes, never too often no.
enum class Reading { Text, Document };

// `SECRET_KEY_BASE`, `tokens`, `secretValue` go on naming a secret; `tokenizer` and `secretary` are other words, and
// `token_ref` is a reference. `last` is the keyword's last character.
bool rest_names_value(char last, std::string_view rest) {
  if (rest.empty()) return true;
  if (to_lower(rest[0]) == 's' && (rest.size() == 1 || !is_letter(rest[1]))) rest.remove_prefix(1);
  if (rest.empty()) return true;
  const bool same_word = is_lower(rest[0]) || (is_upper(rest[0]) && is_upper(last));
  if (same_word && !starts_with_folded(rest, "key") && !starts_with_folded(rest, "value")) return false;
  std::size_t start = rest.size();
  while (start > 0 && is_alphanumeric(rest[start - 1])) --start;
  std::string_view word = rest.substr(start);
  if (std::any_of(word.begin(), word.end(), is_lower)) {
    const std::size_t hump = word.find_last_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    if (hump != std::string_view::npos) word.remove_prefix(hump);
  }
  return std::none_of(std::begin(kReferenceWords), std::end(kReferenceWords),
                      [&](std::string_view reference) { return equals_folded(word, reference); });
}

// The end of the name that a keyword ending at `at` stands in; nothing if it is too long for one.
std::optional<std::size_t> name_end(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && end - at <= kNameRestMax && in(kName, text[end])) ++end;
  if (end - at > kNameRestMax) return std::nullopt;
  return end;
}

// A `key` that ends at `at` counts only after one of the words of KEY_OF.
bool is_secret_key(std::string_view text, std::size_t at) {
  std::string_view before = text.substr(0, at - 3);
  if (!before.empty() && std::string_view(" _.-").find(before.back()) != std::string_view::npos)
    before.remove_suffix(1);
  return std::any_of(std::begin(kKeysOf), std::end(kKeysOf),
                     [&](std::string_view word) { return ends_with_folded(before, word); });
}

// Moves past blanks and quotes. False if a document's backslash makes it unclear what stands here.
bool skip_separator(std::string_view text, std::size_t& at, Reading reading) {
  const std::size_t start = at;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (reading == Reading::Document) {
      if (c == '\\') return false;
      if (c == '\n' || c == '\r') continue;
    } else if (at - start == kSeparatorMax) {
      return true;
    }
    if (c != ' ' && c != '\t' && c != '\\' && c != ']' && !is_quote(c)) break;
  }
  return true;
}

struct Place {
  std::size_t offset;
  std::size_t length;  // 0 when a document leaves it open
};

// The secret value assigned to the keyword that ends at `at`.
std::optional<Place> assigned_value(std::string_view text, std::size_t at, Reading reading) {
  const std::size_t start = at;
  const std::optional<std::size_t> end = name_end(text, at);
  if (!end) return std::nullopt;
  at = *end;
  if (!skip_separator(text, at, reading)) return Place{at, 0};
  if (at == text.size() || (text[at] != '=' && text[at] != ':')) return std::nullopt;
  ++at;
  for (int more = 0; more < 2 && at < text.size() && (text[at] == '=' || text[at] == '>' || text[at] == ':'); ++more)
    ++at;
  if (!skip_separator(text, at, reading)) return Place{at, 0};
  std::size_t value_end = at;
  while (value_end < text.size() && value_end - at <= kValueLengthMax && in(kValue, text[value_end])) ++value_end;
  // Most values are too short to ask more.
  if (value_end - at < kValueLengthMin || !rest_names_value(text[start - 1], text.substr(start, *end - start)) ||
      !is_secret_value(text.substr(at, value_end - at))) {
    return std::nullopt;
  }
  return Place{at, value_end - at};
}

// --- The first look -------------------------------------------------------------------------------------------------
//
// Every anchor is known by four characters of it in a row, its window. Anchors are spread over eight buckets, one bit
// each; a table per position and half byte says which buckets allow that half byte there, and the conjunction of all
// eight lookups leaves the buckets that may have an anchor here (the method is known as Teddy). What is left is looked up
// by pairs of whole characters, and what is left then is compared in full.

constexpr std::size_t kWindow = 4;
constexpr std::size_t kBuckets = 8;
constexpr std::size_t kBlock = 64;  // read at a time, in two halves
constexpr std::size_t kHalfBlock = 32;
static_assert(kHalfBlock == kRunLengthMin, "so that a run meets the start of a half block");
constexpr int kRounds = 3;  // more change nothing

enum class AnchorKind { Pattern, Keyword, Key, Escape };

struct Anchor {
  AnchorKind kind;
  std::size_t rule;  // of a Pattern
  std::string_view literal;
  bool folded;
  Tail tail;
  std::size_t tail_length;
  std::size_t window = 0;         // where in the literal its window begins
  std::uint32_t window_mask = 0;  // the bits of the window that the literal fixes, and what they are
  std::uint32_t window_bits = 0;
};

// The share of each ASCII character in prose and JSON, roughly.
constexpr std::array<double, 128> kShares = [] {
  std::array<double, 128> shares{};
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const char c = static_cast<char>(i);
    if (is_lower(c)) {
      shares[i] = 0.085 / (1 + 0.25 * static_cast<double>(std::string_view("etaoinsrhldcumfpgwybvkxjqz").find(c)));
    } else if (c == ' ' || c == '"') {
      shares[i] = 0.1;
    } else if (is_digit(c) || std::string_view("_-.,:/").find(c) != std::string_view::npos) {
      shares[i] = 0.012;
    } else {
      shares[i] = is_upper(c) ? 0.003 : 0.001;
    }
  }
  return shares;
}();

// Which half bytes the anchors of one bucket allow, by position.
struct Shape {
  std::array<std::uint16_t, kWindow> low{}, high{};

  void allow(std::size_t position, char c) {
    low[position] |= static_cast<std::uint16_t>(1u << (static_cast<unsigned char>(c) & 15));
    high[position] |= static_cast<std::uint16_t>(1u << (static_cast<unsigned char>(c) >> 4));
  }

  Shape with(const Shape& other) const {
    Shape both = *this;
    for (std::size_t position = 0; position < kWindow; ++position) {
      both.low[position] |= other.low[position];
      both.high[position] |= other.high[position];
    }
    return both;
  }

  // About how often ordinary text would come by here for nothing.
  double cost() const {
    double product = 1;
    for (std::size_t position = 0; position < kWindow; ++position) {
      double sum = 0;
      for (std::size_t c = 0; c < kShares.size(); ++c) {
        if ((low[position] >> (c & 15) & 1) && (high[position] >> (c >> 4) & 1)) sum += kShares[c];
      }
      product *= sum;
    }
    return product;
  }
};

Shape shape_of(const Anchor& anchor) {
  Shape shape;
  for (std::size_t position = 0; position < kWindow; ++position) {
    const std::size_t at = anchor.window + position;
    if (at < anchor.literal.size()) {
      const char c = anchor.literal[at];
      shape.allow(position, c);
      if (anchor.folded && is_lower(c)) shape.allow(position, static_cast<char>(c - 'a' + 'A'));
      continue;
    }
    const CharacterSet& tail = at - anchor.literal.size() < anchor.tail_length ? characters_of(anchor.tail) : kAny;
    for (int c = 0; c < 256; ++c) {
      if (in(tail, static_cast<char>(c))) shape.allow(position, static_cast<char>(c));
    }
  }
  return shape;
}

void choose_window(Anchor& anchor) {
  // Best is a window that ends in a sign: tokens have them, words have not, and where they stand in the same place many
  // anchors share a bucket at little cost.
  const auto score = [](const Anchor& one) {
    const bool ends_in_sign = one.literal.size() >= kWindow && !is_alphanumeric(one.literal[one.window + kWindow - 1]);
    return shape_of(one).cost() * (ends_in_sign ? 1e-6 : 1);
  };
  Anchor moved = anchor;
  for (moved.window = 1; moved.window + kWindow <= anchor.literal.size(); ++moved.window) {
    if (score(moved) < score(anchor)) anchor.window = moved.window;
  }
  for (std::size_t i = 0; i < kWindow && anchor.window + i < anchor.literal.size(); ++i) {
    const char c = anchor.literal[anchor.window + i];
    const std::uint32_t mask = anchor.folded && is_lower(c) ? 0xdf : 0xff;
    anchor.window_mask |= mask << (8 * i);
    anchor.window_bits |= (static_cast<unsigned char>(c) & mask) << (8 * i);
  }
}

std::vector<Anchor> all_anchors() {
  std::vector<Anchor> anchors;
  for (std::size_t rule = 0; rule < kPatternRules; ++rule) {
    const Rule& row = kRules[rule];
    for (std::string_view literal : split(row.anchors, ' ')) {
      const bool folded = literal.starts_with("(?i)");
      if (folded) literal.remove_prefix(4);
      anchors.push_back({AnchorKind::Pattern, rule, literal, folded, row.tail, row.tail_length});
    }
  }
  for (const std::string_view keyword : kKeywords)
    anchors.push_back({AnchorKind::Keyword, 0, keyword, true, Tail::Any, 0});
  anchors.push_back({AnchorKind::Key, 0, "key", true, Tail::Any, 0});
  // JSON escapes of characters a secret may be made of; `\n` and its kind are none.
  anchors.push_back({AnchorKind::Escape, 0, "\\/", false, Tail::Any, 0});
  anchors.push_back({AnchorKind::Escape, 0, "\\u00", false, Tail::Any, 0});
  for (Anchor& anchor : anchors) choose_window(anchor);
  return anchors;
}

struct Tables {
  alignas(16) std::uint8_t low[kWindow][16] = {};
  alignas(16) std::uint8_t high[kWindow][16] = {};
  std::array<std::vector<Anchor>, kBuckets> anchors;
  // Which buckets know the two characters of a window's first and of its second half: exact where half bytes are not.
  std::array<std::array<std::uint8_t, 65536>, 2> pairs = {};

  Tables() {
    const std::vector<Anchor> all = all_anchors();
    const std::vector<std::size_t> bucket_of = spread(all);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto bit = static_cast<std::uint8_t>(1u << bucket_of[i]);
      const Shape shape = shape_of(all[i]);
      for (std::size_t position = 0; position < kWindow; ++position) {
        for (std::size_t half = 0; half < 16; ++half) {
          if (shape.low[position] >> half & 1) low[position][half] |= bit;
          if (shape.high[position] >> half & 1) high[position][half] |= bit;
        }
      }
      anchors[bucket_of[i]].push_back(all[i]);
      for (const std::size_t side : {0, 1}) {
        const std::uint32_t mask = all[i].window_mask >> (16 * side) & 0xffff;
        const std::uint32_t bits = all[i].window_bits >> (16 * side) & 0xffff;
        // Every pair that differs from the literal only in bits the literal leaves open.
        const std::uint32_t open = ~mask & 0xffff;
        std::uint32_t choice = 0;
        do {
          pairs[side][bits | choice] |= bit;
          choice = (choice - open) & open;
        } while (choice != 0);
      }
    }
  }

  // Of `buckets`, those that may have an anchor with this window.
  unsigned narrowed(unsigned buckets, std::uint32_t window) const {
    return buckets & pairs[0][window & 0xffff] & pairs[1][window >> 16];
  }

  // Anchors of one or two characters leave most of the window open and would open it for all others: they have two
  // buckets to themselves. Each other goes where it adds least, and once all are placed may move again.
  static std::vector<std::size_t> spread(const std::vector<Anchor>& all) {
    std::vector<Shape> shapes;
    std::vector<std::pair<double, std::size_t>> order;  // the most frequent first: they need the room
    for (const Anchor& anchor : all) {
      shapes.push_back(shape_of(anchor));
      order.emplace_back(-shapes.back().cost(), order.size());
    }
    std::sort(order.begin(), order.end());
    std::vector<std::size_t> bucket_of(all.size(), kBuckets);
    for (int round = 0; round < kRounds; ++round) {
      for (const auto& [cost, i] : order) {
        if (all[i].literal.size() <= 2) {
          bucket_of[i] = is_lower(all[i].literal[0]) ? 1 : 0;
          continue;
        }
        bucket_of[i] = kBuckets;
        std::array<Shape, kBuckets> buckets;
        for (std::size_t other = 0; other < all.size(); ++other) {
          if (bucket_of[other] < kBuckets) buckets[bucket_of[other]] = buckets[bucket_of[other]].with(shapes[other]);
        }
        double least = 1e9;
        for (std::size_t bucket = 2; bucket < kBuckets; ++bucket) {
          const double added = buckets[bucket].with(shapes[i]).cost() - buckets[bucket].cost();
          if (added < least) least = added, bucket_of[i] = bucket;
        }
      }
    }
    return bucket_of;
  }
};

const Tables& tables() {
  static const Tables built;
  return built;
}

// Judges what the first look comes upon. As a first look it stops at the first thing that may be a secret; for find() it
// goes on, notes which patterns to try, and keeps what needs no pattern.
class Scan {
 public:
  Scan(std::string_view text, Reading reading) : text_(text), reading_(reading) {}

  bool run();  // true if stopped

  std::uint64_t pattern_rules() const { return pattern_rules_; }
  const std::vector<Finding>& findings() const { return findings_; }

 private:
  bool run_portable();
  bool run_avx2();

  bool candidate(std::size_t at, unsigned buckets, std::uint32_t window);
  bool confirm(const Anchor& anchor, std::size_t at);
  bool follows_url(std::size_t at) const;
  bool names_scheme(std::size_t at) const;
  bool long_run(std::size_t at);

  // One more thing that counts: true if that is enough.
  bool found(std::size_t rule, Place place) {
    if (reading_ == Reading::Document) return true;
    findings_.push_back({kRuleNames[rule], place.offset, place.length});
    return false;
  }

  const Tables& table_ = tables();
  std::string_view text_;
  Reading reading_;
  std::size_t run_end_ = 0;  // runs before this were judged
  std::uint64_t pattern_rules_ = 0;
  std::vector<Finding> findings_;
};

// The four characters, the first in the lowest byte.
std::uint32_t load_window(const char* at) {
  std::uint32_t window;
  std::memcpy(&window, at, sizeof window);
  return std::endian::native == std::endian::big ? __builtin_bswap32(window) : window;
}

bool Scan::candidate(std::size_t at, unsigned buckets, std::uint32_t window) {
  for (; buckets != 0; buckets &= buckets - 1) {
    for (const Anchor& anchor : table_.anchors[static_cast<std::size_t>(std::countr_zero(buckets))]) {
      if ((window & anchor.window_mask) == anchor.window_bits && at >= anchor.window &&
          confirm(anchor, at - anchor.window)) {
        return true;
      }
    }
  }
  return false;
}

bool Scan::confirm(const Anchor& anchor, std::size_t at) {
  const std::string_view here = text_.substr(at, anchor.literal.size());
  if (anchor.folded ? !equals_folded(here, anchor.literal) : here != anchor.literal) return false;
  const std::size_t end = at + here.size();
  switch (anchor.kind) {
    case AnchorKind::Pattern: {
      if (text_.size() - end < anchor.tail_length) return false;
      if (anchor.tail != Tail::Any) {
        const CharacterSet& tail = characters_of(anchor.tail);
        for (std::size_t i = end; i < end + anchor.tail_length; ++i) {
          if (!in(tail, text_[i])) return false;
        }
      }
      if (anchor.rule == UrlUserinfo && !follows_url(at)) return false;
      if (anchor.rule == AuthorizationHeader && !names_scheme(end)) return false;
      pattern_rules_ |= std::uint64_t{1} << anchor.rule;
      return reading_ == Reading::Document;
    }
    case AnchorKind::Key:
      if (!is_secret_key(text_, end)) return false;
      [[fallthrough]];
    case AnchorKind::Keyword: {
      const std::optional<Place> value = assigned_value(text_, end, reading_);
      return value && found(KeywordAssignment, *value);
    }
    case AnchorKind::Escape:  // only an escape below U+0080 can be part of a secret
      return reading_ == Reading::Document && (here.size() == 2 || end == text_.size() || text_[end] < '8');
  }
  CHECK(false);
}

// `scheme://user:password` stands before the `@`.
bool Scan::follows_url(std::size_t at) const {
  std::size_t start = at;
  bool has_colon = false;
  while (start > 0 && at - start <= kUserinfoMax && in(kUserinfo, text_[start - 1])) {
    --start;
    has_colon |= text_[start] == ':';
  }
  return has_colon && start >= 3 && text_.substr(start - 3, 3) == "://";
}

// `: Bearer` or its like follows, with blanks and quotes.
bool Scan::names_scheme(std::size_t at) const {
  for (; at < text_.size(); ++at) {
    const char c = text_[at];
    if (c == '\\') return true;
    if (c != ' ' && c != ':' && c != '=' && c != ']' && !is_quote(c) && !(c >= '\t' && c <= '\r')) break;
  }
  const std::string_view rest = text_.substr(at);
  return starts_with_folded(rest, "bearer") || starts_with_folded(rest, "basic") || starts_with_folded(rest, "token");
}

bool Scan::long_run(std::size_t at) {
  if (at < run_end_ || !in(kRun, text_[at])) return false;
  std::size_t start = at, end = at + 1;
  while (start > 0 && in(kRun, text_[start - 1])) --start;
  while (end < text_.size() && in(kRun, text_[end])) ++end;
  run_end_ = end;
  const std::string_view run = text_.substr(start, end - start);
  if (run.size() < kRunLengthMin) return false;
  if (is_secret_run(run)) return found(HighEntropy, {start, run.size()});
  // `\nRUN`: the document's run does not begin with an `n`.
  return reading_ == Reading::Document && start > 0 && text_[start - 1] == '\\' && is_secret_run(run.substr(1));
}

bool Scan::run_portable() {
  for (std::size_t at = 0; at < text_.size(); ++at) {
    char padded[kWindow] = {};
    const bool whole = text_.size() - at >= kWindow;
    if (!whole) std::memcpy(padded, text_.data() + at, text_.size() - at);
    const std::uint32_t window = load_window(whole ? text_.data() + at : padded);
    const unsigned buckets = table_.narrowed(0xff, window);
    if (buckets != 0 && candidate(at, buckets, window)) return true;
    // A run of 32 has a character at some multiple of 32.
    if (at % kRunLengthMin == 0 && long_run(at)) return true;
  }
  return false;
}

#if defined(__x86_64__)

__attribute__((target("avx2,bmi,lzcnt"))) bool Scan::run_avx2() {
  __m256i low[kWindow], high[kWindow];
  for (std::size_t position = 0; position < kWindow; ++position) {
    low[position] = _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(table_.low[position])));
    high[position] =
        _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(table_.high[position])));
  }
  const __m256i half = _mm256_set1_epi8(15);
  const __m256i below_run = _mm256_set1_epi8('+' - 1);

  // The last blocks are read from a copy, with zeros behind the text: no anchor and no run has a zero in it.
  char last[2 * kBlock + kWindow] = {};
  const std::size_t whole = text_.size() < kBlock + kWindow ? 0 : (text_.size() - kWindow) / kBlock * kBlock;
  CHECK(text_.size() - whole < kBlock + kWindow);
  if (whole < text_.size()) std::memcpy(last, text_.data() + whole, text_.size() - whole);

  std::size_t dense_before = 0;  // dense characters right before the half block
  for (std::size_t at = 0; at < text_.size(); at += kBlock) {
    const char* block = at < whole ? text_.data() + at : last + (at - whole);
    alignas(32) std::uint8_t bits[kBlock];
    std::uint64_t some = 0;
    for (std::size_t start = 0; start < kBlock; start += kHalfBlock) {
      __m256i buckets = _mm256_set1_epi8(-1);
      for (std::size_t position = 0; position < kWindow; ++position) {
        const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(block + start + position));
        const __m256i by_low = _mm256_shuffle_epi8(low[position], _mm256_and_si256(bytes, half));
        const __m256i by_high =
            _mm256_shuffle_epi8(high[position], _mm256_and_si256(_mm256_srli_epi16(bytes, 4), half));
        buckets = _mm256_and_si256(buckets, _mm256_and_si256(by_low, by_high));
      }
      _mm256_store_si256(reinterpret_cast<__m256i*>(bits + start), buckets);
      const __m256i none = _mm256_cmpeq_epi8(buckets, _mm256_setzero_si256());
      some |= std::uint64_t{~static_cast<std::uint32_t>(_mm256_movemask_epi8(none))} << start;
    }
    for (; some != 0; some &= some - 1) {
      const auto place = static_cast<std::size_t>(std::countr_zero(some));
      const std::uint32_t window = load_window(block + place);
      const unsigned left = table_.narrowed(bits[place], window);
      if (left != 0 && candidate(at + place, left, window)) return true;
    }
    // No character of a run is below `+`; blanks and quotes are. A run of 32 fills a half block or crosses into the
    // next.
    for (std::size_t start = 0; start < kBlock; start += kHalfBlock) {
      const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(block + start));
      const auto dense = static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpgt_epi8(bytes, below_run)));
      const auto first = static_cast<std::size_t>(std::countr_one(dense));
      if (dense_before + first >= kRunLengthMin && at + start < text_.size() && long_run(at + start)) return true;
      dense_before = first == kHalfBlock ? dense_before + kHalfBlock : static_cast<std::size_t>(std::countl_one(dense));
    }
  }
  return false;
}

bool Scan::run() {
  static const bool has_avx2 =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("lzcnt");
  return has_avx2 ? run_avx2() : run_portable();
}

#else

bool Scan::run() { return run_portable(); }

#endif

// --- The full look --------------------------------------------------------------------------------------------------

struct Pattern {
  std::unique_ptr<re2::RE2> expression;
  int group = 1;  // the secret
};

const std::array<Pattern, kPatternRules>& patterns() {
  static const std::array<Pattern, kPatternRules> compiled = [] {
    re2::RE2::Options options;
    options.set_log_errors(false);
    options.set_encoding(re2::RE2::Options::EncodingLatin1);  // bytes, so that invalid UTF-8 hides nothing
    std::array<Pattern, kPatternRules> all;
    for (std::size_t rule = 0; rule < kPatternRules; ++rule) {
      const std::string pattern(kRules[rule].pattern);
      auto expression = std::make_unique<re2::RE2>(
          kRules[rule].is_context ? pattern : "(?:^|[^A-Za-z0-9])(" + pattern + ")", options);
      CHECK(expression->ok());
      all[rule].group = expression->NumberOfCapturingGroups();
      all[rule].expression = std::move(expression);
    }
    return all;
  }();
  return compiled;
}

// The end of a private key whose head ends at `at`: behind its foot or, if it was cut off, behind its last base64 line.
std::size_t private_key_end(std::string_view text, std::size_t at) {
  constexpr std::size_t kBodyMax = 16'384;  // a key of 16384 bits takes about 13 KB
  constexpr std::string_view kDashes = "-----";
  const std::string_view near = text.substr(at, kBodyMax);
  const std::size_t foot = near.find("-----END");
  if (foot != std::string_view::npos) {
    const std::size_t close = near.find(kDashes, foot + kDashes.size());
    if (close != std::string_view::npos) return at + close + kDashes.size();
  }
  std::size_t end = at;
  for (std::size_t i = at; i < text.size(); ++i) {
    const char c = text[i];
    if (in(kRun, c) || c == '=') {
      end = i + 1;
    } else if (c != '\n' && c != '\r' && c != '\\') {  // a backslash: a line break in a string of a string
      break;
    }
  }
  return end;
}

void find_by_pattern(std::size_t rule, std::string_view text, std::vector<Finding>& findings) {
  // A match longer than this that turns out not to count is passed over whole, so that the work stays linear.
  constexpr std::size_t kRetriedLengthMax = 1000;
  const Pattern& pattern = patterns()[rule];
  re2::StringPiece groups[4];
  const re2::StringPiece piece(text.data(), text.size());
  std::size_t at = 0;
  while (at < text.size() &&
         pattern.expression->Match(piece, at, text.size(), re2::RE2::UNANCHORED, groups, pattern.group + 1)) {
    const re2::StringPiece& group = groups[pattern.group];
    const std::string_view token(group.data(), group.size());
    const auto offset = static_cast<std::size_t>(token.data() - text.data());
    std::size_t end = offset + token.size();
    if ((kRules[rule].entropy_min == 0 || entropy(token) >= kRules[rule].entropy_min) && !is_exempt(rule, token)) {
      if (rule == PrivateKey) end = private_key_end(text, end);
      findings.push_back({kRuleNames[rule], offset, end - offset});
      at = end;
    } else {
      at = token.size() > kRetriedLengthMax ? end : offset + 1;
    }
  }
}

std::size_t specificity(const Finding& finding) {
  return static_cast<std::size_t>(std::find(std::begin(kRuleNames), std::end(kRuleNames), finding.rule) - kRuleNames);
}

std::vector<Finding> merge(std::vector<Finding> findings) {
  std::sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) { return a.offset < b.offset; });
  std::vector<Finding> merged;
  for (const Finding& finding : findings) {
    if (merged.empty() || finding.offset >= merged.back().offset + merged.back().length) {
      merged.push_back(finding);
      continue;
    }
    Finding& last = merged.back();
    if (specificity(finding) < specificity(last)) last.rule = finding.rule;
    last.length = std::max(last.offset + last.length, finding.offset + finding.length) - last.offset;
  }
  return merged;
}

// A keyword in the name whose rest goes on to the name's end without making it a reference.
bool names_secret(std::string_view name) {
  for (std::size_t at = 3; at <= name.size(); ++at) {
    const std::string_view before = name.substr(0, at);
    const bool keyword = std::any_of(std::begin(kKeywords), std::end(kKeywords),
                                     [&](std::string_view word) { return ends_with_folded(before, word); });
    if (!keyword && !(ends_with_folded(before, "key") && is_secret_key(name, at))) continue;
    if (name_end(name, at) == name.size() && rest_names_value(name[at - 1], name.substr(at))) return true;
  }
  return false;
}

}  // namespace

std::vector<Finding> find(std::string_view text) {
  Scan scan(text, Reading::Text);
  scan.run();
  std::vector<Finding> findings = scan.findings();
  for (std::uint64_t rules = scan.pattern_rules(); rules != 0; rules &= rules - 1) {
    find_by_pattern(static_cast<std::size_t>(std::countr_zero(rules)), text, findings);
  }
  return merge(std::move(findings));
}

bool holds_secret(std::string_view text) { return !find(text).empty(); }

std::optional<Finding> find_assigned(std::string_view name, std::string_view value) {
  if (names_secret(name) && all_of(value, [](char c) { return in(kValue, c); }) && is_secret_value(value)) {
    return Finding{kRuleNames[KeywordAssignment], 0, value.size()};
  }
  // The other rules that look at what stands before the value.
  const std::string lower = to_lower_ascii(name);
  if (lower.ends_with("authorization") || lower.find("heroku") != std::string::npos ||
      lower.find("cloudflare") != std::string::npos) {
    const std::string joined = std::string(name) + ": " + std::string(value);
    const std::size_t start = name.size() + 2;
    for (const Finding& finding : find(joined)) {
      if (finding.offset >= start) return Finding{finding.rule, finding.offset - start, finding.length};
    }
  }
  return std::nullopt;
}

bool may_hold_secret(std::string_view text) { return Scan(text, Reading::Document).run(); }

std::string redact(std::string_view text) {
  std::string out;
  std::size_t at = 0;
  for (const Finding& finding : find(text)) {
    out.append(text, at, finding.offset - at);
    out.append("[REDACTED:").append(finding.rule).append("]");
    at = finding.offset + finding.length;
  }
  return out.append(text, at);
}

std::span<const std::string_view> rule_names() { return kRuleNames; }

}  // namespace baton::secrets
