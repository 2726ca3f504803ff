// SPDX-License-Identifier: Apache-2.0
#include "mcp/outline.h"

#include "json/decimal.h"
#include "json/parse.h"

namespace baton::mcp {
namespace {

constexpr std::size_t kMessagesMax = 4096;  // of one text: more requests are never open
constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

std::string_view without_blanks(std::string_view text) {
  const std::size_t at = text.find_first_not_of(kBlanks);
  return at == std::string_view::npos ? std::string_view() : text.substr(at);
}

// Just past the string whose opening quote is at `at`; the end of the text when it does not end.
std::size_t past_string(std::string_view text, std::size_t at) {
  const char quote = text[at];
  for (++at; at < text.size(); ++at) {
    if (text[at] == '\\') ++at;
    else if (text[at] == quote) return at + 1;
  }
  return text.size();
}

// A string or a number at the front; empty: neither.
std::string_view scalar_at_front(std::string_view text) {
  if (text.starts_with('"')) return text.substr(0, past_string(text, 0));
  return text.substr(0, text.find_first_not_of("-+.eE0123456789"));
}

// `value`: what follows the colon.
void take_member(std::string_view name, std::string_view value, Outline& out) {
  if (name == "jsonrpc") out.has_version = true;
  else if (name == "method") out.has_method = true;
  else if (name == "result" || name == "error") {
    if (value.starts_with("null")) return;
    out.is_answer = true;
    out.has_answer_object = out.has_answer_object || value.empty() || value.starts_with('{');
  } else if (name == "id") {
    if (const std::string_view id = scalar_at_front(value); !id.empty()) out.ids.emplace_back(id);
  }
}

// Reads the members from `at` on; returns where their object ends, or the end of the text.
std::size_t read_members(std::string_view text, std::size_t at, Outline& out) {
  const std::string_view first = without_blanks(text.substr(at));
  const bool is_python = first.starts_with('\'');  // a server that prints an object as its language shows it
  std::size_t depth = 1;
  bool may_be_name = true;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"' || (is_python && c == '\'')) {
      const std::size_t end = past_string(text, at);
      const std::string_view rest = without_blanks(text.substr(end));
      if (depth == 1 && may_be_name && rest.starts_with(':'))
        take_member(text.substr(at + 1, end - at - 2), without_blanks(rest.substr(1)), out);
      may_be_name = false;
      at = end;
      continue;
    }
    if (c == '{' || c == '[') ++depth;
    if ((c == '}' || c == ']') && --depth == 0) return at + 1;
    if (c == ',') may_be_name = true;
    else if (kBlanks.find(c) == std::string_view::npos) may_be_name = false;
    ++at;
  }
  return text.size();
}

// Does an object begin here, or the list that is a batch?
bool begins_object(std::string_view text) {
  if (!text.starts_with('{')) return false;
  const std::string_view inside = without_blanks(text.substr(1));
  return inside.empty() || inside.starts_with('"') || inside.starts_with('\'') || inside.starts_with('}');
}
bool begins_batch(std::string_view text) {
  while (text.starts_with('[')) text = without_blanks(text.substr(1));
  return text.empty() || begins_object(text);
}

}  // namespace

std::vector<Outline> outlines_of(std::string_view text) {
  std::vector<Outline> out;
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  text = without_blanks(text);
  if (text.starts_with('"')) {
    Outline piece;
    piece.is_piece = true;
    read_members(text, 0, piece);
    out.push_back(std::move(piece));
    return out;
  }
  const bool is_after_text = !begins_object(text) && !begins_batch(text);
  for (std::size_t at = text.find('{'); at != std::string_view::npos && out.size() < kMessagesMax;
       at = text.find('{', at)) {
    if (!begins_object(text.substr(at))) {
      ++at;
      continue;
    }
    Outline message;
    message.is_after_text = is_after_text;
    at = read_members(text, at + 1, message);
    out.push_back(std::move(message));
  }
  return out;
}

std::vector<Outline> outlines_in(const Message& broken) {
  const json::Node root = broken.root();
  if (!root.is_object()) return outlines_of(broken.bytes());
  Outline out;
  out.has_version = root["jsonrpc"].is_text("2.0");
  out.has_method = static_cast<bool>(root["method"]);
  for (const json::Node answer : {root["result"], root["error"]}) {
    out.is_answer = out.is_answer || (answer && !answer.is_null());
    out.has_answer_object = out.has_answer_object || answer.is_object();
  }
  if (const json::Node id = root["id"]; id.is_string() || id.is_number()) out.ids.emplace_back(text_of(id));
  return {std::move(out)};
}

std::string id_as_read(std::string_view text) {
  const auto document = json::parse(text);
  if (!document) return {};
  const json::Node root = document->root();
  if (std::string id = id_key(root); !id.empty() || !root.is_number()) return id;
  const auto whole = json::to_int64(root.number_text());
  return whole ? std::to_string(*whole) : std::string();
}

std::string id_to_answer(const Message& broken) {
  if (broken.root()) return broken.id_text();
  const std::vector<Outline> said = outlines_of(broken.bytes());
  if (said.size() != 1 || !said[0].has_version || !said[0].has_method || said[0].ids.size() != 1) return {};
  if (said[0].is_after_text || said[0].is_piece) return {};
  const auto id = json::parse(said[0].ids[0]);
  return id ? id_key(id->root()) : std::string();
}

}  // namespace baton::mcp
