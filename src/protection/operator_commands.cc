// SPDX-License-Identifier: Apache-2.0
#include "protection/operator_commands.h"

#include <algorithm>
#include <bitset>
#include <span>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "protection/baton_commands.h"
#include "protection/programs.h"

namespace baton::protection {

namespace {

using shell::Command;
using shell::Word;

// Some have another name as a package: `npx @anthropic-ai/claude-code mcp add`.
constexpr std::string_view kClients =
    "claude codex gemini copilot opencode cursor cursor-agent claude-code gemini-cli opencode-ai";

constexpr std::string_view kKills = "kill pkill killall killall5 skill systemctl service rc-service initctl launchctl";

// A regular expression of POSIX, of which only is asked whether it may fit a short text. What is not read here fits anything.
class Expression {
 public:
  explicit Expression(std::string_view text) : text_(text) {
    if (text.size() > kSizeMax) fits_anything_ = true;
    else code_ = alternatives(0);
    if (at_ < text_.size()) fits_anything_ = true;
    code_.push_back({Kind::Match});
  }

  // Somewhere in `subject`; `whole`: all of it.
  bool fits(std::string_view subject, bool whole) const {
    if (fits_anything_) return true;
    std::vector<std::size_t> now;
    for (std::size_t at = 0;; ++at) {
      std::vector<bool> seen(code_.size(), false);
      std::vector<std::size_t> reached;
      for (const std::size_t one : now) reach(one, at, subject, seen, reached);
      if (at == 0 || !whole) reach(0, at, subject, seen, reached);
      if ((!whole || at == subject.size()) &&
          std::ranges::any_of(reached, [&](std::size_t one) { return code_[one].kind == Kind::Match; }))
        return true;
      if (at == subject.size()) return false;
      now.clear();
      for (const std::size_t one : reached)
        if (const Step& step = code_[one]; step.kind == Kind::Set && step.set[static_cast<unsigned char>(subject[at])])
          now.push_back(one + 1);
    }
  }

 private:
  static constexpr std::size_t kSizeMax = 512;
  static constexpr int kDepthMax = 32;
  enum class Kind : std::uint8_t { Set, Split, Begin, End, Match };
  struct Step {
    Kind kind = Kind::Match;
    std::ptrdiff_t first = 1, second = 1;  // of a split: from here
    std::bitset<256> set = {};
  };
  using Code = std::vector<Step>;

  static Step any() {
    Step out{Kind::Set};
    out.set.set();
    return out;
  }
  static Code repeated(Code code) {
    const auto size = static_cast<std::ptrdiff_t>(code.size());
    code.insert(code.begin(), {Kind::Split, 1, size + 2});
    code.push_back({Kind::Split, -(size + 1), -(size + 1)});
    return code;
  }
  static void append(Code& code, const Code& more) { code.insert(code.end(), more.begin(), more.end()); }

  Code alternatives(int depth) {
    Code out = sequence(depth);
    while (at_ < text_.size() && text_[at_] == '|') {
      ++at_;
      const Code other = sequence(depth);
      Code both{{Kind::Split, 1, static_cast<std::ptrdiff_t>(out.size()) + 2}};
      append(both, out);
      const auto behind = static_cast<std::ptrdiff_t>(other.size()) + 1;
      both.push_back({Kind::Split, behind, behind});
      append(both, other);
      out = std::move(both);
    }
    return out;
  }
  Code sequence(int depth) {
    Code out;
    while (at_ < text_.size() && text_[at_] != '|' && (text_[at_] != ')' || depth == 0)) {
      Code one = atom(depth);
      for (; at_ < text_.size() && std::string_view("*+?{").find(text_[at_]) != std::string_view::npos; ++at_) {
        if (text_[at_] == '{') at_ = std::min(text_.find('}', at_), text_.size() - 1);
        one = repeated(std::move(one));  // fits more than `+`, `?` and `{2}`
      }
      append(out, one);
    }
    return out;
  }
  Code atom(int depth) {
    const char c = text_[at_++];
    Step step{Kind::Set};
    if (c == '^' || c == '$') return {{c == '^' ? Kind::Begin : Kind::End}};
    if (c == '.') return {any()};
    if (c == '[') return {set()};
    if (c == '(') {
      if (depth >= kDepthMax) return fits_anything_ = true, Code();
      Code out = alternatives(depth + 1);
      if (at_ < text_.size()) ++at_;
      return out;
    }
    if (c == '\\') {
      if (at_ == text_.size() || is_alphanumeric(text_[at_])) {  // a class, or the border of a word
        at_ = std::min(at_ + 1, text_.size());
        return repeated({any()});
      }
      step.set.set(static_cast<unsigned char>(text_[at_++]));
      return {step};
    }
    step.set.set(static_cast<unsigned char>(c));
    return {step};
  }
  Step set() {
    Step out{Kind::Set};
    const bool is_negated = at_ < text_.size() && text_[at_] == '^';
    if (is_negated) ++at_;
    for (const std::size_t begin = at_; at_ < text_.size() && (text_[at_] != ']' || at_ == begin); ++at_) {
      const auto from = static_cast<unsigned char>(text_[at_]);
      if (from == '[') return fits_anything_ = true, any();  // [[:alpha:]]
      auto to = from;
      if (at_ + 2 < text_.size() && text_[at_ + 1] == '-' && text_[at_ + 2] != ']')
        to = static_cast<unsigned char>(text_[at_ += 2]);
      for (std::size_t one = from; one <= to; ++one) out.set.set(one);
    }
    at_ = std::min(at_ + 1, text_.size());
    if (is_negated) out.set.flip();
    return out;
  }

  void reach(std::size_t from, std::size_t at, std::string_view subject, std::vector<bool>& seen,
             std::vector<std::size_t>& out) const {
    std::vector<std::size_t> left{from};
    while (!left.empty()) {
      const std::size_t one = left.back();
      left.pop_back();
      if (seen[one]) continue;
      seen[one] = true;
      const Step& step = code_[one];
      const auto go = [&](std::ptrdiff_t by) {
        left.push_back(static_cast<std::size_t>(static_cast<std::ptrdiff_t>(one) + by));
      };
      if (step.kind == Kind::Split) go(step.first), go(step.second);
      else if (step.kind == Kind::Begin ? at == 0 : step.kind == Kind::End && at == subject.size()) go(1);
      else if (step.kind == Kind::Set || step.kind == Kind::Match) out.push_back(one);
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool fits_anything_ = false;
  Code code_ = {};
};

// What the processes of Baton are called, and how their command lines begin.
bool fits_baton(std::string_view pattern, bool whole_line, bool whole) {
  const std::string lower = to_lower_ascii(pattern);
  const Expression expression(lower);
  for (const char* name : {"baton", "baton-hook"})
    if (expression.fits(name, whole)) return true;
  if (!whole_line) return false;
  for (const char* line : {"baton serve", "/usr/local/bin/baton serve", "baton mcp", "baton --store .baton serve"})
    if (expression.fits(line, whole)) return true;
  return false;
}

// Does a word name a process of Baton's, as it is written?
bool names_baton(std::string_view text) {
  while (!text.empty() && std::string_view("^/[").find(text.front()) != text.npos) text.remove_prefix(1);
  if (text.starts_with("b]")) return text.starts_with("b]aton");
  const std::string lower = to_lower_ascii(text);
  if (!lower.starts_with("baton")) return false;
  const std::string_view behind = std::string_view(lower).substr(5);
  return behind.empty() || std::string_view(" $/*").find(behind.front()) != behind.npos ||
         behind.starts_with("-hook") || behind.starts_with(".service");
}

// The words of pkill, pgrep and killall.
struct Search {
  std::vector<const Word*> patterns = {};
  bool whole_line = false, whole = false, inverts = false, of_users = false, is_expression = false;
};
Search search_of(const Command& command, bool is_killall) {
  const std::string_view values = is_killall ? "osuyznZ" : "dFgGPsuUtOqr";
  Search out;
  out.is_expression = !is_killall;
  for (std::size_t at = 1; at < command.words.size(); ++at) {
    const Word& word = command.words[at];
    const std::string_view text = word.text;
    if (text.size() < 2 || text.front() != '-') {
      out.patterns.push_back(&word);
    } else if (text.starts_with("--")) {
      const auto is = [&](std::string_view front) { return text.starts_with(front); };
      if (is("--f")) out.whole_line = true;
      if (is("--ex")) out.whole = true;
      if (is("--inv")) out.inverts = true;
      if (is("--reg")) out.is_expression = true;
      if (is("--u") || is("--eu") || is("--g")) out.of_users = true;
      const bool has_value = is("--sig") || is("--pi") || is("--pa") || is("--se") || is("--te") || is("--u") ||
                             is("--eu") || is("--g") || is("--old") || is("--you") || is("--ns") || is("--del") ||
                             is("--run");
      if (has_value && text.find('=') == text.npos) ++at;
    } else {
      for (std::size_t letter = 1; letter < text.size(); ++letter) {
        const char c = text[letter];
        if (c == 'f' && !is_killall) out.whole_line = true;
        if (c == 'x') out.whole = true;
        if (c == 'v' && !is_killall) out.inverts = true;
        if ((c == 'r' || c == 'm') && is_killall) out.is_expression = true;
        if (c == 'u' || c == 'U' || c == 'g' || c == 'G') out.of_users = true;
        if (values.find(c) == values.npos) continue;
        if (letter + 1 == text.size()) ++at;
        break;
      }
    }
  }
  return out;
}

// Does `pkill`, `pgrep` or `killall` find a process of Baton's? pkill takes a regular expression, which fits anywhere in the name.
bool finds_baton(const Command& command, bool is_killall) {
  const Search search = search_of(command, is_killall);
  if (search.inverts || (search.of_users && search.patterns.empty())) return true;
  return search.is_expression && std::ranges::any_of(search.patterns, [&](const Word* word) {
           return word->kind != Word::Kind::Unknown &&
                  fits_baton(word->text + word->rest, search.whole_line, search.whole);
         });
}

// The expressions of `grep x` and `awk '/x/'` behind ps; -v leaves out what it fits.
bool filters_baton(const Command& command, bool is_awk) {
  std::vector<std::string_view> patterns;
  for (const Word& word : std::span(command.words).subspan(1)) {
    const std::string_view text = word.text;
    if (!word.is_literal()) continue;
    if (is_awk) {
      const std::size_t begin = text.find('/'), end = begin == text.npos ? begin : text.find('/', begin + 1);
      if (end != text.npos) patterns.push_back(text.substr(begin + 1, end - begin - 1));
    } else if (!text.starts_with('-')) {
      if (patterns.empty()) patterns.push_back(text);
    } else if (text.starts_with("--inv") || (!text.starts_with("--") && text.find('v') != text.npos)) {
      return false;
    }
  }
  return std::ranges::any_of(patterns,
                             [](std::string_view one) { return !one.empty() && fits_baton(one, true, false); });
}

// Is a process of Baton's ended? `pkill baton`, `pkill -f 'aton serve'`, `kill $(pgrep -f 'baton serve')`, `kill -9 -1`.
bool kills_baton(const shell::Parsed& parsed) {
  if (!runs_one_of(parsed, kKills)) return false;
  std::string_view finds;  // what looks for processes that `kill` is given
  if (runs_one_of(parsed, "kill skill"))
    finds = runs_one_of(parsed, "ps") ? "pgrep pidof grep egrep awk" : "pgrep pidof";
  for (const Command& command : parsed.commands) {
    const std::string_view program = program_of(command);
    if (!is_one_of(program, finds) && !is_one_of(program, kKills)) continue;
    if (program == "killall5") return true;
    // All processes. The first word may be the signal.
    if (program == "kill" && command.words.size() > 2 &&
        std::any_of(command.words.begin() + 2, command.words.end(), [](const Word& word) { return word.is("-1"); }))
      return true;
    if (is_one_of(program, "pkill pgrep killall") && finds_baton(command, program == "killall")) return true;
    if (is_one_of(program, "grep egrep awk") && filters_baton(command, program == "awk")) return true;
    if (std::ranges::any_of(command.words, [](const Word& word) {
          return is_one_of(word.text, "status show cat is-active is-enabled list print");
        }))
      continue;
    if (std::ranges::any_of(std::span(command.words).subspan(1),
                            [](const Word& word) { return names_baton(word.text); }))
      return true;
  }
  return false;
}

// A client's own command that writes the settings with its hooks and servers: `claude mcp add`.
std::optional<std::string> client_settings_command(std::string_view client, std::span<const Word> words) {
  std::string what;
  bool may_be_value = false;
  for (const Word& word : words) {
    const bool may_be_value_here = may_be_value;
    if (may_be_value = word.text.starts_with('-'); may_be_value) continue;
    if (what.empty()) {
      if (is_one_of(word.text, "mcp plugin plugins extension extensions hooks")) what = word.text;
      else if (!may_be_value_here) return std::nullopt;
    } else if (is_one_of(word.text, "list ls get show status serve server mcp-server")) {
      return std::nullopt;
    } else {
      return "`" + std::string(client) + " " + what + " " + word.text + "`";
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> operator_command(const shell::Parsed& parsed) {
  if (kills_baton(parsed)) return "what ends a process of Baton's";
  for (const Command& command : parsed.commands) {
    const std::string_view program = program_of(command);
    if (is_one_of(program, kClients))
      if (auto found = client_settings_command(program, std::span(command.words).subspan(1))) return found;
    if (program == "baton-hook") return "the hook itself, which is for the client";
    if (program == "baton" && !is_for_agents(std::span(command.words).subspan(1))) return std::string(kForOperators);
  }
  return std::nullopt;
}

std::optional<std::string> operator_command_in_text(std::string text) {
  for (char& c : text)
    if (std::string_view("\"'()[]{},;|&`<>=\n\t").find(c) != std::string_view::npos) c = ' ';
  std::string_view program, command;
  for (const std::string_view word : split(text, ' ')) {
    if (word.empty() || (!program.empty() && word.starts_with('-'))) continue;
    if (program == "baton-hook" && is_one_of(word, kClients)) return "the hook itself, which is for the client";
    if (program == "baton" && command.empty() && is_for_operators(word)) return std::string(kForOperators);
    if (program == "baton" && is_for_operators(command, word)) return std::string(kForOperators);
    if (program == "baton" && command.empty() && has_subcommands(word)) {
      command = word;
      continue;
    }
    command = {};
    program = shell::base_name(word);
    if (program != "baton" && program != "baton-hook") program = {};
  }
  return std::nullopt;
}

}  // namespace baton::protection
