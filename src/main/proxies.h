// SPDX-License-Identifier: Apache-2.0
// Proxies as they are: `baton mcp` on stdin and stdout or over HTTP, with the real clock and the process's environment.
#pragma once

#include <string>

#include "base/own_process.h"
#include "cli/proxies.h"

namespace baton::main {

class RealProxies final : public cli::Proxies {
 public:
  // Outlives it.
  explicit RealProxies(const OwnCredentials& credentials) : credentials_(credentials) {}

  int run(cli::World& world, proxy::Options options, const cli::ListenOptions& listen,
          const cli::ServeOptions* house) override;
  Result<std::string> read_tools(cli::World& world, proxy::ServerOptions server) override;

 private:
  const OwnCredentials& credentials_;
};

}  // namespace baton::main
