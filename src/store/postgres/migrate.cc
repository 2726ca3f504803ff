// SPDX-License-Identifier: Apache-2.0
#include "store/postgres/migrate.h"

#include "diagnostics/diagnostic.h"
#include "store/postgres/sql.h"
#include "store/rows.h"

namespace baton::store::postgres {
namespace {

constexpr SqlWords kWords = {
    .integer = "BIGINT", .text = "TEXT COLLATE \"C\"", .bytes = "BYTEA", .strict = ""};  // "C" compares as bytes

constexpr std::string_view kLock = "SELECT pg_advisory_xact_lock(421660194670)";  // "baton" as a number

Result<std::int64_t> read_number(Connection& connection, const std::string& sql) {
  Result<Rows> rows = connection.await(connection.send_once(sql, {}, Connection::Want::Rows));
  if (!rows) return tl::make_unexpected(std::move(rows.error()));
  return rows->size() == 1 && !rows->is_nothing(0, 0) ? rows->integer(0, 0) : 0;
}

// 0 when there is no store. Asks a view: to_regclass() may answer from a cache, and miss what was made by the node that
// held the lock.
constexpr const char* kIsThere =
    "SELECT COUNT(*) FROM information_schema.tables "
    "WHERE table_name = 'baton_schema' AND table_schema = ANY (current_schemas(false))";

Result<std::int64_t> read_version(Connection& connection) {
  Result<std::int64_t> there = read_number(connection, kIsThere);
  if (!there || *there == 0) return there;
  return read_number(connection, "SELECT MAX(version) FROM baton_schema");
}

void send_head(Connection& connection) {
  const Head head = empty_head();
  Parameters parameters;
  parameters.integer(0);
  parameters.bytes(head.hash);
  parameters.integer(0);
  parameters.bytes(head.peaks);
  parameters.bytes(head.open_streams);
  connection.send_once("INSERT INTO head (one, size, hash, time, peaks, open_streams) VALUES (1, $1, $2, $3, $4, $5)",
                       parameters);
}

Result<void> run(Connection& connection, std::span<const Migration> migrations) {
  connection.send(kBegin);
  connection.send_once(std::string(kLock));
  Result<std::int64_t> version = read_version(connection);  // another node may have been first
  if (!version) return tl::make_unexpected(std::move(version.error()));
  if (*version == 0)
    connection.send_once("CREATE TABLE IF NOT EXISTS baton_schema (version BIGINT NOT NULL PRIMARY KEY)");
  for (const Migration& migration : migrations) {
    if (migration.number <= *version) continue;
    for (const std::string_view statement : migration.statements) connection.send_once(in_words(statement, kWords));
    connection.send_once("INSERT INTO baton_schema (version) VALUES (" + std::to_string(migration.number) + ")");
  }
  if (*version == 0) send_head(connection);
  connection.send(kCommit);
  return connection.await_all();
}

}  // namespace

Result<void> migrate(Connection& connection, const std::string& name, const PostgresOptions& options) {
  const bool may_change = options.mode == PostgresOptions::Mode::Write;
  const std::int64_t known = options.migrations.back().number;
  Result<std::int64_t> found = read_version(connection);
  if (found && *found < known) {
    if (*found == 0 && !(options.create && may_change)) return failure_of(Code::STORE_NOT_FOUND, "opening " + name);
    if (!may_change)
      return failure_of(Code::STORE_READ_ONLY, "opening " + name,
                        {{"problem", "its schema is " + std::to_string(*found) + ", older than this program's"}});
    if (Result<void> ran = run(connection, options.migrations); !ran) {
      connection.retire();  // its transaction ends with it
      return ran;
    }
    found = read_version(connection);
  }
  if (!found) return tl::make_unexpected(std::move(found.error()));
  if (*found > known)
    return failure_of(Code::STORE_NEWER, "opening " + name,
                      {{"found", std::to_string(*found)}, {"known", std::to_string(known)}});
  return {};
}

}  // namespace baton::store::postgres
