// SPDX-License-Identifier: Apache-2.0
// The peers of the ledger's benchmark: the same bytes put into the same databases by nothing but a group commit.
// No hash, no seal, no head, no queue of use cases: what the database itself takes.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace baton::bench {

// The columns of an entry.
struct RawRow {
  std::string stream, type, actor_id, actor_kind, payload, previous, hash;
  std::int64_t time = 0;
};

// SQLite, WAL, synchronous=FULL: one thread inserts whatever has been queued and commits once for all of it.
class RawSqlite {
 public:
  explicit RawSqlite(const std::filesystem::path& file);
  ~RawSqlite();
  // Returns when the row is on disk.
  void put(const RawRow& row);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// PostgreSQL: pipelined INSERTs on one connection, `batch` rows a transaction. Rows a second over `seconds`; 0 when there is
// no server.
double raw_postgres_rows_per_s(const std::string& url, const RawRow& row, std::size_t batch, double seconds);

}  // namespace baton::bench
