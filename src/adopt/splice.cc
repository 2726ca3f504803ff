// SPDX-License-Identifier: Apache-2.0
#include "adopt/splice.h"

#include <algorithm>

#include "base/text.h"
#include "json/parse.h"

namespace baton::adopt {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

std::size_t end_of_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at)
    if (text[at] == '\\') ++at;
  return std::min(at + 1, text.size());
}

// The blanks that the line of `at` begins with.
std::string_view indent_of(std::string_view text, std::size_t at) {
  const std::size_t line = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
  std::size_t end = line;
  while (end < at && (text[end] == ' ' || text[end] == '\t')) ++end;
  return text.substr(line, end - line);
}

}  // namespace

std::string with_returns(std::string_view text) {
  std::string out;
  for (const char c : text) out.append(c == '\n' ? "\r" : "").append(1, c);
  return out;
}

std::string without_comments(std::string_view text) {
  std::string out(text);
  if (out.starts_with("\xef\xbb\xbf")) std::fill_n(out.begin(), 3, ' ');
  std::size_t comma = std::string::npos;  // the last thing that was not a blank
  for (std::size_t at = 0; at < out.size();) {
    if (out[at] == '"') {
      at = end_of_string(out, at);
      comma = std::string::npos;
    } else if (out.compare(at, 2, "//") == 0) {
      while (at < out.size() && out[at] != '\n') out[at++] = ' ';
    } else if (out.compare(at, 2, "/*") == 0) {
      const std::size_t close = out.find("*/", at + 2), end = close == std::string::npos ? out.size() : close + 2;
      for (; at < end; ++at)
        if (out[at] != '\n') out[at] = ' ';
    } else {
      if ((out[at] == '}' || out[at] == ']') && comma != std::string::npos) out[comma] = ' ';
      if (out[at] == ',') comma = at;
      else if (!is_space(out[at])) comma = std::string::npos;
      ++at;
    }
  }
  return out;
}

tl::expected<Splice, std::string> Splice::of(std::string text) {
  if (is_blank_text(without_comments(text))) text = "{}\n";
  std::string plain = without_comments(text);
  auto document = json::parse_owned(plain);
  if (!document) {
    const auto [line, column] = json::position_at(plain, document.error().offset);
    return tl::make_unexpected("it is not JSON: " + document.error().what + " at line " + std::to_string(line) +
                               ", column " + std::to_string(column));
  }
  if (!document->root().is_object()) return tl::make_unexpected(std::string("it is not an object"));
  return Splice(std::move(text), std::move(plain), std::move(*document));
}

std::size_t Splice::end_of(std::size_t at) const {
  if (plain_[at] == '"') return end_of_string(plain_, at);
  if (plain_[at] != '{' && plain_[at] != '[') {
    while (at < plain_.size() && !is_space(plain_[at]) &&
           std::string_view(",]}").find(plain_[at]) == std::string_view::npos)
      ++at;
    return at;
  }
  std::size_t depth = 0;
  while (at < plain_.size()) {
    if (plain_[at] == '"') {
      at = end_of_string(plain_, at);
      continue;
    }
    if (plain_[at] == '{' || plain_[at] == '[') ++depth;
    if ((plain_[at] == '}' || plain_[at] == ']') && --depth == 0) return at + 1;
    ++at;
  }
  return at;
}

std::string Splice::laid_out(const json::Value& value, std::string_view indent) const {
  std::string out;
  for (const char c : json::write_pretty(value)) {
    out.push_back(c);
    if (c == '\n') out.append(indent);
  }
  return out;
}

void Splice::replace(json::Node node, const json::Value& value) {
  const std::size_t at = node.offset(), end = end_of(at);
  const std::string_view old = std::string_view(text_).substr(at, end - at);
  bool one_line = old.find('\n') == std::string_view::npos;
  // An empty list says nothing about the layout: the line it stands in does. Clients that write their settings themselves give every member a line, and
  // what is laid out like that stays as it is when they do.
  if (one_line && value.is_array() && is_blank_text(old.substr(1, old.size() - 2))) {
    const std::size_t line = at == 0 ? 0 : text_.rfind('\n', at - 1) + 1;
    one_line =
        line == 0 || std::string_view(text_).substr(line, at - line).find_first_of("{[,") != std::string_view::npos;
  }
  const bool small = !value.is_object() && (!value.is_array() || one_line);
  edits_.push_back({at, end - at, small ? json::write(value) : laid_out(value, indent_of(text_, at))});
}

void Splice::append(json::Node container, const std::vector<std::pair<std::string, json::Value>>& parts) {
  const std::size_t at = container.offset(), end = end_of(at);
  std::size_t last = std::string::npos,
              first = std::string::npos;  // where the first part begins, and the last one ends
  const auto see = [&](json::Node begins, json::Node ends) {
    if (first == std::string::npos) first = begins.offset();
    last = end_of(ends.offset());
  };
  for (const json::Member member : container.members()) see(member.key, member.value);
  for (const json::Node element : container.elements()) see(element, element);
  const std::string outer(indent_of(text_, at));
  const bool lines = first == std::string::npos || text_.substr(at, first - at).find('\n') != std::string::npos;
  const std::string inner = first == std::string::npos || !lines ? outer + "  " : std::string(indent_of(text_, first));
  std::string added;
  bool comma = first != std::string::npos;
  for (const auto& [name, value] : parts) {
    if (comma) added += ",";
    added += lines ? "\n" + inner : comma ? " " : "";
    if (!name.empty()) added += json::write(json::Value(name)) + ": ";
    added += lines ? laid_out(value, inner) : json::write(value);
    comma = true;
  }
  if (first == std::string::npos) edits_.push_back({at + 1, end - at - 2, added + "\n" + outer});
  else edits_.push_back({last, 0, added});
}

void Splice::add(json::Node object, const std::vector<std::pair<std::string, json::Value>>& members) {
  if (!members.empty()) append(object, members);
}

void Splice::push(json::Node array, const json::Value& value) { append(array, {{std::string(), value}}); }

std::string Splice::text() const {
  std::vector<Edit> edits = edits_;
  std::sort(edits.begin(), edits.end(), [](const Edit& left, const Edit& right) {
    return std::pair(left.at, left.size) < std::pair(right.at, right.size);
  });
  // Lines end as they do in the rest of the file.
  if (text_.find("\r\n") != std::string::npos)
    for (Edit& edit : edits) edit.text = with_returns(edit.text);
  std::string out;
  std::size_t at = 0;
  for (const Edit& edit : edits) {
    out.append(text_, at, edit.at - at).append(edit.text);
    at = edit.at + edit.size;
  }
  return out.append(text_, at);
}

}  // namespace baton::adopt
