// SPDX-License-Identifier: Apache-2.0
// Inside the parser: programs that run other programs, as tables. What they are given decides where the other one begins.
//
// An option that is in no table makes the command opaque: it may take the next word as its value, and then another word is the program.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "shell/parse.h"

namespace baton::shell {

// `launcher [options] [NAME=value ...] [operands] program words...`
struct Launcher {
  std::string_view name;
  std::string_view flags, values;            // short options without and with a value, one character each
  std::string_view long_flags, long_values;  // the same of long ones: " name name "
  std::size_t operands = 0;                  // that stand before the program
  bool takes_assignments = false;
};

const Launcher* launcher_called(std::string_view name);

// The place of the first word that is neither an option nor a value of one; words.size() when there is none. Nothing: an option is not
// known, or a word may be one.
std::optional<std::size_t> first_operand(std::span<const Word> words, const Launcher& launcher);

// Runs the commands that it is given by means of its own (eval, su, watch, ssh, vim, ...): always opaque.
bool runs_text(std::string_view name);
// sh, bash, zsh and their kind, which read what this parser reads.
bool is_shell(std::string_view name);
// `uv run`, `poetry run`, ...: the words after the second are a command.
bool runs_rest(std::string_view name, std::string_view subcommand);
// Has a subcommand (git, docker, npm, ...): the first word that is no option.
bool has_subcommands(std::string_view name);

// Does an option of this program, which otherwise runs nothing, have it run a program (tar --to-command, rsync -e, sort
// --compress-program)? Abbreviated ones count. `is_possible`: are there such options at all?
bool has_running_option(const Command& command, bool& is_possible);

// Where find begins to look: `.` when it is not told. One unknown word: it cannot be seen.
std::vector<Word> starts_of_find(const Command& command);

// Of git: what is run by it beside itself cannot be seen.
bool is_opaque_git(const Command& command);

// Scripts of sed and awk that run nothing and write nothing; anything that is not certain is not plain.
bool is_plain_sed(std::string_view script);
bool runs_from_awk(std::string_view program);

}  // namespace baton::shell
