// SPDX-License-Identifier: Apache-2.0
#include "net/child.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "net/line_pipe.h"

namespace baton::net {
namespace {

namespace asio = boost::asio;

constexpr auto kPidFd = static_cast<idtype_t>(3);  // P_PIDFD, which the headers of glibc have only since 2.36
constexpr int kReapTimeMs = 1000;                  // for a process that was killed to be gone; it takes a moment
constexpr std::size_t kLastWordsBytes = 1u << 20;  // of stderr that are read after the end
constexpr unsigned kCloseRangeCloexec = 1u << 2;

std::string error_text(int error) { return std::generic_category().message(error); }

struct Pipe {
  Descriptor reading, writing;
};

// At 3 and above, so that giving them the numbers 0 to 2 in the child cannot run into one of them.
Result<Pipe> make_pipe() {
  std::array<int, 2> ends;
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return failure("making a pipe", error_text(errno));
  Pipe made{Descriptor(ends[0]), Descriptor(ends[1])};
  for (Descriptor* end : {&made.reading, &made.writing}) {
    if (end->get() > STDERR_FILENO) continue;
    *end = Descriptor(::fcntl(end->get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    if (!*end) return failure("making a pipe", error_text(errno));
  }
  return made;
}

// Everything the child needs between vfork and exec, made before: it runs in our memory and may not allocate there.
struct Plan {
  std::vector<const char*> argv, environment;  // each with a null at the end
  std::vector<std::string> programs;           // to be tried in this order
  const char* folder = nullptr;
  int in = -1, out = -1, err = -1, report = -1;
  pid_t parent = 0;
};

struct Report {
  bool at_folder = false;
  int error = 0;
};

std::vector<const char*> pointers(const std::vector<std::string>& texts) {
  std::vector<const char*> all;
  for (const std::string& text : texts) all.push_back(text.c_str());
  all.push_back(nullptr);
  return all;
}

std::vector<std::string> programs_of(const ChildOptions& options) {
  const std::string& name = options.argv[0];
  if (name.find('/') != std::string::npos) return {name};
  std::vector<std::string> all;
  for (const std::string& setting : options.environment)
    if (setting.starts_with("PATH=") && all.empty())
      for (const std::string_view folder : split(std::string_view(setting).substr(5), ':'))
        all.push_back((folder.empty() ? "." : std::string(folder)) + "/" + name);
  return all;
}

[[noreturn]] void give_up(const Plan& plan, Report report) {
  [[maybe_unused]] const ssize_t written = ::write(plan.report, &report, sizeof(report));
  ::_exit(127);
}

// In the child. Only system calls; nothing of ours is changed but what is on this stack.
[[noreturn]] void become(const Plan& plan) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != plan.parent) ::_exit(127);  // it went before the line above
  struct sigaction as_usual = {};
  as_usual.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) ::sigaction(signal, &as_usual, nullptr);
  if (::dup2(plan.in, STDIN_FILENO) < 0 || ::dup2(plan.out, STDOUT_FILENO) < 0 || ::dup2(plan.err, STDERR_FILENO) < 0)
    give_up(plan, {false, errno});
  // Also what others opened in this process without a thought. An old kernel does not know it; ours are closed all the
  // same.
  ::syscall(SYS_close_range, 3u, ~0u, kCloseRangeCloexec);
  if (plan.folder != nullptr && ::chdir(plan.folder) != 0) give_up(plan, {true, errno});
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  int error = ENOENT;
  for (const std::string& program : plan.programs) {
    ::execve(program.c_str(), const_cast<char* const*>(plan.argv.data()),
             const_cast<char* const*>(plan.environment.data()));
    // As a shell has it: one that is there but may not be run says more than one that is not there.
    if (errno != ENOENT && errno != ENOTDIR) error = errno;
    if (errno != ENOENT && errno != ENOTDIR && errno != EACCES) break;
  }
  give_up(plan, {false, error});
}

// A function of its own, because what is on the stack of the one that calls vfork is shared with the child.
[[gnu::noinline]] pid_t branch(const Plan& plan) {
  const pid_t pid = ::vfork();
  if (pid == 0) become(plan);
  return pid;
}

void keep_how_children_end() {
  struct sigaction now = {};
  if (::sigaction(SIGCHLD, nullptr, &now) != 0) return;
  if (now.sa_handler != SIG_IGN && (now.sa_flags & SA_NOCLDWAIT) == 0) return;
  std::signal(SIGCHLD, SIG_DFL);
}

pid_t spawn(const Plan& plan) {
  // A handler of ours must not run in the child while it has our memory.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = branch(plan);
  const int error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return pid;
}

std::string problem_with(const ChildOptions& options) {
  const auto cut = [](const std::string& text) { return text.find('\0') != std::string::npos; };
  if (options.argv.empty() || options.argv[0].empty()) return "no program is named";
  if (std::ranges::any_of(options.argv, cut) || std::ranges::any_of(options.environment, cut) || cut(options.folder))
    return "an argument, a variable or the folder holds a zero byte";
  return {};
}

}  // namespace

std::string exit_text(const ChildExit& exit) {
  if (exit.signal == 0) return "exit status " + std::to_string(exit.status);
  const char* const name = ::sigdescr_np(exit.signal);
  return "killed by signal " + std::to_string(exit.signal) + (name == nullptr ? "" : " (" + std::string(name) + ")");
}

class Child::State : public std::enable_shared_from_this<State> {
 public:
  State(asio::io_context& context, pid_t pid, Descriptor pidfd, ChildEvents events)
      : context_(context), pid_(pid), pidfd_(context), timer_(context), events_(std::move(events)) {
    boost::system::error_code error;
    pidfd_.assign(pidfd.get(), error);
    if (!error) pidfd.release();
  }
  ~State() {
    if (!ended_ && watches()) abandon();
  }

  bool watches() const { return pidfd_.is_open(); }
  pid_t pid() const { return pid_; }
  bool has_ended() const { return ended_; }

  void start(Descriptor in, Descriptor out, Descriptor err, std::size_t line_bytes_max) {
    stdin_ = std::move(in);
    stdout_ = std::move(out);
    // The reader is part of this; what it calls with is not alive without it.
    LineReaderEvents events;
    events.on_line = [this](const std::string& line) { take_stderr(line); };
    events.on_long_line = [this, line_bytes_max](const LongLine& line) {
      take_stderr(line.head.substr(0, line_bytes_max));
    };
    stderr_ = std::make_unique<LineReader>(context_, std::move(err), line_bytes_max, std::move(events));
    watch();
  }

  Descriptor take_stdin() { return std::move(stdin_); }
  Descriptor take_stdout() { return std::move(stdout_); }

  void end(std::chrono::milliseconds before_term, std::chrono::milliseconds before_kill) {
    if (ended_) return;
    stdin_.reset();
    if (asked_) return after(before_kill, SIGKILL, {});
    after(before_term, SIGTERM, before_kill);
  }

  void signal_group(int signal) {
    if (!ended_) ::kill(-pid_, signal);
  }

  // The owner has gone.
  void abandon() {
    gone_ = true;
    if (stderr_) stderr_->close();
    timer_.cancel();
    stdin_.reset();
    stdout_.reset();
    if (ended_) return;
    signal_group(SIGKILL);
    pollfd gone = {pidfd_.native_handle(), POLLIN, 0};
    // One that hangs in the kernel is reaped when the context sees it end.
    if (::poll(&gone, 1, kReapTimeMs) == 1) reap();
  }

 private:
  void take_stderr(std::string_view line) {
    const auto self = shared_from_this();  // the owner may go
    if (!gone_ && events_.on_stderr) events_.on_stderr(line);
  }

  void after(std::chrono::milliseconds time, int signal, std::optional<std::chrono::milliseconds> then) {
    timer_.expires_after(time);
    timer_.async_wait([self = shared_from_this(), signal, then](const boost::system::error_code& error) {
      if (error || self->ended_) return;
      self->signal_group(signal);
      self->asked_ = true;
      if (then) self->after(*then, SIGKILL, {});
    });
  }

  void watch() {
    pidfd_.async_wait(asio::posix::descriptor_base::wait_read,
                      [self = shared_from_this()](const boost::system::error_code& error) {
                        if (!error) self->see_end();
                      });
  }

  void see_end() {
    if (ended_) return;
    // A wait may end for nothing: an event of a descriptor that was closed in the same turn and whose place this one
    // took.
    if (!is_over()) return watch();
    const ChildExit exit = reap();
    timer_.cancel();
    if (!gone_) stderr_->read_now(kLastWordsBytes);
    if (const auto on_exit = std::exchange(events_.on_exit, {}); on_exit && !gone_) on_exit(exit);
  }

  bool is_over() {
    siginfo_t info = {};
    const auto pidfd = static_cast<id_t>(pidfd_.native_handle());
    if (::waitid(kPidFd, pidfd, &info, WEXITED | WNOHANG | WNOWAIT) == 0) return info.si_pid != 0;
    return errno == ECHILD;  // somebody else has reaped it; how it ended is lost
  }

  // Of one that is over.
  ChildExit reap() {
    siginfo_t info = {};
    signal_group(SIGKILL);  // before: until it is reaped its number, which is its group's, is nobody else's
    ::waitid(kPidFd, static_cast<id_t>(pidfd_.native_handle()), &info, WEXITED);
    ended_ = true;
    boost::system::error_code ignored;
    pidfd_.close(ignored);
    if (info.si_code == CLD_EXITED) return {info.si_status, 0};
    return {-1, info.si_status};
  }

  asio::io_context& context_;
  const pid_t pid_;
  asio::posix::stream_descriptor pidfd_;
  asio::steady_timer timer_;
  ChildEvents events_;
  Descriptor stdin_, stdout_;
  std::unique_ptr<LineReader> stderr_;
  bool ended_ = false;  // and reaped
  bool asked_ = false;  // SIGTERM was sent
  bool gone_ = false;   // nobody is to be called any more
};

Result<std::unique_ptr<Child>> Child::start(asio::io_context& context, const ChildOptions& options,
                                            ChildEvents events) {
  const std::string doing = "starting " + printable(options.argv.empty() ? "a program" : options.argv[0], 200);
  if (const std::string problem = problem_with(options); !problem.empty()) return failure(doing, problem);
  auto in = make_pipe(), out = make_pipe(), err = make_pipe(), report = make_pipe();
  for (const auto* made : {&in, &out, &err, &report})
    if (!*made) return failure(doing, made->error().reason);
  Plan plan = {.argv = pointers(options.argv),
               .environment = pointers(options.environment),
               .programs = programs_of(options),
               .folder = options.folder.empty() ? nullptr : options.folder.c_str(),
               .in = in->reading.get(),
               .out = out->writing.get(),
               .err = err->writing.get(),
               .report = report->writing.get(),
               .parent = ::getpid()};
  keep_how_children_end();
  const pid_t pid = spawn(plan);
  if (pid < 0) return failure(doing, error_text(errno));
  report->writing.reset();
  Report told;
  ssize_t size;
  do size = ::read(report->reading.get(), &told, sizeof(told));
  while (size < 0 && errno == EINTR);
  if (size != 0) {  // else the program runs, and exec has closed the pipe
    ::waitpid(pid, nullptr, 0);
    return failure(doing + (told.at_folder ? " in " + printable(options.folder, 200) : ""), error_text(told.error));
  }
  Descriptor pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  const int error = errno;
  std::shared_ptr<State> state;
  if (pidfd) state = std::make_shared<State>(context, pid, std::move(pidfd), std::move(events));
  if (!state || !state->watches()) {
    ::kill(-pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    return failure(doing, "its end cannot be waited for: " + error_text(error));
  }
  state->start(std::move(in->writing), std::move(out->reading), std::move(err->reading), options.stderr_line_bytes_max);
  return std::unique_ptr<Child>(new Child(std::move(state)));
}

Child::Child(std::shared_ptr<State> state) : state_(std::move(state)) {}
Child::~Child() { state_->abandon(); }
pid_t Child::pid() const { return state_->pid(); }
bool Child::has_ended() const { return state_->has_ended(); }
Descriptor Child::take_stdin() { return state_->take_stdin(); }
Descriptor Child::take_stdout() { return state_->take_stdout(); }
void Child::end(std::chrono::milliseconds before_term, std::chrono::milliseconds before_kill) {
  state_->end(before_term, before_kill);
}
void Child::kill() { state_->signal_group(SIGKILL); }

}  // namespace baton::net
