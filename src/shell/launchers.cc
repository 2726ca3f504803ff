// SPDX-License-Identifier: Apache-2.0
#include "shell/launchers.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "shell/reader.h"

namespace baton::shell {

namespace {

// Words between blanks, with one in front and one at the end.
bool holds(std::string_view words, std::string_view one) {
  if (one.empty() || one.find(' ') != std::string_view::npos) return false;
  for (std::size_t at = words.find(one); at != std::string_view::npos; at = words.find(one, at + 1))
    if (words[at - 1] == ' ' && words[at + one.size()] == ' ') return true;
  return false;
}

constexpr std::array kLaunchers = {
    Launcher{"env", "i0v", "u", " ignore-environment null debug ", " unset ", 0, true},
    Launcher{"sudo", "nEHSkKAbPB", "ugpCTrtU",
             " non-interactive preserve-env set-home stdin reset-timestamp background askpass ", " user group prompt ",
             0, true},
    Launcher{"doas", "n", "u", " ", " "},
    Launcher{"nohup", "", "", " ", " "},
    Launcher{"setsid", "cfw", "", " ctty fork wait ", " "},
    Launcher{"nice", "0123456789", "n", " ", " adjustment "},
    Launcher{"ionice", "t", "cn", " ignore ", " class classdata "},
    Launcher{"stdbuf", "", "ioe", " ", " input output error "},
    Launcher{"timeout", "v", "sk", " preserve-status foreground verbose ", " signal kill-after ", 1},
    Launcher{"gtimeout", "v", "sk", " preserve-status foreground verbose ", " signal kill-after ", 1},
    Launcher{"time", "pv", "f", " portability verbose ", " format "},
    Launcher{"command", "p", "", " ", " "},
    Launcher{"builtin", "", "", " ", " "},
    Launcher{"exec", "cl", "a", " ", " "},
    Launcher{"xargs", "0rtxpo", "InPLdEsa", " null no-run-if-empty verbose exit interactive open-tty ",
             " max-args max-procs delimiter arg-file max-chars "},
    Launcher{"busybox", "", "", " ", " "},
    Launcher{"toybox", "", "", " ", " "},
    Launcher{"unbuffer", "p", "", " ", " "},
    Launcher{"caffeinate", "dimsu", "tw", " ", " "},
    Launcher{"chronic", "ev", "", " ", " "},
    Launcher{"npx", "y", "", " yes ", " "},
    Launcher{"bunx", "", "", " ", " "},
    Launcher{"uvx", "", "", " ", " "},
    Launcher{"pipx", "", "", " ", " ", 1},
    Launcher{"xvfb-run", "a", "", " auto-servernum ", " "},
    Launcher{"fakeroot", "", "", " ", " "},
    Launcher{"catchsegv", "", "", " ", " "},
};

constexpr std::string_view kRunText =
    // of the shells themselves
    " eval source . alias hash enable bind complete compgen compopt fc coproc let mapfile readarray repeat noglob "
    "nocorrect "
    "foreach setopt unsetopt emulate zmodload autoload zle sched functions - declare typeset integer float "
    // other users, other machines, other times
    "su runuser ssh autossh mosh rsh rlogin sshpass script scriptreplay watch parallel sem entr at batch crontab "
    "systemd-run "
    "start-stop-daemon daemonize launchctl "
    // other places
    "chroot unshare nsenter setpriv flock taskset chrt numactl setarch linux32 linux64 i386 x86_64 arch proot bwrap "
    "firejail "
    "cgexec prlimit capsh runcon newgrp sg pkexec gosu su-exec tini dumb-init s6-setuidgid run-parts run-one lockrun "
    "torsocks proxychains proxychains4 direnv mise asdf "
    // terminals, editors and debuggers
    "screen tmux expect dtach abduco nvim vim vi view ex ed red emacs emacsclient gdb lldb strace ltrace dtrace "
    "valgrind perf "
    "rr socat osascript xdg-open open "
    // shells of another language
    "fish csh tcsh pwsh powershell cmd cmd.exe nu elvish xonsh rc es ";

constexpr std::string_view kShells = " sh bash dash ash zsh ksh ksh93 mksh lksh pdksh yash rbash rzsh posh hush ";

constexpr std::string_view kSubcommands =
    " git hg svn jj gh glab docker podman nerdctl kubectl helm npm pnpm yarn bun deno cargo rustup go dotnet mvn "
    "gradle pip pip3 "
    "pipx uv poetry pdm conda mamba apt apt-get dnf yum brew pacman apk snap flatpak systemctl service launchctl "
    "terraform tofu "
    "ansible pulumi aws gcloud az vagrant heroku fly vercel netlify wrangler supabase make just task bundle gem "
    "composer "
    "mix rails php artisan nix openssl ip ";

constexpr std::array kRunRest = {
    std::pair{"uv", "run"},    std::pair{"poetry", "run"}, std::pair{"pipenv", "run"}, std::pair{"pdm", "run"},
    std::pair{"hatch", "run"}, std::pair{"rye", "run"},    std::pair{"pixi", "run"},   std::pair{"bundle", "exec"},
    std::pair{"pnpm", "exec"}, std::pair{"pnpm", "dlx"},   std::pair{"yarn", "exec"},  std::pair{"yarn", "dlx"},
    std::pair{"npm", "exec"},  std::pair{"npm", "x"},      std::pair{"bun", "x"},      std::pair{"conda", "run"},
    std::pair{"mamba", "run"}, std::pair{"opam", "exec"},  std::pair{"rustup", "run"}, std::pair{"dotenv", "run"},
};

// Options that name a program to run: short ones as a character, long ones after two dashes, and those of one dash.
struct RunningOptions {
  std::string_view name, shorts, longs, dashed;
};
constexpr std::array kRunningOptions = {
    RunningOptions{
        "tar", "IF",
        " to-command checkpoint-action use-compress-program rsh-command rmt-command info-script new-volume-script ",
        " "},
    RunningOptions{
        "gtar", "IF",
        " to-command checkpoint-action use-compress-program rsh-command rmt-command info-script new-volume-script ",
        " "},
    RunningOptions{"bsdtar", "", " use-compress-program ", " "},
    RunningOptions{"cpio", "", " rsh-command ", " "},
    RunningOptions{"rsync", "e", " rsh rsync-path daemon ", " "},
    RunningOptions{"scp", "SoF", " ", " "},
    RunningOptions{"sftp", "SoF", " ", " "},
    RunningOptions{"sort", "", " compress-program ", " "},
    RunningOptions{"split", "", " filter ", " "},
    RunningOptions{"zip", "T", " unzip-command test ", " "},
    RunningOptions{"rg", "", " pre hostname-bin ", " "},
    RunningOptions{"fd", "xX", " exec exec-batch ", " "},
    RunningOptions{"fdfind", "xX", " exec exec-batch ", " "},
    RunningOptions{"wget", "e", " use-askpass execute ", " "},
    RunningOptions{"man", "PH", " pager html ", " "},
    RunningOptions{"nc", "ec", " exec sh-exec lua-exec ", " "},
    RunningOptions{"ncat", "ec", " exec sh-exec lua-exec ", " "},
    RunningOptions{"netcat", "ec", " exec sh-exec lua-exec ", " "},
    RunningOptions{"go", "", " exec toolexec vettool ", " exec toolexec vettool "},
    RunningOptions{"ctags", "", " options ", " "},
    RunningOptions{"install", "", " strip-program ", " "},
};

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
    std::pair{"diff", " ext-diff "},
    std::pair{"log", " ext-diff "},
    std::pair{"show", " ext-diff "},
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

// One word as an option of those: `--to-comm=x`, `-xIf`, `-exec`.
bool is_running_option(std::string_view word, std::string_view shorts, std::string_view longs,
                       std::string_view dashed) {
  if (word.size() < 2 || word.front() != '-') return false;
  if (word.starts_with("--")) {
    const std::string_view name = word.substr(2, word.find('=') == word.npos ? word.npos : word.find('=') - 2);
    if (name.empty()) return false;
    for (const std::string_view one : split(longs, ' '))
      if (!one.empty() && one.starts_with(name)) return true;
    return false;
  }
  if (holds(dashed, word.substr(1, word.find('=') == word.npos ? word.npos : word.find('=') - 1))) return true;
  return word.find_first_of(shorts, 1) != std::string_view::npos;
}

bool is_safe_setting(const Word& word) {
  const std::size_t sign = word.text.find('=');
  if (sign == std::string::npos) return word.is_literal() && holds(kGitSettings, to_lower_ascii(word.text));
  return !word.splits && holds(kGitSettings, to_lower_ascii(std::string_view(word.text).substr(0, sign)));
}

bool is_opaque_git_command(std::string_view subcommand, std::span<const Word> words) {
  if (subcommand == "filter-branch" || !holds(kGitCommands, subcommand)) return true;
  const Word none;
  const Word& next = words.empty() ? none : words.front();
  if (subcommand == "bisect")
    return !next.is("start") && !next.is("good") && !next.is("bad") && !next.is("reset") && !next.is("log") &&
           !next.is("skip");
  if (subcommand == "submodule") return !next.is("update") && !next.is("status") && !next.is("init") && !words.empty();
  if (subcommand == "config") {
    // Reading settings runs nothing, and setting a plain one does not either.
    bool reads = false;
    std::size_t names = 0;
    for (const Word& word : words) {
      if (!word.is_literal() && names == 0) return true;
      for (const char* option : {"--get", "--get-all", "--get-regexp", "--list", "-l", "get", "list"})
        reads = reads || word.is(option);
      if (word.text.starts_with('-') || names++ > 0) continue;
      if (!reads && words.size() > 1 && !is_safe_setting(word)) return true;
    }
    return false;
  }
  for (const Word& word : words) {
    if (word.is_literal() && word.text.starts_with("ext::")) return true;
    for (const auto& [name, options] : kGitRunning) {
      if (subcommand != name) continue;
      const std::string_view shorts = subcommand == "grep"                            ? "O"
                                      : subcommand == "rebase"                        ? "xs"
                                      : subcommand == "clone"                         ? "uc"
                                      : subcommand == "merge" || subcommand == "pull" ? "s"
                                                                                      : "";
      if (word.is_literal() ? is_running_option(word.text, shorts, options, " ") : word.may_be_option()) return true;
    }
  }
  return false;
}

}  // namespace

const Launcher* launcher_called(std::string_view name) {
  const auto place = std::ranges::find(kLaunchers, name, &Launcher::name);
  return place == kLaunchers.end() ? nullptr : &*place;
}

std::optional<std::size_t> first_operand(std::span<const Word> words, const Launcher& launcher) {
  std::size_t operands = launcher.operands;
  bool options = true;
  for (std::size_t at = 1; at < words.size(); ++at) {
    const Word& word = words[at];
    const std::string_view text = word.text;
    const std::size_t sign = text.find('=');
    const bool is_option = options && text.size() > 1 && text.front() == '-';
    // Whatever has the sign in it: `v[=2` too.
    if (launcher.takes_assignments && !is_option && !word.splits && sign != text.npos) {
      if (steers_execution(text.substr(0, sign))) return std::nullopt;
      if (launcher.name == "env") options = false;  // sudo goes on to take them
      continue;
    }
    if (!word.is_literal()) return std::nullopt;
    if (text == "-" && options && launcher.name == "env") continue;
    if (!is_option) {
      if (operands == 0) return at;
      --operands;
      options = false;
    } else if (text == "--") {
      options = false;
    } else if (text.starts_with("--")) {
      const std::string_view name = text.substr(2, sign == text.npos ? text.npos : sign - 2);
      if (holds(launcher.long_flags, name)) continue;
      if (!holds(launcher.long_values, name)) return std::nullopt;
      if (sign == text.npos) ++at;
    } else {
      for (std::size_t letter = 1; letter < text.size(); ++letter) {
        if (launcher.flags.find(text[letter]) != text.npos) continue;
        if (launcher.values.find(text[letter]) == text.npos) return std::nullopt;
        if (letter + 1 == text.size()) ++at;
        break;
      }
    }
    // The value of an option that is not known is still one word, unless it may be several.
    if (at < words.size() && words[at].splits) return std::nullopt;
  }
  return words.size();
}

bool runs_text(std::string_view name) {
  return holds(kRunText, name) || name.starts_with("ld-linux") || name.starts_with("ld-musl") || name == "ld.so";
}
bool is_shell(std::string_view name) { return holds(kShells, name); }
bool has_subcommands(std::string_view name) { return holds(kSubcommands, name); }

bool runs_rest(std::string_view name, std::string_view subcommand) {
  return std::ranges::any_of(kRunRest, [&](const auto& one) { return name == one.first && subcommand == one.second; });
}

bool has_running_option(const Command& command, bool& is_possible) {
  is_possible = false;
  const std::string_view name = base_name(command.words.front().text);
  for (const RunningOptions& one : kRunningOptions) {
    if (one.name != name) continue;
    is_possible = true;
    for (std::size_t at = 1; at < command.words.size(); ++at) {
      const Word& word = command.words[at];
      if (!word.is_literal()) {
        if (word.may_be_option()) return true;
        continue;
      }
      if (is_running_option(word.text, one.shorts, one.longs, one.dashed)) return true;
      // tar reads its first word as options, with or without a dash.
      if (at == 1 && name.ends_with("tar") && word.text.find_first_of(one.shorts) != std::string::npos &&
          word.text.find_first_of("/.") == std::string::npos)
        return true;
    }
  }
  return false;
}

std::vector<Word> starts_of_find(const Command& command) {
  std::vector<Word> out;
  std::size_t at = 1;
  const std::vector<Word>& words = command.words;
  for (; at < words.size() && words[at].is_literal(); ++at) {
    if (words[at].is("-D")) ++at;
    else if (!words[at].is("-H") && !words[at].is("-L") && !words[at].is("-P") && !words[at].text.starts_with("-O"))
      break;
  }
  for (; at < words.size(); ++at) {
    const Word& word = words[at];
    if (word.is_literal() &&
        (word.text.starts_with('-') || word.is("(") || word.is(")") || word.is("!") || word.is(",")))
      break;
    out.push_back(word);
  }
  if (std::ranges::any_of(words, [](const Word& word) { return word.is("-files0-from"); }))
    return {{{}, Word::Kind::Unknown, true}};
  if (out.empty()) out.push_back({"."});
  return out;
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
      if (++at >= words.size() || !is_safe_setting(words[at])) return true;
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

bool steers_execution(std::string_view variable, const Word* value) {
  static constexpr std::string_view kNames =
      " PATH IFS ENV BASH_ENV SHELL SHELLOPTS BASHOPTS PS0 PS1 PS2 PS4 PROMPT_COMMAND CDPATH FPATH ZDOTDIR HOME "
      "XDG_CONFIG_HOME BROWSER LESSOPEN LESSCLOSE PYTHONSTARTUP PYTHONPATH PYTHONHOME PERL5OPT PERL5LIB PERL5DB "
      "RUBYOPT "
      "RUBYLIB NODE_OPTIONS NODE_PATH JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS MAKEFLAGS SSH_ASKPASS "
      "SUDO_ASKPASS "
      "TAR_OPTIONS RSYNC_RSH GCC_EXEC_PREFIX COMPILER_PATH RUSTC_WRAPPER GOFLAGS GREP_OPTIONS RIPGREP_CONFIG_PATH "
      "EXECIGNORE "
      "GLOBIGNORE OPENSSL_CONF WGETRC CURL_HOME VIMINIT EXINIT INPUTRC MODULE_PATH module_path path fpath cdpath "
      "prompt "
      "PROMPT RPROMPT NULLCMD READNULLCMD HISTFILE BASH_COMPAT POSIXLY_CORRECT COMMAND_NOT_FOUND_HANDLE ";
  if (holds(kNames, variable)) return true;
  if (variable.ends_with("PAGER") || variable.ends_with("EDITOR") || variable == "VISUAL")
    return value == nullptr || !(value->is("") || value->is("cat") || value->is("true") || value->is(":"));
  if (variable.starts_with("GIT_"))
    return !variable.starts_with("GIT_AUTHOR_") && !variable.starts_with("GIT_COMMITTER_") &&
           variable != "GIT_TERMINAL_PROMPT" && variable != "GIT_OPTIONAL_LOCKS";
  for (const char* prefix : {"LD_", "DYLD_", "BASH_FUNC_", "npm_config_", "NPM_CONFIG_"})
    if (variable.starts_with(prefix)) return true;
  return false;
}

}  // namespace baton::shell
