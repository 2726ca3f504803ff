// SPDX-License-Identifier: Apache-2.0
// A node at work, on every backend: the feed, claims that wait, the sweeper, webhooks in both directions. With PostgreSQL
// also two nodes on one database.
#include "runtime/node.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <fstream>
#include <future>
#include <latch>
#include <map>
#include <mutex>
#include <set>

#include "json/parse.h"
#include "net/http_server.h"
#include "node_world.h"
#include "postgres_server.h"
#include "runtime/feed.h"
#include "runtime/opening.h"
#include "runtime/outbox.h"
#include "runtime/sweeper.h"
#include "runtime/waiting.h"
#include "runtime/webhook_secret.h"
#include "store/faulty/faulty_store.h"
#include "store/memory/memory_store.h"
#include "store/postgres/postgres_store.h"
#include "store/tables.h"
#include "store_backends.h"
#include "temporary_folder.h"
#include "work/events.h"

namespace baton::runtime {
namespace {

using namespace std::chrono_literals;
using work::ActorKind;
using work::Phase;

constexpr auto kLong = std::chrono::minutes(5);  // a wait that nobody sits out

std::string work_id_of(const Result<Answer>& answer) { return answer ? member_of(*answer, "work", "id") : "failed"; }

// Answers as they come, by who asked. Who is still waiting when a test ends is answered then, which may be later than this lives.
class Answers {
 public:
  Answered take(std::size_t who) {
    return [kept = kept_, who](Result<Answer> answer) {
      const std::lock_guard lock(kept->mutex);
      kept->order.push_back(who);
      EXPECT_FALSE(kept->answers.contains(who)) << "answered twice";
      kept->answers.insert_or_assign(who, std::move(answer));
      kept->came.notify_all();
    };
  }
  bool wait_for(std::size_t count) {
    std::unique_lock lock(kept_->mutex);
    return kept_->came.wait_for(lock, kPatience, [&] { return kept_->answers.size() >= count; });
  }
  std::size_t count() {
    const std::lock_guard lock(kept_->mutex);
    return kept_->answers.size();
  }
  std::string work_of(std::size_t who) {
    const std::lock_guard lock(kept_->mutex);
    const auto found = kept_->answers.find(who);
    return found == kept_->answers.end() ? "none yet" : work_id_of(found->second);
  }
  Result<Answer> of(std::size_t who) {
    const std::lock_guard lock(kept_->mutex);
    return kept_->answers.at(who);
  }
  std::vector<std::size_t> order() {
    const std::lock_guard lock(kept_->mutex);
    return kept_->order;
  }

 private:
  struct Kept {
    std::mutex mutex;
    std::condition_variable came;
    std::map<std::size_t, Result<Answer>> answers;
    std::vector<std::size_t> order;
  };
  std::shared_ptr<Kept> kept_ = std::make_shared<Kept>();
};

// A world with a node.
class NodeWorld : public World {
 public:
  NodeWorld(store::Store& store, Clock& clock, const std::filesystem::path& keys, workspace::Config given = {},
            std::string config_folder = "")
      : World(store, clock, keys, std::move(given)),
        access(
            *cases, clock, 1000, "boot", [](std::int64_t) { return std::vector<Access::Process>{}; },
            [](std::int64_t) { return std::string("alice"); }) {
    Node::Options options;
    options.config_folder = std::move(config_folder);
    options.version = "1.2.3";
    options.log = [this](std::string_view line) {
      const std::lock_guard lock(mutex_);
      log_.emplace_back(line);
    };
    auto started = Node::start(store, *ledger, clock, *cases, access, config, options);
    EXPECT_TRUE(started) << started.error().text();
    if (started) node = std::move(*started);
  }

  bool has_logged(std::string_view part) {
    const std::lock_guard lock(mutex_);
    return std::ranges::any_of(log_, [&](const std::string& line) { return line.find(part) != std::string::npos; });
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> log_;

 public:
  Access access;
  std::unique_ptr<Node> node;  // ends first
};

class NodeTest : public ::testing::TestWithParam<store::Backend> {
 protected:
  NodeTest() : made_(GetParam().make(clock_, {})) {}
  store::Store& store() { return made_->store(); }

  std::vector<FedEntry> entries() {
    std::vector<FedEntry> out;
    const auto reader = store().reader();
    EXPECT_TRUE(reader);
    EXPECT_TRUE((*reader)->entries(1, INT64_MAX, [&](const store::EntryRow& row) {
      out.push_back({row.sequence, std::string(row.stream), std::string(row.type), std::string(row.actor_id),
                     std::string(row.actor_kind), std::string(row.payload), row.time});
      return true;
    }));
    return out;
  }

  SystemClock clock_;
  TemporaryFolder keys_;
  std::unique_ptr<store::TestStore> made_;
};
INSTANTIATE_TEST_SUITE_P(Backends, NodeTest, ::testing::ValuesIn(store::backends()),
                         [](const auto& backend) { return backend.param.name; });

// --- starting and stopping ------------------------------------------------------------------------------------------------

TEST_P(NodeTest, it_records_that_it_started_and_stopped) {
  workspace::Config config;
  config.digest = std::string(64, 'd');
  {
    NodeWorld world(store(), clock_, keys_.path(), config);
    ASSERT_TRUE(world.node);
    world.node->stop();
    world.node->stop();  // again changes nothing
  }
  const auto all = entries();
  ASSERT_GE(all.size(), 2u);
  const FedEntry &started = all[all.size() - 2], &stopped = all.back();
  EXPECT_EQ(started.type, "node.started");
  EXPECT_EQ(started.stream, "node");
  EXPECT_EQ(started.actor_kind, "node");
  const auto payload = json::parse(started.payload);
  ASSERT_TRUE(payload);
  EXPECT_EQ(payload->root()["config_digest"].string(), config.digest);
  EXPECT_EQ(payload->root()["version"].string(), "1.2.3");
  EXPECT_EQ(stopped.type, "node.stopped");
}

// --- the feed -------------------------------------------------------------------------------------------------------------

// The sequences a subscriber was handed. May be gone before the feed is.
class Followed {
 public:
  Feed::Take take() {
    return [kept = kept_](const FedEntries& entries) {
      const std::lock_guard lock(kept->mutex);
      for (const FedEntry& entry : *entries) kept->sequences.push_back(entry.sequence);
    };
  }
  std::size_t size() {
    const std::lock_guard lock(kept_->mutex);
    return kept_->sequences.size();
  }
  bool is_gapless_from(std::uint64_t first) {
    const std::lock_guard lock(kept_->mutex);
    for (std::size_t i = 0; i < kept_->sequences.size(); ++i)
      if (kept_->sequences[i] != first + i) return false;
    return true;
  }

 private:
  struct Kept {
    std::mutex mutex;
    std::vector<std::uint64_t> sequences;
  };
  std::shared_ptr<Kept> kept_ = std::make_shared<Kept>();
};

TEST_P(NodeTest, the_feed_hands_out_every_entry_once_and_in_order) {
  NodeWorld world(store(), clock_, keys_.path());
  Feed& feed = world.node->feed();
  ASSERT_TRUE(eventually([&] { return feed.position() == entries().size(); }));
  const std::uint64_t before = feed.position();
  Followed first, second;
  feed.subscribe(first.take());
  const std::uint64_t subscription = feed.subscribe(second.take());
  constexpr std::size_t kThreads = 4, kEach = 25;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i)
    threads.emplace_back([&] {
      for (std::size_t j = 0; j < kEach; ++j) world.create();
    });
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(eventually([&] { return first.size() >= kThreads * kEach; }));
  ASSERT_TRUE(eventually([&] { return second.size() == first.size(); }));
  EXPECT_TRUE(first.is_gapless_from(before + 1));
  EXPECT_TRUE(second.is_gapless_from(before + 1));
  feed.unsubscribe(subscription);
  const std::size_t until_then = second.size();
  const std::size_t seen = first.size();
  world.create();
  ASSERT_TRUE(eventually([&] { return first.size() > seen; }));
  EXPECT_EQ(second.size(), until_then);
}

TEST_P(NodeTest, a_subscriber_may_end_its_own_subscription_while_it_is_called) {
  NodeWorld world(store(), clock_, keys_.path());
  Feed& feed = world.node->feed();
  ASSERT_TRUE(
      eventually([&] { return feed.position() == entries().size(); }));  // or it is called before it has its number
  std::atomic<int> calls = 0;
  std::atomic<std::uint64_t> subscription = 0;
  subscription = feed.subscribe([&](const FedEntries&) {
    ++calls;
    feed.unsubscribe(subscription);
  });
  Followed other;
  feed.subscribe(other.take());
  world.create();
  ASSERT_TRUE(eventually([&] { return other.size() > 0; }));
  const std::size_t seen = other.size();
  world.create();
  ASSERT_TRUE(eventually([&] { return other.size() > seen; }));
  EXPECT_EQ(calls, 1);
}

TEST(Feed, a_store_that_fails_at_any_operation_leaves_no_gap) {
  SystemClock clock;
  for (std::uint64_t at = 1; at <= 24; ++at) {
    TemporaryFolder keys;
    const auto inner = store::make_memory_store(clock);
    World world(*inner, clock, keys.path());
    store::FaultyStore faulty(*inner, {.at = at, .failure = {"reading", "the store is away"}});
    std::atomic<bool> said = false;
    auto feed = LedgerFeed::open(faulty, [&](std::string_view) { said = true; });
    if (!feed) continue;  // it struck when the feed was opened
    const std::uint64_t before = (*feed)->position();
    Followed followed;
    (*feed)->subscribe(followed.take());
    (*feed)->start();
    for (int i = 0; i < 10; ++i) world.create();
    const std::uint64_t head = (*inner->reader())->head()->size;
    // The position moves before the entries are handed out, and a fault strikes before it is logged: both are waited for.
    ASSERT_TRUE(eventually([&] { return followed.size() >= head - before; })) << at;
    EXPECT_EQ((*feed)->position(), head) << at;
    EXPECT_TRUE(followed.is_gapless_from(before + 1)) << at;
    EXPECT_EQ(followed.size(), head - before) << at;
    if (faulty.struck()) {
      EXPECT_TRUE(eventually([&] { return said.load(); })) << at;
    }
    (*feed)->stop_soon();
    world.create();
  }
}

// --- what an entry says ------------------------------------------------------------------------------------------------------

TEST(Opening, says_which_queue_an_item_came_into) {
  const auto queue = [](std::string_view type, std::string_view payload) -> std::string {
    const auto opening = opening_of(7, type, payload);
    if (!opening) return "no opening";
    if (opening->taken) return "taken";
    return opening->queue ? *opening->queue : "unknown";
  };
  EXPECT_EQ(queue("work.created", R"({"work_id":"W-1","phase":"DRAFT","open_dependencies":[]})"), "DRAFT");
  EXPECT_EQ(queue("work.created", R"({"work_id":"W-1","phase":"DRAFT","open_dependencies":["W-0"]})"), "");
  EXPECT_EQ(queue("work.created", R"({"work_id":"W-1","phase":"CI_PENDING"})"), "");
  EXPECT_EQ(queue("work.released", R"({"work_id":"W-1"})"), "unknown");
  EXPECT_EQ(queue("work.lease_expired", R"({"work_id":"W-1","phase":"REVIEW"})"), "REVIEW");
  EXPECT_EQ(queue("work.lease_expired", R"({"work_id":"W-1","phase":"BLOCKED"})"), "");
  EXPECT_EQ(queue("work.session_abandoned", R"({"work_id":"W-1","phase":"IMPLEMENTATION"})"), "IMPLEMENTATION");
  EXPECT_EQ(queue("work.session_completed", R"({"work_id":"W-1","next_phase":"READY_FOR_MERGE"})"), "READY_FOR_MERGE");
  EXPECT_EQ(queue("work.session_completed", R"({"work_id":"W-1","next_phase":"CI_PENDING"})"), "");
  EXPECT_EQ(queue("work.offered", R"({"work_id":"W-1","to":"role:reviewer"})"), "@role:reviewer");
  EXPECT_EQ(queue("work.offer_ended", R"({"work_id":"W-1","to":"x"})"), "unknown");
  EXPECT_EQ(queue("work.unblocked", R"({"work_id":"W-1","phase":"IMPLEMENTATION"})"), "IMPLEMENTATION");
  EXPECT_EQ(queue("work.ci_reported", R"({"work_id":"W-1","next_phase":"READY_FOR_REVIEW"})"), "READY_FOR_REVIEW");
  EXPECT_EQ(queue("work.dependency_done", R"({"work_id":"W-1","dependency":"W-0"})"), "unknown");
  EXPECT_EQ(queue("work.claimed", R"({"work_id":"W-1"})"), "taken");
  EXPECT_EQ(queue("work.renewed", R"({"work_id":"W-1"})"), "no opening");
  EXPECT_EQ(queue("context.updated", R"({"section":"x"})"), "no opening");
  EXPECT_EQ(queue("work.created", "not JSON"), "no opening");
}

TEST(Sweeper, knows_when_something_becomes_due) {
  const std::string time = "2027-01-01T00:00:00Z";
  const Time wanted = *parse_time(time).time;
  for (const std::string_view type :
       {"work.claimed", "work.renewed", "work.answered", "workflow.offered", "approval.requested"})
    EXPECT_EQ(deadline_in(type, R"({"expires_at":")" + time + R"("})"), wanted) << type;
  for (const std::string_view type : {"work.parked", "work.offered"})
    EXPECT_EQ(deadline_in(type, R"({"until":")" + time + R"("})"), wanted) << type;
  EXPECT_EQ(deadline_in("approval.moved", R"({"to":"approved","spend_until":")" + time + R"("})"), wanted);
  EXPECT_FALSE(deadline_in("approval.moved", R"({"to":"denied"})"));
  EXPECT_FALSE(deadline_in("work.created", R"({"expires_at":")" + time + R"("})"));
  EXPECT_FALSE(deadline_in("work.claimed", R"({"expires_at":7})"));
}

// --- waiting ----------------------------------------------------------------------------------------------------------------

TEST_P(NodeTest, a_claim_waits_until_there_is_work) {
  NodeWorld world(store(), clock_, keys_.path());
  Answers answers;
  world.node->claim_or_wait(by("bob"), {}, kLong, answers.take(0));
  ASSERT_TRUE(eventually([&] { return world.node->figures().waiting_claims == 1; }));
  EXPECT_EQ(answers.count(), 0u);
  const std::string id = world.create();
  ASSERT_TRUE(answers.wait_for(1));
  EXPECT_EQ(answers.work_of(0), id);
  EXPECT_EQ(world.node->figures().waiting_claims, 0u);
}

TEST_P(NodeTest, a_claim_that_finds_something_does_not_wait_and_one_of_no_time_neither) {
  NodeWorld world(store(), clock_, keys_.path());
  const std::string id = world.create();
  Answers answers;
  world.node->claim_or_wait(by("bob"), {}, kLong, answers.take(0));
  ASSERT_TRUE(answers.wait_for(1));
  EXPECT_EQ(answers.work_of(0), id);
  world.node->claim_or_wait(by("bob"), {}, 0ms, answers.take(1));
  ASSERT_TRUE(answers.wait_for(2));
  EXPECT_EQ(answers.work_of(1), "");
  ASSERT_TRUE(answers.of(1)->refused.empty());
}

TEST_P(NodeTest, a_hundred_who_wait_get_one_each_of_a_hundred_items) {
  NodeWorld world(store(), clock_, keys_.path());
  constexpr std::size_t kMany = 100;
  Answers answers;
  for (std::size_t i = 0; i < kMany; ++i)
    world.node->claim_or_wait(by("agent-" + std::to_string(i % 7)), {}, kLong, answers.take(i));
  ASSERT_TRUE(eventually([&] { return world.node->figures().waiting_claims == kMany; }));
  std::set<std::string> made;
  std::vector<std::thread> threads;
  std::mutex mutex;
  for (std::size_t i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (std::size_t j = 0; j < kMany / 4; ++j) {
        const std::string id = world.create();
        const std::lock_guard lock(mutex);
        made.insert(id);
      }
    });
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(answers.wait_for(kMany)) << answers.count();
  std::set<std::string> got;
  for (std::size_t i = 0; i < kMany; ++i) got.insert(answers.work_of(i));
  EXPECT_EQ(got, made);
  EXPECT_EQ(made.size(), kMany);
}

TEST_P(NodeTest, who_came_first_is_served_first) {
  NodeWorld world(store(), clock_, keys_.path());
  constexpr std::size_t kMany = 12;
  Answers answers;
  for (std::size_t i = 0; i < kMany; ++i) {
    // Different actors, so that each of them looks for itself.
    world.node->claim_or_wait(by("agent-" + std::to_string(i)), {}, kLong, answers.take(i));
    ASSERT_TRUE(eventually([&] { return world.node->figures().waiting_claims == i + 1; }));
  }
  for (std::size_t i = 0; i < kMany; ++i) {
    const std::string id = world.create();
    ASSERT_TRUE(answers.wait_for(i + 1));
    EXPECT_EQ(answers.work_of(i), id);
  }
  std::vector<std::size_t> wanted(kMany);
  for (std::size_t i = 0; i < kMany; ++i) wanted[i] = i;
  EXPECT_EQ(answers.order(), wanted);
}

TEST_P(NodeTest, those_are_woken_whom_the_item_suits) {
  workspace::Config config;
  config.policy.roles = {{.name = "writer", .phases = {Phase::Draft, Phase::Implementation}},
                         {.name = "reviewer", .phases = {Phase::ReadyForReview, Phase::Review}}};
  NodeWorld world(store(), clock_, keys_.path(), config);
  Answers answers;
  const auto wait = [&](std::size_t who, ClaimRequest asked) {
    world.node->claim_or_wait(by("agent-" + std::to_string(who)), std::move(asked), kLong, answers.take(who));
    ASSERT_TRUE(eventually([&] { return world.node->figures().waiting_claims == who + 1; }));
  };
  wait(0, {.role = "reviewer"});
  wait(1, {.phases = {Phase::Implementation}});
  wait(2, {.role = "writer"});
  wait(3, {});
  const std::string draft = world.create(Phase::Draft);
  ASSERT_TRUE(answers.wait_for(1));
  EXPECT_EQ(answers.work_of(2), draft);
  const std::string review = world.create(Phase::ReadyForReview);
  ASSERT_TRUE(answers.wait_for(2));
  EXPECT_EQ(answers.work_of(0), review);
  const std::string second = world.create(Phase::Draft);
  ASSERT_TRUE(answers.wait_for(3));
  EXPECT_EQ(answers.work_of(3), second);
  const std::string implementation = world.create(Phase::Implementation);
  ASSERT_TRUE(answers.wait_for(4));
  EXPECT_EQ(answers.work_of(1), implementation);
}

// A feed and those who wait, without the second looks that make up for what another node held: nothing but openings counts.
class Waiters {
 public:
  Waiters(store::Store& store, World& world) : waiting(*world.cases, world.config, {}), world_(world) {
    auto opened = LedgerFeed::open(store, {});
    EXPECT_TRUE(opened) << opened.error().text();
    feed_ = std::move(*opened);
    feed_->subscribe([this](const FedEntries& entries) { waiting.see(entries); });
    feed_->start();
  }
  ~Waiters() {
    feed_->stop_soon();
    world_.create();  // which the feed notices
    feed_->stop();
  }

  WaitingClaims waiting;

 private:
  World& world_;
  std::unique_ptr<LedgerFeed> feed_;  // ends first
};

TEST_P(NodeTest, an_opening_passes_on_from_who_may_not_have_it) {
  workspace::Config config;
  config.policy.exit_protocol = true;
  World world(store(), clock_, keys_.path(), config);
  Waiters waiters(store(), world);
  // ivan implements an item, and is the first who waits for something to review.
  const std::string id = world.create(Phase::Implementation);
  const auto claimed = answer_of([&](Answered done) { world.cases->claim(by("ivan"), {}, std::move(done)); });
  ASSERT_EQ(work_id_of(claimed), id);
  Answers answers;
  const ClaimRequest reviews{.phases = {Phase::ReadyForReview}};
  waiters.waiting.add(by("ivan"), reviews, kLong, answers.take(0));
  waiters.waiting.add(by("ivan"), reviews, kLong, answers.take(1));
  waiters.waiting.add(by("rita"), reviews, kLong, answers.take(2));
  waiters.waiting.add(by("rita"), reviews, kLong, answers.take(3));
  ASSERT_EQ(waiters.waiting.waiting(), 4u);
  Mutation ivan = by("ivan");
  ivan.caller.session_id = member_of(*claimed, "session", "id");
  const auto handed = answer_of([&](Answered done) {
    world.cases->hand_off(ivan, ivan.caller.session_id,
                          R"({"protocol":"apm2_agent_exit","version":"1.0.0","phase_completed":"IMPLEMENTATION",)"
                          R"("exit_reason":"completed","pr_url":"https://github.com/acme/widgets/pull/1"})",
                          std::move(done));
  });
  ASSERT_TRUE(handed && handed->refused.empty()) << (handed ? handed->refused[0].message : handed.error().text());
  work::CiReport report;
  report.kind = "api";
  report.conclusion = "success";
  const auto reported =
      answer_of([&](Answered done) { world.cases->report_ci(by("ci", ActorKind::Ci), id, report, std::move(done)); });
  ASSERT_TRUE(reported && reported->refused.empty());
  ASSERT_TRUE(answers.wait_for(1));
  EXPECT_EQ(answers.work_of(2), id);
  // The others wait on.
  const std::string next = world.create(Phase::ReadyForReview);
  ASSERT_TRUE(answers.wait_for(2));
  EXPECT_EQ(answers.work_of(0), next);
}

TEST_P(NodeTest, a_claim_of_a_named_item_waits_until_it_is_free) {
  NodeWorld world(store(), clock_, keys_.path());
  const std::string id = world.create(), other = world.create();
  const auto held = answer_of([&](Answered done) { world.cases->claim(by("bob"), {.work_id = id}, std::move(done)); });
  ASSERT_EQ(work_id_of(held), id);
  Answers answers;
  world.node->claim_or_wait(by("carol"), {.work_id = id}, kLong, answers.take(0));
  ASSERT_TRUE(eventually([&] { return world.node->figures().waiting_claims == 1; }));
  world.create();  // is none of carol's business
  Mutation bob = by("bob");
  bob.caller.session_id = member_of(*held, "session", "id");
  ASSERT_TRUE(
      answer_of([&](Answered done) { world.cases->release(bob, bob.caller.session_id, "not mine", std::move(done)); }));
  ASSERT_TRUE(answers.wait_for(1));
  EXPECT_EQ(answers.work_of(0), id);
  // What time does not mend is said at once.
  world.node->claim_or_wait(by("carol"), {.work_id = "no-such"}, kLong, answers.take(1));
  ASSERT_TRUE(answers.wait_for(2));
  ASSERT_TRUE(answers.of(1));
  EXPECT_FALSE(answers.of(1)->refused.empty());
}

TEST_P(NodeTest, waiting_ends_when_the_time_is_over) {
  NodeWorld world(store(), clock_, keys_.path());
  Answers answers;
  world.node->claim_or_wait(by("late"), {}, kLong, answers.take(0));
  world.node->claim_or_wait(by("bob"), {}, 50ms, answers.take(1));
  world.node->claim_or_wait(by("carol"), {}, 20ms, answers.take(2));
  ASSERT_TRUE(answers.wait_for(2));
  for (const std::size_t who : {1, 2}) {
    ASSERT_TRUE(answers.of(who));
    EXPECT_EQ(answers.work_of(who), "");
    ASSERT_NE(answers.of(who)->body.find("work"), nullptr);
    EXPECT_TRUE(answers.of(who)->body.find("work")->is_null());
  }
  const std::string id = world.create();
  ASSERT_TRUE(answers.wait_for(3));
  EXPECT_EQ(answers.work_of(0), id);
}

TEST_P(NodeTest, who_cancels_gets_nothing_and_the_next_one_gets_it) {
  NodeWorld world(store(), clock_, keys_.path());
  Answers answers;
  const auto cancel = world.node->claim_or_wait(by("bob"), {}, kLong, answers.take(0));
  ASSERT_TRUE(eventually([&] { return world.node->figures().waiting_claims == 1; }));
  world.node->claim_or_wait(by("carol"), {}, kLong, answers.take(1));
  cancel();
  cancel();  // again changes nothing
  ASSERT_TRUE(answers.wait_for(1));
  EXPECT_EQ(answers.work_of(0), "");
  const std::string id = world.create();
  ASSERT_TRUE(answers.wait_for(2));
  EXPECT_EQ(answers.work_of(1), id);
  cancel();
}

TEST_P(NodeTest, cancelling_while_work_comes_loses_no_item) {
  NodeWorld world(store(), clock_, keys_.path());
  constexpr std::size_t kRounds = 50;
  std::size_t served = 0;
  for (std::size_t round = 0; round < kRounds; ++round) {
    Answers answers;
    const auto cancel = world.node->claim_or_wait(by("bob"), {}, kLong, answers.take(0));
    std::thread canceller([&] { cancel(); });
    const std::string id = world.create();
    canceller.join();
    ASSERT_TRUE(answers.wait_for(1));
    if (answers.work_of(0) == id) {
      ++served;
      continue;
    }
    ASSERT_EQ(answers.work_of(0), "");
    // Whoever asks next must find it, also when it was claimed for the one who went away and had to be given back.
    world.node->claim_or_wait(by("carol"), {}, kLong, answers.take(1));
    ASSERT_TRUE(answers.wait_for(2));
    EXPECT_EQ(answers.work_of(1), id) << round;
  }
  RecordProperty("served", static_cast<int>(served));
}

TEST_P(NodeTest, a_callback_may_cancel_and_ask_again) {
  NodeWorld world(store(), clock_, keys_.path());
  Answers answers;
  const auto cancel = world.node->claim_or_wait(by("carol"), {}, kLong, answers.take(1));
  ASSERT_TRUE(eventually([&] { return world.node->figures().waiting_claims == 1; }));
  world.node->claim_or_wait(by("bob"), {}, 30ms, [&](Result<Answer> answer) {
    cancel();
    world.node->claim_or_wait(by("bob"), {}, kLong, answers.take(2));
    answers.take(0)(std::move(answer));
  });
  ASSERT_TRUE(answers.wait_for(2));
  EXPECT_EQ(answers.work_of(1), "");
  const std::string id = world.create();
  ASSERT_TRUE(answers.wait_for(3));
  EXPECT_EQ(answers.work_of(2), id);
}

TEST_P(NodeTest, too_many_do_not_wait) {
  workspace::Config config;
  config.limits.waiting_claims = 2;
  NodeWorld world(store(), clock_, keys_.path(), config);
  Answers answers;
  for (std::size_t i = 0; i < 2; ++i) world.node->claim_or_wait(by("bob"), {}, kLong, answers.take(i));
  world.node->claim_or_wait(by("bob"), {}, kLong, answers.take(2));
  ASSERT_TRUE(answers.wait_for(1));
  ASSERT_TRUE(answers.of(2));
  ASSERT_EQ(answers.of(2)->refused.size(), 1u);
  EXPECT_EQ(info(answers.of(2)->refused[0].code).name, "WAITING_FULL");
  world.node->stop();
  ASSERT_TRUE(answers.wait_for(3)) << "whoever waits is answered when the node stops";
  EXPECT_EQ(answers.work_of(0), "");
  EXPECT_EQ(answers.work_of(1), "");
  world.node->claim_or_wait(by("bob"), {}, kLong, answers.take(3));
  ASSERT_TRUE(answers.wait_for(4)) << "and who comes afterwards";
}

TEST_P(NodeTest, an_idempotency_key_is_kept_by_the_claim_that_found_something) {
  NodeWorld world(store(), clock_, keys_.path());
  Mutation bob = by("bob");
  bob.idempotency_key = "claim-once";
  bob.request_sha256 = std::string(64, '1');
  Answers answers;
  world.node->claim_or_wait(bob, {}, 20ms, answers.take(0));
  ASSERT_TRUE(answers.wait_for(1));
  EXPECT_EQ(answers.work_of(0), "");
  world.node->claim_or_wait(bob, {}, kLong, answers.take(1));
  ASSERT_TRUE(eventually([&] { return world.node->figures().waiting_claims == 1; }));
  const std::string id = world.create();
  ASSERT_TRUE(answers.wait_for(2));
  EXPECT_EQ(answers.work_of(1), id);
  world.create();
  world.node->claim_or_wait(bob, {}, kLong, answers.take(2));
  ASSERT_TRUE(answers.wait_for(3));
  EXPECT_EQ(answers.work_of(2), id) << "the first answer again";
}

TEST_P(NodeTest, no_opening_is_missed) {
  World world(store(), clock_, keys_.path());
  Waiters waiters(store(), world);
  const int rounds = GetParam().name == "memory" ? 1000 : 200;
  for (int round = 0; round < rounds; ++round) {
    Answers answers;
    std::latch both(2);
    std::thread waiter([&] {
      both.arrive_and_wait();
      waiters.waiting.add(by("bob"), {}, kLong, answers.take(0));
    });
    both.arrive_and_wait();
    const std::string id = world.create();
    waiter.join();
    ASSERT_TRUE(answers.wait_for(1)) << "round " << round;
    ASSERT_EQ(answers.work_of(0), id);
  }
}

TEST_P(NodeTest, many_who_come_and_go_lose_nothing) {
  World world(store(), clock_, keys_.path());
  Waiters waiters(store(), world);
  constexpr std::size_t kThreads = 8, kEach = 25;
  std::atomic<std::size_t> got = 0;
  std::mutex mutex;
  std::set<std::string> claimed;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] {
      for (std::size_t j = 0; j < kEach; ++j) {
        Answers answers;
        waiters.waiting.add(by("agent-" + std::to_string(i % 3)), {}, kLong, answers.take(0));
        ASSERT_TRUE(answers.wait_for(1));
        const std::string id = answers.work_of(0);
        const std::lock_guard lock(mutex);
        EXPECT_TRUE(claimed.insert(id).second) << id << " was given twice";
        ++got;
      }
    });
  for (std::size_t i = 0; i < 2; ++i)
    threads.emplace_back([&] {
      for (std::size_t j = 0; j < kThreads * kEach / 2; ++j) world.create();
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(got, kThreads * kEach);
  EXPECT_FALSE(claimed.contains(""));
}

// --- the sweeper --------------------------------------------------------------------------------------------------------------

TEST_P(NodeTest, a_lease_that_is_over_is_recorded_and_who_waits_gets_the_item) {
  NodeWorld world(store(), clock_, keys_.path());
  const std::string id = world.create();
  ClaimRequest shortly;
  shortly.ttl = 2 * kNanosecondsPerSecond;
  const auto claimed = answer_of([&](Answered done) { world.cases->claim(by("bob"), shortly, std::move(done)); });
  ASSERT_EQ(work_id_of(claimed), id);
  Answers answers;
  world.node->claim_or_wait(by("carol"), {}, kLong, answers.take(0));
  ASSERT_TRUE(answers.wait_for(1));
  EXPECT_EQ(answers.work_of(0), id);
  const auto all = entries();
  EXPECT_EQ(std::ranges::count(all, "work.lease_expired", &FedEntry::type), 1);
  EXPECT_GT(world.node->figures().sweeps, 0u);
}

// --- webhooks that are sent -----------------------------------------------------------------------------------------------

// A target that answers as it is told and keeps what it was sent.
class Receiver {
 public:
  struct Got {
    std::uint64_t sequence;
    std::string body, type, delivery, signature, content_type;
    unsigned status;
  };
  explicit Receiver(std::function<unsigned(std::size_t)> status = [](std::size_t) { return 200u; })
      : status_(std::move(status)) {
    net::ServerOptions options;
    options.listen.push_back({"127.0.0.1", 0});
    auto server = net::start_http_server(
        options, [this](std::shared_ptr<net::Exchange> exchange) { take(*exchange); },
        [](unsigned status, std::string_view, std::string_view) {
          net::ServerResponse response;
          response.status = status;
          return response;
        });
    EXPECT_TRUE(server) << server.error().text();
    server_ = std::move(*server);
  }
  std::string url() const { return "http://" + server_->addresses().front() + "/hook"; }
  std::vector<Got> got() {
    const std::lock_guard lock(mutex_);
    return got_;
  }
  // The sequences of those that were answered with 200, without repeats.
  std::vector<std::uint64_t> taken() {
    std::vector<std::uint64_t> out;
    for (const Got& one : got())
      if (one.status == 200 && (out.empty() || out.back() != one.sequence)) out.push_back(one.sequence);
    return out;
  }

 private:
  void take(net::Exchange& exchange) {
    const net::ServerRequest& request = exchange.request();
    const auto header = [&](std::string_view name) { return std::string(request.header(name).value_or("")); };
    net::ServerResponse response;
    {
      const std::lock_guard lock(mutex_);
      response.status = status_(got_.size());
      const auto body = json::parse(request.body);
      const std::uint64_t sequence = body ? std::stoull(std::string(body->root()["sequence"].number_text())) : 0;
      got_.push_back({sequence, request.body, header("Baton-Event"), header("Baton-Delivery"),
                      header("Baton-Signature"), header("Content-Type"), response.status});
    }
    exchange.respond(std::move(response));
  }

  const std::function<unsigned(std::size_t)> status_;
  std::mutex mutex_;
  std::vector<Got> got_;
  std::unique_ptr<net::HttpServer> server_;  // ends first
};

const std::string kSecret = "0123456789abcdef0123456789abcdef";

void write_secret(const std::filesystem::path& file, const std::string& text, mode_t mode = 0600) {
  std::ofstream(file) << text;
  ASSERT_EQ(::chmod(file.c_str(), mode), 0);
}

workspace::Config with_target(const Receiver& receiver, const std::filesystem::path& folder) {
  write_secret(folder / "hook.secret", kSecret + "\n");
  workspace::Config config;
  config.webhooks_out.push_back(
      {.name = "chat", .url = receiver.url(), .secret_file = "hook.secret", .types = {"work.*"}, .streams = {}});
  return config;
}

std::vector<std::uint64_t> sequences_of(const std::vector<FedEntry>& entries, std::string_view prefix,
                                        std::uint64_t after = 0) {
  std::vector<std::uint64_t> out;
  for (const FedEntry& entry : entries)
    if (entry.sequence > after && entry.type.starts_with(prefix)) out.push_back(entry.sequence);
  return out;
}

TEST_P(NodeTest, events_are_sent_in_order_and_signed) {
  TemporaryFolder folder;
  Receiver receiver;
  NodeWorld world(store(), clock_, keys_.path(), with_target(receiver, folder.path()), folder.path().string());
  for (int i = 0; i < 20; ++i) world.create();
  ASSERT_TRUE(eventually([&] { return receiver.got().size() >= 20; }));
  EXPECT_EQ(receiver.taken(), sequences_of(entries(), "work."));
  const Receiver::Got first = receiver.got().front();
  EXPECT_EQ(first.type, "work.created");
  EXPECT_EQ(first.delivery, "chat-" + std::to_string(first.sequence));
  EXPECT_TRUE(first.content_type.starts_with("application/json"));
  const FedEntry entry = entries().at(first.sequence - 1);
  EXPECT_EQ(first.body, R"({"sequence":)" + std::to_string(entry.sequence) + R"(,"stream":")" + entry.stream +
                            R"(","type":"work.created","actor":{"id":"oscar","kind":"operator"},"time":")" +
                            format_time({entry.time}) + R"(","payload":)" + entry.payload + "}");
  const std::size_t comma = first.signature.find(",v1=");
  ASSERT_NE(comma, std::string::npos);
  ASSERT_TRUE(first.signature.starts_with("t="));
  const std::string time = first.signature.substr(2, comma - 2);
  EXPECT_EQ(first.signature.substr(comma + 4), hmac_sha256_hex(kSecret, time + "." + first.body));
  EXPECT_LT(std::abs(std::stoll(time) - clock_.now().nanoseconds / kNanosecondsPerSecond), 600);
  EXPECT_TRUE(eventually([&] { return world.node->figures().webhooks_sent == 20; }));
}

TEST_P(NodeTest, an_event_that_is_not_taken_is_sent_again_before_the_next) {
  TemporaryFolder folder;
  Receiver receiver([](std::size_t n) { return n == 1 || n == 2 ? 500u : n == 4 ? 302u : 200u; });
  NodeWorld world(store(), clock_, keys_.path(), with_target(receiver, folder.path()), folder.path().string());
  for (int i = 0; i < 4; ++i) world.create();
  ASSERT_TRUE(eventually([&] { return receiver.taken().size() == 4; }));
  const auto wanted = sequences_of(entries(), "work.");
  EXPECT_EQ(receiver.taken(), wanted);
  std::vector<std::uint64_t> all;
  std::set<std::string> deliveries;
  for (const Receiver::Got& one : receiver.got()) {
    all.push_back(one.sequence);
    deliveries.insert(one.delivery);
  }
  EXPECT_EQ(all,
            (std::vector<std::uint64_t>{wanted[0], wanted[1], wanted[1], wanted[1], wanted[2], wanted[2], wanted[3]}));
  EXPECT_EQ(deliveries.size(), 4u) << "each try has the same delivery id";
  EXPECT_EQ(world.node->figures().webhooks_failed, 3u);
  EXPECT_TRUE(world.has_logged("webhook `chat`: event " + std::to_string(wanted[1]) + " was not taken (status 500)"));
}

TEST_P(NodeTest, what_happened_while_no_node_ran_is_sent_afterwards) {
  TemporaryFolder folder;
  Receiver receiver;
  const workspace::Config config = with_target(receiver, folder.path());
  {
    World before(store(), clock_, keys_.path());
    before.create();  // before the target was known: not sent
  }
  const std::uint64_t known = entries().size();
  {
    NodeWorld world(store(), clock_, keys_.path(), config, folder.path().string());
    world.create();
    ASSERT_TRUE(eventually([&] { return receiver.got().size() >= 1; }));
  }
  {
    World between(store(), clock_, keys_.path());
    for (int i = 0; i < 3; ++i) between.create();
  }
  NodeWorld world(store(), clock_, keys_.path(), config, folder.path().string());
  world.create();
  ASSERT_TRUE(eventually([&] { return receiver.taken().size() >= 5; }));
  EXPECT_EQ(receiver.taken(), sequences_of(entries(), "work.", known));
}

TEST_P(NodeTest, a_target_that_is_gone_is_left_alone_until_the_next_start) {
  TemporaryFolder folder;
  std::atomic<unsigned> status = 410;
  Receiver receiver([&](std::size_t) { return status.load(); });
  const workspace::Config config = with_target(receiver, folder.path());
  {
    NodeWorld world(store(), clock_, keys_.path(), config, folder.path().string());
    world.create();
    ASSERT_TRUE(eventually([&] { return world.has_logged("410 Gone"); }));
    world.create();
  }
  EXPECT_EQ(receiver.got().size(), 1u);
  status = 200;
  NodeWorld world(store(), clock_, keys_.path(), config, folder.path().string());
  ASSERT_TRUE(eventually([&] { return receiver.taken().size() == 2; }));
  EXPECT_EQ(receiver.taken(), sequences_of(entries(), "work."));
}

TEST_P(NodeTest, a_target_is_told_what_fits_its_patterns) {
  TemporaryFolder folder;
  Receiver receiver;
  workspace::Config config = with_target(receiver, folder.path());
  config.webhooks_out[0].types = {"work.claimed", "node.*"};
  config.webhooks_out[0].streams = {"work/*"};
  NodeWorld world(store(), clock_, keys_.path(), config, folder.path().string());
  world.create();
  const auto claimed = answer_of([&](Answered done) { world.cases->claim(by("bob"), {}, std::move(done)); });
  ASSERT_TRUE(claimed);
  ASSERT_TRUE(eventually([&] { return receiver.got().size() >= 1; }));
  world.create();
  EXPECT_EQ(receiver.got().front().type, "work.claimed");
  EXPECT_EQ(receiver.got().size(), 1u);
}

// A store that calls once, when the next transaction of another thread than its maker's has ended.
class CallingStore final : public store::Store {
 public:
  CallingStore(store::Store& inner, std::function<void()> call) : inner_(inner), call_(std::move(call)) {}

  Result<std::unique_ptr<store::Transaction>> begin() override {
    auto begun = inner_.begin();
    if (!begun || std::this_thread::get_id() == maker_ || called_.exchange(true)) return begun;
    return std::make_unique<Calling>(std::move(*begun), call_);
  }
  Result<std::unique_ptr<store::Reader>> reader() override { return inner_.reader(); }
  Result<std::uint64_t> wait_for_change(std::uint64_t seen, std::chrono::milliseconds timeout) override {
    return inner_.wait_for_change(seen, timeout);
  }
  Result<std::vector<std::string>> check_integrity() override { return inner_.check_integrity(); }
  std::string name() const override { return inner_.name(); }

 private:
  class Calling final : public store::Transaction {
   public:
    Calling(std::unique_ptr<store::Transaction> inner, const std::function<void()>& call)
        : inner_(std::move(inner)), call_(call) {}
    ~Calling() override {
      inner_.reset();
      call_();
    }
    Result<Time> now() override { return inner_->now(); }
    Result<std::optional<store::Row>> get(const store::Table& table, const store::Row& key) override {
      return inner_->get(table, key);
    }
    Result<void> find(const store::Query& query, store::Lock lock, const store::TakeRow& take) override {
      return inner_->find(query, lock, take);
    }
    Result<void> insert(const store::Table& table, const store::Row& row) override {
      return inner_->insert(table, row);
    }
    Result<void> update(const store::Table& table, const store::Row& row) override {
      return inner_->update(table, row);
    }
    Result<void> erase(const store::Table& table, const store::Row& key) override { return inner_->erase(table, key); }
    Result<void> savepoint() override { return inner_->savepoint(); }
    Result<void> rollback_to_savepoint() override { return inner_->rollback_to_savepoint(); }
    Result<void> release_savepoint() override { return inner_->release_savepoint(); }
    Result<store::Head> take_head() override { return inner_->take_head(); }
    Result<void> append(std::span<const store::EntryRow> entries, std::span<const store::TreeNode> nodes,
                        const store::Seal& seal, const store::Head& head) override {
      return inner_->append(entries, nodes, seal, head);
    }
    Result<void> commit() override { return inner_->commit(); }

   private:
    std::unique_ptr<store::Transaction> inner_;
    const std::function<void()>& call_;
  };

  store::Store& inner_;
  const std::function<void()> call_;
  const std::thread::id maker_ = std::this_thread::get_id();
  std::atomic<bool> called_ = false;
};

// The other node stops between our reading that the target is its own and our waiting for that to end.
TEST(Outbox, does_not_wait_for_an_owner_that_has_just_stopped) {
  TemporaryFolder folder, keys;
  SystemClock clock;
  const auto store = store::make_memory_store(clock);
  World world(*store, clock, keys.path());
  world.create();
  Receiver receiver;
  const workspace::Config config = with_target(receiver, folder.path());
  const auto put = [&](bool is_new, const std::string& owner, std::int64_t owned_until) {
    auto transaction = store->begin();
    ASSERT_TRUE(transaction);
    const store::Row row = {std::string("chat"), std::int64_t{0}, owner, owned_until, std::int64_t{0}, std::int64_t{0}};
    const auto& table = store::tables::kWebhookCursors;
    ASSERT_TRUE(is_new ? (*transaction)->insert(table, row) : (*transaction)->update(table, row));
    ASSERT_TRUE((*transaction)->commit());
  };
  put(true, "another", clock.now().nanoseconds + 3600 * kNanosecondsPerSecond);

  std::promise<Outbox*> started;
  auto outbox_there = started.get_future();
  CallingStore calling(*store, [&] {
    put(false, "", 0);
    FedEntry stopped;
    stopped.type = kNodeStopped;
    outbox_there.get()->see(std::make_shared<const std::vector<FedEntry>>(1, stopped));
  });
  auto outbox =
      Outbox::start(calling, clock, config.webhooks_out, {.config_folder = folder.path().string(), .owner = "this"});
  ASSERT_TRUE(outbox) << outbox.error().text();
  started.set_value(outbox->get());
  EXPECT_TRUE(eventually([&] { return !receiver.got().empty(); }));
}

TEST(Outbox, pauses_double_up_to_five_minutes) {
  std::int64_t longest = 0;
  for (std::int64_t failures = 1; failures < 40; ++failures) {
    const std::int64_t whole = failures < 10 ? std::min<std::int64_t>(1000LL << (failures - 1), 300'000) : 300'000;
    for (const char* jitter : {"a", "b", "c"}) {
      const std::int64_t pause = webhook_pause_ms(failures, jitter);
      EXPECT_LE(pause, whole);
      EXPECT_GE(pause, whole * 3 / 4);
      longest = std::max(longest, pause);
    }
  }
  EXPECT_GT(longest, 225'000);
  EXPECT_NE(webhook_pause_ms(9, "a"), webhook_pause_ms(9, "b"));
}

TEST(WebhookSecret, must_be_long_and_nobody_elses) {
  TemporaryFolder folder;
  const auto problem = [&](const std::string& file) {
    const auto secret = read_webhook_secret(folder.path(), file);
    if (secret) return std::string("read");
    EXPECT_EQ(secret.error().code, "WEBHOOK_SECRET");
    EXPECT_EQ(secret.error().reason.find(kSecret), std::string::npos);
    return secret.error().reason;
  };
  write_secret(folder.path() / "good", kSecret);
  write_secret(folder.path() / "with_line_end", kSecret + "\r\n");
  write_secret(folder.path() / "short", kSecret.substr(1) + "\n");
  write_secret(folder.path() / "long", std::string(5000, 'x'));
  write_secret(folder.path() / "open", kSecret, 0644);
  write_secret(folder.path() / "group", kSecret, 0640);
  EXPECT_EQ(problem("good"), "read");
  EXPECT_EQ(*read_webhook_secret(folder.path(), "with_line_end"), kSecret);
  EXPECT_EQ(problem("group"), "read");
  EXPECT_NE(problem("short").find("fewer than 32"), std::string::npos);
  EXPECT_NE(problem("long").find("more than"), std::string::npos);
  EXPECT_NE(problem("open").find("everyone"), std::string::npos);
  EXPECT_NE(problem("absent").find("cannot be read"), std::string::npos);
  EXPECT_NE(problem("").find("is no file"), std::string::npos);
}

TEST(Node, does_not_start_without_the_secrets_it_needs) {
  SystemClock clock;
  TemporaryFolder keys, folder;
  const auto store = store::make_memory_store(clock);
  workspace::Config config;
  config.webhooks_in.push_back({.repository = "acme/widgets", .secret_file = "absent"});
  World world(*store, clock, keys.path(), config);
  Access access(
      *world.cases, clock, 1000, "boot", [](std::int64_t) { return std::nullopt; },
      [](std::int64_t) { return std::string("alice"); });
  Node::Options options;
  options.config_folder = folder.path().string();
  const auto started = Node::start(*store, *world.ledger, clock, *world.cases, access, world.config, options);
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, "WEBHOOK_SECRET");
}

// --- webhooks that come in ------------------------------------------------------------------------------------------------

TEST(Github, a_signature_must_be_right) {
  SystemClock clock;
  TemporaryFolder keys, folder;
  const auto store = store::make_memory_store(clock);
  write_secret(folder.path() / "widgets", "It's a Secret to Everybody, and a long one");
  workspace::Config config;
  config.webhooks_in.push_back({.repository = "Acme/widgets", .secret_file = "widgets"});
  NodeWorld world(*store, clock, keys.path(), config, folder.path().string());
  // Computed with `printf 'Hello, World!' | openssl dgst -sha256 -hmac "It's a Secret to Everybody, and a long one"`.
  const std::string right = "sha256=7de7f532122a4b016f55a9e4ce6d944196065a673340d74e18465273ba01dde3";
  EXPECT_TRUE(world.node->is_genuine("Acme/widgets", "Hello, World!", right));
  EXPECT_TRUE(world.node->is_genuine("acme/Widgets", "Hello, World!", right)) << "names are compared as GitHub does";
  EXPECT_FALSE(world.node->is_genuine("Acme/widgets", "Hello, World", right)) << "WEBHOOK_SIGNATURE";
  EXPECT_FALSE(world.node->is_genuine("acme/gadgets", "Hello, World!", right));
  EXPECT_FALSE(world.node->is_genuine("", "Hello, World!", right));
  EXPECT_FALSE(world.node->is_genuine("Acme/widgets", "Hello, World!", right.substr(7)));
  EXPECT_FALSE(world.node->is_genuine("Acme/widgets", "Hello, World!", right.substr(0, right.size() - 1)));
  EXPECT_FALSE(world.node->is_genuine("Acme/widgets", "Hello, World!", "sha1=" + right.substr(7)));
  EXPECT_FALSE(world.node->is_genuine("Acme/widgets", "Hello, World!", ""));
}

const std::string kCommit = "ec26c3e57ca3a959ca5aad62de7213c562f8c821";

std::string pull_requests(const std::string& base = "https://api.github.com/repos/Acme/Widgets") {
  return R"([{"url":"https://api.github.com/repos/Acme/Widgets/pulls/2","id":279147437,"number":2,"head":{"ref":"changes","sha":")" +
         kCommit + R"(","repo":{"id":1,"url":"https://api.github.com/repos/Acme/Widgets","name":"Widgets"}},)" +
         R"("base":{"ref":"master","sha":"f95f852bd8fca8fcc58a9a2d6c842781e32a215e","repo":{"id":1,"url":")" + base +
         R"(","name":"Widgets"}}}])";
}
const std::string kTail =
    R"(,"repository":{"id":186853002,"name":"Widgets","full_name":"Acme/Widgets","private":false,"owner":{"login":"Acme"}},"sender":{"login":"Codertocat"}})";

TEST(Github, a_workflow_run_says_how_it_ended) {
  const std::string body =
      R"({"action":"completed","workflow_run":{"id":289782451,"name":"CI","head_branch":"changes","head_sha":")" +
      kCommit +
      R"(","run_number":1,"event":"push","status":"completed","conclusion":"failure","workflow_id":1,"pull_requests":)" +
      pull_requests() +
      R"(,"created_at":"2020-10-05T11:51:47Z","updated_at":"2020-10-05T11:54:00Z"},"workflow":{"name":"CI"})" + kTail;
  const auto delivery = read_github_delivery("workflow_run", "72d3162e", body);
  ASSERT_TRUE(delivery);
  EXPECT_EQ(delivery->delivery_id, "72d3162e");
  EXPECT_EQ(delivery->kind, "workflow_run");
  EXPECT_EQ(delivery->action, "completed");
  EXPECT_EQ(delivery->repository, "Acme/Widgets");
  EXPECT_EQ(delivery->pull_requests, std::vector<std::uint64_t>{2});
  EXPECT_EQ(delivery->name, "CI");
  EXPECT_EQ(delivery->conclusion, "failure");
  EXPECT_EQ(delivery->commit, kCommit);
  EXPECT_EQ(delivery->at, parse_time("2020-10-05T11:54:00Z").time);
}

TEST(Github, check_suites_and_check_runs_too) {
  const std::string suite =
      R"({"action":"completed","check_suite":{"id":118578147,"head_sha":")" + kCommit +
      R"(","status":"completed","conclusion":"success","pull_requests":)" + pull_requests() +
      R"(,"app":{"id":29310,"slug":"octocoders-linter","name":"octocoders-linter"},"updated_at":"2019-05-15T15:21:14Z"})" +
      kTail;
  const auto one = read_github_delivery("check_suite", "d-1", suite);
  ASSERT_TRUE(one);
  EXPECT_EQ(one->name, "octocoders-linter");
  EXPECT_EQ(one->conclusion, "success");
  EXPECT_EQ(one->at, parse_time("2019-05-15T15:21:14Z").time);
  const std::string run =
      R"({"action":"completed","check_run":{"id":128620228,"name":"unit tests","head_sha":")" + kCommit +
      R"(","status":"completed","conclusion":"timed_out","completed_at":"2019-05-15T15:20:31Z",)" +
      R"("check_suite":{"id":1,"head_sha":"other"},"pull_requests":)" + pull_requests() + "}" + kTail;
  const auto two = read_github_delivery("check_run", "d-2", run);
  ASSERT_TRUE(two);
  EXPECT_EQ(two->name, "unit tests");
  EXPECT_EQ(two->conclusion, "timed_out");
  EXPECT_EQ(two->pull_requests, std::vector<std::uint64_t>{2});
  EXPECT_EQ(two->at, parse_time("2019-05-15T15:20:31Z").time);
}

TEST(Github, a_run_that_goes_on_has_no_conclusion) {
  const auto body = [](std::string_view action, std::string_view conclusion) {
    return R"({"action":")" + std::string(action) + R"(","check_run":{"name":"x","head_sha":")" + kCommit +
           R"(","status":"queued","conclusion":)" + std::string(conclusion) +
           R"(,"completed_at":null,"pull_requests":[]})" + kTail;
  };
  for (const char* action : {"created", "rerequested", "requested_action"}) {
    const auto delivery = read_github_delivery("check_run", "d", body(action, R"("success")"));
    ASSERT_TRUE(delivery) << action;
    EXPECT_EQ(delivery->action, action);
    EXPECT_EQ(delivery->conclusion, "");
    EXPECT_FALSE(delivery->at);
  }
  EXPECT_TRUE(read_github_delivery("check_run", "d", body("created", "null")));
  EXPECT_FALSE(read_github_delivery("check_run", "d", body("completed", "null"))) << "completed, but how?";
}

TEST(Github, a_pull_request_tells_its_head_when_that_moved) {
  const auto body = [](std::string_view action) {
    return R"({"action":")" + std::string(action) +
           R"(","number":2,"pull_request":{"number":2,"state":"open","head":{"sha":")" + kCommit +
           R"("},"base":{"sha":"f95f852b"},"updated_at":"2019-05-15T15:20:33Z"})" + kTail;
  };
  for (const char* action : {"opened", "synchronize", "reopened"}) {
    const auto delivery = read_github_delivery("pull_request", "d", body(action));
    ASSERT_TRUE(delivery) << action;
    EXPECT_EQ(delivery->commit, kCommit);
    EXPECT_EQ(delivery->pull_requests, std::vector<std::uint64_t>{2});
  }
  for (const char* action : {"closed", "labeled"}) {
    const auto delivery = read_github_delivery("pull_request", "d", body(action));
    ASSERT_TRUE(delivery) << action;
    EXPECT_EQ(delivery->commit, "");
  }
}

TEST(Github, numbers_of_other_repositories_do_not_count) {
  const std::string body = R"({"action":"completed","check_run":{"name":"x","head_sha":")" + kCommit +
                           R"(","conclusion":"success","completed_at":"2019-05-15T15:20:31Z","pull_requests":)" +
                           pull_requests("https://api.github.com/repos/upstream/Widgets") + "}" + kTail;
  const auto delivery = read_github_delivery("check_run", "d", body);
  ASSERT_TRUE(delivery);
  EXPECT_TRUE(delivery->pull_requests.empty());
}

TEST(Github, other_kinds_pass_and_other_forms_do_not) {
  const auto ping = read_github_delivery("ping", "d", R"({"zen":"Design for failure.","hook_id":1)" + kTail);
  ASSERT_TRUE(ping);
  EXPECT_EQ(ping->kind, "ping");
  EXPECT_EQ(ping->repository, "Acme/Widgets");
  EXPECT_EQ(ping->action, "");
  const std::string good = R"({"action":"completed","check_run":{"name":"x","head_sha":")" + kCommit +
                           R"(","conclusion":"success","pull_requests":[{"number":1}]})" + kTail;
  ASSERT_TRUE(read_github_delivery("check_run", "d", good));
  const auto changed = [&](std::string_view from, std::string_view to) {
    std::string out = good;
    const std::size_t at = out.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return out.replace(at, from.size(), to);
  };
  for (const std::string& body : {std::string(),
                                  std::string("[]"),
                                  std::string("{}"),
                                  good + "x",
                                  good.substr(1),
                                  changed(R"("action":"completed")", R"("action":"completed","action":"completed")"),
                                  changed(R"("action":"completed")", R"("action":1)"),
                                  changed(R"("check_run":)", R"("check_suite":)"),
                                  changed(kCommit, "not a commit"),
                                  changed(kCommit, ""),
                                  changed(kCommit, std::string(65, 'a')),
                                  changed(R"("number":1)", R"("number":0)"),
                                  changed(R"("number":1)", R"("number":1.5)"),
                                  changed(R"("number":1)", R"("number":"1")"),
                                  changed(R"("number":1)", R"("number":99999999999999999999)"),
                                  changed(R"([{"number":1}])", "null"),
                                  changed(R"("conclusion":"success")", R"("conclusion":true)"),
                                  changed(R"("full_name":"Acme/Widgets")", R"("full_name":7)"),
                                  changed(R"("full_name":"Acme/Widgets",)", ""),
                                  changed(R"("name":"x")", R"("name":")" + std::string(300, 'x') + '"'),
                                  changed(R"("name":"x")", R"("name":)" + std::string(40, '[') + std::string(40, ']'))})
    EXPECT_FALSE(read_github_delivery("check_run", "d", body)) << body.substr(0, 200);
  EXPECT_FALSE(read_github_delivery("check_run", "", good));
  EXPECT_FALSE(read_github_delivery("", "d", good));
  EXPECT_FALSE(read_github_delivery("check_run", "d", good + std::string(1u << 20, ' ')));
}

// --- two nodes on one database ---------------------------------------------------------------------------------------------

class TwoNodes : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!store::has_postgres_server()) GTEST_SKIP() << "no PostgreSQL server";
    url_ = store::new_schema_url();
  }
  std::unique_ptr<store::Store> open() {
    auto opened = store::open_postgres_store({.url = url_, .create = true});
    EXPECT_TRUE(opened) << opened.error().text();
    return opened ? std::move(*opened) : nullptr;
  }

  std::string url_;
  SystemClock clock_;
  TemporaryFolder keys_, folder_;
};

TEST_F(TwoNodes, a_claim_waits_for_what_the_other_makes) {
  const auto first_store = open(), second_store = open();
  NodeWorld first(*first_store, clock_, keys_.path()), second(*second_store, clock_, keys_.path());
  Answers answers;
  first.node->claim_or_wait(by("bob"), {}, kLong, answers.take(0));
  ASSERT_TRUE(eventually([&] { return first.node->figures().waiting_claims == 1; }));
  const std::string id = second.create();
  ASSERT_TRUE(answers.wait_for(1));
  EXPECT_EQ(answers.work_of(0), id);
}

TEST_F(TwoNodes, who_waits_at_either_gets_one_each) {
  const auto first_store = open(), second_store = open();
  NodeWorld first(*first_store, clock_, keys_.path()), second(*second_store, clock_, keys_.path());
  constexpr std::size_t kMany = 60;
  Answers answers;
  for (std::size_t i = 0; i < kMany; ++i)
    (i % 2 == 0 ? first : second).node->claim_or_wait(by("agent-" + std::to_string(i % 5)), {}, kLong, answers.take(i));
  std::set<std::string> made;
  for (std::size_t i = 0; i < kMany; ++i) made.insert((i % 3 == 0 ? first : second).create());
  ASSERT_TRUE(answers.wait_for(kMany)) << answers.count();
  std::set<std::string> got;
  for (std::size_t i = 0; i < kMany; ++i) got.insert(answers.work_of(i));
  EXPECT_EQ(got, made);
}

TEST_F(TwoNodes, an_item_that_another_held_for_a_moment_is_found) {
  const auto first_store = open(), second_store = open();
  NodeWorld world(*first_store, clock_, keys_.path());
  const std::string id = world.create();
  Answers answers;
  {
    // What a claim of the other node does that may not have the item: nothing happens that would tell of it.
    auto held = second_store->begin();
    ASSERT_TRUE(held);
    const auto row = (*held)->get(store::tables::kWorkItems, {id});
    ASSERT_TRUE(row && *row);
    world.node->claim_or_wait(by("bob"), {.phases = {Phase::Draft}}, kLong, answers.take(0));
    ASSERT_TRUE(eventually([&] { return world.node->figures().waiting_claims == 1; }));
    std::this_thread::sleep_for(100ms);  // so that it looks while the row is held; either way it must get it
  }
  ASSERT_TRUE(answers.wait_for(1));
  EXPECT_EQ(answers.work_of(0), id);
}

TEST_F(TwoNodes, a_token_that_one_revokes_is_worth_nothing_at_the_other) {
  const auto first_store = open(), second_store = open();
  NodeWorld first(*first_store, clock_, keys_.path()), second(*second_store, clock_, keys_.path());
  TokenRequest asked;
  asked.actor_id = "robot";
  const auto made = answer_of(
      [&](Answered done) { first.cases->create_token(by("oscar", ActorKind::Operator), asked, std::move(done)); });
  ASSERT_TRUE(made);
  const std::string text = made->body.find("token")->string();
  Presented presented;
  presented.bearer = text;
  ASSERT_TRUE(eventually([&] { return second.access.identify(presented).has_value(); }));
  ASSERT_TRUE(answer_of([&](Answered done) {
    first.cases->revoke_token(by("oscar", ActorKind::Operator), parse_token(text)->id, std::move(done));
  }));
  EXPECT_TRUE(eventually([&] { return !second.access.identify(presented); }));
}

// Both look, find nobody, and write: only the row that there is one of decides between them.
TEST_F(TwoNodes, of_two_first_operators_there_is_one) {
  for (int round = 0; round < 8; ++round) {
    url_ = store::new_schema_url();
    const auto first_store = open(), second_store = open();
    NodeWorld first(*first_store, clock_, keys_.path()), second(*second_store, clock_, keys_.path());
    TokenRequest asked;
    asked.actor_id = "ines";
    asked.kind = ActorKind::Operator;
    asked.is_first = true;
    std::mutex mutex;
    std::condition_variable told;
    std::vector<Result<Answer>> answers;
    for (NodeWorld* world : {&first, &second})
      world->cases->create_token(by("node", ActorKind::Node), asked, [&](Result<Answer> answer) {
        const std::lock_guard lock(mutex);
        answers.push_back(std::move(answer));
        told.notify_all();
      });
    std::unique_lock lock(mutex);
    ASSERT_TRUE(told.wait_for(lock, kPatience, [&] { return answers.size() == 2; }));
    int made = 0;
    for (const Result<Answer>& answer : answers) {
      ASSERT_TRUE(answer) << answer.error().text();
      if (answer->refused.empty()) ++made;
      else EXPECT_EQ(answer->refused.front().code, Code::ACCESS_OPERATOR_EXISTS);
    }
    EXPECT_EQ(made, 1);
  }
}

TEST_F(TwoNodes, events_are_sent_at_least_once_in_order_whoever_sends) {
  Receiver receiver([](std::size_t n) { return n == 7 ? 500u : 200u; });
  const workspace::Config config = with_target(receiver, folder_.path());
  const auto first_store = open(), second_store = open();
  auto first = std::make_unique<NodeWorld>(*first_store, clock_, keys_.path(), config, folder_.path().string());
  auto second = std::make_unique<NodeWorld>(*second_store, clock_, keys_.path(), config, folder_.path().string());
  for (int i = 0; i < 15; ++i) (i % 2 == 0 ? first : second)->create();
  ASSERT_TRUE(eventually([&] { return receiver.taken().size() >= 15; }));
  // One of them goes; the other goes on where it stopped.
  const bool first_sent = first->node->figures().webhooks_sent > second->node->figures().webhooks_sent;
  (first_sent ? first : second).reset();
  NodeWorld& left = *(first_sent ? second : first);
  for (int i = 0; i < 5; ++i) left.create();
  ASSERT_TRUE(eventually([&] { return receiver.taken().size() >= 20; }));
  const auto reader = first_store->reader();
  ASSERT_TRUE(reader);
  std::vector<std::uint64_t> wanted;
  ASSERT_TRUE((*reader)->entries(1, INT64_MAX, [&](const store::EntryRow& row) {
    if (row.type.starts_with("work.")) wanted.push_back(row.sequence);
    return true;
  }));
  EXPECT_EQ(receiver.taken(), wanted);
}

}  // namespace
}  // namespace baton::runtime
