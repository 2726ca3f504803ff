// SPDX-License-Identifier: Apache-2.0
// A few transactions of every kind of work, for stores in which something fails; and the question whether what they left
// is whole: each transaction is there with all of its parts or with none, and those that were acknowledged are there.
#pragma once

#include <cstdint>
#include <vector>

#include "store/store.h"

namespace baton::store {

constexpr std::uint64_t kScenarioTransactions = 3;

struct ScenarioRun {
  std::uint64_t acknowledged = 0;      // commits
  std::vector<Failure> failures = {};  // of transactions and of looks in between
};

// Tries kScenarioTransactions of them, one after the other, each on what it finds; after a failure it goes on with the
// next.
ScenarioRun run_scenario(Store& store);

// How many transactions of the scenario the store holds; fails the test when one is there in part, or when there are
// fewer than were acknowledged.
std::uint64_t check_scenario(Store& store, std::uint64_t acknowledged);

}  // namespace baton::store
