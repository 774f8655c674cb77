// SPDX-License-Identifier: Apache-2.0
// A matrix packed by columns and multiplied by them: what cpu.simd, cpu.gather and cpu.additive
// have in common. They differ in the order of k and in how a weight is rounded.
#pragma once

#include "kernels/cpu/kernel.hpp"
#include "kernels/cpu/simd_columns.hpp"

namespace w4 {

// How a kernel uses the columns. `sorted`: rows of W in the order of their group (a stable sort of
// g_idx), activations gathered in the same order on every call.
struct ColumnKernel {
  WeightForm form;
  bool sorted;
};

// The form that computes in fp32: d*s, (d-z)*s or d*s+z.
WeightForm plain_form(std::uint32_t zero);

bool is_gemv(const Request&);
std::int64_t column_workspace_bytes(const Request&);
std::int64_t column_blob_bytes(const Request&, bool sorted);
void pack_columns(const Request&, const Buffers& from, bool sorted, std::byte* blob);
void multiply_columns(const Request&, const Buffers&, ColumnKernel);

}  // namespace w4
