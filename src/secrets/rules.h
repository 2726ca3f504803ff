// SPDX-License-Identifier: Apache-2.0
// Inside the detector: the table of secrets/rules.def as data, and every number and word the rules share.
//
// A rule is known by its RuleId: its row in kRules and its place in kRuleNames, the most specific first. The first
// kPatternRules have a row with a pattern; the last two, KeywordAssignment and HighEntropy, are code.
#pragma once

#include <bitset>
#include <cstddef>
#include <string_view>

namespace baton::secrets {

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
inline constexpr std::size_t kPatternRules = KeywordAssignment;
using PatternRules = std::bitset<kPatternRules>;  // a set of them, by RuleId

inline constexpr Rule kRules[] = {
#define TOKEN(id, name, entropy, anchors, tail, length, pattern) \
  {name, entropy, anchors, Tail::tail, length, pattern, false},
#define CONTEXT(id, name, entropy, anchors, tail, length, pattern) \
  {name, entropy, anchors, Tail::tail, length, pattern, true},
#define KEYWORD(word)
#define KEY_OF(word)
#include "secrets/rules.def"
};

inline constexpr std::string_view kRuleNames[] = {
#define TOKEN(id, name, ...) name,
#define CONTEXT(id, name, ...) name,
#define KEYWORD(word)
#define KEY_OF(word)
#include "secrets/rules.def"
    "keyword-assignment",
    "high-entropy",
};

inline constexpr std::string_view kKeywords[] = {
#define TOKEN(...)
#define CONTEXT(...)
#define KEYWORD(word) word,
#define KEY_OF(word)
#include "secrets/rules.def"
};

inline constexpr std::string_view kKeysOf[] = {
#define TOKEN(...)
#define CONTEXT(...)
#define KEYWORD(word)
#define KEY_OF(word) word,
#include "secrets/rules.def"
};

// The last word of a name that says: not the secret itself, only something about it.
inline constexpr std::string_view kReferenceWords[] = {
    "ref",     "refs",        "reference", "uri",      "url",    "id",       "ids",     "path",
    "file",    "name",        "names",     "digest",   "hash",   "checksum", "sha256",  "type",
    "kind",    "fingerprint", "commit",    "scope",    "scopes", "policy",   "window",  "at",
    "expires", "expiry",      "env",       "endpoint", "issuer", "status",   "version", "provider"};

// A value with punctuation (`P@ss-w0rd!`) counts by its kinds of characters, and may be shorter and less random.
inline constexpr std::size_t kPunctuatedLengthMin = 8;
inline constexpr double kPunctuatedEntropyMin = 2.5;
// The value of `keyword = value`, and a run that is random by itself: characters, and bits of entropy in each.
inline constexpr std::size_t kValueLengthMin = 10;
inline constexpr std::size_t kValueLengthMax = 150;
inline constexpr double kValueEntropyMin = 3.5;
inline constexpr std::size_t kRunLengthMin = 32;
inline constexpr double kRunEntropyMin = 4.5;
// `SECRET_KEY_BASE`: so much may stand between the keyword and the end of its name.
inline constexpr std::size_t kNameRestMax = 24;
// Blanks and quotes between name, sign and value: `"token" : "`, also as escaped in a string of a string.
inline constexpr std::size_t kSeparatorMax = 8;
// user:password before an `@`, as the pattern bounds it, and how much longer escapes can make it in a document:
// `\u00e9` is six characters for two bytes.
inline constexpr std::size_t kUserinfoMax = 128 + 1 + 256;
// Between `machine` and `password`, or `curl` and `-u`, as the patterns bound it, with room for escapes.
inline constexpr std::size_t kContextMax = 1200;
inline constexpr std::size_t kEscapeGrowthMax = 3;

}  // namespace baton::secrets
