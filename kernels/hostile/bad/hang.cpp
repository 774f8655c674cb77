// SPDX-License-Identifier: Apache-2.0
// A plugin that never answers when asked for its kernels.
#include "kernels/abi/w4_kernel.h"

namespace {
volatile unsigned spun{};
}

const w4_plugin* w4_plugin_entry(uint32_t) {
  for (;;) spun = spun + 1;
}
