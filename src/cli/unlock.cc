// SPDX-License-Identifier: Apache-2.0
#include "cli/unlock.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/descriptor.h"
#include "base/socket_path.h"
#include "base/text.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/credentials.h"
#include "cli/sealed_token.h"
#include "cli/stores.h"
#include "cli/unlock_rules.h"

namespace baton::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kDefaultSeconds = 15 * 60, kMostSeconds = 12 * 3600;
constexpr int kLookEveryMs = 1000;  // whether the time is over and the shell still there
constexpr std::size_t kLineMax = 1024;

// `ok TOKEN`, or `no WHY`.
constexpr std::string_view kYesWord = "ok ", kNoWord = "no ";

std::string identity_of(std::string_view origin) {
  std::string out;
  for (const char c : origin.substr(origin.rfind('/') == std::string_view::npos ? 0 : origin.rfind('/') + 1))
    if (is_alphanumeric(c) && out.size() < 16) out += c;
  return out;
}

std::optional<fs::path> socket_file(World& world, std::string_view origin) {
  const std::string runtime = world.environment("XDG_RUNTIME_DIR").value_or("");
  std::optional<fs::path> folder;
  if (!runtime.empty()) folder = fs::path(runtime) / "baton";
  else folder = configuration_folder(world);
  if (!folder) return std::nullopt;
  return *folder / ("unlock-" + std::to_string(::getsid(0)) + "-" + identity_of(origin) + ".sock");
}

std::optional<sockaddr_un> address_of(const SocketPath& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const std::string& text = path.text();
  if (text.size() >= sizeof address.sun_path) return std::nullopt;
  std::memcpy(address.sun_path, text.c_str(), text.size() + 1);
  return address;
}

void wait_at_most_a_second(int socket) {
  const timeval second{1, 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second);
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &second, sizeof second);
}

// One line, without its end; empty: none came in time.
std::string read_line(int socket) {
  std::string line;
  line.reserve(kLineMax);
  for (char c = 0; line.size() < kLineMax;) {
    const ssize_t got = ::recv(socket, &c, 1, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return {};
    if (c == '\n') return line;
    line += c;
  }
  return {};
}

// Sends a word to the process that holds the token, and returns its answer.
std::string ask_holder(World& world, std::string_view origin, std::string_view word) {
  const auto file = socket_file(world, origin);
  if (!file) return {};
  const auto path = SocketPath::of(file->string());
  const auto address = path ? address_of(*path) : std::nullopt;
  if (!address) return {};
  const Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return {};
  wait_at_most_a_second(socket.get());
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0) return {};
  ucred peer = {};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.uid != ::geteuid()) return {};
  if (!write_all(socket.get(), std::string(word) + "\n")) return {};
  return read_line(socket.get());
}

// --- the process that holds the token ---------------------------------------------------------------------------------------

volatile std::sig_atomic_t g_is_told_to_end = 0;

class Holder {
 public:
  Holder(World& world, Client& client, std::string token, std::string token_id, UnlockedTerminal at, Time until)
      : world_(world),
        client_(client),
        token_(std::move(token)),
        token_id_(std::move(token_id)),
        at_(at),
        until_(until) {}

  void run(int listening) {
    while (g_is_told_to_end == 0 && world_.clock.now() < until_ && is_shell_there() && !is_locked_) {
      pollfd wait{listening, POLLIN, 0};
      if (::poll(&wait, 1, kLookEveryMs) <= 0) continue;
      const Descriptor caller(::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC));
      if (caller) answer(caller.get());
    }
    wipe(token_);
    (void)client_.post_once("/v1/tokens/" + url_part(token_id_) + "/revoke", json::Value::object());
  }

 private:
  bool is_shell_there() const {
    const auto shell = net::process_id(at_.shell.pid);
    return shell && *shell == at_.shell;
  }

  void answer(int caller) {
    wait_at_most_a_second(caller);
    ucred peer = {};
    socklen_t size = sizeof peer;
    if (::getsockopt(caller, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.uid != ::geteuid()) return;
    const std::string word = read_line(caller);
    if (word == "lock") {
      is_locked_ = true;
      (void)write_all(caller, std::string(kYesWord) + "\n");
      return;
    }
    if (word != "token") return;
    const std::string why = why_not_answered(net::running_processes(), peer.pid, at_);
    std::string line = why.empty() ? std::string(kYesWord) + token_ + "\n" : std::string(kNoWord) + why + "\n";
    (void)write_all(caller, line);
    wipe(line);
  }

  World& world_;
  Client& client_;
  std::string token_, token_id_;
  const UnlockedTerminal at_;
  const Time until_;
  bool is_locked_ = false;
};

// --- commands -------------------------------------------------------------------------------------------------------------------

struct Arguments {
  NodeOptions node;
  std::string span;
};

Result<Descriptor> listen_at(const fs::path& file) {
  constexpr const char* kDoing = "unlocking";
  std::error_code ignored;
  fs::create_directories(file.parent_path(), ignored);
  ::chmod(file.parent_path().c_str(), 0700);
  ::unlink(file.c_str());  // of a holder that was killed: one that lives has answered
  const auto path = SocketPath::of(file.string());
  const auto address = path ? address_of(*path) : std::nullopt;
  if (!address) return failure(kDoing, "the path of the socket is too long");
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const mode_t before = ::umask(0177);
  const bool bound = socket && ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) == 0;
  ::umask(before);
  if (!bound || ::listen(socket.get(), 8) != 0) return failure(kDoing, std::strerror(errno));
  return socket;
}

// Where this process runs, if a command can be unlocked there.
std::optional<UnlockedTerminal> this_terminal() {
  const auto shell = net::process_id(::getsid(0));
  const auto all = net::running_processes();
  for (const net::RunningProcess& one : all)
    if (shell && one.stat.id.pid == ::getpid() && one.stat.terminal != 0)
      return UnlockedTerminal{*shell, one.stat.terminal};
  return std::nullopt;
}

int unlock(World& world, const Arguments& arguments) {
  const Span span = span_option(world, "--for", arguments.span);
  if (!span.good) return kCouldNot;
  const std::int64_t seconds = span.seconds.value_or(kDefaultSeconds);
  if (seconds < 1 || seconds > kMostSeconds) return could_not(world, "--for takes 1s to 12h");
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  const auto at = this_terminal();
  if (!at) return could_not(world, "there is no terminal here to unlock");
  if (const std::string why = why_not_answered(net::running_processes(), ::getpid(), *at); !why.empty())
    return could_not(world, "nothing is unlocked here: " + why);
  const std::string origin = ledger_origin(world, locate_store(world, arguments.node.store.store).text);
  const auto file = find_operator_token(world, origin);
  if (!file) return could_not(world, "you have no operator's token for this store");
  const auto is_sealed = is_sealed_token_file(*file);
  if (!is_sealed) return could_not(world, is_sealed.error());
  if (!*is_sealed) {
    world.print_error("baton: the operator's token is not sealed with a passphrase, so there is nothing to unlock\n");
    return kNo;
  }
  const auto place = socket_file(world, origin);
  if (!place) return could_not(world, "neither XDG_RUNTIME_DIR nor HOME says where the socket can be kept");
  (void)ask_holder(world, origin, "lock");  // the time begins anew
  auto client = Client::open(world, arguments.node, Presents::Operator);
  if (!client) return could_not(world, client.error());
  json::Value body = json::Value::object();
  body.set("kind", "operator");
  body.set("expires_in_seconds", seconds);
  body.set("note", "baton unlock");
  const auto made = client->post("/v1/tokens", body);
  if (!made) return could_not(world, made.error());
  if (!made->ok()) return refused(world, arguments.node, *made);
  client->use_token(text_of((*made)["token"]));
  auto listening = listen_at(*place);
  if (!listening) return could_not(world, listening.error());
  const Time until = world.clock.now() + seconds;
  world.print("unlocked in this terminal until " + format_time(until).substr(0, 19) +
              "Z: operator commands that you type here ask for no passphrase\n"
              "  `baton lock` ends it. Do not start an agent here meanwhile: while one runs, the passphrase is asked "
              "for again.\n");
  world.flush();
  const pid_t child = ::fork();
  if (child < 0) return could_not(world, std::string("the process that holds the token: ") + std::strerror(errno));
  if (child > 0) return kYes;
  // A group of its own: Ctrl-C in the terminal is for the command in the foreground.
  ::setpgid(0, 0);
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);  // a new process begins as it was, but nothing says so for ever
  ::mlockall(MCL_CURRENT);
  client->drop_connection();
  for (const int one : {SIGTERM, SIGHUP, SIGINT}) std::signal(one, [](int) { g_is_told_to_end = 1; });
  std::signal(SIGPIPE, SIG_IGN);
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; fd < 3; ++fd) ::dup2(nothing, fd);
  Holder(world, *client, text_of((*made)["token"]), text_of((*made)["id"]), *at, until).run(listening->get());
  ::unlink(place->c_str());
  ::_exit(0);
}

int lock(World& world, const Arguments& arguments) {
  const std::string origin = ledger_origin(world, locate_store(world, arguments.node.store.store).text);
  if (!ask_holder(world, origin, "lock").starts_with(kYesWord)) {
    world.print("nothing is unlocked in this terminal\n");
    return kNo;
  }
  world.print("locked: operator commands ask for the passphrase again\n");
  return kYes;
}

}  // namespace

Unlocked ask_unlocked(World& world, std::string_view origin) {
  Unlocked out;
  std::string line = ask_holder(world, origin, "token");
  if (line.starts_with(kYesWord)) out.token = line.substr(kYesWord.size());
  else if (line.starts_with(kNoWord)) out.refused = line.substr(kNoWord.size());
  wipe(line);
  return out;
}

void add_unlock(Command& app, Action& chosen) {
  {
    auto arguments = std::make_shared<Arguments>();
    Command* command =
        app.add_subcommand("unlock", "Stop asking for the operator's passphrase in this terminal for a while");
    command->add_option("--for", arguments->span, "How long, such as 90s, 15m or 2h; at most 12h (default: 15m)");
    add_node_options(*command, arguments->node, Presents::Operator, Changes::Nothing, {});
    examples(*command,
             "  baton unlock\n  baton unlock --for 1h\n\n"
             "Only commands typed at this shell are answered, and none while a coding agent runs in this terminal.\n"
             "A program that you start here yourself may use it, too: keep the time short.\n"
             "Exit status: 0 unlocked, 1 the token has no passphrase, 2 could not.");
    command->callback(
        [arguments, &chosen] { chosen = [arguments](World& world) { return unlock(world, *arguments); }; });
  }
  auto arguments = std::make_shared<Arguments>();
  Command* command = app.add_subcommand("lock", "End `baton unlock` in this terminal");
  add_store_options(*command, arguments->node.store, false);
  examples(*command, "  baton lock\n\nExit status: 0 locked, 1 nothing was unlocked here.");
  command->callback([arguments, &chosen] { chosen = [arguments](World& world) { return lock(world, *arguments); }; });
}

}  // namespace baton::cli
