// SPDX-License-Identifier: Apache-2.0
#include "hook/asking.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "hooks/signed_answer.h"

namespace baton::hook {
namespace {

constexpr std::size_t kAnswerBytesMax = 1u << 20;

class Descriptor {
 public:
  explicit Descriptor(int given) : given_(given) {}
  ~Descriptor() {
    if (given_ >= 0) ::close(given_);
  }
  Descriptor(const Descriptor&) = delete;
  int get() const { return given_; }

 private:
  const int given_;
};

// Waits until it can be read (or written); false when the time is over.
bool wait_for(int descriptor, short what, Deadline deadline) {
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    if (left <= 0) return false;
    pollfd waits = {descriptor, what, 0};
    const int ready = ::poll(&waits, 1, static_cast<int>(left));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

Heard failed(std::string problem) { return {Heard::Kind::Failed, 0, {}, {}, std::move(problem)}; }

// A path that is longer than an address has room for is reached through its folder.
int connected(const std::string& path, Deadline deadline) {
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0) return -1;
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  int folder = -1;
  std::string name = path;
  if (name.size() >= sizeof address.sun_path) {
    const std::size_t slash = path.rfind('/');
    folder = ::open(path.substr(0, slash).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    name = "/proc/self/fd/" + std::to_string(folder) + path.substr(slash);
  }
  int result = -1;
  if (name.size() < sizeof address.sun_path) {
    std::memcpy(address.sun_path, name.data(), name.size());
    do {
      result = ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address);
      // The node's queue is full for a moment.
      if (result != 0 && errno == EAGAIN && !wait_for(socket, POLLOUT, deadline)) break;
    } while (result != 0 && (errno == EINTR || errno == EAGAIN) && std::chrono::steady_clock::now() < deadline);
  } else {
    errno = ENAMETOOLONG;
  }
  const int why = errno;
  if (folder >= 0) ::close(folder);
  if (result == 0) return socket;
  ::close(socket);
  errno = why;
  return -1;
}

bool write_all(int descriptor, std::string_view bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const ssize_t put = ::send(descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (put > 0) bytes.remove_prefix(static_cast<std::size_t>(put));
    else if (put < 0 && (errno == EAGAIN || errno == EINTR)) {
      if (!wait_for(descriptor, POLLOUT, deadline)) return false;
    } else return false;
  }
  return true;
}

bool same_letters(std::string_view one, std::string_view other) {
  if (one.size() != other.size()) return false;
  for (std::size_t i = 0; i < one.size(); ++i)
    if ((one[i] | 0x20) != (other[i] | 0x20)) return false;
  return true;
}

// What is behind the header's name; empty: there is none, or more than one.
std::string_view header_in(std::string_view head, std::string_view name) {
  std::string_view out;
  for (bool found = false; !head.empty();) {
    const std::size_t end = head.find("\r\n");
    std::string_view line = head.substr(0, end);
    head.remove_prefix(end == std::string_view::npos ? head.size() : end + 2);
    if (line.size() <= name.size() || line[name.size()] != ':' || !same_letters(line.substr(0, name.size()), name))
      continue;
    if (found) return {};
    found = true;
    line.remove_prefix(name.size() + 1);
    while (line.starts_with(' ')) line.remove_prefix(1);
    out = line;
  }
  return out;
}

// -1: there is none, or it is no number.
long long content_length(std::string_view head) {
  const std::string_view text = header_in(head, "content-length");
  long long out = -1;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return !text.empty() && error == std::errc() && at == text.data() + text.size() ? out : -1;
}

}  // namespace

bool read_all(int descriptor, std::string& out, std::size_t most, Deadline deadline) {
  char piece[64 << 10];
  while (true) {
    if (!wait_for(descriptor, POLLIN, deadline)) return false;
    const ssize_t got = ::read(descriptor, piece, sizeof piece);
    if (got == 0) return true;
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0 || out.size() + static_cast<std::size_t>(got) > most) return false;
    out.append(piece, static_cast<std::size_t>(got));
  }
}

Heard ask(const Asked& asked, Deadline deadline) {
  const Descriptor socket(connected(asked.socket, deadline));
  if (socket.get() < 0) {
    Heard heard = failed(std::string("the node cannot be reached: ") + std::strerror(errno));
    if (errno == ENOENT || errno == ECONNREFUSED) heard.kind = Heard::Kind::NobodyThere;
    return heard;
  }
  std::string request =
      "POST " + asked.target +
      " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: " +
      std::to_string(asked.body.size()) + "\r\n";
  if (!asked.session_token.empty()) request += "Baton-Session: " + asked.session_token + "\r\n";
  if (!asked.nonce.empty()) ((request += hooks::kNonceHeader) += ": ") += asked.nonce + "\r\n";
  request += "\r\n";
  request += asked.body;
  if (!write_all(socket.get(), request, deadline)) return failed("the node does not take what it is asked");

  std::string answer;
  std::size_t body_at = std::string::npos;
  long long length = -1;
  while (body_at == std::string::npos || answer.size() < body_at + static_cast<std::size_t>(length)) {
    if (!wait_for(socket.get(), POLLIN, deadline)) return failed("the node did not answer in time");
    char piece[16 << 10];
    const ssize_t got = ::recv(socket.get(), piece, sizeof piece, 0);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) return failed("the node broke off its answer");
    answer.append(piece, static_cast<std::size_t>(got));
    if (answer.size() > kAnswerBytesMax) return failed("the node's answer is too long");
    if (body_at != std::string::npos) continue;
    const std::size_t end = answer.find("\r\n\r\n");
    if (end == std::string::npos) continue;
    body_at = end + 4;
    length = content_length(std::string_view(answer).substr(0, end));
    if (length < 0 || length > static_cast<long long>(kAnswerBytesMax)) return failed("the node's answer is none");
  }
  Heard heard;
  const std::string_view head = answer;
  constexpr std::string_view kVersion = "HTTP/1.1 ";
  if (!head.starts_with(kVersion)) return failed("the node's answer is none");
  const auto [at, error] =
      std::from_chars(head.data() + kVersion.size(), head.data() + kVersion.size() + 3, heard.status);
  if (error != std::errc() || at != head.data() + kVersion.size() + 3) return failed("the node's answer is none");
  heard.kind = Heard::Kind::Answered;
  heard.signature = header_in(head.substr(0, body_at - 2), hooks::kSignatureHeader);
  heard.body = answer.substr(body_at, static_cast<std::size_t>(length));
  return heard;
}

}  // namespace baton::hook
