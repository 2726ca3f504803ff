// SPDX-License-Identifier: Apache-2.0
// A node put together: store, ledger, configuration, use cases, access, the running node and its API. `baton serve` has it
// listen; a command that runs without a node asks it directly, in its own process.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/nodes.h"
#include "cli/world.h"
#include "http_api/api.h"
#include "net/http_client.h"
#include "net/http_server.h"

namespace baton::main {

class NodeHost {
 public:
  // What the host is told of its surroundings.
  struct Given {
    cli::World& world;
    const cli::ServeOptions& options;
    http_api::Log log;
    std::function<void()> stop = {};  // somebody asked for the end (POST /v1/stop)
    bool refuse_agents = false;       // NODE_IN_PROCESS under a supervised agent: it must not run the rules itself
  };
  // Opens the store for writing and starts what goes on beside the requests; nobody is listened to yet. Diagnostics of the configuration
  // are shown on standard error, all of them. Failures: those of the store (STORE_LOCKED names who has it) and the
  // ledger, NODE_CONFIG, a webhook's secret file.
  static Result<std::unique_ptr<NodeHost>> open(const Given& given);
  ~NodeHost();  // as close(), without grace

  // The same without anything running beside: for the first operator's token. The store is made when it is not there.
  static Result<std::unique_ptr<NodeHost>> create(const Given& given);
  // See cli::Nodes.
  Result<std::string> create_first_operator(std::string actor);
  Result<cli::Nodes::Recovered> recover_operator(std::string actor);

  // Listens where the options say. Failures: NODE_LISTEN_OPEN; an address that is taken.
  Result<void> listen();
  // "unix:/path", "http://127.0.0.1:7070".
  std::vector<std::string> addresses() const;

  // Is somebody connected, being answered or waiting?
  bool is_busy() const;
  std::uint64_t requests() const;

  // One request without a socket, as a local caller: this process. Waits for the answer, at most request.timeout.
  Result<net::HttpAnswer> ask(const net::HttpRequest& request);

  // Likewise, without waiting: `answered` is called once, perhaps from within and perhaps by another thread. A body larger than the node
  // takes is not for here: takes() tells.
  void ask(net::ServerRequest request, std::function<void(net::ServerResponse)> answered);
  bool takes(const std::string& body) const;
  // Who this process is to its own node.
  static net::Peer self();

  // Ends in order: waiting claims are answered, requests finish (within `grace`), streams end, what is queued is written.
  void close(std::chrono::milliseconds grace);

 private:
  struct Inside;
  explicit NodeHost(std::unique_ptr<Inside> inside);
  static Result<std::unique_ptr<NodeHost>> prepare(const Given& given, bool create);
  Result<void> start(const Given& given);
  Result<void> need_no_agent() const;
  std::unique_ptr<Inside> inside_;
};

// A `--listen` value: "127.0.0.1:7070", "[::1]:7070", "localhost:0". Nothing when it is none.
std::optional<net::ListenAddress> parse_listen(std::string_view text);
// Can it only be reached from this machine?
bool is_loopback(std::string_view host);

}  // namespace baton::main
