// SPDX-License-Identifier: Apache-2.0
// Nodes as they are: `baton serve`, a node in the background, and a node for the length of one request.
#pragma once

#include <string>
#include <string_view>

#include "cli/nodes.h"

namespace baton::main {

class RealNodes final : public cli::Nodes {
 public:
  int serve(cli::World& world, const cli::ServeOptions& options) override;
  Result<net::HttpAnswer> in_process(cli::World& world, const cli::ServeOptions& options,
                                     const net::HttpRequest& request) override;
  Result<void> start_in_background(cli::World& world, const cli::ServeOptions& options) override;
  Result<Recovered> recover_operator(cli::World& world, const cli::ServeOptions& options, std::string actor) override;
  Result<std::string> create_first_operator(cli::World& world, const cli::ServeOptions& options,
                                            std::string actor) override;
};

// The environment of a node that a client starts: only what says where things are and how to write. The flags of the exit
// protocol, tokens and whatever else a client has are not among it.
bool is_passed_on(std::string_view variable);

}  // namespace baton::main
