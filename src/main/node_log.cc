// SPDX-License-Identifier: Apache-2.0
#include "main/node_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/limits.h"

namespace baton::main {
namespace {

std::uint64_t size_of(const std::string& path) {
  struct stat status = {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) ? static_cast<std::uint64_t>(status.st_size)
                                                                        : 0;
}

}  // namespace

void rotate_if_large(const std::string& path) {
  if (size_of(path) >= limits::kNodeLogBytesMax) static_cast<void>(std::rename(path.c_str(), (path + ".1").c_str()));
}

Result<int> open_log(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0600);
  if (descriptor < 0) return failure("opening the log " + path, std::strerror(errno));
  return descriptor;
}

Result<std::unique_ptr<NodeLog>> NodeLog::open(const std::string& path) {
  if (path == "-") return std::unique_ptr<NodeLog>(new NodeLog("", STDERR_FILENO));
  rotate_if_large(path);
  const auto descriptor = open_log(path);
  if (!descriptor) return tl::make_unexpected(descriptor.error());
  std::unique_ptr<NodeLog> log(new NodeLog(path, *descriptor));
  log->bytes_ = size_of(path);
  return log;
}

NodeLog::~NodeLog() {
  if (!path_.empty()) ::close(descriptor_);
}

void NodeLog::write(const json::Value& line) {
  const std::string text = json::write(line) + "\n";
  const std::lock_guard lock(mutex_);
  if (!path_.empty() && bytes_ + text.size() > limits::kNodeLogBytesMax) {
    rotate_if_large(path_);
    if (const auto fresh = open_log(path_)) {
      ::close(descriptor_);
      descriptor_ = *fresh;
      bytes_ = size_of(path_);
    }
  }
  // In one piece, so that lines of several writers do not mix.
  if (const ssize_t written = ::write(descriptor_, text.data(), text.size()); written > 0)
    bytes_ += static_cast<std::uint64_t>(written);
}

}  // namespace baton::main
