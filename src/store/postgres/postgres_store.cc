// SPDX-License-Identifier: Apache-2.0
#include "store/postgres/postgres_store.h"

#include "diagnostics/diagnostic.h"
#include "store/postgres/connection.h"
#include "store/postgres/integrity.h"
#include "store/postgres/libpq.h"
#include "store/postgres/listener.h"
#include "store/postgres/migrate.h"
#include "store/postgres/pool.h"
#include "store/postgres/reader.h"
#include "store/postgres/sql.h"
#include "store/postgres/target.h"
#include "store/postgres/transaction.h"

namespace baton::store {
namespace {

namespace pg = postgres;

class PostgresStore final : public Store {
 public:
  PostgresStore(const std::shared_ptr<const pg::Libpq>& libpq, const pg::Target& target,
                const pg::ConnectionOptions& options, const PostgresOptions& store)
      : name_(target.name),
        mode_(store.mode),
        listener_(libpq, target, options),
        pool_(libpq, target, options, store.connections_max) {}

  Result<void> prepare(const PostgresOptions& options) {
    Result<pg::Lease> connection = pool_.take("opening");
    if (!connection) return tl::make_unexpected(std::move(connection.error()));
    return pg::migrate(**connection, name_, options);
  }

  Result<std::unique_ptr<Transaction>> begin() override {
    if (mode_ == PostgresOptions::Mode::ReadOnly)
      return failure_of(Code::STORE_READ_ONLY, "writing to " + name_, {{"problem", "it was opened for reading only"}});
    Result<pg::Lease> connection = pool_.take("writing to");
    if (!connection) return tl::make_unexpected(std::move(connection.error()));
    return pg::make_transaction(std::move(*connection), listener_);
  }

  Result<std::unique_ptr<Reader>> reader() override {
    Result<pg::Lease> connection = pool_.take("reading");
    if (!connection) return tl::make_unexpected(std::move(connection.error()));
    return pg::make_reader(std::move(*connection));
  }

  Result<std::uint64_t> wait_for_change(std::uint64_t seen, std::chrono::milliseconds timeout) override {
    if (timeout.count() > 0) return listener_.wait(seen, timeout);
    // Whoever does not want to wait wants to know: what was announced may still be on its way.
    Result<pg::Lease> connection = pool_.take("reading");
    if (!connection) return tl::make_unexpected(std::move(connection.error()));
    Result<pg::Rows> rows = (*connection)->await((*connection)->send(pg::kHead, {}, pg::Connection::Want::Rows));
    if (!rows) return tl::make_unexpected(std::move(rows.error()));
    return pg::head_in(*rows, (*connection)->doing()).map([](const Head& head) { return head.size; });
  }

  Result<std::vector<std::string>> check_integrity() override {
    Result<pg::Lease> connection = pool_.take("checking");
    if (!connection) return tl::make_unexpected(std::move(connection.error()));
    return pg::check_integrity(**connection);
  }

  std::string name() const override { return name_; }

 private:
  const std::string name_;
  const PostgresOptions::Mode mode_;
  pg::Listener listener_;
  pg::Pool pool_;
};

}  // namespace

Result<std::unique_ptr<Store>> open_postgres_store(const PostgresOptions& options) {
  Result<std::shared_ptr<const pg::Libpq>> libpq = pg::load_libpq(options.libpq);
  if (!libpq) return tl::make_unexpected(std::move(libpq.error()));
  Result<pg::Target> target = pg::parse_target(**libpq, options.url);
  if (!target) return tl::make_unexpected(std::move(target.error()));
  pg::ConnectionOptions connection;
  connection.connect_silence_ms = options.connect_silence_ms;
  connection.lock_timeout_ms = options.lock_timeout_ms;
  connection.idle_transaction_ms = options.idle_transaction_ms;
  auto store = std::make_unique<PostgresStore>(*libpq, *target, connection, options);
  if (Result<void> prepared = store->prepare(options); !prepared)
    return tl::make_unexpected(std::move(prepared.error()));
  return store;
}

}  // namespace baton::store
