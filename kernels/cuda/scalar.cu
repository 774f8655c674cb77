// SPDX-License-Identifier: Apache-2.0
// cuda.scalar: a thread per output, a chain of fp32 fused multiply-adds over k. Slow, and the first
// kernel through the whole path.
#include "kernels/cuda/launch.cuh"

// A C name, so that what a tracer sees is what plan() says.
extern "C" __global__ void w4_cuda_scalar(w4::Operands o) {
  w4::for_each_output(o, [&o](std::int64_t m, std::int64_t n) {
    w4::store_output(o, m, n, w4::output_at(o, m, n, 0.0F));
  });
}

namespace w4 {

w4_status launch_scalar(const Operands& o, void* stream) {
  return launch_outputs(w4_cuda_scalar, o, stream);
}

}  // namespace w4
