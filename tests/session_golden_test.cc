// SPDX-License-Identifier: Apache-2.0
// Golden cases: both shapes, what a case seeds its session with, and what is said of one that differs.
#include "session/golden.h"

#include "session_world.h"

namespace baton::session {
namespace {

using Outcome = GoldenReport::Outcome;

// A pack of three tools; `cases` are the golden cases of `pay`.
std::vector<GoldenReport> judged(const std::string& cases, const std::map<std::string, std::string>& files = {},
                                 const std::string& only = {}, const std::string& session = "") {
  contract::PackSource source;
  source.contracts.push_back(contract::tool_file("check", "binds: [{name: max, source: output, path: $.max}]\n"));
  source.contracts.push_back(contract::tool_file("go", "transitions: {advances_to: b}\n"));
  contract::SourceFile pay =
      contract::tool_file("pay",
                          "gate: allow\n"
                          "transitions: {valid_in_phases: [b]}\n"
                          "preconditions: [{requires_prior_tool: check, resource: {bind_from: arguments, path: $.id}, "
                          "with_output: [{path: $.ok, equals: true}]}]\n"
                          "argument_value_invariants: [{path: $.n, ref: max}]\n"
                          "checkpoint: {when: [{path: $.n, gte: 100}], timeout_seconds: 60}\n",
                          "write");
  const auto edit = [&](const std::string& from, const std::string& to) {
    pay.text.replace(pay.text.find(from), from.size(), to);
  };
  edit("golden_cases: []\n", cases.empty() ? "golden_cases: []\n" : "golden_cases:\n" + cases);
  edit("output_invariants: []", "output_invariants: [{path: $.no, type: integer}]");
  source.contracts.push_back(std::move(pay));
  source.session = contract::session_file(
      "phases: [{name: a, initial: true}, {name: b, terminal: true}]\ntransitions: {a: [b]}\n" + session);
  source.golden = files;
  return judge_golden(*make_rules(contract::plan_of(source)), files, only);
}

const std::string kChecked = "history: [{tool: check, arguments: {id: 1}, output: {ok: true, max: 5}}, {tool: go}], ";

// One inline case; what it got.
GoldenReport inline_case(const std::string& given, const std::string& expect, const std::string& session = "") {
  const auto reports = judged("  - {id: one, " + given + ", expect: {" + expect + "}}\n", {}, {}, session);
  EXPECT_EQ(reports.size(), 1u);
  return reports.at(0);
}

TEST(Golden, IsSeededWithItsHistory) {
  const GoldenReport good = inline_case(kChecked + "arguments: {id: 1, n: 5}", "verdict: allow");
  EXPECT_EQ(good.outcome, Outcome::AsExpected) << good.got << good.because;
  const GoldenReport other = inline_case(kChecked + "arguments: {id: 2, n: 5}", "verdict: allow");
  EXPECT_EQ(other.outcome, Outcome::Differs);
  EXPECT_EQ(other.expected, "allow");
  EXPECT_EQ(other.got, "block:precondition_not_met");
  EXPECT_NE(other.because.find("for the same $.id"), std::string::npos) << other.because;
}

TEST(Golden, BindingsAndPhaseReplaceWhatTheHistoryLeft) {
  EXPECT_EQ(inline_case(kChecked + "bindings: {max: 7}, arguments: {id: 1, n: 7}", "verdict: allow").got, "allow");
  EXPECT_EQ(inline_case(kChecked + "bindings: {max: null}, arguments: {id: 1, n: 5}", "verdict: allow").got,
            "block:binding_unbound");
  EXPECT_EQ(inline_case(kChecked + "phase: a, arguments: {id: 1, n: 5}", "verdict: allow").got, "block:wrong_phase");
}

TEST(Golden, LabelsAndPrincipalAreThoseOfTheCase) {
  const std::string session =
      "policy: {rules: [{deny: {principal: {path: $.role, equals: guest}}}], "
      "label_gates: [{when_label: hot, deny_tools: [pay], reason: hot}]}\n";
  const std::string call = kChecked + "arguments: {id: 1, n: 5}, ";
  EXPECT_EQ(inline_case(call + "principal: {role: clerk}", "verdict: allow", session).got, "allow");
  EXPECT_EQ(inline_case(call + "principal: {role: guest}", "verdict: allow", session).got, "block:policy_denied");
  EXPECT_EQ(inline_case(call + "principal: {role: clerk}, labels: [hot]", "verdict: allow", session).got,
            "block:label_denied");
  const GoldenReport nobody = inline_case(call + "labels: []", "verdict: allow", session);
  EXPECT_EQ(nobody.outcome, Outcome::Differs);
  EXPECT_EQ(nobody.got, "no decision");
  EXPECT_NE(nobody.because.find("PRINCIPAL_REQUIRED"), std::string::npos) << nobody.because;
}

TEST(Golden, WithAnOutputTheCallIsSettledToo) {
  const std::string call = kChecked + "arguments: {id: 1, n: 5}, ";
  EXPECT_EQ(inline_case(call + "output: {no: 1}", "verdict: allow").outcome, Outcome::AsExpected);
  const GoldenReport wrong = inline_case(call + "output: {no: x}", "verdict: allow");
  EXPECT_EQ(wrong.outcome, Outcome::Differs);
  EXPECT_EQ(wrong.got, "allow, then failed:output_assertion_failed");
  EXPECT_EQ(inline_case(call + "output: {no: x}", "verdict: allow, reason: output_assertion_failed").outcome,
            Outcome::AsExpected);
  EXPECT_EQ(inline_case(call + "output: text", "verdict: allow, reason: evidence_insufficient").outcome,
            Outcome::AsExpected);
  EXPECT_EQ(inline_case(call + "output: '{\"no\": 2}'", "verdict: allow").outcome, Outcome::AsExpected);
  EXPECT_EQ(inline_case(call + "labels: []", "verdict: allow, reason: evidence_insufficient").outcome, Outcome::Differs)
      << "nothing was settled";
}

TEST(Golden, VerdictAndReasonMustBothBeRight) {
  const std::string large = kChecked + "bindings: {max: 100}, arguments: {id: 1, n: 100}";
  EXPECT_EQ(inline_case(large, "verdict: checkpoint").outcome, Outcome::AsExpected);
  EXPECT_EQ(inline_case(large, "verdict: allow").outcome, Outcome::Differs);
  EXPECT_EQ(inline_case("arguments: {}", "verdict: block, reason: wrong_phase").outcome, Outcome::AsExpected);
  EXPECT_EQ(inline_case("arguments: {}", "verdict: block, reason: precondition_not_met").outcome, Outcome::Differs)
      << "it fails too, but not first";
  EXPECT_EQ(inline_case("arguments: {}", "verdict: block").outcome, Outcome::AsExpected) << "for whatever reason";
  EXPECT_EQ(inline_case("arguments: []", "verdict: block, reason: arguments_malformed").outcome, Outcome::AsExpected);
}

TEST(Golden, InAFileOfItsOwn) {
  const std::map<std::string, std::string> files = {
      {"golden/good.json",
       R"({"history":[{"tool":"check","arguments":{"id":1},"output":{"ok":true,"max":5}}],"phase":"b","arguments":{"id":1,"n":5}})"},
      {"golden/early.json", R"({"arguments":{"id":1,"n":5}})"},
      {"golden/large.json",
       R"({"history":[{"tool":"check","arguments":{"id":1},"output":{"ok":true,"max":500}}],"phase":"b","arguments":{"id":1,"n":500}})"}};
  const auto reports = judged(
      "  - {id: good, input_ref: golden/good.json, expect_ok: true}\n"
      "  - {id: early, input_ref: golden/early.json, expect_ok: false, expected_error: wrong_phase}\n"
      "  - {id: not_ok, input_ref: golden/early.json, expect_ok: true}\n"
      "  - {id: other_error, input_ref: golden/early.json, expect_ok: false, expected_error: binding_unbound}\n"
      "  - {id: is_ok, input_ref: golden/good.json, expect_ok: false, expected_error: wrong_phase}\n"
      "  - {id: waits, input_ref: golden/large.json, expect_ok: true}\n",
      files);
  ASSERT_EQ(reports.size(), 6u);
  EXPECT_EQ(reports[0].outcome, Outcome::AsExpected) << reports[0].got;
  EXPECT_EQ(reports[1].outcome, Outcome::AsExpected) << reports[1].got;
  EXPECT_EQ(reports[1].expected, "refused with wrong_phase");
  for (std::size_t i = 2; i < 6; ++i) EXPECT_EQ(reports[i].outcome, Outcome::Differs) << reports[i].id;
  EXPECT_EQ(reports[5].got, "checkpoint") << "a call that waits does not go ahead";
  EXPECT_EQ(reports[1].input_ref, "golden/early.json");
  EXPECT_EQ(reports[1].file, "pay.yaml");
  EXPECT_EQ(reports[1].line, reports[0].line + 1);
}

TEST(Golden, ForLiveRunsOnlyIsSkipped) {
  const auto reports = judged(
      "  - {id: live, arguments: {}, provider_modes: [live], expect: {verdict: allow}}\n"
      "  - {id: both, arguments: {}, provider_modes: [live, recorded], expect: {verdict: block}}\n");
  EXPECT_EQ(reports.at(0).outcome, Outcome::Skipped);
  EXPECT_EQ(reports.at(1).outcome, Outcome::AsExpected);
}

TEST(Golden, OnlyThoseThatAreAskedFor) {
  const std::string cases =
      "  - {id: one, arguments: {}, expect: {verdict: block}}\n  - {id: two, arguments: {}, expect: {verdict: "
      "block}}\n";
  EXPECT_EQ(judged(cases).size(), 2u);
  ASSERT_EQ(judged(cases, {}, "two").size(), 1u);
  EXPECT_EQ(judged(cases, {}, "two")[0].id, "two");
  EXPECT_EQ(judged(cases, {}, "pay/one").size(), 1u);
  EXPECT_TRUE(judged(cases, {}, "check/one").empty());
}

}  // namespace
}  // namespace baton::session
