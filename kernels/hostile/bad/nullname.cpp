// SPDX-License-Identifier: Apache-2.0
// A plugin with a kernel that has no name and one that has no plan().
#include "kernels/hostile/bad/one_kernel.hpp"

const w4_plugin* w4_plugin_entry(uint32_t) {
  static w4_kernel nameless = w4::one_kernel(), planless = w4::one_kernel();
  nameless.name = nullptr;
  planless.plan = nullptr;
  static const w4_kernel* const both[]{&nameless, &planless};
  static const w4_plugin plugin = [] {
    w4_plugin p = w4::one_kernel_plugin();
    p.kernel_count = 2;
    p.kernels = both;
    return p;
  }();
  return &plugin;
}
