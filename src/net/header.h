// SPDX-License-Identifier: Apache-2.0
// A header of an HTTP message, for the client and the server.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace baton::net {

struct Header {
  std::string name;  // as it came
  std::string value;
};

// The value of the first header of that name, in any case; nothing when there is none.
std::optional<std::string_view> find_header(const std::vector<Header>& headers, std::string_view name);

// May the two stand in a message: a token, and no control character that could end the line?
bool is_sendable(const Header& header);

}  // namespace baton::net
