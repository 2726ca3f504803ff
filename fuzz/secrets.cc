// SPDX-License-Identifier: Apache-2.0
// The secret detector: findings in order and in the text, the first look never wrong when it says no, redaction that
// removes what was found.
//
// Two bytes choose a part of the text; then comes the text, or with 0x1f in it a member's name and value. Tokens in the
// seeds and the dictionary are broken by U+27E6 U+27E7, which are taken out here.
#include "properties.h"
#include "secrets/detector.h"

namespace baton::fuzz {
namespace {

bool is_utf8(std::string_view text) { return find_invalid_utf8(text) == text.size(); }

// A document in which every `step`th character of a string is an escape (0: only those that must be).
void append_string(std::string& out, std::string_view text, std::size_t step) {
  if (step == 0) {
    json::append_canonical_string(out, text);
    return;
  }
  out.push_back('"');
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t start = at;
    next_character(text, at);
    std::string quoted;
    if (++count % step == 0) append_all_escaped(quoted, text.substr(start, at - start));
    else json::append_canonical_string(quoted, text.substr(start, at - start));
    out.append(quoted, 1, quoted.size() - 2);
  }
  out.push_back('"');
}

// Every spelling of {"name":"value"} the first look must not be deceived by.
void require_seen_in_documents(std::string_view name, std::string_view value, std::string_view promise) {
  if (!is_utf8(name) || !is_utf8(value)) return;
  for (const std::size_t step : {0, 1, 2, 5}) {
    for (const std::string_view colon : {":", " \n : \t ", ":\r\n                                        "}) {
      std::string document = "{\"a\":1,";
      append_string(document, name, step);
      document += colon;
      append_string(document, value, step);
      document += "}";
      require(secrets::may_hold_secret(document), promise, document);
    }
  }
}

void check_findings(std::string_view text, const std::vector<secrets::Finding>& findings) {
  std::size_t end = 0;
  for (const secrets::Finding& finding : findings) {
    require(finding.offset >= end && finding.length > 0, "findings are in order and apart", finding.rule);
    end = finding.offset + finding.length;
    require(end <= text.size(), "a finding lies in the text", finding.rule);
    bool known = false;
    for (const std::string_view rule : secrets::rule_names()) known |= rule == finding.rule;
    require(known, "a finding has a rule of the table", finding.rule);
  }
  require(secrets::find(text) == findings, "the same text gives the same findings");
  require(secrets::holds_secret(text) == !findings.empty(), "a text holds a secret when one is found");
}

// What stands in a finding's place is no finding. What stands beside or around it may become one: half of a long run is a
// run, and a URL that lost a slash may have a password.
void check_redaction(std::string_view text, const std::vector<secrets::Finding>& findings) {
  const std::string redacted = secrets::redact(text);
  if (findings.empty()) {
    require(redacted == text, "what holds no secret is left alone");
    return;
  }
  std::vector<std::size_t> begins, ends;
  std::string expected;
  std::size_t at = 0;
  for (const secrets::Finding& finding : findings) {
    expected.append(text, at, finding.offset - at);
    begins.push_back(expected.size());
    expected += "[REDACTED:" + std::string(finding.rule) + "]";
    ends.push_back(expected.size());
    at = finding.offset + finding.length;
  }
  expected.append(text, at);
  require(redacted == expected, "every finding is replaced, and nothing else");
  for (const secrets::Finding& finding : secrets::find(redacted)) {
    const std::size_t end = finding.offset + finding.length;
    for (std::size_t i = 0; i < begins.size(); ++i) {
      const bool apart = end <= begins[i] || finding.offset >= ends[i];
      const bool around = finding.offset <= begins[i] && end >= ends[i] && finding.length > ends[i] - begins[i];
      require(apart || around, "a redaction is no secret", redacted);
    }
  }
}

bool is_token_byte(char c) {
  return is_alphanumeric(c) || std::string_view("_~.=+/-").find(c) != std::string_view::npos;
}

// A part as a document's strings are parts of it: not cut inside a run, half of which may be random where the whole is not.
std::string_view part_of(std::string_view text, std::uint8_t from, std::uint8_t to) {
  std::size_t start = text.size() * from / 256, end = start + (text.size() - start) * to / 255;
  while (start > 0 && is_token_byte(text[start - 1])) --start;
  while (end < text.size() && is_token_byte(text[end])) ++end;
  return text.substr(start, end - start);
}

void run(std::uint8_t from, std::uint8_t to, std::string_view text) {
  const auto findings = secrets::find(text);
  check_findings(text, findings);
  check_redaction(text, findings);
  if (!findings.empty()) {
    require(secrets::may_hold_secret(text), "the first look sees what is found", findings[0].rule);
    require_seen_in_documents("note", text, "the first look sees it in a document's value");
    require_seen_in_documents(text, "note", "the first look sees it in a document's name");
  }
  if (!secrets::may_hold_secret(text)) {
    const std::string_view part = part_of(text, from, to);
    require(!secrets::holds_secret(part), "the first look speaks for every part", part);
  }

  const std::size_t middle = text.find('\x1f');
  if (middle == std::string_view::npos) return;
  const std::string_view name = text.substr(0, middle), value = text.substr(middle + 1);
  if (const auto finding = secrets::find_assigned(name, value)) {
    require(finding->offset + finding->length <= value.size(), "an assigned secret lies in the value", finding->rule);
    require_seen_in_documents(name, value, "the first look sees what is assigned");
  }
}

}  // namespace
}  // namespace baton::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return baton::fuzz::fuzz_one([&] {
    baton::fuzz::Input input(data, size);
    const std::uint8_t from = input.choice(), to = input.choice();
    const std::vector<char> text = baton::fuzz::mended(input.rest());
    baton::fuzz::run(from, to, {text.data(), text.size()});
  });
}
