// SPDX-License-Identifier: Apache-2.0
// Inside protection: which commands of `baton` an agent may run. All others decide something for an operator (approvals, tokens, packs,
// keys), change the wiring, or end the node. A command that is not in the table is for operators; a test compares the table with the
// commands that the program has.
#pragma once

#include <span>
#include <string_view>

#include "shell/parse.h"

namespace baton::protection {

// What a refusal says instead of the command.
inline constexpr std::string_view kForOperators = "a Baton command that is for operators";

// May an agent run `baton` with these words? Words that are not known, and options before the command, are refused.
bool is_for_agents(std::span<const shell::Word> words);

// Is it a command, or a subcommand, in the table that only operators run? For text in which words may mean anything.
bool is_for_operators(std::string_view command);
bool is_for_operators(std::string_view command, std::string_view subcommand);
// Does the command in the table have subcommands for operators beside those for agents?
bool has_subcommands(std::string_view command);

}  // namespace baton::protection
