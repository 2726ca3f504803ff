// SPDX-License-Identifier: Apache-2.0
// A connection to a database file, with the statements prepared on it and what all connections read.
//
// Belongs to one thread at a time: SQLite is told not to lock.
#pragma once

#include <sqlite3.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.h"
#include "store/sqlite/statement.h"
#include "store/store.h"

namespace baton::store::sqlite {

// The statements on the ledger's own rows; connection.cc has their text.
enum class Fixed {
  Begin,
  BeginImmediate,
  Commit,
  Rollback,
  Savepoint,
  RollbackToSavepoint,
  ReleaseSavepoint,
  Head,
  PutHead,
  InsertEntry,
  InsertNode,
  InsertSeal,
  Entries,
  EntryHashes,
  CountEntries,
  Nodes,
  Seals,
  NewestSeal,
  Count,  // how many there are
};

class Connection {
 public:
  // `flags` are SQLite's; an empty `vfs` is the default one.
  static Result<std::unique_ptr<Connection>> open(const std::string& name, int flags, const std::string& vfs);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // For what is done once: any number of statements, whose rows are left alone.
  Result<void> run(const std::string& sql, std::string_view doing);
  // The first column of the first row of a statement.
  Result<std::int64_t> number(std::string_view sql, std::string doing);
  Result<std::string> text(std::string_view sql, std::string doing);

  Result<Statement*> fixed(Fixed which);
  // Runs one that has no parameters and no rows of interest.
  Result<void> run(Fixed which);

  enum class Work { Get, Insert, Update, Erase };
  Result<Statement*> on_table(Work work, const Table& table);

  // What a Reader and a Transaction read alike. Arguments have been checked (store/rows.h).
  Result<Head> head();
  Result<std::optional<Row>> get(const Table& table, const Row& key);
  Result<void> find(const Query& query, const TakeRow& take);

  bool in_transaction() const { return sqlite3_get_autocommit(database_) == 0; }
  sqlite3* database() { return database_; }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  explicit Connection(sqlite3* database) : database_(database) {}
  template <class MakeSql>
  Result<Statement*> kept(MakeSql make_sql, std::string_view doing, std::string_view table);

  sqlite3* const database_;
  std::array<std::optional<Statement>, static_cast<std::size_t>(Fixed::Count)> fixed_;
  std::unordered_map<std::string, Statement, Hash, std::equal_to<>> kept_;
  std::string name_;  // of the statement that is looked for; kept for its memory
};

}  // namespace baton::store::sqlite
