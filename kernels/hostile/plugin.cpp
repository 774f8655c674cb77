// SPDX-License-Identifier: Apache-2.0
// The plugin of hostile kernels: what the worker process must survive or turn into a verdict.
#include <vector>

#include "kernels/hostile/misdeeds.hpp"

namespace w4 {
namespace {

// The control: the same kernel without a misdeed.
constexpr Misdeed none{.name = "hostile.none"};

struct Table {
  std::vector<w4_kernel> kernels{hostile_kernel(none)};
  std::vector<const w4_kernel*> pointers;
  w4_plugin plugin{};
};

Table make_table() {
  Table table;
  for (const auto misdeeds : {memory_misdeeds(), process_misdeeds(), answer_misdeeds()}) {
    for (const Misdeed& misdeed : misdeeds) table.kernels.push_back(hostile_kernel(misdeed));
  }
  for (const w4_kernel& kernel : table.kernels) table.pointers.push_back(&kernel);
  table.plugin.struct_bytes = sizeof table.plugin;
  table.plugin.abi_version = W4_ABI_VERSION;
  table.plugin.vendor = "w4check hostile";
  table.plugin.version = "1";
  table.plugin.kernel_count = static_cast<std::uint32_t>(table.kernels.size());
  table.plugin.kernels = table.pointers.data();
  return table;
}

}  // namespace
}  // namespace w4

const w4_plugin* w4_plugin_entry(uint32_t host_abi_version) {
  static const w4::Table table = w4::make_table();
  return host_abi_version == W4_ABI_VERSION ? &table.plugin : nullptr;
}
