// SPDX-License-Identifier: Apache-2.0
#include "base/socket_path.h"

#include <fcntl.h>
#include <sys/un.h>

#include <cerrno>
#include <system_error>

namespace baton {

Result<SocketPath> SocketPath::of(const std::string& path) {
  constexpr std::size_t kBytesMax = sizeof(sockaddr_un::sun_path) - 1;
  constexpr const char* kDoing = "naming the socket";
  SocketPath out;
  out.text_ = path;
  if (path.size() <= kBytesMax) return out;
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  out.folder_ = Descriptor(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!out.folder_) return failure(kDoing, "its folder: " + std::generic_category().message(errno));
  out.text_ = "/proc/self/fd/" + std::to_string(out.folder_.get()) + "/" +
              path.substr(slash == std::string::npos ? 0 : slash + 1);
  if (out.text_.size() > kBytesMax) return failure(kDoing, "the name of a socket is longer than it may be");
  return out;
}

}  // namespace baton
