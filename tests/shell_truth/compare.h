// SPDX-License-Identifier: Apache-2.0
// What a shell did for a line, held against what the parser says of it.
//
// A line that is opaque promises nothing. For any other, every program that ran must be listed, with words that one of the
// commands can have; and when `writes_known` is set, every file that changed must be in `writes` or inside a folder in it.
#pragma once

#include <string>
#include <vector>

#include "sandbox.h"
#include "shell/effects.h"
#include "shell/parse.h"

namespace baton::shell {

struct Missed {
  std::vector<std::string> programs = {};  // that ran and are not listed
  std::vector<std::string> commands = {};  // whose program is listed, but with other words
  std::vector<std::string> files = {};     // that changed and are not listed

  bool any() const { return !programs.empty() || !commands.empty() || !files.empty(); }
  // Are they of a kind that the other has, too?
  bool is_like(const Missed& other) const {
    return programs.empty() == other.programs.empty() &&
           (!programs.empty() || commands.empty() == other.commands.empty()) &&
           (!programs.empty() || !commands.empty() || files.empty() == other.files.empty());
  }
};

// `parsed` is not opaque.
Missed missed(const Parsed& parsed, const Effects& effects, const Observed& observed);

}  // namespace baton::shell
