// SPDX-License-Identifier: Apache-2.0
// A transaction that remembers its rows: what a batch of use cases has read under a lock or written is not asked of the store
// again, so that the fold finds what the rule has just read, and the second claim of a batch what the first looked at. On
// PostgreSQL each such question is a way to the server and back, and everyone in the batch waits for it.
//
// Only what nobody else can change meanwhile is remembered: rows that were locked, and our own; and, for the length of a batch,
// the answers to questions that take no lock. Everything is forgotten when the transaction goes back to a savepoint.
#pragma once

#include <list>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "store/store.h"

namespace baton::runtime {

// A row that a use case will want: known before it runs, so that all of a batch are asked for at once. `then`: and the row
// of this table whose key is that row's `then_column`.
struct Read {
  const store::Table* table;
  store::Row key;
  const store::Table* then = nullptr;
  std::size_t then_column = 0;
};

class RowCache final : public store::Transaction {
 public:
  // `ahead`: how many use cases there are. A question for the next rows of a queue (Lock::Skip) asks for so many.
  RowCache(store::Transaction& inner, std::size_t ahead) : inner_(inner), ahead_(ahead) {}

  // Asks for all of them, in two ways to the store and back.
  Result<void> fetch(std::span<const Read> reads);

  Result<Time> now() override { return inner_.now(); }
  Result<std::optional<store::Row>> get(const store::Table& table, const store::Row& key) override;
  Result<void> find(const store::Query& query, store::Lock lock, const store::TakeRow& take) override;
  Result<void> insert(const store::Table& table, const store::Row& row) override;
  Result<void> update(const store::Table& table, const store::Row& row) override;
  Result<void> erase(const store::Table& table, const store::Row& key) override;

  Result<void> savepoint() override { return inner_.savepoint(); }
  Result<void> rollback_to_savepoint() override {
    rows_.clear();
    answers_.clear();
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
  // What a question was answered with, less what was written since.
  struct Answer {
    store::Query query;
    store::Lock lock;
    std::vector<store::Row> rows;
    bool whole;  // there were no more
  };

  Result<void> fetch(const store::Table& table, std::vector<store::Row> keys);
  void remember(const store::Table& table, const store::Row& row);
  void written(const store::Table& table, const store::Row& key, const store::Row* row);
  Result<Answer*> answer_to(const store::Query& query, store::Lock lock);

  store::Transaction& inner_;
  const std::size_t ahead_;
  // By table and key; nothing: there is no such row.
  std::map<std::pair<const store::Table*, store::Row>, std::optional<store::Row>> rows_;
  std::list<Answer> answers_;
};

}  // namespace baton::runtime
