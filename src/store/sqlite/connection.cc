// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/connection.h"

#include <limits>
#include <mutex>

#include "store/rows.h"
#include "store/sqlite/sqlite_failure.h"
#include "store/sqlite/table_sql.h"

namespace baton::store::sqlite {
namespace {

// How long to wait for a lock that some other program holds for a moment: a backup, a shell. Between Baton's own
// connections there is nothing to wait for but the moment in which a log is recovered or removed.
constexpr int kBusyMilliseconds = 5'000;

struct FixedSql {
  Fixed which;
  std::string_view sql;
  std::string_view doing;
};

constexpr FixedSql kFixed[] = {
    {Fixed::Begin, "BEGIN", "beginning to read"},
    {Fixed::BeginImmediate, "BEGIN IMMEDIATE", "beginning a transaction"},
    {Fixed::Commit, "COMMIT", "committing"},
    {Fixed::Rollback, "ROLLBACK", "rolling back"},
    // Savepoints of one name nest; RELEASE and ROLLBACK TO mean the innermost.
    {Fixed::Savepoint, "SAVEPOINT here", "setting a savepoint"},
    {Fixed::RollbackToSavepoint, "ROLLBACK TO here", "rolling back to a savepoint"},
    {Fixed::ReleaseSavepoint, "RELEASE here", "releasing a savepoint"},
    {Fixed::Head, "SELECT size, hash, time, peaks, open_streams FROM head WHERE one = 1", "reading the head"},
    {Fixed::PutHead,
     "INSERT INTO head (one, size, hash, time, peaks, open_streams) VALUES (1, ?1, ?2, ?3, ?4, ?5) ON CONFLICT (one) "
     "DO "
     "UPDATE SET size = ?1, hash = ?2, time = ?3, peaks = ?4, open_streams = ?5",
     "writing the head"},
    {Fixed::InsertEntry,
     "INSERT INTO entries (sequence, stream, type, actor_id, actor_kind, time, payload, previous, hash) "
     "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
     "writing `entries`"},
    {Fixed::InsertNode, "INSERT INTO tree (level, position, hash, streams) VALUES (?1, ?2, ?3, ?4)", "writing `tree`"},
    {Fixed::InsertSeal, "INSERT INTO seals (size, note) VALUES (?1, ?2)", "writing `seals`"},
    {Fixed::Entries,
     "SELECT sequence, stream, type, actor_id, actor_kind, time, payload, previous, hash FROM entries "
     "WHERE sequence BETWEEN ?1 AND ?2 ORDER BY sequence",
     "reading `entries`"},
    {Fixed::EntryHashes, "SELECT sequence, hash FROM entries WHERE sequence BETWEEN ?1 AND ?2 ORDER BY sequence",
     "reading `entries`"},
    {Fixed::CountEntries, "SELECT count(*) FROM entries", "counting `entries`"},
    {Fixed::Nodes,
     "SELECT position, hash, streams FROM tree WHERE level = ?1 AND position BETWEEN ?2 AND ?3 ORDER BY position",
     "reading `tree`"},
    {Fixed::Seals, "SELECT size, note FROM seals WHERE size BETWEEN ?1 AND ?2 ORDER BY size", "reading `seals`"},
    {Fixed::NewestSeal, "SELECT size, note FROM seals ORDER BY size DESC LIMIT 1", "reading `seals`"},
};

constexpr bool in_order() {
  std::size_t place = 0;
  for (const FixedSql& one : kFixed)
    if (static_cast<std::size_t>(one.which) != place++) return false;
  return place == static_cast<std::size_t>(Fixed::Count);
}
static_assert(in_order(), "kFixed has one row for each Fixed, in its order");

}  // namespace

Result<std::unique_ptr<Connection>> Connection::open(const std::string& name, int flags, const std::string& vfs) {
  // Nobody asks SQLite how much memory it uses, and counting it takes a lock that all reading threads would share. Has
  // no effect when somebody else used SQLite first.
  static std::once_flag configured;
  std::call_once(configured, [] { sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); });

  sqlite3* database = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &database, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
                                   vfs.empty() ? nullptr : vfs.c_str());
  std::unique_ptr<Connection> connection(new Connection(database));
  if (code != SQLITE_OK) return sqlite_failure(database, code, "opening " + name);
  sqlite3_busy_timeout(database, kBusyMilliseconds);
  // What SQL in the file itself (a view, a trigger that somebody put there) could do.
  sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  return connection;
}

Connection::~Connection() {
  for (std::optional<Statement>& statement : fixed_) statement.reset();
  kept_.clear();
  sqlite3_close(database_);
}

Result<void> Connection::run(const std::string& sql, std::string_view doing) {
  const int code = sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return sqlite_failure(database_, code, std::string(doing));
  return {};
}

Result<std::int64_t> Connection::number(std::string_view sql, std::string doing) {
  Result<Statement> statement = Statement::prepare(database_, sql, std::move(doing));
  if (!statement) return tl::make_unexpected(statement.error());
  const Result<bool> row = statement->step();
  if (!row) return tl::make_unexpected(row.error());
  return *row ? statement->number(0) : 0;
}

Result<std::string> Connection::text(std::string_view sql, std::string doing) {
  Result<Statement> statement = Statement::prepare(database_, sql, std::move(doing));
  if (!statement) return tl::make_unexpected(statement.error());
  const Result<bool> row = statement->step();
  if (!row) return tl::make_unexpected(row.error());
  return *row ? std::string(statement->bytes(0)) : std::string();
}

Result<Statement*> Connection::fixed(Fixed which) {
  std::optional<Statement>& statement = fixed_[static_cast<std::size_t>(which)];
  if (!statement) {
    const FixedSql& text = kFixed[static_cast<std::size_t>(which)];
    Result<Statement> prepared = Statement::prepare(database_, text.sql, std::string(text.doing));
    if (!prepared) return tl::make_unexpected(prepared.error());
    statement.emplace(std::move(*prepared));
  }
  return &*statement;
}

Result<void> Connection::run(Fixed which) {
  const Result<Statement*> statement = fixed(which);
  if (!statement) return tl::make_unexpected(statement.error());
  Run run(**statement);
  const Result<bool> row = run->step();
  if (!row) return tl::make_unexpected(row.error());
  return {};
}

template <class MakeSql>
Result<Statement*> Connection::kept(MakeSql make_sql, std::string_view doing, std::string_view table) {
  if (const auto found = kept_.find(std::string_view(name_)); found != kept_.end()) return &found->second;
  std::string text(doing);
  text.append(" `").append(table).append("`");
  Result<Statement> prepared = Statement::prepare(database_, make_sql(), std::move(text));
  if (!prepared) return tl::make_unexpected(prepared.error());
  return &kept_.emplace(name_, std::move(*prepared)).first->second;
}

Result<Statement*> Connection::on_table(Work work, const Table& table) {
  name_.assign(1, "giue"[static_cast<std::size_t>(work)]).append(table.name);
  const auto make_sql = [&] {
    switch (work) {
      case Work::Get: return get_sql(table);
      case Work::Insert: return insert_sql(table);
      case Work::Update: return update_sql(table);
      case Work::Erase: break;
    }
    return erase_sql(table);
  };
  return kept(make_sql, work == Work::Get ? "reading" : "writing", table.name);
}

Result<Head> Connection::head() {
  const Result<Statement*> statement = fixed(Fixed::Head);
  if (!statement) return tl::make_unexpected(statement.error());
  Run run(**statement);
  const Result<bool> row = run->step();
  if (!row) return tl::make_unexpected(row.error());
  if (!*row) return empty_head();
  Head head;
  head.size = static_cast<std::uint64_t>(run->number(0));
  head.hash = run->bytes(1);
  head.time = run->number(2);
  head.peaks = run->bytes(3);
  head.open_streams = run->bytes(4);
  return head;
}

Result<std::optional<Row>> Connection::get(const Table& table, const Row& key) {
  const Result<Statement*> statement = on_table(Work::Get, table);
  if (!statement) return tl::make_unexpected(statement.error());
  Run run(**statement);
  for (std::size_t i = 0; i < key.size(); ++i) run->bind(static_cast<int>(i) + 1, table.columns[i].type, key[i]);
  const Result<bool> found = run->step();
  if (!found) return tl::make_unexpected(found.error());
  if (!*found) return std::nullopt;
  Row row(table.columns.size());
  for (std::size_t i = 0; i < row.size(); ++i) run->read(static_cast<int>(i), row[i]);
  return row;
}

Result<void> Connection::find(const Query& query, const TakeRow& take) {
  const Table& table = query.table;
  name_.assign("f");
  append_find_name(query, name_);
  const Result<Statement*> statement = kept([&] { return find_sql(query); }, "reading", table.name);
  if (!statement) return tl::make_unexpected(statement.error());
  Run run(**statement);
  const std::vector<std::size_t> order = order_of(table, query.index);
  int parameter = 0;
  for (std::size_t i = 0; i < query.equal.size(); ++i)
    run->bind(++parameter, table.columns[order[i]].type, query.equal[i]);
  for (const Value* bound : {&query.from, &query.below})
    if (!std::holds_alternative<std::monostate>(*bound))
      run->bind(++parameter, table.columns[order[query.equal.size()]].type, *bound);
  constexpr auto kLargest = static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max());
  run->bind(++parameter, query.limit > kLargest ? std::int64_t{-1} : static_cast<std::int64_t>(query.limit));

  Row row(table.columns.size());
  while (true) {
    const Result<bool> found = run->step();
    if (!found) return tl::make_unexpected(found.error());
    if (!*found) return {};
    for (std::size_t i = 0; i < row.size(); ++i) run->read(static_cast<int>(i), row[i]);
    if (!take(row)) return {};
  }
}

}  // namespace baton::store::sqlite
