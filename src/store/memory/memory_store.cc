// SPDX-License-Identifier: Apache-2.0
#include "store/memory/memory_store.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "base/check.h"
#include "diagnostics/diagnostic.h"
#include "store/memory/memory_state.h"
#include "store/rows.h"
#include "store/tables.h"
#include "store/waiting.h"

namespace baton::store {
namespace {

using memory::Addition;
using memory::Ledger;
using memory::Rows;
using memory::StoredEntry;

tl::unexpected<Failure> conflict(std::string_view table) {
  return failure_of(Code::STORE_CONFLICT, "writing `" + std::string(table) + "`");
}

struct Committed {
  std::shared_ptr<Ledger> ledger = std::make_shared<Ledger>();
  std::map<std::string, std::shared_ptr<Rows>, std::less<>> tables;

  const Rows* rows(const Table& table) const {
    const auto found = tables.find(table.name);
    return found == tables.end() ? nullptr : found->second.get();
  }
};

// What readers and the transaction share with the store. Only a commit changes `committed`, and readers come and go only
// under the mutex; so a part that nobody else holds then is nobody else's, and the transaction may read without it.
struct Shared {
  explicit Shared(Clock& clock_given) : clock(clock_given) { committed.ledger->head = empty_head(); }

  Clock& clock;
  std::mutex mutex;
  Committed committed;
  Turn turn;
  Growth growth;
};

template <class T>
T& own(std::shared_ptr<T>& part) {
  if (part.use_count() > 1) part = std::make_shared<T>(std::as_const(*part));
  return *part;
}

class MemoryReader final : public Reader {
 public:
  explicit MemoryReader(Shared& shared) : shared_(shared) {
    const std::lock_guard lock(shared_.mutex);
    seen_ = shared_.committed;
  }
  ~MemoryReader() override {
    // Given back under the mutex: a commit that finds itself the only holder must have seen the last read of this one.
    const std::lock_guard lock(shared_.mutex);
    seen_ = Committed{nullptr, {}};
  }

  Result<Head> head() override { return seen_.ledger->head; }

  Result<void> entries(std::uint64_t first, std::uint64_t last, const TakeEntry& take) override {
    const auto end = seen_.ledger->entries.end();
    for (auto at = seen_.ledger->at(first); at != end && (*at)->row.sequence <= last; ++at)
      if (!take((*at)->row)) break;
    return {};
  }

  Result<void> entry_hashes(std::uint64_t first, std::uint64_t last, const TakeEntry& take) override {
    return entries(first, last, [&](const EntryRow& row) {
      EntryRow bare;
      bare.sequence = row.sequence;
      bare.hash = row.hash;
      return take(bare);
    });
  }

  Result<std::uint64_t> count_entries() override { return seen_.ledger->entries.size(); }

  Result<void> nodes(std::uint32_t level, std::uint64_t first, std::uint64_t last, const TakeNode& take) override {
    const auto& nodes = seen_.ledger->nodes;
    for (auto at = nodes.lower_bound({level, first}); at != nodes.end(); ++at)
      if (at->first.first != level || at->first.second > last || !take(at->second)) break;
    return {};
  }

  Result<void> seals(std::uint64_t first, std::uint64_t last, const TakeSeal& take) override {
    const auto& seals = seen_.ledger->seals;
    for (auto at = seals.lower_bound(first); at != seals.end() && at->first <= last; ++at)
      if (!take(Seal{at->first, at->second})) break;
    return {};
  }

  Result<std::optional<Seal>> newest_seal() override {
    if (seen_.ledger->seals.empty()) return std::nullopt;
    const auto& [size, note] = *seen_.ledger->seals.rbegin();
    return Seal{size, note};
  }

  Result<std::optional<Row>> get(const Table& table, const Row& key) override {
    if (Result<void> checked = check_key(table, key); !checked) return tl::make_unexpected(checked.error());
    const Rows* rows = seen_.rows(table);
    const Row* row = rows == nullptr ? nullptr : rows->find(key);
    if (row == nullptr) return std::nullopt;
    return *row;
  }

  Result<void> find(const Query& query, const TakeRow& take) override {
    if (Result<void> checked = check_query(query); !checked) return checked;
    const Rows* rows = seen_.rows(query.table);
    std::size_t left = query.limit;
    if (rows == nullptr || left == 0) return {};
    rows->walk(query, [&](const Row&, const Row& row) { return take(row) && --left > 0; });
    return {};
  }

 private:
  Shared& shared_;
  Committed seen_;
};

// What a transaction changed in one table: a row, or nothing where one was erased. The table is kept as a value: it is
// a handful of views.
struct Changes {
  Table table;
  std::map<Row, std::optional<Row>> rows;
};

class MemoryTransaction final : public Transaction {
 public:
  // The caller has taken the turn.
  explicit MemoryTransaction(Shared& shared) : shared_(shared), now_(shared.clock.now()) {}
  ~MemoryTransaction() override { end(); }

  Result<Time> now() override { return now_; }

  Result<std::optional<Row>> get(const Table& table, const Row& key) override {
    if (Result<void> may = may_work(check_key(table, key)); !may) return tl::make_unexpected(may.error());
    const Row* row = current(table, key);
    if (row == nullptr) return std::nullopt;
    return *row;
  }

  Result<void> find(const Query& query, Lock, const TakeRow& take) override;

  Result<void> insert(const Table& table, const Row& row) override {
    if (Result<void> may = may_work(check_row(table, row)); !may) return may;
    Row key = key_of(table, row);
    if (current(table, key) != nullptr) return setback_.keep<void>(conflict(table.name));
    change(table, std::move(key), row);
    return {};
  }

  Result<void> update(const Table& table, const Row& row) override {
    if (Result<void> may = may_work(check_row(table, row)); !may) return may;
    Row key = key_of(table, row);
    if (current(table, key) == nullptr) return setback_.keep<void>(conflict(table.name));
    change(table, std::move(key), row);
    return {};
  }

  Result<void> erase(const Table& table, const Row& key) override {
    if (Result<void> may = may_work(check_key(table, key)); !may) return may;
    if (current(table, key) != nullptr) change(table, key, std::nullopt);
    return {};
  }

  Result<void> savepoint() override {
    if (Result<void> may = may_work({}); !may) return may;
    savepoints_.push_back({undo_.size(), addition_.has_value()});
    return {};
  }

  Result<void> rollback_to_savepoint() override {
    CHECK(open_ && !savepoints_.empty());
    if (Result<void> cured = setback_.cure(); !cured) return cured;
    const Savepoint& savepoint = savepoints_.back();
    while (undo_.size() > savepoint.undo_size) {
      Undo& last = undo_.back();
      auto& rows = changes_.find(last.table)->second.rows;
      if (last.before) {
        rows[last.key] = std::move(*last.before);
      } else {
        rows.erase(last.key);
      }
      undo_.pop_back();
    }
    if (!savepoint.appended) addition_.reset();
    return {};
  }

  Result<void> release_savepoint() override {
    if (Result<void> may = may_work({}); !may) return may;
    CHECK(!savepoints_.empty());
    savepoints_.pop_back();
    if (savepoints_.empty()) undo_.clear();
    return {};
  }

  Result<Head> take_head() override {
    if (Result<void> may = may_work({}); !may) return tl::make_unexpected(may.error());
    head_taken_ = true;
    return addition_ ? addition_->head : shared_.committed.ledger->head;
  }

  Result<void> append(std::span<const EntryRow> entries, std::span<const TreeNode> nodes, const Seal& seal,
                      const Head& head) override {
    CHECK(head_taken_ && !addition_);
    if (Result<void> may = may_work(check_append(entries, nodes, seal, head)); !may) return may;
    Addition addition;
    for (const EntryRow& entry : entries) addition.entries.push_back(std::make_shared<const StoredEntry>(entry));
    addition.nodes.assign(nodes.begin(), nodes.end());
    addition.seal = seal;
    addition.head = head;
    if (conflicts(*shared_.committed.ledger, addition)) return setback_.keep<void>(conflict("entries"));
    addition_ = std::move(addition);
    return {};
  }

  Result<void> commit() override {
    if (Result<void> may = may_work({}); !may) {
      end();
      return may;
    }
    {
      const std::lock_guard lock(shared_.mutex);
      for (auto& [name, changes] : changes_) apply(name, changes);
      if (addition_) add(own(shared_.committed.ledger), std::move(*addition_));
      shared_.growth.set(shared_.committed.ledger->head.size);
    }
    end();
    return {};
  }

 private:
  struct Undo {
    std::string table;
    Row key;
    std::optional<std::optional<Row>> before;  // what `changes_` held; nothing when it did not name the key
  };
  struct Savepoint {
    std::size_t undo_size;
    bool appended;
  };

  // Work goes on when the transaction is open, nothing has failed in it, and what it was given is right.
  Result<void> may_work(Result<void> given) {
    CHECK(open_);
    if (Result<void> fine = setback_.check(); !fine) return fine;
    return setback_.keep(std::move(given));
  }

  const Changes* changes_of(const Table& table) const {
    const auto found = changes_.find(table.name);
    return found == changes_.end() ? nullptr : &found->second;
  }

  // The row as this transaction sees it; null when there is none.
  const Row* current(const Table& table, const Row& key) const {
    if (const Changes* changes = changes_of(table)) {
      const auto changed = changes->rows.find(key);
      if (changed != changes->rows.end()) return changed->second ? &*changed->second : nullptr;
    }
    const Rows* rows = shared_.committed.rows(table);
    return rows == nullptr ? nullptr : rows->find(key);
  }

  void change(const Table& table, Row key, std::optional<Row> row) {
    auto& rows = changes_.try_emplace(std::string(table.name), Changes{table, {}}).first->second.rows;
    const auto [place, is_new] = rows.try_emplace(key);
    if (!savepoints_.empty()) {
      std::optional<std::optional<Row>> before;
      if (!is_new) before = std::move(place->second);
      undo_.push_back({std::string(table.name), std::move(key), std::move(before)});
    }
    place->second = std::move(row);
  }

  void apply(const std::string& name, Changes& changes) {
    std::shared_ptr<Rows>& rows = shared_.committed.tables[name];
    if (rows == nullptr) rows = std::make_shared<Rows>(changes.table);
    Rows& mine = own(rows);
    for (auto& [key, row] : changes.rows) {
      if (row) {
        mine.put(changes.table, key, std::move(*row));
      } else {
        mine.erase(changes.table, key);
      }
    }
  }

  void end() {
    if (std::exchange(open_, false)) shared_.turn.give();
  }

  Shared& shared_;
  const Time now_;
  bool open_ = true;
  bool head_taken_ = false;
  Setback setback_;
  std::map<std::string, Changes, std::less<>> changes_;
  std::vector<Undo> undo_;  // kept while there is a savepoint to go back to
  std::vector<Savepoint> savepoints_;
  std::optional<Addition> addition_;
};

Result<void> MemoryTransaction::find(const Query& query, Lock, const TakeRow& take) {
  if (Result<void> may = may_work(check_query(query)); !may) return may;
  std::size_t left = query.limit;
  if (left == 0) return {};

  // Two sorted lists are merged: the rows this transaction changed, and the committed ones that it did not.
  const std::vector<std::size_t> order = order_of(query.table, query.index);
  const auto comes_first = [&](const Row& a, const Row& b) { return query.descending ? b < a : a < b; };
  const Changes* changes = changes_of(query.table);
  std::vector<std::pair<Row, const Row*>> changed;
  if (changes != nullptr) {
    const memory::Range range(query);
    for (const auto& [key, row] : changes->rows) {
      if (!row) continue;
      Row ordered = memory::in_order(*row, order);
      if (range.place(ordered) == 0) changed.emplace_back(std::move(ordered), &*row);
    }
    std::ranges::sort(changed, [&](const auto& a, const auto& b) { return comes_first(a.first, b.first); });
  }

  auto next = changed.begin();
  bool more = true;
  const auto offer = [&](const Row& row) { return more = take(row) && --left > 0; };
  if (const Rows* rows = shared_.committed.rows(query.table)) {
    rows->walk(query, [&](const Row& key, const Row& row) {
      if (changes != nullptr && changes->rows.contains(key)) return true;
      if (next != changed.end()) {
        const Row ordered = memory::in_order(row, order);
        for (; next != changed.end() && comes_first(next->first, ordered); ++next)
          if (!offer(*next->second)) return false;
      }
      return offer(row);
    });
  }
  for (; more && next != changed.end(); ++next) offer(*next->second);
  return {};
}

class MemoryStore final : public Store {
 public:
  explicit MemoryStore(Clock& clock) : shared_(clock) {}

  Result<std::unique_ptr<Transaction>> begin() override {
    shared_.turn.take();
    return std::make_unique<MemoryTransaction>(shared_);
  }
  Result<std::unique_ptr<Reader>> reader() override { return std::make_unique<MemoryReader>(shared_); }
  Result<std::uint64_t> wait_for_change(std::uint64_t seen, std::chrono::milliseconds timeout) override {
    return shared_.growth.wait(seen, timeout);
  }
  Result<std::vector<std::string>> check_integrity() override;
  std::string name() const override { return "memory"; }

 private:
  Shared shared_;
};

Result<std::vector<std::string>> MemoryStore::check_integrity() {
  Committed seen;
  {
    const std::lock_guard lock(shared_.mutex);
    seen = shared_.committed;
  }
  std::vector<std::string> problems;
  const auto add = [&](std::optional<std::string> problem) {
    if (problem) problems.push_back(std::move(*problem));
  };
  const auto& entries = seen.ledger->entries;
  add(unread_rows_problem("entries", !entries.empty() && entries.front()->row.sequence == 0 ? 1 : 0));
  add(unread_rows_problem("tree", static_cast<std::uint64_t>(std::ranges::count_if(
                              seen.ledger->nodes, [](const auto& node) { return !is_kept_level(node.first.first); }))));
  for (const Table* table : all_tables())
    if (const Rows* rows = seen.rows(*table))
      if (const auto index = rows->wrong_index(*table)) problems.push_back("rows are missing in the index " + *index);
  const std::lock_guard lock(shared_.mutex);  // as a Reader goes: what it held is given back under the mutex
  seen = Committed{nullptr, {}};
  return problems;
}

}  // namespace

std::unique_ptr<Store> make_memory_store(Clock& clock) { return std::make_unique<MemoryStore>(clock); }

}  // namespace baton::store
