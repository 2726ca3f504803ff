// SPDX-License-Identifier: Apache-2.0
// The one connection that writes a store, and the transaction on it.
#pragma once

#include <memory>

#include "base/clock.h"
#include "store/sqlite/change_signal.h"
#include "store/sqlite/connection.h"
#include "store/store.h"
#include "store/waiting.h"

namespace baton::store::sqlite {

// When the log is copied into the database: at the end of a commit, whenever the log has grown by kLogPages since the
// last time. SQLite's own rule (wal_autocheckpoint) would try at every commit while readers keep a long log from being
// begun anew, and pay for it with two syncs each time.
class Checkpoints {
 public:
  void install(Connection& connection);

 private:
  // A page that changes often is copied once for many commits. 4,000 is as many as the first block of the log's index
  // holds (4,062), so that readers look up a page in one hash table; and the log stays at 16 MiB.
  static constexpr int kLogPages = 4'000;

  static int committed(void* self, sqlite3* database, const char* name, int log_pages);
  int last_ = 0;
  int next_ = kLogPages;
};

struct Writer {
  explicit Writer(Clock& clock_given) : clock(clock_given) {}

  Clock& clock;
  Checkpoints checkpoints;  // outlives the connection
  std::unique_ptr<Connection> connection;
  Turn turn;  // for the connection
  Growth growth;
  ChangeSignal signal;
};

// Waits for the transaction before. The writer outlives the transaction.
Result<std::unique_ptr<Transaction>> begin(Writer& writer);

}  // namespace baton::store::sqlite
