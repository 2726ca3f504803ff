// SPDX-License-Identifier: Apache-2.0
// What ends a session's work on an item, and what moves the item on: handoffs, people, CI. As the specification's tables
// have it, with every refusal and the order of refusals.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/limits.h"
#include "work_world.h"

namespace baton::work {
namespace {

using agent_exit::kPhases;
using agent_exit::phase_name;
using agent_exit::Reason;

const std::string kSha(40, 'a'), kOtherSha(40, 'b');

// --- handoffs ---------------------------------------------------------------------------------------------------------

TEST(work_exit, where_each_phase_leads) {
  struct Case {
    Phase phase;
    std::optional<Phase> completed;  // nothing: refused
  };
  const std::vector<Case> cases = {
      {Phase::Draft, Phase::Implementation},    {Phase::Implementation, Phase::CiPending},
      {Phase::ReadyForReview, Phase::Review},   {Phase::Review, Phase::ReadyForMerge},
      {Phase::ReadyForMerge, Phase::Completed}, {Phase::Completed, std::nullopt},
      {Phase::Blocked, std::nullopt},
  };
  for (const Case& each : cases)
    for (const Reason reason : {Reason::Completed, Reason::Blocked, Reason::Error}) {
      World world;
      const Session session = world.hold(kAnn, "s1", at(0));
      world.item->phase = each.phase;
      world.item->attempts = 2;
      Exit asked;
      asked.reason = reason;
      asked.phase_completed = each.phase;
      asked.event_id = "e-1";
      asked.notes = "so it is";
      const Ruling ruling = exit(*world.item, session, kAnn, asked, at(kMinute));
      EXPECT_EQ(code(ruling), each.completed ? "" : "EXIT_TERMINAL") << phase_name(each.phase);
      if (!each.completed) continue;
      world.take(ruling);
      const Item& item = *world.item;
      const bool done = reason == Reason::Completed;
      EXPECT_EQ(item.phase, done ? *each.completed : Phase::Blocked);
      EXPECT_EQ(item.waiting_since, at(kMinute));
      EXPECT_FALSE(item.lease);
      EXPECT_EQ(item.fence, 1u);
      EXPECT_EQ(item.attempts, 0u);
      EXPECT_EQ(item.blocked_in, done ? std::nullopt : std::optional(each.phase));
      EXPECT_EQ(item.blocked_because, done ? "" : "so it is");
      EXPECT_EQ(item.implementer, done && each.phase == Phase::Implementation ? "ann" : "");
      EXPECT_EQ(world.session("s1").state, SessionState::Closed);
      EXPECT_EQ(world.session("s1").ended_because, agent_exit::reason_name(reason));
      EXPECT_EQ(world.session("s1").ended_at, at(kMinute));
    }
}

TEST(work_exit, the_event_member_by_member) {
  World world;
  const Session session = world.hold(kAnn, "s1", at(0));
  Exit asked;
  asked.event_id = "e-1";
  asked.pr_url = "https://github.com/org/repo/pull/12";
  asked.evidence_bundle_ref = "evidence/W-1.yaml";
  asked.notes = "done";
  const Ruling ruling = exit(*world.item, session, kAnn, asked, at(kMinute));
  ASSERT_EQ(ruling.events.size(), 1u);
  EXPECT_EQ(ruling.events[0].type, "work.session_completed");
  EXPECT_EQ(
      canonical(ruling.events[0].payload),
      R"({"actor_id":"ann","at":"2025-06-15T15:07:40Z","event_id":"e-1","event_type":"AgentSessionCompleted",)"
      R"("evidence_bundle_ref":"evidence/W-1.yaml","exit_reason":"completed","fence":1,"next_phase":"CI_PENDING",)"
      R"("notes":"done","phase_completed":"IMPLEMENTATION","pr_url":"https://github.com/org/repo/pull/12",)"
      R"("session_id":"s1","source":"agent_exit_protocol","timestamp":"2025-06-15T15:07:40Z","work_id":"W-1"})");
  world.take(ruling);
  EXPECT_EQ(world.item->pr_url, asked.pr_url);
  EXPECT_EQ(world.item->pull_request(), "org/repo#12");
  EXPECT_EQ(world.item->evidence_bundle_ref, asked.evidence_bundle_ref);
}

TEST(work_exit, order_of_refusals) {
  World world;
  Session session = world.hold(kAnn, "s1", at(0));
  Item item = *world.item;
  item.phase = Phase::Completed;
  item.lease->fence = 9;
  Exit asked;
  asked.phase_completed = Phase::Review;
  const auto refused = [&] { return code(exit(item, session, kAnn, asked, at(kSecond))); };
  EXPECT_EQ(refused(), "EXIT_LEASE");
  session.work_id = "";
  EXPECT_EQ(refused(), "EXIT_NO_ACTIVE_PHASE");
  session.work_id = "W-1", item.lease->fence = 1;
  EXPECT_EQ(refused(), "EXIT_TERMINAL");
  item.phase = Phase::CiPending;
  EXPECT_EQ(refused(), "EXIT_PHASE_MISMATCH");
  asked.phase_completed = Phase::CiPending;
  EXPECT_EQ(refused(), "EXIT_CI_ACTOR");
  asked.phase_completed.reset();
  EXPECT_EQ(refused(), "EXIT_CI_ACTOR");
  item.phase = Phase::Draft;
  EXPECT_EQ(refused(), "");
  // Whatever the reason, the phase must be the session's.
  asked.reason = Reason::Blocked;
  asked.phase_completed = Phase::Review;
  const Ruling mismatch = exit(item, session, kAnn, asked, at(kSecond));
  EXPECT_EQ(mismatch.refused.at(0).message, "phase mismatch: exit signal claims 'REVIEW' but session is in 'DRAFT'");
}

TEST(work_exit, notes_that_are_too_long_for_an_entry) {
  World world;
  Exit asked;
  asked.reason = Reason::Error;
  asked.notes = std::string(limits::kExitNotesBytesMax, 'x');
  const Ruling ruling = exit(*world.item, world.hold(kAnn, "s1", at(0)), kAnn, asked, at(kSecond));
  ASSERT_EQ(ruling.events.size(), 1u);
  // As the ledger keeps them.
  Event event = ruling.events[0];
  json::Value blob = json::Value::object();
  blob.set_at("/blob/sha256", std::string(64, 'c'));
  blob.set_at("/blob/bytes", asked.notes.size());
  event.payload.set("notes", blob);
  world.take(event);
  EXPECT_EQ(world.item->phase, Phase::Blocked);
  EXPECT_LE(world.item->blocked_because.size(), limits::kWorkTextBytesMax);
  EXPECT_TRUE(world.item->blocked_because.starts_with("xxxx"));
  EXPECT_NE(world.item->blocked_because.find(" more bytes)"), std::string::npos);

  World other;
  asked.notes = "";
  other.take(exit(*other.item, other.hold(kAnn, "s1", at(0)), kAnn, asked, at(kSecond)));
  EXPECT_EQ(other.item->blocked_because, "the session reported `error` and did not say why");
}

TEST(work_exit, as_ci) {
  struct Case {
    Phase phase;
    std::optional<Phase> claimed;
    Actor actor;
    Reason reason;
    std::string want;
    Phase next;
  };
  const std::vector<Case> cases = {
      {Phase::CiPending, Phase::CiPending, kCi, Reason::Completed, "", Phase::ReadyForReview},
      {Phase::CiPending, std::nullopt, kCi, Reason::Completed, "", Phase::ReadyForReview},
      {Phase::CiPending, Phase::CiPending, kCi, Reason::Blocked, "", Phase::Blocked},
      {Phase::CiPending, Phase::CiPending, kCi, Reason::Error, "", Phase::Blocked},
      {Phase::CiPending, Phase::CiPending, kAnn, Reason::Completed, "EXIT_CI_ACTOR", {}},
      {Phase::CiPending, Phase::CiPending, kAnn, Reason::Error, "EXIT_CI_ACTOR", {}},
      {Phase::CiPending, Phase::CiPending, kOlga, Reason::Completed, "EXIT_CI_ACTOR", {}},
      {Phase::Review, Phase::CiPending, kCi, Reason::Completed, "EXIT_PHASE_MISMATCH", {}},
      {Phase::Review, std::nullopt, kCi, Reason::Completed, "EXIT_PHASE_MISMATCH", {}},
      {Phase::Review, Phase::Review, kCi, Reason::Completed, "EXIT_LEASE", {}},
      {Phase::Implementation, Phase::Implementation, kCi, Reason::Completed, "EXIT_LEASE", {}},
      {Phase::Completed, Phase::CiPending, kCi, Reason::Completed, "EXIT_TERMINAL", {}},
      {Phase::Blocked, Phase::Blocked, kCi, Reason::Completed, "EXIT_TERMINAL", {}},
  };
  for (const Case& each : cases) {
    World world;
    world.item->phase = each.phase;
    Exit asked;
    asked.phase_completed = each.claimed;
    asked.reason = each.reason;
    asked.event_id = "e-1";
    const Ruling ruling = exit_as_ci(*world.item, each.actor, asked, world.policy, at(kMinute));
    EXPECT_EQ(code(ruling), each.want) << phase_name(each.phase) << " " << each.actor.id;
    if (!ruling.allowed()) continue;
    EXPECT_EQ(ruling.events.at(0).type, kCiReported);
    EXPECT_EQ(ruling.events.at(0).payload.find("source")->string(), "signal");
    world.take(ruling);
    EXPECT_EQ(world.item->phase, each.next);
    EXPECT_EQ(world.item->waiting_since, at(kMinute));
    EXPECT_EQ(world.item->blocked_in, each.next == Phase::Blocked ? std::optional(Phase::CiPending) : std::nullopt);
  }
  World checked(Phase::CiPending);
  checked.policy.required_checks = {"build", "test"};
  checked.item->checks = {{"build", "success"}, {"test", "failure"}};
  const Ruling red = exit_as_ci(*checked.item, kCi, {}, checked.policy, at(0));
  ASSERT_EQ(code(red), "EXIT_CI_CHECKS");
  EXPECT_NE(red.refused.front().message.find(": `test`"), std::string::npos);
  checked.item->checks["test"] = "success";
  EXPECT_EQ(code(exit_as_ci(*checked.item, kCi, {}, checked.policy, at(0))), "");
  World world(Phase::CiPending);
  world.take(abort(*world.item, "no", at(0)));
  EXPECT_EQ(code(exit_as_ci(*world.item, kCi, {}, world.policy, at(0))), "WORK_CLOSED");
}

TEST(work_park, the_clock_stands_still_while_a_person_is_asked) {
  World world;
  world.policy.lease_ttl = 100 * kSecond;
  world.policy.max_parked = 7 * kDay;
  const Session session = world.hold(kAnn, "s1", at(0));
  world.take(park(*world.item, session, WaitsFor::Input, "which one?", world.policy, at(40 * kSecond)));
  EXPECT_EQ(world.item->phase, Phase::Implementation);
  EXPECT_EQ(world.item->waits_for, WaitsFor::Input);
  EXPECT_EQ(world.item->question, "which one?");
  EXPECT_EQ(world.session("s1").state, SessionState::Paused);
  EXPECT_EQ(world.item->lease->fence, 1u);
  EXPECT_EQ(world.item->queue(), "");
  EXPECT_EQ(code(park(*world.item, world.session("s1"), WaitsFor::Input, "?", world.policy, at(kMinute))),
            "LEASE_PARKED");

  // Long after the lease would have been over.
  const Time now = at(6 * kDay);
  EXPECT_TRUE(settle(*world.item, world.policy, now).events.empty());
  EXPECT_TRUE(abandon(*world.item, world.session("s1"), "", world.policy, now).events.empty());
  world.take(answer(*world.item, "the second", now));
  EXPECT_EQ(world.item->lease->expires_at, Time{now.nanoseconds + 60 * kSecond});
  EXPECT_FALSE(world.item->lease->parked_at);
  EXPECT_FALSE(world.item->lease->parked_until);
  EXPECT_EQ(world.item->waits_for, WaitsFor::Nothing);
  EXPECT_EQ(world.item->answer, "the second");
  EXPECT_EQ(world.item->question, "which one?");
  EXPECT_EQ(world.session("s1").state, SessionState::Open);
  EXPECT_EQ(code(answer(*world.item, "again", now)), "ANSWER_NOT_ASKED");
  world.take(exit(*world.item, world.session("s1"), kAnn, {}, now));
  EXPECT_EQ(world.item->answer, "");
  EXPECT_EQ(world.item->question, "");
}

TEST(work_park, nobody_acts) {
  World world;
  const Session session = world.hold(kAnn, "s1", at(0));
  world.take(park(*world.item, session, WaitsFor::Approval, "may I?", world.policy, at(kSecond)));
  const Time end = at(kSecond + world.policy.max_parked);
  EXPECT_TRUE(settle(*world.item, world.policy, {end.nanoseconds - 1}).events.empty());
  EXPECT_EQ(code(answer(*world.item, "too late", end)), "ANSWER_NOT_ASKED");
  EXPECT_EQ(code(exit(*world.item, world.session("s1"), kAnn, {}, end)), "EXIT_LEASE");
  world.settle(end);
  EXPECT_EQ(world.events.back().type, kParkingLapsed);
  EXPECT_EQ(world.item->phase, Phase::Blocked);
  EXPECT_EQ(world.item->blocked_in, Phase::Implementation);
  EXPECT_NE(world.item->blocked_because.find("approval"), std::string::npos);
  EXPECT_EQ(world.item->attempts, 0u);
  EXPECT_EQ(world.session("s1").state, SessionState::Killed);
  EXPECT_EQ(world.session("s1").ended_at, end);
  // What it waits for is cleared by unblocking it.
  EXPECT_EQ(world.item->waits_for, WaitsFor::Approval);
  EXPECT_EQ(code(answer(*world.item, "too late", end)), "ANSWER_NOT_ASKED");
  world.take(unblock(*world.item, std::nullopt, "go on", end));
  EXPECT_EQ(world.item->waits_for, WaitsFor::Nothing);
  EXPECT_EQ(world.item->question, "");
}

TEST(work_park, questions_and_answers_have_limits) {
  World world;
  const std::string question(100'000, 'q');
  world.take(park(*world.item, world.hold(kAnn, "s1", at(0)), WaitsFor::Input, question, world.policy, at(0)));
  EXPECT_LE(world.item->question.size(), limits::kWorkTextBytesMax);
  EXPECT_TRUE(world.item->question.ends_with(" more bytes)"));
  EXPECT_EQ(code(answer(*world.item, "", at(1))), "WORK_FIELD");
  EXPECT_EQ(code(answer(*world.item, "a\x1b[0m", at(1))), "WORK_FIELD");
  EXPECT_EQ(code(answer(*world.item, std::string(limits::kWorkTextBytesMax + 1, 'a'), at(1))), "WORK_FIELD");
  EXPECT_EQ(code(answer(*world.item, "line\nline", at(1))), "");
}

TEST(work_offer, to_one_alone_and_then_to_anyone) {
  World world;
  world.item->attempts = 2;
  const Session session = world.hold(kAnn, "s1", at(0));
  world.take(offer(*world.item, session, {"bob", at(kDay), "m-1"}, world.policy, at(kSecond)));
  EXPECT_EQ(world.item->phase, Phase::Implementation);
  EXPECT_EQ(world.item->waiting_since, at(0));
  EXPECT_EQ(world.item->attempts, 0u);
  EXPECT_FALSE(world.item->lease);
  EXPECT_EQ(world.item->queue(), "@bob");
  EXPECT_EQ(world.item->deadline(), at(kDay).nanoseconds);
  EXPECT_EQ(world.session("s1").state, SessionState::Closed);
  EXPECT_EQ(world.session("s1").ended_because, "offered");
  EXPECT_EQ(world.item->implementer, "") << "the phase was not completed";
  EXPECT_EQ(code(claim(*world.item, world.claim_of(kAnn, "s2"), world.policy, at(kMinute))), "CLAIM_OFFERED");

  EXPECT_TRUE(settle(*world.item, world.policy, {at(kDay).nanoseconds - 1}).events.empty());
  world.settle(at(kDay));
  EXPECT_EQ(world.events.back().type, kOfferEnded);
  EXPECT_EQ(world.item->queue(), "IMPLEMENTATION");
  world.hold(kAnn, "s2", at(kDay));

  // Nobody keeps an item from the others for longer than a person is waited for.
  World kept;
  const Session giver = kept.hold(kAnn, "s1", at(0));
  kept.take(offer(*kept.item, giver, {"bob", at(3650 * kDay), "m-1"}, kept.policy, at(kSecond)));
  EXPECT_EQ(kept.item->offer->until, at(kSecond + kept.policy.max_parked));

  for (const Offer& bad : {Offer{"", at(kDay), "m"}, Offer{std::string(257, 'x'), at(kDay), "m"},
                           Offer{"bob", at(kDay), std::string(257, 'x')}, Offer{"\xff", at(kDay), "m"}})
    EXPECT_EQ(code(offer(*world.item, world.session("s2"), bad, world.policy, at(kDay))), "WORK_FIELD");
}

TEST(work_label, an_item_has_so_many_and_no_more) {
  World world;
  world.take(add_labels(*world.item, {"b", "a", "b"}, at(1)));
  EXPECT_EQ(world.item->labels, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(add_labels(*world.item, {"a"}, at(2)).events.empty());
  std::vector<std::string> many;
  for (int i = 0; i < 63; ++i) many.push_back("l" + std::to_string(i));
  EXPECT_EQ(code(add_labels(*world.item, many, at(2))), "WORK_FIELD");
  many.pop_back();
  world.take(add_labels(*world.item, many, at(2)));
  EXPECT_EQ(world.item->labels.size(), 64u);
  EXPECT_EQ(code(add_labels(*world.item, {"one_more"}, at(3))), "WORK_FIELD");
  EXPECT_EQ(code(add_labels(*world.item, {"a", "b"}, at(3))), "");
}

// --- people -----------------------------------------------------------------------------------------------------------

TEST(work_unblock, where_it_goes_on) {
  struct Case {
    Phase blocked_in;
    Phase otherwise;         // without --to
    std::vector<Phase> may;  // with it
  };
  const Phase d = Phase::Draft, i = Phase::Implementation, c = Phase::CiPending, r = Phase::ReadyForReview,
              v = Phase::Review, m = Phase::ReadyForMerge;
  const std::vector<Case> cases = {
      {d, d, {d}},          {i, i, {d, i}},          {c, i, {d, i, c}},
      {r, i, {d, i, c, r}}, {v, i, {d, i, c, r, v}}, {m, i, {d, i, c, r, v, m}},
  };
  for (const Case& each : cases) {
    World world;
    world.item->phase = Phase::Blocked;
    world.item->blocked_in = each.blocked_in;
    world.item->blocked_because = "so";
    world.item->attempts = 3;
    for (const Phase to : kPhases) {
      const bool may = std::find(each.may.begin(), each.may.end(), to) != each.may.end();
      EXPECT_EQ(code(unblock(*world.item, to, "", at(kMinute))), may ? "" : "UNBLOCK_PHASE")
          << phase_name(each.blocked_in) << " " << phase_name(to);
    }
    world.take(unblock(*world.item, std::nullopt, "go on", at(kMinute)));
    EXPECT_EQ(world.item->phase, each.otherwise) << phase_name(each.blocked_in);
    EXPECT_EQ(world.item->waiting_since, at(kMinute));
    EXPECT_EQ(world.item->attempts, 0u);
    EXPECT_FALSE(world.item->blocked_in);
    EXPECT_EQ(world.item->blocked_because, "");
  }
  for (const Phase phase : kPhases) {
    World world;
    world.item->phase = phase;
    const std::string want = phase == Phase::Blocked ? "" : "UNBLOCK_NOT_BLOCKED";
    EXPECT_EQ(code(unblock(*world.item, std::nullopt, "", at(0))), want) << phase_name(phase);
  }
}

TEST(work_unblock, implementing_again_forgets_the_commit) {
  struct Case {
    Phase blocked_in, to;
    bool forgets;
  };
  const std::vector<Case> cases = {
      {Phase::CiPending, Phase::Implementation, true},
      {Phase::Review, Phase::Implementation, true},
      {Phase::Implementation, Phase::Implementation, true},
      {Phase::Review, Phase::Draft, true},
      {Phase::CiPending, Phase::CiPending, false},
      {Phase::Review, Phase::Review, false},
      {Phase::Draft, Phase::Draft, false},  // nobody has completed IMPLEMENTATION
  };
  for (const Case& each : cases) {
    World world;
    world.item->phase = Phase::Blocked;
    world.item->blocked_in = each.blocked_in;
    world.item->head_sha = kSha;
    world.item->checks = {{"build", "failure"}};
    world.take(unblock(*world.item, each.to, "", at(0)));
    EXPECT_EQ(world.item->head_sha, each.forgets ? "" : kSha) << phase_name(each.blocked_in) << phase_name(each.to);
    EXPECT_TRUE(world.item->checks.empty()) << "a check that failed may run again";
  }
  // The first time is not again.
  NewWork asked;
  asked.commit = kSha;
  World world(Phase::Draft, asked);
  world.take(exit(*world.item, world.hold(kAnn, "s1", at(0)), kAnn, {}, at(0)));
  EXPECT_EQ(world.item->phase, Phase::Implementation);
  EXPECT_EQ(world.item->head_sha, kSha);
}

TEST(work_abort, closes_for_good) {
  World world;
  const Session session = world.hold(kAnn, "s1", at(0));
  world.take(abort(*world.item, "not wanted", at(kSecond)));
  EXPECT_TRUE(world.item->aborted);
  EXPECT_EQ(world.item->phase, Phase::Implementation);
  EXPECT_EQ(world.item->queue(), "");
  EXPECT_EQ(world.item->deadline(), INT64_MAX);
  EXPECT_EQ(world.session("s1").state, SessionState::Killed);
  EXPECT_EQ(world.session("s1").ended_because, "aborted");
  EXPECT_EQ(code(abort(*world.item, "", at(kSecond))), "WORK_CLOSED");
  EXPECT_EQ(code(claim(*world.item, world.claim_of(kAnn, "s2"), world.policy, at(kSecond))), "WORK_CLOSED");
  EXPECT_EQ(code(exit(*world.item, session, kAnn, {}, at(kSecond))), "EXIT_LEASE");
  EXPECT_EQ(code(unblock(*world.item, std::nullopt, "", at(kSecond))), "WORK_CLOSED");
  EXPECT_EQ(code(answer(*world.item, "x", at(kSecond))), "ANSWER_NOT_ASKED");

  for (const Phase phase : kPhases) {
    World other;
    other.item->phase = phase;
    EXPECT_EQ(code(abort(*other.item, "", at(0))), phase == Phase::Completed ? "WORK_CLOSED" : "") << phase_name(phase);
  }
}

// --- CI ---------------------------------------------------------------------------------------------------------------

TEST(work_ci, without_required_checks) {
  struct Case {
    std::string kind, conclusion, commit;
    std::string ignored;  // a part of the reason; empty: it counts
    Phase next = Phase::CiPending;
  };
  const Phase green = Phase::ReadyForReview, red = Phase::Blocked;
  const std::vector<Case> cases = {
      {"workflow_run", "success", kSha, "", green},
      {"check_suite", "success", kSha, "", green},
      {"api", "success", kSha, "", green},
      {"api", "success", "", "", green},
      {"workflow_run", "failure", kSha, "", red},
      {"workflow_run", "cancelled", kSha, "", red},
      {"workflow_run", "skipped", kSha, "", red},
      {"workflow_run", "timed_out", kSha, "", red},
      {"workflow_run", "action_required", kSha, "", red},
      {"workflow_run", "stale", kSha, "", red},
      {"workflow_run", "neutral", kSha, "", red},
      {"workflow_run", "Success", kSha, "", red},
      {"check_suite", "failure", kSha, "", red},
      {"api", "failure", "", "", red},
      {"check_run", "success", kSha, "required"},
      {"check_run", "failure", kSha, "required"},
      {"workflow_run", "success", kOtherSha, "another commit"},
      {"workflow_run", "failure", kOtherSha, "another commit"},
      {"api", "success", kOtherSha, "another commit"},
      {"workflow_run", "success", "", "no commit"},
      {"workflow_run", "", kSha, "not finished"},
      {"workflow_run", "in_progress", kSha, "not finished"},
      {"workflow_run", "queued", kSha, "not finished"},
      {"workflow_run", std::string(300, 'x'), kSha, "too long"},
  };
  for (const Case& each : cases) {
    World world(Phase::CiPending);
    world.item->head_sha = kSha;
    const CiReport report{"build", each.kind, each.conclusion, each.commit, "d-1"};
    const CiRuling ruling = report_ci(*world.item, report, world.policy, at(kMinute));
    EXPECT_EQ(ruling.ignored.empty(), each.ignored.empty()) << each.kind << each.conclusion << ruling.ignored;
    EXPECT_NE(ruling.ignored.find(each.ignored), std::string::npos) << ruling.ignored;
    EXPECT_EQ(ruling.events.empty(), !each.ignored.empty());
    for (const Event& event : ruling.events) world.take(event);
    EXPECT_EQ(world.item->phase, each.next) << each.kind << each.conclusion;
    EXPECT_EQ(world.item->blocked_in, each.next == red ? std::optional(Phase::CiPending) : std::nullopt);
    EXPECT_EQ(world.item->blocked_because, each.next == red ? "CI reported `" + each.conclusion + "` for `build`" : "");
  }
}

TEST(work_ci, only_in_its_phase) {
  for (const Phase phase : kPhases) {
    World world;
    world.item->phase = phase;
    const CiRuling ruling = report_ci(*world.item, {"", "api", "success", "", ""}, world.policy, at(0));
    EXPECT_EQ(ruling.ignored.empty(), phase == Phase::CiPending) << phase_name(phase);
  }
  World world(Phase::CiPending);
  world.take(abort(*world.item, "", at(0)));
  EXPECT_FALSE(report_ci(*world.item, {"", "api", "success", "", ""}, world.policy, at(0)).ignored.empty());
}

TEST(work_ci, required_checks) {
  struct Step {
    std::string check, kind, conclusion, commit;
    bool counts;
    Phase phase;
  };
  struct Case {
    std::string what;
    std::string head;
    std::vector<Step> steps;
  };
  const Phase wait = Phase::CiPending, green = Phase::ReadyForReview, red = Phase::Blocked;
  const std::vector<Case> cases = {
      {"all of them, in any order",
       kSha,
       {{"test", "check_run", "success", kSha, true, wait}, {"build", "check_run", "success", kSha, true, green}}},
      {"one again does not count twice",
       kSha,
       {{"test", "check_run", "success", kSha, true, wait}, {"test", "check_run", "success", kSha, false, wait}}},
      {"one fails",
       kSha,
       {{"test", "check_run", "success", kSha, true, wait}, {"build", "check_run", "failure", kSha, true, red}}},
      {"any other final conclusion blocks", kSha, {{"build", "check_run", "neutral", kSha, true, red}}},
      {"others do not count, whatever they say",
       kSha,
       {{"lint", "check_run", "failure", kSha, false, wait},
        {"Build", "check_run", "success", kSha, false, wait},
        {"ci", "workflow_run", "success", kSha, false, wait},
        {"", "api", "success", "", false, wait}}},
      {"by name, whatever kind",
       kSha,
       {{"build", "workflow_run", "success", kSha, true, wait}, {"test", "api", "success", "", true, green}}},
      {"for another commit",
       kSha,
       {{"build", "check_run", "success", kOtherSha, false, wait}, {"test", "check_run", "success", kSha, true, wait}}},
      {"the head is not known",
       "",
       {{"build", "check_run", "success", kSha, true, wait}, {"test", "check_run", "success", kSha, true, green}}},
      {"the head is not known, and two commits do not add up",
       "",
       {{"build", "check_run", "success", kSha, true, wait},
        {"test", "check_run", "success", kOtherSha, true, wait},
        {"build", "check_run", "success", kOtherSha, true, green}}},
      {"the head is not known, and a report that names none goes with any",
       "",
       {{"build", "check_run", "success", kSha, true, wait}, {"test", "api", "success", "", true, green}}},
  };
  for (const Case& each : cases) {
    World world(Phase::CiPending);
    world.policy.required_checks = {"build", "test"};
    world.item->head_sha = each.head;
    for (const Step& step : each.steps) {
      const CiRuling ruling =
          report_ci(*world.item, {step.check, step.kind, step.conclusion, step.commit, ""}, world.policy, at(kMinute));
      EXPECT_EQ(ruling.ignored.empty(), step.counts) << each.what << ": " << ruling.ignored;
      for (const Event& event : ruling.events) world.take(event);
      EXPECT_EQ(world.item->phase, step.phase) << each.what;
      EXPECT_EQ(world.item->head_sha, each.head) << "a report does not set it";
    }
  }
}

TEST(work_ci, the_commit_that_is_seen) {
  struct Case {
    Phase phase;
    std::string head, commit, want;
  };
  const std::vector<Case> cases = {
      {Phase::CiPending, "", kSha, kSha},         {Phase::CiPending, kSha, kOtherSha, kSha},
      {Phase::Review, kSha, kOtherSha, kSha},     {Phase::Implementation, kSha, kOtherSha, kOtherSha},
      {Phase::Draft, kSha, kOtherSha, kOtherSha}, {Phase::Completed, "", kSha, ""},
      {Phase::CiPending, kSha, kSha, kSha},
  };
  for (const Case& each : cases) {
    World world;
    world.item->phase = each.phase;
    world.item->head_sha = each.head;
    world.take(see_commit(*world.item, each.commit, at(0)));
    EXPECT_EQ(world.item->head_sha, each.want) << phase_name(each.phase);
  }
  World world(Phase::CiPending);
  for (const std::string& bad : {std::string(), std::string("abc"), std::string(40, 'G'), std::string(41, 'a')})
    EXPECT_EQ(code(see_commit(*world.item, bad, at(0))), "WORK_FIELD") << bad;

  // What was reported for it before it was known still counts; what was reported for another does not.
  for (const std::string& head : {kSha, kOtherSha}) {
    World reported(Phase::CiPending);
    reported.policy.required_checks = {"build", "test"};
    for (const Event& event :
         report_ci(*reported.item, {"build", "check_run", "success", kSha, ""}, reported.policy, at(0)).events)
      reported.take(event);
    reported.take(see_commit(*reported.item, head, at(1)));
    for (const Event& event :
         report_ci(*reported.item, {"test", "check_run", "success", head, ""}, reported.policy, at(2)).events)
      reported.take(event);
    EXPECT_EQ(reported.item->phase, head == kSha ? Phase::ReadyForReview : Phase::CiPending);
  }
}

// --- a whole life -----------------------------------------------------------------------------------------------------

TEST(work_life, from_draft_to_completed) {
  World world(Phase::Draft);
  Time now = at(0);
  const auto hand_over = [&](const Actor& actor, const std::string& session) {
    now.nanoseconds += kMinute;
    const Session held = world.hold(actor, session, now);
    now.nanoseconds += kMinute;
    world.take(exit(*world.item, held, actor, {}, now));
  };
  hand_over(kAnn, "s1");
  hand_over(kAnn, "s2");
  EXPECT_EQ(world.item->phase, Phase::CiPending);
  for (const Event& event : report_ci(*world.item, {"", "api", "success", "", ""}, world.policy, now).events)
    world.take(event);
  EXPECT_EQ(code(claim(*world.item, world.claim_of(kAnn, "s3"), world.policy, now)), "CLAIM_SAME_ACTOR");
  hand_over(kBob, "s4");
  EXPECT_EQ(world.item->phase, Phase::ReadyForMerge);
  hand_over(kBob, "s5");
  EXPECT_EQ(world.item->phase, Phase::Completed);
  EXPECT_EQ(world.item->fence, 4u);
  EXPECT_EQ(world.item->totals.sessions, 4u);
  EXPECT_EQ(world.item->totals.attempts, 0u);
  EXPECT_EQ(code(abort(*world.item, "", now)), "WORK_CLOSED");
}

}  // namespace
}  // namespace baton::work
