// SPDX-License-Identifier: Apache-2.0
#include "sandbox.h"

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "log_format.h"

namespace baton::shell {

namespace {

namespace fs = std::filesystem;

constexpr const char* kShells[] = {"bash", "dash", "zsh"};
// Real programs, each behind a stub of its name. `sh` is dash.
constexpr const char* kRealPrograms[] = {"awk",      "bash",  "chgrp",  "chmod",   "chown",  "cp",  "csplit",  "dash",
                                         "dd",       "env",   "find",   "install", "link",   "ln",  "mkdir",   "mkfifo",
                                         "mktemp",   "mv",    "nice",   "nohup",   "printf", "rm",  "rmdir",   "sed",
                                         "setsid",   "shred", "sort",   "split",   "stdbuf", "tee", "timeout", "touch",
                                         "truncate", "uniq",  "unlink", "xargs",   "zsh"};
constexpr const char* kStubs[] = {
    "no",        "foo",     "bar",      "git",        "make", "if1",      "}",        "x=y",   "sudo",    "doas",
    "ssh-agent", "cmake",   "npx",      "node",       "perl", "python3",  "ruby",     "lua",   "kubectl", "java",
    "sqlite3",   "busybox", "git-push", "fakeroot",   "curl", "rg",       "npm",      "tar",   "esac",    "fi",
    "done",      "{",       "EOF",      "git-status", "cat",  "ls",       "echo",     "true",  "false",   "head",
    "tail",      "wc",      "grep",     "test",       "[",    "basename", "dirname",  "seq",   "cut",     "paste",
    "tr",        "tac",     "comm",     "join",       "cmp",  "readlink", "realpath", "sleep", "pwd",     "date",
    "expr",      "time",    "nproc",    "stat",       "diff", "more",     "less",     "which", "uname",   "id",
    "-",         "!",       "!bar",     "then",       "do",   "in",       "12",       "1",     "uv"};

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error(what + ": " + std::strerror(errno)); }
void must(long result, const std::string& what) {
  if (result < 0) fail(what);
}

std::string found(const char* name) {
  for (const char* folder : {"/usr/bin/", "/bin/"})
    if (::access((folder + std::string(name)).c_str(), X_OK) == 0) {
      std::error_code failed;
      const fs::path real = fs::canonical(folder + std::string(name), failed);
      if (!failed) return real.string();
    }
  return {};
}

void write_file(const std::string& path, std::string_view text, unsigned mode = 0644) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
  must(file, path);
  if (::write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size())) fail(path);
  ::close(file);
}

struct Program {
  std::string name = {};
  int file = -1;
};

void copy_program(int from, const std::string& path) {
  struct stat status {};
  must(::fstat(from, &status), path);
  const int to = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
  must(to, path);
  off_t at = 0;
  while (at < status.st_size)
    if (::sendfile(to, from, &at, static_cast<std::size_t>(status.st_size - at)) <= 0) fail(path);
  ::close(to);
}

void mount_memory(const std::string& path, const char* options, unsigned long flags) {
  must(::mount("tmpfs", path.c_str(), "tmpfs", flags, options), "mount a tmpfs at " + path);
}

void bind_mount(const std::string& from, const std::string& to, bool read_only) {
  must(::mount(from.c_str(), to.c_str(), nullptr, MS_BIND | MS_REC, nullptr), "bind " + from);
  if (!read_only) return;
  struct statvfs now {};
  must(::statvfs(to.c_str(), &now), to);
  // What is set on the mount outside may not be taken away in here.
  unsigned long flags = MS_BIND | MS_REMOUNT | MS_RDONLY;
  if ((now.f_flag & ST_NOSUID) != 0) flags |= MS_NOSUID;
  if ((now.f_flag & ST_NODEV) != 0) flags |= MS_NODEV;
  if ((now.f_flag & ST_NOEXEC) != 0) flags |= MS_NOEXEC;
  if ((now.f_flag & ST_NOATIME) != 0) flags |= MS_NOATIME;
  if ((now.f_flag & ST_RELATIME) != 0) flags |= MS_RELATIME;
  must(::mount(nullptr, to.c_str(), nullptr, flags, nullptr), "make " + from + " read-only");
}

void map_identity(const char* file, unsigned inside, unsigned outside) {
  const std::string text = std::to_string(inside) + " " + std::to_string(outside) + " 1\n";
  const int to = ::open(file, O_WRONLY | O_CLOEXEC);
  must(to, file);
  if (::write(to, text.data(), text.size()) < 0) fail(file);
  ::close(to);
}

constexpr unsigned kUser = 1000, kNobody = 65534;

// As root: becomes nobody first, so that nothing in the sandbox is root outside.
void new_namespaces() {
  if (::geteuid() == 0) {
    must(::setgroups(0, nullptr), "setgroups");
    must(::setresgid(kNobody, kNobody, kNobody), "setresgid");
    must(::setresuid(kNobody, kNobody, kNobody), "setresuid");
    must(::prctl(PR_SET_DUMPABLE, 1), "prctl");  // otherwise the files below belong to root
  }
  const unsigned user = ::geteuid(), group = ::getegid();
  must(::unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWPID), "unshare");
  const int deny = ::open("/proc/self/setgroups", O_WRONLY | O_CLOEXEC);
  if (deny >= 0) {
    if (::write(deny, "deny", 4) < 0) fail("setgroups");
    ::close(deny);
  }
  map_identity("/proc/self/uid_map", kUser, user);
  map_identity("/proc/self/gid_map", kUser, group);
  must(::setresgid(kUser, kUser, kUser), "setresgid");
  must(::setresuid(kUser, kUser, kUser), "setresuid");
}

void make_libraries(const std::string& root) {
  for (const char* name : {"lib", "lib32", "lib64", "libx32"}) {
    const fs::path outside = fs::path("/") / name, in_usr = fs::path("/usr") / name;
    if (fs::is_directory(in_usr)) {
      must(::mkdir((root + in_usr.string()).c_str(), 0755), in_usr.string());
      bind_mount(in_usr.string(), root + in_usr.string(), true);
    }
    if (fs::is_symlink(outside)) {
      fs::create_symlink(fs::read_symlink(outside), root + outside.string());
    } else if (fs::is_directory(outside)) {
      must(::mkdir((root + outside.string()).c_str(), 0755), outside.string());
      bind_mount(outside.string(), root + outside.string(), true);
    }
  }
}

void make_root(int stub, const std::vector<Program>& programs) {
  must(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), "make mounts private");
  const std::string root = "/tmp";
  mount_memory(root, "size=64m,mode=755", MS_NOSUID | MS_NODEV);
  for (const char* folder : {"/usr", "/usr/bin", "/usr/local", "/usr/local/bin", "/dev", "/home", "/tmp", "/.log",
                             "/.real", "/.old", "/etc"})
    must(::mkdir((root + folder).c_str(), 0755), folder);
  fs::create_symlink("usr/bin", root + "/bin");
  fs::create_symlink("bin", root + "/usr/sbin");
  fs::create_symlink("usr/bin", root + "/sbin");
  std::error_code ignored;
  fs::copy_file("/etc/ld.so.cache", root + "/etc/ld.so.cache", ignored);  // programs start faster with it
  make_libraries(root);
  for (const char* device : {"null", "zero", "stdin", "stdout", "stderr", "tty", "urandom", "random"}) {
    const std::string path = root + "/dev/" + device;
    write_file(path, "");
    bind_mount("/dev/null", path, false);
  }
  copy_program(stub, root + "/usr/bin/.stub");
  const auto add_stub = [&](const std::string& name) {
    if (::link((root + "/usr/bin/.stub").c_str(), (root + "/usr/bin/" + name).c_str()) != 0 && errno != EEXIST)
      fail(name);
  };
  for (const Program& one : programs) {
    copy_program(one.file, root + kReal + one.name);
    add_stub(one.name);
  }
  for (const char* name : kStubs) add_stub(name);
  must(::unlink((root + "/usr/bin/.stub").c_str()), "stub");
  mount_memory(root + "/.log", "size=1m,mode=555", MS_NOSUID | MS_NODEV | MS_NOEXEC);
  write_file(root + kLog, "", 0600);
  must(::chdir(root.c_str()), root);
  must(::syscall(SYS_pivot_root, ".", ".old"), "pivot_root");
  must(::chdir("/"), "/");
  must(::umount2("/.old", MNT_DETACH), "leave the old root");
  must(::rmdir("/.old"), "/.old");
  must(::mount(nullptr, "/", nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV, nullptr),
       "read-only root");
  // Not to be executed: what a file does that the line itself wrote is not for the parser to say.
  for (const char* folder : {"/home", "/tmp"})
    mount_memory(folder, "size=8m,nr_inodes=2000,mode=755", MS_NOSUID | MS_NODEV | MS_NOEXEC);
}

void limit(decltype(RLIMIT_CPU) what, rlim_t value) {
  const rlimit both{value, value};
  ::setrlimit(what, &both);
}

[[noreturn]] void start(const std::string& shell, const std::string& line) {
  ::setsid();
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  limit(RLIMIT_CPU, 2);
  limit(RLIMIT_FSIZE, 1 << 20);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_NPROC, 60);
  limit(RLIMIT_AS, 512u << 20);
  limit(RLIMIT_NOFILE, 128);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int nothing = ::open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; ++fd) ::dup2(nothing, fd);
  if (nothing > 2) ::close(nothing);
  if (::chdir(kWorkFolder) != 0) ::_exit(126);
  ::umask(022);
  const std::string program = kReal + shell;
  const char* environment[] = {"PATH=/usr/local/bin:/usr/bin:/bin",
                               "HOME=/home/u",
                               "PWD=/home/u/p",
                               "FUNCNEST=20",
                               "x=rm",
                               "LC_ALL=C.UTF-8",
                               nullptr};
  const char* zsh[] = {"zsh", "-f", "-c", line.c_str(), nullptr};
  const char* other[] = {shell.c_str(), "-c", line.c_str(), nullptr};
  const char** arguments = shell == "zsh" ? zsh : other;
  ::execve(program.c_str(), const_cast<char**>(arguments), const_cast<char**>(environment));  // NOLINT: its interface
  ::_exit(127);
}

std::string unescaped(std::string_view text) {
  const auto digit = [](char c) { return c >= 'a' ? c - 'a' + 10 : c - '0'; };
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\\' || at + 2 >= text.size()) {
      out += text[at];
      continue;
    }
    out += static_cast<char>(digit(text[at + 1]) * 16 + digit(text[at + 2]));
    at += 2;
  }
  return out;
}

}  // namespace

std::vector<std::string> installed_shells() {
  std::vector<std::string> out;
  for (const char* name : kShells)
    if (!found(name).empty()) out.emplace_back(name);
  return out;
}

int Sandbox::in_new_one(const fs::path& stub, const std::function<int(Sandbox&)>& work) {
  std::fflush(nullptr);
  const pid_t outer = ::fork();
  if (outer < 0) return 1;
  if (outer > 0) {
    int status = 0;
    ::waitpid(outer, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
  }
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  try {
    std::vector<Program> programs;
    for (const char* name : kRealPrograms)
      if (const std::string path = found(name); !path.empty())
        programs.push_back({name, ::open(path.c_str(), O_RDONLY | O_CLOEXEC)});
    if (const std::string path = found("dash"); !path.empty())
      programs.push_back({"sh", ::open(path.c_str(), O_RDONLY | O_CLOEXEC)});
    const int stub_file = ::open(stub.c_str(), O_RDONLY | O_CLOEXEC);
    must(stub_file, stub.string());
    new_namespaces();
    make_root(stub_file, programs);
    for (const Program& one : programs) ::close(one.file);
    ::close(stub_file);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "no sandbox can be made here: %s\n", failure.what());
    ::_exit(77);
  }
  // The first process of the new process namespace: with it all others end.
  const pid_t first = ::fork();
  if (first < 0) ::_exit(1);
  if (first > 0) {
    int status = 0;
    ::waitpid(first, &status, 0);
    ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 255);
  }
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  int status = 1;
  try {
    Sandbox sandbox;
    status = work(sandbox);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
  }
  std::fflush(nullptr);
  ::_exit(status);
}

Sandbox::Sandbox() {
  log_ = ::open(kLog, O_RDWR | O_CLOEXEC);
  must(log_, kLog);
  sigset_t child;
  ::sigemptyset(&child);
  ::sigaddset(&child, SIGCHLD);
  must(::sigprocmask(SIG_BLOCK, &child, nullptr), "sigprocmask");
}

// --- files ------------------------------------------------------------------------------------------------------------

void Sandbox::make_files() {
  const auto empty = [](const fs::path& folder) {
    for (const fs::directory_entry& one : fs::directory_iterator(folder)) fs::remove_all(one.path());
    ::chmod(folder.c_str(), 0755);
  };
  empty("/home");
  empty("/tmp");
  for (const char* folder :
       {"/home/u", "/home/u/p", "/home/u/q", "/home/u/q/d", "/home/u/p/d", "/home/u/p/d/e", "/home/u/p/free",
        "/home/u/p/guarded", "/home/u/p/guarded/d", "/home/u/p/o", "/home/u/p/empty", "/home/u/p/.hid"})
    must(::mkdir(folder, 0755), folder);
  const std::pair<const char*, const char*> files[] = {
      {"p/a", "one\ntwo\n"},  {"p/b", "b\n"},           {"p/c", "c\n"},       {"p/a b", "blank\n"},
      {"p/s", "d\n"},         {"p/d/x", "x\n"},         {"p/d/y", "y\n"},     {"p/d/e/z", "z\n"},
      {"p/guarded/g", "g\n"}, {"p/guarded/d/h", "h\n"}, {"p/o/-r", "dash\n"}, {"p/o/k", "k\n"},
      {"q/f", "f\n"},         {"q/d/x", "other\n"},     {"p/.hid/i", "i\n"},  {"p/.dot", "dot\n"},
  };
  for (const auto& [name, text] : files) write_file(std::string("/home/u/") + name, text);
  write_file("/tmp/t", "t\n");
}

void Sandbox::look(const std::string& folder, Tree& out) {
  DIR* open = ::opendir(folder.c_str());
  if (open == nullptr) return;
  const auto nanoseconds = [](const timespec& time) {
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  };
  while (const dirent* one = ::readdir(open)) {
    const std::string_view name = one->d_name;
    if (name == "." || name == "..") continue;
    const std::string path = folder + "/" + one->d_name;
    struct stat status {};
    if (::fstatat(::dirfd(open), one->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    Entry entry{status.st_ino,
                status.st_nlink,
                static_cast<std::uint64_t>(status.st_size),
                status.st_mode,
                status.st_uid,
                status.st_gid,
                nanoseconds(status.st_mtim),
                nanoseconds(status.st_ctim)};
    if (S_ISLNK(status.st_mode)) entry.target = fs::read_symlink(path).string();
    if (S_ISDIR(status.st_mode)) look(path, out);
    out.emplace(path, std::move(entry));
  }
  ::closedir(open);
}

Sandbox::Tree Sandbox::look() {
  Tree out;
  look("/home", out);
  look("/tmp", out);
  return out;
}

std::vector<Change> Sandbox::changes(const Tree& before, const Tree& after) {
  std::vector<Change> out;
  const auto is_folder = [](const Entry& entry) { return S_ISDIR(entry.mode); };
  const auto children = [](const Tree& tree, const std::string& folder) {
    std::vector<std::pair<std::string, std::uint64_t>> found;
    for (auto at = tree.lower_bound(folder + "/"); at != tree.end() && at->first.starts_with(folder + "/"); ++at)
      if (at->first.find('/', folder.size() + 1) == std::string::npos) found.emplace_back(at->first, at->second.inode);
    return found;
  };
  for (const auto& [path, old] : before) {
    const auto place = after.find(path);
    if (place == after.end()) {
      out.push_back({path, Change::Kind::Removed, is_folder(old)});
      continue;
    }
    const Entry& now = place->second;
    const bool is_other = now.inode != old.inode || now.mode != old.mode || now.owner != old.owner ||
                          now.group != old.group || now.target != old.target;
    if (is_folder(now) && !is_other) {
      if (now.changed != old.changed && children(before, path) == children(after, path))
        out.push_back({path, Change::Kind::Touched, true});
    } else if (is_other || now.size != old.size || now.modified != old.modified) {
      out.push_back({path, Change::Kind::Changed, is_folder(now)});
    } else if (now.changed != old.changed && now.links == old.links) {
      // A file that only has another name more or less is not changed.
      out.push_back({path, Change::Kind::Touched, is_folder(now)});
    }
  }
  for (const auto& [path, now] : after)
    if (!before.contains(path)) out.push_back({path, Change::Kind::Created, is_folder(now)});
  return out;
}

// --- a line -----------------------------------------------------------------------------------------------------------

// Waits until the shell and all that it started have ended. False: that took too long, and they were killed.
bool Sandbox::wait_for_all(int child) {
  using std::chrono::steady_clock, std::chrono::milliseconds;
  sigset_t children;
  ::sigemptyset(&children);
  ::sigaddset(&children, SIGCHLD);
  auto deadline = steady_clock::now() + milliseconds(1000);
  bool is_shell_over = false, in_time = true;
  for (;;) {
    int status = 0;
    const pid_t ended = ::waitpid(-1, &status, WNOHANG);
    if (ended < 0 && errno == ECHILD) return in_time;
    if (ended == child) {
      is_shell_over = true;
      deadline = std::min(deadline, steady_clock::now() + milliseconds(100));  // for what it left in the background
    }
    if (ended > 0) continue;
    const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(deadline - steady_clock::now()).count();
    if (left <= 0) {
      in_time = in_time && is_shell_over;
      ::kill(-1, SIGKILL);
      deadline = steady_clock::now() + milliseconds(10);
      continue;
    }
    const timespec timeout{left / 1'000'000'000, left % 1'000'000'000};
    ::sigtimedwait(&children, nullptr, &timeout);
  }
}

std::vector<Ran> Sandbox::read_log() const {
  std::string text(64 << 10, '\0');
  const ssize_t size = ::pread(log_, text.data(), text.size(), 0);
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  std::vector<Ran> out;
  for (std::size_t at = 0, end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
    std::string_view line = std::string_view(text).substr(at, end - at);
    Ran ran;
    ran.is_cut = line.ends_with(kCutMark);
    if (ran.is_cut) line.remove_suffix(1);
    for (std::size_t word = 0; word <= line.size();) {
      const std::size_t mark = std::min(line.find(kArgumentMark, word), line.size());
      const std::string one = unescaped(line.substr(word, mark - word));
      if (word == 0) ran.name = one;
      else ran.arguments.push_back(one);
      word = mark + 1;
    }
    out.push_back(std::move(ran));
  }
  return out;
}

Observed Sandbox::run(const std::string& shell, const std::string& line) {
  if (!is_clean_) {
    make_files();
    files_ = look();
    is_clean_ = true;
  }
  must(::ftruncate(log_, 0), kLog);
  must(::fchmod(log_, 0600), kLog);
  const pid_t child = ::fork();
  must(child, "fork");
  if (child == 0) start(shell, line);
  Observed out;
  out.timed_out = !wait_for_all(child);
  out.ran = read_log();
  Tree after = look();
  out.changes = changes(files_, after);
  const bool same_times = std::ranges::equal(files_, after, [](const auto& left, const auto& right) {
    return left.first == right.first && left.second.changed == right.second.changed;
  });
  is_clean_ = out.changes.empty() && same_times;
  return out;
}

}  // namespace baton::shell
