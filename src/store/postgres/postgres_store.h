// SPDX-License-Identifier: Apache-2.0
// A store in a PostgreSQL database, for any number of nodes on any number of machines, without a leader: rows that a
// transaction reads are locked, and whoever appends holds the head until he commits.
//
// Needs PostgreSQL's client library (libpq) at run time and a database with the encoding UTF8. The tables lie in the
// connection's default schema. A commit that was confirmed is on the server's disk, whatever its synchronous_commit says
// (what its fsync says is the operator's).
//
// The server's clock counts. NOTIFY `baton_changed` wakes the other nodes. A connection that breaks is replaced; a
// transaction in it fails with STORE_UNAVAILABLE. When that is what commit() returns, the transaction may have been
// committed or not: the head tells.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "store/migrations.h"
#include "store/store.h"

namespace baton::store {

struct PostgresOptions {
  enum class Mode {
    Write,     // brings the schema up to date
    ReadOnly,  // changes nothing, and needs no more than the right to read; begin() is refused
  };

  std::string url = {};  // postgresql://user:password@host:port/database; what it does not say is libpq's default
  Mode mode = Mode::Write;
  bool create = false;  // the tables, when they are not there; not the database

  std::size_t connections_max = 16;  // of readers and transactions; the one that listens comes on top
  int connect_silence_ms =
      10'000;                    // the longest silence of a server while connecting; how long to wait for one of these
  int lock_timeout_ms = 60'000;  // how long to wait for a row or the head that another node holds: then STORE_CONFLICT
  int idle_transaction_ms = 60'000;  // how long a transaction may do nothing before the server ends it
  std::string libpq = "libpq.so.5";  // for tests: another name
  std::span<const Migration> migrations = store::migrations();  // for tests: another schema; outlives the opening
};

// Failures: STORE_LOCATION (no such URL, or another encoding), STORE_UNAVAILABLE (also when libpq is not installed),
// STORE_NOT_FOUND (nothing there, and not to be created), STORE_NEWER, STORE_READ_ONLY (also an older schema that may not
// be changed).
Result<std::unique_ptr<Store>> open_postgres_store(const PostgresOptions& options);

}  // namespace baton::store
