// SPDX-License-Identifier: Apache-2.0
#include "dialects/uaix/text_rules.h"

#include <arpa/inet.h>
#include <immintrin.h>
#include <re2/re2.h>
#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/kernel.h"
#include "base/text.h"

namespace baton::uaix {
namespace {

bool is_ascii_byte(char c) { return static_cast<unsigned char>(c) < 0x80; }

// Compatibility forms, case and zero-width characters taken away, of a text that is not all ASCII.
std::string folded_by_unicode(std::string_view text) {
  utf8proc_uint8_t* out = nullptr;
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT |
                                                      UTF8PROC_CASEFOLD | UTF8PROC_IGNORE);
  const utf8proc_ssize_t size = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                             static_cast<utf8proc_ssize_t>(text.size()), &out, options);
  if (size < 0) return to_lower_ascii(text);
  std::string result(reinterpret_cast<const char*>(out), static_cast<std::size_t>(size));
  std::free(out);
  return result;
}

// Only what is beyond ASCII, with the character before it, which it may be composed with, needs Unicode's tables: nothing is
// composed with an ASCII character that comes after it.
std::string folded(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t beyond = at;
    while (beyond < text.size() && is_ascii_byte(text[beyond])) ++beyond;
    if (beyond == text.size()) return out += to_lower_ascii(text.substr(at));
    const std::size_t start = std::max(at, beyond - std::min<std::size_t>(beyond, 1));
    out += to_lower_ascii(text.substr(at, start - at));
    while (beyond < text.size() && !is_ascii_byte(text[beyond])) ++beyond;
    out += folded_by_unicode(text.substr(start, beyond - start));
    at = beyond;
  }
  return out;
}

// Split at line ends, and at `.` `!` `?` that end a word: the point of "uaix.org" does not.
std::vector<std::string_view> sentences(std::string_view text) {
  std::vector<std::string_view> out;
  std::size_t start = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const bool stop =
        c == '\n' || ((c == '.' || c == '!' || c == '?') && (at + 1 == text.size() || !is_alphanumeric(text[at + 1])));
    if (!stop) continue;
    out.push_back(text.substr(start, at - start));
    start = at + 1;
  }
  if (start < text.size()) out.push_back(text.substr(start));
  return out;
}

struct Span {
  std::size_t begin, end;
};

std::vector<Span> matches(const RE2& pattern, std::string_view text) {
  std::vector<Span> out;
  re2::StringPiece piece(text.data(), text.size()), match;
  std::size_t at = 0;
  while (at <= text.size() && pattern.Match(piece, at, text.size(), RE2::UNANCHORED, &match, 1)) {
    const auto begin = static_cast<std::size_t>(match.data() - text.data());
    out.push_back({begin, begin + match.size()});
    at = begin + std::max<std::size_t>(match.size(), 1);
  }
  return out;
}

// Is one of `left` within `distance` characters of one of `right`? Both are in order and do not overlap themselves, so one
// walk along both sees every pair of neighbours, and only neighbours can be nearest.
bool near(std::string_view text, const std::vector<Span>& left, const std::vector<Span>& right, std::size_t distance) {
  const auto close = [&](const Span& before, const Span& after) {
    if (after.begin <= before.end) return true;
    const std::size_t bytes = after.begin - before.end;
    // A character has at most four bytes: a gap that is far longer need not be counted.
    return bytes <= 4 * distance && count_characters(text.substr(before.end, bytes)) <= distance;
  };
  std::size_t i = 0, j = 0;
  while (i < left.size() && j < right.size()) {
    const bool left_first = left[i].begin <= right[j].begin;
    if (left_first ? close(left[i], right[j]) : close(right[j], left[i])) return true;
    ++(left_first ? i : j);
  }
  return false;
}

constexpr char kNegators[] = R"(\b(?:not|never|cannot|no|nor|neither|none|without)\b|n['’]t\b)";

// Has the text `tt`, `tho`, `kg` or `cr`, in either case? Sixteen bytes at a time, whatever the machine.
bool holds_part_of_manner(std::string_view text) {
  using Bytes [[gnu::vector_size(16)]] = std::uint8_t;
  Bytes any{};
  const auto look = [&any](const char* at) {
    Bytes first, second, third;
    std::memcpy(&first, at, sizeof first);
    std::memcpy(&second, at + 1, sizeof second);
    std::memcpy(&third, at + 2, sizeof third);
    first |= 0x20;
    second |= 0x20;
    third |= 0x20;
    any |= static_cast<Bytes>(((first == 't') & ((second == 't') | ((second == 'h') & (third == 'o')))) |
                              ((first == 'k') & (second == 'g')) | ((first == 'c') & (second == 'r')));
  };
  std::size_t at = 0;
  for (; at + 18 <= text.size(); at += 16) look(text.data() + at);
  char last[18] = {};  // what is left is shorter than that
  std::memcpy(last, text.data() + at, text.size() - at);
  look(last);
  std::uint64_t halves[2];
  std::memcpy(halves, &any, sizeof halves);
  return (halves[0] | halves[1]) != 0;
}

// The words that every manner of unattended execution has one of; each has one of the parts above.
bool names_a_manner(std::string_view text) {
  static constexpr std::string_view kWords[] = {"unattended", "without", "background", "cron"};
  if (text.empty() || !holds_part_of_manner(text)) return false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char first = to_lower(text[at]);
    if (first != 'u' && first != 'w' && first != 'b' && first != 'c') continue;
    for (const std::string_view word : kWords) {
      if (word[0] != first || text.size() - at < word.size()) continue;
      if (std::equal(word.begin(), word.end(), text.begin() + static_cast<std::ptrdiff_t>(at),
                     [](char a, char b) { return a == to_lower(b); }))
        return true;
    }
  }
  return false;
}

bool is_private_ipv4(const std::string& host) {
  in_addr address{};
  if (inet_pton(AF_INET, host.c_str(), &address) != 1) return false;
  const std::uint32_t value = ntohl(address.s_addr);
  const auto in = [&](std::uint32_t network, int bits) { return value >> (32 - bits) == network >> (32 - bits); };
  return in(0x7f000000, 8) || in(0x0a000000, 8) || in(0xac100000, 12) || in(0xc0a80000, 16) || in(0xa9fe0000, 16);
}

bool is_private_ipv6(const std::string& host) {
  in6_addr address{};
  if (inet_pton(AF_INET6, host.c_str(), &address) != 1) return false;
  static constexpr in6_addr kLoopback = IN6ADDR_LOOPBACK_INIT;
  return std::equal(std::begin(address.s6_addr), std::end(address.s6_addr), std::begin(kLoopback.s6_addr)) ||
         (address.s6_addr[0] & 0xfe) == 0xfc;
}

bool ends_with_folded(std::string_view text, std::string_view ending) {
  if (text.size() < ending.size()) return false;
  text.remove_prefix(text.size() - ending.size());
  return std::equal(text.begin(), text.end(), ending.begin(), [](char a, char b) { return to_lower(a) == b; });
}

bool is_private_host(std::string_view host) {
  while (!host.empty() && !is_alphanumeric(host.back()) && host.back() != ']') host.remove_suffix(1);
  for (const std::string_view ending : {".internal", ".local", ".lan", ".corp", ".localhost"})
    if (ends_with_folded(host, ending)) return true;
  if (host.size() == 9 && ends_with_folded(host, "localhost")) return true;
  if (host.starts_with('[') && host.ends_with(']'))
    return is_private_ipv6(std::string(host.substr(1, host.size() - 2)));
  return !host.empty() && is_digit(host[0]) && is_private_ipv4(std::string(host));
}

}  // namespace

bool claims_unsupported(std::string_view text) {
  static const RE2 kSubject(R"(\buaix(?:\.org)?\b)");
  static const RE2 kClaim(
      R"(\bhosted messag\w*|\bautomatic(?:ally)? sync\w*|\bsyncs\b|\bruntime orchestrat\w*|\borchestrates\b)"
      R"(|\bwrit(?:es?|ing) to (?:(?:the|your|a) )?repositor\w*|\brepository writes?\b|\bofficial (?:uaix )?adapters?\b|\bcertif(?:ies|ied|ication)\b|\bhosted import\w*)");
  static const RE2 kNegator(kNegators);
  const std::string plain = folded(text);
  if (plain.find("uaix") == std::string::npos) return false;
  for (const std::string_view sentence : sentences(plain)) {
    const auto subjects = matches(kSubject, sentence);
    if (subjects.empty() || !near(sentence, subjects, matches(kClaim, sentence), 80)) continue;
    if (!RE2::PartialMatch(re2::StringPiece(sentence.data(), sentence.size()), kNegator)) return true;
  }
  return false;
}

bool holds_private_endpoint(std::string_view text) {
  if (text.find("://") == std::string_view::npos) return false;
  static const RE2 kAddress(R"((?i)https?://(?:[^\s/?#@]*@)?(\[[0-9a-f:.]+\]|[a-z0-9._-]+))");
  re2::StringPiece rest(text.data(), text.size());
  std::string host;
  while (RE2::FindAndConsume(&rest, kAddress, &host))
    if (is_private_host(host)) return true;
  return false;
}

bool holds_local_trace(std::string_view text) {
  static const RE2 kTrace(
      R"(Traceback \(most recent call last\)|\bat [^\s()][^()\n]* \([^()\s][^()\n]*:[0-9]+:[0-9]+\)|\bpanic: |\bcore dumped\b)");
  return RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), kTrace);
}

bool demands_unattended_execution(std::string_view text) {
  static const RE2 kVerb(
      R"(\b(?:run|runs|running|execute|executes|executing|start|starts|starting|trigger|triggers|triggering|proceed|proceeds|proceeding)\b)");
  static const RE2 kManner(
      R"(\bunattended\b|\bwithout (?:any |a |further )?(?:human )?(?:review|approval)\b|\bin the background\b|\bas a background worker\b|\bon a cron\b)");
  static const RE2 kNegator(kNegators);
  if (is_ascii(text) && !names_a_manner(text)) return false;
  const std::string plain = folded(text);
  for (const std::string_view sentence : sentences(plain)) {
    const auto manners = matches(kManner, sentence);
    if (manners.empty() || !near(sentence, matches(kVerb, sentence), manners, 40)) continue;
    // The `without` of "without review" is what is demanded, not a negator.
    std::string rest(sentence);
    for (auto manner = manners.rbegin(); manner != manners.rend(); ++manner)
      rest.erase(manner->begin, manner->end - manner->begin);
    if (!RE2::PartialMatch(rest, kNegator)) return true;
  }
  return false;
}

namespace {

constexpr std::array<bool, 256> kHostBytes = [] {
  std::array<bool, 256> out{};
  for (int i = 0; i < 128; ++i)
    out[static_cast<std::size_t>(i)] = is_alphanumeric(static_cast<char>(i)) || i == '.' || i == '-' || i == '_';
  return out;
}();
bool is_host_byte(char c) { return kHostBytes[static_cast<unsigned char>(c)]; }

// Confirms what the vectors pointed at: the byte at `at` and the one after it are one of the pairs looked for.
bool confirms(std::string_view text, std::size_t at) {
  const auto lower_at = [&](std::size_t from, std::string_view word) {
    if (from > text.size() || text.size() - from < word.size()) return false;
    for (std::size_t i = 0; i < word.size(); ++i)
      if (to_lower(text[from + i]) != word[i]) return false;
    return true;
  };
  if (text[at] == ':') {  // "://": private only if the host begins like one, or ends like one
    if (!lower_at(at, "://")) return false;
    std::size_t end = at + 3;
    while (end < text.size() && is_host_byte(text[end])) ++end;
    const std::string_view host = text.substr(at + 3, end - at - 3);
    // What follows says whether that was the host: a user stands before an `@`, and what follows a `:` is a port or a
    // password.
    std::size_t after = end;
    if (after < text.size() && text[after] == ':') {
      ++after;
      while (after < text.size() && is_digit(text[after])) ++after;
      if (after < text.size() && (is_host_byte(text[after]) || static_cast<unsigned char>(text[after]) >= 0x80))
        return true;
    }
    if (after < text.size() && std::string_view("@!$&'()*+,;=%:~").find(text[after]) != std::string_view::npos)
      return true;
    return host.empty() || is_digit(host[0]) || is_private_host(host);
  }
  if (is_digit(text[at])) return true;  // "1)": the end of a stack line
  if (text[at] == 'c') return at >= 4 && text.substr(at - 4).starts_with("panic: ");
  if (text[at] == 'm') return at >= 7 && text.substr(at - 7).starts_with("core dumped");
  if (text[at] == 'e') return at >= 4 && text.substr(at - 4).starts_with("Traceback (most recent call last)");
  return at >= 2 && lower_at(at - 2, "uaix");
}

// The pairs of bytes that begin or end something looked for, as groups of bits: a pair counts when its two bytes have a
// group in common. Sixteen-entry tables by nibble, because that is what a shuffle looks up.
//   1: iX of uaix   2: :/ of ://   4: c: of panic:   8: mp of core dumped   16: eb of Traceback   32: digit and ) of 1:2)
struct Nibbles {
  alignas(16) std::array<std::uint8_t, 16> low{};
  alignas(16) std::array<std::uint8_t, 16> high{};
};
constexpr Nibbles nibbles(std::array<std::string_view, 6> groups) {
  Nibbles out;
  for (std::size_t group = 0; group < groups.size(); ++group) {
    for (const char c : groups[group]) {
      out.low[static_cast<std::size_t>(c) & 15] |= static_cast<std::uint8_t>(1 << group);
      out.high[static_cast<std::size_t>(c) >> 4] |= static_cast<std::uint8_t>(1 << group);
    }
  }
  return out;
}
constexpr Nibbles kFirst = nibbles({"iI", ":", "c", "m", "e", "0123456789"});
constexpr Nibbles kSecond = nibbles({"xX", "/", ":", "p", "b", ")"});

bool may_break_scalar(std::string_view text, std::size_t from) {
  const auto groups = [](const Nibbles& table, char c) {
    const auto byte = static_cast<unsigned char>(c);
    return table.low[byte & 15] & table.high[byte >> 4];
  };
  for (std::size_t at = from; at + 1 < text.size(); ++at)
    if ((groups(kFirst, text[at]) & groups(kSecond, text[at + 1])) != 0 && confirms(text, at)) return true;
  return false;
}

[[gnu::target("avx2")]] bool may_break_avx2(std::string_view text) {
  const __m256i first_low = _mm256_broadcastsi128_si256(*reinterpret_cast<const __m128i*>(kFirst.low.data()));
  const __m256i first_high = _mm256_broadcastsi128_si256(*reinterpret_cast<const __m128i*>(kFirst.high.data()));
  const __m256i second_low = _mm256_broadcastsi128_si256(*reinterpret_cast<const __m128i*>(kSecond.low.data()));
  const __m256i second_high = _mm256_broadcastsi128_si256(*reinterpret_cast<const __m128i*>(kSecond.high.data()));
  const __m256i low_bits = _mm256_set1_epi8(0x0f);
  std::size_t at = 0;
  for (; at + 33 <= text.size(); at += 32) {
    const __m256i first = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(text.data() + at));
    const __m256i second = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(text.data() + at + 1));
    const __m256i first_groups =
        _mm256_and_si256(_mm256_shuffle_epi8(first_low, _mm256_and_si256(first, low_bits)),
                         _mm256_shuffle_epi8(first_high, _mm256_and_si256(_mm256_srli_epi16(first, 4), low_bits)));
    const __m256i second_groups =
        _mm256_and_si256(_mm256_shuffle_epi8(second_low, _mm256_and_si256(second, low_bits)),
                         _mm256_shuffle_epi8(second_high, _mm256_and_si256(_mm256_srli_epi16(second, 4), low_bits)));
    const __m256i common = _mm256_cmpeq_epi8(_mm256_and_si256(first_groups, second_groups), _mm256_setzero_si256());
    for (auto mask = ~static_cast<unsigned>(_mm256_movemask_epi8(common)); mask != 0; mask &= mask - 1)
      if (confirms(text, at + static_cast<std::size_t>(std::countr_zero(mask)))) return true;
  }
  return may_break_scalar(text, at);
}

// The same groups by whole characters, of ASCII. Beyond it the highest bit does not count: whether the first of a pair has
// it is found out when the pair is looked at.
constexpr std::array<std::uint8_t, 128> by_character(const Nibbles& table) {
  std::array<std::uint8_t, 128> out{};
  for (std::size_t c = 0; c < out.size(); ++c) out[c] = table.low[c & 15] & table.high[c >> 4];
  return out;
}
alignas(64) constexpr std::array<std::uint8_t, 128> kFirstByCharacter = by_character(kFirst);
alignas(64) constexpr std::array<std::uint8_t, 128> kSecondByCharacter = by_character(kSecond);

[[gnu::target("avx512f,avx512bw,avx512vbmi")]] bool may_break_avx512(std::string_view text, SteppedSha256* meanwhile) {
  const __m512i first_table[] = {_mm512_load_si512(kFirstByCharacter.data()),
                                 _mm512_load_si512(kFirstByCharacter.data() + 64)};
  const __m512i second_table[] = {_mm512_load_si512(kSecondByCharacter.data()),
                                  _mm512_load_si512(kSecondByCharacter.data() + 64)};
  std::size_t at = 0;
  for (; at + 65 <= text.size(); at += 64) {
    if (meanwhile != nullptr) meanwhile->step();
    const __m512i first = _mm512_loadu_si512(text.data() + at), second = _mm512_loadu_si512(text.data() + at + 1);
    const __m512i first_groups = _mm512_permutex2var_epi8(first_table[0], first, first_table[1]);
    const __m512i second_groups = _mm512_permutex2var_epi8(second_table[0], second, second_table[1]);
    const std::uint64_t common = _mm512_test_epi8_mask(first_groups, second_groups);
    for (std::uint64_t mask = common & ~_mm512_movepi8_mask(second); mask != 0; mask &= mask - 1)
      if (confirms(text, at + static_cast<std::size_t>(std::countr_zero(mask)))) return true;
  }
  return may_break_scalar(text, at);
}

}  // namespace

bool may_break_text_rules(std::string_view text, SteppedSha256* meanwhile) {
  switch (best_kernel()) {
    case Kernel::Portable: return may_break_scalar(text, 0);
    case Kernel::Avx2: return may_break_avx2(text);
    case Kernel::Avx512: return may_break_avx512(text, meanwhile);
  }
  CHECK(false);
}

}  // namespace baton::uaix
