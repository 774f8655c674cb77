// SPDX-License-Identifier: Apache-2.0
// A plugin that cannot be opened: its device is not there.
#include "kernels/hostile/bad/one_kernel.hpp"

namespace {
w4_status refuse(int32_t) {
  return W4_DEVICE_ERROR;
}
}  // namespace

const w4_plugin* w4_plugin_entry(uint32_t) {
  static const w4_plugin plugin = [] {
    w4_plugin p = w4::one_kernel_plugin();
    p.open = refuse;
    return p;
  }();
  return &plugin;
}
