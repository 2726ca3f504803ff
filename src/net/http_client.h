// SPDX-License-Identifier: Apache-2.0
// One HTTP request: connect, ask, hear the answer, close. For the few places where Baton calls out, always to an address an
// operator configured, never to one found in a message. No redirects are followed.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace baton::net {

struct HttpRequest {
  std::string method = "GET";
  std::string url;  // http://host[:port]/path or https://…; plain http only to loopback addresses
  std::string body = {};
  std::string content_type = "text/plain; charset=utf-8";
  std::chrono::milliseconds timeout = std::chrono::seconds(10);  // for all of it
  std::size_t answer_bytes_max = 1u << 20;
};

struct HttpAnswer {
  unsigned status = 0;
  std::string body;
};

// What is wrong with an address, for people; empty when nothing is.
std::string problem_with_url(std::string_view url);

Result<HttpAnswer> send(const HttpRequest& request);

}  // namespace baton::net
