// SPDX-License-Identifier: Apache-2.0
#include "store_conformance.h"

#include <array>
#include <atomic>
#include <thread>

#include "store/tables.h"

namespace baton::store {
namespace {

constexpr std::array kItemsColumns = {Column{"shelf", Type::Text}, Column{"number", Type::Integer},
                                      Column{"label", Type::Text}, Column{"weight", Type::Integer},
                                      Column{"data", Type::Bytes, true}};
constexpr std::array<std::size_t, 1> kLabel = {2};
constexpr std::array<std::size_t, 2> kWeightLabel = {3, 2};
constexpr std::array<std::size_t, 1> kNumber = {1};
constexpr std::array kItemsIndexes = {Index{"items_by_label", kLabel}, Index{"items_by_weight_and_label", kWeightLabel},
                                      Index{"items_by_number", kNumber}};
constexpr std::array kCountersColumns = {Column{"name", Type::Text}, Column{"value", Type::Integer}};

}  // namespace

const Table kItems = {"test_items", kItemsColumns, 2, kItemsIndexes};
const Table kCounters = {"test_counters", kCountersColumns, 1};
const Index& items_by_label() { return kItemsIndexes[0]; }
const Index& items_by_weight_and_label() { return kItemsIndexes[1]; }
const Index& items_by_number() { return kItemsIndexes[2]; }

void StoreConformance::SetUp() {
  static constexpr std::array more = {&kItems, &kCounters};
  made_ = GetParam().make(clock_, more);
}

void StoreConformance::commit(const std::function<void(Transaction&)>& work) {
  const std::unique_ptr<Transaction> transaction = begin();
  work(*transaction);
  expect_done(transaction->commit());
}

void StoreConformance::append(std::uint64_t count) {
  commit([&](Transaction& transaction) { value_of(append_after_head(transaction, count)); });
}

std::vector<Row> rows_of(Reader& reader, const Query& query) {
  std::vector<Row> rows;
  expect_done(reader.find(query, [&](const Row& row) {
    rows.push_back(row);
    return true;
  }));
  return rows;
}

std::vector<Row> rows_of(Transaction& transaction, const Query& query) {
  std::vector<Row> rows;
  expect_done(transaction.find(query, Lock::None, [&](const Row& row) {
    rows.push_back(row);
    return true;
  }));
  return rows;
}

std::vector<TestEntry> entries_of(Reader& reader, std::uint64_t first, std::uint64_t last) {
  std::vector<TestEntry> entries;
  expect_done(reader.entries(first, last, [&](const EntryRow& row) {
    entries.push_back(owned(row));
    return true;
  }));
  return entries;
}

namespace {

// --- the ledger -------------------------------------------------------------------------------------------------------

TEST_P(StoreConformance, a_new_store_is_empty) {
  EXPECT_FALSE(store().name().empty());
  const std::unique_ptr<Reader> reading = reader();
  EXPECT_EQ(value_of(reading->head()), empty_head());
  EXPECT_EQ(value_of(reading->head()).hash, std::string(32, '\0'));
  EXPECT_TRUE(entries_of(*reading, 0, kAll).empty());
  EXPECT_EQ(value_of(reading->count_entries()), 0u);
  EXPECT_EQ(value_of(reading->newest_seal()).has_value(), false);
  expect_done(reading->seals(0, kAll, [](const Seal&) { return ADD_FAILURE(), true; }));
  expect_done(reading->nodes(8, 0, kAll, [](const TreeNode&) { return ADD_FAILURE(), true; }));
  for (const Table* table : all_tables()) EXPECT_TRUE(rows_of(*reading, {*table}).empty()) << table->name;
  EXPECT_EQ(value_of(begin()->take_head()), empty_head());
}

TEST_P(StoreConformance, what_is_appended_is_read_back) {
  const std::vector<TestEntry> entries = {
      test_entry(1),
      {.sequence = 2, .previous = std::string(32, '\0'), .hash = std::string(32, '\xff')},  // the texts are empty
      {.sequence = 3,
       .stream = "work/\xc3\xa4\xf0\x9f\x98\x80",
       .type = "a.b",
       .actor_id = "'; DROP TABLE entries; --",
       .actor_kind = "\"",
       .time = kLeast,
       .payload = std::string(70'000, 'x'),
       .previous = "short",
       .hash = std::string("\0\1\0", 3)},
      {.sequence = 4, .stream = "s", .type = "t", .actor_id = "a", .actor_kind = "k", .time = kMost, .payload = "{}"},
  };
  commit([&](Transaction& transaction) { EXPECT_EQ(value_of(append_after_head(transaction, entries)), 4u); });
  const std::unique_ptr<Reader> reading = reader();
  EXPECT_EQ(entries_of(*reading, 1, 4), entries);
  EXPECT_EQ(value_of(reading->head()), test_head(4));
  EXPECT_EQ(value_of(reading->newest_seal())->note, test_seal(4).note);
  std::vector<std::string> hashes;
  expect_done(reading->entry_hashes(1, 4, [&](const EntryRow& row) {
    EXPECT_EQ(row.sequence, hashes.size() + 1);
    EXPECT_TRUE(row.stream.empty() && row.payload.empty() && row.previous.empty());
    hashes.emplace_back(row.hash);
    return true;
  }));
  ASSERT_EQ(hashes.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(hashes[i], entries[i].hash);
}

TEST_P(StoreConformance, appends_keep_their_order_and_move_the_head) {
  std::uint64_t size = 0;
  for (const std::uint64_t count : {1, 2, 64, 1, 300}) {
    commit([&](Transaction& transaction) {
      EXPECT_EQ(value_of(transaction.take_head()), test_head(size));
      EXPECT_EQ(value_of(append_after_head(transaction, count)), size + count);
    });
    size += count;
    EXPECT_EQ(value_of(reader()->head()), test_head(size));
    EXPECT_EQ(value_of(reader()->count_entries()), size);
  }
  std::uint64_t next = 1;
  for (const TestEntry& entry : entries_of(*reader(), 0, kAll)) EXPECT_EQ(entry, test_entry(next++));
  EXPECT_EQ(next, size + 1);
}

TEST_P(StoreConformance, entries_are_read_by_range) {
  append(20);
  const std::unique_ptr<Reader> reading = reader();
  const auto sequences = [&](std::uint64_t first, std::uint64_t last) {
    std::vector<std::uint64_t> found;
    for (const TestEntry& entry : entries_of(*reading, first, last)) found.push_back(entry.sequence);
    return found;
  };
  using List = std::vector<std::uint64_t>;
  EXPECT_EQ(sequences(5, 7), (List{5, 6, 7}));
  EXPECT_EQ(sequences(0, 2), (List{1, 2}));
  EXPECT_EQ(sequences(20, 20), List{20});
  EXPECT_EQ(sequences(19, kAll), (List{19, 20}));
  EXPECT_EQ(sequences(21, kAll), List{});
  EXPECT_EQ(sequences(kAll, kAll), List{});
  EXPECT_EQ(sequences(7, 5), List{});
  // `false` ends the reading, and the next one starts afresh.
  for (int turn = 0; turn < 2; ++turn) {
    List found;
    expect_done(reading->entries(3, 9, [&](const EntryRow& row) {
      found.push_back(row.sequence);
      return found.size() < 2;
    }));
    EXPECT_EQ(found, (List{3, 4}));
  }
  List hashed;
  expect_done(reading->entry_hashes(18, kAll, [&](const EntryRow& row) {
    hashed.push_back(row.sequence);
    EXPECT_EQ(row.hash, bytes_of(row.sequence));
    return true;
  }));
  EXPECT_EQ(hashed, (List{18, 19, 20}));
}

TEST_P(StoreConformance, nodes_and_seals_are_read_by_range) {
  std::vector<TreeNode> nodes;
  for (std::uint64_t position = 0; position < 5; ++position)
    nodes.push_back({8, position, bytes_of(position), std::string("\0\xff", 2) + std::to_string(position)});
  nodes.push_back({16, 0, bytes_of(16), ""});
  nodes.push_back({24, 1u << 20, bytes_of(24), ""});
  commit([&](Transaction& transaction) { value_of(append_after_head(transaction, {test_entry(1)}, nodes)); });
  append(2);
  append(3);
  const std::unique_ptr<Reader> reading = reader();
  const auto positions = [&](std::uint32_t level, std::uint64_t first, std::uint64_t last) {
    std::string found;
    expect_done(reading->nodes(level, first, last, [&](const TreeNode& node) {
      EXPECT_EQ(node.level, level);
      EXPECT_EQ(node.hash, bytes_of(level == 8 ? node.position : level));
      EXPECT_EQ(node.streams, level == 8 ? std::string("\0\xff", 2) + std::to_string(node.position) : "");
      found += std::to_string(node.position) + " ";
      return true;
    }));
    return found;
  };
  EXPECT_EQ(positions(8, 0, kAll), "0 1 2 3 4 ");
  EXPECT_EQ(positions(8, 1, 2), "1 2 ");
  EXPECT_EQ(positions(8, 5, kAll), "");
  EXPECT_EQ(positions(8, 2, 1), "");
  EXPECT_EQ(positions(16, 0, kAll), "0 ");
  EXPECT_EQ(positions(24, 0, kAll), "1048576 ");
  EXPECT_EQ(positions(9, 0, kAll), "");
  const auto sizes = [&](std::uint64_t first, std::uint64_t last, std::size_t most) {
    std::string found;
    std::size_t count = 0;
    expect_done(reading->seals(first, last, [&](const Seal& seal) {
      EXPECT_EQ(seal.note, test_seal(seal.size).note);
      found += std::to_string(seal.size) + " ";
      return ++count < most;
    }));
    return found;
  };
  EXPECT_EQ(sizes(0, kAll, 9), "1 3 6 ");
  EXPECT_EQ(sizes(2, 3, 9), "3 ");
  EXPECT_EQ(sizes(0, kAll, 2), "1 3 ");
  EXPECT_EQ(sizes(7, kAll, 9), "");
  EXPECT_EQ(value_of(reading->newest_seal())->size, 6u);
}

TEST_P(StoreConformance, an_entry_that_is_there_is_not_written_again) {
  append(3);
  const std::unique_ptr<Transaction> transaction = begin();
  value_of(transaction->take_head());
  TestEntry other = test_entry(3);
  other.payload = "another";
  const std::vector<EntryRow> rows = {other.row()};
  Result<void> done = transaction->append(rows, {}, test_seal(4), test_head(4));
  if (done) done = transaction->commit();
  EXPECT_EQ(code_of(done), "STORE_CONFLICT");
  EXPECT_EQ(entries_of(*reader(), 3, 3).at(0), test_entry(3));
  EXPECT_EQ(size(), 3u);
}

TEST_P(StoreConformance, an_append_is_undone_with_its_savepoint_and_can_be_made_again) {
  commit([&](Transaction& transaction) {
    expect_done(transaction.savepoint());
    value_of(append_after_head(transaction, 5));
    EXPECT_EQ(value_of(transaction.take_head()).size, 5u);
    expect_done(transaction.rollback_to_savepoint());
    EXPECT_EQ(value_of(transaction.take_head()), empty_head());
    value_of(append_after_head(transaction, 2));
    expect_done(transaction.release_savepoint());
  });
  EXPECT_EQ(size(), 2u);
  EXPECT_EQ(value_of(reader()->count_entries()), 2u);
}

// --- isolation --------------------------------------------------------------------------------------------------------

TEST_P(StoreConformance, a_reader_sees_the_last_commit_before_it_and_nothing_later) {
  append(1);
  commit([](Transaction& transaction) { expect_done(transaction.insert(kCounters, {"a", 1})); });
  const std::unique_ptr<Reader> before = reader();
  std::unique_ptr<Reader> during;
  commit([&](Transaction& transaction) {
    value_of(append_after_head(transaction, 2));
    expect_done(transaction.update(kCounters, {"a", 2}));
    expect_done(transaction.insert(kCounters, {"b", 1}));
    during = reader();  // does not wait for the transaction
    EXPECT_EQ(value_of(during->head()).size, 1u);
  });
  const std::unique_ptr<Reader> after = reader();
  commit([](Transaction& transaction) { expect_done(transaction.erase(kCounters, {"a"})); });
  for (Reader* old : {before.get(), during.get()}) {
    EXPECT_EQ(value_of(old->head()), test_head(1));
    EXPECT_EQ(value_of(old->count_entries()), 1u);
    EXPECT_EQ(entries_of(*old, 0, kAll).size(), 1u);
    EXPECT_EQ(value_of(old->newest_seal())->size, 1u);
    EXPECT_EQ(value_of(old->get(kCounters, {"a"})), (Row{"a", 1}));
    EXPECT_EQ(rows_of(*old, {kCounters}), (std::vector<Row>{{"a", 1}}));
  }
  EXPECT_EQ(value_of(after->head()), test_head(3));
  EXPECT_EQ(rows_of(*after, {kCounters}), (std::vector<Row>{{"a", 2}, {"b", 1}}));
  EXPECT_EQ(rows_of(*reader(), {kCounters}), (std::vector<Row>{{"b", 1}}));
}

TEST_P(StoreConformance, a_reader_that_has_not_read_yet_is_of_the_moment_it_was_made) {
  const std::unique_ptr<Reader> before = reader();
  append(1);
  commit([](Transaction& transaction) { expect_done(transaction.insert(kCounters, {"a", 1})); });
  EXPECT_EQ(value_of(before->count_entries()), 0u);
  EXPECT_FALSE(value_of(before->get(kCounters, {"a"})));
  EXPECT_EQ(value_of(before->head()), empty_head());
}

TEST_P(StoreConformance, readers_do_not_hold_up_writers) {
  append(1);
  std::vector<std::unique_ptr<Reader>> readers;
  for (std::uint64_t i = 1; i <= 12; ++i) {
    readers.push_back(reader());
    append(1);
  }
  for (std::uint64_t i = 1; i <= 12; ++i) EXPECT_EQ(value_of(readers[i - 1]->count_entries()), i);
}

TEST_P(StoreConformance, a_transaction_sees_its_own_writes) {
  commit([](Transaction& transaction) {
    expect_done(transaction.insert(kItems, item("a", 1, "x")));
    expect_done(transaction.insert(kItems, item("a", 2, "y")));
  });
  const std::unique_ptr<Transaction> transaction = begin();
  expect_done(transaction->insert(kItems, item("a", 3, "w")));
  expect_done(transaction->update(kItems, item("a", 1, "z")));
  expect_done(transaction->erase(kItems, {"a", 2}));
  EXPECT_EQ(value_of(transaction->get(kItems, {"a", 3})), item("a", 3, "w"));
  EXPECT_EQ(value_of(transaction->get(kItems, {"a", 1})), item("a", 1, "z"));
  EXPECT_FALSE(value_of(transaction->get(kItems, {"a", 2})));
  const std::vector<Row> want = {item("a", 3, "w"), item("a", 1, "z")};
  EXPECT_EQ(rows_of(*transaction, {kItems, &items_by_label()}), want);
  EXPECT_TRUE(rows_of(*transaction, {kItems, &items_by_label(), {"x"}}).empty());
  expect_done(transaction->insert(kItems, item("a", 2, "v")));  // erased, and there again
  EXPECT_EQ(rows_of(*transaction, {.table = kItems, .index = &items_by_label(), .limit = 1}),
            (std::vector<Row>{item("a", 2, "v")}));
  expect_done(transaction->commit());
  EXPECT_EQ(rows_of(*reader(), {kItems}), (std::vector<Row>{item("a", 1, "z"), item("a", 2, "v"), item("a", 3, "w")}));
}

TEST_P(StoreConformance, savepoints_nest) {
  commit([&](Transaction& transaction) {
    const auto names = [&] {
      std::string all;
      for (const Row& row : rows_of(transaction, {kCounters})) {
        all += std::get<std::string>(row[0]);
        all += std::to_string(std::get<std::int64_t>(row[1]));
      }
      return all;
    };
    expect_done(transaction.insert(kCounters, {"a", 1}));
    expect_done(transaction.savepoint());
    expect_done(transaction.insert(kCounters, {"b", 1}));
    expect_done(transaction.update(kCounters, {"a", 2}));
    expect_done(transaction.savepoint());
    expect_done(transaction.insert(kCounters, {"c", 1}));
    expect_done(transaction.update(kCounters, {"a", 3}));
    expect_done(transaction.update(kCounters, {"a", 4}));
    expect_done(transaction.erase(kCounters, {"b"}));
    EXPECT_EQ(names(), "a4c1");
    expect_done(transaction.rollback_to_savepoint());
    EXPECT_EQ(names(), "a2b1");
    expect_done(transaction.insert(kCounters, {"d", 1}));  // it is still open
    expect_done(transaction.rollback_to_savepoint());
    EXPECT_EQ(names(), "a2b1");
    expect_done(transaction.insert(kCounters, {"e", 1}));
    expect_done(transaction.release_savepoint());
    EXPECT_EQ(names(), "a2b1e1");
    expect_done(transaction.rollback_to_savepoint());  // the outer one takes what the inner one released with it
    EXPECT_EQ(names(), "a1");
    expect_done(transaction.insert(kCounters, {"f", 1}));
    expect_done(transaction.release_savepoint());
    expect_done(transaction.savepoint());
    expect_done(transaction.erase(kCounters, {"a"}));
    expect_done(transaction.rollback_to_savepoint());
    // Left open: commit closes it.
    expect_done(transaction.insert(kCounters, {"g", 1}));
    EXPECT_EQ(names(), "a1f1g1");
  });
  EXPECT_EQ(rows_of(*reader(), {kCounters}), (std::vector<Row>{{"a", 1}, {"f", 1}, {"g", 1}}));
}

TEST_P(StoreConformance, a_destroyed_transaction_did_nothing) {
  append(1);
  {
    const std::unique_ptr<Transaction> transaction = begin();
    expect_done(transaction->insert(kCounters, {"a", 1}));
    expect_done(transaction->savepoint());
    value_of(append_after_head(*transaction, 2));
    expect_done(transaction->release_savepoint());
  }
  begin();  // without any work
  EXPECT_EQ(size(), 1u);
  EXPECT_EQ(value_of(reader()->count_entries()), 1u);
  EXPECT_TRUE(rows_of(*reader(), {kCounters}).empty());
  append(1);
  EXPECT_EQ(size(), 2u);
}

TEST_P(StoreConformance, an_empty_commit_changes_nothing) {
  append(1);
  commit([](Transaction&) {});
  EXPECT_EQ(value_of(reader()->head()), test_head(1));
}

// --- threads, time, waiting -------------------------------------------------------------------------------------------

TEST_P(StoreConformance, the_time_of_a_transaction_stands_still) {
  const std::unique_ptr<Transaction> transaction = begin();
  const Time first = value_of(transaction->now());
  EXPECT_EQ(first == clock_.now(), GetParam().takes_our_clock);
  clock_.advance(5'000'000'000);
  EXPECT_EQ(value_of(transaction->now()), first);
  expect_done(transaction->commit());
  EXPECT_EQ(value_of(begin()->now()) == clock_.now(), GetParam().takes_our_clock);
}

TEST_P(StoreConformance, a_transaction_may_be_ended_by_another_thread) {
  std::unique_ptr<Transaction> transaction = begin();
  expect_done(transaction->insert(kCounters, {"a", 1}));
  std::thread([&] { expect_done(transaction->commit()); }).join();
  transaction = begin();
  expect_done(transaction->insert(kCounters, {"b", 1}));
  std::thread([&] { transaction.reset(); }).join();
  EXPECT_EQ(rows_of(*reader(), {kCounters}), (std::vector<Row>{{"a", 1}}));
}

TEST_P(StoreConformance, many_threads_begin_at_once_and_none_is_lost) {
  commit([](Transaction& transaction) { expect_done(transaction.insert(kCounters, {"a", 0})); });
  constexpr int kThreads = 8;
  constexpr int kEach = 15;
  std::atomic<int> inside = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&] {
      for (int done = 0; done < kEach;) {
        const std::unique_ptr<Transaction> transaction = begin();
        EXPECT_TRUE(++inside == 1 || !GetParam().one_transaction);
        const Row row = value_of(transaction->get(kCounters, {"a"})).value_or(Row{"a", 0});
        Result<void> result = transaction->update(kCounters, {"a", std::get<std::int64_t>(row[1]) + 1});
        if (result) {
          const Result<std::uint64_t> size = append_after_head(*transaction, 1);
          if (!size) result = tl::make_unexpected(size.error());
        }
        --inside;
        if (result) result = transaction->commit();
        // Several writers may get in each other's way; one at a time cannot.
        if (GetParam().one_transaction) expect_done(result);
        if (result) ++done;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(get(kCounters, {"a"}), (Row{"a", kThreads * kEach}));
  EXPECT_EQ(value_of(reader()->head()), test_head(kThreads * kEach));
  EXPECT_EQ(value_of(reader()->count_entries()), static_cast<std::uint64_t>(kThreads * kEach));
}

TEST_P(StoreConformance, readers_on_other_threads_see_whole_commits_only) {
  commit([](Transaction& transaction) { expect_done(transaction.insert(kCounters, {"a", 0})); });
  std::atomic<bool> over = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      std::uint64_t last = 0;
      while (!over) {
        const std::unique_ptr<Reader> reading = reader();
        const std::uint64_t size = value_of(reading->head()).size;
        EXPECT_GE(size, last);
        last = size;
        EXPECT_EQ(value_of(reading->count_entries()), size);
        EXPECT_EQ(value_of(reading->get(kCounters, {"a"})), (Row{"a", static_cast<std::int64_t>(size)}));
        EXPECT_EQ(entries_of(*reading, 1, kAll).size(), size);
      }
    });
  for (std::int64_t size = 2; size <= 120; size += 2)
    commit([&](Transaction& transaction) {
      value_of(append_after_head(transaction, 2));
      expect_done(transaction.update(kCounters, {"a", size}));
    });
  over = true;
  for (std::thread& thread : threads) thread.join();
}

using std::chrono::milliseconds;

TEST_P(StoreConformance, waiting_ends_at_once_when_there_is_more_and_in_time_when_there_is_not) {
  EXPECT_EQ(value_of(store().wait_for_change(0, milliseconds(0))), 0u);
  EXPECT_EQ(value_of(store().wait_for_change(0, milliseconds(-5))), 0u);
  EXPECT_EQ(value_of(store().wait_for_change(0, milliseconds(20))), 0u);
  append(3);
  EXPECT_EQ(value_of(store().wait_for_change(0, milliseconds(600'000))), 3u);
  EXPECT_EQ(value_of(store().wait_for_change(2, milliseconds(600'000))), 3u);
  EXPECT_EQ(value_of(store().wait_for_change(3, milliseconds(20))), 3u);
  EXPECT_EQ(value_of(store().wait_for_change(9, milliseconds(20))), 3u);
  {
    const std::unique_ptr<Transaction> transaction = begin();
    value_of(append_after_head(*transaction, 1));
    EXPECT_EQ(value_of(store().wait_for_change(3, milliseconds(20))), 3u) << "not committed yet";
  }
  EXPECT_EQ(value_of(store().wait_for_change(3, milliseconds(20))), 3u) << "rolled back";
}

TEST_P(StoreConformance, no_commit_is_missed_by_those_who_wait) {
  constexpr std::uint64_t kCommits = 150;
  std::vector<std::thread> waiters;
  std::array<std::atomic<std::uint64_t>, 3> seen = {};
  for (std::atomic<std::uint64_t>& mine : seen)
    waiters.emplace_back([&] {
      while (mine < kCommits) {
        // Long enough that a commit that woke nobody is a test that ends with a failure, not a slow one.
        const std::uint64_t size = value_of(store().wait_for_change(mine, milliseconds(20'000)));
        ASSERT_GT(size, mine) << "nobody was woken";
        mine = size;
      }
    });
  // Each commit waits until all have seen the one before: so they are asleep, or just about to be, every time.
  for (std::uint64_t size = 1; size <= kCommits; ++size) {
    append(1);
    for (const std::atomic<std::uint64_t>& one : seen)
      for (int i = 0; one < size && i < 30'000; ++i) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  for (std::thread& thread : waiters) thread.join();
}

// --- again ------------------------------------------------------------------------------------------------------------

TEST_P(StoreConformance, what_was_committed_is_there_when_it_is_opened_again) {
  if (!GetParam().durable) GTEST_SKIP() << "ends with its process";
  std::vector<Row> rows;
  for (std::int64_t turn = 1; turn <= 3; ++turn) {
    commit([&](Transaction& transaction) {
      rows.push_back(item("a", turn, "label", turn, std::string("\0x", 2)));
      expect_done(transaction.insert(kItems, rows.back()));
      value_of(append_after_head(transaction, 4));
    });
    {
      const std::unique_ptr<Transaction> transaction = begin();
      expect_done(transaction->insert(kItems, item("b", turn)));
      value_of(append_after_head(*transaction, 4));
    }
    reopen();
    const std::unique_ptr<Reader> reading = reader();
    const auto size = static_cast<std::uint64_t>(turn) * 4;
    EXPECT_EQ(value_of(reading->head()), test_head(size));
    EXPECT_EQ(value_of(reading->count_entries()), size);
    EXPECT_EQ(rows_of(*reading, {kItems}), rows);
    EXPECT_EQ(rows_of(*reading, {kItems, &items_by_label()}), rows);
    EXPECT_EQ(value_of(reading->newest_seal())->size, size);
    EXPECT_EQ(value_of(store().wait_for_change(size - 1, milliseconds(1'000))), size);
  }
}

INSTANTIATE_TEST_SUITE_P(stores, StoreConformance, testing::ValuesIn(backends()),
                         [](const testing::TestParamInfo<Backend>& info) { return info.param.name; });

}  // namespace
}  // namespace baton::store
