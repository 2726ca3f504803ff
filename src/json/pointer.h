// SPDX-License-Identifier: Apache-2.0
// JSON Pointer (RFC 6901): how every place inside a document is named.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json/document.h"

namespace baton::json {

// Appends `/` and the token, `~` and `/` in it escaped.
void append_pointer_token(std::string& pointer, std::string_view token);

// The unescaped tokens; nothing when the text is not a pointer (no leading `/`, or a `~` not followed by 0 or 1).
std::optional<std::vector<std::string>> split_pointer(std::string_view pointer);

// A token as a position in an array: decimal, without leading zeros; nothing for anything else.
std::optional<std::size_t> array_position(std::string_view token);

// The node a pointer names from `root`; no node when there is none. Array positions are decimal without leading zeros.
Node resolve_pointer(Node root, std::string_view pointer);

}  // namespace baton::json
