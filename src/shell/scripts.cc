// SPDX-License-Identifier: Apache-2.0
// Texts in other languages than the shell's.
#include <algorithm>
#include <optional>

#include "base/text.h"
#include "shell/programs.h"

namespace baton::shell {

namespace {

// Where the set that begins at `[` closes. npos: it does not, or not every version closes it there.
std::size_t end_of_set(std::string_view script, std::size_t at) {
  at += script.substr(at + 1).starts_with('^') ? 2 : 1;
  for (const std::size_t begin = at; at < script.size(); ++at) {
    if (script[at] == ']' && at > begin) return at;
    if (script[at] == '\n' || script[at] == '\\') {
      // In some versions a backslash is a plain character here. With a letter that makes no difference to the end.
      if (script[at] == '\n' || at + 1 >= script.size() || !is_alphanumeric(script[at + 1])) return script.npos;
    } else if (script[at] == '[') {
      const std::string_view rest = script.substr(at + 1);
      if (rest.starts_with('.') || rest.starts_with('=')) return script.npos;
      if (!rest.starts_with(':')) continue;
      const std::size_t close = rest.find(":]", 1);  // [[:space:]]
      if (close == rest.npos || !std::ranges::all_of(rest.substr(1, close - 1), is_alphanumeric)) return script.npos;
      at += close + 2;
    }
  }
  return script.npos;
}

}  // namespace

// Addresses, and of the commands those that only change what is printed: `10,20p`, `/x/d`, `s/a/b/g`, `1i text`, `/x/{p;q}`.
bool is_plain_sed(std::string_view script) {
  std::size_t at = 0;
  const auto peek = [&] { return at < script.size() ? script[at] : '\0'; };
  // Up to the delimiter. Whether one in brackets ends it differs between versions.
  const auto delimited = [&](char end, bool is_pattern) {
    for (; at < script.size(); ++at) {
      if (script[at] == end) return ++at, true;
      if (script[at] == '\n') return false;
      if (script[at] == '\\') {
        ++at;
      } else if (script[at] == '[' && is_pattern) {
        const std::size_t close = end_of_set(script, at);
        if (close == script.npos || script.substr(at, close - at).find(end) != script.npos) return false;
        at = close;
      }
    }
    return false;
  };
  const auto address = [&] {
    if (peek() == '$') return ++at, true;
    if (peek() == '/') return ++at, delimited('/', true);
    while (is_digit(peek()) || peek() == '~' || peek() == '+') ++at;
    return true;
  };
  while (at < script.size()) {
    while (peek() == ' ' || peek() == ';' || peek() == '\n') ++at;
    if (at >= script.size()) return true;
    if (!address()) return false;
    if (peek() == ',' && (++at, !address())) return false;
    while (peek() == ' ' || peek() == '!') ++at;
    const char command = peek();
    ++at;
    if (command == 's' || command == 'y') {
      const char end = peek();
      if (end == '\\' || end == '\n' || end == '\0' || end == '[' || end == ']') return false;
      ++at;
      if (!delimited(end, command == 's') || !delimited(end, false)) return false;
      while (peek() == 'g' || peek() == 'p' || peek() == 'i' || peek() == 'I' || is_digit(peek())) ++at;
    } else if (command == '{') {
      continue;
    } else if (command == ':' || command == 'b' || command == 't' || command == 'T') {
      // Where a label goes on to the end of the line, the rest of the line is no command.
      while (peek() == ' ') ++at;
      const std::size_t label = at;
      while (is_alphanumeric(peek()) || peek() == '_') ++at;
      if ((command == ':' && at == label) || (at < script.size() && peek() != ';' && peek() != '\n')) return false;
    } else if (command == 'a' || command == 'i' || command == 'c') {
      // A text of one line, `1i text` or `1i\text`. Behind a backslash at its end versions differ.
      const std::size_t end = std::min(script.find('\n', at), script.size());
      const std::string_view text = script.substr(at, end - at);
      if (text.find_first_not_of(" \t\\") == text.npos || text.ends_with('\\')) return false;
      at = end;
    } else if (std::string_view("dDpPnNgGhHxqQ=}").find(command) == std::string_view::npos) {
      return false;
    } else {
      while (is_digit(peek())) ++at;  // q5
    }
    while (peek() == ' ') ++at;
    if (at < script.size() && peek() != ';' && peek() != '\n' && peek() != '}') return false;
  }
  return true;
}

namespace {

bool has_pipe(std::string_view text) {
  for (std::size_t at = text.find('|'); at != text.npos; at = text.find('|', at + 1)) {
    if (at + 1 >= text.size() || text[at + 1] != '|') return true;
    ++at;
  }
  return false;
}

// The program of awk without what is in its strings and patterns. Nothing: it is not certain where those end, because a slash may
// divide, too.
std::optional<std::string> without_texts(std::string_view program) {
  std::string out;
  char before = '{';  // the last character that is no blank: after it a slash begins a pattern
  for (std::size_t at = 0; at < program.size(); ++at) {
    const char c = program[at];
    if (c == '\r') return std::nullopt;
    if (c == '/' && std::string_view("({},;~!&|\n").find(before) == std::string_view::npos) return std::nullopt;
    if (c == '"' || c == '/') {
      for (++at; at < program.size() && program[at] != c; ++at) {
        const bool is_escaped = program[at] == '\\';
        if (is_escaped) ++at;
        if (at >= program.size() || program[at] == '\n') return std::nullopt;
        if (c == '/' && program[at] == '[' && !is_escaped) {
          const std::size_t close = end_of_set(program, at);
          if (close == program.npos || program.substr(at, close - at).find('/') != program.npos) return std::nullopt;
          at = close;
        }
      }
      if (at >= program.size()) return std::nullopt;
    }
    out += c;
    // After a backslash the line goes on: what was before the end of the line decides.
    if (c != ' ' && c != '\t' && (c != '\n' || before != '\\')) before = c;
  }
  return out;
}

}  // namespace

bool runs_from_awk(std::string_view program) {
  if (program.find("system") != program.npos || program.find('@') != program.npos ||
      program.find("getline") != program.npos)
    return true;
  return has_pipe(program) && has_pipe(without_texts(program).value_or("|"));
}

bool is_plain_sqlite(std::string_view text) {
  for (std::string_view line : split(text, '\n')) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t\r\f\v"), line.size()));
    if (!line.starts_with('.')) continue;
    // A command of the shell: .shell, .system, .read, .output, .load, ... These only print, or say how.
    if (!is_listed("tables schema indexes databases headers mode dump", line.substr(1, line.find(' ') - 1)) ||
        !std::ranges::all_of(line.substr(1), [](char c) { return is_alphanumeric(c) || c == '_' || c == ' '; }))
      return false;
  }
  const std::string lower = to_lower_ascii(text);
  for (const char* function : {"load_extension", "writefile", "readfile", "edit", "fts3_tokenizer", "attach", "vacuum"})
    if (lower.find(function) != std::string::npos) return false;
  return true;
}

bool is_plain_psql(std::string_view text) {
  // `copy t to program './c'` runs it on the server, which may be this machine.
  return text.find('\\') == text.npos && to_lower_ascii(text).find("program") == std::string::npos;
}

}  // namespace baton::shell
