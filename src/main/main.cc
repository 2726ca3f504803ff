// SPDX-License-Identifier: Apache-2.0
// baton: wires the world to the command line.
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string_view>

#include "base/clock.h"
#include "base/random.h"
#include "cli/commands.h"

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
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error to report, not a reason to die
  baton::SystemClock clock;
  baton::SystemRandom random;
  baton::cli::World world(clock, random, STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, shows_colour(STDOUT_FILENO),
                          shows_colour(STDERR_FILENO));
  return baton::cli::run(world, argc, argv);
}
