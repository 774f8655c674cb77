// SPDX-License-Identifier: Apache-2.0
// How a kernel with a thread per output is launched.
#pragma once

#include <algorithm>

#include <cuda_runtime.h>

#include "kernels/cuda/kernel.hpp"

namespace w4 {

constexpr int block_columns = 128;

// Threads for every column and row; the kernel strides over what does not fit the grid.
inline w4_status launch_outputs(void (*kernel)(Operands), const Operands& o, void* stream) {
  constexpr std::int64_t most_blocks = 65535;
  const std::int64_t across = (o.n - 1) / block_columns + 1;
  const dim3 grid(static_cast<unsigned>(std::min(across, most_blocks)),
                  static_cast<unsigned>(std::min(o.m, most_blocks)));
  Operands given = o;
  void* arguments[] = {&given};
  const cudaError_t error =
      cudaLaunchKernel(reinterpret_cast<const void*>(kernel), grid, dim3(block_columns), arguments,
                       0, static_cast<cudaStream_t>(stream));
  return error == cudaSuccess ? W4_OK : W4_DEVICE_ERROR;
}

// The loop of a thread over its outputs.
template <typename Each>
__device__ __forceinline__ void for_each_output(const Operands& o, Each each) {
  const std::int64_t columns = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t m = blockIdx.y; m < o.m; m += gridDim.y) {
    for (std::int64_t n = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; n < o.n;
         n += columns) {
      each(m, n);
    }
  }
}

}  // namespace w4
