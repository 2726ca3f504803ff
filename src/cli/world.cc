// SPDX-License-Identifier: Apache-2.0
#include "cli/world.h"

#include <cerrno>
#include <cstring>

#include "base/descriptor.h"

namespace baton::cli {
namespace {

constexpr std::size_t kBufferBytes = 64 << 10;

}  // namespace

void World::print(std::string_view text) {
  buffer_ += text;
  if (buffer_.size() >= kBufferBytes) flush();
}

bool World::flush() {
  if (!broken_ && !write_all(out_, buffer_)) {
    broken_ = true;
    print_error("baton: writing to standard output: " + std::string(std::strerror(errno)) + "\n");
  }
  buffer_.clear();
  return !broken_;
}

void World::print_error(std::string_view text) { write_all(err_, text); }

}  // namespace baton::cli
