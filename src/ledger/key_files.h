// SPDX-License-Identifier: Apache-2.0
// The folder of a ledger's private keys: `seal.key` (Ed25519) and `redaction.key` (for keyed hashes), mode 0600 in a
// folder of mode 0700. Made at first use, written to disk before they are used, never inside the store's folder. Beside
// them lies `last.seal`, the newest seal that was made here.
//
// A rotation writes `seal.key.next` first, then the entry, then renames: whichever of the two the ledger names is taken
// when a crash came between. A next key that the ledger does not name is left for the next rotation, never dropped: its
// entry may still be on its way.
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "base/random.h"
#include "base/result.h"
#include "ledger/note.h"

namespace baton::ledger {

using RedactionKey = std::array<std::uint8_t, 32>;
std::string redaction_key_id(const RedactionKey& key);  // 16 hex digits of a hash of it

class KeyFiles {
 public:
  // `folder` is that of this one ledger. Failure LEDGER_KEY_PLACE when it lies in `store_folder` (empty: no folder).
  static Result<KeyFiles> open(const std::filesystem::path& folder, const std::filesystem::path& store_folder);

  // Nothing when there is no such file. Failures: LEDGER_KEY_MODE (others may read it, or it belongs to somebody else),
  // LEDGER_KEY_FILE (not a key, a link, a directory).
  Result<std::optional<SigningKey>> seal_key() const;
  Result<std::optional<SigningKey>> next_seal_key() const;
  Result<std::optional<RedactionKey>> redaction_key() const;

  // Each is on disk, folder entry included, when it returns. Refuses to write over a file that is there.
  Result<void> write_seal_key(const SigningKey& key) const;
  Result<void> write_next_seal_key(const SigningKey& key) const;
  Result<void> write_redaction_key(const RedactionKey& key) const;
  Result<void> finish_rotation() const;  // seal.key.next becomes seal.key

  // The newest seal that this node made: what its store must still have when it starts again. Not a secret, and not synced:
  // after a power cut an older one may be there, or none. Nothing when there is no such file; a Failure when it cannot be read.
  Result<std::optional<std::string>> last_seal() const;
  // The file is there whole, as it was or as it is to be. Keeps one of more entries, unless `even_back`.
  Result<void> write_last_seal(std::string_view note, bool even_back = false) const;

  // Whoever changes the keys, or settles a change, holds this: among threads and processes.
  class Lock {
   public:
    ~Lock();
    Lock(Lock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
    Lock& operator=(Lock&&) = delete;

   private:
    friend class KeyFiles;
    explicit Lock(int descriptor) : descriptor_(descriptor) {}
    int descriptor_;
  };
  Result<Lock> lock() const;

  const std::filesystem::path& folder() const { return folder_; }

 private:
  explicit KeyFiles(std::filesystem::path folder) : folder_(std::move(folder)) {}
  std::filesystem::path folder_;
};

}  // namespace baton::ledger
