// SPDX-License-Identifier: Apache-2.0
// A transaction that remembers its rows: what one use case has read under a lock or written is not asked of the store again,
// so that the fold finds what the rule has just read. On PostgreSQL each such question is a way to the server and back.
//
// Only rows that nobody else can change meanwhile are remembered: those that were locked, and our own. Everything is forgotten
// when the transaction goes back to a savepoint.
#pragma once

#include <map>
#include <optional>
#include <utility>

#include "store/store.h"

namespace baton::runtime {

class RowCache final : public store::Transaction {
 public:
  explicit RowCache(store::Transaction& inner) : inner_(inner) {}

  Result<Time> now() override { return inner_.now(); }
  Result<std::optional<store::Row>> get(const store::Table& table, const store::Row& key) override;
  Result<void> find(const store::Query& query, store::Lock lock, const store::TakeRow& take) override;
  Result<void> insert(const store::Table& table, const store::Row& row) override;
  Result<void> update(const store::Table& table, const store::Row& row) override;
  Result<void> erase(const store::Table& table, const store::Row& key) override;

  Result<void> savepoint() override { return inner_.savepoint(); }
  Result<void> rollback_to_savepoint() override {
    rows_.clear();
    return inner_.rollback_to_savepoint();
  }
  Result<void> release_savepoint() override { return inner_.release_savepoint(); }
  Result<store::Head> take_head() override { return inner_.take_head(); }
  Result<void> append(std::span<const store::EntryRow> entries, std::span<const store::TreeNode> nodes,
                      const store::Seal& seal, const store::Head& head) override {
    return inner_.append(entries, nodes, seal, head);
  }
  Result<void> commit() override { return inner_.commit(); }

 private:
  void remember(const store::Table& table, const store::Row& row);

  store::Transaction& inner_;
  // By table and key; nothing: there is no such row.
  std::map<std::pair<const store::Table*, store::Row>, std::optional<store::Row>> rows_;
};

}  // namespace baton::runtime
