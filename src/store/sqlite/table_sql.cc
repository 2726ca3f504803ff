// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/table_sql.h"

#include <variant>
#include <vector>

#include "store/rows.h"

namespace baton::store::sqlite {
namespace {

std::string quoted(std::string_view name) { return '"' + std::string(name) + '"'; }

std::string parameter(std::size_t number) { return "?" + std::to_string(number); }

std::string column_list(const Table& table) {
  std::string out;
  for (const Column& column : table.columns) out += (out.empty() ? "" : ", ") + quoted(column.name);
  return out;
}

std::string where_key(const Table& table) {
  std::string out = " WHERE ";
  for (std::size_t i = 0; i < table.key_columns; ++i)
    out += (i == 0 ? "" : " AND ") + quoted(table.columns[i].name) + " = " + parameter(i + 1);
  return out;
}

bool holds_something(const Value& value) { return !std::holds_alternative<std::monostate>(value); }

}  // namespace

std::string get_sql(const Table& table) {
  return "SELECT " + column_list(table) + " FROM " + quoted(table.name) + where_key(table);
}

std::string insert_sql(const Table& table) {
  std::string values;
  for (std::size_t i = 1; i <= table.columns.size(); ++i) values += (i == 1 ? "" : ", ") + parameter(i);
  return "INSERT INTO " + quoted(table.name) + " (" + column_list(table) + ") VALUES (" + values + ")";
}

std::string update_sql(const Table& table) {
  // A table that is all key has nothing to set, but must still say whether the row is there.
  const std::size_t first = table.key_columns == table.columns.size() ? 0 : table.key_columns;
  std::string set;
  for (std::size_t i = first; i < table.columns.size(); ++i)
    set += (i == first ? "" : ", ") + quoted(table.columns[i].name) + " = " + parameter(i + 1);
  return "UPDATE " + quoted(table.name) + " SET " + set + where_key(table);
}

std::string erase_sql(const Table& table) { return "DELETE FROM " + quoted(table.name) + where_key(table); }

std::string find_sql(const Query& query) {
  const Table& table = query.table;
  const std::vector<std::size_t> order = order_of(table, query.index);
  const auto name_at = [&](std::size_t place) { return quoted(table.columns[order[place]].name); };
  std::size_t number = 0;
  std::string where;
  const auto add = [&](std::size_t place, std::string_view comparison) {
    where += (where.empty() ? " WHERE " : " AND ") + name_at(place);
    where.append(comparison);
    where += parameter(++number);
  };
  for (std::size_t i = 0; i < query.equal.size(); ++i) add(i, " = ");
  if (holds_something(query.from)) add(query.equal.size(), " >= ");
  if (holds_something(query.below)) add(query.equal.size(), " < ");
  std::string by;
  for (std::size_t i = 0; i < order.size(); ++i)
    by += (i == 0 ? " ORDER BY " : ", ") + name_at(i) + (query.descending ? " DESC" : "");
  return "SELECT " + column_list(table) + " FROM " + quoted(table.name) + where + by + " LIMIT " + parameter(++number);
}

void append_find_name(const Query& query, std::string& name) {
  name.append(query.table.name).push_back('/');
  if (query.index != nullptr) name.append(query.index->name);
  name.push_back('/');
  name.append(query.equal.size(), '=');
  if (holds_something(query.from)) name.push_back('>');
  if (holds_something(query.below)) name.push_back('<');
  if (query.descending) name.push_back('-');
}

}  // namespace baton::store::sqlite
