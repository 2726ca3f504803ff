// SPDX-License-Identifier: Apache-2.0
#include "protection/programs.h"

#include <algorithm>
#include <string>

#include "base/text.h"

namespace baton::protection {

namespace {

// `python3.11`, `lua5.4` and `node-18` without the version, `vim.basic` without what kind it is, `cmd.exe`.
std::string_view without_version(std::string_view program) {
  if (program.ends_with(".exe")) program.remove_suffix(4);
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
    "symlink_dir symlinksync linksync file_symlink renames renamesync unlink unlinksync chmod chown chmodsync "
    "chownsync shred rsync scp ditto tar unzip extractall unpack_archive extracttodirectory remove-item copy-item "
    "move-item rename-item copy2 symlink_to hardlink_to copyfs renameto moveto deletedir copyrecursively "
    "deleterecursively createsymboliclink moveitem removeitem copyitem fs_rename rename-file delete-directory "
    "copy-directory dirmove cp_lr dir_delete dir_move file_move file_copy ensuresymlinksync ensuresymlink junction "
    "symboliclink hardlink mklink robocopy xcopy expand-archive rd trash trash-put";
// English words too: of these only what is called.
constexpr std::string_view kCalled = "copy delete link move remove rename replace symlink";
constexpr std::string_view kCalledOfAnything =
    "move rename symlink";  // `p.rename(x)`; others are also methods of lists
constexpr std::string_view kOfFiles = "os shutil fs fse fsp promises file files fileutils deno io dir directory";
// Commands of PowerShell and cmd.exe that are short words: of these only what begins a statement.
constexpr std::string_view kOfWindows = "move ren del erase copy ri mi rni cpi md attrib icacls subst";

bool is_in_word(char c) { return is_alphanumeric(c) || c == '_' || c == '-'; }

// The few characters next to a word: what is further away is not looked at again for each word.
constexpr std::size_t kNear = 64;
std::string_view near_end(std::string_view text) { return text.substr(text.size() - std::min(kNear, text.size())); }
std::string_view without_blanks_in_front(std::string_view text) {
  text = text.substr(0, kNear);
  return text.substr(std::min(text.find_first_not_of(" \t"), text.size()));
}

// `Path(x).`
bool ends_with_path(std::string_view text) {
  const std::size_t at = text.rfind("Path(");
  return at != text.npos && text.ends_with(").") && text.find(')', at) == text.size() - 2;
}

// Is it called as one that is done to files? `before` and `behind`: what stands next to it.
bool is_called(const std::string& word, std::string_view before, std::string_view behind) {
  if (before.ends_with("::")) return true;  // `[IO.Directory]::Move(`
  if (before.ends_with('.')) {
    if (ends_with_path(before) || is_one_of(word, kCalledOfAnything)) return true;
    std::size_t from = before.size() - 1;
    while (from > 0 && is_in_word(before[from - 1])) --from;
    return is_one_of(to_lower_ascii(before.substr(from, before.size() - 1 - from)), kOfFiles);
  }
  if (word == "replace") return false;
  while (before.ends_with(' ')) before.remove_suffix(1);
  if (before.ends_with("file")) return true;  // Tcl
  behind = without_blanks_in_front(behind);
  return behind.starts_with("qw") ||
         (!behind.empty() && std::string_view("('\"$[./~").find(behind.front()) != behind.npos);
}

bool begins_statement(std::string_view before) {
  const bool is_all = before.size() < kNear;
  while (before.ends_with(' ')) before.remove_suffix(1);
  if (before.empty()) return is_all;
  return std::string_view("'\"({").find(before.back()) != before.npos;
}

}  // namespace

bool handles_folders(std::string_view statement) {
  constexpr std::size_t kLongest = 32;
  for (std::size_t at = 0; at < statement.size(); ++at) {
    if (!is_in_word(statement[at])) continue;
    const std::size_t from = at;
    while (at < statement.size() && is_in_word(statement[at])) ++at;
    if (at - from > kLongest) continue;
    const std::string word = to_lower_ascii(statement.substr(from, at - from));
    const std::string_view before = near_end(statement.substr(0, from)), behind = statement.substr(at);
    if (is_one_of(word, kOfFolders) || (is_one_of(word, kCalled) && is_called(word, before, behind)) ||
        (is_one_of(word, kOfWindows) && begins_statement(before)))
      return true;
  }
  return false;
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
