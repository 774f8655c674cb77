// SPDX-License-Identifier: Apache-2.0
// The inner part of cpu.dense: a dense fp32 product with a narrow panel of W.
#pragma once

#include <cstdint>

namespace w4 {

constexpr std::int64_t panel_columns = 32;

// sums[r][j] = sum_k x[r][k] * w[k][j], k in order, for r < rows, j < panel_columns. x: rows of
// `x_stride` floats; w [k][panel_columns]; sums [rows][panel_columns]. A multiplication and an
// addition, each rounded, on every machine: the words depend neither on it nor on `rows`.
void multiply_panel(const float* x, std::int64_t x_stride, std::int64_t rows, const float* w,
                    std::int64_t k, float* sums);

}  // namespace w4
