// SPDX-License-Identifier: Apache-2.0
// The plugin of deliberately wrong kernels, and of the healthy one that they all start from.
#include <vector>

#include "kernels/mutants/model.hpp"

namespace w4 {
namespace {

// The control: everything must pass on it, or a kill by the same check means nothing.
constexpr Bug none{.name = "mutant.none", .copies = "nothing: the healthy model"};

struct Table {
  std::vector<w4_kernel> kernels;
  std::vector<const w4_kernel*> pointers;
  w4_plugin plugin{};
};

void add(Table& table, const Bug& bug) {
  w4_kernel kernel{};
  kernel.struct_bytes = sizeof kernel;
  kernel.device = W4_HOST;
  kernel.name = bug.name;
  kernel.plan = plan_mutant;
  kernel.run = run_mutant;
  kernel.user = &bug;
  table.kernels.push_back(kernel);
}

Table make_table() {
  Table table;
  add(table, none);
  for (const auto bugs : {address_bugs(), value_bugs(), effect_bugs(), cheat_bugs(), lone_bugs()}) {
    for (const Bug& bug : bugs) add(table, bug);
  }
  for (const w4_kernel& kernel : table.kernels) table.pointers.push_back(&kernel);
  table.plugin.struct_bytes = sizeof table.plugin;
  table.plugin.abi_version = W4_ABI_VERSION;
  table.plugin.vendor = "w4check mutants";
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
