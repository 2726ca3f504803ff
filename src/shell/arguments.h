// SPDX-License-Identifier: Apache-2.0
// What a contract for the tool `Bash` sees of a command line: one JSON object, documented in docs/reference/hooks.md.
//
// A path of a contract names one value, and there is no operator for "every element" or "not". So whatever a rule may want to say of
// all elements of a list is also there as a text of one line each (`lines`), for a regular expression; and what a rule may want to
// forbid is also there as the name of a member (`uses`), for `exists: false`.
#pragma once

#include <string_view>

#include "json/value.h"
#include "shell/parse.h"

namespace baton::shell {

json::Value arguments_of(const Parsed& parsed, std::string_view cwd);

// One item of a list as one line, without its end: a percent sign, blanks, control characters and bytes that are no text become
// %XX, and an empty item %0, so that a line has one blank between two words and no other.
std::string as_line(std::string_view item);

}  // namespace baton::shell
