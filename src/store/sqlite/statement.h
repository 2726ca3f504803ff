// SPDX-License-Identifier: Apache-2.0
// A prepared SQL statement, kept for as long as its connection.
//
// Values are bound without a copy (SQLITE_STATIC): what they look at must live until the statement has run. Columns are
// views that hold until the next step().
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/result.h"
#include "store/value.h"

namespace baton::store::sqlite {

class Statement {
 public:
  // `doing` says in failures what was tried: "reading `head`".
  static Result<Statement> prepare(sqlite3* database, std::string_view sql, std::string doing);

  Statement(Statement&& other) noexcept
      : statement_(std::exchange(other.statement_, nullptr)), doing_(std::move(other.doing_)), busy_(other.busy_) {}
  Statement& operator=(Statement&&) = delete;
  ~Statement() { sqlite3_finalize(statement_); }

  // Parameters count from 1.
  void bind(int parameter, std::int64_t number);
  void bind_text(int parameter, std::string_view text);
  void bind_bytes(int parameter, std::string_view bytes);
  void bind(int parameter, Type type, const Value& value);

  // True when there is a row. Binding may have failed for want of memory: then the first step says so.
  Result<bool> step();

  // Columns count from 0. Text and bytes alike.
  std::int64_t number(int column) const { return sqlite3_column_int64(statement_, column); }
  std::string_view bytes(int column) const {
    // As a blob even where it is text: asking for text would make SQLite copy it to end it with a zero byte.
    const void* data = sqlite3_column_blob(statement_, column);
    return {static_cast<const char*>(data), static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
  }
  // Into a value that is there already, so that reading many rows reuses its memory.
  void read(int column, Value& value) const;

 private:
  friend class Run;
  Statement(sqlite3_stmt* statement, std::string doing) : statement_(statement), doing_(std::move(doing)) {}

  void note(int code) {
    if (code != SQLITE_OK && bind_code_ == SQLITE_OK) bind_code_ = code;
  }

  sqlite3_stmt* statement_;
  std::string doing_;
  int bind_code_ = SQLITE_OK;
  bool busy_ = false;
};

// One use of a statement: at its end the statement is ready for the next.
class Run {
 public:
  explicit Run(Statement& statement) : statement_(statement) {
    CHECK(!statement.busy_);  // a callback used the Reader or Transaction that called it
    statement.busy_ = true;
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run() {
    sqlite3_reset(statement_.statement_);
    statement_.bind_code_ = SQLITE_OK;
    statement_.busy_ = false;
  }
  Statement* operator->() { return &statement_; }
  Statement& operator*() { return statement_; }

  // For the next row of values to bind, within the same use.
  void again() { sqlite3_reset(statement_.statement_); }

 private:
  Statement& statement_;
};

}  // namespace baton::store::sqlite
