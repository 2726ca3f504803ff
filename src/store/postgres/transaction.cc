// SPDX-License-Identifier: Apache-2.0
#include "store/postgres/transaction.h"

#include <algorithm>
#include <map>
#include <vector>

#include "base/check.h"
#include "diagnostics/diagnostic.h"
#include "store/postgres/reader.h"
#include "store/postgres/sql.h"
#include "store/rows.h"

namespace baton::store::postgres {
namespace {

using Want = Connection::Want;

// Rows of one INSERT: one statement for many rows costs the server a fraction of as many statements. Any number of rows
// is a sum of powers of two, so that there are few different statements to prepare.
constexpr std::size_t kInsertRowsMax = 64;

// Sends `count` rows, `add(parameters, i)` giving the values of the i-th; `end` closes each statement.
template <class Add>
void send_rows(Connection& connection, std::string_view insert, std::size_t columns, std::size_t count, const Add& add,
               std::string_view end = {}) {
  for (std::size_t sent = 0; sent < count;) {
    std::size_t rows = kInsertRowsMax;
    while (rows > count - sent) rows /= 2;
    Parameters parameters;
    for (std::size_t i = 0; i < rows; ++i) add(parameters, sent + i);
    connection.send(insert_rows(insert, columns, rows).append(end), parameters);
    sent += rows;
  }
}

class PostgresTransaction final : public Transaction {
 public:
  PostgresTransaction(Lease connection, Listener& listener) : connection_(std::move(connection)), listener_(listener) {}

  ~PostgresTransaction() override {
    if (ended_ || connection_->broken()) return;
    connection_->begin_turn("rolling back in");
    connection_->sync();
    connection_->send(kRollback);
    // Waits, so that its locks are gone when this is.
    if (!connection_->await_all()) connection_->retire();
  }

  Result<void> begin() {
    connection_->send(kBegin);
    clock_ = connection_->send(kClock, {}, Want::Rows);
    connection_->push();
    return state();
  }

  Result<void> hurry() override {
    connection_->send(kHurry);
    return state();
  }

  Result<Time> now() override {
    if (!now_) {
      Result<Rows> rows = connection_->await(clock_);
      if (!rows) return tl::make_unexpected(std::move(rows.error()));
      now_ = Time{rows->integer(0, 0) * 1000};
    }
    return *now_;
  }

  Result<std::optional<Row>> get(const Table& table, const Row& key) override {
    if (Result<void> good = accept(check_key(table, key)); !good) return tl::make_unexpected(std::move(good.error()));
    Result<Rows> rows = ask(get_row(table, Lock::Wait), values_of(table, key));
    if (!rows) return tl::make_unexpected(std::move(rows.error()));
    if (rows->size() == 0) return std::nullopt;
    return row_in(*rows, 0, table);
  }

  Result<std::vector<std::optional<Row>>> get_all(const Table& table, std::span<const Row> keys) override {
    for (const Row& key : keys)
      if (Result<void> good = accept(check_key(table, key)); !good) return tl::make_unexpected(std::move(good.error()));
    std::map<Row, Row> there;
    std::vector<Connection::Serial> asked;
    for (std::size_t sent = 0; sent < keys.size();) {
      // The numbers of keys are powers of two here as well; the last statement names its last key as often as it must.
      std::size_t count = 1;
      while (count < kInsertRowsMax && count < keys.size() - sent) count *= 2;
      Parameters parameters;
      for (std::size_t i = 0; i < count; ++i) {
        const Row& key = keys[std::min(sent + i, keys.size() - 1)];
        for (std::size_t k = 0; k < key.size(); ++k) parameters.value(table.columns[k].type, key[k]);
      }
      asked.push_back(connection_->send(get_rows(table, count), parameters, Want::Rows));
      sent += count;
    }
    for (const Connection::Serial one : asked) {
      Result<Rows> rows = connection_->await(one);
      if (!rows) return tl::make_unexpected(std::move(rows.error()));
      for (std::size_t i = 0; i < rows->size(); ++i) {
        Row row = row_in(*rows, i, table);
        Row key = key_of(table, row);
        there.insert_or_assign(std::move(key), std::move(row));
      }
    }
    std::vector<std::optional<Row>> out;
    out.reserve(keys.size());
    for (const Row& key : keys) {
      const auto found = there.find(key);
      out.push_back(found == there.end() ? std::nullopt : std::optional(found->second));
    }
    return out;
  }

  Result<void> find(const Query& query, Lock lock, const TakeRow& take) override {
    if (Result<void> good = accept(check_query(query)); !good) return good;
    if (query.limit == 0) return {};
    Result<Rows> rows = ask(find_rows(query, lock), find_parameters(query));
    if (!rows) return tl::make_unexpected(std::move(rows.error()));
    for (std::size_t row = 0; row < rows->size(); ++row)
      if (!take(row_in(*rows, row, query.table))) break;
    return {};
  }

  Result<void> insert(const Table& table, const Row& row) override {
    if (Result<void> good = accept(check_row(table, row)); !good) return good;
    return tell(insert_row(table), values_of(table, row));
  }

  Result<void> update(const Table& table, const Row& row) override {
    if (Result<void> good = accept(check_row(table, row)); !good) return good;
    return tell(update_row(table), values_of(table, row), Want::OneRow);
  }

  Result<void> erase(const Table& table, const Row& key) override {
    if (Result<void> good = accept(check_key(table, key)); !good) return good;
    return tell(erase_row(table), values_of(table, key));
  }

  Result<void> insert_all(const Table& table, std::span<const Row> rows) override { return tell_all(table, rows, {}); }

  // The rows are there and locked: an INSERT that changes the row it meets is an update of many rows in one statement, which
  // needs no plan beyond the primary key.
  Result<void> update_all(const Table& table, std::span<const Row> rows) override {
    return tell_all(table, rows, or_update(table));
  }

  Result<void> savepoint() override {
    if (Result<void> good = state(); !good) return good;
    const std::string name = "s" + std::to_string(savepoints_.size() + 1);
    savepoints_.push_back(connection_->send("SAVEPOINT " + name));
    return state();
  }

  Result<void> rollback_to_savepoint() override {
    CHECK(!savepoints_.empty());
    // A statement that is prepared in what the server may be skipping would be unknown after the rollback.
    if (connection_->awaits_preparation()) (void)connection_->await_all();
    connection_->sync();
    connection_->send_rollback_to("s" + std::to_string(savepoints_.size()), savepoints_.back());
    if (appended_in_ >= savepoints_.size()) size_.reset();
    if (connection_->fault()) return connection_->await_all();
    return {};
  }

  Result<void> release_savepoint() override {
    CHECK(!savepoints_.empty());
    if (Result<void> good = state(); !good) return good;
    connection_->send("RELEASE SAVEPOINT s" + std::to_string(savepoints_.size()));
    savepoints_.pop_back();
    appended_in_ = std::min(appended_in_, savepoints_.size());
    return state();
  }

  Result<Head> take_head() override {
    Result<Rows> rows = ask(kTakeHead, {});
    if (!rows) return tl::make_unexpected(std::move(rows.error()));
    has_head_ = true;
    return head_in(*rows, connection_->doing());
  }

  Result<void> append(std::span<const EntryRow> entries, std::span<const TreeNode> nodes, const Seal& seal,
                      const Head& head) override {
    CHECK(has_head_ && !size_);
    if (Result<void> good = accept(check_append(entries, nodes, seal, head)); !good) return good;
    size_ = head.size;
    appended_in_ = savepoints_.size();
    send_entries(entries);
    send_nodes(nodes);
    send_seal(seal);
    send_head(head);
    return state();
  }

  Result<void> commit() override {
    // An update that met no row is no error to the server: it would commit.
    if (connection_->awaits_one_row()) (void)connection_->await_all();
    if (Result<void> good = state(); !good) return good;
    connection_->set_doing("committing to");
    const Connection::Serial commit = connection_->send(kCommit, {}, Want::Rows);
    Result<Rows> rows = connection_->await(commit);
    if (!rows) return tl::make_unexpected(std::move(rows.error()));
    ended_ = true;
    // A transaction that had failed is not committed by COMMIT, and that is no error to the server either.
    if (rows->command() != kCommit) return failure_of(Code::STORE_CONFLICT, connection_->doing());
    if (size_) listener_.grown_to(*size_);
    return {};
  }

 private:
  static Parameters values_of(const Table& table, const Row& row) {
    Parameters parameters;
    for (std::size_t i = 0; i < row.size(); ++i) parameters.value(table.columns[i].type, row[i]);
    return parameters;
  }

  // Nothing goes on after a failure, and what is refused is one.
  Result<void> accept(Result<void> checked) {
    if (Result<void> good = state(); !good) return good;
    if (!checked) connection_->refuse(checked.error());
    return checked;
  }

  Result<void> state() const {
    if (connection_->fault()) return tl::make_unexpected(*connection_->fault());
    return {};
  }

  Result<Rows> ask(std::string_view sql, const Parameters& parameters) {
    if (Result<void> good = state(); !good) return tl::make_unexpected(std::move(good.error()));
    return connection_->await(connection_->send(sql, parameters, Want::Rows));
  }

  Result<void> tell(std::string_view sql, const Parameters& parameters, Want want = Want::Nothing) {
    connection_->send(sql, parameters, want);
    return state();
  }

  Result<void> tell_all(const Table& table, std::span<const Row> rows, std::string_view end) {
    for (const Row& row : rows)
      if (Result<void> good = accept(check_row(table, row)); !good) return good;
    send_rows(
        *connection_, insert_into(table), table.columns.size(), rows.size(),
        [&](Parameters& parameters, std::size_t i) {
          for (std::size_t k = 0; k < rows[i].size(); ++k) parameters.value(table.columns[k].type, rows[i][k]);
        },
        end);
    return state();
  }

  void send_entries(std::span<const EntryRow> entries) {
    send_rows(*connection_, kInsertEntries, kEntryColumns, entries.size(), [&](Parameters& parameters, std::size_t i) {
      const EntryRow& entry = entries[i];
      parameters.integer(clamped(entry.sequence));
      parameters.text(entry.stream);
      parameters.text(entry.type);
      parameters.text(entry.actor_id);
      parameters.text(entry.actor_kind);
      parameters.integer(entry.time);
      parameters.text(entry.payload);
      parameters.bytes(entry.previous);
      parameters.bytes(entry.hash);
    });
  }

  void send_nodes(std::span<const TreeNode> nodes) {
    send_rows(*connection_, kInsertNodes, kNodeColumns, nodes.size(), [&](Parameters& parameters, std::size_t i) {
      const TreeNode& node = nodes[i];
      parameters.integer(node.level);
      parameters.integer(clamped(node.position));
      parameters.bytes(node.hash);
      parameters.bytes(node.streams);
    });
  }

  void send_seal(const Seal& seal) {
    Parameters parameters;
    parameters.integer(clamped(seal.size));
    parameters.text(seal.note);
    connection_->send(kInsertSeal, parameters);
  }

  void send_head(const Head& head) {
    Parameters parameters;
    parameters.integer(clamped(head.size));
    parameters.bytes(head.hash);
    parameters.integer(head.time);
    parameters.bytes(head.peaks);
    parameters.bytes(head.open_streams);
    connection_->send(kMoveHead, parameters);
    const std::string size = std::to_string(head.size);
    Parameters announced;
    announced.text(size);
    connection_->send(kNotify, announced);
  }

  Lease connection_;
  Listener& listener_;
  Connection::Serial clock_ = 0;
  std::optional<Time> now_;
  std::vector<Connection::Serial> savepoints_;
  bool has_head_ = false;
  std::optional<std::uint64_t> size_;  // of the ledger, once something was appended ...
  std::size_t appended_in_ = 0;        // ... with so many savepoints open
  bool ended_ = false;
};

}  // namespace

Result<std::unique_ptr<Transaction>> make_transaction(Lease connection, Listener& listener) {
  auto transaction = std::make_unique<PostgresTransaction>(std::move(connection), listener);
  if (Result<void> begun = transaction->begin(); !begun) return tl::make_unexpected(std::move(begun.error()));
  return transaction;
}

}  // namespace baton::store::postgres
