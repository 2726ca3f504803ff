// SPDX-License-Identifier: Apache-2.0
// The connections of a store: made when they are needed, kept for the next one who needs one, dropped when they break.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "base/result.h"
#include "store/postgres/connection.h"

namespace baton::store::postgres {

class Pool;

// A connection for one owner; goes back to the pool with it. Whoever lets go has ended his transaction.
class Lease {
 public:
  Lease(Pool& pool, std::unique_ptr<Connection> connection) : pool_(&pool), connection_(std::move(connection)) {}
  ~Lease();
  Lease(Lease&&) = default;
  Lease& operator=(Lease&&) = delete;

  Connection* operator->() const { return connection_.get(); }
  Connection& operator*() const { return *connection_; }

 private:
  Pool* pool_;
  std::unique_ptr<Connection> connection_;
};

// For any number of threads.
class Pool {
 public:
  Pool(std::shared_ptr<const Libpq> libpq, Target target, const ConnectionOptions& options,
       std::size_t connections_max);

  // Waits while all connections are in use, as long as a server may be silent. `verb` says what for, as in "reading".
  Result<Lease> take(std::string_view verb);

 private:
  friend class Lease;
  void give_back(std::unique_ptr<Connection> connection);

  const std::shared_ptr<const Libpq> libpq_;
  const Target target_;
  const ConnectionOptions options_;
  const std::size_t connections_max_;

  std::mutex mutex_;
  std::condition_variable freed_;
  std::vector<std::unique_ptr<Connection>> idle_;  // the one used last is taken first
  std::size_t count_ = 0;                          // idle and in use
};

}  // namespace baton::store::postgres
