// SPDX-License-Identifier: Apache-2.0
#include "runtime/row_cache.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "diagnostics/diagnostic.h"
#include "store/rows.h"
#include "store/tables.h"

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

// The order in which a query gives its rows.
class InOrder {
 public:
  explicit InOrder(const Query& query)
      : order_(store::order_of(query.table, query.index)), descending_(query.descending) {}

  bool operator()(const Row& left, const Row& right) const {
    for (const std::size_t column : order_)
      if (left[column] != right[column]) return (left[column] < right[column]) != descending_;
    return false;
  }

 private:
  std::vector<std::size_t> order_;
  bool descending_;
};

Result<void> conflict() { return failure_of(Code::STORE_CONFLICT, "writing a batch"); }

}  // namespace

// --- what is known ----------------------------------------------------------------------------------------------------------

RowCache::Known* RowCache::known(const Table& table, const Row& key) {
  const auto rows = tables_.find(&table);
  if (rows == tables_.end()) return nullptr;
  const auto found = rows->second.find(key);
  return found == rows->second.end() ? nullptr : &found->second;
}

// What the store says of a row. What was changed here is newer.
RowCache::Known& RowCache::remember(const Table& table, const Row& key, std::optional<Row> row) {
  const auto [place, is_new] = tables_[&table].try_emplace(key);
  Known& known = place->second;
  if (is_new) {
    known.stored = row ? Known::Stored::Held : Known::Stored::Absent;
    known.row = std::move(row);
  } else if (known.stored == Known::Stored::Unseen) {
    known.stored = row ? Known::Stored::Held : Known::Stored::Absent;
  }
  return known;
}

// Answers that held the row do not any more; those that would have to hold it are forgotten.
void RowCache::write(const Table& table, Row key, Known now) {
  std::erase_if(answers_, [&](Answer& answer) {
    if (&answer.query.table != &table) return false;
    std::erase_if(answer.rows, [&](const Row& old) { return store::key_of(table, old) == key; });
    return now.row && asks_for(answer.query, *now.row);
  });
  now.is_changed = true;
  ++changes_[&table];
  Known* there = known(table, key);
  if (!savepoints_.empty())
    undo_.push_back({&table, key, there == nullptr ? std::nullopt : std::optional(std::move(*there))});
  if (there != nullptr) *there = std::move(now);
  else tables_[&table].emplace(std::move(key), std::move(now));
}

// --- reading ----------------------------------------------------------------------------------------------------------------

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
                      const Known* row = known(*read.table, read.key);
                      if (row == nullptr || !row->row) return std::nullopt;
                      return Row{(*row->row)[read.then_column]};
                    });
}

// In the order of their keys, as every node asks for them, so that two nodes wait for each other less often.
Result<void> RowCache::fetch(const Table& table, std::vector<Row> keys) {
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  std::erase_if(keys, [&](const Row& key) { return known(table, key) != nullptr; });
  if (keys.empty()) return {};
  auto rows = inner_.get_all(table, keys);
  if (!rows) return tl::make_unexpected(rows.error());
  for (std::size_t i = 0; i < keys.size(); ++i)
    if ((*rows)[i])
      if (auto good = checked(table, keys[i]); !good) return good;
  for (std::size_t i = 0; i < keys.size(); ++i) remember(table, keys[i], std::move((*rows)[i]));
  return {};
}

Result<void> RowCache::checked(const Table& table, const Row& key) {
  return check_ == nullptr ? Result<void>() : check_->check(table, key);
}

Result<std::optional<Row>> RowCache::get(const Table& table, const Row& key) {
  if (const Known* there = known(table, key)) return there->row;
  auto row = inner_.get(table, key);
  if (!row) return row;
  if (*row)
    if (auto good = checked(table, key); !good) return tl::make_unexpected(good.error());
  return remember(table, key, std::move(*row)).row;
}

Result<void> RowCache::ask(Answer& answer) {
  const Table& table = answer.query.table;
  const auto counted = changes_.find(&table);
  const std::size_t changes = counted == changes_.end() ? 0 : counted->second;
  // So many of the store's rows may be left out because they were changed here.
  Query query = answer.query;
  if (query.limit != SIZE_MAX) query.limit += changes;
  std::size_t asked = 0;
  std::optional<Row> last;
  std::vector<Row> unchecked;
  const bool checks = check_ != nullptr && RowCheck::is_checked(table);
  auto found = inner_.find(query, answer.lock, [&](const Row& row) {
    ++asked;
    if (checks) unchecked.push_back(store::key_of(table, row));
    if (changes != 0) last = row;
    const Row key = store::key_of(table, row);
    if (answer.lock != Lock::None) remember(table, key, row);
    const Known* there = changes == 0 ? nullptr : known(table, key);
    if (there == nullptr || !there->is_changed) answer.rows.push_back(row);
    return true;
  });
  if (!found) return found;
  for (const Row& key : unchecked)
    if (const Known* there = known(table, key); there == nullptr || !there->is_changed)
      if (auto good = checked(table, key); !good) return good;
  answer.whole = asked < query.limit;
  if (changes == 0) return {};
  const InOrder before(answer.query);
  for (const auto& [key, row] : tables_[&table]) {
    if (!row.is_changed || !row.row || !asks_for(answer.query, *row.row)) continue;
    if (!answer.whole && before(*last, *row.row)) continue;  // the store may have others before it
    answer.rows.push_back(*row.row);
  }
  std::sort(answer.rows.begin(), answer.rows.end(), before);
  return {};
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
  if (auto asked = ask(answer); !asked) {
    answers_.pop_back();
    return tl::make_unexpected(asked.error());
  }
  return &answer;
}

Result<void> RowCache::find(const Query& query, Lock lock, const store::TakeRow& take) {
  if (query.limit == 0) return {};
  const auto hand_over = [&](const Answer& answer) {
    std::size_t given = 0;
    for (const Row& row : answer.rows)
      if (given++ == query.limit || !take(row)) break;
  };
  // What waits for others is asked for once and for all; nothing is gained by keeping it.
  if (lock == Lock::Wait) {
    Answer answer{query, lock, {}, false};
    if (auto asked = ask(answer); !asked) return asked;
    hand_over(answer);
    return {};
  }
  const auto answer = answer_to(query, lock);
  if (!answer) return tl::make_unexpected(answer.error());
  hand_over(**answer);
  return {};
}

// --- writing ----------------------------------------------------------------------------------------------------------------

Result<void> RowCache::insert(const Table& table, const Row& row) {
  if (auto checked = store::check_row(table, row); !checked) return checked;
  Row key = store::key_of(table, row);
  Known* there = known(table, key);
  if (there != nullptr && there->row) return conflict();
  // Erased without having been looked at: whether the store has it decides how it is written.
  if (there != nullptr && there->stored == Known::Stored::Unseen) {
    auto stored = inner_.get(table, key);
    if (!stored) return tl::make_unexpected(stored.error());
    there = &remember(table, key, std::move(*stored));
  }
  write(table, std::move(key), {row, there == nullptr ? Known::Stored::Absent : there->stored});
  return {};
}

Result<void> RowCache::update(const Table& table, const Row& row) {
  if (auto checked = store::check_row(table, row); !checked) return checked;
  Row key = store::key_of(table, row);
  const Known* there = known(table, key);
  if (there != nullptr && !there->row) return conflict();
  write(table, std::move(key), {row, there == nullptr ? Known::Stored::Unseen : there->stored});
  return {};
}

Result<void> RowCache::erase(const Table& table, const Row& key) {
  if (auto checked = store::check_key(table, key); !checked) return checked;
  const Known* there = known(table, key);
  if (there != nullptr && !there->row) return {};
  write(table, key, {std::nullopt, there == nullptr ? Known::Stored::Unseen : there->stored});
  return {};
}

Result<void> RowCache::savepoint() {
  savepoints_.push_back(undo_.size());
  return {};
}

Result<void> RowCache::rollback_to_savepoint() {
  CHECK(!savepoints_.empty());
  for (; undo_.size() > savepoints_.back(); undo_.pop_back()) {
    Before& before = undo_.back();
    Rows& rows = tables_[before.table];
    if (before.known) rows[std::move(before.key)] = std::move(*before.known);
    else rows.erase(before.key);
  }
  answers_.clear();
  return {};
}

Result<void> RowCache::release_savepoint() {
  CHECK(!savepoints_.empty());
  savepoints_.pop_back();
  if (savepoints_.empty()) undo_.clear();
  return {};
}

// In one order of tables and keys, as every node writes them.
Result<void> RowCache::flush() {
  CHECK(savepoints_.empty());
  if (changes_.empty()) return {};
  for (const Table* table : store::all_tables()) {
    if (!changes_.contains(table)) continue;
    std::vector<Row> inserts, updates;
    for (auto& [key, known] : tables_[table]) {
      if (!known.is_changed) continue;
      known.is_changed = false;
      if (known.row && known.stored == Known::Stored::Absent) {
        inserts.push_back(*known.row);
        if (check_ != nullptr) check_->trust(*table, key);
      } else if (known.row && known.stored == Known::Stored::Held) updates.push_back(*known.row);
      else if (known.row) {
        if (auto done = inner_.update(*table, *known.row); !done) return done;
      } else if (known.stored != Known::Stored::Absent) {
        if (auto done = inner_.erase(*table, key); !done) return done;
      }
      known.stored = known.row ? Known::Stored::Held : Known::Stored::Absent;
    }
    if (!updates.empty())
      if (auto done = inner_.update_all(*table, updates); !done) return done;
    if (!inserts.empty())
      if (auto done = inner_.insert_all(*table, inserts); !done) return done;
  }
  changes_.clear();
  return {};
}

Result<store::Head> RowCache::take_head() {
  if (auto flushed = flush(); !flushed) return tl::make_unexpected(flushed.error());
  return inner_.take_head();
}

}  // namespace baton::runtime
