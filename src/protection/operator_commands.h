// SPDX-License-Identifier: Apache-2.0
// Inside protection: commands that no agent may run. They decide for an operator, take out Baton's wiring, end its processes, or speak in
// the place of the client.
#pragma once

#include <optional>
#include <string>

#include "shell/parse.h"

namespace baton::protection {

// The first such command of the line, in words for the refusal. The words never repeat the command: a refusal must not teach it.
std::optional<std::string> operator_command(const shell::Parsed& parsed);

// The same in a text that another program runs: `os.system("baton stop")`.
std::optional<std::string> operator_command_in_text(std::string text);

}  // namespace baton::protection
