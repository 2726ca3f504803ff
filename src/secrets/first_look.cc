// SPDX-License-Identifier: Apache-2.0
#include "secrets/first_look.h"

#include <bit>
#include <cstddef>
#include <cstring>
#include <optional>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/check.h"
#include "base/kernel.h"
#include "secrets/anchors.h"
#include "secrets/assignment.h"
#include "secrets/characters.h"
#include "secrets/looks_alike.h"
#include "secrets/rules.h"

namespace baton::secrets {
namespace {

constexpr std::size_t kBlock = 64;  // read at a time, in two halves
constexpr std::size_t kHalfBlock = 32;
static_assert(kHalfBlock == kRunLengthMin, "so that a run meets the start of a half block");

// Judges what the first look comes upon. As a first look it stops at the first thing that may be a secret; for find() it
// goes on, notes which patterns to try, and keeps what needs no pattern.
class Scan {
 public:
  Scan(std::string_view text, Reading reading, SteppedSha256* meanwhile = nullptr)
      : text_(text), reading_(reading), meanwhile_(meanwhile) {}

  bool run();  // true if stopped

  FirstLook seen() && { return {std::move(findings_), pattern_rules_}; }

 private:
  bool run_portable();
  bool run_avx2();
  bool run_avx512();

  bool candidate(std::size_t at, unsigned buckets, std::uint32_t window);
  bool confirm(const Anchor& anchor, std::size_t at);
  bool follows_url(std::size_t at) const;
  bool names_scheme(std::size_t at) const;
  bool precedes(std::size_t at, std::string_view word) const;
  bool precedes_sign(std::size_t at) const;
  bool long_run(std::size_t at);
  bool meets_run(std::size_t at, std::uint32_t dense);
  bool meets_anchor(std::size_t at, const char* block, const std::uint8_t* buckets, std::uint64_t some);

  // One more thing that counts: true if that is enough.
  bool found(std::size_t rule, Place place) {
    if (reading_ == Reading::Document) return true;
    for (const Place& part : hidden_parts(text_, place))
      findings_.push_back({kRuleNames[rule], part.offset, part.length});
    return false;
  }

  const Tables& table_ = tables();
  std::string_view text_;
  Reading reading_;
  SteppedSha256* meanwhile_;
  std::size_t run_end_ = 0;       // runs before this were judged
  std::size_t dense_before_ = 0;  // dense characters right before the half block that comes next
  PatternRules pattern_rules_;
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
    const auto bucket = static_cast<std::size_t>(std::countr_zero(buckets));
    const std::vector<WindowBits>& windows = table_.windows[bucket];
    for (std::size_t i = 0; i < windows.size(); ++i) {
      if (!windows[i].fit(window)) continue;
      const Anchor& anchor = table_.anchors[bucket][i];
      if (at >= anchor.window && confirm(anchor, at - anchor.window)) return true;
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
      if ((anchor.rule == AuthorizationHeader || anchor.rule == BasicAuth) && !names_scheme(end)) return false;
      if (anchor.rule == RegistryAuth && !precedes_sign(end)) return false;
      if (anchor.rule == Netrc && !precedes(end, "password")) return false;
      if (anchor.rule == CurlUser && !precedes(end, "-u")) return false;
      pattern_rules_.set(anchor.rule);
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

// `scheme://user:password` stands before the `@`. Of a document's escapes only `\b` and `\u` can be part of it: the
// others are blanks, quotes, slashes and backslashes.
bool Scan::follows_url(std::size_t at) const {
  const bool document = reading_ == Reading::Document;
  const std::size_t length_max = document ? kEscapeGrowthMax * kUserinfoMax : kUserinfoMax;
  std::size_t start = at;
  bool has_colon = false;
  while (start > 0 && at - start <= length_max) {
    const char c = text_[start - 1];
    if (!in(kUserinfo, c) && !(document && c == '\\' && (text_[start] == 'b' || text_[start] == 'u'))) break;
    --start;
    has_colon |= c == ':';
  }
  return has_colon && start >= 3 && text_.substr(start - 3, 3) == "://";
}

// `: Bearer` or its like follows, with blanks and quotes, or in a list.
bool Scan::names_scheme(std::size_t at) const {
  for (; at < text_.size(); ++at) {
    const char c = text_[at];
    if (c == '\\') return true;
    if (c != ' ' && c != ':' && c != '=' && c != '[' && c != ']' && !is_quote(c) && !(c >= '\t' && c <= '\r')) break;
  }
  const std::string_view rest = text_.substr(at);
  return starts_with_folded(rest, "bearer") || starts_with_folded(rest, "basic") || starts_with_folded(rest, "token") ||
         starts_with_folded(rest, "apikey");
}

bool Scan::precedes(std::size_t at, std::string_view word) const {
  return text_.substr(at, kContextMax).find(word) != std::string_view::npos;
}

// `=` or `:` follows, behind blanks and quotes.
bool Scan::precedes_sign(std::size_t at) const {
  for (; at < text_.size(); ++at) {
    const char c = text_[at];
    if (c == '\\' || c == '=' || c == ':') return true;
    if (c != ' ' && !is_quote(c) && !(c >= '\t' && c <= '\r')) return false;
  }
  return false;
}

bool Scan::long_run(std::size_t at) {
  if (at < run_end_ || !in(kRun, text_[at])) return false;
  std::size_t start = at, end = at + 1;
  while (start > 0 && in(kRun, text_[start - 1])) --start;
  while (end < text_.size() && in(kRun, text_[end])) ++end;
  run_end_ = end;
  const std::string_view run = text_.substr(start, end - start);
  if (run.size() < kRunLengthMin) return false;
  // What stands before a run may be missing in a part of the document, for which the answer holds too.
  const std::string_view before = reading_ == Reading::Text ? text_.substr(0, start) : std::string_view();
  if (is_secret_run(run) && !is_public_run(before, run)) return found(HighEntropy, {start, run.size()});
  // `\nRUN`, `\u00e9RUN`: the document's run does not begin with the rest of an escape.
  return reading_ == Reading::Document && start > 0 && text_[start - 1] == '\\' &&
         is_secret_run(run.substr(run[0] == 'u' ? 5 : 1));
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

// The three that follow are inlined into the loops below, and so compiled for the instructions of each.

// Narrows down the buckets found in a block and tries what is left.
[[gnu::always_inline]] inline bool Scan::meets_anchor(std::size_t at, const char* block, const std::uint8_t* buckets,
                                                      std::uint64_t some) {
  for (; some != 0; some &= some - 1) {
    const auto place = static_cast<std::size_t>(std::countr_zero(some));
    const std::uint32_t window = load_window(block + place);
    const unsigned left = table_.narrowed(buckets[place], window);
    if (left != 0 && candidate(at + place, left, window)) return true;
  }
  return false;
}

// `dense` marks at least the characters of runs in the half block at `at`. A run of 32 fills one or crosses into the next.
[[gnu::always_inline]] inline bool Scan::meets_run(std::size_t at, std::uint32_t dense) {
  const auto first = static_cast<std::size_t>(std::countr_one(dense));
  if (dense_before_ + first >= kRunLengthMin && at < text_.size() && long_run(at)) return true;
  dense_before_ = first == kHalfBlock ? dense_before_ + kHalfBlock : static_cast<std::size_t>(std::countl_one(dense));
  return false;
}

// The blocks of a text. The last ones are read from a copy, with zeros behind the text: no anchor and no run has a zero
// in it.
class Blocks {
 public:
  [[gnu::always_inline]] explicit Blocks(std::string_view text)
      : text_(text), whole_(text.size() < kBlock + kWindow ? 0 : (text.size() - kWindow) / kBlock * kBlock) {
    CHECK(text.size() - whole_ < kBlock + kWindow);
    if (whole_ < text.size()) std::memcpy(last_, text.data() + whole_, text.size() - whole_);
  }
  [[gnu::always_inline]] const char* at(std::size_t place) const {
    return place < whole_ ? text_.data() + place : last_ + (place - whole_);
  }

 private:
  std::string_view text_;
  std::size_t whole_;
  char last_[2 * kBlock + kWindow] = {};
};

__attribute__((target("avx2,bmi,lzcnt"))) bool Scan::run_avx2() {
  __m256i low[kWindow], high[kWindow];
  for (std::size_t position = 0; position < kWindow; ++position) {
    low[position] = _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(table_.low[position])));
    high[position] =
        _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(table_.high[position])));
  }
  const __m256i half = _mm256_set1_epi8(15);
  const __m256i below_run = _mm256_set1_epi8('+' - 1);

  const Blocks blocks(text_);
  for (std::size_t at = 0; at < text_.size(); at += kBlock) {
    const char* block = blocks.at(at);
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
    if (meets_anchor(at, block, bits, some)) return true;
    // No character of a run is below `+`; blanks and quotes are.
    for (std::size_t start = 0; start < kBlock; start += kHalfBlock) {
      const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(block + start));
      const auto dense = static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpgt_epi8(bytes, below_run)));
      if (meets_run(at + start, dense)) return true;
    }
  }
  return false;
}

// The same with whole characters instead of half bytes: half the lookups for twice the bytes, and fewer false alarms.
__attribute__((target("avx512f,avx512bw,avx512vbmi,bmi,lzcnt"))) bool Scan::run_avx512() {
  __m512i first[kWindow], second[kWindow];  // of the tables' halves
  for (std::size_t position = 0; position < kWindow; ++position) {
    first[position] = _mm512_load_si512(table_.by_character[position]);
    second[position] = _mm512_load_si512(table_.by_character[position] + 64);
  }
  const __m512i first_of_run = _mm512_loadu_si512(kRun.data()), second_of_run = _mm512_loadu_si512(kRun.data() + 64);

  const Blocks blocks(text_);
  for (std::size_t at = 0; at < text_.size(); at += kBlock) {
    if (meanwhile_ != nullptr) meanwhile_->step();
    const char* block = blocks.at(at);
    const __m512i bytes = _mm512_loadu_si512(block);
    __m512i buckets = _mm512_permutex2var_epi8(first[0], bytes, second[0]);
    for (std::size_t position = 1; position < kWindow; ++position) {
      const __m512i moved = _mm512_loadu_si512(block + position);
      buckets = _mm512_and_si512(buckets, _mm512_permutex2var_epi8(first[position], moved, second[position]));
    }
    if (const std::uint64_t some = _mm512_test_epi8_mask(buckets, buckets); some != 0) {
      alignas(64) std::uint8_t bits[kBlock];
      _mm512_store_si512(bits, buckets);
      if (meets_anchor(at, block, bits, some)) return true;
    }
    const __m512i in_run = _mm512_permutex2var_epi8(first_of_run, bytes, second_of_run);
    const std::uint64_t dense = _mm512_test_epi8_mask(in_run, in_run) & ~_mm512_movepi8_mask(bytes);
    if (meets_run(at, static_cast<std::uint32_t>(dense)) ||
        meets_run(at + kHalfBlock, static_cast<std::uint32_t>(dense >> kHalfBlock)))
      return true;
  }
  return false;
}

#else

bool Scan::run_avx2() { CHECK(false); }
bool Scan::run_avx512() { CHECK(false); }

#endif

bool Scan::run() {
  switch (best_kernel()) {
    case Kernel::Portable: return run_portable();
    case Kernel::Avx2: return run_avx2();
    case Kernel::Avx512: return run_avx512();
  }
  CHECK(false);
}

}  // namespace

FirstLook first_look(std::string_view text) {
  Scan scan(text, Reading::Text);
  scan.run();
  return std::move(scan).seen();
}

bool may_hold_secret(std::string_view text, SteppedSha256* meanwhile) {
  return Scan(text, Reading::Document, meanwhile).run();
}

}  // namespace baton::secrets
