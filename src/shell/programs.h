// SPDX-License-Identifier: Apache-2.0
// Inside the parser: what programs can do, in one table (programs.cc): run their arguments, write their operands, run a program by
// an option. The table lists the options that change neither where a program writes nor what it runs.
//
// A program that is not in the table is listed by its name, and what it writes is unknown. An option that is not in the table makes a
// launcher opaque, since the word behind it may be the program, and makes it unknown what any other program writes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "shell/parse.h"

namespace baton::shell {

enum class Runs : std::uint8_t {
  Nothing,
  Rest,   // `launcher [options] [NAME=value ...] [operands] program words...`
  Text,   // runs or loads what it is given by means of its own (eval, ssh, vim, ...): always opaque
  Shell,  // sh and its kind, which read what this parser reads
  Own,    // has a reader of its own in look.cc (find, sed, awk, git, make, cmake, ...)
};

enum class Writes : std::uint8_t {
  Unknown,
  Nothing,      // but what it prints
  All,          // its operands
  AllButFirst,  // the first is a mode, an owner or a group, unless --reference is there
  Last,         // the destination: a file, or a folder for all the others
  Second,       // if it is there
  Own,          // has a reader of its own in effects.cc (dd, sed, sort, find, awk)
};

struct Program {
  std::string_view names;  // separated by blanks
  Runs runs = Runs::Nothing;
  Writes writes = Writes::Unknown;
  std::string_view flags = {}, values = {};  // short options without and with a value; flags "*": any word is harmless
  std::string_view long_flags = {}, long_values = {};  // the same of long ones, separated by blanks
  std::string_view running = {}, long_running = {};    // options that name a program to run, or make it run one
  std::size_t operands = 0;                            // of a launcher: that stand before the program
  bool takes_assignments = false;                      // of a launcher
  bool reads_options = false;                          // `@file`: a file of further options
  bool one_dash_is_long = false;                       // `-script-shell` is `--script-shell`, abbreviated or not
};

// Nothing when it is not in the table.
const Program* program_called(std::string_view name);
// The name in the table of a program whose own name says more: `zsh5`, `gcc-12`, `x86_64-linux-gnu-gcc`, `vim.tiny`. It runs what that one
// runs; what it writes is not known. The name itself when there is none.
std::string_view plain_name(std::string_view name);

// The words of a command by the options of its program.
struct Options {
  struct Option {
    std::string_view name;  // "t", "target-directory"
    const Word* word = nullptr;
    std::string_view value = {};       // of a literal word: the value in it or in the next one
    const Word* value_word = nullptr;  // the word that holds the value
  };
  std::vector<Option> found = {};
  std::vector<const Word*> operands = {};
  bool all_known = true;         // no option is missing in the table
  bool may_hide_option = false;  // a word may turn out to be an option
  bool may_shift = false;        // the value of an option may become several words: the others are operands
  bool has(std::string_view name) const;
};
Options options_of(const Command& command, const Program& program);

// Of a launcher: the place of the first word that is neither an option nor a value of one; words.size() when there is none. Nothing: an
// option is not known, or a word may be one.
std::optional<std::size_t> first_operand(std::span<const Word> words, const Program& launcher);

// Does an option make this program, which otherwise runs nothing, run a program (tar --to-command, rsync -e)? Abbreviated ones count.
bool has_running_option(const Command& command, const Program& program);

// A subcommand that is a launcher (`uv run`, `poetry run`, `rustup run TOOLCHAIN`).
enum class Behind : std::uint8_t {
  Nothing,  // the line runs no such subcommand
  Command,  // at `at` a command begins
  Unknown,  // there may be one
};
struct RunBehind {
  Behind what = Behind::Nothing;
  std::size_t at = 0;
  bool elsewhere = false;  // it may run in another folder
};
RunBehind run_behind_subcommand(std::string_view name, std::span<const Word> words);
// Has a subcommand (git, docker, npm, ...): the first word that is no option.
bool has_subcommands(std::string_view name);

// Is `one` among words that are separated by blanks?
bool is_listed(std::string_view words, std::string_view one);
// `--to-comm=x`, `-xIf`, `-exec` as one of these options, abbreviated or not. `one_dash_is_long`: see Program.
bool is_running_option(std::string_view word, std::string_view shorts, std::string_view longs,
                       bool one_dash_is_long = false);

// --- git (git.cc)

// May this command run a program that its words do not show?
bool is_opaque_git(const Command& command);
// `push` for `git-push`; empty: the program has no such name.
std::string_view git_command_in(std::string_view program);

// --- texts that programs interpret (scripts.cc): what is not certain is not plain

bool is_plain_sed(std::string_view script);  // runs nothing and writes nothing
bool runs_from_awk(std::string_view program);
bool is_plain_sqlite(std::string_view text);  // no dot command, no function that reaches files or libraries
bool is_plain_psql(std::string_view text);    // no backslash command, no `copy ... program`

}  // namespace baton::shell
