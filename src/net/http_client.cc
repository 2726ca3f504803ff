// SPDX-License-Identifier: Apache-2.0
#include "net/http_client.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <exception>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "net/http_message.h"
#include "net/transport.h"
#include "net/url.h"

namespace baton::net {
namespace {

namespace asio = boost::asio;
using Outcome = Transport::Outcome;
using Direction = asio::posix::descriptor_base;
using Take = AnswerReader::Take;

tl::unexpected<Trouble> no_answer_in_time() { return tl::make_unexpected(out_of_time()); }

}  // namespace

// One connection, and waiting on it. Whatever waits, waits for the deadline as well.
class HttpWire {
 public:
  explicit HttpWire(bool keep_alive) : keep_alive_(keep_alive) {}

  // Asks and takes in the answer; connects when there is no connection to that place, or none any more.
  Tried<HttpAnswer> ask(const HttpRequest& request, const Url& url, const Take& take,
                        std::optional<std::chrono::milliseconds> idle_timeout) {
    const std::string authority = authority_text(url.host, url.port);
    auto text = request_text({.method = request.method,
                              .target = url.target,
                              .authority = authority,
                              .body = request.body,
                              .content_type = request.content_type,
                              .headers = request.headers,
                              .keep_alive = keep_alive_});
    if (!text) return tl::make_unexpected(text.error());
    set_deadline(request.timeout);
    const std::string place = request.unix_path + "\n" + authority + "\n" + (url.tls ? "tls\n" + request.ca_file : "");
    bool reused = socket_.has_value() && place == place_ && is_quiet();
    for (;;) {
      if (!reused) {
        place_ = place;
        if (const auto connected = connect(request, url); !connected) {
          disconnect();
          return tl::make_unexpected(connected.error());
        }
      }
      auto answer = converse(*text, request, take, idle_timeout);
      if (!answer || !keep_alive_) disconnect();
      if (answer || !answer.error().before_answer || !reused) return answer;
      reused = false;
    }
  }

 private:
  void set_deadline(std::chrono::milliseconds time) {
    out_of_time_ = false;
    timer_.expires_after(time);
    timer_.async_wait([this, number = ++deadline_](const boost::system::error_code& error) {
      if (!error && number == deadline_) out_of_time_ = true;
    });
  }

  // Runs what waits until `done`; false when the time is over before.
  bool run_until(const bool& done) {
    while (!done && !out_of_time_) {
      context_.restart();
      context_.run_one();
    }
    return done;
  }

  Tried<void> wait_for(Direction::wait_type direction) {
    bool ready = false;
    socket_->async_wait(direction, [&ready](const boost::system::error_code&) { ready = true; });
    if (run_until(ready)) return {};
    socket_->cancel();  // the handler above must not outlive `ready`
    while (!ready) {
      context_.restart();
      context_.run_one();
    }
    return no_answer_in_time();
  }

  // Repeats a step of the transport until it neither wants to read nor to write.
  template <class Step>
  Tried<Transport::Step> carry_out(Step step) {
    for (;;) {
      const Transport::Step done = step();
      if (done.outcome != Outcome::WantRead && done.outcome != Outcome::WantWrite) return done;
      const auto direction = done.outcome == Outcome::WantRead ? Direction::wait_read : Direction::wait_write;
      if (const auto waited = wait_for(direction); !waited) return tl::make_unexpected(waited.error());
    }
  }

  // Nothing came on an idle connection: no end, and no bytes nobody asked for.
  bool is_quiet() {
    std::array<char, 1> byte;
    return transport_.read(byte).outcome == Outcome::WantRead;
  }

  void disconnect() {
    transport_ = Transport();
    socket_.reset();
  }

  Tried<void> connect(const HttpRequest& request, const Url& url) {
    disconnect();
    const auto connected = request.unix_path.empty() ? connect_tcp(url) : connect_unix(request);
    if (!connected || !url.tls || !request.unix_path.empty()) return connected;
    if (!tls_ || tls_ca_file_ != request.ca_file) {
      auto context = client_tls(request.ca_file);
      if (!context) return trouble(context.error().text());
      tls_ = std::move(*context);
      tls_ca_file_ = request.ca_file;
    }
    if (!transport_.begin_client_tls(*tls_, url.host)) return trouble("TLS could not begin");
    const auto shaken = carry_out([this] { return transport_.handshake(); });
    if (!shaken) return tl::make_unexpected(shaken.error());
    if (shaken->outcome == Outcome::Done) return {};
    return trouble(transport_.problem().empty() ? "the connection was closed" : transport_.problem());
  }

  Tried<void> connect_unix(const HttpRequest& request) {
    const auto address = unix_address(request.unix_path);
    if (!address) return tl::make_unexpected(address.error());
    Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!socket) return trouble(std::generic_category().message(errno));
    // A connection to a unix socket waits only while the listener's queue is full; the kernel keeps the time.
    const timeval time = {static_cast<time_t>(request.timeout.count() / 1000),
                          static_cast<suseconds_t>(std::max<std::int64_t>(request.timeout.count() % 1000 * 1000, 1))};
    ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &time, sizeof(time));
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof(*address)) != 0)
      return errno == EAGAIN ? no_answer_in_time() : tl::make_unexpected(not_connected(errno));
    if (::fcntl(socket.get(), F_SETFL, O_NONBLOCK) != 0) return trouble(std::generic_category().message(errno));
    hold(std::move(socket));
    return {};
  }

  void hold(Descriptor socket) {
    socket_.emplace(context_, socket.get());
    transport_ = Transport(socket.release());
  }

  Tried<void> connect_tcp(const Url& url) {
    const auto endpoints = look_up(url);
    if (!endpoints) return tl::make_unexpected(endpoints.error());
    Tried<void> last = trouble("the host has no address");
    for (const auto& endpoint : *endpoints) {
      last = connect_to(endpoint);
      if (last || out_of_time_) break;
    }
    return last;
  }

  Tried<void> connect_to(const asio::ip::tcp::endpoint& endpoint) {
    disconnect();
    Descriptor socket(::socket(endpoint.data()->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) return trouble(std::generic_category().message(errno));
    const int number = socket.get(), on = 1;
    ::setsockopt(number, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    hold(std::move(socket));
    if (::connect(number, endpoint.data(), static_cast<socklen_t>(endpoint.size())) == 0) return {};
    if (errno != EINPROGRESS) return tl::make_unexpected(not_connected(errno));
    if (const auto waited = wait_for(Direction::wait_write); !waited) return waited;
    int error = 0;
    socklen_t size = sizeof(error);
    ::getsockopt(number, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return tl::make_unexpected(not_connected(error));
    return {};
  }

  Tried<Endpoints> look_up(const Url& url) {
    if (Endpoints known = known_endpoints(url); !known.empty()) return known;
    boost::system::error_code error;
    asio::ip::tcp::resolver resolver(context_);
    Endpoints found;
    bool done = false;
    resolver.async_resolve(url.host, url.port, [&](const boost::system::error_code& problem, const auto& results) {
      error = problem;
      for (const auto& entry : results) found.push_back(entry.endpoint());
      done = true;
    });
    if (!run_until(done)) {
      resolver.cancel();
      while (!done) {
        context_.restart();
        context_.run_one();
      }
      return no_answer_in_time();
    }
    if (error) return trouble(error.message());
    return found;
  }

  Tried<HttpAnswer> converse(std::string_view text, const HttpRequest& request, const Take& take,
                             std::optional<std::chrono::milliseconds> idle_timeout) {
    // A server that refuses may answer and close before it has read all: its answer is read even if the writing fails.
    bool wrote = true;
    while (!text.empty() && wrote) {
      const auto step = carry_out([&] { return transport_.write(text); });
      if (!step) return tl::make_unexpected(step.error());
      wrote = step->outcome == Outcome::Done;
      text.remove_prefix(step->bytes);
    }
    AnswerReader reader(request.method == "HEAD", request.answer_bytes_max, [&take](const HttpAnswer& head) {
      return head.status / 100 == 2 ? take : Take();  // any other is kept
    });
    for (bool more = true; more;) {
      if (reader.hands_on() && idle_timeout) set_deadline(*idle_timeout);
      std::array<char, 16384> bytes;
      const auto step = carry_out([&] { return transport_.read(bytes); });
      if (!step) return tl::make_unexpected(step.error());
      if (step->outcome == Outcome::Done) {
        const auto progress = reader.put({bytes.data(), step->bytes});
        if (!progress) return tl::make_unexpected(progress.error());
        more = *progress == AnswerReader::Progress::More;
      } else {
        if (const auto ended = end_of(reader); !ended) return tl::make_unexpected(ended.error());
        more = false;
      }
    }
    if (!reader.keeps_alive()) disconnect();
    return std::move(reader.answer());
  }

  // The server sends nothing more.
  Tried<void> end_of(AnswerReader& reader) {
    const std::string reason = transport_.problem().empty() ? "the connection was closed" : transport_.problem();
    if (!reader.has_any()) return tl::make_unexpected(Trouble{reason, {}, true});
    if (reader.hands_on()) return {};  // a stream goes on until somebody ends it
    if (!reader.end() || !transport_.problem().empty()) return trouble("the answer was cut off: " + reason);
    return {};
  }

  const bool keep_alive_;
  asio::io_context context_{1};
  asio::steady_timer timer_{context_};
  std::uint32_t deadline_ = 0;  // the number of the one that counts
  bool out_of_time_ = false;
  TlsContext tls_;
  std::string tls_ca_file_;
  std::string place_;  // where the connection goes to
  std::optional<asio::posix::stream_descriptor> socket_;
  Transport transport_;
};

namespace {

Result<HttpAnswer> ask(HttpWire& wire, const HttpRequest& request, const Take& take,
                       std::optional<std::chrono::milliseconds> idle_timeout) {
  const std::string doing = "asking " + printable(request.unix_path.empty() ? request.url : request.unix_path, 200);
  const auto url = parse_url(request.url);
  if (const std::string problem = problem_with_url(request.url);
      !url || (!problem.empty() && request.unix_path.empty()))
    return failure(doing, "the address " + problem);
  try {
    auto answer = wire.ask(request, *url, take, idle_timeout);
    if (answer) return std::move(*answer);
    return tl::make_unexpected(Failure{doing, std::move(answer.error().reason), answer.error().code});
  } catch (const std::exception& error) {
    return failure(doing, error.what());
  }
}

}  // namespace

std::string problem_with_url(std::string_view text) {
  const auto url = parse_url(text);
  if (!url) return "is no http or https address without user and fragment";
  if (!url->tls && !is_loopback(url->host)) return "is plain http beyond this machine: use https";
  return {};
}

HttpClient::HttpClient() : wire_(std::make_unique<HttpWire>(true)) {}
HttpClient::~HttpClient() = default;
HttpClient::HttpClient(HttpClient&&) noexcept = default;
HttpClient& HttpClient::operator=(HttpClient&&) noexcept = default;

Result<HttpAnswer> HttpClient::send(const HttpRequest& request) { return ask(*wire_, request, nullptr, std::nullopt); }

Result<HttpAnswer> send(const HttpRequest& request) {
  HttpWire wire(false);
  return ask(wire, request, nullptr, std::nullopt);
}

Result<HttpAnswer> follow(const HttpRequest& request, const std::function<bool(std::string_view bytes)>& take,
                          std::chrono::milliseconds idle_timeout) {
  HttpWire wire(false);
  return ask(wire, request, take, idle_timeout);
}

}  // namespace baton::net
