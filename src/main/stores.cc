// SPDX-License-Identifier: Apache-2.0
#include "main/stores.h"

#include "store/memory/memory_store.h"
#include "store/postgres/postgres_store.h"
#include "store/sqlite/sqlite_store.h"

namespace baton::main {

Result<std::unique_ptr<store::Store>> RealStores::open(const std::string& location, Access access) {
  const bool create = access == Access::Create;
  if (location.starts_with("postgresql://") || location.starts_with("postgres://")) {
    store::PostgresOptions options;
    options.url = location;
    options.mode =
        access == Access::Read ? store::PostgresOptions::Mode::ReadOnly : store::PostgresOptions::Mode::Write;
    options.create = create;
    return store::open_postgres_store(options);
  }
  using Mode = store::SqliteOptions::Mode;
  return store::open_sqlite_store({.folder = location,
                                   .mode = access == Access::Read ? Mode::ReadOnly : Mode::Write,
                                   .create = create,
                                   .clock = clock_});
}

std::unique_ptr<store::Store> RealStores::in_memory() { return store::make_memory_store(clock_); }

}  // namespace baton::main
