// SPDX-License-Identifier: Apache-2.0
#include "net/url.h"

#include <algorithm>
#include <boost/asio/ip/address.hpp>

#include "base/text.h"

namespace baton::net {

std::optional<Authority> parse_authority(std::string_view text) {
  Authority authority;
  const bool bracketed = text.starts_with('[');
  const std::size_t end = bracketed ? text.find(']') : text.find(':');
  if (bracketed && end == std::string_view::npos) return std::nullopt;
  const std::string_view host = bracketed ? text.substr(1, end - 1) : text.substr(0, end);
  std::string_view rest = end == std::string_view::npos ? std::string_view() : text.substr(bracketed ? end + 1 : end);
  if (!rest.empty()) {
    if (rest[0] != ':') return std::nullopt;
    rest.remove_prefix(1);
    if (rest.empty() || rest.size() > 5 || !std::ranges::all_of(rest, is_digit)) return std::nullopt;
    authority.port = rest;
  }
  // Also keeps out a user (`@`), a second colon, blanks and whatever else could be read in two ways.
  const auto fits = [bracketed](char c) {
    return bracketed ? hex_value(c) >= 0 || c == ':' || c == '.'
                     : is_alphanumeric(c) || c == '-' || c == '.' || c == '_';
  };
  if (host.empty() || !std::ranges::all_of(host, fits)) return std::nullopt;
  authority.host = to_lower_ascii(host);
  return authority;
}

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
  const std::size_t slash = text.find_first_of("/?");
  auto authority = parse_authority(text.substr(0, slash));
  if (!authority) return std::nullopt;
  url.host = std::move(authority->host);
  url.port = !authority->port.empty() ? std::move(authority->port) : url.tls ? "443" : "80";
  if (slash != std::string_view::npos) url.target = text.substr(slash);
  if (!url.target.starts_with('/')) url.target.insert(0, "/");
  const auto unfit = [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == 0x7f || c == '#'; };
  if (std::ranges::any_of(url.target, unfit)) return std::nullopt;
  return url;
}

bool is_loopback(std::string_view host) {
  if (host == "localhost") return true;
  boost::system::error_code error;
  const auto address = boost::asio::ip::make_address(std::string(host), error);
  return !error && address.is_loopback();
}

std::string authority_text(std::string_view host, std::string_view port) {
  const bool is_v6 = host.find(':') != std::string_view::npos;
  return (is_v6 ? "[" + std::string(host) + "]" : std::string(host)) + ":" + std::string(port);
}

}  // namespace baton::net
