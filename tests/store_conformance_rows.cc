// SPDX-License-Identifier: Apache-2.0
// What a store is (store_conformance.h): its tables.
#include <algorithm>
#include <array>
#include <random>

#include "base/text.h"
#include "store/tables.h"
#include "store_conformance.h"

namespace baton::store {
namespace {

// --- rows -------------------------------------------------------------------------------------------------------------

TEST_P(StoreConformance, a_key_is_inserted_once) {
  commit([](Transaction& transaction) { expect_done(transaction.insert(kCounters, {"a", 1})); });
  {
    const std::unique_ptr<Transaction> transaction = begin();
    Result<void> done = transaction->insert(kCounters, {"a", 2});
    if (done) done = transaction->commit();
    EXPECT_EQ(code_of(done), "STORE_CONFLICT");
  }
  {
    const std::unique_ptr<Transaction> transaction = begin();
    expect_done(transaction->insert(kCounters, {"b", 1}));
    Result<void> done = transaction->insert(kCounters, {"b", 2});  // its own
    if (done) done = transaction->commit();
    EXPECT_EQ(code_of(done), "STORE_CONFLICT");
  }
  EXPECT_EQ(rows_of(*reader(), {kCounters}), (std::vector<Row>{{"a", 1}}));
}

TEST_P(StoreConformance, what_is_updated_must_be_there) {
  for (const Table* table : {&kCounters, &tables::kLedgerWitnesses}) {  // the second has no column beside its key
    const std::unique_ptr<Transaction> transaction = begin();
    Result<void> done = transaction->update(*table, table == &kCounters ? Row{"a", 1} : Row{"a"});
    if (done) done = transaction->commit();
    EXPECT_EQ(code_of(done), "STORE_CONFLICT");
  }
  EXPECT_TRUE(rows_of(*reader(), {kCounters}).empty());
  commit([](Transaction& transaction) {
    expect_done(transaction.insert(kCounters, {"a", 1}));
    expect_done(transaction.update(kCounters, {"a", 1}));  // to what it is
    expect_done(transaction.insert(tables::kLedgerWitnesses, {"w"}));
    expect_done(transaction.update(tables::kLedgerWitnesses, {"w"}));
  });
}

TEST_P(StoreConformance, what_is_erased_need_not_be_there) {
  commit([](Transaction& transaction) {
    expect_done(transaction.insert(kCounters, {"a", 1}));
    expect_done(transaction.erase(kCounters, {"b"}));
    expect_done(transaction.erase(kCounters, {"a"}));
    expect_done(transaction.erase(kCounters, {"a"}));
  });
  EXPECT_TRUE(rows_of(*reader(), {kCounters}).empty());
}

TEST_P(StoreConformance, after_a_conflict_nothing_is_committed) {
  commit([](Transaction& transaction) { expect_done(transaction.insert(kCounters, {"a", 1})); });
  {
    const std::unique_ptr<Transaction> transaction = begin();
    expect_done(transaction->insert(kCounters, {"b", 1}));
    (void)transaction->insert(kCounters, {"a", 2});  // overlooked
    (void)transaction->insert(kCounters, {"c", 1});
    EXPECT_EQ(code_of(transaction->commit()), "STORE_CONFLICT");
  }
  EXPECT_EQ(rows_of(*reader(), {kCounters}), (std::vector<Row>{{"a", 1}}));
}

TEST_P(StoreConformance, a_savepoint_makes_good_a_conflict) {
  commit([](Transaction& transaction) { expect_done(transaction.insert(kCounters, {"a", 1})); });
  commit([](Transaction& transaction) {
    expect_done(transaction.insert(kCounters, {"b", 1}));
    expect_done(transaction.savepoint());
    expect_done(transaction.insert(kCounters, {"c", 1}));
    (void)transaction.insert(kCounters, {"a", 2});
    expect_done(transaction.rollback_to_savepoint());
    expect_done(transaction.release_savepoint());
    expect_done(transaction.savepoint());
    (void)transaction.update(kCounters, {"missing", 2});
    expect_done(transaction.rollback_to_savepoint());
    expect_done(transaction.insert(kCounters, {"d", 1}));
    expect_done(transaction.release_savepoint());
  });
  EXPECT_EQ(rows_of(*reader(), {kCounters}), (std::vector<Row>{{"a", 1}, {"b", 1}, {"d", 1}}));
}

// Every table there is, each column of it with each kind of value.
TEST_P(StoreConformance, every_table_keeps_every_value) {
  const std::vector<Value> texts = {
      "", "plain", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "'quoted\"; --", "%_\\", std::string(1 << 20, 't')};
  std::string all_bytes;
  for (int i = 0; i < 256; ++i) all_bytes.push_back(static_cast<char>(i));
  const std::vector<Value> bytes = {"", all_bytes, std::string(1 << 20, '\0'), std::string("\0", 1), "\xff\xfe"};
  const std::vector<Value> numbers = {std::int64_t{0}, std::int64_t{-1}, kLeast, kMost, std::int64_t{1} << 53};
  std::vector<const Table*> tables(all_tables().begin(), all_tables().end());
  tables.push_back(&kItems);
  for (const Table* table : tables) {
    std::vector<Row> rows;
    for (std::size_t column = 0; column < table->columns.size(); ++column) {
      std::vector<Value> values = numbers;
      if (table->columns[column].type == Type::Text) values = texts;
      if (table->columns[column].type == Type::Bytes) values = bytes;
      if (table->columns[column].nullable) values.emplace_back();
      // PostgreSQL bounds what a key may hold; keys are names, not contents.
      const bool in_key = column < table->key_columns;
      for (const Value& value : values) {
        const std::string* text = std::get_if<std::string>(&value);
        if (in_key && text != nullptr && text->size() > 1'000) continue;
        Row row;
        for (const Column& each : table->columns)
          row.push_back(each.type == Type::Integer ? Value(static_cast<std::int64_t>(rows.size()))
                                                   : Value("r" + std::to_string(rows.size())));
        row[column] = value;
        const auto is_indexed = [&](const Index& index) {
          return std::ranges::find(index.columns, column) != index.columns.end();
        };
        if (text != nullptr && text->size() > 1'000 && std::ranges::any_of(table->indexes, is_indexed)) continue;
        rows.push_back(std::move(row));
      }
    }
    commit([&](Transaction& transaction) {
      for (const Row& row : rows) expect_done(transaction.insert(*table, row));
      for (const Row& row : rows) EXPECT_EQ(value_of(transaction.get(*table, key_of(*table, row))), row) << table->name;
    });
    const std::unique_ptr<Reader> reading = reader();
    for (const Row& row : rows) EXPECT_EQ(value_of(reading->get(*table, key_of(*table, row))), row) << table->name;
    std::vector<Row> sorted = rows;
    std::ranges::sort(sorted, [&](const Row& a, const Row& b) { return key_of(*table, a) < key_of(*table, b); });
    EXPECT_EQ(rows_of(*reading, {*table}), sorted) << table->name;
    // Each becomes what another was, and goes.
    commit([&](Transaction& transaction) {
      for (std::size_t i = 0; i < rows.size(); ++i) {
        Row row = rows[i];
        const Row& other = rows[(i + 1) % rows.size()];
        for (std::size_t column = table->key_columns; column < row.size(); ++column) row[column] = other[column];
        expect_done(transaction.update(*table, row));
        EXPECT_EQ(value_of(transaction.get(*table, key_of(*table, row))), row) << table->name;
      }
    });
    commit([&](Transaction& transaction) {
      for (const Row& row : rows) expect_done(transaction.erase(*table, key_of(*table, row)));
    });
    EXPECT_TRUE(rows_of(*reader(), {*table}).empty()) << table->name;
  }
}

// --- queries ----------------------------------------------------------------------------------------------------------

// What a query means, written as plainly as can be.
std::vector<Row> asked_of(const std::vector<Row>& rows, const Query& query) {
  const std::vector<std::size_t> order = order_of(query.table, query.index);
  std::vector<Row> found;
  for (const Row& row : rows) {
    bool fits = true;
    for (std::size_t i = 0; i < query.equal.size(); ++i) fits = fits && row[order[i]] == query.equal[i];
    if (query.from.index() != 0) fits = fits && row[order[query.equal.size()]] >= query.from;
    if (query.below.index() != 0) fits = fits && row[order[query.equal.size()]] < query.below;
    if (fits) found.push_back(row);
  }
  std::ranges::sort(found, [&](const Row& a, const Row& b) {
    for (const std::size_t column : order)
      if (a[column] != b[column]) return query.descending ? b[column] < a[column] : a[column] < b[column];
    return false;
  });
  if (found.size() > query.limit) found.resize(query.limit);
  return found;
}

// Few different values, so that many are equal; among them such that order differently as text and as bytes.
const std::vector<std::string> kWords = {"",   "a", "A", "aa", "b", "\xc3\xa4", "z", "\xf0\x9f\x98\x80", "\xef\xbf\xbd",
                                         "a b"};
const std::vector<std::int64_t> kNumbers = {kLeast, -10, -2, 0, 1, 9, 10, kMost};

template <class T>
const T& pick(std::mt19937& random, const std::vector<T>& from) {
  return from[random() % from.size()];
}

Row random_item(std::mt19937& random) {
  Value data;
  if (random() % 3 != 0) data = pick(random, kWords) + std::string(1, '\0');
  return item(pick(random, kWords), pick(random, kNumbers), pick(random, kWords), pick(random, kNumbers), data);
}

Query random_query(std::mt19937& random) {
  Query query{kItems};
  const std::vector<const Index*> indexes = {nullptr, &items_by_label(), &items_by_weight_and_label(),
                                             &items_by_number()};
  query.index = pick(random, indexes);
  const std::vector<std::size_t> order = order_of(kItems, query.index);
  const auto value_at = [&](std::size_t place) -> Value {
    return kItems.columns[order[place]].type == Type::Integer ? Value(pick(random, kNumbers))
                                                              : Value(pick(random, kWords));
  };
  const std::size_t equal = random() % (order.size() + 1);
  for (std::size_t i = 0; i < equal; ++i) query.equal.push_back(value_at(i));
  if (equal < order.size()) {
    if (random() % 2 == 0) query.from = value_at(equal);
    if (random() % 2 == 0) query.below = value_at(equal);
  }
  query.descending = random() % 2 == 0;
  const std::vector<std::size_t> limits = {0, 1, 3, 1'000, SIZE_MAX, SIZE_MAX};
  query.limit = pick(random, limits);
  return query;
}

TEST_P(StoreConformance, queries_find_what_they_ask_for_in_its_order) {
  std::mt19937 random(1);
  std::vector<Row> rows;
  const auto is_there = [&](const Row& row) {
    return std::ranges::any_of(rows, [&](const Row& one) { return one[0] == row[0] && one[1] == row[1]; });
  };
  commit([&](Transaction& transaction) {
    while (rows.size() < 60) {
      const Row row = random_item(random);
      if (is_there(row)) continue;
      expect_done(transaction.insert(kItems, row));
      rows.push_back(row);
    }
  });
  const std::unique_ptr<Reader> reading = reader();
  std::size_t found = 0;
  for (int i = 0; i < 800; ++i) {
    const Query query = random_query(random);
    const std::vector<Row> want = asked_of(rows, query);
    found += want.size();
    ASSERT_EQ(rows_of(*reading, query), want) << "query " << i;
  }
  EXPECT_GT(found, 2'000u);  // the queries were not all for nothing

  // The same in a transaction that has changed much, over what it changed and what it did not.
  const std::unique_ptr<Transaction> transaction = begin();
  for (int i = 0; i < 30; ++i) {
    Row& row = rows[random() % rows.size()];
    const Row fresh = random_item(random);
    switch (random() % 3) {
      case 0:
        for (std::size_t column = 2; column < row.size(); ++column) row[column] = fresh[column];
        expect_done(transaction->update(kItems, row));
        break;
      case 1:
        expect_done(transaction->erase(kItems, key_of(kItems, row)));
        row = rows.back();
        rows.pop_back();
        break;
      default:
        if (is_there(fresh)) break;
        expect_done(transaction->insert(kItems, fresh));
        rows.push_back(fresh);
    }
    for (int k = 0; k < 12; ++k) {
      const Query query = random_query(random);
      ASSERT_EQ(rows_of(*transaction, query), asked_of(rows, query)) << "change " << i << " query " << k;
    }
  }
  expect_done(transaction->commit());
  const std::unique_ptr<Reader> after = reader();
  for (int i = 0; i < 300; ++i) {
    const Query query = random_query(random);
    ASSERT_EQ(rows_of(*after, query), asked_of(rows, query)) << "query " << i;
  }
}

TEST_P(StoreConformance, a_query_ends_when_enough_is_found) {
  commit([](Transaction& transaction) {
    for (std::int64_t i = 0; i < 10; ++i) expect_done(transaction.insert(kItems, item("a", i)));
  });
  for (int turn = 0; turn < 2; ++turn) {
    int seen = 0;
    expect_done(reader()->find({kItems}, [&](const Row&) { return ++seen < 4; }));
    EXPECT_EQ(seen, 4);
    const std::unique_ptr<Transaction> transaction = begin();
    expect_done(transaction->insert(kItems, item("a", 10)));
    seen = 0;
    expect_done(transaction->find({kItems}, Lock::None, [&](const Row&) { return ++seen < 4; }));
    EXPECT_EQ(seen, 4);
  }
}

TEST_P(StoreConformance, every_lock_is_accepted) {
  commit([](Transaction& transaction) { expect_done(transaction.insert(kCounters, {"a", 1})); });
  commit([](Transaction& transaction) {
    for (const Lock lock : {Lock::None, Lock::Wait, Lock::Skip}) {
      int seen = 0;
      expect_done(transaction.find({.table = kCounters, .limit = 1}, lock, [&](const Row& row) {
        EXPECT_EQ(row, (Row{"a", 1}));
        ++seen;
        return true;
      }));
      EXPECT_EQ(seen, 1);
    }
    EXPECT_EQ(value_of(transaction.get(kCounters, {"a"})), (Row{"a", 1}));
  });
}

TEST_P(StoreConformance, many_rows_are_read_and_written_at_once) {
  // Around the numbers that one statement holds; of one key column and of two.
  for (const std::size_t count : {1u, 2u, 3u, 5u, 63u, 64u, 65u, 130u}) {
    const std::string prefix = "n" + std::to_string(count) + "-";
    std::vector<Row> counters, waiting, counter_keys, waiting_keys;
    for (std::size_t i = 0; i < count; ++i) {
      counters.push_back({prefix + std::to_string(i), static_cast<std::int64_t>(i)});
      counter_keys.push_back({prefix + std::to_string(i)});
      waiting.push_back({prefix, "W-" + std::to_string(i)});
      waiting_keys.push_back(waiting.back());
    }
    commit([&](Transaction& transaction) {
      expect_done(transaction.insert_all(kCounters, counters));
      expect_done(transaction.insert_all(tables::kWorkDependencies, waiting));
    });
    commit([&](Transaction& transaction) {
      // What is not there is answered with nothing, in its place.
      counter_keys.insert(counter_keys.begin(), {"absent"});
      const auto read = transaction.get_all(kCounters, counter_keys);
      ASSERT_TRUE(read.has_value());
      ASSERT_EQ(read->size(), count + 1);
      EXPECT_EQ(read->front(), std::nullopt);
      for (std::size_t i = 0; i < count; ++i) EXPECT_EQ((*read)[i + 1], counters[i]);
      const auto two = transaction.get_all(tables::kWorkDependencies, waiting_keys);
      ASSERT_TRUE(two.has_value());
      for (std::size_t i = 0; i < count; ++i) EXPECT_EQ((*two)[i], waiting[i]);
      for (Row& row : counters) row[1] = std::get<std::int64_t>(row[1]) + 1000;
      expect_done(transaction.update_all(kCounters, counters));
      expect_done(transaction.update_all(tables::kWorkDependencies, waiting));
    });
    const auto reader = this->reader();
    for (const Row& row : counters) EXPECT_EQ(value_of(reader->get(kCounters, {row[0]})), row);
    EXPECT_EQ(rows_of(*reader, {.table = tables::kWorkDependencies, .equal = {prefix}}).size(), count);
  }
}

TEST_P(StoreConformance, of_many_rows_one_that_is_there_is_a_conflict_for_all) {
  commit([](Transaction& transaction) { expect_done(transaction.insert(kCounters, {"b", 1})); });
  {
    const std::unique_ptr<Transaction> transaction = begin();
    const std::vector<Row> rows = {{"a", 2}, {"b", 2}, {"c", 2}};
    Result<void> done = transaction->insert_all(kCounters, rows);
    if (done) done = transaction->commit();
    EXPECT_EQ(code_of(done), "STORE_CONFLICT");
  }
  EXPECT_EQ(rows_of(*reader(), {kCounters}), (std::vector<Row>{{"b", 1}}));
}

// --- what is refused --------------------------------------------------------------------------------------------------

TEST_P(StoreConformance, text_is_utf8_without_zero_bytes) {
  const std::vector<std::string> refused = {std::string("a\0b", 3), std::string(1, '\0'), "\xff", "a\xc3", "\xc0\x80",
                                            "\xed\xa0\x80",         "\xf4\x90\x80\x80"};
  for (const std::string& text : refused) {
    const auto is_refused = [&](const std::function<Result<void>(Transaction&)>& work) {
      const std::unique_ptr<Transaction> transaction = begin();
      expect_done(transaction->savepoint());
      const Result<void> done = work(*transaction);
      EXPECT_FALSE(done) << printable(text);
      EXPECT_EQ(code_of(done), "") << printable(text);
      EXPECT_FALSE(transaction->insert(kCounters, {"half", 1})) << "nothing goes on after it";
      // It was refused before it was written: going back is enough.
      expect_done(transaction->rollback_to_savepoint());
      expect_done(transaction->insert(kCounters, {"after", 1}));
      expect_done(transaction->erase(kCounters, {"after"}));
      expect_done(transaction->commit());
    };
    const auto no_row = [](const Row&) { return true; };
    is_refused([&](Transaction& transaction) { return transaction.insert(kCounters, {text, 1}); });
    is_refused([&](Transaction& transaction) { return transaction.update(kItems, item("a", 1, text)); });
    is_refused([&](Transaction& transaction) { return transaction.erase(kCounters, {text}); });
    is_refused(
        [&](Transaction& transaction) { return transaction.find({kCounters, nullptr, {text}}, Lock::None, no_row); });
    is_refused([&](Transaction& transaction) -> Result<void> {
      const Result<std::optional<Row>> row = transaction.get(kCounters, {text});
      if (!row) return tl::make_unexpected(row.error());
      return {};
    });
    EXPECT_FALSE(reader()->get(kCounters, {text}));
    EXPECT_FALSE(reader()->find({.table = kCounters, .from = text}, no_row));
    EXPECT_FALSE(reader()->find({.table = kCounters, .below = text}, no_row));
    for (std::string TestEntry::* member :
         {&TestEntry::stream, &TestEntry::type, &TestEntry::actor_id, &TestEntry::actor_kind, &TestEntry::payload}) {
      TestEntry entry = test_entry(1);
      entry.*member = text;
      is_refused([&](Transaction& transaction) -> Result<void> {
        const Result<std::uint64_t> done = append_after_head(transaction, {entry});
        if (!done) return tl::make_unexpected(done.error());
        return {};
      });
    }
  }
  EXPECT_TRUE(rows_of(*reader(), {kCounters}).empty());
  EXPECT_EQ(value_of(reader()->count_entries()), 0u);
}

TEST_P(StoreConformance, a_row_has_a_value_of_its_type_for_each_column) {
  const std::vector<std::pair<const Table*, Row>> refused = {
      {&kCounters, {"a"}},                               // too few
      {&kCounters, {"a", 1, 2}},                         // too many
      {&kCounters, {}},                                  // none
      {&kCounters, {std::int64_t{1}, 1}},                // a number for text
      {&kCounters, {"a", "1"}},                          // text for a number
      {&kCounters, {"a", std::monostate()}},             // nothing
      {&kCounters, {std::monostate(), 1}},               // nothing for a key
      {&kItems, item("a", 1, "b", 1, std::int64_t{1})},  // a number for bytes
  };
  for (const auto& [table, row] : refused) {
    EXPECT_EQ(code_of(begin()->insert(*table, row)), "");
    EXPECT_EQ(code_of(begin()->update(*table, row)), "");
  }
  EXPECT_EQ(code_of(begin()->erase(kItems, {"a"})), "");
  EXPECT_EQ(code_of(begin()->get(kItems, {"a", "1"})), "");
  EXPECT_EQ(code_of(reader()->get(kItems, {"a", 1, 2})), "");
  const auto no_row = [](const Row&) { return true; };
  constexpr std::array<std::size_t, 1> columns = {2};
  const Index stranger = {"stranger", columns};
  EXPECT_EQ(code_of(reader()->find({kItems, &stranger}, no_row)), "");
  EXPECT_EQ(code_of(reader()->find({kItems, nullptr, {"a", 1, "label"}}, no_row)), "");
  EXPECT_EQ(code_of(reader()->find({kItems, nullptr, {"a", 1}, 1}, no_row)), "");
  EXPECT_EQ(code_of(reader()->find({kItems, nullptr, {"a"}, "text"}, no_row)), "");
  EXPECT_EQ(code_of(reader()->find({kItems, nullptr, {std::int64_t{1}}}, no_row)), "");
  EXPECT_TRUE(rows_of(*reader(), {kCounters}).empty());
}

}  // namespace
}  // namespace baton::store
