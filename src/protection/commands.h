// SPDX-License-Identifier: Apache-2.0
// Inside protection: command lines. What they write and name is worked out by shell/effects.h; beside that
//   - every word that may be a path is compared, in each spelling, with what its globs and braces may become
//   - programs that copy, move, pack or unpack whole folders are known by name: what lies in a folder goes with it
//   - a line with expansions of known values (`~`, `$HOME`, variables that it sets) is judged again with the values in it
//   - a line that is not understood, has words of unknown value, or runs text is refused when it mentions a protected name. Quotes are taken out
//     for that, `$'...'` is decoded, and variables that the line itself sets are put in
#pragma once

#include <optional>
#include <string_view>

#include "protection/guarded.h"

namespace baton::protection {

std::optional<Touch> touched_by_command(Guarded& guarded, std::string_view line, std::string_view cwd);

}  // namespace baton::protection
