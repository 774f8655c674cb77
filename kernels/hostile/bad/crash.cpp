// SPDX-License-Identifier: Apache-2.0
// A plugin that dies when asked for its kernels.
#include <cstdint>

#include "kernels/abi/w4_kernel.h"

namespace {
volatile std::uintptr_t unmapped = 8;
}

const w4_plugin* w4_plugin_entry(uint32_t) {
  *reinterpret_cast<volatile int*>(unmapped) = 1;
  return nullptr;
}
