// SPDX-License-Identifier: Apache-2.0
// The rows of a batch (runtime/row_cache.h) against the store itself: whatever is asked, what was written and taken back before
// shows the same through the cache as in a transaction without it, and after the commit the tables are the same.
#include "runtime/row_cache.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/clock.h"
#include "diagnostics/diagnostic.h"
#include "store/memory/memory_store.h"
#include "store/tables.h"

namespace baton::runtime {
namespace {

using store::Lock;
using store::Query;
using store::Row;
using store::Table;

const Table& kItems = store::tables::kWorkItems;  // work_id, queue, rank, deadline, pull_request, phase, item

std::vector<Row> found(store::Transaction& transaction, const Query& query, Lock lock) {
  std::vector<Row> rows;
  const auto done = transaction.find(query, lock, [&](const Row& row) {
    rows.push_back(row);
    return true;
  });
  EXPECT_TRUE(done.has_value());
  return rows;
}

std::vector<Row> all_rows(store::Store& store) {
  std::vector<Row> rows;
  EXPECT_TRUE((*store.reader())->find({.table = kItems}, [&](const Row& row) {
    rows.push_back(row);
    return true;
  }));
  return rows;
}

// One seed, one batch: the same operations on both, drawn at random over few keys and queues, so that they meet.
class Walk {
 public:
  explicit Walk(std::uint32_t seed) : random_(seed) {
    for (store::Store* store : {cached_.get(), plain_.get()}) {
      std::mt19937 same(seed);
      auto transaction = *store->begin();
      for (int i = 0; i < 12; ++i)
        if (same() % 2 == 0) {
          EXPECT_TRUE(transaction->insert(kItems, row(i, static_cast<int>(same() % 4), static_cast<int>(same() % 5))));
        }
      EXPECT_TRUE(transaction->commit());
    }
  }

  void run() {
    auto inner = *cached_->begin();
    RowCache cache(*inner, 1 + random_() % 5);
    auto plain = *plain_->begin();
    for (int i = 0; i < 60 && !::testing::Test::HasFailure(); ++i) step(cache, *plain);
    for (; open_ > 0; --open_) {
      ASSERT_TRUE(cache.release_savepoint());
      ASSERT_TRUE(plain->release_savepoint());
    }
    ASSERT_TRUE(cache.flush());
    ASSERT_TRUE(inner->commit());
    ASSERT_TRUE(plain->commit());
    EXPECT_EQ(all_rows(*cached_), all_rows(*plain_));
  }

 private:
  static Row row(int key, int queue, int rank) {
    return {"W-" + std::to_string(key), "q" + std::to_string(queue), rank, rank * 10, "", "p", "{}"};
  }

  void step(RowCache& cache, store::Transaction& plain) {
    const int key = static_cast<int>(random_() % 12);
    const Row id = {"W-" + std::to_string(key)};
    const Row now = row(key, static_cast<int>(random_() % 4), static_cast<int>(random_() % 5));
    switch (random_() % 9) {
      case 0:
      case 1: {
        const auto there = plain.get(kItems, id);
        if (random_() % 2 == 0) {  // else it is written without having been read
          EXPECT_EQ(*cache.get(kItems, id), *there);
        }
        if (*there) {
          EXPECT_TRUE(cache.update(kItems, now));
          EXPECT_TRUE(plain.update(kItems, now));
        } else {
          EXPECT_TRUE(cache.insert(kItems, now));
          EXPECT_TRUE(plain.insert(kItems, now));
        }
        break;
      }
      case 2:
        EXPECT_TRUE(cache.erase(kItems, id));
        EXPECT_TRUE(plain.erase(kItems, id));
        break;
      case 3: EXPECT_EQ(*cache.get(kItems, id), *plain.get(kItems, id)); break;
      case 4:
        if (open_ < 2) {
          EXPECT_TRUE(cache.savepoint());
          EXPECT_TRUE(plain.savepoint());
          ++open_;
        }
        break;
      case 5:
        if (open_ > 0) {
          const bool back = random_() % 2 == 0;
          if (back) {
            EXPECT_TRUE(cache.rollback_to_savepoint());
            EXPECT_TRUE(plain.rollback_to_savepoint());
          }
          EXPECT_TRUE(cache.release_savepoint());
          EXPECT_TRUE(plain.release_savepoint());
          --open_;
        }
        break;
      default: {
        Query query{.table = kItems};
        switch (random_() % 4) {
          case 0: break;
          case 1:
            query.index = &store::tables::kWorkItemsByQueue;
            query.equal = {"q" + std::to_string(random_() % 4)};
            if (random_() % 2 == 0) query.from = static_cast<std::int64_t>(random_() % 5);
            break;
          case 2:
            query.index = &store::tables::kWorkItemsByDeadline;
            query.below = static_cast<std::int64_t>(random_() % 50);
            break;
          default: query.from = "W-" + std::to_string(random_() % 12); break;
        }
        query.descending = random_() % 3 == 0;
        if (random_() % 3 != 0) query.limit = random_() % 5;
        const Lock lock = std::array{Lock::None, Lock::Wait, Lock::Skip}[random_() % 3];
        EXPECT_EQ(found(cache, query, lock), found(plain, query, lock));
      }
    }
  }

  SystemClock clock_;
  std::unique_ptr<store::Store> cached_ = store::make_memory_store(clock_);
  std::unique_ptr<store::Store> plain_ = store::make_memory_store(clock_);
  std::mt19937 random_;
  int open_ = 0;
};

TEST(RowCache, shows_and_leaves_what_a_transaction_without_it_would) {
  for (std::uint32_t seed = 1; seed <= 3000 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Walk(seed).run();
  }
}

TEST(RowCache, says_at_once_what_is_known_to_be_wrong_and_in_flush_what_is_not) {
  SystemClock clock;
  const auto store = store::make_memory_store(clock);
  const Table& counters = store::tables::kCounters;
  const auto code = [](const Result<void>& result) {
    return result ? std::string() : std::string(result.error().code);
  };
  {
    auto inner = *store->begin();
    RowCache cache(*inner, 1);
    EXPECT_TRUE(cache.insert(counters, {"there", 1}));
    EXPECT_EQ(code(cache.insert(counters, {"there", 2})), "STORE_CONFLICT");
    EXPECT_TRUE(cache.erase(counters, {"there"}));
    EXPECT_EQ(code(cache.update(counters, {"there", 2})), "STORE_CONFLICT");
    EXPECT_TRUE(cache.insert(counters, {"there", 3}));
    const auto refused = cache.insert(counters, {1, "of the wrong types"});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, "");
    EXPECT_TRUE(cache.flush());
    EXPECT_TRUE(inner->commit());
  }
  for (const bool inserts : {true, false}) {
    auto inner = *store->begin();
    RowCache cache(*inner, 1);
    EXPECT_TRUE(inserts ? cache.insert(counters, {"there", 4}) : cache.update(counters, {"absent", 4}));
    EXPECT_EQ(code(cache.flush()), "STORE_CONFLICT");
  }
  auto inner = *store->begin();
  EXPECT_EQ(*inner->get(counters, {"there"}), (Row{"there", 3}));
}

}  // namespace
}  // namespace baton::runtime
