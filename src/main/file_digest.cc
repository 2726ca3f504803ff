// SPDX-License-Identifier: Apache-2.0
#include "main/file_digest.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/descriptor.h"
#include "base/sha256.h"

namespace baton::main {

std::string digest_of_file(const std::string& path) {
  constexpr std::size_t kBytesMax = 8u << 20;
  // Not blocking: it may be a pipe.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file) return errno == ENOENT || errno == ENOTDIR ? "absent" : "unreadable";
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return "unreadable";
  if (S_ISDIR(status.st_mode)) return "folder";
  if (!S_ISREG(status.st_mode)) return "unreadable";
  if (static_cast<std::size_t>(status.st_size) > kBytesMax) return "too large";
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t have = 0;
  while (have < text.size()) {
    const ssize_t got = ::read(file.get(), text.data() + have, text.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    have += static_cast<std::size_t>(got);
  }
  text.resize(have);
  return sha256_hex(text);
}

}  // namespace baton::main
