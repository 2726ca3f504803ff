// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/limits.h"
#include "base/text.h"
#include "shell/reader.h"

namespace baton::shell {

namespace {

constexpr bool is_special_parameter(char c) {
  return c == '@' || c == '*' || c == '#' || c == '?' || c == '$' || c == '!' || c == '-';
}

// Where unquoted globs and braces of a word stand: whether `[` and `{` are more than characters is known only at its end.
struct Patterns {
  std::size_t begins = std::string::npos;  // length of the literal text before the first one
  std::size_t bracket = std::string::npos, brace = std::string::npos;
  bool has_comma = false;  // an unquoted one after the brace

  void found(std::size_t at) { begins = std::min(begins, at); }
};

}  // namespace

bool is_name(std::string_view text) {
  return !text.empty() && is_name_start(text.front()) && std::ranges::all_of(text, is_name_char);
}

bool Word::may_be_option() const {
  if (kind == Kind::Literal) return text.starts_with('-');
  if (begins_a_path && !splits) return false;
  // Each word that a glob or braces become begins with the text before them.
  return (splits && kind == Kind::Unknown) || text.empty() || text.front() == '-';
}

void Reader::make_unknown(Word& out, bool splits) {
  out.kind = Word::Kind::Unknown;
  out.splits = out.splits || splits;
}

// While a word is literal its characters go to `text`; after that, to `rest`, which says whether a pattern can lead elsewhere.
static void put(Word& out, char c) { (out.is_literal() ? out.text : out.rest).push_back(c); }
// `$?`, `"$NAME"`, `$((...))`, and nothing else in the word.
void what_it_is_alone(Word& out, std::string_view raw) {
  if (out.is_literal()) return;
  if (raw.size() > 2 && raw.front() == '"' && raw.back() == '"') raw = raw.substr(1, raw.size() - 2);
  if (!raw.starts_with('$')) return;
  const std::string_view name = raw.substr(1);
  if (name == "?" || name == "#" || name == "$") out.is_number = true;
  else if (name == "!") out.is_process = true;
  else if (is_name(name)) out.variable = name;
  else if (raw.starts_with("$((") && raw.ends_with("))"))
    out.is_number = raw.find_first_not_of("0123456789 \t+-*/%()", 1) == raw.npos;
}

static void put(Word& out, std::string_view text) { (out.is_literal() ? out.text : out.rest).append(text); }

Word Reader::word() {
  const std::size_t begin = at_;
  Word out;
  Patterns patterns;
  while (!at_end()) {
    const char c = peek();
    if ((c == '<' || c == '>') && peek(1) == '(') {
      process_substitution(out);
      continue;
    }
    if (at_word_end()) break;
    switch (c) {
      case '\\':
        if (peek(1) == '\n') {
          out_.note(Opaque::Continuation);
          at_ += 2;
          break;
        }
        if (at_ + 1 >= text_.size()) {
          stop(Opaque::Unbalanced);
          break;
        }
        out.quoted = true;
        ++at_;
        put(out, character_here());
        break;
      case '\'': single_quoted(out); break;
      case '"': double_quoted(out); break;
      case '`': backquotes(out, false); break;
      case '$': dollar(out, false); break;
      default:
        if (out.is_literal()) {
          const std::size_t length = out.text.size();
          if (c == '*' || c == '?') patterns.found(length);
          if (c == '[') patterns.bracket = std::min(patterns.bracket, length);
          if (c == ']' && patterns.bracket != std::string::npos) patterns.found(patterns.bracket);
          if (c == '{') patterns.brace = std::min(patterns.brace, length);
          if (c == ',' && patterns.brace != std::string::npos) patterns.has_comma = true;
          // zsh: `{1\..3}` is a range, too, though its dots are quoted.
          if (c == '}' && patterns.brace != std::string::npos &&
              (patterns.has_comma || out.text.find("..", patterns.brace) != std::string::npos))
            patterns.found(patterns.brace);
          if (c == '~' && (length == 0 ? !out.quoted : out.text.back() == '=' || out.text.back() == ':')) {
            make_unknown(out, false);
            out.begins_a_path = length == 0;
          }
          // zsh: `=name` is the path of that program, whatever the name is made of.
          if (c == '=' && length == 0 && !out.quoted && at_ + 1 < text_.size() &&
              std::string_view(" \t\n;&|<>()").find(peek(1)) == std::string_view::npos)
            make_unknown(out, false);
        } else if (c == '{') {
          out.splits = true;  // `$x{a,b}`: several words
        } else if (c == '*' || c == '?' || c == '[') {
          out.splits = true;
        }
        if (static_cast<unsigned char>(c) >= 0x80) {
          // Invisible characters and blanks that some shell or reader takes for something else.
          std::size_t past = at_;
          const char32_t character = next_character(text_, past);
          if (is_blank(character) || is_control(character) || (character >= 0x200b && character <= 0x200f) ||
              (character >= 0x202a && character <= 0x202e) || (character >= 0x2060 && character <= 0x206f) ||
              character == 0xfeff)
            out_.note(Opaque::UnusualBlank);
        }
        put(out, character_here());
    }
  }
  if (!out.is_literal()) {
    patterns.found(patterns.bracket);
    patterns.found(patterns.brace);
  }
  if (patterns.begins != std::string::npos) {
    // A brace can make words of their own; a `$x` after a glob leaves the whole unknown.
    if (out.is_literal()) {
      out.kind = Word::Kind::Pattern;
      out.rest = out.text.substr(patterns.begins);
    }
    out.text.resize(std::min(patterns.begins, out.text.size()));
    out.splits = true;
  }
  what_it_is_alone(out, text_.substr(begin, at_ - begin));
  // Where the body of a here-document begins, when a line ends inside a word, differs between shells.
  if (!pending_.empty() && text_.substr(begin, at_ - begin).find('\n') != std::string_view::npos)
    stop(Opaque::HereDocument);
  return out;
}

std::string_view Reader::character_here() {
  const std::size_t begin = at_;
  next_character(text_, at_);
  return text_.substr(begin, at_ - begin);
}

void Reader::single_quoted(Word& out) {
  const std::size_t close = text_.find('\'', at_ + 1);
  if (close == std::string_view::npos) return stop(Opaque::Unbalanced);
  out.quoted = true;
  put(out, text_.substr(at_ + 1, close - at_ - 1));
  at_ = close + 1;
}

void Reader::double_quoted(Word& out) {
  out.quoted = true;
  ++at_;
  while (!at_end() && peek() != '"') {
    const char c = peek();
    if (c == '\\') {
      const char next = peek(1);
      if (next == '\n') {
        out_.note(Opaque::Continuation);
      } else if (next == '$' || next == '`' || next == '"' || next == '\\') {
        put(out, next);
      } else {
        put(out, c);
        ++at_;
        continue;
      }
      at_ += 2;
    } else if (c == '$') {
      dollar(out, true);
    } else if (c == '`') {
      backquotes(out, true);
    } else {
      put(out, c);
      ++at_;
    }
  }
  if (at_end()) return stop(Opaque::Unbalanced);
  ++at_;
}

// $'...': escapes as in C, but dash reads a dollar and a quoted text. So the value is unknown, and where an escaped quote would end
// it differently the line is opaque.
void Reader::ansi_quoted(Word& out) {
  out.quoted = true;
  make_unknown(out, false);
  at_ += 2;
  while (!at_end() && peek() != '\'') {
    if (sees("\\'")) out_.note(Opaque::Expansion);
    at_ += peek() == '\\' ? 2 : 1;
  }
  if (at_end()) return stop(Opaque::Unbalanced);
  ++at_;
}

void Reader::dollar(Word& out, bool in_quotes) {
  const char next = peek(1);
  if (next == '\\' && peek(2) == '\n') return stop(Opaque::Expansion);  // what it begins stands on the next line
  if (next == '\'' && !in_quotes) return ansi_quoted(out);
  if (next == '"' && !in_quotes) {  // translated by the locale
    out_.note(Opaque::Expansion);
    ++at_;
    return double_quoted(out);
  }
  if (next == '(') return peek(2) == '(' ? arithmetic(out) : substitution(out, in_quotes);
  if (next == '{') return braced(out, in_quotes);
  if (next == '[') {
    out_.note(Opaque::Arithmetic);
    make_unknown(out, !in_quotes);
    at_ += 2;
    return;
  }
  if (is_name_start(next)) {
    make_unknown(out, !in_quotes);
    at_ += 2;
    while (!at_end() && is_name_char(peek())) ++at_;
    // zsh: an element, by a number that is computed. Letters of any language belong to the name.
    std::size_t end = at_;
    while (end < text_.size() && (text_[end] & 0x80) != 0) ++end;
    if (text_.substr(end).starts_with('[')) out_.note(Opaque::Expansion);
    return;
  }
  if ((next & 0x80) != 0) {  // zsh: a variable
    out_.note(Opaque::Expansion);
    make_unknown(out, true);
  }
  if (is_digit(next) || is_special_parameter(next)) {
    // The count, the status and the shell's process are one number each. `$!` is nothing before the first background process.
    const bool is_number = next == '#' || next == '?' || next == '$';
    make_unknown(out, next == '@' || (!in_quotes && !is_number));
    at_ += 2;
    if (!is_digit(next) && peek() == '[' && !at_end()) out_.note(Opaque::Expansion);  // zsh: an element, as above
    if (next == '#') {  // zsh: `$#x[y]` is the length of one
      std::size_t end = at_;
      if (end < text_.size() && is_special_parameter(text_[end])) ++end;
      else
        while (end < text_.size() && (is_name_char(text_[end]) || (text_[end] & 0x80) != 0)) ++end;
      if (end > at_ && text_.substr(end).starts_with('[')) out_.note(Opaque::Expansion);
    }
    return;
  }
  if (next == '=' || next == '~' || next == '^' || next == '+') {  // zsh has expansions of these names
    out_.note(Opaque::Expansion);
    make_unknown(out, true);
  }
  put(out, '$');
  ++at_;
}

// ${...}: understood are a parameter, its length, and an operator with a plain text behind it, which the three shells read alike.
void Reader::braced(Word& out, bool in_quotes) {
  if (!enter()) return;
  at_ += 2;
  bool several = !in_quotes;
  if (peek() == '#' && peek(1) != '}') ++at_;  // the length
  if (is_name_start(peek())) {
    while (!at_end() && is_name_char(peek())) ++at_;
  } else if (is_digit(peek())) {
    while (!at_end() && is_digit(peek())) ++at_;
  } else if (peek() != '!' && is_special_parameter(peek())) {
    several = several || peek() == '@';
    ++at_;
  } else {
    out_.note(Opaque::Expansion);  // ${!x}, ${(e)x}: the variable's value is looked up or run
  }
  if (peek() == '[') out_.note(Opaque::Array);
  if (peek() == ':' &&
      (is_digit(peek(1)) || peek(1) == ' ')) {  // ${x:1:2}, in numbers only: anything else is calculated
    const std::size_t end = text_.find_first_not_of("0123456789: -", at_);
    if (end == text_.npos || text_[end] != '}') out_.note(Opaque::Arithmetic);
  } else if (peek() == ':') {
    ++at_;
    if (at_end() || std::string_view("-+?").find(peek()) == std::string_view::npos) out_.note(Opaque::Expansion);
  }
  // `=` assigns, `@` transforms (@P runs what is in the variable), `^` and `,` are bash's.
  if (!at_end() && std::string_view("}-+?#%/:").find(peek()) == std::string_view::npos) out_.note(Opaque::Expansion);
  Word operand;
  while (!at_end() && peek() != '}') {
    const char c = peek();
    if (!is_alphanumeric(c) && std::string_view(" _./,:=+-*?%#@").find(c) == std::string_view::npos)
      out_.note(Opaque::Expansion);
    if (c == '\\') {
      if (at_ + 1 >= text_.size()) break;
      at_ += 2;
    } else if (c == '\'') {
      single_quoted(operand);
    } else if (c == '"') {
      double_quoted(operand);
    } else if (c == '$') {
      dollar(operand, in_quotes);
    } else if (c == '`') {
      backquotes(operand, in_quotes);
    } else {
      ++at_;
    }
  }
  --reading_.depth;
  if (at_end()) return stop(Opaque::Unbalanced);
  ++at_;
  make_unknown(out, several);
}

// $((...)): nothing but numbers is calculated without looking into variables, and what is in those may run commands.
void Reader::arithmetic(Word& out) {
  std::size_t end = at_ + 3, open = 2;
  bool plain = true;
  for (; end < text_.size() && open > 0; ++end) {
    const char c = text_[end];
    if (c == '(') ++open;
    else if (c == ')') {
      if (--open == 1 && text_.substr(end + 1, 1) != ")") plain = false;  // a subshell has ended
    } else if (!is_digit(c) && std::string_view(" \t+-*/%<>=!&|^~?:,").find(c) == std::string_view::npos) plain = false;
  }
  if (open > 0 || !text_.substr(0, end).ends_with("))")) plain = false;
  make_unknown(out, false);
  if (plain) {
    at_ = end;
    return;
  }
  out_.note(Opaque::Arithmetic);
  // It may be a substitution that begins with a subshell: what can be seen of it is seen.
  substitution(out, false);
}

void Reader::substitution(Word& out, bool in_quotes) {
  const bool is_count = sees("$(nproc)");  // a number: `make -j$(nproc)`
  at_ += 2;
  ++out_.substitutions;
  if (!message_document()) substituted_list();
  make_unknown(out, !in_quotes && !is_count);
}

// `cat <<'WORD'`, a body of which no line begins with WORD, WORD alone on a line, `)`. The body is not expanded.
bool Reader::message_document() {
  constexpr std::string_view kOpening = "cat <<'";
  if (!sees(kOpening)) return false;
  std::size_t at = at_ + kOpening.size();
  const std::size_t quote = text_.find('\'', at);
  if (quote == text_.npos || quote == at) return false;
  const std::string_view mark = text_.substr(at, quote - at);
  if (!std::ranges::all_of(mark, is_name_char) || !text_.substr(quote + 1).starts_with('\n')) return false;
  for (at = quote + 2; at < text_.size();) {
    const std::size_t end = text_.find('\n', at);
    if (end == text_.npos) return false;
    const std::string_view line = text_.substr(at, end - at);
    at = end + 1;
    if (!line.starts_with(mark)) continue;
    if (line != mark || !text_.substr(at).starts_with(')')) return false;
    Command cat;
    cat.list = out_.lists++;
    cat.pipeline = out_.pipelines++;
    cat.words.push_back({"cat"});
    cat.redirections.push_back({"<<", -1, {std::string(mark), Word::Kind::Literal, false, true}});
    add(std::move(cat));
    if (!stopped_) at_ = at + 1;
    return true;
  }
  return false;
}

void Reader::process_substitution(Word& out) {
  out_.note(Opaque::ProcessSubstitution);
  at_ += 2;
  substituted_list();
  make_unknown(out, false);
}

void Reader::substituted_list() {
  ++substitutions_;
  inner_list();
  --substitutions_;
}

void Reader::inner_list() {
  std::vector<HereDocument> outer;
  std::swap(outer, pending_);
  list();
  if (!pending_.empty()) stop(Opaque::HereDocument);
  std::swap(outer, pending_);
  expect_close();
}

void Reader::backquotes(Word& out, bool in_quotes) {
  out_.note(Opaque::Backquotes);
  std::string inner;
  ++at_;
  while (!at_end() && peek() != '`') {
    if (peek() == '\\' && (peek(1) == '`' || peek(1) == '$' || peek(1) == '\\' || (in_quotes && peek(1) == '"'))) ++at_;
    inner.push_back(peek());
    ++at_;
  }
  if (at_end()) return stop(Opaque::Unbalanced);
  ++at_;
  Reading reading = reading_;
  ++reading.depth;
  read_commands(out_, inner, reading);
  make_unknown(out, !in_quotes);
}

void Reader::here_document() {
  Word ignored;
  while (!at_end()) {
    const char c = peek();
    if (c == '\\') at_ += 2;
    else if (c == '$') dollar(ignored, true);
    else if (c == '`') backquotes(ignored, true);
    else ++at_;
  }
}

}  // namespace baton::shell
