// SPDX-License-Identifier: Apache-2.0
#include "runtime/row_cache.h"

#include <algorithm>

#include "store/rows.h"

namespace baton::runtime {

using store::Lock;
using store::Query;
using store::Row;
using store::Table;

namespace {

// More than a batch asks of one table; what is asked for beyond goes to the store each time.
constexpr std::size_t kAnswersMax = 64;

bool is_same(const Query& left, const Query& right) {
  return &left.table == &right.table && left.index == right.index && left.equal == right.equal &&
         left.from == right.from && left.below == right.below && left.descending == right.descending;
}

// Is this row one that the query asks for?
bool asks_for(const Query& query, const Row& row) {
  const std::vector<std::size_t> order = store::order_of(query.table, query.index);
  for (std::size_t i = 0; i < query.equal.size(); ++i)
    if (row[order[i]] != query.equal[i]) return false;
  if (query.equal.size() == order.size()) return true;
  const store::Value& next = row[order[query.equal.size()]];
  const bool has_from = !std::holds_alternative<std::monostate>(query.from);
  const bool has_below = !std::holds_alternative<std::monostate>(query.below);
  return (!has_from || next >= query.from) && (!has_below || next < query.below);
}

}  // namespace

void RowCache::remember(const Table& table, const Row& row) {
  rows_.insert_or_assign({&table, store::key_of(table, row)}, row);
}

// Answers that held the row do not any more; those that would have to hold it are forgotten.
void RowCache::written(const Table& table, const Row& key, const Row* row) {
  std::erase_if(answers_, [&](Answer& answer) {
    if (&answer.query.table != &table) return false;
    std::erase_if(answer.rows, [&](const Row& old) { return store::key_of(table, old) == key; });
    return row != nullptr && asks_for(answer.query, *row);
  });
}

Result<void> RowCache::fetch(std::span<const Read> reads) {
  const auto each_table = [&](const auto& table_of, const auto& key_of) -> Result<void> {
    std::map<const Table*, std::vector<Row>> wanted;
    for (const Read& read : reads)
      if (const Table* table = table_of(read))
        if (auto key = key_of(read)) wanted[table].push_back(std::move(*key));
    for (auto& [table, keys] : wanted)
      if (auto fetched = fetch(*table, std::move(keys)); !fetched) return fetched;
    return {};
  };
  auto first =
      each_table([](const Read& read) { return read.table; }, [](const Read& read) { return std::optional(read.key); });
  if (!first) return first;
  return each_table([](const Read& read) { return read.then; },
                    [&](const Read& read) -> std::optional<Row> {
                      const auto row = rows_.find({read.table, read.key});
                      if (row == rows_.end() || !row->second) return std::nullopt;
                      return Row{(*row->second)[read.then_column]};
                    });
}

// In the order of their keys, as every node asks for them, so that two nodes wait for each other less often.
Result<void> RowCache::fetch(const Table& table, std::vector<Row> keys) {
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  std::erase_if(keys, [&](const Row& key) { return rows_.contains({&table, key}); });
  if (keys.empty()) return {};
  auto rows = inner_.get_all(table, keys);
  if (!rows) return tl::make_unexpected(rows.error());
  for (std::size_t i = 0; i < keys.size(); ++i) rows_.insert_or_assign({&table, keys[i]}, std::move((*rows)[i]));
  return {};
}

Result<std::optional<Row>> RowCache::get(const Table& table, const Row& key) {
  std::pair place(&table, key);
  if (const auto known = rows_.find(place); known != rows_.end()) return known->second;
  auto row = inner_.get(table, key);
  if (row) rows_.emplace(std::move(place), *row);
  return row;
}

Result<RowCache::Answer*> RowCache::answer_to(const Query& query, Lock lock) {
  const auto known = std::find_if(answers_.begin(), answers_.end(), [&](const Answer& answer) {
    return answer.lock == lock && is_same(answer.query, query) && (answer.whole || answer.rows.size() >= query.limit);
  });
  if (known != answers_.end()) return &*known;
  std::erase_if(answers_, [&](const Answer& answer) { return answer.lock == lock && is_same(answer.query, query); });
  if (answers_.size() >= kAnswersMax) answers_.clear();
  Answer& answer = answers_.emplace_back(Answer{query, lock, {}, false});
  if (lock == Lock::Skip) answer.query.limit = std::max(query.limit, ahead_);
  auto found = inner_.find(answer.query, lock, [&](const Row& row) {
    if (lock != Lock::None) remember(query.table, row);
    answer.rows.push_back(row);
    return true;
  });
  if (!found) {
    answers_.pop_back();
    return tl::make_unexpected(found.error());
  }
  answer.whole = answer.rows.size() < answer.query.limit;
  return &answer;
}

Result<void> RowCache::find(const Query& query, Lock lock, const store::TakeRow& take) {
  // What waits for others is asked for once and for all; nothing is gained by keeping it.
  if (lock == Lock::Wait)
    return inner_.find(query, lock, [&](const Row& row) {
      remember(query.table, row);
      return take(row);
    });
  const auto answer = answer_to(query, lock);
  if (!answer) return tl::make_unexpected(answer.error());
  std::size_t given = 0;
  for (const Row& row : (*answer)->rows)
    if (given++ == query.limit || !take(row)) break;
  return {};
}

Result<void> RowCache::insert(const Table& table, const Row& row) {
  auto done = inner_.insert(table, row);
  if (!done) return done;
  remember(table, row);
  written(table, store::key_of(table, row), &row);
  return done;
}

Result<void> RowCache::update(const Table& table, const Row& row) {
  auto done = inner_.update(table, row);
  if (!done) return done;
  remember(table, row);
  written(table, store::key_of(table, row), &row);
  return done;
}

Result<void> RowCache::erase(const Table& table, const Row& key) {
  auto done = inner_.erase(table, key);
  if (!done) return done;
  rows_.insert_or_assign({&table, key}, std::nullopt);
  written(table, key, nullptr);
  return done;
}

}  // namespace baton::runtime
