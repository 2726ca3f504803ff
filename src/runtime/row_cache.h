// SPDX-License-Identifier: Apache-2.0
// The rows of a batch: what its use cases have read under a lock is not asked of the store again, and what they write is kept
// here until all of them have run, then written once, table by table. So the fold finds what the rule has just read, the second
// claim of a batch what the first looked at, a row that changes three times is written once, and a use case that says no is
// taken back without a word to the store. On PostgreSQL each question is a way to the server and back, and everyone in the
// batch waits for it; each statement costs the server more than the row in it.
//
// Only what nobody else can change meanwhile is remembered: rows that were locked, and our own; and, for the length of a batch,
// the answers to questions that take no lock. Whatever is asked sees what was written here.
#pragma once

#include <list>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "runtime/row_check.h"
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
  // `ahead`: how many use cases there are. A question for the next rows of a queue (Lock::Skip) asks for so many. `check`:
  // what the store says of a row is checked before anybody sees it; null: it is not.
  RowCache(store::Transaction& inner, std::size_t ahead, RowCheck* check = nullptr)
      : inner_(inner), ahead_(ahead), check_(check) {}

  // Asks for all of them, in two ways to the store and back.
  Result<void> fetch(std::span<const Read> reads);

  // Writes what was written here to the store. No savepoint is open.
  Result<void> flush();

  Result<Time> now() override { return inner_.now(); }
  Result<std::optional<store::Row>> get(const store::Table& table, const store::Row& key) override;
  Result<void> find(const store::Query& query, store::Lock lock, const store::TakeRow& take) override;
  // A row that the store would refuse is refused at once. That a key is there, or not, which was never read, shows in flush().
  Result<void> insert(const store::Table& table, const store::Row& row) override;
  Result<void> update(const store::Table& table, const store::Row& row) override;
  Result<void> erase(const store::Table& table, const store::Row& key) override;

  // The store does not hear of these.
  Result<void> savepoint() override;
  Result<void> rollback_to_savepoint() override;
  Result<void> release_savepoint() override;

  // With everything written.
  Result<store::Head> take_head() override;
  Result<void> append(std::span<const store::EntryRow> entries, std::span<const store::TreeNode> nodes,
                      const store::Seal& seal, const store::Head& head) override {
    return inner_.append(entries, nodes, seal, head);
  }
  Result<void> commit() override { return inner_.commit(); }

 private:
  struct Known {
    std::optional<store::Row> row;  // as it is now; nothing: there is none
    enum class Stored {
      Absent,  // the store has none, or none is said to be there
      Held,    // the store has one, and it is locked
      Unseen,  // the store is said to have one
    } stored = Stored::Absent;
    bool is_changed = false;  // since it was read
  };
  using Rows = std::map<store::Row, Known>;

  // What a question was answered with, less what was written since.
  struct Answer {
    store::Query query;
    store::Lock lock;
    std::vector<store::Row> rows;
    bool whole;  // there were no more
  };

  // A row as it was before it was written.
  struct Before {
    const store::Table* table;
    store::Row key;
    std::optional<Known> known;
  };

  Result<void> fetch(const store::Table& table, std::vector<store::Row> keys);
  Result<void> checked(const store::Table& table, const store::Row& key);
  Known& remember(const store::Table& table, const store::Row& key, std::optional<store::Row> row);
  Known* known(const store::Table& table, const store::Row& key);
  void write(const store::Table& table, store::Row key, Known now);
  // What the store has, less what was changed here, and with what was changed to fit.
  Result<void> ask(Answer& answer);
  Result<Answer*> answer_to(const store::Query& query, store::Lock lock);

  store::Transaction& inner_;
  const std::size_t ahead_;
  RowCheck* const check_;
  std::map<const store::Table*, Rows> tables_;
  std::map<const store::Table*, std::size_t> changes_;  // how many rows of it may be changed; never too few
  std::list<Answer> answers_;
  std::vector<Before> undo_;
  std::vector<std::size_t> savepoints_;  // the length of undo_ at each
};

}  // namespace baton::runtime
