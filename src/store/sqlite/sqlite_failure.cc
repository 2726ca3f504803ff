// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/sqlite_failure.h"

#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

namespace baton::store::sqlite {
namespace {

bool is_full(int error) { return error == ENOSPC || error == EDQUOT; }
bool is_read_only(int error) { return error == EROFS || error == EACCES || error == EPERM; }

}  // namespace

tl::unexpected<Failure> sqlite_failure(sqlite3* database, int code, std::string doing) {
  std::string_view problem = sqlite3_errstr(code);
  int error = 0;
  if (database != nullptr) {
    error = sqlite3_system_errno(database);
    // The connection's text says more, when it is about this code.
    if (sqlite3_extended_errcode(database) == code) problem = sqlite3_errmsg(database);
  }
  switch (code & 0xff) {
    case SQLITE_FULL: return failure_of(Code::STORE_FULL, std::move(doing));
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH: return failure_of(Code::STORE_READ_ONLY, std::move(doing), {{"problem", problem}});
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return failure_of(Code::STORE_LOCKED, std::move(doing), {{"holder", ""}});
    case SQLITE_CONSTRAINT:
      if (code == SQLITE_CONSTRAINT_PRIMARYKEY || code == SQLITE_CONSTRAINT_ROWID || code == SQLITE_CONSTRAINT_UNIQUE)
        return failure_of(Code::STORE_CONFLICT, std::move(doing));
      // Rows are checked before they come here: the tables are not those that the migrations made.
      return failure_of(Code::STORE_CORRUPT, std::move(doing), {{"problem", problem}});
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_ERROR:     // a table or column is missing: every statement is ours
    case SQLITE_SCHEMA:    // the same
    case SQLITE_MISMATCH:  // a value of another type than the table was made with
      return failure_of(Code::STORE_CORRUPT, std::move(doing), {{"problem", problem}});
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
      if (is_full(error)) return failure_of(Code::STORE_FULL, std::move(doing));
      if (is_read_only(error)) return failure_of(Code::STORE_READ_ONLY, std::move(doing), {{"problem", problem}});
      return failure_of(Code::STORE_IO, std::move(doing), {{"problem", problem}});
    default: return failure_of(Code::STORE_IO, std::move(doing), {{"problem", problem}});
  }
}

tl::unexpected<Failure> system_failure(int error, std::string doing) {
  const std::string problem = std::system_category().message(error);
  if (is_full(error)) return failure_of(Code::STORE_FULL, std::move(doing));
  if (is_read_only(error)) return failure_of(Code::STORE_READ_ONLY, std::move(doing), {{"problem", problem}});
  return failure_of(Code::STORE_IO, std::move(doing), {{"problem", problem}});
}

}  // namespace baton::store::sqlite
