// SPDX-License-Identifier: Apache-2.0
#include "store_backends.h"

#include "base/check.h"
#include "postgres_server.h"
#include "store/memory/memory_store.h"
#include "store/postgres/postgres_store.h"
#include "store/sqlite/sqlite_store.h"
#include "temporary_folder.h"

namespace baton::store {
namespace {

class MemoryTestStore final : public TestStore {
 public:
  explicit MemoryTestStore(Clock& clock) : store_(make_memory_store(clock)) {}
  Store& store() override { return *store_; }
  void reopen() override { CHECK(!"a memory store ends with its process"); }

 private:
  std::unique_ptr<Store> store_;
};

// The migrations of a store, and one that makes further tables.
class TestMigrations {
 public:
  explicit TestMigrations(std::span<const Table* const> more) : all_(migrations().begin(), migrations().end()) {
    for (const Table* table : more)
      for (std::string& statement : table_statements(*table)) texts_.push_back(std::move(statement));
    statements_.assign(texts_.begin(), texts_.end());
    if (!more.empty()) all_.push_back({schema_version() + 1, "tables of the tests", statements_});
  }
  std::span<const Migration> all() const { return all_; }

 private:
  std::vector<std::string> texts_;
  std::vector<std::string_view> statements_;
  std::vector<Migration> all_;
};

class SqliteTestStore final : public TestStore {
 public:
  SqliteTestStore(Clock& clock, std::span<const Table* const> more) : clock_(clock), migrations_(more) { open(); }
  Store& store() override { return *store_; }
  void reopen() override {
    store_.reset();
    open();
  }

 private:
  void open() {
    Result<std::unique_ptr<Store>> opened = open_sqlite_store(
        {.folder = folder_.path() / "store", .create = true, .clock = clock_, .migrations = migrations_.all()});
    CHECK(opened.has_value());
    store_ = std::move(*opened);
  }

  Clock& clock_;
  TemporaryFolder folder_{TemporaryFolder::Place::Memory};
  TestMigrations migrations_;
  std::unique_ptr<Store> store_;
};

class PostgresTestStore final : public TestStore {
 public:
  explicit PostgresTestStore(std::span<const Table* const> more) : migrations_(more) { open(); }
  Store& store() override { return *store_; }
  void reopen() override {
    store_.reset();
    open();
  }

 private:
  void open() {
    Result<std::unique_ptr<Store>> opened =
        open_postgres_store({.url = url_, .create = true, .migrations = migrations_.all()});
    CHECK(opened.has_value());
    store_ = std::move(*opened);
  }

  const std::string url_ = new_schema_url();
  TestMigrations migrations_;
  std::unique_ptr<Store> store_;
};

std::string joined_names(const Table& table, std::span<const std::size_t> columns) {
  std::string out;
  for (const std::size_t column : columns) {
    if (!out.empty()) out += ", ";
    out.append(table.columns[column].name);
  }
  return out;
}

}  // namespace

std::vector<Backend> backends() {
  std::vector<Backend> all;
  all.push_back({.name = "memory", .make = [](Clock& clock, std::span<const Table* const>) {
                   return std::make_unique<MemoryTestStore>(clock);
                 }});
  all.push_back({.name = "sqlite", .durable = true, .make = [](Clock& clock, std::span<const Table* const> more) {
                   return std::make_unique<SqliteTestStore>(clock, more);
                 }});
  if (has_postgres_server())
    all.push_back(
        {.name = "postgres",
         .durable = true,
         .one_transaction = false,
         .takes_our_clock = false,
         .make = [](Clock&, std::span<const Table* const> more) { return std::make_unique<PostgresTestStore>(more); }});
  return all;
}

std::vector<std::string> table_statements(const Table& table) {
  std::string create = "CREATE TABLE ";
  create.append(table.name).append(" (");
  std::vector<std::size_t> key;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const Column& column = table.columns[i];
    create.append(column.name);
    create += column.type == Type::Integer ? " {integer}" : column.type == Type::Text ? " {text}" : " {bytes}";
    if (!column.nullable) create += " NOT NULL";
    create += ", ";
    if (i < table.key_columns) key.push_back(i);
  }
  create += "PRIMARY KEY (" + joined_names(table, key) + ")){strict}";
  std::vector<std::string> statements = {std::move(create)};
  for (const Index& index : table.indexes) {
    std::string name(index.name);
    statements.push_back("CREATE INDEX " + name + " ON " + std::string(table.name) + " (" +
                         joined_names(table, index.columns) + ")");
  }
  return statements;
}

}  // namespace baton::store
