// SPDX-License-Identifier: Apache-2.0
// The control words of each machine, in one place.
#include "harness/worker/float_state.hpp"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace w4 {

#if defined(__x86_64__)

wire::FloatBits read_float_state() {
  std::uint16_t x87 = 0;
  __asm__ volatile("fnstcw %0" : "=m"(x87));
  constexpr unsigned status_flags = 0x3f;
  return {_mm_getcsr() & ~status_flags, x87};
}

void reset_float_state() {
  __asm__ volatile(
      "fninit");  // also empties the register stack, which MMX code without emms leaves full
  _mm_setcsr(0x1f80);
}

#elif defined(__aarch64__)

wire::FloatBits read_float_state() {
  std::uint64_t fpcr = 0;
  __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
  return {static_cast<std::uint32_t>(fpcr), 0};
}

void reset_float_state() {
  __asm__ volatile("msr fpcr, %0" : : "r"(std::uint64_t{0}));
}

#else

wire::FloatBits read_float_state() {
  return {};
}
void reset_float_state() {}

#endif

}  // namespace w4
