// SPDX-License-Identifier: Apache-2.0
#include "store_scenario.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "store/tables.h"
#include "store_rows.h"

namespace baton::store {
namespace {

constexpr std::uint64_t kEntriesEach = 3;
constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();

Row counter(std::uint64_t number) { return {"counter", "key", std::to_string(number)}; }
// Some rows fit on a page and some do not.
Row blob(std::uint64_t number) {
  return {"sha-" + std::to_string(number), std::string(10'000 * (number % 2), '\0'), std::monostate()};
}
Row witness(std::uint64_t number) { return {"file:///witness/" + std::to_string(number)}; }

// The number of transactions that a ledger of that size is made of.
std::uint64_t transactions(std::uint64_t size) { return size / kEntriesEach; }

#define TRY(expression)                                                            \
  do {                                                                             \
    const auto& tried = (expression);                                               \
    if (!tried) return tl::make_unexpected(tried.error());                         \
  } while (false)

Result<void> one_transaction(Store& store) {
  const Result<std::unique_ptr<Transaction>> begun = store.begin();
  TRY(begun);
  Transaction& transaction = **begun;
  TRY(transaction.now());

  const Result<std::optional<Row>> before = transaction.get(tables::kLedgerKeys, {"counter"});
  TRY(before);
  const std::uint64_t number = before->has_value() ? std::stoull(std::get<std::string>((**before)[2])) + 1 : 1;

  // Work that is undone, and work that stays.
  TRY(transaction.savepoint());
  TRY(transaction.insert(tables::kLedgerWitnesses, {"file:///undone"}));
  TRY(transaction.insert(tables::kBlobs, {"undone", std::string(9'000, 'x'), "key"}));
  TRY(transaction.rollback_to_savepoint());
  TRY(transaction.insert(tables::kLedgerWitnesses, witness(number)));
  TRY(transaction.release_savepoint());
  TRY(transaction.insert(tables::kBlobs, blob(number)));
  if (before->has_value()) {
    TRY(transaction.update(tables::kLedgerKeys, counter(number)));
    TRY(transaction.erase(tables::kLedgerErasures, {"of-" + std::to_string(number - 1)}));
  } else {
    TRY(transaction.insert(tables::kLedgerKeys, counter(number)));
  }
  TRY(transaction.insert(tables::kLedgerErasures, {"of-" + std::to_string(number), "reason"}));
  TRY(transaction.find({tables::kBlobs}, Lock::None, [](const Row&) { return true; }));

  const Result<Head> head = transaction.take_head();
  TRY(head);
  std::vector<TestEntry> entries;
  for (std::uint64_t i = 1; i <= kEntriesEach; ++i) entries.push_back(test_entry(head->size + i));
  TRY(append_after_head(transaction, entries, {{8, transactions(head->size), bytes_of(head->size), "streams"}}));
  return transaction.commit();
}

// A look at the store, of which nothing is wanted but that it does no harm.
Result<void> look(Store& store) {
  const Result<std::unique_ptr<Reader>> reader = store.reader();
  TRY(reader);
  TRY((*reader)->head());
  TRY((*reader)->entries(1, kAll, [](const EntryRow&) { return true; }));
  TRY((*reader)->get(tables::kLedgerKeys, {"counter"}));
  TRY((*reader)->newest_seal());
  TRY(store.wait_for_change(0, std::chrono::milliseconds(0)));
  return {};
}

#undef TRY

template <class Read>
std::uint64_t count(const Read& read) {
  std::uint64_t found = 0;
  expect_done(read([&](const auto&) { return ++found, true; }));
  return found;
}

}  // namespace

ScenarioRun run_scenario(Store& store) {
  ScenarioRun run;
  for (std::uint64_t i = 0; i < kScenarioTransactions; ++i) {
    const Result<void> committed = one_transaction(store);
    if (committed) ++run.acknowledged;
    if (!committed) run.failures.push_back(committed.error());
    const Result<void> looked = look(store);
    if (!looked) run.failures.push_back(looked.error());
  }
  return run;
}

std::uint64_t check_scenario(Store& store, std::uint64_t acknowledged) {
  const std::unique_ptr<Reader> reader = value_of(store.reader());
  if (reader == nullptr) return 0;
  const Head head = value_of(reader->head());
  EXPECT_EQ(head, test_head(head.size));
  EXPECT_EQ(head.size % kEntriesEach, 0u);
  const std::uint64_t number = transactions(head.size);
  EXPECT_GE(number, acknowledged);
  EXPECT_LE(number, kScenarioTransactions);

  std::uint64_t next = 1;
  expect_done(reader->entries(0, kAll, [&](const EntryRow& row) {
    EXPECT_EQ(owned(row), test_entry(next++));
    return true;
  }));
  EXPECT_EQ(next, head.size + 1);
  EXPECT_EQ(value_of(reader->count_entries()), head.size);
  EXPECT_EQ(count([&](const TakeNode& take) { return reader->nodes(8, 0, kAll, take); }), number);
  EXPECT_EQ(count([&](const TakeSeal& take) { return reader->seals(0, kAll, take); }), number);

  const auto rows = [&](const Table& table) {
    return count([&](const TakeRow& take) { return reader->find({table}, take); });
  };
  EXPECT_EQ(rows(tables::kLedgerWitnesses), number);
  EXPECT_EQ(rows(tables::kBlobs), number);
  EXPECT_EQ(rows(tables::kLedgerErasures), number == 0 ? 0u : 1u);
  EXPECT_EQ(rows(tables::kLedgerKeys), number == 0 ? 0u : 1u);
  for (std::uint64_t i = 1; i <= number; ++i) {
    EXPECT_EQ(value_of(reader->get(tables::kBlobs, {blob(i)[0]})), blob(i));
    EXPECT_TRUE(value_of(reader->get(tables::kLedgerWitnesses, witness(i))));
  }
  if (number > 0) {
    EXPECT_EQ(value_of(reader->get(tables::kLedgerKeys, {"counter"})), counter(number));
  }
  return number;
}

}  // namespace baton::store
