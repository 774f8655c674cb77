// SPDX-License-Identifier: Apache-2.0
// What a kernel of this folder is: a row. entry.cpp turns a row into the ABI's functions.
#pragma once

#include "kernels/cuda/operands.hpp"

namespace w4 {

struct Row {
  const char* name;
  std::uint32_t device;  // W4_CUDA; W4_HOST for the emulation
  const char* path;
  const char* symbols;  // null on the host
  std::uint32_t launches;
  // m >= 1. Enqueues on the stream and returns; W4_DEVICE_ERROR if the launch is refused.
  w4_status (*launch)(const Operands&, void* stream);
};

w4_status plan_row(const w4_kernel* self, const w4_problem*, w4_plan*);
w4_status run_row(const w4_kernel* self, w4_call*);

// The ABI's struct of a row.
constexpr w4_kernel kernel_of(const Row& row) {
  return {sizeof(w4_kernel), row.device, row.name, plan_row, nullptr, run_row, &row};
}

w4_status launch_scalar(const Operands&, void* stream);

}  // namespace w4
