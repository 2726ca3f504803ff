// SPDX-License-Identifier: Apache-2.0
// Values in the HTTP headers that repeat parts of a message (Mcp-Name, Mcp-Param-...): as they are where a header can carry them,
// else =?base64?...?=. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace baton::mcp {

// Headers Mcp-Param-... by name, their values as they stand in the request.
using ParameterHeaders = std::vector<std::pair<std::string, std::string>>;

// Standard base64 with its padding; each value in one spelling only.
std::optional<std::string> from_base64(std::string_view text);

std::string encoded_value(std::string_view text);
// Nothing when it is not well formed, or has a character that no header may have.
std::optional<std::string> decoded_value(std::string_view value);

}  // namespace baton::mcp
