// SPDX-License-Identifier: Apache-2.0
#include "secrets/detector.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "secrets/assignment.h"
#include "secrets/characters.h"
#include "secrets/first_look.h"
#include "secrets/looks_alike.h"
#include "secrets/rules.h"

namespace baton::secrets {
namespace {

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

}  // namespace

std::vector<Finding> find(std::string_view text) {
  FirstLook seen = first_look(text);
  for (std::uint64_t rules = seen.pattern_rules; rules != 0; rules &= rules - 1) {
    find_by_pattern(static_cast<std::size_t>(std::countr_zero(rules)), text, seen.findings);
  }
  return merge(std::move(seen.findings));
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
