// SPDX-License-Identifier: Apache-2.0
#include "ledger/streams.h"

#include <algorithm>
#include <vector>

#include "ledger/entry.h"

namespace baton::ledger {
namespace {

constexpr std::size_t kBytes = 4;

std::uint32_t fnv1a(std::string_view text) {
  std::uint32_t hash = 0x811c9dc5u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x01000193u;
  return hash;
}

std::uint32_t at(std::string_view set, std::size_t position) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < kBytes; ++i) value = value << 8 | static_cast<unsigned char>(set[position * kBytes + i]);
  return value;
}

// The first position whose hash is not less. A set that was altered may be unsorted or end in the middle of a hash: then
// the answer is any position, never one outside.
std::size_t lower_bound(std::string_view set, std::uint32_t hash) {
  std::size_t first = 0, last = set.size() / kBytes;
  while (first < last) {
    const std::size_t middle = first + (last - first) / 2;
    if (at(set, middle) < hash) first = middle + 1;
    else last = middle;
  }
  return first;
}

bool holds(std::string_view set, std::size_t position, std::uint32_t hash) {
  return position < set.size() / kBytes && at(set, position) == hash;
}

}  // namespace

void add_stream(std::string& set, std::string_view stream) {
  const std::uint32_t hash = fnv1a(stream);
  const std::size_t position = lower_bound(set, hash);
  if (holds(set, position, hash)) return;
  const char bytes[kBytes] = {static_cast<char>(hash >> 24), static_cast<char>(hash >> 16),
                              static_cast<char>(hash >> 8), static_cast<char>(hash)};
  set.insert(position * kBytes, bytes, kBytes);
}

bool may_hold_stream(std::string_view set, std::string_view stream) {
  const std::uint32_t hash = fnv1a(stream);
  return holds(set, lower_bound(set, hash), hash);
}

namespace {

constexpr std::uint64_t kBlock = 256;
constexpr std::uint32_t kBlockLevel = 8;
constexpr std::uint64_t kBlocksAtOnce = 256;  // whose sets are looked at with one question to the store

// The stream's entries of one block, the newest first. False: `take` has had enough.
Result<bool> read_block(store::Reader& reader, std::uint64_t block, std::string_view stream,
                        const store::TakeEntry& take) {
  std::vector<Entry> entries;
  auto read = reader.entries(block * kBlock + 1, (block + 1) * kBlock, [&](const store::EntryRow& row) {
    if (row.stream != stream) return true;
    Entry& entry = entries.emplace_back();
    entry.sequence = row.sequence;
    entry.stream = row.stream;
    entry.type = row.type;
    entry.actor_id = row.actor_id;
    entry.actor_kind = row.actor_kind;
    entry.time = {row.time};
    entry.payload = row.payload;
    std::copy_n(row.previous.begin(), std::min(row.previous.size(), entry.previous.size()), entry.previous.begin());
    std::copy_n(row.hash.begin(), std::min(row.hash.size(), entry.hash.size()), entry.hash.begin());
    return true;
  });
  if (!read) return tl::make_unexpected(read.error());
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry)
    if (!take(entry->row())) return false;
  return true;
}

}  // namespace

Result<void> read_stream_backwards(store::Reader& reader, std::string_view stream, const store::TakeEntry& take) {
  const auto head = reader.head();
  if (!head) return tl::make_unexpected(head.error());
  std::uint64_t complete = head->size / kBlock;
  if (may_hold_stream(head->open_streams, stream)) {
    const auto more = read_block(reader, complete, stream, take);
    if (!more) return tl::make_unexpected(more.error());
    if (!*more) return {};
  }
  while (complete > 0) {
    const std::uint64_t first = complete > kBlocksAtOnce ? complete - kBlocksAtOnce : 0;
    std::vector<std::uint64_t> blocks;
    auto listed = reader.nodes(kBlockLevel, first, complete - 1, [&](const store::TreeNode& node) {
      if (may_hold_stream(node.streams, stream)) blocks.push_back(node.position);
      return true;
    });
    if (!listed) return listed;
    for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
      const auto more = read_block(reader, *block, stream, take);
      if (!more) return tl::make_unexpected(more.error());
      if (!*more) return {};
    }
    complete = first;
  }
  return {};
}

}  // namespace baton::ledger
