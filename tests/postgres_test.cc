// SPDX-License-Identifier: Apache-2.0
// What only a PostgreSQL store has: several nodes, locks, connections that break, a server that restarts. What every
// store promises is in store_conformance.h. Run by with_postgres.py.
#include "store/postgres/postgres_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <set>
#include <thread>

#include "postgres_server.h"
#include "store/migrations.h"
#include "store/postgres/connection.h"
#include "store/postgres/failure.h"
#include "store/rows.h"
#include "store/tables.h"

namespace baton::store {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// --- what the tests do --------------------------------------------------------------------------------------------------

std::unique_ptr<Store> open(PostgresOptions options) {
  options.create = true;
  auto store = open_postgres_store(options);
  EXPECT_TRUE(store) << store.error().text();
  return store ? std::move(*store) : nullptr;
}

std::unique_ptr<Transaction> begin(Store& store) {
  auto transaction = store.begin();
  EXPECT_TRUE(transaction) << transaction.error().text();
  return transaction ? std::move(*transaction) : nullptr;
}

// Takes the head and adds so many entries, each with `mark` as its stream. Gives the new size.
Result<std::uint64_t> add(Transaction& transaction, std::size_t count, const std::string& mark) {
  const auto head = transaction.take_head();
  if (!head) return tl::make_unexpected(head.error());
  const std::string hash(32, 'h');
  std::vector<EntryRow> entries(count);
  for (std::size_t i = 0; i < count; ++i)
    entries[i] = {.sequence = head->size + 1 + i,
                  .stream = mark,
                  .type = "test.happened",
                  .actor_id = "tester",
                  .actor_kind = "operator",
                  .time = 1,
                  .payload = "{}",
                  .previous = hash,
                  .hash = hash};
  Head moved = *head;
  moved.size += count;
  moved.hash = hash;
  const auto appended = transaction.append(entries, {}, {moved.size, "note"}, moved);
  if (!appended) return tl::make_unexpected(appended.error());
  return moved.size;
}

// The same in a transaction of its own.
Result<std::uint64_t> append(Store& store, std::size_t count, const std::string& mark) {
  auto transaction = store.begin();
  if (!transaction) return tl::make_unexpected(transaction.error());
  auto size = add(**transaction, count, mark);
  if (!size) return size;
  const auto committed = (*transaction)->commit();
  if (!committed) return tl::make_unexpected(committed.error());
  return size;
}

std::uint64_t size_of(Store& store) {
  const auto reader = store.reader();
  EXPECT_TRUE(reader) << reader.error().text();
  return reader ? (*reader)->head()->size : 0;
}

// The streams of all entries, in order; checks that sequences have no gap and no repeat and end at the head.
std::vector<std::string> streams_of(Store& store) {
  std::vector<std::string> streams;
  const auto reader = store.reader();
  EXPECT_TRUE(reader);
  if (!reader) return streams;
  const auto read = (*reader)->entries(1, UINT64_MAX, [&](const EntryRow& entry) {
    EXPECT_EQ(entry.sequence, streams.size() + 1);
    streams.emplace_back(entry.stream);
    return true;
  });
  EXPECT_TRUE(read) << read.error().text();
  EXPECT_EQ(streams.size(), (*reader)->head()->size);
  EXPECT_EQ(streams.size(), *(*reader)->count_entries());
  return streams;
}

Row key_row(const std::string& key, const std::string& state) { return {key, std::string("k"), state}; }

void put(Store& store, const std::vector<Row>& rows) {
  auto transaction = begin(store);
  for (const Row& row : rows) ASSERT_TRUE(transaction->insert(tables::kLedgerKeys, row));
  ASSERT_TRUE(transaction->commit());
}

std::optional<Row> look_up(Store& store, const std::string& key) {
  const auto reader = store.reader();
  EXPECT_TRUE(reader);
  return reader ? *(*reader)->get(tables::kLedgerKeys, {key}) : std::nullopt;
}

std::vector<std::string> find_keys(Transaction& transaction, Lock lock, std::size_t limit = SIZE_MAX) {
  std::vector<std::string> keys;
  const auto found = transaction.find({.table = tables::kLedgerKeys, .limit = limit}, lock, [&](const Row& row) {
    keys.push_back(std::get<std::string>(row[0]));
    return true;
  });
  EXPECT_TRUE(found) << found.error().text();
  return keys;
}

template <class T>
std::string_view code_of(const Result<T>& result) {
  return result ? std::string_view("none") : result.error().code;
}

// Waits for something that other threads bring about.
template <class Condition>
bool becomes(const Condition& condition) {
  for (int i = 0; i < 1000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(milliseconds(10));
  }
  return false;
}

// A setting of the whole server, for a while.
class ServerSetting {
 public:
  ServerSetting(const TestDatabase& database, const std::string& name, const std::string& value)
      : database_(database), name_(name) {
    apply(" SET " + name_ + " = '" + value + "'");
  }
  ~ServerSetting() { apply(" RESET " + name_); }

 private:
  void apply(const std::string& change) {
    EXPECT_TRUE(database_.run("ALTER SYSTEM" + change));
    EXPECT_TRUE(database_.run("SELECT CAST(pg_reload_conf() AS INT)"));
    std::this_thread::sleep_for(milliseconds(300));
  }
  const TestDatabase& database_;
  const std::string name_;
};

class postgres_store : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_postgres_server()) GTEST_SKIP() << "run by tests/with_postgres.py";
    database = std::make_unique<TestDatabase>();
  }

  std::unique_ptr<TestDatabase> database;
};

// --- opening ------------------------------------------------------------------------------------------------------------

TEST_F(postgres_store, nodes_that_start_at_once_make_one_schema) {
  std::vector<std::future<bool>> nodes;
  for (int i = 0; i < 8; ++i)
    nodes.push_back(std::async(std::launch::async, [&] { return open({.url = database->url()}) != nullptr; }));
  for (auto& node : nodes) EXPECT_TRUE(node.get());
  EXPECT_EQ(*database->run("SELECT COUNT(*) FROM baton_schema"), schema_version());
  EXPECT_EQ(*database->run("SELECT COUNT(*) FROM head"), 1);
  const auto store = open({.url = database->url()});
  EXPECT_EQ(*(*store->reader())->head(), empty_head());
}

TEST_F(postgres_store, a_schema_of_another_time_is_brought_up_or_refused) {
  using Mode = PostgresOptions::Mode;
  const std::string& url = database->url();
  EXPECT_EQ(code_of(open_postgres_store({.url = url})), "STORE_NOT_FOUND");
  EXPECT_EQ(code_of(open_postgres_store({.url = url, .mode = Mode::ReadOnly, .create = true})), "STORE_NOT_FOUND");
  EXPECT_NE(open({.url = url}), nullptr);
  EXPECT_TRUE(open_postgres_store({.url = url}));

  const std::string_view more[] = {"CREATE TABLE more (one {integer} NOT NULL PRIMARY KEY){strict}"};
  std::vector<Migration> migrations_then(migrations().begin(), migrations().end());
  migrations_then.push_back({schema_version() + 1, "one more", more});
  const auto at = [&](Mode mode) {
    return code_of(open_postgres_store({.url = url, .mode = mode, .migrations = migrations_then}));
  };
  EXPECT_EQ(at(Mode::ReadOnly), "STORE_READ_ONLY");
  EXPECT_EQ(at(Mode::Write), "none");
  EXPECT_EQ(at(Mode::ReadOnly), "none");
  EXPECT_EQ(*database->run("SELECT COUNT(*) FROM more"), 0);

  const auto newer = open_postgres_store({.url = url});
  ASSERT_EQ(code_of(newer), "STORE_NEWER");
  EXPECT_NE(newer.error().text().find("schema " + std::to_string(schema_version() + 1)), std::string::npos);
}

TEST_F(postgres_store, whoever_may_only_read_can_read) {
  ASSERT_TRUE(append(*open({.url = database->url()}), 2, "x"));
  const std::string role = "reader_of_" + database->name();
  ASSERT_TRUE(database->run("CREATE ROLE " + role + " LOGIN PASSWORD 'readerspassword'"));
  ASSERT_TRUE(database->run("GRANT SELECT ON ALL TABLES IN SCHEMA public TO " + role));
  std::string url = database->url();
  const std::size_t from = url.find("://") + 3;
  url.replace(from, url.find('@') - from, role + ":readerspassword");
  const auto reading = open_postgres_store({.url = url, .mode = PostgresOptions::Mode::ReadOnly});
  ASSERT_TRUE(reading) << reading.error().text();
  EXPECT_EQ(streams_of(**reading).size(), 2u);
  EXPECT_EQ(*(*reading)->wait_for_change(0, seconds(5)), 2u);
  EXPECT_EQ(code_of((*reading)->begin()), "STORE_READ_ONLY");
  const auto writing = open_postgres_store({.url = url});
  ASSERT_TRUE(writing) << writing.error().text();
  EXPECT_EQ(code_of(append(**writing, 1, "y")), "STORE_READ_ONLY");
  ASSERT_TRUE(database->run("DROP OWNED BY " + role));
  ASSERT_TRUE(database->run("DROP ROLE " + role));
}

TEST_F(postgres_store, a_database_that_cannot_hold_utf8_is_refused) {
  const TestDatabase other("ENCODING 'SQL_ASCII' TEMPLATE template0");
  EXPECT_EQ(code_of(open_postgres_store({.url = other.url(), .create = true})), "STORE_LOCATION");
}

TEST_F(postgres_store, schemas_of_one_database_are_stores_of_their_own) {
  ASSERT_TRUE(database->run("CREATE SCHEMA other"));
  const auto one = open({.url = database->url()});
  const auto other = open({.url = database->url() + "?options=-csearch_path%3Dother"});
  EXPECT_EQ(*append(*one, 3, "one"), 3u);
  EXPECT_EQ(*append(*other, 1, "other"), 1u);
  EXPECT_EQ(streams_of(*one).size(), 3u);
  EXPECT_EQ(streams_of(*other).size(), 1u);
  // What one announces is nothing to the other.
  auto waiting = std::async(std::launch::async, [&] { return *other->wait_for_change(1, milliseconds(500)); });
  std::this_thread::sleep_for(milliseconds(200));
  EXPECT_EQ(*append(*one, 1, "one"), 4u);
  EXPECT_EQ(waiting.get(), 1u);
}

TEST(postgres, without_libpq_it_says_what_to_install) {
  const auto store = open_postgres_store({.url = "postgresql://localhost/x", .libpq = "libpq_is_not_here.so.5"});
  ASSERT_EQ(code_of(store), "STORE_UNAVAILABLE");
  EXPECT_NE(store.error().text().find("libpq5"), std::string::npos);
  EXPECT_EQ(code_of(open_postgres_store({.url = "postgresql://localhost/x", .libpq = "libm.so.6"})),
            "STORE_UNAVAILABLE");
}

TEST(postgres, no_password_is_in_any_message) {
  const std::string password = "s3cr3tpass";
  const std::string urls[] = {
      "postgresql://u:s3cr3tpass@127.0.0.1:1/db",        "postgresql://u:s3cr3tpass@no-such-host.invalid/db",
      "postgresql://u:x@s3cr3tpass@127.0.0.1:1/db",      "postgresql://u:x/s3cr3tpass@127.0.0.1:1/db",
      "postgresql://u:x:s3cr3tpass@127.0.0.1:1/db",      "postgresql://u:x?s3cr3tpass@127.0.0.1:1/db",
      "postgresql://u:s3cr3tpass%zz@127.0.0.1:1/db",     "postgresql://u:s3cr3tpass@[::1/db",
      "postgresql://127.0.0.1:1/db?password=s3cr3tpass", "postgresql://127.0.0.1:1/db?pasword=s3cr3tpass",
      "postgresql://127.0.0.1:1/s3cr3tpass@db",          "s3cr3tpass",
  };
  for (const std::string& url : urls) {
    const auto store = open_postgres_store({.url = url});
    ASSERT_FALSE(store) << url;
    EXPECT_TRUE(store.error().code == "STORE_UNAVAILABLE" || store.error().code == "STORE_LOCATION") << url;
    EXPECT_EQ(store.error().text().find(password), std::string::npos) << url << ": " << store.error().text();
    EXPECT_EQ(store.error().text().find('\n'), std::string::npos);
  }
}

TEST_F(postgres_store, its_name_and_a_refusal_to_let_it_in_show_no_password) {
  const std::string password = postgres_server_password();
  EXPECT_EQ(open({.url = database->url()})->name().find(password), std::string::npos);
  EXPECT_TRUE(open({.url = database->url()})->name().starts_with("postgresql://127.0.0.1:"));
  EXPECT_TRUE(open({.url = database->url()})->name().ends_with("/" + database->name()));
  for (const std::string& wrong : {std::string("wrongpassword"), password + "x"}) {
    std::string url = database->url();
    url.replace(url.find(password), password.size(), wrong);
    const auto store = open_postgres_store({.url = url});
    ASSERT_EQ(code_of(store), "STORE_UNAVAILABLE");
    EXPECT_EQ(store.error().text().find(wrong), std::string::npos) << store.error().text();
    EXPECT_NE(store.error().text().find("authentication failed"), std::string::npos) << store.error().text();
  }
}

TEST(postgres, server_errors_have_their_codes) {
  const std::pair<const char*, const char*> codes[] = {
      {"23505", "STORE_CONFLICT"},
      {"40P01", "STORE_CONFLICT"},
      {"40001", "STORE_CONFLICT"},
      {"55P03", "STORE_CONFLICT"},
      {"57P01", "STORE_UNAVAILABLE"},
      {"57P02", "STORE_UNAVAILABLE"},
      {"57P03", "STORE_UNAVAILABLE"},
      {"08006", "STORE_UNAVAILABLE"},
      {"53300", "STORE_UNAVAILABLE"},
      {"53100", "STORE_FULL"},
      {"25006", "STORE_READ_ONLY"},
      {"42501", "STORE_READ_ONLY"},
      {"XX001", "STORE_CORRUPT"},
      {"XX002", "STORE_CORRUPT"},
      {"58030", "STORE_IO"},
      {"XX000", "STORE_IO"},
      {"", "STORE_IO"},
  };
  for (const auto& [state, code] : codes)
    EXPECT_EQ(postgres::failure_of_server({state, "why", false}, "testing").code, code) << state;
}

// --- durability ---------------------------------------------------------------------------------------------------------

TEST_F(postgres_store, a_servers_lax_default_does_not_weaken_commits) {
  const auto libpq = postgres::load_libpq();
  for (const std::string setting : {"off", "local", "remote_apply"}) {
    ASSERT_TRUE(database->run("ALTER DATABASE " + database->name() + " SET synchronous_commit = " + setting));
    const auto target = postgres::parse_target(**libpq, database->url());
    const auto connection = postgres::Connection::connect(*libpq, *target, {});
    ASSERT_TRUE(connection);
    const auto rows =
        (*connection)->await((*connection)->send("SHOW synchronous_commit", {}, postgres::Connection::Want::Rows));
    EXPECT_EQ(rows->bytes(0, 0), setting == "remote_apply" ? setting : "on");
  }
}

TEST_F(postgres_store, what_cannot_be_written_is_read_only) {
  open({.url = database->url()});
  ASSERT_TRUE(database->run("ALTER DATABASE " + database->name() + " SET default_transaction_read_only = on"));
  const auto store = open({.url = database->url()});
  EXPECT_EQ(code_of(append(*store, 1, "x")), "STORE_READ_ONLY");
  EXPECT_EQ(size_of(*store), 0u);
}

TEST_F(postgres_store, a_head_that_is_gone_is_damage) {
  const auto store = open({.url = database->url()});
  ASSERT_TRUE(database->run("DELETE FROM head"));
  EXPECT_EQ(code_of((*store->reader())->head()), "STORE_CORRUPT");
  EXPECT_EQ(code_of(append(*store, 1, "x")), "STORE_CORRUPT");
  EXPECT_EQ(code_of(store->wait_for_change(0, milliseconds(0))), "STORE_CORRUPT");
}

// --- reading ------------------------------------------------------------------------------------------------------------

TEST_F(postgres_store, long_reads_come_in_pieces_and_may_be_nested_or_left) {
  const auto store = open({.url = database->url()});
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(append(*store, 1000, "s" + std::to_string(i)));
  const auto reader = std::move(*store->reader());
  ASSERT_TRUE(append(*store, 1, "later"));  // does not show

  std::uint64_t count = 0, nested = 0;
  ASSERT_TRUE(reader->entries(1, UINT64_MAX, [&](const EntryRow& entry) {
    EXPECT_EQ(entry.sequence, ++count);
    if (count % 1000 == 1) {
      EXPECT_EQ(entry.stream, "s" + std::to_string(count / 1000));
      EXPECT_TRUE(reader->entry_hashes(count, count + 999, [&](const EntryRow& other) {
        EXPECT_EQ(other.sequence, ++nested);
        return true;
      }));
      EXPECT_EQ(*reader->count_entries(), 10'000u);
    }
    return true;
  }));
  EXPECT_EQ(count, 10'000u);
  EXPECT_EQ(nested, 10'000u);

  for (const std::uint64_t stop : {1, 64, 65, 700}) {
    std::uint64_t seen = 0;
    ASSERT_TRUE(reader->entries(1, UINT64_MAX, [&](const EntryRow&) { return ++seen < stop; }));
    EXPECT_EQ(seen, stop);
  }
  EXPECT_EQ(reader->head()->size, 10'000u);
  EXPECT_EQ((*reader->newest_seal())->size, 10'000u);
}

// --- several nodes ------------------------------------------------------------------------------------------------------

TEST_F(postgres_store, nodes_append_at_once_without_gap_or_repeat) {
  constexpr int kThreads = 8, kBatches = 12;
  const std::unique_ptr<Store> nodes[] = {open({.url = database->url()}), open({.url = database->url()})};
  std::vector<std::thread> threads;
  std::atomic<std::uint64_t> acknowledged = 0;
  for (int node = 0; node < 2; ++node)
    for (int thread = 0; thread < kThreads; ++thread)
      threads.emplace_back([&, node, thread] {
        for (int batch = 0; batch < kBatches; ++batch) {
          const std::size_t count = 1 + static_cast<std::size_t>(batch) % 5;
          const std::string mark = std::to_string(node) + "." + std::to_string(thread) + "." + std::to_string(batch);
          const auto size = append(*nodes[node], count, mark);
          ASSERT_TRUE(size) << size.error().text();
          acknowledged += count;
        }
      });
  for (std::thread& thread : threads) thread.join();
  const std::vector<std::string> streams = streams_of(*nodes[0]);
  EXPECT_EQ(streams.size(), acknowledged.load());
  // Batches do not mix: each mark is one run of entries.
  std::set<std::string> marks(streams.begin(), streams.end());
  std::size_t runs = streams.empty() ? 0 : 1;
  for (std::size_t i = 1; i < streams.size(); ++i) runs += streams[i] != streams[i - 1];
  EXPECT_EQ(runs, marks.size());
  EXPECT_EQ(marks.size(), 2u * kThreads * kBatches);
}

TEST_F(postgres_store, skip_leaves_out_what_another_node_holds) {
  const auto one = open({.url = database->url()}), other = open({.url = database->url()});
  put(*one, {key_row("a", "1"), key_row("b", "1"), key_row("c", "1")});
  auto first = begin(*one), second = begin(*other);
  EXPECT_EQ(find_keys(*first, Lock::Skip, 1), std::vector<std::string>{"a"});
  EXPECT_EQ(find_keys(*second, Lock::Skip), (std::vector<std::string>{"b", "c"}));
  EXPECT_EQ(find_keys(*first, Lock::Skip), std::vector<std::string>{"a"});
  EXPECT_EQ(find_keys(*second, Lock::None), (std::vector<std::string>{"a", "b", "c"}));
  first.reset();  // and its locks are gone
  EXPECT_EQ(find_keys(*second, Lock::Skip), (std::vector<std::string>{"a", "b", "c"}));
}

TEST_F(postgres_store, rows_that_were_read_do_not_change_under_their_reader) {
  constexpr int kThreads = 4, kRounds = 25;
  const std::unique_ptr<Store> nodes[] = {open({.url = database->url()}), open({.url = database->url()})};
  put(*nodes[0], {key_row("counter", "0")});
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 2 * kThreads; ++thread)
    threads.emplace_back([&, thread] {
      for (int round = 0; round < kRounds; ++round) {
        auto transaction = begin(*nodes[thread % 2]);
        auto row = transaction->get(tables::kLedgerKeys, {std::string("counter")});
        ASSERT_TRUE(row && *row) << row.error().text();
        const int count = std::stoi(std::get<std::string>((**row)[2]));
        ASSERT_TRUE(transaction->update(tables::kLedgerKeys, key_row("counter", std::to_string(count + 1))));
        ASSERT_TRUE(transaction->commit());
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(look_up(*nodes[0], "counter"), key_row("counter", std::to_string(2 * kThreads * kRounds)));
}

TEST_F(postgres_store, of_two_that_wait_for_each_other_one_has_a_conflict) {
  const auto one = open({.url = database->url()}), other = open({.url = database->url()});
  put(*one, {key_row("a", "1"), key_row("b", "1")});
  auto first = begin(*one), second = begin(*other);
  ASSERT_TRUE(first->get(tables::kLedgerKeys, {std::string("a")}));
  ASSERT_TRUE(second->get(tables::kLedgerKeys, {std::string("b")}));
  auto waiting = std::async(std::launch::async, [&] {
    const auto row = first->get(tables::kLedgerKeys, {std::string("b")});
    const std::string code(code_of(row));
    first.reset();
    return code;
  });
  const std::string code(code_of(second->get(tables::kLedgerKeys, {std::string("a")})));
  second.reset();
  const std::set<std::string> codes = {code, waiting.get()};
  EXPECT_EQ(codes, (std::set<std::string>{"none", "STORE_CONFLICT"}));
}

TEST_F(postgres_store, one_key_inserted_by_two_nodes_is_a_conflict) {
  const auto one = open({.url = database->url()}), other = open({.url = database->url()});
  auto first = begin(*one), second = begin(*other);
  ASSERT_TRUE(first->insert(tables::kLedgerKeys, key_row("a", "first")));
  ASSERT_TRUE(first->now());  // it is there, uncommitted
  ASSERT_TRUE(second->insert(tables::kLedgerKeys, key_row("a", "second")));
  auto waiting = std::async(std::launch::async, [&] { return std::string(code_of(second->commit())); });
  std::this_thread::sleep_for(milliseconds(50));
  ASSERT_TRUE(first->commit());
  EXPECT_EQ(waiting.get(), "STORE_CONFLICT");
  second.reset();
  EXPECT_EQ(look_up(*one, "a"), key_row("a", "first"));
}

TEST_F(postgres_store, who_waits_too_long_has_a_conflict_and_who_hangs_is_ended) {
  const auto one = open({.url = database->url(), .lock_timeout_ms = 200});
  const auto other = open({.url = database->url(), .idle_transaction_ms = 600});
  auto hanging = begin(*other);
  ASSERT_TRUE(hanging->take_head());
  EXPECT_EQ(code_of(append(*one, 1, "x")), "STORE_CONFLICT");
  EXPECT_TRUE(becomes([&] { return append(*one, 1, "x").has_value(); }));
  EXPECT_EQ(code_of(hanging->commit()), "STORE_UNAVAILABLE");
  hanging.reset();
  EXPECT_EQ(streams_of(*other).size(), 1u);
}

// --- savepoints and failures that are noticed late ------------------------------------------------------------------------

TEST_F(postgres_store, a_conflict_nobody_has_noticed_yet_is_undone_with_its_savepoint) {
  const auto store = open({.url = database->url()});
  put(*store, {key_row("a", "1")});
  // Twice: the second time all statements are prepared, and nothing is waited for.
  for (const std::string key : {"b", "c"}) {
    auto transaction = begin(*store);
    ASSERT_TRUE(transaction->savepoint());
    ASSERT_TRUE(transaction->insert(tables::kLedgerKeys, key_row(key, "1")));
    ASSERT_TRUE(transaction->release_savepoint());
    ASSERT_TRUE(transaction->savepoint());
    ASSERT_TRUE(transaction->insert(tables::kLedgerKeys, key_row("a", "again")));
    ASSERT_TRUE(transaction->rollback_to_savepoint());
    ASSERT_TRUE(transaction->release_savepoint());
    ASSERT_TRUE(add(*transaction, 1, key));
    ASSERT_TRUE(transaction->commit());
  }
  EXPECT_EQ(look_up(*store, "a"), key_row("a", "1"));
  EXPECT_EQ(look_up(*store, "b"), key_row("b", "1"));
  EXPECT_EQ(look_up(*store, "c"), key_row("c", "1"));
  EXPECT_EQ(streams_of(*store), (std::vector<std::string>{"b", "c"}));
}

TEST_F(postgres_store, a_conflict_before_a_savepoint_is_not_undone_with_it) {
  const auto store = open({.url = database->url()});
  put(*store, {key_row("a", "1")});
  const auto conflicts = {
      +[](Transaction& transaction) { return transaction.insert(tables::kLedgerKeys, key_row("a", "again")); },
      +[](Transaction& transaction) { return transaction.update(tables::kLedgerKeys, key_row("absent", "1")); }};
  for (int round = 0; round < 2; ++round) {
    for (const auto conflict : conflicts) {
      for (const bool noticed : {false, true}) {
        auto transaction = begin(*store);
        ASSERT_TRUE(transaction->savepoint());
        ASSERT_TRUE(conflict(*transaction));
        ASSERT_TRUE(transaction->release_savepoint());
        ASSERT_TRUE(transaction->savepoint());
        if (noticed) {
          EXPECT_EQ(code_of(transaction->get(tables::kLedgerKeys, {std::string("a")})), "STORE_CONFLICT");
        }
        (void)transaction->rollback_to_savepoint();
        EXPECT_EQ(code_of(transaction->get(tables::kLedgerKeys, {std::string("a")})), "STORE_CONFLICT");
        EXPECT_EQ(code_of(transaction->commit()), "STORE_CONFLICT");
      }
    }
  }
  EXPECT_EQ(look_up(*store, "a"), key_row("a", "1"));
}

TEST_F(postgres_store, an_update_that_meets_no_row_is_not_committed) {
  const auto store = open({.url = database->url()});
  for (int round = 0; round < 2; ++round) {
    auto transaction = begin(*store);
    ASSERT_TRUE(add(*transaction, 1, "x"));
    ASSERT_TRUE(transaction->update(tables::kLedgerKeys, key_row("absent", "1")));
    EXPECT_EQ(code_of(transaction->commit()), "STORE_CONFLICT");
  }
  EXPECT_EQ(size_of(*store), 0u);
}

// --- what breaks ----------------------------------------------------------------------------------------------------------

TEST_F(postgres_store, a_connection_ended_in_a_transaction_leaves_nothing_and_is_replaced) {
  const auto store = open({.url = database->url()});
  for (const bool head : {false, true}) {
    auto transaction = begin(*store);
    ASSERT_TRUE(transaction->insert(tables::kLedgerKeys, key_row("a", "1")));
    ASSERT_TRUE(transaction->now());
    if (head) {
      ASSERT_TRUE(add(*transaction, 3, "x"));
    }
    EXPECT_GE(database->end_connections(), 1);
    EXPECT_EQ(code_of(transaction->commit()), "STORE_UNAVAILABLE");
    EXPECT_EQ(code_of(transaction->take_head()), "STORE_UNAVAILABLE");
    transaction.reset();
    EXPECT_EQ(size_of(*store), 0u);
    EXPECT_EQ(look_up(*store, "a"), std::nullopt);
  }
  // Those that lay idle are noticed before anybody gets one.
  EXPECT_GE(database->end_connections(), 1);
  EXPECT_EQ(*append(*store, 2, "y"), 2u);
  auto reader = std::move(*store->reader());
  EXPECT_GE(database->end_connections(), 1);
  EXPECT_EQ(code_of(reader->count_entries()), "STORE_UNAVAILABLE");
  reader.reset();
  EXPECT_EQ(streams_of(*store).size(), 2u);
}

// The end comes while the server is busy with the COMMIT itself: before it has taken place (a deferred trigger that takes
// its time), and after (waiting for a standby that does not exist).
TEST_F(postgres_store, a_connection_ended_in_a_commit_leaves_all_or_nothing) {
  const auto store = open({.url = database->url()});
  ASSERT_TRUE(database->run(
      "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(30); RETURN NULL; END'"));
  ASSERT_TRUE(
      database->run("CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON seals DEFERRABLE INITIALLY DEFERRED FOR EACH ROW "
                    "EXECUTE FUNCTION slow()"));
  auto before = std::async(std::launch::async, [&] { return append(*store, 2, "before"); });
  EXPECT_TRUE(becomes([&] { return database->end_connections("query = 'COMMIT' AND wait_event = 'PgSleep'") > 0; }));
  EXPECT_EQ(code_of(before.get()), "STORE_UNAVAILABLE");
  EXPECT_EQ(streams_of(*store).size(), 0u);
  ASSERT_TRUE(database->run("DROP TRIGGER slow ON seals"));

  auto nobody = std::make_unique<ServerSetting>(*database, "synchronous_standby_names", "nobody");
  auto after = std::async(std::launch::async, [&] { return append(*store, 2, "after"); });
  EXPECT_TRUE(becomes([&] { return database->end_connections("query = 'COMMIT' AND wait_event = 'SyncRep'") > 0; }));
  EXPECT_EQ(code_of(after.get()), "STORE_UNAVAILABLE");
  EXPECT_EQ(streams_of(*store), (std::vector<std::string>{"after", "after"}));
  nobody.reset();
  EXPECT_TRUE(becomes([&] { return append(*store, 1, "more").has_value(); }));
}

TEST_F(postgres_store, a_connection_that_is_cut_is_replaced) {
  Wire wire;
  const auto store = open({.url = wire.url_of(*database)});
  ASSERT_TRUE(append(*store, 1, "a"));
  {
    auto transaction = begin(*store);
    ASSERT_TRUE(add(*transaction, 1, "b"));
    wire.cut();
    EXPECT_EQ(code_of(transaction->commit()), "STORE_UNAVAILABLE");
  }
  EXPECT_TRUE(becomes([&] { return append(*store, 1, "c").has_value(); }));
  {
    // The bytes of the commit are on their way when the wire is cut: they do not arrive.
    auto transaction = begin(*store);
    ASSERT_TRUE(add(*transaction, 1, "d"));
    wire.hold(true);
    auto committing = std::async(std::launch::async, [&] { return std::string(code_of(transaction->commit())); });
    std::this_thread::sleep_for(milliseconds(100));
    wire.cut();
    wire.hold(false);
    EXPECT_EQ(committing.get(), "STORE_UNAVAILABLE");
  }
  EXPECT_TRUE(becomes([&] { return append(*store, 1, "e").has_value(); }));
  EXPECT_EQ(streams_of(*store), (std::vector<std::string>{"a", "c", "e"}));
}

TEST_F(postgres_store, a_server_that_stops_at_once_loses_nothing_acknowledged) {
  const std::unique_ptr<Store> nodes[] = {open({.url = database->url()}), open({.url = database->url()})};
  std::atomic<bool> ended = false;
  std::mutex mutex;
  std::set<std::string> acknowledged, tried;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 6; ++thread)
    threads.emplace_back([&, thread] {
      for (int batch = 0; !ended; ++batch) {
        const std::string mark = std::to_string(thread) + "." + std::to_string(batch);
        {
          const std::lock_guard lock(mutex);
          tried.insert(mark);
        }
        const auto size = append(*nodes[thread % 2], 3, mark);
        if (!size) {
          EXPECT_EQ(size.error().code, "STORE_UNAVAILABLE") << size.error().text();
          std::this_thread::sleep_for(milliseconds(10));
          continue;
        }
        const std::lock_guard lock(mutex);
        acknowledged.insert(mark);
      }
    });
  for (int round = 0; round < 3; ++round) {
    std::this_thread::sleep_for(milliseconds(500));
    EXPECT_TRUE(control_postgres_server("restart"));
  }
  EXPECT_TRUE(becomes([&] { return append(*nodes[0], 3, "last").has_value(); }));
  ended = true;
  for (std::thread& thread : threads) thread.join();

  const std::vector<std::string> streams = streams_of(*nodes[1]);
  ASSERT_EQ(streams.size() % 3, 0u);
  std::set<std::string> there;
  for (std::size_t i = 0; i < streams.size(); i += 3) {
    EXPECT_EQ(streams[i], streams[i + 1]);
    EXPECT_EQ(streams[i], streams[i + 2]);
    EXPECT_TRUE(there.insert(streams[i]).second) << streams[i] << " is there twice";
  }
  EXPECT_GT(acknowledged.size(), 10u);
  EXPECT_TRUE(std::ranges::includes(there, acknowledged));
}

TEST_F(postgres_store, a_store_waits_for_a_connection_but_not_for_ever) {
  const auto store = open({.url = database->url(), .connections_max = 1, .connect_silence_ms = 100});
  auto transaction = begin(*store);
  EXPECT_EQ(code_of(store->begin()), "STORE_UNAVAILABLE");
  transaction.reset();
  EXPECT_TRUE(store->begin());
}

// --- waking -------------------------------------------------------------------------------------------------------------

TEST_F(postgres_store, a_commit_wakes_the_other_node) {
  const auto one = open({.url = database->url()}), other = open({.url = database->url()});
  EXPECT_EQ(*other->wait_for_change(0, milliseconds(1)), 0u);
  auto waiting = std::async(std::launch::async, [&] { return *other->wait_for_change(0, seconds(20)); });
  std::this_thread::sleep_for(milliseconds(100));
  EXPECT_EQ(*append(*one, 2, "x"), 2u);
  ASSERT_EQ(waiting.wait_for(seconds(5)), std::future_status::ready);
  EXPECT_EQ(waiting.get(), 2u);
  EXPECT_EQ(*other->wait_for_change(1, seconds(20)), 2u);
  EXPECT_EQ(*one->wait_for_change(0, milliseconds(0)), 2u);
  EXPECT_EQ(*one->wait_for_change(1, seconds(20)), 2u);
}

TEST_F(postgres_store, a_commit_while_nobody_listened_wakes_all_the_same) {
  const auto one = open({.url = database->url()}), other = open({.url = database->url()});
  EXPECT_EQ(*other->wait_for_change(0, milliseconds(1)), 0u);
  auto waiting = std::async(std::launch::async, [&] { return other->wait_for_change(0, seconds(30)); });
  ASSERT_TRUE(control_postgres_server("stop"));
  EXPECT_EQ(code_of(one->wait_for_change(0, milliseconds(100))), "STORE_UNAVAILABLE");
  std::this_thread::sleep_for(milliseconds(300));
  ASSERT_TRUE(control_postgres_server("start"));
  // Most likely before the other node has connected again.
  EXPECT_TRUE(becomes([&] { return append(*one, 1, "x").has_value(); }));
  ASSERT_EQ(waiting.wait_for(seconds(15)), std::future_status::ready);
  EXPECT_EQ(*waiting.get(), 1u);
}

TEST_F(postgres_store, a_setting_the_server_reports_does_not_hide_what_follows_it) {
  const auto one = open({.url = database->url()}), other = open({.url = database->url()});
  EXPECT_EQ(*other->wait_for_change(0, milliseconds(1)), 0u);
  auto waiting = std::async(std::launch::async, [&] { return *other->wait_for_change(0, seconds(20)); });
  const ServerSetting elsewhere(*database, "TimeZone", "Europe/Zurich");
  EXPECT_EQ(*append(*one, 1, "x"), 1u);
  ASSERT_EQ(waiting.wait_for(seconds(5)), std::future_status::ready);
  ASSERT_TRUE(database->run("NOTIFY baton_changed, 'by hand'"));
  EXPECT_EQ(*append(*one, 1, "x"), 2u);
  EXPECT_EQ(*other->wait_for_change(1, seconds(20)), 2u);
}

}  // namespace
}  // namespace baton::store
