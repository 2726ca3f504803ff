// SPDX-License-Identifier: Apache-2.0
// The store: where a ledger and the tables derived from it are kept. One interface, three backends (store/memory,
// store/sqlite, store/postgres), one conformance suite (tests/store_conformance.h) that defines what it promises.
//
// A store holds
//   - the ledger: entries 1, 2, 3, ...; nodes of the Merkle tree over them; seals; and the head, one row that says where
//     the chain ends. Entries, nodes and seals are only ever added.
//   - tables (store/tables.h): rows with a primary key.
//
// It knows nothing of what an entry means or how it is hashed: that is ledger/. It knows no rule: those are above.
//
// Threads. A Store may be used by any thread. A Reader or Transaction belongs to one thread at a time, and must be gone
// before its Store. There is one Transaction at a time in a memory or SQLite store: begin() waits for the one before.
// PostgreSQL runs as many as there are nodes; there each row that a Transaction reads stays locked until its end.
//
// Durability. When commit() has returned without failure, everything in the transaction is on disk. When it returned a
// failure, or the process ended before, all of it is there or nothing: whoever must know reads the head again.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/sha256.h"
#include "base/time.h"
#include "store/value.h"

namespace baton::store {

// --- the ledger's rows ------------------------------------------------------------------------------------------------

// One entry as it lies in the store. When reading, the views hold until the callback returns, and nothing has been
// checked: the columns are what somebody may have altered. `previous` and `hash` are 32 bytes each, if all is well.
struct EntryRow {
  std::uint64_t sequence = 0;
  std::string_view stream;
  std::string_view type;
  std::string_view actor_id;
  std::string_view actor_kind;
  std::int64_t time = 0;     // nanoseconds since 1970, UTC
  std::string_view payload;  // canonical JSON
  std::string_view previous;
  std::string_view hash;
};

// The root of a complete subtree over 2^level entries. Kept for levels 8, 16, 24, ...: everything between is worked out
// from 256 hashes, so that a proof reads a bounded number of rows a level and an append writes a row in 256.
struct TreeNode {
  std::uint32_t level = 0;
  std::uint64_t position = 0;  // covers the entries position * 2^level + 1 ... (position + 1) * 2^level
  std::string hash;            // 32 bytes
  std::string streams;         // level 8 only: which streams these entries belong to (ledger/streams.h); else empty
};

// A signed checkpoint over the first `size` entries, as text (a C2SP signed note).
struct Seal {
  std::uint64_t size = 0;
  std::string note;
};

// Where the chain ends. All zero and empty in a new store.
struct Head {
  std::uint64_t size = 0;    // how many entries, and the sequence of the newest
  std::string hash;          // of the newest entry; 32 zero bytes when there is none
  std::int64_t time = 0;     // of the newest entry
  std::string peaks;         // roots of the complete subtrees that make up the tree, largest first, 32 bytes each
  std::string open_streams;  // the streams of the entries since the last complete block of 256 (ledger/streams.h)

  bool operator==(const Head&) const = default;
};

// Called for each row; false ends the reading without failure. Must not use the Reader or Transaction that calls it.
using TakeEntry = std::function<bool(const EntryRow&)>;
using TakeNode = std::function<bool(const TreeNode&)>;
using TakeSeal = std::function<bool(const Seal&)>;
using TakeRow = std::function<bool(const Row&)>;

// --- reading ------------------------------------------------------------------------------------------------------------

// A view of the last commit before it was made; later commits do not show in it.
class Reader {
 public:
  virtual ~Reader() = default;

  virtual Result<Head> head() = 0;

  // Entries with first <= sequence <= last, ascending, whatever is there: gaps are the reader's to notice.
  virtual Result<void> entries(std::uint64_t first, std::uint64_t last, const TakeEntry& take) = 0;
  // The same with nothing but `sequence` and `hash` filled in.
  virtual Result<void> entry_hashes(std::uint64_t first, std::uint64_t last, const TakeEntry& take) = 0;
  // How many entry rows there are; verify compares it with the head.
  virtual Result<std::uint64_t> count_entries() = 0;

  // Nodes of one level with first <= position <= last, ascending.
  virtual Result<void> nodes(std::uint32_t level, std::uint64_t first, std::uint64_t last, const TakeNode& take) = 0;

  // Seals with first <= size <= last, ascending.
  virtual Result<void> seals(std::uint64_t first, std::uint64_t last, const TakeSeal& take) = 0;
  // The newest seal; nothing in a new store.
  virtual Result<std::optional<Seal>> newest_seal() = 0;

  virtual Result<std::optional<Row>> get(const Table& table, const Row& key) = 0;
  virtual Result<void> find(const Query& query, const TakeRow& take) = 0;
};

// --- writing ------------------------------------------------------------------------------------------------------------

enum class Lock {
  None,
  Wait,  // the rows stay locked until the transaction ends; waits for other nodes' transactions
  Skip,  // the same, but leaves out rows that another node's transaction holds
};

// Reads in it see its own writes. Destroyed without commit(): rolled back, nothing happened.
//
// A statement that fails (the disk is full, another node wrote the same key) may be reported by a later call, at the
// latest by commit(): backends may send statements in one go. After any failure every further call fails too, commit()
// among them, so that half a transaction cannot be committed by oversight. Rolling back to a savepoint ends that when the
// failure was a STORE_CONFLICT or a row that was refused before it was sent (store/rows.h; no code); in all other cases
// there is nothing but to destroy the transaction.
class Transaction {
 public:
  virtual ~Transaction() = default;

  // The store's clock, read once when the transaction began.
  virtual Result<Time> now() = 0;

  // Where others may hold what this one wants: it waits for them a fraction of a second at most, then STORE_CONFLICT. For who holds a lot
  // itself and can do with less at the next try: two that wait for each other find out soon.
  virtual Result<void> hurry() { return {}; }

  // Locked as by Lock::Wait.
  virtual Result<std::optional<Row>> get(const Table& table, const Row& key) = 0;
  // Several at once, in the order of the keys; where asking is a way to a server and back, in one of them.
  virtual Result<std::vector<std::optional<Row>>> get_all(const Table& table, std::span<const Row> keys);
  virtual Result<void> find(const Query& query, Lock lock, const TakeRow& take) = 0;

  virtual Result<void> insert(const Table& table, const Row& row) = 0;  // STORE_CONFLICT when the key is there
  virtual Result<void> update(const Table& table, const Row& row) = 0;  // by its key; STORE_CONFLICT when not there
  virtual Result<void> erase(const Table& table, const Row& key) = 0;   // no failure when it is not there
  // Several rows of a table at once, of different keys; where a statement costs more than a row, in few of them. What is
  // updated was read in this transaction and found, so that it is locked.
  virtual Result<void> insert_all(const Table& table, std::span<const Row> rows);
  virtual Result<void> update_all(const Table& table, std::span<const Row> rows);

  // Savepoints nest. Rolling back to one keeps it open; release() closes the innermost.
  virtual Result<void> savepoint() = 0;
  virtual Result<void> rollback_to_savepoint() = 0;
  virtual Result<void> release_savepoint() = 0;

  // The head, and the right to move it, until the transaction ends. Taken last, because on PostgreSQL every node waits
  // for it.
  virtual Result<Head> take_head() = 0;
  // Adds to the ledger and moves the head; take_head() came before. At most once a transaction.
  virtual Result<void> append(std::span<const EntryRow> entries, std::span<const TreeNode> nodes, const Seal& seal,
                              const Head& head) = 0;

  // Ends the transaction, whatever it returns.
  virtual Result<void> commit() = 0;
};

class Store {
 public:
  virtual ~Store() = default;

  virtual Result<std::unique_ptr<Transaction>> begin() = 0;
  virtual Result<std::unique_ptr<Reader>> reader() = 0;

  // Waits until the ledger is longer than `seen` or the time is over; gives its size then. Woken by commits of this
  // process, of other processes (SQLite: a signal file) and of other nodes (PostgreSQL: NOTIFY), never by polling.
  virtual Result<std::uint64_t> wait_for_change(std::uint64_t seen, std::chrono::milliseconds timeout) = 0;

  // After content was erased: nothing of it is left in the store's own files. STORE_LOCKED while a reader still holds the
  // log (SQLite). A PostgreSQL server keeps old rows until its VACUUM and its archives as long as it is told to.
  virtual Result<void> scrub() { return {}; }

  // Checks what only the backend can see: pages, indexes, the schema, and rows of the ledger that no Reader returns (a
  // second head row, a tree node of a level that is not kept). Returns each problem in words, a bounded number of them;
  // empty when there is none. Reads the whole store. Says nothing of what the rows mean.
  virtual Result<std::vector<std::string>> check_integrity() = 0;

  // For messages, without credentials: "memory", a folder, "postgresql://host:port/database".
  virtual std::string name() const = 0;
};

}  // namespace baton::store
