// SPDX-License-Identifier: Apache-2.0
#include "ledger/keys.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "base/limits.h"
#include "base/text.h"
#include "json/canonical.h"
#include "json/parse.h"

namespace baton::ledger {
namespace {

// The text that is signed: a tag for the kind of statement, and what it is about, a line each. None of the parts can hold
// a line feed (is_key_name), so that no two statements share a text.
std::string statement(std::string_view kind, std::initializer_list<std::string_view> parts) {
  std::string text = "baton.";
  text += kind;
  text += ".v1\n";
  for (const std::string_view part : parts) {
    text += part;
    text += '\n';
  }
  return text;
}

std::string created_text(std::string_view origin, const VerifierKey& key, std::string_view redaction_key_id) {
  return statement(kCreated, {origin, key.text(), redaction_key_id});
}
// The key that asks does not know yet who will admit it: so its statement is one of its own.
std::string admission_text(std::string_view origin, const VerifierKey& added) {
  return statement("ledger.key_admission", {origin, added.text()});
}
std::string admitted_text(std::string_view origin, const VerifierKey& by, const VerifierKey& added) {
  return statement(kKeyAdmitted, {origin, by.text(), added.text()});
}
std::string rotated_text(std::string_view origin, const VerifierKey& old_key, const VerifierKey& new_key) {
  return statement(kKeyRotated, {origin, old_key.text(), new_key.text()});
}
std::string retired_text(std::string_view origin, const VerifierKey& by, const VerifierKey& retired) {
  return statement(kKeyRetired, {origin, by.text(), retired.text()});
}

// `members` are in canonical order.
std::string object_of(std::initializer_list<std::pair<std::string_view, std::string>> members) {
  std::string out;
  for (const auto& [name, value] : members) {
    out += out.empty() ? '{' : ',';
    json::append_canonical_string(out, name);
    out += ':';
    json::append_canonical_string(out, value);
  }
  out += '}';
  return out;
}

// --- reading ------------------------------------------------------------------------------------------------------------

// A payload whose members are all strings, exactly those expected.
class Statement {
 public:
  static tl::expected<Statement, std::string> read(std::string_view payload,
                                                   std::initializer_list<std::string_view> members) {
    json::ParseLimits limits;
    limits.bytes_max = limits::kLedgerPayloadBytesMax;
    limits.depth_max = limits::kLedgerPayloadDepthMax;
    auto document = json::parse(payload, limits);
    if (!document) return tl::make_unexpected("its payload is not JSON: " + document.error().what);
    const json::Node root = document->root();
    if (!root.is_object()) return tl::make_unexpected(std::string("its payload is not an object"));
    for (const std::string_view member : members)
      if (!root[member].is_string()) return tl::make_unexpected("`" + std::string(member) + "` is not there");
    if (root.size() != members.size())
      return tl::make_unexpected(std::string("its payload has members that are not known"));
    return Statement(std::move(*document));
  }

  std::string_view text(std::string_view member) const { return document_.root()[member].string(); }

  std::optional<VerifierKey> key(std::string_view member) const { return VerifierKey::parse(text(member)); }

  bool is_signed(std::string_view member, const VerifierKey& key, std::string_view text_signed) const {
    const auto bytes = parse_base64(text(member));
    Signature signature;
    if (!bytes || bytes->size() != signature.size()) return false;
    std::copy(bytes->begin(), bytes->end(), signature.begin());
    return key.verifies(text_signed, signature);
  }

 private:
  explicit Statement(json::Document document) : document_(std::move(document)) {}
  json::Document document_;
};

bool is_redaction_key_id(std::string_view text) {
  return text.size() == 16 && std::all_of(text.begin(), text.end(), is_lower_hex);
}

std::string not_a_key(std::string_view member) {
  return "`" + std::string(member) + "` is not a key of this ledger's name";
}
std::string id_text(std::uint32_t id) {
  const std::uint8_t bytes[] = {static_cast<std::uint8_t>(id >> 24), static_cast<std::uint8_t>(id >> 16),
                                static_cast<std::uint8_t>(id >> 8), static_cast<std::uint8_t>(id)};
  return hex(bytes);
}
std::string not_signed(std::string_view member) { return "`" + std::string(member) + "` is not a signature of it"; }

}  // namespace

// --- writing ------------------------------------------------------------------------------------------------------------

std::string created_payload(std::string_view origin, const SigningKey& key, std::string_view redaction_key_id) {
  const VerifierKey& verifier = key.verifier();
  return object_of({{"key", verifier.text()},
                    {"origin", std::string(origin)},
                    {"redaction_key", std::string(redaction_key_id)},
                    {"signature", base64(key.sign(created_text(origin, verifier, redaction_key_id)))}});
}

Signature sign_admission(std::string_view origin, const SigningKey& added) {
  return added.sign(admission_text(origin, added.verifier()));
}

std::string admitted_payload(std::string_view origin, const VerifierKey& added, const Signature& by_added,
                             const SigningKey& by) {
  return object_of({{"by", by.verifier().text()},
                    {"by_signature", base64(by.sign(admitted_text(origin, by.verifier(), added)))},
                    {"key", added.text()},
                    {"origin", std::string(origin)},
                    {"signature", base64(by_added)}});
}

std::string rotated_payload(std::string_view origin, const SigningKey& old_key, const SigningKey& new_key) {
  const std::string text = rotated_text(origin, old_key.verifier(), new_key.verifier());
  return object_of({{"new_key", new_key.verifier().text()},
                    {"new_signature", base64(new_key.sign(text))},
                    {"old_key", old_key.verifier().text()},
                    {"old_signature", base64(old_key.sign(text))},
                    {"origin", std::string(origin)}});
}

std::string retired_payload(std::string_view origin, const VerifierKey& retired, const SigningKey& by) {
  return object_of({{"by", by.verifier().text()},
                    {"by_signature", base64(by.sign(retired_text(origin, by.verifier(), retired)))},
                    {"key", retired.text()},
                    {"origin", std::string(origin)}});
}

// --- the state ----------------------------------------------------------------------------------------------------------

const KeyState::Key* KeyState::find(const VerifierKey& key) const {
  for (const Key& known : keys_)
    if (known.key == key) return &known;
  return nullptr;
}

KeyState::Key* KeyState::find_active(const VerifierKey& key) {
  for (Key& known : keys_)
    if (known.active && known.key == key) return &known;
  return nullptr;
}

std::optional<std::string> KeyState::apply(std::string_view type, std::string_view payload) {
  constexpr std::string_view kAboutKeys = "ledger.key_";
  if (type == kCreated) return apply_created(payload);
  if (!type.starts_with(kAboutKeys)) return std::nullopt;
  if (origin_.empty()) return "no key was named before";
  if (type == kKeyAdmitted) return apply_admitted(payload);
  if (type == kKeyRotated) return apply_rotated(payload);
  if (type == kKeyRetired) return apply_retired(payload);
  // Whoever does not know what changed cannot say which keys count.
  return "`" + std::string(type) + "` is not a statement that this version knows";
}

std::optional<std::string> KeyState::apply_created(std::string_view payload) {
  if (!origin_.empty()) return "the ledger was created already";
  const auto read = Statement::read(payload, {"key", "origin", "redaction_key", "signature"});
  if (!read) return read.error();
  const std::string_view origin = read->text("origin"), redaction_key = read->text("redaction_key");
  if (!is_key_name(origin)) return "`origin` is not a name";
  if (!is_redaction_key_id(redaction_key)) return "`redaction_key` is not the id of a key";
  const auto key = read->key("key");
  if (!key || key->name != origin) return not_a_key("key");
  if (!read->is_signed("signature", *key, created_text(origin, *key, redaction_key))) return not_signed("signature");
  origin_ = origin;
  redaction_key_id_ = redaction_key;
  keys_.push_back({*key, true, false});
  return std::nullopt;
}

std::optional<std::string> KeyState::apply_admitted(std::string_view payload) {
  const auto read = Statement::read(payload, {"by", "by_signature", "key", "origin", "signature"});
  if (!read) return read.error();
  if (read->text("origin") != origin_) return "`origin` is that of another ledger";
  const auto by = read->key("by"), added = read->key("key");
  if (!by || find_active(*by) == nullptr) return "`by` is not an active key";
  if (!added || added->name != origin_) return not_a_key("key");
  // Also one that is retired: else the old statement that admitted it could be used a second time.
  if (find(*added) != nullptr) return "`key` was admitted before";
  if (!read->is_signed("by_signature", *by, admitted_text(origin_, *by, *added))) return not_signed("by_signature");
  if (!read->is_signed("signature", *added, admission_text(origin_, *added))) return not_signed("signature");
  keys_.push_back({*added, true, false});
  return std::nullopt;
}

std::optional<std::string> KeyState::apply_rotated(std::string_view payload) {
  const auto read = Statement::read(payload, {"new_key", "new_signature", "old_key", "old_signature", "origin"});
  if (!read) return read.error();
  if (read->text("origin") != origin_) return "`origin` is that of another ledger";
  const auto old_key = read->key("old_key"), new_key = read->key("new_key");
  Key* const old_known = old_key ? find_active(*old_key) : nullptr;
  if (old_known == nullptr) return "`old_key` is not an active key";
  if (!new_key || new_key->name != origin_) return not_a_key("new_key");
  if (find(*new_key) != nullptr) return "`new_key` was admitted before";
  const std::string text = rotated_text(origin_, *old_key, *new_key);
  if (!read->is_signed("old_signature", *old_key, text)) return not_signed("old_signature");
  if (!read->is_signed("new_signature", *new_key, text)) return not_signed("new_signature");
  old_known->active = false;
  old_known->covers_rotation = true;
  keys_.push_back({*new_key, true, true});
  return std::nullopt;
}

std::optional<std::string> KeyState::apply_retired(std::string_view payload) {
  const auto read = Statement::read(payload, {"by", "by_signature", "key", "origin"});
  if (!read) return read.error();
  if (read->text("origin") != origin_) return "`origin` is that of another ledger";
  const auto by = read->key("by"), retired = read->key("key");
  if (!by || find_active(*by) == nullptr) return "`by` is not an active key";
  Key* const known = retired ? find_active(*retired) : nullptr;
  if (known == nullptr) return "`key` is not an active key";
  if (*by == *retired) return "a key cannot retire itself";
  if (!read->is_signed("by_signature", *by, retired_text(origin_, *by, *retired))) return not_signed("by_signature");
  known->active = false;
  return std::nullopt;
}

std::optional<KeyState::SealFault> KeyState::check_seal(const Note& note, const Checkpoint& checkpoint) const {
  const auto fault = [](std::string problem) { return SealFault{false, {}, std::move(problem)}; };
  if (checkpoint.origin != origin_) return fault("is that of another ledger");

  std::vector<bool> has_signed(keys_.size(), false);
  std::optional<std::string> foreign;  // the first key that may not sign here
  for (const NoteSignature& signature : note.signatures) {
    bool known = false, valid = false;
    for (std::size_t i = 0; i < keys_.size() && !valid; ++i) {
      const Key& key = keys_[i];
      if ((!key.active && !key.covers_rotation) || signature.name != key.key.name || signature.key_id != key.key.id())
        continue;
      known = true;
      valid = key.key.verifies(note.text, signature.signature);
      if (valid) has_signed[i] = true;
    }
    if (known && !valid) return fault("has a signature that does not hold");
    if (!known && !foreign) foreign = id_text(signature.key_id);
  }

  bool by_active = false;
  for (std::size_t i = 0; i < keys_.size(); ++i) by_active = by_active || (keys_[i].active && has_signed[i]);
  if (!by_active) {
    if (foreign) return SealFault{true, *foreign, "is signed by a key that is not admitted"};
    return fault("is not signed by an active key");
  }
  for (std::size_t i = 0; i < keys_.size(); ++i)
    if (keys_[i].covers_rotation && !has_signed[i])
      return fault("covers a rotation, but is not signed by key " + keys_[i].key.id_text());
  return std::nullopt;
}

void KeyState::sealed() {
  for (Key& key : keys_) key.covers_rotation = false;
}

}  // namespace baton::ledger
