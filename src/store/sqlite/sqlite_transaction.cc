// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/sqlite_transaction.h"

#include <utility>
#include <vector>

#include "base/check.h"
#include "diagnostics/diagnostic.h"
#include "store/rows.h"

namespace baton::store::sqlite {
namespace {

class SqliteTransaction final : public Transaction {
 public:
  // The caller has taken the turn and begun.
  explicit SqliteTransaction(Writer& writer) : writer_(writer), now_(writer.clock.now()) {}
  ~SqliteTransaction() override { end(); }

  Result<Time> now() override { return now_; }

  Result<std::optional<Row>> get(const Table& table, const Row& key) override {
    if (Result<void> may = may_work(check_key(table, key)); !may) return tl::make_unexpected(may.error());
    return setback_.keep(connection().get(table, key));
  }

  Result<void> find(const Query& query, Lock, const TakeRow& take) override {
    if (Result<void> may = may_work(check_query(query)); !may) return may;
    return setback_.keep(connection().find(query, take));
  }

  Result<void> insert(const Table& table, const Row& row) override {
    if (Result<void> may = may_work(check_row(table, row)); !may) return may;
    return write(Connection::Work::Insert, table, row);
  }

  Result<void> update(const Table& table, const Row& row) override {
    if (Result<void> may = may_work(check_row(table, row)); !may) return may;
    if (Result<void> written = write(Connection::Work::Update, table, row); !written) return written;
    if (sqlite3_changes64(connection().database()) != 0) return {};
    return setback_.keep<void>(failure_of(Code::STORE_CONFLICT, "writing `" + std::string(table.name) + "`"));
  }

  Result<void> erase(const Table& table, const Row& key) override {
    if (Result<void> may = may_work(check_key(table, key)); !may) return may;
    return write(Connection::Work::Erase, table, key);
  }

  Result<void> savepoint() override {
    if (Result<void> may = may_work({}); !may) return may;
    if (Result<void> set = setback_.keep(connection().run(Fixed::Savepoint)); !set) return set;
    savepoints_.push_back(appended_);
    return {};
  }

  Result<void> rollback_to_savepoint() override {
    CHECK(open_ && !savepoints_.empty());
    if (Result<void> cured = setback_.cure(); !cured) return cured;
    appended_ = savepoints_.back();
    return setback_.keep(connection().run(Fixed::RollbackToSavepoint));
  }

  Result<void> release_savepoint() override {
    if (Result<void> may = may_work({}); !may) return may;
    CHECK(!savepoints_.empty());
    savepoints_.pop_back();
    return setback_.keep(connection().run(Fixed::ReleaseSavepoint));
  }

  Result<Head> take_head() override {
    if (Result<void> may = may_work({}); !may) return tl::make_unexpected(may.error());
    head_taken_ = true;
    return setback_.keep(connection().head());
  }

  Result<void> append(std::span<const EntryRow> entries, std::span<const TreeNode> nodes, const Seal& seal,
                      const Head& head) override {
    CHECK(head_taken_ && !appended_);
    if (Result<void> may = may_work(check_append(entries, nodes, seal, head)); !may) return may;
    appended_ = true;
    Result<void> done = append_entries(entries);
    if (done) done = append_nodes(nodes);
    if (done) done = put_seal(seal);
    if (done) done = put_head(head);
    size_ = head.size;
    return setback_.keep(std::move(done));
  }

  Result<void> commit() override {
    Result<void> done = may_work({});
    if (done) done = connection().run(Fixed::Commit);
    if (done && appended_) {
      writer_.growth.set(size_);
      writer_.signal.announce(size_);
    }
    end();
    return done;
  }

 private:
  Connection& connection() { return *writer_.connection; }

  // Work goes on when the transaction is open, nothing has failed in it, and what it was given is right. After some
  // failures SQLite has rolled back by itself, and every further statement would be a transaction of its own.
  Result<void> may_work(Result<void> given) {
    CHECK(open_);
    if (Result<void> fine = setback_.check(); !fine) return fine;
    CHECK(connection().in_transaction());
    return setback_.keep(std::move(given));
  }

  Result<void> write(Connection::Work work, const Table& table, const Row& row) {
    const Result<Statement*> statement = setback_.keep(connection().on_table(work, table));
    if (!statement) return tl::make_unexpected(statement.error());
    Run run(**statement);
    for (std::size_t i = 0; i < row.size(); ++i) run->bind(static_cast<int>(i) + 1, table.columns[i].type, row[i]);
    const Result<bool> done = setback_.keep(run->step());
    if (!done) return tl::make_unexpected(done.error());
    return {};
  }

  Result<void> append_entries(std::span<const EntryRow> entries) {
    if (entries.empty()) return {};
    const Result<Statement*> statement = connection().fixed(Fixed::InsertEntry);
    if (!statement) return tl::make_unexpected(statement.error());
    Run run(**statement);
    for (const EntryRow& entry : entries) {
      run.again();
      run->bind(1, static_cast<std::int64_t>(entry.sequence));
      run->bind_text(2, entry.stream);
      run->bind_text(3, entry.type);
      run->bind_text(4, entry.actor_id);
      run->bind_text(5, entry.actor_kind);
      run->bind(6, entry.time);
      run->bind_text(7, entry.payload);
      run->bind_bytes(8, entry.previous);
      run->bind_bytes(9, entry.hash);
      if (const Result<bool> done = run->step(); !done) return tl::make_unexpected(done.error());
    }
    return {};
  }

  Result<void> append_nodes(std::span<const TreeNode> nodes) {
    if (nodes.empty()) return {};
    const Result<Statement*> statement = connection().fixed(Fixed::InsertNode);
    if (!statement) return tl::make_unexpected(statement.error());
    Run run(**statement);
    for (const TreeNode& node : nodes) {
      run.again();
      run->bind(1, static_cast<std::int64_t>(node.level));
      run->bind(2, static_cast<std::int64_t>(node.position));
      run->bind_bytes(3, node.hash);
      run->bind_bytes(4, node.streams);
      if (const Result<bool> done = run->step(); !done) return tl::make_unexpected(done.error());
    }
    return {};
  }

  Result<void> put_seal(const Seal& seal) {
    const Result<Statement*> statement = connection().fixed(Fixed::InsertSeal);
    if (!statement) return tl::make_unexpected(statement.error());
    Run run(**statement);
    run->bind(1, static_cast<std::int64_t>(seal.size));
    run->bind_text(2, seal.note);
    if (const Result<bool> done = run->step(); !done) return tl::make_unexpected(done.error());
    return {};
  }

  Result<void> put_head(const Head& head) {
    const Result<Statement*> statement = connection().fixed(Fixed::PutHead);
    if (!statement) return tl::make_unexpected(statement.error());
    Run run(**statement);
    run->bind(1, static_cast<std::int64_t>(head.size));
    run->bind_bytes(2, head.hash);
    run->bind(3, head.time);
    run->bind_bytes(4, head.peaks);
    run->bind_bytes(5, head.open_streams);
    if (const Result<bool> done = run->step(); !done) return tl::make_unexpected(done.error());
    return {};
  }

  void end() {
    if (!std::exchange(open_, false)) return;
    // Should this fail, the next begin() tries again and says so.
    if (connection().in_transaction()) (void)connection().run(Fixed::Rollback);
    writer_.turn.give();
  }

  Writer& writer_;
  const Time now_;
  bool open_ = true;
  bool head_taken_ = false;
  bool appended_ = false;
  std::uint64_t size_ = 0;        // of the ledger, when appended_
  std::vector<bool> savepoints_;  // what appended_ was then
  Setback setback_;
};

}  // namespace

void Checkpoints::install(Connection& connection) { sqlite3_wal_hook(connection.database(), committed, this); }

int Checkpoints::committed(void* self, sqlite3* database, const char* name, int log_pages) {
  Checkpoints& checkpoints = *static_cast<Checkpoints*>(self);
  if (log_pages < checkpoints.last_) checkpoints.next_ = kLogPages;  // the log was begun anew
  checkpoints.last_ = log_pages;
  if (log_pages >= checkpoints.next_) {
    checkpoints.next_ = log_pages + kLogPages;
    // The commit is on disk, in the log. When copying fails, the log stays, and is copied another time.
    sqlite3_wal_checkpoint_v2(database, name, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  }
  return SQLITE_OK;
}

Result<std::unique_ptr<Transaction>> begin(Writer& writer) {
  writer.turn.take();
  Result<void> begun;
  if (writer.connection->in_transaction()) begun = writer.connection->run(Fixed::Rollback);
  if (begun) begun = writer.connection->run(Fixed::BeginImmediate);
  if (!begun) {
    writer.turn.give();
    return tl::make_unexpected(begun.error());
  }
  return std::make_unique<SqliteTransaction>(writer);
}

}  // namespace baton::store::sqlite
