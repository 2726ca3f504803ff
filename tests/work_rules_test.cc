// SPDX-License-Identifier: Apache-2.0
// How an item begins, who may take it and how a lease is kept: what the specification's tables say, every refusal, the order
// of refusals, and both sides of every moment at which something ends. (work_handoff_test.cc has the rest.)
#include <gtest/gtest.h>

#include <algorithm>

#include "base/limits.h"
#include "work/reading.h"
#include "work_world.h"

namespace baton::work {
namespace {

using agent_exit::kPhases;
using agent_exit::phase_name;
using Names = std::vector<std::string>;

const std::string kSha(40, 'a');

// --- creating ---------------------------------------------------------------------------------------------------------

NewWork good() {
  NewWork asked;
  asked.id = "W-1";
  asked.title = "do it";
  return asked;
}

TEST(work_create, everything_that_is_wrong_is_said) {
  struct Case {
    std::string what;
    void (*change)(NewWork&);
    Names want;
  };
  const std::vector<Case> cases = {
      {"good", [](NewWork&) {}, {}},
      {"empty id", [](NewWork& w) { w.id = ""; }, {"WORK_ID"}},
      {"id with a slash", [](NewWork& w) { w.id = "a/b"; }, {"WORK_ID"}},
      {"id that begins with a dot", [](NewWork& w) { w.id = ".a"; }, {"WORK_ID"}},
      {"64 bytes of id", [](NewWork& w) { w.id = std::string(64, 'x'); }, {}},
      {"65 bytes of id", [](NewWork& w) { w.id = std::string(65, 'x'); }, {"WORK_ID"}},
      {"no title", [](NewWork& w) { w.title = ""; }, {"WORK_FIELD"}},
      {"a blank title", [](NewWork& w) { w.title = " \t"; }, {"WORK_FIELD", "WORK_FIELD"}},
      {"200 characters of title", [](NewWork& w) { w.title = std::string(200, 'x') + ""; }, {}},
      {"200 characters of two bytes",
       [](NewWork& w) {
         w.title.clear();
         for (int i = 0; i < 200; ++i) w.title += "\u00e9";
       },
       {}},
      {"201 characters of title", [](NewWork& w) { w.title = std::string(201, 'x'); }, {"WORK_FIELD"}},
      {"a line feed in the title", [](NewWork& w) { w.title = "a\nb"; }, {"WORK_FIELD"}},
      {"a title that is not UTF-8", [](NewWork& w) { w.title = "\xff"; }, {"WORK_FIELD"}},
      {"text of several lines", [](NewWork& w) { w.text = "a\nb\tc\r\n"; }, {}},
      {"a bell in the text", [](NewWork& w) { w.text = "a\a"; }, {"WORK_FIELD"}},
      {"as much text as there may be", [](NewWork& w) { w.text = std::string(limits::kWorkTextBytesMax, 'x'); }, {}},
      {"more", [](NewWork& w) { w.text = std::string(limits::kWorkTextBytesMax + 1, 'x'); }, {"WORK_FIELD"}},
      {"begins COMPLETED", [](NewWork& w) { w.phase = Phase::Completed; }, {"WORK_FIELD"}},
      {"begins BLOCKED", [](NewWork& w) { w.phase = Phase::Blocked; }, {"WORK_FIELD"}},
      {"begins in CI_PENDING", [](NewWork& w) { w.phase = Phase::CiPending; }, {}},
      {"priority 0", [](NewWork& w) { w.priority = 0; }, {}},
      {"priority 9", [](NewWork& w) { w.priority = 9; }, {}},
      {"priority 10", [](NewWork& w) { w.priority = 10; }, {"WORK_FIELD"}},
      {"priority -1", [](NewWork& w) { w.priority = -1; }, {"WORK_FIELD"}},
      {"64 labels", [](NewWork& w) { w.labels.assign(64, "x"); }, {}},
      {"65 labels", [](NewWork& w) { w.labels.assign(65, "x"); }, {"WORK_FIELD"}},
      {"an empty label", [](NewWork& w) { w.labels = {""}; }, {"WORK_FIELD"}},
      {"a label with a blank", [](NewWork& w) { w.labels = {"a b"}; }, {"WORK_FIELD"}},
      {"an address", [](NewWork& w) { w.pr_url = "https://forge.test/o/n/pull/1"; }, {}},
      {"a plain http address", [](NewWork& w) { w.pr_url = "http://forge.test/o/n/pull/1"; }, {"WORK_FIELD"}},
      {"a commit", [](NewWork& w) { w.commit = kSha; }, {}},
      {"a commit of SHA-256", [](NewWork& w) { w.commit = std::string(64, '0'); }, {}},
      {"a shortened commit", [](NewWork& w) { w.commit = "abc1234"; }, {"WORK_FIELD"}},
      {"a commit in capitals", [](NewWork& w) { w.commit = std::string(40, 'A'); }, {"WORK_FIELD"}},
      {"several at once",
       [](NewWork& w) { w.id = "/", w.title = "", w.priority = 99, w.labels = {""}; },
       {"WORK_ID", "WORK_FIELD", "WORK_FIELD", "WORK_FIELD"}},
  };
  for (const Case& each : cases) {
    NewWork asked = good();
    each.change(asked);
    EXPECT_EQ(codes(create(asked, false, {}, kOlga, at(0)).refused), each.want) << each.what;
  }
}

TEST(work_create, the_id_and_the_dependencies) {
  NewWork asked = good();
  EXPECT_EQ(code(create(asked, true, {}, kOlga, at(0))), "WORK_EXISTS");

  World open(Phase::Draft), done(Phase::Draft), aborted(Phase::Draft);
  open.item->id = "open", done.item->id = "done", aborted.item->id = "aborted";
  done.item->phase = Phase::Completed;
  aborted.item->aborted = true;
  const auto ruling = [&](Names names, std::vector<std::optional<Item>> items) {
    asked.depends_on = std::move(names);
    return create(asked, false, items, kOlga, at(0));
  };
  const Ruling allowed = ruling({"open", "done"}, {open.item, done.item});
  ASSERT_EQ(code(allowed), "");
  EXPECT_EQ(json::write(*allowed.events.at(0).payload.find("depends_on")), R"(["open","done"])");
  EXPECT_EQ(json::write(*allowed.events.at(0).payload.find("open_dependencies")), R"(["open"])");
  EXPECT_EQ(
      codes(ruling({"gone", "aborted", "open", "open"}, {std::nullopt, aborted.item, open.item, open.item}).refused),
      Names({"WORK_DEPENDENCY", "WORK_DEPENDENCY", "WORK_DEPENDENCY"}));
  EXPECT_EQ(code(ruling(Names(65, "x"), std::vector<std::optional<Item>>(65))), "WORK_FIELD");
}

TEST(work_create, an_item_is_what_was_asked_for) {
  NewWork asked;
  asked.text = "more\nof it";
  asked.priority = 7;
  asked.labels = {"b", "a", "b"};
  asked.pr_url = "https://github.com/org/repo/pull/12";
  asked.commit = kSha;
  const World world(Phase::Review, asked);
  const Item& item = *world.item;
  EXPECT_EQ(item.id, "W-1");
  EXPECT_EQ(item.title, "do it");
  EXPECT_EQ(item.text, "more\nof it");
  EXPECT_EQ(item.phase, Phase::Review);
  EXPECT_EQ(item.priority, 7);
  EXPECT_EQ(item.created_by, "olga");
  EXPECT_EQ(item.created_at, at(0));
  EXPECT_EQ(item.waiting_since, at(0));
  EXPECT_EQ(item.labels, Names({"a", "b"}));
  EXPECT_EQ(item.pull_request(), "org/repo#12");
  EXPECT_EQ(item.head_sha, kSha);
}

// --- claiming ---------------------------------------------------------------------------------------------------------

TEST(work_claim, phases_that_can_be_claimed) {
  struct Case {
    Phase phase;
    std::optional<Phase> held_in;  // nothing: it cannot be claimed
  };
  const std::vector<Case> cases = {
      {Phase::Draft, Phase::Draft},     {Phase::Implementation, Phase::Implementation},
      {Phase::CiPending, std::nullopt}, {Phase::ReadyForReview, Phase::Review},
      {Phase::Review, Phase::Review},   {Phase::ReadyForMerge, Phase::ReadyForMerge},
      {Phase::Completed, std::nullopt}, {Phase::Blocked, std::nullopt},
  };
  ASSERT_EQ(cases.size(), kPhases.size());
  for (const Case& each : cases) {
    World world;
    world.item->phase = each.phase;
    EXPECT_EQ(is_claimable(each.phase), each.held_in.has_value()) << phase_name(each.phase);
    const Ruling ruling = claim(*world.item, world.claim_of(kAnn, "s1"), world.policy, at(kMinute));
    EXPECT_EQ(code(ruling), each.held_in ? "" : "CLAIM_PHASE") << phase_name(each.phase);
    if (!each.held_in) continue;
    world.take(ruling);
    EXPECT_EQ(world.item->phase, *each.held_in);
    // The age counts from when it came into its phase.
    EXPECT_EQ(world.item->waiting_since, each.phase == *each.held_in ? at(0) : at(kMinute)) << phase_name(each.phase);
  }
}

TEST(work_claim, gives_a_lease_and_a_session) {
  World world;
  world.policy.lease_ttl = 90 * kSecond;
  const Session session = world.hold(kAnn, "s1", at(kMinute));
  EXPECT_EQ(session.state, SessionState::Open);
  EXPECT_EQ(session.work_id, "W-1");
  EXPECT_EQ(session.actor_id, "ann");
  EXPECT_EQ(session.agent_id, "a12345");
  EXPECT_EQ(session.role, "agent");
  EXPECT_EQ(session.fence, 1u);
  EXPECT_EQ(session.opened_at, at(kMinute));
  const Lease& lease = world.item->lease.value();
  EXPECT_EQ(lease.id, "l-s1");
  EXPECT_EQ(lease.session_id, "s1");
  EXPECT_EQ(lease.holder, "ann");
  EXPECT_EQ(lease.fence, 1u);
  EXPECT_EQ(lease.issued_at, at(kMinute));
  EXPECT_EQ(lease.expires_at, at(kMinute + 90 * kSecond));
  EXPECT_EQ(lease.ttl, 90 * kSecond);
  EXPECT_EQ(world.item->totals.sessions, 1u);
  EXPECT_EQ(world.item->queue(), "");
}

TEST(work_claim, the_same_session_another_session_another_actor) {
  World world;
  world.hold(kAnn, "s1", at(0));

  Claim again = world.claim_of(kAnn, "s2");
  again.present_session = "s1";
  const Ruling own = claim(*world.item, again, world.policy, at(kSecond));
  EXPECT_TRUE(own.allowed());
  EXPECT_TRUE(own.events.empty());
  EXPECT_EQ(code(claim(*world.item, world.claim_of(kBob, "s2"), world.policy, at(kSecond))), "CLAIM_HELD");
  // A session id alone says nothing: the caller must present that session.
  again.actor = kBob, again.present_session = "s9";
  EXPECT_EQ(code(claim(*world.item, again, world.policy, at(kSecond))), "CLAIM_HELD");

  const Session second = world.hold(kAnn, "s2", at(kSecond));
  EXPECT_EQ(second.fence, 2u);
  EXPECT_EQ(world.session("s1").state, SessionState::Killed);
  EXPECT_EQ(world.session("s1").ended_because, "superseded");
  EXPECT_EQ(world.session("s1").ended_at, at(kSecond));
  EXPECT_EQ(world.item->lease->session_id, "s2");
  EXPECT_EQ(world.item->attempts, 0u);
  EXPECT_EQ(code(renew(*world.item, world.session("s1"), 0, world.policy, at(2 * kSecond))), "LEASE_STALE");
  EXPECT_EQ(code(renew(*world.item, second, 0, world.policy, at(2 * kSecond))), "");
}

TEST(work_claim, of_a_parked_lease_only_by_its_actor) {
  World world;
  const Session session = world.hold(kAnn, "s1", at(0));
  world.take(park(*world.item, session, WaitsFor::Input, "which?", world.policy, at(kSecond)));
  const Ruling other = claim(*world.item, world.claim_of(kBob, "s2"), world.policy, at(kDay));
  EXPECT_EQ(code(other), "CLAIM_HELD");
  EXPECT_NE(other.refused[0].message.find("while a person is asked"), std::string::npos);
  // Another session of the same actor waits for the same answer, and as long.
  world.hold(kAnn, "s3", at(kDay));
  EXPECT_EQ(world.item->waits_for, WaitsFor::Input);
  EXPECT_EQ(world.item->question, "which?");
  EXPECT_EQ(world.item->lease->parked_until, at(kSecond + world.policy.max_parked));
  EXPECT_EQ(world.session("s1").state, SessionState::Killed);
  EXPECT_EQ(world.session("s3").state, SessionState::Paused);
  EXPECT_EQ(code(exit(*world.item, world.session("s3"), kAnn, {}, at(kDay))), "LEASE_PARKED");
  world.take(answer(*world.item, "that", at(2 * kDay)));
  EXPECT_EQ(world.session("s3").state, SessionState::Open);
  EXPECT_EQ(world.item->lease->expires_at, at(2 * kDay + world.policy.lease_ttl));
  EXPECT_EQ(world.item->answer, "that");
}

TEST(work_lease, a_question_is_not_released_or_offered_away) {
  World world;
  const Session session = world.hold(kAnn, "s1", at(0));
  world.take(park(*world.item, session, WaitsFor::Input, "which?", world.policy, at(1)));
  EXPECT_EQ(code(release(*world.item, world.session("s1"), "", at(2))), "LEASE_PARKED");
  EXPECT_EQ(code(offer(*world.item, world.session("s1"), {"bob", at(kDay), "m"}, world.policy, at(2))), "LEASE_PARKED");
  world.take(answer(*world.item, "that", at(3)));
  world.take(release(*world.item, world.session("s1"), "", at(4)));
}

TEST(work_claim, a_lease_that_is_over_is_held_until_it_is_settled) {
  World world;
  world.hold(kAnn, "s1", at(0));
  const Time end = world.item->lease->expires_at;
  EXPECT_EQ(code(claim(*world.item, world.claim_of(kBob, "s2"), world.policy, end)), "CLAIM_HELD");
  EXPECT_EQ(code(claim(*world.item, world.claim_of(kAnn, "s2"), world.policy, end)), "CLAIM_HELD");
  world.settle(end);
  world.hold(kBob, "s2", end);
  EXPECT_EQ(world.item->fence, 2u);
}

TEST(work_claim, reviewers) {
  struct Case {
    Phase phase;
    bool allow_self_review, review_by_operator;
    Actor actor;
    std::string want;
  };
  const std::vector<Case> cases = {
      {Phase::ReadyForReview, false, false, kAnn, "CLAIM_SAME_ACTOR"},
      {Phase::Review, false, false, kAnn, "CLAIM_SAME_ACTOR"},
      {Phase::ReadyForMerge, false, false, kAnn, "CLAIM_SAME_ACTOR"},
      {Phase::Implementation, false, false, kAnn, ""},
      {Phase::Draft, false, false, kAnn, ""},
      {Phase::ReadyForReview, false, false, kBob, ""},
      {Phase::Review, false, false, kBob, ""},
      {Phase::ReadyForMerge, false, false, kBob, ""},
      {Phase::ReadyForReview, true, false, kAnn, ""},
      {Phase::Review, true, false, kAnn, ""},
      {Phase::ReadyForMerge, true, false, kAnn, ""},
      {Phase::ReadyForReview, false, true, kBob, "CLAIM_OPERATOR_ONLY"},
      {Phase::Review, false, true, kBob, "CLAIM_OPERATOR_ONLY"},
      {Phase::Review, true, true, kAnn, "CLAIM_OPERATOR_ONLY"},
      {Phase::Review, false, true, kCi, "CLAIM_OPERATOR_ONLY"},
      {Phase::ReadyForMerge, false, true, kBob, ""},
      {Phase::Implementation, false, true, kBob, ""},
      {Phase::ReadyForReview, false, true, kOlga, ""},
      {Phase::Review, false, true, kOlga, ""},
      // An operator that implemented it is its implementer all the same.
      {Phase::Review, false, true, {"ann", ActorKind::Operator}, "CLAIM_SAME_ACTOR"},
  };
  for (const Case& each : cases) {
    World world(each.phase);
    world.item->implementer = "ann";
    world.policy.allow_self_review = each.allow_self_review;
    world.policy.review_by_operator = each.review_by_operator;
    EXPECT_EQ(code(claim(*world.item, world.claim_of(each.actor, "s1"), world.policy, at(0))), each.want)
        << phase_name(each.phase) << " " << each.actor.id << each.allow_self_review << each.review_by_operator;
  }
}

// What an earlier one did is in it too, whoever completed it last.
TEST(work_claim, nobody_reviews_what_he_implemented_before) {
  World world;
  const auto implement = [&](const Actor& actor, const std::string& session, std::int64_t when) {
    const Session held = world.hold(actor, session, at(when));
    world.take(exit(*world.item, held, actor, {}, at(when + 1)));
    world.take(report_ci(*world.item, {"", "api", "failure", "", ""}, world.policy, at(when + 2)).events.at(0));
    world.take(unblock(*world.item, std::nullopt, "", at(when + 3)));
  };
  implement(kAnn, "s1", 0);
  implement(kBob, "s2", 10);
  EXPECT_EQ(world.item->implementer, "bob");
  EXPECT_EQ(world.item->earlier_implementers, std::vector<std::string>{"ann"});
  Item item = *world.item;
  for (const Phase phase : {Phase::ReadyForReview, Phase::Review, Phase::ReadyForMerge}) {
    item.phase = phase;
    for (const Actor& actor : {kAnn, kBob})
      EXPECT_EQ(code(claim(item, world.claim_of(actor, "s9"), world.policy, at(20))), "CLAIM_SAME_ACTOR") << actor.id;
    EXPECT_EQ(code(claim(item, world.claim_of({"carl", ActorKind::Agent}, "s9"), world.policy, at(20))), "");
  }
  implement(kAnn, "s3", 30);
  EXPECT_EQ(world.item->earlier_implementers, std::vector<std::string>{"bob"}) << "each once";

  // More than are remembered: who may review it is a person's to say.
  for (int i = 0; i < 70; ++i) implement({"a" + std::to_string(i), ActorKind::Agent}, "n" + std::to_string(i), 100 * i);
  EXPECT_EQ(world.item->earlier_implementers.size(), kImplementersMax);
  item = *world.item;
  item.phase = Phase::Review;
  EXPECT_EQ(code(claim(item, world.claim_of({"carl", ActorKind::Agent}, "s9"), world.policy, at(9999))),
            "CLAIM_OPERATOR_ONLY");
  EXPECT_EQ(code(claim(item, world.claim_of(kOlga, "s9"), world.policy, at(9999))), "");
}

TEST(work_claim, offers) {
  struct Case {
    std::string to;
    Actor actor;
    std::string role, want;
  };
  const std::vector<Case> cases = {
      {"bob", kBob, "", ""},
      {"bob", kAnn, "", "CLAIM_OFFERED"},
      {"uai:agent:7", {"bob", ActorKind::Agent, {"uai:agent:6", "uai:agent:7"}}, "", ""},
      {"uai:agent:8", {"bob", ActorKind::Agent, {"uai:agent:6", "uai:agent:7"}}, "", "CLAIM_OFFERED"},
      {"role:coder", kBob, "coder", ""},
      {"role:coder", kBob, "", ""},
      {"role:coder", kBob, "agent", "CLAIM_OFFERED"},
      {"role:reviewer", kBob, "reviewer", "CLAIM_ROLE"},  // which does not take IMPLEMENTATION
      {"role:nobody", kBob, "", "CLAIM_ROLE"},
      {"coder", kBob, "coder", "CLAIM_OFFERED"},  // an actor of that name, not the role
  };
  for (const Case& each : cases) {
    World world;
    world.policy.roles = {Role{}, Role{.name = "coder", .phases = {Phase::Implementation}},
                          Role{.name = "reviewer", .phases = {Phase::Review}}};
    world.item->offer = Offer{each.to, at(kDay), "m-1"};
    Claim asked = world.claim_of(each.actor, "s1");
    asked.role = each.role;
    const Ruling ruling = claim(*world.item, asked, world.policy, at(0));
    EXPECT_EQ(code(ruling), each.want) << each.to << " " << each.actor.id << " " << each.role;
    if (!ruling.allowed()) continue;
    world.take(ruling);
    EXPECT_FALSE(world.item->offer);
    EXPECT_EQ(world.session("s1").role, each.to.starts_with("role:") ? "coder" : "agent");
  }
}

TEST(work_claim, roles) {
  World world;
  world.policy.roles = {Role{.name = "coder", .phases = {Phase::Draft, Phase::Implementation}},
                        Role{.name = "reviewer", .phases = {Phase::ReadyForReview, Phase::Review}}};
  const auto ruling = [&](Phase phase, const std::string& role) {
    world.item->phase = phase;
    Claim asked = world.claim_of(kAnn, "s1");
    asked.role = role;
    return claim(*world.item, asked, world.policy, at(0));
  };
  EXPECT_EQ(code(ruling(Phase::Draft, "coder")), "");
  EXPECT_EQ(code(ruling(Phase::Draft, "")), "");
  EXPECT_EQ(code(ruling(Phase::Draft, "reviewer")), "CLAIM_ROLE");
  EXPECT_EQ(code(ruling(Phase::Draft, "nobody")), "CLAIM_ROLE");
  EXPECT_EQ(code(ruling(Phase::ReadyForMerge, "")), "CLAIM_ROLE");
  EXPECT_EQ(ruling(Phase::Review, "").events.at(0).payload.find("role")->string(), "reviewer");
}

TEST(work_claim, how_long) {
  World world;
  world.policy.lease_ttl_max = 100 * kSecond;
  const auto ruling = [&](std::int64_t ttl) {
    Claim asked = world.claim_of(kAnn, "s1");
    asked.ttl = ttl;
    return claim(*world.item, asked, world.policy, at(0));
  };
  EXPECT_EQ(code(ruling(0)), "");
  EXPECT_EQ(code(ruling(1)), "");
  EXPECT_EQ(code(ruling(100 * kSecond)), "");
  EXPECT_EQ(code(ruling(100 * kSecond + 1)), "LEASE_TTL");
  EXPECT_EQ(code(ruling(-1)), "LEASE_TTL");
  EXPECT_EQ(code(ruling(INT64_MIN)), "LEASE_TTL");
}

// An item with every fault at once; mending the first leaves the next.
TEST(work_claim, order_of_refusals) {
  World world;
  world.hold(kBob, "s1", at(0));
  Item item = *world.item;
  item.aborted = true;
  item.phase = Phase::Blocked;
  item.open_dependencies = {"W-0"};
  item.offer = Offer{"carl", at(kDay), "m-1"};
  item.implementer = "ann";
  Policy policy = world.policy;
  policy.roles = {Role{.name = "coder", .phases = {Phase::Draft}}};
  policy.review_by_operator = true;
  Claim asked = world.claim_of(kAnn, "s2");
  asked.ttl = -1;

  const auto refused = [&] { return code(claim(item, asked, policy, at(0))); };
  EXPECT_EQ(refused(), "WORK_CLOSED");
  item.aborted = false;
  EXPECT_EQ(refused(), "CLAIM_PHASE");
  item.phase = Phase::Review;
  EXPECT_EQ(refused(), "CLAIM_WAITS");
  item.open_dependencies.clear();
  EXPECT_EQ(refused(), "CLAIM_HELD");
  item.lease.reset();
  EXPECT_EQ(refused(), "CLAIM_OFFERED");
  item.offer.reset();
  EXPECT_EQ(refused(), "CLAIM_ROLE");
  policy.roles = {Role{}};
  EXPECT_EQ(refused(), "CLAIM_OPERATOR_ONLY");
  policy.review_by_operator = false;
  EXPECT_EQ(refused(), "CLAIM_SAME_ACTOR");
  item.implementer = "bob";
  EXPECT_EQ(refused(), "LEASE_TTL");
  asked.ttl = 0;
  EXPECT_EQ(refused(), "");
}

TEST(work_claim, where_the_next_item_is_looked_for) {
  Policy policy;
  const auto queues = [&](const Actor& actor, std::string_view role, std::vector<Phase> phases) {
    return queues_for(actor, role, phases, policy);
  };
  EXPECT_EQ(queues(kAnn, "", {}),
            Names({"@ann", "@role:agent", "DRAFT", "IMPLEMENTATION", "READY_FOR_REVIEW", "REVIEW", "READY_FOR_MERGE"}));
  EXPECT_EQ(queues(kAnn, "", {Phase::Review, Phase::CiPending, Phase::Draft, Phase::Review}),
            Names({"@ann", "@role:agent", "REVIEW", "DRAFT"}));
  policy.roles = {Role{.name = "coder", .phases = {Phase::Implementation}},
                  Role{.name = "reviewer", .phases = {Phase::ReadyForReview, Phase::Review}}};
  const Actor named{"ann", ActorKind::Agent, {"uai:1", "ann"}};
  EXPECT_EQ(queues(named, "coder", {}), Names({"@ann", "@uai:1", "@role:coder", "IMPLEMENTATION"}));
  EXPECT_EQ(queues(named, "", {}),
            Names({"@ann", "@uai:1", "@role:coder", "@role:reviewer", "IMPLEMENTATION", "READY_FOR_REVIEW", "REVIEW"}));
  EXPECT_EQ(queues(kAnn, "nobody", {}), Names({"@ann"}));
  policy.review_by_operator = true;
  EXPECT_EQ(queues(kAnn, "reviewer", {}), Names({"@ann", "@role:reviewer"}));
  EXPECT_EQ(queues(kOlga, "reviewer", {}), Names({"@olga", "@role:reviewer", "READY_FOR_REVIEW", "REVIEW"}));
}

// --- the lease --------------------------------------------------------------------------------------------------------

// Everything a holder may do, with the code of its refusal.
struct Write {
  std::string name;
  std::string code;
  Ruling (*ask)(const Item&, const Session&, const Policy&, Time);
};
const std::vector<Write> kWrites = {
    {"renew", "LEASE_STALE",
     [](const Item& i, const Session& s, const Policy& p, Time now) { return renew(i, s, kDay, p, now); }},
    {"release", "LEASE_STALE",
     [](const Item& i, const Session& s, const Policy&, Time now) { return release(i, s, "", now); }},
    {"abandon", "LEASE_STALE",
     [](const Item& i, const Session& s, const Policy& p, Time now) { return abandon(i, s, "", p, now); }},
    {"fail", "LEASE_STALE",
     [](const Item& i, const Session& s, const Policy&, Time now) { return fail(i, s, "", now); }},
    {"exit", "EXIT_LEASE",
     [](const Item& i, const Session& s, const Policy&, Time now) { return exit(i, s, kAnn, {}, now); }},
    {"park", "EXIT_LEASE",
     [](const Item& i, const Session& s, const Policy& p, Time now) {
       return park(i, s, WaitsFor::Input, "?", p, now);
     }},
    {"offer", "EXIT_LEASE",
     [](const Item& i, const Session& s, const Policy& policy, Time now) {
       return offer(i, s, {"bob", at(kDay), "m"}, policy, now);
     }},
};

TEST(work_lease, ends_at_its_end_and_not_before) {
  for (const Write& write : kWrites) {
    World world;
    const Session session = world.hold(kAnn, "s1", at(0));
    const Time end = world.item->lease->expires_at;
    EXPECT_EQ(code(write.ask(*world.item, session, world.policy, {end.nanoseconds - 1})), "") << write.name;
    // Nobody has claimed it and nothing was settled: it is over all the same.
    EXPECT_EQ(code(write.ask(*world.item, session, world.policy, end)), write.code) << write.name;
    EXPECT_EQ(code(write.ask(*world.item, session, world.policy, {end.nanoseconds + 1})), write.code) << write.name;
  }
}

TEST(work_lease, whoever_does_not_hold_it_is_refused) {
  const auto stale = [](const std::string& what, const Write& write, const World& world, const Session& session) {
    EXPECT_EQ(code(write.ask(*world.item, session, world.policy, at(kSecond))), write.code)
        << what << " " << write.name;
  };
  for (const Write& write : kWrites) {
    World world;
    const Session session = world.hold(kAnn, "s1", at(0));
    Session other = session;
    other.work_id = "W-2";
    stale("another item's session", write, world, other);
    other = session;
    other.id = "s7";
    stale("a session of the same fence", write, world, other);
    other = session;
    other.fence = 0;
    stale("an older fence", write, world, other);
    other.fence = 2;
    stale("a fence that was not issued", write, world, other);
    for (const SessionState state : {SessionState::Closed, SessionState::Killed, SessionState::Abandoned}) {
      other = session;
      other.state = state;
      stale("a session that has ended", write, world, other);
    }
    World taken = world;
    taken.hold(kAnn, "s2", at(0));
    stale("a session that was superseded", write, taken, session);
    World gone = world;
    gone.take(release(*gone.item, session, "", at(0)));
    stale("a lease that was released", write, gone, session);
    gone.hold(kBob, "s2", at(0));
    stale("a lease that is another's", write, gone, session);
  }
}

TEST(work_lease, settling_an_expired_one) {
  World world;
  world.policy.max_attempts = 3;
  for (std::uint32_t attempt = 1; attempt <= 3; ++attempt) {
    const std::string id = "s" + std::to_string(attempt);
    const Time now = at(attempt * kDay);
    world.hold(kAnn, id, now);
    const Time end = world.item->lease->expires_at;
    EXPECT_TRUE(settle(*world.item, world.policy, {end.nanoseconds - 1}).events.empty());
    world.settle({end.nanoseconds + kMinute});
    EXPECT_FALSE(world.item->lease);
    EXPECT_EQ(world.session(id).state, SessionState::Killed);
    EXPECT_EQ(world.session(id).ended_because, "lease_expired");
    EXPECT_EQ(world.session(id).ended_at, end) << "whenever it is noticed";
    EXPECT_EQ(world.item->attempts, attempt);
    EXPECT_EQ(world.item->phase, attempt < 3 ? Phase::Implementation : Phase::Blocked);
    if (attempt < 3) {
      EXPECT_EQ(world.item->waiting_since, at(0)) << "it has waited since it came into its phase";
      EXPECT_EQ(world.item->queue(), "IMPLEMENTATION");
    }
  }
  EXPECT_EQ(world.item->blocked_in, Phase::Implementation);
  EXPECT_EQ(world.item->blocked_because, "the lease expired 3 times");
  EXPECT_EQ(world.item->queue(), "");
  world.take(unblock(*world.item, std::nullopt, "", at(4 * kDay)));
  EXPECT_EQ(world.item->attempts, 0u);
  EXPECT_EQ(world.item->totals.attempts, 3u);
  EXPECT_EQ(world.item->totals.sessions, 3u);
}

TEST(work_lease, a_clock_set_ahead_moves_what_is_due) {
  World world;
  EXPECT_TRUE(postpone(*world.item, kMinute, at(1)).events.empty()) << "nothing is due";
  const Session session = world.hold(kAnn, "s1", at(0));
  EXPECT_TRUE(postpone(*world.item, 0, at(1)).events.empty());
  const std::int64_t before = world.item->deadline();
  world.take(postpone(*world.item, kMinute, at(1)));
  EXPECT_EQ(world.item->deadline(), before + kMinute);
  EXPECT_EQ(world.item->lease->expires_at, Time{before + kMinute});

  // While a person is asked the lease's own clock stands still.
  world.take(park(*world.item, session, WaitsFor::Input, "which?", world.policy, at(2)));
  const Lease parked = *world.item->lease;
  world.take(postpone(*world.item, kMinute, at(3)));
  EXPECT_EQ(world.item->lease->expires_at, parked.expires_at);
  EXPECT_EQ(world.item->lease->parked_at, parked.parked_at);
  EXPECT_EQ(world.item->deadline(), parked.parked_until->nanoseconds + kMinute);

  World offered;
  const Session giver = offered.hold(kAnn, "s1", at(0));
  offered.take(offer(*offered.item, giver, {"bob", at(kMinute), "m"}, offered.policy, at(1)));
  offered.take(postpone(*offered.item, kMinute, at(2)));
  EXPECT_EQ(offered.item->offer->until, at(2 * kMinute));
}

TEST(work_lease, renewing) {
  World world;
  world.policy.lease_ttl = 100 * kSecond;
  world.policy.lease_ttl_max = 1000 * kSecond;
  const Session session = world.hold(kAnn, "s1", at(0));
  const auto ruling = [&](std::int64_t ttl, Time now) { return renew(*world.item, session, ttl, world.policy, now); };
  EXPECT_EQ(code(ruling(0, at(0))), "LEASE_NOT_EXTENDED");  // the same end
  EXPECT_EQ(code(ruling(50 * kSecond, at(50 * kSecond))), "LEASE_NOT_EXTENDED");
  EXPECT_EQ(code(ruling(50 * kSecond + 1, at(50 * kSecond))), "");
  EXPECT_EQ(code(ruling(1000 * kSecond, at(kSecond))), "");
  EXPECT_EQ(code(ruling(1000 * kSecond + 1, at(kSecond))), "LEASE_TTL");
  EXPECT_EQ(code(ruling(-1, at(kSecond))), "LEASE_TTL");
  EXPECT_EQ(code(ruling(0, at(100 * kSecond))), "LEASE_STALE");
  world.take(ruling(500 * kSecond, at(kSecond)));
  EXPECT_EQ(world.item->lease->expires_at, at(501 * kSecond));
  // Without a time it is as issued, which may be no longer than what is left.
  EXPECT_EQ(code(ruling(0, at(2 * kSecond))), "LEASE_NOT_EXTENDED");
  world.take(ruling(0, at(450 * kSecond)));
  EXPECT_EQ(world.item->lease->expires_at, at(550 * kSecond));
  EXPECT_EQ(world.item->lease->fence, 1u);

  world.take(park(*world.item, session, WaitsFor::Approval, "may I?", world.policy, at(451 * kSecond)));
  EXPECT_EQ(code(renew(*world.item, world.session("s1"), 0, world.policy, at(452 * kSecond))), "LEASE_PARKED");
}

TEST(work_lease, releasing) {
  World world;
  const Session session = world.hold(kAnn, "s1", at(kSecond));
  world.take(release(*world.item, session, "lunch", at(2 * kSecond)));
  EXPECT_EQ(world.session("s1").state, SessionState::Closed);
  EXPECT_EQ(world.session("s1").ended_because, "released");
  EXPECT_FALSE(world.item->lease);
  EXPECT_EQ(world.item->phase, Phase::Implementation);
  EXPECT_EQ(world.item->waiting_since, at(0));
  EXPECT_EQ(world.item->attempts, 0u);
  EXPECT_EQ(world.item->fence, 1u);
  EXPECT_EQ(world.item->queue(), "IMPLEMENTATION");
}

TEST(work_lease, a_silent_end) {
  World world;
  world.policy.max_attempts = 2;
  world.take(abandon(*world.item, world.hold(kAnn, "s1", at(0)), "first", world.policy, at(kSecond)));
  EXPECT_EQ(world.session("s1").state, SessionState::Abandoned);
  EXPECT_EQ(world.item->attempts, 1u);
  EXPECT_EQ(world.item->phase, Phase::Implementation);
  EXPECT_EQ(world.item->blocked_because, "");

  // The last 4 KiB, in whole characters.
  const std::string output = std::string(10'000, 'x') + "\u20ac" + std::string(4094, 'y');
  world.take(abandon(*world.item, world.hold(kAnn, "s2", at(kMinute)), output, world.policy, at(kMinute + kSecond)));
  EXPECT_EQ(world.item->phase, Phase::Blocked);
  EXPECT_EQ(world.item->blocked_in, Phase::Implementation);
  EXPECT_EQ(world.item->blocked_because, std::string(4094, 'y'));
  EXPECT_EQ(world.item->attempts, 2u);

  World other;
  other.policy.max_attempts = 1;
  other.take(abandon(*other.item, other.hold(kAnn, "s1", at(0)), "bad \xff byte", other.policy, at(kSecond)));
  EXPECT_EQ(other.item->blocked_because, "bad \\xff byte");

  // Attempts of both kinds add up.
  World mixed;
  mixed.policy.max_attempts = 2;
  mixed.take(abandon(*mixed.item, mixed.hold(kAnn, "s1", at(0)), "", mixed.policy, at(kSecond)));
  mixed.hold(kAnn, "s2", at(kMinute));
  mixed.settle(at(kDay));
  EXPECT_EQ(mixed.item->phase, Phase::Blocked);
}

TEST(work_lease, refused_too_often) {
  World world;
  world.take(fail(*world.item, world.hold(kAnn, "s1", at(0)), "not a signal", at(kSecond)));
  EXPECT_EQ(world.session("s1").state, SessionState::Killed);
  EXPECT_EQ(world.item->phase, Phase::Blocked);
  EXPECT_EQ(world.item->blocked_because, "not a signal");
  EXPECT_FALSE(world.item->lease);
}

// --- roles that a caller may have ---------------------------------------------------------------------------------------

TEST(work_claim, a_role_that_the_caller_may_not_have_is_not_given) {
  World world;
  Role agent, admin;
  agent.phases = admin.phases = {Phase::Implementation};
  admin.name = "admin";
  world.policy.roles = {agent, admin};
  const auto role_of_claim = [&](std::string role, Names roles) {
    Claim asked;
    asked.actor = kAnn;
    asked.role = std::move(role);
    asked.session_id = "s1";
    asked.lease_id = "l1";
    asked.agent_id = "a1";
    asked.roles = std::move(roles);
    const Ruling ruling = claim(*world.item, asked, world.policy, at(0));
    return ruling.allowed() ? ruling.events.front().payload.find("role")->string() : code(ruling);
  };
  EXPECT_EQ(role_of_claim("", {}), "agent");
  EXPECT_EQ(role_of_claim("admin", {}), "admin") << "who may have any";
  EXPECT_EQ(role_of_claim("admin", {"agent"}), "CLAIM_ROLE");
  EXPECT_EQ(role_of_claim("", {"admin"}), "admin") << "the one of the phase that it may have";
  EXPECT_EQ(role_of_claim("", {"other"}), "CLAIM_ROLE");
  world.item->offer = Offer{"role:admin", at(kDay), "m1"};
  EXPECT_EQ(role_of_claim("", {"agent"}), "CLAIM_ROLE") << "an offer gives nobody a role";
  EXPECT_EQ(role_of_claim("", {"admin"}), "admin");
}

// --- reading ------------------------------------------------------------------------------------------------------------

TEST(work_reading, labels_are_gained_or_the_content_is_withheld) {
  using enum ReadDecision::Outcome;
  Role reader;
  reader.readable = {"plans"};
  struct Case {
    std::string what;
    bool reads_all, can_gain;
    Names has;
    std::string section;
    Names labels;
    ReadDecision::Outcome outcome;
    Names adds;
  };
  const std::vector<Case> cases = {
      {"an operator", true, false, {}, "other", {"a"}, Whole, {}},
      {"no labels", false, false, {}, "plans", {}, Whole, {}},
      {"another section", false, true, {}, "other", {}, Unreadable, {}},
      {"no section at all", false, false, {}, "", {}, Whole, {}},
      {"labels it has", false, false, {"a", "b"}, "plans", {"a"}, Whole, {}},
      {"labels it gains", false, true, {"a"}, "plans", {"a", "b", "c"}, Whole, {"b", "c"}},
      {"labels that nobody could have", false, false, {"a"}, "plans", {"a", "b"}, Withheld, {}},
      {"the same of no section", false, false, {}, "", {"b"}, Withheld, {}},
  };
  for (const Case& one : cases) {
    Clearance who;
    who.reads_all = one.reads_all;
    who.can_gain = one.can_gain;
    who.roles = {&reader};
    who.labels = one.has;
    const ReadDecision decision = decide_read(who, one.section, one.labels);
    EXPECT_EQ(decision.outcome, one.outcome) << one.what;
    EXPECT_EQ(decision.adds, one.adds) << one.what;
  }
  Clearance full;
  full.can_gain = true;
  full.roles = {&reader};
  for (std::size_t i = 0; i < limits::kWorkLabelsMax; ++i) full.labels.push_back("x" + std::to_string(100 + i));
  const ReadDecision decision = decide_read(full, "plans", Names{"a"});
  EXPECT_EQ(decision.outcome, Withheld);
  EXPECT_TRUE(decision.too_many);
}

TEST(work_reading, default_roles_are_the_first_of_each_phase) {
  Policy policy;
  EXPECT_EQ(default_roles(policy), Names{"agent"});
  Role implementer, second, reviewer;
  implementer.name = "implementer";
  implementer.phases = {Phase::Draft, Phase::Implementation};
  second.name = "second";
  second.phases = {Phase::Implementation};
  reviewer.name = "reviewer";
  reviewer.phases = {Phase::Review};
  policy.roles = {implementer, second, reviewer};
  EXPECT_EQ(default_roles(policy), (Names{"agent", "implementer", "reviewer"}));
}

}  // namespace
}  // namespace baton::work
