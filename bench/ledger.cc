// SPDX-License-Identifier: Apache-2.0
// `./dev bench ledger`: what recording and verifying cost, beside the database alone and the hash alone. What the rows
// mean: README.md
//
//   bench_ledger [--benchmark_out=FILE]      (FILE: build/bench/ledger.json)
//
// BATON_TEST_POSTGRES (from tests/with_postgres.py) is the server to measure on; without it those rows are left out.
// BATON_BENCH_ENTRIES bounds the largest ledger (10,000,000 unless said otherwise).
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/clock.h"
#include "base/random.h"
#include "base/sha256.h"
#include "ledger/entry.h"
#include "load.h"
#include "raw_stores.h"
#include "report.h"
#include "runtime/ledger.h"
#include "runtime/verify.h"
#include "store/postgres/postgres_store.h"
#include "store/sqlite/sqlite_store.h"
#include "timing.h"

namespace baton::bench {
namespace {

namespace fs = std::filesystem;

constexpr double kRoundSeconds = 1.0;
constexpr int kRounds = 5;

// An entry of about 300 bytes as it is hashed: a session's call, as most entries will be.
runtime::Happening happening(int stream, std::uint64_t number) {
  runtime::Happening out{"session/s-" + std::to_string(stream), "note.call", {"agent-7", ledger::ActorKind::Agent}};
  out.payload.set("arguments_sha256", "9f86d081884c7d659a2feaa0c55ad015");
  out.payload.set("number", number);
  out.payload.set("tool", "read_file");
  return out;
}

RawRow raw_row(int stream, std::uint64_t number) {
  const runtime::Happening one = happening(stream, number);
  const auto prepared = ledger::prepare_payload(one.payload);
  insist(prepared.has_value(), "the payload");
  return {one.stream,           one.type,
          one.actor.id,         "agent",
          prepared->payload,    std::string(32, 'p'),
          std::string(32, 'h'), 1'800'000'000'000'000'000};
}

struct OpenLedger {
  std::unique_ptr<store::Store> store;
  std::unique_ptr<runtime::Ledger> ledger;
};

OpenLedger open_ledger(Result<std::unique_ptr<store::Store>> store, const fs::path& keys, Clock& clock,
                       Random& random) {
  insist(store.has_value(), store ? "" : store.error().text());
  auto ledger = runtime::Ledger::open(**store, clock, random, {keys, {}});
  insist(ledger.has_value(), ledger ? "" : ledger.error().text());
  return {std::move(*store), std::move(*ledger)};
}

void record(runtime::Writer& writer, int stream, std::uint64_t number) {
  const auto prepared = runtime::prepare(happening(stream, number));
  insist(prepared.has_value(), "the payload");
  const auto done = writer.run([&](runtime::Unit& unit) { return unit.append(*prepared); });
  insist(done.has_value(), done ? "" : done.error().text());
}

// --- appending ------------------------------------------------------------------------------------------------------------

void measure_sqlite(std::vector<Row>& rows, Clock& clock, Random& random) {
  Folder folder("ledger-sqlite");
  const OpenLedger open =
      open_ledger(store::open_sqlite_store({.folder = folder.path / "store", .create = true, .clock = clock}),
                  folder.path / "keys", clock, random);
  RawSqlite raw(folder.path / "raw.db");
  std::vector<RawRow> samples;
  for (int i = 0; i < 64; ++i) samples.push_back(raw_row(i, 1234));
  for (const int threads : {1, 16, 64}) {
    // Turn by turn, so that what disturbs the disk disturbs both.
    std::vector<double> ours, theirs;
    for (int round = 0; round < kRounds; ++round) {
      ours.push_back(
          per_second(threads, kRoundSeconds, [&](int i, std::uint64_t k) { record(open.ledger->writer(), i, k); }));
      theirs.push_back(per_second(threads, kRoundSeconds,
                                  [&](int i, std::uint64_t) { raw.put(samples[static_cast<std::size_t>(i)]); }));
    }
    std::sort(ours.begin(), ours.end());
    std::sort(theirs.begin(), theirs.end());
    rows.push_back({.metric = "SQLite, durable entries, " + std::to_string(threads) + " at once",
                    .value = ours.back(),
                    .unit = "entries/s",
                    .peer = "raw SQLite group commit",
                    .peer_value = theirs.back(),
                    .of = Row::Ratio::OursByPeer,
                    .at_least = 0.7,
                    .median = ours[kRounds / 2]});
  }
}

void measure_postgres(std::vector<Row>& rows, Clock& clock, Random& random) {
  const char* url = std::getenv("BATON_TEST_POSTGRES");
  if (url == nullptr) {
    std::fprintf(stderr, "bench_ledger: no PostgreSQL server: its rows are left out\n");
    return;
  }
  Folder folder("ledger-postgres");
  store::PostgresOptions options;
  options.url = url;
  options.create = true;
  const OpenLedger open = open_ledger(store::open_postgres_store(options), folder.path / "keys", clock, random);
  for (const int threads : {1, 16, 64}) {
    std::vector<double> ours, theirs;
    for (int round = 0; round < kRounds; ++round) {
      ours.push_back(
          per_second(threads, kRoundSeconds, [&](int i, std::uint64_t k) { record(open.ledger->writer(), i, k); }));
      theirs.push_back(
          raw_postgres_rows_per_s(url, raw_row(0, 1234), static_cast<std::size_t>(threads), kRoundSeconds));
    }
    rows.push_back({.metric = "PostgreSQL, durable entries, " + std::to_string(threads) + " at once",
                    .value = *std::max_element(ours.begin(), ours.end()),
                    .unit = "entries/s",
                    .peer = "raw pipelined INSERTs, " + std::to_string(threads) + " a transaction",
                    .peer_value = *std::max_element(theirs.begin(), theirs.end()),
                    .of = Row::Ratio::OursByPeer});
  }
}

// --- growing and verifying --------------------------------------------------------------------------------------------------

// Makes the ledger longer, in large commits: nobody waits for these.
void grow(runtime::Writer& writer, std::uint64_t& entries, std::uint64_t to) {
  constexpr std::uint64_t kCommit = 512;
  while (entries < to) {
    const std::uint64_t count = std::min(kCommit, to - entries);
    const auto done = writer.run([&](runtime::Unit& unit) -> Result<void> {
      for (std::uint64_t i = 0; i < count; ++i)
        if (auto appended = unit.append(happening(static_cast<int>((entries + i) % 1000), entries + i)); !appended)
          return appended;
      return {};
    });
    insist(done.has_value(), done ? "" : done.error().text());
    entries += count;
  }
}

void measure_verify(std::vector<Row>& rows, store::Store& store, std::uint64_t entries) {
  // The bytes that are hashed, all in memory, hashed by nothing but SHA-256: on as many threads as verify has.
  std::vector<std::string> bodies;
  const auto reader = store.reader();
  insist(reader.has_value(), "a reader");
  (void)(*reader)->entries(1000, 5095, [&](const store::EntryRow& row) {
    bodies.emplace_back();
    ledger::append_body(bodies.back(), row);
    return true;
  });
  std::size_t bytes = 0;
  for (const std::string& body : bodies) bytes += body.size();
  double best = 0, hash_best = 0;
  for (int round = 0; round < 3; ++round) {
    const auto start = Steady::now();
    const auto report = runtime::verify(store, {.ask_witnesses = false, .threads = 2});
    insist(report && !report->broken && report->entries == entries, "verify does not find the ledger whole");
    best = std::max(best, static_cast<double>(entries) / seconds_since(start));
    hash_best = std::max(hash_best, 4096.0 * per_second(2, 0.5, [&](int, std::uint64_t) {
                                      for (const std::string& body : bodies) keep(sha256(body));
                                    }));
  }
  rows.push_back({.metric = "verify, " + std::to_string(entries) + " entries of " +
                            std::to_string(bytes / bodies.size()) + " bytes, 512 a seal, 2 threads",
                  .value = best,
                  .unit = "entries/s",
                  .peer = "SHA-256 of the same bytes, 2 threads",
                  .peer_value = hash_best,
                  .of = Row::Ratio::OursByPeer});
  rows.push_back({.metric = "verify against the goal of a million a second",
                  .value = best,
                  .unit = "entries/s",
                  .peer = "1,000,000 entries/s",
                  .peer_value = 1e6,
                  .of = Row::Ratio::OursByPeer,
                  .at_least = 1.0});
}

void measure_growth(std::vector<Row>& rows, Clock& clock, Random& random) {
  const char* most = std::getenv("BATON_BENCH_ENTRIES");
  const std::uint64_t largest = most == nullptr ? 10'000'000 : std::strtoull(most, nullptr, 10);
  Folder folder("ledger-growth");
  OpenLedger open =
      open_ledger(store::open_sqlite_store({.folder = folder.path / "store", .create = true, .clock = clock}),
                  folder.path / "keys", clock, random);
  std::uint64_t entries = 1;
  double first = 0;
  for (const std::uint64_t size : {std::uint64_t{10'000}, std::uint64_t{1'000'000}, std::uint64_t{10'000'000}}) {
    if (size > largest) break;
    std::fprintf(stderr, "growing the ledger to %llu entries\n", static_cast<unsigned long long>(size));
    grow(open.ledger->writer(), entries, size);
    // CPU time as well as the disk's: what a commit of 16 costs an entry.
    double best = 0;
    for (int round = 0; round < kRounds; ++round) {
      std::atomic<std::uint64_t> added = 0;
      const double rate = per_second(16, kRoundSeconds, [&](int i, std::uint64_t k) {
        record(open.ledger->writer(), i, k);
        added.fetch_add(1);
      });
      entries += added.load();
      best = std::max(best, rate);
    }
    const double cost = 1e6 / best;
    if (first == 0) first = cost;
    rows.push_back({.metric = "append at " + std::to_string(size) + " entries, 16 at once",
                    .value = cost,
                    .unit = "us/entry",
                    .peer = "the same at 10000 entries",
                    .peer_value = first,
                    .of = Row::Ratio::OursByPeer,
                    .at_most = 1.2});
  }
}

// A ledger of a million entries in commits of 512.
void measure_verify(std::vector<Row>& rows, Clock& clock, Random& random) {
  Folder folder("ledger-verify");
  OpenLedger open =
      open_ledger(store::open_sqlite_store({.folder = folder.path / "store", .create = true, .clock = clock}),
                  folder.path / "keys", clock, random);
  std::uint64_t entries = 1;
  grow(open.ledger->writer(), entries, 1'000'000);
  measure_verify(rows, *open.store, entries);
}

int run(const std::string& out) {
  SystemClock clock;
  SystemRandom random;
  std::vector<Row> rows;
  // BATON_BENCH_ONLY, for whoever works on one of them: sqlite, postgres, verify or growth.
  const char* only = std::getenv("BATON_BENCH_ONLY");
  const auto wanted = [only](std::string_view part) { return only == nullptr || part == only; };
  if (wanted("sqlite")) measure_sqlite(rows, clock, random);
  if (wanted("postgres")) measure_postgres(rows, clock, random);
  if (wanted("verify")) measure_verify(rows, clock, random);
  if (wanted("growth")) measure_growth(rows, clock, random);
  print_table(rows);
  return out.empty() || write_json(rows, out) ? 0 : 1;
}

}  // namespace
}  // namespace baton::bench

int main(int argc, char** argv) { return baton::bench::run(baton::bench::out_file(argc, argv)); }
