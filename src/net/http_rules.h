// SPDX-License-Identifier: Apache-2.0
// What the server decides about a request before anyone hears of it, and how a response looks on the wire. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/http_server.h"

namespace baton::net {

// A request that is not handed on: the status, the code of the catalogue, and what is wrong.
struct Refusal {
  unsigned status;
  std::string_view code;
  std::string problem;
};

// The names a Host header may carry on TCP, beside those of this machine itself: the hosts listened on, and `hosts`.
std::vector<std::string> admitted_hosts(const ServerOptions& options);

// The head of a request as far as the rules look at it.
struct RequestHead {
  std::string_view target;  // as it came
  bool is_http_1_1 = true;
  const std::vector<Header>& headers;
  bool local = false;  // by the unix socket
};

// The path and query of a target. The absolute form (`http://host/path`) is what proxies are sent; it is read all the same.
struct Target {
  std::string path, query;
  std::string authority;  // of the absolute form
};
std::optional<Target> parse_target(std::string_view target);

// Which pages may call, beside those of the host that is called.
struct OriginRules {
  std::vector<std::string> origins;  // lower case
  bool loopback = false;
};
OriginRules origin_rules(const ServerOptions& options);

// Nothing when the request may go on: one Host that is admitted, no Origin but the same or an admitted one, no transfer coding
// but `chunked`, no expectation but `100-continue`.
std::optional<Refusal> check_head(const RequestHead& head, const std::vector<std::string>& hosts,
                                  const OriginRules& origins = {});

// Is the origin a page of the host that is called? Browsers name the port only when it is not the scheme's.
bool is_same_origin(std::string_view origin, std::string_view host);

bool expects_continue(const std::vector<Header>& headers);

// How the response goes out.
struct ResponseShape {
  bool is_http_1_1 = true;
  bool keep_alive = true;
  bool stream = false;  // without a length
};
// The status line and all headers, to the empty line.
std::string response_head(unsigned status, std::string_view content_type, std::size_t body_bytes,
                          const std::vector<Header>& headers, const ResponseShape& shape);
// 1xx, 204 and 304 have none.
bool has_body(unsigned status);

}  // namespace baton::net
