// SPDX-License-Identifier: Apache-2.0
// What the tests of the HTTP server and client share: a client that knows nothing of HTTP, a server whose handler does what
// the path says, and a certificate.
//
// Wherever something must happen in time, the server's limit is short and the test's patience long: a slow machine makes a
// test slow, not red.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "net/http_client.h"
#include "net/http_server.h"

namespace baton::net {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kPatience{20};

// Sanitizers keep books of their own about memory.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif
#else
constexpr bool kSanitized = false;
#endif

// Waits until something is so; false when patience is over.
inline bool eventually(const std::function<bool()>& holds) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(milliseconds(2));
  }
  return true;
}

class Folder {
 public:
  Folder() {
    std::string pattern = std::filesystem::temp_directory_path() / "baton-http-XXXXXX";
    path_ = ::mkdtemp(pattern.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// --- a client that knows nothing of HTTP -----------------------------------------------------------------------------

class Raw {
 public:
  explicit Raw(int socket = -1) : socket_(socket) {}
  ~Raw() { close(); }
  Raw(Raw&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}
  Raw& operator=(Raw&&) = delete;

  static int unix_socket() { return ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0); }
  static bool connect_unix(int socket, const std::string& path) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    return ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  }
  static Raw unix(const std::string& path) {
    Raw raw(unix_socket());
    EXPECT_TRUE(connect_unix(raw.socket_, path)) << path << ": " << std::strerror(errno);
    return raw;
  }
  // To 127.0.0.1:port; from another address of this machine, where one is given.
  static Raw tcp(const std::string& address, int receive_buffer = 0, const std::string& from = "") {
    Raw raw(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (receive_buffer > 0) ::setsockopt(raw.socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof(receive_buffer));
    sockaddr_in to = {};
    to.sin_family = AF_INET;
    if (!from.empty()) {
      EXPECT_EQ(::inet_pton(AF_INET, from.c_str(), &to.sin_addr), 1) << from;
      EXPECT_EQ(::bind(raw.socket_, reinterpret_cast<const sockaddr*>(&to), sizeof(to)), 0) << std::strerror(errno);
    }
    to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(raw.socket_, reinterpret_cast<const sockaddr*>(&to), sizeof(to)), 0) << std::strerror(errno);
    return raw;
  }

  int socket() const { return socket_; }
  void close() {
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  }
  void reset() {
    const linger hard = {1, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
    close();
  }
  void end_writing() { ::shutdown(socket_, SHUT_WR); }

  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  // Some bytes; empty at the end or after too long.
  std::string some() {
    pollfd wanted = {socket_, POLLIN, 0};
    if (::poll(&wanted, 1, static_cast<int>(milliseconds(kPatience).count())) != 1) {
      ADD_FAILURE() << "nothing came";
      return {};
    }
    std::string bytes(65536, '\0');
    const ssize_t got = ::recv(socket_, bytes.data(), bytes.size(), 0);
    bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return bytes;
  }
  // Until the server ends the connection.
  std::string rest() {
    std::string all;
    for (std::string more = some(); !more.empty(); more = some()) all += more;
    return all;
  }
  // Until `mark` was seen `times` times.
  std::string until(std::string_view mark, int times = 1) {
    std::string all;
    for (;;) {
      int seen = 0;
      for (std::size_t at = all.find(mark); at != std::string::npos; at = all.find(mark, at + mark.size())) ++seen;
      if (seen >= times) return all;
      const std::string more = some();
      if (more.empty()) {
        ADD_FAILURE() << "ended before " << mark << ": " << all;
        return all;
      }
      all += more;
    }
  }

 private:
  int socket_;
};

inline std::string get(std::string_view path, std::string_view more = "") {
  return "GET " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n" + std::string(more) + "\r\n";
}

// --- a server whose handler does what the path says ------------------------------------------------------------------

class Node {
 public:
  explicit Node(ServerOptions options = {}, bool unix = true) : options_(std::move(options)) {
    if (unix) options_.unix_path = folder.file("s");
    auto started = start_http_server(
        options_, [this](std::shared_ptr<Exchange> exchange) { handle(std::move(exchange)); },
        [](unsigned status, std::string_view code, std::string_view problem) {
          return ServerResponse{status, "text/plain", std::string(code) + ": " + std::string(problem)};
        });
    EXPECT_TRUE(started) << started.error().text();
    if (started) server = std::move(*started);
  }
  ~Node() {
    server.reset();
    for (std::thread& thread : threads_) thread.join();
  }

  const std::string& path() const { return options_.unix_path; }
  Raw raw() const { return Raw::unix(path()); }
  HttpRequest request(std::string method, std::string target, std::string body = {}) const {
    return {.method = std::move(method),
            .url = "http://localhost" + target,
            .body = std::move(body),
            .timeout = kPatience,
            .answer_bytes_max = 64u << 20,
            .unix_path = path()};
  }
  std::size_t held() {
    const std::lock_guard lock(mutex_);
    return held_.size();
  }
  std::size_t streams() {
    const std::lock_guard lock(mutex_);
    return streams_.size();
  }
  std::shared_ptr<EventStream> stream(std::size_t number) {
    EXPECT_TRUE(eventually([&] { return streams() > number; }));
    const std::lock_guard lock(mutex_);
    return streams_.at(number);
  }
  std::vector<std::shared_ptr<EventStream>> all_streams() {
    const std::lock_guard lock(mutex_);
    return streams_;
  }
  std::shared_ptr<Exchange> take_held() {
    EXPECT_TRUE(eventually([&] { return held() > 0; }));
    const std::lock_guard lock(mutex_);
    auto exchange = std::move(held_.front());
    held_.erase(held_.begin());
    return exchange;
  }
  void let_go() {
    const std::lock_guard lock(mutex_);
    held_.clear();
    streams_.clear();
  }

  Folder folder;
  std::unique_ptr<HttpServer> server;
  std::atomic<int> gone{0}, closed{0};

 private:
  static ServerResponse echo(const ServerRequest& request) {
    const Peer& peer = request.peer;
    return {.status = 200,
            .content_type = "text/plain",
            .body = request.method + " " + request.path + " ?" + request.query + " " + request.body,
            .headers = {{"X-Peer", peer.local ? std::to_string(peer.pid) + "/" + std::to_string(peer.uid)
                                              : peer.address + (peer.tls ? " tls" : "")},
                        {"X-Asked", std::string(request.header("x-ASK").value_or("none"))},
                        {"X-Broken", "a\r\nX-Smuggled: b"}}};
  }

  void handle(std::shared_ptr<Exchange> exchange) {
    const std::string& path = exchange->request().path;
    const std::lock_guard lock(mutex_);
    if (path == "/hold") {
      exchange->on_gone([this] { ++gone; });
      held_.push_back(std::move(exchange));
    } else if (path == "/later") {
      threads_.emplace_back([exchange = std::move(exchange)] {
        std::this_thread::sleep_for(milliseconds(20));
        exchange->respond(echo(exchange->request()));
      });
    } else if (path == "/stream") {
      streams_.push_back(exchange->stream({{"X-Further", "yes"}}));
      streams_.back()->on_closed([this] { ++closed; });
    } else if (path == "/big") {
      exchange->respond({.body = std::string(std::stoul(exchange->request().query), 'x')});
    } else if (path == "/nothing") {
      exchange->respond({.status = 204, .body = ""});
    } else if (path == "/drop") {
      exchange.reset();
    } else if (path == "/throw") {
      throw std::runtime_error("a fault of the handler");
    } else {
      exchange->respond(echo(exchange->request()));
    }
  }

  ServerOptions options_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<Exchange>> held_;
  std::vector<std::shared_ptr<EventStream>> streams_;
  std::vector<std::thread> threads_;
};

// Accepts on a unix socket; each connection gets the next of the texts after its request's head, and is closed.
class Script {
 public:
  explicit Script(std::vector<std::string> texts, milliseconds before_close = milliseconds(0)) {
    listener_ = Raw::unix_socket();
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    path().copy(address.sun_path, sizeof(address.sun_path) - 1);
    EXPECT_EQ(::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(::listen(listener_, 16), 0);
    thread_ = std::thread([this, texts = std::move(texts), before_close] {
      for (const std::string& text : texts) {
        Raw peer(::accept(listener_, nullptr, nullptr));
        if (peer.socket() < 0) return;
        peer.until("\r\n\r\n");
        peer.send(text);
        std::this_thread::sleep_for(before_close);
      }
    });
  }
  ~Script() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  std::string path() const { return folder_.file("script"); }
  HttpRequest request(std::string method = "GET") const {
    return {.method = std::move(method), .url = "http://localhost/", .timeout = kPatience, .unix_path = path()};
  }

 private:
  Folder folder_;
  int listener_;
  std::thread thread_;
};

inline ServerOptions on_tcp(ServerLimits limits = {}) {
  ServerOptions options;
  options.listen = {{"127.0.0.1", 0}};
  options.limits = limits;
  return options;
}

inline ServerOptions with(ServerLimits limits) {
  ServerOptions options;
  options.limits = limits;
  return options;
}

inline std::shared_ptr<const std::string> bytes(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

// Puts a body that came in the chunked coding together.
inline std::string dechunked(std::string_view text) {
  std::string body;
  while (!text.empty()) {
    const std::size_t line = text.find("\r\n");
    const std::size_t size = std::stoul(std::string(text.substr(0, line)), nullptr, 16);
    if (size == 0) break;
    body += text.substr(line + 2, size);
    text.remove_prefix(std::min(line + 2 + size + 2, text.size()));
  }
  return body;
}

inline std::string body_of(const std::string& message) { return message.substr(message.find("\r\n\r\n") + 4); }
// A key and a certificate of its own for 127.0.0.1 and `localhost`.
inline void make_certificate(const std::string& certificate_file, const std::string& key_file) {
  EVP_PKEY* const key = EVP_EC_gen("P-256");
  X509* const certificate = X509_new();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
  X509_set_pubkey(certificate, key);
  X509_NAME* const name = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("baton test"), -1, -1, 0);
  X509_set_issuer_name(certificate, name);
  X509V3_CTX context;
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const names =
      X509V3_EXT_conf_nid(nullptr, &context, NID_subject_alt_name, "IP:127.0.0.1,DNS:localhost");
  X509_add_ext(certificate, names, -1);
  X509_EXTENSION_free(names);
  X509_sign(certificate, key, EVP_sha256());
  FILE* out = std::fopen(certificate_file.c_str(), "w");
  PEM_write_X509(out, certificate);
  std::fclose(out);
  out = std::fopen(key_file.c_str(), "w");
  PEM_write_PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr);
  std::fclose(out);
  X509_free(certificate);
  EVP_PKEY_free(key);
}

inline ServerOptions on_tls(const Folder& folder, ServerLimits limits = {}) {
  ServerOptions options = on_tcp(limits);
  options.certificate_file = folder.file("certificate.pem");
  options.key_file = folder.file("key.pem");
  make_certificate(options.certificate_file, options.key_file);
  return options;
}

}  // namespace baton::net
