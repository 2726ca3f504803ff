// SPDX-License-Identifier: Apache-2.0
// The session engine: every scenario with a `run` body (the published ones in vectors/scenarios/, ours in scenarios/) through the
// pure engine, and again with its state written and read before each question; and what no scenario can say.
#include "json/parse.h"
#include "session/scenario.h"
#include "session/shown.h"
#include "session_world.h"

namespace baton::session {
namespace {

// --- scenarios ----------------------------------------------------------------------------------------------------------------------

std::vector<std::filesystem::path> run_scenarios() {
  std::vector<std::filesystem::path> out;
  for (const char* folder : {"vectors/scenarios", "scenarios"})
    for (const auto& path : contract::yaml_files(contract::tests_folder() / folder))
      if (contract::compile_scenario(contract::read_file(path), path.stem().string()).body == contract::Body::Run)
        out.push_back(path);
  return out;
}

void expect_all_pass(const std::filesystem::path& path, const MakeDoor& make) {
  const contract::ScenarioReport report = judge_run(contract::read_file(path), path.stem().string(), make);
  EXPECT_TRUE(report.is_readable()) << contract::shown(report.findings);
  EXPECT_FALSE(report.entries.empty());
  for (const contract::Judged& entry : report.entries)
    EXPECT_TRUE(entry.passed) << path.filename() << ":" << entry.place.line << ": entry " << entry.number
                              << "\n  expected " << entry.expected << "\n  got      " << entry.got << "\n  "
                              << entry.why;
}

// The engine, which forgets everything but the text of its state before and after each question.
class ReloadingDoor : public Door {
 public:
  ReloadingDoor(std::shared_ptr<const Rules> rules, State state)
      : rules_(std::move(rules)), inner_(rules_, std::move(state), nullptr, EngineDoor::Arguments::OfHost) {}

  json::Value propose(const json::Value& step) override {
    return ask([&] { return inner_.propose(step); });
  }
  json::Value preflight(const json::Value& asked) override {
    return ask([&] { return inner_.preflight(asked); });
  }
  json::Value rule(const std::string& call_id, Ruling ruling) override {
    return ask([&] { return inner_.rule(call_id, ruling); });
  }
  json::Value start(const std::string& call_id, const json::Value* arguments) override {
    return ask([&] { return inner_.start(call_id, arguments); });
  }
  json::Value settle(const std::string& call_id, const json::Value& receipt) override {
    return ask([&] { return inner_.settle(call_id, receipt); });
  }
  json::Value add_label(const std::string& label) override {
    return ask([&] { return inner_.add_label(label); });
  }
  json::Value report_cost(const json::Value& cost) override {
    return ask([&] { return inner_.report_cost(cost); });
  }
  json::Value kill() override {
    return ask([&] { return inner_.kill(); });
  }
  json::Value close() override {
    return ask([&] { return inner_.close(); });
  }
  json::Value view() override {
    return ask([&] { return inner_.view(); });
  }

 private:
  template <class Question>
  json::Value ask(const Question& question) {
    reload();
    json::Value answer = question();
    reload();
    return answer;
  }

  void reload() {
    inner_ = EngineDoor(rules_, reread(*rules_, inner_.state()), nullptr, EngineDoor::Arguments::OfHost);
  }

  std::shared_ptr<const Rules> rules_;
  EngineDoor inner_;
};

std::unique_ptr<Door> reloading_door(const ScenarioSession& opened) {
  const std::unique_ptr<Door> fresh = engine_door(opened);
  return std::make_unique<ReloadingDoor>(make_rules(opened.plan), dynamic_cast<EngineDoor&>(*fresh).state());
}

class Scenario : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(Scenario, IsDecidedAsItSays) { expect_all_pass(GetParam(), engine_door); }
TEST_P(Scenario, IsDecidedTheSameOnTheWrittenState) { expect_all_pass(GetParam(), reloading_door); }

INSTANTIATE_TEST_SUITE_P(Run, Scenario, testing::ValuesIn(run_scenarios()),
                         [](const auto& path) { return path.param.stem().string(); });

// The parametrised tests are only as many as were found.
TEST(Scenarios, AreAllThere) {
  std::size_t published = 0, own = 0;
  for (const auto& path : run_scenarios())
    ++(path.parent_path().parent_path().filename() == "vectors" ? published : own);
  EXPECT_EQ(published, 41u);
  EXPECT_GE(own, 59u);
}

TEST(Scenarios, SayWhereTheyDiffer) {
  const contract::SourceFile file{"a.yaml",
                                  "scenario: a\ncontracts: [{tool: t}]\nrun:\n"
                                  "  - {call: t, expect: allow}\n"
                                  "  - {call: t, expect: checkpoint, paused: true, why: because}\n"};
  const contract::ScenarioReport report = judge_run(file, "a");
  ASSERT_EQ(report.entries.size(), 2u);
  EXPECT_TRUE(report.entries[0].passed);
  EXPECT_FALSE(report.entries[1].passed);
  EXPECT_EQ(report.entries[1].expected, "expect checkpoint; paused true");
  EXPECT_EQ(report.entries[1].got, "allow; false");
  EXPECT_EQ(report.entries[1].why, "because");
  EXPECT_EQ(report.entries[1].place.line, 5u);
}

TEST(Scenarios, WithAnEntryThatIsNoneCannotBeRead) {
  for (const char* entry : {"{why: nothing happens}", "{call: t, text: true}", "{call: t, expects: allow}", "7"})
    EXPECT_FALSE(judge_run({"a.yaml", std::string("scenario: a\ncontracts: [{tool: t}]\nrun: [") + entry + "]\n"}, "a")
                     .is_readable())
        << entry;
}

TEST(Scenarios, WhosePackDoesNotCompileFailAsAWhole) {
  const contract::ScenarioReport report =
      judge_run({"a.yaml", "scenario: a\ncontracts: [{tool: t, gate: ajar}]\nrun: [{call: t}]\n"}, "a");
  ASSERT_EQ(report.entries.size(), 1u);
  EXPECT_FALSE(report.entries[0].passed);
  EXPECT_NE(report.entries[0].got.find("FIELD_ENUM"), std::string::npos) << report.entries[0].got;
}

// --- state that is none ---------------------------------------------------------------------------------------------------------------

constexpr const char* kPay =
    "binds: [{name: sum, path: $.n}]\ncheckpoint: {when: [{path: $.n, gte: 5}], timeout_seconds: 60}\n";

TEST(ReadState, RefusesWhatIsNoStateOfThePlan) {
  Session one({contract::tool_file("pay", kPay)}, "");
  one.propose("pay", R"({"n":7})");
  const std::string text = json::write(to_json(one.state));
  ASSERT_TRUE(read_state(*one.rules, json::parse(text)->root()));
  const auto refuses = [&](std::string_view from, std::string_view to) {
    std::string changed = text;
    const auto at = changed.find(from);
    ASSERT_NE(at, std::string::npos) << from << " is not in " << text;
    changed.replace(at, from.size(), to);
    const auto document = json::parse(changed);
    ASSERT_TRUE(document) << changed;
    EXPECT_FALSE(read_state(*one.rules, document->root())) << changed;
  };
  refuses(R"("standing":"open")", R"("standing":"ajar")");
  refuses(R"("mode":"enforce")", R"("mode":1)");
  refuses(R"("phase":0)", R"("phase":1)");
  refuses(R"("steps":1)", R"("steps":1.5)");
  refuses(R"("tool":0)", R"("tool":1)");
  refuses(R"("state":"awaiting_approval")", R"("state":"waiting")");
  refuses(R"("facts":["7"])", R"("facts":["7","8"])");
  EXPECT_FALSE(read_state(*one.rules, json::parse("[]")->root()));
  EXPECT_FALSE(read_state(*one.rules, json::parse("{}")->root()));
}

// --- what comes from outside the pack ---------------------------------------------------------------------------------------------------

TEST(Decide, AStaleLeaseStandsAlone) {
  Session one({contract::tool_file("get")}, "");
  const auto verdict = one.decide_with("get", "[]", [](Proposal& proposal) { proposal.lease_stale = true; });
  EXPECT_EQ(codes_of(verdict.calls[0]), "lease_stale");
  one.propose("get", "{}");
  EXPECT_EQ(info(start(*one.rules, one.state, "1", {}, {}, true).failures.at(0).code()).name, "lease_stale");
  EXPECT_EQ(info(preflight(*one.rules, one.state, {{}, {}, {}, true}).failures.at(0).code()).name, "lease_stale");
}

TEST(Decide, NoMorePeopleAreAskedThanMayBe) {
  Session one({contract::tool_file("ask", "checkpoint: {when: always, timeout_seconds: 60}\n")}, "");
  const auto full = one.decide_with("ask", "{}", [](Proposal& proposal) { proposal.approvals_left = 0; });
  EXPECT_EQ(codes_of(full.calls[0]), "approval_queue_full");
  EXPECT_FALSE(full.calls[0].asked);
  const auto room = one.decide_with("ask", "{}", [](Proposal& proposal) { proposal.approvals_left = 1; });
  EXPECT_EQ(room.calls[0].verdict, Verdict::Checkpoint);
}

// contracts 9.38: a program that embeds the engine hands over what the model wrote.
TEST(Decide, AnAgentWritesNoFacts) {
  const Session one(
      {contract::tool_file("Bash", "argument_value_invariants: [{path: \"$['dev.baton'].opaque\", one_of: [false]}]\n"),
       contract::tool_file("get")},
      "");
  const std::shared_ptr<const Rules> rules = one.rules;
  const auto value_of = [](std::string_view text) { return json::Value::copy(json::parse(text)->root()); };
  const auto answer = [&](EngineDoor& door, std::string_view tool, std::string_view arguments) {
    json::Value step = value_of(R"({"calls":[{"call_id":"c","tool":")" + std::string(tool) + R"(","arguments":)" +
                                std::string(arguments) + "}]}");
    const json::Value out = door.propose(step);
    const json::Value* reason = out.find_at("/calls/0/reason");
    return reason == nullptr ? std::string("allow") : reason->string();
  };
  const std::string_view forged = R"({"command":"rm x","dev.baton":{"command":"ls","opaque":false}})";
  EngineDoor agents(rules, open(*rules, {}));
  EXPECT_EQ(answer(agents, "Bash", forged), "fact_in_arguments");
  EXPECT_EQ(answer(agents, "get", R"({"dev.baton":null})"), "fact_in_arguments");
  EXPECT_EQ(answer(agents, "Bash", R"({"command":"rm x","opaque":false})"), "facts_missing");
  EXPECT_EQ(answer(agents, "get", R"({"deep":{"dev.baton":1}})"), "allow");
  const json::Value other = value_of(R"({"dev.baton":{}})");
  EXPECT_EQ(agents.start("c", &other).find("refused")->string(), "fact_in_arguments");
  EngineDoor hosts(rules, open(*rules, {}), nullptr, EngineDoor::Arguments::OfHost);
  EXPECT_EQ(answer(hosts, "Bash", forged), "allow");
}

// An operation that is recorded alone: what is not about the call itself counts for it too.
TEST(Decide, WhatHasNoContractBeginsOnlyWhereAnythingDoes) {
  Session one({contract::tool_file("get")}, "mcp: {unlisted: record}\n");
  const auto begun = [&](std::string_view path = {}, bool lease_stale = false) {
    const StartVerdict verdict = start(*one.rules, one.state, "1", {}, {}, lease_stale, nullptr, nullptr, path);
    return verdict.failures.empty() ? std::string() : std::string(info(verdict.failures[0].code()).name);
  };
  EXPECT_EQ(codes_of(one.propose("server:resources.read", "{}").calls[0]), "");
  EXPECT_EQ(begun(), "");
  EXPECT_EQ(begun("/srv/.baton/store"), "protected_path");
  EXPECT_EQ(begun("", true), "lease_stale");
  take_pause(one.state, "input_changed");
  EXPECT_EQ(begun(), "session_paused");
}

// contracts 9.19: reads go on, the pre-check says so and does not block.
TEST(Decide, AfterARequestToCancelOnlyReadsGoOn) {
  Session one({contract::tool_file("get"), contract::tool_file("put", "gate: allow\n", "write")}, "");
  one.state.cancel_requested = true;
  EXPECT_EQ(codes_of(one.decide_with("get", "{}").calls[0]), "");
  EXPECT_EQ(codes_of(one.decide_with("put", "{}").calls[0]), "cancel_requested");
  one.propose("put", "{}");
  EXPECT_EQ(one.state.consecutive_blocks, 0) << "it says nothing about what the agent does";
  const PreflightVerdict before = preflight(*one.rules, one.state, {});
  EXPECT_TRUE(before.failures.empty());
  ASSERT_EQ(before.diagnostics.size(), 1u);
  EXPECT_EQ(info(before.diagnostics[0].code).name, "cancel_requested");
}

// handoff 6: ending a session resets no budget.
TEST(Decide, WhatEarlierSessionsOnTheItemUsedIsUsed) {
  Opening opening;
  opening.calls_before = 2;
  opening.cost_before = json::Decimal(3);
  Session one({contract::tool_file("get")}, "session_limits: {max_tool_calls: 3, max_cost_per_session: 4}\n", opening);
  EXPECT_EQ(codes_of(one.decide_with("get", "{}").calls[0]), "");
  one.propose("get", "{}");
  EXPECT_EQ(codes_of(one.decide_with("get", "{}").calls[0]), "session_limit_exceeded");
  take_cost(one.state, json::Decimal(1));
  EXPECT_EQ(codes_of(one.decide_with("get", "{}").calls[0]), "session_limit_exceeded session_limit_exceeded");
}

// 1e9990 and 1e-9999 lie twenty thousand digits apart. Added up anew for each call and aggregate, these would take half a minute.
TEST(Decide, LongNumbersOfOpenCallsAreAddedUpOnceForAResponse) {
  std::string aggregates = "aggregates:\n";
  for (int i = 0; i < 10; ++i)
    aggregates += "  - {name: t" + std::to_string(i) + ", metric: sum, tool: add, path: $.n, lte: 9e9999, reason: r}\n";
  const Session one({contract::tool_file("add")}, aggregates);
  EngineDoor door(one.rules, open(*one.rules, {}));
  int made = 0;
  const auto respond = [&](const std::string& last) {
    std::string text = R"({"calls":[)";
    for (int i = 0; i < 50; ++i, ++made)
      text += R"({"call_id":")" + std::to_string(made) + R"(","tool":"add","arguments":{"n":)" +
              (i % 2 == 0 ? "1e9990" : "1e-9999") + R"(,"i":)" + std::to_string(made) + "}},";
    text += R"({"call_id":"last)" + std::to_string(made) + R"(","tool":")" + last + R"(","arguments":{"n":0}}]})";
    return door.propose(json::Value::copy(json::parse(text)->root())).find("outcome")->string();
  };
  for (int i = 0; i < 4; ++i) EXPECT_EQ(respond("add"), "proceed");
  for (int i = 0; i < 4; ++i) EXPECT_EQ(respond("nobody"), "reject");
}

TEST(Decide, ArgumentsAreTheSameHoweverTheyAreWritten) {
  const auto digest = [](std::string_view text) { return digest_of(json::parse(text)->root()); };
  EXPECT_EQ(digest(R"({"a":1,"b":[1.50]})"), digest(R"({ "b" : [15e-1], "a" : 1.0 })"));
  EXPECT_NE(digest(R"({"a":1})"), digest(R"({"a":"1"})"));
  EXPECT_NE(digest(R"({"a":[1,2]})"), digest(R"({"a":[2,1]})"));
  EXPECT_NE(digest(R"({"a":9007199254740993})"), digest(R"({"a":9007199254740992})"));
}

TEST(Decide, ToolsOfARequestInEachForm) {
  const auto document = json::parse(
      R"({"tools":["a",{"name":"b","input_schema":{}},{"type":"function","function":{"name":"c"}},{"type":"odd"}]})");
  EXPECT_EQ(tools_of_request(document->root()), (std::vector<std::string>{"a", "b", "c"}));
}

// A refusal names the place in the arguments, and never the text that stands there.
TEST(Decide, ARefusalSaysWhereAndNotWhat) {
  Session one({contract::tool_file("put", "argument_value_invariants: [{path: $.a.key, regex: ^x}]\n")}, "");
  const auto verdict = one.decide_with("put", R"({"a":{"key":"hunter2-secret"}})");
  const std::string text = json::write(shown(verdict.calls[0]));
  EXPECT_NE(text.find(R"("place":"/a/key")"), std::string::npos) << text;
  EXPECT_EQ(text.find("hunter2"), std::string::npos) << text;
}

// --- errors -------------------------------------------------------------------------------------------------------------------------------

TEST(ErrorNamed, IsAClassAStatusOrACode) {
  struct Case {
    const char *text, *error_class;
    std::optional<std::int64_t> status;
  };
  for (const Case& one :
       {Case{"timeout", "timeout", {}}, Case{"network", "network", {}}, Case{"rate_limited", "rate_limited", {}},
        Case{"server_error", "server_error", {}}, Case{"client_error", "client_error", {}},
        Case{"tool_error", "tool_error", {}}, Case{"429", "rate_limited", 429}, Case{"500", "server_error", 500},
        Case{"599", "server_error", 599}, Case{"400", "client_error", 400}, Case{"499", "client_error", 499},
        Case{"302", "tool_error", 302}, Case{"600", "tool_error", 600}, Case{"5000", "tool_error", {}},
        Case{"50", "tool_error", {}}, Case{"E_BUSY", "tool_error", {}}, Case{"", "tool_error", {}}}) {
    const CallError error = error_named(one.text);
    EXPECT_EQ(error.code, one.text);
    EXPECT_EQ(error.error_class, one.error_class) << one.text;
    EXPECT_EQ(error.http_status, one.status) << one.text;
  }
}

TEST(ReadReceipt, TakesTheClassFromWhatThereIs) {
  const auto error = [](std::string_view text) {
    const auto document = json::parse_owned(R"({"result":"error","error":)" + std::string(text) + "}");
    return read_receipt(document->root()).receipt.error;
  };
  EXPECT_EQ(error(R"({"http_status":429})").error_class, "rate_limited");
  EXPECT_EQ(error(R"({"code":"network"})").error_class, "network");
  EXPECT_EQ(error(R"({"code":"503"})").error_class, "server_error");
  EXPECT_EQ(error(R"({"code":"X","http_status":404})").error_class, "client_error");
  EXPECT_EQ(error(R"({"code":"X","class":"network","http_status":404})").error_class, "network") << "said plainly";
  EXPECT_EQ(error(R"({"message":"it broke"})").error_class, "tool_error");
  EXPECT_EQ(error("503").http_status, 503) << "a bare number is a status";
  const auto none = json::parse(R"({"result":"maybe"})");
  EXPECT_FALSE(read_receipt(none->root()).problem.empty());
}

// --- trying again ---------------------------------------------------------------------------------------------------------------------------

struct Tries {
  contract::Tool tool;
  Retry after(const Attempt& attempt, std::int64_t made, std::int64_t elapsed_ms) const {
    return retry(tool, attempt, made, json::Decimal(elapsed_ms));
  }
};
Tries tries() {
  Tries out;
  out.tool.total_ms = 10'000;
  out.tool.retries = {4, {"network", "E_BUSY", "502"}, true, json::Decimal(5)};
  return out;
}
Attempt failed(std::string_view error, std::optional<std::int64_t> retry_after = {}) {
  Attempt out{Receipt::Error, error_named(error), {}};
  if (retry_after) out.retry_after = json::Decimal(*retry_after);
  return out;
}
const json::Decimal kAtOnce;

TEST(Retry, ByClassStatusOrCode) {
  const Tries one = tries();
  EXPECT_EQ(one.after(failed("network"), 1, 0).sleep, kAtOnce);
  EXPECT_EQ(one.after(failed("E_BUSY"), 1, 0).sleep, kAtOnce);
  EXPECT_EQ(one.after(failed("502"), 1, 0).sleep, kAtOnce);
  EXPECT_FALSE(one.after(failed("503"), 1, 0).sleep) << "its class is not listed and neither is it";
  EXPECT_FALSE(one.after(failed("E_OTHER"), 1, 0).sleep);
  EXPECT_FALSE(one.after(failed("timeout"), 1, 0).sleep) << "timeout is not listed";
  Tries listed = tries();
  listed.tool.retries.retry_on = {"timeout"};
  EXPECT_EQ(listed.after(failed("timeout"), 1, 0).sleep, kAtOnce);
  EXPECT_FALSE(listed.after({Receipt::Timeout, {}, {}}, 1, 0).sleep) << "its time is over: it may have happened";
}

TEST(Retry, NeverAfterSuccessLossOrTheLastAttempt) {
  const Tries one = tries();
  EXPECT_FALSE(one.after({Receipt::Ok, {}, {}}, 1, 0).sleep);
  EXPECT_FALSE(one.after({Receipt::Lost, {}, {}}, 1, 0).sleep) << "nobody knows whether it happened";
  EXPECT_TRUE(one.after(failed("network"), 3, 0).sleep);
  EXPECT_FALSE(one.after(failed("network"), 4, 0).sleep) << "max_attempts counts the first";
}

TEST(Retry, A429WaitsAsToldOrBacksOff) {
  const Tries one = tries();
  EXPECT_EQ(one.after(failed("429", 5), 1, 0).sleep, json::Decimal(5)) << "inclusive";
  const Retry longer = one.after(failed("429", 6), 1, 0);
  EXPECT_FALSE(longer.sleep);
  EXPECT_TRUE(longer.rate_limited);
  EXPECT_EQ(one.after(failed("429"), 1, 0).sleep, json::Decimal(1));
  EXPECT_EQ(one.after(failed("429"), 2, 0).sleep, json::Decimal(2));
  EXPECT_EQ(one.after(failed("429"), 3, 0).sleep, json::Decimal(4));
  Tries own = tries();
  own.tool.retries.respect_retry_after = false;
  own.tool.retries.max_sleep_seconds = json::Decimal(3);
  EXPECT_EQ(own.after(failed("429", 600), 3, 0).sleep, json::Decimal(3)) << "capped, and the header is not looked at";
  EXPECT_FALSE(own.after(failed("429", 600), 3, 0).rate_limited);
  EXPECT_FALSE(own.after(failed("429"), 4, 0).sleep) << "a 429 takes an attempt like any other";
}

// contracts 9.15
TEST(Retry, WithinTheWholeTime) {
  const Tries one = tries();
  EXPECT_FALSE(one.after({Receipt::Ok, {}, {}}, 1, 10'000).timed_out) << "exactly the whole time";
  EXPECT_TRUE(one.after({Receipt::Ok, {}, {}}, 1, 10'001).timed_out) << "whatever the attempt gave";
  EXPECT_TRUE(one.after(failed("network"), 4, 10'001).timed_out) << "also at the last attempt";
  EXPECT_TRUE(one.after(failed("network"), 1, 9'999).sleep);
  const Retry reached = one.after(failed("network"), 1, 10'000);
  EXPECT_FALSE(reached.sleep);
  EXPECT_FALSE(reached.timed_out) << "it ends with the last error";
  EXPECT_TRUE(one.after(failed("429", 5), 1, 4'999).sleep);
  EXPECT_FALSE(one.after(failed("429", 5), 1, 5'000).sleep) << "the pause would reach it";
  EXPECT_FALSE(one.after(failed("429", 5), 1, 5'000).rate_limited);
}

// --- settling -------------------------------------------------------------------------------------------------------------------------------

Receipt receipt(Receipt::Kind kind) {
  Receipt out;
  out.kind = kind;
  return out;
}

TEST(Settle, OnlyWhatIsOpen) {
  Session one(
      {contract::tool_file("get"), contract::tool_file("ask", "checkpoint: {when: always, timeout_seconds: 60}\n")},
      "");
  EXPECT_FALSE(settle(*one.rules, one.state, "1", receipt(Receipt::Error)).is_open);
  one.propose("get", "{}");
  EXPECT_TRUE(settle(*one.rules, one.state, "1", receipt(Receipt::Error)).is_open) << "pending counts as begun";
  one.propose("ask", "{}");
  EXPECT_FALSE(settle(*one.rules, one.state, "2", receipt(Receipt::Error)).is_open) << "nobody has said yes";
}

TEST(Settle, AReadThatTimedOutFailedAnythingElseIsUnknown) {
  Session one({contract::tool_file("get"), contract::tool_file("put", "gate: allow\n", "write")}, "");
  one.propose("get", "{}");
  one.propose("put", "{}");
  EXPECT_EQ(settle(*one.rules, one.state, "1", receipt(Receipt::Timeout)).state, CallState::Failed);
  EXPECT_EQ(settle(*one.rules, one.state, "2", receipt(Receipt::Timeout)).state, CallState::Unknown);
  EXPECT_EQ(settle(*one.rules, one.state, "1", receipt(Receipt::Lost)).state, CallState::Unknown)
      << "a lost read is lost all the same";
}

// contracts 9.16
TEST(Settle, ATimeoutMayBeAllowedALossNever) {
  Session one({contract::tool_file("put", "gate: allow\n", "write")}, "", {}, [](std::string& text) {
    text.replace(text.find("allowed_errors: []"), 18, "allowed_errors: [{class: timeout}, {code: timeout}]");
  });
  one.propose("put", "{}");
  const SettleVerdict timeout = settle(*one.rules, one.state, "1", receipt(Receipt::Timeout));
  EXPECT_TRUE(timeout.allowed_error);
  EXPECT_EQ(timeout.state, CallState::Unknown);
  EXPECT_FALSE(timeout.settled.counts_as_error);
  const SettleVerdict lost = settle(*one.rules, one.state, "1", receipt(Receipt::Lost));
  EXPECT_FALSE(lost.allowed_error);
  EXPECT_TRUE(lost.settled.counts_as_error);
}

// contracts 9.11: parsed once, and what is no JSON stays the text it is.
TEST(Settle, AnOutputThatIsTextIsParsedOnce) {
  const auto parsed = [](std::string_view text) {
    std::unique_ptr<json::Document> keep;
    const auto document = json::parse(text);
    return json::write(parsed_output(document->root(), keep));
  };
  EXPECT_EQ(parsed(R"("{\"a\":1}")"), R"({"a":1})");
  EXPECT_EQ(parsed(R"("\"{}\"")"), R"("{}")") << "not twice";
  EXPECT_EQ(parsed(R"("plain")"), R"("plain")");
  EXPECT_EQ(parsed(R"("{\"a\":1,\"a\":2}")"), R"("{\"a\":1,\"a\":2}")") << "repeated keys are no JSON";
  EXPECT_EQ(parsed(R"({"a":"{}"})"), R"({"a":"{}"})") << "only the whole of it";
}

TEST(Settle, AfterAKillReceiptsAreForAccountingOnly) {
  Session one(
      {contract::tool_file("put", "gate: allow\nbinds: [{name: n, path: $.n}]\nforbids_after: [put]\n", "write")},
      "aggregates: [{name: total, metric: sum, tool: put, path: $.n, lte: 10, reason: ten}]\n");
  one.propose("put", R"({"n":4})");
  take_start(*one.rules, one.state, {"1", false, {}, {}});
  const Effects ended = take_end(*one.rules, one.state, Standing::Killed, "killed");
  EXPECT_TRUE(ended.cancelled.empty()) << "it was under way";
  ASSERT_EQ(one.state.open.size(), 1u);
  EXPECT_EQ(one.state.open[0].state, CallState::Unknown);
  const auto output = json::parse("{}");
  Receipt ok;
  ok.output = Values::of_document(output->root());
  take_settlement(*one.rules, one.state, settle(*one.rules, one.state, "1", ok).settled);
  EXPECT_TRUE(one.state.open.empty());
  EXPECT_EQ(one.state.totals[0].sum, json::Decimal(4));
  EXPECT_FALSE(is_there(one.state.slots[0]));
  EXPECT_EQ(one.state.forbidden.size(), 1u) << "what was forbidden while it was unknown stays so";
}

}  // namespace
}  // namespace baton::session
