// SPDX-License-Identifier: Apache-2.0
#include "net/listener.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "net/http_rules.h"
#include "net/process.h"
#include "net/url.h"

namespace baton::net {
namespace {

constexpr int kBacklog = 4096;      // the kernel cuts it to its own limit
constexpr int kAcceptsInARow = 64;  // then the connections that are there have their turn
constexpr std::chrono::milliseconds kPause{100};

tl::unexpected<Failure> system_failure(std::string doing, int error) {
  return failure(std::move(doing), std::generic_category().message(error));
}

Result<sockaddr_un> unix_address(const std::string& path, const std::string& doing) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path) || path.find('\0') != std::string::npos)
    return failure(doing,
                   "the path of a unix socket has 1 to " + std::to_string(sizeof(address.sun_path) - 1) + " bytes");
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

// Removes a socket file that nobody listens on.
Result<void> make_way(const std::string& path, const sockaddr_un& address, const std::string& doing) {
  struct stat file;
  if (::lstat(path.c_str(), &file) != 0) return errno == ENOENT ? Result<void>() : system_failure(doing, errno);
  if (!S_ISSOCK(file.st_mode)) return failure(doing, "there is a file that is no socket");
  const Descriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe) return system_failure(doing, errno);
  if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 || errno == EAGAIN)
    return failure(doing, "somebody listens there already");
  if (errno != ECONNREFUSED && errno != ENOENT) return system_failure(doing, errno);
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return system_failure(doing, errno);
  return {};
}

// Bound, and not listening yet: nobody can connect. The file's mode is 0600 or less from its first moment on.
Result<Listening> bind_unix(const std::string& path, const std::string& doing) {
  const auto address = unix_address(path, doing);
  if (!address) return tl::make_unexpected(address.error());
  if (const auto free = make_way(path, *address, doing); !free) return tl::make_unexpected(free.error());
  Listening listening;
  listening.socket = Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int socket = listening.socket.get();
  struct stat file;
  if (socket < 0 || ::fchmod(socket, 0600) != 0 ||
      ::bind(socket, reinterpret_cast<const sockaddr*>(&*address), sizeof(*address)) != 0 ||
      ::lstat(path.c_str(), &file) != 0)
    return system_failure(doing, errno);
  listening.unix_path = path;
  listening.device = file.st_dev;
  listening.inode = file.st_ino;
  return listening;
}

// A user who can write to the folder of a socket can put another socket in its place; one who can write to a folder above, another
// folder, unless that one is sticky.
Result<void> check_folder(const std::string& path, const std::string& doing) {
  std::error_code error;
  const std::filesystem::path folder =
      std::filesystem::canonical(std::filesystem::absolute(path, error).parent_path(), error);
  if (error) return failure(doing, error.message());
  for (std::filesystem::path one = folder;; one = one.parent_path()) {
    struct stat status;
    if (::stat(one.c_str(), &status) != 0) return system_failure(doing, errno);
    if (status.st_uid != ::geteuid() && status.st_uid != 0)
      return failure(doing, "the folder " + one.string() + " belongs to another user, who could replace the socket");
    const bool is_kept = one != folder && (status.st_mode & S_ISVTX) != 0;
    if ((status.st_mode & 022) != 0 && !is_kept)
      return failure(doing, "other users can write to the folder " + one.string() + " and could replace the socket");
    if (one == one.root_path()) return {};
  }
}

struct TcpAddress {
  sockaddr_storage storage = {};
  socklen_t size = 0;
};

std::optional<TcpAddress> tcp_address(const std::string& host, std::uint16_t port) {
  TcpAddress address;
  sockaddr_in v4 = {};
  sockaddr_in6 v6 = {};
  if (::inet_pton(AF_INET, host.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    std::memcpy(&address.storage, &v4, address.size = sizeof(v4));
  } else if (::inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    std::memcpy(&address.storage, &v6, address.size = sizeof(v6));
  } else {
    return std::nullopt;
  }
  return address;
}

std::uint16_t port_of(const sockaddr_storage& address) {
  return ntohs(address.ss_family == AF_INET ? reinterpret_cast<const sockaddr_in&>(address).sin_port
                                            : reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
}

std::string text_of(const sockaddr_storage& address) {
  char text[INET6_ADDRSTRLEN] = "";
  const void* const bytes = address.ss_family == AF_INET
                                ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in&>(address).sin_addr)
                                : &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
  ::inet_ntop(address.ss_family, bytes, text, sizeof(text));
  return authority_text(text, std::to_string(port_of(address)));
}

tl::expected<Listening, int> open_tcp(const TcpAddress& wanted) {
  Listening listening;
  listening.socket = Descriptor(::socket(wanted.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int socket = listening.socket.get();
  if (socket < 0) return tl::make_unexpected(errno);
  const int on = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (wanted.storage.ss_family == AF_INET6) ::setsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
  sockaddr_storage bound = {};
  socklen_t size = sizeof(bound);
  if (::bind(socket, reinterpret_cast<const sockaddr*>(&wanted.storage), wanted.size) != 0 ||
      ::listen(socket, kBacklog) != 0 || ::getsockname(socket, reinterpret_cast<sockaddr*>(&bound), &size) != 0)
    return tl::make_unexpected(errno);
  listening.address = text_of(bound);
  return listening;
}

// A peer that vanished without a word is noticed: by probes while nothing is sent, by its silence while something is.
void see_to_the_peer(int socket, const ServerLimits& limits) {
  const auto set = [socket](int level, int name, int value) {
    ::setsockopt(socket, level, name, &value, sizeof(value));
  };
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(limits.heartbeat).count();
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, static_cast<int>(std::clamp<std::int64_t>(seconds, 1, 3600)));
  set(IPPROTO_TCP, TCP_KEEPINTVL, static_cast<int>(std::clamp<std::int64_t>(seconds / 3, 1, 3600)));
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT,
      static_cast<int>(std::clamp<std::int64_t>(limits.write_time.count(), 1, 3'600'000)));
}

}  // namespace

Result<Listening> listen_unix(const std::string& path) {
  const std::string doing = "listening on " + path;
  auto listening = bind_unix(path, doing);
  if (!listening) return listening;
  if (::chmod(path.c_str(), 0600) != 0 || ::listen(listening->socket.get(), kBacklog) != 0)
    return system_failure(doing, errno);
  return listening;
}

Result<Listening> listen_unix(const GroupSocket& wanted) {
  const std::string doing = "listening on " + wanted.path;
  if (const auto safe = check_folder(wanted.path, doing); !safe) return tl::make_unexpected(safe.error());
  auto listening = bind_unix(wanted.path, doing);
  if (!listening) return listening;
  listening->for_agents = true;
  const auto give_up = [&](std::string problem) {
    ::unlink(wanted.path.c_str());
    return failure(doing, std::move(problem));
  };
  // By the file itself, not by its name. Nobody can connect before listen().
  const Descriptor file(::open(wanted.path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat status;
  if (!file || ::fstat(file.get(), &status) != 0) return give_up(std::generic_category().message(errno));
  if (status.st_dev != listening->device || status.st_ino != listening->inode) return give_up("the file was replaced");
  if (::fchownat(file.get(), "", static_cast<uid_t>(-1), wanted.group, AT_EMPTY_PATH) != 0)
    return give_up(errno == EPERM ? "the node's user must be a member of the group"
                                  : std::generic_category().message(errno));
  const std::string by_number = "/proc/self/fd/" + std::to_string(file.get());
  if (::chmod(by_number.c_str(), 0660) != 0 || ::fstat(file.get(), &status) != 0)
    return give_up(std::generic_category().message(errno));
  if ((status.st_mode & 07777) != 0660 || status.st_gid != wanted.group || status.st_uid != ::geteuid())
    return give_up("the file system does not keep its group and mode");
  if (::listen(listening->socket.get(), kBacklog) != 0) return give_up(std::generic_category().message(errno));
  return listening;
}

Result<std::vector<Listening>> listen_tcp(const ListenAddress& address) {
  const bool both = address.host == "localhost";
  const std::string doing = "listening on " + authority_text(address.host, std::to_string(address.port));
  const auto first = tcp_address(both ? "127.0.0.1" : address.host, address.port);
  if (!first) return failure(doing, "the host is neither an address nor `localhost`");
  auto opened = open_tcp(*first);
  if (!opened) return system_failure(doing, opened.error());
  std::vector<Listening> all;
  all.push_back(std::move(*opened));
  if (!both) return all;
  sockaddr_storage bound = {};
  socklen_t size = sizeof(bound);
  ::getsockname(all.front().socket.get(), reinterpret_cast<sockaddr*>(&bound), &size);
  auto second = open_tcp(*tcp_address("::1", port_of(bound)));
  // With a port asked for, somebody else at the other `localhost` would get half of what is meant for this server.
  if (!second && second.error() == EADDRINUSE && address.port != 0) return system_failure(doing, second.error());
  if (second) all.push_back(std::move(*second));
  return all;
}

Listener::Listener(Worker& home, const std::vector<std::unique_ptr<Worker>>& workers, Listening listening)
    : home_(home),
      workers_(workers),
      listening_(std::move(listening)),
      socket_(home.context, listening_.socket.get()),
      pause_(home.context) {
  listening_.socket.release();
}

Listener::~Listener() { close(); }

void Listener::close() {
  if (std::exchange(closed_, true)) return;
  boost::system::error_code ignored;
  socket_.close(ignored);
  pause_.cancel();
  struct stat file;
  if (!listening_.unix_path.empty() && ::lstat(listening_.unix_path.c_str(), &file) == 0 &&
      file.st_dev == listening_.device && file.st_ino == listening_.inode)
    ::unlink(listening_.unix_path.c_str());
}

void Listener::wait() {
  if (closed_) return;
  socket_.async_wait(boost::asio::posix::descriptor_base::wait_read,
                     [self = shared_from_this()](const boost::system::error_code& error) {
                       if (!error) self->accept_some();
                     });
}

void Listener::accept_some() {
  for (int i = 0; i < kAcceptsInARow && !closed_; ++i) {
    if (accept_one()) continue;
    if (errno == EAGAIN) break;
    if (errno == EINTR || errno == ECONNABORTED || errno == EPROTO) continue;  // that one's own trouble
    // Out of descriptors or memory: whoever waits keeps waiting in the kernel's queue.
    pause_.expires_after(kPause);
    pause_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
      if (!error) self->wait();
    });
    return;
  }
  wait();
}

bool Listener::accept_one() {
  Descriptor socket(::accept4(socket_.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!socket) return false;
  const Service& service = home_.service;
  const bool is_own = !listening_.unix_path.empty() && !listening_.for_agents;
  const std::size_t most = is_own ? service.limits.connections : service.tcp_connections;
  if (service.connections_open >= most) turn_away(std::move(socket));
  else take(std::move(socket));
  return true;
}

void Listener::take(Descriptor socket) {
  Service& service = home_.service;
  Peer peer;
  if (!listening_.unix_path.empty()) {
    ucred credentials = {};
    socklen_t size = sizeof(credentials);
    // Without the kernel's word on who it is, nobody comes in.
    if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return;
    peer.local = true;
    peer.for_agents = listening_.for_agents;
    peer.pid = credentials.pid;
    peer.uid = credentials.uid;
    // An id is used again after its process has ended: with the beginning, whoever gets it later is not taken for the peer.
    if (const auto process = process_id(peer.pid)) peer.started = process->start_ticks;
  } else {
    sockaddr_storage address = {};
    socklen_t size = sizeof(address);
    if (::getpeername(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return;  // gone already
    peer.address = text_of(address);
    peer.tls = service.tls != nullptr;
    see_to_the_peer(socket.get(), service.limits);
  }
  ++service.connections_total;
  Seat seat(service.connections_open);
  // Who comes alone, as a hook does, is not handed to another thread that would have to be woken first.
  Worker& worker = home_.connections.empty() ? home_ : *workers_[next_++ % workers_.size()];
  if (&worker == &home_) return worker.adopt(std::move(socket), std::move(seat), std::move(peer));
  worker.mailbox->post([&worker, socket = std::move(socket), seat = std::move(seat), peer = std::move(peer)]() mutable {
    worker.adopt(std::move(socket), std::move(seat), std::move(peer));
  });
}

void Listener::turn_away(Descriptor socket) {
  Service& service = home_.service;
  ++service.refused_total;
  if (service.tls && listening_.unix_path.empty()) return;  // a handshake would be work for somebody who cannot stay
  constexpr std::string_view kProblem = "the node has as many connections as it takes";
  const ServerResponse response = service.refuse
                                      ? service.refuse(503, "HTTP_CONNECTIONS", kProblem)
                                      : ServerResponse{503, "text/plain; charset=utf-8", std::string(kProblem) + "\n"};
  const std::string text = response_head(response.status, response.content_type, response.body.size(), response.headers,
                                         {.keep_alive = false}) +
                           response.body;
  Transport transport(socket.get());
  transport.read(home_.scratch);  // unread bytes would turn the close into a reset
  transport.write(text);
  transport.end_writing();
}

}  // namespace baton::net
