// SPDX-License-Identifier: Apache-2.0
// The statements a store sends, as text. Those of a table are made from its description (store/tables.h).
#pragma once

#include <string>
#include <string_view>

#include "store/postgres/connection.h"
#include "store/store.h"
#include "store/value.h"

namespace baton::store::postgres {

// --- transactions -------------------------------------------------------------------------------------------------------

constexpr std::string_view kBegin = "BEGIN ISOLATION LEVEL READ COMMITTED";
constexpr std::string_view kHurry = "SET LOCAL lock_timeout = 200";
constexpr std::string_view kBeginReading = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY";
constexpr std::string_view kCommit = "COMMIT";
constexpr std::string_view kRollback = "ROLLBACK";
// A reader may be slow: nobody waits for what it reads.
constexpr std::string_view kReadAtLeisure = "SET LOCAL idle_in_transaction_session_timeout = 0";
// Microseconds are what PostgreSQL has.
constexpr std::string_view kClock = "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)";

// Where commits are announced. The channel is the database's, so the payload, "SIZE SCHEMA", says which of its schemas
// the ledger lies in, and how long it is now.
constexpr std::string_view kListen = "LISTEN baton_changed";
constexpr std::string_view kNotify = "SELECT pg_notify('baton_changed', $1 || ' ' || current_schema())";

// --- the ledger -----------------------------------------------------------------------------------------------------------

constexpr std::string_view kHead = "SELECT size, hash, time, peaks, open_streams FROM head WHERE one = 1";
constexpr std::string_view kTakeHead =
    "SELECT size, hash, time, peaks, open_streams FROM head WHERE one = 1 FOR UPDATE";
constexpr std::string_view kMoveHead =
    "UPDATE head SET size = $1, hash = $2, time = $3, peaks = $4, open_streams = $5 WHERE one = 1";

constexpr std::string_view kEntries =
    "SELECT sequence, stream, type, actor_id, actor_kind, time, payload, previous, hash FROM entries "
    "WHERE sequence BETWEEN $1 AND $2 ORDER BY sequence";
constexpr std::string_view kEntryHashes =
    "SELECT sequence, hash FROM entries WHERE sequence BETWEEN $1 AND $2 ORDER BY sequence";
constexpr std::string_view kCountEntries = "SELECT COUNT(*) FROM entries";
constexpr std::string_view kNodes =
    "SELECT position, hash, streams FROM tree WHERE level = $1 AND position BETWEEN $2 AND $3 ORDER BY position";
constexpr std::string_view kSeals = "SELECT size, note FROM seals WHERE size BETWEEN $1 AND $2 ORDER BY size";
constexpr std::string_view kNewestSeal = "SELECT size, note FROM seals ORDER BY size DESC LIMIT 1";

constexpr std::string_view kInsertEntries =
    "INSERT INTO entries (sequence, stream, type, actor_id, actor_kind, time, payload, previous, hash)";
constexpr std::size_t kEntryColumns = 9;
constexpr std::string_view kInsertNodes = "INSERT INTO tree (level, position, hash, streams)";
constexpr std::size_t kNodeColumns = 4;
constexpr std::string_view kInsertSeal = "INSERT INTO seals (size, note) VALUES ($1, $2)";

// `insert` VALUES ($1, $2, ...), (...), ...: so many rows of so many columns.
std::string insert_rows(std::string_view insert, std::size_t columns, std::size_t rows);

// --- tables ---------------------------------------------------------------------------------------------------------------

std::string insert_row(const Table& table);                   // parameters: the row
std::string update_row(const Table& table);                   // parameters: the row
std::string erase_row(const Table& table);                    // parameters: the key
std::string get_row(const Table& table, Lock lock);           // parameters: the key; gives all columns
std::string get_rows(const Table& table, std::size_t count);  // locked; parameters: so many keys; in their order

std::string insert_into(const Table& table);  // what insert_rows() begins with
std::string or_update(const Table& table);    // and may end with: a row that is there is changed

// All columns of the rows that a query asks for, and its parameters: `equal`, `from`, `below` and `limit`, as far as they
// are given.
std::string find_rows(const Query& query, Lock lock);
Parameters find_parameters(const Query& query);

// A number that can be a sequence, position or size, for BETWEEN: what is larger than PostgreSQL's BIGINT is its largest.
std::int64_t clamped(std::uint64_t number);

}  // namespace baton::store::postgres
