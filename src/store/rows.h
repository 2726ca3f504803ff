// SPDX-License-Identifier: Apache-2.0
// What every backend asks of a row, a key, a query or an append before it touches its storage, so that all of them
// refuse the same. A refusal is a Failure without a code: no other state of the store would let it pass.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/store.h"
#include "store/value.h"

namespace baton::store {

// One value a column, of the column's type, nothing only where the column is nullable, and text that is UTF-8 without
// U+0000.
Result<void> check_row(const Table& table, const Row& row);

// The same for the first `key_columns` values alone.
Result<void> check_key(const Table& table, const Row& key);

// The index is of the table, there are not more values than columns in its order, and each is of its column's type.
Result<void> check_query(const Query& query);

// The texts of an append, and numbers that fit into 63 bits. Not whether entries follow each other: that is ledger/.
Result<void> check_append(std::span<const EntryRow> entries, std::span<const TreeNode> nodes, const Seal& seal,
                          const Head& head);

// Is this a level that nodes are kept for (store.h, TreeNode)?
bool is_kept_level(std::uint64_t level);

// Rows of the ledger that no commit writes and no Reader returns, in SQL: "SELECT count(*) FROM table WHERE where".
struct UnreadRows {
  std::string_view table, where;
};
std::span<const UnreadRows> unread_rows();
// What check_integrity() says of them; nothing when `count` is 0.
std::optional<std::string> unread_rows_problem(std::string_view table, std::uint64_t count);

// The columns that rows are ordered by, as positions: those of the index, then those of the primary key that are not
// among them. Null: the primary key.
std::vector<std::size_t> order_of(const Table& table, const Index* index);

// The values of the primary key of a row.
Row key_of(const Table& table, const Row& row);

// The head of a store that holds no entry.
Head empty_head();

}  // namespace baton::store
