// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/integrity.h"

#include <map>
#include <utility>

#include "store/rows.h"
#include "store/sqlite/schema.h"

namespace baton::store::sqlite {
namespace {

constexpr const char* kDoing = "checking the database";
// A damaged page can give a problem a row: the first ones say where to look.
constexpr const char* kIntegrityCheck = "PRAGMA integrity_check(20)";

using Schema = std::map<std::string, std::string, std::less<>>;  // "index x on y" -> its SQL

Result<Schema> schema_in(Connection& connection) {
  Result<Statement> statement = Statement::prepare(
      connection.database(),
      // SQLite's own: statistics of ANALYZE, and the indexes that a primary key makes, which have no SQL.
      "SELECT type || ' ' || name || ' on ' || tbl_name, coalesce(sql, '') FROM sqlite_schema "
      "WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
      kDoing);
  if (!statement) return tl::make_unexpected(statement.error());
  Schema schema;
  while (true) {
    const Result<bool> row = statement->step();
    if (!row) return tl::make_unexpected(row.error());
    if (!*row) return schema;
    schema.emplace(statement->bytes(0), statement->bytes(1));
  }
}

// The schema of a new store, so that nothing has to be written twice.
Result<Schema> schema_made_by(std::span<const Migration> migrations) {
  auto connection = Connection::open(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY, {});
  if (!connection) return tl::make_unexpected(connection.error());
  if (Result<void> made = migrate(**connection, 0, migrations); !made) return tl::make_unexpected(made.error());
  return schema_in(**connection);
}

Result<void> compare_schema(Connection& connection, std::span<const Migration> migrations,
                            std::vector<std::string>& problems) {
  const Result<Schema> wanted = schema_made_by(migrations);
  if (!wanted) return tl::make_unexpected(wanted.error());
  const Result<Schema> found = schema_in(connection);
  if (!found) return tl::make_unexpected(found.error());
  for (const auto& [name, sql] : *wanted) {
    const auto there = found->find(name);
    if (there == found->end()) problems.push_back("the " + name + " is missing");
    else if (there->second != sql) problems.push_back("the " + name + " was made otherwise");
  }
  for (const auto& [name, sql] : *found)
    if (!wanted->contains(name)) problems.push_back("the " + name + " is not Baton's");
  return {};
}

Result<void> check_pages(Connection& connection, std::vector<std::string>& problems) {
  Result<Statement> statement = Statement::prepare(connection.database(), kIntegrityCheck, kDoing);
  if (!statement) return tl::make_unexpected(statement.error());
  while (true) {
    const Result<bool> row = statement->step();
    if (!row) return tl::make_unexpected(row.error());
    if (!*row) return {};
    if (statement->bytes(0) != "ok") problems.emplace_back(statement->bytes(0));
  }
}

}  // namespace

Result<std::vector<std::string>> check_integrity(Connection& connection, std::span<const Migration> migrations) {
  std::vector<std::string> problems;
  // Through the schema as it is: one that lacks an index has nothing to say of it.
  if (Result<void> done = compare_schema(connection, migrations, problems); !done)
    return tl::make_unexpected(done.error());
  if (Result<void> done = check_pages(connection, problems); !done) return tl::make_unexpected(done.error());
  for (const UnreadRows& one : unread_rows()) {
    const std::string sql = "SELECT count(*) FROM " + std::string(one.table) + " WHERE " + std::string(one.where);
    const Result<std::int64_t> count = connection.number(sql, kDoing);
    if (!count) return tl::make_unexpected(count.error());
    if (auto problem = unread_rows_problem(one.table, static_cast<std::uint64_t>(*count)))
      problems.push_back(std::move(*problem));
  }
  return problems;
}

}  // namespace baton::store::sqlite
