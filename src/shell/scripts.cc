// SPDX-License-Identifier: Apache-2.0
// Texts in other languages than the shell's.
#include "base/text.h"
#include "shell/programs.h"

namespace baton::shell {

// Addresses, and of the commands those that only change what is printed: `10,20p`, `/x/d`, `s/a/b/g`.
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
        const std::size_t begin = at + (script.substr(at + 1).starts_with('^') ? 2 : 1);
        const std::size_t close = script.find(']', begin + 1);
        if (close == script.npos ||
            script.substr(at, close - at).find_first_of(std::string{end, '\\', ':'}) != script.npos)
          return false;
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
      if (end == '\\' || end == '\n' || end == '\0' || end == '[') return false;
      ++at;
      if (!delimited(end, command == 's') || !delimited(end, false)) return false;
      while (peek() == 'g' || peek() == 'p' || peek() == 'i' || peek() == 'I' || is_digit(peek())) ++at;
    } else if (std::string_view("dDpPnNgGhHxqQ=").find(command) == std::string_view::npos) {
      return false;
    } else {
      while (is_digit(peek())) ++at;  // q5
    }
    while (peek() == ' ') ++at;
    if (at < script.size() && peek() != ';' && peek() != '\n') return false;
  }
  return true;
}

bool runs_from_awk(std::string_view program) {
  if (program.find("system") != program.npos || program.find('@') != program.npos ||
      program.find("getline") != program.npos)
    return true;
  for (std::size_t at = program.find('|'); at != program.npos; at = program.find('|', at + 1)) {
    if (at + 1 >= program.size() || program[at + 1] != '|') return true;
    ++at;
  }
  return false;
}

bool is_plain_sqlite(std::string_view text) {
  for (std::string_view line : split(text, '\n')) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t\r\f\v"), line.size()));
    if (line.starts_with('.')) return false;  // a command of the shell: .shell, .system, .read, .output, .load, ...
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
