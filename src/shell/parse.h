// SPDX-License-Identifier: Apache-2.0
// A command line for a shell, read without running it: which programs it would start, with which words, and where it writes.
//
// The promise: every program that bash would start for this line, or that one of the known launchers in it (env, sudo, xargs,
// find -exec, sh -c, ...) would, is among programs_of(), or the line is opaque. Opaque means: there is something in it that was not
// read to the end, and `because` says what. Then all lists hold only what was seen, and whoever relies on them refuses the line.
//
// What it does not promise: what a program does once it is started. A Makefile, a script, an alias or hook in git's configuration, a
// function of the user's start-up files start programs that no command line shows; an interpreter (python3 -c, node -e) is listed as
// what it is. Links in the file system are not followed.
//
// The language is POSIX sh and the usual of bash. Where zsh or dash would read a line otherwise than bash and run something else for
// it, it is opaque. Never throws; bounded by limits::kShell*.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace baton::shell {

enum class Opaque : std::uint8_t {
  TooLong,
  TooDeep,
  TooManyCommands,
  InvalidText,
  ControlCharacter,
  UnusualBlank,
  Unbalanced,
  Syntax,
  HereDocument,
  Expansion,
  Arithmetic,
  Backquotes,
  ProcessSubstitution,
  UnknownProgram,
  UnknownPath,
  Variable,
  Launcher,
  StandardInput,
  EvaluatedText,
};
std::string_view name_of(Opaque reason);  // in words: "backquotes"

struct Word {
  enum class Kind : std::uint8_t {
    Literal,  // `text` is its value
    Pattern,  // of globs and braces alone: what it becomes begins with `text`
    Unknown,  // decided by an expansion: what it becomes begins with `text`
  };
  std::string text = {};
  Kind kind = Kind::Literal;
  bool splits = false;    // may become several words, or none
  bool quoted = false;    // a part of it was quoted: no reserved word, no assignment
  std::string rest = {};  // of a Pattern: what follows `text`, without quotes

  bool is_literal() const { return kind == Kind::Literal; }
  bool is(std::string_view value) const { return is_literal() && text == value; }
  // May it turn out to be an option? An unknown word whose beginning is known not to be a dash can not, unless it splits.
  bool may_be_option() const;
};

struct Redirection {
  std::string operation;  // ">", ">>", ">|", ">&", "<", "<>", "<&", "&>", "&>>", "<<", "<<-", "<<<"
  int fd = -1;            // as written; -1: none was
  Word target;            // of a here-document: its delimiter
};

struct Assignment {
  std::string name;
  Word value;
};

struct Command {
  enum class After : std::uint8_t {
    Anything,  // whether the command before it in the list ran, and ended well, is not known
    Success,   // it runs only when the simple command before it in the same list has ended well
    Pipe,      // it runs beside the first command of its pipeline
  };
  std::vector<Word> words = {};  // the program first; empty: only assignments or redirections
  std::vector<Assignment> assignments = {};
  std::vector<Redirection> redirections = {};
  std::size_t pipeline = 0;  // commands of one number are joined by pipes
  std::size_t list =
      0;  // which list of commands it stands in; subshells, groups and substitutions are lists of their own
  After after = After::Anything;
  bool repeats = false;          // in a loop, a function or a trap: it may run before what stands before it
  bool in_other_folder = false;  // its launcher has it run in a folder of its own
  std::string via = {};          // the launcher it was found behind: "xargs"
};

// One pipeline of the line itself, not of a list inside it: how the line ends depends on these, and on how they are joined.
struct Step {
  enum class Joined : std::uint8_t { Sequence, And, Or };
  Joined joined = Joined::Sequence;  // to the one before it
  std::size_t pipeline = 0;          // as of its commands
  std::size_t members = 1;
  bool simple = true;  // each member is a simple command, or the definition of a function
  bool negated = false, background = false;
};

struct Parsed {
  std::string command;  // as it came
  std::vector<Command> commands = {};
  std::vector<Step> steps = {};
  std::size_t substitutions = 0;     // $( ), whose commands are among `commands`
  std::vector<Opaque> because = {};  // sorted, each once
  std::size_t pipelines = 0, lists = 0;

  bool opaque() const { return !because.empty(); }
  void note(Opaque reason);
};

Parsed parse(std::string_view command);

// Every program that may run, as it is written, sorted, each once. A script that a shell is given (`bash build.sh`) is one too.
std::vector<std::string> programs_of(const Parsed& parsed);

// `/usr/bin/git` -> `git`
std::string_view base_name(std::string_view program);

}  // namespace baton::shell
