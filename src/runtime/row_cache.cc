// SPDX-License-Identifier: Apache-2.0
#include "runtime/row_cache.h"

#include "store/rows.h"

namespace baton::runtime {

using store::Row;
using store::Table;

void RowCache::remember(const Table& table, const Row& row) {
  rows_.insert_or_assign({&table, store::key_of(table, row)}, row);
}

Result<std::optional<Row>> RowCache::get(const Table& table, const Row& key) {
  std::pair place(&table, key);
  if (const auto known = rows_.find(place); known != rows_.end()) return known->second;
  auto row = inner_.get(table, key);
  if (row) rows_.emplace(std::move(place), *row);
  return row;
}

Result<void> RowCache::find(const store::Query& query, store::Lock lock, const store::TakeRow& take) {
  if (lock == store::Lock::None) return inner_.find(query, lock, take);
  return inner_.find(query, lock, [&](const Row& row) {
    remember(query.table, row);
    return take(row);
  });
}

Result<void> RowCache::insert(const Table& table, const Row& row) {
  auto done = inner_.insert(table, row);
  if (done) remember(table, row);
  return done;
}

Result<void> RowCache::update(const Table& table, const Row& row) {
  auto done = inner_.update(table, row);
  if (done) remember(table, row);
  return done;
}

Result<void> RowCache::erase(const Table& table, const Row& key) {
  auto done = inner_.erase(table, key);
  if (done) rows_.insert_or_assign({&table, key}, std::nullopt);
  return done;
}

}  // namespace baton::runtime
