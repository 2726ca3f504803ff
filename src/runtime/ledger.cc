// SPDX-License-Identifier: Apache-2.0
#include "runtime/ledger.h"

#include <algorithm>

#include "base/check.h"
#include "base/ids.h"
#include "base/text.h"
#include "diagnostics/diagnostic.h"
#include "json/parse.h"
#include "ledger/keys.h"
#include "runtime/ledger_events.h"
#include "store/tables.h"

namespace baton::runtime {
namespace {

namespace tables = store::tables;
using ledger::KeyFiles;
using ledger::SigningKey;

constexpr std::string_view kOriginPrefix = "baton/ledger/";
constexpr std::string_view kOpening = "opening the ledger";
// A witness that takes longer is asked again when a seal is brought to it.
constexpr auto kWitnessAtStart = std::chrono::milliseconds(2000);

// The id is a folder's name: nothing but what mint_id makes may get that far.
Result<std::string> id_of(std::string_view origin) {
  const std::string_view id = origin.starts_with(kOriginPrefix) ? origin.substr(kOriginPrefix.size()) : "";
  if (id.size() != 32 || !std::all_of(id.begin(), id.end(), is_lower_hex))
    return failure_of(Code::LEDGER_SEAL, std::string(kOpening),
                      {{"sequence", "the newest"}, {"problem", "names no ledger of Baton's"}});
  return std::string(id);
}

Result<KeyFiles> key_files(const LedgerPlace& place, std::string_view origin) {
  const auto id = id_of(origin);
  if (!id) return tl::make_unexpected(id.error());
  return KeyFiles::open(place.keys / *id, place.store_folder);
}

// Is this key active in the ledger?
Result<bool> is_admitted(store::Reader& reader, const ledger::VerifierKey& key) {
  const auto row = reader.get(tables::kLedgerKeys, {key.id_text()});
  if (!row) return tl::make_unexpected(row.error());
  return *row && std::get<std::string>((**row)[1]) == key.text() && std::get<std::string>((**row)[2]) == "active";
}

// The key of this node. A rotation that a crash cut short has two: the one the ledger names is the right one.
Result<SigningKey> admitted_key(store::Reader& reader, const KeyFiles& files) {
  const auto lock = files.lock();
  if (!lock) return tl::make_unexpected(lock.error());
  auto next = files.next_seal_key();
  if (!next) return tl::make_unexpected(next.error());
  if (*next) {
    const auto admitted = is_admitted(reader, (*next)->verifier());
    if (!admitted) return tl::make_unexpected(admitted.error());
    if (*admitted)
      if (auto settled = files.finish_rotation(); !settled) return tl::make_unexpected(settled.error());
  }
  auto key = files.seal_key();
  if (!key) return tl::make_unexpected(key.error());
  if (!*key) return failure_of(Code::LEDGER_KEY_NOT_ADMITTED, std::string(kOpening), {{"key", "(none was made yet)"}});
  const auto admitted = is_admitted(reader, (*key)->verifier());
  if (!admitted) return tl::make_unexpected(admitted.error());
  if (!*admitted)
    return failure_of(Code::LEDGER_KEY_NOT_ADMITTED, std::string(kOpening), {{"key", (*key)->verifier().id_text()}});
  return std::move(**key);
}

// The key that makes keyed hashes must be the one the ledger began with, or equal values would look different.
Result<ledger::RedactionKey> right_redaction_key(store::Reader& reader, const KeyFiles& files) {
  const auto key = files.redaction_key();
  if (!key) return tl::make_unexpected(key.error());
  const std::string file = (files.folder() / "redaction.key").string();
  if (!*key)
    return failure_of(Code::LEDGER_KEY_FILE, std::string(kOpening),
                      {{"file", file}, {"problem", "is not there: copy it from the node that made the ledger"}});
  std::string wanted;
  const auto read = reader.entries(1, 1, [&](const store::EntryRow& row) {
    const auto document = json::parse(row.payload);
    if (document && document->root()["redaction_key"].is_string()) wanted = document->root()["redaction_key"].string();
    return false;
  });
  if (!read) return tl::make_unexpected(read.error());
  if (wanted != ledger::redaction_key_id(**key))
    return failure_of(Code::LEDGER_KEY_FILE, std::string(kOpening),
                      {{"file", file}, {"problem", "is of another ledger"}});
  return **key;
}

Result<std::vector<std::string>> witnesses_of(store::Reader& reader) {
  std::vector<std::string> out;
  const auto read = reader.find({.table = tables::kLedgerWitnesses}, [&](const store::Row& row) {
    out.push_back(std::get<std::string>(row[0]));
    return true;
  });
  if (!read) return tl::make_unexpected(read.error());
  return out;
}

// Made if it is not there.
Result<SigningKey> own_seal_key(const KeyFiles& files, std::string_view origin, Random& random) {
  auto key = files.seal_key();
  if (!key) return tl::make_unexpected(key.error());
  if (*key) return std::move(**key);
  SigningKey made = SigningKey::make(std::string(origin), random);
  if (auto written = files.write_seal_key(made); !written) return tl::make_unexpected(written.error());
  return made;
}

// A statement about keys is only as good as the key that makes it: it must be active now, with the row locked until the
// statement is committed.
Result<void> need_active(Unit& unit, const ledger::VerifierKey& key) {
  const auto row = unit.get(tables::kLedgerKeys, {key.id_text()});
  if (!row) return tl::make_unexpected(row.error());
  if (!*row || std::get<std::string>((**row)[1]) != key.text() || std::get<std::string>((**row)[2]) != "active")
    return failure_of(Code::LEDGER_KEY_NOT_ADMITTED, "changing the keys", {{"key", key.id_text()}});
  return {};
}

Result<void> need_unknown(Unit& unit, const ledger::VerifierKey& key) {
  const auto row = unit.get(tables::kLedgerKeys, {key.id_text()});
  if (!row) return tl::make_unexpected(row.error());
  if (*row)
    return failure_of(Code::LEDGER_DRAFT, "changing the keys",
                      {{"problem", "names a key that this ledger knows already"}});
  return {};
}

ledger::Draft statement(std::string_view type, const ledger::Actor& actor, std::string payload) {
  return {std::string(kLedgerStream), std::string(type), actor, std::move(payload)};
}

}  // namespace

std::optional<std::string> last_seal_of(const LedgerPlace& place, std::string_view origin) {
  const auto files = key_files(place, origin);
  if (!files) return std::nullopt;
  auto seal = files->last_seal();
  return seal ? std::move(*seal) : std::nullopt;
}

Result<std::optional<std::string>> origin_of(store::Reader& reader) {
  const auto seal = reader.newest_seal();
  if (!seal) return tl::make_unexpected(seal.error());
  if (!*seal) return std::nullopt;
  const auto note = ledger::parse_note((*seal)->note);
  const auto checkpoint = note ? ledger::parse_checkpoint(note->text) : std::nullopt;
  if (!checkpoint)
    return failure_of(Code::LEDGER_SEAL, std::string(kOpening),
                      {{"sequence", std::to_string((*seal)->size)}, {"problem", "is no checkpoint"}});
  return checkpoint->origin;
}

Ledger::Ledger(store::Store& store, Clock& clock, Random& random, KeyFiles files, std::string origin,
               ledger::RedactionKey redaction_key, SigningKey key, std::vector<std::string> witnesses)
    : store_(store),
      random_(random),
      files_(std::move(files)),
      origin_(std::move(origin)),
      redaction_key_(redaction_key),
      witnesses_(std::make_unique<WitnessKeeper>(std::move(witnesses))),
      last_seal_(std::make_unique<LastSealKeeper>(files_)),
      writer_(std::make_unique<Writer>(
          store, clock, Sealing{origin_, std::move(key), [this] { return own_key(); }}, WriterOptions(),
          [this](const store::Seal& seal) {
            witnesses_->offer(seal);
            last_seal_->offer(seal);
          },
          [this](const ledger::Checkpoint& committed) {
            auto setbacks = find_setbacks(store_, {{"this node", {}, committed}});
            // That it went back is known; only what is there now could not be read.
            if (!setbacks || setbacks->empty()) setbacks = std::vector<Setback>{{{"this node", {}, committed}}};
            return noticed(std::move(*setbacks));
          })) {}

Failure Ledger::noticed(std::vector<Setback> setbacks) {
  const std::lock_guard lock(setbacks_mutex_);
  setbacks_ = std::move(setbacks);
  return failure_of(Code::LEDGER_BEHIND, "recording", {{"problem", setbacks_.front().problem()}}).value();
}

std::vector<Setback> Ledger::setbacks() const {
  const std::lock_guard lock(setbacks_mutex_);
  return setbacks_;
}

Result<void> Ledger::compare_with_kept(const std::vector<std::string>& witnesses) {
  std::vector<KeptSeal> kept;
  const auto keep = [&](std::string keeper, std::string note) {
    if (auto one = kept_seal_of(std::move(keeper), std::move(note), origin_)) kept.push_back(std::move(*one));
  };
  if (auto own = files_.last_seal(); own && *own) keep("this node", std::move(**own));
  for (const std::string& witness : witnesses)
    if (auto seal = kept_seal(witness, origin_, kWitnessAtStart); seal && *seal)
      keep("the witness " + witness, std::move(**seal));
  auto setbacks = find_setbacks(store_, kept);
  if (!setbacks) return tl::make_unexpected(setbacks.error());
  if (!setbacks->empty()) writer_->bar(noticed(std::move(*setbacks)));
  return {};
}

Result<Acknowledgement> Ledger::accept_restore(const ledger::Actor& actor, std::string_view note) {
  const std::vector<Setback> accepted = setbacks();
  if (accepted.empty())
    return failure_of(Code::LEDGER_DRAFT, "accepting the store",
                      {{"problem", "would accept nothing: the store has all that was kept elsewhere"}});
  Happening happening{std::string(kLedgerStream), std::string(kRestoreAccepted), actor};
  happening.payload = accepted_payload(accepted, note);
  std::vector<std::string> exempt = {"/found/root"};
  for (std::size_t i = 0; i < accepted.size(); ++i)
    for (const char* name : {"/root", "/seal", "/keeper"}) exempt.push_back("/kept/" + std::to_string(i) + name);
  happening.exempt.assign(exempt.begin(), exempt.end());
  auto recorded = writer_->lift_bar([&](Unit& unit) { return unit.append(happening); });
  if (!recorded) return recorded;
  {
    const std::lock_guard lock(setbacks_mutex_);
    setbacks_.clear();
  }
  // Should it fail, the entry says that what is kept was accepted.
  static_cast<void>(last_seal_->replace(*recorded->seal));
  return recorded;
}

Result<std::unique_ptr<Ledger>> Ledger::create(store::Store& store, Clock& clock, Random& random,
                                               const LedgerPlace& place) {
  const std::string origin = std::string(kOriginPrefix) + mint_id("", random);
  auto files = key_files(place, origin);
  if (!files) return tl::make_unexpected(files.error());
  auto key = own_seal_key(*files, origin, random);
  if (!key) return tl::make_unexpected(key.error());
  ledger::RedactionKey redaction_key;
  random.fill(redaction_key);
  if (auto written = files->write_redaction_key(redaction_key); !written) return tl::make_unexpected(written.error());

  const std::string payload = ledger::created_payload(origin, *key, ledger::redaction_key_id(redaction_key));
  const ledger::Actor node{"node/" + key->verifier().id_text(), ledger::ActorKind::Node};
  std::unique_ptr<Ledger> made(
      new Ledger(store, clock, random, std::move(*files), origin, redaction_key, std::move(*key), {}));
  const auto recorded =
      made->writer_->run([&](Unit& unit) { return unit.append_prepared(statement(ledger::kCreated, node, payload)); });
  if (!recorded) return tl::make_unexpected(recorded.error());
  return made;
}

Result<std::unique_ptr<Ledger>> Ledger::open(store::Store& store, Clock& clock, Random& random,
                                             const LedgerPlace& place) {
  for (int attempts = 0; attempts < 2; ++attempts) {
    const auto reader = store.reader();
    if (!reader) return tl::make_unexpected(reader.error());
    const auto head = (*reader)->head();
    if (!head) return tl::make_unexpected(head.error());
    if (head->size == 0) {
      auto made = create(store, clock, random, place);
      // Another node made it at the same moment: open that one.
      if (!made && made.error().code == "STORE_CONFLICT") continue;
      return made;
    }
    const auto origin = origin_of(**reader);
    if (!origin) return tl::make_unexpected(origin.error());
    if (!*origin)
      return failure_of(Code::LEDGER_SEAL_MISSING, std::string(kOpening),
                        {{"size", std::to_string(head->size)}, {"sealed", "none"}});
    auto files = key_files(place, **origin);
    if (!files) return tl::make_unexpected(files.error());
    auto key = admitted_key(**reader, *files);
    if (!key) return tl::make_unexpected(key.error());
    const auto redaction_key = right_redaction_key(**reader, *files);
    if (!redaction_key) return tl::make_unexpected(redaction_key.error());
    auto witnesses = witnesses_of(**reader);
    if (!witnesses) return tl::make_unexpected(witnesses.error());
    std::unique_ptr<Ledger> opened(
        new Ledger(store, clock, random, std::move(*files), **origin, *redaction_key, std::move(*key), *witnesses));
    if (auto compared = opened->compare_with_kept(*witnesses); !compared) return tl::make_unexpected(compared.error());
    return opened;
  }
  return failure_of(Code::STORE_CONFLICT, std::string(kOpening));
}

// The file is the key's home; the writer's copy belongs to whoever writes.
Result<SigningKey> Ledger::own_key() const {
  auto key = files_.seal_key();
  if (!key) return tl::make_unexpected(key.error());
  if (!*key)
    return failure_of(Code::LEDGER_KEY_FILE, "reading the key",
                      {{"file", (files_.folder() / "seal.key").string()}, {"problem", "is not there"}});
  return std::move(**key);
}

Result<Acknowledgement> Ledger::rotate_key(const ledger::Actor& actor) {
  const auto lock = files_.lock();
  if (!lock) return tl::make_unexpected(lock.error());
  const auto old_key = own_key();
  if (!old_key) return tl::make_unexpected(old_key.error());
  // A next key that is there was of a rotation that did not come to pass.
  auto next = files_.next_seal_key();
  if (!next) return tl::make_unexpected(next.error());
  if (!*next) {
    *next = SigningKey::make(origin_, random_);
    if (auto written = files_.write_next_seal_key(**next); !written) return tl::make_unexpected(written.error());
  }
  const ledger::VerifierKey new_verifier = (*next)->verifier();
  const std::string payload = ledger::rotated_payload(origin_, *old_key, **next);
  auto recorded = writer_->rotate(std::move(**next), [&](Unit& unit) -> Result<void> {
    if (auto active = need_active(unit, old_key->verifier()); !active) return active;
    if (auto unknown = need_unknown(unit, new_verifier); !unknown) return unknown;
    return unit.append_prepared(statement(ledger::kKeyRotated, actor, payload));
  });
  if (!recorded) return recorded;  // the next opening finds out which of the two keys it is
  if (auto finished = files_.finish_rotation(); !finished) return tl::make_unexpected(finished.error());
  return recorded;
}

Result<Acknowledgement> Ledger::admit_key(const ledger::Actor& actor, std::string_view request) {
  const auto refuse = [](std::string_view problem) {
    return failure_of(Code::LEDGER_DRAFT, "admitting a key", {{"problem", problem}});
  };
  const auto document = json::parse(request);
  if (!document || !document->root()["key"].is_string() || !document->root()["signature"].is_string())
    return refuse("is no admission request: an object with `key` and `signature`");
  const auto added = ledger::VerifierKey::parse(document->root()["key"].string());
  const auto bytes = ledger::parse_base64(document->root()["signature"].string());
  ledger::Signature signature;
  if (!added || !bytes || bytes->size() != signature.size()) return refuse("holds no key and signature");
  std::copy(bytes->begin(), bytes->end(), signature.begin());
  const auto lock = files_.lock();
  if (!lock) return tl::make_unexpected(lock.error());
  const auto own = own_key();
  if (!own) return tl::make_unexpected(own.error());
  const SigningKey& by = *own;
  const std::string payload = ledger::admitted_payload(origin_, *added, signature, by);
  return writer_->run([&](Unit& unit) -> Result<void> {
    if (auto active = need_active(unit, by.verifier()); !active) return active;
    if (auto unknown = need_unknown(unit, *added); !unknown) return unknown;
    // Judged as whoever verifies will judge it: a statement that does not hold would break the ledger for good.
    ledger::KeyState state;
    if (state.apply(ledger::kCreated, ledger::created_payload(origin_, by, ledger::redaction_key_id(redaction_key_))) ||
        state.apply(ledger::kKeyAdmitted, payload))
      return refuse("is not signed by the key it names, for this ledger");
    return unit.append_prepared(statement(ledger::kKeyAdmitted, actor, payload));
  });
}

Result<Acknowledgement> Ledger::retire_key(const ledger::Actor& actor, std::string_view key_id) {
  const auto lock = files_.lock();
  if (!lock) return tl::make_unexpected(lock.error());
  const auto own = own_key();
  if (!own) return tl::make_unexpected(own.error());
  const SigningKey& by = *own;
  return writer_->run([&](Unit& unit) -> Result<void> {
    if (auto active = need_active(unit, by.verifier()); !active) return active;
    const auto row = unit.get(tables::kLedgerKeys, {std::string(key_id)});
    if (!row) return tl::make_unexpected(row.error());
    const auto key = *row ? ledger::VerifierKey::parse(std::get<std::string>((**row)[1])) : std::nullopt;
    if (!key || std::get<std::string>((**row)[2]) != "active")
      return failure_of(Code::LEDGER_DRAFT, "retiring a key", {{"problem", "names no active key of this ledger"}});
    if (*key == by.verifier())
      return failure_of(Code::LEDGER_DRAFT, "retiring a key", {{"problem", "names this node's own key: rotate it"}});
    return unit.append_prepared(statement(ledger::kKeyRetired, actor, ledger::retired_payload(origin_, *key, by)));
  });
}

Result<Acknowledgement> Ledger::add_witness(const ledger::Actor& actor, std::string_view witness) {
  if (auto checked = check_witness(witness); !checked) return tl::make_unexpected(checked.error());
  Happening added{std::string(kLedgerStream), std::string(kWitnessAdded), actor};
  added.payload.set("witness", witness);
  auto recorded = writer_->run([&](Unit& unit) { return unit.append(added); });
  if (recorded) witnesses_->add(std::string(witness), *recorded->seal);
  return recorded;
}

Result<Acknowledgement> Ledger::remove_witness(const ledger::Actor& actor, std::string_view witness) {
  Happening removed{std::string(kLedgerStream), std::string(kWitnessRemoved), actor};
  removed.payload.set("witness", witness);
  auto recorded = writer_->run([&](Unit& unit) -> Result<void> {
    const auto row = unit.get(tables::kLedgerWitnesses, {std::string(witness)});
    if (!row) return tl::make_unexpected(row.error());
    if (!*row)
      return failure_of(Code::LEDGER_DRAFT, "removing a witness", {{"problem", "names no witness of this ledger"}});
    return unit.append(removed);
  });
  if (recorded) witnesses_->remove(witness);
  return recorded;
}

Result<Acknowledgement> Ledger::erase_blob(const ledger::Actor& actor, std::string_view sha256,
                                           std::string_view reason) {
  Happening erased{std::string(kLedgerStream), std::string(kBlobErased), actor};
  erased.payload.set("reason", reason);
  erased.payload.set("sha256", sha256);
  auto recorded = writer_->run([&](Unit& unit) -> Result<void> {
    if (auto gone = unit.erase_content(sha256); !gone) return gone;
    return unit.append(erased);
  });
  if (!recorded) return recorded;
  if (auto scrubbed = store_.scrub(); !scrubbed) return tl::make_unexpected(scrubbed.error());
  return recorded;
}

std::vector<std::string> Ledger::settle_witnesses() { return witnesses_->settle(); }

Result<std::string> make_admission_request(store::Store& store, Random& random, const LedgerPlace& place) {
  const auto reader = store.reader();
  if (!reader) return tl::make_unexpected(reader.error());
  const auto origin = origin_of(**reader);
  if (!origin) return tl::make_unexpected(origin.error());
  if (!*origin) return failure("asking for admission", "the store holds no ledger yet");
  auto files = key_files(place, **origin);
  if (!files) return tl::make_unexpected(files.error());
  const auto lock = files->lock();
  if (!lock) return tl::make_unexpected(lock.error());
  const auto key = own_seal_key(*files, **origin, random);
  if (!key) return tl::make_unexpected(key.error());
  const auto known = (*reader)->get(tables::kLedgerKeys, {key->verifier().id_text()});
  if (!known) return tl::make_unexpected(known.error());
  if (*known)
    return failure_of(Code::LEDGER_KEY_FILE, "asking for admission",
                      {{"file", (files->folder() / "seal.key").string()},
                       {"problem", "holds a key that the ledger knows as " + std::get<std::string>((**known)[2]) +
                                       ": if it is retired, move the file away and ask again"}});
  json::Value request = json::Value::object();
  request.set("key", key->verifier().text());
  request.set("signature", ledger::base64(ledger::sign_admission(**origin, *key)));
  return json::write(request);
}

}  // namespace baton::runtime
