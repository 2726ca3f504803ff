// SPDX-License-Identifier: Apache-2.0
// The path of a unix socket as the kernel takes it: at most 107 bytes. A longer one is named by its folder, which is held open:
// /proc/self/fd/<number>/<name>. Linux only. The text is good as long as this lives, and in this process alone.
#pragma once

#include <string>

#include "base/descriptor.h"
#include "base/result.h"

namespace baton {

class SocketPath {
 public:
  SocketPath() = default;
  // Failures: the folder cannot be opened, or the name alone is too long.
  static Result<SocketPath> of(const std::string& path);

  const std::string& text() const { return text_; }

 private:
  Descriptor folder_;
  std::string text_;
};

}  // namespace baton
