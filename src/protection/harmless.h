// SPDX-License-Identifier: Apache-2.0
// Inside protection: uses of programs that name a protected file and do it no harm: they read, show or stage it, or only mention it.
// A use that is not certain is not harmless.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "shell/parse.h"

namespace baton::protection {

// Which words of a command are only text: a message (`git commit -m`), a line for an ignore file, what find and its kind leave out.
// Refers to the command. What depends on all of its words is worked out once.
class ToldWords {
 public:
  explicit ToldWords(const shell::Command& command);
  bool has(std::size_t at) const;

 private:
  const shell::Command& command_;
  std::string_view program_;
  bool fills_ignore_files_ = false;  // echo and printf: all output goes there
  bool is_plain_search_ = false;     // find: every test has to be true
};

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
