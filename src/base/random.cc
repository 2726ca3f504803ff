// SPDX-License-Identifier: Apache-2.0
#include "base/random.h"

#include <sys/random.h>

#include "base/check.h"

namespace baton {

void SystemRandom::fill(std::span<std::uint8_t> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t got = ::getrandom(out.data() + done, out.size() - done, 0);
    CHECK(got > 0);
    done += static_cast<std::size_t>(got);
  }
}

}  // namespace baton
