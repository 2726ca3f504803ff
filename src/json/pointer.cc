// SPDX-License-Identifier: Apache-2.0
#include "json/pointer.h"

#include "base/text.h"

namespace baton::json {
std::optional<std::size_t> array_position(std::string_view token) {
  if (token.empty() || token.size() > 9 || (token.size() > 1 && token[0] == '0')) return std::nullopt;
  std::size_t value = 0;
  for (const char c : token) {
    if (!is_digit(c)) return std::nullopt;
    value = value * 10 + static_cast<std::size_t>(c - '0');
  }
  return value;
}

void append_pointer_token(std::string& pointer, std::string_view token) {
  pointer.push_back('/');
  for (const char c : token) {
    if (c == '~') pointer += "~0";
    else if (c == '/') pointer += "~1";
    else pointer.push_back(c);
  }
}

std::optional<std::vector<std::string>> split_pointer(std::string_view pointer) {
  std::vector<std::string> tokens;
  if (pointer.empty()) return tokens;
  if (pointer[0] != '/') return std::nullopt;
  for (const std::string_view raw : split(pointer.substr(1), '/')) {
    std::string token;
    for (std::size_t i = 0; i < raw.size(); ++i) {
      if (raw[i] != '~') {
        token.push_back(raw[i]);
      } else if (i + 1 < raw.size() && (raw[i + 1] == '0' || raw[i + 1] == '1')) {
        token.push_back(raw[++i] == '0' ? '~' : '/');
      } else {
        return std::nullopt;
      }
    }
    tokens.push_back(std::move(token));
  }
  return tokens;
}

Node resolve_pointer(Node root, std::string_view pointer) {
  const auto tokens = split_pointer(pointer);
  if (!tokens) return {};
  Node at = root;
  for (const std::string& token : *tokens) {
    if (at.is_object()) {
      at = at[token];
    } else if (at.is_array()) {
      const auto position = array_position(token);
      at = position ? at.element(*position) : Node();
    } else {
      return {};
    }
  }
  return at;
}

}  // namespace baton::json
