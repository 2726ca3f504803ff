// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/schema.h"

#include <string>

#include "diagnostics/diagnostic.h"

namespace baton::store::sqlite {
namespace {

constexpr SqlWords kWords = {
    .integer = "INTEGER", .text = "TEXT", .bytes = "BLOB", .strict = " STRICT", .keyed = ", WITHOUT ROWID"};

Result<void> run_all(Connection& connection, int found, std::span<const Migration> migrations) {
  for (const Migration& migration : migrations) {
    if (migration.number <= found) continue;
    const std::string doing = "making schema " + std::to_string(migration.number);
    for (const std::string_view statement : migration.statements)
      if (Result<void> made = connection.run(in_words(statement, kWords), doing); !made) return made;
  }
  const std::string number = std::to_string(migrations.back().number);
  return connection.run(
      "PRAGMA application_id = " + std::to_string(kApplicationId) + "; PRAGMA user_version = " + number,
      "numbering the schema");
}

}  // namespace

Result<int> schema_of(Connection& connection, const std::filesystem::path& folder,
                      std::span<const Migration> migrations) {
  const std::string doing = "opening the store " + folder.string();
  const Result<std::int64_t> tables = connection.number("SELECT count(*) FROM sqlite_schema", doing);
  if (!tables) return tl::make_unexpected(tables.error());
  const Result<std::int64_t> application = connection.number("PRAGMA application_id", doing);
  if (!application) return tl::make_unexpected(application.error());
  const Result<std::int64_t> version = connection.number("PRAGMA user_version", doing);
  if (!version) return tl::make_unexpected(version.error());
  // A store whose making was cut short has nothing in it: whoever writes finishes it.
  if (*tables == 0 && *application == 0 && *version == 0) return 0;
  const std::string location = folder.string();
  if (*application != kApplicationId)
    return failure_of(Code::STORE_LOCATION, doing,
                      {{"location", location}, {"problem", "ledger.db is a database of another program"}});
  const int known = migrations.back().number;
  if (*version > known)
    return failure_of(Code::STORE_NEWER, doing,
                      {{"found", std::to_string(*version)}, {"known", std::to_string(known)}});
  if (*version < 1) return failure_of(Code::STORE_CORRUPT, doing, {{"problem", "it has no schema"}});
  return static_cast<int>(*version);
}

Result<void> migrate(Connection& connection, int found, std::span<const Migration> migrations) {
  if (found >= migrations.back().number) return {};
  Result<void> done = connection.run(Fixed::BeginImmediate);
  if (!done) return done;
  done = run_all(connection, found, migrations);
  if (done) done = connection.run(Fixed::Commit);
  if (!done && connection.in_transaction()) (void)connection.run(Fixed::Rollback);
  return done;
}

}  // namespace baton::store::sqlite
