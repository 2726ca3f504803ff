// SPDX-License-Identifier: Apache-2.0
#include "proxy/posted.h"

#include <algorithm>

#include "base/text.h"
#include "mcp/answers.h"
#include "mcp/header_value.h"

namespace baton::proxy {
namespace {

using mcp::Message;

constexpr std::string_view kVersion = "mcp-protocol-version";
constexpr std::string_view kParameter = "mcp-param-";

RefusedPost refused(const Message& message, int code, std::string_view why) {
  return {400, mcp::error_message(message.id_text(), code, why)};
}

std::size_t count_of(const std::vector<net::Header>& headers, std::string_view name) {
  return static_cast<std::size_t>(std::ranges::count_if(
      headers, [name](const net::Header& header) { return to_lower_ascii(header.name) == name; }));
}

// One header against the part of the body that it repeats; nothing when they agree.
std::optional<RefusedPost> compare(const std::vector<net::Header>& headers, const Message& message,
                                   std::string_view name, std::optional<std::string_view> body) {
  const std::string shown(name);
  const std::size_t given = count_of(headers, to_lower_ascii(name));
  if (given == 0) {
    if (!body) return std::nullopt;
    return refused(message, mcp::kHeaderMismatch, "Header mismatch: the header " + shown + " is missing");
  }
  const auto value = mcp::decoded_value(*net::find_header(headers, name));
  if (given > 1 || !value)
    return refused(message, mcp::kHeaderMismatch,
                   "Header mismatch: the header " + shown + (given > 1 ? " is there twice" : " is not well formed"));
  if (!body || *value != *body)
    return refused(message, mcp::kHeaderMismatch,
                   "Header mismatch: the header " + shown + " says `" + printable(*value, 100) + "`, and the body " +
                       (body ? "`" + printable(*body, 100) + "`" : "nothing of the kind"));
  return std::nullopt;
}

std::optional<std::string_view> string_of(json::Node node) {
  if (!node.is_string()) return std::nullopt;
  return node.string();
}

// The member of params that Mcp-Name repeats; empty: that method has none.
std::string_view named_member(std::string_view method) {
  if (method == "tools/call" || method == "prompts/get") return "name";
  return method == "resources/read" ? "uri" : "";
}

std::variant<Posted, RefusedPost> judge_modern(const std::vector<net::Header>& headers, const Message& message) {
  Posted posted{.era = mcp::Era::Modern, .is_request = message.is_request()};
  if (message.is_answer()) return refused(message, mcp::kInvalidRequest, "this revision has no answers of a client");
  if (const json::Node named = message.meta()[mcp::kMetaSession]) {
    if (!named.is_string() || named.string().empty())
      return refused(message, mcp::kInvalidParams,
                     "`" + std::string(mcp::kMetaSession) + "` is not the token of a session");
    posted.session = sha256(named.string());
  }
  if (!message.is_request()) return posted;  // what headers a notification has is not said
  // Said by clients that know no other beginning, without the headers of a revision that has none.
  if (message.method() == "initialize")
    return RefusedPost{404, mcp::error_message(message.id_text(), mcp::kMethodNotFound, "Method not found")};
  const json::Node version = message.meta()[mcp::kMetaProtocolVersion];
  if (!version.is_string() || !message.meta()[mcp::kMetaClientCapabilities].is_object())
    return refused(message, mcp::kInvalidParams,
                   "params._meta needs " + std::string(mcp::kMetaProtocolVersion) + " and " +
                       std::string(mcp::kMetaClientCapabilities));
  if (auto wrong = compare(headers, message, "MCP-Protocol-Version", version.string())) return *wrong;
  if (auto wrong = compare(headers, message, "Mcp-Method", message.method())) return *wrong;
  if (const std::string_view member = named_member(message.method()); !member.empty())
    if (auto wrong = compare(headers, message, "Mcp-Name", string_of(message.params()[member]))) return *wrong;
  for (const net::Header& header : headers)
    if (to_lower_ascii(header.name).starts_with(kParameter)) posted.parameters.emplace_back(header.name, header.value);
  return posted;
}

}  // namespace

bool accepts(const std::vector<net::Header>& headers, std::string_view type) {
  const std::string_view family = type.substr(0, type.find('/') + 1);
  for (const net::Header& header : headers) {
    if (to_lower_ascii(header.name) != "accept") continue;
    for (const std::string_view part : split(header.value, ',')) {
      const std::string one = to_lower_ascii(trim(part.substr(0, part.find(';'))));
      if (one == type || one == "*/*" ||
          (one.size() == family.size() + 1 && one.starts_with(family) && one.ends_with('*')))
        return true;
    }
  }
  return false;
}

bool prefers_stream(const std::vector<net::Header>& headers) {
  for (const net::Header& header : headers) {
    if (to_lower_ascii(header.name) != "accept") continue;
    for (const std::string_view part : split(header.value, ',')) {
      const std::string one = to_lower_ascii(trim(part));
      if (one == "text/event-stream") return true;
      if (one.starts_with("application/json") || one.find('*') != std::string::npos) return false;
    }
  }
  return false;
}

bool says_modern(const std::vector<net::Header>& headers) {
  const auto given = net::find_header(headers, kVersion);
  const mcp::Revision* const revision = given ? mcp::find_revision(trim(*given)) : nullptr;
  return revision != nullptr && revision->era == mcp::Era::Modern;
}

bool is_legacy_version(const std::vector<net::Header>& headers) {
  const auto given = net::find_header(headers, kVersion);
  if (!given) return true;
  const mcp::Revision* const revision = mcp::find_revision(trim(*given));
  return revision != nullptr && revision->era == mcp::Era::Legacy && count_of(headers, kVersion) == 1;
}

std::variant<Posted, RefusedPost> judge_post(const std::vector<net::Header>& headers, const Message& message) {
  if (message.kind() == Message::Kind::Broken) return refused(message, message.fault_code(), message.fault());
  const bool has_method = message.is_request() || message.kind() == Message::Kind::Notification;
  if ((has_method && message.meta()[mcp::kMetaProtocolVersion]) || says_modern(headers)) {
    if (message.kind() == Message::Kind::Batch)
      return refused(message, mcp::kInvalidRequest, "this revision has no batches");
    return judge_modern(headers, message);
  }
  if (!is_legacy_version(headers))
    return refused(message, mcp::kInvalidRequest,
                   "the revision `" + printable(*net::find_header(headers, kVersion), 100) +
                       "` of the header MCP-Protocol-Version is not supported");
  return Posted{.begins_session = message.is_request() && message.method() == "initialize",
                .is_request = message.is_request() || message.kind() == Message::Kind::Batch,
                .prefers_stream = prefers_stream(headers)};
}

}  // namespace baton::proxy
