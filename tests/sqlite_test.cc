// SPDX-License-Identifier: Apache-2.0
// What is particular to the store in a folder: its files, other processes, damage, and a disk that fails.
#include "store/sqlite/sqlite_store.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <fstream>
#include <set>
#include <thread>

#include "child_process.h"
#include "faulty_vfs.h"
#include "store/tables.h"
#include "store_rows.h"
#include "store_scenario.h"
#include "temporary_folder.h"

namespace baton::store {
namespace {

using std::chrono::milliseconds;
using Mode = SqliteOptions::Mode;

class SqliteStores : public testing::Test {
 protected:
  std::filesystem::path folder() const { return temporary_.path() / "store"; }
  std::filesystem::path file(const char* name) const { return folder() / name; }

  SqliteOptions options(Mode mode = Mode::Write, bool create = true) {
    return {.folder = folder(), .mode = mode, .create = create, .clock = clock_};
  }
  Result<std::unique_ptr<Store>> open(Mode mode = Mode::Write, bool create = true) {
    return open_sqlite_store(options(mode, create));
  }
  static void append(Store& store, std::uint64_t count) {
    const std::unique_ptr<Transaction> transaction = value_of(store.begin());
    value_of(append_after_head(*transaction, count));
    expect_done(transaction->commit());
  }
  static std::uint64_t size(Store& store) { return value_of(value_of(store.reader())->head()).size; }
  void make(std::uint64_t entries) { append(*value_of(open()), entries); }

  // Statements by somebody who knows nothing of Baton.
  void alter(const std::string& sql) {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(file("ledger.db").c_str(), &database), SQLITE_OK);
    char* problem = nullptr;
    EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, &problem), SQLITE_OK) << problem;
    sqlite3_close(database);
  }
  void overwrite(std::streamoff at, const std::string& bytes) {
    std::fstream out(file("ledger.db"), std::ios::in | std::ios::out | std::ios::binary);
    out.seekp(at);
    out << bytes;
    ASSERT_TRUE(out.flush());
  }

  FixedClock clock_{Time{1'700'000'000'000'000'000}};
  TemporaryFolder temporary_{TemporaryFolder::Place::Memory};
};

// --- the folder -------------------------------------------------------------------------------------------------------

TEST_F(SqliteStores, a_store_is_found_or_made_only_when_asked) {
  EXPECT_EQ(code_of(open(Mode::Write, false)), "STORE_NOT_FOUND");
  EXPECT_EQ(code_of(open(Mode::ReadOnly, true)), "STORE_NOT_FOUND");
  EXPECT_FALSE(std::filesystem::exists(folder()));
  std::filesystem::create_directory(folder());
  EXPECT_EQ(code_of(open(Mode::Write, false)), "STORE_NOT_FOUND");
  EXPECT_EQ(code_of(open(Mode::ReadOnly, false)), "STORE_NOT_FOUND");
  EXPECT_TRUE(std::filesystem::is_empty(folder()));  // not even a lock was left
  make(1);
  EXPECT_EQ(size(*value_of(open(Mode::Write, false))), 1u);
  EXPECT_EQ(size(*value_of(open(Mode::ReadOnly, false))), 1u);
}

TEST_F(SqliteStores, nobody_else_may_look_into_a_store) {
  const mode_t before = ::umask(0);
  const std::unique_ptr<Store> store = value_of(open());
  append(*store, 1);
  const std::unique_ptr<Reader> reader = value_of(store->reader());
  ::umask(before);
  struct stat status;
  ASSERT_EQ(::stat(folder().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0700u);
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder())) {
    names.insert(entry.path().filename());
    ASSERT_EQ(::stat(entry.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0600u) << entry.path();
  }
  EXPECT_EQ(names, (std::set<std::string>{"changed", "ledger.db", "ledger.db-shm", "ledger.db-wal", "lock"}));
}

TEST_F(SqliteStores, its_name_is_its_folder_and_may_hold_anything) {
  for (const char* name : {"file:a?b#c%41", "with space", "\xc3\xa4"}) {
    SqliteOptions wanted = options();
    wanted.folder = temporary_.path() / name / "";
    {
      const std::unique_ptr<Store> store = value_of(open_sqlite_store(wanted));
      EXPECT_EQ(store->name(), (temporary_.path() / name).string());
      append(*store, 1);
    }
    wanted.mode = Mode::ReadOnly;
    EXPECT_EQ(size(*value_of(open_sqlite_store(wanted))), 1u);
  }
}

TEST_F(SqliteStores, what_is_no_store_is_said_to_be_none) {
  for (const Mode mode : {Mode::Write, Mode::ReadOnly}) {
    std::ofstream(folder()) << "a file";
    EXPECT_EQ(code_of(open(mode, false)), "STORE_LOCATION");
    SqliteOptions inside = options(mode, false);
    inside.folder = folder() / "below";
    EXPECT_EQ(code_of(open_sqlite_store(inside)), "STORE_LOCATION");
    std::filesystem::remove(folder());
    std::filesystem::create_directories(file("ledger.db"));
    EXPECT_EQ(code_of(open(mode)), "STORE_LOCATION");
    std::filesystem::remove_all(folder());
  }
}

TEST_F(SqliteStores, a_database_of_another_program_is_left_alone) {
  std::filesystem::create_directory(folder());
  alter("CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1)");
  const auto before = std::filesystem::last_write_time(file("ledger.db"));
  for (const Mode mode : {Mode::Write, Mode::ReadOnly}) {
    const Result<std::unique_ptr<Store>> opened = open(mode);
    ASSERT_EQ(code_of(opened), "STORE_LOCATION");
    EXPECT_NE(opened.error().reason.find("another program"), std::string::npos) << opened.error().reason;
  }
  EXPECT_EQ(std::filesystem::last_write_time(file("ledger.db")), before);
}

// --- the schema -------------------------------------------------------------------------------------------------------

TEST_F(SqliteStores, a_newer_schema_is_refused) {
  make(1);
  alter("PRAGMA user_version = 4711");
  for (const Mode mode : {Mode::Write, Mode::ReadOnly}) {
    const Result<std::unique_ptr<Store>> opened = open(mode);
    ASSERT_EQ(code_of(opened), "STORE_NEWER");
    EXPECT_NE(opened.error().reason.find("4711"), std::string::npos);
  }
}

TEST_F(SqliteStores, an_older_schema_is_brought_up_to_date_by_whoever_writes) {
  make(3);
  const std::string_view more[] = {"CREATE TABLE further (a {integer} NOT NULL PRIMARY KEY){strict}"};
  std::vector<Migration> all(migrations().begin(), migrations().end());
  all.push_back({schema_version() + 1, "one more table", more});
  SqliteOptions wanted = options(Mode::ReadOnly, false);
  wanted.migrations = all;
  EXPECT_EQ(code_of(open_sqlite_store(wanted)), "STORE_READ_ONLY");
  wanted.mode = Mode::Write;
  EXPECT_EQ(size(*value_of(open_sqlite_store(wanted))), 3u);
  alter("INSERT INTO further VALUES (1)");
  wanted.mode = Mode::ReadOnly;
  EXPECT_EQ(size(*value_of(open_sqlite_store(wanted))), 3u);
  EXPECT_EQ(code_of(open()), "STORE_NEWER");
}

TEST_F(SqliteStores, a_migration_that_fails_changes_nothing) {
  make(3);
  const std::string_view more[] = {"CREATE TABLE further (a {integer})", "CREATE TABLE entries (a {integer})"};
  std::vector<Migration> all(migrations().begin(), migrations().end());
  all.push_back({schema_version() + 1, "one more table", more});
  SqliteOptions wanted = options();
  wanted.migrations = all;
  EXPECT_FALSE(open_sqlite_store(wanted));
  const std::unique_ptr<Store> store = value_of(open());
  EXPECT_EQ(size(*store), 3u);
  alter("CREATE TABLE further (a)");  // was not left behind
}

TEST_F(SqliteStores, a_store_whose_making_was_cut_short_is_finished) {
  std::filesystem::create_directory(folder());
  std::ofstream(file("ledger.db")).flush();
  EXPECT_EQ(code_of(open(Mode::ReadOnly)), "STORE_NOT_FOUND");
  {
    EXPECT_EQ(size(*value_of(open(Mode::Write, false))), 0u);
  }
  std::filesystem::remove_all(folder());
  std::filesystem::create_directory(folder());
  alter("PRAGMA journal_mode = WAL");
  EXPECT_EQ(code_of(open(Mode::ReadOnly)), "STORE_NOT_FOUND");
  EXPECT_EQ(size(*value_of(open(Mode::Write, false))), 0u);
}

// Tables are described twice, in tables.cc for programs and in migrations.cc for SQL: they are the same.
TEST_F(SqliteStores, the_migrations_make_the_tables_that_are_described) {
  make(1);
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(file("ledger.db").c_str(), &database), SQLITE_OK);
  const auto lines = [&](const std::string& sql) {
    std::vector<std::string> all;
    sqlite3_stmt* statement = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(database, sql.c_str(), -1, &statement, nullptr), SQLITE_OK) << sql;
    while (sqlite3_step(statement) == SQLITE_ROW) {
      std::string line;
      for (int i = 0; i < sqlite3_column_count(statement); ++i)
        line += std::string(i == 0 ? "" : " ") + reinterpret_cast<const char*>(sqlite3_column_text(statement, i));
      all.push_back(line);
    }
    sqlite3_finalize(statement);
    return all;
  };
  std::size_t known = 0;
  for (const Table* table : all_tables()) {
    const std::string name(table->name);
    std::vector<std::string> want;
    for (std::size_t i = 0; i < table->columns.size(); ++i) {
      const Column& column = table->columns[i];
      const std::size_t key = i < table->key_columns ? i + 1 : 0;
      want.push_back(std::string(column.name) +
                     (column.type == Type::Integer ? " INTEGER"
                      : column.type == Type::Text  ? " TEXT"
                                                   : " BLOB") +
                     (column.nullable ? " 0 " : " 1 ") + std::to_string(key));
    }
    EXPECT_EQ(lines("SELECT name, type, \"notnull\", pk FROM pragma_table_info('" + name + "')"), want) << name;
    EXPECT_EQ(lines("SELECT strict FROM pragma_table_list('" + name + "')"), std::vector<std::string>{"1"}) << name;
    for (const Index& index : table->indexes) {
      // It may go on with the columns of the key, by which rows that are equal in it are ordered.
      const std::vector<std::string> made =
          lines("SELECT name FROM pragma_index_info('" + std::string(index.name) + "')");
      const std::vector<std::size_t> order = order_of(*table, &index);
      ASSERT_GE(made.size(), index.columns.size()) << index.name;
      ASSERT_LE(made.size(), order.size()) << index.name;
      for (std::size_t i = 0; i < made.size(); ++i) EXPECT_EQ(made[i], table->columns[order[i]].name) << index.name;
    }
    ++known;
  }
  const std::vector<std::string> count = lines(
      "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' "
      "AND name NOT IN ('entries', 'tree', 'seals', 'head')");
  EXPECT_EQ(count, std::vector<std::string>{std::to_string(known)});
  sqlite3_close(database);
}

// --- other processes --------------------------------------------------------------------------------------------------

TEST_F(SqliteStores, one_process_writes_and_others_are_told_which) {
  ChildProcess writer([&](const Channel& channel) {
    const Result<std::unique_ptr<Store>> store = open();
    if (!store || !channel.send(1)) return 1;
    channel.receive();
    return 0;
  });
  ASSERT_TRUE(writer.channel().receive());
  const Result<std::unique_ptr<Store>> second = open();
  ASSERT_EQ(code_of(second), "STORE_LOCKED");
  EXPECT_NE(second.error().reason.find("(pid " + std::to_string(writer.pid()) + ")"), std::string::npos)
      << second.error().reason;
  value_of(open(Mode::ReadOnly));
  writer.channel().send(1);
  EXPECT_EQ(writer.wait(), 0);
  const std::unique_ptr<Store> third = value_of(open());
  const Result<std::unique_ptr<Store>> fourth = open();  // not even from the same process
  ASSERT_EQ(code_of(fourth), "STORE_LOCKED");
  EXPECT_NE(fourth.error().reason.find("(pid " + std::to_string(::getpid()) + ")"), std::string::npos);
}

TEST_F(SqliteStores, other_processes_read_beside_the_writer_and_are_woken_by_it) {
  ChildProcess writer([&](const Channel& channel) {
    const Result<std::unique_ptr<Store>> store = open();
    if (!store) return 1;
    append(**store, 2);
    channel.send(1);
    while (channel.receive()) append(**store, 1);
    return testing::Test::HasFailure() ? 1 : 0;
  });
  ASSERT_TRUE(writer.channel().receive());
  {
    const std::unique_ptr<Store> store = value_of(open(Mode::ReadOnly));
    EXPECT_EQ(code_of(store->begin()), "STORE_READ_ONLY");
    const std::unique_ptr<Reader> early = value_of(store->reader());
    EXPECT_EQ(value_of(store->wait_for_change(2, milliseconds(30))), 2u);
    for (std::uint64_t seen = 2; seen < 60; ++seen) {
      std::atomic<std::uint64_t> heard = 0;
      std::thread waiter([&] { heard = value_of(store->wait_for_change(seen, milliseconds(20'000))); });
      // Sometimes before the other waits, sometimes after.
      if (seen % 3 == 0) std::this_thread::sleep_for(milliseconds(2));
      writer.channel().send(1);
      EXPECT_EQ(value_of(store->wait_for_change(seen, milliseconds(20'000))), seen + 1);
      waiter.join();
      EXPECT_EQ(heard, seen + 1);
    }
    EXPECT_EQ(value_of(early->count_entries()), 2u);
  }
  EXPECT_EQ(writer.end(SIGKILL), -1);
  // Nobody cleared up: the log is still to be read, by readers and by the next writer.
  EXPECT_EQ(size(*value_of(open(Mode::ReadOnly))), 60u);
  EXPECT_EQ(size(*value_of(open())), 60u);
}

TEST_F(SqliteStores, what_a_killed_writer_had_acknowledged_is_there) {
  std::uint64_t acknowledged = 0;
  for (int turn = 0; turn < 8; ++turn) {
    ChildProcess writer([&](const Channel& channel) {
      const Result<std::unique_ptr<Store>> store = open();
      if (!store) return 1;
      while (true) {
        append(**store, 3);
        if (!channel.send(size(**store))) return 0;
      }
    });
    // Killed at some moment after some commits.
    for (int i = 0; i < 5 * turn + 1; ++i) acknowledged = writer.channel().receive().value_or(acknowledged);
    ::usleep(static_cast<useconds_t>(turn) * 137);
    EXPECT_EQ(writer.end(SIGKILL), -1);
    while (const std::optional<std::uint64_t> more = writer.channel().receive()) acknowledged = *more;
    const std::unique_ptr<Store> store = value_of(open());
    const std::unique_ptr<Reader> reader = value_of(store->reader());
    const Head head = value_of(reader->head());
    EXPECT_GE(head.size, acknowledged);
    EXPECT_EQ(head.size % 3, 0u);
    EXPECT_EQ(head, test_head(head.size));
    EXPECT_EQ(value_of(reader->count_entries()), head.size);
    EXPECT_EQ(value_of(reader->newest_seal())->size, head.size);
  }
  EXPECT_GT(acknowledged, 100u);
}

// The writer of this process tells a second store on the same folder through the file alone.
TEST_F(SqliteStores, no_commit_is_missed_by_those_who_only_read) {
  const std::unique_ptr<Store> writing = value_of(open());
  const std::unique_ptr<Store> reading = value_of(open(Mode::ReadOnly));
  constexpr std::uint64_t kCommits = 100;
  std::array<std::atomic<std::uint64_t>, 4> seen = {};
  std::vector<std::thread> threads;
  for (std::atomic<std::uint64_t>& mine : seen)
    threads.emplace_back([&] {
      while (mine < kCommits) {
        const std::uint64_t now = value_of(reading->wait_for_change(mine, milliseconds(20'000)));
        ASSERT_GT(now, mine) << "nobody was woken";
        mine = now;
      }
    });
  for (std::uint64_t size = 1; size <= kCommits; ++size) {
    append(*writing, 1);
    for (const std::atomic<std::uint64_t>& one : seen)
      for (int i = 0; one < size && i < 30'000; ++i) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(SqliteStores, a_reader_waits_for_the_first_writer_too) {
  make(1);
  std::filesystem::remove(file("changed"));  // as in a folder that was copied without it
  std::unique_ptr<Store> reading = value_of(open(Mode::ReadOnly));
  std::atomic<std::uint64_t> heard = 0;
  std::thread waiter([&] { heard = value_of(reading->wait_for_change(1, milliseconds(20'000))); });
  std::this_thread::sleep_for(milliseconds(20));
  make(1);
  waiter.join();
  EXPECT_EQ(heard, 2u);
}

// --- reading without a writer -----------------------------------------------------------------------------------------

TEST_F(SqliteStores, a_store_is_read_when_nobody_writes_it) {
  make(5);
  EXPECT_FALSE(std::filesystem::exists(file("ledger.db-wal")));  // the writer cleared up
  const std::unique_ptr<Store> store = value_of(open(Mode::ReadOnly));
  EXPECT_EQ(size(*store), 5u);
  EXPECT_EQ(value_of(store->wait_for_change(5, milliseconds(5))), 5u);
  make(2);  // a writer comes and goes
  EXPECT_EQ(size(*store), 7u);
}

// As a user who may read the folder and write nothing in it. Root may write everywhere, so it becomes somebody else.
class UnwritableStores : public SqliteStores {
 protected:
  // Gives the code of each failure, joined, as that user sees it.
  std::string as_reader(const std::function<std::string()>& work) {
    std::filesystem::permissions(temporary_.path(), std::filesystem::perms(0711));
    for (const auto& entry : std::filesystem::directory_iterator(folder()))
      std::filesystem::permissions(entry.path(), std::filesystem::perms(0444));
    std::filesystem::permissions(folder(), std::filesystem::perms(0555));
    const std::filesystem::path answer = temporary_.path() / "answer";
    std::ofstream(answer).flush();
    std::filesystem::permissions(answer, std::filesystem::perms(0666));
    ChildProcess child([&](const Channel&) {
      if (::getuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) return 1;
      std::ofstream(answer) << work();
      return 0;
    });
    EXPECT_EQ(child.wait(), 0);
    std::filesystem::permissions(folder(), std::filesystem::perms(0755));
    std::ifstream in(answer);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::string entries_seen(Mode mode) {
    const Result<std::unique_ptr<Store>> store = open(mode, mode == Mode::Write);
    if (!store) return std::string(store.error().code) + ": " + store.error().reason;
    const Result<std::unique_ptr<Reader>> reader = (*store)->reader();
    if (!reader) return std::string(reader.error().code) + ": " + reader.error().reason;
    return std::to_string(value_of((*reader)->count_entries()));
  }
};

TEST_F(UnwritableStores, a_folder_that_cannot_be_written_is_read) {
  make(5);
  EXPECT_EQ(as_reader([&] { return entries_seen(Mode::ReadOnly); }), "5");
  EXPECT_EQ(as_reader([&] {
              const std::unique_ptr<Store> store = value_of(open(Mode::ReadOnly));
              return std::to_string(value_of(store->wait_for_change(5, milliseconds(5)))) +
                     std::to_string(size(*store));
            }),
            "55");
}

TEST_F(UnwritableStores, a_folder_that_cannot_be_written_is_not_written) {
  make(5);
  EXPECT_EQ(as_reader([&] { return entries_seen(Mode::Write); }).substr(0, 16), "STORE_READ_ONLY:");
}

TEST_F(UnwritableStores, a_database_file_that_cannot_be_written_is_not_written) {
  make(5);
  const std::string seen = as_reader([&] {
    // The folder and the lock are open to all, ledger.db is not.
    return entries_seen(Mode::Write);
  });
  EXPECT_EQ(seen.substr(0, 16), "STORE_READ_ONLY:") << seen;
  std::filesystem::permissions(file("lock"), std::filesystem::perms(0666));
  std::filesystem::permissions(temporary_.path(), std::filesystem::perms(0711));
  std::filesystem::permissions(folder(), std::filesystem::perms(0777));
  const std::filesystem::path answer = temporary_.path() / "answer";
  ChildProcess child([&](const Channel&) {
    if (::getuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) return 1;
    std::ofstream(answer) << entries_seen(Mode::Write);
    return 0;
  });
  EXPECT_EQ(child.wait(), 0);
  std::ifstream in(answer);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}),
            "STORE_READ_ONLY: the store cannot be written: ledger.db may only be read");
}

TEST_F(UnwritableStores, a_writer_elsewhere_is_read_beside_in_a_folder_that_cannot_be_written) {
  make(1);
  ChildProcess writer([&](const Channel& channel) {
    const Result<std::unique_ptr<Store>> store = open();
    if (!store) return 1;
    append(**store, 4);
    channel.send(1);
    channel.receive();
    return 0;
  });
  ASSERT_TRUE(writer.channel().receive());
  EXPECT_EQ(as_reader([&] { return entries_seen(Mode::ReadOnly); }), "5");
}

TEST_F(UnwritableStores, a_log_that_was_left_is_not_overlooked) {
  make(1);
  ChildProcess writer([&](const Channel& channel) {
    const Result<std::unique_ptr<Store>> store = open();
    if (!store) return 1;
    append(**store, 4);
    channel.send(1);
    channel.receive();
    return 0;
  });
  ASSERT_TRUE(writer.channel().receive());
  writer.end(SIGKILL);
  EXPECT_EQ(as_reader([&] { return entries_seen(Mode::ReadOnly); }), "5");
  std::filesystem::remove(file("ledger.db-shm"));
  const std::string seen = as_reader([&] { return entries_seen(Mode::ReadOnly); });
  EXPECT_EQ(seen.substr(0, 16), "STORE_READ_ONLY:") << seen;
  EXPECT_NE(seen.find("left a log"), std::string::npos) << seen;
  EXPECT_EQ(size(*value_of(open())), 5u);
}

TEST_F(UnwritableStores, who_reads_a_file_as_unchanging_keeps_writers_out_while_it_does) {
  make(5);
  EXPECT_EQ(as_reader([&]() -> std::string {
              const std::unique_ptr<Store> store = value_of(open(Mode::ReadOnly));
              std::unique_ptr<Reader> reader = value_of(store->reader());
              // Whoever may write takes this lock.
              const auto may_write = [&] {
                return std::system(("flock -n -x " + file("lock").string() + " true").c_str()) == 0;
              };
              const bool during = may_write();
              reader.reset();
              return std::string(during ? "wrote beside a reader" : "waited") +
                     (may_write() ? ", then went on" : ", for ever");
            }),
            "waited, then went on");
}

// --- damage -----------------------------------------------------------------------------------------------------------

TEST_F(SqliteStores, a_damaged_header_is_noticed) {
  make(5);
  overwrite(0, "this is not a database at all");
  for (const Mode mode : {Mode::Write, Mode::ReadOnly}) EXPECT_EQ(code_of(open(mode)), "STORE_CORRUPT");
}

TEST_F(SqliteStores, a_damaged_page_is_noticed_by_who_reads_it) {
  make(2'000);
  // Nearly all pages that hold rows of tables, which begin with 13, are the entries'.
  std::vector<std::streamoff> leaves;
  std::ifstream in(file("ledger.db"), std::ios::binary);
  std::string page(4096, '\0');
  for (std::streamoff at = 0; in.read(page.data(), 4096); at += 4096)
    if (page[0] == 13) leaves.push_back(at);
  ASSERT_GT(leaves.size(), 50u);
  overwrite(leaves[leaves.size() / 2], std::string(4096, '\xa5'));
  for (const Mode mode : {Mode::Write, Mode::ReadOnly}) {
    const std::unique_ptr<Store> store = value_of(open(mode));
    const std::unique_ptr<Reader> reader = value_of(store->reader());
    std::uint64_t seen = 0;
    const Result<void> read = reader->entries(1, 2'000, [&](const EntryRow&) { return ++seen, true; });
    EXPECT_EQ(code_of(read), "STORE_CORRUPT");
    EXPECT_GT(seen, 100u);
    EXPECT_LT(seen, 2'000u);
  }
}

TEST_F(SqliteStores, a_cut_file_is_noticed) {
  make(2'000);
  std::filesystem::resize_file(file("ledger.db"), 40 * 4096);
  for (const Mode mode : {Mode::Write, Mode::ReadOnly}) EXPECT_EQ(code_of(open(mode)), "STORE_CORRUPT");
}

TEST_F(SqliteStores, a_table_that_is_gone_is_damage) {
  make(1);
  alter("DROP TABLE blobs");
  const std::unique_ptr<Store> store = value_of(open());
  EXPECT_EQ(code_of(value_of(store->reader())->get(tables::kBlobs, {"a"})), "STORE_CORRUPT");
  EXPECT_EQ(code_of(value_of(store->begin())->erase(tables::kBlobs, {"a"})), "STORE_CORRUPT");
}

TEST_F(SqliteStores, another_program_that_writes_the_database_is_noticed) {
  const std::unique_ptr<Store> store = value_of(open());
  append(*store, 1);
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(file("ledger.db").c_str(), &database), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(database, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  EXPECT_EQ(code_of(store->begin()), "STORE_LOCKED");  // after a while
  sqlite3_exec(database, "ROLLBACK", nullptr, nullptr, nullptr);
  // Its closing must not be the last one: the log is the writer's.
  sqlite3_close(database);
  append(*store, 1);
  EXPECT_EQ(size(*store), 2u);
}

// --- the disk ---------------------------------------------------------------------------------------------------------

TEST_F(SqliteStores, the_log_does_not_grow_without_end) {
  const std::unique_ptr<Store> store = value_of(open());
  const auto log_bytes = [&] { return std::filesystem::file_size(file("ledger.db-wal")); };
  const auto write_pages = [&](int count) {
    for (int i = 0; i < count; i += 250) {
      const std::unique_ptr<Transaction> transaction = value_of(store->begin());
      const std::string name = std::to_string(value_of(transaction->take_head()).size);
      (void)transaction->erase(tables::kBlobs, {"blob"});
      expect_done(transaction->insert(tables::kBlobs, {"blob", std::string(250 * 4'096, 'x'), std::monostate()}));
      expect_done(transaction->commit());
    }
  };
  write_pages(20'000);
  EXPECT_LT(log_bytes(), 25u << 20);
  {
    const std::unique_ptr<Reader> reader = value_of(store->reader());
    write_pages(30'000);
    EXPECT_GT(log_bytes(), 100u << 20);  // who reads for long pays in disk
  }
  write_pages(5'000);
  EXPECT_LT(log_bytes(), 70u << 20);
}

TEST_F(SqliteStores, every_commit_is_synced) {
  FaultyVfs vfs;
  SqliteOptions wanted = options();
  wanted.vfs = vfs.name();
  const std::unique_ptr<Store> store = value_of(open_sqlite_store(wanted));
  append(*store, 1);
  for (int i = 0; i < 5; ++i) {
    const std::uint64_t before = vfs.syncs();
    append(*store, 1);
    EXPECT_GT(vfs.syncs(), before);
  }
}

// For every n: the n-th thing that SQLite asks of the disk fails, once or from then on, while a store is made, used and
// closed. What comes back is whole, and holds all that was acknowledged.
class FailingDisk : public SqliteStores, public testing::WithParamInterface<std::pair<DiskFault, bool>> {};

TEST_P(FailingDisk, leaves_whole_transactions_and_every_acknowledged_one) {
  const auto [fault, for_ever] = GetParam();
  FaultyVfs vfs;
  std::set<std::string> codes;
  std::set<std::uint64_t> acknowledged_counts;
  for (std::uint64_t at = 1;; ++at) {
    SCOPED_TRACE(testing::Message() << "operation " << at);
    std::filesystem::remove_all(folder());
    vfs.fail_at(at, fault, for_ever);
    ScenarioRun run;
    {
      SqliteOptions wanted = options();
      wanted.vfs = vfs.name();
      const Result<std::unique_ptr<Store>> store = open_sqlite_store(wanted);
      if (store) run = run_scenario(**store);
      if (!store) run.failures.push_back(store.error());
    }
    const bool reached = vfs.operations() >= at;
    for (const Failure& failure : run.failures) codes.insert(std::string(failure.code));
    acknowledged_counts.insert(run.acknowledged);
    EXPECT_TRUE(vfs.struck() || run.acknowledged == kScenarioTransactions);
    vfs.fail_at(0, fault, false);
    const std::unique_ptr<Store> store = value_of(open());
    ASSERT_NE(store, nullptr);
    check_scenario(*store, run.acknowledged);
    append(*store, 1);  // it is of use again
    ASSERT_LT(at, 5'000u);
    if (HasFailure()) return;
    if (!reached) break;
  }
  EXPECT_EQ(codes, std::set<std::string>{fault == DiskFault::Full ? "STORE_FULL" : "STORE_IO"});
  // There were faults in the making, between commits and after the last.
  EXPECT_TRUE(acknowledged_counts.contains(0));
  EXPECT_TRUE(acknowledged_counts.contains(kScenarioTransactions));
  EXPECT_GT(acknowledged_counts.size(), 2u);
}

INSTANTIATE_TEST_SUITE_P(disks, FailingDisk,
                         testing::Values(std::pair(DiskFault::Full, false), std::pair(DiskFault::Full, true),
                                         std::pair(DiskFault::IoError, false), std::pair(DiskFault::IoError, true)),
                         [](const testing::TestParamInfo<std::pair<DiskFault, bool>>& info) {
                           return std::string(info.param.first == DiskFault::Full ? "full" : "io_error") +
                                  (info.param.second ? "_for_ever" : "_once");
                         });

}  // namespace
}  // namespace baton::store
