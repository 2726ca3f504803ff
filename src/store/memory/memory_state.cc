// SPDX-License-Identifier: Apache-2.0
#include "store/memory/memory_state.h"

#include <algorithm>

#include "store/rows.h"

namespace baton::store::memory {

StoredEntry::StoredEntry(const EntryRow& from) : row(from) {
  std::string_view* const parts[] = {&row.stream,  &row.type,     &row.actor_id, &row.actor_kind,
                                     &row.payload, &row.previous, &row.hash};
  std::size_t size = 0;
  for (const std::string_view* part : parts) size += part->size();
  bytes.reserve(size);
  for (std::string_view* part : parts) {
    const std::size_t start = bytes.size();
    bytes.append(*part);
    *part = std::string_view(bytes.data() + start, part->size());
  }
}

std::vector<std::shared_ptr<const StoredEntry>>::const_iterator Ledger::at(std::uint64_t sequence) const {
  if (entries.empty() || entries.back()->row.sequence < sequence) return entries.end();
  const auto below = [](const std::shared_ptr<const StoredEntry>& entry, std::uint64_t wanted) {
    return entry->row.sequence < wanted;
  };
  return std::lower_bound(entries.begin(), entries.end(), sequence, below);
}

bool conflicts(const Ledger& ledger, const Addition& addition) {
  std::uint64_t last = 0;
  for (const std::shared_ptr<const StoredEntry>& entry : addition.entries) {
    const auto place = ledger.at(entry->row.sequence);
    if (place != ledger.entries.end() && (*place)->row.sequence == entry->row.sequence) return true;
    if (entry->row.sequence == last) return true;
    last = entry->row.sequence;
  }
  for (const TreeNode& node : addition.nodes)
    if (ledger.nodes.contains({node.level, node.position})) return true;
  return ledger.seals.contains(addition.seal.size);
}

void add(Ledger& ledger, Addition addition) {
  for (std::shared_ptr<const StoredEntry>& entry : addition.entries)
    ledger.entries.insert(ledger.at(entry->row.sequence), std::move(entry));
  for (TreeNode& node : addition.nodes) {
    const std::pair place(node.level, node.position);
    ledger.nodes.emplace(place, std::move(node));
  }
  ledger.seals.emplace(addition.seal.size, std::move(addition.seal.note));
  ledger.head = std::move(addition.head);
}

int Range::place(const Row& ordered) const {
  const std::size_t equal = query_.equal.size();
  for (std::size_t i = 0; i < equal; ++i) {
    if (ordered[i] < query_.equal[i]) return -1;
    if (query_.equal[i] < ordered[i]) return 1;
  }
  if (equal == ordered.size()) return 0;
  if (!std::holds_alternative<std::monostate>(query_.from) && ordered[equal] < query_.from) return -1;
  if (!std::holds_alternative<std::monostate>(query_.below) && !(ordered[equal] < query_.below)) return 1;
  return 0;
}

Row in_order(const Row& row, std::span<const std::size_t> order) {
  Row values;
  values.reserve(order.size());
  for (const std::size_t column : order) values.push_back(row[column]);
  return values;
}

Rows::Rows(const Table& table) {
  for (const Index& index : table.indexes) by_index_.emplace(index.name, Sorted());
}

const Row* Rows::find(const Row& key) const {
  const auto found = rows_.find(key);
  return found == rows_.end() ? nullptr : &found->second;
}

void Rows::put(const Table& table, const Row& key, Row row) {
  erase(table, key);
  for (const Index& index : table.indexes)
    by_index_.at(std::string(index.name)).emplace(in_order(row, order_of(table, &index)), key);
  rows_.emplace(key, std::move(row));
}

void Rows::erase(const Table& table, const Row& key) {
  const auto found = rows_.find(key);
  if (found == rows_.end()) return;
  for (const Index& index : table.indexes)
    by_index_.at(std::string(index.name)).erase(in_order(found->second, order_of(table, &index)));
  rows_.erase(found);
}

std::optional<std::string> Rows::wrong_index(const Table& table) const {
  for (const Index& index : table.indexes) {
    const Sorted& sorted = by_index_.at(std::string(index.name));
    const auto order = order_of(table, &index);
    bool right = sorted.size() == rows_.size();
    for (auto at = rows_.begin(); right && at != rows_.end(); ++at) {
      const auto found = sorted.find(in_order(at->second, order));
      right = found != sorted.end() && found->second == at->first;
    }
    if (!right) return std::string(index.name);
  }
  return std::nullopt;
}

void Rows::walk(const Query& query, const std::function<bool(const Row& key, const Row& row)>& take) const {
  const Range range(query);
  const Sorted& order = query.index == nullptr ? rows_ : by_index_.at(std::string(query.index->name));
  const auto offer = [&](const Sorted::value_type& item) {
    return query.index == nullptr ? take(item.first, item.second) : take(item.second, rows_.at(item.second));
  };
  auto begin = order.lower_bound(RowLess::Begin{range});
  auto end = order.lower_bound(RowLess::End{range});
  if (query.descending) {
    while (end != begin)
      if (!offer(*--end)) return;
  } else {
    for (; begin != end; ++begin)
      if (!offer(*begin)) return;
  }
}

}  // namespace baton::store::memory
