// SPDX-License-Identifier: Apache-2.0
// The revisions of the Model Context Protocol that Baton carries, and what each of them has. One table: whoever asks "may this
// be said in that revision" asks here.
//
// There are two eras. In the legacy one a client begins with `initialize`, both sides agree on a revision, and each may send the
// other requests. In the modern one there is no beginning: every request says its revision and what the client can do in
// `_meta`, every result says its `resultType`, and a server that needs something answers `input_required`.
//
// A revision that is not in the table is never advertised: it is taken out of what a server offers, and a request that asks for
// it is refused with the list of those there are.
#pragma once

#include <span>
#include <string_view>

namespace baton::mcp {

enum class Era { Legacy, Modern };

struct Revision {
  std::string_view name;  // "2025-11-25"
  Era era;
  bool batches;             // several messages in one array
  bool structured_content;  // structuredContent and outputSchema
  bool elicitation;         // elicitation/create
  bool tasks;               // a tools/call may be answered with a task (modern: an extension)
};

// Oldest first.
std::span<const Revision> revisions();
// Null: not carried.
const Revision* find_revision(std::string_view name);
// Of two, the older.
const Revision& older(const Revision& left, const Revision& right);

// Members of `_meta` that the modern era has on requests, results and notices.
inline constexpr std::string_view kMetaProtocolVersion = "io.modelcontextprotocol/protocolVersion";
inline constexpr std::string_view kMetaClientCapabilities = "io.modelcontextprotocol/clientCapabilities";
inline constexpr std::string_view kMetaClientInfo = "io.modelcontextprotocol/clientInfo";
inline constexpr std::string_view kMetaSubscriptionId = "io.modelcontextprotocol/subscriptionId";
// What Baton says about a decision, in the `_meta` of a result.
inline constexpr std::string_view kMetaDecision = "dev.baton/decision";
// The token of the governed session that a client wants to be held to, in the `_meta` of its requests. A secret: no server gets it.
inline constexpr std::string_view kMetaSession = "dev.baton/session";

// Codes of JSON-RPC errors.
inline constexpr int kParseError = -32700;
inline constexpr int kInvalidRequest = -32600;
inline constexpr int kMethodNotFound = -32601;
inline constexpr int kInvalidParams = -32602;  // an unknown tool, too
inline constexpr int kInternalError = -32603;
inline constexpr int kUrlElicitationRequired = -32042;  // 2025-11-25: the user is to open the links in its data
inline constexpr int kHeaderMismatch = -32020;
inline constexpr int kMissingCapability = -32021;
inline constexpr int kUnsupportedVersion = -32022;

// The HTTP status that goes with an error of this code in the modern era (in the legacy era it is always 200).
int http_status_of(int error_code);

}  // namespace baton::mcp
