// SPDX-License-Identifier: Apache-2.0
// A ledger that is open for writing: its store, its keys, its writer and its witnesses, and the use cases the ledger has
// of its own. Opening makes a new one in an empty store: mints its id, makes the key files, writes the first entry.
//
// The origin of a ledger is `baton/ledger/<id>`; its keys lie in `<keys folder>/<id>/` (ledger/key_files.h).
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/result.h"
#include "ledger/key_files.h"
#include "ledger/note.h"
#include "runtime/restored.h"
#include "runtime/witness.h"
#include "runtime/writer.h"
#include "store/store.h"

namespace baton::runtime {

struct LedgerPlace {
  std::filesystem::path keys;          // the folder with a folder for each ledger
  std::filesystem::path store_folder;  // keys may not lie in it; empty when the store has no folder
};

// The newest seal that this node has kept of a ledger, in the key folder; nothing when there is none that can be read.
std::optional<std::string> last_seal_of(const LedgerPlace& place, std::string_view origin);

// The origin a store's ledger names in its newest seal; nothing in a new store.
Result<std::optional<std::string>> origin_of(store::Reader& reader);

class Ledger {
 public:
  // Everything given outlives the ledger. Failures: those of the store and of the key files; LEDGER_KEY_NOT_ADMITTED when
  // this node's key may not seal this ledger; LEDGER_KEY_FILE when the redaction key is not the ledger's.
  static Result<std::unique_ptr<Ledger>> open(store::Store& store, Clock& clock, Random& random,
                                              const LedgerPlace& place);

  Writer& writer() { return *writer_; }
  const std::string& origin() const { return origin_; }
  const ledger::RedactionKey& redaction_key() const { return redaction_key_; }

  // Use cases of the ledger itself. The actor is who asked.
  Result<Acknowledgement> rotate_key(const ledger::Actor& actor);
  // `request` is what `make_admission_request` gave on the other machine.
  Result<Acknowledgement> admit_key(const ledger::Actor& actor, std::string_view request);
  Result<Acknowledgement> retire_key(const ledger::Actor& actor, std::string_view key_id);
  Result<Acknowledgement> add_witness(const ledger::Actor& actor, std::string_view witness);
  Result<Acknowledgement> remove_witness(const ledger::Actor& actor, std::string_view witness);
  // Also sees to it that the content is not left in the store's files; a failure then says so, though the entry is there.
  Result<Acknowledgement> erase_blob(const ledger::Actor& actor, std::string_view sha256, std::string_view reason);

  // What was kept elsewhere and is not in the store: while there is any, the writer refuses with LEDGER_BEHIND.
  std::vector<Setback> setbacks() const;
  // Accepts the store as it is, for good; recording goes on. LEDGER_DRAFT when there is nothing to accept.
  Result<Acknowledgement> accept_restore(const ledger::Actor& actor, std::string_view note);

  // Waits until the witnesses have been brought the newest seal; what went wrong, by witness.
  std::vector<std::string> settle_witnesses();

 private:
  Ledger(store::Store& store, Clock& clock, Random& random, ledger::KeyFiles files, std::string origin,
         ledger::RedactionKey redaction_key, ledger::SigningKey key, std::vector<std::string> witnesses);
  Result<void> compare_with_kept(const std::vector<std::string>& witnesses);
  Failure noticed(std::vector<Setback> setbacks);
  static Result<std::unique_ptr<Ledger>> create(store::Store& store, Clock& clock, Random& random,
                                                const LedgerPlace& place);
  Result<ledger::SigningKey> own_key() const;

  store::Store& store_;
  Random& random_;
  ledger::KeyFiles files_;
  std::string origin_;
  ledger::RedactionKey redaction_key_;
  mutable std::mutex setbacks_mutex_;
  std::vector<Setback> setbacks_;
  std::unique_ptr<WitnessKeeper> witnesses_;
  std::unique_ptr<LastSealKeeper> last_seal_;
  std::unique_ptr<Writer> writer_;
};

// For a node whose key is not admitted yet: makes its key files if need be, and the request that an admitted node answers
// with `admit_key`: {"key": verifier key, "signature": ...}.
Result<std::string> make_admission_request(store::Store& store, Random& random, const LedgerPlace& place);

}  // namespace baton::runtime
