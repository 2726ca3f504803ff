// SPDX-License-Identifier: Apache-2.0
#include "store/rows.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/text.h"

namespace baton::store {
namespace {

bool is_text(std::string_view text) {
  // memchr on an empty view could be given a null pointer.
  if (text.empty()) return true;
  return std::memchr(text.data(), '\0', text.size()) == nullptr && find_invalid_utf8(text) == text.size();
}

tl::unexpected<Failure> refused(std::string_view table, std::string_view column, std::string_view reason) {
  std::string doing = "looking at a row of `";
  doing.append(table).append("`");
  std::string text = "`";
  text.append(column).append("` ").append(reason);
  return failure(std::move(doing), std::move(text));
}

Result<void> check_value(const Table& table, const Column& column, const Value& value) {
  if (std::holds_alternative<std::monostate>(value)) {
    if (!column.nullable) return refused(table.name, column.name, "must hold something");
    return {};
  }
  const bool integer = std::holds_alternative<std::int64_t>(value);
  if (integer != (column.type == Type::Integer))
    return refused(table.name, column.name, integer ? "does not hold numbers" : "holds numbers only");
  if (column.type == Type::Text && !is_text(std::get<std::string>(value)))
    return refused(table.name, column.name, "must be UTF-8 without U+0000");
  return {};
}

Result<void> check_values(const Table& table, const Row& row, std::size_t count) {
  if (row.size() != count)
    return failure("looking at a row of `" + std::string(table.name) + "`",
                   "it has " + std::to_string(row.size()) + " values instead of " + std::to_string(count));
  for (std::size_t i = 0; i < count; ++i)
    if (Result<void> checked = check_value(table, table.columns[i], row[i]); !checked) return checked;
  return {};
}

Result<void> check_text(std::string_view table, std::string_view column, std::string_view text) {
  if (!is_text(text)) return refused(table, column, "must be UTF-8 without U+0000");
  return {};
}

Result<void> check_number(std::string_view table, std::string_view column, std::uint64_t number) {
  if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    return refused(table, column, "is too large");
  return {};
}

}  // namespace

Result<void> check_row(const Table& table, const Row& row) { return check_values(table, row, table.columns.size()); }

Result<void> check_key(const Table& table, const Row& key) { return check_values(table, key, table.key_columns); }

Result<void> check_query(const Query& query) {
  const Table& table = query.table;
  const std::string doing = "asking for rows of `" + std::string(table.name) + "`";
  const auto is_the_one = [&](const Index& index) { return &index == query.index; };
  if (query.index != nullptr && std::ranges::none_of(table.indexes, is_the_one))
    return failure(doing, "the index is of another table");
  const std::vector<std::size_t> order = order_of(table, query.index);
  const bool bounded =
      !std::holds_alternative<std::monostate>(query.from) || !std::holds_alternative<std::monostate>(query.below);
  if (query.equal.size() + (bounded ? 1 : 0) > order.size())
    return failure(doing, "there are more values than columns in that order");
  for (std::size_t i = 0; i < query.equal.size(); ++i)
    if (Result<void> checked = check_value(table, table.columns[order[i]], query.equal[i]); !checked) return checked;
  for (const Value* bound : {&query.from, &query.below}) {
    if (std::holds_alternative<std::monostate>(*bound)) continue;
    if (Result<void> checked = check_value(table, table.columns[order[query.equal.size()]], *bound); !checked)
      return checked;
  }
  return {};
}

Result<void> check_append(std::span<const EntryRow> entries, std::span<const TreeNode> nodes, const Seal& seal,
                          const Head& head) {
  Result<void> checked;
  for (const EntryRow& entry : entries) {
    if (checked = check_number("entries", "sequence", entry.sequence); !checked) return checked;
    if (checked = check_text("entries", "stream", entry.stream); !checked) return checked;
    if (checked = check_text("entries", "type", entry.type); !checked) return checked;
    if (checked = check_text("entries", "actor_id", entry.actor_id); !checked) return checked;
    if (checked = check_text("entries", "actor_kind", entry.actor_kind); !checked) return checked;
    if (checked = check_text("entries", "payload", entry.payload); !checked) return checked;
  }
  for (const TreeNode& node : nodes)
    if (checked = check_number("tree", "position", node.position); !checked) return checked;
  if (checked = check_number("seals", "size", seal.size); !checked) return checked;
  if (checked = check_text("seals", "note", seal.note); !checked) return checked;
  return check_number("head", "size", head.size);
}

bool is_kept_level(std::uint64_t level) { return level >= 8 && level <= 56 && level % 8 == 0; }

std::span<const UnreadRows> unread_rows() {
  static constexpr UnreadRows kAll[] = {
      {"entries", "sequence < 1"},
      {"tree", "level < 8 OR level > 56 OR level % 8 <> 0 OR position < 0"},  // is_kept_level()
      {"seals", "size < 1"},
      {"head", "one <> 1"},
  };
  return kAll;
}

std::optional<std::string> unread_rows_problem(std::string_view table, std::uint64_t count) {
  if (count == 0) return std::nullopt;
  return "the table " + std::string(table) + " has " + std::to_string(count) + " row" + (count == 1 ? "" : "s") +
         " that no commit writes";
}

std::vector<std::size_t> order_of(const Table& table, const Index* index) {
  std::vector<std::size_t> order;
  if (index != nullptr) order.assign(index->columns.begin(), index->columns.end());
  for (std::size_t i = 0; i < table.key_columns; ++i)
    if (std::ranges::find(order, i) == order.end()) order.push_back(i);
  return order;
}

Row key_of(const Table& table, const Row& row) {
  return Row(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(table.key_columns));
}

Head empty_head() {
  Head head;
  head.hash.assign(32, '\0');
  return head;
}

Result<std::vector<std::optional<Row>>> Transaction::get_all(const Table& table, std::span<const Row> keys) {
  std::vector<std::optional<Row>> rows;
  for (const Row& key : keys) {
    auto row = get(table, key);
    if (!row) return tl::make_unexpected(row.error());
    rows.push_back(std::move(*row));
  }
  return rows;
}

Result<void> Transaction::insert_all(const Table& table, std::span<const Row> rows) {
  for (const Row& row : rows)
    if (auto inserted = insert(table, row); !inserted) return inserted;
  return {};
}

Result<void> Transaction::update_all(const Table& table, std::span<const Row> rows) {
  for (const Row& row : rows)
    if (auto updated = update(table, row); !updated) return updated;
  return {};
}

}  // namespace baton::store
