// SPDX-License-Identifier: Apache-2.0
// Tampering with a ledger of a thousand entries: every byte of every column, every drop, repeat, insertion and cut. Each
// must be found, and found at its place. A copy of the verifier is kept before every entry, so that each try verifies
// only the few entries it takes.
#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "memory_ledger.h"

namespace baton::ledger {
namespace {

constexpr std::size_t kEntries = 1000;

class LedgerTamper : public testing::Test {
 protected:
  // One ledger for all tests: several streams, payloads of 2 to 400 bytes, a second key that is admitted and retired, a
  // rotation in the middle, a seal after every one to seven entries.
  static void SetUpTestSuite() {
    if (ledger_ != nullptr) return;  // made for the other suite already
    ledger_ = std::make_unique<MemoryLedger>();
    before_ = std::make_unique<std::vector<Verifier>>();
    const SigningKey first = test_key(1), second = test_key(40), other_node = test_key(80);
    std::mt19937 random(7);
    std::int64_t time = 1'794'715'200'000'000'000;
    for (std::size_t sequence = 1; sequence <= kEntries; ++sequence) {
      time += random() % 3 == 0 ? 0 : random() % 2'000'000'000;  // also the same moment twice
      const auto about_keys = [&](std::string_view type, std::string payload) {
        ledger_->append(test_draft("ledger", std::string(type), std::move(payload), "node-1", ActorKind::Node), time);
      };
      bool seals = random() % 4 == 0 || sequence == kEntries;
      std::vector<const SigningKey*> keys = {sequence < 500 ? &first : &second};
      if (sequence == 1) {
        about_keys(kCreated, created_payload(kTestOrigin, first, kTestRedactionKeyId));
      } else if (sequence == 250) {
        about_keys(kKeyAdmitted, admitted_payload(kTestOrigin, other_node.verifier(),
                                                  sign_admission(kTestOrigin, other_node), first));
      } else if (sequence == 500) {
        about_keys(kKeyRotated, rotated_payload(kTestOrigin, first, second));
        keys = {&first, &second};
        seals = true;
      } else if (sequence == 750) {
        about_keys(kKeyRetired, retired_payload(kTestOrigin, other_node.verifier(), second));
      } else {
        const char* const types[] = {"work.claimed", "session.call_decided", "work.done"};
        std::string text(random() % 8 == 0 ? 300 : random() % 60, 'x');
        for (char& c : text) c = static_cast<char>('a' + random() % 26);
        if (!text.empty()) text = "\"n\":" + std::to_string(sequence) + ",\"text\":\"" + text + "\"";
        const std::string stream = "work/W-" + std::to_string(random() % 20), type = types[random() % 3];
        const std::string actor = "agent-" + std::to_string(random() % 5);
        const auto kind = static_cast<ActorKind>(random() % 5);
        ledger_->append(test_draft(stream, type, "{" + text + "}", actor, kind), time);
        if (sequence > 260 && sequence < 750 && sequence % 7 == 0) keys = {&other_node};
      }
      if (seals) ledger_->seal(keys);
    }
    Verifier verifier;
    for (const Entry& entry : ledger_->entries) {
      before_->push_back(verifier);
      ASSERT_FALSE(feed(verifier, entry.row())) << entry.sequence;
    }
    before_->push_back(verifier);
    ASSERT_FALSE(verifier.finish(ledger_->head()));
  }

  // An entry and the seal over it, as a reader of a store would feed them.
  static std::optional<Break> feed(Verifier& verifier, const store::EntryRow& row) {
    if (auto found = verifier.entry(row)) return found;
    const store::Seal* seal = sealed(verifier.size());
    return seal != nullptr ? verifier.seal(*seal) : std::nullopt;
  }
  static const store::Seal* sealed(std::uint64_t size) {
    static const std::vector<const store::Seal*> by_size = [] {
      std::vector<const store::Seal*> seals(kEntries + 1, nullptr);
      for (const store::Seal& seal : ledger_->seals) seals[seal.size] = &seal;
      return seals;
    }();
    return size <= kEntries ? by_size[size] : nullptr;
  }
  static const Entry& entry(std::uint64_t sequence) { return ledger_->entries[sequence - 1]; }
  // The verifier that has seen everything before that entry.
  static Verifier before(std::uint64_t sequence) { return (*before_)[sequence - 1]; }
  static std::uint64_t next_sealed(std::uint64_t from) {
    while (sealed(from) == nullptr) ++from;
    return from;
  }

  static std::string shown(const std::optional<Break>& found) {
    if (!found) return "nothing";
    return std::string(info(found->diagnostic.code).name) + " at " + std::to_string(found->sequence);
  }
  static std::string at(std::string_view code, std::uint64_t sequence) {
    return std::string(code) + " at " + std::to_string(sequence);
  }

  static void rehash(Entry& entry) {
    std::string buffer;
    entry.hash = entry_hash(entry.row(), buffer);
  }

  static std::unique_ptr<MemoryLedger> ledger_;
  static std::unique_ptr<std::vector<Verifier>> before_;
};
std::unique_ptr<MemoryLedger> LedgerTamper::ledger_;
std::unique_ptr<std::vector<Verifier>> LedgerTamper::before_;

TEST_F(LedgerTamper, TheLedgerIsWhole) {
  EXPECT_EQ(shown(ledger_->verify()), "nothing");
  EXPECT_GT(ledger_->seals.size(), 200u);
  EXPECT_TRUE(before(kEntries + 1).keys().find(test_key(40).verifier())->active);
  EXPECT_FALSE(before(kEntries + 1).keys().find(test_key(80).verifier())->active);
}

// One changed value for every byte of every column.
TEST_F(LedgerTamper, EveryByteOfEveryColumn) {
  std::mt19937 random(11);
  const auto flip = [&] { return static_cast<char>(1 + random() % 255); };
  std::uint64_t tried = 0;
  for (std::uint64_t sequence = 1; sequence <= kEntries; ++sequence) {
    const Entry& good = entry(sequence);
    Verifier verifier = before(sequence);
    const auto expect = [&](const store::EntryRow& row, std::string_view code, const char* column, std::size_t byte) {
      const auto found = verifier.entry(row);
      ASSERT_EQ(shown(found), at(code, sequence)) << column << " byte " << byte;
      ASSERT_EQ(verifier.size(), sequence - 1) << "what is refused is not counted";
      ++tried;
    };
    for (std::size_t byte = 0; byte < 8; ++byte) {
      store::EntryRow row = good.row();
      row.sequence ^= static_cast<std::uint64_t>(static_cast<unsigned char>(flip())) << 8 * byte;
      expect(row, "LEDGER_ORDER", "sequence", byte);
      row = good.row();
      row.time ^= static_cast<std::int64_t>(static_cast<std::uint64_t>(static_cast<unsigned char>(flip())) << 8 * byte);
      expect(row, "LEDGER_CONTENT", "time", byte);
    }
    using Column = std::string_view store::EntryRow::*;
    const std::pair<const char*, Column> columns[] = {
        {"stream", &store::EntryRow::stream},     {"type", &store::EntryRow::type},
        {"actor_id", &store::EntryRow::actor_id}, {"actor_kind", &store::EntryRow::actor_kind},
        {"payload", &store::EntryRow::payload},   {"previous", &store::EntryRow::previous},
        {"hash", &store::EntryRow::hash}};
    for (const auto& [name, column] : columns) {
      std::string value(good.row().*column);
      for (std::size_t byte = 0; byte < value.size(); ++byte) {
        const char was = value[byte];
        value[byte] = static_cast<char>(was ^ flip());
        store::EntryRow row = good.row();
        row.*column = value;
        expect(row, "LEDGER_CONTENT", name, byte);
        value[byte] = was;
        if (HasFatalFailure()) return;
      }
      // Shorter and longer by a byte.
      const bool hash_column =
          value.size() == 32 && (column == &store::EntryRow::previous || column == &store::EntryRow::hash);
      for (const std::string& other : {value.substr(1), value.substr(0, value.size() - 1), value + "x",
                                       value + std::string(1, '\0'), std::string()}) {
        store::EntryRow row = good.row();
        row.*column = other;
        expect(row, hash_column ? "LEDGER_MALFORMED" : "LEDGER_CONTENT", name, value.size());
      }
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(tried, 150'000u);
}

// Bytes moved from one column to its neighbour, and payloads that hold what follows them.
TEST_F(LedgerTamper, BordersBetweenColumns) {
  for (std::uint64_t sequence = 2; sequence <= kEntries; ++sequence) {
    const Entry& good = entry(sequence);
    Verifier verifier = before(sequence);
    Entry bad = good;
    bad.actor_id += bad.actor_kind;
    bad.actor_kind.clear();
    ASSERT_EQ(shown(verifier.entry(bad.row())), at("LEDGER_CONTENT", sequence));
    bad = good;
    bad.stream.swap(bad.type);
    ASSERT_EQ(shown(verifier.entry(bad.row())), at("LEDGER_CONTENT", sequence));
    bad = good;
    std::string body;
    append_body(body, good.row());
    bad.payload = body.substr(body.find("\"payload\":") + 10);
    ASSERT_EQ(shown(verifier.entry(bad.row())), at("LEDGER_CONTENT", sequence));
  }
}

// The one who alters an entry and gives it a hash that fits: the entry after it tells, or the seal.
TEST_F(LedgerTamper, AlteredAndHashedAgain) {
  for (std::uint64_t sequence = 1; sequence <= kEntries; ++sequence) {
    Entry bad = entry(sequence);
    bad.actor_id = "someone-else";
    rehash(bad);
    Verifier verifier = before(sequence);
    auto found = feed(verifier, bad.row());
    if (sealed(sequence) != nullptr) {
      ASSERT_EQ(shown(found), at("LEDGER_SEAL", sequence));
      continue;
    }
    ASSERT_FALSE(found);
    found = feed(verifier, entry(sequence + 1).row());
    ASSERT_EQ(shown(found), at("LEDGER_LINK", sequence + 1));

    // And all after it linked and hashed again, too: the next seal tells.
    verifier = before(sequence);
    Sha256 previous = entry(sequence).previous;
    for (std::uint64_t next = sequence; next <= next_sealed(sequence); ++next) {
      Entry again = next == sequence ? bad : entry(next);
      again.previous = previous;
      rehash(again);
      previous = again.hash;
      found = feed(verifier, again.row());
      ASSERT_EQ(found.has_value(), next == next_sealed(sequence));
    }
    ASSERT_EQ(shown(found), at("LEDGER_SEAL", next_sealed(sequence)));
  }
}

TEST_F(LedgerTamper, EveryDropAndRepeat) {
  for (std::uint64_t sequence = 1; sequence <= kEntries; ++sequence) {
    Verifier verifier = before(sequence);
    const auto found =
        sequence < kEntries ? feed(verifier, entry(sequence + 1).row()) : verifier.finish(ledger_->head());
    ASSERT_EQ(shown(found), at("LEDGER_GAP", sequence));
    verifier = before(sequence + 1);
    ASSERT_EQ(shown(feed(verifier, entry(sequence).row())), at("LEDGER_ORDER", sequence + 1));
  }
}

TEST_F(LedgerTamper, EveryInsertion) {
  std::mt19937 random(13);
  for (std::uint64_t place = 1; place <= kEntries + 1; ++place) {
    // A copy of another entry, as it is and renumbered.
    std::uint64_t other = 1 + random() % kEntries;
    if (other == place) other = place % kEntries + 1;
    Verifier verifier = before(place);
    ASSERT_EQ(shown(verifier.entry(entry(other).row())), at(other < place ? "LEDGER_ORDER" : "LEDGER_GAP", place));
    Entry copy = entry(other);
    copy.sequence = place;
    ASSERT_EQ(shown(verifier.entry(copy.row())), at("LEDGER_CONTENT", place));
    rehash(copy);
    ASSERT_EQ(shown(verifier.entry(copy.row())), at("LEDGER_LINK", place));
    if (place == 1) continue;  // a first entry that holds needs a key: see WhatIsSealedMustStillBeALedger

    // One that is linked and hashed as it should be. It fits; the seal over that many entries tells, or the entry whose
    // place it took, or at the end that nothing seals it.
    Entry forged;
    forged.sequence = place;
    forged.stream = "work/W-1";
    forged.type = "work.done";
    forged.actor_id = "agent-1";
    forged.actor_kind = "agent";
    forged.time.nanoseconds = before(place).last_time();
    forged.payload = "{}";
    forged.previous = entry(place - 1).hash;
    rehash(forged);
    const auto found = feed(verifier, forged.row());
    if (sealed(place) != nullptr) {
      ASSERT_EQ(shown(found), at("LEDGER_SEAL", place));
    } else if (place <= kEntries) {
      ASSERT_FALSE(found);
      ASSERT_EQ(shown(feed(verifier, entry(place).row())), at("LEDGER_ORDER", place + 1));
    } else {
      ASSERT_FALSE(found);
      ASSERT_EQ(shown(verifier.finish(ledger_->head())), at("LEDGER_HEAD", place));
      store::Head head = ledger_->head();
      head.size = place;
      head.hash.assign(forged.hash.begin(), forged.hash.end());
      head.time = forged.time.nanoseconds;
      head.peaks = verifier.peaks().bytes();
      ASSERT_EQ(shown(verifier.finish(head)), at("LEDGER_SEAL_MISSING", place));
    }
  }
}

TEST_F(LedgerTamper, SampledSwaps) {
  std::mt19937 random(17);
  for (int i = 0; i < 2000; ++i) {
    std::uint64_t first = 1 + random() % kEntries, second = 1 + random() % kEntries;
    if (first == second) continue;
    if (first > second) std::swap(first, second);
    Verifier verifier = before(first);
    ASSERT_EQ(shown(verifier.entry(entry(second).row())), at("LEDGER_GAP", first));
    // Everything but the sequence swapped, as in a table whose order is the sequence.
    Entry swapped = entry(second);
    swapped.sequence = first;
    ASSERT_EQ(shown(verifier.entry(swapped.row())), at("LEDGER_CONTENT", first));
    // Only the payloads.
    if (entry(first).payload == entry(second).payload) continue;
    swapped = entry(first);
    swapped.payload = entry(second).payload;
    ASSERT_EQ(shown(verifier.entry(swapped.row())), at("LEDGER_CONTENT", first));
  }
}

TEST_F(LedgerTamper, EveryCutOfTheTail) {
  const Checkpoint kept{std::string(kTestOrigin), kEntries, before(kEntries + 1).peaks().root()};
  Verifier expecting;
  expecting.expect(kept, "the witness");
  for (std::uint64_t size = 0; size < kEntries; ++size) {
    if (size > 0) {
      ASSERT_FALSE(feed(expecting, entry(size).row()));
    }
    Verifier verifier = before(size + 1);
    ASSERT_EQ(shown(verifier.finish(ledger_->head())), at("LEDGER_GAP", size + 1)) << "against the head";

    // With a head made to fit, a cut between seals shows; one at a seal shows only against what was kept elsewhere.
    store::Head head;
    head.size = size;
    head.hash.assign(verifier.last_hash().begin(), verifier.last_hash().end());
    head.time = size == 0 ? 0 : verifier.last_time();
    head.peaks = verifier.peaks().bytes();
    const bool looks_whole = size == 0 || sealed(size) != nullptr;
    ASSERT_EQ(shown(verifier.finish(head)), looks_whole ? "nothing" : at("LEDGER_SEAL_MISSING", size));
    Verifier cut = expecting;
    ASSERT_EQ(shown(cut.finish(head)), at("LEDGER_CUT", size + 1)) << "against a kept checkpoint";
  }
  ASSERT_FALSE(feed(expecting, entry(kEntries).row()));
  EXPECT_FALSE(expecting.finish(ledger_->head()));
}

TEST_F(LedgerTamper, AnotherLedgerThanTheKeptOne) {
  for (const std::uint64_t size : {1, 2, 499, 500, 1000}) {
    Checkpoint kept{std::string(kTestOrigin), size, before(size + 1).peaks().root()};
    kept.root[3] ^= 1;
    Verifier verifier;
    verifier.expect({std::string(kTestOrigin), 700, before(701).peaks().root()}, "a later one");
    verifier.expect(kept, "the witness");
    EXPECT_EQ(shown(ledger_->verify(verifier)), at("LEDGER_FORK", size));
  }
  Verifier verifier;
  verifier.expect({"baton/ledger/other", 5, before(6).peaks().root()}, "the witness");
  EXPECT_EQ(shown(ledger_->verify(verifier)), at("LEDGER_FORK", 5));
}

TEST_F(LedgerTamper, EveryColumnOfTheHead) {
  const store::Head good = ledger_->head();
  Verifier verifier = before(kEntries + 1);
  const auto finish = [&](auto change) {
    store::Head head = good;
    change(head);
    return shown(verifier.finish(head));
  };
  for (int byte = 0; byte < 8; ++byte) {
    const std::string found = finish([&](store::Head& head) { head.size ^= std::uint64_t{3} << 8 * byte; });
    EXPECT_TRUE(found == at("LEDGER_GAP", kEntries + 1) || found == at("LEDGER_HEAD", kEntries)) << found;
    EXPECT_EQ(finish([&](store::Head& head) { head.time ^= std::int64_t{3} << 8 * byte; }),
              at("LEDGER_HEAD", kEntries));
  }
  for (std::size_t i = 0; i < good.hash.size(); ++i)
    EXPECT_EQ(finish([&](store::Head& head) { head.hash[i] ^= 1; }), at("LEDGER_HEAD", kEntries));
  for (std::size_t i = 0; i < good.peaks.size(); ++i)
    EXPECT_EQ(finish([&](store::Head& head) { head.peaks[i] ^= 1; }), at("LEDGER_HEAD", kEntries));
  EXPECT_EQ(finish([&](store::Head& head) { head.peaks.pop_back(); }), at("LEDGER_HEAD", kEntries));
  EXPECT_EQ(finish([&](store::Head& head) { head.hash.clear(); }), at("LEDGER_HEAD", kEntries));
}

// The verifier that has seen the entries but not the seal over them.
class LedgerTamperSeals : public LedgerTamper {
 protected:
  static Verifier before_seal(std::uint64_t size) {
    Verifier verifier = before(size);
    EXPECT_FALSE(verifier.entry(entry(size).row()));
    return verifier;
  }
};

TEST_F(LedgerTamperSeals, EveryByteOfEveryNote) {
  std::mt19937 random(19);
  for (const store::Seal& good : ledger_->seals) {
    Verifier verifier = before_seal(good.size);
    const std::size_t signatures = good.note.find("\n\n") + 2;
    store::Seal bad = good;
    for (std::size_t i = 0; i < good.note.size(); ++i) {
      bad.note[i] = static_cast<char>(good.note[i] ^ (1 + random() % 255));
      const std::string found = shown(verifier.seal(bad));
      // What is not the signed text may turn the signature into that of another key.
      const bool foreign = found == at("LEDGER_KEY_FOREIGN", good.size);
      ASSERT_TRUE(found == at("LEDGER_SEAL", good.size) || (foreign && i >= signatures)) << found << " byte " << i;
      ASSERT_EQ(verifier.sealed_size(), before(good.size).sealed_size());
      bad.note[i] = good.note[i];
    }
    for (int byte = 0; byte < 8; ++byte) {
      bad.size = good.size ^ std::uint64_t{1} << (8 * byte + random() % 8);
      ASSERT_EQ(shown(verifier.seal(bad)), at("LEDGER_SEAL", good.size));
    }
    for (const std::string& note :
         {std::string(), good.note.substr(0, good.note.size() - 1), good.note + "\n", good.note + "x"}) {
      ASSERT_EQ(shown(verifier.seal({good.size, note})), at("LEDGER_SEAL", good.size));
    }
    ASSERT_FALSE(verifier.seal(good));
    ASSERT_EQ(shown(verifier.seal(good)), at("LEDGER_SEAL", good.size)) << "twice";
  }
}

TEST_F(LedgerTamperSeals, SwappedAndDropped) {
  for (std::size_t i = 0; i + 1 < ledger_->seals.size(); ++i) {
    const store::Seal& good = ledger_->seals[i];
    Verifier verifier = before_seal(good.size);
    ASSERT_EQ(shown(verifier.seal(ledger_->seals[i + 1])), at("LEDGER_SEAL", good.size)) << "too early";
    ASSERT_EQ(shown(verifier.seal({good.size, ledger_->seals[i + 1].note})), at("LEDGER_SEAL", good.size));
  }
  // Without the seal over a rotation the next one does not hold: it would have to be signed by both keys.
  Verifier verifier = before_seal(500);
  for (std::uint64_t sequence = 501;; ++sequence) {
    const auto found = feed(verifier, entry(sequence).row());
    if (sequence < next_sealed(501)) {
      ASSERT_FALSE(found);
      continue;
    }
    EXPECT_EQ(shown(found), at("LEDGER_SEAL", next_sealed(501)));
    break;
  }
  verifier = before_seal(kEntries);
  EXPECT_EQ(shown(verifier.finish(ledger_->head())), at("LEDGER_SEAL_MISSING", kEntries));
}

TEST_F(LedgerTamperSeals, OnlyKeysThatAreAdmittedThere) {
  const SigningKey first = test_key(1), second = test_key(40), other_node = test_key(80), stranger = test_key(160);
  const auto sealed_by = [](std::uint64_t size, std::vector<const SigningKey*> keys) {
    Verifier verifier = before_seal(size);
    const Checkpoint checkpoint{std::string(kTestOrigin), size, verifier.peaks().root()};
    return shown(verifier.seal({size, sign_note(checkpoint_text(checkpoint), keys)}));
  };
  EXPECT_EQ(sealed_by(100, {&first}), "nothing");
  EXPECT_EQ(sealed_by(100, {&stranger}), at("LEDGER_KEY_FOREIGN", 100));
  EXPECT_EQ(sealed_by(100, {&second}), at("LEDGER_KEY_FOREIGN", 100)) << "not yet";
  EXPECT_EQ(sealed_by(249, {&other_node}), at("LEDGER_KEY_FOREIGN", 249));
  EXPECT_EQ(sealed_by(250, {&other_node}), "nothing");
  EXPECT_EQ(sealed_by(749, {&other_node}), "nothing");
  EXPECT_EQ(sealed_by(750, {&other_node}), at("LEDGER_KEY_FOREIGN", 750)) << "not any more";
  EXPECT_EQ(sealed_by(500, {&first}), at("LEDGER_SEAL", 500));
  EXPECT_EQ(sealed_by(500, {&second}), at("LEDGER_SEAL", 500));
  EXPECT_EQ(sealed_by(500, {&second, &first}), "nothing");
  EXPECT_EQ(sealed_by(501, {&second}), "nothing");
  EXPECT_EQ(sealed_by(501, {&first}), at("LEDGER_KEY_FOREIGN", 501));
}

TEST_F(LedgerTamperSeals, PinnedKeys) {
  const auto pinned = [&](VerifierKey key) {
    Verifier verifier;
    verifier.pin(std::move(key));
    return shown(ledger_->verify(verifier));
  };
  EXPECT_EQ(pinned(test_key(1).verifier()), "nothing") << "it was created with this one";
  EXPECT_EQ(pinned(test_key(40).verifier()), "nothing") << "this one sealed it later";
  EXPECT_EQ(pinned({"", test_key(40).verifier().bytes}), "nothing");
  EXPECT_EQ(pinned(test_key(160).verifier()), at("LEDGER_KEY_FOREIGN", kEntries));
  EXPECT_EQ(pinned({"another/name", test_key(1).verifier().bytes}), at("LEDGER_KEY_FOREIGN", kEntries));

  // A forged ledger of the same name that admits the pinned key by a copied request, which that key never sealed.
  MemoryLedger forged;
  const SigningKey forger = test_key(200), asked = test_key(80);
  forged.append(test_draft("ledger", std::string(kCreated), created_payload(kTestOrigin, forger, kTestRedactionKeyId)),
                1);
  forged.append(test_draft("ledger", std::string(kKeyAdmitted),
                           admitted_payload(kTestOrigin, asked.verifier(), sign_admission(kTestOrigin, asked), forger)),
                2);
  forged.seal({&forger});
  EXPECT_EQ(shown(forged.verify()), "nothing");
  Verifier verifier;
  verifier.pin(asked.verifier());
  EXPECT_EQ(shown(forged.verify(verifier)), at("LEDGER_KEY_FOREIGN", 2));
}

// What only someone with the key could have made, and is refused all the same.
TEST(LedgerVerifier, WhatIsSealedMustStillBeALedger) {
  const SigningKey key = test_key(1);
  const auto verdict = [&](auto change) {
    MemoryLedger ledger;
    ledger.append(test_draft("ledger", std::string(kCreated), created_payload(kTestOrigin, key, kTestRedactionKeyId)),
                  10);
    ledger.append(test_draft("work/W-1", "work.claimed", "{}"), 10);
    change(ledger);
    std::string buffer;
    MemoryLedger again;
    for (Entry entry : ledger.entries) {
      if (!again.entries.empty()) entry.previous = again.entries.back().hash;
      entry.hash = entry_hash(entry.row(), buffer);
      again.peaks.append(entry.hash);
      again.entries.push_back(entry);
    }
    if (!again.entries.empty()) again.seal({&key});
    const auto found = again.verify();
    return !found ? "nothing"
                  : std::string(info(found->diagnostic.code).name) + " at " + std::to_string(found->sequence);
  };
  EXPECT_EQ(verdict([](MemoryLedger&) {}), "nothing");
  EXPECT_EQ(verdict([](MemoryLedger& ledger) { ledger.entries.clear(); }), "nothing") << "an empty ledger";
  EXPECT_EQ(verdict([](MemoryLedger& ledger) { ledger.entries[1].time.nanoseconds = 9; }), "LEDGER_TIME at 2");
  EXPECT_EQ(verdict([](MemoryLedger& ledger) { ledger.entries[0].type = "work.claimed"; }),
            "LEDGER_KEY_STATEMENT at 1");
  EXPECT_EQ(verdict([](MemoryLedger& ledger) { ledger.entries[0].payload = "{}"; }), "LEDGER_KEY_STATEMENT at 1");
  EXPECT_EQ(verdict([](MemoryLedger& ledger) { ledger.entries[1].type = kCreated; }), "LEDGER_KEY_STATEMENT at 2");
  EXPECT_EQ(verdict([](MemoryLedger& ledger) { ledger.entries[1].type = "ledger.key_rotated"; }),
            "LEDGER_KEY_STATEMENT at 2");
  EXPECT_EQ(verdict([](MemoryLedger& ledger) { ledger.entries[1].type = "ledger.clock_jumped"; }), "nothing");
  EXPECT_EQ(verdict([](MemoryLedger& ledger) { ledger.entries[1].payload = "[]"; }), "LEDGER_MALFORMED at 2");
  EXPECT_EQ(verdict([](MemoryLedger& ledger) { ledger.entries[1].payload = "{"; }), "LEDGER_MALFORMED at 2");
  EXPECT_EQ(verdict([](MemoryLedger& ledger) { ledger.entries[1].actor_kind = "god"; }), "LEDGER_MALFORMED at 2");
  EXPECT_EQ(verdict([](MemoryLedger& ledger) { ledger.entries[1].stream.clear(); }), "LEDGER_MALFORMED at 2");
}

}  // namespace
}  // namespace baton::ledger
