// SPDX-License-Identifier: Apache-2.0
// A ledger made in memory, and a Reader over it: what the tests of ledger/ work on. It is written plainly, entry by entry,
// from the format's description; a test may alter whatever it likes in it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "ledger/entry.h"
#include "ledger/keys.h"
#include "ledger/merkle.h"
#include "ledger/note.h"
#include "ledger/verifier.h"
#include "store/store.h"

namespace baton::ledger {

constexpr std::string_view kTestOrigin = "baton/ledger/test";
constexpr std::string_view kTestRedactionKeyId = "0123456789abcdef";

// The bytes that hexadecimal digits stand for.
inline std::string unhex(std::string_view digits) {
  std::string out;
  for (std::size_t i = 0; i < digits.size(); i += 2)
    out.push_back(static_cast<char>(hex_value(digits[i]) << 4 | hex_value(digits[i + 1])));
  return out;
}

// A key whose seed is `first`, `first` + 1, ...
inline SigningKey test_key(std::uint8_t first, std::string name = std::string(kTestOrigin)) {
  CountingRandom random(first);
  return SigningKey::make(std::move(name), random);
}

struct MemoryLedger {
  std::string origin{kTestOrigin};
  std::vector<Entry> entries;
  std::vector<store::Seal> seals;
  std::vector<store::TreeNode> nodes;
  Peaks peaks;

  void append(Draft draft, std::int64_t time) {
    Entry entry;
    entry.sequence = entries.size() + 1;
    entry.stream = std::move(draft.stream);
    entry.type = std::move(draft.type);
    entry.actor_id = std::move(draft.actor.id);
    entry.actor_kind = actor_kind_name(draft.actor.kind);
    entry.time.nanoseconds = time;
    entry.payload = std::move(draft.payload);
    if (!entries.empty()) entry.previous = entries.back().hash;
    std::string buffer;
    entry.hash = entry_hash(entry.row(), buffer);
    const std::function<void(const Peaks::Completed&)> completed = [&](const Peaks::Completed& node) {
      if (node.level % 8 == 0)
        nodes.push_back({node.level, node.position, std::string(node.hash.begin(), node.hash.end()), {}});
    };
    peaks.append(entry.hash, &completed);
    entries.push_back(std::move(entry));
  }

  void seal(std::vector<const SigningKey*> keys) {
    const Checkpoint checkpoint{origin, entries.size(), peaks.root()};
    seals.push_back({entries.size(), sign_note(checkpoint_text(checkpoint), keys)});
  }

  store::Head head() const {
    if (entries.empty()) return {0, std::string(32, '\0'), 0, {}, {}};
    const Entry& last = entries.back();
    return {last.sequence, std::string(last.hash.begin(), last.hash.end()), last.time.nanoseconds, peaks.bytes(), {}};
  }

  // The first break, feeding each seal after its last entry.
  std::optional<Break> verify(Verifier verifier = {}) const {
    auto next = seals.begin();
    for (const Entry& entry : entries) {
      if (auto found = verifier.entry(entry.row())) return found;
      for (; next != seals.end() && next->size <= verifier.size(); ++next)
        if (auto found = verifier.seal(*next)) return found;
    }
    for (; next != seals.end(); ++next)
      if (auto found = verifier.seal(*next)) return found;
    return verifier.finish(head());
  }
};

inline Draft test_draft(std::string stream, std::string type, std::string payload, std::string actor_id = "agent-7",
                        ActorKind actor_kind = ActorKind::Agent) {
  Draft draft;
  draft.stream = std::move(stream);
  draft.type = std::move(type);
  draft.actor.id = std::move(actor_id);
  draft.actor.kind = actor_kind;
  draft.payload = std::move(payload);
  return draft;
}

class MemoryReader final : public store::Reader {
 public:
  explicit MemoryReader(const MemoryLedger& ledger) : ledger_(ledger) {}

  Result<store::Head> head() override { return ledger_.head(); }
  Result<void> entries(std::uint64_t first, std::uint64_t last, const store::TakeEntry& take) override {
    for (const Entry& entry : ledger_.entries)
      if (entry.sequence >= first && entry.sequence <= last && (++rows_read, !take(entry.row()))) break;
    return {};
  }
  Result<void> entry_hashes(std::uint64_t first, std::uint64_t last, const store::TakeEntry& take) override {
    for (std::uint64_t i = first; i <= last && i <= ledger_.entries.size(); ++i) {
      const Entry& entry = ledger_.entries[i - 1];
      store::EntryRow row;
      row.sequence = entry.sequence;
      row.hash = entry.row().hash;
      if (++rows_read, !take(row)) break;
    }
    return {};
  }
  Result<std::uint64_t> count_entries() override { return ledger_.entries.size(); }
  Result<void> nodes(std::uint32_t level, std::uint64_t first, std::uint64_t last,
                     const store::TakeNode& take) override {
    for (const store::TreeNode& node : ledger_.nodes)
      if (node.level == level && node.position >= first && node.position <= last && (++rows_read, !take(node))) break;
    return {};
  }
  Result<void> seals(std::uint64_t first, std::uint64_t last, const store::TakeSeal& take) override {
    for (const store::Seal& seal : ledger_.seals)
      if (seal.size >= first && seal.size <= last && !take(seal)) break;
    return {};
  }
  Result<std::optional<store::Seal>> newest_seal() override {
    if (ledger_.seals.empty()) return std::nullopt;
    return ledger_.seals.back();
  }
  Result<std::optional<store::Row>> get(const store::Table&, const store::Row&) override { return std::nullopt; }
  Result<void> find(const store::Query&, const store::TakeRow&) override { return {}; }

  std::uint64_t rows_read = 0;

 private:
  const MemoryLedger& ledger_;
};

}  // namespace baton::ledger
