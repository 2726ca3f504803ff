// SPDX-License-Identifier: Apache-2.0
// Verifying a ledger, entry by entry: the pure part. Feed it entries and seals in order; the first thing that is wrong
// ends it. It keeps the chain's end, the tree's peaks and the keys, nothing else, so memory does not grow with the ledger,
// and a copy of it can be kept to go on from there.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnostics/diagnostic.h"
#include "ledger/entry.h"
#include "ledger/keys.h"
#include "ledger/merkle.h"
#include "ledger/note.h"
#include "store/store.h"

namespace baton::ledger {

// The first thing that is wrong.
struct Break {
  std::uint64_t sequence =
      0;  // where: the place at which an entry should stand, or the number of entries before a seal
  Diagnostic diagnostic;
};

class Verifier {
 public:
  // The next entry of the ledger, as it lies there. `computed` is its entry_hash(), when another thread has it already.
  std::optional<Break> entry(const store::EntryRow& row, const Sha256* computed = nullptr);
  // A seal; its size must be the number of entries seen.
  std::optional<Break> seal(const store::Seal& seal);
  // The end: the head must be what was seen, and the newest seal must cover everything. Does not look at the head's
  // `open_streams`: those are of the tree's rows (LEDGER_TREE), and only a help for finding.
  std::optional<Break> finish(const store::Head& head);

  // Before the first entry: a checkpoint that was kept elsewhere, by `keeper`. LEDGER_FORK at the entry where the tree is
  // another, LEDGER_CUT at the end when the ledger is shorter. Whether it is signed is for the caller to see.
  void expect(Checkpoint kept, std::string keeper);
  // Before the first entry: a key that is known some other way. The ledger must have been created with it, or one of its
  // seals be signed by it; else LEDGER_KEY_FOREIGN at the end. That a ledger admits the key would not be enough: the
  // statement in which a key asks to be admitted can be copied into a forged ledger of the same name.
  void pin(VerifierKey key);

  // Called for each complete subtree as entries come, so that whoever compares kept nodes need not hash them again.
  void on_completed(std::function<void(const Peaks::Completed&)> completed) { completed_ = std::move(completed); }

  std::uint64_t size() const { return peaks_.size(); }
  const Sha256& last_hash() const { return last_hash_; }
  std::int64_t last_time() const { return last_time_; }
  const Peaks& peaks() const { return peaks_; }
  const KeyState& keys() const { return keys_; }
  std::uint64_t sealed_size() const { return sealed_size_; }

 private:
  std::function<void(const Peaks::Completed&)> completed_;
  struct Kept {
    Checkpoint checkpoint;
    std::string keeper;
  };
  std::optional<Break> check_place(const store::EntryRow& row, const Sha256& computed) const;
  std::optional<Break> check_kept();

  Peaks peaks_;
  Sha256 last_hash_{};
  std::int64_t last_time_ = INT64_MIN;
  KeyState keys_;
  std::uint64_t sealed_size_ = 0;
  std::vector<Kept> kept_;  // largest first: the next one to come is the last
  std::vector<VerifierKey> pinned_;
  bool anchored_ = false;  // the pinned key was met
  std::string sealed_by_;  // the id of a key of the newest seal
  std::string buffer_;
};

}  // namespace baton::ledger
