// SPDX-License-Identifier: Apache-2.0
// What makes a client run under its contract, for one run: its hooks call baton-hook, its MCP servers stand behind `baton mcp`. No file of
// the user is changed: everything is in files of the run's own folder, in arguments and in the environment. Pure.
//
// A server that cannot be put behind the proxy is left out, and said to be: what is not governed is not there.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "supervisor/clients.h"

namespace baton::supervisor {

// A server of a client's configuration.
struct McpServer {
  std::string name;
  std::string command;  // empty: `url`
  std::vector<std::string> arguments;
  std::vector<std::pair<std::string, std::string>> environment;
  std::string folder;  // where it runs; empty: where the client does
  std::string url;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string problem;  // why it cannot be put behind the proxy; empty: nothing

  bool operator==(const McpServer&) const = default;
};

// The servers of a configuration: the text of a file as the client has it. Later ones of the same name take the place of earlier ones.
// False: it could not be read, and nothing is known of what is in it.
bool read_servers(Client client, std::string_view text, std::string_view project_folder,
                  std::vector<McpServer>& servers);
// Where a client has them, in the order in which they count; those that do not exist are passed over.
std::vector<std::string> server_files(Client client, std::string_view home, std::string_view project_folder,
                                      std::string_view codex_home);

struct RunPlace {
  std::string folder;  // the run's own; exists, private
  std::string baton, hook;
  std::string socket, node;        // the node's socket; BATON_NODE
  std::string node_key = {};       // what the node signs its answers to hooks with; empty: not known
  std::string session_id = {};     // of the run: its hooks speak for no other
  std::string session_token;       // of the session that the proxies join
  std::vector<McpServer> servers;  // of the client's configuration
  std::string home;                // the user's
  // Of a client that gets a home of its own for the run: what the user has there (settings_file()); empty: nothing.
  std::string client_settings;
};

// The user's settings that a home of its own would hide; empty: it needs none.
std::string settings_file(Client client, std::string_view home);
// A file of the folder that counts before what is wired, and what must not be in it; empty: there is none.
std::string overriding_file(Client client, std::string_view project_folder);
std::string problem_with_override(Client client, std::string_view text);

struct WiringFile {
  std::string path, text;  // absolute, below the run's folder
};
struct Wiring {
  std::vector<WiringFile> files;
  // Paths below the run's folder that lead to files of the user, where those exist: credentials, which stay where they are.
  std::vector<std::pair<std::string, std::string>> links;
  std::vector<std::string> arguments;  // behind the words of the program
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<std::string> left_out;  // servers, and why; for people
  std::string problem;                // why it cannot be run under its contract at all
};
Wiring wire(Client client, const RunPlace& place);

// What of the client's own command line would get around the wiring; empty: nothing.
std::string problem_with_command(Client client, const std::vector<std::string>& argv);

}  // namespace baton::supervisor
