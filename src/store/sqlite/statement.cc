// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/statement.h"

#include "store/sqlite/sqlite_failure.h"

namespace baton::store::sqlite {

Result<Statement> Statement::prepare(sqlite3* database, std::string_view sql, std::string doing) {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v3(database, sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT,
                                      &statement, nullptr);
  if (code != SQLITE_OK) return sqlite_failure(database, code, std::move(doing));
  return Statement(statement, std::move(doing));
}

void Statement::bind(int parameter, std::int64_t number) { note(sqlite3_bind_int64(statement_, parameter, number)); }

void Statement::bind_text(int parameter, std::string_view text) {
  // A null pointer would bind NULL.
  const char* data = text.empty() ? "" : text.data();
  note(sqlite3_bind_text64(statement_, parameter, data, text.size(), SQLITE_STATIC, SQLITE_UTF8));
}

void Statement::bind_bytes(int parameter, std::string_view bytes) {
  const char* data = bytes.empty() ? "" : bytes.data();
  note(sqlite3_bind_blob64(statement_, parameter, data, bytes.size(), SQLITE_STATIC));
}

void Statement::bind(int parameter, Type type, const Value& value) {
  if (const std::int64_t* number = std::get_if<std::int64_t>(&value)) {
    bind(parameter, *number);
  } else if (const std::string* text = std::get_if<std::string>(&value)) {
    if (type == Type::Text) {
      bind_text(parameter, *text);
    } else {
      bind_bytes(parameter, *text);
    }
  } else {
    note(sqlite3_bind_null(statement_, parameter));
  }
}

Result<bool> Statement::step() {
  const int code = bind_code_ == SQLITE_OK ? sqlite3_step(statement_) : bind_code_;
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return sqlite_failure(sqlite3_db_handle(statement_), code, doing_);
}

void Statement::read(int column, Value& value) const {
  switch (sqlite3_column_type(statement_, column)) {
    case SQLITE_INTEGER: value = number(column); return;
    case SQLITE_NULL: value = std::monostate(); return;
    default: {
      const std::string_view found = bytes(column);
      if (std::string* text = std::get_if<std::string>(&value)) {
        text->assign(found);
      } else {
        value.emplace<std::string>(found);
      }
    }
  }
}

}  // namespace baton::store::sqlite
