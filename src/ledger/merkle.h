// SPDX-License-Identifier: Apache-2.0
// The Merkle tree of RFC 6962 over the entries' hashes: its root, and short proofs that an entry is in it or that one
// tree is the beginning of another.
//
// The tree over n leaves is kept as its peaks: the roots of the complete subtrees of n's binary digits, largest first.
// Appending is O(1) on average, the root O(log n). All functions are pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/sha256.h"

namespace baton::ledger {

Sha256 node_hash(const Sha256& left, const Sha256& right);  // SHA-256 over 0x01, left, right
Sha256 empty_root();                                        // SHA-256 of nothing

class Peaks {
 public:
  Peaks() = default;
  // From store::Head: nothing when the number of peaks does not fit the size.
  static std::optional<Peaks> read(std::uint64_t size, std::string_view bytes);
  std::string bytes() const;

  // A complete subtree that this leaf finished: of 2^level leaves.
  struct Completed {
    std::uint32_t level;
    std::uint64_t position;
    Sha256 hash;
  };
  // Adds a leaf. `completed`, when given, is called for each subtree it completes, smallest (level 1) first.
  void append(const Sha256& leaf, const std::function<void(const Completed&)>* completed = nullptr);
  // Adds a complete subtree of 2^level leaves; size() must be a multiple of that.
  void append_subtree(const Sha256& root, std::uint32_t level,
                      const std::function<void(const Completed&)>* completed = nullptr);

  std::uint64_t size() const { return size_; }
  Sha256 root() const;
  bool operator==(const Peaks&) const = default;

 private:
  std::uint64_t size_ = 0;
  std::vector<Sha256> hashes_;  // largest first
};

// How a proof gets at the hashes it is made of: the root of the complete subtree over the leaves
// position * 2^level ... (position + 1) * 2^level - 1, counted from 0.
using Subtree = std::function<Result<Sha256>(std::uint32_t level, std::uint64_t position)>;

// The root of the tree over the first `size` leaves.
Result<Sha256> tree_root(std::uint64_t size, const Subtree& subtree);

// The audit path of leaf `index` (from 0) in the tree of `size` leaves, lowest first (RFC 6962, 2.1.1).
Result<std::vector<Sha256>> inclusion_proof(std::uint64_t index, std::uint64_t size, const Subtree& subtree);
bool verify_inclusion(const Sha256& leaf, std::uint64_t index, std::uint64_t size, std::span<const Sha256> proof,
                      const Sha256& root);

// That the tree of `old_size` leaves is the beginning of that of `size` (RFC 6962, 2.1.2).
Result<std::vector<Sha256>> consistency_proof(std::uint64_t old_size, std::uint64_t size, const Subtree& subtree);
bool verify_consistency(std::uint64_t old_size, std::uint64_t size, const Sha256& old_root, const Sha256& root,
                        std::span<const Sha256> proof);

}  // namespace baton::ledger
