// SPDX-License-Identifier: Apache-2.0
#include "ledger/verifier.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"

namespace baton::ledger {
namespace {

bool is_hash(std::string_view column, const Sha256& hash) {
  return column.size() == hash.size() && std::memcmp(column.data(), hash.data(), hash.size()) == 0;
}

Break broken(std::uint64_t sequence, Code code, std::initializer_list<Argument> arguments) {
  return {sequence, report(code, {}, arguments)};
}

Break malformed(std::uint64_t sequence, std::string_view problem) {
  return broken(sequence, Code::LEDGER_MALFORMED, {{"sequence", std::to_string(sequence)}, {"problem", problem}});
}

Break bad_seal(std::uint64_t sequence, std::string_view problem) {
  return broken(sequence, Code::LEDGER_SEAL, {{"sequence", std::to_string(sequence)}, {"problem", problem}});
}

// What the hash cannot say: that what was hashed is an entry at all. Payloads are not parsed here (check_draft() did, when
// they were appended, and their bytes have not changed since); this only costs a look at both ends.
std::string_view form_problem(const store::EntryRow& row) {
  if (row.payload.size() < 2 || row.payload.front() != '{' || row.payload.back() != '}')
    return "its payload is not an object";
  if (!find_actor_kind(row.actor_kind)) return "it has an actor of no known kind";
  if (row.stream.empty() || row.type.empty()) return "it has no stream or no type";
  return {};
}

}  // namespace

std::optional<Break> Verifier::entry(const store::EntryRow& row, const Sha256* computed) {
  const std::uint64_t place = peaks_.size() + 1;
  const Sha256 hash = computed != nullptr ? *computed : entry_hash(row, buffer_);
  if (row.sequence != place || !is_hash(row.hash, hash) || !is_hash(row.previous, last_hash_))
    return check_place(row, hash);
  if (const std::string_view problem = form_problem(row); !problem.empty()) return malformed(place, problem);
  if (row.time < last_time_) return broken(place, Code::LEDGER_TIME, {{"sequence", std::to_string(place)}});

  if (place == 1 || row.type.starts_with("ledger.")) {
    std::optional<std::string> problem;
    if (place == 1 && row.type != kCreated) problem = "it is the first and not `ledger.created`";
    else problem = keys_.apply(row.type, row.payload);
    if (problem)
      return broken(place, Code::LEDGER_KEY_STATEMENT, {{"sequence", std::to_string(place)}, {"problem", *problem}});
    if (place == 1)
      anchored_ = std::any_of(pinned_.begin(), pinned_.end(), [&](const VerifierKey& pinned) {
        return keys_.keys().front().key.bytes == pinned.bytes && (pinned.name.empty() || pinned.name == keys_.origin());
      });
  }
  peaks_.append(hash, completed_ ? &completed_ : nullptr);
  last_hash_ = hash;
  last_time_ = row.time;
  return check_kept();
}

// Which of sequence, hash and link is wrong, the most telling first.
std::optional<Break> Verifier::check_place(const store::EntryRow& row, const Sha256& computed) const {
  const std::uint64_t place = peaks_.size() + 1;
  const bool holds = is_hash(row.hash, computed);
  // A later entry that is whole in itself means that the one before it is gone; anything else is not where it belongs.
  if (row.sequence > place && holds) return broken(place, Code::LEDGER_GAP, {{"sequence", std::to_string(place)}});
  if (row.sequence != place)
    return broken(place, Code::LEDGER_ORDER,
                  {{"sequence", std::to_string(row.sequence)}, {"expected", std::to_string(place)}});
  if (row.hash.size() != sizeof(Sha256)) return malformed(place, "its hash does not have 32 bytes");
  if (row.previous.size() != sizeof(Sha256)) return malformed(place, "its previous hash does not have 32 bytes");
  const Code code = holds ? Code::LEDGER_LINK : Code::LEDGER_CONTENT;
  return broken(place, code, {{"sequence", std::to_string(place)}});
}

std::optional<Break> Verifier::seal(const store::Seal& seal) {
  const std::uint64_t place = peaks_.size();
  if (seal.size != place)
    return bad_seal(
        place, "stands after " + std::to_string(place) + " entries, but is said to cover " + std::to_string(seal.size));
  if (place == 0) return bad_seal(place, "covers nothing");
  if (place == sealed_size_) return bad_seal(place, "is there twice");
  const auto note = parse_note(seal.note);
  if (!note) return bad_seal(place, "is not a signed note");
  const auto checkpoint = parse_checkpoint(note->text);
  if (!checkpoint) return bad_seal(place, "is not a checkpoint");
  if (checkpoint->size != place) return bad_seal(place, "names " + std::to_string(checkpoint->size) + " entries");
  if (checkpoint->root != peaks_.root()) return bad_seal(place, "has another root than the entries");
  if (const auto fault = keys_.check_seal(*note, *checkpoint)) {
    if (fault->foreign_key)
      return broken(place, Code::LEDGER_KEY_FOREIGN, {{"sequence", std::to_string(place)}, {"key", fault->key}});
    return bad_seal(place, fault->problem);
  }
  if (!pinned_.empty() && !anchored_) {
    anchored_ = std::any_of(pinned_.begin(), pinned_.end(),
                            [&](const VerifierKey& pinned) { return is_signed_by(*note, pinned); });
    for (const KeyState::Key& key : keys_.keys())
      if (key.active && is_signed_by(*note, key.key)) sealed_by_ = key.key.id_text();
  }
  keys_.sealed();
  sealed_size_ = place;
  return std::nullopt;
}

std::optional<Break> Verifier::finish(const store::Head& head) {
  const std::uint64_t size = peaks_.size();
  if (!kept_.empty()) {
    const Kept& next = kept_.back();
    return broken(
        size + 1, Code::LEDGER_CUT,
        {{"size", std::to_string(size)}, {"kept", next.keeper}, {"kept_size", std::to_string(next.checkpoint.size)}});
  }
  if (head.size > size) return broken(size + 1, Code::LEDGER_GAP, {{"sequence", std::to_string(size + 1)}});
  std::string problem;
  if (head.size < size)
    problem = "it names " + std::to_string(head.size) + " entries, but there are " + std::to_string(size);
  else if (size == 0 ? !(head.hash.empty() || is_hash(head.hash, last_hash_)) : !is_hash(head.hash, last_hash_))
    problem = "its hash is not that of the newest entry";
  else if (head.time != (size == 0 ? 0 : last_time_)) problem = "its time is not that of the newest entry";
  else if (head.peaks != peaks_.bytes()) problem = "its tree is another";
  if (!problem.empty()) return broken(size, Code::LEDGER_HEAD, {{"problem", problem}});
  if (sealed_size_ != size)
    return broken(size, Code::LEDGER_SEAL_MISSING,
                  {{"size", std::to_string(size)}, {"sealed", std::to_string(sealed_size_)}});
  if (!pinned_.empty() && !anchored_ && size > 0)
    return broken(size, Code::LEDGER_KEY_FOREIGN, {{"sequence", std::to_string(size)}, {"key", sealed_by_}});
  return std::nullopt;
}

void Verifier::expect(Checkpoint kept, std::string keeper) {
  if (kept.size == 0) return;  // every ledger begins with nothing
  const auto larger = [](const Kept& left, const Kept& right) { return left.checkpoint.size > right.checkpoint.size; };
  Kept added{std::move(kept), std::move(keeper)};
  kept_.insert(std::upper_bound(kept_.begin(), kept_.end(), added, larger), std::move(added));
}

void Verifier::pin(VerifierKey key) { pinned_.push_back(std::move(key)); }

std::optional<Break> Verifier::check_kept() {
  while (!kept_.empty() && kept_.back().checkpoint.size <= peaks_.size()) {
    const Kept kept = std::move(kept_.back());
    kept_.pop_back();
    if (kept.checkpoint.root != peaks_.root() || kept.checkpoint.origin != keys_.origin())
      return broken(peaks_.size(), Code::LEDGER_FORK,
                    {{"kept", kept.keeper}, {"kept_size", std::to_string(kept.checkpoint.size)}});
  }
  return std::nullopt;
}

}  // namespace baton::ledger
