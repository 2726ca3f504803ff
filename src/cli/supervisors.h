// SPDX-License-Identifier: Apache-2.0
// How a command supervises agents. main/ has the real one: no command knows how processes are run.
#pragma once

#include <string>
#include <vector>

#include "cli/world.h"
#include "supervisor/options.h"

namespace baton::cli {

class Supervisors {
 public:
  virtual ~Supervisors() = default;
  // Until the item is done, or told to stop (SIGINT, SIGTERM, SIGHUP). The exit status. The environment, the programs and what belongs
  // to this machine are filled in here.
  virtual int run(World& world, supervisor::Options options) = 0;
};

}  // namespace baton::cli
