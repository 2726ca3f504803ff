// SPDX-License-Identifier: Apache-2.0
// What `baton mcp` was asked to do, as values. No part of it changes while the proxy runs.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "hooks/event.h"
#include "net/header.h"

namespace baton::proxy {

// One server behind the proxy: a command that is started, or the address of one that runs.
struct ServerOptions {
  std::string name = "server";    // a prefix of its tools where there are several; what its stderr lines begin with
  std::vector<std::string> argv;  // a command; empty: `url`
  std::vector<std::string> environment;  // NAME=value, all that the command gets
  std::string folder;                    // where it runs; empty: where we do
  std::string url;                       // Streamable HTTP
  std::vector<net::Header> headers;      // sent to `url` with every request, and nothing of the client's
  std::string ca_file;                   // https: trust the certificates of this file
};

// Where the node is and what is shown to it.
struct NodeOptions {
  std::string url = "http://localhost";
  std::string unix_path;
  std::string token;          // who we are; may be empty on the socket
  std::string session_token;  // of the session that is joined; empty: each conversation opens one
  std::string session_id;     // that one's
};

struct Options {
  std::vector<ServerOptions> servers;
  bool servers_are_all = true;               // false: the client has further servers, behind other proxies or none
  std::optional<hooks::Client> client = {};  // whose own tools' names no server's tool may use
  bool discover_needs_session = false;       // the pack holds what servers say of themselves
  NodeOptions node;

  // Of the session that is opened: POST /v1/sessions.
  std::string pack, role, mode, gate, principal;
  std::vector<std::string> labels;
  // What is shown to the node with a decision of the client's user, where a session's pack says that this user is the operator.
  // Empty: there is none, and the user decides nothing.
  std::string operator_token;

  std::size_t client_bytes_max = 4u << 20;
  std::size_t server_bytes_max = 64u << 20;
  // Of a server behind HTTP: to the first byte. Of any server: to answer what Baton itself asks it, at most.
  std::chrono::milliseconds request_timeout = std::chrono::seconds(300);
  std::string version = "0";
};

}  // namespace baton::proxy
