// SPDX-License-Identifier: Apache-2.0
// Every program of the sandbox: it adds its name and its arguments to the log, then acts.
//
// The real program of this name runs when there is one in /.real. Otherwise this program plays a few that only read (cat, ls,
// echo), because that is faster, and launchers that are not installed or not safe to run (sudo, ssh-agent, cmake -E env, ...).
// Under any other name it only succeeds; `no` and `false` fail.
// A variable that makes a program load code is logged as a program of its own, `!NAME`: no parser lists that, so the line
// must be opaque. When the log has grown long, nothing more is logged and success is random, so that every loop ends.
#include <dirent.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "log_format.h"

namespace {

using baton::shell::kArgumentMark;
using baton::shell::kCutMark;
using baton::shell::kLog;
using baton::shell::kLogBytesMax;
using baton::shell::kReal;

struct Line {
  char text[1024];
  std::size_t size = 0;
  bool cut = false;

  void byte(char c) { size < sizeof(text) - 8 ? void(text[size++] = c) : void(cut = true); }
  void add(const char* word) {
    static constexpr char kDigits[] = "0123456789abcdef";
    for (; *word != '\0'; ++word) {
      const auto c = static_cast<unsigned char>(*word);
      if (c >= 0x20 && c != '\\' && c != 0x7f) {
        byte(*word);
      } else {
        byte('\\');
        byte(kDigits[c >> 4]);
        byte(kDigits[c & 15]);
      }
    }
  }
};

// False: the log is full.
bool record(const char* name, char** arguments) {
  const int file = ::open(kLog, O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file < 0) return true;
  struct stat status {};
  if (::fstat(file, &status) == 0 && status.st_size > kLogBytesMax) return false;
  Line line;
  line.add(name);
  for (; arguments != nullptr && *arguments != nullptr; ++arguments) {
    line.byte(kArgumentMark);
    line.add(*arguments);
  }
  if (line.cut) line.text[line.size++] = kCutMark;
  line.text[line.size++] = '\n';
  const bool written = ::write(file, line.text, line.size) > 0;
  ::close(file);
  return written;
}

struct Loader {
  const char* program;  // empty: every program
  const char* variable;
};
constexpr Loader kLoaders[] = {
    {"", "LD_PRELOAD"},
    {"", "LD_LIBRARY_PATH"},
    {"", "LD_AUDIT"},
    {"", "GCONV_PATH"},
    {"bash", "BASH_ENV"},
    {"git", "GIT_SSH_COMMAND"},
    {"git", "GIT_SSH"},
    {"git", "GIT_EXTERNAL_DIFF"},
    {"git", "GIT_PAGER"},
    {"git", "PAGER"},
    {"git", "GIT_EDITOR"},
    {"git", "EDITOR"},
    {"git", "VISUAL"},
    {"git", "GIT_EXEC_PATH"},
    {"git", "GIT_DIR"},
    {"git", "GIT_CONFIG_GLOBAL"},
    {"git", "GIT_CONFIG_COUNT"},
    {"git", "GIT_ASKPASS"},
    {"git", "SSH_ASKPASS"},
    {"git", "GIT_TEMPLATE_DIR"},
    {"git", "GIT_PROXY_COMMAND"},
    {"make", "MAKEFILES"},
    {"make", "MAKEFLAGS"},
    {"make", "GNUMAKEFLAGS"},
    {"python3", "PYTHONPATH"},
    {"python3", "PYTHONSTARTUP"},
    {"python3", "PYTHONHOME"},
    {"python3", "PYTHONUSERBASE"},
    {"node", "NODE_OPTIONS"},
    {"node", "NODE_PATH"},
    {"perl", "PERL5OPT"},
    {"perl", "PERL5LIB"},
    {"ruby", "RUBYOPT"},
    {"ruby", "RUBYLIB"},
    {"lua", "LUA_INIT"},
    {"lua", "LUA_PATH"},
    {"lua", "LUA_CPATH"},
    {"kubectl", "KUBECONFIG"},
    {"java", "JAVA_TOOL_OPTIONS"},
};

// Values that the generator gives such variables when it means harm are paths or have one in them.
void record_loaders(const char* name) {
  for (const Loader& one : kLoaders) {
    if (*one.program != '\0' && std::strcmp(one.program, name) != 0) continue;
    const char* value = std::getenv(one.variable);
    if (value == nullptr || std::strchr(value, '/') == nullptr) continue;
    char shown[64] = "!";
    std::strncat(shown, one.variable, sizeof(shown) - 2);
    record(shown, nullptr);
  }
}

[[noreturn]] void start(char** words) {
  if (*words == nullptr) ::_exit(0);
  ::execvp(*words, words);
  ::_exit(127);
}
[[noreturn]] void start_text(char* text) {
  char shell[] = "sh", option[] = "-c";
  char* words[] = {shell, option, text, nullptr};
  start(words);
}

bool is_assignment(const char* word) { return std::strchr(word, '=') != nullptr; }
bool is(const char* left, const char* right) { return left != nullptr && std::strcmp(left, right) == 0; }

// Commands of sqlite3: each line that begins with `.shell` or `.system`.
void sqlite_lines(char* text) {
  for (char* line = text; line != nullptr;) {
    for (const char* command : {".shell ", ".system "})
      if (std::strncmp(line, command, std::strlen(command)) == 0) start_text(line + std::strlen(command));
    line = std::strchr(line, '\n');
    if (line != nullptr) ++line;
  }
}
// The first operand is the database. Standard input is read when no text stands behind it.
void sqlite(char** words) {
  int operands = 0;
  bool is_value = false;
  for (; *words != nullptr; ++words) {
    const bool is_option = !is_value && **words == '-';
    if (!is_value && !is_option) ++operands;
    if (is_value || operands > 1) sqlite_lines(*words);
    is_value = is_option && (is(*words, "-cmd") || is(*words, "-init") || is(*words, "--cmd") || is(*words, "--init"));
  }
  if (operands > 1) return;
  char text[512] = {};
  if (::read(0, text, sizeof(text) - 1) > 0) sqlite_lines(text);
}

void git(char** words) {
  char* alias = nullptr;
  for (; *words != nullptr && **words == '-'; ++words)
    if (is(*words, "-c") && words[1] != nullptr) {
      ++words;
      if (std::strncmp(*words, "alias.", 6) == 0) alias = std::strchr(*words, '!');
    }
  if (*words == nullptr) return;
  if (alias != nullptr) start_text(alias + 1);
  if (is(words[0], "bisect") && is(words[1], "run")) start(words + 2);
  if (is(words[0], "submodule") && is(words[1], "foreach") && words[2] != nullptr) start_text(words[2]);
  if (!is(words[0], "rebase")) return;
  for (++words; *words != nullptr; ++words) {
    if ((is(*words, "-x") || is(*words, "--exec")) && words[1] != nullptr) start_text(words[1]);
    if (std::strncmp(*words, "--exec=", 7) == 0) start_text(*words + 7);
  }
}

void launch(const char* name, char** words) {
  if (is(name, "git")) git(words);
  if (is(name, "sqlite3")) sqlite(words);
  const bool passes = is(name, "ssh-agent") || is(name, "sudo") || is(name, "doas") || is(name, "busybox") ||
                      is(name, "npx") || is(name, "fakeroot");
  if (passes) {
    const char* values = is(name, "sudo") ? "ugpCTrtU" : is(name, "ssh-agent") ? "aEOPt" : is(name, "doas") ? "u" : "";
    for (; *words != nullptr && **words == '-'; ++words) {
      const char* word = *words;
      const bool is_short = word[1] != '\0' && word[2] == '\0' && std::strchr(values, word[1]) != nullptr;
      const bool is_long = is(word, "--user") || is(word, "--group") || is(word, "--prompt");
      if ((is_short || is_long) && words[1] != nullptr) ++words;
    }
    while (*words != nullptr && is(name, "sudo") && is_assignment(*words)) ++words;
    if (*words != nullptr) start(words);
  }
  // Launchers behind subcommands, which may stand behind options.
  if (is(name, "uv") || is(name, "npm")) {
    while (*words != nullptr && **words == '-') ++words;
    const bool is_tool = is(name, "uv") && is(words[0], "tool");
    if (is_tool) ++words;
    while (is_tool && *words != nullptr && **words == '-') ++words;
    const bool runs =
        is(name, "uv") ? is(words[0], "run") : is(words[0], "exec") || is(words[0], "exe") || is(words[0], "x");
    if (runs) start(words + 1);
  }
  if (is(name, "time")) start(is(words[0], "-p") ? words + 1 : words);
  if (is(name, "cmake") && is(words[0], "-E") && (is(words[1], "env") || is(words[1], "time"))) {
    const bool is_env = is(words[1], "env");
    words += 2;
    while (is_env && *words != nullptr && (**words == '-' || is_assignment(*words))) ++words;
    start(words);
  }
}

void put(const char* text) {
  if (::write(1, text, std::strlen(text)) < 0) ::_exit(1);
}
void copy(int from, bool only_one_line) {
  char buffer[4096];
  for (ssize_t size = 0; (size = ::read(from, buffer, sizeof(buffer))) > 0;) {
    const void* end = only_one_line ? std::memchr(buffer, '\n', static_cast<std::size_t>(size)) : nullptr;
    const std::size_t wanted = end == nullptr ? static_cast<std::size_t>(size)
                                              : static_cast<std::size_t>(static_cast<const char*>(end) - buffer) + 1;
    if (::write(1, buffer, wanted) < 0 || end != nullptr) return;
  }
}

void list_folder(const char* path) {
  DIR* folder = ::opendir(path);
  if (folder == nullptr) return;
  while (const dirent* one = ::readdir(folder))
    if (one->d_name[0] != '.') put(one->d_name), put("\n");
  ::closedir(folder);
}

// The exit status, or -1: not one of these.
int read_only(const char* name, char** words) {
  if (is(name, "true")) return 0;
  if (is(name, "false") || is(name, "no")) return 1;
  if (is(name, "echo")) {
    for (bool first = true; *words != nullptr; ++words, first = false) put(first ? "" : " "), put(*words);
    put("\n");
    return 0;
  }
  const bool lists = is(name, "ls"), heads = is(name, "head");
  if (!lists && !heads && !is(name, "cat")) return -1;
  int files = 0, status = 0;
  for (; *words != nullptr; ++words) {
    if (**words == '-' && (*words)[1] != '\0') {
      if (is(*words, "-n") && words[1] != nullptr) ++words;
      continue;
    }
    ++files;
    const int file = is(*words, "-") ? 0 : ::open(*words, O_RDONLY | O_CLOEXEC);
    if (file < 0) status = 1;
    else if (lists) list_folder(*words);
    else copy(file, heads);
  }
  if (files == 0 && lists) list_folder(".");
  if (files == 0 && !lists) copy(0, heads);
  return status;
}

}  // namespace

int main(int, char** argv) {
  // The path that was run: argv[0] can be anything.
  const char* path = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));  // NOLINT: the kernel's interface
  const char* slash = std::strrchr(path, '/');
  const char* name = slash != nullptr ? slash + 1 : path;
  char** words = argv[0] == nullptr ? argv : argv + 1;
  if (!record(name, words)) return ::getpid() % 2;
  record_loaders(name);
  char real[256] = {};
  std::strncpy(real, kReal, sizeof(real) - 1);
  std::strncat(real, name, sizeof(real) - std::strlen(real) - 1);
  ::execv(real, argv);
  if (const int status = read_only(name, words); status >= 0) return status;
  launch(name, words);
  return 0;
}
