// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/reader_pool.h"

#include <unistd.h>

#include <utility>

#include "base/text.h"
#include "diagnostics/diagnostic.h"
#include "store/sqlite/folder.h"
#include "store/sqlite/sqlite_failure.h"

namespace baton::store::sqlite {
namespace {

// Connections kept while nobody reads. More than threads that commonly read at once would only hold memory.
constexpr std::size_t kIdleMax = 8;

constexpr const char* kSettings =
    // 8 MiB for the inner pages of a large store; leaves are read once.
    "PRAGMA cache_size = -8192;"
    // Sorting (which no query needs that has its index) must not write files.
    "PRAGMA temp_store = MEMORY;"
    // A page that was damaged is noticed when it is read, not when it misleads.
    "PRAGMA cell_size_check = ON;"
    "SELECT 1 FROM sqlite_schema LIMIT 1";

struct Opened {
  std::unique_ptr<Connection> connection;
  int code;  // of the first look at the file: opening alone does not look
};

Result<Opened> open_and_look(const std::string& name, int flags, const std::string& vfs) {
  Result<std::unique_ptr<Connection>> connection = Connection::open(name, flags, vfs);
  if (!connection) return tl::make_unexpected(connection.error());
  sqlite3* const database = (*connection)->database();
  // The last connection that closes copies the log into the database; that is the writer's to do, and only his.
  sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  const int code = sqlite3_exec(database, kSettings, nullptr, nullptr, nullptr);
  return Opened{std::move(*connection), code};
}

// A path as a URI, with what has a meaning there escaped.
std::string unchanging_uri(const std::string& path) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string uri = "file:";
  for (const char c : path) {
    if (is_alphanumeric(c) || c == '/' || c == '.' || c == '-' || c == '_') {
      uri.push_back(c);
    } else {
      const auto byte = static_cast<unsigned char>(c);
      uri.append({'%', kDigits[byte >> 4], kDigits[byte & 15]});
    }
  }
  return uri + "?immutable=1";
}

}  // namespace

Result<ReadConnection> ReaderPool::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      ReadConnection connection = std::move(idle_.back());
      idle_.pop_back();
      return connection;
    }
  }
  return open();
}

void ReaderPool::give(ReadConnection connection) {
  if (!connection.keep) return;
  const std::lock_guard lock(mutex_);
  if (idle_.size() < kIdleMax) idle_.push_back(std::move(connection));
}

Result<ReadConnection> ReaderPool::open() {
  Result<Opened> opened = open_and_look(database_path(folder_), SQLITE_OPEN_READONLY, vfs_);
  if (!opened) return tl::make_unexpected(opened.error());
  const int code = opened->code & 0xff;
  if ((code == SQLITE_CANTOPEN || code == SQLITE_READONLY) && ::access(folder_.c_str(), W_OK) != 0) {
    opened->connection.reset();
    return open_unchanging();
  }
  if (code != SQLITE_OK)
    return sqlite_failure(opened->connection->database(), opened->code, "reading " + database_path(folder_));
  return ReadConnection{{}, std::move(opened->connection), true};
}

Result<ReadConnection> ReaderPool::open_unchanging() {
  const std::string doing = "reading " + database_path(folder_);
  Result<LockFile> held = LockFile::share(lock_path(folder_));
  if (!held)
    return failure_of(Code::STORE_READ_ONLY, doing,
                      {{"problem", "a process writes it, and its -shm file cannot be opened to read beside it"}});
  std::error_code none;
  const std::uintmax_t log_bytes = std::filesystem::file_size(database_path(folder_) + "-wal", none);
  if (!none && log_bytes > 0)
    return failure_of(Code::STORE_READ_ONLY, doing,
                      {{"problem", "the last writer left a log, and reading it takes a -shm file in that folder"}});
  Result<Opened> opened =
      open_and_look(unchanging_uri(database_path(folder_)), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, vfs_);
  if (!opened) return tl::make_unexpected(opened.error());
  if (opened->code != SQLITE_OK) return sqlite_failure(opened->connection->database(), opened->code, doing);
  return ReadConnection{std::move(*held), std::move(opened->connection), false};
}

}  // namespace baton::store::sqlite
