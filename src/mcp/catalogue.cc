// SPDX-License-Identifier: Apache-2.0
#include "mcp/catalogue.h"

#include <algorithm>

#include "base/text.h"
#include "json/canonical.h"
#include "mcp/header_value.h"

namespace baton::mcp {
namespace {

constexpr std::array<std::string_view, 4> kPartNames = {"annotations", "description", "inputSchema", "outputSchema"};
constexpr std::string_view kClientSeparator = "__";
constexpr std::string_view kNodeSeparator = "/";

// Of a part that is absent: of nothing, which no JSON is.
Sha256 digest_of(json::Node part) {
  if (!part) return sha256("");
  const auto text = json::canonical(part, json::Numbers::Exact);
  // A number beyond all bounds has no canonical form: the digest is of the mistake, and of where it is.
  return sha256(text ? *text : text.error().code + std::to_string(text.error().offset));
}

constexpr std::size_t kHeadersMax = 32;  // of one tool

bool is_header_word(std::string_view text) {
  for (const char c : text)
    if (!is_alphanumeric(c) && c != '-' && c != '_') return false;
  return !text.empty() && text.size() <= 64;
}

constexpr std::size_t kHeaderDepthMax = 8;

// Properties that are marked, at whatever depth, as long as nothing but `properties` lies between.
void find_headers(json::Node schema, const std::vector<std::string>& path,
                  std::vector<Catalogue::ArgumentHeader>& out) {
  if (path.size() >= kHeaderDepthMax) return;
  for (const json::Member property : schema["properties"].members()) {
    if (out.size() >= kHeadersMax) return;
    std::vector<std::string> here = path;
    here.emplace_back(property.name());
    const json::Node header = property.value["x-mcp-header"];
    if (header.is_string() && is_header_word(header.string())) out.push_back({here, std::string(header.string())});
    find_headers(property.value, here, out);
  }
}

// What the header of an argument says before it is encoded; nothing: there is none.
std::optional<std::string> said_by(const Catalogue::ArgumentHeader& one, json::Node arguments) {
  json::Node value = arguments;
  for (const std::string& step : one.path) value = value[step];
  if (value.is_string()) return std::string(value.string());
  if (value.is_boolean()) return value.boolean() ? "true" : "false";
  std::string text;
  if (!value.is_number() || !json::append_canonical(text, value, json::Numbers::Exact)) return std::nullopt;
  return text;
}

// `42.0` is the number 42.
std::string_view without_zeros(std::string_view text) {
  const std::size_t point = text.find('.');
  if (point == std::string_view::npos || text.find_first_not_of('0', point + 1) != std::string_view::npos) return text;
  return text.substr(0, point);
}

}  // namespace

Catalogue::Catalogue(std::vector<std::string> servers) : servers_(std::move(servers)) {}

std::string Catalogue::client_name(std::size_t server, std::string_view tool) const {
  if (servers_.size() == 1) return std::string(tool);
  return servers_[server] + std::string(kClientSeparator) + std::string(tool);
}

std::string Catalogue::node_name(std::size_t server, std::string_view tool) const {
  if (servers_.size() == 1) return std::string(tool);
  return servers_[server] + std::string(kNodeSeparator) + std::string(tool);
}

// A server's name may itself hold the separator: the longest name that fits is meant.
std::optional<Catalogue::Owner> Catalogue::owner(std::string_view client_name) const {
  if (servers_.size() == 1) return Owner{0, std::string(client_name)};
  std::optional<Owner> out;
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    if (!client_name.starts_with(servers_[i])) continue;
    const std::string_view rest = client_name.substr(servers_[i].size());
    if (!rest.starts_with(kClientSeparator)) continue;
    if (!out || servers_[i].size() > servers_[out->server].size())
      out = Owner{i, std::string(rest.substr(kClientSeparator.size()))};
  }
  return out;
}

void Catalogue::see(std::size_t server, json::Node definition) {
  const json::Node name = definition["name"];
  if (!name.is_string()) return;
  std::array<Sha256, kParts> digests;
  for (std::size_t i = 0; i < kParts; ++i) digests[i] = digest_of(definition[kPartNames[i]]);
  Key key{server, std::string(name.string())};
  const auto found = pins_.find(key);
  if (found == pins_.end()) {
    if (is_full()) return;
    Pin pin{digests, 0, {}};
    find_headers(definition["inputSchema"], {}, pin.headers);
    pins_.emplace(std::move(key), std::move(pin));
    return;
  }
  for (std::size_t i = 0; i < kParts; ++i)
    if (digests[i] != found->second.first[i]) found->second.changed |= static_cast<std::uint8_t>(1u << i);
}

std::vector<std::string> Catalogue::changed(std::size_t server, std::string_view tool) const {
  const auto found = pins_.find(Key{server, std::string(tool)});
  std::vector<std::string> out;
  if (found == pins_.end()) return out;
  for (std::size_t i = 0; i < kParts; ++i)
    if ((found->second.changed & (1u << i)) != 0) out.emplace_back(kPartNames[i]);
  return out;
}

ParameterHeaders Catalogue::headers(std::size_t server, std::string_view tool, json::Node arguments) const {
  ParameterHeaders out;
  const auto found = pins_.find(Key{server, std::string(tool)});
  if (found == pins_.end()) return out;
  for (const ArgumentHeader& one : found->second.headers)
    if (const auto said = said_by(one, arguments)) out.emplace_back("Mcp-Param-" + one.header, encoded_value(*said));
  return out;
}

std::string Catalogue::header_mismatch(std::size_t server, std::string_view tool, json::Node arguments,
                                       const ParameterHeaders& given) const {
  const auto found = pins_.find(Key{server, std::string(tool)});
  if (found == pins_.end()) return {};
  for (const ArgumentHeader& one : found->second.headers) {
    const std::string name = "Mcp-Param-" + one.header, lower = to_lower_ascii(name);
    const auto said = said_by(one, arguments);
    const auto is_it = [&](const auto& header) { return to_lower_ascii(header.first) == lower; };
    const auto at = std::ranges::find_if(given, is_it);
    if (at == given.end()) {
      if (said) return "Header mismatch: the header " + name + " is missing";
      continue;
    }
    const auto value = decoded_value(at->second);
    if (!value || std::ranges::count_if(given, is_it) > 1)
      return "Header mismatch: the header " + name + " is not well formed";
    if (!said || (*value != *said && without_zeros(*value) != *said))
      return "Header mismatch: the header " + name + " does not say what the body does";
  }
  return {};
}

bool Catalogue::is_pinned(std::size_t server, std::string_view tool) const {
  return pins_.contains(Key{server, std::string(tool)});
}

}  // namespace baton::mcp
