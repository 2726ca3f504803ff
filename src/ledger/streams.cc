// SPDX-License-Identifier: Apache-2.0
#include "ledger/streams.h"

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

}  // namespace baton::ledger
