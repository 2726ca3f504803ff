// SPDX-License-Identifier: Apache-2.0
// Which vector instructions to use. What is worth it has a kernel for each level; all give the same answer, and
// tests/kernel_test.cc holds them to each other.
#pragma once

#include <algorithm>

namespace baton {

// Each has all that is before it.
enum class Kernel {
  Portable,  // SSE2 on x86-64, where every machine has it; elsewhere no vectors
  Avx2,      // and BMI, LZCNT, POPCNT: Intel since 2013, AMD since 2015
  Avx512,    // F, BW, VL, VBMI and VBMI2: Intel since Ice Lake, AMD since Zen 4
};

namespace internal {
extern const Kernel machine_kernel;  // found out when the program starts
inline constinit thread_local Kernel kernel_limit = Kernel::Avx512;
}  // namespace internal

inline Kernel best_kernel() { return std::min(internal::machine_kernel, internal::kernel_limit); }

// For tests: while it lives, this thread works as if the machine had no more than that.
class KernelLimit {
 public:
  explicit KernelLimit(Kernel limit) : before_(internal::kernel_limit) { internal::kernel_limit = limit; }
  ~KernelLimit() { internal::kernel_limit = before_; }
  KernelLimit(const KernelLimit&) = delete;
  KernelLimit& operator=(const KernelLimit&) = delete;

 private:
  Kernel before_;
};

}  // namespace baton
