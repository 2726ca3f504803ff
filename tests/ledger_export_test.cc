// SPDX-License-Identifier: Apache-2.0
// What leaves a ledger: receipts, consistency proofs, exported files; and the examples of docs/formats/ledger.md.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/text.h"
#include "json/canonical.h"
#include "json/parse.h"
#include "ledger/export.h"
#include "ledger/key_files.h"
#include "ledger/receipt.h"
#include "memory_ledger.h"

namespace baton::ledger {
namespace {

MemoryLedger ledger_of(std::size_t size, const SigningKey& key) {
  MemoryLedger ledger;
  ledger.append(test_draft("ledger", std::string(kCreated), created_payload(kTestOrigin, key, kTestRedactionKeyId)), 1);
  while (ledger.entries.size() < size) {
    const std::string number = std::to_string(ledger.entries.size());
    ledger.append(test_draft("work/W-" + number, "work.noted", "{\"n\":" + number + "}"), 1);
  }
  ledger.seal({&key});
  return ledger;
}

std::string codes(const ReceiptVerdict& verdict) {
  std::string out;
  for (const Diagnostic& diagnostic : verdict.diagnostics) {
    if (!out.empty()) out += " ";
    out += info(diagnostic.code).name;
  }
  return out;
}

std::string shown(const std::optional<Break>& found) {
  if (!found) return "nothing";
  return std::string(info(found->diagnostic.code).name) + " at " + std::to_string(found->sequence);
}

std::string exported(const MemoryLedger& ledger) {
  MemoryReader reader(ledger);
  std::string text;
  const auto written = write_export(reader, [&](std::string_view piece) -> Result<void> {
    EXPECT_TRUE(piece.ends_with('\n'));
    text += piece;
    return {};
  });
  EXPECT_TRUE(written);
  return text;
}

std::string verdict_of(std::string_view file, std::size_t piece = SIZE_MAX, ExportVerifier verifier = {}) {
  for (; !file.empty(); file.remove_prefix(std::min(piece, file.size())))
    if (const auto found = verifier.feed(file.substr(0, piece))) return shown(found);
  return shown(verifier.finish());
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

// --- receipts -----------------------------------------------------------------------------------------------------------

TEST(LedgerReceipt, OfEveryEntryOfSeveralSizes) {
  const SigningKey key = test_key(1);
  for (const std::size_t size : {1, 2, 3, 255, 256, 257, 700}) {
    const MemoryLedger ledger = ledger_of(size, key);
    MemoryReader reader(ledger);
    for (std::uint64_t sequence = 1; sequence <= size; sequence += size < 300 ? 1 : 37) {
      const auto receipt = make_receipt(reader, sequence);
      ASSERT_TRUE(receipt) << receipt.error().text();
      const ReceiptVerdict verdict = verify_receipt(*receipt, key.verifier());
      ASSERT_EQ(codes(verdict), "") << *receipt;
      ASSERT_EQ(verdict.entry.sequence, sequence);
      ASSERT_EQ(verdict.entry.payload, ledger.entries[sequence - 1].payload);
      ASSERT_EQ(verdict.checkpoint.size, size);
    }
    EXPECT_FALSE(make_receipt(reader, 0));
    EXPECT_FALSE(make_receipt(reader, size + 1));
  }
  MemoryLedger unsealed = ledger_of(3, key);
  unsealed.seals.clear();
  MemoryReader reader(unsealed);
  EXPECT_FALSE(make_receipt(reader, 1));
}

// Three levels of rows: entries, nodes over 256, nodes over 65,536. A proof reads few of them.
TEST(LedgerReceipt, ReadsABoundedNumberOfRows) {
  const SigningKey key = test_key(1);
  const MemoryLedger ledger = ledger_of(65'536 + 600, key);
  std::vector<Sha256> leaves;
  for (const Entry& entry : ledger.entries) leaves.push_back(entry.hash);
  for (const std::uint64_t sequence : {1, 256, 257, 40'000, 65'536, 65'537, 66'136}) {
    MemoryReader reader(ledger);
    const auto receipt = make_receipt(reader, sequence);
    ASSERT_TRUE(receipt) << receipt.error().text();
    EXPECT_EQ(codes(verify_receipt(*receipt, key.verifier())), "");
    EXPECT_LE(reader.rows_read, 1 + 2 * 256 * 3u);
  }
  for (const std::uint64_t old_size : {0, 1, 255, 65'535, 65'536, 65'537, 66'136}) {
    MemoryReader reader(ledger);
    const auto proof = make_consistency_proof(reader, old_size);
    ASSERT_TRUE(proof) << proof.error().text();
    EXPECT_LE(reader.rows_read, 2 * 2 * 256 * 3u);
    // Checked with what stands in it, and with the roots of a tree built here.
    const auto document = json::parse(*proof);
    ASSERT_TRUE(document);
    const json::Node root = document->root();
    Peaks before, whole;
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      if (i < old_size) before.append(leaves[i]);
      whole.append(leaves[i]);
    }
    EXPECT_EQ(root["old_root"].string(), hex(before.root()));
    EXPECT_EQ(root["root"].string(), hex(whole.root()));
    EXPECT_EQ(root["size"].number_text(), "66136");
    std::vector<Sha256> path;
    for (const json::Node element : root["path"].elements()) {
      Sha256 hash;
      for (std::size_t i = 0; i < 32; ++i)
        hash[i] =
            static_cast<std::uint8_t>(hex_value(element.string()[2 * i]) << 4 | hex_value(element.string()[2 * i + 1]));
      path.push_back(hash);
    }
    EXPECT_TRUE(verify_consistency(old_size, leaves.size(), before.root(), whole.root(), path));
    EXPECT_TRUE(parse_note(root["checkpoint"].string()));
  }
  MemoryReader reader(ledger);
  EXPECT_FALSE(make_consistency_proof(reader, 66'137));
}

TEST(LedgerReceipt, NothingThatDoesNotHoldIsHandedOut) {
  const SigningKey key = test_key(1);
  const MemoryLedger good = ledger_of(700, key);
  const auto code = [](const MemoryLedger& ledger, std::uint64_t sequence) {
    MemoryReader reader(ledger);
    const auto receipt = make_receipt(reader, sequence);
    return receipt ? std::string() : std::string(receipt.error().code);
  };
  EXPECT_EQ(code(good, 5), "");
  MemoryLedger bad = good;
  ASSERT_EQ(bad.nodes.size(), 2u);
  bad.nodes[1].hash[7] ^= 1;
  EXPECT_EQ(code(bad, 5), "LEDGER_TREE");
  bad = good;
  bad.nodes[1].hash.pop_back();
  EXPECT_EQ(code(bad, 5), "LEDGER_TREE");
  bad.nodes.pop_back();
  EXPECT_EQ(code(bad, 5), "LEDGER_TREE");
  bad = good;
  bad.entries[4].payload = "{\"n\":5}";
  EXPECT_EQ(code(bad, 5), "LEDGER_TREE");
  bad.entries[4].payload = "{";
  EXPECT_EQ(code(bad, 5), "LEDGER_MALFORMED");
  bad = good;
  bad.entries[4].sequence = 9999;
  EXPECT_EQ(code(bad, 5), "LEDGER_GAP");
  EXPECT_EQ(code(bad, 6), "LEDGER_GAP");
  bad = good;
  bad.seals[0].note.insert(0, "\x01");
  EXPECT_EQ(code(bad, 5), "LEDGER_SEAL");
}

TEST(LedgerReceipt, EachFaultHasItsCode) {
  const SigningKey key = test_key(1), other = test_key(40);
  const MemoryLedger ledger = ledger_of(6, key);
  MemoryReader reader(ledger);
  const std::string good = *make_receipt(reader, 4);
  const auto verdict = [&](const std::string& text) { return codes(verify_receipt(text, key.verifier())); };
  ASSERT_EQ(verdict(good), "");
  EXPECT_EQ(codes(verify_receipt(good, other.verifier())), "RECEIPT_KEY");
  EXPECT_EQ(codes(verify_receipt(good, {"", key.verifier().bytes})), "") << "a key without a name";
  EXPECT_EQ(codes(verify_receipt(good, {"another/name", key.verifier().bytes})), "RECEIPT_KEY");
  EXPECT_EQ(verdict(replaced(good, "\"n\": 3", "\"n\": 4")), "RECEIPT_ENTRY RECEIPT_PROOF");
  EXPECT_EQ(verdict(replaced(good, "\"sequence\": 4", "\"sequence\": 0")), "RECEIPT_ENTRY RECEIPT_PROOF");
  const std::string hash = hex(ledger.entries[3].hash);
  EXPECT_EQ(verdict(replaced(good, hash, std::string(64, '0'))), "RECEIPT_ENTRY") << "the entry itself is in the tree";
  EXPECT_EQ(verdict(replaced(good, hash, std::string(63, '0'))), "RECEIPT_FORMAT");
  const std::string sibling = "\"path\": [\n    \"" + hex(ledger.entries[2].hash);
  EXPECT_EQ(verdict(replaced(good, sibling, "\"path\": [\"" + std::string(64, '0'))), "RECEIPT_PROOF");
  EXPECT_EQ(verdict(replaced(good, sibling, "\"path\": [\"" + std::string(63, '0'))), "RECEIPT_FORMAT");
  EXPECT_EQ(verdict(replaced(good, sibling, "\"path\": [7, \"")), "RECEIPT_FORMAT");
  EXPECT_EQ(verdict(replaced(good, "\"baton_receipt\": 1", "\"baton_receipt\": 2")), "RECEIPT_FORMAT");
  EXPECT_EQ(verdict(replaced(good, "\"baton_receipt\": 1", "\"more\": 1")), "RECEIPT_FORMAT RECEIPT_FORMAT");
  EXPECT_EQ(verdict(replaced(good, "\"actor\"", "\"actors\"")), "RECEIPT_FORMAT");
  EXPECT_EQ(verdict(replaced(good, "\"stream\"", "\"more\": 1, \"stream\"")), "RECEIPT_FORMAT");
  EXPECT_EQ(verdict(replaced(good, "\\n6\\n", "\\n3\\n")), "RECEIPT_PROOF RECEIPT_KEY");
  EXPECT_EQ(verdict(replaced(good, "\\n6\\n", "\\n06\\n")), "RECEIPT_FORMAT");
  for (const char* bad : {"", "{", "[]", "1", "null", "{}"})
    EXPECT_EQ(verdict(bad).substr(0, 14), "RECEIPT_FORMAT") << bad;
  EXPECT_EQ(verdict(std::string(2u << 20, ' ')), "RECEIPT_FORMAT");
}

// Any byte of a receipt: something is wrong with it, or only its layout is another.
TEST(LedgerReceipt, EveryByteCounts) {
  const SigningKey key = test_key(1);
  const MemoryLedger ledger = ledger_of(6, key);
  MemoryReader reader(ledger);
  const std::string good = *make_receipt(reader, 4);
  const auto meaning = [](const std::string& text) {
    return *json::canonical(json::parse(text)->root(), json::Numbers::Exact);
  };
  std::size_t layouts = 0;
  for (std::size_t i = 0; i < good.size(); ++i)
    for (const char other : {' ', '\n', '0', 'a', '"', '\\', '}', '\xff'}) {
      std::string bad = good;
      if (bad[i] == other) continue;
      bad[i] = other;
      if (!verify_receipt(bad, key.verifier()).diagnostics.empty()) continue;
      ASSERT_EQ(meaning(bad), meaning(good)) << i;
      ++layouts;
    }
  EXPECT_GT(layouts, 0u);
}

// --- exports ------------------------------------------------------------------------------------------------------------

TEST(LedgerExport, ThereAndBack) {
  const SigningKey key = test_key(1);
  const std::string file = exported(ledger_of(3000, key));
  for (const std::size_t piece : {SIZE_MAX, std::size_t{1}, std::size_t{7}, std::size_t{4096}})
    EXPECT_EQ(verdict_of(file, piece), "nothing") << piece;
  MemoryLedger nothing;
  const std::string empty = exported(nothing);
  EXPECT_EQ(empty,
            "{\"baton_ledger\":1,\"origin\":\"\"}\n{\"end\":{\"hash\":\"" + std::string(64, '0') + "\",\"size\":0}}\n");
  EXPECT_EQ(verdict_of(empty), "nothing");
}

TEST(LedgerExport, WhatIsWrongWithAFile) {
  const SigningKey key = test_key(1);
  const MemoryLedger ledger = ledger_of(5, key);
  const std::string good = exported(ledger);
  ASSERT_EQ(verdict_of(good), "nothing");
  for (std::size_t size = 0; size < good.size(); ++size)
    ASSERT_NE(verdict_of(std::string_view(good).substr(0, size)), "nothing") << "cut after " << size;
  EXPECT_EQ(verdict_of(""), "LEDGER_HEAD at 0");
  const std::string without_end = good.substr(0, good.find("{\"end\""));
  EXPECT_EQ(verdict_of(without_end), "LEDGER_HEAD at 5");
  EXPECT_EQ(verdict_of(good + "{}\n"), "LEDGER_MALFORMED at 6");
  EXPECT_EQ(verdict_of(good + good), "LEDGER_MALFORMED at 6");
  EXPECT_EQ(verdict_of(good + good.substr(good.find("{\"end\""))), "LEDGER_MALFORMED at 6") << "two ends";
  EXPECT_EQ(verdict_of(replaced(good, "{\"baton_ledger\":1", "{\"baton_ledger\":2")), "LEDGER_MALFORMED at 1");
  EXPECT_EQ(verdict_of(replaced(good, "\"origin\":\"baton/", "\"origin\":\"Baton/")), "LEDGER_MALFORMED at 1");
  EXPECT_EQ(verdict_of(good.substr(good.find('\n') + 1)), "LEDGER_MALFORMED at 1");
  EXPECT_EQ(verdict_of(replaced(good, "\"n\":2", "\"n\":3")), "LEDGER_CONTENT at 3");
  EXPECT_EQ(verdict_of(replaced(good, "\"n\":2", "\"n\":2.0")), "LEDGER_CONTENT at 3");
  EXPECT_EQ(verdict_of(replaced(good, "{\"n\":2}", "{\"n\":2")), "LEDGER_MALFORMED at 3");
  EXPECT_EQ(verdict_of(replaced(good, "\n{\"seal\"", "\n\n{\"seal\"")), "LEDGER_MALFORMED at 6");
  EXPECT_EQ(verdict_of(replaced(good, "\n{\"seal\"", "\n{ \"seal\"")), "LEDGER_MALFORMED at 6");
  EXPECT_EQ(verdict_of(replaced(good, ",\"size\":5}\n", ",\"size\":6}\n")), "LEDGER_SEAL at 5");
  EXPECT_EQ(verdict_of(replaced(good, "\"size\":5}}", "\"size\":6}}")), "LEDGER_GAP at 6");
  EXPECT_EQ(verdict_of(replaced(good, "\"size\":5}}", "\"size\":4}}")), "LEDGER_HEAD at 5");
  EXPECT_EQ(verdict_of(replaced(good, "{\"end\":{\"hash\":\"", "{\"end\":{\"hash\":\"g")), "LEDGER_MALFORMED at 6");
  EXPECT_EQ(verdict_of(std::string(1u << 20, 'x')), "LEDGER_MALFORMED at 1")
      << "a line that never ends takes no memory";
  EXPECT_EQ(verdict_of(std::string(1u << 20, 'x'), 1000), "LEDGER_MALFORMED at 1");

  // The line is named for whoever mends the file.
  ExportVerifier verifier;
  const auto found = verifier.feed(replaced(good, "\"n\":2", "\"n\":3"));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->diagnostic.place.line, 4u);
}

TEST(LedgerExport, KeptCheckpointsAndPinnedKeys) {
  const SigningKey key = test_key(1), other = test_key(40);
  const std::string file = exported(ledger_of(5, key)), longer = exported(ledger_of(6, key));
  const auto note = parse_note(ledger_of(6, key).seals[0].note);
  ExportVerifier expecting;
  expecting.expect(*parse_checkpoint(note->text), "the witness");
  EXPECT_EQ(verdict_of(file, SIZE_MAX, expecting), "LEDGER_CUT at 6");
  EXPECT_EQ(verdict_of(longer, SIZE_MAX, expecting), "nothing");
  ExportVerifier pinning;
  pinning.pin(other.verifier());
  EXPECT_EQ(verdict_of(file, SIZE_MAX, pinning), "LEDGER_KEY_FOREIGN at 5");
}

// What was altered in the store is altered in the file: gaps, rows beyond the head, seals without entries.
TEST(LedgerExport, AnAlteredStoreIsFoundInItsFile) {
  const SigningKey key = test_key(1);
  const MemoryLedger good = ledger_of(1500, key);
  MemoryLedger bad = good;
  bad.entries.erase(bad.entries.begin() + 1200);
  EXPECT_EQ(verdict_of(exported(bad)), "LEDGER_GAP at 1201");
  bad = good;
  bad.seals.insert(bad.seals.begin(), {7, "not a note"});
  EXPECT_EQ(verdict_of(exported(bad)), "LEDGER_SEAL at 7");
  bad = good;
  bad.seals.push_back({1600, good.seals[0].note});
  EXPECT_EQ(verdict_of(exported(bad)), "LEDGER_SEAL at 1500");
  bad = good;
  bad.entries[700].payload = "{\n}";
  EXPECT_EQ(verdict_of(exported(bad)), "LEDGER_MALFORMED at 701");
  bad = good;
  bad.entries[700].stream = "\xff";
  EXPECT_EQ(verdict_of(exported(bad)), "LEDGER_MALFORMED at 701");

  class ShortHead final : public store::Reader {
   public:
    explicit ShortHead(store::Reader& reader) : reader_(reader) {}
    Result<store::Head> head() override {
      auto head = reader_.head();
      head->size = 1000;
      return head;
    }
    Result<void> entries(std::uint64_t first, std::uint64_t last, const store::TakeEntry& take) override {
      return reader_.entries(first, last, take);
    }
    Result<void> entry_hashes(std::uint64_t first, std::uint64_t last, const store::TakeEntry& take) override {
      return reader_.entry_hashes(first, last, take);
    }
    Result<std::uint64_t> count_entries() override { return reader_.count_entries(); }
    Result<void> nodes(std::uint32_t level, std::uint64_t first, std::uint64_t last,
                       const store::TakeNode& take) override {
      return reader_.nodes(level, first, last, take);
    }
    Result<void> seals(std::uint64_t first, std::uint64_t last, const store::TakeSeal& take) override {
      return reader_.seals(first, last, take);
    }
    Result<std::optional<store::Seal>> newest_seal() override { return reader_.newest_seal(); }
    Result<std::optional<store::Row>> get(const store::Table&, const store::Row&) override { return std::nullopt; }
    Result<void> find(const store::Query&, const store::TakeRow&) override { return {}; }

   private:
    store::Reader& reader_;
  };
  MemoryReader whole(good);
  ShortHead reader(whole);
  std::string file;
  ASSERT_TRUE(write_export(reader, [&](std::string_view piece) -> Result<void> {
    file += piece;
    return {};
  }));
  EXPECT_EQ(verdict_of(file), "LEDGER_HEAD at 1500");
}

TEST(LedgerExport, ASinkThatFailsEndsIt) {
  const MemoryLedger ledger = ledger_of(3000, test_key(1));
  MemoryReader reader(ledger);
  int pieces = 0;
  const auto written = write_export(reader, [&](std::string_view) -> Result<void> {
    if (++pieces == 2) return failure("writing", "the disk is full");
    return {};
  });
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().reason, "the disk is full");
  EXPECT_EQ(pieces, 2);
}

// --- the document -------------------------------------------------------------------------------------------------------

// The example of docs/formats/ledger.md, made by what it says: keys whose seeds count up from 0x00 and 0x20.
class LedgerDocument : public testing::Test {
 protected:
  LedgerDocument() {
    CountingRandom random(0x40);
    random.fill(redaction_key);
    ledger.origin = origin;
    const SigningKey first = test_key(0x00, origin), second = test_key(0x20, origin);
    const std::int64_t start = 1'794'715'200'000'000'000;
    const auto node = [&](std::string_view type, std::string payload, std::int64_t time) {
      ledger.append(test_draft("ledger", std::string(type), std::move(payload), "node-1", ActorKind::Node), time);
    };
    node(kCreated, created_payload(origin, first, redaction_key_id(redaction_key)), start);
    ledger.seal({&first});
    ledger.append(test_draft("work/W-12", "work.claimed", "{\"note\":\"caf\xc3\xa9\",\"phase\":2}"),
                  start + 1'500'000'000);
    ledger.append(test_draft("work/W-12", "work.done", "{}"), start + 1'500'000'001);
    ledger.seal({&first});
    node(kKeyRotated, rotated_payload(origin, first, second), start + 60'000'000'000);
    ledger.seal({&first, &second});

    std::ifstream file(BATON_SOURCE_DIR "/docs/formats/ledger.md", std::ios::binary);
    std::stringstream all;
    all << file.rdbuf();
    document = all.str();
  }

  // The fenced blocks of a kind.
  std::vector<std::string> blocks(const std::string& kind) const {
    std::vector<std::string> found;
    const std::string open = "```" + kind + "\n";
    for (std::size_t at = 0; (at = document.find(open, at)) != std::string::npos;) {
      at += open.size();
      const std::size_t end = document.find("\n```", at);
      found.push_back(document.substr(at, end + 1 - at));
      at = end;
    }
    return found;
  }
  bool says(const std::string& text) const { return document.find(text) != std::string::npos; }

  std::string origin = "baton/ledger/example", document;
  RedactionKey redaction_key{};
  MemoryLedger ledger;
};

TEST_F(LedgerDocument, ItsExamplesAreWhatIsMade) {
  const auto files = blocks("jsonl");
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0], exported(ledger));
  EXPECT_EQ(verdict_of(files[0]), "nothing");
  const auto receipts = blocks("json");
  ASSERT_EQ(receipts.size(), 1u);
  MemoryReader reader(ledger);
  EXPECT_EQ(receipts[0], *make_receipt(reader, 2));
  const VerifierKey second = test_key(0x20, origin).verifier();
  EXPECT_EQ(codes(verify_receipt(receipts[0], second)), "");
  std::string body;
  append_body(body, ledger.entries[1].row());
  EXPECT_TRUE(says("\n" + body + "\n"));
  EXPECT_TRUE(says(hex(ledger.entries[1].hash)));
  EXPECT_TRUE(says(hex(ledger.peaks.root())));
  EXPECT_TRUE(says("\n" + ledger.seals[2].note));
  EXPECT_TRUE(says(test_key(0x00, origin).verifier().text()));
  EXPECT_TRUE(says("\n" + test_key(0x00, origin).verifier().pem()));
  EXPECT_TRUE(says(redaction_key_id(redaction_key)));
  Peaks two;
  two.append(ledger.entries[0].hash);
  two.append(ledger.entries[1].hash);
  EXPECT_TRUE(says(hex(two.root())));
}

}  // namespace
}  // namespace baton::ledger
