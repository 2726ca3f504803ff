// SPDX-License-Identifier: Apache-2.0
// Inside protection: uses of programs that name a protected file and do it no harm: they read, show or stage it, or only mention it.
// A use that is not certain is not harmless.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "shell/parse.h"

namespace baton::protection {

// Is the word at this place only text: a message (`git commit -m`), a line for an ignore file, what find leaves out?
bool is_told(const shell::Command& command, std::size_t at);

// Does the command only show or stage files (`git diff`, `git add`, `baton contract check`)?
bool only_reads(const shell::Command& command);

// `find . -name '*.pyc' -delete`, and nothing that would widen the search.
bool clears_leftovers(const shell::Command& command);

// Of git's subcommands; `rest` is the words behind the subcommand.
bool only_shows_clean(std::span<const shell::Word> rest);  // `git clean -nd`
bool only_shows_patch(std::span<const shell::Word> rest);  // `git apply --stat x`
bool only_indexes(std::string_view subcommand,
                  std::span<const shell::Word> rest);  // `git restore --staged .`, `git rm --cached x`

}  // namespace baton::protection
