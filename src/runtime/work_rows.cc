// SPDX-License-Identifier: Apache-2.0
#include "runtime/work_rows.h"

#include <charconv>

#include "json/parse.h"
#include "runtime/token_entries.h"

namespace baton::runtime {
namespace {

using json::Value;
using store::Row;

tl::unexpected<Failure> unreadable(std::string_view table, const Row& row) {
  return failure("reading " + std::string(table), "the row `" + text_at(row, 0) + "` is not what this version writes");
}

}  // namespace

bool read_text(json::Node object, std::string_view member, std::string& out) {
  const json::Node node = object[member];
  if (!node.is_string()) return false;
  out = node.string();
  return true;
}

bool read_number(json::Node object, std::string_view member, std::int64_t& out) {
  const json::Node node = object[member];
  if (!node.is_number()) return false;
  const std::string_view text = node.number_text();
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

bool read_time(json::Node object, std::string_view member, Time& out) {
  const json::Node node = object[member];
  const auto time = node.is_string() ? parse_time(node.string()).time : std::nullopt;
  if (time) out = *time;
  return time.has_value();
}

bool read_optional_time(json::Node object, std::string_view member, std::optional<Time>& out) {
  if (!object[member]) return true;
  return read_time(object, member, out.emplace());
}

bool read_texts(json::Node object, std::string_view member, std::vector<std::string>& out) {
  const json::Node node = object[member];
  if (!node.is_array()) return false;
  for (const json::Node element : node.elements()) {
    if (!element.is_string()) return false;
    out.emplace_back(element.string());
  }
  return true;
}

Value texts_value(const std::vector<std::string>& texts) { return Value::Array(texts.begin(), texts.end()); }

// --- items and sessions ---------------------------------------------------------------------------------------------------

Row row_of(const work::Item& item) {
  return {item.id,
          item.queue(),
          item.rank(),
          item.deadline(),
          item.pull_request(),
          std::string(agent_exit::phase_name(item.phase)),
          json::write(item.to_json())};
}

Result<work::Item> read_item(const Row& row) {
  const auto document = json::parse(text_at(row, 6));
  auto item = document ? work::Item::from_json(document->root()) : std::nullopt;
  if (!item) return unreadable("work_items", row);
  return std::move(*item);
}

Row row_of(const work::Session& session) {
  return {session.id, session.work_id, std::string(work::session_state_name(session.state)),
          json::write(session.to_json())};
}

Result<work::Session> read_session(const Row& row) {
  const auto document = json::parse(text_at(row, 3));
  auto session = document ? work::Session::from_json(document->root()) : std::nullopt;
  if (!session) return unreadable("sessions", row);
  return std::move(*session);
}

// --- tokens -----------------------------------------------------------------------------------------------------------------

Row row_of(const Token& token) {
  Value out = Value::object();
  out.set("actor_id", token.actor_id);
  out.set("kind", kind_name(token));
  write_grant(out, token.grant);
  out.set("scopes", texts_value(token.scopes));
  out.set("names", texts_value(token.names));
  out.set("created_at", format_time(token.created_at));
  if (token.expires_at) out.set("expires_at", format_time(*token.expires_at));
  if (token.revoked_at) out.set("revoked_at", format_time(*token.revoked_at));
  out.set("created_by", token.created_by);
  out.set("note", token.note);
  out.set("secret_sha256", token.secret_sha256);
  return {token.id, json::write(out)};
}

Result<Token> read_token(const Row& row) {
  const auto document = json::parse(text_at(row, 1));
  if (!document) return unreadable("tokens", row);
  const json::Node root = document->root();
  Token token;
  token.id = text_at(row, 0);
  const bool read =
      read_text(root, "actor_id", token.actor_id) && read_kind_and_grant(root, token) &&
      read_texts(root, "scopes", token.scopes) && read_texts(root, "names", token.names) &&
      read_time(root, "created_at", token.created_at) && read_optional_time(root, "expires_at", token.expires_at) &&
      read_optional_time(root, "revoked_at", token.revoked_at) && read_text(root, "created_by", token.created_by) &&
      read_text(root, "note", token.note) && read_text(root, "secret_sha256", token.secret_sha256);
  if (!read) return unreadable("tokens", row);
  return token;
}

// --- context ----------------------------------------------------------------------------------------------------------------

Row row_of(const ContextSection& section) {
  Value out = Value::object();
  out.set("value", section.value);
  out.set("author", section.author);
  out.set("session_id", section.session_id);
  out.set("work_id", section.work_id);
  out.set("labels", texts_value(section.labels));
  out.set("changed_at", format_time(section.changed_at));
  return {section.section, section.version, json::write(out)};
}

Result<ContextSection> read_section(const Row& row) {
  const auto document = json::parse(text_at(row, 2));
  if (!document || !document->root()["value"]) return unreadable("context_sections", row);
  const json::Node root = document->root();
  ContextSection section;
  section.section = text_at(row, 0);
  section.version = number_at(row, 1);
  section.value = Value::copy(root["value"]);
  if (!read_text(root, "author", section.author) || !read_text(root, "session_id", section.session_id) ||
      !read_text(root, "work_id", section.work_id) || !read_texts(root, "labels", section.labels) ||
      !read_time(root, "changed_at", section.changed_at))
    return unreadable("context_sections", row);
  return section;
}

}  // namespace baton::runtime
