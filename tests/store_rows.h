// SPDX-License-Identifier: Apache-2.0
// Entries, heads and rows for the tests of stores. A store knows nothing of what they mean, so hashes here are only
// bytes that differ.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/sha256.h"
#include "store/rows.h"
#include "store/store.h"

namespace baton::store {

// 32 bytes that belong to a number.
inline std::string bytes_of(std::uint64_t number) {
  const Sha256 hash = sha256(std::to_string(number));
  return {hash.begin(), hash.end()};
}

// An entry that owns its texts.
struct TestEntry {
  std::uint64_t sequence = 0;
  std::string stream = {};
  std::string type = {};
  std::string actor_id = {};
  std::string actor_kind = {};
  std::int64_t time = 0;
  std::string payload = {};
  std::string previous = {};
  std::string hash = {};

  bool operator==(const TestEntry&) const = default;
  EntryRow row() const { return {sequence, stream, type, actor_id, actor_kind, time, payload, previous, hash}; }
};

inline TestEntry owned(const EntryRow& row) {
  return {row.sequence,
          std::string(row.stream),
          std::string(row.type),
          std::string(row.actor_id),
          std::string(row.actor_kind),
          row.time,
          std::string(row.payload),
          std::string(row.previous),
          std::string(row.hash)};
}

inline TestEntry test_entry(std::uint64_t sequence) {
  return {.sequence = sequence,
          .stream = "work/W-" + std::to_string(sequence % 7),
          .type = "work.claimed",
          .actor_id = "agent-" + std::to_string(sequence % 3),
          .actor_kind = "agent",
          .time = static_cast<std::int64_t>(sequence) * 1'000,
          .payload = "{\"number\":" + std::to_string(sequence) + "}",
          .previous = bytes_of(sequence - 1),
          .hash = bytes_of(sequence)};
}

inline Head test_head(std::uint64_t size) {
  if (size == 0) return empty_head();
  return {.size = size,
          .hash = bytes_of(size),
          .time = static_cast<std::int64_t>(size) * 1'000,
          .peaks = bytes_of(size) + bytes_of(size + 1),
          .open_streams = bytes_of(size).substr(0, size % 8 * 4)};
}

inline Seal test_seal(std::uint64_t size) { return {size, "sealed\n" + std::to_string(size) + "\n"}; }

// Takes the head and appends entries after it, with a seal; gives the new size.
inline Result<std::uint64_t> append_after_head(Transaction& transaction, const std::vector<TestEntry>& entries,
                                               const std::vector<TreeNode>& nodes = {}) {
  const Result<Head> head = transaction.take_head();
  if (!head) return tl::make_unexpected(head.error());
  std::vector<EntryRow> rows;
  for (const TestEntry& entry : entries) rows.push_back(entry.row());
  const std::uint64_t size = head->size + entries.size();
  Result<void> appended = transaction.append(rows, nodes, test_seal(size), test_head(size));
  if (!appended) return tl::make_unexpected(appended.error());
  return size;
}

// The same with `count` entries of test_entry().
inline Result<std::uint64_t> append_after_head(Transaction& transaction, std::uint64_t count) {
  const Result<Head> head = transaction.take_head();
  if (!head) return tl::make_unexpected(head.error());
  std::vector<TestEntry> entries;
  for (std::uint64_t i = 1; i <= count; ++i) entries.push_back(test_entry(head->size + i));
  return append_after_head(transaction, entries);
}

inline std::string why(const Failure& failure) { return std::string(failure.code) + " " + failure.text(); }

// What a result holds; without one the test has failed, and goes on with an empty value.
template <class T>
T value_of(Result<T> result) {
  if (result) return std::move(*result);
  ADD_FAILURE() << why(result.error());
  return T();
}

inline void expect_done(const Result<void>& result) { EXPECT_TRUE(result) << why(result.error()); }

template <class T>
std::string_view code_of(const Result<T>& result) {
  return result ? std::string_view("(no failure)") : result.error().code;
}

}  // namespace baton::store
