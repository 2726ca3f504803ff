// SPDX-License-Identifier: Apache-2.0
// What a process of Baton does for itself before it reads anything: other processes of the user may neither trace it nor read its
// memory and environment, no core of it is written, and credentials do not stay in its environment.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace baton {

// Needs no privilege. Programs that are started later do not inherit the first; the limit on cores they do.
void guard_memory();

// Credentials of Baton that a process was given by its environment. At most one in a process, made at the beginning of main() while
// there is one thread: it takes them out of the environment and overwrites what the kernel shows as /proc/PID/environ.
class OwnCredentials {
 public:
  OwnCredentials();
  ~OwnCredentials();
  OwnCredentials(const OwnCredentials&) = delete;
  OwnCredentials& operator=(const OwnCredentials&) = delete;

  // The variable's value if it was taken; otherwise what the environment has now.
  std::optional<std::string> environment(const char* name) const;
  // "NAME=value" of those that were taken.
  const std::vector<std::string>& taken() const { return taken_; }

 private:
  std::vector<std::string> taken_;
};

}  // namespace baton
