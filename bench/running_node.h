// SPDX-License-Identifier: Apache-2.0
// A whole node in the process of a benchmark, without its command line, and use cases that are waited for.
#pragma once

#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/random.h"
#include "load.h"
#include "runtime/access.h"
#include "runtime/ledger.h"
#include "runtime/node.h"
#include "runtime/use_cases.h"
#include "store/store.h"

namespace baton::bench {

struct Running {
  std::unique_ptr<store::Store> store;
  std::unique_ptr<runtime::Ledger> ledger;
  std::unique_ptr<workspace::Config> config;
  std::unique_ptr<runtime::UseCases> cases;
  std::unique_ptr<runtime::Access> access;
  std::unique_ptr<runtime::Node> node;
};

Running start(Result<std::unique_ptr<store::Store>> store, const std::filesystem::path& keys, Clock& clock,
              Random& random);

// A use case, waited for. One that is refused ends the benchmark.
template <class Call>
runtime::Answer wait_for(const Call& call) {
  std::mutex mutex;
  std::condition_variable told;
  std::optional<Result<runtime::Answer>> answer;
  call([&](Result<runtime::Answer> result) {
    const std::lock_guard lock(mutex);
    answer = std::move(result);
    told.notify_one();
  });
  std::unique_lock lock(mutex);
  told.wait(lock, [&] { return answer.has_value(); });
  insist(answer->has_value(), answer->has_value() ? "" : answer->error().text());
  insist((*answer)->refused.empty(), (*answer)->refused.empty() ? "" : (*answer)->refused.front().message);
  return std::move(**answer);
}

runtime::Mutation as(std::string actor);
runtime::Mutation as_operator();

// The text at a JSON Pointer of an answer, which must have it.
std::string member(const json::Value& body, std::string_view pointer);

}  // namespace baton::bench
