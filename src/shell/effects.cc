// SPDX-License-Identifier: Apache-2.0
#include "shell/effects.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/limits.h"
#include "base/text.h"
#include "shell/find.h"
#include "shell/programs.h"

namespace baton::shell {

namespace {

using Folder = std::optional<std::string>;  // nothing: not known
using Folders = std::set<Folder>;

bool is_system_program(std::string_view program) {
  const std::string_view name = base_name(program);
  const std::string_view folder = program.substr(0, program.size() - name.size());
  return folder.empty() || folder == "/bin/" || folder == "/usr/bin/" || folder == "/usr/local/bin/" ||
         folder == "/sbin/" || folder == "/usr/sbin/";
}

// What is written there is no file, or one that a redirection of the line names.
bool is_stream(std::string_view path) {
  return path == "/dev/null" || path == "/dev/stdout" || path == "/dev/stderr" || path == "/dev/tty" ||
         path == "/dev/zero" || path == "/dev/urandom" || path == "/dev/fd/1" || path == "/dev/fd/2";
}

// Links of the kernel to files that other words, or nobody, names.
bool leads_elsewhere(std::string_view path) {
  return path == "/dev/stdin" || is_within(path, "/dev/fd") || is_within(path, "/proc");
}

// Of a glob, the folder it looks in; nothing when it may lead out of that.
std::optional<std::string> folder_of_pattern(const Word& word) {
  if (word.kind != Word::Kind::Pattern) return std::nullopt;
  const std::string& rest = word.rest;
  if (rest.starts_with('/')) return word.text;  // a path, or one below it
  const std::size_t slash = word.text.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : word.text.substr(0, slash + 1);
  // `f{,.old}`: what a name begins with keeps it from being `..`.
  if (rest.find('/') == std::string::npos &&
      word.text.find_first_not_of('.', slash == std::string::npos ? 0 : slash + 1) != std::string::npos)
    return folder;
  if (rest.find("..") != std::string::npos) return std::nullopt;
  // A part that begins with a dot may match `..` in some shells.
  if (word.text.substr(slash == std::string::npos ? 0 : slash + 1).starts_with('.') ||
      rest.find("/.") != std::string::npos)
    return std::nullopt;
  if (rest.find('{') != std::string::npos) {
    for (const char* risky : {"{.", ",.", ".,", ".}", "{/", ",/", "{~", ",~"})
      if (rest.find(risky) != std::string::npos) return std::nullopt;
    // `.{x,}.`: where braces may become nothing, the dots on both sides of them meet.
    const auto has_one_of = [&](std::initializer_list<const char*> parts) {
      return std::ranges::any_of(parts, [&](const char* one) { return rest.find(one) != std::string::npos; });
    };
    const bool may_vanish = has_one_of({"{,", ",,", ",}"});
    if (may_vanish && has_one_of({"}."}) && has_one_of({".{", ".*", ".?", ".["})) return std::nullopt;
    // `{x,}/y`: what is behind them begins the word.
    if (may_vanish && word.text.empty() && has_one_of({"/", "~"})) return std::nullopt;
  }
  return folder;
}

class Walk {
 public:
  Walk(const Parsed& parsed, std::string_view cwd) : parsed_(parsed) {
    const std::string start = normalised("", cwd);
    seen_.insert(start.empty() ? Folder() : Folder(start));
    // What may run before what stands before it may change the folder for everything.
    for (const Command& command : parsed.commands)
      if (changes_folder(command) && command.repeats) lose_folder();
  }

  Effects run() {
    for (const Command& command : parsed_.commands)
      if (!command.at_end) one(command);
    // A trap runs in the folder that is the current one then: any of them.
    states_.clear();
    for (const Command& command : parsed_.commands)
      if (command.at_end) one(command);
    // `tee /dev/stdout 1<file`: the file is written.
    if (writes_stream_ && opens_stream_) out_.has_unknown_write = true;
    // A link that is made in the line and used in it: where the use leads is decided by the link.
    for (const Use& use : uses_)
      if (passes_link(use) || is_moved(use)) out_.has_unknown_write = true;
    for (const std::string& program : run_)
      for (const std::string& written : changed_) out_.runs_written = out_.runs_written || is_within(program, written);
    out_.paths.assign(paths_.begin(), paths_.end());
    out_.writes.assign(writes_.begin(), writes_.end());
    if (parsed_.opaque() || out_.has_unknown_write) out_.writes_known = out_.paths_known = false;
    std::set<Opaque> because(parsed_.because.begin(), parsed_.because.end());
    if (out_.has_unknown_write) because.insert(Opaque::UnknownPath);
    if (out_.runs_written) because.insert(Opaque::EvaluatedText);
    if (out_.runs_stream) because.insert(Opaque::StandardInput);
    out_.because.assign(because.begin(), because.end());
    return std::move(out_);
  }

 private:
  struct State {
    Folders now, at_pipe;
  };
  // A path that is written, or a folder that is entered, as it is spelled. `removes`: the last part itself is meant, not what it leads to.
  struct Use {
    std::string folder, path;
    std::size_t command;
    bool removes;
    bool any_below = false;  // a glob, or a copy of a folder: what lies in it, whatever its name
  };

  static constexpr std::size_t kSeveral = 0;

  static bool changes_folder(const Command& command) {
    if (command.words.empty()) return false;
    const Word& program = command.words.front();
    return program.is("cd") || program.is("pushd") || program.is("popd") || program.is("chdir");
  }

  // From here on the folder may be any.
  void lose_folder() {
    seen_ = {Folder()};
    for (auto& [number, state] : states_) state.now = state.at_pipe = seen_;
  }

  void one(const Command& command) {
    ++command_;
    repeats_ = command.repeats || command.runs_again;
    State& state = states_[command.list];
    if (command.after == Command::After::Anything || state.now.empty()) state.now = seen_;
    if (command.after == Command::After::Pipe) state.now = state.at_pipe.empty() ? seen_ : state.at_pipe;
    else if (command.via.empty()) state.at_pipe = state.now;
    const Folders folders = command.in_other_folder ? Folders{Folder()} : state.now;
    folders_ = folders;
    // `cd d && ls &>f | tee g`: dash runs all before `>` in the background, and the rest in the folder of before.
    for (const Redirection& one : command.redirections)
      if (one.operation.starts_with('&')) folders_.insert(seen_.begin(), seen_.end()), state.at_pipe = seen_;
    redirections(command);
    folders_ = folders;
    if (!command.words.empty()) words(command);
    if (changes_folder(command)) state.now = change_folder(command);
  }

  Folders change_folder(const Command& command) {
    Folders out;
    const Word* target = nullptr;
    bool is_known = !command.words.front().is("popd");
    for (std::size_t at = 1; at < command.words.size(); ++at) {
      const Word& word = command.words[at];
      if (word.is("--") || word.is("-P") || word.is("-L")) continue;
      // `cd old new` of zsh; `pushd -n`, `cd -`, `cd +1`.
      if (target != nullptr || !word.is_literal() || word.text.empty() || word.text.front() == '-' ||
          word.text.front() == '+')
        is_known = false;
      target = &word;
    }
    if (target == nullptr || !is_known) {
      out.insert(Folder());
      // `pushd -n`, or a failure: it may still be the folder of before.
      out.insert(folders_.begin(), folders_.end());
    } else {
      for (const Folder& from : folders_) {
        std::string to = normalised(from.value_or(""), target->text);
        if (!to.empty() && to.size() <= limits::kShellPathBytesMax)
          uses_.push_back({from.value_or(""), target->text, command_, false});
        else to.clear();
        out.insert(to.empty() ? Folder() : Folder(std::move(to)));
      }
    }
    seen_.insert(out.begin(), out.end());
    if (seen_.size() > limits::kShellFoldersMax) {
      lose_folder();
      return seen_;
    }
    // As a program of its own it changes nothing. zsh takes it for one behind `command`, too.
    if (!command.via.empty() && command.via != "builtin") return seen_;
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
      if (place.empty() || place.size() > limits::kShellPathBytesMax || bytes_ > limits::kShellPathsBytesMax)
        all = false;
      else if (!is_stream(place)) bytes_ += place.size(), out.insert(std::move(place));
    }
    return all;
  }
  void reads(const Word& word, std::string_view text) {
    if (!places(word, text, paths_)) out_.paths_known = false;
  }
  enum class Way : std::uint8_t { Writes, Removes, MakesLink };
  void writes(const Word& word, std::string_view text, Way way = Way::Writes) {
    std::set<std::string> places_written;
    if (!places(word, text, places_written)) out_.has_unknown_write = true;
    if (std::ranges::any_of(places_written, leads_elsewhere)) out_.has_unknown_write = true;
    if (places_written.empty()) writes_stream_ = true;
    // Of `rm d/*` the last part is no link that is followed; neither is what find has found.
    const bool any_below =
        word.kind == Word::Kind::Pattern && !(way == Way::Removes && word.rest.find('/', 1) == std::string::npos);
    if (!places_written.empty()) uses(text, way == Way::Removes, any_below);
    if (way == Way::MakesLink) makes_links(places_written);
    writes_.insert(places_written.begin(), places_written.end());
    if (changes_content_) changed_.insert(places_written.begin(), places_written.end());
    paths_.insert(places_written.begin(), places_written.end());
    if (uses_.size() > limits::kShellUsesMax) out_.has_unknown_write = true, uses_.clear();
  }
  void writes(const Word& word) { writes(word, word.text); }
  void uses(std::string_view text, bool removes, bool any_below) {
    for (const Folder& folder : folders_) {
      bytes_ += text.size();
      uses_.push_back({folder.value_or(""), std::string(text), command_, removes, any_below});
    }
  }

  void makes_links(const std::set<std::string>& paths) {
    for (const std::string& path : paths)
      if (const auto [place, is_new] = links_.emplace(path, command_); !is_new || repeats_) place->second = kSeveral;
  }

  // Commands that make a link which a path goes through.
  struct Makers {
    bool any = false;
    std::size_t only = kSeveral;  // the one of them

    void add(std::size_t maker) {
      only = any && only != maker ? kSeveral : maker;
      any = true;
    }
    bool others_than(std::size_t command) const { return any && only != command; }
  };

  // Of this path, taken part by part in `folder`, which is normalised.
  Makers makers_of(std::string_view folder, std::string_view path, bool skips_last) const {
    Makers out;
    std::string place(path.starts_with('/') || folder == "/" ? "" : folder);
    for (std::size_t at = 0; at < path.size();) {
      const std::size_t end = std::min(path.find('/', at), path.size());
      const std::string_view part = path.substr(at, end - at);
      const bool is_last = end == path.size();
      at = end + 1;
      if (is_last && skips_last) break;
      if (part.empty() || part == ".") continue;
      if (part == "..") {
        place.resize(place.empty() ? 0 : place.rfind('/'));
        continue;
      }
      place.append("/").append(part);
      if (const auto link = links_.find(place); link != links_.end()) out.add(link->second);
    }
    return out;
  }

  // Does it go through a link that another command of the line makes?
  bool passes_link(const Use& use) {
    if (links_.empty()) return false;
    if (use.any_below) {
      const std::string folder = normalised(use.folder, use.path);
      for (auto link = links_.lower_bound(folder); link != links_.end() && link->first.starts_with(folder); ++link)
        if (link->second != use.command && is_within(link->first, folder)) return true;
    }
    auto folder = folder_makers_.find(use.folder);
    if (folder == folder_makers_.end())
      folder = folder_makers_.emplace(use.folder, makers_of("", use.folder, false)).first;
    return folder->second.others_than(use.command) ||
           makers_of(use.folder, use.path, use.removes).others_than(use.command);
  }

  void redirections(const Command& command) {
    for (const Redirection& one : command.redirections) {
      const std::string& operation = one.operation;
      if (operation == "<<" || operation == "<<-" || operation == "<<<") continue;
      const bool is_copy = operation == ">&" || operation == "<&";
      // `>&0 <file`: standard output is the file.
      if (is_copy && one.fd != 0 && !one.target.is("1") && !one.target.is("2") && !one.target.is("-"))
        opens_stream_ = true;
      if (is_copy && one.target.is_literal() && (one.target.text.find_first_not_of("0123456789-") == std::string::npos))
        continue;
      if (operation == "<" || operation == "<&") reads(one.target, one.target.text);
      else writes(one.target);
      if ((operation == "<" || operation == "<>") && one.fd > 0) opens_stream_ = true;
    }
  }

  // Words that look like paths: with a slash in them, or behind the sign of an option.
  void words(const Command& command) {
    const std::string_view name = base_name(command.words.front().text);
    const Program* program =
        command.words.front().is_literal() && !command.is_script && is_system_program(command.words.front().text)
            ? program_called(name)
            : nullptr;
    // A path as the program, or the script of a shell.
    if (command.words.front().text.find('/') != std::string::npos || command.is_script) {
      if (!places(command.words.front(), command.words.front().text, run_)) out_.runs_written = true;
      // `sh //dev/stdin`, `cd /dev; sh stdin`
      for (const Folder& folder : folders_)
        if (const std::string place = normalised(folder.value_or(""), command.words.front().text);
            is_within(place, "/dev") || is_within(place, "/proc"))
          out_.runs_stream = true;
    }
    if (program == nullptr || !known_writer(command, name, *program)) out_.writes_known = false;
    const bool has_files = (program != nullptr && program->writes >= Writes::All) || name == "cat" || name == "ls" ||
                           name == "head" || name == "tail" || name == "cd";
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
      if (text.find("://") != text.npos || text.size() > limits::kShellPathBytesMax) continue;
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

  // Adds what it writes; false when that is not known.
  bool known_writer(const Command& command, std::string_view name, const Program& program) {
    if (program.writes == Writes::Unknown) return false;
    if (name == "nohup" && std::ranges::none_of(command.redirections, [](const Redirection& one) {
          return one.operation.starts_with('>') && one.fd < 2;
        }))
      writes(Word{"nohup.out"});
    if (program.runs == Runs::Rest || program.runs == Runs::Shell) return true;  // a wrong option has made it opaque
    Options options = options_of(command, program);
    if (name == "xxd")  // it reads `-pc` as `-p`
      for (const Word& word : command.words)
        if (word.text.starts_with('-') && word.text.size() > 2) options.all_known = false;
    // No option makes a program of the first two kinds write elsewhere; of the others one may.
    if (options.may_hide_option &&
        !(program.writes == Writes::Nothing || (program.writes == Writes::All && name != "mv")))
      options.all_known = false;
    if (options.may_shift && program.writes != Writes::Nothing) options.all_known = false;
    switch (program.writes) {
      case Writes::Unknown: return false;
      case Writes::Nothing: return options.all_known || program.flags == "*";
      case Writes::All:
        if (name == "mv") return destination(name, options);
        if (name == "mkdir")
          for (const Word* one : options.operands) makes_folders_before_dots(*one);
        for (const Word* one : options.operands)
          writes(*one, one->text, name == "rm" || name == "unlink" ? Way::Removes : Way::Writes);
        return options.all_known;
      case Writes::AllButFirst: {
        changes_content_ = false;
        const bool is_known = mode_or_owner(command, name, options);
        changes_content_ = true;
        return is_known;
      }
      case Writes::Last: return destination(name, options);
      case Writes::Second:
        if (options.operands.size() > 1) writes(*options.operands[1]);
        // A glob that finds two files reads the one and writes the other.
        return options.all_known && options.operands.size() < 3 &&
               std::ranges::none_of(options.operands, [](const Word* word) { return word->splits; });
      case Writes::Own: break;
    }
    if (name == "dd") return dd(command);
    if (name == "sed" || name == "gsed") return sed(command);
    if (name == "sort") return sort(options);
    if (name == "find" || name == "gfind") return find(command);
    if (name == "date")  // `date 01010000` and -s set the clock
      return options.all_known &&
             std::ranges::all_of(options.operands, [](const Word* word) { return word->text.starts_with('+'); });
    return std::ranges::none_of(command.words,  // awk
                                [](const Word& word) { return word.text.find('>') != std::string::npos; });
  }

  // chmod, chown, chgrp: the first operand is no file, unless the mode is an option (`-r`, `-x`) or is taken from another file.
  bool mode_or_owner(const Command& command, std::string_view name, Options& options) {
    bool has_mode = options.has("reference");
    bool all_known = options.all_known;
    if (name == "chmod") {
      all_known = !options.may_shift;
      constexpr std::string_view kModes = "rwxXstugoa,+=01234567-";
      bool is_option = true;
      for (std::size_t at = 1; at < command.words.size(); ++at) {
        const Word& word = command.words[at];
        if (word.is("--")) is_option = false;
        if (!is_option || word.text.size() < 2 || word.text.front() != '-') {
          if (is_option && !word.is_literal() && word.may_be_option()) all_known = false;
          continue;
        }
        if (word.text.starts_with("--")) {
          const std::string_view option = std::string_view(word.text).substr(0, word.text.find('='));
          if (!is_listed("--recursive --changes --silent --quiet --verbose --no-preserve-root --preserve-root "
                         "--reference --help "
                         "--version",
                         option))
            all_known = false;
          continue;
        }
        for (const char letter : std::string_view(word.text).substr(1)) {
          if (kModes.find(letter) != std::string_view::npos) has_mode = true;
          else if (std::string_view("Rcfv").find(letter) == std::string_view::npos) all_known = false;
        }
      }
    }
    // When it is not clear which operand is the first, or it becomes several, each may be a file.
    const bool is_one = options.operands.empty() || !options.operands.front()->splits;
    const std::size_t first = has_mode || !all_known || !is_one ? 0 : 1;
    for (std::size_t at = first; at < options.operands.size(); ++at) writes(*options.operands[at]);
    return all_known;
  }

  // cp, mv, ln, install: `... file file`, `... files folder`, `-t folder files`.
  bool destination(std::string_view name, Options& options) {
    const bool is_move = name == "mv", is_link = name == "ln";
    // Links come with what is copied or moved as well.
    const bool links =
        is_link || is_move ||
        (name == "cp" && std::ranges::any_of(options.found, [](const Options::Option& one) {
           return is_listed("a d l P R r s archive link no-dereference recursive symbolic-link preserve", one.name);
         }));
    std::vector<const Word*>& operands = options.operands;
    // Folders before a `..` are made, too.
    if (name == "install")
      for (const Word* one : operands) makes_folders_before_dots(*one);
    const bool makes_folders = name == "install" && (options.has("d") || options.has("directory"));
    if (makes_folders) {
      for (const Word* one : operands) writes(*one);
      return options.all_known;
    }
    const Word* folder = nullptr;
    std::string_view folder_text;
    for (const Options::Option& one : options.found)
      if ((one.name == "t" || one.name == "target-directory") && one.value_word != nullptr)
        folder = one.value_word, folder_text = one.value;
    const bool has_folder = folder != nullptr;
    if (!has_folder && operands.empty()) return options.all_known;
    if (!has_folder && operands.size() == 1) {  // `ln -s target`: a link of that name here
      if (is_link) put_into(Word{"."}, ".", operands, true, options);
      // A pattern may become several words, the last of them a folder. One that matches nothing is a name itself.
      if (!operands.front()->is_literal()) writes(Word{"."}), writes(*operands.front());
      else if (!is_link) writes(*operands.front());
      return options.all_known;
    }
    if (!has_folder) {
      folder = operands.back();
      folder_text = folder->text;
      operands.pop_back();
    }
    if (is_move)
      for (const Word* one : operands) writes(*one, one->text, Way::Removes), moves(*one);
    const bool is_file = options.has("T") || options.has("no-target-directory");
    const bool is_folder = has_folder || operands.size() > 1 || folder_text.ends_with('/') || folder_text == "." ||
                           folder_text == ".." || folder_text.ends_with("/.") || folder_text.ends_with("/..") ||
                           options.has("parents");
    writes(*folder, folder_text, links && !is_folder ? Way::MakesLink : Way::Writes);
    if (is_file) return options.all_known;
    // A file is written through the link that is there already.
    if (name == "cp" && folder->is_literal())
      for (const Word* one : operands) {
        const std::string_view file = base_name(one->text);
        const bool is_one = one->is_literal() && !links && !file.empty() && file != "." && file != "..";
        uses(is_one ? std::string(folder_text) + "/" + std::string(file) : folder_text, false, !is_one);
      }
    // Where the destination is a folder for certain, the file in it is listed. Otherwise only links are followed to there.
    if (is_folder || links) put_into(*folder, folder_text, operands, links, options, is_folder);
    return options.all_known;
  }

  // Whoever is in a folder that is moved goes with it: from there `..` leads elsewhere.
  void moves(const Word& word) {
    std::set<std::string> from;
    places(word, word.text, from);
    for (const std::string& path : from)
      for (const Folder& folder : seen_)
        if (folder && is_within(*folder, path) && (word.is_literal() || *folder != path))
          moved_.emplace(*folder, repeats_ ? 0 : command_);
  }
  bool is_moved(const Use& use) const {
    const auto moved = moved_.find(use.folder);
    return moved != moved_.end() && moved->second < use.command && use.path.find("..") != std::string::npos;
  }

  void makes_folders_before_dots(const Word& word) {
    if (!word.is_literal()) return;
    const std::string_view text = word.text;
    if (text.size() > limits::kShellPathBytesMax) out_.has_unknown_write = true;  // it is made part by part
    for (std::size_t at = text.find("/.."); at < limits::kShellPathBytesMax && bytes_ <= limits::kShellPathsBytesMax;
         at = text.find("/..", at + 1))
      if (at > 0) writes(word, text.substr(0, at));
    if (bytes_ > limits::kShellPathsBytesMax) out_.has_unknown_write = true;
  }

  // The files that come to lie in a folder.
  void put_into(const Word& folder, std::string_view folder_text, const std::vector<const Word*>& files, bool links,
                const Options& options, bool is_listed_too = true) {
    if (!folder.is_literal()) return;  // its own folder stands for it
    const auto may_be_link = [&](std::string_view path) {
      std::set<std::string> made;
      if (links && places(folder, path, made)) makes_links(made);
    };
    for (const Word* file : files) {
      if (!file->is_literal()) {
        may_be_link(folder_text);  // anything in it may be one
        continue;
      }
      std::string_view named = file->text;
      while (named.size() > 1 && named.ends_with('/')) named.remove_suffix(1);
      if (!options.has("parents")) named = base_name(named);
      if (named.empty() || named == "." || named == "..") {  // `cp -r d/. e`: what is in it
        may_be_link(folder_text);
        continue;
      }
      const std::string path = std::string(folder_text) + "/" + std::string(named);
      if (is_listed_too) writes(folder, path, links ? Way::MakesLink : Way::Writes);
      else may_be_link(path);
    }
  }

  bool dd(const Command& command) {
    bool all_known = true;
    for (std::size_t at = 1; at < command.words.size(); ++at) {
      const Word& word = command.words[at];
      const std::string_view text = word.text;
      if (!word.is_literal() && (text.empty() || word.splits || text.starts_with("of="))) out_.has_unknown_write = true;
      else if (text.starts_with("of=")) writes(word, text.substr(3));
      else if (!is_listed("if bs ibs obs cbs count skip seek iseek oseek conv iflag oflag status",
                          text.substr(0, text.find('='))))
        all_known = false;
    }
    return all_known;
  }

  bool sed(const Command& command) {
    bool in_place = false, has_script = false;
    std::string suffix;
    std::vector<const Word*> files;
    bool options = true;
    for (std::size_t at = 1; at < command.words.size(); ++at) {
      const Word& word = command.words[at];
      const std::string_view text = word.text;
      if (options && word.is("--")) {
        options = false;
      } else if (options && word.is_literal() && text.starts_with("--")) {
        if (text.starts_with("--i"))
          in_place = true, suffix = text.find('=') == text.npos ? "" : text.substr(text.find('=') + 1);
        if (text.starts_with("--e")) has_script = true;
        if (text == "--expression") ++at;
      } else if (options && word.is_literal() && text.size() > 1 && text.front() == '-') {
        const std::size_t place = text.find('i'), script = text.find('e');
        if (place != text.npos && (script == text.npos || place < script))
          in_place = true, suffix = text.substr(place + 1);
        else if (script != text.npos) {
          has_script = true;
          if (script + 1 == text.size()) ++at;
        }
      } else {
        files.push_back(&word);
      }
    }
    if (!in_place) return true;
    for (std::size_t at = has_script ? 0 : 1; at < files.size(); ++at) {
      writes(*files[at]);
      if (!suffix.empty() && files[at]->is_literal()) writes(*files[at], files[at]->text + suffix);  // the old file
    }
    return true;
  }

  bool sort(const Options& options) {
    for (const Options::Option& one : options.found)
      if ((one.name == "o" || one.name == "output") && one.value_word != nullptr) writes(*one.value_word, one.value);
    if (!options.all_known) out_.has_unknown_write = true;
    return options.all_known;
  }

  bool find(const Command& command) {
    const FindLine line = find_line(command);
    for (const Word& file : line.written) writes(file);
    if (line.deletes)
      for (const Word& start : line.starts) {
        writes(start);
        if (line.follows && start.is_literal()) uses(start.text, true, true);
      }
    return line.is_certain;
  }

  const Parsed& parsed_;
  Effects out_ = {};
  std::set<std::string> paths_ = {}, writes_ = {};
  std::map<std::string, std::size_t> links_ = {};  // that the line makes, or may make: by which command, or by several
  std::map<std::string, Makers> folder_makers_ = {};
  std::map<std::string, std::size_t> moved_ = {};  // folders that the line is in, and by which command they are moved
  std::size_t command_ = 0;                        // the first is 1
  std::set<std::string> changed_ = {};             // of the written ones, those whose content may be another
  bool changes_content_ = true;
  bool repeats_ = false, opens_stream_ = false, writes_stream_ = false;
  std::vector<Use> uses_ = {};
  std::set<std::string> run_ = {};  // programs and scripts that are named by a path
  std::size_t bytes_ = 0;           // of all paths so far
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
