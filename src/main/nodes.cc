// SPDX-License-Identifier: Apache-2.0
#include "main/nodes.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/text.h"
#include "cli/stores.h"
#include "diagnostics/diagnostic.h"
#include "main/node_host.h"
#include "main/node_log.h"

extern char** environ;

namespace baton::main {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

// How long requests that are being answered have when the node ends.
constexpr milliseconds kGrace{10'000};
// How long a node that a client started stays when nobody says.
constexpr std::chrono::seconds kIdle{300};
// How often a node with an end looks whether it is idle.
constexpr milliseconds kIdleLookMax{1'000};

// SIGTERM and SIGINT come by a descriptor while this lives, on whatever thread; a second one, after it, ends the process as
// usual.
class Interrupts {
 public:
  Interrupts() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGTERM);
    sigaddset(&set_, SIGINT);
    ::pthread_sigmask(SIG_BLOCK, &set_, &before_);
    descriptor_ = ::signalfd(-1, &set_, SFD_CLOEXEC | SFD_NONBLOCK);
  }
  ~Interrupts() {
    if (descriptor_ >= 0) ::close(descriptor_);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  Interrupts(const Interrupts&) = delete;
  int descriptor() const { return descriptor_; }
  // The name of what came.
  std::string take() const {
    signalfd_siginfo info = {};
    if (::read(descriptor_, &info, sizeof info) != sizeof info) return "";
    return info.ssi_signo == SIGINT ? "SIGINT" : "SIGTERM";
  }

 private:
  sigset_t set_, before_;
  int descriptor_ = -1;
};

// As many connections as the configuration allows need as many descriptors.
void raise_descriptor_limit() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

// A node starts no programs that may want one of their own.
void forbid_cores() {
  const rlimit none = {0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
}

void log_event(NodeLog& log, Clock& clock, std::string_view event, json::Value members) {
  json::Value line = json::Value::object();
  line.set("time", format_time(clock.now()));
  line.set("level", "info");
  line.set("event", event);
  for (auto& [name, value] : members.members()) line.set(name, std::move(value));
  log.write(line);
}

// Waits until somebody says so, or nobody has been there for the given time. Why it ended.
std::string wait_for_end(const NodeHost& host, const Interrupts& interrupts, const Descriptor& asked, Clock& clock,
                         std::optional<std::chrono::seconds> idle) {
  const milliseconds look =
      idle ? std::clamp(milliseconds(*idle) / 4, milliseconds(10), kIdleLookMax) : milliseconds(-1);
  std::int64_t busy_at = clock.monotonic_ns();
  std::uint64_t requests = host.requests();
  while (true) {
    std::array<pollfd, 2> waits = {pollfd{interrupts.descriptor(), POLLIN, 0}, pollfd{asked.get(), POLLIN, 0}};
    const int ready = ::poll(waits.data(), waits.size(), static_cast<int>(look.count()));
    if (ready < 0 && errno != EINTR) return "poll failed";
    if ((waits[0].revents & POLLIN) != 0) return interrupts.take();
    if ((waits[1].revents & POLLIN) != 0) return "asked";
    if (!idle) continue;
    const std::int64_t now = clock.monotonic_ns();
    if (const std::uint64_t seen = host.requests(); host.is_busy() || seen != requests) {
      requests = seen;
      busy_at = now;
    }
    if (now - busy_at >= std::chrono::nanoseconds(*idle).count()) return "idle";
  }
}

}  // namespace

// --- serve --------------------------------------------------------------------------------------------------------------

// A node that a client started has the store's own configuration and socket: it does not matter who the client is. Whoever
// chooses them is no agent.
static bool is_as_clients_start_it(const cli::ServeOptions& options) {
  return options.started_by_client && options.config.empty() && options.socket.empty() && options.listen.empty();
}

int RealNodes::serve(cli::World& world, const cli::ServeOptions& options) {
  ::umask(077);
  raise_descriptor_limit();
  forbid_cores();
  auto interrupts = std::make_unique<Interrupts>();  // before any thread is made: they inherit it
  const Descriptor asked(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  auto log = NodeLog::open(options.log);
  if (!log) return cli::could_not(world, log.error());
  NodeLog& out = **log;
  auto host = NodeHost::open({.world = world,
                              .options = options,
                              .log = [&out](const json::Value& line) { out.write(line); },
                              .stop = [&asked] { static_cast<void>(::eventfd_write(asked.get(), 1)); },
                              .refuse_agents = !is_as_clients_start_it(options)});
  if (!host) return cli::could_not(world, host.error());
  if (auto listening = (*host)->listen(); !listening) return cli::could_not(world, listening.error());

  json::Value addresses = json::Value::array();
  for (const std::string& address : (*host)->addresses()) {
    addresses.push(address);
    if (!options.started_by_client) world.print("listening on " + address + "\n");
  }
  world.flush();
  json::Value started = json::Value::object();
  started.set("pid", ::getpid());
  started.set("listening", std::move(addresses));
  log_event(out, world.clock, "started", std::move(started));

  const std::string why = wait_for_end(**host, *interrupts, asked, world.clock, options.idle);
  interrupts.reset();  // whoever does not want to wait asks a second time
  json::Value ending = json::Value::object();
  ending.set("why", why);
  log_event(out, world.clock, "ending", std::move(ending));
  (*host)->close(kGrace);
  host->reset();
  log_event(out, world.clock, "ended", json::Value::object());
  return cli::kYes;
}

// --- in this process ----------------------------------------------------------------------------------------------------

Result<net::HttpAnswer> RealNodes::in_process(cli::World& world, const cli::ServeOptions& options,
                                              const net::HttpRequest& request) {
  auto host = NodeHost::open({.world = world, .options = options, .log = {}, .refuse_agents = true});
  if (!host) return tl::make_unexpected(host.error());
  auto answer = (*host)->ask(request);
  (*host)->close(kGrace);
  return answer;
}

Result<std::string> RealNodes::create_first_operator(cli::World& world, const cli::ServeOptions& options,
                                                     std::string actor) {
  auto host = NodeHost::create({.world = world, .options = options, .log = {}, .refuse_agents = true});
  if (!host) return tl::make_unexpected(host.error());
  auto token = (*host)->create_first_operator(std::move(actor));
  (*host)->close(kGrace);
  return token;
}

Result<cli::Nodes::Recovered> RealNodes::recover_operator(cli::World& world, const cli::ServeOptions& options,
                                                          std::string actor) {
  auto host = NodeHost::create({.world = world, .options = options, .log = {}, .refuse_agents = true});
  if (!host) return tl::make_unexpected(host.error());
  auto recovered = (*host)->recover_operator(std::move(actor));
  (*host)->close(kGrace);
  return recovered;
}

// --- in the background --------------------------------------------------------------------------------------------------

bool is_passed_on(std::string_view variable) {
  static constexpr std::array<std::string_view, 4> kNames = {"PATH", "HOME", "LANG", "TZ"};
  static constexpr std::array<std::string_view, 2> kPrefixes = {"LC_", "XDG_"};
  const std::string_view name = variable.substr(0, variable.find('='));
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end() ||
         std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

namespace {

// Texts and the null-ended list of pointers to them that exec wants.
class PointerList {
 public:
  void add(std::string text) { texts_.push_back(std::move(text)); }
  char* const* list() {
    pointers_.clear();
    for (std::string& text : texts_) pointers_.push_back(text.data());
    pointers_.push_back(nullptr);
    return pointers_.data();
  }

 private:
  std::vector<std::string> texts_;
  std::vector<char*> pointers_;
};

// In the new process: nothing but system calls, because the old one may have had threads. What fails is told by `tell`.
[[noreturn]] void become(char* const* arguments, char* const* environment, int null, int log, int tell) {
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const bool ready = ::chdir("/") == 0 && ::dup2(null, STDIN_FILENO) >= 0 && ::dup2(log, STDOUT_FILENO) >= 0 &&
                     ::dup2(log, STDERR_FILENO) >= 0;
  if (ready) {
    // `tell` closes itself when the new program begins; everything else that is open must not live on in it.
    const int kept = STDERR_FILENO + 1;
    if (tell != kept && ::dup3(tell, kept, O_CLOEXEC) >= 0) tell = kept;
    ::syscall(SYS_close_range, static_cast<unsigned>(kept + 1), ~0U, 0U);
    ::execve("/proc/self/exe", arguments, environment);
  }
  const int why = errno;
  static_cast<void>(::write(tell, &why, sizeof why));
  ::_exit(127);
}

}  // namespace

Result<void> RealNodes::start_in_background(cli::World& world, const cli::ServeOptions& options) {
  constexpr const char* kDoing = "starting a node";
  const cli::Location location = cli::locate_store(world, options.store);
  if (location.kind != cli::LocationKind::Folder)
    return failure_of(Code::NODE_NEEDED, kDoing, {{"what", "a store that is no folder"}});
  std::error_code error;
  const fs::path folder = fs::absolute(location.text, error);
  const auto place = cli::ledger_place(world, {.store = options.store, .keys = options.keys});
  if (!place) return tl::make_unexpected(place.error());
  const std::string log = options.log.empty() || options.log == "-" ? (folder / "node.log").string() : options.log;

  PointerList arguments, environment;
  for (const std::string& argument : std::initializer_list<std::string>{
           "baton", "serve", "--store", folder.string(), "--keys", fs::absolute(place->keys, error).string(),
           "--started-by-client", "--idle", std::to_string(options.idle.value_or(kIdle).count()), "--log", log})
    arguments.add(argument);
  if (!options.socket.empty()) {
    arguments.add("--socket");
    arguments.add(fs::absolute(options.socket, error).string());
  }
  if (!options.config.empty()) {
    arguments.add("--config");
    arguments.add(fs::absolute(options.config, error).string());
  }
  for (char** variable = environ; *variable != nullptr; ++variable)
    if (is_passed_on(*variable)) environment.add(*variable);

  rotate_if_large(log);
  const auto opened = open_log(log);
  if (!opened) return tl::make_unexpected(opened.error());
  const Descriptor log_file(*opened), null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  std::array<int, 2> pipe = {-1, -1};
  if (null.get() < 0 || ::pipe2(pipe.data(), O_CLOEXEC) != 0) return failure(kDoing, std::strerror(errno));
  const Descriptor read_end(pipe[0]);
  char* const* argument_list = arguments.list();
  char* const* environment_list = environment.list();
  const pid_t child = ::fork();
  if (child == 0) {
    // Twice, so that the node is nobody's child: it is not waited for, and no terminal can become its own.
    ::setsid();
    const pid_t node = ::fork();
    if (node == 0) become(argument_list, environment_list, null.get(), log_file.get(), pipe[1]);
    if (node < 0) {
      const int why = errno;
      static_cast<void>(::write(pipe[1], &why, sizeof why));
    }
    ::_exit(0);
  }
  const int forked = errno;
  ::close(pipe[1]);
  if (child < 0) return failure(kDoing, std::strerror(forked));
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  int why = 0;
  ssize_t told = 0;
  do told = ::read(read_end.get(), &why, sizeof why);
  while (told < 0 && errno == EINTR);
  if (told == static_cast<ssize_t>(sizeof why)) return failure(kDoing, std::strerror(why));
  return {};
}

}  // namespace baton::main
