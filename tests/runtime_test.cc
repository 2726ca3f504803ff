// SPDX-License-Identifier: Apache-2.0
// The writer, the fold, verify and rebuild, on every backend: what is acknowledged is there and sealed, what fails takes
// back only its own, and what was altered is found.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <latch>
#include <set>
#include <sstream>
#include <thread>

#include "base/text.h"
#include "json/parse.h"
#include "ledger/blob.h"
#include "ledger/keys.h"
#include "ledger/receipt.h"
#include "runtime/fold.h"
#include "runtime/ledger.h"
#include "runtime/ledger_events.h"
#include "runtime/rebuild.h"
#include "runtime/session_record.h"
#include "runtime/token_entries.h"
#include "runtime/verify.h"
#include "runtime/work_events.h"
#include "store/faulty/faulty_store.h"
#include "store/memory/memory_store.h"
#include "store/tables.h"
#include "store_backends.h"
#include "temporary_folder.h"

namespace baton::runtime {
namespace {

namespace tables = store::tables;
using ledger::Actor;
using ledger::ActorKind;

const Actor kAlice{"alice", ActorKind::Agent};
const Actor kOscar{"oscar", ActorKind::Operator};

Happening note(std::string stream, std::string text) {
  Happening out{std::move(stream), "note", kAlice};
  out.payload.set("text", std::move(text));
  return out;
}

// A token of no one, in two parts so that nobody takes this file for a leak.
std::string token() { return std::string("ghp_") + "9aK2mQ7xZ1pL4vN8wR3tY6uB0cD5eF2gH1jS"; }

class Runtime : public ::testing::TestWithParam<store::Backend> {
 protected:
  Runtime() : clock_({1'800'000'000'000'000'000}), made_(GetParam().make(clock_, {})) { place_.keys = keys_.path(); }

  store::Store& store() { return made_->store(); }

  std::unique_ptr<Ledger> open() {
    auto ledger = Ledger::open(store(), clock_, random_, place_);
    EXPECT_TRUE(ledger) << ledger.error().text();
    return ledger ? std::move(*ledger) : nullptr;
  }

  VerifyReport verified(VerifyOptions options = {}) {
    auto report = verify(store(), options);
    EXPECT_TRUE(report) << report.error().text();
    return report ? *report : VerifyReport{};
  }
  void expect_whole(std::uint64_t entries) {
    const VerifyReport report = verified();
    EXPECT_FALSE(report.broken) << report.broken->diagnostic.message;
    EXPECT_EQ(report.entries, entries);
    expect_tables_agree();
  }
  void expect_tables_agree() {
    const auto scratch = store::make_memory_store(clock_);
    const auto rebuilt = rebuild_and_compare(store(), *scratch);
    ASSERT_TRUE(rebuilt) << rebuilt.error().text();
    EXPECT_FALSE(rebuilt->difference) << rebuilt->difference->message;
  }
  static std::string code_of(const std::optional<ledger::Break>& broken) {
    return broken ? std::string(info(broken->diagnostic.code).name) : "whole";
  }
  static std::vector<std::string> codes(const std::vector<Diagnostic>& diagnostics) {
    std::vector<std::string> out;
    for (const Diagnostic& one : diagnostics) out.emplace_back(info(one.code).name);
    return out;
  }

  std::vector<ledger::Entry> entries() {
    std::vector<ledger::Entry> out;
    const auto reader = store().reader();
    EXPECT_TRUE(reader);
    EXPECT_TRUE((*reader)->entries(1, INT64_MAX, [&](const store::EntryRow& row) {
      ledger::Entry entry;
      entry.sequence = row.sequence;
      entry.stream = row.stream;
      entry.type = row.type;
      entry.actor_id = row.actor_id;
      entry.actor_kind = row.actor_kind;
      entry.time = {row.time};
      entry.payload = row.payload;
      std::copy(row.hash.begin(), row.hash.end(), entry.hash.begin());
      out.push_back(entry);
      return true;
    }));
    return out;
  }

  // Changes a table behind the ledger's back.
  void tamper(const std::function<Result<void>(store::Transaction&)>& change) {
    auto transaction = store().begin();
    ASSERT_TRUE(transaction);
    const auto changed = change(**transaction);
    ASSERT_TRUE(changed) << changed.error().text();
    const auto committed = (*transaction)->commit();
    ASSERT_TRUE(committed) << committed.error().text();
  }

  TemporaryFolder keys_;
  FixedClock clock_;
  SystemRandom random_;
  LedgerPlace place_;
  std::unique_ptr<store::TestStore> made_;
};

INSTANTIATE_TEST_SUITE_P(Backends, Runtime, ::testing::ValuesIn(store::backends()),
                         [](const auto& backend) { return backend.param.name; });

// --- the writer ---------------------------------------------------------------------------------------------------------

TEST_P(Runtime, a_new_store_becomes_a_ledger_and_stays_the_same_one) {
  std::string origin;
  {
    const auto ledger = open();
    ASSERT_TRUE(ledger);
    origin = ledger->origin();
    expect_whole(1);
  }
  const auto again = open();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->origin(), origin);
  expect_whole(1);
}

TEST_P(Runtime, what_is_acknowledged_is_there_with_that_hash_and_sealed) {
  const auto ledger = open();
  const auto done = ledger->writer().run([](Unit& unit) -> Result<void> {
    if (auto first = unit.append(note("work/1", "one")); !first) return first;
    return unit.append(note("work/1", "two"));
  });
  ASSERT_TRUE(done) << done.error().text();
  ASSERT_EQ(done->entries.size(), 2u);
  const auto all = entries();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(done->entries[0].sequence, 2u);
  EXPECT_EQ(done->entries[1].sequence, 3u);
  EXPECT_EQ(done->entries[1].hash, all[2].hash);
  EXPECT_EQ(all[1].payload, R"({"text":"one"})");
  EXPECT_EQ(all[1].actor_kind, "agent");
  EXPECT_EQ(done->seal->size, 3u);
  expect_whole(3);
}

TEST_P(Runtime, a_use_case_that_fails_takes_back_only_its_own) {
  const auto ledger = open();
  // The first one holds the writer until the others are queued, so that they are one batch.
  std::latch queued(1), running(1);
  std::thread first([&] {
    EXPECT_TRUE(ledger->writer().run([&](Unit& unit) -> Result<void> {
      running.count_down();
      queued.wait();
      return unit.append(note("a", "first"));
    }));
  });
  running.wait();
  std::vector<std::string> outcomes(3);
  std::latch done(3);
  const auto submit = [&](std::size_t at, UseCase use_case) {
    EXPECT_TRUE(ledger->writer().submit(std::move(use_case), [&outcomes, &done, at](Result<Acknowledgement> outcome) {
      outcomes[at] = outcome ? "entry " + std::to_string(outcome->entries.at(0).sequence) : outcome.error().reason;
      done.count_down();
    }));
  };
  submit(0, [](Unit& unit) { return unit.append(note("a", "second")); });
  submit(1, [](Unit& unit) -> Result<void> {
    // It has written a row and an entry when it says no.
    Happening erased{"ledger", std::string(kBlobErased), kOscar};
    erased.payload.set("reason", "none");
    erased.payload.set("sha256", std::string(64, 'a'));
    if (auto appended = unit.append(erased); !appended) return appended;
    return failure("deciding", "the rule says no");
  });
  submit(2, [](Unit& unit) -> Result<void> {
    const auto row = unit.get(tables::kLedgerErasures, {std::string(64, 'a')});
    EXPECT_TRUE(row && !*row) << "the row of the failed use case is still there";
    return unit.append(note("a", "third"));
  });
  queued.count_down();
  first.join();
  done.wait();
  EXPECT_EQ(outcomes, (std::vector<std::string>{"entry 3", "the rule says no", "entry 4"}));
  expect_whole(4);
}

TEST_P(Runtime, a_use_case_that_throws_fails_alone) {
  const auto ledger = open();
  const auto thrown = ledger->writer().run([](Unit& unit) -> Result<void> {
    EXPECT_TRUE(unit.append(note("a", "before")));
    throw std::runtime_error("out of luck");
  });
  ASSERT_FALSE(thrown);
  EXPECT_EQ(thrown.error().reason, "out of luck");
  ASSERT_TRUE(ledger->writer().run([](Unit& unit) { return unit.append(note("a", "after")); }));
  expect_whole(2);
}

TEST_P(Runtime, beyond_the_queue_a_use_case_is_told_to_come_again) {
  auto ledger = open();
  auto key = ledger::KeyFiles::open(place_.keys / ledger->origin().substr(13), {})->seal_key();
  ASSERT_TRUE(key && *key);
  WriterOptions options;
  options.queue_max = 2;
  Writer writer(store(), clock_, Sealing{ledger->origin(), std::move(**key)}, options);
  std::latch held(1), running(1), done(3);
  const auto acknowledged = [&](Result<Acknowledgement>) { done.count_down(); };
  EXPECT_TRUE(writer.submit(
      [&](Unit& unit) -> Result<void> {
        running.count_down();
        held.wait();
        return unit.append(note("a", "held"));
      },
      acknowledged));
  running.wait();
  const auto simple = [](Unit& unit) { return unit.append(note("a", "waiting")); };
  EXPECT_TRUE(writer.submit(simple, acknowledged));
  EXPECT_TRUE(writer.submit(simple, acknowledged));
  EXPECT_FALSE(writer.submit(simple, acknowledged));
  const auto busy = writer.run(simple);
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().code, "STORE_BUSY");
  held.count_down();
  done.wait();
  expect_whole(4);
}

TEST_P(Runtime, many_writers_at_once_make_one_chain) {
  const auto ledger = open();
  constexpr int kThreads = 16, kEach = 40;
  std::vector<std::thread> threads;
  std::mutex mutex;
  std::set<std::uint64_t> sequences;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] {
      for (int k = 0; k < kEach; ++k) {
        const auto done = ledger->writer().run(
            [&](Unit& unit) { return unit.append(note("t/" + std::to_string(i), std::to_string(k))); });
        ASSERT_TRUE(done) << done.error().text();
        const std::lock_guard lock(mutex);
        EXPECT_TRUE(sequences.insert(done->entries.at(0).sequence).second);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sequences.size(), static_cast<std::size_t>(kThreads * kEach));
  EXPECT_EQ(*sequences.rbegin(), 1u + kThreads * kEach);
  expect_whole(1 + kThreads * kEach);
  const auto reader = store().reader();
  const auto receipt = ledger::make_receipt(**reader, 300);
  ASSERT_TRUE(receipt) << receipt.error().text();
}

TEST_P(Runtime, an_entry_that_is_none_is_refused) {
  const auto ledger = open();
  const auto code = [&](Happening happening) {
    const auto done = ledger->writer().run([&](Unit& unit) { return unit.append(happening); });
    return done ? std::string("recorded") : std::string(done.error().code);
  };
  Happening bad = note("a", "x");
  bad.type = "Not A Type";
  EXPECT_EQ(code(bad), "LEDGER_DRAFT");
  bad = note("", "x");
  EXPECT_EQ(code(bad), "LEDGER_DRAFT");
  bad = note("a", "x");
  for (int i = 0; i < 20; ++i) bad.payload.set("part" + std::to_string(i), std::string(8000, 'x'));
  EXPECT_EQ(code(bad), "LEDGER_TOO_LARGE");
  expect_whole(1);
}

// --- secrets and blobs ----------------------------------------------------------------------------------------------------

TEST_P(Runtime, secrets_are_taken_out_and_what_cannot_be_taken_out_refuses) {
  const auto ledger = open();
  Happening happening = note("a", "the token is " + token() + " and that is all");
  json::Value inner = json::Value::object();
  inner.set("api_key", "s9K2mQ7xZ1pL4vN8wR3tY6uB0cD5eF2g");
  happening.payload.set("inner", inner);
  ASSERT_TRUE(ledger->writer().run([&](Unit& unit) { return unit.append(happening); }));
  const std::string payload = entries().back().payload;
  EXPECT_EQ(payload.find(token().substr(4)), std::string::npos) << payload;
  EXPECT_EQ(payload.find("s9K2mQ7x"), std::string::npos) << payload;
  EXPECT_NE(payload.find("the token is [REDACTED:github-token] and that is all"), std::string::npos) << payload;

  Happening name = note("a", "x");
  json::Value object = json::Value::object();
  object.set(token(), 1);
  name.payload.set("headers", object);
  const auto refused = ledger->writer().run([&](Unit& unit) { return unit.append(name); });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "LEDGER_SECRET");
  EXPECT_EQ(refused.error().reason, "the entry holds what looks like a secret (github-token) at `/headers`");
  expect_whole(2);
}

TEST_P(Runtime, a_public_key_is_no_secret_where_it_is_said_to_be_one) {
  const auto ledger = open();
  Happening happening{"a", "note", kAlice};
  const std::string key = "AX9kR2mQ7xZ1pL4vN8wR3tY6uB0cD5eF2gH1jS9qWm3";
  happening.payload.set("secret_key", key);
  ASSERT_TRUE(ledger->writer().run([&](Unit& unit) { return unit.append(happening); }));
  EXPECT_EQ(entries().back().payload.find(key), std::string::npos) << "without an exemption it is taken out";
  happening.exempt = {"/secret_key"};
  ASSERT_TRUE(ledger->writer().run([&](Unit& unit) { return unit.append(happening); }));
  EXPECT_NE(entries().back().payload.find(key), std::string::npos);
}

TEST_P(Runtime, long_content_lies_in_a_blob_and_can_be_erased) {
  auto ledger = open();
  const std::string content = std::string(20'000, 'x') + " the end";
  ASSERT_TRUE(ledger->writer().run([&](Unit& unit) { return unit.append(note("a", content)); }));
  const std::string payload = entries().back().payload;
  const auto references = ledger::blob_references(payload);
  ASSERT_EQ(references, std::vector<std::string>{sha256_hex(content)});
  EXPECT_LT(payload.size(), 200u);
  EXPECT_EQ(verified().blobs, 1u);

  const auto erased = ledger->erase_blob(kOscar, references[0], "the person asked for it");
  ASSERT_TRUE(erased) << erased.error().text();
  const auto reader = store().reader();
  const auto row = (*reader)->get(tables::kBlobs, {references[0]});
  ASSERT_TRUE(row && *row);
  EXPECT_TRUE(std::holds_alternative<std::monostate>((**row)[1]));
  const VerifyReport report = verified();
  EXPECT_FALSE(report.broken);
  EXPECT_EQ(report.erased_blobs, 1u);
  const auto warned = codes(report.warnings);
  EXPECT_TRUE(std::find(warned.begin(), warned.end(), "LEDGER_ERASED") != warned.end());
  expect_tables_agree();
}

TEST_P(Runtime, a_blob_that_was_changed_or_is_gone_is_found) {
  auto ledger = open();
  const std::string content(10'000, 'y'), hash = sha256_hex(content);
  ASSERT_TRUE(ledger->writer().run([&](Unit& unit) { return unit.append(note("a", content)); }));
  tamper([&](store::Transaction& t) { return t.update(tables::kBlobs, {hash, content + "!", {}}); });
  EXPECT_EQ(code_of(verified().broken), "LEDGER_BLOB_CHANGED");
  EXPECT_EQ(verified().broken->sequence, 2u);
  tamper([&](store::Transaction& t) { return t.update(tables::kBlobs, {hash, {}, {}}); });
  EXPECT_EQ(code_of(verified().broken), "LEDGER_BLOB_MISSING");
  tamper([&](store::Transaction& t) { return t.erase(tables::kBlobs, {hash}); });
  EXPECT_EQ(code_of(verified().broken), "LEDGER_BLOB_MISSING");
}

TEST_P(Runtime, an_encrypted_blob_opens_with_its_key_and_not_without) {
  auto ledger = open();
  const ledger::Blob blob = ledger::encrypted_blob("Jane Doe", random_);
  EXPECT_EQ(blob.bytes.find("Jane"), std::string::npos);
  ASSERT_TRUE(ledger->writer().run([&](Unit& unit) -> Result<void> {
    if (auto kept = unit.keep(blob); !kept) return kept;
    Happening happening{"a", "note", kAlice};
    happening.payload.set("principal", ledger::blob_reference(blob.sha256, blob.bytes.size()));
    return unit.append(happening);
  }));
  const auto reader = store().reader();
  const auto row = (*reader)->get(tables::kBlobs, {blob.sha256});
  ASSERT_TRUE(row && *row);
  const auto opened = ledger::open_blob(std::get<std::string>((**row)[1]), std::get<std::string>((**row)[2]));
  ASSERT_TRUE(opened);
  EXPECT_EQ(*opened, "Jane Doe");
  std::string other = std::get<std::string>((**row)[2]);
  other[0] = static_cast<char>(other[0] ^ 1);
  EXPECT_FALSE(ledger::open_blob(std::get<std::string>((**row)[1]), other));
}

TEST_P(Runtime, what_only_looks_like_a_blob_is_refused) {
  const auto ledger = open();
  Happening happening{"a", "note", kAlice};
  happening.payload.set("x", ledger::blob_reference("00", 1));
  const auto refused = ledger->writer().run([&](Unit& unit) { return unit.append(happening); });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "LEDGER_DRAFT");
  expect_whole(1);
}

TEST_P(Runtime, a_blob_without_an_entry_is_no_use_case) {
  const auto ledger = open();
  EXPECT_FALSE(ledger->writer().run([](Unit& unit) { return unit.keep(ledger::plain_blob("x")); }));
  expect_whole(1);
}

TEST_P(Runtime, an_erasure_that_only_a_table_knows_is_none) {
  const auto ledger = open();
  const std::string content(10'000, 'z'), hash = sha256_hex(content);
  ASSERT_TRUE(ledger->writer().run([&](Unit& unit) { return unit.append(note("a", content)); }));
  tamper([&](store::Transaction& t) { return t.erase(tables::kBlobs, {hash}); });
  tamper([&](store::Transaction& t) { return t.insert(tables::kLedgerErasures, {hash, "on purpose"}); });
  EXPECT_EQ(code_of(verified().broken), "LEDGER_BLOB_MISSING");
}

TEST_P(Runtime, erased_content_does_not_come_back) {
  const auto ledger = open();
  const std::string content(10'000, 'z');
  ASSERT_TRUE(ledger->writer().run([&](Unit& unit) { return unit.append(note("a", content)); }));
  ASSERT_TRUE(ledger->erase_blob(kOscar, sha256_hex(content), "asked for"));
  const auto again = ledger->writer().run([&](Unit& unit) { return unit.append(note("a", content)); });
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, "LEDGER_DRAFT");
}

TEST_P(Runtime, names_that_look_like_secrets_are_refused) {
  const auto ledger = open();
  const auto code = [&](const Happening& happening) {
    const auto done = ledger->writer().run([&](Unit& unit) { return unit.append(happening); });
    return done ? std::string("recorded") : std::string(done.error().code);
  };
  EXPECT_EQ(code(note("work/" + token(), "x")), "LEDGER_SECRET");
  Happening actor = note("a", "x");
  actor.actor.id = token();
  EXPECT_EQ(code(actor), "LEDGER_SECRET");
  Happening list{"a", "note", kAlice};
  json::Value words = json::Value::array();
  words.push("abc");
  words.push("hG7kd92hslQz81mXpwR3vT");
  list.payload.set("password", words);
  EXPECT_EQ(code(list), "recorded");
  EXPECT_EQ(entries().back().payload.find("hG7kd92h"), std::string::npos) << entries().back().payload;
}

TEST(Redaction, values_that_rules_need_are_recorded_and_no_secret) {
  ledger::RedactionKey key{};
  key[0] = 7;
  const KeyedHiding hiding(key);
  const auto recorded = [&](std::string_view text, std::initializer_list<const char*> needed) {
    const auto arguments = json::parse(text);
    std::vector<contract::PathAt> paths;
    for (const char* path : needed) paths.push_back({*json::Path::compile(path), path});
    return recorded_values(session::Values::of_document(arguments->root()), paths, hiding);
  };
  const json::Value values = recorded(R"({"order":"A-1","amount":1.50,"password":"Zk3vB9qLm2xTn7RwY4pH"})",
                                      {"$.order", "$.password", "$.absent"});
  ASSERT_EQ(values.members().size(), 2u);
  EXPECT_EQ(values.find("$['order']")->string(), "A-1");
  const std::string hashed = values.find("$['password']")->find("keyed_hash")->string();
  EXPECT_TRUE(hashed.starts_with("hmac-sha256:")) << hashed;
  EXPECT_EQ(ledger::keyed_hash(json::Value("Zk3vB9qLm2xTn7RwY4pH"), key).find("keyed_hash")->string(), hashed);
  // The name that says a value is secret is the path's last one: that of the list, for a position in it.
  EXPECT_NE(
      recorded(R"({"password":["Zk3vB9qLm2xTn7RwY4pH"]})", {"$.password[0]"}).find_at("/$['password'][0]/keyed_hash"),
      nullptr);
  key[0] = 8;
  EXPECT_NE(ledger::keyed_hash(json::Value("Zk3vB9qLm2xTn7RwY4pH"), key).find("keyed_hash")->string(), hashed);
}

// --- time -----------------------------------------------------------------------------------------------------------------

TEST_P(Runtime, time_never_goes_back_and_a_jump_is_an_entry) {
  if (!GetParam().takes_our_clock) GTEST_SKIP() << "the server's clock counts";
  const auto ledger = open();
  const auto append = [&] {
    ASSERT_TRUE(ledger->writer().run([](Unit& unit) { return unit.append(note("a", "x")); }));
  };
  append();
  const std::int64_t before = entries().back().time.nanoseconds;
  clock_.advance(60 * kNanosecondsPerSecond);
  append();  // time passed: no jump
  EXPECT_EQ(entries().size(), 3u);
  EXPECT_EQ(entries().back().time.nanoseconds, before + 60 * kNanosecondsPerSecond);

  clock_.set({before - 3600 * kNanosecondsPerSecond});
  append();
  auto all = entries();
  ASSERT_EQ(all.size(), 5u);
  EXPECT_EQ(all[3].type, kClockJumped);
  EXPECT_NE(all[3].payload.find("\"by_ns\":-3660000000000"), std::string::npos) << all[3].payload;
  EXPECT_EQ(all[4].time.nanoseconds, before + 60 * kNanosecondsPerSecond);

  clock_.set({before + 7200 * kNanosecondsPerSecond});
  append();
  all = entries();
  ASSERT_EQ(all.size(), 7u);
  EXPECT_EQ(all[5].type, kClockJumped);
  EXPECT_EQ(all[6].time.nanoseconds, before + 7200 * kNanosecondsPerSecond);
  expect_whole(7);
}

TEST_P(Runtime, a_clock_that_went_back_while_nobody_looked_is_noticed) {
  if (!GetParam().takes_our_clock) GTEST_SKIP() << "the server's clock counts";
  open();
  clock_.set({clock_.now().nanoseconds - 3600 * kNanosecondsPerSecond});
  const auto ledger = open();
  ASSERT_TRUE(ledger->writer().run([](Unit& unit) { return unit.append(note("a", "x")); }));
  EXPECT_EQ(entries()[1].type, kClockJumped);
  expect_whole(3);
}

// --- keys -----------------------------------------------------------------------------------------------------------------

TEST_P(Runtime, a_rotated_key_seals_from_then_on) {
  {
    const auto ledger = open();
    const auto rotated = ledger->rotate_key(kOscar);
    ASSERT_TRUE(rotated) << rotated.error().text();
    ASSERT_TRUE(ledger->writer().run([](Unit& unit) { return unit.append(note("a", "x")); }));
    expect_whole(3);
  }
  const auto ledger = open();  // the key file is the new one
  ASSERT_TRUE(ledger);
  ASSERT_TRUE(ledger->rotate_key(kOscar));
  expect_whole(4);
}

TEST_P(Runtime, a_rotation_cut_short_is_settled_at_the_next_opening) {
  std::filesystem::path folder;
  {
    const auto ledger = open();
    folder = place_.keys / ledger->origin().substr(13);
    // As if the crash came before the entry: the next key is there, the ledger does not know it.
    const auto files = ledger::KeyFiles::open(folder, {});
    ASSERT_TRUE(files->write_next_seal_key(ledger::SigningKey::make(ledger->origin(), random_)));
  }
  {
    const auto ledger = open();
    ASSERT_TRUE(ledger);
    // Its entry might still be on its way (from another node): it is not dropped, and the next rotation takes it.
    EXPECT_TRUE(std::filesystem::exists(folder / "seal.key.next"));
    std::filesystem::copy_file(folder / "seal.key", folder / "old");
    ASSERT_TRUE(ledger->rotate_key(kOscar));
    EXPECT_FALSE(std::filesystem::exists(folder / "seal.key.next"));
  }
  // As if it came after the entry and before the renaming.
  std::filesystem::rename(folder / "seal.key", folder / "seal.key.next");
  std::filesystem::rename(folder / "old", folder / "seal.key");
  const auto ledger = open();
  ASSERT_TRUE(ledger);
  ASSERT_TRUE(ledger->writer().run([](Unit& unit) { return unit.append(note("a", "x")); }));
  expect_whole(3);
}

TEST_P(Runtime, a_second_node_needs_an_admitted_key) {
  const auto first = open();
  TemporaryFolder other_keys;
  const LedgerPlace other{other_keys.path(), {}};
  const auto refused = Ledger::open(store(), clock_, random_, other);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "LEDGER_KEY_NOT_ADMITTED");

  const auto request = make_admission_request(store(), random_, other);
  ASSERT_TRUE(request) << request.error().text();
  const auto admitted = first->admit_key(kOscar, *request);
  ASSERT_TRUE(admitted) << admitted.error().text();
  EXPECT_FALSE(first->admit_key(kOscar, *request)) << "twice";
  // The redaction key is one for the ledger: it has to be brought over.
  const std::string id = first->origin().substr(13);
  const auto without = Ledger::open(store(), clock_, random_, other);
  ASSERT_FALSE(without);
  EXPECT_EQ(without.error().code, "LEDGER_KEY_FILE");
  std::filesystem::copy_file(place_.keys / id / "redaction.key", other_keys.path() / id / "redaction.key");
  {
    const auto second = Ledger::open(store(), clock_, random_, other);
    ASSERT_TRUE(second) << second.error().text();
    ASSERT_TRUE((*second)->writer().run([](Unit& unit) { return unit.append(note("a", "from two")); }));
    ASSERT_TRUE(first->writer().run([](Unit& unit) { return unit.append(note("a", "from one")); }));
  }
  expect_whole(4);
  const auto key = json::parse(*request);
  const auto id_text = ledger::VerifierKey::parse(key->root()["key"].string())->id_text();
  ASSERT_TRUE(first->retire_key(kOscar, id_text));
  const auto retired = Ledger::open(store(), clock_, random_, other);
  ASSERT_FALSE(retired);
  EXPECT_EQ(retired.error().code, "LEDGER_KEY_NOT_ADMITTED");
  expect_whole(5);
}

TEST_P(Runtime, a_key_that_was_retired_meanwhile_seals_nothing_more) {
  const auto first = open();
  TemporaryFolder other_keys;
  const LedgerPlace other{other_keys.path(), {}};
  ASSERT_TRUE(first->admit_key(kOscar, *make_admission_request(store(), random_, other)));
  const std::string id = first->origin().substr(13);
  std::filesystem::copy_file(place_.keys / id / "redaction.key", other_keys.path() / id / "redaction.key");
  const auto second = Ledger::open(store(), clock_, random_, other);
  ASSERT_TRUE(second) << second.error().text();
  ASSERT_TRUE((*second)->writer().run([](Unit& unit) { return unit.append(note("a", "still admitted")); }));
  const auto files = ledger::KeyFiles::open(other_keys.path() / id, {});
  ASSERT_TRUE(first->retire_key(kOscar, (*files->seal_key())->verifier().id_text()));
  const auto refused = (*second)->writer().run([](Unit& unit) { return unit.append(note("a", "no more")); });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "LEDGER_KEY_NOT_ADMITTED");
  EXPECT_FALSE((*second)->rotate_key(kOscar)) << "a retired key cannot make its own successor";
  EXPECT_FALSE((*second)->retire_key(kOscar, first->origin()));
  expect_whole(4);
}

TEST_P(Runtime, a_key_that_another_process_rotated_is_read_again) {
  const auto first = open(), second = open();  // as two processes with one key folder
  ASSERT_TRUE(second->rotate_key(kOscar));
  ASSERT_TRUE(first->writer().run([](Unit& unit) { return unit.append(note("a", "with the new key")); }));
  expect_whole(3);
}

TEST_P(Runtime, rotations_at_once_come_one_after_the_other) {
  const auto ledger = open();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      const auto rotated = ledger->rotate_key(kOscar);
      EXPECT_TRUE(rotated) << rotated.error().text();
    });
  for (std::thread& thread : threads) thread.join();
  expect_whole(5);
}

TEST_P(Runtime, an_admission_that_is_not_signed_for_this_ledger_is_refused) {
  const auto ledger = open();
  const auto stranger = ledger::SigningKey::make(ledger->origin(), random_);
  json::Value request = json::Value::object();
  request.set("key", stranger.verifier().text());
  request.set("signature", ledger::base64(ledger::sign_admission("baton/ledger/another", stranger)));
  const auto refused = ledger->admit_key(kOscar, json::write(request));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "LEDGER_DRAFT");
  EXPECT_FALSE(ledger->admit_key(kOscar, "{}"));
  EXPECT_FALSE(ledger->admit_key(kOscar, "not json"));
  expect_whole(1);
}

TEST_P(Runtime, a_key_in_the_stores_folder_or_open_to_others_is_refused) {
  LedgerPlace inside{keys_.path() / "store" / "keys", keys_.path() / "store"};
  const auto placed = Ledger::open(store(), clock_, random_, inside);
  ASSERT_FALSE(placed);
  EXPECT_EQ(placed.error().code, "LEDGER_KEY_PLACE");
  std::filesystem::path file;
  {
    const auto ledger = open();
    file = place_.keys / ledger->origin().substr(13) / "seal.key";
  }
  std::filesystem::permissions(file, std::filesystem::perms::group_read, std::filesystem::perm_options::add);
  const auto readable = Ledger::open(store(), clock_, random_, place_);
  ASSERT_FALSE(readable);
  EXPECT_EQ(readable.error().code, "LEDGER_KEY_MODE");
}

// --- verify and rebuild ---------------------------------------------------------------------------------------------------

TEST_P(Runtime, a_kept_checkpoint_and_a_foreign_key_are_noticed) {
  const auto ledger = open();
  ASSERT_TRUE(ledger->writer().run([](Unit& unit) { return unit.append(note("a", "x")); }));
  const auto reader = store().reader();
  const std::string seal = (*(*reader)->newest_seal())->note;
  VerifyOptions options;
  options.kept = {{"kept.txt", seal}};
  EXPECT_FALSE(verified(options).broken);
  // The same ledger, but the keeper has seen more of it than there is: the tail was cut.
  const auto stranger = ledger::SigningKey::make(ledger->origin(), random_);
  const ledger::SigningKey* keys[] = {&stranger};
  options.kept = {{"kept.txt", ledger::sign_note(ledger::checkpoint_text({ledger->origin(), 7, {}}), keys)}};
  EXPECT_EQ(code_of(verified(options).broken), "LEDGER_CUT");
  options.kept = {{"kept.txt", ledger::sign_note(ledger::checkpoint_text({ledger->origin(), 2, {}}), keys)}};
  EXPECT_EQ(code_of(verified(options).broken), "LEDGER_FORK");
  options.kept = {{"kept.txt", "nonsense"}};
  const auto warned = codes(verified(options).warnings);
  EXPECT_TRUE(std::find(warned.begin(), warned.end(), "LEDGER_WITNESS") != warned.end());
  options.kept.clear();
  options.public_keys = {stranger.verifier()};
  EXPECT_EQ(code_of(verified(options).broken), "LEDGER_KEY_FOREIGN");
}

TEST_P(Runtime, without_witness_and_key_the_verdict_says_so) {
  open();
  EXPECT_EQ(codes(verified().warnings), (std::vector<std::string>{"LEDGER_WITNESS_NONE", "LEDGER_KEY_UNPINNED"}));
}

TEST_P(Runtime, a_table_that_was_altered_is_found_by_rebuilding) {
  const auto ledger = open();
  ASSERT_TRUE(ledger->add_witness(kOscar, "folder:" + keys_.path().string()));
  const auto difference = [&] {
    const auto scratch = store::make_memory_store(clock_);
    const auto rebuilt = rebuild_and_compare(store(), *scratch);
    if (!rebuilt || !rebuilt->difference) return std::string("none");
    EXPECT_EQ(rebuilt->difference->code, Code::LEDGER_PROJECTION);
    return rebuilt->difference->message;
  };
  EXPECT_EQ(difference(), "none");
  tamper([](store::Transaction& t) { return t.insert(tables::kLedgerWitnesses, {"folder:/elsewhere"}); });
  EXPECT_NE(difference().find("that no entry made"), std::string::npos) << difference();
  tamper([](store::Transaction& t) { return t.erase(tables::kLedgerWitnesses, {"folder:/elsewhere"}); });
  EXPECT_EQ(difference(), "none");
  const std::string witness = "folder:" + keys_.path().string();
  tamper([&](store::Transaction& t) { return t.erase(tables::kLedgerWitnesses, {witness}); });
  EXPECT_NE(difference().find("is missing"), std::string::npos) << difference();
  tamper([&](store::Transaction& t) { return t.insert(tables::kLedgerWitnesses, {witness}); });
  tamper([&](store::Transaction& t) -> Result<void> {
    store::Row row;
    const auto found = t.find({.table = tables::kLedgerKeys}, store::Lock::Wait, [&](const store::Row& one) {
      row = one;
      return false;
    });
    if (!found) return found;
    row[2] = "retired";
    return t.update(tables::kLedgerKeys, row);
  });
  EXPECT_NE(difference().find("the column state is another"), std::string::npos) << difference();
}

// What no Reader returns, and no entry made: a node of the tree of a level that is not kept.
TEST_P(Runtime, rows_that_no_commit_writes_are_found_by_the_checks_of_the_store) {
  const auto ledger = open();
  const auto problem = [&] {
    const auto scratch = store::make_memory_store(clock_);
    const auto rebuilt = rebuild_and_compare(store(), *scratch);
    if (!rebuilt || !rebuilt->difference) return std::string("none");
    return std::string(info(rebuilt->difference->code).name) + ": " + rebuilt->difference->message;
  };
  EXPECT_EQ(problem(), "none");
  tamper([](store::Transaction& t) -> Result<void> {
    const auto head = t.take_head();
    if (!head) return tl::make_unexpected(head.error());
    const store::TreeNode node{9, 0, std::string(32, 'x'), ""};
    return t.append({}, {&node, 1}, {1000, "not a seal"}, *head);
  });
  EXPECT_EQ(problem().substr(0, 15), "LEDGER_STORAGE:") << problem();
  EXPECT_EQ(info(Code::LEDGER_STORAGE).name, "LEDGER_STORAGE");
}

// A blob, a key and a cursor that no entry accounts for.
TEST_P(Runtime, what_lies_beside_the_entries_is_found_by_rebuilding) {
  const auto ledger = open();
  ASSERT_TRUE(ledger->writer().run([](Unit& unit) { return unit.append(note("a", std::string(9000, 'x'))); }));
  const auto problem = [&] {
    const auto scratch = store::make_memory_store(clock_);
    const auto rebuilt = rebuild_and_compare(store(), *scratch);
    return rebuilt && rebuilt->difference ? rebuilt->difference->message : std::string("none");
  };
  EXPECT_EQ(problem(), "none");
  const std::string foreign = sha256_hex("foreign");
  tamper([&](store::Transaction& t) { return t.insert(tables::kBlobs, {foreign, std::string("foreign"), {}}); });
  EXPECT_NE(problem().find("that no entry refers to"), std::string::npos) << problem();
  tamper([&](store::Transaction& t) { return t.erase(tables::kBlobs, {foreign}); });
  store::Row blob;
  {
    const auto reader = store().reader();
    ASSERT_TRUE((*reader)->find({.table = tables::kBlobs}, [&](const store::Row& row) {
      blob = row;
      return false;
    }));
  }
  store::Row keyed = blob;
  keyed[2] = std::string(32, 'k');
  tamper([&](store::Transaction& t) { return t.update(tables::kBlobs, keyed); });
  EXPECT_NE(problem().find("has a key, and its content is plain"), std::string::npos) << problem();
  tamper([&](store::Transaction& t) { return t.update(tables::kBlobs, blob); });
  const auto cursor = [](std::int64_t sequence, std::int64_t failures) {
    return store::Row{
        std::string("https://example.org/hook"), sequence, std::string(), std::int64_t{0}, failures, std::int64_t{0}};
  };
  tamper([&](store::Transaction& t) { return t.insert(tables::kWebhookCursors, cursor(99, 0)); });
  EXPECT_NE(problem().find("is beyond the last entry"), std::string::npos) << problem();
  tamper([&](store::Transaction& t) { return t.update(tables::kWebhookCursors, cursor(1, -1)); });
  EXPECT_NE(problem().find("fewer failures"), std::string::npos) << problem();
  tamper([&](store::Transaction& t) { return t.update(tables::kWebhookCursors, cursor(1, 0)); });
  EXPECT_EQ(problem(), "none");
}

TEST_P(Runtime, a_token_that_another_node_made_is_read_from_its_entry) {
  const auto ledger = open();
  Happening made{std::string(kTokensStream), std::string(kTokenCreated), kOscar};
  for (const auto& [name, value] : {std::pair("token_id", "t1"), {"actor_id", "ines"}, {"kind", "operator"}})
    made.payload.set(name, value);
  for (const char* name : {"scopes", "names"}) made.payload.set(name, json::Value::array());
  made.payload.set("secret_sha256", sha256_hex("secret"));
  made.payload.set("created_by", "oscar");
  made.payload.set("at", "2027-01-01T00:00:00Z");
  made.exempt = {"/secret_sha256"};
  ASSERT_TRUE(ledger->writer().run([&](Unit& unit) { return unit.append(made); }));
  for (int i = 0; i < 600; ++i)
    ASSERT_TRUE(ledger->writer().run([&](Unit& unit) { return unit.append(note("a", std::to_string(i))); }));
  const auto reader = store().reader();
  int seen = 0;
  const auto size =
      read_token_entries(**reader, 0, [&](std::string_view type, std::string_view) { seen += type == kTokenCreated; });
  ASSERT_TRUE(size) << size.error().text();
  EXPECT_EQ(*size, 602u);
  EXPECT_EQ(seen, 1);
  seen = 0;
  ASSERT_TRUE(read_token_entries(**reader, 2, [&](std::string_view, std::string_view) { ++seen; }));
  EXPECT_EQ(seen, 0) << "those up to there were read already";
}

// --- a store that was restored or cut -------------------------------------------------------------------------------------

// A seal that this node never made of this store: its own of a longer ledger, or of another one.
std::string made_up_seal(const std::string& origin, std::uint64_t size) {
  SystemRandom random;
  const auto key = ledger::SigningKey::make(origin, random);
  const ledger::SigningKey* keys[] = {&key};
  return ledger::sign_note(ledger::checkpoint_text({origin, size, sha256("another ledger")}), keys);
}

TEST_P(Runtime, a_store_behind_the_nodes_own_seal_records_nothing_until_it_is_accepted) {
  for (const std::uint64_t kept_size : {std::uint64_t{50}, std::uint64_t{2}}) {
    SCOPED_TRACE(kept_size);
    made_ = GetParam().make(clock_, {});
    std::string origin;
    {
      const auto ledger = open();
      origin = ledger->origin();
      for (int i = 0; i < 3; ++i)
        ASSERT_TRUE(ledger->writer().run([](Unit& unit) { return unit.append(note("a", "x")); }));
      EXPECT_TRUE(ledger->setbacks().empty());
    }
    const auto files = ledger::KeyFiles::open(keys_.path() / origin.substr(origin.rfind('/') + 1), {});
    ASSERT_TRUE(files);
    const auto kept = files->last_seal();
    ASSERT_TRUE(kept && *kept) << "an orderly end keeps the newest seal";
    EXPECT_NE((**kept).find("\n4\n"), std::string::npos) << **kept;
    ASSERT_TRUE(files->write_last_seal(made_up_seal(origin, 1))) << "fewer entries";
    EXPECT_EQ(*files->last_seal(), *kept) << "it never goes back";
    ASSERT_TRUE(files->write_last_seal(made_up_seal(origin, kept_size), true));

    VerifyOptions options;
    options.own = KeptCheckpoint{"this node", **files->last_seal()};
    const std::string found = kept_size == 50 ? "LEDGER_CUT" : "LEDGER_FORK";
    EXPECT_EQ(code_of(verified(options).broken), found);
    {
      const auto ledger = open();
      ASSERT_EQ(ledger->setbacks().size(), 1u);
      EXPECT_EQ(ledger->setbacks()[0].is_shorter, kept_size == 50);
      const auto refused = ledger->writer().run([](Unit& unit) { return unit.append(note("a", "y")); });
      ASSERT_FALSE(refused);
      EXPECT_EQ(refused.error().code, "LEDGER_BEHIND");
      EXPECT_EQ(ledger->rotate_key(kOscar).error().code, "LEDGER_BEHIND");
      EXPECT_EQ(ledger->add_witness(kOscar, "folder:/x").error().code, "LEDGER_BEHIND");
    }
    EXPECT_EQ(entries().size(), 4u);
    {
      const auto ledger = open();
      ASSERT_EQ(ledger->setbacks().size(), 1u) << "a restart accepts nothing";
      const auto accepted = ledger->accept_restore(kOscar, "the disk failed");
      ASSERT_TRUE(accepted) << accepted.error().text();
      EXPECT_TRUE(ledger->setbacks().empty());
      EXPECT_EQ(ledger->accept_restore(kOscar, "again").error().code, "LEDGER_DRAFT");
      EXPECT_TRUE(ledger->writer().run([](Unit& unit) { return unit.append(note("a", "y")); }));
    }
    // The entry names what was accepted: also where the file is still the one that was.
    ASSERT_TRUE(files->write_last_seal(made_up_seal(origin, kept_size), true));
    const auto ledger = open();
    EXPECT_TRUE(ledger->setbacks().empty());
    const auto all = entries();
    ASSERT_EQ(all.size(), 6u);
    EXPECT_EQ(all[4].type, kRestoreAccepted);
    EXPECT_EQ(all[4].actor_id, "oscar");
    const auto payload = json::parse(all[4].payload);
    EXPECT_EQ(payload->root()["note"].string(), "the disk failed");
    EXPECT_EQ(payload->root()["found"]["size"].number_text(), "4");
    EXPECT_EQ(payload->root()["kept"].element(0)["size"].number_text(), std::to_string(kept_size));
    const VerifyReport report = verified(options);
    EXPECT_EQ(code_of(report.broken), "whole");
    EXPECT_NE(std::ranges::count(codes(report.warnings), "LEDGER_RESTORED"), 0);
    expect_tables_agree();
  }
}

TEST_P(Runtime, a_file_that_is_no_seal_of_this_ledger_says_nothing) {
  std::string origin;
  {
    const auto ledger = open();
    origin = ledger->origin();
  }
  const auto files = ledger::KeyFiles::open(keys_.path() / origin.substr(origin.rfind('/') + 1), {});
  for (const std::string& text : {std::string("not a seal"), std::string(), made_up_seal("baton/ledger/other", 99)}) {
    std::ofstream(files->folder() / "last.seal", std::ios::trunc) << text;
    const auto ledger = open();
    EXPECT_TRUE(ledger->setbacks().empty()) << text;
    EXPECT_TRUE(ledger->writer().run([](Unit& unit) { return unit.append(note("a", "x")); }));
  }
}

TEST_P(Runtime, a_witness_that_has_seen_more_is_noticed_at_the_start) {
  TemporaryFolder folder;
  const std::string witness = "folder:" + folder.path().string();
  std::string origin;
  {
    const auto ledger = open();
    origin = ledger->origin();
    ASSERT_TRUE(ledger->add_witness(kOscar, witness));
    EXPECT_TRUE(ledger->settle_witnesses().empty());
  }
  EXPECT_TRUE(open()->setbacks().empty());
  ASSERT_TRUE(keep_seal(witness, made_up_seal(origin, 70)));
  const auto ledger = open();
  ASSERT_EQ(ledger->setbacks().size(), 1u);
  EXPECT_EQ(ledger->setbacks()[0].kept.keeper, "the witness " + witness);
  EXPECT_EQ(ledger->writer().run([](Unit& unit) { return unit.append(note("a", "x")); }).error().code, "LEDGER_BEHIND");
}

// --- witnesses ------------------------------------------------------------------------------------------------------------

TEST_P(Runtime, a_folder_and_a_git_note_keep_the_newest_seal) {
  TemporaryFolder folder, repository;
  ASSERT_EQ(std::system(("git init -q " + repository.path().string()).c_str()), 0);
  const std::string in_folder = "folder:" + folder.path().string(), in_git = "git:" + repository.path().string();
  std::string origin;
  {
    const auto ledger = open();
    origin = ledger->origin();
    ASSERT_TRUE(ledger->add_witness(kOscar, in_folder));
    ASSERT_TRUE(ledger->add_witness(kOscar, in_git));
    ASSERT_TRUE(ledger->writer().run([](Unit& unit) { return unit.append(note("a", "x")); }));
  }  // what was not brought yet is brought now
  const auto reader = store().reader();
  const std::string newest = (*(*reader)->newest_seal())->note;
  for (const std::string& witness : {in_folder, in_git}) {
    const auto kept = kept_seal(witness, origin);
    ASSERT_TRUE(kept && *kept) << witness;
    EXPECT_EQ(**kept, newest) << witness;
  }
  EXPECT_EQ(codes(verified().warnings), (std::vector<std::string>{"LEDGER_KEY_UNPINNED"}));

  // Two further entries, then back to before them, as somebody would who wants to be rid of them.
  const auto old = (**reader).newest_seal();
  const auto ledger = open();
  ASSERT_TRUE(ledger->writer().run([](Unit& unit) { return unit.append(note("a", "y")); }));
  const auto fresh = store().reader();
  ASSERT_TRUE(keep_seal(in_folder, (*(*fresh)->newest_seal())->note));
  tamper([](store::Transaction& t) -> Result<void> {
    std::vector<store::Row> rows;
    auto found = t.find({.table = tables::kLedgerWitnesses}, store::Lock::Wait, [&](const store::Row& row) {
      rows.push_back(row);
      return true;
    });
    for (const store::Row& row : rows)
      if (found) found = t.erase(tables::kLedgerWitnesses, row);
    return found;
  });
  EXPECT_EQ(codes(verified().warnings), (std::vector<std::string>{"LEDGER_KEY_UNPINNED"}))
      << "the entries name the witnesses, whatever the table says";
  const auto back = keep_seal(in_folder, (*old)->note);
  ASSERT_FALSE(back);
  EXPECT_EQ(back.error().code, "LEDGER_WITNESS");
  EXPECT_NE(back.error().reason.find("has seen 5 entries"), std::string::npos) << back.error().reason;
}

// One connection after another: answers GET with what the last PUT brought.
class NoteServer {
 public:
  NoteServer() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(socket_, 8), 0);
    socklen_t size = sizeof address;
    ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~NoteServer() {
    stop_ = true;
    thread_.join();
    ::close(socket_);
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/seal"; }

 private:
  void serve() {
    while (!stop_) {
      pollfd wait{socket_, POLLIN, 0};
      if (::poll(&wait, 1, 50) != 1) continue;
      const int client = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
      std::string request;
      char buffer[4096];
      std::size_t wanted = std::string::npos;
      while (request.size() < wanted) {
        const ssize_t got = ::read(client, buffer, sizeof buffer);
        if (got <= 0) break;
        request.append(buffer, static_cast<std::size_t>(got));
        const std::size_t head = request.find("\r\n\r\n");
        if (head == std::string::npos) continue;
        const std::size_t length = request.find("Content-Length: ");
        wanted = head + 4 + (length < head ? std::stoul(request.substr(length + 16)) : 0);
      }
      std::string body;
      int status = 200;
      if (request.starts_with("PUT")) note_ = request.substr(request.find("\r\n\r\n") + 4);
      else if (note_.empty()) status = 404;
      else body = note_;
      const std::string answer = "HTTP/1.1 " + std::to_string(status) +
                                 " x\r\nContent-Length: " + std::to_string(body.size()) +
                                 "\r\nConnection: close\r\n\r\n" + body;
      EXPECT_EQ(::write(client, answer.data(), answer.size()), static_cast<ssize_t>(answer.size()));
      ::close(client);
    }
  }

  int socket_;
  std::uint16_t port_ = 0;
  std::string note_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

TEST_P(Runtime, a_url_keeps_the_newest_seal) {
  NoteServer server;
  const auto ledger = open();
  const auto reader = store().reader();
  const std::string newest = (*(*reader)->newest_seal())->note;
  EXPECT_FALSE(*kept_seal(server.url(), ledger->origin()));
  const auto kept = keep_seal(server.url(), newest);
  ASSERT_TRUE(kept) << kept.error().text();
  EXPECT_EQ(**kept_seal(server.url(), ledger->origin()), newest);
}

TEST(Witness, only_what_can_be_reached_safely_is_one) {
  for (const char* good : {"folder:/var/x", "git:/srv/repo", "https://witness.example/baton", "http://127.0.0.1:80/x"})
    EXPECT_TRUE(check_witness(good)) << good;
  for (const char* bad :
       {"", "folder:relative", "http://witness.example/x", "ftp://x", "https://user:pw@host/x", "/path"}) {
    const auto checked = check_witness(bad);
    ASSERT_FALSE(checked) << bad;
    EXPECT_EQ(checked.error().code, "LEDGER_DRAFT") << bad;
  }
  const auto unreachable =
      keep_seal("folder:/nonexistent/baton", "x\n1\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n\n");
  ASSERT_FALSE(unreachable);
  EXPECT_EQ(unreachable.error().code, "LEDGER_WITNESS");
}

// --- a commit nobody can tell the outcome of ----------------------------------------------------------------------------

// Commits, says that it could not, and then cannot be read: as when a server is cut off in the middle.
class CutOffStore final : public store::Store {
 public:
  explicit CutOffStore(store::Store& inner) : inner_(inner) {}
  Result<std::unique_ptr<store::Transaction>> begin() override;
  Result<std::unique_ptr<store::Reader>> reader() override {
    if (cut) return failure("reading", "cut off");
    return inner_.reader();
  }
  Result<std::uint64_t> wait_for_change(std::uint64_t seen, std::chrono::milliseconds timeout) override {
    return inner_.wait_for_change(seen, timeout);
  }
  Result<std::vector<std::string>> check_integrity() override { return inner_.check_integrity(); }
  std::string name() const override { return inner_.name(); }

  std::atomic<bool> cut = false;
  std::atomic<int> begun = 0;

 private:
  store::Store& inner_;
};

class CutOffTransaction final : public store::Transaction {
 public:
  CutOffTransaction(std::unique_ptr<store::Transaction> inner, bool cut) : inner_(std::move(inner)), cut_(cut) {}
  Result<Time> now() override { return inner_->now(); }
  Result<std::optional<store::Row>> get(const store::Table& t, const store::Row& k) override {
    return inner_->get(t, k);
  }
  Result<void> find(const store::Query& q, store::Lock l, const store::TakeRow& t) override {
    return inner_->find(q, l, t);
  }
  Result<void> insert(const store::Table& t, const store::Row& r) override { return inner_->insert(t, r); }
  Result<void> update(const store::Table& t, const store::Row& r) override { return inner_->update(t, r); }
  Result<void> erase(const store::Table& t, const store::Row& k) override { return inner_->erase(t, k); }
  Result<void> savepoint() override { return inner_->savepoint(); }
  Result<void> rollback_to_savepoint() override { return inner_->rollback_to_savepoint(); }
  Result<void> release_savepoint() override { return inner_->release_savepoint(); }
  Result<store::Head> take_head() override { return inner_->take_head(); }
  Result<void> append(std::span<const store::EntryRow> e, std::span<const store::TreeNode> n, const store::Seal& s,
                      const store::Head& h) override {
    return inner_->append(e, n, s, h);
  }
  Result<void> commit() override {
    auto committed = inner_->commit();
    if (!committed || !cut_) return committed;
    return tl::make_unexpected(Failure{"committing", "cut off", "STORE_UNAVAILABLE"});
  }

 private:
  std::unique_ptr<store::Transaction> inner_;
  const bool cut_;
};

Result<std::unique_ptr<store::Transaction>> CutOffStore::begin() {
  auto inner = inner_.begin();
  if (!inner) return inner;
  ++begun;
  return std::make_unique<CutOffTransaction>(std::move(*inner), cut);
}

TEST_P(Runtime, what_may_be_committed_is_not_run_again) {
  CutOffStore cut_off(store());
  auto ledger = Ledger::open(cut_off, clock_, random_, place_);
  ASSERT_TRUE(ledger) << ledger.error().text();
  std::latch queued(1), running(1), done(3);
  std::atomic<int> failed = 0;
  const auto acknowledged = [&](Result<Acknowledgement> outcome) {
    if (!outcome && outcome.error().code == "STORE_UNAVAILABLE") ++failed;
    done.count_down();
  };
  EXPECT_TRUE((*ledger)->writer().submit(
      [&](Unit& unit) -> Result<void> {
        running.count_down();
        queued.wait();
        return unit.append(note("a", "first"));
      },
      acknowledged));
  running.wait();
  for (int i = 0; i < 2; ++i)
    EXPECT_TRUE((*ledger)->writer().submit([i](Unit& unit) { return unit.append(note("b", std::to_string(i))); },
                                           acknowledged));
  cut_off.cut = true;  // from the batch of two on
  queued.count_down();
  done.wait();
  EXPECT_EQ(failed, 2);
  cut_off.cut = false;
  int times = 0;
  for (const ledger::Entry& entry : entries()) times += entry.stream == "b";
  EXPECT_EQ(times, 2) << "each once";
  ledger->reset();
  expect_whole(4);
}

// --- faults ---------------------------------------------------------------------------------------------------------------

// Three use cases of several writes each, on a store whose n-th operation fails: for every n until none is left to fail.
// What was acknowledged is there whole, what was not is there whole or not at all, and the ledger verifies.
void fail_at_every_operation(const store::Backend& backend, bool after_commit) {
  bool untouched = false;
  for (std::uint64_t n = 1; !untouched; ++n) {
    ASSERT_LT(n, 300u) << "it never passes";
    TemporaryFolder keys;
    FixedClock clock({1'800'000'000'000'000'000});
    SystemRandom random;
    const auto made = backend.make(clock, {});
    std::set<std::string> acknowledged;
    {
      store::FaultyStore faulty(made->store(), {n, {"trying", "the disk is on fire", "STORE_IO"}, after_commit});
      const auto ledger = Ledger::open(faulty, clock, random, {keys.path(), {}});
      for (int i = 0; ledger && i < 3; ++i) {
        const std::string id = "use/" + std::to_string(i), blob(9000, static_cast<char>('a' + i));
        const auto done = (*ledger)->writer().run([&](Unit& unit) -> Result<void> {
          if (auto first = unit.append(note(id, "first")); !first) return first;
          if (auto second = unit.append(note(id, blob)); !second) return second;
          Happening erased{id, std::string(kBlobErased), kOscar};
          erased.payload.set("reason", "trying");
          erased.payload.set("sha256", sha256_hex(id));
          return unit.append(erased);
        });
        if (done) acknowledged.insert(id);
      }
      untouched = !faulty.struck();
    }
    if (backend.durable) made->reopen();
    std::map<std::string, int> parts;
    const auto reader = made->store().reader();
    ASSERT_TRUE(reader) << reader.error().text();
    ASSERT_TRUE((*reader)->entries(1, INT64_MAX, [&](const store::EntryRow& row) {
      if (row.stream.starts_with("use/")) ++parts[std::string(row.stream)];
      return true;
    }));
    for (const std::string& id : acknowledged) EXPECT_EQ(parts[id], 3) << id << " at " << n;
    for (const auto& [id, count] : parts) {
      EXPECT_EQ(count, 3) << id << " at " << n;
      // Only a commit whose answer is lost leaves something behind, and then the writer finds out.
      EXPECT_TRUE(acknowledged.contains(id)) << id << " at " << n;
    }
    const auto report = verify(made->store(), {});
    ASSERT_TRUE(report) << report.error().text();
    // Where the first commit failed there is no ledger, which is not a whole one.
    const auto head = (*reader)->head();
    ASSERT_TRUE(head);
    if (head->size == 0) {
      ASSERT_TRUE(report->broken) << "at " << n;
      EXPECT_EQ(report->broken->diagnostic.code, Code::LEDGER_EMPTIED) << "at " << n;
    } else {
      EXPECT_FALSE(report->broken) << "at " << n << ": " << report->broken->diagnostic.message;
    }
    const auto scratch = store::make_memory_store(clock);
    const auto rebuilt = rebuild_and_compare(made->store(), *scratch);
    ASSERT_TRUE(rebuilt);
    EXPECT_FALSE(rebuilt->difference) << "at " << n << ": " << rebuilt->difference->message;
    if (head->size != 0) {
      // The seal beside the key is never ahead of the store.
      const auto again = Ledger::open(made->store(), clock, random, {keys.path(), {}});
      ASSERT_TRUE(again) << again.error().text();
      EXPECT_TRUE((*again)->setbacks().empty()) << "at " << n << ": " << (*again)->setbacks().front().problem();
    }
    if (untouched) {
      EXPECT_EQ(acknowledged.size(), 3u);
    }
  }
}

TEST_P(Runtime, whichever_operation_fails_nothing_is_lost_and_nothing_half_done) {
  fail_at_every_operation(GetParam(), false);
}

TEST_P(Runtime, a_commit_whose_answer_is_lost_is_acknowledged_all_the_same) {
  fail_at_every_operation(GetParam(), true);
}

}  // namespace
}  // namespace baton::runtime
