// SPDX-License-Identifier: Apache-2.0
// The dialect handoff-spec: the vectors, a case for every code of its catalogue, and the way through the one Handoff.
#include "dialects/handoff_spec/spec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <set>

#include "base/text.h"
#include "dialects/handoff_spec/glob.h"
#include "json/canonical.h"
#include "json/parse.h"

namespace baton::handoff_spec {
namespace {

using Codes = std::vector<std::string>;
using json::Value;

Time at(std::string_view text) { return parse_time(text).time.value(); }

json::Document document(const std::string& text) {
  auto parsed = json::parse_owned(text);
  EXPECT_TRUE(parsed.has_value()) << text;
  return std::move(*parsed);
}

Value value(const std::string& text) { return Value::copy(document(text).root()); }

// The distinct codes of one severity, in order of first appearance.
Codes codes(const std::vector<Diagnostic>& diagnostics, Severity severity) {
  Codes out;
  for (const Diagnostic& diagnostic : diagnostics) {
    const std::string name(info(diagnostic.code).name);
    if (diagnostic.severity == severity && std::ranges::find(out, name) == out.end()) out.push_back(name);
  }
  return out;
}

Codes strings(json::Node array) {
  Codes out;
  for (const json::Node node : array.elements()) out.emplace_back(node.string());
  return out;
}

// --- the vectors ----------------------------------------------------------------------------------------------------

void run_check_vector(json::Node vector, const Options& options) {
  const std::string text = json::write(vector["input"]);
  const Checked checked = check(text, options);
  const json::Node expected = vector["expected"];
  EXPECT_EQ(checked.valid(), expected["valid"].boolean());
  EXPECT_EQ(codes(checked.diagnostics, Severity::Error), strings(expected["codes"]));
  EXPECT_EQ(codes(checked.diagnostics, Severity::Warning), strings(expected["warnings"]));
  EXPECT_EQ(checked.resolved.has_value(), checked.valid());
  if (const json::Node resolved = expected["resolved"]) {
    ASSERT_TRUE(checked.resolved);
    EXPECT_TRUE(equal(checked.resolved->to_json(), Value::copy(resolved))) << json::write(checked.resolved->to_json());
  }
}

void run_gate_vector(json::Node vector, const Options& options) {
  const std::string text = json::write(vector["input"]);
  const auto refusal = gate({text, vector["cli_task_slug"].string(), VaultAnswer::found(vector["manifest"]), options});
  const json::Node expected = vector["expected"];
  EXPECT_EQ(!refusal, expected["valid"].boolean());
  if (refusal) {
    EXPECT_EQ(Codes{std::string(info(refusal->code).name)}, strings(expected["codes"]));
  }
}

TEST(HandoffSpec, Vectors) {
  std::ifstream file(std::string(BATON_TESTS_DIR) + "/vectors/handoff_spec.jsonl");
  ASSERT_TRUE(file.is_open());
  int count = 0;
  for (std::string line; std::getline(file, line); ++count) {
    const std::string broken = "\u27e6\u27e7";
    for (std::size_t found; (found = line.find(broken)) != std::string::npos;) line.erase(found, broken.size());
    const json::Document parsed = document(line);
    const json::Node vector = parsed.root();
    SCOPED_TRACE(vector["id"].string());
    const Options options{find_profile("raxx"), at(vector["now"].string()), vector["options"]["strict"].is_true()};
    if (vector["kind"].is_text("gate")) run_gate_vector(vector, options);
    else run_check_vector(vector, options);
  }
  EXPECT_GT(count, 0);
}

// --- checking, by hand ----------------------------------------------------------------------------------------------

const Time kNow = at("2026-11-15T00:00:00Z");

std::string good_spec() {
  return R"({"task_slug":"ledger-export-fix-20261115","surfaces":["infisical","github"],"operator_approval":"Dana 2026-11-14",)"
         R"("linked_card":812,"repo":"ledger","owner":"acme-co"})";
}

// The good spec with members replaced, added, or (by an empty text) taken out.
std::string with(std::initializer_list<std::pair<std::string_view, std::string>> changes,
                 const std::string& base = good_spec()) {
  Value spec = value(base);
  for (const auto& [name, text] : changes) {
    if (text.empty()) spec.erase(name);
    else spec.set(name, value(text));
  }
  return json::write(spec);
}

std::string with_policy(const std::string& policy) {
  return with({{"surfaces", R"(["aws"])"}, {"aws_inline_policy", policy}});
}

std::string with_statement(const std::string& statement) {
  return with_policy(R"({"Version":"2012-10-17","Statement":[)" + statement + "]}");
}

std::string allow(const std::string& action, const std::string& resource) {
  return with_statement(R"({"Effect":"Allow","Action":)" + action + R"(,"Resource":)" + resource + "}");
}

std::string quoted(const std::string& text) { return "\"" + text + "\""; }

std::string many_tools(int count) {
  std::string list = "[";
  for (int i = 0; i < count; ++i) list += (i ? ",\"t" : "\"t") + std::to_string(i) + "\"";
  return list + "]";
}

struct Case {
  std::string spec;
  Codes errors;
  Codes warnings = {};
};

const std::vector<Case>& check_cases() {
  static const std::string bucket = R"("arn:aws:s3:::ledger/*")";
  static const std::vector<Case> cases = {
      {good_spec(), {}},
      // Text that is no spec at all.
      {"{", {"SPEC_JSON"}},
      {"", {"SPEC_JSON"}},
      {"{} {}", {"SPEC_JSON"}},
      {good_spec() + std::string(65'536 - good_spec().size(), ' '), {}},
      {good_spec() + std::string(65'537 - good_spec().size(), ' '), {"SPEC_JSON"}},
      {std::string(65, '[') + std::string(65, ']'), {"SPEC_JSON"}},
      {R"({"repo":"a","repo":"a"})", {"SPEC_JSON_DUPLICATE_KEY"}},
      {R"({"aws_inline_policy":{"Id":"a","\u0049d":"b"}})", {"SPEC_JSON_DUPLICATE_KEY"}},
      {"[]", {"SPEC_NOT_OBJECT"}},
      {"null", {"SPEC_NOT_OBJECT"}},
      // Fields: absent, of the wrong type, unknown; in the order of the table.
      {"{}", {"SPEC_FIELD_MISSING"}},
      {with({{"linked_card", ""}}), {"SPEC_FIELD_MISSING"}},
      {with({{"repo", ""}}), {"SPEC_FIELD_MISSING"}},
      {with({{"owner", ""}}), {"SPEC_FIELD_MISSING"}},
      {with({{"task_slug", "7"}}), {"SPEC_FIELD_TYPE"}},
      {with({{"surfaces", "\"github\""}}), {"SPEC_FIELD_TYPE"}},
      {with({{"surfaces", R"(["github",null])"}}), {"SPEC_FIELD_TYPE"}},
      {with({{"operator_approval", "null"}}), {"SPEC_FIELD_TYPE"}},
      {with({{"linked_card", "true"}}), {"SPEC_FIELD_TYPE"}},
      {with({{"linked_card", "\"812\""}}), {"SPEC_FIELD_TYPE"}},
      {with({{"linked_card", "812.5"}}), {"SPEC_FIELD_TYPE"}},
      {with({{"expected_runtime", "3600"}}), {"SPEC_FIELD_TYPE"}},
      {with({{"expected_runtime", "null"}}), {"SPEC_FIELD_TYPE"}},
      {with({{"ttl_expires_at", "1"}}), {"SPEC_FIELD_TYPE"}},
      {with({{"ttl_hours", "\"4\""}}), {"SPEC_FIELD_TYPE"}},
      {with({{"ttl_hours", "false"}}), {"SPEC_FIELD_TYPE"}},
      {with({{"ttl_hours", "null"}}), {"SPEC_FIELD_TYPE"}},
      {with({{"mcp_tools", "{}"}}), {"SPEC_FIELD_TYPE"}},
      {with({{"aws_inline_policy", "[]"}}), {"SPEC_FIELD_TYPE"}},
      {with({{"extra", "1"}}), {"SPEC_FIELD_UNKNOWN"}},
      {with({{"Repo", "\"a\""}, {"linked_card", "0"}, {"task_slug", ""}}),
       {"SPEC_FIELD_MISSING", "SPEC_LINKED_CARD_RANGE", "SPEC_FIELD_UNKNOWN"}},
      // task_slug
      {with({{"task_slug", "\"a-20261115\""}}), {}},
      {with({{"task_slug", quoted(std::string(54, 'a') + "-20261115")}}), {}},
      {with({{"task_slug", quoted(std::string(55, 'a') + "-20261115")}}), {"SPEC_TASK_SLUG_FORMAT"}},
      {with({{"task_slug", "\"-20261115\""}}), {"SPEC_TASK_SLUG_FORMAT"}},
      {with({{"task_slug", "\"-a-20261115\""}}), {"SPEC_TASK_SLUG_FORMAT"}},
      {with({{"task_slug", "\"ledger20261115\""}}), {"SPEC_TASK_SLUG_FORMAT"}},
      {with({{"task_slug", "\"ledger-2026111\""}}), {"SPEC_TASK_SLUG_FORMAT"}},
      {with({{"task_slug", "\"ledger-120261115\""}}), {"SPEC_TASK_SLUG_FORMAT"}},
      {with({{"task_slug", "\"20261115-20261115\""}}), {}},
      {with({{"task_slug", "\"ledger-20240229\""}}), {}},
      {with({{"task_slug", "\"ledger-20250229\""}}), {"SPEC_TASK_SLUG_DATE"}},
      {with({{"task_slug", "\"ledger-00000101\""}}), {"SPEC_TASK_SLUG_DATE"}},
      // surfaces
      {with({{"surfaces", "[]"}}), {"SPEC_SURFACES_EMPTY"}},
      {with({{"surfaces", R"(["GitHub"])"}}), {"SPEC_SURFACE_UNKNOWN"}},
      {with({{"surfaces", R"(["github","github"])"}}), {"SPEC_SURFACE_DUPLICATE"}},
      {with({{"surfaces", R"(["gitlab","gitlab"])"}}), {"SPEC_SURFACE_UNKNOWN", "SPEC_SURFACE_DUPLICATE"}},
      // operator_approval
      {with({{"operator_approval", "\"\""}}), {"SPEC_APPROVAL_INVALID"}},
      {with({{"operator_approval", R"(" \t\u2003")"}}), {"SPEC_APPROVAL_INVALID"}},
      {with({{"operator_approval", R"("Dana\u0000 2026-11-14")"}}), {"SPEC_APPROVAL_INVALID"}},
      {with({{"operator_approval", R"("Dana\u0085 2026-11-14")"}}), {"SPEC_APPROVAL_INVALID"}},
      {with({{"operator_approval", quoted(std::string(245, 'D') + " 2026-11-14")}}), {}},
      {with({{"operator_approval", quoted(std::string(246, 'D') + " 2026-11-14")}}), {"SPEC_APPROVAL_INVALID"}},
      {with({{"operator_approval", "\"approved\""}}), {}, {"SPEC_APPROVAL_CONVENTION"}},
      {with({{"operator_approval", "\"2026-11-14\""}}), {}, {"SPEC_APPROVAL_CONVENTION"}},
      {with({{"operator_approval", "\"Dana 2026-02-30\""}}), {}, {"SPEC_APPROVAL_CONVENTION"}},
      {with({{"operator_approval", "\"Dana 2026-11-14, by phone\""}}), {}, {"SPEC_APPROVAL_CONVENTION"}},
      {with({{"operator_approval", "\"Dana Q. Reyes 2026-11-15\""}}), {}},
      {with({{"operator_approval", "\"Dana 2026-11-16\""}}), {"SPEC_APPROVAL_FUTURE"}},
      {with({{"operator_approval", "\"on 2027-01-01 by Dana 2026-11-14\""}}), {"SPEC_APPROVAL_FUTURE"}},
      {with({{"operator_approval", "\"from 2026-11-16 on\""}}), {"SPEC_APPROVAL_FUTURE"}, {"SPEC_APPROVAL_CONVENTION"}},
      {with({{"operator_approval", "\"ticket 12026-11-16 Dana 2026-11-14\""}}), {}},
      // linked_card
      {with({{"linked_card", "1"}}), {}},
      {with({{"linked_card", "3.0"}}), {}},
      {with({{"linked_card", "2147483647"}}), {}},
      {with({{"linked_card", "2147483648"}}), {"SPEC_LINKED_CARD_RANGE"}},
      {with({{"linked_card", "-1"}}), {"SPEC_LINKED_CARD_RANGE"}},
      {with({{"linked_card", "1e30"}}), {"SPEC_LINKED_CARD_RANGE"}},
      // expected_runtime and the two ends of the grant
      {with({{"expected_runtime", "\"PT24H\""}}), {}},
      {with({{"expected_runtime", "\"P1Y\""}}), {"SPEC_RUNTIME_FORMAT"}},
      {with({{"expected_runtime", "\"pt1h\""}}), {"SPEC_RUNTIME_FORMAT"}},
      {with({{"expected_runtime", "\"PT1000000S\""}}), {"SPEC_RUNTIME_FORMAT"}},
      {with({{"expected_runtime", "\"PT0S\""}}), {"SPEC_RUNTIME_RANGE"}},
      {with({{"expected_runtime", "\"PT24H1S\""}}), {"SPEC_RUNTIME_RANGE"}},
      {with({{"expected_runtime", "\"PT2H15M\""}, {"ttl_hours", "2"}}), {}},
      {with({{"expected_runtime", "\"PT2H15M1S\""}, {"ttl_hours", "2"}}), {"SPEC_RUNTIME_EXCEEDS_TTL"}},
      {with({{"expected_runtime", "\"PT5H\""}, {"ttl_hours", "2"}, {"ttl_expires_at", "\"2026-11-15T05:00:00Z\""}}),
       {}},
      {with({{"ttl_expires_at", "\"2026-11-15T00:45:00Z\""}}), {}},
      {with({{"ttl_expires_at", "\"2026-11-15T00:44:59Z\""}}), {"SPEC_RUNTIME_EXCEEDS_TTL"}},
      {with({{"ttl_expires_at", "\"2026-11-15T04:00:00+00:00\""}}), {"SPEC_TTL_TIMESTAMP"}},
      {with({{"ttl_expires_at", "\"2026-11-15\""}}), {"SPEC_TTL_TIMESTAMP"}},
      {with({{"ttl_expires_at", "\"0001-01-01T00:00:00Z\""}}), {"SPEC_TTL_EXPIRED"}},
      {with({{"ttl_expires_at", "\"2026-11-15T00:00:00Z\""}}), {"SPEC_TTL_EXPIRED"}},
      {with({{"ttl_expires_at", "\"2026-11-16T00:00:00Z\""}}), {}},
      {with({{"ttl_expires_at", "\"2026-11-16T00:00:00.000000001Z\""}}), {"SPEC_TTL_TOO_FAR"}},
      {with({{"ttl_expires_at", "\"9999-12-31T23:59:59Z\""}}), {"SPEC_TTL_TOO_FAR"}},
      {with({{"ttl_hours", "24"}}), {}},
      {with({{"ttl_hours", "25"}}), {"SPEC_TTL_HOURS_RANGE"}},
      {with({{"ttl_hours", "-1"}, {"expected_runtime", "\"PT9H\""}}), {"SPEC_TTL_HOURS_RANGE"}},
      // repo and owner
      {with({{"repo", "\"\""}}), {"SPEC_REPO_FORMAT"}},
      {with({{"repo", "\".\""}}), {"SPEC_REPO_FORMAT"}},
      {with({{"repo", "\"...\""}}), {}},
      {with({{"repo", quoted(std::string(100, 'r'))}}), {}},
      {with({{"repo", quoted(std::string(101, 'r'))}}), {"SPEC_REPO_FORMAT"}},
      {with({{"owner", "\"-acme\""}}), {"SPEC_OWNER_FORMAT"}},
      {with({{"owner", "\"acme-\""}}), {"SPEC_OWNER_FORMAT"}},
      {with({{"owner", "\"\""}}), {"SPEC_OWNER_FORMAT"}},
      {with({{"owner", "\"ac_me\""}}), {"SPEC_OWNER_FORMAT"}},
      {with({{"owner", quoted(std::string(39, 'o'))}}), {}},
      {with({{"owner", quoted(std::string(40, 'o'))}}), {"SPEC_OWNER_FORMAT"}},
      // mcp_tools
      {with({{"mcp_tools", many_tools(64)}}), {}, {"SPEC_TOOL_UNKNOWN"}},
      {with({{"mcp_tools", many_tools(65)}}), {"SPEC_TOOLS_TOO_MANY"}},
      {with({{"mcp_tools", R"(["git_log","git_log"])"}}), {}, {"SPEC_TOOL_DUPLICATE"}},
      {with({{"mcp_tools", R"(["stripe_charge"])"}}), {}, {"SPEC_TOOL_ALWAYS_EXCLUDED"}},
      {with({{"mcp_tools", R"(["Git_push"," git_push"])"}}), {}, {"SPEC_TOOL_UNKNOWN"}},
      {with({{"mcp_tools", R"(["aws_s3_read"])"}}), {}, {"SPEC_TOOL_SURFACE_MISSING"}},
      {with({{"mcp_tools", R"(["heroku_config_get","github_pr_merge","email_read"])"}}),
       {},
       {"SPEC_TOOL_SURFACE_MISSING"}},
      {with({{"surfaces", R"(["heroku"])"}, {"mcp_tools", R"(["heroku_config_get","github_pr_create"])"}}), {}},
      {with({{"surfaces", "7"}, {"mcp_tools", R"(["aws_s3_read"])"}}), {"SPEC_FIELD_TYPE"}},
      // aws_inline_policy: there or not
      {with({{"surfaces", R"(["aws"])"}}), {}, {"SPEC_AWS_POLICY_ABSENT"}},
      {with({{"aws_inline_policy", R"({"Statement":{"Effect":"Deny","Action":"s3:*","Resource":"*"}})"}}),
       {"SPEC_AWS_POLICY_WITHOUT_SURFACE"}},
      // its shape
      {with_policy("{}"), {"SPEC_AWS_POLICY_SHAPE"}},
      {with_policy(R"({"Statement":[]})"), {"SPEC_AWS_POLICY_SHAPE"}},
      {with_policy(R"({"Statement":"a"})"), {"SPEC_AWS_POLICY_SHAPE"}},
      {with_policy(
           R"({"Version":"2026-11-15","Statement":{"Effect":"Allow","Action":"s3:GetObject","Resource":"arn:aws:s3:::a"}})"),
       {"SPEC_AWS_POLICY_SHAPE"}},
      {with_policy(
           R"({"Id":"i","Statement":{"Sid":"s","Effect":"Allow","Action":"s3:GetObject","Resource":"*","Condition":{}}})"),
       {}},
      {with_policy(R"({"Comment":"i","Statement":{"Effect":"Allow","Action":"s3:GetObject","Resource":"*"}})"),
       {"SPEC_AWS_POLICY_SHAPE"}},
      {with_statement("7"), {"SPEC_AWS_POLICY_SHAPE"}},
      {with_statement(R"({"Action":"s3:GetObject","Resource":"*"})"), {"SPEC_AWS_POLICY_SHAPE"}},
      {with_statement(R"({"Effect":"allow","Action":"s3:GetObject","Resource":"*"})"), {"SPEC_AWS_POLICY_SHAPE"}},
      {with_statement(R"({"Effect":"Allow","Resource":"*"})"), {"SPEC_AWS_POLICY_SHAPE"}},
      {with_statement(R"({"Effect":"Allow","Action":"s3:GetObject"})"), {"SPEC_AWS_POLICY_SHAPE"}},
      {with_statement(R"({"Effect":"Deny","Action":"s3:a","NotAction":"s3:b","Resource":"*"})"),
       {"SPEC_AWS_POLICY_SHAPE"}},
      {with_statement(R"({"Effect":"Allow","Principal":"*","Action":"s3:GetObject","Resource":"*"})"),
       {"SPEC_AWS_POLICY_SHAPE"}},
      {with_statement(R"({"Effect":"Allow","Action":"s3:GetObject","Resource":"*","Condition":[]})"),
       {"SPEC_AWS_POLICY_SHAPE"}},
      {allow("[]", bucket), {"SPEC_AWS_POLICY_SHAPE"}},
      {allow("[7]", bucket), {"SPEC_AWS_POLICY_SHAPE"}},
      {allow("\"s3*\"", bucket), {"SPEC_AWS_POLICY_SHAPE"}},
      {allow("\"s3:GetObject\"", "[\"\"]"), {"SPEC_AWS_POLICY_SHAPE"}},
      // its reach
      {allow(R"(["s3:GetObject","s3:*"])", bucket), {}},
      {allow("\"s3:Get*\"", "\"*\""), {}},
      {allow("\"iam:*\"", "\"arn:aws:iam::123456789012:*\""), {}},
      {allow("\"*\"", bucket), {"SPEC_AWS_POLICY_BLANKET"}},
      {allow("\"**\"", bucket), {"SPEC_AWS_POLICY_BLANKET"}},
      {allow("\"?*\"", bucket), {"SPEC_AWS_POLICY_BLANKET"}},
      {allow("\"*:*\"", bucket), {"SPEC_AWS_POLICY_BLANKET"}},
      {allow("\"*:Get*\"", bucket), {"SPEC_AWS_POLICY_BLANKET"}},
      {allow("\"s3:*\"", "\"*\""), {"SPEC_AWS_POLICY_BLANKET"}},
      {allow("\"S3:?*\"", "\"**\""), {"SPEC_AWS_POLICY_BLANKET"}},
      {allow("\"s3:**\"", "\"?*\""), {"SPEC_AWS_POLICY_BLANKET"}},
      {allow("\"s3:*\"", "\"*:*\""), {"SPEC_AWS_POLICY_BLANKET"}},
      {allow("\"s3:*\"", "\"arn*\""), {"SPEC_AWS_POLICY_BLANKET"}},
      {allow("\"s3:*\"", "\"arn:aws:s3:::*\""), {"SPEC_AWS_POLICY_BLANKET"}},
      {allow("\"s3:*\"", "\"arn:aws:s3:::*/*\""), {"SPEC_AWS_POLICY_BLANKET"}},
      {allow("\"ec2:*\"", "\"arn:aws:ec2:*:*:*\""), {"SPEC_AWS_POLICY_BLANKET"}},
      {allow(R"(["s3:GetObject","s3:*"])", R"(["arn:aws:s3:::a","*"])"), {"SPEC_AWS_POLICY_BLANKET"}},
      {with_statement(R"({"Effect":"Allow","Action":"s3:GetObject","NotResource":"arn:aws:s3:::a"})"),
       {"SPEC_AWS_POLICY_BLANKET"}},
      {with_statement(R"({"Effect":"Deny","NotAction":"s3:GetObject","NotResource":"arn:aws:s3:::a"})"), {}},
      {with_statement(R"({"Effect":"Deny","Action":"*","Resource":"*"})"), {}},
      {with_statement(R"({"Effect":"Allow","Action":"*","Resource":"*"},{"Effect":"Maybe"})"),
       {"SPEC_AWS_POLICY_SHAPE", "SPEC_AWS_POLICY_BLANKET"}},
      // its length: {"Statement":{"Effect":"Allow","Action":"s3:GetObject","Resource":""}} is 70 characters
      {with_policy(R"({"Statement": {"Effect": "Allow", "Action": "s3:GetObject", "Resource": ")" +
                   std::string(2048 - 70, 'r') + "\"}}"),
       {}},
      {with_policy(R"({"Statement": {"Effect": "Allow", "Action": "s3:GetObject", "Resource": ")" +
                   std::string(2049 - 70, 'r') + "\"}}"),
       {"SPEC_AWS_POLICY_TOO_LONG"}},
  };
  return cases;
}

TEST(HandoffSpec, Cases) {
  for (const Case& one : check_cases()) {
    SCOPED_TRACE(one.spec.substr(0, 400));
    const Checked checked = check(one.spec, {.now = kNow});
    EXPECT_EQ(codes(checked.diagnostics, Severity::Error), one.errors);
    EXPECT_EQ(codes(checked.diagnostics, Severity::Warning), one.warnings);
    EXPECT_EQ(checked.valid(), one.errors.empty());
    EXPECT_EQ(checked.resolved.has_value(), checked.valid());
    // --strict: the same findings, all of them errors.
    const Checked strict = check(one.spec, {.now = kNow, .strict = true});
    EXPECT_EQ(strict.valid(), one.errors.empty() && one.warnings.empty());
    EXPECT_EQ(strict.diagnostics.size(), checked.diagnostics.size());
  }
}

TEST(HandoffSpec, EveryFaultIsFoundInTheOrderOfTheFields) {
  const std::string spec =
      R"({"zeta":1,"aws_inline_policy":{},"mcp_tools":7,"owner":"-","repo":"/","ttl_hours":0,"ttl_expires_at":"x",)"
      R"("expected_runtime":"x","linked_card":0,"operator_approval":"","surfaces":[],"task_slug":"x","alpha":1})";
  const Codes expected = {"SPEC_TASK_SLUG_FORMAT",
                          "SPEC_SURFACES_EMPTY",
                          "SPEC_APPROVAL_INVALID",
                          "SPEC_LINKED_CARD_RANGE",
                          "SPEC_RUNTIME_FORMAT",
                          "SPEC_TTL_TIMESTAMP",
                          "SPEC_TTL_HOURS_RANGE",
                          "SPEC_REPO_FORMAT",
                          "SPEC_OWNER_FORMAT",
                          "SPEC_FIELD_TYPE",
                          "SPEC_AWS_POLICY_WITHOUT_SURFACE",
                          "SPEC_AWS_POLICY_SHAPE",
                          "SPEC_FIELD_UNKNOWN"};
  const Checked checked = check(spec, {.now = kNow});
  EXPECT_EQ(codes(checked.diagnostics, Severity::Error), expected);
  ASSERT_GE(checked.diagnostics.size(), 2u);
  EXPECT_EQ(checked.diagnostics.rbegin()[1].place.pointer, "/zeta");
  EXPECT_EQ(checked.diagnostics.rbegin()[0].place.pointer, "/alpha");
}

TEST(HandoffSpec, FaultsWithoutEndAreCut) {
  std::string list = "[1";
  for (int i = 0; i < 30'000; ++i) list += ",1";
  const std::string spec = with({{"surfaces", list + "]"}});
  const Checked checked = check(spec, {.now = kNow});
  EXPECT_EQ(checked.diagnostics.size(), 256u);
  EXPECT_FALSE(checked.valid());
}

TEST(HandoffSpec, ProfileDefaultNamesNobodysRepository) {
  const std::string spec = with({{"repo", ""}, {"owner", ""}});
  EXPECT_EQ(check(spec, {.now = kNow}).diagnostics.size(), 2u);
  EXPECT_TRUE(check(spec, {find_profile("raxx"), kNow}).valid());
  EXPECT_EQ(check(good_spec(), {.now = kNow}).resolved.value().secret_path,
            "/baton/handoffs/ledger-export-fix-20261115/");
  EXPECT_EQ(find_profile("other"), nullptr);
}

TEST(HandoffSpec, ResolvesToolsAndTimes) {
  const std::string spec = with({{"mcp_tools", R"(["rm_rf","git_push","stripe_charge","rm_rf","git_log"])"},
                                 {"ttl_hours", "6"},
                                 {"expected_runtime", "\"PT60M\""}});
  const Resolved resolved = check(spec, {.now = kNow}).resolved.value();
  EXPECT_EQ(resolved.expires_at, "2026-11-15T06:00:00Z");
  EXPECT_FALSE(resolved.velvet_enrolled);
  EXPECT_EQ(resolved.mcp_tools_allowed.size(), 9u + 1u);
  EXPECT_TRUE(std::ranges::is_sorted(resolved.mcp_tools_allowed));
  EXPECT_TRUE(std::ranges::is_sorted(resolved.mcp_tools_excluded, {}, &Excluded::tool));
  EXPECT_EQ(resolved.mcp_tools_excluded.size(), 13u + 11u + 1u);
  const auto reason = [&](std::string_view tool) {
    return std::ranges::find(resolved.mcp_tools_excluded, tool, &Excluded::tool)->reason;
  };
  EXPECT_EQ(reason("rm_rf"), "unknown");
  EXPECT_EQ(reason("stripe_charge"), "always_excluded");
  EXPECT_EQ(reason("git_commit"), "not_requested");
}

Code judge_at_end_of_time() {
  const json::Document manifest =
      document(R"({"task_slug":"ledger-export-fix-20261115","linked_card":812,"operator_approval":"Dana 2026-11-14",)"
               R"("expires_at":"9999-12-31T23:59:59Z","surfaces":{}})");
  const std::string spec = good_spec();
  return gate({spec, "ledger-export-fix-20261115", VaultAnswer::found(manifest.root()), {.now = {INT64_MAX}}})
      .value()
      .code;
}

// The clock reading comes from outside too; no reading may overflow.
TEST(HandoffSpec, TimesAtTheEndOfTime) {
  EXPECT_FALSE(check(good_spec(), {.now = {INT64_MIN}}).valid());  // the approval lies ahead
  EXPECT_EQ(check(with({{"ttl_expires_at", "\"9999-12-31T23:59:59Z\""}}), {.now = {INT64_MAX}}).diagnostics.size(),
            1u);  // expired
  EXPECT_EQ(judge_at_end_of_time(), Code::GATE_TTL_EXPIRED);
  EXPECT_TRUE(
      check(with({{"ttl_expires_at", "\"9999-12-31T23:59:59Z\""}}), {.now = at("2262-04-11T00:00:00Z")}).valid());
}

TEST(HandoffSpec, Recognises) {
  const auto looks = [](const std::string& text) { return recognise(document(text).root()); };
  EXPECT_TRUE(looks(R"({"task_slug":7})"));
  EXPECT_TRUE(looks(R"({"surfaces":[],"operator_approval":""})"));
  EXPECT_FALSE(looks(R"({"surfaces":[]})"));
  EXPECT_FALSE(looks("[]"));
}

TEST(HandoffSpec, Globs) {
  EXPECT_TRUE(glob_matches("*", ""));
  EXPECT_TRUE(glob_matches("a*b*c", "a-b-b-c"));
  EXPECT_TRUE(glob_matches("?*?", "ab"));
  EXPECT_FALSE(glob_matches("?*?", "a"));
  EXPECT_FALSE(glob_matches("a*b", "a-c"));
  EXPECT_FALSE(glob_matches("", "a"));
}

// --- the gate, by hand ----------------------------------------------------------------------------------------------

const std::string kSlug = "ledger-export-fix-20261115";

std::string gated_spec() { return with({{"expected_runtime", "\"PT2H\""}, {"ttl_hours", "4"}}); }

std::string good_manifest() {
  return R"({"version":0,"task_slug":"ledger-export-fix-20261115","linked_card":812,"operator_approval":"Dana 2026-11-14",)"
         R"("expires_at":"2026-11-15T04:00:00Z","velvet_enrolled":true,"revoked_at":null,"surfaces":{)"
         R"("github":{"status":"active","identity":"task"},"infisical":{"status":"active","identity":"task"}}})";
}

std::string manifest_with(std::initializer_list<std::pair<std::string_view, std::string>> changes) {
  return with(changes, good_manifest());
}

std::string surfaces(const std::string& github, const std::string& infisical) {
  return R"({"github":)" + github + R"(,"infisical":)" + infisical + "}";
}

struct GateCase {
  std::string code;      // empty: GATE_PASS
  std::string manifest;  // empty: the vault cannot be reached
  std::string spec = gated_spec();
  std::string slug = kSlug;
  std::string now = "2026-11-15T00:00:00Z";
};

std::string judge(const GateCase& one) {
  const json::Document manifest = document(one.manifest.empty() ? "null" : one.manifest);
  const VaultAnswer vault = one.manifest.empty() ? VaultAnswer::unreachable() : VaultAnswer::found(manifest.root());
  const auto refusal = gate({one.spec, one.slug, vault, {.now = at(one.now)}});
  return refusal ? std::string(info(refusal->code).name) : "";
}

const std::vector<GateCase>& gate_cases() {
  static const std::string active = R"({"status":"active","identity":"task"})";
  static const std::string sum = digest(document(gated_spec()).root()).value();
  static const std::vector<GateCase> cases = {
      {"", good_manifest()},
      // 1: the spec, but not its times
      {"GATE_SPEC_INVALID", good_manifest(), "{"},
      {"GATE_SPEC_INVALID", "", with({{"linked_card", "0"}}), "other"},
      {"", good_manifest(), with({{"ttl_expires_at", "\"2026-11-14T00:00:00Z\""}})},
      {"", good_manifest(), with({{"ttl_expires_at", "\"2026-12-14T00:00:00Z\""}})},
      {"", good_manifest(), with({{"ttl_expires_at", "\"2026-11-15T00:10:00Z\""}})},
      {"GATE_SPEC_INVALID", good_manifest(), with({{"ttl_expires_at", "\"soon\""}})},
      // 2, 3, 4
      {"GATE_SLUG_MISMATCH", "", gated_spec(), "ledger-export-fix-20261116"},
      {"GATE_VAULT_UNREACHABLE", ""},
      {"GATE_NOT_PROVISIONED", "null"},
      // 5: shape
      {"GATE_MANIFEST_INVALID", "[]"},
      {"GATE_MANIFEST_INVALID", "\"{}\""},
      {"GATE_MANIFEST_INVALID", "{}"},
      {"GATE_MANIFEST_INVALID", manifest_with({{"task_slug", ""}})},
      {"GATE_MANIFEST_INVALID", manifest_with({{"linked_card", "\"812\""}})},
      {"GATE_MANIFEST_INVALID", manifest_with({{"linked_card", "812.5"}})},
      {"GATE_MANIFEST_INVALID", manifest_with({{"expires_at", ""}})},
      {"GATE_MANIFEST_INVALID", manifest_with({{"expires_at", "\"2026-11-15T04:00:00+01:00\""}})},
      {"GATE_MANIFEST_INVALID", manifest_with({{"operator_approval", "7"}})},
      {"GATE_MANIFEST_INVALID", manifest_with({{"velvet_enrolled", "\"true\""}})},
      {"GATE_MANIFEST_INVALID", manifest_with({{"revoked_at", "\"\""}})},
      {"GATE_MANIFEST_INVALID", manifest_with({{"revoked_at", "false"}})},
      {"GATE_MANIFEST_INVALID", manifest_with({{"surfaces", "[]"}})},
      {"GATE_MANIFEST_INVALID", manifest_with({{"surfaces", surfaces("7", active)}})},
      {"GATE_MANIFEST_INVALID", manifest_with({{"version", "-1"}})},
      {"GATE_MANIFEST_INVALID", manifest_with({{"version", "2"}, {"spec_sha256", quoted(sum)}})},
      {"GATE_MANIFEST_INVALID", manifest_with({{"version", "1"}})},
      {"GATE_MANIFEST_INVALID", manifest_with({{"spec_sha256", "\"abc\""}})},
      // 6: the manifest of this spec
      {"", manifest_with({{"version", ""}})},
      {"", manifest_with({{"version", "1"}, {"spec_sha256", quoted(sum)}})},
      {"", manifest_with({{"version", "1"}, {"spec_sha256", quoted("sha256:" + sum)}})},
      {"", manifest_with({{"spec_sha256", quoted(sum)}}), " " + gated_spec() + "\n"},
      {"GATE_MANIFEST_MISMATCH", manifest_with({{"spec_sha256", quoted(std::string(64, '0'))}})},
      {"GATE_MANIFEST_MISMATCH", manifest_with({{"spec_sha256", quoted(sum)}}),
       with({{"ttl_hours", "5"}}, gated_spec())},
      {"GATE_MANIFEST_MISMATCH", manifest_with({{"task_slug", "\"ledger-export-fix-20261116\""}})},
      {"GATE_MANIFEST_MISMATCH", manifest_with({{"linked_card", "813"}})},
      {"", manifest_with({{"linked_card", "812.0"}})},
      // 7: revoked, also half way, and before it expired
      {"GATE_REVOKED", manifest_with({{"revoked_at", "\"2026-11-14T23:00:00Z\""}, {"operator_approval", ""}})},
      {"GATE_REVOKED", manifest_with({{"status", "\"revoking\""}})},
      {"GATE_REVOKED", manifest_with({{"revoke_pending", "true"}})},
      {"", manifest_with({{"status", "\"active\""}, {"revoke_pending", "false"}})},
      // 8, 9
      {"GATE_APPROVAL_MISSING", manifest_with({{"operator_approval", ""}})},
      {"GATE_APPROVAL_MISSING", manifest_with({{"operator_approval", "null"}})},
      {"GATE_APPROVAL_MISSING", manifest_with({{"operator_approval", "\"Dana 2026-11-13\""}}), gated_spec(), kSlug,
       "2026-11-15T05:00:00Z"},
      {"GATE_TTL_EXPIRED", good_manifest(), gated_spec(), kSlug, "2026-11-15T04:00:00Z"},
      {"GATE_TTL_EXPIRED", manifest_with({{"surfaces", "{}"}}), gated_spec(), kSlug, "2026-11-16T04:00:00Z"},
      // 10, 11, 12
      {"GATE_SURFACE_MISSING", manifest_with({{"surfaces", R"({"github":{"status":"partial"}})"}})},
      {"GATE_SURFACE_MISSING", manifest_with({{"surfaces", "{}"}})},
      {"GATE_SURFACE_INACTIVE", manifest_with({{"surfaces", surfaces(R"({"status":"active","identity":"admin"})",
                                                                     R"({"status":"revoked","identity":"task"})")}})},
      {"GATE_SURFACE_INACTIVE", manifest_with({{"surfaces", surfaces(active, R"({"identity":"task"})")}})},
      {"GATE_BLANKET_IDENTITY",
       manifest_with({{"surfaces", surfaces(R"({"status":"active","identity":"operator"})", active)},
                      {"velvet_enrolled", "false"}})},
      {"GATE_BLANKET_IDENTITY", manifest_with({{"surfaces", surfaces(R"({"status":"active"})", active)}})},
      // 13: two hours of work; an hour needs no enrolment
      {"GATE_VELVET_NOT_ENROLLED", manifest_with({{"velvet_enrolled", "false"}}), gated_spec(), kSlug,
       "2026-11-15T03:00:00Z"},
      {"GATE_VELVET_NOT_ENROLLED", manifest_with({{"velvet_enrolled", ""}})},
      {"", manifest_with({{"velvet_enrolled", "false"}}), good_spec()},
      // 14: two hours less the grace of fifteen minutes, to the second
      {"", good_manifest(), gated_spec(), kSlug, "2026-11-15T02:15:00Z"},
      {"GATE_TTL_TOO_SHORT", good_manifest(), gated_spec(), kSlug, "2026-11-15T02:15:01Z"},
  };
  return cases;
}

TEST(HandoffSpec, GateCases) {
  for (const GateCase& one : gate_cases()) {
    SCOPED_TRACE(one.manifest + "\n" + one.spec + "\n" + one.now);
    EXPECT_EQ(judge(one), one.code);
  }
}

TEST(HandoffSpec, GateSaysWhere) {
  const json::Document manifest = document(manifest_with({{"surfaces", surfaces(R"({"status":"partial"})", "{}")}}));
  const auto refusal = gate({gated_spec(), kSlug, VaultAnswer::found(manifest.root()), {.now = kNow}});
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->place.pointer, "/surfaces/github/status");
}

TEST(HandoffSpec, EveryCodeHasACase) {
  std::set<std::string_view> produced;
  for (const Case& one : check_cases()) {
    produced.insert(one.errors.begin(), one.errors.end());
    produced.insert(one.warnings.begin(), one.warnings.end());
  }
  for (const GateCase& one : gate_cases()) produced.insert(one.code);
  for (const CodeInfo& row : catalogue())
    if (row.name.starts_with("SPEC_") || row.name.starts_with("GATE_")) {
      EXPECT_TRUE(produced.contains(row.name)) << row.name;
    }
}

// --- the one Handoff ------------------------------------------------------------------------------------------------

TEST(HandoffSpec, GoesThroughTheHandoffUnchanged) {
  const std::string text =
      with({{"surfaces", R"(["aws","github"])"},
            {"expected_runtime", "\"PT4H\""},
            {"ttl_expires_at", "\"2026-11-15T04:00:00Z\""},
            {"ttl_hours", "4.0"},
            {"mcp_tools", R"(["git_push"])"},
            {"aws_inline_policy", R"({"Statement":{"Effect":"Deny","Action":"*","Resource":"*"}})"},
            {"a/b~c", "[1,{}]"}});
  const json::Document parsed = document(text);
  const Handoff handoff = to_handoff(parsed.root(), text);
  EXPECT_EQ(handoff.dialect, Dialect::HandoffSpec);
  EXPECT_EQ(handoff.mode, Mode::Grant);
  EXPECT_EQ(handoff.outcome, Outcome::Offered);
  EXPECT_EQ(handoff.text(Field::work_id), kSlug);
  EXPECT_EQ(handoff.text(Field::approval), "Dana 2026-11-14");
  EXPECT_EQ(handoff.text(Field::expires_at), "2026-11-15T04:00:00Z");
  EXPECT_EQ(handoff.other.size(), 1u);
  const json::Document back = document(json::write(from_handoff(handoff)));
  EXPECT_EQ(json::canonical(back.root(), json::Numbers::Exact).value(),
            json::canonical(parsed.root(), json::Numbers::Exact).value());
}

}  // namespace
}  // namespace baton::handoff_spec
