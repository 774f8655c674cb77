// SPDX-License-Identifier: Apache-2.0
// A plugin that answers with an ABI version nobody asked for.
#include "kernels/hostile/bad/one_kernel.hpp"

const w4_plugin* w4_plugin_entry(uint32_t) {
  static const w4_plugin plugin = [] {
    w4_plugin p = w4::one_kernel_plugin();
    p.abi_version = 99;
    return p;
  }();
  return &plugin;
}
