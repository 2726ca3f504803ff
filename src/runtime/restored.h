// SPDX-License-Identifier: Apache-2.0
// Was the store restored or cut? What a node and its witnesses have kept of a ledger must still be in it. Where it is not,
// the node writes nothing until an operator has accepted the store as it is, which is an entry (ledger.restore_accepted).
// Why, and what it cannot see: docs/decisions/0060
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/result.h"
#include "json/value.h"
#include "ledger/key_files.h"
#include "ledger/note.h"
#include "store/store.h"

namespace baton::runtime {

// A seal that was kept outside the store.
struct KeptSeal {
  std::string keeper;  // "this node", "the witness folder:/x"
  std::string note;
  ledger::Checkpoint checkpoint;
};
// Nothing when the note is no checkpoint of this ledger: it proves nothing.
std::optional<KeptSeal> kept_seal_of(std::string keeper, std::string note, std::string_view origin);

// A kept seal that the store's ledger does not contain.
struct Setback {
  KeptSeal kept;
  std::uint64_t size = 0;  // of the store's ledger
  Sha256 root{};
  bool is_shorter = false;  // else it has other entries

  std::string problem() const;  // in words: who has seen what, and what is there
  json::Value to_json() const;
};

// A kept checkpoint that an entry names as accepted.
struct AcceptedSeal {
  std::uint64_t size = 0;
  Sha256 root{};
  bool is_of(const ledger::Checkpoint& kept) const { return size == kept.size && root == kept.root; }
};
// Those that a payload of ledger.restore_accepted names.
std::vector<AcceptedSeal> accepted_in(std::string_view payload);

// Those of `kept` that the ledger does not contain and that no entry accepts. Everything was kept before this is called, so
// that a ledger that grows meanwhile is no setback.
Result<std::vector<Setback>> find_setbacks(store::Store& store, const std::vector<KeptSeal>& kept);

// The payload of ledger.restore_accepted: `kept` (a list of keeper, size, root, seal), `found` (size, root), `note`.
json::Value accepted_payload(const std::vector<Setback>& setbacks, std::string_view note);

// Keeps the newest seal of this node beside its key, in the background, at most once a second; and at the end.
class LastSealKeeper {
 public:
  // `files` outlives the keeper.
  explicit LastSealKeeper(const ledger::KeyFiles& files);
  ~LastSealKeeper();  // the newest one is kept before it ends

  void offer(const store::Seal& seal);
  // Whatever is kept now gives way: an operator has accepted the store. Returns when it is done.
  Result<void> replace(const store::Seal& seal);

 private:
  void work();

  const ledger::KeyFiles& files_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::optional<store::Seal> newest_;  // not kept yet
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace baton::runtime
