// SPDX-License-Identifier: Apache-2.0
#include "dialects/uaix/text_rules.h"

#include <arpa/inet.h>
#include <immintrin.h>
#include <re2/re2.h>
#include <utf8proc.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/text.h"

namespace baton::uaix {
namespace {

// Compatibility forms, case and zero-width characters taken away.
std::string folded(std::string_view text) {
  if (is_ascii(text)) return to_lower_ascii(text);
  utf8proc_uint8_t* out = nullptr;
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT | UTF8PROC_CASEFOLD | UTF8PROC_IGNORE);
  const utf8proc_ssize_t size = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()), static_cast<utf8proc_ssize_t>(text.size()), &out, options);
  if (size < 0) return to_lower_ascii(text);
  std::string result(reinterpret_cast<const char*>(out), static_cast<std::size_t>(size));
  std::free(out);
  return result;
}

// Split at line ends, and at `.` `!` `?` that end a word: the point of "uaix.org" does not.
std::vector<std::string_view> sentences(std::string_view text) {
  std::vector<std::string_view> out;
  std::size_t start = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const bool stop = c == '\n' || ((c == '.' || c == '!' || c == '?') && (at + 1 == text.size() || !is_alphanumeric(text[at + 1])));
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

// Is one of `left` within `distance` characters of one of `right`?
bool near(std::string_view text, const std::vector<Span>& left, const std::vector<Span>& right, std::size_t distance) {
  for (const Span& a : left) {
    for (const Span& b : right) {
      const std::size_t from = std::min(a.end, b.end), to = std::max(a.begin, b.begin);
      if (to <= from || count_characters(text.substr(from, to - from)) <= distance) return true;
    }
  }
  return false;
}

constexpr char kNegators[] =
    R"(\b(?:not|never|cannot|can't|no|nor|neither|none|without|doesn't|don't|didn't|isn't|aren't|won't|wouldn't|shouldn't|mustn't|n't)\b|n’t\b)";

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

bool is_private_host(std::string host) {
  while (host.ends_with('.')) host.pop_back();
  if (host == "localhost" || host.ends_with(".localhost")) return true;
  for (const std::string_view ending : {".internal", ".local", ".lan", ".corp"})
    if (host.ends_with(ending)) return true;
  if (host.starts_with('[') && host.ends_with(']')) return is_private_ipv6(host.substr(1, host.size() - 2));
  return is_private_ipv4(host);
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
  static const RE2 kAddress(R"((?i)https?://(?:[^\s/?#@]*@)?(\[[0-9a-f:.]+\]|[^\s/?#:\[\]"'<>()]+))");
  re2::StringPiece rest(text.data(), text.size());
  std::string host;
  while (RE2::FindAndConsume(&rest, kAddress, &host))
    if (is_private_host(to_lower_ascii(host))) return true;
  return false;
}

bool holds_local_trace(std::string_view text) {
  static const RE2 kTrace(R"(Traceback \(most recent call last\)|\bat [^\s()][^()\n]* \([^()\s][^()\n]*:[0-9]+:[0-9]+\)|\bpanic: |\bcore dumped\b)");
  return RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), kTrace);
}

bool demands_unattended_execution(std::string_view text) {
  static const RE2 kVerb(R"(\b(?:run|runs|running|execute|executes|executing|start|starts|starting|trigger|triggers|triggering|proceed|proceeds|proceeding)\b)");
  static const RE2 kManner(R"(\bunattended\b|\bwithout (?:any |a |further )?(?:human )?(?:review|approval)\b|\bin the background\b|\bas a background worker\b|\bon a cron\b)");
  static const RE2 kNegator(kNegators);
  const std::string plain = folded(text);
  for (const std::string_view sentence : sentences(plain)) {
    const auto manners = matches(kManner, sentence);
    if (manners.empty() || !near(sentence, matches(kVerb, sentence), manners, 40)) continue;
    // The `without` of "without review" is what is demanded, not a negator.
    std::string rest(sentence);
    for (auto manner = manners.rbegin(); manner != manners.rend(); ++manner) rest.erase(manner->begin, manner->end - manner->begin);
    if (!RE2::PartialMatch(rest, kNegator)) return true;
  }
  return false;
}

namespace {

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
    const std::size_t end = std::min(text.find_first_of(" \t\n\r/?#\"\\", at + 3), text.size());
    std::string_view host = text.substr(at + 3, end - at - 3);
    if (const auto user = host.rfind('@'); user != std::string_view::npos) host.remove_prefix(user + 1);
    if (host.empty() || host[0] == '[' || is_digit(host[0])) return true;
    host = host.substr(0, host.find(':'));
    while (host.ends_with('.')) host.remove_suffix(1);
    if (host.size() > 253) return true;
    const std::string lower = to_lower_ascii(host);
    return is_private_host(lower) || lower.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789.-_") != std::string::npos;
  }
  if (is_digit(text[at])) return true;                                  // "1)": the end of a stack line
  if (text[at] == 'c') return at >= 4 && text.substr(at - 4).starts_with("panic: ");
  if (text[at] == 'm') return at >= 7 && text.substr(at - 7).starts_with("core dumped");
  if (text[at] == 'e') return at >= 4 && text.substr(at - 4).starts_with("Traceback (most recent call last)");
  return at >= 2 && lower_at(at - 2, "uaix");
}

// Sixteen bytes and their successors: one bit where a pair of letters stands that begins or ends something looked for.
inline unsigned pairs(__m128i first, __m128i second) {
  const auto is = [](__m128i bytes, char c) { return _mm_cmpeq_epi8(bytes, _mm_set1_epi8(c)); };
  const __m128i lower_first = _mm_or_si128(first, _mm_set1_epi8(0x20)), lower_second = _mm_or_si128(second, _mm_set1_epi8(0x20));
  __m128i hit = _mm_and_si128(is(lower_first, 'i'), is(lower_second, 'x'));           // uaIX
  hit = _mm_or_si128(hit, _mm_and_si128(is(first, ':'), is(second, '/')));            // ://
  hit = _mm_or_si128(hit, _mm_and_si128(is(first, 'c'), is(second, ':')));            // panic:
  hit = _mm_or_si128(hit, _mm_and_si128(is(first, 'm'), is(second, 'p')));            // core dumped
  hit = _mm_or_si128(hit, _mm_and_si128(is(first, 'e'), is(second, 'b')));            // Traceback
  const __m128i digit = _mm_cmpeq_epi8(_mm_min_epu8(_mm_sub_epi8(first, _mm_set1_epi8('0')), _mm_set1_epi8(9)), _mm_sub_epi8(first, _mm_set1_epi8('0')));
  hit = _mm_or_si128(hit, _mm_and_si128(digit, is(second, ')')));                     // :1:2)
  return static_cast<unsigned>(_mm_movemask_epi8(hit));
}

}  // namespace

bool may_break_text_rules(std::string_view text) {
  if (!is_ascii(text)) return true;  // look-alike letters: every string is folded and read
  std::size_t at = 0;
  for (; at + 17 <= text.size(); at += 16) {
    const auto* bytes = reinterpret_cast<const __m128i*>(text.data() + at);
    const auto* next = reinterpret_cast<const __m128i*>(text.data() + at + 1);
    for (unsigned mask = pairs(_mm_loadu_si128(bytes), _mm_loadu_si128(next)); mask != 0; mask &= mask - 1)
      if (confirms(text, at + static_cast<std::size_t>(std::countr_zero(mask)))) return true;
  }
  if (at < text.size()) {
    char tail[32] = {};
    const std::size_t left = text.size() - at;
    std::copy_n(text.data() + at, left, tail);
    for (unsigned mask = pairs(_mm_loadu_si128(reinterpret_cast<const __m128i*>(tail)), _mm_loadu_si128(reinterpret_cast<const __m128i*>(tail + 1)));
         mask != 0; mask &= mask - 1) {
      const auto place = static_cast<std::size_t>(std::countr_zero(mask));
      if (place < left && confirms(text, at + place)) return true;
    }
  }
  return false;
}

}  // namespace baton::uaix
