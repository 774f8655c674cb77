// SPDX-License-Identifier: Apache-2.0
// The launches that are wrong: each kernel here is cuda.scalar's with one misdeed.
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/mutants/mutants.hpp"

extern "C" __global__ void w4_cuda_mutant_none(w4::Operands o) {
  w4::for_each_output(o, [&o](std::int64_t m, std::int64_t n) {
    w4::store_output(o, m, n, w4::output_at(o, m, n, 0.0F));
  });
}

// The element behind the last code is read and not used: only a guard page can tell.
extern "C" __global__ void w4_cuda_mutant_reads_past_codes(w4::Operands o) {
  w4::for_each_output(o, [&o](std::int64_t m, std::int64_t n) {
    const auto* codes = static_cast<const volatile unsigned char*>(o.codes);
    if (m == 0 && n == 0) (void)codes[o.codes_bytes];
    w4::store_output(o, m, n, w4::output_at(o, m, n, 0.0F));
  });
}

// Launched behind the healthy kernel, so that its results are right.
extern "C" __global__ void w4_cuda_mutant_writes_input(w4::Operands o) {
  auto* x = static_cast<unsigned char*>(const_cast<void*>(o.x));
  if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) x[0] ^= 1u;
}

extern "C" __global__ void w4_cuda_mutant_wrong_zero(w4::Operands o) {
  w4::for_each_output(o, [&o](std::int64_t m, std::int64_t n) {
    w4::store_output(o, m, n, w4::output_at(o, m, n, 1.0F));
  });
}

// Right in every bit, under a name that plan() does not give.
extern "C" __global__ void w4_cuda_mutant_undeclared(w4::Operands o) {
  w4::for_each_output(o, [&o](std::int64_t m, std::int64_t n) {
    w4::store_output(o, m, n, w4::output_at(o, m, n, 0.0F));
  });
}

// Late enough (2^26 ticks, some 30 ms) that nobody who waits for another stream has waited for it.
extern "C" __global__ void w4_cuda_mutant_null_stream(w4::Operands o) {
  const long long start = clock64();
  while (clock64() - start < (1ll << 26)) {
  }
  w4::for_each_output(o, [&o](std::int64_t m, std::int64_t n) {
    w4::store_output(o, m, n, w4::output_at(o, m, n, 0.0F));
  });
}

namespace w4 {

w4_status launch_none(const Operands& o, void* stream) {
  return launch_outputs(w4_cuda_mutant_none, o, stream);
}
w4_status launch_reads_past_codes(const Operands& o, void* stream) {
  return launch_outputs(w4_cuda_mutant_reads_past_codes, o, stream);
}
w4_status launch_writes_input(const Operands& o, void* stream) {
  const w4_status status = launch_outputs(w4_cuda_mutant_none, o, stream);
  return status == W4_OK ? launch_outputs(w4_cuda_mutant_writes_input, o, stream) : status;
}
w4_status launch_wrong_zero(const Operands& o, void* stream) {
  return launch_outputs(w4_cuda_mutant_wrong_zero, o, stream);
}
w4_status launch_undeclared(const Operands& o, void* stream) {
  return launch_outputs(w4_cuda_mutant_undeclared, o, stream);
}
w4_status launch_null_stream(const Operands& o, void*) {
  return launch_outputs(w4_cuda_mutant_null_stream, o, nullptr);
}

}  // namespace w4
