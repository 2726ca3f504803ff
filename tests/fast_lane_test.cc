// SPDX-License-Identifier: Apache-2.0
// The fast lane for reads: who may take it, that what was answered is recorded soon after and in order, and that no limit is overshot
// because of it. That a node which was killed says so is node_process_test.py's.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "contract/scenario.h"
#include "runtime/session_events.h"
#include "runtime/use_cases/fast_lane.h"
#include "use_cases_fixture.h"

namespace baton::runtime {
namespace {

contract::PackSource pack_of(const std::string& session, const std::string& contracts) {
  const contract::SourceFile file{"a.yaml",
                                  "scenario: a\nsession: " + session + "\ncontracts: " + contracts + "\nrun: []\n"};
  const contract::CompiledScenario compiled = contract::compile_scenario(file, "");
  EXPECT_TRUE(compiled.plan) << contracts << ": "
                             << (compiled.findings.empty() ? "" : compiled.findings[0].diagnostic.message);
  return compiled.source.pack;
}

std::vector<store::Backend> of_one_process() {
  std::vector<store::Backend> out;
  for (const store::Backend& one : store::backends())
    if (one.takes_our_clock) out.push_back(one);
  return out;
}

class Lane : public ::testing::TestWithParam<store::Backend> {
 protected:
  Lane() : fixture_(GetParam()) {}

  UseCases& cases() { return fixture_.cases(); }
  void activate(const std::string& session, const std::string& contracts) {
    const auto answer = ask([&](Answered done) {
      cases().activate_pack(as_operator(), pack_of(session, contracts), "agent", "", std::move(done));
    });
    ASSERT_EQ(outcome(answer), "taken");
  }
  std::string open(OpenSession asked = {}) {
    Mutation by = asked.session_id.empty() ? as("alice") : in_session(as("alice"), asked.session_id);
    return text_at(ask([&](Answered done) { cases().open_session(by, asked, std::move(done)); }), "/session/id");
  }
  Result<Answer> call(const std::string& id, const std::string& tool, const std::string& call_id,
                      const std::string& arguments = "{}") {
    return ask([&](Answered done) {
      cases().govern_call(in_session(as("alice"), id), id,
                          R"({"start":true,"calls":[{"call_id":")" + call_id + R"(","tool":")" + tool +
                              R"(","arguments":)" + arguments + "}]}",
                          std::move(done));
    });
  }
  Result<Answer> settle(const std::string& id, const std::string& call_id, const std::string& output = "{}") {
    return ask([&](Answered done) {
      cases().settle_call(in_session(as("alice"), id), id,
                          R"({"call_id":")" + call_id + R"(","result":"ok","output":)" + output + "}", std::move(done));
    });
  }
  // What the ledger has of the session's calls: d(ecided), s(tarted), r(eceipt), in order.
  std::string recorded(const std::string& id) {
    std::string out;
    fixture_.for_entries([&](const store::EntryRow& row) {
      if (row.stream != "session/" + id) return;
      if (row.type == kSessionStep) out += 'd';
      if (row.type == kCallStarted) out += 's';
      if (row.type == kCallSettled) out += 'r';
    });
    return out;
  }
  std::string counter(const std::string& id, const std::string& name) {
    const auto shown = cases().show_session(id);
    return text_at(**shown, "/governed/counters/" + name);
  }

  CasesFixture fixture_;
};

INSTANTIATE_TEST_SUITE_P(Backends, Lane, ::testing::ValuesIn(of_one_process()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(Lane, is_off_unless_it_was_opened) {
  activate("{}", "[{tool: look}]");
  const std::string id = open();
  const auto looked = call(id, "look", "l");
  EXPECT_TRUE(looked->entry.has_value());
  EXPECT_EQ(text_at(looked, "/fast_lane"), "(nothing)");
  EXPECT_EQ(cases().fast_reads(), 0u);
  EXPECT_FALSE(workspace::Config().fast_lane_reads);
}

// What was answered and is not recorded yet was seen all the same.
TEST_P(Lane, a_claim_is_held_against_reads_that_were_only_answered) {
  activate("{claims: require}", "[{tool: look}]");
  const auto opened = ask([&](Answered done) { cases().open_session(as("alice"), {}, std::move(done)); });
  const std::string id = text_at(opened, "/session/id");
  cases().open_fast_lane();
  EXPECT_EQ(text_at(call(id, "look", "l", R"({"path":"/srv/app/a.txt"})"), "/fast_lane"), "true");
  EXPECT_EQ(text_at(settle(id, "l"), "/state"), "committed");
  std::string block = contract(text_at(opened, "/session/agent_id"), "BLOCKED");
  const std::string_view none = "\"files_checked\":[]", pass = "{\"result\":\"pass\"}";
  block.replace(block.find(none), none.size(), "\"files_checked\":[\"a.txt\"]");
  block.replace(block.find(pass), pass.size(), "{}");
  const auto taken =
      ask([&](Answered done) { cases().hand_off(in_session(as("alice"), id), id, block, std::move(done)); });
  EXPECT_EQ(outcome(taken), "taken");
  EXPECT_EQ(text_at(taken, "/claims/0/call_id"), "l");
}

TEST_P(Lane, a_read_is_in_the_ledger_soon_after) {
  activate("{}", "[{tool: look}]");
  const std::string id = open();
  cases().open_fast_lane();
  const auto looked = call(id, "look", "l");
  EXPECT_EQ(text_at(looked, "/calls/0/verdict"), "allow");
  EXPECT_EQ(text_at(looked, "/calls/0/started"), "true");
  EXPECT_EQ(text_at(looked, "/fast_lane"), "true");
  EXPECT_FALSE(looked->entry.has_value());
  EXPECT_EQ(text_at(settle(id, "l"), "/state"), "committed");
  for (int waited = 0; recorded(id) != "dsr" && waited < 2000; ++waited)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // nobody does anything for it
  EXPECT_EQ(recorded(id), "dsr");
  EXPECT_EQ(counter(id, "tool_calls"), "1");
  EXPECT_EQ(outcome(settle(id, "l")), "call_not_open");
  fixture_.expect_whole();
}

TEST_P(Lane, what_comes_after_a_read_finds_it) {
  activate("{risk_defaults: {write: allow}, session_limits: {max_tool_calls: 3}}",
           "[{tool: look}, {tool: put, side_effect: write}]");
  const std::string id = open();
  cases().open_fast_lane();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(text_at(call(id, "look", "l" + std::to_string(i)), "/fast_lane"), "true");
    EXPECT_EQ(text_at(call(id, "put", "p" + std::to_string(i)), "/calls/0/reason"),
              i == 0 ? "(nothing)" : "session_limit_exceeded");
  }
  EXPECT_EQ(recorded(id), "dsdsdsd");
  EXPECT_EQ(counter(id, "tool_calls"), "3");
  fixture_.expect_whole();
}

TEST_P(Lane, what_is_refused_is_recorded_before_it_is_told) {
  activate("{session_limits: {max_tool_calls: 1}}", "[{tool: look}]");
  const std::string id = open();
  cases().open_fast_lane();
  EXPECT_EQ(text_at(call(id, "look", "a"), "/fast_lane"), "true");
  const auto refused = call(id, "look", "b");
  EXPECT_EQ(text_at(refused, "/calls/0/reason"), "session_limit_exceeded");
  EXPECT_TRUE(refused->entry.has_value());
  EXPECT_EQ(recorded(id), "dsd");
  EXPECT_EQ(outcome(call(id, "look", "a")), "CALL_DUPLICATE");
  fixture_.expect_whole();
}

TEST_P(Lane, many_at_once_cannot_overshoot_a_limit_or_a_loop) {
  activate(
      "{risk_defaults: {write: allow}, session_limits: {max_tool_calls: 40, loop_detection: {window: 100, threshold: "
      "5}}}",
      "[{tool: look}, {tool: put, side_effect: write}]");
  const std::string id = open();
  cases().open_fast_lane();
  std::atomic<int> same = 0, allowed = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 32; ++i)
      threads.emplace_back([&, i] {
        const std::string n = std::to_string(i);
        const auto is_allowed = [](const Result<Answer>& answer) {
          return text_at(answer, "/calls/0/verdict") == "allow";
        };
        if (is_allowed(call(id, "look", "same" + n, R"({"same":true})"))) ++same, ++allowed;
        if (is_allowed(call(id, "look", "r" + n, "{\"i\":" + n + "}"))) {
          ++allowed;
          settle(id, "r" + n);
        }
        if (is_allowed(call(id, "put", "w" + n, "{\"i\":" + n + "}"))) ++allowed;
        if (is_allowed(call(id, "look", "s" + n, "{\"j\":" + n + "}"))) ++allowed;
      });
  }
  EXPECT_LT(same, 5);
  EXPECT_EQ(allowed, 40);
  EXPECT_GT(cases().fast_reads(), 0u);
  cases().close_fast_lane();
  EXPECT_EQ(counter(id, "tool_calls"), "40");
  fixture_.expect_whole();
}

TEST_P(Lane, reads_of_many_sessions_are_all_recorded_in_order) {
  activate("{}", "[{tool: look}]");
  std::vector<std::string> ids;
  for (int i = 0; i < 8; ++i) ids.push_back(open());
  cases().open_fast_lane();
  {
    std::vector<std::jthread> threads;
    for (const std::string& id : ids)
      threads.emplace_back([&, id] {
        for (int k = 0; k < 50; ++k) {
          EXPECT_EQ(text_at(call(id, "look", "l" + std::to_string(k)), "/fast_lane"), "true");
          EXPECT_EQ(text_at(settle(id, "l" + std::to_string(k)), "/fast_lane"), "true");
        }
      });
  }
  cases().close_fast_lane();
  for (const std::string& id : ids) {
    std::string expected;
    for (int k = 0; k < 50; ++k) expected += "dsr";
    EXPECT_EQ(recorded(id), expected);
  }
  EXPECT_EQ(cases().fast_reads(), 400u);
  // Closed: the ordinary way, at once.
  EXPECT_TRUE(call(ids[0], "look", "after")->entry.has_value());
  fixture_.expect_whole();
}

// What disqualifies a tool: `look` is plain in each of these but for one thing.
struct Trait {
  const char* what;
  const char* session;
  const char* contracts;
  bool takes_it = false;
};
constexpr Trait kTraits[] = {
    {"nothing", "{}", "[{tool: look}]", true},
    {"a limit of the session", "{session_limits: {max_tool_calls: 9, max_steps: 9}}", "[{tool: look}]", true},
    {"a side effect", "{risk_defaults: {write: allow}}", "[{tool: look, side_effect: write}]"},
    {"a bind", "{}", "[{tool: look, binds: [{name: n, path: $.n}]}]"},
    {"a bind of the output", "{}", "[{tool: look, binds: [{name: n, source: output, path: $.n}]}]"},
    {"an aggregate", "{aggregates: [{name: a, metric: count, tool: look, lte: 9, reason: nine}]}", "[{tool: look}]"},
    {"an aggregate of all", "{aggregates: [{name: a, metric: count, tool: '*', lte: 9, reason: nine}]}",
     "[{tool: look}]"},
    {"an envelope",
     "{envelopes: [{name: e, reason: r, constraint: lte_ceiling, stages: [{tool: look, role: ceiling, path: $.n, "
     "source: "
     "arguments}, {tool: put, role: constrained, path: $.n}]}]}",
     "[{tool: look}, {tool: put, side_effect: write}]"},
    {"a precondition", "{}", "[{tool: look, preconditions: [{requires_step_count: {gte: 1}}]}]"},
    {"being a prior tool", "{}", "[{tool: look}, {tool: use, preconditions: [{requires_prior_tool: look}]}]"},
    {"an advance", "{phases: [{name: a, initial: true}, {name: b, terminal: true}], transitions: {a: [b]}}",
     "[{tool: look, transitions: {advances_to: b}}]"},
    {"forbidding", "{}", "[{tool: look, forbids_after: [other]}, {tool: other}]"},
    {"being forbidden", "{}", "[{tool: look}, {tool: other, forbids_after: [look]}]"},
    {"a label gate", "{policy: {label_gates: [{when_label: secret, deny_tools: [look], reason: r}]}}",
     "[{tool: look}]"},
    {"a limit of its own", "{session_limits: {max_calls_per_tool: {look: 9}}}", "[{tool: look}]"},
    {"a checkpoint", "{}", "[{tool: look, checkpoint: {when: [{path: $.n, gte: 100}], timeout_seconds: 60}}]"},
    {"a checkpoint of the session",
     "{checkpoints: [{name: c, tool: look, when: [{path: $.n, gte: 100}], timeout_seconds: 60}]}", "[{tool: look}]"},
    {"a resource", "{resources: {order: {type: order, extract_from: {path: $.n}}}}", "[{tool: look}]"},
};

TEST_P(Lane, only_reads_on_which_nothing_depends_take_it) {
  cases();
  for (const Trait& trait : kTraits) {
    activate(trait.session, trait.contracts);
    const std::string id = open();
    cases().open_fast_lane();
    call(id, "look", "first", R"({"n":1})");
    const auto looked = call(id, "look", "second", R"({"n":2})");
    EXPECT_EQ(text_at(looked, "/fast_lane"), trait.takes_it ? "true" : "(nothing)") << trait.what;
    EXPECT_EQ(cases().fast_reads(), trait.takes_it ? 2u : 0u) << trait.what;
    cases().close_fast_lane();
  }
  fixture_.expect_whole();
}

// What is answered before its entries are made must be something that nothing can be wrong with afterwards.
TEST_P(Lane, only_what_is_recorded_as_it_is_said_takes_it) {
  activate("{}", "[{tool: look}]");
  const std::string id = open();
  cases().open_fast_lane();
  const std::string blob = R"({"blob":{"bytes":1,"sha256":")" + std::string(64, 'a') + R"("}})";
  const std::string escaped = R"({"\u0062lob":{"bytes":1,"sha256":")" + std::string(64, 'a') + R"("}})";
  const std::string token = "ghp_" + std::string("abcdefghijklmnopqrstuvwxyz") + "0123456789";
  const std::string hidden = R"(gh\u0070_)" + std::string("abcdefghijklmnopqrstuvwxyz") + "0123456789";
  const struct {
    const char* what;
    std::string said;
    bool takes_it;
  } all[] = {
      {"something short", R"({"path":"/srv/a","lines":[1,2.50,"x"]})", true},
      {"something with escapes", R"({"text":"one\ntwo","content":["text"]})", true},
      {"what looks like a blob's reference", blob, false},
      {"the same deeper down", R"({"a":[)" + blob + "]}", false},
      {"the same in other spelling", escaped, false},
      {"a secret", R"({"a":")" + token + R"("})", false},
      {"a secret in other spelling", R"({"a":")" + hidden + R"("})", false},
      {"a secret in a list", R"({"a":["b",")" + token + R"("]})", false},
      {"something long", R"({"a":")" + std::string(9000, 'x') + R"("})", false},
  };
  int number = 0;
  for (const auto& one : all) {
    const std::string asked = "a" + std::to_string(++number), answered = "b" + std::to_string(number);
    const auto looked = call(id, "look", asked, one.said);
    // A reference to a blob that is not there is refused altogether, wherever it goes.
    EXPECT_EQ(looked ? text_at(looked, "/fast_lane") : "(nothing)", one.takes_it ? "true" : "(nothing)") << one.what;
    EXPECT_EQ(text_at(call(id, "look", answered), "/fast_lane"), "true");
    const auto settled = settle(id, answered, one.said);
    EXPECT_EQ(settled ? text_at(settled, "/fast_lane") : "(nothing)", one.takes_it ? "true" : "(nothing)") << one.what;
  }
  EXPECT_EQ(text_at(call(id, "look", "n"), "/fast_lane"), "true");
  EXPECT_NE(text_at(settle(id, "n", R"({"a":1e999999999999})"), "/fast_lane"), "true") << "a number beyond all bounds";
  EXPECT_EQ(text_at(call(id, "look", "last"), "/fast_lane"), "true") << "and it is open for the next";
  cases().close_fast_lane();
  fixture_.expect_whole();
}

TEST_P(Lane, neither_do_calls_in_company_or_with_a_key_or_of_others) {
  activate("{}", "[{tool: look}]");
  const std::string id = open();
  cases().open_fast_lane();
  const auto ask_for = [&](const Mutation& by, const std::string& body) {
    return ask([&](Answered done) { cases().govern_call(by, id, body, std::move(done)); });
  };
  const std::string one = R"({"start":true,"calls":[{"tool":"look","arguments":{}}]})";
  EXPECT_TRUE(ask_for(with_key(in_session(as("alice"), id), "k", one), one)->entry.has_value());
  EXPECT_TRUE(ask_for(in_session(as("alice"), id),
                      R"({"start":true,"calls":[{"tool":"look","arguments":{}},{"tool":"look","arguments":{}}]})")
                  ->entry.has_value());
  EXPECT_TRUE(ask_for(in_session(as("alice"), id), R"({"calls":[{"tool":"look","arguments":{}}]})")->entry.has_value());
  EXPECT_EQ(outcome(ask_for(as("mallory"), one)), "SESSION_NOT_YOURS");
  EXPECT_EQ(outcome(ask_for(in_session(as("alice"), "ses_other"), one)), "SESSION_NOT_YOURS");
  OpenSession shadow;
  shadow.mode = session::Mode::Shadow;
  const auto opened = ask([&](Answered done) { cases().open_session(as_operator(), shadow, std::move(done)); });
  const std::string other = text_at(opened, "/session/id");
  const auto shadowed = ask([&](Answered done) { cases().govern_call(as_operator(), other, one, std::move(done)); });
  EXPECT_TRUE(shadowed->entry.has_value());
  EXPECT_EQ(cases().fast_reads(), 0u);
  fixture_.expect_whole();
}

TEST_P(Lane, a_lease_that_ended_or_must_be_extended_is_seen) {
  activate("{}", "[{tool: look}]");
  const std::string work = fixture_.create_in(work::Phase::Implementation);
  const std::string id = text_at(fixture_.claim(as("alice"), work), "/session/id");
  OpenSession asked;
  asked.session_id = id;
  open(asked);
  cases().open_fast_lane();
  EXPECT_EQ(text_at(call(id, "look", "a"), "/fast_lane"), "true");
  // In the second half of the lease a call extends it, which is recorded.
  fixture_.clock_.advance(fixture_.config_.policy.lease_ttl / 2 + kNanosecondsPerSecond);
  const auto extending = call(id, "look", "b");
  EXPECT_TRUE(extending->entry.has_value());
  EXPECT_EQ(text_at(call(id, "look", "c"), "/fast_lane"), "true");
  // Somebody takes the item over.
  fixture_.claim(as("alice"), work);
  EXPECT_EQ(text_at(call(id, "look", "d"), "/calls/0/reason"), "lease_stale");
  EXPECT_EQ(recorded(id).substr(0, 6), "dsdsds") << "what was read before it was taken over is there";
  fixture_.expect_whole();
}

TEST_P(Lane, a_label_or_a_kill_counts_from_when_it_was_told) {
  activate("{}", "[{tool: look}]");
  const std::string id = open();
  cases().open_fast_lane();
  EXPECT_EQ(text_at(call(id, "look", "a"), "/fast_lane"), "true");
  ask([&](Answered done) { cases().add_label(in_session(as("alice"), id), id, "secret", std::move(done)); });
  EXPECT_EQ(text_at(call(id, "look", "b"), "/fast_lane"), "true") << "and it is on the lane again";
  ask([&](Answered done) { cases().kill_session(as_operator(), id, "enough", std::move(done)); });
  EXPECT_EQ(text_at(call(id, "look", "c"), "/calls/0/reason"), "session_killed");
  EXPECT_EQ(recorded(id), "dsdsd");
  fixture_.expect_whole();
}

}  // namespace
}  // namespace baton::runtime
