// SPDX-License-Identifier: Apache-2.0
#include "base/kernel.h"

namespace baton::internal {
namespace {

Kernel find_kernel() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi") || !__builtin_cpu_supports("lzcnt") ||
      !__builtin_cpu_supports("popcnt"))
    return Kernel::Portable;
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
      !__builtin_cpu_supports("avx512vl") || !__builtin_cpu_supports("avx512vbmi") ||
      !__builtin_cpu_supports("avx512vbmi2"))
    return Kernel::Avx2;
  return Kernel::Avx512;
#else
  return Kernel::Portable;
#endif
}

}  // namespace

const Kernel machine_kernel = find_kernel();

}  // namespace baton::internal
