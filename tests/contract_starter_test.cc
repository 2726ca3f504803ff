// SPDX-License-Identifier: Apache-2.0
// Packs to start from: they compile, and what is guessed is never the milder of two.
#include "contract/starter.h"

#include <set>

#include "contract/graph.h"
#include "contract_pack.h"
#include "json/parse.h"
#include "yaml/yaml.h"

namespace baton::contract {
namespace {

Files files_of(const Starter& starter) {
  Files out;
  for (const StarterFile& file : starter.files) out[file.name] = file.text;
  return out;
}

TEST(ContractStarter, TheExampleCompilesWithoutARemark) {
  const Files files = files_of(starter_pack("my-agent"));
  const Compiled compiled = compile(source_of(files), {.strict = true});
  for (const Finding& finding : compiled.findings) ADD_FAILURE() << finding.file << ": " << finding.diagnostic.message;
  ASSERT_TRUE(compiled.plan);
  EXPECT_EQ(compiled.plan->agent, "my-agent");
  EXPECT_EQ(compiled.plan->tools.size(), 3u);
  for (const Finding& finding : analyse(*compiled.plan).findings)
    ADD_FAILURE() << finding.file << ": " << finding.diagnostic.message;
  // Every file says what is to be decided, or why nothing is.
  for (const auto& [name, text] : files) EXPECT_TRUE(text.starts_with("# ")) << name;
}

TEST(ContractStarter, AnyTextComesBackFromYaml) {
  for (const std::string_view text : {"no", "on", "1", "~", "", " ", "null", "a: b", "# c", "\"q\" \\ 'r'", "*x", "&y",
                                      "!t", "line\nbreak\t\x01", "ümlaut 漢", "@`%", "\xe2\x80\xa8", "\x7f"}) {
    const yaml::Parsed parsed = yaml::parse("value: " + yaml_quoted(text) + " # remark\n");
    ASSERT_TRUE(parsed.document) << text;
    ASSERT_TRUE(parsed.document->root()["value"].is_string()) << text;
    EXPECT_EQ(parsed.document->root()["value"].string(), text);
  }
}

struct GuessCase {
  std::string name, hints;
  SideEffect effect;
};

TEST(ContractStarter, GuessesAreNeverTheMilderOfTwo) {
  const GuessCase cases[] = {
      {"get_refund", "{}", SideEffect::Read},        // what is read is no matter
      {"issueRefund", "{}", SideEffect::Financial},  // words by their capitals
      {"github.delete-branch", "{}", SideEffect::Destructive},
      {"grant_role", "{}", SideEffect::Admin},
      {"create_note", "{}", SideEffect::Write},
      {"create_payment", "{}", SideEffect::Financial},  // the gravest word
      {"frobnicate", "{}", SideEffect::Write},          // nothing to go by
      {"frobnicate", R"({"readOnlyHint":true})", SideEffect::Read},
      {"frobnicate", R"({"readOnlyHint":false})", SideEffect::Destructive},  // MCP's default of destructiveHint
      {"frobnicate", R"({"readOnlyHint":false,"destructiveHint":false})", SideEffect::Write},
      {"frobnicate", R"({"destructiveHint":true})", SideEffect::Destructive},
      {"delete_all", R"({"readOnlyHint":true})",
       SideEffect::Destructive},  // a hint is only the word of who wrote the tool
      {"get_all", R"({"destructiveHint":true})", SideEffect::Destructive},
      {"frobnicate", R"({"readOnlyHint":true,"destructiveHint":true})", SideEffect::Destructive},
      {"list_users", R"("none")", SideEffect::Read},
  };
  for (const GuessCase& one : cases) {
    const auto hints = json::parse_owned(one.hints);
    ASSERT_TRUE(hints);
    const Guess guess = guess_side_effect(one.name, hints->root());
    EXPECT_EQ(name_of(guess.side_effect), name_of(one.effect)) << one.name << " " << one.hints << ": " << guess.because;
    EXPECT_FALSE(guess.because.empty());
  }
}

struct FromTools {
  Starter starter;
  std::vector<Finding> findings;
};
FromTools from_tools(std::string_view text) {
  const auto document = json::parse_owned(std::string(text));
  EXPECT_TRUE(document);
  Findings findings;
  Starter starter = starter_from_tools(findings, "agent", document->root());
  return {std::move(starter), findings.list()};
}

const std::string_view kForms[] = {
    R"json({"jsonrpc":"2.0","id":1,"result":{"tools":[
       {"name":"no","description":"line\nbreak: # x","inputSchema":{"type":"object","properties":{"n":{"minimum":1,"pattern":"(?=x)"}}}},
       {"name":"1"},{"name":"on","annotations":{"readOnlyHint":true}},
       {"name":"delete.all.now","annotations":{"idempotentHint":true}},
       {"name":"save","annotations":{"readOnlyHint":false,"destructiveHint":false,"idempotentHint":true,"openWorldHint":true},
        "outputSchema":{"type":"object"}}]}})json",
    R"json([{"type":"function","function":{"name":"no","parameters":{"type":"object"}}},{"type":"function","name":"1","parameters":{}}])json",
    R"json({"tools":[{"name":"no","input_schema":{"type":"object"}},{"name":"~weird","input_schema":{}}]})json"};

TEST(ContractStarter, EveryFormOfDefinitionsGivesAPackThatCompiles) {
  for (const std::string_view form : kForms) {
    const FromTools made = from_tools(form);
    const auto plan = plan_of(files_of(made.starter));
    ASSERT_FALSE(plan->tools.empty()) << form;
    EXPECT_TRUE(plan->find_tool("no")) << form;
    // What is not known to read stays blocked.
    for (const Tool& tool : plan->tools) EXPECT_EQ(tool.passes_gate, tool.side_effect == SideEffect::Read) << tool.name;
    for (const StarterFile& file : made.starter.files)
      if (file.name.ends_with(".yaml") && file.name != "session.yaml") {
        EXPECT_NE(file.text.find("# REVIEW: guessed from "), std::string::npos) << file.name;
      }
  }
}

TEST(ContractStarter, HintsBecomeFieldsWhereThatIsSafe) {
  const auto plan = plan_of(files_of(from_tools(kForms[0]).starter));
  const Tool &save = plan->tools[*plan->find_tool("save")], &wipe = plan->tools[*plan->find_tool("delete.all.now")];
  EXPECT_EQ(save.evidence, Evidence::LocalTransaction);  // it has an output schema
  EXPECT_EQ(save.retries.max_attempts, 3);               // idempotentHint
  EXPECT_EQ(save.total_ms, 60'000);                      // openWorldHint
  EXPECT_EQ(wipe.side_effect, SideEffect::Destructive);
  EXPECT_EQ(wipe.retries.max_attempts, 1);  // not tried again, whatever it says of itself
  EXPECT_EQ(wipe.evidence, Evidence::Unverifiable);
}

TEST(ContractStarter, NamesThatAreNoFilesAreSkippedAndSaid) {
  const FromTools made = from_tools(
      R"([{"name":"good"},{"name":"../x"},{"name":"a b"},{"name":""},{"name":"session"},{"name":"Workflow"},{"name":".hidden"},{"name":"GOOD"}])");
  std::set<std::string> names;
  for (const StarterFile& file : made.starter.files) names.insert(file.name);
  EXPECT_EQ(names, (std::set<std::string>{"good.yaml", "session.yaml", "tools.json"}));
  EXPECT_EQ(made.starter.skipped.size(), 7u);
  plan_of(files_of(made.starter));  // compiles
}

struct PermissionCase {
  std::string name, hints;
  bool is_kept;
};

// A server chooses the names and the hints in its list.
TEST(ContractStarter, NamesThatWouldPermitSomethingElseAreSkipped) {
  const PermissionCase cases[] = {
      {"server:sampling", R"({"readOnlyHint":true})", false},  // an operation
      {"server:request", R"({"readOnlyHint":true})", false},
      {"server:unheard", R"({"readOnlyHint":true})", false},
      {"files:look", R"({"readOnlyHint":true})", false},  // a tool of another server
      {":look", R"({"readOnlyHint":true})", false},
      {"look:", R"({"readOnlyHint":true})", false},
      {"delete.all:now", "{}", false},  // whatever it is guessed to do
      {"Bash", R"({"readOnlyHint":true})", false},
      {"Bash", R"({"destructiveHint":true})", false},
      {"Read", R"({"readOnlyHint":true})", false},
      {"WebFetch", "{}", false},
      {"replace", R"({"readOnlyHint":true})", false},  // Gemini CLI's tool that edits files
      {"replace", "{}", true},                         // blocked until somebody decides
      {"bash", R"({"readOnlyHint":true})", false},
      {"spawn_agent", R"({"readOnlyHint":true})", false},  // Codex'
      {"web_fetch", "{}", false},                          // reads, by its name
      {"read_file", "{}", true},                           // Gemini CLI's reads as well
      {"write_file", R"({"readOnlyHint":true})", true},    // its name says that it writes: blocked
      {"look", R"({"readOnlyHint":true})", true},
  };
  for (const PermissionCase& one : cases) {
    const FromTools made =
        from_tools(R"({"tools":[{"name":"other"},{"name":")" + one.name + R"(","annotations":)" + one.hints + "}]}");
    const std::string shown = one.name + " " + one.hints;
    const Files files = files_of(made.starter);
    EXPECT_EQ(files.contains(one.name + ".yaml"), one.is_kept) << shown;
    EXPECT_EQ(made.starter.skipped.empty(), one.is_kept) << shown;
    const auto plan = plan_of(files);
    EXPECT_EQ(plan->find_tool(one.name).has_value(), one.is_kept) << shown;
    for (const std::string& skipped : made.starter.skipped) {
      EXPECT_NE(skipped.find("`" + one.name + "`: "), std::string::npos) << skipped;
      EXPECT_NE(skipped.find("write the contract `SERVER:" + one.name + "` yourself"), std::string::npos) << skipped;
    }
  }
}

TEST(ContractStarter, WhatIsNoDefinitionIsReportedAndDoesNotGetIntoThePack) {
  const FromTools made = from_tools(R"([{"name":"good"},5,{"name":"good"}])");
  EXPECT_EQ(made.findings.size(), 2u);
  EXPECT_EQ(plan_of(files_of(made.starter))->tools.size(), 1u);
}

}  // namespace
}  // namespace baton::contract
