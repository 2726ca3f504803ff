// SPDX-License-Identifier: Apache-2.0
// Inside the parser: the words of `find`. Which of them are values, and which are actions that run or write something.
#pragma once

#include <string>
#include <vector>

#include "shell/parse.h"

namespace baton::shell {

struct FindCommand {
  std::vector<Word> words = {};  // `{}` as it is written
  bool in_folder = false;        // -execdir, -okdir: in the folder of the file
  bool takes_several = false;    // `{} +`
};

struct FindLine {
  std::vector<Word> starts = {};           // `.` when none is given. One unknown word: they cannot be seen
  std::vector<FindCommand> commands = {};  // of -exec and its kind
  std::vector<Word> written = {};          // -fprint and its kind
  bool deletes = false;
  bool follows = false;    // -L, -follow: links that it finds, too
  bool is_certain = true;  // false: a word may be an expression, or one is not known: anything may run
};

FindLine find_line(const Command& command);

}  // namespace baton::shell
