// SPDX-License-Identifier: Apache-2.0
#include "net/http_client.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/http/parser.hpp>
#include <cerrno>
#include <cstring>
#include <exception>
#include <system_error>
#include <utility>

#include "base/limits.h"
#include "base/text.h"
#include "net/transport.h"
#include "net/url.h"

namespace baton::net {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using Outcome = Transport::Outcome;
using Direction = asio::posix::descriptor_base;
using Endpoints = std::vector<asio::ip::tcp::endpoint>;
using Take = std::function<bool(std::string_view bytes)>;

// Why something did not come about, before it is known what was being done.
struct Trouble {
  std::string reason;
  std::string_view code = {};
  bool before_answer = false;  // the server ended the connection, and no byte of an answer had come
};
template <class T>
using Tried = tl::expected<T, Trouble>;

tl::unexpected<Trouble> trouble(std::string reason, std::string_view code = {}) {
  return tl::make_unexpected(Trouble{std::move(reason), code});
}

tl::unexpected<Trouble> out_of_time() { return trouble("no answer in time", "HTTP_TIMEOUT"); }

tl::unexpected<Trouble> not_connected(int error) {
  const bool nobody_there = error == ENOENT || error == ECONNREFUSED;
  return trouble(std::generic_category().message(error), nobody_there ? "NODE_UNREACHABLE" : "");
}

// A body that is handed on as it comes.
struct TakenBody {
  using value_type = Take;
  class reader {
   public:
    template <bool IsRequest, class Fields>
    reader(http::header<IsRequest, Fields>&, value_type& take) : take_(take) {}
    void init(const boost::optional<std::uint64_t>&, boost::system::error_code& error) { error = {}; }
    template <class Buffers>
    std::size_t put(const Buffers& buffers, boost::system::error_code& error) {
      error = {};
      std::size_t taken = 0;
      for (auto at = asio::buffer_sequence_begin(buffers); at != asio::buffer_sequence_end(buffers); ++at) {
        const asio::const_buffer part(*at);
        taken += part.size();
        if (!take_({static_cast<const char*>(part.data()), part.size()})) error = asio::error::operation_aborted;
      }
      return taken;
    }
    void finish(boost::system::error_code& error) { error = {}; }

   private:
    value_type& take_;
  };
};

using Parser = http::response_parser<TakenBody>;

Tried<std::string> request_text(const HttpRequest& request, const Url& url, bool keep_alive) {
  if (!is_sendable({request.method, ""})) return trouble("`" + printable(request.method, 20) + "` is no method");
  std::string text = request.method + " " + url.target + " HTTP/1.1\r\n";
  const auto add = [&text](const Header& header) {
    text += header.name + ": " + header.value + "\r\n";
    return is_sendable(header);
  };
  bool fits = add({"Host", authority_text(url.host, url.port)}) && add({"User-Agent", "baton"}) &&
              add({"Connection", keep_alive ? "keep-alive" : "close"});
  if (!request.body.empty()) fits = add({"Content-Type", request.content_type}) && fits;
  if (!request.body.empty() || (request.method != "GET" && request.method != "HEAD"))
    fits = add({"Content-Length", std::to_string(request.body.size())}) && fits;
  for (const Header& header : request.headers) fits = add(header) && fits;
  if (!fits) return trouble("a header cannot be sent: it would break its line");
  return text + "\r\n" + request.body;
}

Tried<sockaddr_un> unix_address(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return trouble("the path of the unix socket is too long");
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

}  // namespace

// One connection, and waiting on it. Whatever waits, waits for the deadline as well.
class HttpWire {
 public:
  explicit HttpWire(bool keep_alive) : keep_alive_(keep_alive) {}

  // Asks and takes in the answer; connects when there is no connection to that place, or none any more.
  Tried<HttpAnswer> ask(const HttpRequest& request, const Url& url, const Take& take,
                        std::optional<std::chrono::milliseconds> idle_timeout) {
    auto text = request_text(request, url, keep_alive_);
    if (!text) return tl::make_unexpected(text.error());
    set_deadline(request.timeout);
    const std::string place = request.unix_path + "\n" + authority_text(url.host, url.port) + "\n" +
                              (url.tls ? "tls\n" + request.ca_file : "");
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
    return out_of_time();
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
      return errno == EAGAIN ? out_of_time() : not_connected(errno);
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
    if (errno != EINPROGRESS) return not_connected(errno);
    if (const auto waited = wait_for(Direction::wait_write); !waited) return waited;
    int error = 0;
    socklen_t size = sizeof(error);
    ::getsockopt(number, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return not_connected(error);
    return {};
  }

  Tried<Endpoints> look_up(const Url& url) {
    const auto port = static_cast<std::uint16_t>(std::stoul(url.port));
    boost::system::error_code error;
    if (url.host == "localhost")  // which is this machine, whatever a name server says (RFC 6761)
      return Endpoints{{asio::ip::address_v4::loopback(), port}, {asio::ip::address_v6::loopback(), port}};
    if (const auto address = asio::ip::make_address(url.host, error); !error) return Endpoints{{address, port}};
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
      return out_of_time();
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
    HttpAnswer answer;
    buffered_.clear();
    bool any = false;
    do {
      auto read = read_answer(request, take, idle_timeout, any);
      if (!read) {
        read.error().before_answer = !any && read.error().code.empty();
        return tl::make_unexpected(read.error());
      }
      answer = std::move(*read);
    } while (answer.status / 100 == 1);  // `100 Continue` and its like: the answer comes after it
    return answer;
  }

  // One message. The body of a success goes to `take`, when there is one; any other is kept.
  Tried<HttpAnswer> read_answer(const HttpRequest& request, const Take& take,
                                std::optional<std::chrono::milliseconds> idle_timeout, bool& any) {
    HttpAnswer answer;
    Parser parser;
    parser.header_limit(static_cast<std::uint32_t>(limits::kHttpAnswerHeadBytesMax));
    parser.body_limit(boost::none);
    parser.skip(request.method == "HEAD");
    parser.eager(false);
    bool too_large = false, left = false, hands_on = false;
    const auto keep = [&](std::string_view bytes) {
      too_large = answer.body.size() + bytes.size() > request.answer_bytes_max;
      if (!too_large) answer.body += bytes;
      return !too_large;
    };
    const auto hand_on = [&](std::string_view bytes) {
      left = !take(bytes);
      return !left;
    };
    std::size_t head_bytes = 0;  // the parser holds each of its steps to its limit, not their sum
    while (!parser.is_done()) {
      const std::size_t had = buffered_.size();
      const boost::system::error_code error = parse_some(parser);
      if (!parser.is_header_done()) head_bytes += had - buffered_.size();
      if (left) break;
      if (too_large) return trouble("the answer has more than " + std::to_string(request.answer_bytes_max) + " bytes");
      if (head_bytes + buffered_.size() > limits::kHttpAnswerHeadBytesMax)
        return trouble("the answer's head is too large");
      if (error && error != http::error::need_more) return trouble("the answer is not HTTP: " + error.message());
      if (parser.is_header_done() && !parser.get().body()) {
        hands_on = take && parser.get().result_int() / 100 == 2;
        if (hands_on) parser.get().body() = hand_on;
        else parser.get().body() = keep;
        parser.eager(true);
        continue;
      }
      if (parser.is_done()) break;
      if (hands_on && idle_timeout) set_deadline(*idle_timeout);
      const auto more = read_some();
      if (!more) return tl::make_unexpected(more.error());
      any = any || *more;
      if (*more) continue;
      const std::string reason = transport_.problem().empty() ? "the connection was closed" : transport_.problem();
      if (!any) return trouble(reason);
      if (hands_on) break;  // a stream goes on until somebody ends it
      boost::system::error_code cut;
      parser.put_eof(cut);
      if (cut || !transport_.problem().empty()) return trouble("the answer was cut off: " + reason);
    }
    return end_of(parser, std::move(answer));
  }

  boost::system::error_code parse_some(Parser& parser) {
    boost::system::error_code error;
    if (buffered_.empty()) return http::error::need_more;
    buffered_.erase(0, parser.put(asio::buffer(buffered_), error));
    return error;
  }

  // False: nothing more comes.
  Tried<bool> read_some() {
    std::array<char, 16384> bytes;
    const auto step = carry_out([&] { return transport_.read(bytes); });
    if (!step) return tl::make_unexpected(step.error());
    buffered_.append(bytes.data(), step->bytes);
    return step->outcome == Outcome::Done;
  }

  HttpAnswer end_of(Parser& parser, HttpAnswer answer) {
    const auto& message = parser.get();
    answer.status = message.result_int();
    for (const auto& field : message) answer.headers.push_back({field.name_string(), field.value()});
    answer.content_type = message[http::field::content_type];
    if (answer.status / 100 != 1 && (!parser.is_done() || !parser.keep_alive())) disconnect();
    return answer;
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
  std::string buffered_;  // received, not yet parsed
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
