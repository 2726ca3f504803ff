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

constexpr std::string_view kOfFolders =
    "rm rmdir rm_r rm_rf rmtree remove_tree remove_dir remove_dir_all remove_entry remove_entry_secure removedirs "
    "removeall remove_all rmsync rmdirsync rimraf removesync emptydir emptydirsync del_dir del_dir_r deltree mv "
    "move_dir movesync cp cp_r copytree copy_tree copy_dir copydir cpsync copysync copy_entry ln ln_s ln_sf "
    "symlink_dir symlinksync linksync file_symlink renames renamesync file-rename unlink unlinksync chmod chown "
    "chmodsync chownsync shred rsync scp ditto tar unzip extractall unpack_archive extracttodirectory remove-item "
    "copy-item move-item rename-item";
constexpr std::string_view kOfFoldersWhereCalled = "copy delete link move remove rename replace symlink";
constexpr std::string_view kOfFoldersOnWindows =
    "remove-item copy-item move-item rename-item new-item expand-archive robocopy xcopy mklink rd rmdir deltree";

bool is_in_word(char c) { return is_alphanumeric(c) || c == '_' || c == '-'; }

// `take` of each word in lower case, of what is before and of what is behind it, until it is true.
template <class Take>
bool has_word(std::string_view text, const Take& take) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!is_in_word(text[at])) continue;
    std::size_t end = at;
    while (end < text.size() && is_in_word(text[end])) ++end;
    constexpr std::size_t kLongest = 32;
    const std::string_view word = text.substr(at, end - at);
    if (word.size() <= kLongest && take(to_lower_ascii(word), text.substr(0, at), text.substr(end))) return true;
    at = end;
  }
  return false;
}

// `Path(x).`
bool ends_with_path(std::string_view text) {
  const std::size_t at = text.rfind("Path(");
  return at != text.npos && text.ends_with(").") && text.find(')', at) == text.size() - 2;
}

}  // namespace

bool handles_folders(std::string_view text) {
  return has_word(text, [](const std::string& word, std::string_view before, std::string_view behind) {
    if (is_one_of(word, kOfFolders)) return true;
    if (!is_one_of(word, kOfFoldersWhereCalled)) return false;
    if (word == "replace") return before.ends_with("os.") || ends_with_path(before);  // others are of texts
    if (before.ends_with('.') || before.ends_with("file ")) return true;
    behind = trim(behind);
    return !behind.empty() && std::string_view("('\"$[./~").find(behind.front()) != std::string_view::npos;
  });
}

bool handles_folders_on_windows(std::string_view text) {
  return has_word(text, [](const std::string& word, std::string_view, std::string_view) {
    return is_one_of(word, kOfFoldersOnWindows);
  });
}

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
