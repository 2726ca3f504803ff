// SPDX-License-Identifier: Apache-2.0
#include "claims/commands.h"

#include <algorithm>
#include <array>

#include "base/limits.h"
#include "base/text.h"
#include "shell/effects.h"

namespace baton::claims {
namespace {

using shell::Command;
using shell::Opaque;
using shell::Parsed;
using shell::Step;
using shell::Word;

template <std::size_t N>
bool is_one_of(std::string_view word, const std::array<std::string_view, N>& words) {
  return std::ranges::find(words, word) != words.end();
}

// --- what somebody writes -------------------------------------------------------------------------------------------------------

// Words of letters and digits, in lower case.
std::vector<std::string> words_in(std::string_view text) {
  std::vector<std::string> out(1);
  for (const char c : text) {
    if (is_alphanumeric(c)) out.back() += to_lower(c);
    else if (!out.back().empty()) out.emplace_back();
  }
  if (out.back().empty()) out.pop_back();
  return out;
}

constexpr std::array<std::string_view, 13> kPassed = {"pass",     "passed",     "passes",      "passing", "ok",
                                                      "okay",     "success",    "green",       "clean",   "succeeded",
                                                      "succeeds", "successful", "successfully"};
constexpr std::array<std::string_view, 12> kFailed = {"fail",  "failed", "fails",  "failing", "failure", "failures",
                                                      "error", "errors", "broken", "crashed", "red",     "nonzero"};
constexpr std::array<std::string_view, 5> kNone = {"0", "no", "not", "without", "zero"};
constexpr std::array<std::string_view, 15> kVerbs = {"ran",   "run",     "running", "executed", "execute",
                                                     "i",     "command", "cmd",     "then",     "and",
                                                     "using", "via",     "with",    "also",     "we"};
constexpr std::array<std::string_view, 9> kNothing = {"none",    "n a",         "na",           "nothing", "skipped",
                                                      "not run", "no commands", "not executed", "no files"};

// It begins by saying so. "12 passed, 3 skipped" does not.
bool says_not_run(std::string_view text) {
  std::vector<std::string> words = words_in(text);
  while (!words.empty() && is_one_of(words.front(), kVerbs)) words.erase(words.begin());
  const std::string all = join(words, " ") + " ";
  for (const std::string_view begin :
       {"not run ", "not executed ", "skipped ", "did not run ", "could not run ", "never run ", "was not run "})
    if (all.starts_with(begin)) return outcome_in(text) == Says::Nothing;
  return false;
}

bool are_verbs(std::string_view text) {
  return std::ranges::all_of(words_in(text), [](const std::string& word) { return is_one_of(word, kVerbs); });
}

// `- `, `* `, `1. `, and the prompt of a shell.
std::string_view without_marks(std::string_view text) {
  for (bool again = true; again;) {
    again = false;
    text = trim(text);
    std::size_t digits = 0;
    while (digits < text.size() && is_digit(text[digits])) ++digits;
    if (digits > 0 && text.substr(digits).starts_with(". ")) text.remove_prefix(digits + 2), again = true;
    for (const std::string_view mark : {"$ ", "> ", "- ", "* ", "% "})
      if (text.starts_with(mark)) text.remove_prefix(mark.size()), again = true;
  }
  return text;
}

// "pytest (12 passed)" -> "pytest", and what was taken off; the same when there is nothing behind it.
std::string_view without_brackets(std::string_view text, std::string& remark) {
  for (text = trim(text); text.ends_with(')') || text.ends_with(']');) {
    const char open = text.back() == ')' ? '(' : '[';
    const std::size_t at = text.rfind(open);
    // Not a part of the command: `$(...)`, `a[1]`.
    if (at == std::string_view::npos || at < 2 || text[at - 1] != ' ') break;
    remark += " " + std::string(text.substr(at));
    text = trim(text.substr(0, at));
  }
  return text;
}

// "make -> ok", "make: passed"
std::string_view without_tail(std::string_view text, std::string& remark) {
  for (const std::string_view arrow :
       {" -> ", " => ", " \xe2\x86\x92 ", " \xe2\x80\x94 ", " \xe2\x80\x93 ", ": ", " - "}) {
    const std::size_t at = text.find(arrow);
    if (at == std::string_view::npos || at == 0) continue;
    remark += " " + std::string(text.substr(at + arrow.size()));
    return trim(text.substr(0, at));
  }
  return text;
}

std::string_view without_verbs(std::string_view text) {
  while (true) {
    const std::size_t end = text.find_first_of(" :");
    if (end == std::string_view::npos || end == 0) return text;
    if (!is_one_of(to_lower_ascii(text.substr(0, end)), kVerbs)) return text;
    text = trim(text.substr(end + 1));
  }
}

// What stands between backquotes, when all around it are words about it; `rest` is those.
std::vector<std::string> in_backquotes(std::string_view text, std::string& rest) {
  std::vector<std::string> out;
  bool inside = false;
  std::string current, before;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '`') {
      (inside ? current : before) += text[at];
      continue;
    }
    while (at + 1 < text.size() && text[at + 1] == '`') ++at;  // a fence
    if (inside && !trim(current).empty()) out.emplace_back(trim(current));
    // A command with a substitution in it is no quoted command.
    if (!inside && out.empty() && !are_verbs(before)) return {};
    if (!inside) rest += before + " ";
    current.clear();
    before.clear();
    inside = !inside;
  }
  rest += before;
  return inside ? std::vector<std::string>() : out;
}

// --- what was run ---------------------------------------------------------------------------------------------------------------

// Whether they run does not decide whether a check was made, and hardly ever goes wrong.
constexpr std::array<std::string_view, 11> kPrelude = {"cd", "pushd", "popd", "export", "set",  "source",
                                                       ".",  "true",  ":",    "unset",  "mkdir"};
constexpr std::array<std::string_view, 9> kLeaves = {"exit",  "exec",     "return", "logout", "kill",
                                                     "break", "continue", "trap",   "alias"};
// They make a name stand for something else.
constexpr std::array<std::string_view, 2> kRenames = {"hash", "enable"};
// Whatever they run ends as they do.
constexpr std::array<std::string_view, 24> kTransparent = {"env",  "nice",   "nohup",  "time",   "timeout", "command",
                                                           "sudo", "stdbuf", "setsid", "ionice", "doas",    "chronic",
                                                           "uv",   "poetry", "pipenv", "npx",    "bunx",    "pnpm",
                                                           "yarn", "pdm",    "hatch",  "rye",    "bundle",  "xvfb-run"};
constexpr std::array<std::string_view, 4> kShells = {"sh", "bash", "zsh", "dash"};
constexpr std::array<std::string_view, 40> kReaders = {
    "cat",       "head", "tail", "less", "more",    "sed",  "awk",    "gawk", "grep",       "egrep",
    "fgrep",     "rg",   "ag",   "nl",   "wc",      "diff", "cmp",    "od",   "xxd",        "hexdump",
    "strings",   "jq",   "yq",   "bat",  "batcat",  "sort", "uniq",   "cut",  "md5sum",     "sha1sum",
    "sha256sum", "tac",  "zcat", "git",  "xmllint", "view", "column", "comm", "shellcheck", "gsed"};

// Their first operand is a pattern or a script, unless an option has it.
constexpr std::array<std::string_view, 11> kSearch = {"grep", "egrep", "fgrep", "rg", "ag", "sed",
                                                      "gsed", "awk",   "gawk",  "jq", "yq"};
constexpr std::array<std::string_view, 11> kWithText = {"-e", "-g",     "-t",     "-m",       "-A",          "-B",
                                                        "-C", "--glob", "--type", "--regexp", "--expression"};
bool is_pattern_option(const Word& word) {
  return word.text.starts_with("-e") || word.text.starts_with("-f") || word.text.starts_with("--regexp") ||
         word.text.starts_with("--file") || word.text.starts_with("--expression");
}
// They only name a file.
constexpr std::array<std::string_view, 14> kGitWrites = {"add",    "rm",     "mv",           "checkout", "restore",
                                                         "reset",  "stash",  "clean",        "apply",    "commit",
                                                         "switch", "status", "update-index", "ls-files"};

std::string_view program_in(const Command& command) {
  return command.words.empty() || !command.words.front().is_literal() ? std::string_view()
                                                                      : std::string_view(command.words.front().text);
}

// A command of the line itself, as it is written.
bool is_of_line(const Command& command) { return command.list == 0 && command.via.empty() && !command.words.empty(); }

bool is_prelude(const Command& command) { return is_one_of(shell::base_name(program_in(command)), kPrelude); }

bool same_word(const Word& one, const Word& other) {
  return one.kind == other.kind && one.kind != Word::Kind::Unknown && one.text == other.text && one.rest == other.rest;
}

// `pytest` is also `.venv/bin/pytest`, but nothing that lies where anybody puts things.
bool same_program(std::string_view wanted, std::string_view run) {
  if (wanted.empty() || wanted == run) return !wanted.empty();
  if (wanted.find('/') != std::string_view::npos || wanted != shell::base_name(run)) return false;
  const std::string path = shell::normalised("/", run);
  for (const std::string_view folder : {"/tmp", "/var/tmp", "/dev"})
    if (shell::is_within(path, folder)) return false;
  return true;
}

bool same_command(const Command& wanted, const Command& run) {
  if (wanted.words.size() != run.words.size() || wanted.words.empty()) return false;
  if (!same_program(program_in(wanted), program_in(run))) return false;
  for (std::size_t at = 1; at < wanted.words.size(); ++at)
    if (!same_word(wanted.words[at], run.words[at])) return false;
  return std::ranges::all_of(wanted.assignments, [&](const shell::Assignment& one) {
    return std::ranges::any_of(run.assignments, [&](const shell::Assignment& other) {
      return one.name == other.name && same_word(one.value, other.value);
    });
  });
}

std::string one_blank(std::string_view text) {
  std::string out;
  for (const char c : trim(text)) {
    const bool blank = c == ' ' || c == '\t' || c == '\n';
    if (blank && out.ends_with(' ')) continue;
    out += blank ? ' ' : c;
  }
  return out;
}

std::string words_of(const Command& command) {
  std::string out;
  for (const Word& word : command.words)
    out += (out.empty() ? "" : " ") + (word.is_literal() ? word.text : word.text + "...");
  return out;
}

// What was not read to its end may have anything in it; and a program may not be what its name says.
bool is_cut_short(const Parsed& parsed) {
  static constexpr std::array kReasons = {Opaque::TooLong,     Opaque::TooDeep,          Opaque::TooManyCommands,
                                          Opaque::InvalidText, Opaque::ControlCharacter, Opaque::UnusualBlank,
                                          Opaque::Unbalanced,  Opaque::Syntax,           Opaque::HereDocument};
  return std::ranges::any_of(parsed.because,
                             [](Opaque reason) { return std::ranges::find(kReasons, reason) != kReasons.end(); });
}
bool may_be_another(const Parsed& parsed, std::string_view program) {
  for (const Opaque reason : parsed.because)
    if (reason == Opaque::Variable || reason == Opaque::EvaluatedText) return true;
  // A function of that name.
  const std::string& text = parsed.command;
  for (std::size_t at = text.find(program); at != std::string::npos; at = text.find(program, at + 1)) {
    const std::string_view behind = trim(std::string_view(text).substr(at + program.size()));
    if (behind.starts_with('(') && trim(behind.substr(1)).starts_with(')')) return true;
    if (trim(std::string_view(text).substr(0, at)).ends_with("function")) return true;
  }
  return false;
}

// The text that a shell is given to run, when the line does nothing else.
std::optional<std::string> only_text(const Parsed& parsed, bool& pipefail, bool& errexit) {
  if (parsed.steps.size() != 1) return std::nullopt;
  const Step& step = parsed.steps.front();
  if (step.members != 1 || step.negated || step.background) return std::nullopt;
  const std::string_view line = trim(parsed.command);
  if (!step.simple) {
    if (line.starts_with('(') && !line.starts_with("((") && line.ends_with(')'))
      return std::string(line.substr(1, line.size() - 2));
    return std::nullopt;
  }
  const auto first = std::ranges::find_if(parsed.commands, is_of_line);
  if (first == parsed.commands.end() || !is_one_of(shell::base_name(program_in(*first)), kShells)) return std::nullopt;
  bool reads_text = false;
  for (std::size_t at = 1; at < first->words.size(); ++at) {
    const Word& word = first->words[at];
    if (!word.is_literal()) return std::nullopt;
    if (word.text.starts_with('-') && word.text.size() > 1) {
      // Others may keep it from running the text: `-n`, `-D`, `--version`.
      static constexpr std::array<std::string_view, 5> kLong = {"--", "--norc", "--noprofile", "--login", "--posix"};
      if (is_one_of(word.text, kLong)) continue;
      if (word.text.find_first_not_of("cefilouvx", 1) != std::string::npos) return std::nullopt;
      reads_text = reads_text || word.text.find('c') != std::string::npos;
      errexit = errexit || word.text.find('e') != std::string::npos;
      if (word.text.find('o') == std::string::npos) continue;
      if (!word.text.ends_with('o') || ++at == first->words.size()) return std::nullopt;
      if (!first->words[at].is("pipefail") && !first->words[at].is("errexit") && !first->words[at].is("nounset"))
        return std::nullopt;
      pipefail = pipefail || first->words[at].is("pipefail");
      errexit = errexit || first->words[at].is("errexit");
      continue;
    }
    return reads_text ? std::optional(word.text) : std::nullopt;
  }
  return std::nullopt;
}

void take_options(const Command& set, bool& pipefail, bool& errexit) {
  for (std::size_t at = 1; at < set.words.size(); ++at) {
    const std::string& word = set.words[at].text;
    const bool on = word.starts_with('-');
    if (!on && !word.starts_with('+')) continue;
    if (word.find('e') != std::string::npos) errexit = on;
    if (!word.ends_with('o') || at + 1 >= set.words.size()) continue;
    ++at;
    if (set.words[at].is("pipefail")) pipefail = on;
    if (set.words[at].is("errexit")) errexit = on;
  }
}

}  // namespace

Says outcome_in(std::string_view remark) {
  const std::vector<std::string> words = words_in(remark);
  bool passed = false, failed = false;
  for (std::size_t at = 0; at < words.size(); ++at) {
    const bool negated = at > 0 && is_one_of(words[at - 1], kNone);
    const bool is_exit = words[at] == "exit" || words[at] == "status" || words[at] == "code" || words[at] == "rc";
    if (is_one_of(words[at], kPassed)) (negated ? failed : passed) = true;
    if (is_one_of(words[at], kFailed)) (negated ? passed : failed) = true;
    if (is_exit && at + 1 < words.size() && std::ranges::all_of(words[at + 1], is_digit))
      (words[at + 1] == "0" ? passed : failed) = true;
  }
  return failed ? Says::Failed : passed ? Says::Passed : Says::Nothing;
}

Named named_in(std::string_view text) {
  Named out;
  const std::string_view marked = without_marks(text);
  const std::string words = join(words_in(marked), " ");
  if (words.empty() || is_one_of(words, kNothing)) {
    out.is_none = true;
    return out;
  }
  std::string remark;
  if (std::vector<std::string> quoted = in_backquotes(marked, remark); !quoted.empty()) {
    for (std::string& one : quoted) one = without_marks(one);
    out.readings.push_back(std::move(quoted));
  } else {
    remark.clear();
    const auto add = [&](std::string_view reading) {
      std::vector<std::string> one = {std::string(trim(reading))};
      if (!one.front().empty() && std::ranges::find(out.readings, one) == out.readings.end())
        out.readings.push_back(std::move(one));
    };
    add(marked);
    const std::string_view bare = without_brackets(marked, remark);
    add(bare);
    add(without_verbs(bare));
    const std::string_view head = without_tail(bare, remark);
    add(head);
    add(without_verbs(head));
  }
  out.is_none = says_not_run(remark) || says_not_run(marked);
  out.says = outcome_in(remark);
  return out;
}

Line::Line(std::string_view text) : text_(text), parsed_(shell::parse(text)) {
  constexpr int kShellsDeep = 4;
  for (int depth = 0; depth < kShellsDeep; ++depth) {
    auto inner = only_text(parsed_, pipefail_, errexit_);
    if (!inner) break;
    text_ = std::move(*inner);
    parsed_ = shell::parse(text_);
  }
}

// `setsid -f`, `sudo -b`: they do not wait for what they run.
bool Line::is_forked(const Command& command) const {
  if (command.via != "setsid" && command.via != "sudo") return false;
  return std::ranges::any_of(parsed_.commands, [&](const Command& launcher) {
    return shell::base_name(program_in(launcher)) == command.via &&
           std::ranges::any_of(launcher.words, [&](const Word& word) {
             const bool is_long = word.text.starts_with("--");
             if (command.via == "setsid") return word.text.starts_with('-');
             return is_long ? word.text.starts_with("--b")
                            : word.text.starts_with('-') && word.text.find('b') != std::string::npos;
           });
  });
}

Line::Found Line::shown_of(std::size_t at, std::optional<bool> ended_well) const {
  const Command& command = parsed_.commands[at];
  if (command.list != 0 || command.repeats)
    return {Shows::Not, "it stands inside another command, which may not have run it"};
  if (!command.via.empty() && !is_one_of(command.via, kTransparent))
    return {Shows::Not, "`" + command.via + "` decides whether it is run"};
  const auto step = std::ranges::find(parsed_.steps, command.pipeline, &Step::pipeline);
  if (step == parsed_.steps.end()) return {Shows::Not, "where it stands in the line could not be read"};
  if (may_be_another(parsed_, shell::base_name(program_in(command))))
    return {Shows::Not, "the line changes what that name stands for"};
  if (step != parsed_.steps.begin() && step->joined == Step::Joined::Or)
    return {Shows::Not, "it is only run when what stands before it fails"};

  bool pipefail = pipefail_, errexit = errexit_, may_exit = errexit_, left = false, is_plain = true;
  for (std::size_t before = 0; before < at; ++before) {
    const Command& earlier = parsed_.commands[before];
    if (!is_of_line(earlier) || earlier.pipeline == command.pipeline) continue;
    const std::string_view program = shell::base_name(program_in(earlier));
    left = left || is_one_of(program, kLeaves);
    is_plain = is_plain && is_prelude(earlier);
    if (is_one_of(program, kRenames)) return {Shows::Not, "the line changes what that name stands for"};
    if (program != "set") continue;
    bool pipefail_now = pipefail, errexit_now = errexit;
    take_options(earlier, pipefail_now, errexit_now);
    may_exit = may_exit || errexit_now;
    // Where `set` may not have been reached, or only in a shell of its own, it only takes away.
    const auto its = std::ranges::find(parsed_.steps, earlier.pipeline, &Step::pipeline);
    const bool is_sure = its != parsed_.steps.end() && its->members == 1 && !its->background &&
                         (its == parsed_.steps.begin() || its->joined == Step::Joined::Sequence);
    pipefail = pipefail_now && (pipefail || is_sure);
    errexit = errexit_now && (errexit || is_sure);
  }
  if (left) return {Shows::Not, "the line may have been left before it"};

  Found out{Shows::Ended, {}};
  const auto hide = [&](std::string why) { out = {Shows::Run, std::move(why)}; };
  for (auto later = std::next(step); later != parsed_.steps.end(); ++later) {
    if (later->joined == Step::Joined::And) continue;
    // What fails ends the line there.
    if (later->joined == Step::Joined::Sequence && errexit && later == std::next(step)) break;
    hide(later->joined == Step::Joined::Or ? "`||` hides how it ended"
                                           : "what follows it in the line hides how it ended");
    break;
  }
  const bool is_last_member =
      std::none_of(parsed_.commands.begin() + static_cast<std::ptrdiff_t>(at) + 1, parsed_.commands.end(),
                   [&](const Command& later) { return is_of_line(later) && later.pipeline == command.pipeline; });
  if (!is_last_member && !pipefail) hide("a pipe hides how it ended");
  if (step->negated) hide("`!` turns round how it ended");
  if (step->background || is_forked(command)) hide("it was left in the background");
  if (is_cut_short(parsed_)) hide("the line could not be read to its end");

  // Behind `&&` it was run when what stands before it went well: the end of the line says so, or there is nothing that goes wrong.
  const bool is_conditional = step->joined == Step::Joined::And || may_exit;
  if (is_conditional && !is_plain && !(ended_well == true && out.shows == Shows::Ended))
    return {Shows::Not, "what stands before it may have ended the line"};
  return out;
}

std::optional<Line::Found> Line::find(const Parsed& wanted, std::optional<bool> ended_well) const {
  std::vector<const Command*> claimed;
  for (const Command& one : wanted.commands)
    if (is_of_line(one) && !is_prelude(one)) claimed.push_back(&one);
  if (claimed.empty())
    for (const Command& one : wanted.commands)
      if (is_of_line(one)) claimed.push_back(&one);
  const auto is_same_text = [&] { return one_blank(wanted.command) == one_blank(text_); };
  if (claimed.empty() || is_cut_short(wanted)) {
    if (!is_same_text()) return std::nullopt;
    return Found{Shows::Run, "how it ended cannot be read from the line"};
  }
  std::optional<Found> all;
  for (const Command* one : claimed) {
    std::optional<Found> best;
    for (std::size_t at = 0; at < parsed_.commands.size(); ++at) {
      if (!same_command(*one, parsed_.commands[at])) continue;
      Found found = shown_of(at, ended_well);
      if (!best || found.shows > best->shows) best = std::move(found);
    }
    if (!best) {
      if (!is_same_text()) return std::nullopt;
      best = Found{Shows::Run, "how it ended cannot be read from the line"};
    }
    if (!all || best->shows < all->shows) all = std::move(best);
  }
  return all;
}

std::optional<std::string> Line::run_of(std::string_view program) const {
  for (const Command& command : parsed_.commands)
    if (!program.empty() && same_program(program, program_in(command))) return words_of(command);
  return std::nullopt;
}

std::vector<std::string> Line::read_paths(std::string_view cwd) const {
  std::vector<std::string> out, folders = {std::string(cwd)};
  const auto in_folders = [&](std::string_view path, std::vector<std::string>& into) {
    for (std::size_t at = 0, count = folders.size(); at < count; ++at) {
      std::string resolved = shell::normalised(folders[at], path);
      into.push_back(resolved.empty() ? std::string(path) : std::move(resolved));
    }
  };
  for (std::size_t at = 0; at < parsed_.commands.size(); ++at) {
    const Command& command = parsed_.commands[at];
    const std::string_view program = shell::base_name(program_in(command));
    if ((program == "cd" || program == "pushd") && command.words.size() == 2 && command.words[1].is_literal() &&
        folders.size() < limits::kShellFoldersMax) {
      std::vector<std::string> more;
      in_folders(command.words[1].text, more);
      // Behind `&&` it has changed to it.
      const auto step = std::ranges::find(parsed_.steps, command.pipeline, &Step::pipeline);
      const bool is_sure = step != parsed_.steps.end() && std::next(step) != parsed_.steps.end() &&
                           std::next(step)->joined == Step::Joined::And;
      if (is_sure) folders = std::move(more);
      else std::ranges::move(more, std::back_inserter(folders));
    }
    if (!is_one_of(program, kReaders) || shown_of(at, std::nullopt).shows == Shows::Not) continue;
    const std::string_view first =
        command.words.size() > 1 ? std::string_view(command.words[1].text) : std::string_view();
    if (program == "git" && is_one_of(first, kGitWrites)) continue;
    bool is_text = is_one_of(program, kSearch) && std::ranges::none_of(command.words, is_pattern_option);
    for (std::size_t word = 1; word < command.words.size(); ++word) {
      std::string_view text = command.words[word].text;
      if (text.starts_with('-') && text.size() > 1) continue;
      if (is_one_of(program, kSearch) &&
          (is_one_of(command.words[word - 1].text, kWithText) || std::ranges::all_of(text, is_digit)))
        continue;
      if (is_text) {  // the pattern, or the script
        is_text = false;
        continue;
      }
      if (!command.words[word].is_literal()) continue;
      if (program == "git") text = text.substr(text.rfind(':') + 1);  // HEAD:path
      if (!text.empty()) in_folders(text, out);
    }
  }
  return out;
}

std::string_view program_of(const Parsed& wanted) {
  std::string_view out;
  for (const Command& one : wanted.commands) {
    if (!is_of_line(one) || is_prelude(one)) continue;
    if (!out.empty()) return {};
    out = shell::base_name(program_in(one));
  }
  return out;
}

std::string asks_only(const Parsed& wanted) {
  static constexpr std::array<std::string_view, 18> kAsks = {
      "--version",    "--help",      "--collect-only", "--co",       "--list",    "--list-tests",
      "--dry-run",    "--dryrun",    "--just-print",   "--recon",    "--no-run",  "--setup-only",
      "--setup-plan", "--show-only", "--listTests",    "--fixtures", "--markers", "--print-config"};
  for (const Command& one : wanted.commands) {
    const std::string_view program = shell::base_name(program_in(one));
    for (std::size_t at = 1; at < one.words.size(); ++at) {
      const std::string& word = one.words[at].text;
      const std::string_view option = std::string_view(word).substr(0, word.find('='));
      const bool alone = one.words.size() == 2;
      if (is_one_of(option, kAsks) ||
          (alone && (word == "-h" || word == "-version" || word == "help" || word == "version")) ||
          (alone && word == "-V" && program != "ctest") ||
          (word == "-n" && (program == "make" || program == "gmake")) || (word == "-N" && program == "ctest"))
        return "`" + std::string(program) + " " + word + "` runs nothing";
    }
  }
  return {};
}

std::string checks_nothing(const Parsed& wanted) {
  static constexpr std::array<std::string_view, 30> kIdle = {
      "echo",  "printf", "true", ":",    "which", "type", "whereis", "cat",   "ls",   "pwd",
      "date",  "sleep",  "cd",   "head", "tail",  "man",  "whoami",  "uname", "tee",  "touch",
      "mkdir", "export", "set",  "env",  "clear", "help", "history", "less",  "exit", "hostname"};
  static constexpr std::array<std::string_view, 6> kInstalls = {"install", "ci", "add", "download", "i", "sync"};
  static constexpr std::array<std::string_view, 16> kInstallers = {"pip",     "pip3", "npm", "yarn", "pnpm",   "apt",
                                                                   "apt-get", "brew", "gem", "uv",   "poetry", "bundle",
                                                                   "dnf",     "yum",  "apk", "conda"};
  std::string why;
  for (const Command& one : wanted.commands) {
    if (!is_of_line(one)) continue;
    const std::string_view program = shell::base_name(program_in(one));
    const std::string_view first = one.words.size() > 1 ? std::string_view(one.words[1].text) : std::string_view();
    const bool asks_where = program == "command" && (first == "-v" || first == "-V");
    if (is_one_of(program, kIdle) || is_prelude(one) || asks_where)
      why = "`" + std::string(program) + "` checks nothing";
    else if (is_one_of(program, kInstallers) && is_one_of(first, kInstalls))
      why = "`" + std::string(program) + " " + std::string(first) + "` installs, and checks nothing";
    else return {};  // something in it does check
  }
  return why;
}

}  // namespace baton::claims
