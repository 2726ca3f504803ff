// SPDX-License-Identifier: Apache-2.0
#include "shell/parse.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/limits.h"
#include "base/text.h"
#include "shell/reader.h"

namespace baton::shell {

namespace {

constexpr std::array kClosers = {"then", "else", "elif", "fi", "do", "done", "esac", "}"};
constexpr std::array kOpeners = {"if", "while", "until", "for", "select", "case", "function", "{", "[["};

template <std::size_t N>
bool is_one_of(std::string_view word, const std::array<const char*, N>& words) {
  return std::ranges::any_of(words, [&](const char* one) { return word == one; });
}

constexpr bool is_operator(char c) {
  return c == ';' || c == '&' || c == '|' || c == '<' || c == '>' || c == '(' || c == ')';
}

bool is_number(const Word& word) {
  return word.is_number || (word.is_literal() && !word.text.empty() && std::ranges::all_of(word.text, is_digit));
}

// `NAME=value` or `NAME+=value`, the name and the sign unquoted; the length of the name.
std::size_t assigned_name(std::string_view raw) {
  std::size_t at = 0;
  while (at < raw.size() && is_name_char(raw[at])) ++at;
  if (at == 0 || !is_name_start(raw.front())) return 0;
  return raw.substr(at).starts_with("=") || raw.substr(at).starts_with("+=") ? at : 0;
}

}  // namespace

std::string_view name_of(Opaque reason) {
  switch (reason) {
    case Opaque::TooLong: return "too long";
    case Opaque::TooDeep: return "nested too deeply";
    case Opaque::TooManyCommands: return "too many commands";
    case Opaque::InvalidText: return "not valid UTF-8";
    case Opaque::ControlCharacter: return "control character";
    case Opaque::UnusualBlank: return "invisible character or unusual blank";
    case Opaque::Unbalanced: return "quote or bracket that is not closed";
    case Opaque::Syntax: return "syntax that is not read";
    case Opaque::Continuation: return "line continued inside a word";
    case Opaque::Case: return "case statement";
    case Opaque::Function: return "function definition";
    case Opaque::Conditional: return "[[ ]]";
    case Opaque::Array: return "array";
    case Opaque::Coprocess: return "coprocess";
    case Opaque::ExtendedGlob: return "extended glob";
    case Opaque::NoCommand: return "redirection without a command";
    case Opaque::HereDocument: return "here-document that is not read";
    case Opaque::Expansion: return "expansion that is not read";
    case Opaque::Arithmetic: return "arithmetic";
    case Opaque::Backquotes: return "backquotes";
    case Opaque::ProcessSubstitution: return "process substitution";
    case Opaque::UnknownProgram: return "program decided by an expansion";
    case Opaque::UnknownPath: return "written path that is not known";
    case Opaque::Variable: return "variable that changes what is run";
    case Opaque::Launcher: return "launcher that is not looked through";
    case Opaque::StandardInput: return "commands from standard input";
    case Opaque::EvaluatedText: return "text that is run as commands";
  }
  return "";
}

void Parsed::note(Opaque reason) {
  const auto place = std::ranges::lower_bound(because, reason);
  if (place == because.end() || *place != reason) because.insert(place, reason);
}

void Parsed::sets(std::string_view variable, bool is_number) {
  const auto [place, is_new] = variables.emplace(variable, is_number);
  place->second = place->second && is_number;
}

std::string_view base_name(std::string_view program) {
  const std::size_t slash = program.rfind('/');
  return slash == std::string_view::npos ? program : program.substr(slash + 1);
}

Parsed parse(std::string_view command) {
  Parsed out;
  out.command = command;
  if (command.size() > limits::kShellCommandBytesMax) {
    out.note(Opaque::TooLong);
    return out;
  }
  read_commands(out, command, {});
  // Variables that commands set without naming them, and those that zsh keeps under two names.
  for (const char* name : {"_", "REPLY", "OPTARG", "argv", "MANPATH", "manpath", "MAILPATH", "mailpath", "PSVAR",
                           "psvar", "FIGNORE", "fignore", "WATCH", "watch"})
    out.sets(name, false);
  // zsh calculates what is in such a variable, and a subscript in it runs the commands that it holds.
  for (const std::string& name : out.calculated)
    if (const auto place = out.variables.find(name); place == out.variables.end() || !place->second)
      out.note(Opaque::Arithmetic);
  // A name that the line does not set is nothing, or what was there before.
  for (const std::string& name : out.named)
    if (const auto place = out.variables.find(name); place != out.variables.end() && !place->second)
      out.note(Opaque::Arithmetic);
  return out;
}

std::vector<std::string> programs_of(const Parsed& parsed) {
  std::set<std::string> out;
  for (const Command& command : parsed.commands)
    if (!command.words.empty() && command.words.front().is_literal()) out.insert(command.words.front().text);
  return {out.begin(), out.end()};
}

void read_commands(Parsed& out, std::string_view text, const Reading& reading) {
  if (reading.depth > limits::kShellDepthMax) return out.note(Opaque::TooDeep);
  if (find_invalid_utf8(text) != text.size()) return out.note(Opaque::InvalidText);
  const auto is_forbidden = [](char c) { return (c >= 0 && c < ' ' && c != '\t' && c != '\n') || c == 0x7f; };
  if (std::ranges::any_of(text, is_forbidden)) out.note(Opaque::ControlCharacter);
  if (text.find('\0') != std::string_view::npos) return;  // no shell is given what follows
  Reader(out, text, reading).commands();
}

// --- characters -----------------------------------------------------------------------------------------------------

void Reader::stop(Opaque reason) {
  if (!stopped_) out_.note(reason);
  stopped_ = true;
  at_ = text_.size();
  pending_.clear();
}

bool Reader::enter() {
  if (++reading_.depth <= limits::kShellDepthMax) return true;
  --reading_.depth;
  stop(Opaque::TooDeep);
  return false;
}

bool Reader::takes(std::string_view what) {
  if (!sees(what)) return false;
  at_ += what.size();
  return true;
}

bool Reader::at_word_end() const {
  const char c = peek();
  return at_end() || c == ' ' || c == '\t' || c == '\n' || is_operator(c);
}

void Reader::blanks() {
  while (!at_end()) {
    if (peek() == ' ' || peek() == '\t') {
      ++at_;
    } else if (sees("\\\n")) {
      if (!pending_.empty()) return stop(Opaque::HereDocument);
      // Behind a blank it continues the line between two words. Elsewhere it may join two parts of a word or an operator.
      if (at_ > 0 && text_[at_ - 1] != ' ' && text_[at_ - 1] != '\t') out_.note(Opaque::Continuation);
      at_ += 2;
    } else if (peek() == '#') {
      // Only reached where a word could begin.
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else {
      return;
    }
  }
}

void Reader::newlines() {
  for (blanks(); peek() == '\n' && !at_end(); blanks()) {
    ++at_;
    here_document_bodies();
  }
}

std::string_view Reader::plain_word() const {
  std::size_t end = at_;
  for (; end < text_.size(); ++end) {
    const char c = text_[end];
    if (c == ' ' || c == '\t' || c == '\n' || is_operator(c)) break;
    if (!is_name_char(c) && c != '{' && c != '}' && c != '[' && c != ']' && c != '!') return {};
  }
  return text_.substr(at_, end - at_);
}

bool Reader::ends_list() const {
  return at_end() || peek() == ')' || sees(";;") || sees(";&") || is_one_of(plain_word(), kClosers);
}

void Reader::expect(std::string_view reserved) {
  newlines();
  if (plain_word() != reserved) return stop(Opaque::Syntax);
  at_ += reserved.size();
}

void Reader::expect_close() {
  newlines();
  if (at_end()) return stop(Opaque::Unbalanced);
  if (!takes(")")) stop(Opaque::Syntax);
}

// --- lists ----------------------------------------------------------------------------------------------------------

void Reader::commands() {
  list();
  if (!pending_.empty()) stop(Opaque::HereDocument);
  if (!at_end()) stop(Opaque::Syntax);
}

void Reader::list() {
  if (!enter()) return;
  const std::size_t number = out_.lists++;
  for (newlines(); !ends_list(); newlines()) {
    const std::size_t first_step = out_.steps.size();
    and_or(number);
    blanks();
    if (ends_list() || peek() == '\n') continue;
    const bool background = peek() == '&' && peek(1) != '&' && peek(1) != '>' && peek(1) != '|';
    if (background && (peek(1) == '!' || peek(1) == '|')) out_.note(Opaque::Syntax);  // operators of zsh
    if (background && number == 0)
      for (std::size_t at = first_step; at < out_.steps.size(); ++at) out_.steps[at].background = true;
    if (peek() == ';' || background) ++at_;
    else stop(Opaque::Syntax);
  }
  --reading_.depth;
}

void Reader::and_or(std::size_t list_number) {
  Command::After after = Command::After::Anything;
  Step::Joined joined = Step::Joined::Sequence;
  while (true) {
    // Behind `a || b &&` it is not known which of the two has ended well.
    const bool is_certain = pipeline(list_number, after, joined) && joined != Step::Joined::Or;
    blanks();
    if (takes("&&"))
      after = is_certain ? Command::After::Success : Command::After::Anything, joined = Step::Joined::And;
    else if (takes("||")) after = Command::After::Anything, joined = Step::Joined::Or;
    else return;
    newlines();
  }
}

bool Reader::pipeline(std::size_t list_number, Command::After after, Step::Joined joined) {
  Step step;
  step.joined = joined;
  step.pipeline = out_.pipelines;
  Command frame;
  frame.list = list_number;
  frame.pipeline = out_.pipelines++;
  frame.after = after;
  bool is_plain = true, is_timed = false;
  for (blanks();; blanks()) {
    const std::string_view prefix = plain_word();
    if (prefix == "!") {
      if (is_timed) out_.note(Opaque::Launcher);  // the program `!`, where `time` is one
      at_ += prefix.size();
      is_plain = false;
      step.negated = !step.negated;
    } else if (prefix == "time") {
      at_ += prefix.size();
      is_timed = true;
      Command time = frame;
      time.words.push_back({"time"});
      add(std::move(time));
      blanks();
      if (sees("-p") && text_.substr(at_ + 2).find_first_of(" \t\n;&|") == 0) at_ += 2;
      blanks();
      if (peek() == '-') stop(Opaque::Launcher);  // bash takes `--` as well
      is_plain = false;
    } else if (prefix == "coproc") {
      stop(Opaque::Coprocess);
    } else {
      break;
    }
    if (!is_plain) frame.after = Command::After::Anything;
  }
  const std::size_t first = out_.commands.size();
  bool simple = command(frame);
  step.simple = simple;
  // `time a=b ls`: where `time` is no word of the grammar (dash), it runs the program `a=b`.
  for (std::size_t at = first; is_timed && at < out_.commands.size(); ++at)
    if (const Command& timed = out_.commands[at]; timed.list == frame.list && !timed.assignments.empty())
      out_.note(Opaque::Launcher);
  // `cd d &>f`: dash runs it in the background, and goes on in the folder of before.
  for (std::size_t at = first; at < out_.commands.size(); ++at)
    if (out_.commands[at].pipeline == frame.pipeline)
      for (const Redirection& one : out_.commands[at].redirections) is_plain = is_plain && one.operation[0] != '&';
  for (blanks(); peek() == '|' && peek(1) != '|'; blanks()) {
    at_ += peek(1) == '&' ? 2 : 1;
    newlines();
    // Beside a compound command, the folder it began in is not remembered.
    frame.after = step.simple ? Command::After::Pipe : Command::After::Anything;
    step.simple = command(frame) && step.simple;
    ++step.members;
    simple = false;
  }
  if (list_number == 0) out_.steps.push_back(step);
  return simple && is_plain;
}

void Reader::add(Command command) {
  command.repeats = command.repeats || reading_.repeats;
  command.runs_again = command.runs_again || reading_.runs_again;
  command.in_other_folder = command.in_other_folder || reading_.in_other_folder;
  command.at_end = command.at_end || reading_.at_end;
  if (command.via.empty()) command.via = reading_.via;
  add_command(out_, std::move(command), reading_.depth);
  if (out_.commands.size() > limits::kShellCommandsMax) stop(Opaque::TooManyCommands);
}

// --- commands -------------------------------------------------------------------------------------------------------

bool Reader::command(Command frame) {
  blanks();
  if (ends_list()) {
    stop(Opaque::Syntax);  // an operator without a command
    return false;
  }
  if (!enter()) return false;
  bool is_simple = false;
  const std::string_view reserved = plain_word();
  if (peek() == '(') {
    if (peek(1) == '(') out_.note(Opaque::Arithmetic);
    ++at_;
    const std::size_t before = out_.pipelines, begin = at_;
    // The body of a here-document that is still to come begins at a newline in here, too.
    const bool awaits_body = !pending_.empty();
    inner_list();
    if (awaits_body && text_.substr(begin, at_ - begin).find('\n') != text_.npos)
      return stop(Opaque::HereDocument), false;
    if (out_.pipelines == before) out_.note(Opaque::Syntax);  // zsh: a function without a name, or one more redirection
    redirections_of(frame);
  } else if (is_one_of(reserved, kOpeners)) {
    at_ += reserved.size();
    compound(reserved, frame);
  } else {
    is_simple = true;
    simple(std::move(frame));
  }
  --reading_.depth;
  return is_simple;
}

bool Reader::compound(std::string_view reserved, const Command& frame) {
  const bool repeats = reading_.repeats;
  if (reserved == "{") {
    list();
    expect("}");
  } else if (reserved == "if") {
    list();
    expect("then");
    list();
    for (newlines(); plain_word() == "elif"; newlines()) {
      at_ += 4;
      list();
      expect("then");
      list();
    }
    if (plain_word() == "else") {
      at_ += 4;
      list();
    }
    expect("fi");
  } else if (reserved == "while" || reserved == "until") {
    reading_.repeats = true;
    list();
    expect("do");
    list();
    expect("done");
  } else if (reserved == "for" || reserved == "select") {
    if (reserved == "select") out_.note(Opaque::Syntax);
    reading_.repeats = true;
    loop_over_words();
  } else if (reserved == "case") {
    out_.note(Opaque::Case);
    case_of();
  } else if (reserved == "[[") {
    out_.note(Opaque::Conditional);
    conditional();
  } else {  // function NAME [()] body
    blanks();
    const Word name = word();
    if (!name.is_literal() || name.text.empty()) stop(Opaque::Syntax);
    blanks();
    if (takes("(")) expect_close();
    function_body(frame);
    return false;
  }
  reading_.repeats = repeats;
  redirections_of(frame);
  return false;
}

void Reader::function_body(const Command& frame) {
  out_.note(Opaque::Function);  // its name may be that of any program or builtin
  newlines();
  if (peek() != '(' && !is_one_of(plain_word(), kOpeners)) return stop(Opaque::Syntax);
  const bool repeats = reading_.repeats;
  reading_.repeats = true;
  command(frame);
  reading_.repeats = repeats;
}

void Reader::loop_over_words() {
  blanks();
  const std::string_view name = plain_word();
  if (!is_name(name)) return stop(Opaque::Syntax);
  if (steers_execution(name)) out_.note(Opaque::Variable);
  out_.sets(name, false);
  at_ += name.size();
  newlines();
  if (plain_word() == "in") {
    at_ += 2;
    for (blanks(); !at_word_end() || sees("<(") || sees(">("); blanks()) word();
  }
  blanks();
  takes(";");
  expect("do");
  list();
  expect("done");
}

void Reader::case_of() {
  blanks();
  if (at_word_end()) return stop(Opaque::Syntax);
  word();
  expect("in");
  for (newlines(); plain_word() != "esac"; newlines()) {
    takes("(");
    do {
      blanks();
      if (at_word_end()) return stop(Opaque::Syntax);
      word();
      blanks();
    } while (takes("|"));
    if (!takes(")")) return stop(Opaque::Syntax);
    list();
    newlines();
    if (!takes(";;&") && !takes(";;") && !takes(";&") && plain_word() != "esac") return stop(Opaque::Syntax);
  }
  at_ += 4;
}

// Nothing runs in [[ ]] but what its words expand, numbers that are calculated, and names that are looked up.
void Reader::conditional() {
  bool calculates = false, all_numbers = true;
  while (true) {
    newlines();
    if (at_end()) return stop(Opaque::Unbalanced);
    if (takes("&&") || takes("||") || takes("(") || takes(")")) continue;
    if (at_word_end()) return stop(Opaque::Syntax);
    const Word one = word();
    if (!one.quoted && one.is("]]")) break;
    if (one.is("=~")) {
      blanks();
      if (at_word_end()) return stop(Opaque::Syntax);
      word();
      if (!at_word_end() || is_operator(peek())) return stop(Opaque::Syntax);
      continue;
    }
    if (one.is("-v") || one.is("-R")) out_.note(Opaque::Arithmetic);
    for (const char* test : {"-eq", "-ne", "-lt", "-le", "-gt", "-ge"}) calculates = calculates || one.is(test);
    const std::string_view value = std::string_view(one.text).substr(one.text.starts_with('-') ? 1 : 0);
    if (!one.is_literal() || !std::ranges::all_of(value, one.text == value ? is_digit : is_alphanumeric))
      all_numbers = false;
  }
  if (calculates && !all_numbers) out_.note(Opaque::Arithmetic);
}

void Reader::simple(Command frame) {
  bool redirects_both = false;
  while (true) {
    blanks();
    if (redirection(frame)) {
      redirects_both = redirects_both || frame.redirections.back().operation.starts_with('&');
      continue;
    }
    if (at_word_end() && !sees("<(") && !sees(">(")) break;
    const std::size_t begin = at_;
    const std::size_t name_size = frame.words.empty() ? assigned_name(text_.substr(begin)) : 0;
    Word one = word();
    if (frame.words.empty() && !one.quoted && one.is_literal() &&
        (is_one_of(one.text, kClosers) || is_one_of(one.text, kOpeners) || one.text == "!" || one.text == "time"))
      return stop(Opaque::Syntax);  // a reserved word where none can be
    if (frame.words.empty() && one.is_literal() && text_[begin] == '{') out_.note(Opaque::Syntax);  // zsh: a group
    // `{name}>file`, or digits that a continued line has kept from being seen as the number of a redirection.
    if (!one.quoted && !at_end() && (peek() == '<' || peek() == '>') &&
        (one.text.starts_with('{') || std::ranges::all_of(one.text, is_digit)))
      return stop(Opaque::Syntax);
    // zsh: `1=x` sets the first parameter, a name may have letters of any language, and the next word is the program.
    std::size_t end_of_name = begin;
    while (end_of_name < at_ && (is_name_char(text_[end_of_name]) || (text_[end_of_name] & 0x80) != 0)) ++end_of_name;
    const std::string_view behind = text_.substr(end_of_name);
    if (frame.words.empty() && name_size == 0 && end_of_name > begin &&
        !is_name(text_.substr(begin, end_of_name - begin)) &&
        (behind.starts_with('=') || behind.starts_with("+=") || behind.starts_with('[')))
      return stop(Opaque::Syntax);
    if (frame.words.empty() && name_size == 0 && assigned_name(one.text) > 0)
      return stop(Opaque::Syntax);  // an assignment whose name a continued line has cut in two, or nearly one
    if (name_size > 0) {
      if (!at_end() && peek() == '(') return stop(Opaque::Array);
      if (text_[begin + name_size] == '+') out_.note(Opaque::Syntax);  // a program of this name in dash
      Assignment assignment{std::string(text_.substr(begin, name_size)), std::move(one)};
      const std::size_t sign = assignment.value.text.find('=');
      assignment.value.text.erase(0, sign == std::string::npos ? assignment.value.text.size() : sign + 1);
      if (steers_execution(assignment.name, &assignment.value)) out_.note(Opaque::Variable);
      what_it_is_alone(assignment.value, text_.substr(begin + name_size + 1, at_ - begin - name_size - 1));
      out_.sets(assignment.name, is_number(assignment.value));
      frame.assignments.push_back(std::move(assignment));
      continue;
    }
    // NAME[subscript]=value: the subscript is calculated. Blanks in it do not end the word for bash, so the sign may follow later.
    if (frame.words.empty() && is_name_start(text_[begin])) {
      const std::string_view raw = text_.substr(begin, at_ - begin);
      const std::size_t end = raw.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
      if (end != std::string_view::npos && raw[end] == '[' &&
          (one.is_literal() || raw.find('=', end) != std::string_view::npos))
        out_.note(Opaque::Array);
    }
    if (redirects_both) out_.note(Opaque::Syntax);              // dash starts this word as a program: `a &>out b`
    if (!one.quoted && one.is("}")) out_.note(Opaque::Syntax);  // ends a group in zsh
    frame.words.push_back(std::move(one));
    if (peek() == '(' && !at_end() && std::string_view("@?*+!").find(text_[at_ - 1]) != std::string_view::npos)
      return stop(Opaque::ExtendedGlob);
    blanks();
    if (peek() == '(' && !at_end()) {
      if (frame.words.size() != 1 || !frame.words.front().is_literal() || !frame.assignments.empty() ||
          !frame.redirections.empty())
        return stop(Opaque::Syntax);
      ++at_;
      expect_close();
      frame.words.clear();
      return function_body(frame);
    }
  }
  if (frame.words.empty() && frame.assignments.empty() && frame.redirections.empty()) return stop(Opaque::Syntax);
  if (frame.words.empty() && !frame.redirections.empty()) out_.note(Opaque::NoCommand);  // zsh runs cat or a pager
  add(std::move(frame));
}

}  // namespace baton::shell
