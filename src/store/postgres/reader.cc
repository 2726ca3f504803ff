// SPDX-License-Identifier: Apache-2.0
#include "store/postgres/reader.h"

#include <algorithm>
#include <functional>

#include "diagnostics/diagnostic.h"
#include "store/postgres/sql.h"
#include "store/rows.h"

namespace baton::store::postgres {
namespace {

// What can have no more rows than this is asked for at once, without a cursor.
constexpr std::uint64_t kRowsAtOnce = 256;
// A piece of what is longer: begins small, because rows may be large, and grows to about so many bytes.
constexpr std::size_t kPieceRows = 64;
constexpr std::size_t kPieceRowsMax = 4096;
constexpr std::size_t kPieceBytes = 1u << 20;

using TakeFrom = std::function<bool(const Rows&, std::size_t row)>;

std::size_t bytes_in(const Rows& rows) {
  std::size_t bytes = 0;
  for (std::size_t row = 0; row < rows.size(); ++row)
    for (std::size_t column = 0; column < rows.columns(); ++column) bytes += rows.bytes(row, column).size();
  return bytes;
}

std::size_t next_piece(std::size_t asked, std::size_t bytes) {
  const std::size_t fitting = asked * kPieceBytes / std::max<std::size_t>(bytes, 1);
  return std::clamp<std::size_t>(std::min(fitting, asked * 4), 1, kPieceRowsMax);
}

// How many numbers there are from first to last; 0 for none.
std::uint64_t span_of(std::uint64_t first, std::uint64_t last) {
  if (first > last) return 0;
  return last - first == UINT64_MAX ? UINT64_MAX : last - first + 1;
}

class PostgresReader final : public Reader {
 public:
  explicit PostgresReader(Lease connection) : connection_(std::move(connection)) {}

  ~PostgresReader() override {
    // Nobody waits for a reader to end: whoever has the connection next takes the answer.
    connection_->send(kRollback);
    connection_->sync();
  }

  Result<void> begin() {
    connection_->send(kBeginReading);
    connection_->send(kReadAtLeisure);
    // The first statement settles what the transaction sees.
    Result<Rows> rows = connection_->await(connection_->send(kHead, {}, Connection::Want::Rows));
    if (!rows) return tl::make_unexpected(std::move(rows.error()));
    head_ = std::move(*rows);
    return {};
  }

  Result<Head> head() override { return head_in(head_, connection_->doing()); }

  Result<void> entries(std::uint64_t first, std::uint64_t last, const TakeEntry& take) override {
    return read(kEntries, range(first, last), span_of(first, last), [&](const Rows& rows, std::size_t row) {
      return take({.sequence = static_cast<std::uint64_t>(rows.integer(row, 0)),
                   .stream = rows.bytes(row, 1),
                   .type = rows.bytes(row, 2),
                   .actor_id = rows.bytes(row, 3),
                   .actor_kind = rows.bytes(row, 4),
                   .time = rows.integer(row, 5),
                   .payload = rows.bytes(row, 6),
                   .previous = rows.bytes(row, 7),
                   .hash = rows.bytes(row, 8)});
    });
  }

  Result<void> entry_hashes(std::uint64_t first, std::uint64_t last, const TakeEntry& take) override {
    return read(kEntryHashes, range(first, last), span_of(first, last), [&](const Rows& rows, std::size_t row) {
      EntryRow entry;
      entry.sequence = static_cast<std::uint64_t>(rows.integer(row, 0));
      entry.hash = rows.bytes(row, 1);
      return take(entry);
    });
  }

  Result<std::uint64_t> count_entries() override {
    Result<Rows> rows = connection_->await(connection_->send(kCountEntries, {}, Connection::Want::Rows));
    if (!rows) return tl::make_unexpected(std::move(rows.error()));
    return static_cast<std::uint64_t>(rows->integer(0, 0));
  }

  Result<void> nodes(std::uint32_t level, std::uint64_t first, std::uint64_t last, const TakeNode& take) override {
    Parameters parameters;
    parameters.integer(level);
    parameters.integer(clamped(first));
    parameters.integer(clamped(last));
    return read(kNodes, parameters, span_of(first, last), [&](const Rows& rows, std::size_t row) {
      return take({level, static_cast<std::uint64_t>(rows.integer(row, 0)), std::string(rows.bytes(row, 1)),
                   std::string(rows.bytes(row, 2))});
    });
  }

  Result<void> seals(std::uint64_t first, std::uint64_t last, const TakeSeal& take) override {
    return read(kSeals, range(first, last), span_of(first, last), [&](const Rows& rows, std::size_t row) {
      return take({static_cast<std::uint64_t>(rows.integer(row, 0)), std::string(rows.bytes(row, 1))});
    });
  }

  Result<std::optional<Seal>> newest_seal() override {
    std::optional<Seal> seal;
    Result<void> done = read(kNewestSeal, {}, 1, [&](const Rows& rows, std::size_t row) {
      seal = {static_cast<std::uint64_t>(rows.integer(row, 0)), std::string(rows.bytes(row, 1))};
      return true;
    });
    if (!done) return tl::make_unexpected(std::move(done.error()));
    return seal;
  }

  Result<std::optional<Row>> get(const Table& table, const Row& key) override {
    if (Result<void> checked = check_key(table, key); !checked) return tl::make_unexpected(std::move(checked.error()));
    Parameters parameters;
    for (std::size_t i = 0; i < key.size(); ++i) parameters.value(table.columns[i].type, key[i]);
    std::optional<Row> found;
    Result<void> done = read(get_row(table, Lock::None), parameters, 1, [&](const Rows& rows, std::size_t row) {
      found = row_in(rows, row, table);
      return true;
    });
    if (!done) return tl::make_unexpected(std::move(done.error()));
    return found;
  }

  Result<void> find(const Query& query, const TakeRow& take) override {
    if (Result<void> checked = check_query(query); !checked) return checked;
    return read(find_rows(query, Lock::None), find_parameters(query), query.limit,
                [&](const Rows& rows, std::size_t row) { return take(row_in(rows, row, query.table)); });
  }

 private:
  static Parameters range(std::uint64_t first, std::uint64_t last) {
    Parameters parameters;
    parameters.integer(clamped(first));
    parameters.integer(clamped(last));
    return parameters;
  }

  // Reads the rows of a statement that can give at most so many.
  Result<void> read(std::string_view sql, const Parameters& parameters, std::uint64_t rows_max, const TakeFrom& take) {
    if (rows_max == 0) return {};
    if (rows_max > kRowsAtOnce) return read_in_pieces(sql, parameters, take);
    Result<Rows> rows = connection_->await(connection_->send(sql, parameters, Connection::Want::Rows));
    if (!rows) return tl::make_unexpected(std::move(rows.error()));
    for (std::size_t row = 0; row < rows->size(); ++row)
      if (!take(*rows, row)) break;
    return {};
  }

  Result<void> read_in_pieces(std::string_view sql, const Parameters& parameters, const TakeFrom& take) {
    const std::string cursor = "c" + std::to_string(++cursors_);
    connection_->send_once("DECLARE " + cursor + " NO SCROLL CURSOR FOR " + std::string(sql), parameters);
    const auto fetch = [&](std::size_t count) {
      const std::string statement = "FETCH FORWARD " + std::to_string(count) + " FROM " + cursor;
      return connection_->send_once(statement, {}, Connection::Want::Rows);
    };
    std::size_t asked = kPieceRows;
    Connection::Serial piece = fetch(asked);
    for (bool more = true; more;) {
      Result<Rows> rows = connection_->await(piece);
      if (!rows) return tl::make_unexpected(std::move(rows.error()));
      more = rows->size() == asked;
      if (more) {
        asked = next_piece(asked, bytes_in(*rows));
        piece = fetch(asked);
        connection_->sync();
      }
      for (std::size_t row = 0; row < rows->size(); ++row) {
        if (take(*rows, row)) continue;
        if (more) connection_->forget(piece);
        more = false;
        break;
      }
    }
    connection_->send_once("CLOSE " + cursor);
    return {};
  }

  Lease connection_;
  Rows head_;
  std::uint64_t cursors_ = 0;
};

}  // namespace

Result<std::unique_ptr<Reader>> make_reader(Lease connection) {
  auto reader = std::make_unique<PostgresReader>(std::move(connection));
  if (Result<void> begun = reader->begin(); !begun) return tl::make_unexpected(std::move(begun.error()));
  return reader;
}

Result<Head> head_in(const Rows& rows, const std::string& doing) {
  if (rows.size() != 1) return failure_of(Code::STORE_CORRUPT, doing, {{"problem", "the head row is missing"}});
  return Head{.size = static_cast<std::uint64_t>(rows.integer(0, 0)),
              .hash = std::string(rows.bytes(0, 1)),
              .time = rows.integer(0, 2),
              .peaks = std::string(rows.bytes(0, 3)),
              .open_streams = std::string(rows.bytes(0, 4))};
}

Row row_in(const Rows& rows, std::size_t row, const Table& table) {
  Row values;
  values.reserve(table.columns.size());
  for (std::size_t column = 0; column < table.columns.size(); ++column)
    values.push_back(rows.value(row, column, table.columns[column].type));
  return values;
}

}  // namespace baton::store::postgres
