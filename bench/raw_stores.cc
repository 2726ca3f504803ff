// SPDX-License-Identifier: Apache-2.0
#include "raw_stores.h"

#include <libpq-fe.h>
#include <semaphore.h>
#include <sqlite3.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace baton::bench {
namespace {

void insist(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "bench_ledger: the peer failed: %s\n", what);
  std::exit(1);
}

}  // namespace

struct RawSqlite::Impl {
  struct Waiting {
    const RawRow* row;
    sem_t* done;
  };

  sqlite3* database = nullptr;
  sqlite3_stmt *begin = nullptr, *insert = nullptr, *commit = nullptr;
  std::int64_t next = 1;
  std::mutex mutex;
  std::condition_variable wake;
  std::vector<Waiting> queue;
  bool ending = false;
  std::thread thread;

  void run(const char* text) { insist(sqlite3_exec(database, text, nullptr, nullptr, nullptr) == SQLITE_OK, text); }
  sqlite3_stmt* prepare(const char* text) {
    sqlite3_stmt* statement = nullptr;
    insist(sqlite3_prepare_v3(database, text, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr) == SQLITE_OK, text);
    return statement;
  }
  static void step(sqlite3_stmt* statement) {
    insist(sqlite3_step(statement) == SQLITE_DONE, "a statement");
    sqlite3_reset(statement);
  }
  static void text(sqlite3_stmt* statement, int at, const std::string& value) {
    sqlite3_bind_text(statement, at, value.data(), static_cast<int>(value.size()), SQLITE_STATIC);
  }
  static void blob(sqlite3_stmt* statement, int at, const std::string& value) {
    sqlite3_bind_blob(statement, at, value.data(), static_cast<int>(value.size()), SQLITE_STATIC);
  }

  void put(const RawRow& row) {
    sqlite3_bind_int64(insert, 1, next++);
    text(insert, 2, row.stream);
    text(insert, 3, row.type);
    text(insert, 4, row.actor_id);
    text(insert, 5, row.actor_kind);
    sqlite3_bind_int64(insert, 6, row.time);
    text(insert, 7, row.payload);
    blob(insert, 8, row.previous);
    blob(insert, 9, row.hash);
    step(insert);
  }

  void work() {
    std::vector<Waiting> batch;
    while (true) {
      batch.clear();
      {
        std::unique_lock lock(mutex);
        wake.wait(lock, [this] { return ending || !queue.empty(); });
        if (queue.empty()) return;
        batch.swap(queue);
      }
      step(begin);
      for (const Waiting& one : batch) put(*one.row);
      step(commit);
      for (const Waiting& one : batch) sem_post(one.done);
    }
  }
};

RawSqlite::RawSqlite(const std::filesystem::path& file) : impl_(std::make_unique<Impl>()) {
  insist(sqlite3_open(file.c_str(), &impl_->database) == SQLITE_OK, "opening SQLite");
  impl_->run("PRAGMA journal_mode=WAL");
  impl_->run("PRAGMA synchronous=FULL");
  impl_->run(
      "CREATE TABLE entries (sequence INTEGER NOT NULL PRIMARY KEY, stream TEXT NOT NULL, type TEXT NOT NULL, actor_id "
      "TEXT "
      "NOT NULL, actor_kind TEXT NOT NULL, time INTEGER NOT NULL, payload TEXT NOT NULL, previous BLOB NOT NULL, hash "
      "BLOB "
      "NOT NULL) STRICT");
  impl_->begin = impl_->prepare("BEGIN IMMEDIATE");
  impl_->insert = impl_->prepare("INSERT INTO entries VALUES (?,?,?,?,?,?,?,?,?)");
  impl_->commit = impl_->prepare("COMMIT");
  impl_->thread = std::thread([impl = impl_.get()] { impl->work(); });
}

RawSqlite::~RawSqlite() {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->ending = true;
  }
  impl_->wake.notify_one();
  impl_->thread.join();
  sqlite3_finalize(impl_->begin);
  sqlite3_finalize(impl_->insert);
  sqlite3_finalize(impl_->commit);
  sqlite3_close(impl_->database);
}

void RawSqlite::put(const RawRow& row) {
  // Not std::binary_semaphore: it yields the processor some times before it sleeps, which would slow the peer down.
  sem_t done;
  sem_init(&done, 0, 0);
  bool first = false;
  {
    const std::lock_guard lock(impl_->mutex);
    first = impl_->queue.empty();
    impl_->queue.push_back({&row, &done});
  }
  if (first) impl_->wake.notify_one();
  while (sem_wait(&done) != 0) {
  }
  sem_destroy(&done);
}

double raw_postgres_rows_per_s(const std::string& url, const RawRow& row, std::size_t batch, double seconds) {
  PGconn* connection = PQconnectdb(url.c_str());
  insist(PQstatus(connection) == CONNECTION_OK, "connecting to PostgreSQL");
  const auto run = [&](const char* text) {
    PGresult* result = PQexec(connection, text);
    const ExecStatusType status = PQresultStatus(result);
    insist(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK, text);
    PQclear(result);
  };
  run("DROP TABLE IF EXISTS raw_entries");
  run("CREATE TABLE raw_entries (sequence BIGINT NOT NULL PRIMARY KEY, stream TEXT NOT NULL, type TEXT NOT NULL, "
      "actor_id TEXT "
      "NOT NULL, actor_kind TEXT NOT NULL, time BIGINT NOT NULL, payload TEXT NOT NULL, previous BYTEA NOT NULL, hash "
      "BYTEA "
      "NOT NULL)");
  PQclear(PQprepare(connection, "put", "INSERT INTO raw_entries VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9)", 9, nullptr));
  insist(PQenterPipelineMode(connection) == 1, "pipeline mode");
  using Clock = std::chrono::steady_clock;
  const auto started = Clock::now();
  std::uint64_t rows = 0;
  double elapsed = 0;
  while (elapsed < seconds) {
    for (std::size_t i = 0; i < batch; ++i) {
      const std::string sequence = std::to_string(++rows), time = std::to_string(row.time);
      const char* values[] = {sequence.c_str(),     row.stream.c_str(),     row.type.c_str(),
                              row.actor_id.c_str(), row.actor_kind.c_str(), time.c_str(),
                              row.payload.c_str(),  row.previous.data(),    row.hash.data()};
      const int lengths[] = {
          0, 0, 0, 0, 0, 0, 0, static_cast<int>(row.previous.size()), static_cast<int>(row.hash.size())};
      const int formats[] = {0, 0, 0, 0, 0, 0, 0, 1, 1};
      insist(PQsendQueryPrepared(connection, "put", 9, values, lengths, formats, 0) == 1, "sending");
    }
    insist(PQpipelineSync(connection) == 1, "sync");
    for (bool synced = false; !synced;) {
      PGresult* result = PQgetResult(connection);
      if (result == nullptr) continue;
      const ExecStatusType status = PQresultStatus(result);
      insist(status == PGRES_COMMAND_OK || status == PGRES_PIPELINE_SYNC, "inserting");
      synced = status == PGRES_PIPELINE_SYNC;
      PQclear(result);
    }
    elapsed = std::chrono::duration<double>(Clock::now() - started).count();
  }
  PQfinish(connection);
  return static_cast<double>(rows) / elapsed;
}

}  // namespace baton::bench
