// SPDX-License-Identifier: Apache-2.0
// A ledger on a store with its use cases, for tests of what goes on around them.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/random.h"
#include "runtime/ledger.h"
#include "runtime/use_cases.h"
#include "store/store.h"
#include "workspace/config.h"

namespace baton::runtime {

// Long enough for any machine; nothing waits that long unless something is wrong.
constexpr std::chrono::seconds kPatience{60};

// Until it is so; false when the time is over.
inline bool eventually(const std::function<bool()>& is_so) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (!is_so()) {
    if (std::chrono::steady_clock::now() >= until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

// Calls something that answers later, and waits for the answer.
inline Result<Answer> answer_of(const std::function<void(Answered)>& call) {
  auto promise = std::make_shared<std::promise<Result<Answer>>>();
  auto future = promise->get_future();
  call([promise](Result<Answer> answer) { promise->set_value(std::move(answer)); });
  if (future.wait_for(kPatience) != std::future_status::ready) return failure("waiting", "nothing was answered");
  return future.get();
}

// A text at `object`.`member` of an answer; empty when there is none.
inline std::string member_of(const Answer& answer, std::string_view object, std::string_view member) {
  const json::Value* outer = answer.body.find(object);
  const json::Value* inner = outer == nullptr ? nullptr : outer->find(member);
  return inner != nullptr && inner->is_string() ? inner->string() : std::string();
}

inline Mutation by(std::string actor, work::ActorKind kind = work::ActorKind::Agent) {
  Mutation out;
  out.caller.actor = {std::move(actor), kind, {}};
  return out;
}

class World {
 public:
  World(store::Store& store, Clock& clock, const std::filesystem::path& keys, workspace::Config given = {})
      : config(std::move(given)) {
    LedgerPlace place;
    place.keys = keys;
    auto opened = Ledger::open(store, clock, random_, place);
    EXPECT_TRUE(opened) << opened.error().text();
    ledger = std::move(*opened);
    cases = std::make_unique<UseCases>(store, *ledger, clock, random_, config);
  }

  // Its id.
  std::string create(work::Phase phase = work::Phase::Draft, std::int64_t priority = 5) {
    work::NewWork asked;
    asked.title = "something to do";
    asked.phase = phase;
    asked.priority = priority;
    const auto answer = answer_of(
        [&](Answered done) { cases->create(by("oscar", work::ActorKind::Operator), asked, std::move(done)); });
    EXPECT_TRUE(answer && answer->refused.empty());
    return answer ? member_of(*answer, "work", "id") : "";
  }

  const workspace::Config config;
  std::unique_ptr<Ledger> ledger;
  std::unique_ptr<UseCases> cases;

 private:
  SystemRandom random_;
};

}  // namespace baton::runtime
