// SPDX-License-Identifier: Apache-2.0
// How a command reaches a node. main/ has the real one: no command knows how a node is put together.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/world.h"
#include "net/http_client.h"

namespace baton::cli {

// `baton serve`, as given.
struct ServeOptions {
  std::string store, keys;                // as in StoreOptions
  std::string config;                     // a file; empty: config.yaml in the store's folder, if there is one
  std::string socket;                     // empty: node.sock in the store's folder (none for PostgreSQL unless given)
  std::string agent_socket, agent_group;  // a second socket, for the users of that group; both or neither
  std::vector<std::string> listen;        // host:port
  std::string certificate, key;
  std::vector<std::string> hosts;
  std::optional<std::chrono::seconds> idle;  // ends itself after so long without a client
  bool started_by_client = false;
  std::string log = "-";  // a file, `-`: standard error
};

class Nodes {
 public:
  virtual ~Nodes() = default;
  // Runs a node until it is told to stop (SIGTERM, SIGINT, POST /v1/stop, idle). The exit status.
  virtual int serve(World& world, const ServeOptions& options) = 0;
  // One request to the node's API in this process, without a socket: takes the store's lock for as long as it lasts.
  virtual Result<net::HttpAnswer> in_process(World& world, const ServeOptions& options,
                                             const net::HttpRequest& request) = 0;
  // Starts `baton serve` in the background for a store: own session, scrubbed environment, log file in the store's folder; returns when
  // it was started, not when it answers.
  virtual Result<void> start_in_background(World& world, const ServeOptions& options) = 0;
  // The very first operator has nobody to ask for a token: makes the store, its ledger and its keys when they are not there, and a token of
  // kind `operator` with every scope for that actor, whose text is returned. In this process, under the store's lock. Only in a store that
  // has no operator's token: else a Failure with the code ACCESS_OPERATOR_EXISTS.
  virtual Result<std::string> create_first_operator(World& world, const ServeOptions& options, std::string actor) = 0;
  // A new operator's token in a store that has one, by whoever can open the ledger with its seal key: when the passphrase is lost. Revokes
  // the other operator's tokens of that actor. In this process, under the store's lock; refused below a supervised agent.
  struct Recovered {
    std::string token;
    std::size_t revoked = 0;
  };
  virtual Result<Recovered> recover_operator(World& world, const ServeOptions& options, std::string actor) = 0;
};

}  // namespace baton::cli
