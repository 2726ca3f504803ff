// SPDX-License-Identifier: Apache-2.0
// A command line for a shell, read without running it: which programs it would start, with which words, and where it writes.
//
// The promise: every program that bash, dash or zsh starts for this line, or that a known launcher in it (env, sudo, xargs,
// find -exec, sh -c, ...) starts, is among programs_of(), or the line is opaque. An opaque line has a part that Baton does not
// understand; `because` lists the reasons. The lists of an opaque line contain only what was seen: a rule must refuse such a line
// or ask for approval.
//
// The understood subset, in which the three shells agree:
//   - simple commands: `NAME=value` before the command, words, redirections
//   - lists and pipelines: ; & && || | |& and newlines, `!`, `time`, comments
//   - ( ), { }, if, while, until, for NAME in WORDS
//   - the redirections < > >> >| <> 2>&1 <<< and &>, the last only behind all words of its command
//   - the quotes '...' "..." \c; globs, {a,b}, ~, $NAME, ${NAME}, ${NAME:-plain text}, $((numbers)): words of unknown value
//   - $(...), read recursively
//   - here-documents outside of $(...); inside, only the form $(cat <<'WORD', the body, WORD alone on a line, and `)` at the
//     beginning of the next, where no line of the body begins with WORD. Coding agents write commit messages this way.
//   - a continued line between two words
// Everything else is opaque: case, functions, [[ ]], (( )), arrays, coprocesses, extended globs, backquotes, <( ), a line continued
// inside a word, other here-documents inside $(...), ... The reader still lists the commands that it sees there.
//
// Not promised: what a program does once it runs. A Makefile, a script, an alias or hook in git's configuration, a function of the
// user's start-up files start programs that no command line shows; an interpreter (python3 -c, node -e) is listed by its own name.
// Symbolic links that exist before the line runs are not followed.
//
// Never throws; bounded by limits::kShell*. tests/shell_truth compares it with the real shells.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
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
  Continuation,
  Case,
  Function,
  Conditional,
  Array,
  Coprocess,
  ExtendedGlob,
  NoCommand,
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
  bool splits = false;         // may become several words, or none
  bool quoted = false;         // a part of it was quoted: no reserved word, no assignment
  std::string rest = {};       // of a Pattern: what follows `text`, without quotes; "/": it is `text`, or below it
  bool begins_a_path = false;  // with `~`: a folder, or a name of the folder stack
  bool is_number = false;      // `$?`, `$#`, `$$`, `$((...))` and nothing else: digits, perhaps with a sign
  bool is_process = false;     // `$!` and nothing else: a number, or nothing
  std::string variable = {};   // `$NAME` and nothing else

  bool is_literal() const { return kind == Kind::Literal; }
  bool is(std::string_view value) const { return is_literal() && text == value; }
  // May it turn out to be an option? A word that begins with something else can not, unless an expansion splits it.
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
  bool runs_again = false;       // its launcher may run it several times: find -exec, xargs
  bool in_other_folder = false;  // its launcher has it run in a folder of its own
  bool is_script = false;        // a file that a shell runs: `sh FILE`, `. FILE`
  bool at_end = false;           // the text of a trap: it may run after everything else
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
  std::size_t words = 0;                                    // of all commands
  std::map<std::string, bool, std::less<>> variables = {};  // that the line sets: to nothing but numbers?
  std::vector<std::string> calculated = {};                 // variables whose value a builtin reads as a number
  std::vector<std::string> named = {};                      // names in texts that are no numbers, where zsh calculates

  bool opaque() const { return !because.empty(); }
  void note(Opaque reason);
  void sets(std::string_view variable, bool is_number);
};

Parsed parse(std::string_view command);

// Every program that may run, as it is written, sorted, each once. A script that a shell is given (`bash build.sh`) is one too.
std::vector<std::string> programs_of(const Parsed& parsed);

// `/usr/bin/git` -> `git`
std::string_view base_name(std::string_view program);

}  // namespace baton::shell
