// SPDX-License-Identifier: Apache-2.0
// A plugin without a kernel.
#include "kernels/hostile/bad/one_kernel.hpp"

const w4_plugin* w4_plugin_entry(uint32_t) {
  static const w4_plugin plugin = [] {
    w4_plugin p = w4::one_kernel_plugin();
    p.kernel_count = 0;
    p.kernels = nullptr;
    return p;
  }();
  return &plugin;
}
