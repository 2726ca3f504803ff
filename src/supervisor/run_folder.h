// SPDX-License-Identifier: Apache-2.0
// A private folder for one run: what the agent is given and the wiring of its client. Gone with the run.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace baton::supervisor {

class RunFolder {
 public:
  // Below `parent`, with a name of its own, mode 0700.
  static Result<RunFolder> make(const std::string& parent);
  ~RunFolder();
  RunFolder(RunFolder&& other) noexcept;
  RunFolder& operator=(RunFolder&&) = delete;

  const std::string& path() const { return path_; }
  // A new file below it, mode 0600; folders on the way are made. One that is there is written anew.
  Result<void> write(const std::string& path, std::string_view text) const;
  // A link below it to a file that exists; to one that does not, nothing is done.
  Result<void> link(const std::string& path, const std::string& target) const;

 private:
  explicit RunFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace baton::supervisor
