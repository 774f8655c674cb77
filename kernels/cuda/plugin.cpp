// SPDX-License-Identifier: Apache-2.0
// libw4_cuda.so: one row per kernel. It can be listed and asked for plans without a GPU.
#include "kernels/cuda/kernel.hpp"

namespace w4 {
namespace {

constexpr Row rows[] = {
    {"cuda.scalar", W4_CUDA, "scalar", "w4_cuda_scalar", 1, launch_scalar},
};
constexpr w4_kernel kernels[] = {kernel_of(rows[0])};
constexpr const w4_kernel* pointers[] = {&kernels[0]};

// No device is touched before the first launch: the runtime library opens it then.
w4_status open_device(std::int32_t) {
  return W4_OK;
}

constexpr w4_plugin plugin = {sizeof(w4_plugin), W4_ABI_VERSION, "w4check", W4_CUDA_VERSION,
                              open_device,       nullptr,        1,         0,
                              pointers};

}  // namespace
}  // namespace w4

extern "C" const w4_plugin* w4_plugin_entry(std::uint32_t host_abi_version) {
  return host_abi_version == W4_ABI_VERSION ? &w4::plugin : nullptr;
}
