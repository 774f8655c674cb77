// SPDX-License-Identifier: Apache-2.0
// libw4_cuda_mutants.so: deliberately wrong twins of cuda.scalar, for what only a device can do
// wrong.
#include <array>
#include <cstddef>
#include <iterator>

#include "kernels/cuda/mutants/mutants.hpp"

namespace w4 {
namespace {

// README.md says which check kills each.
constexpr Row rows[] = {
    {"cuda_mutant.none", W4_CUDA, "scalar", "w4_cuda_mutant_none", 1, launch_none},
    {"cuda_mutant.reads_past_codes", W4_CUDA, "scalar", "w4_cuda_mutant_reads_past_codes", 1,
     launch_reads_past_codes},
    {"cuda_mutant.writes_input", W4_CUDA, "scalar",
     "w4_cuda_mutant_none,w4_cuda_mutant_writes_input", 2, launch_writes_input},
    {"cuda_mutant.wrong_zero", W4_CUDA, "scalar", "w4_cuda_mutant_wrong_zero", 1,
     launch_wrong_zero},
    {"cuda_mutant.launches_other", W4_CUDA, "scalar", "w4_cuda_mutant_none", 1, launch_undeclared},
    {"cuda_mutant.null_stream", W4_CUDA, "scalar", "w4_cuda_mutant_null_stream", 1,
     launch_null_stream},
};
constexpr std::size_t count = std::size(rows);

constexpr auto kernels = [] {
  std::array<w4_kernel, count> all{};
  for (std::size_t i = 0; i < count; ++i) all[i] = kernel_of(rows[i]);
  return all;
}();

constexpr auto pointers = [] {
  std::array<const w4_kernel*, count> all{};
  for (std::size_t i = 0; i < count; ++i) all[i] = &kernels[i];
  return all;
}();

constexpr w4_plugin plugin = {
    sizeof(w4_plugin), W4_ABI_VERSION, "w4check mutants", "1", nullptr, nullptr, count, 0,
    pointers.data()};

}  // namespace
}  // namespace w4

extern "C" const w4_plugin* w4_plugin_entry(std::uint32_t host_abi_version) {
  return host_abi_version == W4_ABI_VERSION ? &w4::plugin : nullptr;
}
