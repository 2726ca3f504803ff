// SPDX-License-Identifier: Apache-2.0
// For commands that show something as it changes. A process of its own listens to the node's events, and tells by a pipe that something
// happened: so keys, the window's size and events are waited for in one place, and nothing is asked of the node while nothing happens.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "cli/client.h"

namespace baton::cli {

// The process that listens, and the end of the pipe it tells by.
class Ears {
 public:
  // To entries of these streams (`work/*`) from this sequence on.
  Ears(Client& client, const std::vector<std::string>& streams, std::uint64_t from);
  ~Ears();
  Ears(const Ears&) = delete;
  Ears& operator=(const Ears&) = delete;
  int pipe() const { return pipe_; }
  // Takes what was told; false when nobody tells any more.
  bool drain();

 private:
  pid_t process_ = -1;
  int pipe_ = -1;
};

// Whoever ends the command, and whoever changes the window.
struct LiveSignals {
  static void watch();
  static bool ended();
  static bool resized();  // since it was asked last
};

}  // namespace baton::cli
