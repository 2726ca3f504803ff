// SPDX-License-Identifier: Apache-2.0
// Runs the case files of contracts/ and the published scenarios in vectors/scenarios/.
#include "contract/scenario.h"
#include "contract_world.h"

namespace baton::contract {
namespace {

void expect_all_pass(const std::filesystem::path& path) {
  const ScenarioReport report = judge_scenario(read_file(path), path.stem().string());
  EXPECT_TRUE(report.is_readable()) << path << "\n" << shown(report.findings);
  EXPECT_EQ(report.body, Body::Cases) << path;
  EXPECT_FALSE(report.entries.empty()) << path;
  for (const Judged& entry : report.entries)
    EXPECT_TRUE(entry.passed) << path.filename() << ":" << entry.place.line << ": case " << entry.number
                              << "\n  expected " << entry.expected << "\n  got      " << entry.got << "\n  "
                              << entry.why;
}

TEST(Cases, OfThisFolder) {
  for (const auto& path : yaml_files(tests_folder() / "contracts")) expect_all_pass(path);
}

// The published scenarios: `cases` are judged; the packs of `run` and `events` compile, for a body whose pack does not
// fails as a whole.
TEST(Cases, PublishedScenarios) {
  std::size_t cases = 0, runs = 0, events = 0;
  for (const auto& path : yaml_files(tests_folder() / "vectors" / "scenarios")) {
    const CompiledScenario compiled = compile_scenario(read_file(path), path.stem().string());
    EXPECT_FALSE(has_errors(compiled.findings)) << path << "\n" << shown(compiled.findings);
    switch (compiled.body) {
      case Body::Cases:
        ++cases;
        expect_all_pass(path);
        break;
      case Body::Run:
        ++runs;
        EXPECT_TRUE(compiled.plan && !compiled.workflow) << path;
        break;
      case Body::Events:
        ++events;
        EXPECT_TRUE(compiled.workflow && !compiled.plan) << path;
        break;
      case Body::None: ADD_FAILURE() << path << " has no body";
    }
  }
  EXPECT_EQ(cases, 5u);
  EXPECT_EQ(events, 3u);
  EXPECT_EQ(runs, 41u);
}

TEST(Cases, AScenarioWhosePackDoesNotCompileHasNoPlan) {
  const SourceFile run{"a.yaml", "scenario: a\ncontracts: [{tool: t, gate: ajar}]\nrun: []\n"};
  const CompiledScenario compiled = compile_scenario(run, "a");
  EXPECT_EQ(compiled.body, Body::Run);
  EXPECT_FALSE(compiled.plan);
  EXPECT_EQ(codes_of(compiled.findings), std::vector<std::string>{"FIELD_ENUM"});

  const SourceFile events{"a.yaml",
                          "scenario: a\nworkflow: {roles: [{name: r, session_contract: s}]}\n"
                          "packs: {r: {session: {risk_defaults: {read: ask}}}}\nevents: []\n"};
  EXPECT_FALSE(compile_scenario(events, "a").workflow);
  EXPECT_EQ(codes_of(compile_scenario(events, "a").findings), std::vector<std::string>{"FIELD_ENUM"});
}

// A session that asks who the principal is does not begin without one.
TEST(Cases, ARunWithoutAPrincipalIsOneWithoutAPrincipal) {
  const std::string text =
      "scenario: a\nsession: {policy: {rules: [{deny: {principal: {path: $.a, equals: 1}}}]}}\nrun: []\n";
  EXPECT_EQ(codes_of(compile_scenario({"a.yaml", text}, "a").findings), std::vector<std::string>{"PRINCIPAL_REQUIRED"});
  EXPECT_TRUE(compile_scenario({"a.yaml", text + "principal: {a: 2}\n"}, "a").plan);
}

TEST(Cases, DefaultsReplaceTheBoilerplateOfEveryContract) {
  const CompiledScenario compiled =
      compile_scenario({"a.yaml",
                        "scenario: a\ndefaults: {side_effect: write, gate: allow}\n"
                        "contracts: [{tool: t}, {tool: u, side_effect: admin}]\nrun: []\n"},
                       "a");
  ASSERT_TRUE(compiled.plan) << shown(compiled.findings);
  EXPECT_EQ(compiled.plan->tools[0].side_effect, SideEffect::Write);
  EXPECT_EQ(compiled.plan->tools[1].side_effect, SideEffect::Admin);
  EXPECT_EQ(compiled.plan->tools[1].gate, Gate::Allow);
}

struct BadFile {
  std::string_view text, code;
};
TEST(Cases, AFileThatIsNoScenarioIsNotJudged) {
  const BadFile kBad[] = {{"scenario: a\n", "SCENARIO_FILE"},
                          {"scenario: a\ncases: []\nrun: []\n", "SCENARIO_FILE"},
                          {"scenario: b\ncases: []\n", "SCENARIO_FILE"},
                          {"cases: []\n", "FIELD_REQUIRED"},
                          {"scenario: a\ncases: []\nfoo: 1\n", "UNKNOWN_FIELD"},
                          {"scenario: a\ncases: [{code: OK, expects: 1}]\n", "UNKNOWN_FIELD"},
                          {"scenario: a\ncases: [{contract: {tool: t}}]\n", "FIELD_REQUIRED"},
                          {"scenario: a\ncases: [{code: OK, severity: bad}]\n", "FIELD_ENUM"},
                          {"scenario: a\nmode: dry\nrun: []\n", "FIELD_ENUM"},
                          {"scenario: a\ngate: none\nrun: []\n", "FIELD_ENUM"},
                          {"[]", "FIELD_TYPE"},
                          {"scenario: [a", "YAML_SYNTAX"}};
  for (const BadFile& bad : kBad) {
    const ScenarioReport report = judge_scenario({"a.yaml", std::string(bad.text)}, "a");
    EXPECT_FALSE(report.is_readable()) << bad.text;
    EXPECT_TRUE(report.entries.empty()) << bad.text;
    EXPECT_TRUE(code_set(report.findings).contains(std::string(bad.code))) << bad.text << "\n"
                                                                           << shown(report.findings);
    EXPECT_TRUE(scenario_packs({"a.yaml", std::string(bad.text)}).empty() || bad.text == "scenario: b\ncases: []\n");
  }
  EXPECT_TRUE(judge_scenario({"a.yaml", "scenario: a\ncases: []\n"}, "a").is_readable());
}

// The judge itself: a case that is wrong is said to be, in words.
TEST(Cases, ADifferenceIsSaid) {
  const BadFile kWrong[] = {
      {"{contract: {tool: t}, code: FIELD_ENUM}", "FIELD_ENUM"},
      {"{contract: {tool: t, gate: ajar}, code: OK}", "no error"},
      {"{contract: {tool: t, gate: ajar}, code: FIELD_ENUM, codes: []}", "exactly the errors nothing"},
      {"{contract: {tool: t, gate: block}, code: 'graph:dead_tool', severity: error}", "graph:dead_tool as error"},
      {"{contract: {tool: t, gate: block}, code: dead_tool}", "dead_tool"}};
  for (const BadFile& wrong : kWrong) {
    const ScenarioReport report =
        judge_scenario({"a.yaml", "scenario: a\ncases:\n  - " + std::string(wrong.text) + "\n"}, "a");
    ASSERT_TRUE(report.is_readable()) << shown(report.findings);
    EXPECT_FALSE(report.passed()) << wrong.text;
    EXPECT_EQ(report.entries.at(0).expected, wrong.code);
    EXPECT_EQ(report.entries.at(0).place.line, 3u);
  }
}

}  // namespace
}  // namespace baton::contract
