// SPDX-License-Identifier: Apache-2.0
// The servers of a proxy from a file, and what environment a command gets. Pure.
//
//   servers:                                   # or mcpServers, as the configuration of clients has it
//     files: {command: npx, args: [-y, some-server, /srv], env: {LOG: debug}, cwd: /srv}
//     tickets: {url: "https://tickets.example/mcp", headers: {Authorization: "Bearer ..."}}
//
// YAML, and so JSON. Other members that clients' files have beside these (`type`, `disabled`, ...) are passed over.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "diagnostics/diagnostic.h"
#include "proxy/options.h"

namespace baton::proxy {

struct ServersRead {
  std::vector<ServerOptions> servers;   // `environment` has only what the file says
  std::vector<Diagnostic> diagnostics;  // of the YAML
  std::string problem;                  // what is wrong with what it says; empty: nothing
};
ServersRead read_servers(std::string_view text);

// Letters, digits, `-` and single `_`, at most 32: it becomes a part of tools' names. Empty: nothing is wrong with it.
std::string problem_with_name(std::string_view name);

// What a command gets of our environment: where things are and how to write (PATH, HOME, LANG, LC_*, TERM, TMPDIR, USER, SHELL,
// TZ), and nothing else; and what was given: NAME=value, or NAME for ours of that name. Of a name given twice the last counts.
std::vector<std::string> child_environment(const std::vector<std::string>& ours, const std::vector<std::string>& given);

}  // namespace baton::proxy
