// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace baton {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "baton: internal error at %s:%d: CHECK(%s) does not hold\n", file, line, condition);
  std::abort();
}

}  // namespace baton
