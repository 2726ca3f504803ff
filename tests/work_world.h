// SPDX-License-Identifier: Apache-2.0
// One item and its sessions under the rules of work, for tests: what a rule says happens is applied as the ledger would,
// from the canonical text of its payload, and remembered.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/check.h"
#include "json/canonical.h"
#include "json/parse.h"
#include "work/events.h"
#include "work/rules.h"

namespace baton::work {

constexpr std::int64_t kSecond = kNanosecondsPerSecond;
constexpr std::int64_t kMinute = 60 * kSecond;
constexpr std::int64_t kDay = 24 * 60 * kMinute;

// The tests' beginning of time, and so many nanoseconds later.
inline Time at(std::int64_t nanoseconds) { return {1'750'000'000 * kNanosecondsPerSecond + nanoseconds}; }

inline std::string canonical(const json::Value& value) {
  std::string out;
  EXPECT_TRUE(json::append_canonical(out, value, json::Numbers::Exact));
  return out;
}

inline std::vector<std::string> codes(const std::vector<Diagnostic>& diagnostics) {
  std::vector<std::string> out;
  for (const Diagnostic& diagnostic : diagnostics) out.emplace_back(info(diagnostic.code).name);
  return out;
}
// The first code; "" when it is allowed.
inline std::string code(const Ruling& ruling) { return ruling.allowed() ? "" : codes(ruling.refused).front(); }

inline const Actor kAnn{"ann", ActorKind::Agent};
inline const Actor kBob{"bob", ActorKind::Agent};
inline const Actor kOlga{"olga", ActorKind::Operator};
inline const Actor kCi{"ci", ActorKind::Ci};

class World {
 public:
  Policy policy;
  std::optional<Item> item;
  std::map<std::string, Session> sessions;
  std::vector<Event> events;

  // An item in a phase, as it would have been created.
  explicit World(Phase phase = Phase::Implementation, const NewWork& more = {}) {
    NewWork asked = more;
    asked.id = "W-1";
    asked.title = "do it";
    asked.phase = phase;
    take(create(asked, false, {}, kOlga, at(0)));
  }

  // Applies what happens; a refusal and a payload that does not hold fail the test.
  void take(const Ruling& ruling) {
    EXPECT_EQ(code(ruling), "");
    for (const Event& event : ruling.events) ASSERT_NO_FATAL_FAILURE(take(event));
  }
  void take(const Event& event) {
    const Result<Effect> effect = apply_to(event);
    ASSERT_TRUE(effect) << effect.error().text() << " " << json::write(event.payload);
    ASSERT_TRUE(effect->item);
    item = effect->item;
    if (effect->session) sessions[effect->session->id] = *effect->session;
    if (effect->superseded) sessions[effect->superseded->id] = *effect->superseded;
    events.push_back(event);
  }
  Result<Effect> apply_to(const Event& event) const { return apply_to(event.type, canonical(event.payload)); }
  Result<Effect> apply_to(std::string_view type, const std::string& payload) const {
    const auto document = json::parse(payload);
    CHECK(document);
    const SessionNames names = sessions_of(document->root());
    return apply(type, document->root(), item, find(names.session), find(names.superseded));
  }

  Claim claim_of(const Actor& actor, const std::string& session) const {
    return {actor, "", session, "l-" + session, "a12345", 0, ""};
  }
  // The actor's session takes the item.
  Session hold(const Actor& actor, const std::string& session, Time now) {
    take(claim(*item, claim_of(actor, session), policy, now));
    return sessions[session];
  }
  void settle(Time now) { take(work::settle(*item, policy, now)); }
  const Session& session(const std::string& id) { return sessions.at(id); }

 private:
  std::optional<Session> find(const std::string& id) const {
    const auto found = sessions.find(id);
    return found == sessions.end() ? std::nullopt : std::optional(found->second);
  }
};

}  // namespace baton::work
