// SPDX-License-Identifier: Apache-2.0
// A plugin with two kernels of one name.
#include "kernels/hostile/bad/one_kernel.hpp"

const w4_plugin* w4_plugin_entry(uint32_t) {
  static const w4_kernel* const twice[]{&w4::one_kernel(), &w4::one_kernel()};
  static const w4_plugin plugin = [] {
    w4_plugin p = w4::one_kernel_plugin();
    p.kernel_count = 2;
    p.kernels = twice;
    return p;
  }();
  return &plugin;
}
