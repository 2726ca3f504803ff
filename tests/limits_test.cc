// SPDX-License-Identifier: Apache-2.0
// Limits: how many approvals may wait, what one actor may use, how much space must be free. The rules as functions over values, and the
// use cases of a node on every store.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/limits.h"
#include "contract/scenario.h"
#include "runtime/actor_quota.h"
#include "runtime/approval_queue.h"
#include "runtime/disk_floor.h"
#include "use_cases_fixture.h"

namespace baton::runtime {
namespace {

using work::ActorKind;

// --- the rules ----------------------------------------------------------------------------------------------------------

TEST(approval_queue, the_limit_that_leaves_least_counts) {
  struct Case {
    WaitingApprovals waiting;
    std::uint64_t of_actor;
    std::uint64_t left;
    std::string_view scope;
    std::uint64_t count;
  };
  const workspace::ApprovalLimits limits{.per_session = 3, .per_workspace = 10};
  for (const Case& one :
       {Case{{0, 0, 0}, 5, 3, "session", 0}, Case{{2, 2, 2}, 5, 1, "session", 2}, Case{{3, 3, 3}, 5, 0, "session", 3},
        Case{{0, 9, 0}, 5, 1, "workspace", 9}, Case{{0, 10, 0}, 5, 0, "workspace", 10},
        Case{{0, 12, 0}, 5, 0, "workspace", 12}, Case{{1, 5, 4}, 5, 1, "actor", 4}, Case{{0, 5, 5}, 5, 0, "actor", 5},
        Case{{0, 5, 5}, 0, 3, "session", 0}, Case{{7, 7, 7}, 0, 0, "session", 7}}) {
    const ApprovalRoom room = room_for_approvals(one.waiting, limits, one.of_actor);
    EXPECT_EQ(room.left, one.left);
    EXPECT_EQ(room.scope, one.scope);
    EXPECT_EQ(room.waiting, one.count);
  }
}

constexpr std::int64_t kSecond = kNanosecondsPerSecond;

TEST(actor_quota, a_bucket_holds_one_period_and_fills_steadily) {
  ActorQuota quota(10, kSecond);
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(quota.take("alice", 5 * kSecond)) << i;
  const auto wait = quota.take("alice", 5 * kSecond);
  ASSERT_TRUE(wait);
  EXPECT_EQ(*wait, kSecond / 10);
  // Another actor's is its own, and what was refused took nothing.
  EXPECT_FALSE(quota.take("bob", 5 * kSecond));
  EXPECT_FALSE(quota.take("alice", 5 * kSecond + *wait));
  EXPECT_TRUE(quota.take("alice", 5 * kSecond + *wait));
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(quota.take("alice", 60 * kSecond)) << i;
  EXPECT_TRUE(quota.take("alice", 60 * kSecond));
}

TEST(actor_quota, what_is_known_afterwards_is_owed) {
  ActorQuota quota(1000, 3600 * kSecond);
  EXPECT_FALSE(quota.wait_for("alice", 0));
  quota.charge("alice", 999, 0);
  EXPECT_FALSE(quota.wait_for("alice", 0));
  quota.charge("alice", 500, 0);
  ASSERT_TRUE(quota.wait_for("alice", 0));
  EXPECT_NEAR(static_cast<double>(*quota.wait_for("alice", 0)), 0.499 * 3600e9, 1e6);
  EXPECT_FALSE(quota.wait_for("alice", 0, 2));
  EXPECT_FALSE(quota.wait_for("alice", 1800 * kSecond));
  // However much it was: nobody waits for ever.
  quota.charge("alice", UINT64_MAX, 0);
  EXPECT_FALSE(quota.wait_for("alice", 4 * 3600 * kSecond));
}

TEST(actor_quota, without_a_limit_nothing_is_measured) {
  ActorQuota quota(0, kSecond);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(quota.take("alice", 0));
  quota.charge("alice", 1 << 20, 0);
  EXPECT_FALSE(quota.wait_for("alice", 0));
}

TEST(actor_quota, who_uses_much_is_remembered_however_many_others_come) {
  ActorQuota quota(10, kSecond);
  while (!quota.take("noisy", 0)) {
  }
  for (std::size_t i = 0; i < limits::kActorsMeasuredMax * 4; ++i)
    EXPECT_FALSE(quota.take("actor-" + std::to_string(i), 0));
  EXPECT_TRUE(quota.take("noisy", 0));
}

TEST(actor_quota, threads_together_take_no_more_than_there_is) {
  ActorQuota quota(1000, kSecond);
  std::atomic<int> taken = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i)
      threads.emplace_back([&] {
        for (int k = 0; k < 500; ++k)
          if (!quota.take("alice", 0)) ++taken;
      });
  }
  EXPECT_EQ(taken, 1000);
}

TEST(disk_floor, is_asked_at_most_once_a_second) {
  FixedClock clock({0});
  std::optional<std::uint64_t> free = 1000;
  int asked = 0;
  DiskFloor disk(500, [&] { return ++asked, free; }, clock);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(disk.is_low());
  EXPECT_EQ(asked, 1);
  free = 499;
  EXPECT_FALSE(disk.is_low());
  clock.advance(kSecond);
  EXPECT_TRUE(disk.is_low());
  EXPECT_EQ(disk.free(), 499u);
  EXPECT_EQ(asked, 2);
  free = 500;
  clock.advance(kSecond);
  EXPECT_FALSE(disk.is_low());
  free = std::nullopt;  // cannot be found out
  clock.advance(kSecond);
  EXPECT_FALSE(disk.is_low());
  EXPECT_FALSE(disk.free());
}

// --- the use cases ------------------------------------------------------------------------------------------------------

contract::PackSource pack_of(const std::string& session, const std::string& contracts) {
  const contract::SourceFile file{
      "a.yaml", "scenario: a\nsession: " + session + "\ncontracts: " + contracts + "\nrun: []\n", false};
  const contract::CompiledScenario compiled = contract::compile_scenario(file, "");
  EXPECT_TRUE(compiled.plan) << (compiled.findings.empty() ? "" : compiled.findings[0].diagnostic.message);
  return compiled.source.pack;
}

class Limited : public ::testing::TestWithParam<store::Backend> {
 protected:
  Limited() : fixture_(GetParam()) { fixture_.config_.limits.wait_seconds = 1; }

  void activate(const Mutation& by = as_operator()) {
    const auto pack = pack_of(
        "{risk_defaults: {financial: allow}}",
        "[{tool: wire, side_effect: financial, checkpoint: {when: always, timeout_seconds: 60}}, {tool: look}]");
    EXPECT_EQ(
        outcome(ask([&](Answered done) { fixture_.cases().activate_pack(by, pack, "agent", "", std::move(done)); })),
        "taken");
  }
  std::string open(const Mutation& by, OpenSession asked = {}) {
    const auto answer = ask([&](Answered done) { fixture_.cases().open_session(by, asked, std::move(done)); });
    EXPECT_EQ(outcome(answer), "taken");
    return text_at(answer, "/session/id");
  }
  std::string open_strip(const Mutation& by) {
    OpenSession asked;
    asked.gate = session::Gate::StripPartial;
    return open(by, asked);
  }
  Result<Answer> propose(UseCases& cases, const Mutation& by, const std::string& id, const std::string& calls) {
    return ask([&](Answered done) {
      cases.govern_call(in_session(by, id), id, R"({"calls":[)" + calls + "]}", std::move(done));
    });
  }
  Result<Answer> propose(const Mutation& by, const std::string& id, const std::string& calls) {
    return propose(fixture_.cases(), by, id, calls);
  }
  static std::string wire(int n) { return R"({"tool":"wire","arguments":{"n":)" + std::to_string(n) + "}}"; }
  static std::string wires(int from, int to) {
    std::string out;
    for (int n = from; n <= to; ++n) out += (n == from ? "" : ",") + wire(n);
    return out;
  }
  Result<Answer> decide(const std::string& approval, bool yes) {
    const auto shown = fixture_.cases().show_approval(approval);
    EXPECT_TRUE(shown && *shown) << approval;
    const std::string digest = shown && *shown ? text_at(**shown, "/approval/digest") : "";
    return ask([&](Answered done) {
      fixture_.cases().decide_approval(as_operator(), {approval, yes, digest}, std::move(done));
    });
  }
  std::size_t pending() {
    const auto listed = fixture_.cases().list_approvals("pending", 10'000);
    return listed ? listed->find("approvals")->elements().size() : 0;
  }
  // What becomes of one call by a session of its own.
  std::string asks(const Mutation& by) {
    const auto answer = propose(by, open(by), wire(1));
    const std::string verdict = text_at(answer, "/calls/0/verdict");
    return verdict == "block" ? text_at(answer, "/calls/0/reason") : verdict;
  }

  CasesFixture fixture_;
};
INSTANTIATE_TEST_SUITE_P(Backends, Limited, ::testing::ValuesIn(store::backends()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(Limited, one_session_cannot_fill_the_queue_for_others) {
  activate();
  const std::string noisy = open_strip(as("alice"));
  const auto full = propose(as("alice"), noisy, wires(1, 5));
  EXPECT_EQ(text_at(full, "/calls/2/verdict"), "checkpoint");
  for (const char* late : {"/calls/3", "/calls/4"}) {
    EXPECT_EQ(text_at(full, std::string(late) + "/reason"), "approval_queue_full");
    EXPECT_EQ(text_at(full, std::string(late) + "/failures/0/message"),
              "3 approvals of this session wait for a decision already");
  }
  EXPECT_EQ(pending(), 3u);
  // The same actor's other session, and another actor's.
  EXPECT_EQ(asks(as("alice")), "checkpoint");
  EXPECT_EQ(asks(as("bob")), "checkpoint");
  EXPECT_EQ(pending(), 5u);
  fixture_.expect_whole();
}

TEST_P(Limited, the_limit_of_a_session_is_the_configurations) {
  fixture_.config_.approvals.per_session = 1;
  activate();
  const auto step = propose(as("alice"), open_strip(as("alice")), wires(1, 2));
  EXPECT_EQ(text_at(step, "/calls/0/verdict"), "checkpoint");
  EXPECT_EQ(text_at(step, "/calls/1/reason"), "approval_queue_full");
}

TEST_P(Limited, the_same_request_joins_and_counts_once_even_when_the_queue_is_full) {
  fixture_.config_.approvals = {.per_session = 1, .per_workspace = 1};
  activate();
  const std::string id = open(as("alice"));
  const auto first = propose(as("alice"), id, wire(1));
  const std::string approval = text_at(first, "/calls/0/approval/id");
  for (int i = 0; i < 5; ++i) EXPECT_EQ(text_at(propose(as("alice"), id, wire(1)), "/calls/0/approval/id"), approval);
  EXPECT_EQ(pending(), 1u);
  EXPECT_EQ(asks(as("bob")), "approval_queue_full");
  fixture_.expect_whole();
}

TEST_P(Limited, what_is_decided_expired_or_cancelled_gives_its_place_back) {
  fixture_.config_.approvals.per_workspace = 2;
  activate();
  const std::string one = open(as("alice")), two = open(as("alice"));
  const std::string first = text_at(propose(as("alice"), one, wire(1)), "/calls/0/approval/id");
  const std::string second = text_at(propose(as("alice"), two, wire(1)), "/calls/0/approval/id");
  EXPECT_EQ(asks(as("bob")), "approval_queue_full");
  EXPECT_EQ(outcome(decide(first, false)), "taken");  // denied
  const std::string three = open(as("carol"));
  const std::string third = text_at(propose(as("carol"), three, wire(1)), "/calls/0/approval/id");
  EXPECT_EQ(asks(as("bob")), "approval_queue_full");
  EXPECT_EQ(outcome(decide(third, true)), "taken");  // approved
  EXPECT_EQ(asks(as("dave")), "checkpoint");
  EXPECT_EQ(asks(as("bob")), "approval_queue_full");
  // Its session ends: cancelled.
  EXPECT_EQ(outcome(ask(
                [&](Answered done) { fixture_.cases().kill_session(as_operator(), two, "enough", std::move(done)); })),
            "taken");
  EXPECT_EQ(asks(as("erin")), "checkpoint");
  EXPECT_EQ(asks(as("bob")), "approval_queue_full");
  if (fixture_.has_our_clock()) {
    fixture_.clock_.advance(61 * kSecond);  // expired, before any sweep
    EXPECT_EQ(asks(as("bob")), "checkpoint");
  }
  fixture_.expect_whole();
}

TEST_P(Limited, the_workspace_and_one_actor_have_limits_of_their_own) {
  fixture_.config_.approvals.per_workspace = 6;
  fixture_.config_.limits.per_actor.approvals = 4;
  activate();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(asks(as("alice")), "checkpoint") << i;
  const auto fifth = propose(as("alice"), open(as("alice")), wire(1));
  EXPECT_EQ(text_at(fifth, "/calls/0/reason"), "approval_queue_full");
  EXPECT_EQ(text_at(fifth, "/calls/0/failures/0/message"), "4 approvals of this actor wait for a decision already");
  EXPECT_EQ(asks(as("bob")), "checkpoint");
  EXPECT_EQ(asks(as("bob")), "checkpoint");
  const auto seventh = propose(as("carol"), open(as("carol")), wire(1));
  EXPECT_EQ(text_at(seventh, "/calls/0/reason"), "approval_queue_full");
  EXPECT_EQ(text_at(seventh, "/calls/0/failures/0/message"),
            "6 approvals of this workspace wait for a decision already");
  EXPECT_EQ(pending(), 6u);
}

TEST_P(Limited, two_nodes_together_never_exceed_the_limit) {
  fixture_.config_.approvals.per_workspace = 7;
  activate();
  UseCases* nodes[] = {&fixture_.cases(), &fixture_.other_cases()};
  std::vector<std::string> sessions;
  for (int i = 0; i < 24; ++i) sessions.push_back(open(as("alice")));
  std::atomic<int> waiting = 0, full = 0;
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < sessions.size(); ++i)
      threads.emplace_back([&, i] {
        for (int retry = 0; retry < 20; ++retry) {
          const auto answer = propose(*nodes[i % 2], as("alice"), sessions[i], wire(1));
          if (!answer) continue;  // the other node was first, too often
          if (text_at(answer, "/calls/0/verdict") == "checkpoint") ++waiting;
          else if (text_at(answer, "/calls/0/reason") == "approval_queue_full") ++full;
          return;
        }
      });
  }
  EXPECT_EQ(waiting, 7);
  EXPECT_EQ(waiting + full, 24);
  EXPECT_EQ(pending(), 7u);
  fixture_.expect_whole();
}

std::string approval_request(std::string_view agent, std::string_view content, int number) {
  return contract(agent, "APPROVAL_REQUEST",
                  R"(,"approval_request":{"operation":"run a command","exact_content":")" + std::string(content) +
                      R"(","scope":"one host","risk_level":"high","rollback":"none needed","verification":"look"})",
                  "[\"" + std::to_string(number) + "\"]");
}

TEST_P(Limited, content_counts_as_calls_do_and_joins) {
  fixture_.config_.approvals = {.per_session = 2, .per_workspace = 3};
  activate();
  const auto opened = ask([&](Answered done) { fixture_.cases().open_session(as("alice"), {}, std::move(done)); });
  const std::string id = text_at(opened, "/session/id"), agent = text_at(opened, "/session/agent_id");
  const Mutation by = in_session(as("alice"), id);
  int number = 0;
  // Between two requests an agent says that it goes on.
  const auto request = [&](std::string_view content) {
    if (++number > 1) {
      const std::string goes_on = contract(agent, "IN_PROGRESS", "", "[\"" + std::to_string(number) + "\"]");
      EXPECT_EQ(outcome(fixture_.hand_off(by, id, goes_on)), "taken");
    }
    return outcome(fixture_.hand_off(by, id, approval_request(agent, content, number)));
  };
  EXPECT_EQ(request("make one"), "taken");
  EXPECT_EQ(pending(), 1u);
  EXPECT_EQ(request("make one"), "taken");  // asked again in another document: the same request
  EXPECT_EQ(pending(), 1u);
  EXPECT_EQ(request("make two"), "taken");
  EXPECT_EQ(pending(), 2u);
  EXPECT_EQ(request("make three"), "approval_queue_full");
  const std::size_t entries = fixture_.count_entries("handoff.accepted");
  EXPECT_EQ(outcome(fixture_.hand_off(by, id, approval_request(agent, "make three", 99))), "approval_queue_full");
  EXPECT_EQ(fixture_.count_entries("handoff.accepted"), entries);  // a refused request changes nothing
  EXPECT_EQ(pending(), 2u);
  EXPECT_EQ(asks(as("bob")), "checkpoint");
  EXPECT_EQ(asks(as("bob")), "approval_queue_full");
  fixture_.expect_whole();
}

TEST_P(Limited, an_actor_creates_so_many_items_that_are_not_done) {
  fixture_.config_.limits.per_actor.items = 3;
  const auto create = [&](UseCases& cases, const Mutation& by, const std::string& id = {}) {
    work::NewWork asked;
    asked.id = id;
    asked.title = "Something to do";
    asked.phase = work::Phase::Implementation;
    return outcome(ask([&](Answered done) { cases.create(by, asked, std::move(done)); }));
  };
  UseCases& cases = fixture_.cases();
  EXPECT_EQ(create(cases, as("alice"), "A-1"), "taken");
  EXPECT_EQ(create(cases, as("alice"), "A-2"), "taken");
  EXPECT_EQ(create(cases, as("alice"), "A-2"), "WORK_EXISTS");  // what is refused does not count
  EXPECT_EQ(create(fixture_.other_cases(), as("alice"), "A-3"), "taken");
  const std::size_t entries = fixture_.entry_types().size();
  EXPECT_EQ(create(cases, as("alice")), "ACTOR_ITEMS");
  EXPECT_EQ(create(fixture_.other_cases(), as("alice")), "ACTOR_ITEMS");
  EXPECT_EQ(fixture_.entry_types().size(), entries);
  EXPECT_EQ(create(cases, as("bob")), "taken");
  for (int i = 0; i < 5; ++i) EXPECT_EQ(create(cases, as_operator()), "taken");
  // One is aborted, one is completed: two places.
  EXPECT_EQ(outcome(ask([&](Answered done) { cases.abort(as_operator(), "A-1", "not needed", std::move(done)); })),
            "taken");
  EXPECT_EQ(create(cases, as("alice"), "A-4"), "taken");
  EXPECT_EQ(create(cases, as("alice")), "ACTOR_ITEMS");
  fixture_.expect_whole();
}

TEST_P(Limited, two_nodes_together_create_no_more_items_than_an_actor_may) {
  fixture_.config_.limits.per_actor.items = 5;
  UseCases* nodes[] = {&fixture_.cases(), &fixture_.other_cases()};
  std::atomic<int> made = 0, refused = 0;
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < 16; ++i)
      threads.emplace_back([&, i] {
        work::NewWork asked;
        asked.title = "Something to do";
        for (int retry = 0; retry < 20; ++retry) {
          const std::string now =
              outcome(ask([&](Answered done) { nodes[i % 2]->create(as("alice"), asked, std::move(done)); }));
          if (now.starts_with("failed")) continue;
          ++(now == "taken" ? made : refused);
          return;
        }
      });
  }
  EXPECT_EQ(made, 5);
  EXPECT_EQ(made + refused, 16);
  fixture_.expect_whole();
}

TEST_P(Limited, an_actor_that_made_the_store_keep_too_much_begins_no_work) {
  fixture_.config_.limits.per_actor.bytes_per_hour = 20'000;
  activate();
  const std::string id = open(as("alice"));
  const auto look = [&](int n) {
    return propose(as("alice"), id,
                   R"({"call_id":"c)" + std::to_string(n) + R"(","tool":"look","arguments":{"text":")" +
                       std::string(3000, 'a') + R"("}})");
  };
  int allowed = 0;
  Result<Answer> last;
  for (int n = 0; n < 20; ++n) {
    last = look(n);
    if (outcome(last) != "taken") break;
    ++allowed;
    EXPECT_EQ(text_at(last, "/calls/0/verdict"), "allow");
  }
  EXPECT_GE(allowed, 2);
  EXPECT_LE(allowed, 7);
  EXPECT_EQ(outcome(last), "ACTOR_BYTES");
  EXPECT_GT(last->retry_seconds, 0);
  EXPECT_LE(last->retry_seconds, 3600);
  // Others work on, and what is under way is settled and ended.
  EXPECT_EQ(outcome(propose(as("bob"), open(as("bob")), R"({"tool":"look","arguments":{}})")), "taken");
  EXPECT_EQ(outcome(ask([&](Answered done) {
              fixture_.cases().settle_call(in_session(as("alice"), id), id,
                                           R"({"call_id":"c0","result":"ok","output":{}})", std::move(done));
            })),
            "taken");
  EXPECT_EQ(outcome(ask([&](Answered done) {
              fixture_.cases().close_session(in_session(as("alice"), id), id, std::move(done));
            })),
            "taken");
  fixture_.expect_whole();
}

TEST_P(Limited, with_too_little_space_nothing_begins_and_everything_ends) {
  activate();
  std::atomic<std::uint64_t> free = UINT64_MAX - 1;
  fixture_.config_.limits.disk_free_bytes = 1'000;
  UseCases& cases = fixture_.cases();
  cases.watch_disk([&] { return std::optional<std::uint64_t>(free.load()); });
  const std::string work = fixture_.create_in(work::Phase::Implementation),
                    other = fixture_.create_in(work::Phase::Draft);
  const std::string third = fixture_.create_in(work::Phase::Draft);
  const auto claimed = fixture_.claim(as("alice"), work);
  const std::string holder = text_at(claimed, "/session/id");
  const std::string released = text_at(fixture_.claim(as("carol"), other), "/session/id");
  const std::string id = open(as("bob"));
  const auto call = propose(as("bob"), id, R"({"call_id":"c","tool":"look","arguments":{}})");
  EXPECT_EQ(text_at(call, "/calls/0/verdict"), "allow");
  const std::string asked = text_at(propose(as("erin"), open(as("erin")), wire(1)), "/calls/0/approval/id");

  free = 999;
  if (fixture_.has_our_clock()) fixture_.clock_.advance(kSecond);
  else std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  ASSERT_TRUE(cases.disk() && cases.disk()->is_low);
  EXPECT_EQ(cases.disk()->free, 999u);
  const std::size_t entries = fixture_.entry_types().size();
  const auto low = [&](const char* what, const Result<Answer>& answer) {
    EXPECT_EQ(outcome(answer), "STORE_DISK_LOW") << what;
    EXPECT_TRUE(!answer || answer->retry_seconds == 0);
  };
  work::NewWork wanted;
  wanted.title = "More";
  low("create", ask([&](Answered done) { cases.create(as_operator(), wanted, std::move(done)); }));
  low("claim", fixture_.claim(as("dave"), third));
  low("claim next", fixture_.claim(as("dave")));
  low("open", ask([&](Answered done) { cases.open_session(as("dave"), {}, std::move(done)); }));
  low("propose", propose(as("bob"), id, R"({"tool":"look","arguments":{"n":1}})"));
  low("pack", ask([&](Answered done) {
        cases.activate_pack(as_operator(), pack_of("{}", "[{tool: look}]"), "agent", "", std::move(done));
      }));
  low("token", ask([&](Answered done) {
        TokenRequest token;
        token.actor_id = "zoe";
        token.kind = ActorKind::Agent;
        token.scopes = {"*"};
        cases.create_token(as_operator(), token, std::move(done));
      }));
  low("workflow", ask([&](Answered done) { cases.start_workflow(as("dave"), {}, std::move(done)); }));
  low("offer", ask([&](Answered done) { cases.offer(in_session(as("bob"), id), id, {}, std::move(done)); }));
  low("claim of a handoff", ask([&](Answered done) { cases.claim_handoff(as("dave"), {}, std::move(done)); }));
  low("note", ask([&](Answered done) {
        cases.note(as_operator(), "notes", "note", {json::Value::object()}, std::move(done));
      }));
  EXPECT_EQ(fixture_.entry_types().size(), entries);

  EXPECT_EQ(outcome(ask([&](Answered done) {
              cases.settle_call(in_session(as("bob"), id), id, R"({"call_id":"c","result":"ok","output":{}})",
                                std::move(done));
            })),
            "taken");
  EXPECT_EQ(outcome(decide(asked, false)), "taken");
  EXPECT_EQ(outcome(fixture_.hand_off(in_session(as("alice"), holder), holder, signal("IMPLEMENTATION"))), "taken");
  EXPECT_EQ(outcome(ask([&](Answered done) {
              cases.release(in_session(as("carol"), released), released, "later", std::move(done));
            })),
            "taken");
  EXPECT_EQ(outcome(ask([&](Answered done) { cases.close_session(in_session(as("bob"), id), id, std::move(done)); })),
            "taken");
  EXPECT_TRUE(cases.list(std::nullopt, "", 10));
  EXPECT_EQ(outcome(fixture_.sweep()), "taken");

  free = 1'000;
  if (fixture_.has_our_clock()) fixture_.clock_.advance(kSecond);
  else std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  EXPECT_EQ(outcome(ask([&](Answered done) { cases.create(as_operator(), wanted, std::move(done)); })), "taken");
  fixture_.expect_whole();
}

TEST_P(Limited, an_answer_that_is_known_is_given_again_with_too_little_space) {
  std::atomic<std::uint64_t> free = 1'000;
  fixture_.config_.limits.disk_free_bytes = 1'000;
  UseCases& cases = fixture_.cases();
  cases.watch_disk([&] { return std::optional<std::uint64_t>(free.load()); });
  work::NewWork wanted;
  wanted.title = "Something to do";
  const auto create = [&] {
    return ask([&](Answered done) { cases.create(with_key(as("alice"), "k1", "r"), wanted, std::move(done)); });
  };
  const auto first = create();
  EXPECT_EQ(outcome(first), "taken");
  free = 0;
  if (fixture_.has_our_clock()) fixture_.clock_.advance(kSecond);
  else std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  const auto again = create();
  EXPECT_EQ(outcome(again), "taken");
  EXPECT_TRUE(again && again->replayed);
}

TEST_P(Limited, the_fast_lane_is_held_to_the_same_limits) {
  if (!fixture_.has_our_clock()) GTEST_SKIP() << "it is for stores that one process writes";
  activate();
  std::atomic<std::uint64_t> free = 1'000;
  fixture_.config_.limits.disk_free_bytes = 1'000;
  UseCases& cases = fixture_.cases();
  cases.watch_disk([&] { return std::optional<std::uint64_t>(free.load()); });
  cases.open_fast_lane();
  const std::string id = open(as("alice"));
  const auto read = [&](int n) {
    return ask([&](Answered done) {
      cases.govern_call(
          in_session(as("alice"), id), id,
          R"({"start":true,"calls":[{"call_id":"c)" + std::to_string(n) + R"(","tool":"look","arguments":{}}]})",
          std::move(done));
    });
  };
  EXPECT_EQ(text_at(read(1), "/calls/0/started"), "true");
  const std::uint64_t reads = cases.fast_reads();
  EXPECT_GT(reads, 0u);
  free = 999;
  fixture_.clock_.advance(kSecond);
  EXPECT_EQ(outcome(read(2)), "STORE_DISK_LOW");
  EXPECT_EQ(cases.fast_reads(), reads);
  EXPECT_EQ(outcome(ask([&](Answered done) {
              cases.settle_call(in_session(as("alice"), id), id, R"({"call_id":"c1","result":"ok","output":{}})",
                                std::move(done));
            })),
            "taken");
  cases.close_fast_lane();
  fixture_.expect_whole();
}

}  // namespace
}  // namespace baton::runtime
