// SPDX-License-Identifier: Apache-2.0
// From one command to those behind it: launchers looked through, builtins and tools that run text.
#include <algorithm>
#include <array>

#include "base/limits.h"
#include "base/text.h"
#include "shell/find.h"
#include "shell/programs.h"
#include "shell/reader.h"

namespace baton::shell {

namespace {

class Look {
 public:
  Look(Parsed& out, const Command& command, std::size_t depth)
      : out_(out), command_(command), words_(command.words), depth_(depth) {}

  void at(std::string_view name);

 private:
  std::size_t size() const { return words_.size(); }
  void note(Opaque reason) { out_.note(reason); }
  void inner(std::vector<Word> words, bool in_other_folder = false, bool is_script = false);
  void rest(std::size_t from, bool is_script = false, bool in_other_folder = false) {
    inner({words_.begin() + static_cast<std::ptrdiff_t>(std::min(from, size())), words_.end()}, in_other_folder,
          is_script);
  }
  void text(const Word& word, bool repeats);
  void assigned(std::span<const Word> words);

  void launch(std::string_view name, const Program& launcher);
  void xargs(std::size_t program, const Program& launcher);
  void find();
  void shell();
  void evaluated(std::string_view name);
  void declared();
  void named_variables();
  void set_options();
  void builtin(std::string_view name);
  void sed();
  void awk();
  void make(std::size_t from);
  void cmake();
  void database(std::string_view name);
  void limits();
  void number(const Word& word);
  void names(std::string_view text);
  void test();
  void printf();
  bool may_have_more_options(std::size_t from) const;

  Parsed& out_;
  const Command& command_;
  const std::vector<Word>& words_;
  std::size_t depth_;
};

void Look::inner(std::vector<Word> words, bool in_other_folder, bool is_script) {
  if (words.empty()) return;
  Command command;
  command.words = std::move(words);
  command.pipeline = command_.pipeline;
  command.list = command_.list;
  command.after = command_.after;
  command.via = base_name(command_.words.front().text);
  command.repeats = command_.repeats;
  command.runs_again = command_.runs_again || is_listed("find gfind xargs", command.via);
  command.in_other_folder = command_.in_other_folder || in_other_folder;
  command.is_script = is_script;
  command.at_end = command_.at_end;
  add_command(out_, std::move(command), depth_ + 1);
}

void Look::text(const Word& word, bool repeats) {
  if (!word.is_literal()) return note(Opaque::EvaluatedText);
  Reading reading;
  reading.depth = depth_ + 1;
  reading.repeats = command_.repeats || repeats;
  reading.runs_again = command_.runs_again;
  reading.at_end = command_.at_end || base_name(command_.words.front().text) == "trap";
  reading.in_other_folder = command_.in_other_folder;
  reading.via = base_name(command_.words.front().text);
  read_commands(out_, word.text, reading);
}

// Words of a launcher that set variables for the program behind it.
void Look::assigned(std::span<const Word> words) {
  for (const Word& word : words)
    if (const std::size_t sign = word.text.find('='); sign != std::string::npos)
      out_.sets(std::string_view(word.text).substr(0, sign), false);
}

void Look::launch(std::string_view name, const Program& launcher) {
  if (name == "command" && size() > 1 && (words_[1].is("-v") || words_[1].is("-V"))) return;  // only asks
  const auto program = first_operand(words_, launcher);
  if (!program) return note(Opaque::Launcher);
  if (launcher.takes_assignments) assigned(std::span(words_).first(*program));
  if (name == "xargs") return xargs(*program, launcher);
  if ((name == "npx" || name == "fakeroot") && *program >= size()) note(Opaque::StandardInput);  // they start a shell
  // `exec -a NAME`: git, busybox and shells do what the name says that they are called by.
  if (name == "exec")
    for (std::size_t at = 1; at < *program; ++at)
      if (words_[at].text.starts_with('-') && words_[at].text.find('a') != std::string::npos) note(Opaque::Launcher);
  rest(*program);
}

// What it reads becomes words at the end, or wherever the replacement stands: of a text for a shell, too.
void Look::xargs(std::size_t program, const Program& launcher) {
  std::string replaced;
  bool takes_many = false;
  for (std::size_t at = 1; at < program; ++at) {
    const std::string& option = words_[at].text;
    if (option.starts_with("--")) {
      takes_many = takes_many || option.starts_with("--max-a");
      if (option.find('=') == std::string::npos && is_listed(launcher.long_values, std::string_view(option).substr(2)))
        ++at;
      continue;
    }
    if (option.size() < 2 || option.front() != '-') continue;
    const std::size_t letter = option.find_first_of(launcher.values);
    if (letter == std::string::npos) continue;
    takes_many = takes_many || option[letter] == 'n' || option[letter] == 'L';
    const bool is_replacement = option[letter] == 'I', is_next = letter + 1 == option.size();
    if (is_next) ++at;
    if (!is_replacement) continue;
    if (at >= program || !words_[at].is_literal()) return note(Opaque::Launcher);
    replaced = is_next ? words_[at].text : option.substr(letter + 1);
  }
  if (!replaced.empty() && takes_many) return note(Opaque::Launcher);  // the last of them counts
  std::vector<Word> words(words_.begin() + static_cast<std::ptrdiff_t>(std::min(program, size())), words_.end());
  if (words.empty()) words.push_back({"echo"});
  if (replaced.empty()) {
    words.push_back({{}, Word::Kind::Unknown, true});
  } else {
    for (Word& word : words)
      if (const std::size_t at = word.text.find(replaced); at != std::string::npos || !word.is_literal())
        word = {word.text.substr(0, at), Word::Kind::Unknown, word.splits};
  }
  inner(std::move(words));
}

void Look::find() {
  const FindLine line = find_line(command_);
  if (!line.is_certain) note(Opaque::Launcher);
  // A file that it finds is the place where it begins to look, or below it.
  Word found{{}, Word::Kind::Unknown};
  if (line.starts.size() == 1 && line.starts.front().is_literal())
    found = {line.starts.front().text, Word::Kind::Pattern, false, false, line.follows ? "/*/" : "/"};
  for (const FindCommand& one : line.commands) {
    std::vector<Word> words = one.words;
    for (Word& word : words) {
      if (word.is("{}")) word = one.in_folder ? Word{{}, Word::Kind::Unknown} : found;
      else if (word.text.find("{}") != std::string::npos) word = {{}, Word::Kind::Unknown};
    }
    if (one.takes_several) words.back().splits = true;
    inner(std::move(words), one.in_folder);
  }
}

void Look::shell() {
  bool reads_text = false;
  std::size_t at = 1;
  for (; at < size(); ++at) {
    if (!words_[at].is_literal()) return note(reads_text ? Opaque::EvaluatedText : Opaque::Launcher);
    const std::string_view option = words_[at].text;
    if (option == "--") {
      ++at;
      break;
    }
    if (option.starts_with('+')) return note(Opaque::Launcher);
    if (option.size() < 2 || option.front() != '-') break;
    if (option == "--login" || option == "--norc" || option == "--noprofile" || option == "--posix") continue;
    if (size() == 2 && (option == "--version" || option == "--help")) return;
    bool has_value = false;
    if (std::ranges::count(option, 'o') > 1) return note(Opaque::Launcher);  // each takes a word of its own
    for (const char letter : option.substr(1)) {
      if (letter == 'c') reads_text = true;
      else if (letter == 'o') has_value = true;
      else if (std::string_view("aefhilmnpuvxBC").find(letter) == std::string_view::npos) return note(Opaque::Launcher);
    }
    if (!has_value) continue;
    ++at;
    static constexpr std::array kOptions = {"pipefail", "errexit", "nounset", "xtrace", "noglob", "verbose"};
    if (at >= size() || std::ranges::none_of(kOptions, [&](const char* one) { return words_[at].is(one); }))
      return note(Opaque::Launcher);
  }
  if (at >= size()) return note(Opaque::StandardInput);
  if (reads_text) return text(words_[at], false);
  if (words_[at].is("-") || words_[at].text.starts_with("/dev/") || words_[at].text.starts_with("/proc/"))
    note(Opaque::StandardInput);
  rest(at, true);
}

// eval and its kind: opaque, but what can be seen is shown.
void Look::evaluated(std::string_view name) {
  note(name == "eval" || name == "source" || name == "." || name == "alias" ? Opaque::EvaluatedText : Opaque::Launcher);
  if (name == "source" || name == ".") return rest(1, true);
  if (name != "eval") return;
  Word all;
  for (std::size_t at = 1; at < size(); ++at) {
    if (!words_[at].is_literal()) return;
    all.text.append(at > 1 ? " " : "").append(words_[at].text);
  }
  text(all, false);
}

// export, readonly, local
void Look::declared() {
  for (std::size_t at = 1; at < size(); ++at) {
    const Word& word = words_[at];
    if (word.is_literal() && word.text.starts_with('-')) {
      if (word.text.find_first_not_of("xrgp", 1) != std::string::npos) note(Opaque::Variable);
      continue;
    }
    const std::size_t sign = word.text.find('=');
    const std::string_view name = std::string_view(word.text).substr(0, sign);
    // Where a word that expands becomes several, as in dash, any name may be among them.
    if (!word.is_literal() && (sign == std::string::npos || word.splits)) note(Opaque::Variable);
    if (!is_name(name.ends_with('+') ? name.substr(0, name.size() - 1) : name)) note(Opaque::Variable);
    Word value = word;
    value.text.erase(0, sign == std::string::npos ? value.text.size() : sign + 1);
    const std::string_view plain = name.ends_with('+') ? name.substr(0, name.size() - 1) : name;
    if (steers_programs(plain, sign == std::string::npos ? nullptr : &value)) note(Opaque::Variable);
    if (sign != std::string::npos) out_.sets(plain, false);
  }
}

// read, unset, getopts and their kind, whose words are names of variables: a subscript of one is calculated.
void Look::named_variables() {
  for (std::size_t at = 1; at < size(); ++at) {
    const Word& word = words_[at];
    // zsh: what stands behind a question mark is a prompt.
    const std::string_view variable = std::string_view(word.text).substr(0, word.text.find('?'));
    if (!word.is_literal() || steers_execution(variable) || word.text.find('[') != std::string::npos)
      note(Opaque::Variable);
    // zsh: `read -A functions`, `commands`, `aliases`, `options`: what a name means from here on.
    if (word.text.starts_with('-') && word.text.find('A') != std::string::npos) note(Opaque::Variable);
    if (is_name(variable)) out_.sets(variable, false);
  }
}

void Look::set_options() {
  for (std::size_t at = 1; at < size(); ++at) {
    if (words_[at].is("--")) return;
    if (!words_[at].is_literal() || words_[at].text.size() < 2) return note(Opaque::Syntax);
    const std::string& option = words_[at].text;
    if (option.front() != '-' && option.front() != '+') return;
    const std::size_t letter = option.find('o');
    if (option.find_first_not_of("euxfvo", 1) != std::string::npos ||
        (letter != std::string::npos && letter + 1 < option.size()))
      return note(Opaque::Syntax);
    if (!option.ends_with('o')) continue;
    ++at;
    if (at >= size()) return;
    if (!words_[at].is("pipefail") && !words_[at].is("errexit") && !words_[at].is("nounset") &&
        !words_[at].is("xtrace"))
      return note(Opaque::Syntax);
  }
}

bool Look::may_have_more_options(std::size_t from) const {
  return std::any_of(words_.begin() + static_cast<std::ptrdiff_t>(std::min(from, size())), words_.end(),
                     [](const Word& word) { return !word.is_literal() && word.may_be_option(); });
}

void Look::sed() {
  if (may_have_more_options(1)) return note(Opaque::Launcher);
  std::vector<const Word*> scripts;
  const Word *first = nullptr, *second = nullptr;
  bool options = true, given = false;
  for (std::size_t at = 1; at < size(); ++at) {
    const Word& word = words_[at];
    const std::string_view text = word.text;
    if (options && word.is("--")) {
      options = false;
    } else if (options && word.is_literal() && (text == "-e" || text == "-ne" || text == "-Ee" || text == "-re")) {
      given = true;
      if (++at < size()) scripts.push_back(&words_[at]);
    } else if (options && word.is_literal() && text.starts_with("-i")) {
      if (text.find_first_of("/*") != text.npos) return note(Opaque::Launcher);  // what was there is kept elsewhere
    } else if (options && word.is_literal() && text.size() > 1 && text.front() == '-') {
      static constexpr std::array kLong = {"--quiet", "--silent",    "--regexp-extended", "--in-place",
                                           "--posix", "--null-data", "--version",         "--help"};
      if (text.starts_with("--") ? std::ranges::none_of(kLong, [&](const char* one) { return text == one; })
                                 : text.find_first_not_of("nErsuzi", 1) != text.npos)
        return note(Opaque::Launcher);
    } else if (first == nullptr) {
      first = &word;
    } else if (second == nullptr) {
      second = &word;
    }
  }
  if (!given && first != nullptr) scripts.push_back(first);
  // BSD: `sed -i '' SCRIPT`, where the empty word is the end of the backup's name.
  if (!given && first != nullptr && first->is("") && second != nullptr) scripts.push_back(second);
  for (const Word* script : scripts)
    if (!script->is_literal() || !is_plain_sed(script->text)) note(Opaque::Launcher);
}

void Look::awk() {
  std::size_t at = 1;
  for (; at < size(); ++at) {
    if (!words_[at].is_literal()) return note(Opaque::Launcher);
    const std::string_view text = words_[at].text;
    if (text == "--") {
      ++at;
      break;
    }
    if (text.size() < 2 || text.front() != '-') break;
    if (text == "-F" || text == "-v") {
      ++at;
      if (at < size() && words_[at].splits) return note(Opaque::Launcher);
    } else if (!text.starts_with("-F") && !text.starts_with("-v") && text != "--version") {
      return note(Opaque::Launcher);
    }
  }
  if (at < size() && (!words_[at].is_literal() || runs_from_awk(words_[at].text))) note(Opaque::Launcher);
}

// `-j$(nproc)`: what is in the same word is the value, whatever it is.
static bool is_job_count(const Word& word) { return word.text == "-j" && !word.splits; }

// `cd /dev; make -f stdin`, `make -C / -f dev/fd/0`: whatever the folder, the name of an open file.
static bool is_stream_of_make(std::string_view text, std::string_view before) {
  const bool is_long = text.starts_with("--f") || text.starts_with("--mak");
  const bool is_glued = text.starts_with('-') && !text.starts_with("--") && text.find('f') != text.npos;
  const bool is_value = is_long || is_glued || (before.starts_with('-') && before.ends_with('f')) ||
                        before.starts_with("--f") || before.starts_with("--mak");
  if (is_long) text.remove_prefix(std::min(text.find('='), text.size()));
  else if (is_glued) text.remove_prefix(text.find('f') + 1);
  if (text.starts_with('=')) text.remove_prefix(1);
  const std::string_view name = base_name(text);
  const bool is_number = !name.empty() && std::ranges::all_of(name, is_digit);
  return name == "stdin" || (is_number && (is_value || text.find('/') != text.npos));
}

// Variables that are set for it, and rules that it is given as words, are read by a shell.
void Look::make(std::size_t from) {
  for (std::size_t at = from; at < size(); ++at) {
    const Word& word = words_[at];
    if (at == 2 && from == 1 && words_[1].is("-C") && !word.is_literal() && !word.splits) continue;  // a folder
    if (!word.is_literal() && word.may_be_option() && !is_job_count(word)) return note(Opaque::Launcher);
    const std::string_view text = word.text;
    const std::size_t sign = text.find('=');
    // `SHELL"$x"`: the sign may be in it.
    if (!word.is_literal() && sign == text.npos && !is_job_count(word) &&
        std::ranges::all_of(text, [](char c) { return is_name_char(c) || c == '.' || c == ','; }))
      return note(Opaque::Launcher);
    if (is_running_option(text, "E", "eval")) return note(Opaque::Launcher);
    if (is_stream_of_make(text, std::string_view(words_[at - 1].text))) return note(Opaque::StandardInput);
    // `-f -`, in every way to write it.
    if (text == "-" || text.ends_with("=-") || (text.starts_with('-') && text.ends_with("f-")) ||
        text.find("/dev/") != text.npos || text.find("/proc/") != text.npos)
      return note(Opaque::StandardInput);
    if (sign == text.npos || text.starts_with('-')) continue;
    const std::string_view name = text.substr(0, text.find_first_of(":+?!="));
    if (text.substr(0, sign).ends_with('!')) return note(Opaque::Launcher);  // `X!=command`
    if (!word.is_literal() || steers_programs(name) || text.find_first_of("$`;|&<>(){}\n\\'\"") != text.npos)
      return note(Opaque::Launcher);
  }
}

// `cmake -E env|time|chdir ... program`; definitions that name a program.
void Look::cmake() {
  static constexpr Program kEnvironment = {
      .names = "cmake-env", .runs = Runs::Rest, .long_flags = "", .long_values = "unset", .takes_assignments = true};
  for (std::size_t at = 1; at < size(); ++at) {
    const Word& word = words_[at];
    if (!word.is_literal() && word.may_be_option() && !is_job_count(word)) return note(Opaque::Launcher);
    const std::string_view text = word.text;
    if (text == "-E") {
      if (at + 1 >= size()) return;
      const Word& tool = words_[at + 1];
      if (!tool.is_literal()) return note(Opaque::Launcher);
      if (tool.is("time")) return rest(at + 2);
      if (tool.is("chdir"))
        return inner({words_.begin() + static_cast<std::ptrdiff_t>(std::min(at + 3, size())), words_.end()}, true);
      if (!tool.is("env"))
        return is_listed(
                   "capabilities cat compare_files copy copy_directory copy_directory_if_different "
                   "copy_if_different create_hardlink create_symlink echo echo_append environment false "
                   "make_directory md5sum sha1sum sha224sum sha256sum sha384sum sha512sum remove "
                   "remove_directory rename rm sleep tar touch touch_nocreate true",
                   tool.text)
                   ? void()
                   : note(Opaque::Launcher);
      const std::span<const Word> words = std::span(words_).subspan(at + 1);
      const auto program = first_operand(words, kEnvironment);
      if (!program) return note(Opaque::Launcher);
      assigned(words.first(*program));
      return rest(at + 1 + *program);
    }
    if (text == "--") return make(at + 1);  // the words of the build tool
    // Files that are run as it is configured, beside those of the project.
    if (text.starts_with("-C") || text.starts_with("-P") || text.starts_with("--tool")) return note(Opaque::Launcher);
    if (!text.starts_with("-D")) continue;
    std::string_view named = text == "-D" && at + 1 < size() ? std::string_view(words_[at + 1].text) : text.substr(2);
    named = named.substr(0, named.find_first_of("=:"));
    if (named.starts_with("CMAKE_") &&
        !is_listed("CMAKE_BUILD_TYPE CMAKE_INSTALL_PREFIX CMAKE_EXPORT_COMPILE_COMMANDS CMAKE_CXX_STANDARD "
                   "CMAKE_C_STANDARD CMAKE_CXX_STANDARD_REQUIRED CMAKE_CXX_EXTENSIONS CMAKE_VERBOSE_MAKEFILE "
                   "CMAKE_POSITION_INDEPENDENT_CODE CMAKE_COLOR_DIAGNOSTICS CMAKE_UNITY_BUILD "
                   "CMAKE_INTERPROCEDURAL_OPTIMIZATION CMAKE_OSX_ARCHITECTURES CMAKE_OSX_DEPLOYMENT_TARGET "
                   "CMAKE_CONFIGURATION_TYPES CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_BINDIR CMAKE_SKIP_RPATH "
                   "CMAKE_RUNTIME_OUTPUT_DIRECTORY CMAKE_LIBRARY_OUTPUT_DIRECTORY CMAKE_ARCHIVE_OUTPUT_DIRECTORY",
                   named))
      return note(Opaque::Launcher);
    for (const char* runs :
         {"COMPILER", "LAUNCH", "PROGRAM", "COMMAND", "TOOLCHAIN", "EMULATOR", "LINKER", "EXECUTABLE", "_TOOL"})
      if (named.find(runs) != named.npos) return note(Opaque::Launcher);
  }
}

// `-tAc`: flags, and -c, whose text is the next word.
static bool is_psql_cluster(std::string_view text) {
  return text.size() > 2 && text.starts_with('-') && text.ends_with('c') &&
         text.substr(1, text.size() - 2).find_first_not_of("AtxqXw1") == text.npos;
}

// Clients of databases have commands that run programs: in a text, in a file, on standard input.
void Look::database(std::string_view name) {
  const bool is_sqlite = name == "sqlite3";
  std::size_t texts = 0;
  bool has_database = false;
  for (std::size_t at = 1; at < size(); ++at) {
    const Word& word = words_[at];
    if (!word.is_literal()) return note(Opaque::Launcher);
    const std::string_view text = word.text;
    if (is_sqlite && text.starts_with('-')) {
      const std::string_view option = text.substr(text.starts_with("--") ? 2 : 1);
      if (!is_listed("batch bail box column csv echo header noheader html json line list markdown quote readonly safe "
                     "table tabs "
                     "version help",
                     option))
        return note(Opaque::Launcher);  // -cmd, -init, -A, ...
    } else if (is_sqlite && !has_database) {
      has_database = true;
    } else if (is_sqlite) {
      if (!is_plain_sqlite(text)) return note(Opaque::EvaluatedText);
      ++texts;
    } else if (text == "-c" || text == "--command" || text.starts_with("--command=") ||
               (text.starts_with("-c") && text.size() > 2) || is_psql_cluster(text)) {
      const bool is_next = text == "-c" || text == "--command" || is_psql_cluster(text);
      if (is_next && ++at >= size()) return note(Opaque::Launcher);
      if (!words_[at].is_literal() || !is_plain_psql(words_[at].text)) return note(Opaque::EvaluatedText);
      ++texts;
    } else if (text.starts_with('-') && text.size() > 1 &&
               !is_listed("-A -t -x -q -X -w -1 -l -At -tA -qAt -tAq --csv --tuples-only "
                          "--no-align --no-psqlrc --quiet --list --version --help "
                          "--no-password --single-transaction",
                          text)) {
      // An option with a value that says where to connect to; any other may name a file or a program.
      const char letter = text.size() > 1 ? text[1] : '\0';
      if (text.starts_with("--") ? !is_listed("--host --port --username --dbname", text.substr(0, text.find('=')))
                                 : std::string_view("hpUd").find(letter) == std::string_view::npos)
        return note(Opaque::Launcher);
      if (text.size() == 2 || (text.starts_with("--") && text.find('=') == text.npos)) ++at;
    } else if (text == "-l" || text == "--list" || text == "--version" || text == "--help") {
      ++texts;
    }
  }
  if (texts == 0) note(Opaque::StandardInput);
}

// Builtins whose words are names, numbers or options of the shell itself.
void Look::builtin(std::string_view name) {
  if (name == "trap") {
    const std::size_t from = size() > 1 && words_[1].is("--") ? 2 : 1;
    if (size() > from && !words_[from].is("-") && !words_[from].is("-p") && !words_[from].is("-l"))
      text(words_[from], true);
    return;
  }
  if (name == "jobs") {  // bash: `jobs -x program`
    for (std::size_t at = 1; at < size(); ++at)
      if (words_[at].may_be_option() && words_[at].text.find_first_not_of("-lnprs") != std::string::npos)
        note(Opaque::Launcher);
    return may_have_more_options(1) ? note(Opaque::Launcher) : void();
  }
  if (name == "export" || name == "readonly" || name == "local") return declared();
  if (name == "read" || name == "unset" || name == "getopts") return named_variables();
  if (name == "set") return set_options();
  if (name == "wait" && size() == 2 && words_[1].is_process) return;
  if (name == "wait" && size() > 1 && (words_[1].text.starts_with("-") || !words_[1].is_literal())) {
    // -p names a variable.
    if (may_have_more_options(1) || std::any_of(words_.begin() + 1, words_.end(), [](const Word& word) {
          return word.text.starts_with('-') && word.text.find('p') != std::string::npos;
        }))
      note(Opaque::Variable);
    return;
  }
  if (name == "printf" && size() > 1 && words_[1].may_be_option() && !words_[1].is("--") &&
      !words_[1].text.starts_with("-%"))
    note(Opaque::Variable);  // -v a[...]
  if (name == "shopt") {
    // Not nullglob: a word that is gone shifts the others, as in `find d/x* -delete`.
    static constexpr std::array kPlain = {"-s", "-u", "-q", "globstar", "dotglob", "failglob", "nocaseglob"};
    for (std::size_t at = 1; at < size(); ++at)
      if (std::ranges::none_of(kPlain, [&](const char* one) { return words_[at].is(one); })) note(Opaque::Syntax);
    return;
  }
  const bool is_test = name == "test" || name == "[";
  if (is_test) test();
  if (name == "printf") printf();
  if (name == "ulimit") limits();
  const bool takes_number = name == "exit" || name == "return" || name == "shift" || name == "break" ||
                            name == "continue" || name == "ulimit" || name == "umask";
  for (std::size_t at = 1; at < size(); ++at) {
    const Word& word = words_[at];
    // Where a number is wanted, zsh calculates: a subscript in it runs the commands that it holds.
    if ((is_test || takes_number || name == "printf") && word.is_literal() &&
        word.text.find('[') != std::string::npos && word.text.find_first_of("$`") != std::string::npos)
      note(Opaque::Arithmetic);
    if (takes_number && name != "ulimit" && name != "umask") number(word);
    else if (takes_number && !word.is_literal() && !word.text.empty()) note(Opaque::Arithmetic);
  }
}

// `ulimit -f 0`, `ulimit 0`: where no file may become so long, a shell leaves behind the file of a here-document.
void Look::limits() {
  bool is_of_files = true;
  for (std::size_t at = 1; at < size(); ++at) {
    const std::string_view text = words_[at].text;
    if (text.starts_with('-')) {
      if (text.find_first_not_of("-HS") != text.npos) is_of_files = text.find('f') != text.npos;
    } else if (is_of_files && text != "unlimited") {
      note(Opaque::UnknownPath);
    }
  }
}

// A word that zsh reads as a number: it calculates what is not digits.
void Look::number(const Word& word) {
  if (word.is_number) return;
  if (!word.variable.empty()) return out_.calculated.push_back(word.variable);
  if (!word.is_literal() || word.text.find_first_not_of("-+0123456789") != std::string::npos) note(Opaque::Arithmetic);
}

// Of a text that zsh may calculate.
void Look::names(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::size_t begin = at;
    while (at < text.size() && is_name_char(text[at])) ++at;
    if (begin < at && is_name_start(text[begin])) out_.named.emplace_back(text.substr(begin, at - begin));
  }
}

// May a glob or braces become `-v` and its operand? Not where a character of a file's name is in it: `*.txt`.
static bool may_be_test(const Word& word) {
  return word.kind == Word::Kind::Pattern && word.splits && word.may_be_option() &&
         (word.rest.find_first_of("{[") != std::string::npos ||
          word.rest.find_first_not_of("*?-vRt") == std::string::npos);
}

void Look::test() {
  const std::size_t end = size() > 1 && words_.back().is("]") ? size() - 1 : size();
  for (std::size_t at = 1; at < end; ++at) {
    const Word& word = words_[at];
    if (word.is("-v") || word.is("-R") || (word.kind == Word::Kind::Unknown && word.splits) || may_be_test(word))
      note(Opaque::Arithmetic);
    if (at + 1 >= end) break;
    if (word.is("-t")) number(words_[at + 1]);
    // The first of two unknown words may be `-v`, or the `-t` of a name.
    if (!word.is_literal() && !words_[at + 1].is_literal()) note(Opaque::Arithmetic);
    if (!word.is_literal()) names(words_[at + 1].text);
  }
}

// Does a format set the variables that its words name? `%n`, behind whatever flags.
static bool sets_variables(std::string_view format) {
  for (std::size_t sign = format.find('%'); sign < format.size(); sign = format.find('%', sign + 1)) {
    if (format.substr(sign).starts_with("%%")) {
      ++sign;
      continue;
    }
    const std::size_t letter = format.find_first_not_of("-+ #0123456789.'*$hlLjtz", sign + 1);
    if (letter != format.npos && format[letter] == 'n') return true;
  }
  return false;
}

// Words behind a format that prints numbers or sets variables.
void Look::printf() {
  std::size_t at = 1;
  while (at < size() && words_[at].is("--")) ++at;
  if (at + 1 >= size()) return;
  const std::string_view format = words_[at].text;
  // zsh: `\u0025` is a percent sign like any other.
  const bool is_unknown =
      !words_[at].is_literal() || format.find("\\u") != format.npos || format.find("\\U") != format.npos;
  bool has_numbers = is_unknown;
  if (is_unknown || sets_variables(format))
    for (std::size_t name = at + 1; name < size(); ++name) {
      const Word& word = words_[name];
      if (word.is_number || word.is_process) continue;
      if (!word.is_literal() || steers_execution(word.text) || word.text.find('[') != std::string::npos)
        note(Opaque::Variable);
      if (is_name(word.text)) out_.sets(word.text, false);
    }
  for (std::size_t sign = format.find('%'); sign < format.size(); sign = format.find('%', sign + 1)) {
    sign = format.find_first_not_of("-+ #0123456789.'", sign + 1);
    if (sign == format.npos || std::string_view("sbqc%").find(format[sign]) == format.npos) has_numbers = true;
    if (sign == format.npos) break;
  }
  if (!has_numbers) return;
  for (++at; at < size(); ++at) {
    // A literal that is no number is an error in bash and dash; zsh calculates it.
    if (!words_[at].is_literal() || words_[at].text.find('[') != std::string::npos) number(words_[at]);
    else names(words_[at].text);
  }
}

void Look::at(std::string_view name) {
  if (const std::string_view subcommand = git_command_in(name); !subcommand.empty()) {
    std::vector<Word> words = words_;
    words.front().text = "git";
    words.insert(words.begin() + 1, {std::string(subcommand)});
    return inner(std::move(words));
  }
  if (const RunBehind behind = run_behind_subcommand(name, words_); behind.what == Behind::Command) {
    // npm reads its options wherever they are: `npm exec x --script-shell=./c`.
    if (const Program* npm = name == "npm" ? program_called(name) : nullptr; npm && has_running_option(command_, *npm))
      note(Opaque::Launcher);
    return rest(behind.at, false, behind.elsewhere);
  } else if (behind.what == Behind::Unknown) {
    return note(Opaque::Launcher);
  }
  name = plain_name(name);
  const Program* program = program_called(name);
  if (program == nullptr) return;
  switch (program->runs) {
    case Runs::Rest: return launch(name, *program);
    case Runs::Text: return evaluated(name);
    case Runs::Shell: return shell();
    case Runs::Nothing: break;
    case Runs::Own:
      if (name == "find" || name == "gfind") return find();
      if (name == "sed" || name == "gsed") return sed();
      if (name.ends_with("awk")) return awk();
      if (name == "make" || name == "gmake") return make(1);
      if (name == "cmake") return cmake();
      if (name == "sqlite3" || name == "psql") return database(name);
      if (name == "git" && is_opaque_git(command_)) note(Opaque::Launcher);
      if (name == "ip" && std::ranges::any_of(words_, [](const Word& word) {
            return !word.is_literal() || (!word.text.empty() && std::string_view("exec").starts_with(word.text)) ||
                   word.text.starts_with("-b") || word.text.starts_with("--b");
          }))
        note(Opaque::Launcher);  // ip netns exec
      return;
  }
  if (program->flags == "*") builtin(name);
  if (has_running_option(command_, *program)) note(Opaque::Launcher);
}

}  // namespace

void add_command(Parsed& out, Command command, std::size_t depth) {
  if (out.commands.size() >= limits::kShellCommandsMax) return out.note(Opaque::TooManyCommands);
  if (depth > limits::kShellDepthMax) return out.note(Opaque::TooDeep);
  out.words += command.words.size();
  if (out.words > limits::kShellWordsMax) return out.note(Opaque::TooManyCommands);
  out.commands.push_back(std::move(command));
  const Command added = out.commands.back();  // more are added while it is looked at
  if (added.words.empty()) return;
  for (const Assignment& one : added.assignments)
    if (steers_programs(one.name, &one.value)) out.note(Opaque::Variable);
  const Word& program = added.words.front();
  if (!program.is_literal()) return out.note(Opaque::UnknownProgram);
  if (program.text.starts_with('=') || program.text.starts_with('%'))
    out.note(Opaque::UnknownProgram);  // zsh's paths, jobs
  Look(out, added, depth).at(base_name(program.text));
}

}  // namespace baton::shell
