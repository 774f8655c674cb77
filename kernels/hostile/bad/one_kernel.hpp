// SPDX-License-Identifier: Apache-2.0
// A plugin with one kernel that declines everything: what the broken libraries break.
#pragma once

#include "kernels/abi/w4_kernel.h"

namespace w4 {

inline w4_status decline(const w4_kernel*, const w4_problem*, w4_plan* plan) {
  const char why[] = "this kernel exists only to be loaded";
  for (unsigned i = 0; i < sizeof why; ++i) plan->reason[i] = why[i];
  return W4_UNSUPPORTED;
}

inline w4_status decline_run(const w4_kernel*, w4_call*) {
  return W4_UNSUPPORTED;
}

inline const w4_kernel& one_kernel() {
  static const w4_kernel kernel{sizeof(w4_kernel), W4_HOST,     "bad.only", decline,
                                nullptr,           decline_run, nullptr};
  return kernel;
}

inline w4_plugin one_kernel_plugin() {
  static const w4_kernel* const kernels[]{&one_kernel()};
  w4_plugin plugin{};
  plugin.struct_bytes = sizeof plugin;
  plugin.abi_version = W4_ABI_VERSION;
  plugin.vendor = "w4check bad";
  plugin.version = "1";
  plugin.kernel_count = 1;
  plugin.kernels = kernels;
  return plugin;
}

}  // namespace w4
