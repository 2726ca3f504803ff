// SPDX-License-Identifier: Apache-2.0
// The commands of `baton mcp`: what they have in common.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "proxy/options.h"

namespace baton::cli {

// Which servers: a command, an address, or a file with several.
struct McpServerArguments {
  std::string name, config, upstream, upstream_ca;
  std::vector<std::string> upstream_headers, environment, command;
};
void add_mcp_server_options(Command& command, McpServerArguments& arguments);
// Nothing, and a message, when they do not say which.
std::optional<std::vector<proxy::ServerOptions>> servers_of(World& world, const McpServerArguments& arguments);

void add_mcp_lock(Command& mcp, Action& chosen);
void add_mcp_approve_changes(Command& mcp, Action& chosen);

// How the servers' tools differ from the tools.lock.json of the pack in this folder: kYes, kNo, kCouldNot.
int compare_with_lock(World& world, const std::string& folder, const McpServerArguments& servers, bool as_json);

}  // namespace baton::cli
