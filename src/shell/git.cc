// SPDX-License-Identifier: Apache-2.0
// git runs programs by its settings, options and subcommands.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "shell/programs.h"

namespace baton::shell {

namespace {

constexpr std::string_view kGitCommands =
    " add am annotate apply archive bisect blame branch bundle cat-file check-attr check-ignore check-mailmap "
    "check-ref-format "
    "checkout checkout-index cherry cherry-pick clean clone commit commit-graph commit-tree config count-objects "
    "describe diff "
    "diff-files diff-index diff-tree fast-export fetch fmt-merge-msg for-each-ref format-patch fsck gc grep "
    "hash-object help "
    "init log ls-files ls-remote ls-tree maintenance merge merge-base merge-file merge-tree mktag mktree mv name-rev "
    "notes "
    "pack-objects pack-refs prune pull push range-diff read-tree rebase reflog remote repack replace rerere reset "
    "restore "
    "rev-list rev-parse revert rm shortlog show show-branch show-ref sparse-checkout stage stash status stripspace "
    "submodule "
    "switch symbolic-ref tag unpack-objects update-index update-ref var verify-commit verify-pack verify-tag version "
    "whatchanged worktree write-tree ";
// Their options can name a program, or they run one for each of many things.
constexpr std::array kGitRunning = {
    std::pair{"push", " receive-pack exec "},
    std::pair{"fetch", " upload-pack "},
    std::pair{"pull", " upload-pack "},
    std::pair{"clone", " upload-pack config template "},
    std::pair{"ls-remote", " upload-pack exec "},
    std::pair{"archive", " exec "},
    std::pair{"rebase", " exec "},
    std::pair{"grep", " open-files-in-pager "},
    std::pair{"cherry-pick", " strategy "},
    std::pair{"revert", " strategy "},
    std::pair{"init", " template "},
    std::pair{"merge", " strategy "},
    std::pair{"pull", " strategy "},
    std::pair{"rebase", " strategy "},
};
constexpr std::string_view kGitSettings =
    " user.name user.email color.ui core.quotepath core.autocrlf core.filemode commit.gpgsign tag.gpgsign "
    "init.defaultbranch "
    "pull.rebase pull.ff push.default push.autosetupremote fetch.prune merge.conflictstyle diff.renames diff.algorithm "
    "advice.detachedhead log.date rebase.autostash rebase.autosquash safe.directory http.postbuffer core.longpaths ";

// Options of `git config` that have no value: behind any other the first word may be no setting's name.
constexpr std::string_view kGitConfigFlags =
    "--global --local --system --worktree --add --replace-all --unset --unset-all --get --get-all --get-regexp "
    "--get-urlmatch --list -l --bool --int --bool-or-int --bool-or-str --path --expiry-date --no-type --null -z "
    "--name-only --show-origin --show-scope --includes --no-includes --fixed-value";

bool is_safe_setting(std::string_view name) { return is_listed(kGitSettings, to_lower_ascii(name)); }

// `-c name=value`, `-c name`
bool is_safe_assignment(const Word& word) {
  const std::size_t sign = word.text.find('=');
  if (sign == std::string::npos) return word.is_literal() && is_safe_setting(word.text);
  return word.is("core.pager=cat") || (!word.splits && is_safe_setting(std::string_view(word.text).substr(0, sign)));
}

bool is_opaque_git_command(std::string_view subcommand, std::span<const Word> words) {
  if (subcommand == "filter-branch" || !is_listed(kGitCommands, subcommand)) return true;
  const Word none;
  const Word& next = words.empty() ? none : words.front();
  if (subcommand == "bisect")
    return !next.is("start") && !next.is("good") && !next.is("bad") && !next.is("reset") && !next.is("log") &&
           !next.is("skip");
  if (subcommand == "maintenance") return !next.is("run");  // start: a timer of the system
  if (subcommand == "submodule") return !next.is("update") && !next.is("status") && !next.is("init") && !words.empty();
  if (subcommand == "config") {
    // Reading settings runs nothing, and setting a plain one does not either.
    bool reads = false;
    std::size_t names = 0;
    for (const Word& word : words) {
      if (!word.is_literal() && names == 0) return true;
      for (const char* option : {"--get", "--get-all", "--get-regexp", "--list", "-l", "get", "list"})
        reads = reads || word.is(option);
      if (word.is("-f") || word.is("--file") || word.text.starts_with("--file=")) return true;  // another file
      if (word.text.starts_with('-')) {
        if (!reads && !word.text.starts_with("--type=") && !is_listed(kGitConfigFlags, word.text)) return true;
        continue;
      }
      if (names++ > 0) continue;
      if (!reads && words.size() > 1 && !(word.is_literal() && is_safe_setting(word.text))) return true;
    }
    return false;
  }
  for (const Word& word : words) {
    // `ext::command`, `name::address`: git-remote-name is run.
    if (is_listed("clone fetch pull push ls-remote remote submodule archive", subcommand) &&
        word.text.find("::") != std::string::npos)
      return true;
    for (const auto& [name, options] : kGitRunning) {
      if (subcommand != name) continue;
      const std::string_view shorts = subcommand == "grep"                            ? "O"
                                      : subcommand == "rebase"                        ? "xs"
                                      : subcommand == "clone"                         ? "uc"
                                      : subcommand == "merge" || subcommand == "pull" ? "s"
                                                                                      : "";
      if (word.is_literal() ? is_running_option(word.text, shorts, options) : word.may_be_option()) return true;
    }
  }
  return false;
}

}  // namespace

std::string_view git_command_in(std::string_view program) {
  // Of one that is not known too: `git-difftool -x` runs what `git difftool -x` runs.
  return program.starts_with("git-") ? program.substr(4) : std::string_view();
}

bool is_opaque_git(const Command& command) {
  const std::span<const Word> words = command.words;
  for (std::size_t at = 1; at < words.size(); ++at) {
    const Word& word = words[at];
    if (word.is("-C") || word.is("--git-dir") || word.is("--work-tree") || word.is("--namespace")) {
      // Another folder has settings of its own, but they are files; only an expansion could be more than its value.
      if (++at < words.size() && words[at].splits) return true;
      continue;
    }
    if (word.is("-c")) {
      if (++at >= words.size() || !is_safe_assignment(words[at])) return true;
      continue;
    }
    if (!word.is_literal()) return true;
    if (word.text.starts_with("--git-dir=") || word.text.starts_with("--work-tree=") || word.is("--no-pager") ||
        word.is("-P") || word.is("--version") || word.is("--help") || word.is("--no-optional-locks") ||
        word.is("--bare") || word.is("--literal-pathspecs") || word.is("--no-replace-objects"))
      continue;
    if (word.text.starts_with('-')) return true;
    return is_opaque_git_command(word.text, words.subspan(at + 1));
  }
  return false;
}

}  // namespace baton::shell
