// SPDX-License-Identifier: Apache-2.0
#include "store/postgres/pool.h"

#include <chrono>

#include "diagnostics/diagnostic.h"

namespace baton::store::postgres {

Lease::~Lease() {
  if (connection_) pool_->give_back(std::move(connection_));
}

Pool::Pool(std::shared_ptr<const Libpq> libpq, Target target, const ConnectionOptions& options,
           std::size_t connections_max)
    : libpq_(std::move(libpq)), target_(std::move(target)), options_(options), connections_max_(connections_max) {}

Result<Lease> Pool::take(std::string_view verb) {
  const std::chrono::milliseconds patience(options_.connect_silence_ms);
  std::unique_lock lock(mutex_);
  while (true) {
    if (!freed_.wait_for(lock, patience, [&] { return !idle_.empty() || count_ < connections_max_; }))
      return failure_of(Code::STORE_UNAVAILABLE, std::string(verb) + " " + target_.name,
                        {{"problem", "all " + std::to_string(connections_max_) + " connections are in use"}});
    if (idle_.empty()) break;
    std::unique_ptr<Connection> connection = std::move(idle_.back());
    idle_.pop_back();
    lock.unlock();
    connection->begin_turn(verb);
    // A server that was restarted has closed it meanwhile.
    if (connection->is_alive()) return Lease(*this, std::move(connection));
    connection.reset();
    lock.lock();
    --count_;
  }
  ++count_;
  lock.unlock();
  Result<std::unique_ptr<Connection>> made = Connection::connect(libpq_, target_, options_);
  if (!made) {
    give_back(nullptr);
    return tl::make_unexpected(std::move(made.error()));
  }
  Lease lease(*this, std::move(*made));
  lease->begin_turn(verb);
  return lease;
}

void Pool::give_back(std::unique_ptr<Connection> connection) {
  if (connection && connection->broken()) connection.reset();
  {
    const std::lock_guard lock(mutex_);
    if (connection) idle_.push_back(std::move(connection));
    else --count_;
  }
  freed_.notify_one();
}

}  // namespace baton::store::postgres
