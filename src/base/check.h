// SPDX-License-Identifier: Apache-2.0
// CHECK(condition): something that only a mistake in Baton's own code can break. Always on; aborts with the place.
// Never used on input or on the environment.
#pragma once

namespace baton {

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace baton

#define CHECK(condition) \
  (static_cast<bool>(condition) ? static_cast<void>(0) : ::baton::check_failed(#condition, __FILE__, __LINE__))
