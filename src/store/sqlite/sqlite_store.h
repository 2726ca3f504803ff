// SPDX-License-Identifier: Apache-2.0
// The store in a folder: an SQLite database `ledger.db` and, beside it, SQLite's own -wal and -shm, the `lock` of the
// process that writes and the file `changed` that it tells others with.
//
// One process writes, through one connection, which alone copies the log into the database (checkpoints): SQLite has a
// known fault when two do (sqlite.org/wal.html#walresetbug). Any number of processes read, beside it or without it, each
// Reader on a connection of its own that cannot write. A Reader that lives long keeps the log from being used again from
// its start, so the log grows: read, and let it go.
//
// A commit is on disk when it returns (WAL, synchronous=FULL). The folder is made with mode 0700, its files with 0600.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "store/migrations.h"
#include "store/store.h"

namespace baton::store {

struct SqliteOptions {
  enum class Mode {
    Write,     // takes the lock, brings the schema up to date
    ReadOnly,  // takes no lock; begin() is refused
  };

  std::filesystem::path folder;
  Mode mode = Mode::Write;
  bool create = false;                                          // the folder and the database, when they are not there
  Clock& clock;                                                 // outlives the store
  std::string vfs = {};                                         // for tests: the SQLite VFS; empty is the default
  std::span<const Migration> migrations = store::migrations();  // for tests: another schema; outlives the store
};

// Failures: STORE_NOT_FOUND (nothing there, and not to be created), STORE_LOCATION (something else is there),
// STORE_LOCKED (names the pid), STORE_READ_ONLY, STORE_NEWER, STORE_CORRUPT, STORE_FULL, STORE_IO.
//
// ReadOnly works without a writer, and in a folder or on a medium that cannot be written. Only when a writer ended
// without clearing up its log there, and SQLite can make no -shm to read it with, it is refused with STORE_READ_ONLY.
Result<std::unique_ptr<Store>> open_sqlite_store(const SqliteOptions& options);

}  // namespace baton::store
