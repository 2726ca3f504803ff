// SPDX-License-Identifier: Apache-2.0
#include "net/header.h"

#include <algorithm>

#include "base/text.h"

namespace baton::net {
namespace {

bool same_name(std::string_view left, std::string_view right) {
  return std::ranges::equal(left, right, {}, to_lower, to_lower);
}

bool is_token(char c) {
  return is_alphanumeric(c) || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

}  // namespace

std::optional<std::string_view> find_header(const std::vector<Header>& headers, std::string_view name) {
  for (const Header& header : headers)
    if (same_name(header.name, name)) return header.value;
  return std::nullopt;
}

bool is_sendable(const Header& header) {
  const auto breaks = [](char c) { return (static_cast<unsigned char>(c) < ' ' && c != '\t') || c == 0x7f; };
  return !header.name.empty() && std::ranges::all_of(header.name, is_token) &&
         std::ranges::none_of(header.value, breaks);
}

}  // namespace baton::net
