// SPDX-License-Identifier: Apache-2.0
#include "ledger/merkle.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.h"

namespace baton::ledger {
namespace {

// The largest power of two below `size`, which is at least 2: where RFC 6962 splits a tree.
std::uint64_t split_of(std::uint64_t size) { return std::bit_floor(size - 1); }

// The root over the leaves first ... first + size - 1, a part of a larger tree: `first` is a multiple of the largest power
// of two in `size`.
Result<Sha256> range_root(std::uint64_t first, std::uint64_t size, const Subtree& subtree) {
  if (std::has_single_bit(size)) {
    const auto level = static_cast<std::uint32_t>(std::countr_zero(size));
    return subtree(level, first >> level);
  }
  const std::uint64_t split = split_of(size);
  auto left = range_root(first, split, subtree);
  if (!left) return left;
  auto right = range_root(first + split, size - split, subtree);
  if (!right) return right;
  return node_hash(*left, *right);
}

}  // namespace

Sha256 node_hash(const Sha256& left, const Sha256& right) {
  char bytes[1 + 2 * sizeof(Sha256)];
  bytes[0] = 0x01;
  std::memcpy(bytes + 1, left.data(), left.size());
  std::memcpy(bytes + 1 + left.size(), right.data(), right.size());
  return sha256({bytes, sizeof bytes});
}

Sha256 empty_root() { return sha256({}); }

// --- the peaks ----------------------------------------------------------------------------------------------------------

std::optional<Peaks> Peaks::read(std::uint64_t size, std::string_view bytes) {
  if (bytes.size() != static_cast<std::size_t>(std::popcount(size)) * sizeof(Sha256)) return std::nullopt;
  Peaks peaks;
  peaks.size_ = size;
  peaks.hashes_.resize(bytes.size() / sizeof(Sha256));
  for (std::size_t i = 0; i < peaks.hashes_.size(); ++i)
    std::memcpy(peaks.hashes_[i].data(), bytes.data() + i * sizeof(Sha256), sizeof(Sha256));
  return peaks;
}

std::string Peaks::bytes() const {
  std::string out;
  out.reserve(hashes_.size() * sizeof(Sha256));
  for (const Sha256& hash : hashes_) out.append(reinterpret_cast<const char*>(hash.data()), hash.size());
  return out;
}

void Peaks::append(const Sha256& leaf, const std::function<void(const Completed&)>* completed) {
  append_subtree(leaf, 0, completed);
}

void Peaks::append_subtree(const Sha256& root, std::uint32_t level,
                           const std::function<void(const Completed&)>* completed) {
  CHECK(level < 64 && (size_ & ((std::uint64_t{1} << level) - 1)) == 0);
  const std::uint64_t before = size_, added = std::uint64_t{1} << level;
  Sha256 hash = root;
  // Each peak of the same height becomes the left half of the next larger one, like a carry in an addition.
  for (; level < 63 && (before >> level & 1) != 0; ++level) {
    hash = node_hash(hashes_.back(), hash);
    hashes_.pop_back();
    if (completed != nullptr) (*completed)({level + 1, before >> (level + 1), hash});
  }
  hashes_.push_back(hash);
  size_ = before + added;
}

Sha256 Peaks::root() const {
  if (hashes_.empty()) return empty_root();
  Sha256 hash = hashes_.back();
  for (std::size_t i = hashes_.size() - 1; i-- > 0;) hash = node_hash(hashes_[i], hash);
  return hash;
}

Result<Sha256> tree_root(std::uint64_t size, const Subtree& subtree) {
  return size == 0 ? empty_root() : range_root(0, size, subtree);
}

// --- inclusion ----------------------------------------------------------------------------------------------------------

Result<std::vector<Sha256>> inclusion_proof(std::uint64_t index, std::uint64_t size, const Subtree& subtree) {
  if (index >= size)
    return failure("making an inclusion proof",
                   "there is no leaf " + std::to_string(index) + " among " + std::to_string(size));
  std::vector<Sha256> path;
  std::uint64_t first = 0;
  while (size > 1) {
    const std::uint64_t split = split_of(size);
    const bool in_left = index - first < split;
    auto other = in_left ? range_root(first + split, size - split, subtree) : range_root(first, split, subtree);
    if (!other) return tl::make_unexpected(std::move(other.error()));
    path.push_back(*other);
    if (!in_left) first += split;
    size = in_left ? split : size - split;
  }
  std::reverse(path.begin(), path.end());
  return path;
}

// RFC 9162, 2.1.3.2: from the leaf upward, telling left from right by the digits of the index, and skipping the levels
// where the last node of the tree has no sibling.
bool verify_inclusion(const Sha256& leaf, std::uint64_t index, std::uint64_t size, std::span<const Sha256> proof,
                      const Sha256& root) {
  if (index >= size) return false;
  std::uint64_t at = index, last = size - 1;
  Sha256 hash = leaf;
  for (const Sha256& sibling : proof) {
    if (last == 0) return false;
    if ((at & 1) != 0 || at == last) {
      hash = node_hash(sibling, hash);
      while ((at & 1) == 0 && at != 0) at >>= 1, last >>= 1;
    } else {
      hash = node_hash(hash, sibling);
    }
    at >>= 1, last >>= 1;
  }
  return last == 0 && hash == root;
}

// --- consistency --------------------------------------------------------------------------------------------------------

Result<std::vector<Sha256>> consistency_proof(std::uint64_t old_size, std::uint64_t size, const Subtree& subtree) {
  if (old_size > size)
    return failure("making a consistency proof",
                   "the older tree has " + std::to_string(old_size) + " leaves, the newer " + std::to_string(size));
  std::vector<Sha256> path;
  if (old_size == 0 || old_size == size) return path;
  std::uint64_t first = 0;
  bool whole = true;  // the old tree itself: its root is known to the one who asks
  while (old_size < size) {
    const std::uint64_t split = split_of(size);
    const bool in_left = old_size <= split;
    auto other = in_left ? range_root(first + split, size - split, subtree) : range_root(first, split, subtree);
    if (!other) return tl::make_unexpected(std::move(other.error()));
    path.push_back(*other);
    if (in_left) {
      size = split;
    } else {
      first += split;
      old_size -= split;
      size -= split;
      whole = false;
    }
  }
  if (!whole) {
    auto old_part = range_root(first, size, subtree);
    if (!old_part) return tl::make_unexpected(std::move(old_part.error()));
    path.push_back(*old_part);
  }
  std::reverse(path.begin(), path.end());
  return path;
}

// RFC 9162, 2.1.4.2: both roots are worked out from one path.
bool verify_consistency(std::uint64_t old_size, std::uint64_t size, const Sha256& old_root, const Sha256& root,
                        std::span<const Sha256> proof) {
  if (old_size > size) return false;
  if (old_size == 0) return proof.empty() && old_root == empty_root();
  if (old_size == size) return proof.empty() && old_root == root;

  std::uint64_t at = old_size - 1, last = size - 1;
  while ((at & 1) != 0) at >>= 1, last >>= 1;
  // Where the old tree is complete, the path does not repeat its root.
  const bool starts_at_root = at == 0;
  if (!starts_at_root && proof.empty()) return false;
  Sha256 old_hash = starts_at_root ? old_root : proof[0], hash = old_hash;
  for (const Sha256& sibling : proof.subspan(starts_at_root ? 0 : 1)) {
    if (last == 0) return false;
    if ((at & 1) != 0 || at == last) {
      old_hash = node_hash(sibling, old_hash);
      hash = node_hash(sibling, hash);
      while ((at & 1) == 0 && at != 0) at >>= 1, last >>= 1;
    } else {
      hash = node_hash(hash, sibling);
    }
    at >>= 1, last >>= 1;
  }
  return last == 0 && old_hash == old_root && hash == root;
}

}  // namespace baton::ledger
