// SPDX-License-Identifier: Apache-2.0
// The part of cpu.simd that is compiled once for each instruction set. Sixteen logical lanes
// whatever the vector width: lane l sums k = l, l+16, l+32, ..., and the sixteen sums are halved
// pairwise (l with l+8, then +4, +2, +1).
#pragma once

#include <cstdint>

namespace w4 {

constexpr std::int64_t simd_lanes = 16;
constexpr std::int64_t gemv_rows = 4;

// d*s; (d-z)*s; d*s+z; h(h(d*s)+z), s and z of type h
enum class WeightForm : std::uint8_t { scaled, centred, shifted, shifted_f16, shifted_bf16 };

// A column of W as pack() left it: d[k] padded to a multiple of 16, scale and zero for each group.
struct Column {
  const std::int8_t* d;
  const float *scale, *zero;
  std::int64_t k, group;
  const std::int32_t* group_of;  // of each k, never falling; null: k / group
  WeightForm form;
};

// sums[r] = sum_k x[r][k] * W[k], r < rows <= gemv_rows. x: rows of `x_stride` floats, zeros from k
// on up to a multiple of
// 16. The weights stay in registers.
void gemv_column(const Column&, const float* x, std::int64_t x_stride, std::int64_t rows,
                 float* sums);

// The same sums, bit for bit, for any number of rows; `w` holds the column's weights, k rounded up
// to a multiple of 16.
void gemm_column(const Column&, const float* x, std::int64_t x_stride, std::int64_t rows, float* w,
                 float* sums);

}  // namespace w4
