// SPDX-License-Identifier: Apache-2.0
// A node's log: one JSON object a line, to a file or to standard error. A file is bounded: at 8 MiB it becomes `<file>.1`, in the place
// of the one before, and a new one begins.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"
#include "json/value.h"

namespace baton::main {

class NodeLog {
 public:
  // `-`: standard error. Files are made with mode 0600 and appended to.
  static Result<std::unique_ptr<NodeLog>> open(const std::string& path);
  ~NodeLog();
  NodeLog(const NodeLog&) = delete;

  // Any thread. What cannot be written is lost: a node does not stop for its log.
  void write(const json::Value& line);

 private:
  NodeLog(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  const std::string path_;
  std::mutex mutex_;
  int descriptor_;
  std::uint64_t bytes_ = 0;
};

// Renames a log that has reached its size, if it is a regular file.
void rotate_if_large(const std::string& path);
// Opens it to append, mode 0600, not followed when it is a link.
Result<int> open_log(const std::string& path);

}  // namespace baton::main
