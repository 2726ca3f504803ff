// SPDX-License-Identifier: Apache-2.0
// The files whose content decides what a command line does: scripts that it runs, files that its programs are given and do not write,
// and files that build tools read without being told (Makefile, package.json). What an approval of the line is bound to.
//
// As far as words show: a script that another script runs is not among them.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "shell/effects.h"
#include "shell/parse.h"

namespace baton::shell {

struct ReliedOn {
  std::set<std::string> files = {};
  std::set<std::string> words =
      {};  // operands of programs that nobody knows here: files, where there is one of that name
};

// Absolute paths. `cwd` as for effects_of().
ReliedOn relied_on(const Parsed& parsed, const Effects& effects, std::string_view cwd);

}  // namespace baton::shell
