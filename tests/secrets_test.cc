// SPDX-License-Identifier: Apache-2.0
// The secret detector against tests/secrets_cases.txt, and what must hold for every text: the first look misses nothing,
// and a redacted text no longer holds what was found.
#include "secrets/detector.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace baton::secrets {
namespace {

struct Case {
  std::string verb, rule, name, text;
  int line = 0;
};

// Token-shaped strings are broken in every committed file.
std::string unbroken(std::string text) {
  static const std::string kBreak = "⟦⟧";
  for (std::size_t at; (at = text.find(kBreak)) != std::string::npos;) text.erase(at, kBreak.size());
  return text;
}

std::string take_word(std::string& text) {
  const std::size_t blank = std::min(text.find(' '), text.size());
  std::string word = text.substr(0, blank);
  text.erase(0, blank + 1);
  return word;
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all = [] {
    std::vector<Case> read;
    std::ifstream file(std::string(BATON_TESTS_DIR) + "/secrets_cases.txt");
    std::string line;
    for (int number = 1; std::getline(file, line); ++number) {
      if (line.empty() || line[0] == '#') continue;
      Case one;
      one.line = number;
      one.verb = take_word(line);
      if (one.verb != "none") one.rule = take_word(line);
      if (one.verb == "assigned") one.name = take_word(line);
      one.text = unbroken(line);
      read.push_back(one);
    }
    return read;
  }();
  return all;
}

// Rules only, by no accident the values.
std::string rules_of(const std::vector<Finding>& findings) {
  std::string rules;
  for (const Finding& finding : findings) rules.append(rules.empty() ? "" : " ").append(finding.rule);
  return rules;
}

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out.append("\\").push_back(c);
    } else if (c == '\n') {
      out.append("\\n");
    } else if (c == '\t') {
      out.append("\\t");
    } else if (c == '\b') {
      out.append("\\b");
    } else if (c == '\f') {
      out.append("\\f");
    } else if (c == '\r') {
      out.append("\\r");
    } else {
      out.push_back(c);
    }
  }
  return out.append("\"");
}

// What a packet looks like: everything a detector could stumble over, and no secret.
std::string ordinary_members(std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) {
    out += R"(  "message_id": "msg_relay_handoff_0042",
  "uri": "https://relay.example/agents/builder",
  "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
  "idempotency_key": "idem_20261114_relay_0042",
  "signature_ref": "https://relay.example/.well-known/keys.json",
  "credential_ref": "urn:relay:credential:release-signer",
  "delegated_authorization": {
    "authorization_ref": "change-ticket-3310",
    "secret_values_included": false
  },
  "task_ref": "task_relay_release_12",
  "context_summary": "The release candidate passed its test suite; ask ops@relay.example.\nThe token stays in the vault.",
  "checksum": "sha256:4b958408a3348de9acd239351d35336c466de570b826a8b24abc3f8cf1b781ec",
)";
  }
  return out;
}

TEST(Secrets, CasesAreRead) { EXPECT_GT(cases().size(), 250u); }

TEST(Secrets, EveryCaseIsAsWritten) {
  for (const Case& one : cases()) {
    SCOPED_TRACE("secrets_cases.txt:" + std::to_string(one.line));
    const std::string rules = rules_of(find(one.text));
    if (one.verb == "found") {
      EXPECT_EQ(rules, one.rule);
      EXPECT_TRUE(holds_secret(one.text));
    } else if (one.verb == "not") {
      EXPECT_EQ((" " + rules + " ").find(" " + one.rule + " "), std::string::npos) << rules;
    } else if (one.verb == "none") {
      EXPECT_EQ(rules, "");
      EXPECT_FALSE(holds_secret(one.text));
    } else if (one.verb == "assigned") {
      const auto finding = find_assigned(one.name, one.text);
      EXPECT_EQ(finding ? finding->rule : "none", one.rule);
      if (finding) {
        EXPECT_LE(finding->offset + finding->length, one.text.size());
      }
    } else {
      ADD_FAILURE() << "unknown verb " << one.verb;
    }
  }
}

TEST(Secrets, EveryRuleHasACaseForAndACaseAgainst) {
  std::set<std::string, std::less<>> found, refused;
  for (const Case& one : cases()) {
    if (one.verb == "found") found.insert(one.rule);
    if (one.verb == "not") refused.insert(one.rule);
  }
  for (const std::string_view rule : rule_names()) {
    EXPECT_TRUE(found.contains(rule)) << rule;
    // The last rules are kept from ordinary text rather than from near misses: the cases say `none`.
    if (rule != "url-userinfo" && rule != "authorization-header" && rule != "high-entropy" && rule != "heroku-uuid") {
      EXPECT_TRUE(refused.contains(rule)) << rule;
    }
  }
  for (const std::string& rule : found) {
    EXPECT_NE(std::find(rule_names().begin(), rule_names().end(), rule), rule_names().end()) << rule;
  }
}

TEST(Secrets, FirstLookMissesNothing) {
  const std::string around = ordinary_members(3);
  for (const Case& one : cases()) {
    SCOPED_TRACE("secrets_cases.txt:" + std::to_string(one.line));
    const bool assigned = one.verb == "assigned" && find_assigned(one.name, one.text).has_value();
    const bool found = holds_secret(one.text);
    const std::string name = one.name.empty() ? "note" : one.name;
    for (const std::string_view between : {"\":\"", "\": \"", "\" :\n      \"", "\":[\"", "\": [\r\n\t[ \""}) {
      const std::string document = "{\n" + around + "\"" + name + std::string(between) +
                                   json_string(one.text).substr(1) + ",\n" + around + "\"end\": 1}";
      if (found || assigned) {
        EXPECT_TRUE(may_hold_secret(document));
      }
    }
    if (!found) continue;
    EXPECT_TRUE(may_hold_secret(one.text));
    // At every place of a block, after a line break, and under a name.
    for (std::size_t shift = 0; shift < 40; ++shift) {
      EXPECT_TRUE(may_hold_secret(std::string(shift, ' ') + json_string("x\n" + one.text)));
      EXPECT_TRUE(may_hold_secret("{" + json_string(one.text) + std::string(shift, '\n') + ":1}"));
    }
  }
}

// Random pieces of cases, glued: what no author thought of.
TEST(Secrets, FirstLookMissesNothingInRandomText) {
  std::mt19937 random(20261115);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  std::size_t found = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    for (std::size_t piece = 0; piece < 1 + below(3); ++piece) {
      const std::string& from = cases()[below(cases().size())].text;
      const std::size_t start = below(from.size() + 1) * below(2);
      text += from.substr(start, below(2) ? std::string::npos : below(from.size() + 1));
      if (below(2)) text += std::string("\\\n\t\" :=nt_-/")[below(12)];
    }
    for (std::size_t change = below(3); change > 0 && !text.empty(); --change) {
      text[below(text.size())] = static_cast<char>(below(256));
    }
    const std::vector<Finding> findings = find(text);
    std::size_t end = 0;
    for (const Finding& finding : findings) {
      ASSERT_GE(finding.offset, end);
      ASSERT_GT(finding.length, 0u);
      end = finding.offset + finding.length;
      ASSERT_LE(end, text.size());
    }
    if (findings.empty()) continue;
    ++found;
    ASSERT_TRUE(may_hold_secret(text)) << rules_of(findings);
    ASSERT_TRUE(may_hold_secret(json_string(text))) << rules_of(findings);
  }
  EXPECT_GT(found, 5'000u);
}

TEST(Secrets, FirstLookSeesThroughEscapes) {
  EXPECT_TRUE(may_hold_secret(R"({"a": "gh\u0070_"})"));
  EXPECT_TRUE(may_hold_secret(R"({"a": "postgres:\/\/app"})"));
  // What an escape stands for can be part of a password in a URL, or end where a run begins.
  ASSERT_TRUE(holds_secret("s://:\b@"));
  EXPECT_TRUE(may_hold_secret(R"({"n":"s://:\b@"})"));
  ASSERT_TRUE(holds_secret("s://:é@"));
  EXPECT_TRUE(may_hold_secret(R"({"n":"s://:\u00e9@"})"));
  std::string longest = "s://:", escaped = longest;
  for (int i = 0; i < 128; ++i) longest += "é", escaped += "\\u00e9";
  ASSERT_TRUE(holds_secret(longest + "@"));
  EXPECT_TRUE(may_hold_secret("{\"n\":\"" + escaped + "@\"}"));
  const std::string run = unbroken("xQe6fsHVZPWm5r0e⟦⟧M2A7QTbw906x0rQJN");
  ASSERT_TRUE(holds_secret("é" + run));
  EXPECT_TRUE(may_hold_secret("{\"n\":\"\\u00e9" + run + "\"}"));
  EXPECT_FALSE(may_hold_secret(R"({"a": "http://relay:80\nops@relay.example", "b": "http://relay:80\\b@"})"));
  EXPECT_FALSE(may_hold_secret(R"({"a": "caf\u00e9 \u2713 \"quoted\"\n"})"));
}

TEST(Secrets, FirstLookSeesTheFirstElementOfAList) {
  std::string value;
  while (value.size() < 150) value += unbroken("q7Zk2Lw9⟦⟧Xv4Tn8Rb1Mc6");
  // Fewer than 12 characters cannot have the entropy, more than 150 are no value.
  for (const std::size_t length : {12u, 24u, 150u}) {
    const std::string element = value.substr(0, length);
    ASSERT_TRUE(find_assigned("password", element)) << length;
    EXPECT_TRUE(may_hold_secret("{\"password\":[\"" + element + "\"]}"));
    EXPECT_TRUE(may_hold_secret("{\"password\" : [\n    \"" + element + "\",\n    \"next\"\n  ]}"));
    EXPECT_TRUE(may_hold_secret("{\"password\":[[\"" + element + "\"]]}"));
    EXPECT_FALSE(may_hold_secret("{\"password\"[:\"" + element + "\"}"));
  }
  EXPECT_TRUE(may_hold_secret(unbroken(R"({"Authorization":["Bearer q7Zk2Lw9⟦⟧Xv4Tn8Rb"]})")));
  EXPECT_FALSE(may_hold_secret(R"({"tokens": [], "secrets": ["vault/release/signer"], "passwords": [ "***" ]})"));
}

TEST(Secrets, AnOrdinaryDocumentPassesTheFirstLook) {
  for (std::size_t count = 1; count < 8; ++count) {
    EXPECT_FALSE(may_hold_secret("{\n" + ordinary_members(count) + "\"end\": 1}"));
  }
  EXPECT_FALSE(may_hold_secret(""));
}

TEST(Secrets, NoCaseIsFlaggedWhenNothingIsThere) {
  std::size_t none = 0, passed = 0;
  for (const Case& one : cases()) {
    if (one.verb != "none") continue;
    ++none;
    passed += !may_hold_secret(one.text);
  }
  // The first look may be wrong, but a first look that mostly says yes is of no use.
  EXPECT_GT(passed * 10, none * 8) << passed << " of " << none;
}

TEST(Secrets, RedactedTextHoldsNoSecret) {
  for (const Case& one : cases()) {
    if (one.verb != "found") continue;
    SCOPED_TRACE("secrets_cases.txt:" + std::to_string(one.line));
    const std::vector<Finding> findings = find(one.text);
    ASSERT_EQ(findings.size(), 1u);
    const std::string redacted = redact(one.text);
    EXPECT_NE(redacted.find("[REDACTED:" + one.rule + "]"), std::string::npos);
    EXPECT_EQ(redacted.find(one.text.substr(findings[0].offset, findings[0].length)), std::string::npos);
    EXPECT_FALSE(holds_secret(redacted)) << redacted;
  }
}

TEST(Secrets, RedactKeepsWhatIsAround) {
  EXPECT_EQ(redact(unbroken("db postgres://app:⟦⟧Tr0ub4dor3x@db/main up")),
            "db postgres://[REDACTED:url-userinfo]@db/main up");
  EXPECT_EQ(redact(unbroken("client_secret = q7Zk2Lw9⟦⟧Xv4Tn8Rb1Mc6; next")),
            "client_secret = [REDACTED:keyword-assignment]; next");
  EXPECT_EQ(redact("nothing here"), "nothing here");
  EXPECT_EQ(redact(""), "");
}

TEST(Secrets, APrivateKeyIsCoveredToItsFoot) {
  const std::string body = "MIIEowIBAAKCAQEA7bq\nZ3x9Kd02mPqLsTuV\n";
  const std::string head = unbroken("-----BE⟦⟧GIN RSA PRIVATE KEY-----\n");
  EXPECT_EQ(redact("a\n" + head + body + "-----END RSA PRIVATE KEY-----\nb"), "a\n[REDACTED:private-key]\nb");
  EXPECT_EQ(redact(head + body), "[REDACTED:private-key]\n");
  EXPECT_EQ(redact(head + "(body left out)"), "[REDACTED:private-key]\n(body left out)");
}

TEST(Secrets, FindingsComeInOrderUnderTheMostSpecificRule) {
  const std::string token = unbroken("gh⟦⟧p_3G0XTTvv27XixDx8OlIcNBax7JtXWu5Mwy86");
  const std::string key = unbroken("AK⟦⟧IATB6KWL4MGCPLJF7K");
  const std::vector<Finding> findings = find("token=" + token + " " + key + " Authorization: Bearer " + token);
  ASSERT_EQ(findings.size(), 3u);
  EXPECT_EQ(findings[0], (Finding{"github-token", 6, token.size()}));
  EXPECT_EQ(findings[1], (Finding{"aws-access-key-id", 7 + token.size(), key.size()}));
  EXPECT_EQ(findings[2].rule, "github-token");
}

TEST(Secrets, RuleNamesAreStableAndApart) {
  const std::set<std::string_view> names(rule_names().begin(), rule_names().end());
  EXPECT_EQ(names.size(), rule_names().size());
  EXPECT_GE(names.size(), 45u);
  for (const std::string_view name : names) {
    EXPECT_TRUE(std::all_of(name.begin(), name.end(), [](char c) { return (c >= 'a' && c <= 'z') || c == '-'; }))
        << name;
  }
}

// What somebody hostile sends must not take long: each text repeats what makes a rule look far.
TEST(Secrets, HostileTextTakesLinearTime) {
  for (const std::string_view piece :
       {"token=", "-glpat-", "@", "a://b:c", ".ey-ey", "\neyaaaaaaaaaaaaaaaaa.eyaaaaaaaaaaaaaaaaa.", "key-",
        "authorization:", "cloudflare ", "-xoxb-1111111111-1111111111", "heroku ", "s.aaaaaaaaaaaaaaaaaaaaaaaa1 ",
        "password", "aB3"}) {
    std::string text;
    while (text.size() < 256u << 10) text += piece;
    const auto start = std::chrono::steady_clock::now();
    find(text);
    may_hold_secret(text);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10)) << piece;
  }
  std::string heads;
  while (heads.size() < 256u << 10) heads += unbroken("-----BE⟦⟧GIN PRIVATE KEY----- ");
  EXPECT_GT(find(heads).size(), 1'000u);
}

TEST(Secrets, ManyThreadsAtOnce) {
  std::vector<std::thread> threads;
  std::vector<std::size_t> found(4);
  for (std::size_t i = 0; i < found.size(); ++i) {
    threads.emplace_back([&found, i] {
      for (const Case& one : cases()) found[i] += find(one.text).size();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::size_t count : found) EXPECT_EQ(count, found[0]);
}

}  // namespace
}  // namespace baton::secrets
