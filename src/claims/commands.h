// SPDX-License-Identifier: Apache-2.0
// Inside the judge: a command that somebody claims to have run, as text, and the commands of a line that was really run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shell/parse.h"

namespace baton::claims {

// What somebody says of how it came out.
enum class Says : std::uint8_t { Nothing, Passed, Failed };
// "12 passed, 0 failed" passed; "1 failed, 11 passed" failed; "exit 1" failed.
Says outcome_in(std::string_view remark);

// A text that claims a command: "`pytest -q` (12 passed)", "ran npm test", "$ make -> ok".
struct Named {
  // Ways to read it, the most literal first. One is a list of commands, all of which are claimed.
  std::vector<std::vector<std::string>> readings = {};
  Says says = Says::Nothing;
  bool is_none = false;  // it says that there is nothing: "none", "n/a", "pytest (not run)"
};
Named named_in(std::string_view text);

// A line that was run, made ready to be asked.
class Line {
 public:
  // `text` as the shell got it. A shell that only runs one text (`bash -lc "..."`) is looked through.
  explicit Line(std::string_view text);

  // What the end of the line says of one of its commands.
  enum class Shows : std::uint8_t {
    Not,    // whether it was run at all
    Run,    // that it was run, and not how it ended
    Ended,  // how it ended: as the line did
  };
  struct Found {
    Shows shows = Shows::Not;
    std::string why = {};  // of what is not shown: "a pipe hides how it ended"
  };
  // The command as it stands in the line; of several the one of which most is shown. Nothing: it is not in it.
  // `ended_well`: what the line's own end was; nothing: it is not known.
  std::optional<Found> find(const shell::Parsed& wanted, std::optional<bool> ended_well) const;
  // Does it run this program, in any way that can be seen? The words it gives it, for people.
  std::optional<std::string> run_of(std::string_view program) const;
  // What may be the paths among the words of programs that read (cat, grep, sed, ...), in each folder in which they may be run: absolute,
  // or as they are written when `cwd` is not known.
  std::vector<std::string> read_paths(std::string_view cwd) const;

 private:
  Found shown_of(std::size_t command, std::optional<bool> ended_well) const;
  bool is_forked(const shell::Command& command) const;

  std::string text_;
  shell::Parsed parsed_;
  bool pipefail_ = false, errexit_ = false;
};

// Does it only ask something of a program (--version, --help, --collect-only, ...)? Why, or empty.
std::string asks_only(const shell::Parsed& wanted);
// Is it one that checks nothing (echo, true, which, pip install, ...)? Why, or empty.
std::string checks_nothing(const shell::Parsed& wanted);

// The program of the only command; empty: there is not just one.
std::string_view program_of(const shell::Parsed& wanted);

}  // namespace baton::claims
