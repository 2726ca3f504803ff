// SPDX-License-Identifier: Apache-2.0
// Inside protection: commands that are for people, not for agents. They take Baton's wiring out, end its processes, approve tools, or
// speak in the place of the client.
#pragma once

#include <optional>
#include <string>

#include "shell/parse.h"

namespace baton::protection {

// The first such command of the line, in words for the refusal: "`baton stop`".
std::optional<std::string> operator_command(const shell::Parsed& parsed);

// The same in a text that another program runs: `os.system("baton stop")`.
std::optional<std::string> operator_command_in_text(std::string text);

}  // namespace baton::protection
