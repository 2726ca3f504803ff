// SPDX-License-Identifier: Apache-2.0
// What `baton run` was asked to do, as values. No part of it changes while it runs.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/clients.h"
#include "supervisor/life.h"
#include "supervisor/wiring.h"

namespace baton::supervisor {

struct NodePlace {
  std::string url = "http://localhost";
  std::string unix_path;  // of a node on this machine: the agent's processes are made known to it
  std::string token;      // who claims; may be empty on the socket
  std::string key = {};   // of its answers to hooks; empty: not known
};

struct Options {
  NodePlace node;

  std::string work;  // this item; empty: the next one
  std::string role;
  std::vector<std::string> phases;          // of the next one
  std::optional<std::int64_t> ttl_seconds;  // of the lease; nothing: as the workspace says
  std::int64_t wait_seconds = 0;            // for something to claim
  bool watch = false;                       // one item after the other, until told to stop

  bool governed = true;
  std::string pack;  // what its session is held to; empty: the role's

  std::vector<std::string> argv;         // the agent
  std::vector<std::string> environment;  // NAME=value; ours, from which what is not for agents is taken out
  std::string folder;                    // where the agent runs; empty: where we do
  Client client = Client::Other;
  bool scan_output = false;           // of a client that is not known: its output is searched for the handoff
  std::vector<McpServer> servers;     // of the client's configuration, to be put behind the proxy
  std::string baton, hook;            // the programs; `hook` is empty where there is none
  std::string home, client_settings;  // RunPlace has what they are

  // lease_ns is set for each item.
  Terms terms;
  std::chrono::milliseconds grace{5'000};  // between SIGTERM and SIGKILL
  bool json = false;  // the result is one line of JSON on stdout, and the agent's output goes to stderr
};

}  // namespace baton::supervisor
