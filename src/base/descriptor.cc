// SPDX-License-Identifier: Apache-2.0
#include "base/descriptor.h"

#include <unistd.h>

#include <cerrno>

namespace baton {

void Descriptor::reset() {
  if (number_ >= 0) ::close(release());
}

bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace baton
