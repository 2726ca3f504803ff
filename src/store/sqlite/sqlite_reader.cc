// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/sqlite_reader.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "store/rows.h"

namespace baton::store::sqlite {
namespace {

// Bounds of a range for SQLite, whose numbers are signed.
std::int64_t clamped(std::uint64_t number) {
  constexpr auto kLargest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return static_cast<std::int64_t>(std::min(number, kLargest));
}

class SqliteReader final : public Reader {
 public:
  SqliteReader(ReaderPool& pool, ReadConnection connection, Head head)
      : pool_(pool), connection_(std::move(connection)), head_(std::move(head)) {}
  ~SqliteReader() override {
    // What cannot even end its reading is closed and not kept.
    if (connection().run(Fixed::Commit)) pool_.give(std::move(connection_));
  }

  Result<Head> head() override { return head_; }

  Result<void> entries(std::uint64_t first, std::uint64_t last, const TakeEntry& take) override {
    EntryRow row;
    return range(Fixed::Entries, first, last, [&](const Statement& statement) {
      row.sequence = static_cast<std::uint64_t>(statement.number(0));
      row.stream = statement.bytes(1);
      row.type = statement.bytes(2);
      row.actor_id = statement.bytes(3);
      row.actor_kind = statement.bytes(4);
      row.time = statement.number(5);
      row.payload = statement.bytes(6);
      row.previous = statement.bytes(7);
      row.hash = statement.bytes(8);
      return take(row);
    });
  }

  Result<void> entry_hashes(std::uint64_t first, std::uint64_t last, const TakeEntry& take) override {
    EntryRow row;
    return range(Fixed::EntryHashes, first, last, [&](const Statement& statement) {
      row.sequence = static_cast<std::uint64_t>(statement.number(0));
      row.hash = statement.bytes(1);
      return take(row);
    });
  }

  Result<std::uint64_t> count_entries() override {
    std::uint64_t count = 0;
    const Result<Statement*> statement = connection().fixed(Fixed::CountEntries);
    if (!statement) return tl::make_unexpected(statement.error());
    Run run(**statement);
    const auto take = [&](const Statement& row) {
      count = static_cast<std::uint64_t>(row.number(0));
      return false;
    };
    if (Result<void> read = each(run, take); !read) return tl::make_unexpected(read.error());
    return count;
  }

  Result<void> nodes(std::uint32_t level, std::uint64_t first, std::uint64_t last, const TakeNode& take) override {
    const Result<Statement*> statement = connection().fixed(Fixed::Nodes);
    if (!statement) return tl::make_unexpected(statement.error());
    if (first > last) return {};
    Run run(**statement);
    run->bind(1, static_cast<std::int64_t>(level));
    run->bind(2, clamped(first));
    run->bind(3, clamped(last));
    TreeNode node;
    node.level = level;
    return each(run, [&](const Statement& row) {
      node.position = static_cast<std::uint64_t>(row.number(0));
      node.hash = row.bytes(1);
      node.streams = row.bytes(2);
      return take(node);
    });
  }

  Result<void> seals(std::uint64_t first, std::uint64_t last, const TakeSeal& take) override {
    Seal seal;
    return range(Fixed::Seals, first, last, [&](const Statement& row) {
      seal.size = static_cast<std::uint64_t>(row.number(0));
      seal.note = row.bytes(1);
      return take(seal);
    });
  }

  Result<std::optional<Seal>> newest_seal() override {
    const Result<Statement*> statement = connection().fixed(Fixed::NewestSeal);
    if (!statement) return tl::make_unexpected(statement.error());
    Run run(**statement);
    std::optional<Seal> seal;
    const auto take = [&](const Statement& row) {
      seal = Seal{static_cast<std::uint64_t>(row.number(0)), std::string(row.bytes(1))};
      return false;
    };
    if (Result<void> read = each(run, take); !read) return tl::make_unexpected(read.error());
    return seal;
  }

  Result<std::optional<Row>> get(const Table& table, const Row& key) override {
    if (Result<void> checked = check_key(table, key); !checked) return tl::make_unexpected(checked.error());
    return connection().get(table, key);
  }

  Result<void> find(const Query& query, const TakeRow& take) override {
    if (Result<void> checked = check_query(query); !checked) return checked;
    return connection().find(query, take);
  }

 private:
  Connection& connection() { return *connection_.connection; }

  template <class Take>
  static Result<void> each(Run& run, const Take& take) {
    while (true) {
      const Result<bool> row = run->step();
      if (!row) return tl::make_unexpected(row.error());
      if (!*row || !take(*run)) return {};
    }
  }

  template <class Take>
  Result<void> range(Fixed which, std::uint64_t first, std::uint64_t last, const Take& take) {
    const Result<Statement*> statement = connection().fixed(which);
    if (!statement) return tl::make_unexpected(statement.error());
    if (first > last) return {};
    Run run(**statement);
    run->bind(1, clamped(first));
    run->bind(2, clamped(last));
    return each(run, take);
  }

  ReaderPool& pool_;
  ReadConnection connection_;
  const Head head_;
};

}  // namespace

Result<std::unique_ptr<Reader>> make_reader(ReaderPool& pool) {
  Result<ReadConnection> taken = pool.take();
  if (!taken) return tl::make_unexpected(taken.error());
  Connection& connection = *taken->connection;
  if (Result<void> begun = connection.run(Fixed::Begin); !begun) return tl::make_unexpected(begun.error());
  // BEGIN alone waits with the snapshot for the first read. This is one, and of what nearly every Reader asks first.
  Result<Head> head = connection.head();
  if (!head) return tl::make_unexpected(head.error());
  return std::make_unique<SqliteReader>(pool, std::move(*taken), std::move(*head));
}

}  // namespace baton::store::sqlite
