// SPDX-License-Identifier: Apache-2.0
#include "proxy/config.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/text.h"
#include "yaml/yaml.h"

namespace baton::proxy {
namespace {

constexpr std::array<std::string_view, 8> kPassedOn = {"PATH", "HOME", "LANG", "TERM", "TMPDIR", "USER", "SHELL", "TZ"};

// A scalar as text: YAML reads `8080` as a number where text is meant.
std::optional<std::string> scalar(json::Node node) {
  if (node.is_string()) return std::string(node.string());
  if (node.is_number()) return std::string(node.number_text());
  if (node.is_boolean()) return std::string(node.boolean() ? "true" : "false");
  return std::nullopt;
}

std::string read_command(ServerOptions& out, json::Node server) {
  out.argv.emplace_back(server["command"].string());
  if (const json::Node args = server["args"]) {
    if (!args.is_array()) return "`args` is no list";
    for (const json::Node one : args.elements()) {
      const auto text = scalar(one);
      if (!text) return "`args` holds something that is no text";
      out.argv.push_back(*text);
    }
  }
  if (const json::Node env = server["env"]) {
    if (!env.is_object()) return "`env` is no mapping";
    for (const json::Member one : env.members()) {
      const auto text = scalar(one.value);
      if (!text) return "`env` holds something that is no text";
      out.environment.push_back(std::string(one.name()) + "=" + *text);
    }
  }
  if (server["cwd"].is_string()) out.folder = server["cwd"].string();
  return {};
}

std::string read_address(ServerOptions& out, json::Node server) {
  out.url = server["url"].string();
  if (const json::Node headers = server["headers"]) {
    if (!headers.is_object()) return "`headers` is no mapping";
    for (const json::Member one : headers.members()) {
      const auto text = scalar(one.value);
      net::Header header{std::string(one.name()), text.value_or("")};
      if (!text || !net::is_sendable(header)) return "`headers` holds something that is no header";
      out.headers.push_back(std::move(header));
    }
  }
  if (server["ca_file"].is_string()) out.ca_file = server["ca_file"].string();
  return {};
}

}  // namespace

std::string problem_with_name(std::string_view name) {
  if (name.empty() || name.size() > 32) return "has 1 to 32 characters";
  if (!std::ranges::all_of(name, [](char c) { return is_alphanumeric(c) || c == '-' || c == '_'; }))
    return "has letters, digits, `-` and `_`";
  if (name.find("__") != std::string_view::npos || name.front() == '_' || name.back() == '_')
    return "has no `_` at an end and no two in a row";
  return {};
}

ServersRead read_servers(std::string_view text) {
  ServersRead out;
  yaml::Parsed parsed = yaml::parse(text);
  out.diagnostics = std::move(parsed.diagnostics);
  if (!parsed.document) return out;
  const json::Node root = parsed.document->root();
  const json::Node servers = root["servers"] ? root["servers"] : root["mcpServers"];
  if (!servers.is_object() || servers.size() == 0) {
    out.problem = "there is no `servers` with at least one server";
    return out;
  }
  for (const json::Member one : servers.members()) {
    ServerOptions server;
    server.name = one.name();
    const std::string about = "the server `" + printable(server.name, 60) + "`: ";
    if (const std::string problem = problem_with_name(server.name); !problem.empty())
      return out.problem = about + "a name " + problem, out;
    const bool command = one.value["command"].is_string(), url = one.value["url"].is_string();
    if (command == url) return out.problem = about + "it has either `command` or `url`", out;
    const std::string problem = command ? read_command(server, one.value) : read_address(server, one.value);
    if (!problem.empty()) return out.problem = about + problem, out;
    out.servers.push_back(std::move(server));
  }
  return out;
}

std::vector<std::string> child_environment(const std::vector<std::string>& ours,
                                           const std::vector<std::string>& given) {
  std::map<std::string, std::string, std::less<>> all, out;
  for (const std::string& one : ours)
    if (const std::size_t at = one.find('='); at != std::string::npos && at != 0)
      all.insert_or_assign(one.substr(0, at), one.substr(at + 1));
  for (const auto& [name, value] : all)
    if (std::ranges::find(kPassedOn, name) != kPassedOn.end() || name.starts_with("LC_")) out.emplace(name, value);
  for (const std::string& one : given) {
    if (const std::size_t at = one.find('='); at != std::string::npos)
      out.insert_or_assign(one.substr(0, at), one.substr(at + 1));
    else if (const auto found = all.find(one); found != all.end()) out.insert_or_assign(one, found->second);
  }
  std::vector<std::string> list;
  for (const auto& [name, value] : out) list.push_back(name + "=" + value);
  return list;
}

}  // namespace baton::proxy
