// SPDX-License-Identifier: Apache-2.0
// Signed notes, checkpoints, keys, base64 and statements about keys: everything of a ledger that is text from elsewhere.
#include "ledger/entry.h"
#include "ledger/keys.h"
#include "ledger/note.h"
#include "properties.h"

namespace baton::fuzz {
namespace {

using ledger::KeyState;
using ledger::VerifierKey;

ledger::SigningKey example_key(std::uint8_t first) {
  CountingRandom random(first);
  return ledger::SigningKey::make("baton/ledger/example", random);
}

void check_key_text(std::string_view text) {
  if (const auto bytes = ledger::parse_base64(text))
    require(ledger::base64(*bytes) == text, "bytes have one spelling in base64", text);
  if (const auto key = VerifierKey::parse(text)) require(key->text() == text, "a key has one spelling", text);
  if (const auto key = VerifierKey::parse_file(text)) {
    const auto again = VerifierKey::parse_file(key->pem());
    require(again && again->bytes == key->bytes, "a key goes through PEM and back", text);
  }
}

void check_note(std::string_view text) {
  static const VerifierKey key = example_key(0).verifier();
  const auto note = ledger::parse_note(text);
  if (!note) return;
  require(text.starts_with(note->text), "a note begins with its text", text);
  for (const ledger::NoteSignature& signature : note->signatures)
    require(ledger::is_key_name(signature.name), "who signs has a name", text);
  const bool is_signed = is_signed_by(*note, key);
  require(!is_signed || is_signed_by(*note, {"", key.bytes}), "a key without its name finds no less", text);
  const auto checkpoint = ledger::parse_checkpoint(note->text);
  if (checkpoint) require(note->text.starts_with(checkpoint_text(*checkpoint)), "a checkpoint has one spelling", text);
}

// What is refused changes nothing, and is refused again.
void check_statement(std::string_view payload) {
  static const ledger::SigningKey key = example_key(0);
  KeyState created;
  require(!created.apply(ledger::kCreated, ledger::created_payload("baton/ledger/example", key, "0123456789abcdef")),
          "a ledger is created");
  for (const std::string_view type : {ledger::kCreated, ledger::kKeyAdmitted, ledger::kKeyRotated, ledger::kKeyRetired})
    for (const KeyState& before : {KeyState(), created}) {
      KeyState after = before;
      const auto problem = after.apply(type, payload);
      if (problem) {
        require(after.keys().size() == before.keys().size() && after.origin() == before.origin(),
                "refused changes nothing");
        require(find_invalid_utf8(*problem) == problem->size(), "a problem is UTF-8");
      } else {
        require(after.apply(type, payload).has_value(), "no statement counts twice", payload);
      }
    }
}

void run(Input input) {
  const std::string_view text = input.rest();
  check_key_text(text);
  check_note(text);
  ledger::parse_checkpoint(text);
  check_statement(text);
}

}  // namespace
}  // namespace baton::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return baton::fuzz::fuzz_one([&] { baton::fuzz::run({data, size}); });
}
