// SPDX-License-Identifier: Apache-2.0
#include "net/http_client.h"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <exception>
#include <optional>

#include "base/text.h"

namespace baton::net {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using tcp = asio::ip::tcp;

struct Url {
  bool tls = false;
  std::string host, port, target;
};

std::optional<Url> parse_url(std::string_view text) {
  Url url;
  if (text.starts_with("https://")) {
    url.tls = true;
    text.remove_prefix(8);
  } else if (text.starts_with("http://")) {
    text.remove_prefix(7);
  } else {
    return std::nullopt;
  }
  const std::size_t slash = text.find('/');
  std::string_view authority = text.substr(0, slash);
  url.target = slash == std::string_view::npos ? "/" : std::string(text.substr(slash));
  if (authority.find('@') != std::string_view::npos || url.target.find('#') != std::string::npos) return std::nullopt;
  url.port = url.tls ? "443" : "80";
  const std::size_t bracket = authority.starts_with('[') ? authority.find(']') : std::string_view::npos;
  const std::size_t colon = authority.find(':', bracket == std::string_view::npos ? 0 : bracket);
  if (colon != std::string_view::npos) {
    url.port = authority.substr(colon + 1);
    authority = authority.substr(0, colon);
  }
  if (authority.starts_with('[') && authority.ends_with(']')) authority = authority.substr(1, authority.size() - 2);
  url.host = authority;
  if (url.host.empty() || url.port.empty() || url.port.size() > 5) return std::nullopt;
  for (const char c : url.port)
    if (!is_digit(c)) return std::nullopt;
  for (const char c : url.target)
    if (c <= ' ' || c == 0x7f) return std::nullopt;
  return url;
}

bool is_loopback(const std::string& host) {
  if (host == "localhost") return true;
  boost::system::error_code error;
  const auto address = asio::ip::make_address(host, error);
  return !error && address.is_loopback();
}

template <class Stream>
asio::awaitable<HttpAnswer> converse(Stream& stream, const HttpRequest& request, const Url& url) {
  http::request<http::string_body> message(http::string_to_verb(request.method), url.target, 11);
  const bool is_ipv6 = url.host.find(':') != std::string::npos;
  message.set(http::field::host, (is_ipv6 ? "[" + url.host + "]" : url.host) + ":" + url.port);
  message.set(http::field::user_agent, "baton");
  message.set(http::field::connection, "close");
  if (!request.body.empty()) message.set(http::field::content_type, request.content_type);
  message.body() = request.body;
  message.prepare_payload();
  co_await http::async_write(stream, message, asio::use_awaitable);
  beast::flat_buffer buffer;
  http::response_parser<http::string_body> parser;
  parser.body_limit(request.answer_bytes_max);
  co_await http::async_read(stream, buffer, parser, asio::use_awaitable);
  auto answer = parser.release();
  co_return HttpAnswer{answer.result_int(), std::move(answer.body())};
}

// Named parameters by reference: they live in send(), which runs the coroutine to its end.
asio::awaitable<void> run(asio::io_context& context, const HttpRequest& request, const Url& url, HttpAnswer& answer) {
  tcp::resolver resolver(context);
  const auto addresses = co_await resolver.async_resolve(url.host, url.port, asio::use_awaitable);
  if (!url.tls) {
    beast::tcp_stream stream(context);
    stream.expires_after(request.timeout);
    co_await stream.async_connect(addresses, asio::use_awaitable);
    answer = co_await converse(stream, request, url);
    co_return;
  }
  asio::ssl::context tls(asio::ssl::context::tls_client);
  tls.set_default_verify_paths();
  tls.set_verify_mode(asio::ssl::verify_peer);
  beast::ssl_stream<beast::tcp_stream> stream(context, tls);
  stream.set_verify_callback(asio::ssl::host_name_verification(url.host));
  if (SSL_set_tlsext_host_name(stream.native_handle(), url.host.c_str()) != 1)
    throw boost::system::system_error(asio::error::invalid_argument);
  auto& transport = beast::get_lowest_layer(stream);
  transport.expires_after(request.timeout);
  co_await transport.async_connect(addresses, asio::use_awaitable);
  co_await stream.async_handshake(asio::ssl::stream_base::client, asio::use_awaitable);
  answer = co_await converse(stream, request, url);
}

}  // namespace

std::string problem_with_url(std::string_view text) {
  const auto url = parse_url(text);
  if (!url) return "is no http or https address without user and fragment";
  if (!url->tls && !is_loopback(url->host)) return "is plain http beyond this machine: use https";
  return {};
}

Result<HttpAnswer> send(const HttpRequest& request) {
  const std::string doing = "asking " + printable(request.url, 200);
  if (const std::string problem = problem_with_url(request.url); !problem.empty())
    return failure(doing, "the address " + problem);
  const auto url = parse_url(request.url);
  HttpAnswer answer;
  try {
    asio::io_context context(1);
    std::exception_ptr thrown;
    asio::co_spawn(context, run(context, request, *url, answer),
                   [&thrown](std::exception_ptr error) { thrown = error; });
    // The streams have their own deadline; this one covers the name lookup as well.
    context.run_for(request.timeout + std::chrono::milliseconds(500));
    if (!context.stopped()) return failure(doing, "no answer in time");
    if (thrown) std::rethrow_exception(thrown);
  } catch (const boost::system::system_error& error) {
    return failure(doing, error.code().message());
  } catch (const std::exception& error) {
    return failure(doing, error.what());
  }
  return answer;
}

}  // namespace baton::net
