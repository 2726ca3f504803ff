// SPDX-License-Identifier: Apache-2.0
#include "net/http_rules.h"

#include <algorithm>
#include <boost/beast/http/status.hpp>

#include "base/text.h"
#include "net/url.h"

namespace baton::net {
namespace {

std::size_t count_headers(const std::vector<Header>& headers, std::string_view name) {
  return static_cast<std::size_t>(
      std::ranges::count_if(headers, [name](const Header& header) { return to_lower_ascii(header.name) == name; }));
}

std::string in_ticks(std::string_view text) { return "`" + printable(text, 100) + "`"; }

bool is_admitted(std::string_view host, const std::vector<std::string>& hosts) {
  const auto authority = parse_authority(host);
  return authority && (is_loopback(authority->host) || std::ranges::find(hosts, authority->host) != hosts.end());
}

std::optional<Refusal> check_host(const RequestHead& head, const Target& target,
                                  const std::vector<std::string>& hosts) {
  const std::size_t given = count_headers(head.headers, "host");
  if (given > 1) return Refusal{400, "HTTP_MALFORMED", "the request has more than one Host header"};
  if (head.local) return std::nullopt;
  if (given == 0 && head.is_http_1_1) return Refusal{400, "HTTP_MALFORMED", "the request has no Host header"};
  const std::string_view host = find_header(head.headers, "host").value_or("");
  if (!is_admitted(host, hosts))
    return Refusal{421, "HTTP_HOST", "the request's Host header " + in_ticks(host) + " is no name of this node"};
  if (!target.authority.empty() && !is_admitted(target.authority, hosts))
    return Refusal{421, "HTTP_HOST",
                   "the request's target names " + in_ticks(target.authority) + ", which is not this node"};
  return std::nullopt;
}

bool is_admitted_origin(std::string_view origin, const OriginRules& rules) {
  if (std::ranges::find(rules.origins, to_lower_ascii(origin)) != rules.origins.end()) return true;
  if (!rules.loopback || !(origin.starts_with("http://") || origin.starts_with("https://"))) return false;
  const auto page = parse_authority(origin.substr(origin.find("//") + 2));
  return page && is_loopback(page->host);
}

std::optional<Refusal> check_origin(const RequestHead& head, const OriginRules& rules) {
  const std::size_t given = count_headers(head.headers, "origin");
  if (given == 0) return std::nullopt;
  if (head.local)
    return Refusal{403, "HTTP_ORIGIN", "the request has an Origin header, and no page can call by a unix socket"};
  const std::string_view origin = *find_header(head.headers, "origin");
  if (given > 1 ||
      !(is_same_origin(origin, find_header(head.headers, "host").value_or("")) || is_admitted_origin(origin, rules)))
    return Refusal{403, "HTTP_ORIGIN",
                   "the request's Origin header " + in_ticks(origin) + " is another host than the one called"};
  return std::nullopt;
}

std::optional<Refusal> check_coding(const RequestHead& head) {
  const std::size_t given = count_headers(head.headers, "transfer-encoding");
  if (given == 0) return std::nullopt;
  if (!head.is_http_1_1)
    return Refusal{400, "HTTP_MALFORMED", "the request has a transfer coding, which HTTP/1.0 does not know"};
  if (given > 1 || to_lower_ascii(trim(*find_header(head.headers, "transfer-encoding"))) != "chunked")
    return Refusal{501, "HTTP_MALFORMED", "the request has another transfer coding than `chunked`"};
  return std::nullopt;
}

std::optional<Refusal> check_expectation(const RequestHead& head) {
  if (!find_header(head.headers, "expect") || expects_continue(head.headers)) return std::nullopt;
  return Refusal{417, "HTTP_MALFORMED", "the request expects something else than `100-continue`"};
}

}  // namespace

std::vector<std::string> admitted_hosts(const ServerOptions& options) {
  std::vector<std::string> hosts;
  const auto admit = [&hosts](std::string_view name) {
    if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
    if (!name.empty()) hosts.push_back(to_lower_ascii(name));
  };
  for (const ListenAddress& address : options.listen) admit(address.host);
  for (const std::string& name : options.hosts) admit(name);
  return hosts;
}

std::optional<Target> parse_target(std::string_view text) {
  Target target;
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!to_lower_ascii(text.substr(0, scheme.size())).starts_with(scheme)) continue;
    text.remove_prefix(scheme.size());
    const std::size_t end = text.find_first_of("/?");
    target.authority = text.substr(0, end);
    if (target.authority.empty()) return std::nullopt;
    text = end == std::string_view::npos ? std::string_view("/") : text.substr(end);
    break;
  }
  const bool is_origin_form = text.starts_with('/') || (!target.authority.empty() && text.starts_with('?'));
  if ((!is_origin_form && text != "*") || text.find('#') != std::string_view::npos) return std::nullopt;
  const std::size_t mark = text.find('?');
  target.path = text.substr(0, mark);
  if (target.path.empty()) target.path = "/";
  if (mark != std::string_view::npos) target.query = text.substr(mark + 1);
  return target;
}

OriginRules origin_rules(const ServerOptions& options) {
  OriginRules rules{{}, options.loopback_origins};
  for (const std::string& origin : options.origins) rules.origins.push_back(to_lower_ascii(origin));
  return rules;
}

std::optional<Refusal> check_head(const RequestHead& head, const std::vector<std::string>& hosts,
                                  const OriginRules& origins) {
  const auto target = parse_target(head.target);
  if (!target) return Refusal{400, "HTTP_MALFORMED", "the request's target is neither a path nor an http address"};
  if (auto refusal = check_host(head, *target, hosts)) return refusal;
  if (auto refusal = check_origin(head, origins)) return refusal;
  if (auto refusal = check_coding(head)) return refusal;
  return check_expectation(head);
}

bool is_same_origin(std::string_view origin, std::string_view host) {
  std::string default_port = "80";
  if (origin.starts_with("https://")) default_port = "443";
  else if (!origin.starts_with("http://")) return false;
  const auto page = parse_authority(origin.substr(origin.find("//") + 2));
  const auto called = parse_authority(host);
  if (!page || !called) return false;
  const auto port = [&](const Authority& authority) { return authority.port.empty() ? default_port : authority.port; };
  return page->host == called->host && port(*page) == port(*called);
}

bool expects_continue(const std::vector<Header>& headers) {
  const auto expected = find_header(headers, "expect");
  return expected && to_lower_ascii(trim(*expected)) == "100-continue";
}

bool has_body(unsigned status) { return status >= 200 && status != 204 && status != 304; }

std::string response_head(unsigned status, std::string_view content_type, std::size_t body_bytes,
                          const std::vector<Header>& headers, const ResponseShape& shape) {
  std::string out = "HTTP/1.1 " + std::to_string(status) + " ";
  out += std::string_view(boost::beast::http::obsolete_reason(static_cast<boost::beast::http::status>(status)));
  out += "\r\n";
  const auto add = [&out](std::string_view name, std::string_view value) {
    out += name;
    out += ": ";
    out += value;
    out += "\r\n";
  };
  if (has_body(status)) {
    if (!content_type.empty() && is_sendable({"Content-Type", std::string(content_type)}))
      add("Content-Type", content_type);
    if (!shape.stream) add("Content-Length", std::to_string(body_bytes));
    else if (shape.is_http_1_1) add("Transfer-Encoding", "chunked");
  }
  add("X-Content-Type-Options", "nosniff");
  if (!shape.keep_alive) add("Connection", "close");
  else if (!shape.is_http_1_1) add("Connection", "keep-alive");
  // A header that could break its line is left out: what it says may come from outside.
  for (const Header& header : headers)
    if (is_sendable(header)) add(header.name, header.value);
  out += "\r\n";
  return out;
}

}  // namespace baton::net
