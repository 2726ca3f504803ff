// SPDX-License-Identifier: Apache-2.0
// baton: wires the world to the command line.
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/own_process.h"
#include "base/random.h"
#include "cli/commands.h"
#include "main/nodes.h"
#include "main/proxies.h"
#include "main/stores.h"
#include "main/supervisors.h"

namespace {

// Colour for people: a terminal, unless NO_COLOR says otherwise.
bool shows_colour(int descriptor) {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return ::isatty(descriptor) == 1 && (no_colour == nullptr || *no_colour == '\0') &&
         (terminal == nullptr || std::string_view(terminal) != "dumb");
}

}  // namespace

int main(int argc, char** argv) {
  // Before anything is read: most commands hold a token, and a node its keys.
  baton::guard_memory();
  const baton::OwnCredentials credentials;
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error to report, not a reason to die
  baton::SystemClock clock;
  baton::SystemRandom random;
  baton::main::RealStores stores(clock);
  baton::main::RealNodes nodes;
  baton::main::RealProxies proxies(credentials);
  baton::main::RealSupervisors supervisors;
  const baton::cli::Streams streams{.in = STDIN_FILENO,
                                    .out = STDOUT_FILENO,
                                    .err = STDERR_FILENO,
                                    .colour = shows_colour(STDOUT_FILENO),
                                    .colour_errors = shows_colour(STDERR_FILENO),
                                    .errors_to_a_terminal = ::isatty(STDERR_FILENO) == 1};
  baton::cli::World world(
      clock, random, stores, nodes, proxies, supervisors,
      [&credentials](const char* name) { return credentials.environment(name); }, streams);
  return baton::cli::run(world, argc, argv);
}
