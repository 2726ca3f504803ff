// SPDX-License-Identifier: Apache-2.0
// An HTTP/1.1 client for the few places where Baton calls out, always to an address an operator configured or to the
// node's unix socket, never to an address found in a message. No redirects are followed. Calls block until the answer is
// there or the time is over.
//
// A Failure whose code is NODE_UNREACHABLE means that nobody listens there: no socket file, or the connection was refused.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/header.h"

namespace baton::net {

struct HttpRequest {
  std::string method = "GET";
  std::string url;  // http://host[:port]/path or https://…; plain http only to loopback addresses and unix sockets
  std::string body = {};
  std::string content_type = "text/plain; charset=utf-8";        // of a body that is not empty
  std::chrono::milliseconds timeout = std::chrono::seconds(10);  // for all of it
  std::size_t answer_bytes_max = 1u << 20;
  std::string unix_path = {};        // connect to this socket; the URL's host then only fills the Host header
  std::vector<Header> headers = {};  // further ones
  std::string ca_file = {};          // https: trust the certificates of this PEM file; empty: those of the system
};

struct HttpAnswer {
  unsigned status = 0;
  std::string body = {};
  std::string content_type = {};
  std::vector<Header> headers = {};  // all of them

  std::optional<std::string_view> header(std::string_view name) const { return find_header(headers, name); }
};

// What is wrong with an address, for people; empty when nothing is.
std::string problem_with_url(std::string_view url);

// One request on a connection of its own.
Result<HttpAnswer> send(const HttpRequest& request);

class HttpWire;

// Several requests on one connection, which is made at the first and kept. A connection that the server closed before any
// byte of the answer came is made again, once, and the request sent again. Requests may go to different places; the
// connection is then another. One thread at a time.
class HttpClient {
 public:
  HttpClient();
  ~HttpClient();
  HttpClient(HttpClient&&) noexcept;
  HttpClient& operator=(HttpClient&&) noexcept;

  Result<HttpAnswer> send(const HttpRequest& request);

 private:
  std::unique_ptr<HttpWire> wire_;
};

// Asks and hands the bytes of the answer's body to `take` as they come, until `take` returns false, the peer ends the
// answer, or nothing came for `idle_timeout` (a Failure with the code HTTP_TIMEOUT). `request.timeout` is for the time until
// the answer begins. For server-sent events: feed the bytes to an SseParser (net/sse.h).
//
// Only the body of a 2xx answer is handed over; any other answer is returned with its body, and `take` is not called.
Result<HttpAnswer> follow(const HttpRequest& request, const std::function<bool(std::string_view bytes)>& take,
                          std::chrono::milliseconds idle_timeout = std::chrono::seconds(60));

}  // namespace baton::net
