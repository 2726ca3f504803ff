// SPDX-License-Identifier: Apache-2.0
// The addresses and names HTTP carries. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace baton::net {

// A host and a port, as in a URL, a Host header or an Origin header.
struct Authority {
  std::string host;  // lower case; an IPv6 address without its brackets
  std::string port;  // digits; empty when none is given
};
// Nothing when it is none: empty, with a user, with a port that is no number.
std::optional<Authority> parse_authority(std::string_view text);

struct Url {
  bool tls = false;
  std::string host, port, target;  // the port of the scheme when the address names none
};
// http:// or https:// without user and fragment.
std::optional<Url> parse_url(std::string_view text);

// `localhost`, or a literal address of the loopback network.
bool is_loopback(std::string_view host);

// host:port, an IPv6 address in brackets.
std::string authority_text(std::string_view host, std::string_view port);

}  // namespace baton::net
