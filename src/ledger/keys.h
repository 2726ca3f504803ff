// SPDX-License-Identifier: Apache-2.0
// What entries say about the keys of a ledger, and the rules for it. Pure.
//
//   ledger.created       the first entry: origin, the first key, a signature by it
//   ledger.key_admitted  a further key (of another node), signed by itself and by an admitted one
//   ledger.key_rotated   a key takes another's place: signed by both
//   ledger.key_retired   a key may not seal any more; signed by another active one
//
// A statement's signatures are over a text that names origin, what happens and the keys, so that none can be used for
// anything else. The seal that first covers a rotation is signed by both keys.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"
#include "ledger/note.h"

namespace baton::ledger {

inline constexpr std::string_view kCreated = "ledger.created";
inline constexpr std::string_view kKeyAdmitted = "ledger.key_admitted";
inline constexpr std::string_view kKeyRotated = "ledger.key_rotated";
inline constexpr std::string_view kKeyRetired = "ledger.key_retired";

// Payloads, ready to be appended (exact canonical JSON). `redaction_key_id` ties keyed hashes to the key that makes them.
std::string created_payload(std::string_view origin, const SigningKey& key, std::string_view redaction_key_id);
std::string admitted_payload(std::string_view origin, const VerifierKey& added, const Signature& by_added,
                             const SigningKey& by);
std::string rotated_payload(std::string_view origin, const SigningKey& old_key, const SigningKey& new_key);
std::string retired_payload(std::string_view origin, const VerifierKey& retired, const SigningKey& by);

// What a key that asks to be admitted signs: made where its private half is, carried to where an admitted key is.
Signature sign_admission(std::string_view origin, const SigningKey& added);

// The keys of a ledger after some of its entries.
class KeyState {
 public:
  struct Key {
    VerifierKey key;
    bool active = true;
    // Old or new key of a rotation that no seal has covered yet: it must sign the next seal, even when not active.
    bool covers_rotation = false;
  };

  // Takes an entry's type and payload; what is not about keys changes nothing. What is wrong, when something is.
  std::optional<std::string> apply(std::string_view type, std::string_view payload);
  // What is wrong with a seal made now, when something is: foreign key, missing or bad signature, other origin.
  struct SealFault {
    bool foreign_key = false;
    std::string key;      // its id, for a foreign one
    std::string problem;  // "is not signed ..."
  };
  std::optional<SealFault> check_seal(const Note& note, const Checkpoint& checkpoint) const;
  void sealed();  // a seal was made here: the old key of a rotation is done

  const std::string& origin() const { return origin_; }
  const std::string& redaction_key_id() const { return redaction_key_id_; }
  const std::vector<Key>& keys() const { return keys_; }
  const Key* find(const VerifierKey& key) const;

 private:
  Key* find_active(const VerifierKey& key);
  std::optional<std::string> apply_created(std::string_view payload);
  std::optional<std::string> apply_admitted(std::string_view payload);
  std::optional<std::string> apply_rotated(std::string_view payload);
  std::optional<std::string> apply_retired(std::string_view payload);

  std::string origin_;
  std::string redaction_key_id_;
  std::vector<Key> keys_;
};

}  // namespace baton::ledger
