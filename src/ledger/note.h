// SPDX-License-Identifier: Apache-2.0
// Signed notes and checkpoints as C2SP defines them (c2sp.org/signed-note, c2sp.org/tlog-checkpoint): a text, and under it
// lines with signatures. A checkpoint is a note that says which ledger, how many entries, and the root of the tree over
// them; it is what seals, receipts and witnesses hold.
//
//   baton/ledger/3f2a…            the origin
//   1024                          the size
//   Zm9v…=                        the root, base64
//                                 (an empty line)
//   — baton/ledger/3f2a… kX9z…    a signature: the key's name; base64 of its 4-byte id and the Ed25519 signature
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "base/sha256.h"

namespace baton::ledger {

std::string base64(std::span<const std::uint8_t> bytes);                       // standard, padded
std::optional<std::vector<std::uint8_t>> parse_base64(std::string_view text);  // strict: padded, nothing else

// May a key be called so? Not empty, UTF-8, no spaces of any kind, no plus, no control characters.
bool is_key_name(std::string_view name);

using Signature = std::array<std::uint8_t, 64>;

// A public key with its name. Written as a C2SP verifier key, `name+8 hex digits+base64`.
struct VerifierKey {
  std::string name;
  std::array<std::uint8_t, 32> bytes{};

  std::uint32_t id() const;     // the first 4 bytes of SHA-256(name, LF, 0x01, bytes)
  std::string id_text() const;  // 8 hexadecimal digits
  std::string text() const;     // the verifier key
  std::string pem() const;      // SubjectPublicKeyInfo, for openssl and others
  bool verifies(std::string_view text, const Signature& signature) const;

  static std::optional<VerifierKey> parse(std::string_view text);  // a verifier key; refuses a wrong id
  // A file that holds a verifier key, a PEM public key, or 32 bytes in hexadecimal or base64. The last three have no name:
  // they match a signature of any name.
  static Result<VerifierKey> parse_file(std::string_view text);
  bool operator==(const VerifierKey&) const = default;
};

// A private key. Its seed is wiped when it goes.
class SigningKey {
 public:
  static SigningKey make(std::string name, Random& random);
  static SigningKey from_seed(std::string name, std::span<const std::uint8_t, 32> seed);
  ~SigningKey();
  SigningKey(SigningKey&&) noexcept;
  SigningKey& operator=(SigningKey&&) noexcept;

  const VerifierKey& verifier() const { return verifier_; }
  Signature sign(std::string_view text) const;
  std::span<const std::uint8_t, 32> seed() const;  // for the key file

 private:
  SigningKey() = default;
  VerifierKey verifier_;
  std::array<std::uint8_t, 64> secret_{};  // libsodium's form: seed and public key
};

struct NoteSignature {
  std::string name;
  std::uint32_t key_id = 0;
  Signature signature{};
};
struct Note {
  std::string text;  // ends in a line feed
  std::vector<NoteSignature> signatures;
};
// Signs `text` (which ends in a line feed) with each key, in order.
std::string sign_note(std::string_view text, std::span<const SigningKey* const> keys);
std::optional<Note> parse_note(std::string_view text);  // strict; Ed25519 signatures only, others are left out
// Is there a valid signature by that key?
bool is_signed_by(const Note& note, const VerifierKey& key);

struct Checkpoint {
  std::string origin;
  std::uint64_t size = 0;
  Sha256 root{};
  bool operator==(const Checkpoint&) const = default;
};
std::string checkpoint_text(const Checkpoint& checkpoint);
std::optional<Checkpoint> parse_checkpoint(std::string_view text);  // of the note's text; extension lines are allowed

}  // namespace baton::ledger
