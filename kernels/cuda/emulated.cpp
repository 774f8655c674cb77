// SPDX-License-Identifier: Apache-2.0
// libw4_cuda_emulated.so: the device functions of cuda.scalar in a loop on the host, so that every
// check can judge them where there is no GPU.
#include "kernels/cuda/kernel.hpp"

namespace w4 {
namespace {

w4_status loop(const Operands& o, void*) {
  for (std::int64_t m = 0; m < o.m; ++m)
    for (std::int64_t n = 0; n < o.n; ++n) store_output(o, m, n, output_at(o, m, n, 0.0F));
  return W4_OK;
}

constexpr Row rows[] = {{"cuda_emulated.scalar", W4_HOST, "scalar", nullptr, 0, loop}};
constexpr w4_kernel kernels[] = {kernel_of(rows[0])};
constexpr const w4_kernel* pointers[] = {&kernels[0]};
constexpr w4_plugin plugin = {
    sizeof(w4_plugin), W4_ABI_VERSION, "w4check", "emulation of libw4_cuda.so",
    nullptr,           nullptr,        1,         0,
    pointers};

}  // namespace
}  // namespace w4

extern "C" const w4_plugin* w4_plugin_entry(std::uint32_t host_abi_version) {
  return host_abi_version == W4_ABI_VERSION ? &w4::plugin : nullptr;
}
