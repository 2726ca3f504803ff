// SPDX-License-Identifier: Apache-2.0
#include "store/postgres/sql.h"

#include <algorithm>
#include <limits>

#include "store/rows.h"

namespace baton::store::postgres {
namespace {

std::string quoted(std::string_view name) { return "\"" + std::string(name) + "\""; }

std::string parameter(std::size_t number) { return "$" + std::to_string(number); }

std::string columns_of(const Table& table) {
  std::string out;
  for (const Column& column : table.columns) out.append(out.empty() ? "" : ", ").append(quoted(column.name));
  return out;
}

// "a" = $1 AND "b" = $2
std::string key_is(const Table& table) {
  std::string out;
  for (std::size_t i = 0; i < table.key_columns; ++i)
    out.append(i == 0 ? "" : " AND ").append(quoted(table.columns[i].name)).append(" = ").append(parameter(i + 1));
  return out;
}

std::string_view locking(Lock lock) {
  switch (lock) {
    case Lock::None: return "";
    case Lock::Wait: return " FOR UPDATE";
    case Lock::Skip: return " FOR UPDATE SKIP LOCKED";
  }
  return "";
}

bool is_given(const Value& value) { return !std::holds_alternative<std::monostate>(value); }

}  // namespace

std::string insert_rows(std::string_view insert, std::size_t columns, std::size_t rows) {
  std::string out(insert);
  out += " VALUES ";
  for (std::size_t i = 0; i < columns * rows; ++i) {
    out += i == 0 ? "(" : i % columns == 0 ? "), (" : ", ";
    out += parameter(i + 1);
  }
  return out += ")";
}

std::string insert_into(const Table& table) {
  return "INSERT INTO " + quoted(table.name) + " (" + columns_of(table) + ")";
}

std::string insert_row(const Table& table) { return insert_rows(insert_into(table), table.columns.size(), 1); }

std::string or_update(const Table& table) {
  std::string keys, set;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const std::string column = quoted(table.columns[i].name);
    if (i < table.key_columns) keys.append(keys.empty() ? "" : ", ").append(column);
    else set.append(set.empty() ? "" : ", ").append(column).append(" = EXCLUDED.").append(column);
  }
  return " ON CONFLICT (" + keys + (set.empty() ? ") DO NOTHING" : ") DO UPDATE SET " + set);
}

std::string update_row(const Table& table) {
  // A table that is all key has nothing to change; that the row is there is asked all the same.
  const std::size_t first = table.columns.size() == table.key_columns ? 0 : table.key_columns;
  std::string set;
  for (std::size_t i = first; i < table.columns.size(); ++i)
    set.append(i == first ? "" : ", ").append(quoted(table.columns[i].name)).append(" = ").append(parameter(i + 1));
  return "UPDATE " + quoted(table.name) + " SET " + set + " WHERE " + key_is(table);
}

std::string erase_row(const Table& table) { return "DELETE FROM " + quoted(table.name) + " WHERE " + key_is(table); }

std::string get_row(const Table& table, Lock lock) {
  return ("SELECT " + columns_of(table) + " FROM " + quoted(table.name) + " WHERE " + key_is(table))
      .append(locking(lock));
}

std::string get_rows(const Table& table, std::size_t count) {
  std::string keys, in;
  for (std::size_t i = 0; i < table.key_columns; ++i)
    keys.append(i == 0 ? "" : ", ").append(quoted(table.columns[i].name));
  for (std::size_t i = 0; i < count * table.key_columns; ++i) {
    in += i % table.key_columns != 0 ? ", " : i == 0 ? "(" : table.key_columns == 1 ? ", " : "), (";
    in += parameter(i + 1);
  }
  const bool several = table.key_columns > 1;
  return "SELECT " + columns_of(table) + " FROM " + quoted(table.name) + " WHERE " +
         (several ? "(" + keys + ")" : keys) + " IN " + (several ? "(" + in + "))" : in + ")") + " ORDER BY " + keys +
         std::string(locking(Lock::Wait));
}

std::string find_rows(const Query& query, Lock lock) {
  const Table& table = query.table;
  const std::vector<std::size_t> order = order_of(table, query.index);
  std::size_t parameters = 0;
  std::string where;
  const auto compare = [&](std::size_t position, std::string_view operation) {
    where.append(where.empty() ? " WHERE " : " AND ").append(quoted(table.columns[order[position]].name));
    where.append(operation).append(parameter(++parameters));
  };
  for (std::size_t i = 0; i < query.equal.size(); ++i) compare(i, " = ");
  if (is_given(query.from)) compare(query.equal.size(), " >= ");
  if (is_given(query.below)) compare(query.equal.size(), " < ");

  std::string by;
  for (const std::size_t column : order)
    by.append(by.empty() ? "" : ", ")
        .append(quoted(table.columns[column].name))
        .append(query.descending ? " DESC" : "");
  std::string sql = "SELECT " + columns_of(table) + " FROM " + quoted(table.name) + where + " ORDER BY " + by;
  if (query.limit != SIZE_MAX) sql += " LIMIT " + parameter(++parameters);
  return sql.append(locking(lock));
}

Parameters find_parameters(const Query& query) {
  const std::vector<std::size_t> order = order_of(query.table, query.index);
  const auto type = [&](std::size_t position) { return query.table.columns[order[position]].type; };
  Parameters parameters;
  for (std::size_t i = 0; i < query.equal.size(); ++i) parameters.value(type(i), query.equal[i]);
  if (is_given(query.from)) parameters.value(type(query.equal.size()), query.from);
  if (is_given(query.below)) parameters.value(type(query.equal.size()), query.below);
  if (query.limit != SIZE_MAX) parameters.integer(clamped(query.limit));
  return parameters;
}

std::int64_t clamped(std::uint64_t number) {
  return static_cast<std::int64_t>(
      std::min(number, static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())));
}

}  // namespace baton::store::postgres
