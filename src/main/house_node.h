// SPDX-License-Identifier: Apache-2.0
// The node of a proxy in the proxy's own process (`BATON_IN_PROCESS=1 baton mcp`): what each call asks is asked without a socket, by
// the same API. Everything else, and everybody else, goes by the node's socket, on which it listens as any node does.
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>
#include <unordered_set>

#include "base/result.h"
#include "cli/nodes.h"
#include "cli/world.h"
#include "main/node_host.h"
#include "net/async_client.h"

namespace baton::main {

class HouseNode final : public net::AsyncPlace {
 public:
  // Opens the store and listens on its socket. Failures: those of NodeHost; NODE_IN_PROCESS for an agent that is supervised.
  static Result<std::unique_ptr<HouseNode>> open(cli::World& world, const cli::ServeOptions& options,
                                                 boost::asio::io_context& context);
  ~HouseNode() override;  // ends the node in order

  net::AsyncId send(net::AsyncRequest request, net::AsyncEvents events) override;
  void cancel(net::AsyncId id) override;

 private:
  // What was asked directly and is not answered yet. Answers come by any thread, and perhaps when this is gone.
  struct Open {
    explicit Open(boost::asio::io_context& given) : context(given) {}
    boost::asio::io_context& context;
    std::unordered_set<net::AsyncId> ids;  // on the context's thread alone
  };

  HouseNode(boost::asio::io_context& context, std::unique_ptr<NodeHost> host, std::unique_ptr<net::AsyncClient> client);

  const std::unique_ptr<NodeHost> host_;
  const std::unique_ptr<net::AsyncClient> client_;  // to the host's socket
  const net::Peer self_;
  const std::shared_ptr<Open> open_;
  net::AsyncId next_;
};

}  // namespace baton::main
