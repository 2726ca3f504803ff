// SPDX-License-Identifier: Apache-2.0
// What a table holds: rows of values, and the description of a table that every backend reads.
//
// A table is described once, in store/tables.h. SQL backends make their statements from the description, the memory
// backend its maps; the migrations (store/migrations.h) make the same tables in SQL.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace baton::store {

// Nothing (SQL NULL), a whole number, or text / bytes. Text is valid UTF-8 without U+0000; bytes are anything. Values of
// one column order as numbers or as bytes (memcmp), the same on every backend; nothing comes first.
using Value = std::variant<std::monostate, std::int64_t, std::string>;
using Row = std::vector<Value>;  // one value a column, in the table's order

enum class Type { Integer, Text, Bytes };

struct Column {
  std::string_view name;
  Type type;
  bool nullable = false;
};

// A further order of a table's rows. Rows that are equal in `columns` follow in the order of the primary key.
struct Index {
  std::string_view name;
  std::span<const std::size_t> columns;  // positions in Table::columns; none of them nullable
};

struct Table {
  std::string_view name;
  std::span<const Column> columns;
  std::size_t key_columns;  // the first so many columns are the primary key; none of them nullable
  std::span<const Index> indexes = {};
  // Made of entries by the fold and nothing else, so that verify --rebuild can make it again. False for what entries only
  // refer to.
  bool projection = true;
};

// Rows of one table in the order of its key or of an index.
struct Query {
  const Table& table;
  const Index* index = nullptr;  // null: the primary key
  Row equal = {};                // the first columns of that order have these values
  Value from = {};               // the column after those is at least this (nothing: no bound) ...
  Value below = {};              // ... and less than this
  bool descending = false;
  std::size_t limit = SIZE_MAX;
};

}  // namespace baton::store
