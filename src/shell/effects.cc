// SPDX-License-Identifier: Apache-2.0
#include "shell/effects.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include "base/limits.h"
#include "base/text.h"
#include "shell/launchers.h"

namespace baton::shell {

namespace {

using Folder = std::optional<std::string>;  // nothing: not known
using Folders = std::set<Folder>;

// Which of its operands a program writes.
struct Writer {
  enum class Which : std::uint8_t { All, AllButFirst, Last, Second };
  std::string_view name;
  Which which;
  std::string_view values;  // short options that have a value
};
constexpr std::array kWriters = {
    Writer{"rm", Writer::Which::All, ""},
    Writer{"rmdir", Writer::Which::All, ""},
    Writer{"unlink", Writer::Which::All, ""},
    Writer{"shred", Writer::Which::All, "ns"},
    Writer{"mkdir", Writer::Which::All, "m"},
    Writer{"touch", Writer::Which::All, "drt"},
    Writer{"truncate", Writer::Which::All, "sr"},
    Writer{"tee", Writer::Which::All, ""},
    Writer{"mkfifo", Writer::Which::All, "m"},
    Writer{"chmod", Writer::Which::AllButFirst, ""},
    Writer{"chown", Writer::Which::AllButFirst, ""},
    Writer{"chgrp", Writer::Which::AllButFirst, ""},
    Writer{"mv", Writer::Which::All, "S"},
    Writer{"cp", Writer::Which::Last, "S"},
    Writer{"ln", Writer::Which::Last, "S"},
    Writer{"install", Writer::Which::Last, "mogS"},
    Writer{"uniq", Writer::Which::Second, "fsw"},
};

// Programs and builtins that write nothing but what they print; launchers and shells, whose commands stand for themselves.
constexpr std::array kWriteNothing = {
    "ls",      "cat",      "head",     "tail",  "grep",     "egrep",  "fgrep",    "rg",        "wc",
    "echo",    "printf",   "true",     "false", ":",        "pwd",    "test",     "[",         "basename",
    "dirname", "realpath", "readlink", "stat",  "du",       "df",     "id",       "whoami",    "uname",
    "which",   "type",     "tr",       "cut",   "paste",    "comm",   "diff",     "cmp",       "nl",
    "tac",     "rev",      "seq",      "sleep", "printenv", "md5sum", "sha1sum",  "sha256sum", "sha512sum",
    "cksum",   "jq",       "column",   "expr",  "cd",       "pushd",  "popd",     "dirs",      "export",
    "unset",   "set",      "shopt",    "read",  "wait",     "exit",   "return",   "break",     "continue",
    "shift",   "local",    "readonly", "trap",  "umask",    "ulimit", "jobs",     "fg",        "bg",
    "kill",    "ps",       "nproc",    "fold",  "fmt",      "expand", "unexpand", "join",      "od",
    "hexdump", "strings",  "base64",   "date",  "file",     "tty",    "yes"};

bool is_system_program(std::string_view program) {
  const std::string_view name = base_name(program);
  const std::string_view folder = program.substr(0, program.size() - name.size());
  return folder.empty() || folder == "/bin/" || folder == "/usr/bin/" || folder == "/usr/local/bin/" ||
         folder == "/sbin/" || folder == "/usr/sbin/";
}

bool is_stream(std::string_view path) {
  return path == "/dev/null" || path == "/dev/stdout" || path == "/dev/stderr" || path == "/dev/stdin" ||
         path == "/dev/tty" || path == "/dev/zero" || path == "/dev/urandom";
}

// Of a glob, the folder it looks in; nothing when it may lead out of that.
std::optional<std::string> folder_of_pattern(const Word& word) {
  if (word.kind != Word::Kind::Pattern) return std::nullopt;
  const std::string& rest = word.rest;
  if (rest.find("..") != std::string::npos) return std::nullopt;
  const std::size_t slash = word.text.rfind('/');
  // A part that begins with a dot may match `..` in some shells.
  if (word.text.substr(slash == std::string::npos ? 0 : slash + 1).starts_with('.') ||
      rest.find("/.") != std::string::npos)
    return std::nullopt;
  if (rest.find('{') != std::string::npos) {
    for (const char* risky : {"{.", ",.", ".,", ".}", "{/", ",/", "{~", ",~"})
      if (rest.find(risky) != std::string::npos) return std::nullopt;
  }
  return slash == std::string::npos ? "." : word.text.substr(0, slash + 1);
}

class Walk {
 public:
  Walk(const Parsed& parsed, std::string_view cwd) : parsed_(parsed) {
    const std::string start = normalised("", cwd);
    seen_.insert(start.empty() ? Folder() : Folder(start));
    // What may run before what stands before it may change the folder for everything.
    for (const Command& command : parsed.commands)
      if (changes_folder(command) && command.repeats) seen_.insert(Folder());
  }

  Effects run() {
    for (const Command& command : parsed_.commands) one(command);
    out_.paths.assign(paths_.begin(), paths_.end());
    out_.writes.assign(writes_.begin(), writes_.end());
    if (parsed_.opaque() || out_.has_unknown_write) out_.writes_known = out_.paths_known = false;
    return std::move(out_);
  }

 private:
  struct State {
    Folders now, at_pipe;
  };

  static bool changes_folder(const Command& command) {
    if (command.words.empty()) return false;
    const Word& program = command.words.front();
    return program.is("cd") || program.is("pushd") || program.is("popd") || program.is("chdir");
  }

  void one(const Command& command) {
    State& state = states_[command.list];
    if (command.after == Command::After::Anything || state.now.empty()) state.now = seen_;
    if (command.after == Command::After::Pipe) state.now = state.at_pipe.empty() ? seen_ : state.at_pipe;
    else if (command.via.empty()) state.at_pipe = state.now;
    folders_ = command.in_other_folder ? Folders{Folder()} : state.now;
    redirections(command);
    if (!command.words.empty()) words(command);
    if (changes_folder(command)) state.now = change_folder(command);
  }

  Folders change_folder(const Command& command) {
    Folders out;
    const Word* target = nullptr;
    for (std::size_t at = 1; at < command.words.size(); ++at)
      if (!command.words[at].is("--") && !command.words[at].is("-P") && !command.words[at].is("-L"))
        target = &command.words[at];
    if (target == nullptr || !target->is_literal() || target->text.empty() || target->text.front() == '-' ||
        target->text.front() == '+' || command.words.front().is("popd")) {
      out.insert(Folder());
    } else {
      for (const Folder& from : folders_) {
        std::string to = normalised(from.value_or(""), target->text);
        out.insert(to.empty() ? Folder() : Folder(std::move(to)));
      }
    }
    seen_.insert(out.begin(), out.end());
    if (seen_.size() > limits::kShellFoldersMax) seen_.insert(Folder()), out.insert(Folder());
    // As a program of its own it changes nothing.
    if (!command.via.empty() && command.via != "command" && command.via != "builtin") return seen_;
    return out;
  }

  // The places a word may name; false when there may be others.
  bool places(const Word& word, std::string_view text, std::set<std::string>& out) {
    std::optional<std::string> path;
    if (word.is_literal()) path = std::string(text);
    else path = folder_of_pattern(word);
    if (!path || path->empty()) return false;
    bool all = true;
    for (const Folder& folder : folders_) {
      std::string place = normalised(folder.value_or(""), *path);
      if (place.empty()) all = false;
      else if (!is_stream(place) && !place.starts_with("/dev/fd/")) out.insert(std::move(place));
    }
    return all;
  }
  void reads(const Word& word, std::string_view text) {
    if (!places(word, text, paths_)) out_.paths_known = false;
  }
  void writes(const Word& word, std::string_view text) {
    std::set<std::string> places_written;
    if (!places(word, text, places_written)) out_.has_unknown_write = true;
    writes_.insert(places_written.begin(), places_written.end());
    paths_.insert(places_written.begin(), places_written.end());
  }
  void writes(const Word& word) { writes(word, word.text); }

  void redirections(const Command& command) {
    for (const Redirection& one : command.redirections) {
      const std::string& operation = one.operation;
      if (operation == "<<" || operation == "<<-" || operation == "<<<") continue;
      const bool is_copy = operation == ">&" || operation == "<&";
      if (is_copy && one.target.is_literal() && (one.target.text.find_first_not_of("0123456789-") == std::string::npos))
        continue;
      if (operation == "<" || operation == "<&") reads(one.target, one.target.text);
      else writes(one.target);
    }
  }

  // Words that look like paths: with a slash in them, or behind the sign of an option.
  void words(const Command& command) {
    const std::string_view program = command.words.front().text, name = base_name(program);
    const bool is_known =
        command.words.front().is_literal() && is_system_program(program) && known_writer(command, name);
    if (!is_known) out_.writes_known = false;
    const bool has_files = std::ranges::any_of(kWriters, [&](const Writer& one) { return one.name == name; }) ||
                           name == "cat" || name == "ls" || name == "head" || name == "tail" || name == "cd";
    for (std::size_t at = 1; at < command.words.size(); ++at) {
      const Word& word = command.words[at];
      std::string_view text = word.text;
      if (word.kind == Word::Kind::Unknown) {
        out_.paths_known = false;
        continue;
      }
      if (word.kind == Word::Kind::Pattern) {
        reads(word, text);
        continue;
      }
      if (text.find("://") != text.npos || text.size() > 4096) continue;
      const std::size_t sign = text.find('=');
      if (text.starts_with('-')) {
        const std::size_t slash = text.find('/');
        if (sign != text.npos && (slash == text.npos || sign < slash)) text.remove_prefix(sign + 1);
        else if (slash != text.npos) text.remove_prefix(slash);
        else continue;
      } else if (sign != text.npos && sign > 0 && text.find('/') != text.npos && text.find('/') > sign) {
        text.remove_prefix(sign + 1);
      }
      if (has_files || text == "." || text == ".." || text.find('/') != text.npos) reads(word, text);
    }
  }

  // The operands, without options and the values of those in `values`; a target folder is written.
  std::vector<const Word*> operands(const Command& command, std::string_view values, bool has_target) {
    std::vector<const Word*> out;
    bool options = true;
    for (std::size_t at = 1; at < command.words.size(); ++at) {
      const Word& word = command.words[at];
      const std::string_view text = word.text;
      if (options && word.is("--")) {
        options = false;
      } else if (!word.is_literal() && options && word.may_be_option() && word.kind == Word::Kind::Unknown) {
        out_.has_unknown_write = true;
      } else if (options && word.is_literal() && text.size() > 1 && text.front() == '-') {
        constexpr std::string_view kTarget = "--target-directory";
        const std::size_t sign = text.find('=');
        if (text.starts_with("--")) {
          if (!has_target || !kTarget.starts_with(text.substr(0, sign))) continue;
          if (sign != text.npos) writes(word, text.substr(sign + 1));
          else if (++at < command.words.size()) writes(command.words[at]);
          continue;
        }
        for (std::size_t letter = 1; letter < text.size(); ++letter) {
          const bool is_target = has_target && text[letter] == 't';
          if (!is_target && values.find(text[letter]) == values.npos) continue;
          const bool is_next = letter + 1 == text.size();
          if (is_next) ++at;
          if (is_target && is_next && at < command.words.size()) writes(command.words[at]);
          if (is_target && !is_next) writes(word, text.substr(letter + 1));
          break;
        }
      } else {
        out.push_back(&word);
      }
    }
    return out;
  }

  // Adds what it writes; false when that is not known.
  bool known_writer(const Command& command, std::string_view name) {
    const auto place = std::ranges::find(kWriters, name, &Writer::name);
    if (place != kWriters.end()) {
      // `install -d` makes each of them.
      const bool makes_all =
          name == "install" && std::ranges::any_of(command.words, [](const Word& word) {
            return word.text.starts_with("--d") || (word.text.starts_with('-') && !word.text.starts_with("--") &&
                                                    word.text.find('d') != std::string::npos);
          });
      const auto list = operands(command, place->values, place->which == Writer::Which::Last || name == "mv");
      for (std::size_t at = 0; at < list.size(); ++at) {
        const bool is_written = place->which == Writer::Which::All || makes_all ||
                                (place->which == Writer::Which::AllButFirst && at > 0) ||
                                (place->which == Writer::Which::Last && at + 1 == list.size()) ||
                                (place->which == Writer::Which::Second && at == 1);
        if (is_written) writes(*list[at]);
      }
      if (name == "ln" && list.size() == 1) writes({"."});
      return true;
    }
    if (name == "dd") {
      for (const Word& word : command.words)
        if (!word.is_literal() && (word.text.empty() || word.splits || word.text.starts_with("of=")))
          out_.has_unknown_write = true;
        else if (word.text.starts_with("of=")) writes(word, std::string_view(word.text).substr(3));
      return true;
    }
    if (name == "sed") return sed(command);
    if (name == "sort") return sort(command);
    if (name == "find") return find(command);
    if (name == "awk")
      return std::ranges::none_of(command.words,
                                  [](const Word& word) { return word.text.find('>') != std::string::npos; });
    if (name == "xargs" || is_shell(name)) return true;
    if (const Launcher* launcher = launcher_called(name)) return launcher->name != "npx" && launcher->name != "uvx";
    if (name == "date" || name == "file")  // which can set the clock, and compile what they know of files
      return std::ranges::none_of(command.words, [](const Word& word) {
        return word.text.starts_with("-C") || word.text.starts_with("--c") || word.text.starts_with("-s");
      });
    return std::ranges::any_of(kWriteNothing, [&](const char* one) { return name == one; });
  }

  bool sed(const Command& command) {
    bool in_place = false, has_script = false;
    for (const Word& word : command.words) {
      in_place =
          in_place || word.text.starts_with("-i") || word.text.starts_with("--in-place") ||
          (word.text.starts_with('-') && !word.text.starts_with("--") && word.text.find('i') != std::string::npos);
      has_script = has_script || (word.text.starts_with('-') && word.text.ends_with('e'));
    }
    if (!in_place) return true;
    const auto list = operands(command, "e", false);
    for (std::size_t at = has_script ? 0 : 1; at < list.size(); ++at) writes(*list[at]);
    return true;
  }

  bool sort(const Command& command) {
    for (std::size_t at = 1; at < command.words.size(); ++at) {
      const Word& word = command.words[at];
      if (!word.is_literal() && word.may_be_option()) out_.has_unknown_write = true;
      if (!word.text.starts_with('-')) continue;
      const std::size_t sign = word.text.find('='), letter = word.text.find('o');
      if (word.text.starts_with("--")) {
        if (word.text.size() < 3 || !std::string_view("--output").starts_with(word.text.substr(0, sign))) continue;
        if (sign != std::string::npos) writes(word, std::string_view(word.text).substr(sign + 1));
        else if (at + 1 < command.words.size()) writes(command.words[at + 1]);
      } else if (letter != std::string::npos) {
        if (letter + 1 < word.text.size()) writes(word, std::string_view(word.text).substr(letter + 1));
        else if (at + 1 < command.words.size()) writes(command.words[at + 1]);
      }
    }
    return true;
  }

  bool find(const Command& command) {
    bool deletes = false;
    for (std::size_t at = 1; at < command.words.size(); ++at) {
      const Word& word = command.words[at];
      deletes = deletes || word.is("-delete");
      if ((word.is("-fprint") || word.is("-fprint0") || word.is("-fls") || word.is("-fprintf")) &&
          at + 1 < command.words.size())
        writes(command.words[at + 1]);
    }
    if (!deletes) return true;
    for (const Word& start : starts_of_find(command)) writes(start);
    return true;
  }

  const Parsed& parsed_;
  Effects out_ = {};
  std::set<std::string> paths_ = {}, writes_ = {};
  Folders seen_ = {}, folders_ = {};
  std::map<std::size_t, State> states_ = {};
};

}  // namespace

std::string normalised(std::string_view folder, std::string_view path) {
  const bool is_absolute = path.starts_with('/');
  if (!is_absolute && !folder.starts_with('/')) return {};
  std::vector<std::string_view> parts;
  const auto take = [&](std::string_view text) {
    for (const std::string_view part : split(text, '/')) {
      if (part.empty() || part == ".") continue;
      if (part != "..") parts.push_back(part);
      else if (!parts.empty()) parts.pop_back();
    }
  };
  if (!is_absolute) take(folder);
  take(path);
  std::string out;
  for (const std::string_view part : parts) out.append("/").append(part);
  return out.empty() ? "/" : out;
}

bool is_within(std::string_view path, std::string_view folder) {
  if (folder == "/") return path.starts_with('/');
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

Effects effects_of(const Parsed& parsed, std::string_view cwd) { return Walk(parsed, cwd).run(); }

}  // namespace baton::shell
