// SPDX-License-Identifier: Apache-2.0
// What an HTTP request to the MCP endpoint is, and whether it says the same in its headers as in its body. Pure.
//
// Which era a message belongs to is told by what it says itself: a revision in `_meta`, or one of the modern era in the header
// MCP-Protocol-Version. All else is legacy, and belongs to a session unless it is the `initialize` that begins one.
//
// In the modern era headers repeat parts of the body, for those in between who read no bodies. Whoever reads the body has to
// compare: a header that says something else, twice, or not at all is refused (-32020). What needs a tool's definition to be
// compared (Mcp-Param-...) is handed on.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/sha256.h"
#include "mcp/header_value.h"
#include "mcp/message.h"
#include "mcp/revision.h"
#include "net/header.h"

namespace baton::proxy {

// An answer to a request that goes no further: an error of JSON-RPC with the HTTP status it comes with.
struct RefusedPost {
  unsigned status = 400;
  std::string body;
};

struct Posted {
  mcp::Era era = mcp::Era::Legacy;
  bool begins_session = false;            // legacy: `initialize`
  bool is_request = false;                // it will be answered
  bool prefers_stream = false;            // legacy: a stream of events rather than JSON
  mcp::ParameterHeaders parameters = {};  // modern
  // Modern: the hash of the token by which it names a governed session (mcp::kMetaSession). The token stays in the body alone.
  std::optional<Sha256> session = {};
};

std::variant<Posted, RefusedPost> judge_post(const std::vector<net::Header>& headers, const mcp::Message& message);

// Is the type in Accept, by name or by a wildcard?
bool accepts(const std::vector<net::Header>& headers, std::string_view type);
// Of two types that a client takes either of, does Accept name the stream of events first? Only as a hint: the order says nothing by
// the rules of HTTP, and both have to be taken.
bool prefers_stream(const std::vector<net::Header>& headers);
// Does MCP-Protocol-Version name a revision of the modern era?
bool says_modern(const std::vector<net::Header>& headers);
// Legacy: nothing stands in the way of a request with this MCP-Protocol-Version. Without one it is 2025-03-26.
bool is_legacy_version(const std::vector<net::Header>& headers);

}  // namespace baton::proxy
