// SPDX-License-Identifier: Apache-2.0
// Takes one of two changes back, of texts that are compared line by line.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace baton::adopt {

// `before` became `after`, and somebody made `now` of that: `now` without the first change. Nothing: the two changes meet, or too much is changed.
std::optional<std::string> without_change(std::string_view before, std::string_view after, std::string_view now);

// The lines of `before` and `after` that differ, for people: "-" and "+" before them, a line "@ N" where they are. At most `lines_max`.
std::string shown_change(std::string_view before, std::string_view after, std::size_t lines_max);

}  // namespace baton::adopt
