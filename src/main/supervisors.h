// SPDX-License-Identifier: Apache-2.0
// Supervisors as they are: `baton run` with real processes, the real clock and the process's environment.
#pragma once

#include "cli/supervisors.h"

namespace baton::main {

class RealSupervisors final : public cli::Supervisors {
 public:
  int run(cli::World& world, supervisor::Options options) override;
};

}  // namespace baton::main
