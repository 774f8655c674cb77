// SPDX-License-Identifier: Apache-2.0
// A library that ends the process when it is loaded, with exit code 0.
#include <cstdlib>

#include "kernels/hostile/bad/one_kernel.hpp"

namespace {
__attribute__((constructor)) void leave() {
  std::exit(0);
}
}  // namespace

const w4_plugin* w4_plugin_entry(uint32_t) {
  static const w4_plugin plugin = w4::one_kernel_plugin();
  return &plugin;
}
