// SPDX-License-Identifier: Apache-2.0
#include "protection/programs.h"

#include <algorithm>
#include <string>

#include "base/text.h"

namespace baton::protection {

namespace {

// `python3.11`, `lua5.4` and `node-18` without the version, `vim.basic` without what kind it is.
std::string_view without_version(std::string_view program) {
  if (program.starts_with("vim.")) return "vim";
  std::size_t end = program.find_last_not_of("0123456789.");
  if (end == program.npos || end == 0) return program;
  if (program[end] == '-' && end + 1 < program.size()) --end;
  return program.substr(0, end + 1);
}

}  // namespace

bool is_one_of(std::string_view name, std::string_view names) {
  if (name.empty() || name.find(' ') != name.npos) return false;
  const auto is_blank_at = [&](std::size_t at) { return at >= names.size() || names[at] == ' '; };
  for (std::size_t at = names.find(name); at != names.npos; at = names.find(name, at + 1))
    if ((at == 0 || is_blank_at(at - 1)) && is_blank_at(at + name.size())) return true;
  return false;
}

std::string_view program_of(const shell::Command& command) {
  return command.words.empty() || !command.words.front().is_literal() ? std::string_view()
                                                                      : shell::base_name(command.words.front().text);
}

bool runs_one_of(const shell::Parsed& parsed, std::string_view programs) {
  return std::ranges::any_of(shell::programs_of(parsed), [&](const std::string& program) {
    const std::string_view name = shell::base_name(program);
    return is_one_of(name, programs) || is_one_of(without_version(name), programs);
  });
}

}  // namespace baton::protection
