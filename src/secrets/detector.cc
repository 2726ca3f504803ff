// SPDX-License-Identifier: Apache-2.0
#include "secrets/detector.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
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

constexpr std::string_view kFoot = "-----END";

bool is_base64(char c) { return is_alphanumeric(c) || c == '+' || c == '/' || c == '='; }

// Past blanks and line breaks, also as escaped in a string (`\n`); a quote, a comma or a plus that joins strings ends a piece.
std::size_t past_breaks(std::string_view text, std::size_t at, bool& joined) {
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '\\' && at + 1 < text.size() && (text[at + 1] == 'n' || text[at + 1] == 'r')) ++at;
    else if (is_quote(c) || c == ',') joined = false;
    else if (c != ' ' && c != '\t' && c != '\n' && c != '\r' && c != '\\') break;
  }
  return at;
}

// A private key whose head ends at `head.offset + head.length`: the head, the lines of base64 below it, the foot. Nothing else is part of
// it, so that no command can hide between head and foot. Lines such as `DEK-Info: ...` stay.
void add_private_key(std::string_view text, Finding head, std::vector<Finding>& findings) {
  constexpr std::size_t kBodyMax = 16'384;  // a key of 16384 bits takes about 13 KB
  constexpr std::size_t kLineMin = 16;      // of base64; the last ones may be shorter, a checksum for instance
  constexpr int kShortLinesMax = 2;
  Finding piece = head;
  std::size_t at = head.offset + head.length;
  const std::size_t stop = std::min(text.size(), at + kBodyMax);
  // Two header lines in a row have nothing between them.
  const auto keep = [&] {
    if (piece.length > 0) findings.push_back(piece);
  };
  const auto extend = [&](std::size_t start, std::size_t end, bool joined) {
    if (!joined) {
      keep();
      piece = {head.rule, start, 0};
    }
    piece.length = end - piece.offset;
  };
  int short_lines = 0;
  std::size_t pending = 0, pending_end = 0;  // short lines, which count before a foot only
  bool pending_joined = true;
  while (at < stop) {
    bool joined = true;
    const std::size_t start = past_breaks(text, at, joined);
    const std::string_view rest = text.substr(start);
    if (rest.starts_with(kFoot)) {
      const std::size_t close = rest.substr(0, 120).find("-----", kFoot.size());
      const bool is_foot =
          close != std::string_view::npos && all_of(rest.substr(kFoot.size(), close - kFoot.size()),
                                                    [](char c) { return is_upper(c) || is_digit(c) || c == ' '; });
      if (short_lines > 0) extend(pending, pending_end, pending_joined);
      if (is_foot) extend(start, start + close + 5, joined);
      break;
    }
    if (rest.starts_with("Proc-Type:") || rest.starts_with("DEK-Info:")) {
      at = start + rest.substr(0, 200).find_first_of("\n\r\\\"'");
      if (at < start || at > stop) break;
      keep();
      piece = {head.rule, at, 0};
      while (at < stop && (text[at] == '\n' || text[at] == '\r')) ++at;
      piece.offset = at;
      continue;
    }
    std::size_t end = start;
    while (end < stop && is_base64(text[end])) ++end;
    if (end == start) break;
    if (end - start >= kLineMin) {
      if (short_lines > 0) break;
      extend(start, end, joined);
    } else {
      if (++short_lines > kShortLinesMax) break;
      if (short_lines == 1) pending = start, pending_joined = joined;
      pending_end = end;
    }
    at = end;
  }
  keep();
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
      if (rule == PrivateKey) {
        add_private_key(text, {kRuleNames[rule], offset, end - offset}, findings);
        end = findings.back().offset + findings.back().length;
      } else {
        for (const Place& part : hidden_parts(text, {offset, token.size()}))
          findings.push_back({kRuleNames[rule], part.offset, part.length});
      }
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
  if (seen.pattern_rules.any()) {
    for (std::size_t rule = 0; rule < kPatternRules; ++rule)
      if (seen.pattern_rules[rule]) find_by_pattern(rule, text, seen.findings);
  }
  return merge(std::move(seen.findings));
}

bool holds_secret(std::string_view text) { return !find(text).empty(); }

std::optional<Finding> find_assigned(std::string_view name, std::string_view value) {
  if (names_secret(name) &&
      ((all_of(value, [](char c) { return in(kValue, c); }) && is_secret_value(value)) ||
       (all_of(value, [](char c) { return in(kPunctuated, c); }) && is_secret_punctuated(value, true)))) {
    return Finding{kRuleNames[KeywordAssignment], 0, value.size()};
  }
  // The other rules that look at what stands before the value.
  const std::string lower = to_lower_ascii(name);
  if ((lower == "auth" || lower == "_auth") && all_of(value, is_base64) && value.size() >= 4 &&
      is_encoded_userinfo(value))
    return Finding{kRuleNames[RegistryAuth], 0, value.size()};
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
