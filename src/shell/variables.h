// SPDX-License-Identifier: Apache-2.0
// Inside the parser: variables that change what is run.
#pragma once

#include <string_view>

#include "shell/parse.h"

namespace baton::shell {

// Does setting this variable change what a shell or a program runs or loads later (PATH, LD_PRELOAD, GIT_SSH_COMMAND, ...)? A pager or
// an editor that is known to do nothing (PAGER=cat) does not.
bool steers_execution(std::string_view variable, const Word* value = nullptr);

// The same of a variable that a program certainly gets (`NAME=value program`, `export NAME=value`, `env NAME=value`). Names of a kind
// that programs load code by (..._PATH, ..._OPTIONS, ...FLAGS, ...) count too, known or not.
bool steers_programs(std::string_view variable, const Word* value = nullptr);

}  // namespace baton::shell
