// SPDX-License-Identifier: Apache-2.0
// The truth about command lines is bash: lines that are written down, and lines that are drawn and then damaged, are run by it in a
// folder of their own, with a PATH of programs that only say that they were run (shell_stub.cc). Every one that ran must be listed by
// the parser, or the line must be opaque.
//
// No line that is drawn has a slash or a dot in it, so nothing is run or written outside that folder.
//
//   shell_bash_test --stub PROGRAM [--lines FILE] [--seed N] [--count N] [--show]
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <sstream>
#include <thread>

#include "json/parse.h"
#include "shell/parse.h"
#include "temporary_folder.h"

namespace baton::shell {
namespace {

namespace fs = std::filesystem;

// What may be run. Real launchers stand beside them in the PATH, as far as they are installed.
constexpr const char* kStubs[] = {"rm", "ls", "cat", "no", "git", "make", "cp", "tee", "foo", "bar", "if1", "}", "x=y"};
constexpr const char* kReal[] = {"env",    "xargs",  "find", "nohup", "nice", "timeout",
                                 "setsid", "stdbuf", "sh",   "dash",  "bash", "true"};

class Bash {
 public:
  explicit Bash(const fs::path& stub) {
    fs::create_directories(folder_.path() / "bin");
    for (const char* name : kStubs) fs::create_symlink(fs::absolute(stub), folder_.path() / "bin" / name);
    for (const char* name : kReal)
      for (const char* place : {"/bin", "/usr/bin"})
        if (fs::exists(fs::path(place) / name)) {
          fs::create_symlink(fs::path(place) / name, folder_.path() / "bin" / name);
          break;
        }
  }

  // The programs that ran, each once.
  std::set<std::string> run(const std::string& line) {
    // A file for each line: what an earlier one has left behind may still come to run.
    const fs::path log = folder_.path() / ("log" + std::to_string(++lines_)), work = folder_.path() / "work";
    std::error_code ignored;
    fs::remove_all(work, ignored);
    fs::create_directories(work, ignored);
    std::ofstream(work / "a") << "one\ntwo\n";
    const pid_t child = ::fork();
    if (child == 0) start(line, log, work);
    // Far longer than any line takes; a line that waits for something is ended, and what ran until then has run.
    int status = 0;
    for (int waited = 0; ::waitpid(child, &status, WNOHANG) == 0; ++waited) {
      if (waited > 20'000) {
        ::kill(-child, SIGKILL);
        ::waitpid(child, &status, 0);
        break;
      }
      std::this_thread::sleep_for(std::chrono::microseconds(waited < 200 ? 100 : 500));
    }
    // What it left in the background is still of its group.
    for (int waited = 0; ::kill(-child, 0) == 0 && waited < 200; ++waited) {
      if (waited > 100) ::kill(-child, SIGKILL);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    std::set<std::string> out;
    std::ifstream in(log);
    for (std::string name; std::getline(in, name);) out.insert(name);
    fs::remove(log);
    return out;
  }

 private:
  [[noreturn]] void start(const std::string& line, const fs::path& log, const fs::path& work) {
    ::setpgid(0, 0);
    const rlimit seconds{5, 5}, bytes{1 << 20, 1 << 20};
    ::setrlimit(RLIMIT_CPU, &seconds);
    ::setrlimit(RLIMIT_FSIZE, &bytes);
    const int nothing = ::open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; ++fd) ::dup2(nothing, fd);
    if (::chdir(work.c_str()) != 0) ::_exit(126);
    const std::string path = "PATH=" + (folder_.path() / "bin").string(), logged = "STUB_LOG=" + log.string(),
                      home = "HOME=" + work.string();
    // Functions that call themselves end.
    const char* environment[] = {path.c_str(), logged.c_str(),   home.c_str(), "FUNCNEST=20",
                                 "x=rm",       "LC_ALL=C.UTF-8", nullptr};
    const char* arguments[] = {"bash", "-c", line.c_str(), nullptr};
    ::execve("/bin/bash", const_cast<char**>(arguments), const_cast<char**>(environment));
    ::_exit(127);
  }

  TemporaryFolder folder_{TemporaryFolder::Place::Memory};
  std::size_t lines_ = 0;
};

// --- lines that are drawn -------------------------------------------------------------------------------------------

class Drawing {
 public:
  explicit Drawing(std::uint64_t seed) : random_(seed) {}

  std::string line() {
    calls_ = 0;
    std::string out = list(3);
    if (out.size() > 2000) out.resize(2000);
    for (std::size_t damage = below(4); damage > 1; --damage) harm(out);
    return out;
  }

 private:
  std::size_t below(std::size_t end) { return random_() % end; }
  template <std::size_t N>
  std::string one_of(const char* const (&texts)[N]) {
    return texts[below(N)];
  }

  // Most are plain: a line of which each part is a trick is nearly always opaque, and shows nothing.
  std::string program() {
    static constexpr const char* kPlain[] = {"rm",  "ls", "cat",  "no",   "make",   "foo",
                                             "bar", "cp", "\\rm", "r''m", "\"rm\"", "$'rm'"};
    if (below(5) > 0) return one_of(kPlain);
    static constexpr const char* kSpelled[] = {
        "rm",         "ls",           "cat",         "no",      "git status", "make",   "foo",
        "bar",        "cp",           "tee out",     "\\rm",    "r''m",       "\"rm\"", "r\\m",
        "$'rm'",      "$'\\x72m'",    "'foo'",       "ba\\\nr", "f\"o\"o",    "if1",    "true",
        "command rm", "builtin true", "exec foo",    "$x",      "${x}",       "r{m,}",  "r[m]",
        "r?",         "$(echo rm)",   "`echo foo`",  "\"$x\"",  "${y:-bar}",  "x=y",    "''",
        "!",          "time rm",      "time -p foo", "eval rm", "~",          "# rm"};
    return one_of(kSpelled);
  }
  std::string word() {
    static constexpr const char* kPlain[] = {"a",   "-f", "'a b'",    "\"a b\"", "a\\ b", "#a", "a#b", "\\;",
                                             "'#'", "rm", "\"it's\"", "'\"'",    "{",     "if", "=",   "!"};
    if (below(5) > 0) return one_of(kPlain);
    static constexpr const char* kWords[] = {"a",
                                             "-f",
                                             "'a b'",
                                             "\"a b\"",
                                             "\"$x\"",
                                             "$x",
                                             "${x:-y}",
                                             "*",
                                             "{a,b}",
                                             "a\\ b",
                                             "$'a\\nb'",
                                             "$(ls)",
                                             "\"$(cat a)\"",
                                             "\"`foo`\"",
                                             "#a",
                                             "a#b",
                                             "$((1+2))",
                                             "\\;",
                                             "'#'",
                                             "-",
                                             "--",
                                             "rm",
                                             "a\\\nb",
                                             "\"a\\\nb\"",
                                             "${#x}",
                                             "$?",
                                             "\"${x%m}\"",
                                             "'\n'",
                                             "\"\n\"",
                                             "=",
                                             "!",
                                             "{",
                                             "}",
                                             "if",
                                             "$",
                                             "\"$\"",
                                             "~",
                                             "\"it's\"",
                                             "'\"'",
                                             "x=$(bar)",
                                             "<(foo)",
                                             "${x:-$(ls)}",
                                             "\"${x:-'}\"",
                                             "[a]",
                                             "]"};
    return one_of(kWords);
  }
  std::string words(std::size_t most) {
    std::string out;
    for (std::size_t count = below(most + 1); count > 0; --count) out += " " + word();
    return out;
  }
  std::string redirection() {
    static constexpr const char* kForms[] = {">out", "> out",         ">>out",   "2>&1",  ">|out", "&>out",
                                             "<a",   "< a",           "<>out",   "2>out", ">&2",   "&>>out",
                                             "<<<b", "<<< \"$(ls)\"", ">\"$x\"", "3<a",   "<&-"};
    return one_of(kForms);
  }
  std::string simple() {
    std::string out;
    if (below(6) == 0) out += below(2) == 0 ? "v=1 " : "v=\"$(foo)\" w='rm' ";
    if (below(12) == 0) out += redirection() + " ";
    out += below(4) == 0 ? launched() : program();
    out += words(2);
    if (below(4) == 0) out += " " + redirection();
    if (below(10) == 0) out += " # " + program() + (below(2) == 0 ? " '" : "");
    return out;
  }
  std::string quoted(const std::string& text) {
    std::string out = "'";
    for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
  }
  std::string launched() {
    switch (below(16)) {
      case 0: return "env " + program();
      case 1: return "env -u v v=2 " + program();
      case 2: return "echo a | xargs " + program();
      case 3: return "echo a | xargs -n 1 " + program();
      case 4: return "echo rm | xargs -I{} " + program() + " {}";
      case 5: return "find a -exec " + program() + " {} \\;";
      case 6: return "find a -exec " + program() + " {} +";
      case 7: return "nice -n 1 " + program();
      case 8: return "timeout 9 " + program();
      case 9: return "sh -c " + quoted(below(2) == 0 ? list(1) : program());
      case 10: return "bash -c " + quoted(below(2) == 0 ? list(1) : program());
      case 11: return "env -S '" + std::string("rm a") + "'";
      case 12: return "nohup " + program();
      case 13: return "trap " + quoted(program()) + " EXIT";
      case 14: return "find a -exec sh -c " + quoted(program()) + " \\; -exec " + program() + " \\;";
      default: return "stdbuf -oL " + program();
    }
  }
  std::string here_document() {
    static constexpr const char* kMarks[] = {"EOF", "'EOF'", "\"EOF\"", "\\EOF", "E\"O\"F", "$x"};
    static constexpr const char* kBodies[] = {"rm",   "$(foo)", "`bar`", "\\$(foo)", "a\\\nEOF", "EO\\\nF", " EOF",
                                              "EOF ", "\tEOF",  "'",     "${x}",     "$((1))",   "\"$(ls)"};
    const bool strips = below(3) == 0;
    std::string out = program() + " <<" + (strips ? "-" : "") + (below(3) == 0 ? " " : "") + one_of(kMarks);
    if (below(3) == 0) out += " | " + program();
    if (below(4) == 0) out += " ; " + program();
    out += "\n";
    for (std::size_t count = below(3); count > 0; --count) out += one_of(kBodies) + "\n";
    return out + (strips ? "\t" : "") + "EOF" + (below(8) == 0 ? "" : "\n") + (below(2) == 0 ? program() : "");
  }
  std::string command(std::size_t depth) {
    if (depth == 0 || below(2) == 0) return simple();
    switch (below(15)) {
      case 0: return "( " + list(depth - 1) + " )";
      case 1: return "(" + list(depth - 1) + "\n)";
      case 2: return "{ " + list(depth - 1) + "; }";
      case 3: return "if " + list(depth - 1) + "; then " + list(depth - 1) + "; else " + list(depth - 1) + "; fi";
      case 4: return "if " + list(depth - 1) + "\nthen\n" + list(depth - 1) + "\nelif no; then " + program() + "\nfi";
      case 5: return "while no; do " + list(depth - 1) + "; done";
      case 6: return "until " + list(depth - 1) + "; do break; done";
      case 7: return "for v in a " + word() + "; do " + list(depth - 1) + "; done";
      case 8: return "for v in $(ls) b\ndo\n" + list(depth - 1) + "\ndone";
      case 9: return "case " + word() + " in a) " + list(depth - 1) + ";; b|*) " + list(depth - 1) + " ;; esac";
      case 10: return "case a in (a) " + program() + " ;;& *) " + program() + "\nesac";
      case 11: return calls_++ == 0 ? "fn() { " + list(depth - 1) + "; }; fn" : "! " + simple();
      case 12: return "[[ a == " + word() + " ]] && " + program();
      case 13: return "[ \"$x\" = a ] || " + program();
      default: return here_document();
    }
  }
  std::string list(std::size_t depth) {
    static constexpr const char* kJoints[] = {"; ", "\n", " && ", " || ", " | ",   " & ",  ";",       "&&",
                                              "||", "|",  " |& ", "\n\n", " &&\n", " |\n", "; # c\n", "\\\n;"};
    std::string out = command(depth);
    for (std::size_t count = below(3); count > 0; --count) out += one_of(kJoints) + command(depth);
    return out;
  }

  // One change that makes the line another one.
  void harm(std::string& line) {
    static constexpr const char* kBits[] = {
        "'", "\"", "\\", "\n",   ";",    "&",       "|",     "<",    ">",  "(",  ")",  "{",  "}",      "$", "`",
        "#", " ",  "\t", "!",    "=",    "~",       "*",     "\\\n", "<<", "$(", "${", "$'", "2",      "[", "]",
        ",", "-",  "\r", "\"$(", " rm ", "\nfoo\n", ";bar ", "&>",   ">&", "<(", "((", "))", "\nEOF\n"};
    const std::size_t at = below(line.size() + 1);
    switch (below(4)) {
      case 0:
        if (!line.empty() && at < line.size()) line.erase(at, 1);
        break;
      case 1:
        if (at < line.size()) line.replace(at, 1, one_of(kBits));
        break;
      default: line.insert(at, one_of(kBits));
    }
  }

  std::mt19937_64 random_;
  std::size_t calls_ = 0;
};

// --- the test ---------------------------------------------------------------------------------------------------------

struct Count {
  std::size_t lines = 0, opaque = 0, ran = 0, read_and_ran = 0, missed = 0;
};

void hold(Bash& bash, const std::string& line, bool shows, Count& count) {
  const Parsed parsed = parse(line);
  const std::set<std::string> ran = bash.run(line);
  std::set<std::string> listed;
  for (const std::string& program : programs_of(parsed)) listed.insert(std::string(base_name(program)));
  ++count.lines;
  if (parsed.opaque()) ++count.opaque;
  if (!ran.empty()) ++count.ran;
  if (!ran.empty() && !parsed.opaque()) ++count.read_and_ran;
  std::string missed;
  for (const std::string& name : ran)
    if (!listed.contains(name)) missed += " " + name;
  if (shows)
    std::printf("--- %s\n    %s\n", line.c_str(),
                parsed.opaque() ? std::string(name_of(parsed.because.front())).c_str() : "read");
  if (missed.empty() || parsed.opaque()) return;
  ++count.missed;
  std::fprintf(stderr, "bash ran%s, which is not listed, for the line\n%s\n---\n", missed.c_str(), line.c_str());
}

int run(int argc, char** argv) {
  fs::path stub, lines;
  std::uint64_t seed = 1, count = 1000;
  bool shows = false;
  for (int at = 1; at < argc; ++at) {
    const std::string_view option = argv[at];
    if (option == "--show") shows = true;
    else if (at + 1 >= argc) return 2;
    else if (option == "--stub") stub = argv[++at];
    else if (option == "--lines") lines = argv[++at];
    else if (option == "--seed") seed = std::strtoull(argv[++at], nullptr, 10);
    else if (option == "--count") count = std::strtoull(argv[++at], nullptr, 10);
    else return 2;
  }
  if (!fs::exists("/bin/bash")) {
    std::printf("there is no bash: nothing was compared\n");
    return 77;
  }
  Bash bash(stub);
  Count written, drawn;
  bool holds = bash.run("foo && no || rm").size() == 3;  // the stubs themselves
  if (!holds) std::fprintf(stderr, "the stubs do not run\n");
  if (!lines.empty()) {
    std::ostringstream text;
    text << std::ifstream(lines).rdbuf();
    const auto document = json::parse_owned(text.str());
    if (!document) return std::fprintf(stderr, "%s is not JSON\n", lines.c_str()), 2;
    for (const json::Node line : document->root()["lines"].elements())
      hold(bash, std::string(line.string()), shows, written);
  }
  Drawing drawing(seed);
  for (std::uint64_t at = 0; at < count; ++at) hold(bash, drawing.line(), shows, drawn);
  std::printf(
      "written: %zu lines, %zu opaque, %zu missed; drawn (seed %llu): %zu lines, %zu opaque, %zu ran something, %zu of "
      "them read, %zu missed\n",
      written.lines, written.opaque, written.missed, static_cast<unsigned long long>(seed), drawn.lines, drawn.opaque,
      drawn.ran, drawn.read_and_ran, drawn.missed);
  // A comparison in which nothing is read, or nothing runs, would hold for ever.
  if (count >= 1000 && drawn.read_and_ran < count / 20)
    holds = false, std::fprintf(stderr, "too few lines are read and run\n");
  return holds && written.missed == 0 && drawn.missed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace baton::shell

int main(int argc, char** argv) { return baton::shell::run(argc, argv); }
