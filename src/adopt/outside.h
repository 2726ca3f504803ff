// SPDX-License-Identifier: Apache-2.0
// Regular expressions for what something is not. A contract's operators say what a value has to be, and RE2 has no lookaround: "is not in this
// folder" is a way along the folder's name that leaves it somewhere.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace baton::adopt {

std::string regex_quoted(std::string_view text);

// Where a text stands: alone, or as one of several lines.
enum class Among : std::uint8_t { Alone, Lines };

// A text that neither is `name` nor goes on from it with `separator`; without a separator: that is not `name`.
std::string beyond(std::string_view name, std::optional<char> separator, Among among);

// A rule about files as clients write them, below `folder` (absolute, without a slash at its end; empty: the root): a name, or one with a `*` at its
// beginning or its end. At any depth, or only right there. Nothing: the name is another kind of pattern.
struct PathRule {
  std::string folder;
  std::string name;  // empty: the folder, with all below it
  bool any_depth = false;
};
std::optional<std::string> outside(const PathRule& rule, Among among);

// The host of a URL is not this one: `example.org`, or `*.example.org` for those below it.
std::string another_host(std::string_view host);

// All of a text: each of its lines is `one`, or it is `one` itself.
std::string whole_text(const std::string& one, Among among);

}  // namespace baton::adopt
