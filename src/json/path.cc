// SPDX-License-Identifier: Apache-2.0
#include "json/path.h"

#include "base/text.h"

namespace baton::json {
namespace {

// RFC 9535's name-first / name-char for the dotted form.
bool starts_name(char c) { return is_lower(c) || is_upper(c) || c == '_' || static_cast<unsigned char>(c) >= 0x80; }
bool continues_name(char c) { return starts_name(c) || is_digit(c); }

tl::unexpected<PathError> syntax(std::size_t at, std::string what) {
  return tl::make_unexpected(PathError{false, at, std::move(what)});
}
tl::unexpected<PathError> unsupported(std::size_t at, std::string what) {
  return tl::make_unexpected(PathError{true, at, std::move(what)});
}

}  // namespace

tl::expected<Path, PathError> Path::compile(std::string_view text) {
  Path path;
  if (text.empty() || text[0] != '$') return syntax(0, "a path begins with `$`");
  std::size_t at = 1;
  const auto peek = [&](std::size_t ahead = 0) { return at + ahead < text.size() ? text[at + ahead] : '\0'; };

  while (at < text.size()) {
    if (peek() == '.') {
      if (peek(1) == '.') return unsupported(at, "`..` is not supported");
      if (peek(1) == '*') return unsupported(at + 1, "`*` is not supported");
      const std::size_t first = ++at;
      if (!starts_name(peek())) return syntax(at, "expected a name after `.`");
      while (at < text.size() && continues_name(text[at])) ++at;
      path.steps_.emplace_back(std::string(text.substr(first, at - first)));
      continue;
    }
    if (peek() != '[') return syntax(at, "expected `.` or `[`");
    ++at;
    const char c = peek();
    if (c == '\'' || c == '"') {
      std::string name;
      for (++at; at < text.size() && text[at] != c; ++at) {
        if (text[at] == '\\') {
          ++at;
          if (peek() != c && peek() != '\\') return unsupported(at, "only the quote and `\\` can be escaped");
        }
        name.push_back(text[at]);
      }
      if (at >= text.size()) return syntax(at, "the quoted name is not closed");
      ++at;
      path.steps_.emplace_back(std::move(name));
    } else if (is_digit(c)) {
      const std::size_t first = at;
      std::size_t value = 0;
      while (is_digit(peek())) value = value * 10 + static_cast<std::size_t>(text[at++] - '0');
      if (at - first > 9) return syntax(first, "the position is too large");
      if (at - first > 1 && text[first] == '0') return syntax(first, "a position has no leading zero");
      if (peek() == ':') return unsupported(at, "slices are not supported");
      if (peek() == ',') return unsupported(at, "unions are not supported");
      path.steps_.emplace_back(value);
    } else if (c == '*' || c == '?' || c == '-' || c == ':' || c == '(' || c == '@') {
      return unsupported(at, "only a quoted name or a position can stand in brackets");
    } else {
      return syntax(at, "expected a quoted name or a position");
    }
    if (peek() == ',') return unsupported(at, "unions are not supported");
    if (peek() != ']') return syntax(at, "expected `]`");
    ++at;
  }
  return path;
}

Node Path::resolve(Node root) const {
  Node at = root;
  for (const Step& step : steps_) {
    const auto* name = std::get_if<std::string>(&step);
    at = name ? at[*name] : at.element(std::get<std::size_t>(step));
    if (!at) return {};
  }
  return at;
}

std::string Path::text() const {
  std::string out = "$";
  for (const Step& step : steps_) {
    if (const auto* position = std::get_if<std::size_t>(&step)) {
      out += "[" + std::to_string(*position) + "]";
      continue;
    }
    out += "['";
    for (const char c : std::get<std::string>(step)) {
      if (c == '\'' || c == '\\') out.push_back('\\');
      out.push_back(c);
    }
    out += "']";
  }
  return out;
}

}  // namespace baton::json
