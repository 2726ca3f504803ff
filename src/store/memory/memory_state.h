// SPDX-License-Identifier: Apache-2.0
// What a memory store holds, as values: the ledger, and tables with their orders kept sorted. Knows no threads.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/store.h"

namespace baton::store::memory {

// An entry with its bytes in one piece; `row` looks into it, so it is never copied or moved.
struct StoredEntry {
  explicit StoredEntry(const EntryRow& from);
  StoredEntry(const StoredEntry&) = delete;
  StoredEntry& operator=(const StoredEntry&) = delete;

  std::string bytes;
  EntryRow row;
};

struct Ledger {
  std::vector<std::shared_ptr<const StoredEntry>> entries;  // by sequence
  std::map<std::pair<std::uint32_t, std::uint64_t>, TreeNode> nodes;
  std::map<std::uint64_t, std::string> seals;
  Head head;

  // The first entry whose sequence is not below.
  std::vector<std::shared_ptr<const StoredEntry>>::const_iterator at(std::uint64_t sequence) const;
};

// What a transaction adds to the ledger.
struct Addition {
  std::vector<std::shared_ptr<const StoredEntry>> entries;
  std::vector<TreeNode> nodes;
  Seal seal;
  Head head;
};
// Is something of it there already?
bool conflicts(const Ledger& ledger, const Addition& addition);
void add(Ledger& ledger, Addition addition);

// The part of an order that a query asks for. Values of `Value` compare as the interface promises: nothing, then numbers,
// then bytes as memcmp; and rows as their values, from the first on.
class Range {
 public:
  explicit Range(const Query& query) : query_(query) {}
  // Where a row of values in that order lies: before the range (-1), in it (0), after it (1).
  int place(const Row& ordered) const;

 private:
  const Query& query_;
};

// Lets a sorted map find where a range begins and where it ends.
struct RowLess {
  struct Begin {
    const Range& range;
  };
  struct End {
    const Range& range;
  };
  using is_transparent = void;
  bool operator()(const Row& a, const Row& b) const { return a < b; }
  bool operator()(const Row& row, Begin begin) const { return begin.range.place(row) < 0; }
  bool operator()(const Row& row, End end) const { return end.range.place(row) <= 0; }
};

// The values of a row in an order (store/rows.h, order_of).
Row in_order(const Row& row, std::span<const std::size_t> order);

// The rows of one table, by primary key and by each index.
class Rows {
 public:
  explicit Rows(const Table& table);

  const Row* find(const Row& key) const;
  void put(const Table& table, const Row& key, Row row);
  void erase(const Table& table, const Row& key);

  // Does each index hold each row, and nothing else? The name of the first that does not; nothing when all do.
  std::optional<std::string> wrong_index(const Table& table) const;

  // Calls `take` with key and row for each row of the query's range, in its order; not cut at the query's limit.
  void walk(const Query& query, const std::function<bool(const Row& key, const Row& row)>& take) const;

 private:
  using Sorted = std::map<Row, Row, RowLess>;
  Sorted rows_;                             // key -> row
  std::map<std::string, Sorted> by_index_;  // index -> values in its order -> key
};

}  // namespace baton::store::memory
