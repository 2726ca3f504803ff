// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/sqlite_store.h"

#include <utility>
#include <vector>

#include "diagnostics/diagnostic.h"
#include "store/sqlite/change_signal.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/folder.h"
#include "store/sqlite/integrity.h"
#include "store/sqlite/lock_file.h"
#include "store/sqlite/reader_pool.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/sqlite_reader.h"
#include "store/sqlite/sqlite_transaction.h"

namespace baton::store {
namespace {

// Before the first page is written. An entry with its 300-odd bytes of payload takes half a kilobyte: of one commit, a
// page of 4 KiB holds seven; larger pages would make a commit of one entry write mostly what was written before. It is
// also what disks and the page cache write at once.
constexpr const char* kPageSize = "PRAGMA page_size = 4096";

constexpr const char* kWriterSettings =
    // Every commit syncs the log. NORMAL would lose commits in a power cut that were acknowledged.
    "PRAGMA synchronous = FULL;"
    // A log that grew long under a slow reader gives the disk back, down to this, when it is begun anew.
    "PRAGMA journal_size_limit = 67108864;"
    // 16 MiB: the inner pages of a store of millions of entries and the rows that are worked on.
    "PRAGMA cache_size = -16384;"
    // What a savepoint would undo is kept in memory, not in a file.
    "PRAGMA temp_store = MEMORY;"
    // What is erased is overwritten: a blob that a person had erased must not stay in free pages.
    "PRAGMA secure_delete = ON;"
    "PRAGMA cell_size_check = ON";

Result<int> schema_at_one_moment(sqlite::Connection& connection, const SqliteOptions& options) {
  if (Result<void> begun = connection.run(sqlite::Fixed::Begin); !begun) return tl::make_unexpected(begun.error());
  Result<int> schema = sqlite::schema_of(connection, options.folder, options.migrations);
  Result<void> ended = connection.run(sqlite::Fixed::Commit);
  if (schema && !ended) return tl::make_unexpected(ended.error());
  return schema;
}

class SqliteStore final : public Store {
 public:
  SqliteStore(const SqliteOptions& options, std::filesystem::path folder)
      : name_(folder.string()),
        folder_(folder),
        migrations_(options.migrations.begin(), options.migrations.end()),
        pool_(folder, options.vfs),
        watch_(folder, sqlite::changed_path(folder), options.clock) {}

  Result<void> open_to_write(const SqliteOptions& options);
  Result<void> open_to_read(const SqliteOptions& options);

  Result<std::unique_ptr<Transaction>> begin() override {
    if (!writer_)
      return failure_of(Code::STORE_READ_ONLY, "writing the store " + name_,
                        {{"problem", "it was opened for reading only"}});
    return sqlite::begin(*writer_);
  }

  Result<std::unique_ptr<Reader>> reader() override { return sqlite::make_reader(pool_); }

  Result<std::uint64_t> wait_for_change(std::uint64_t seen, std::chrono::milliseconds timeout) override {
    // Whoever writes is the only one who does: nothing can change that it does not know of.
    if (writer_) return writer_->growth.wait(seen, timeout);
    return watch_.wait(seen, timeout, [&]() -> Result<std::uint64_t> {
      Result<std::unique_ptr<Reader>> looking = reader();
      if (!looking) return tl::make_unexpected(looking.error());
      return (*looking)->head().map([](const Head& head) { return head.size; });
    });
  }

  Result<void> scrub() override {
    const std::string doing = "clearing the log of the store " + name_;
    if (!writer_) return failure_of(Code::STORE_READ_ONLY, doing, {{"problem", "it was opened for reading only"}});
    writer_->turn.take();
    const int done = sqlite3_wal_checkpoint_v2(writer_->connection->database(), "main", SQLITE_CHECKPOINT_TRUNCATE,
                                               nullptr, nullptr);
    writer_->turn.give();
    if (done != SQLITE_OK)
      return failure_of(Code::STORE_LOCKED, doing,
                        {{"holder", " that reads it; erased content stays in the log until it ends"}});
    return {};
  }

  Result<std::vector<std::string>> check_integrity() override {
    Result<sqlite::ReadConnection> taken = pool_.take();
    if (!taken) return tl::make_unexpected(taken.error());
    auto problems = sqlite::check_integrity(*taken->connection, migrations_);
    if (problems) pool_.give(std::move(*taken));
    return problems;
  }

  std::string name() const override { return name_; }

 private:
  const std::string name_;
  const std::filesystem::path folder_;
  const std::vector<Migration> migrations_;
  // In the order in which they are needed: the lock is given back last, and the writer closes after the readers, so that
  // it is the last connection, which clears up the log.
  sqlite::LockFile lock_;
  std::unique_ptr<sqlite::Writer> writer_;  // null when opened for reading only
  sqlite::ReaderPool pool_;
  sqlite::ChangeWatch watch_;
};

Result<void> SqliteStore::open_to_write(const SqliteOptions& options) {
  if (options.create)
    if (Result<void> made = sqlite::make_folder(folder_); !made) return made;
  // Before the lock, so that no lock file is left where there is no store.
  Result<void> there = sqlite::check_folder(folder_);
  const bool missing = !there && there.error().code == info(Code::STORE_NOT_FOUND).name;
  if (!there && !(missing && options.create)) return there;
  Result<sqlite::LockFile> lock = sqlite::LockFile::take(sqlite::lock_path(folder_));
  if (!lock) return tl::make_unexpected(lock.error());
  lock_ = std::move(*lock);
  if (missing)
    if (Result<void> made = sqlite::make_database_file(folder_); !made) return made;

  const std::string doing = "opening the store " + name_;
  auto connection = sqlite::Connection::open(sqlite::database_path(folder_), SQLITE_OPEN_READWRITE, options.vfs);
  if (!connection) return tl::make_unexpected(connection.error());
  sqlite::Connection& writing = **connection;
  if (sqlite3_db_readonly(writing.database(), "main") == 1)
    return failure_of(Code::STORE_READ_ONLY, doing, {{"problem", "ledger.db may only be read"}});
  const Result<int> schema = schema_at_one_moment(writing, options);
  if (!schema) return tl::make_unexpected(schema.error());

  if (Result<void> set = writing.run(kPageSize, doing); !set) return set;
  const Result<std::string> mode = writing.text("PRAGMA journal_mode = WAL", doing);
  if (!mode) return tl::make_unexpected(mode.error());
  if (*mode != "wal")
    return failure_of(Code::STORE_IO, doing, {{"problem", "the file system does not let SQLite share memory (WAL)"}});
  if (Result<void> set = writing.run(kWriterSettings, doing); !set) return set;
  if (Result<void> migrated = sqlite::migrate(writing, *schema, options.migrations); !migrated) return migrated;

  writer_ = std::make_unique<sqlite::Writer>(options.clock);
  writer_->connection = std::move(*connection);
  writer_->checkpoints.install(*writer_->connection);
  if (Result<void> opened = writer_->signal.open(sqlite::changed_path(folder_)); !opened) return opened;
  const Result<Head> head = writer_->connection->head();
  if (!head) return tl::make_unexpected(head.error());
  writer_->growth.set(head->size);
  // Whatever the last writer did not come to say.
  writer_->signal.announce(head->size);
  return {};
}

Result<void> SqliteStore::open_to_read(const SqliteOptions& options) {
  if (Result<void> there = sqlite::check_folder(folder_); !there) return there;
  const std::string doing = "opening the store " + name_;
  Result<sqlite::ReadConnection> reading = pool_.take();
  if (!reading) return tl::make_unexpected(reading.error());
  const Result<int> schema = schema_at_one_moment(*reading->connection, options);
  if (!schema) return tl::make_unexpected(schema.error());
  if (*schema == 0) return failure_of(Code::STORE_NOT_FOUND, doing);
  const int known = options.migrations.back().number;
  if (*schema < known)
    return failure_of(Code::STORE_READ_ONLY, doing,
                      {{"problem", "its schema is " + std::to_string(*schema) + ", to be brought to " +
                                       std::to_string(known) + " by opening it for writing once"}});
  pool_.give(std::move(*reading));
  return {};
}

}  // namespace

Result<std::unique_ptr<Store>> open_sqlite_store(const SqliteOptions& options) {
  // Absolute, so that no name of a folder is taken for a URI, and a later change of the working folder does not matter.
  std::error_code error;
  std::filesystem::path folder = std::filesystem::absolute(options.folder, error).lexically_normal();
  if (error) return failure("opening the store " + options.folder.string(), error.message());
  if (!folder.has_filename()) folder = folder.parent_path();  // "folder/"
  auto store = std::make_unique<SqliteStore>(options, std::move(folder));
  Result<void> opened =
      options.mode == SqliteOptions::Mode::Write ? store->open_to_write(options) : store->open_to_read(options);
  if (!opened) return tl::make_unexpected(opened.error());
  return store;
}

}  // namespace baton::store
