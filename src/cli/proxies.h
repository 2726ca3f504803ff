// SPDX-License-Identifier: Apache-2.0
// How a command runs a proxy. main/ has the real one: no command knows how a proxy is put together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/nodes.h"
#include "cli/world.h"
#include "proxy/options.h"

namespace baton::cli {

// Where the proxy's clients are: our stdin and stdout, or HTTP.
struct ListenOptions {
  std::vector<std::string> listen;  // host:port; none: stdin and stdout
  std::string token;                // what clients present; empty: one is made
  bool without_token = false;       // clients present none; on loopback only
  std::string certificate, key;
  std::vector<std::string> hosts, origins;   // further ones that are taken
  std::uint64_t requests_per_second = 1000;  // of one token, or of one address where there is none; 0: any number
};

class Proxies {
 public:
  virtual ~Proxies() = default;
  // Until the client goes, or it is told to stop (SIGTERM, SIGINT). The exit status. `environment` of the servers has what was given
  // for them: what of ours they get is added here. `house`: the node is run in this process as it says; null: the one of the options.
  virtual int run(World& world, proxy::Options options, const ListenOptions& listen, const ServeOptions* house) = 0;
  // The tools of a server that is started for it: {"tools":[...],"instructions":"..."}.
  virtual Result<std::string> read_tools(World& world, proxy::ServerOptions server) = 0;
};

}  // namespace baton::cli
