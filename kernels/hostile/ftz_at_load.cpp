// SPDX-License-Identifier: Apache-2.0
// A healthy kernel in a library linked as with -ffast-math: loading it turns on flush-to-zero for
// the whole thread.
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "kernels/hostile/model.hpp"

namespace w4 {
namespace {

__attribute__((constructor)) void flush_to_zero() {
#if defined(__x86_64__)
  _mm_setcsr(_mm_getcsr() | 0x8040u);  // FTZ, DAZ, as crtfastmath.o does
#elif defined(__aarch64__)
  std::uint64_t control{};
  __asm__ volatile("mrs %0, fpcr" : "=r"(control));
  control |= std::uint64_t{1} << 24;  // FZ
  __asm__ volatile("msr fpcr, %0" ::"r"(control));
#endif
}

constexpr Misdeed at_load_only{.name = "hostile.ftz_at_load"};

}  // namespace
}  // namespace w4

const w4_plugin* w4_plugin_entry(uint32_t host_abi_version) {
  static const w4_kernel kernel = w4::hostile_kernel(w4::at_load_only);
  static const w4_kernel* const kernels[]{&kernel};
  static const w4_plugin plugin{
      sizeof(w4_plugin), W4_ABI_VERSION, "w4check hostile", "1", nullptr, nullptr, 1, 0, kernels};
  return host_abi_version == W4_ABI_VERSION ? &plugin : nullptr;
}
