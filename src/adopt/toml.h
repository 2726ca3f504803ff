// SPDX-License-Identifier: Apache-2.0
// The MCP servers of Codex's config.toml, found where they stand so that their commands can be replaced and nothing else is.
//
// Not a reader of TOML: tables `[mcp_servers.NAME]` with `command`, `args`, `env` and `url` on lines of their own are understood, which is how
// Codex writes them; every other way to say it is reported as one that is not.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace baton::adopt {

struct TomlValue {
  std::size_t at = 0, size = 0;  // of the value's text
  bool is_there() const { return size != 0; }
};

struct TomlServer {
  std::string name;
  TomlValue command, args, url;
  std::size_t end = 0;  // where a further line of its table can stand
  std::string command_text, url_text;
  std::vector<std::string> arguments, environment;  // the names of env
  bool has_headers = false;
  std::string not_understood;  // why, when something of it is not
};

struct TomlServers {
  std::vector<TomlServer> servers;
  std::vector<std::string> not_understood;  // servers in another form, and why
};

TomlServers toml_servers(std::string_view text);

// A text as a TOML basic string.
std::string toml_quoted(std::string_view text);

}  // namespace baton::adopt
