// SPDX-License-Identifier: Apache-2.0
// Items, sessions, tokens and context sections as rows of the store, and back. A row that cannot be read back is a Failure: it was
// altered, or written by another version.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "json/value.h"
#include "runtime/use_cases.h"
#include "store/value.h"
#include "work/item.h"

namespace baton::runtime {

inline const std::string& text_at(const store::Row& row, std::size_t column) {
  return std::get<std::string>(row[column]);
}
inline std::int64_t number_at(const store::Row& row, std::size_t column) { return std::get<std::int64_t>(row[column]); }

store::Row row_of(const work::Item& item);
Result<work::Item> read_item(const store::Row& row);

store::Row row_of(const work::Session& session);
// The row of kCounters with the number of items that the actor created and that are not done.
inline std::string open_items_of(std::string_view actor_id) { return "items/" + std::string(actor_id); }
Result<work::Session> read_session(const store::Row& row);

store::Row row_of(const Token& token);
Result<Token> read_token(const store::Row& row);

struct ContextSection {
  std::string section;
  std::int64_t version = 0;  // 1, 2, 3, ...
  json::Value value = json::Value::object();
  std::string author, session_id, work_id;
  std::vector<std::string> labels;
  Time changed_at;
};
store::Row row_of(const ContextSection& section);
Result<ContextSection> read_section(const store::Row& row);

// --- reading payloads and rows ------------------------------------------------------------------------------------------

// Each member must be there and be what is asked for; false when not.
bool read_text(json::Node object, std::string_view member, std::string& out);
bool read_number(json::Node object, std::string_view member, std::int64_t& out);
bool read_time(json::Node object, std::string_view member, Time& out);
bool read_texts(json::Node object, std::string_view member, std::vector<std::string>& out);
// A member that may be absent; false only when it is there and something else.
bool read_optional_time(json::Node object, std::string_view member, std::optional<Time>& out);
json::Value texts_value(const std::vector<std::string>& texts);

}  // namespace baton::runtime
