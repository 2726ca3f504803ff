// SPDX-License-Identifier: Apache-2.0
// Items as rows, events as what changes them, and what holds whatever happens: properties over random values and random
// histories. The same seed gives the same run.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "work_world.h"

namespace baton::work {
namespace {

using agent_exit::kPhases;
using Names = std::vector<std::string>;

// --- rows -------------------------------------------------------------------------------------------------------------

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : generator_(seed) {}

  std::uint64_t below(std::uint64_t bound) { return generator_() % bound; }
  bool chance(unsigned percent) { return below(100) < percent; }
  Time time() { return at(static_cast<std::int64_t>(below(1'000 * kDay))); }
  std::string text() {
    static const Names kPieces = {"a", "Z", "9", " ", "\n", "\"", "\\", "\u20ac", "\U0001F600", "{", "\x01", "/"};
    std::string out;
    for (std::uint64_t i = below(8); i > 0; --i) out += kPieces[below(kPieces.size())];
    return out;
  }
  Names texts() {
    Names out;
    for (std::uint64_t i = below(3); i > 0; --i) out.push_back(text());
    return out;
  }
  template <class List>
  auto one_of(const List& list) {
    return list[below(list.size())];
  }

 private:
  std::mt19937_64 generator_;
};

Item random_item(Dice& dice) {
  Item item;
  item.id = dice.text(), item.title = dice.text(), item.text = dice.text();
  item.phase = dice.one_of(kPhases);
  item.priority = static_cast<std::int32_t>(dice.below(10));
  item.created_at = dice.time(), item.changed_at = dice.time(), item.waiting_since = dice.time();
  item.created_by = dice.text();
  item.depends_on = dice.texts(), item.open_dependencies = dice.texts(), item.labels = dice.texts();
  item.aborted = dice.chance(50);
  item.fence = dice.chance(10) ? UINT64_MAX : dice.below(100);
  if (dice.chance(50)) {
    item.lease =
        Lease{dice.text(), dice.text(), dice.text(), dice.below(9), dice.time(), dice.time(), INT64_MAX, {}, {}};
    if (dice.chance(50)) item.lease->parked_at = dice.time(), item.lease->parked_until = dice.time();
  }
  if (dice.chance(30)) item.offer = Offer{dice.text(), dice.time(), dice.text()};
  item.waits_for = static_cast<WaitsFor>(dice.below(3));
  item.question = dice.text(), item.answer = dice.text();
  if (dice.chance(50)) item.blocked_in = dice.one_of(kPhases);
  item.blocked_because = dice.text();
  item.attempts = static_cast<std::uint32_t>(dice.below(4));
  item.implementer = dice.text(), item.earlier_implementers = dice.texts(), item.pr_url = dice.text(),
  item.repository = dice.text();
  item.evidence_bundle_ref = dice.text(), item.pr_number = dice.below(3);
  item.head_sha = dice.text(), item.checks_sha = dice.text();
  for (const std::string& name : dice.texts()) item.checks[name] = dice.text();
  item.totals = {dice.below(3), dice.below(3), dice.below(3)};
  return item;
}

Session random_session(Dice& dice) {
  Session session;
  session.id = dice.text(), session.work_id = dice.text(), session.actor_id = dice.text();
  session.actor_kind = static_cast<ActorKind>(dice.below(5));
  session.agent_id = dice.text(), session.role = dice.text();
  session.fence = dice.below(3);
  session.state = static_cast<SessionState>(dice.below(5));
  session.ended_because = dice.text(), session.opened_at = dice.time();
  if (dice.chance(50)) session.ended_at = dice.time();
  session.plan_status = dice.text(), session.handoff_digest = dice.text();
  session.earlier_digests = dice.texts();
  session.reports_in_a_row = static_cast<std::uint32_t>(dice.below(3));
  return session;
}

template <class Record>
std::optional<Record> read_back(const std::string& text) {
  const auto document = json::parse(text);
  CHECK(document);
  return Record::from_json(document->root());
}

TEST(work_row, what_is_written_is_read_back) {
  Dice dice(1);
  for (int i = 0; i < 1'000; ++i) {
    const Item item = random_item(dice);
    const std::string text = json::write(item.to_json());
    const auto again = read_back<Item>(text);
    ASSERT_TRUE(again) << text;
    ASSERT_EQ(*again, item) << text;
    ASSERT_EQ(json::write(again->to_json()), text);
    ASSERT_EQ(read_back<Item>(canonical(item.to_json())), item) << "in another order";
    const Session session = random_session(dice);
    ASSERT_EQ(read_back<Session>(json::write(session.to_json())), session);
  }
}

TEST(work_row, the_text_of_a_small_one) {
  const World world;
  EXPECT_EQ(
      json::write(world.item->to_json()),
      R"({"id":"W-1","title":"do it","phase":"IMPLEMENTATION","priority":5,"created_at":"2025-06-15T15:06:40Z",)"
      R"("changed_at":"2025-06-15T15:06:40Z","created_by":"olga","waiting_since":"2025-06-15T15:06:40Z","fence":0})");
}

TEST(work_row, another_text_is_none) {
  World world;
  world.hold(kAnn, "s1", at(0));
  const json::Value row = world.item->to_json(), session = world.session("s1").to_json();
  ASSERT_TRUE(read_back<Item>(json::write(row)));
  const auto refused = [&](const std::string& pointer, json::Value value) {
    json::Value other = row;
    ASSERT_TRUE(other.set_at(pointer, std::move(value)));
    EXPECT_FALSE(read_back<Item>(json::write(other))) << pointer << json::write(other);
  };
  refused("/phase", "Draft");
  refused("/phase", 1);
  refused("/priority", "5");
  refused("/priority", json::Value::number("1e99"));
  refused("/priority", json::Value::number("4294967296"));
  refused("/fence", -1);
  refused("/created_at", "yesterday");
  refused("/labels", "a");
  refused("/labels", json::Value::Array{1});
  refused("/checks", json::Value::Array{});
  refused("/waits_for", "nothing");
  refused("/lease", json::Value::object());
  refused("/lease/fence", "1");
  refused("/unknown", 1);
  for (const std::string name :
       {"id", "title", "phase", "priority", "created_at", "changed_at", "created_by", "waiting_since", "fence"}) {
    json::Value other = row;
    other.erase(name);
    EXPECT_FALSE(read_back<Item>(json::write(other))) << name;
  }
  for (const std::string name : {"id", "actor_id", "actor_kind", "state", "opened_at"}) {
    json::Value other = session;
    other.erase(name);
    EXPECT_FALSE(read_back<Session>(json::write(other))) << name;
  }
  for (const std::string text : {"null", "[]", "1", "{}"}) {
    EXPECT_FALSE(read_back<Item>(text));
    EXPECT_FALSE(read_back<Session>(text));
  }
}

TEST(work_row, names) {
  for (const SessionState state :
       {SessionState::Open, SessionState::Paused, SessionState::Closed, SessionState::Killed, SessionState::Abandoned})
    EXPECT_EQ(find_session_state(session_state_name(state)), state);
  EXPECT_FALSE(find_session_state(""));
  EXPECT_EQ(waits_for_name(WaitsFor::Nothing), "");
  EXPECT_EQ(find_waits_for("input"), WaitsFor::Input);
  EXPECT_EQ(find_waits_for("approval"), WaitsFor::Approval);
  EXPECT_FALSE(find_waits_for(""));
}

TEST(work_row, pull_requests) {
  struct Case {
    std::string url, repository;  // empty: none
    std::uint64_t number = 0;
  };
  const std::vector<Case> cases = {
      {"https://github.com/org/repo/pull/12", "org/repo", 12},
      {"https://github.com/org/repo/pull/12/files", "org/repo", 12},
      {"https://github.com/org/repo/pull/12?w=1#top", "org/repo", 12},
      {"https://codeberg.org/org/repo/pulls/7", "org/repo", 7},
      {"https://gitlab.com/group/sub/repo/-/merge_requests/3", "group/sub/repo", 3},
      {"https://gitlab.com/group/repo/merge_requests/3", "group/repo", 3},
      {"http://github.com/org/repo/pull/12", ""},
      {"https://github.com/org/repo/issues/12", ""},
      {"https://github.com/org/repo/pull/", ""},
      {"https://github.com/org/repo/pull/x", ""},
      {"https://github.com/org/repo/pull/12x", ""},
      {"https://github.com/org/repo/pull/0", ""},
      {"https://github.com/org/repo/pull/012", ""},
      {"https://github.com/org/repo/pull/-1", ""},
      {"https://github.com/org/repo/pull/99999999999999999999", ""},
      {"https://github.com/a/org/repo/pull/12", ""},
      {"https://github.com/repo/pull/12", ""},
      {"https://github.com//repo/pull/12", ""},
      {"https:///org/repo/pull/12", ""},
      {"https://github.com", ""},
      {"", ""},
  };
  for (const Case& each : cases) {
    const auto found = parse_pull_request(each.url);
    ASSERT_EQ(found.has_value(), !each.repository.empty()) << each.url;
    if (!found) continue;
    EXPECT_EQ(found->repository, each.repository) << each.url;
    EXPECT_EQ(found->number, each.number) << each.url;
  }
}

TEST(work_row, queues) {
  struct Case {
    void (*change)(Item&);
    std::string want;
  };
  const std::vector<Case> cases = {
      {[](Item&) {}, "IMPLEMENTATION"},
      {[](Item& i) { i.phase = Phase::ReadyForReview; }, "READY_FOR_REVIEW"},
      {[](Item& i) { i.phase = Phase::CiPending; }, ""},
      {[](Item& i) { i.phase = Phase::Blocked; }, ""},
      {[](Item& i) { i.phase = Phase::Completed; }, ""},
      {[](Item& i) { i.lease = Lease{}; }, ""},
      {[](Item& i) { i.aborted = true; }, ""},
      {[](Item& i) { i.open_dependencies = {"W-0"}; }, ""},
      {[](Item& i) { i.depends_on = {"W-0"}; }, "IMPLEMENTATION"},
      {[](Item& i) { i.offer = Offer{"bob", {}, ""}; }, "@bob"},
      {[](Item& i) { i.offer = Offer{"role:reviewer", {}, ""}; }, "@role:reviewer"},
      {[](Item& i) { i.offer = Offer{"bob", {}, ""}, i.aborted = true; }, ""},
      {[](Item& i) { i.offer = Offer{"bob", {}, ""}, i.open_dependencies = {"W-0"}; }, ""},
  };
  for (const Case& each : cases) {
    World world;
    each.change(*world.item);
    EXPECT_EQ(world.item->queue(), each.want);
  }
}

TEST(work_row, ranks_and_deadlines) {
  Item item;
  item.waiting_since = at(0);
  item.priority = 0;
  EXPECT_EQ(item.rank(), at(0).nanoseconds);
  item.priority = 9;
  EXPECT_EQ(item.rank(), at(-9 * kDay).nanoseconds);
  item.waiting_since = {INT64_MIN + 5};
  EXPECT_EQ(item.rank(), INT64_MIN);
  EXPECT_EQ(item.deadline(), INT64_MAX);
  item.lease = Lease{};
  item.lease->expires_at = at(5);
  EXPECT_EQ(item.deadline(), at(5).nanoseconds);
  item.lease->parked_until = at(9);
  EXPECT_EQ(item.deadline(), at(9).nanoseconds);
  item.offer = Offer{"bob", at(7), ""};
  EXPECT_EQ(item.deadline(), at(7).nanoseconds);
}

// Urgent items come as fast as items are claimed, for ever, and others among them. Of the same priority the oldest is first,
// and nobody waits for ever: an item is passed only by those that came before it or up to nine days after.
TEST(work_row, nobody_starves) {
  constexpr std::int64_t kStep = kDay / 12;
  constexpr std::size_t kBacklog = 60;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    Dice dice(seed);
    std::vector<Item> waiting;
    const auto arrives = [&](Time now, std::uint64_t priority) {
      Item& item = waiting.emplace_back();
      item.waiting_since = {now.nanoseconds + static_cast<std::int64_t>(dice.below(kStep))};
      item.priority = static_cast<std::int32_t>(priority);
    };
    for (std::size_t i = 0; i < kBacklog; ++i) arrives(at(0), dice.below(10));
    std::map<std::int32_t, std::size_t> taken;
    for (std::int64_t step = 1; step <= 1'000; ++step) {
      const Time now = at(step * kStep);
      arrives(now, dice.chance(90) ? 9 : dice.below(10));
      const auto first = std::min_element(waiting.begin(), waiting.end(),
                                          [](const Item& a, const Item& b) { return a.rank() < b.rank(); });
      for (const Item& other : waiting) {
        ASSERT_TRUE(other.priority != first->priority || other.waiting_since >= first->waiting_since);
        ASSERT_GE(other.waiting_since.nanoseconds, first->waiting_since.nanoseconds - 9 * kDay);
      }
      const std::int64_t waited = now.nanoseconds - first->waiting_since.nanoseconds;
      ASSERT_LE(waited, 9 * kDay + static_cast<std::int64_t>(kBacklog + 1) * kStep);
      ++taken[first->priority];
      waiting.erase(first);
    }
    ASSERT_EQ(waiting.size(), kBacklog);
    for (std::int32_t priority = 0; priority <= 9; ++priority) EXPECT_GT(taken[priority], 0u) << priority;
  }
}

// --- events -----------------------------------------------------------------------------------------------------------

// One of each, with the world it happens in.
struct Happened {
  World before;
  Event event;
};

std::vector<Happened> one_of_each() {
  std::vector<Happened> out;
  const auto add = [&](const World& before, const std::vector<Event>& events) {
    ASSERT_EQ(events.size(), 1u);
    out.push_back({before, events[0]});
  };
  World empty;
  const Event created = empty.events[0];
  empty.item.reset();
  add(empty, {created});
  const World free;
  add(free, claim(*free.item, free.claim_of(kAnn, "s1"), free.policy, at(1)).events);
  World held;
  const Session session = held.hold(kAnn, "s1", at(1));
  const auto& [item, policy] = std::pair(*held.item, held.policy);
  add(held, claim(item, held.claim_of(kAnn, "s2"), policy, at(1)).events);
  add(held, renew(item, session, 0, policy, at(2)).events);
  add(held, release(item, session, "so", at(2)).events);
  add(held, settle(item, policy, at(kDay)).events);
  add(held, abandon(item, session, "so", policy, at(2)).events);
  add(held, fail(item, session, "so", at(2)).events);
  add(held, park(item, session, WaitsFor::Input, "which?", policy, at(2)).events);
  add(held, exit(item, session, kAnn, {}, at(2)).events);
  add(held, offer(item, session, {"bob", at(9), "m"}, policy, at(2)).events);
  add(held, abort(item, "so", at(2)).events);
  World parked = held;
  parked.take(park(item, session, WaitsFor::Input, "which?", policy, at(2)));
  add(parked, answer(*parked.item, "that", at(3)).events);
  add(parked, settle(*parked.item, policy, at(100 * kDay)).events);
  World offered = held;
  offered.take(offer(item, session, {"bob", at(9), "m"}, policy, at(2)));
  add(offered, settle(*offered.item, policy, at(9)).events);
  World blocked;
  blocked.item->phase = Phase::Blocked;
  blocked.item->blocked_in = Phase::Review;
  add(blocked, unblock(*blocked.item, std::nullopt, "", at(3)).events);
  const World pending(Phase::CiPending);
  add(pending, report_ci(*pending.item, {"build", "api", "success", "", ""}, policy, at(3)).events);
  add(pending, see_commit(*pending.item, std::string(40, 'a'), at(3)).events);
  const auto plain = [&](std::string_view type, std::string_view member, json::Value value) {
    Event event{std::string(type), json::Value::object()};
    event.payload.set("work_id", "W-1");
    event.payload.set("at", format_time(at(3)));
    event.payload.set(member, std::move(value));
    add(free, {event});
  };
  plain(kDependencyDone, "dependency", "W-0");
  plain(kDependencyAborted, "dependency", "W-0");
  World leased;
  leased.hold(kAnn, "s1", at(1));
  add(leased, postpone(*leased.item, kSecond, at(3)).events);
  plain(kLabelled, "labels", json::Value::Array{"x"});
  return out;
}

TEST(work_apply, every_event_is_known_and_strict) {
  // What may be left out, by the list in work/events.h.
  const Names optional = {"text",  "superseded", "reason", "because",    "output", "pr_url", "evidence_bundle_ref",
                          "notes", "note",       "commit", "delivery_id"};
  // What is for the record alone: no rule reads it.
  const Names unread = {"event_id", "event_type", "timestamp", "source", "because"};
  const auto in = [](const Names& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  Names seen;
  for (const Happened& each : one_of_each()) {
    const std::string& type = each.event.type;
    seen.push_back(type);
    EXPECT_TRUE(is_event(type));
    const auto effect = each.before.apply_to(each.event);
    ASSERT_TRUE(effect) << type << effect.error().text();
    EXPECT_EQ(effect->session.has_value(), each.event.payload.find("session_id") != nullptr) << type;
    EXPECT_EQ(effect->superseded.has_value(), each.event.payload.find("superseded") != nullptr) << type;
    for (const auto& [name, value] : each.event.payload.members()) {
      Event other = each.event;
      other.payload.erase(name);
      const bool may_lack =
          in(unread, name) || (in(optional, name) && name != "superseded" && !(type == kAnswered && name == "text") &&
                               !(type == kCommitSeen && name == "commit") && !(type == kAborted && name == "reason"));
      EXPECT_EQ(each.before.apply_to(other).has_value(), may_lack) << type << " without " << name;
      for (const json::Value& wrong : {json::Value(true), json::Value(json::Value::Array(1, json::Value::array())),
                                       json::Value::number("1.5"), json::Value(nullptr), json::Value::object()}) {
        other = each.event;
        other.payload.set(name, wrong);
        EXPECT_EQ(each.before.apply_to(other).has_value(),
                  in(unread, name) || (type == kReleased && name == "reason") || name == "note")
            << type << " with " << name << " " << json::write(wrong);
      }
    }
    Event extended = each.event;
    extended.payload.set("something_else", 1);
    EXPECT_TRUE(each.before.apply_to(extended)) << type;
    Event misplaced = each.event;
    misplaced.payload.set("work_id", "W-2");
    EXPECT_EQ(each.before.apply_to(misplaced).has_value(), type == kCreated) << type;
    World none = each.before;
    none.item.reset();
    EXPECT_EQ(none.apply_to(each.event).has_value(), type == kCreated) << type;
    none = each.before;
    none.sessions.clear();
    if (each.event.payload.find("session_id") != nullptr && !(type == kClaimed && !effect->superseded)) {
      EXPECT_FALSE(none.apply_to(each.event)) << type;
    }
    for (const std::string payload : {"null", "[]", "{}", "\"x\""}) EXPECT_FALSE(each.before.apply_to(type, payload));
  }
  std::sort(seen.begin(), seen.end());
  seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
  EXPECT_EQ(seen.size(), 21u) << "all of them";
  EXPECT_FALSE(is_event("work.nothing"));
  EXPECT_FALSE(World().apply_to("work.nothing", "{}"));
}

// Whatever rules would say: an event of a session that does not hold the lease cannot be folded.
TEST(work_apply, only_the_holder_changes_anything) {
  for (const Happened& each : one_of_each()) {
    if (each.event.payload.find("fence") == nullptr || each.event.type == kClaimed) continue;
    Event other = each.event;
    other.payload.set("fence", 7);
    EXPECT_FALSE(each.before.apply_to(other)) << each.event.type;
    World taken = each.before;
    taken.item->lease->fence = 2;
    EXPECT_FALSE(taken.apply_to(each.event)) << each.event.type;
    taken.item->lease.reset();
    EXPECT_FALSE(taken.apply_to(each.event)) << each.event.type;
  }
  World world;
  Event second = claim(*world.item, world.claim_of(kBob, "s2"), world.policy, at(1)).events.at(0);
  const Session session = world.hold(kAnn, "s1", at(1));
  second.payload.set("fence", 2);
  EXPECT_FALSE(world.apply_to(second)) << "the item is held";
  world.take(release(*world.item, session, "", at(2)));
  EXPECT_TRUE(world.apply_to(second));
  second.payload.set("fence", 1);
  EXPECT_FALSE(world.apply_to(second)) << "the fence does not rise";
}

TEST(work_apply, dependencies_and_labels) {
  World world;
  world.item->open_dependencies = {"W-8", "W-9"};
  const auto take = [&](std::string_view type, std::string_view member, json::Value value) {
    Event event{std::string(type), json::Value::object()};
    event.payload.set("work_id", "W-1");
    event.payload.set("at", format_time(at(3)));
    event.payload.set(member, std::move(value));
    world.take(event);
  };
  EXPECT_EQ(code(claim(*world.item, world.claim_of(kAnn, "s1"), world.policy, at(3))), "CLAIM_WAITS");
  take(kDependencyDone, "dependency", "W-8");
  take(kDependencyDone, "dependency", "W-8");
  EXPECT_EQ(world.item->open_dependencies, Names({"W-9"}));
  take(kDependencyDone, "dependency", "W-9");
  EXPECT_EQ(world.item->queue(), "IMPLEMENTATION");
  take(kLabelled, "labels", json::Value::Array{"secret", "external"});
  take(kLabelled, "labels", json::Value::Array{"secret"});
  EXPECT_EQ(world.item->labels, Names({"external", "secret"}));
}

// --- whatever happens -------------------------------------------------------------------------------------------------

// Rules are asked at random, by holders and by sessions that were one long ago, with a clock that leaps.
class Walk {
 public:
  explicit Walk(std::uint64_t seed)
      : dice_(seed), world_(dice_.one_of(std::vector<Phase>{Phase::Draft, Phase::Implementation})) {
    world_.policy.lease_ttl = 10 * kSecond;
    world_.policy.lease_ttl_max = 100 * kSecond;
    world_.policy.max_parked = 60 * kSecond;
    world_.policy.max_attempts = static_cast<std::uint32_t>(1 + dice_.below(3));
    world_.policy.allow_self_review = dice_.chance(50);
    world_.policy.review_by_operator = dice_.chance(20);
    if (dice_.chance(50)) world_.policy.required_checks = {"build", "test"};
  }

  void run(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFatalFailure(); ++i) {
      // Often exactly to the moment something ends.
      const std::int64_t due = world_.item->deadline();
      if (due != INT64_MAX && due >= now_.nanoseconds && dice_.chance(20))
        now_.nanoseconds = due - static_cast<std::int64_t>(dice_.below(2));
      else now_.nanoseconds += static_cast<std::int64_t>(dice_.below(4 * kSecond));
      take(settle(*world_.item, world_.policy, now_));
      if (world_.item->deadline() <= now_.nanoseconds) FAIL() << "something is still due";
      take(ask());
    }
    replay();
  }
  const World& world() const { return world_; }
  std::size_t allowed() const { return allowed_; }

 private:
  const Actor& actor() {
    static const std::vector<Actor> kActors = {kAnn, kBob, kOlga, kCi};
    return kActors[dice_.below(kActors.size())];
  }

  Ruling ask() {
    const Item& item = *world_.item;
    const Policy& policy = world_.policy;
    if (item.waits_for != WaitsFor::Nothing && dice_.chance(30)) return answer(item, "yes", now_);
    if (dice_.chance(25) || world_.sessions.empty()) {
      Claim asked = world_.claim_of(actor(), "s" + std::to_string(++minted_));
      if (dice_.chance(20) && item.lease) asked.present_session = item.lease->session_id;
      return claim(item, asked, policy, now_);
    }
    auto picked = world_.sessions.begin();
    std::advance(picked, static_cast<std::ptrdiff_t>(dice_.below(world_.sessions.size())));
    if (item.lease && dice_.chance(70)) picked = world_.sessions.find(item.lease->session_id);
    const Session& session = picked->second;
    const bool holds = item.lease && item.lease->session_id == session.id;
    const Ruling ruling = ask_as(session);
    EXPECT_TRUE(holds || !asked_as_session_ || !ruling.allowed()) << "a session that is not the holder";
    return ruling;
  }

  Ruling ask_as(const Session& session) {
    const Item& item = *world_.item;
    const Policy& policy = world_.policy;
    const auto reason = static_cast<agent_exit::Reason>(dice_.below(3));
    const auto what = dice_.below(14);
    asked_as_session_ = what < 8;
    switch (what) {
      case 0: return renew(item, session, static_cast<std::int64_t>(dice_.below(120)) * kSecond, policy, now_);
      case 1: return release(item, session, dice_.text(), now_);
      case 2: return abandon(item, session, dice_.text(), policy, now_);
      case 3:
        return dice_.chance(20) ? fail(item, session, dice_.text(), now_) : exit(item, session, actor(), {}, now_);
      case 4:
      case 5: return exit(item, session, actor(), {{}, reason, "e", "agent_exit_protocol", "", "", dice_.text()}, now_);
      case 6: return park(item, session, WaitsFor::Input, dice_.text(), policy, now_);
      case 7:
        return offer(item, session, {dice_.chance(50) ? "bob" : "role:agent", {now_.nanoseconds + 5 * kSecond}, "m"},
                     policy, now_);
      case 8: return unblock(item, dice_.chance(50) ? std::optional(dice_.one_of(kPhases)) : std::nullopt, "", now_);
      case 9: return answer(item, "yes", now_);
      case 10: return dice_.chance(2) ? abort(item, "", now_) : Ruling{};
      case 11: return exit_as_ci(item, actor(), {{}, reason, "e", "", "", "", ""}, policy, now_);
      case 12: return see_commit(item, std::string(40, dice_.chance(50) ? 'a' : 'b'), now_);
      default: {
        const CiReport report{dice_.chance(50) ? "build" : "test", "check_run",
                              dice_.chance(80) ? "success" : "failure", std::string(40, dice_.chance(50) ? 'a' : 'b'),
                              ""};
        return {{}, report_ci(item, report, policy, now_).events};
      }
    }
  }

  void take(const Ruling& ruling) {
    if (!ruling.allowed()) {
      ASSERT_TRUE(ruling.events.empty()) << "a refusal changes nothing";
      return;
    }
    for (const Event& event : ruling.events) {
      const Item before = *world_.item;
      ASSERT_NO_FATAL_FAILURE(world_.take(event));
      ASSERT_NO_FATAL_FAILURE(check(before, event));
      ++allowed_;
    }
  }

  void check(const Item& before, const Event& event) {
    const Item& item = *world_.item;
    std::size_t live = 0;
    for (const auto& [id, session] : world_.sessions) {
      const bool is_live = session.state == SessionState::Open || session.state == SessionState::Paused;
      live += is_live;
      ASSERT_EQ(is_live, !session.ended_at) << id;
      ASSERT_EQ(is_live, item.lease && item.lease->session_id == id && item.lease->fence == session.fence) << id;
      ASSERT_TRUE(!is_live || (session.state == SessionState::Paused) == item.lease->parked_until.has_value());
    }
    ASSERT_EQ(live, item.lease ? 1u : 0u) << "one holder or none after " << event.type;
    ASSERT_GE(item.fence, before.fence) << "the fence never falls";
    ASSERT_EQ(item.fence > before.fence, event.type == kClaimed);
    if (item.lease) {
      ASSERT_EQ(item.lease->fence, item.fence);
      ASSERT_EQ(item.queue(), "");
      ASSERT_TRUE(is_claimable(item.phase));
      ASSERT_FALSE(item.aborted);
      ASSERT_FALSE(item.offer);
    }
    ASSERT_EQ(item.phase == Phase::Blocked, item.blocked_in.has_value());
    ASSERT_EQ(item.waiting_since, item.phase == before.phase ? before.waiting_since : now_) << event.type;
    if (before.aborted) FAIL() << "nothing happens to an aborted item";
    ASSERT_NE(before.phase, Phase::Completed) << "nothing happens to a completed item";
    const bool parked = item.lease && item.lease->parked_until;
    ASSERT_TRUE(item.waits_for != WaitsFor::Nothing ? parked || item.phase == Phase::Blocked : !parked) << event.type;
    ASSERT_GE(item.totals.attempts, before.totals.attempts);
    ASSERT_GE(item.totals.sessions, before.totals.sessions);
    const auto again = read_back<Item>(json::write(item.to_json()));
    ASSERT_EQ(again, item);
  }

  // The same events give the same item and the same sessions again.
  void replay() {
    World again;
    again.item.reset();
    again.events.clear();
    for (const Event& event : world_.events) ASSERT_NO_FATAL_FAILURE(again.take(event));
    ASSERT_EQ(again.item, world_.item);
    ASSERT_EQ(again.sessions, world_.sessions);
  }

  Dice dice_;
  World world_;
  Time now_ = at(0);
  std::uint64_t minted_ = 0;
  std::size_t allowed_ = 0;
  bool asked_as_session_ = false;
};

TEST(work_walk, what_holds_whatever_happens) {
  std::map<std::string, std::size_t> types;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    Walk walk(seed);
    ASSERT_NO_FATAL_FAILURE(walk.run(200)) << "seed " << seed;
    for (const Event& event : walk.world().events) ++types[event.type];
  }
  // The walks come by everything they can: only dependencies and labels are not theirs.
  EXPECT_EQ(types.size(), 17u);
  for (const auto& [type, count] : types) EXPECT_GT(count, 20u) << type;
}

}  // namespace
}  // namespace baton::work
