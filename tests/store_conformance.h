// SPDX-License-Identifier: Apache-2.0
// What a store is. The suite runs on every backend of store_backends.h; what it does not ask for, a store does not
// promise. Names of tests are claims.
//
// A backend may report a conflict by a later call, at the latest by commit(): tests that bring one about let it.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "store/store.h"
#include "store_backends.h"
#include "store_rows.h"

namespace baton::store {

// Tables that only the tests have: a key of two columns, and indexes of one column, of two, and of one of the key.
extern const Table kItems;
const Index& items_by_label();
const Index& items_by_weight_and_label();
const Index& items_by_number();
extern const Table kCounters;  // name, value

inline constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();
inline constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
inline constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

inline Row item(std::string shelf, std::int64_t number, std::string label = "label", std::int64_t weight = 1,
                Value data = {}) {
  return {std::move(shelf), number, std::move(label), weight, std::move(data)};
}

class StoreConformance : public testing::TestWithParam<Backend> {
 protected:
  void SetUp() override;

  Store& store() { return made_->store(); }
  void reopen() { made_->reopen(); }

  std::unique_ptr<Transaction> begin() { return value_of(store().begin()); }
  std::unique_ptr<Reader> reader() { return value_of(store().reader()); }
  // A transaction that does this and commits.
  void commit(const std::function<void(Transaction&)>& work);
  void append(std::uint64_t count);

  std::uint64_t size() { return value_of(reader()->head()).size; }
  std::optional<Row> get(const Table& table, const Row& key) { return value_of(reader()->get(table, key)); }

  FixedClock clock_{Time{1'700'000'000'000'000'000}};
  std::unique_ptr<TestStore> made_;
};

// All rows of a query.
std::vector<Row> rows_of(Reader& reader, const Query& query);
std::vector<Row> rows_of(Transaction& transaction, const Query& query);
std::vector<TestEntry> entries_of(Reader& reader, std::uint64_t first, std::uint64_t last);

}  // namespace baton::store
