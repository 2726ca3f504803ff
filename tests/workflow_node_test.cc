// SPDX-License-Identifier: Apache-2.0
// Workflows through the use cases of a node, on every store, and of two nodes on a server: each scenario with an `events` body, and what
// only a node has.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "runtime/waiting_starts.h"
#include "workflow_node_door.h"

namespace baton::runtime {
namespace {

contract::SourceFile read_file(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return {path.filename().string(), text.str(), path.extension() == ".json"};
}

std::vector<std::filesystem::path> scenarios() {
  std::vector<std::filesystem::path> out;
  for (const char* folder : {"/vectors/scenarios", "/scenarios"})
    for (const auto& entry : std::filesystem::recursive_directory_iterator(std::string(BATON_TESTS_DIR) + folder))
      if (entry.path().extension() == ".yaml" && read_file(entry.path()).text.find("\nevents:") != std::string::npos)
        out.push_back(entry.path());
  std::ranges::sort(out);
  return out;
}

class Workflows : public ::testing::TestWithParam<store::Backend> {
 protected:
  Workflows() : fixture_(GetParam()) {}
  CasesFixture fixture_;
};

INSTANTIATE_TEST_SUITE_P(Backends, Workflows, ::testing::ValuesIn(store::backends()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(Workflows, scenarios_are_decided_as_by_the_rules_alone) {
  const auto files = scenarios();
  ASSERT_GE(files.size(), 3u);
  for (const auto& path : files) {
    const contract::SourceFile file = read_file(path);
    if (!fixture_.has_our_clock() && file.text.find("{timeout: ") != std::string::npos)
      continue;  // a server's clock cannot be turned: these run on the other stores
    const auto report =
        workflow::judge_events(file, path.stem().string(), [&](const workflow::ScenarioWorkflow& opened) {
          return std::unique_ptr<workflow::Door>(std::make_unique<NodeWorkflow>(fixture_, opened));
        });
    EXPECT_TRUE(report.is_readable()) << path;
    for (const contract::Judged& entry : report.entries)
      EXPECT_TRUE(entry.passed) << path.stem() << " entry " << entry.number << "\n  expected: " << entry.expected
                                << "\n  got: " << entry.got;
  }
  fixture_.expect_whole();
}

// --- what only a node has ---------------------------------------------------------------------------------------------------------------

// A workflow of an orchestrator and hands under it, who share things.
class Family : public ::testing::TestWithParam<store::Backend> {
 protected:
  Family() : fixture_(GetParam()) {}

  void begin(const std::string& more, const std::string& mode = "serial_only") {
    const contract::SourceFile file{
        "a.yaml",
        "scenario: a\nworkflow:\n  roles: [{name: boss, session_contract: boss.yaml}, {name: hand, session_contract: "
        "hand.yaml}]\n"
        "  handoffs: [{from: boss, to: hand, requires_artifacts: [task]}, {from: hand, to: hand}]\n"
        "  shared_resources: [{alias: thing, mode: " +
            mode + "}, {alias: other, mode: " + mode + "}]\n" + more +
            "packs:\n  boss: {contracts: [{tool: look}]}\n"
            "  hand: {session: {risk_defaults: {write: allow}, resources: {thing: {type: t, extract_from: {path: "
            "$.k}}, other: {type: o, extract_from: {path: $.o}}}}, contracts: [{tool: edit, side_effect: write}]}\n"
            "events: []\n"};
    const contract::CompiledScenario compiled = contract::compile_scenario(file, "");
    ASSERT_TRUE(compiled.workflow) << (compiled.findings.empty() ? "" : compiled.findings[0].diagnostic.message);
    const auto active = ask([&](Answered done) {
      fixture_.cases().activate_workflow(as_operator(), *compiled.source.workflow, "", std::move(done));
    });
    ASSERT_EQ(outcome(active), "taken");
    const auto started = ask(
        [&](Answered done) { fixture_.cases().start_workflow(as_operator(), {"scenario", "", {}}, std::move(done)); });
    ASSERT_EQ(outcome(started), "taken");
    boss_ = text_at(started, "/session/id");
    workflow_ = text_at(started, "/workflow/id");
  }

  Result<Answer> offer(const std::string& from, std::string_view artifacts, std::int64_t expires = 0) {
    OfferRequest asked{"hand", json::Value::copy(json::parse_owned(std::string(artifacts))->root()), expires};
    return ask(
        [&](Answered done) { fixture_.cases().offer(in_session(as("alice"), from), from, asked, std::move(done)); });
  }
  Result<Answer> claim(const std::string& handoff) {
    return ask([&](Answered done) { fixture_.cases().claim_handoff(as("alice"), {handoff, {}}, std::move(done)); });
  }
  std::string hand_of(const std::string& from) {
    const auto offered = offer(from, R"({"task":"do it"})");
    EXPECT_EQ(outcome(offered), "taken");
    const auto claimed = claim(text_at(offered, "/handoff/id"));
    EXPECT_EQ(outcome(claimed), "taken");
    return text_at(claimed, "/session/id");
  }
  std::string kill(const Mutation& by, workflow::Scope scope, const std::string& session) {
    return outcome(ask(
        [&](Answered done) { fixture_.cases().kill_workflow(by, {workflow_, session, scope, {}}, std::move(done)); }));
  }
  static Mutation by(const std::string& session) { return in_session(as("alice"), session); }
  std::string propose(const std::string& session, const std::string& call) {
    return text_at(
        ask([&](Answered done) {
          fixture_.cases().govern_call(
              by(session), session,
              R"({"calls":[{"call_id":")" + call + R"(","tool":"edit","arguments":{"k":1,"by":")" + call + R"("}}]})",
              std::move(done));
        }),
        "/calls/0/verdict");
  }
  Result<Answer> start(const std::string& session, const std::string& call) {
    return ask([&](Answered done) {
      fixture_.cases().start_call(by(session), session, R"({"call_id":")" + call + "\"}", std::move(done));
    });
  }
  Result<Answer> settle(const std::string& session, const std::string& call) {
    return ask([&](Answered done) {
      fixture_.cases().settle_call(by(session), session, R"({"call_id":")" + call + R"(","result":"ok","output":{}})",
                                   std::move(done));
    });
  }
  std::string standing_of(const std::string& session) {
    const auto shown = fixture_.cases().show_session(session);
    return shown && *shown ? text_at(**shown, "/governed/standing") : "none";
  }
  json::Value shown() { return *(*fixture_.cases().show_workflow(workflow_))->find("workflow"); }

  CasesFixture fixture_;
  std::string boss_, workflow_;
};

INSTANTIATE_TEST_SUITE_P(Backends, Family, ::testing::ValuesIn(store::backends()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(Family, who_waits_for_its_turn_is_woken_and_records_nothing_meanwhile) {
  begin("");
  const std::string x = hand_of(boss_), y = hand_of(boss_);
  EXPECT_EQ(propose(x, "x1"), "allow");
  EXPECT_EQ(propose(y, "y1"), "allow");
  EXPECT_EQ(text_at(start(x, "x1"), "/verdict"), "allow");
  WaitingStarts waiting(fixture_.cases());
  const auto wait_for = [&](std::chrono::milliseconds longest, std::promise<Result<Answer>>& told) {
    return waiting.add(by(y), y, R"({"call_id":"y1"})", longest,
                       [&](Result<Answer> answer) { told.set_value(std::move(answer)); });
  };
  const auto wake = [&](const std::string& stream) {
    waiting.see(std::make_shared<const std::vector<FedEntry>>(
        std::vector<FedEntry>{{1, stream, "session.call_settled", "alice", "agent", "{}", 0}}));
  };
  // Its time is over, or nobody wants the answer any more: it is told that it is busy, as at first.
  std::promise<Result<Answer>> late, gone, served, stopped;
  wait_for(std::chrono::milliseconds(20), late);
  EXPECT_EQ(text_at(late.get_future().get(), "/reason"), "resource_busy");
  const auto cancel = wait_for(std::chrono::seconds(60), gone);
  while (waiting.waiting() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  cancel();
  EXPECT_EQ(text_at(gone.get_future().get(), "/reason"), "resource_busy");
  // Woken when it is not its turn, it looks and goes on waiting.
  wait_for(std::chrono::seconds(60), served);
  while (waiting.waiting() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const std::size_t started = fixture_.count_entries("session.call_started");
  for (int i = 0; i < 5; ++i) wake("session/" + x);
  EXPECT_EQ(text_at(settle(x, "x1"), "/state"), "committed");
  wake("session/" + x);
  EXPECT_EQ(text_at(served.get_future().get(), "/verdict"), "allow");
  EXPECT_EQ(fixture_.count_entries("session.call_started"), started + 1);
  // Whoever waits when the node stops is told.
  EXPECT_EQ(propose(x, "x2"), "allow");
  waiting.add(by(x), x, R"({"call_id":"x2"})", std::chrono::seconds(60),
              [&](Result<Answer> answer) { stopped.set_value(std::move(answer)); });
  while (waiting.waiting() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  waiting.stop();
  EXPECT_EQ(text_at(stopped.get_future().get(), "/reason"), "resource_busy");
  fixture_.expect_whole();
}

TEST_P(Family, who_waited_and_asks_again_gets_the_first_answer) {
  begin("");
  const std::string x = hand_of(boss_), y = hand_of(boss_);
  EXPECT_EQ(propose(x, "x1"), "allow");
  EXPECT_EQ(propose(y, "y1"), "allow");
  EXPECT_EQ(text_at(start(x, "x1"), "/verdict"), "allow");
  WaitingStarts waiting(fixture_.cases());
  Mutation keyed = by(y);
  keyed.idempotency_key = "the-only-one";
  keyed.request_sha256 = "of the request";
  const auto wait = [&](std::chrono::milliseconds longest) {
    return ask([&](Answered done) { waiting.add(keyed, y, R"({"call_id":"y1"})", longest, std::move(done)); });
  };
  // That it is busy is not the answer to the key: whoever asks again waits again.
  EXPECT_EQ(text_at(wait(std::chrono::milliseconds(20)), "/reason"), "resource_busy");
  EXPECT_EQ(text_at(settle(x, "x1"), "/state"), "committed");
  const auto first = wait(std::chrono::seconds(60));
  EXPECT_EQ(text_at(first, "/verdict"), "allow");
  EXPECT_FALSE(first->replayed);
  // The answer was lost on its way. It began once.
  const std::size_t started = fixture_.count_entries("session.call_started");
  const auto second = wait(std::chrono::seconds(60));
  EXPECT_EQ(text_at(second, "/verdict"), "allow");
  EXPECT_TRUE(second->replayed);
  EXPECT_EQ(second->entry->sequence, first->entry->sequence);
  EXPECT_EQ(fixture_.count_entries("session.call_started"), started);
  fixture_.expect_whole();
}

TEST_P(Family, one_question_to_two_nodes_at_once_has_one_answer) {
  begin("");
  UseCases& first = fixture_.cases();
  UseCases& second = fixture_.other_cases();
  for (int round = 0; round < 20; ++round) {
    const std::string handoff = text_at(offer(boss_, R"({"task":"do it"})"), "/handoff/id");
    Mutation keyed = as("alice");
    keyed.idempotency_key = "claim-" + std::to_string(round);
    keyed.request_sha256 = "of the request";
    std::promise<Result<Answer>> told[2];
    first.claim_handoff(keyed, {handoff, {}}, [&](Result<Answer> answer) { told[0].set_value(std::move(answer)); });
    second.claim_handoff(keyed, {handoff, {}}, [&](Result<Answer> answer) { told[1].set_value(std::move(answer)); });
    const auto one = told[0].get_future().get(), other = told[1].get_future().get();
    ASSERT_EQ(outcome(one), "taken") << round;
    ASSERT_EQ(outcome(other), "taken") << round;
    EXPECT_EQ(text_at(one, "/session/id"), text_at(other, "/session/id"));
    EXPECT_NE(one->replayed, other->replayed);
    const std::string session = text_at(one, "/session/id");
    ASSERT_EQ(outcome(ask([&](Answered done) { first.close_session(by(session), session, std::move(done)); })),
              "taken");
  }
  fixture_.expect_whole();
}

TEST_P(Family, what_two_nodes_decide_at_once_is_what_the_rules_say_of_the_order_they_are_recorded_in) {
  begin("");
  const std::string holder = hand_of(boss_), both = hand_of(boss_), one = hand_of(boss_);
  const auto propose_on = [&](const std::string& session, const std::string& call, const std::string& arguments) {
    return text_at(ask([&](Answered done) {
                     fixture_.cases().govern_call(
                         by(session), session,
                         R"({"calls":[{"call_id":")" + call + R"(","tool":"edit","arguments":)" + arguments + "}]}",
                         std::move(done));
                   }),
                   "/calls/0/verdict");
  };
  ASSERT_EQ(propose_on(holder, "h", R"({"o":1})"), "allow");
  ASSERT_EQ(text_at(start(holder, "h"), "/verdict"), "allow");
  // The second of its keys is free, or is not, when it is told to wait for the first: nobody has a row of it yet.
  for (int round = 0; round < 12; ++round) {
    const std::string number = std::to_string(round), waits = "b" + number, begins = "o" + number;
    ASSERT_EQ(propose_on(both, waits, R"({"o":1,"k":)" + number + "}"), "allow");
    ASSERT_EQ(propose_on(one, begins, R"({"k":)" + number + "}"), "allow");
    std::promise<Result<Answer>> told[2];
    fixture_.cases().start_call(by(one), one, R"({"call_id":")" + begins + "\"}",
                                [&](Result<Answer> answer) { told[0].set_value(std::move(answer)); });
    fixture_.other_cases().start_call(by(both), both, R"({"call_id":")" + waits + "\"}",
                                      [&](Result<Answer> answer) { told[1].set_value(std::move(answer)); });
    EXPECT_EQ(text_at(told[0].get_future().get(), "/verdict"), "allow");
    EXPECT_EQ(text_at(told[1].get_future().get(), "/reason"), "resource_busy");
  }
  fixture_.expect_whole();
}

TEST_P(Family, artifacts_are_read_by_whom_they_were_handed_to) {
  begin("");
  const std::string secret = "ghp_" + std::string("abcdefghijklmnopqrstuvwxyz") + "0123456789";
  EXPECT_EQ(outcome(offer(boss_, R"({"task":null})")), "handoff_artifact_missing");
  EXPECT_EQ(outcome(offer(boss_, R"({"task":")" + secret + "\"}")), "LEDGER_SECRET");
  const auto offered = offer(boss_, R"({"task":"read the plan","plan":{"steps":[1,2]},"none":null})");
  ASSERT_EQ(outcome(offered), "taken");
  const std::string child = text_at(claim(text_at(offered, "/handoff/id")), "/session/id");
  const std::string other = hand_of(boss_);
  const auto read = [&](const std::string& who, const std::string& session, const std::string& name) {
    return fixture_.cases().artifacts(by(who).caller, session, name);
  };
  EXPECT_EQ(text_at(read(child, child, ""), "/artifacts/0/name"), "task");
  EXPECT_EQ(text_at(read(child, child, ""), "/artifacts/1/type"), "application/json");
  EXPECT_EQ(text_at(read(child, child, ""), "/artifacts/2"), "(nothing)");
  EXPECT_EQ(text_at(read(child, child, "task"), "/artifact/content"), "read the plan");
  EXPECT_EQ(text_at(read(child, child, "plan"), "/artifact/content/steps"), "[1,2]");
  EXPECT_EQ(outcome(read(child, child, "none")), "ARTIFACT_UNKNOWN");
  EXPECT_EQ(outcome(read(other, child, "task")), "SESSION_NOT_YOURS");
  EXPECT_EQ(outcome(read(other, other, "plan")), "ARTIFACT_UNKNOWN");
  EXPECT_EQ(outcome(read(boss_, "nobody", "task")), "SESSION_WORKFLOW");
  fixture_.for_entries(
      [&](const store::EntryRow& row) { EXPECT_EQ(row.payload.find(secret), std::string_view::npos) << row.sequence; });
  fixture_.expect_whole();
}

// --- documents between roles ------------------------------------------------------------------------------------------------------------

class Documents : public Family {
 protected:
  static Mutation known(const std::string& actor, const std::string& session = {}) {
    Mutation out = session.empty() ? as(actor) : in_session(as(actor), session);
    out.caller.actor.names = {"agt_" + actor};
    return out;
  }
  std::string agent_of(const std::string& session) {
    const auto shown = fixture_.cases().show_session(session);
    return shown && *shown ? text_at(**shown, "/agent_id") : "none";
  }
  Result<Answer> say(const std::string& session, std::string text) {
    return fixture_.hand_off(known("alice", session), session, std::move(text));
  }
  // A block of that session; `next` is whom it names, `task` what its evidence holds.
  std::string block(const std::string& session, std::string_view status, const std::string& next = {}) {
    return contract(agent_of(session), status,
                    next.empty()
                        ? std::string()
                        : R"(,"consolidation_report":{"ownership_assessment":"owned_here","confirmed_findings":[],)"
                          R"("suspected_findings":[],"conflicts":[],"open_gaps":[],"next_best_agent":")" +
                              next + "\"}");
  }
  // A packet for a role, whose evidence has what the workflow wants.
  std::string for_role(const std::string& role, const std::string& number, std::string_view evidence) {
    PacketParts parts;
    parts.message_id = "msg_handoff_" + number;
    parts.key = "idem_handoff_" + number;
    parts.target = "agt_" + role;
    const auto document = json::parse_owned(packet(parts, fixture_.clock().now()));
    json::Value out = json::Value::copy(document->root());
    out.set_at("/target/role", role);
    out.set_at("/body/evidence_refs", json::Value::copy(json::parse_owned(std::string(evidence))->root()));
    return json::write(*uaix::seal(out));
  }
  std::string ack(const std::string& of, std::string_view decision, const std::string& from,
                  const std::string& number) {
    PacketParts parts;
    parts.message_id = "msg_ack_" + number;
    parts.key = "idem_ack_" + number;
    parts.source = "agt_" + from;
    parts.target = "agt_alice";
    const auto document = json::parse_owned(packet(parts, fixture_.clock().now()));
    json::Value out = json::Value::copy(document->root());
    out.set("profile", "uai.agent.ack.v1");
    json::Value body = json::Value::object();
    body.set("task_id", "task_demo_01");
    body.set("acknowledged_message_id", of);
    body.set("decision", decision);
    body.set("support_boundary", "The target does the work.");
    out.set("body", std::move(body));
    out.set_at("/delivery/expected_output_schema/profile", "uai.agent.task-status.v1");
    return json::write(*uaix::seal(out));
  }
  Result<Answer> acknowledge(const Mutation& by, std::string text) {
    return ask([&](Answered done) { fixture_.cases().acknowledge(by, std::move(text), std::move(done)); });
  }
};

INSTANTIATE_TEST_SUITE_P(Backends, Documents, ::testing::ValuesIn(store::backends()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(Documents, a_childs_last_word_ends_the_child_and_completes_its_handoff) {
  begin("");
  for (const char* status : {"COMPLETE", "BLOCKED"}) {
    const std::string child = hand_of(boss_);
    EXPECT_EQ(text_at(say(child, block(child, "IN_PROGRESS")), "/standing"), "open");
    EXPECT_EQ(outcome(say(child, contract("a0123456789abcdef", status))), "HANDOFF_AGENT_ID_MISMATCH");
    const std::string last = block(child, status);
    const auto said = say(child, last);
    EXPECT_EQ(outcome(said), "taken") << status;
    EXPECT_EQ(text_at(said, "/handoff/mode"), "delegate");
    EXPECT_EQ(text_at(said, "/standing"), "closed");
    EXPECT_EQ(standing_of(child), "closed");
    EXPECT_EQ(standing_of(boss_), "open") << "it is the child's last word, not the workflow's";
    const auto again = say(child, last);
    EXPECT_EQ(outcome(again), "taken") << "the same document is answered as before";
    EXPECT_TRUE(again && again->replayed);
    EXPECT_EQ(text_at(again, "/handoff/id"), text_at(said, "/handoff/id"));
    EXPECT_EQ(outcome(say(child, contract(agent_of(child), status, R"(,"user_facing_summary":"more")"))),
              "session_closed");
  }
  EXPECT_EQ(text_at(shown(), "/open_handoffs"), "0");
  fixture_.expect_whole();
}

TEST_P(Documents, a_childs_last_word_gives_its_item_back_as_it_is) {
  begin("");
  const std::string item = fixture_.create_in(work::Phase::Implementation);
  const auto leased = fixture_.claim(known("alice"), item);
  ASSERT_EQ(outcome(leased), "taken");
  const std::string child = text_at(leased, "/session/id");
  ClaimHandoff asked{text_at(offer(boss_, R"({"task":"do it"})"), "/handoff/id"), {}};
  asked.session.session_id = child;
  ASSERT_EQ(outcome(ask([&](Answered done) { fixture_.cases().claim_handoff(as("alice"), asked, std::move(done)); })),
            "taken");
  const auto said = say(child, block(child, "COMPLETE"));
  EXPECT_EQ(outcome(said), "taken");
  EXPECT_EQ(text_at(said, "/handoff/mode"), "delegate");
  EXPECT_EQ(fixture_.phase_of(item), "IMPLEMENTATION") << "that the item is complete is for the parent to say";
  EXPECT_EQ(standing_of(child), "closed");
  EXPECT_EQ(text_at(shown(), "/open_handoffs"), "0");
  EXPECT_EQ(outcome(fixture_.claim(as("bob"), item)), "taken") << "nobody holds it any more";
  fixture_.expect_whole();
}

TEST_P(Documents, nobody_is_done_while_a_call_is_not) {
  begin("");
  const std::string child = hand_of(boss_);
  EXPECT_EQ(propose(child, "c1"), "allow");
  EXPECT_EQ(text_at(start(child, "c1"), "/verdict"), "allow");
  EXPECT_EQ(outcome(say(child, block(child, "COMPLETE"))), "EXIT_CALLS_OPEN");
  EXPECT_EQ(outcome(say(child, signal("IMPLEMENTATION"))), "EXIT_CALLS_OPEN");
  EXPECT_EQ(standing_of(child), "open");
  EXPECT_EQ(text_at(settle(child, "c1"), "/state"), "committed");
  const auto said = say(child, signal("IMPLEMENTATION"));
  EXPECT_EQ(outcome(said), "taken")
      << "without a work item there is no phase to complete: the signal closes the session";
  EXPECT_EQ(text_at(said, "/standing"), "closed");
  const std::string other = hand_of(boss_);
  EXPECT_EQ(propose(other, "c2"), "allow");
  EXPECT_EQ(text_at(start(other, "c2"), "/verdict"), "allow");
  EXPECT_EQ(outcome(say(other, signal("IMPLEMENTATION", "blocked"))), "taken") << "whoever is stuck may say so";
  EXPECT_EQ(standing_of(other), "closed");
  fixture_.expect_whole();
}

TEST_P(Documents, a_block_that_names_a_role_offers_by_the_rules_of_the_workflow) {
  begin("");
  const std::string child = hand_of(boss_);
  // boss -> hand needs the artifact `task`, which no block has; hand -> hand needs none.
  EXPECT_EQ(outcome(say(boss_, block(boss_, "IN_PROGRESS", "hand"))), "handoff_artifact_missing");
  EXPECT_EQ(outcome(say(child, block(child, "IN_PROGRESS", "boss"))), "handoff_not_declared");
  const std::string other = hand_of(boss_);
  EXPECT_EQ(text_at(say(other, block(other, "IN_PROGRESS", "somebody_else")), "/offered"), "(nothing)")
      << "that is no role of the workflow";
  const auto offered = say(child, block(child, "IN_PROGRESS", "hand"));
  EXPECT_EQ(outcome(offered), "taken");
  EXPECT_EQ(text_at(offered, "/handoff/mode"), "delegate");
  EXPECT_EQ(text_at(offered, "/offered/from"), child);
  EXPECT_EQ(standing_of(child), "open");
  const auto claimed = claim(text_at(offered, "/offered/id"));
  EXPECT_EQ(outcome(claimed), "taken");
  const std::string below = text_at(claimed, "/session/id");
  const auto evidence = fixture_.cases().artifacts(by(below).caller, below, "evidence_report");
  EXPECT_EQ(text_at(evidence, "/artifact/content/verification/result"), "pass");
  // The last word of a child hands on in the name of the one it works for, and outlives it.
  const auto last = say(below, block(below, "COMPLETE", "hand"));
  EXPECT_EQ(outcome(last), "taken");
  EXPECT_EQ(text_at(last, "/offered/from"), child);
  EXPECT_EQ(text_at(last, "/standing"), "closed");
  const auto next = claim(text_at(last, "/offered/id"));
  EXPECT_EQ(outcome(next), "taken");
  // Of the first session there is nobody left.
  EXPECT_EQ(outcome(say(child, block(child, "COMPLETE"))), "taken");
  const auto root = say(boss_, block(boss_, "COMPLETE", "hand"));
  EXPECT_EQ(outcome(root), "taken");
  EXPECT_EQ(text_at(root, "/warnings/0/code"), "HANDOFF_NOT_OFFERED");
  EXPECT_EQ(text_at(root, "/offered"), "(nothing)");
  fixture_.expect_whole();
}

TEST_P(Documents, a_packet_for_a_role_is_an_offer_and_its_acknowledgement_the_claim) {
  begin("");
  const std::string evidence = R"(["reports/task.md","urn:demo:log#plan"])";
  EXPECT_EQ(outcome(say(boss_, for_role("hand", "0001", R"(["reports/other.md"])"))), "handoff_artifact_missing");
  EXPECT_EQ(outcome(say(boss_, for_role("nobody", "0002", evidence))), "handoff_not_declared");
  const auto stranger = fixture_.hand_off(by(boss_), boss_, for_role("hand", "0003", evidence));
  EXPECT_EQ(text_at(stranger, "/attributed"), "false");
  EXPECT_EQ(text_at(stranger, "/offered"), "(nothing)");
  const std::string text = for_role("hand", "0004", evidence);
  const auto offered = say(boss_, text);
  EXPECT_EQ(outcome(offered), "taken");
  EXPECT_EQ(text_at(offered, "/handoff/mode"), "delegate");
  EXPECT_EQ(text_at(offered, "/offered/to"), "hand");
  EXPECT_EQ(text_at(offered, "/offered/message_id"), "msg_handoff_0004");
  EXPECT_EQ(standing_of(boss_), "open");
  const auto again = say(boss_, text);
  EXPECT_TRUE(again && again->replayed);
  EXPECT_EQ(text_at(shown(), "/open_handoffs"), "1") << "sent again it is no second offer";

  EXPECT_EQ(outcome(acknowledge(known("mallory"), ack("msg_handoff_0004", "accept", "hand", "0001"))),
            "UAIX_UNATTRIBUTED");
  EXPECT_EQ(outcome(acknowledge(known("mallory"), ack("msg_handoff_0004", "accept", "mallory", "0002"))),
            "UAIX_UNATTRIBUTED");
  EXPECT_EQ(outcome(acknowledge(known("hand"), ack("msg_handoff_9999", "accept", "hand", "0003"))), "HANDOFF_UNKNOWN");
  EXPECT_EQ(outcome(acknowledge(known("hand"), ack("msg_handoff_0004", "escalate", "hand", "0004"))),
            "HANDOFF_DIALECT_NOT_TAKEN");
  EXPECT_EQ(outcome(acknowledge(known("hand"), "{}")), "UAIX_FIELD_MISSING");
  EXPECT_EQ(text_at(acknowledge(known("hand"), ack("msg_handoff_0004", "defer", "hand", "0005")), "/handoff/stage"),
            "offered");
  const std::string yes = ack("msg_handoff_0004", "accept", "hand", "0006");
  const auto claimed = acknowledge(known("hand"), yes);
  EXPECT_EQ(outcome(claimed), "taken");
  EXPECT_EQ(text_at(claimed, "/handoff/stage"), "claimed");
  const std::string child = text_at(claimed, "/session/id");
  EXPECT_EQ(standing_of(child), "open");
  EXPECT_EQ(text_at(fixture_.cases().artifacts(by(child).caller, child, "task"), "/artifact/content"),
            "reports/task.md");
  EXPECT_EQ(text_at(fixture_.cases().artifacts(by(child).caller, child, "plan"), "/artifact/content"),
            "urn:demo:log#plan");
  const auto twice = acknowledge(known("hand"), yes);
  EXPECT_TRUE(twice && twice->replayed);
  EXPECT_EQ(text_at(shown(), "/sessions"), "2") << "one packet claims once";
  EXPECT_EQ(outcome(acknowledge(known("hand"), ack("msg_handoff_0004", "accept", "hand", "0007"))), "handoff_not_open");

  EXPECT_EQ(outcome(say(boss_, for_role("hand", "0005", evidence))), "taken");
  EXPECT_EQ(text_at(acknowledge(known("hand"), ack("msg_handoff_0005", "reject", "hand", "0008")), "/handoff/stage"),
            "declined");
  fixture_.expect_whole();
}

TEST_P(Documents, the_labels_of_a_packet_are_its_sessions) {
  begin("");
  PacketParts parts;
  parts.labels = R"(["secret_plan"])";
  parts.target = "agt_hand";
  const auto stranger = fixture_.hand_off(by(boss_), boss_, packet(parts, fixture_.clock().now()));
  EXPECT_EQ(text_at(stranger, "/attributed"), "false");
  const auto shown = fixture_.cases().show_session(boss_);
  EXPECT_EQ(text_at(**shown, "/governed/labels"), R"(["external","secret_plan"])");
  fixture_.expect_whole();
}

TEST_P(Documents, what_an_agent_asks_without_an_item_a_person_decides) {
  begin("");
  const std::string child = hand_of(boss_);
  const std::string asked =
      contract(agent_of(child), "APPROVAL_REQUEST",
               R"(,"approval_request":{"operation":"deploy","exact_content":"make deploy",)"
               R"("scope":"web","risk_level":"HIGH","rollback":"make undo","verification":"curl"})");
  EXPECT_EQ(outcome(say(child, asked)), "taken");
  const auto waiting = fixture_.cases().list_approvals("pending", 10);
  ASSERT_TRUE(waiting.has_value());
  const std::string id = text_at(*waiting, "/approvals/0/id"), digest = text_at(*waiting, "/approvals/0/digest");
  const auto decided = ask([&](Answered done) {
    fixture_.cases().decide_approval(as_operator(), {id, true, digest, "go on"}, std::move(done));
  });
  EXPECT_EQ(outcome(decided), "taken");
  EXPECT_EQ(text_at(decided, "/approval/state"), "approved");
  EXPECT_EQ(standing_of(child), "open");
  fixture_.expect_whole();
}

TEST_P(Family, an_agent_ends_what_is_below_it_and_an_operator_anything) {
  begin("  cancellation: {subtree_kill: true, workflow_kill: operator_only}\n");
  const std::string x = hand_of(boss_), y = hand_of(boss_), below = hand_of(x);
  EXPECT_EQ(kill(by(x), workflow::Scope::Session, y), "kill_not_permitted");
  EXPECT_EQ(kill(by(x), workflow::Scope::Subtree, boss_), "kill_not_permitted");
  EXPECT_EQ(kill(as("alice"), workflow::Scope::Session, x), "kill_not_permitted");
  EXPECT_EQ(kill(by(boss_), workflow::Scope::Workflow, ""), "kill_not_permitted");
  EXPECT_EQ(kill(as_operator(), workflow::Scope::Session, "ses_none"), "SESSION_UNKNOWN");
  EXPECT_EQ(standing_of(y), "open");
  EXPECT_EQ(kill(by(boss_), workflow::Scope::Subtree, x), "taken");
  EXPECT_EQ(standing_of(x), "killed");
  EXPECT_EQ(standing_of(below), "killed");
  EXPECT_EQ(kill(by(boss_), workflow::Scope::Subtree, x), "taken") << "it is done already";
  EXPECT_EQ(kill(as_operator(), workflow::Scope::Workflow, ""), "taken");
  EXPECT_EQ(standing_of(boss_), "killed");
  EXPECT_EQ(standing_of(y), "killed");
  EXPECT_EQ(text_at(shown(), "/standing"), "killed");
  EXPECT_EQ(text_at(shown(), "/active"), "0");
  EXPECT_EQ(text_at(shown(), "/open_handoffs"), "0");
  fixture_.expect_whole();
}

TEST_P(Family, a_session_that_holds_a_lease_can_be_one_and_its_item_is_blocked_when_it_is_killed) {
  begin("  cancellation: {subtree_kill: true}\n");
  const std::string item = fixture_.create_in(work::Phase::Implementation);
  const auto leased = fixture_.claim(as("alice"), item);
  ASSERT_EQ(outcome(leased), "taken");
  const auto offered = offer(boss_, R"({"task":"do it"})");
  ClaimHandoff asked{text_at(offered, "/handoff/id"), {}};
  asked.session.session_id = text_at(leased, "/session/id");
  const auto claimed = ask([&](Answered done) { fixture_.cases().claim_handoff(as("alice"), asked, std::move(done)); });
  ASSERT_EQ(outcome(claimed), "taken");
  EXPECT_EQ(text_at(claimed, "/session/id"), text_at(leased, "/session/id"));
  EXPECT_EQ(kill(as_operator(), workflow::Scope::Subtree, boss_), "taken");
  EXPECT_EQ(fixture_.phase_of(item), "BLOCKED");
  fixture_.expect_whole();
}

TEST_P(Family, labels_come_back_to_the_parent_and_to_its_item) {
  begin("");
  const std::string item = fixture_.create_in(work::Phase::Implementation);
  const auto leased = fixture_.claim(as("alice"), item);
  ClaimHandoff asked{text_at(offer(boss_, R"({"task":"do it"})"), "/handoff/id"), {}};
  asked.session.session_id = text_at(leased, "/session/id");
  ASSERT_EQ(outcome(ask([&](Answered done) { fixture_.cases().claim_handoff(as("alice"), asked, std::move(done)); })),
            "taken");
  const std::string parent = asked.session.session_id, child = hand_of(parent);
  ASSERT_EQ(
      outcome(ask([&](Answered done) { fixture_.cases().add_label(by(child), child, "tainted", std::move(done)); })),
      "taken");
  EXPECT_EQ(text_at(fixture_.show(item), "/labels"), "(nothing)");
  ASSERT_EQ(outcome(ask([&](Answered done) { fixture_.cases().close_session(by(child), child, std::move(done)); })),
            "taken");
  EXPECT_EQ(text_at(fixture_.show(item), "/labels"), R"(["tainted"])");
  const auto shown = fixture_.cases().show_session(parent);
  EXPECT_EQ(text_at(**shown, "/governed/labels"), R"(["tainted"])");
  fixture_.expect_whole();
}

TEST_P(Family, the_end_of_a_lease_frees_what_its_session_held) {
  if (!fixture_.has_our_clock()) GTEST_SKIP() << "a server's clock cannot be turned";
  begin("", "single_writer");
  const std::string item = fixture_.create_in(work::Phase::Implementation);
  const auto leased = fixture_.claim(as("alice"), item);
  ClaimHandoff asked{text_at(offer(boss_, R"({"task":"do it"})"), "/handoff/id"), {}};
  asked.session.session_id = text_at(leased, "/session/id");
  ASSERT_EQ(outcome(ask([&](Answered done) { fixture_.cases().claim_handoff(as("alice"), asked, std::move(done)); })),
            "taken");
  const std::string x = asked.session.session_id, y = hand_of(boss_);
  EXPECT_EQ(propose(x, "x1"), "allow");
  EXPECT_EQ(propose(y, "y1"), "block") << "x writes it";
  EXPECT_EQ(text_at(start(x, "x1"), "/verdict"), "allow");
  fixture_.clock_.advance(3600 * kNanosecondsPerSecond);
  EXPECT_EQ(outcome(fixture_.sweep()), "taken");
  EXPECT_EQ(standing_of(x), "killed");
  EXPECT_EQ(propose(y, "y2"), "block") << "nobody knows whether x writes it";
  ASSERT_EQ(outcome(ask([&](Answered done) {
              fixture_.cases().settle_call(as_operator(), x, R"({"call_id":"x1","result":"error"})", std::move(done));
            })),
            "taken");
  EXPECT_EQ(propose(y, "y3"), "allow");
  fixture_.expect_whole();
}

TEST_P(Family, an_offer_that_nobody_claims_in_time_is_over) {
  if (!fixture_.has_our_clock()) GTEST_SKIP() << "a server's clock cannot be turned";
  begin("  workflow_limits: {max_open_handoffs: 1}\n");
  const auto offered = offer(boss_, R"({"task":"do it"})", 60);
  EXPECT_EQ(outcome(offer(boss_, R"({"task":"do it"})")), "workflow_limit_exceeded");
  fixture_.clock_.advance(61 * kNanosecondsPerSecond);
  EXPECT_EQ(outcome(claim(text_at(offered, "/handoff/id"))), "handoff_not_open") << "also before anybody swept";
  EXPECT_EQ(outcome(fixture_.sweep()), "taken");
  EXPECT_EQ(text_at(shown(), "/handoffs/0/stage"), "expired");
  EXPECT_EQ(outcome(offer(boss_, R"({"task":"do it"})")), "taken");
  fixture_.expect_whole();
}

TEST_P(Family, what_was_spent_counts_however_late_it_is_told) {
  begin("  workflow_limits: {max_total_cost: 1}\n");
  const std::string x = hand_of(boss_), y = hand_of(boss_);
  ASSERT_EQ(outcome(ask([&](Answered done) { fixture_.cases().close_session(by(x), x, std::move(done)); })), "taken");
  const auto told = ask([&](Answered done) {
    fixture_.cases().report_cost(by(x), x, json::Decimal::from_number("1.5"), std::move(done));
  });
  EXPECT_EQ(outcome(told), "taken");
  EXPECT_EQ(propose(y, "y1"), "block");
  EXPECT_EQ(text_at(shown(), "/cost"), "1.5");
  fixture_.expect_whole();
}

TEST_P(Family, an_estimate_that_is_none_makes_no_room) {
  begin("  workflow_limits: {max_total_cost: 1}\n");
  const std::string x = hand_of(boss_), y = hand_of(boss_);
  const auto step = [&](const std::string& session, const std::string& call, const std::string& estimate) {
    return ask([&](Answered done) {
      fixture_.cases().govern_call(by(session), session,
                                   R"({"calls":[{"call_id":")" + call + R"(","tool":"edit","arguments":{"k":1,"by":")" +
                                       call + R"("}}],"estimate":)" + estimate + "}",
                                   std::move(done));
    });
  };
  for (const char* estimate : {"-5", "-0.001", "\"0.5\"", "null", "true"}) {
    EXPECT_EQ(outcome(step(x, "x1", estimate)), "SESSION_OPTIONS") << estimate;
    const auto asked = fixture_.cases().preflight(by(x).caller, x, std::string(R"({"estimate":)") + estimate + "}");
    EXPECT_EQ(outcome(asked), "SESSION_OPTIONS") << estimate;
  }
  EXPECT_EQ(text_at(step(x, "x1", "0.75"), "/calls/0/verdict"), "allow");
  EXPECT_EQ(text_at(step(y, "y1", "0.5"), "/calls/0/reason"), "workflow_limit_exceeded");
  EXPECT_EQ(text_at(step(y, "y2", "0.25"), "/calls/0/verdict"), "allow");
  EXPECT_EQ(text_at(shown(), "/reserved"), "1");
  fixture_.expect_whole();
}

TEST_P(Family, a_forged_claim_is_found) {
  begin("  workflow_limits: {max_active_sessions: 2}\n");
  hand_of(boss_);
  const auto offered = offer(boss_, R"({"task":"do it"})");
  EXPECT_EQ(outcome(claim(text_at(offered, "/handoff/id"))), "workflow_limit_exceeded");
  fixture_.expect_whole();
  std::string opening;
  fixture_.for_entries([&](const store::EntryRow& row) {
    if (row.type == "session.opened") opening = row.payload;
  });
  const auto forged = fixture_.ledger_->writer().run([&](Unit& unit) -> Result<void> {
    json::Value payload = json::Value::copy(json::parse_owned(opening)->root());
    payload.set("session_id", "ses_forged");
    payload.set("handoff_id", text_at(offered, "/handoff/id"));
    Happening opened{"session/ses_forged", "session.opened", {"alice", ledger::ActorKind::Agent}};
    opened.payload = std::move(payload);
    opened.exempt = {"/session_id", "/handoff_id", "/workflow_id", "/parent", "/pack", "/agent_id"};
    if (auto done = unit.append(opened); !done) return done;
    Happening claimed{"workflow/" + workflow_, "workflow.claimed", {"alice", ledger::ActorKind::Agent}};
    claimed.payload.set("workflow_id", workflow_);
    claimed.payload.set("handoff_id", text_at(offered, "/handoff/id"));
    claimed.payload.set("session_id", "ses_forged");
    claimed.payload.set("at", "2027-01-15T08:00:00Z");
    claimed.exempt = {"/workflow_id", "/handoff_id"};
    return unit.append(claimed);
  });
  ASSERT_TRUE(forged) << forged.error().text();
  const auto scratch = store::make_memory_store(fixture_.clock_);
  const auto rebuilt = rebuild_and_compare(fixture_.store(), *scratch);
  ASSERT_TRUE(rebuilt) << rebuilt.error().text();
  ASSERT_TRUE(rebuilt->difference);
  EXPECT_NE(rebuilt->difference->message.find("workflow_limit_exceeded"), std::string::npos)
      << rebuilt->difference->message;
}

// --- many at once -----------------------------------------------------------------------------------------------------------------------

constexpr const char* kMode[] = {"single_writer", "serial_only", "exclusive_pending"};

// A workflow with one shared resource: everybody writes `k`.
contract::WorkflowSource shared_by_all(const std::string& mode) {
  const contract::SourceFile file{
      "a.yaml",
      "scenario: a\nworkflow:\n  roles: [{name: boss, session_contract: boss.yaml}, {name: hand, session_contract: "
      "hand.yaml}]\n"
      "  handoffs: [{from: boss, to: hand, parent_close_policy: abandon}, {from: hand, to: hand, parent_close_policy: "
      "terminate}]\n"
      "  shared_resources: [{alias: thing, mode: " +
          mode +
          "}]\n  workflow_limits: {max_total_steps: 100000, max_active_sessions: 17, max_open_handoffs: 40}\n"
          "  cancellation: {subtree_kill: true}\n"
          "packs:\n  boss: {contracts: [{tool: look}]}\n"
          "  hand: {session: {risk_defaults: {write: allow}, resources: {thing: {type: t, extract_from: {path: "
          "$.k}}}}, "
          "contracts: [{tool: edit, side_effect: write}]}\nevents: []\n"};
  const contract::CompiledScenario compiled = contract::compile_scenario(file, "");
  EXPECT_TRUE(compiled.workflow) << (compiled.findings.empty() ? "" : compiled.findings[0].diagnostic.message);
  return *compiled.source.workflow;
}

// What the ledger says happened, entry by entry, judged by nothing but the words of the three modes.
class Instants {
 public:
  explicit Instants(std::string mode) : mode_(std::move(mode)) {}

  void take(const store::EntryRow& row) {
    const auto document = json::parse(row.payload);
    const json::Node payload = document->root();
    const std::string session = text(payload, "session_id");
    if (row.type == "session.step")
      for (const json::Node call : payload["calls"].elements()) {
        if (!call["verdict"].is_text("allow")) continue;
        Call made{session, json::write(call["arguments"]["k"]), "pending"};
        if (mode_ == "exclusive_pending") {
          for (const auto& [id, other] : calls_)
            EXPECT_FALSE(other.key == made.key && other.session != session && is_open(other.state))
                << row.sequence << ": two sessions have calls on " << made.key;
        }
        if (mode_ == "single_writer") {
          const auto owner = owners_.find(made.key);
          EXPECT_TRUE(owner == owners_.end() || owner->second == session)
              << row.sequence << ": " << session << " writes what is " << owner->second << "'s";
          owners_[made.key] = session;
        }
        calls_[text(call, "call_id")] = made;
        ++allowed;
      }
    if (row.type == "session.call_started" && payload["verdict"].is_text("allow")) {
      Call& call = calls_[text(payload, "call_id")];
      if (mode_ == "serial_only") {
        for (const auto& [id, other] : calls_)
          EXPECT_FALSE(other.key == call.key && other.state == "executing" && id != text(payload, "call_id"))
              << row.sequence << ": two calls execute on " << call.key;
      }
      call.state = "executing";
      ++started;
    }
    if (row.type == "session.call_settled") {
      Call& call = calls_[text(payload, "call_id")];
      call.state = text(payload, "state");
      free_if_unused(call);
    }
    if (row.type == "session.ended") {
      ++ended;
      for (auto& [id, call] : calls_) {
        if (call.session != session) continue;
        call.state = call.state == "executing" ? "unknown" : call.state == "pending" ? "cancelled" : call.state;
      }
      over_.insert(session);
      for (auto& [id, call] : calls_)
        if (call.session == session) free_if_unused(call);
    }
  }

  std::size_t allowed = 0, started = 0, ended = 0;

 private:
  struct Call {
    std::string session, key, state;
  };
  static std::string text(json::Node node, std::string_view name) {
    return node[name].is_string() ? std::string(node[name].string()) : std::string();
  }
  static bool is_open(const std::string& state) {
    return state == "pending" || state == "executing" || state == "unknown";
  }
  // A session that is over owns what it may still be writing; one that is not, what it has written.
  void free_if_unused(const Call& call) {
    if (mode_ != "single_writer" || !owners_.contains(call.key) || owners_[call.key] != call.session) return;
    bool writing = false, wrote = false;
    for (const auto& [id, other] : calls_) {
      if (other.session != call.session || other.key != call.key) continue;
      writing = writing || other.state == "executing" || other.state == "unknown";
      wrote = wrote || other.state == "committed" || other.state == "pending";
    }
    if (over_.contains(call.session) ? !writing : !writing && !wrote) owners_.erase(call.key);
  }

  const std::string mode_;
  std::map<std::string, Call> calls_;
  std::map<std::string, std::string> owners_;
  std::set<std::string> over_;
};

// In the soak for so long; else a few rounds.
std::chrono::seconds how_long() {
  const char* seconds = std::getenv("BATON_SOAK_SECONDS");
  return std::chrono::seconds(seconds == nullptr ? 0 : std::atoi(seconds));
}
constexpr int kRounds = 4;

class Contention : public ::testing::TestWithParam<store::Backend> {
 protected:
  Contention() : fixture_(GetParam()) {}

  Result<Answer> offer(UseCases& node, const std::string& from, const std::string& to) {
    return ask([&](Answered done) {
      node.offer(in_session(as("alice"), from), from, {to, json::Value::object(), 0}, std::move(done));
    });
  }
  Result<Answer> claim(UseCases& node, const std::string& handoff) {
    return ask([&](Answered done) { node.claim_handoff(as("alice"), {handoff, {}}, std::move(done)); });
  }

  // One worker: offered by the first session, claims, edits and is ended in all the ways there are, again and again.
  void work(UseCases& node, const std::string& root, unsigned seed, std::chrono::steady_clock::time_point until) {
    std::uint32_t state = seed * 2654435761u + 1;
    const auto draw = [&](std::uint32_t below) {
      state = state * 1664525u + 1013904223u;
      return (state >> 8) % below;
    };
    for (int round = 0; round < kRounds || std::chrono::steady_clock::now() < until; ++round) {
      const auto offered = offer(node, root, "hand");
      if (outcome(offered) != "taken") continue;
      const auto claimed = claim(node, text_at(offered, "/handoff/id"));
      if (outcome(claimed) != "taken") continue;
      const std::string session = text_at(claimed, "/session/id");
      const Mutation by = in_session(as("alice"), session);
      std::vector<std::string> open;  // begun
      for (std::uint32_t i = 0; i < 3 + draw(6); ++i) {
        const std::string step = R"({"calls":[{"tool":"edit","arguments":{"k":)" + std::to_string(draw(3)) +
                                 R"(,"n":)" + std::to_string(draw(1000)) + "}}]}";
        const auto told = ask([&](Answered done) { node.govern_call(by, session, step, std::move(done)); });
        if (text_at(told, "/calls/0/verdict") != "allow") continue;
        const std::string call = text_at(told, "/calls/0/call_id");
        bool began = false;
        for (int tries = 0; tries < 200 && !began; ++tries) {
          const auto start = ask(
              [&](Answered done) { node.start_call(by, session, R"({"call_id":")" + call + "\"}", std::move(done)); });
          began = text_at(start, "/verdict") == "allow";
          if (text_at(start, "/reason") != "resource_busy") break;
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        // Who cannot begin, and who leaves a call as it is, goes: others wait behind it.
        if (!began) break;
        open.push_back(call);
        if (draw(8) == 0) break;
        const char* results[] = {R"("ok","output":{})", R"("ok","output":{})", R"("error")", R"("unknown")"};
        ask([&](Answered done) {
          node.settle_call(by, session, R"({"call_id":")" + call + R"(","result":)" + results[draw(4)] + "}",
                           std::move(done));
        });
      }
      const std::uint32_t end = draw(4);
      if (end == 0) ask([&](Answered done) { node.close_session(by, session, std::move(done)); });
      else {
        KillWorkflow asked;
        asked.session_id = session;
        asked.scope = end == 1 ? workflow::Scope::Subtree : workflow::Scope::Session;
        ask([&](Answered done) { node.kill_workflow(as_operator(), asked, std::move(done)); });
      }
      // An operator finds out what became of the rest.
      for (const std::string& call : open)
        ask([&](Answered done) {
          node.settle_call(
              as_operator(), session,
              R"({"call_id":")" + call + R"(","result":)" + (draw(2) == 0 ? R"("ok","output":{}})" : R"("error"})"),
              std::move(done));
        });
    }
  }

  CasesFixture fixture_;
};

INSTANTIATE_TEST_SUITE_P(Backends, Contention, ::testing::ValuesIn(store::backends()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(Contention, no_two_hold_one_thing_at_any_instant) {
  for (const std::string mode : kMode) {
    SCOPED_TRACE(mode);
    const auto active = ask([&](Answered done) {
      fixture_.cases().activate_workflow(as_operator(), shared_by_all(mode), "", std::move(done));
    });
    ASSERT_EQ(outcome(active), "taken");
    const auto started = ask([&](Answered done) {
      fixture_.cases().start_workflow(as_operator(), {text_at(active, "/pack"), "boss", {}}, std::move(done));
    });
    ASSERT_EQ(outcome(started), "taken");
    const std::string root = text_at(started, "/session/id"), workflow = text_at(started, "/workflow/id");
    const std::size_t before = fixture_.entry_types().size();
    UseCases& first = fixture_.cases();
    UseCases& second = fixture_.other_cases();
    const auto until = std::chrono::steady_clock::now() + how_long();
    {
      std::vector<std::jthread> threads;
      for (unsigned i = 0; i < 16; ++i)
        threads.emplace_back([&, i] { work(i % 2 == 0 ? first : second, root, i, until); });
    }
    Instants instants(mode);
    std::size_t at = 0;
    fixture_.for_entries([&](const store::EntryRow& row) {
      if (++at > before) instants.take(row);
    });
    EXPECT_GT(instants.started, 0u);
    EXPECT_GE(instants.ended, 16u);
    // Nothing is lost for good: whoever comes now gets every one of them.
    const auto offered = offer(fixture_.cases(), root, "hand");
    ASSERT_EQ(outcome(offered), "taken");
    const auto claimed = claim(fixture_.cases(), text_at(offered, "/handoff/id"));
    ASSERT_EQ(outcome(claimed), "taken");
    const auto shown = fixture_.cases().show_workflow(workflow);
    for (const json::Value& one : (*shown)->find("workflow")->find("resources")->elements()) {
      // What is still held is held by calls nobody knows the end of; and never by a token or a queue.
      EXPECT_EQ(one.find("executing"), nullptr) << json::write(one);
      EXPECT_EQ(one.find("waiting"), nullptr) << json::write(one);
      if (one.find("owner") != nullptr) {
        EXPECT_NE(one.find("writing"), nullptr) << json::write(one);
      }
    }
    const auto killed = ask([&](Answered done) {
      fixture_.cases().kill_workflow(as_operator(), {workflow, {}, workflow::Scope::Workflow, {}}, std::move(done));
    });
    EXPECT_EQ(outcome(killed), "taken");
    EXPECT_EQ(outcome(claim(fixture_.cases(), text_at(offered, "/handoff/id"))), "workflow_killed");
  }
  fixture_.expect_whole();
}

}  // namespace
}  // namespace baton::runtime
