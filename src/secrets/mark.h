// SPDX-License-Identifier: Apache-2.0
// Marks for a person who decides: what is hidden, by which rule, and how much of it: `[REDACTED:github-token, 40 characters]`.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace baton::secrets {

inline constexpr std::string_view kMark = "[REDACTED:";
// Ends the mark of a secret that has characters which a shell takes for structure: only a member's name can make one of such a value.
inline constexpr std::string_view kStructureMark = " with structure]";

// The text of a member with a mark in place of each secret; `hidden` is increased by their number.
std::string marked(std::string_view name, std::string_view text, std::size_t& hidden);

}  // namespace baton::secrets
