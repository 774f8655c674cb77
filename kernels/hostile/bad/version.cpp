// SPDX-License-Identifier: Apache-2.0
// A plugin that serves no version of the ABI that it is asked for.
#include "kernels/abi/w4_kernel.h"

const w4_plugin* w4_plugin_entry(uint32_t) {
  return nullptr;
}
