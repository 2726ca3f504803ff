// SPDX-License-Identifier: Apache-2.0
// ledger_load LOCATION KEYS THREADS SECONDS SEED: writes to a ledger from many threads until it is killed or the time is
// over. For the crash tests (crash_test.py): every acknowledged use case is a line on standard output, written after the
// acknowledgement; each use case is four entries, a blob and a row, all or nothing.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/sha256.h"
#include "runtime/ledger.h"
#include "runtime/ledger_events.h"
#include "store/postgres/postgres_store.h"
#include "store/sqlite/sqlite_store.h"

namespace {

namespace runtime = baton::runtime;
namespace store = baton::store;
namespace ledger = baton::ledger;
using baton::Clock;
using baton::Failure;
using baton::Result;
using Steady = std::chrono::steady_clock;

Result<std::unique_ptr<store::Store>> open_store(const std::string& location, Clock& clock) {
  if (location.starts_with("postgresql://")) {
    store::PostgresOptions options;
    options.url = location;
    options.create = true;
    return store::open_postgres_store(options);
  }
  return store::open_sqlite_store({.folder = location, .create = true, .clock = clock});
}

runtime::Happening part(const std::string& id, int number, const std::string& text) {
  runtime::Happening out{id, "note.part", {"load", ledger::ActorKind::Agent}};
  out.payload.set("part", number);
  out.payload.set("text", text);
  return out;
}

runtime::UseCase use_case(const std::string& id) {
  return [id](runtime::Unit& unit) -> Result<void> {
    if (auto one = unit.append(part(id, 1, "begins")); !one) return one;
    if (auto two = unit.append(part(id, 2, id + std::string(9000, 'x'))); !two) return two;  // goes into a blob
    runtime::Happening row{id, std::string(runtime::kBlobErased), {"load", ledger::ActorKind::Operator}};
    row.payload.set("reason", "only a row for the test");
    row.payload.set("sha256", baton::sha256_hex(id));
    if (auto three = unit.append(row); !three) return three;
    return unit.append(part(id, 4, "ends"));
  };
}

void say(const std::string& line) {
  // One write: a line is there whole or not at all.
  if (::write(STDOUT_FILENO, line.data(), line.size()) != static_cast<ssize_t>(line.size())) std::_Exit(3);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  const std::string location = argv[1], seed = argv[5];
  const int threads = std::atoi(argv[3]);
  const auto end = Steady::now() + std::chrono::milliseconds(static_cast<long>(std::atof(argv[4]) * 1000));
  baton::SystemClock clock;
  baton::SystemRandom random;
  const auto fail = [](const Failure& failure) {
    std::fprintf(stderr, "ledger_load: %s\n", failure.text().c_str());
    return 1;
  };
  auto store = open_store(location, clock);
  if (!store) return fail(store.error());
  auto opened = runtime::Ledger::open(**store, clock, random, {argv[2], {}});
  if (!opened) return fail(opened.error());
  say("open\n");
  std::atomic<int> failures = 0;
  std::vector<std::thread> writers;
  for (int i = 0; i < threads; ++i)
    writers.emplace_back([&, i] {
      for (int k = 0; Steady::now() < end; ++k) {
        const std::string id = "load/" + seed + "-" + std::to_string(i) + "-" + std::to_string(k);
        const auto done = (*opened)->writer().run(use_case(id));
        if (done) {
          say(id + "\n");
          continue;
        }
        ++failures;
        // The server is away for a moment in some of the tests: no spinning, but it goes on.
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        if (failures.load() <= 3) std::fprintf(stderr, "ledger_load: %s\n", done.error().text().c_str());
      }
    });
  for (std::thread& writer : writers) writer.join();
  say("done " + std::to_string(failures.load()) + "\n");
  return 0;
}
