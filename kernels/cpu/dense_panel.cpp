// SPDX-License-Identifier: Apache-2.0
// Multiplies by a panel with Highway, once for each instruction set (this file includes itself);
// without Highway, by plain loops.
#include "kernels/cpu/dense_panel.hpp"

#if W4_CPU_SIMD
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/dense_panel.cpp"
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace w4::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using PanelFloats = hn::CappedTag<float, 16>;
using PanelVector = hn::Vec<PanelFloats>;
constexpr std::int64_t panel_width = static_cast<std::int64_t>(hn::MaxLanes(PanelFloats()));
// Registers for sums: two vectors of each of `rows` rows.
constexpr std::int64_t step = 2 * panel_width < panel_columns ? 2 * panel_width : panel_columns;
constexpr std::int64_t step_vectors = step / panel_width;

template <std::int64_t rows>
HWY_INLINE void panel_rows(const float* x, std::int64_t x_stride, const float* w, std::int64_t k,
                           float* sums) {
  const PanelFloats floats;
  for (std::int64_t j = 0; j < panel_columns; j += step) {
    PanelVector sum[rows][step_vectors];
    for (auto& row : sum) {
      for (auto& part : row) part = hn::Zero(floats);
    }
    for (std::int64_t i = 0; i < k; ++i) {
      PanelVector weight[step_vectors];
      for (std::int64_t v = 0; v < step_vectors; ++v) {
        weight[v] = hn::LoadU(floats, w + i * panel_columns + j + v * panel_width);
      }
      for (std::int64_t r = 0; r < rows; ++r) {
        const PanelVector value = hn::Set(floats, x[r * x_stride + i]);
        for (std::int64_t v = 0; v < step_vectors; ++v) {
          sum[r][v] = hn::Add(sum[r][v], hn::Mul(value, weight[v]));
        }
      }
    }
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t v = 0; v < step_vectors; ++v) {
        hn::StoreU(sum[r][v], floats, sums + r * panel_columns + j + v * panel_width);
      }
    }
  }
}

void panel(const float* x, std::int64_t x_stride, std::int64_t rows, const float* w, std::int64_t k,
           float* sums) {
  std::int64_t r = 0;
  for (; r + 6 <= rows; r += 6) {
    panel_rows<6>(x + r * x_stride, x_stride, w, k, sums + r * panel_columns);
  }
  for (; r < rows; ++r) {
    panel_rows<1>(x + r * x_stride, x_stride, w, k, sums + r * panel_columns);
  }
}

}  // namespace w4::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace w4 {

HWY_EXPORT(panel);

void multiply_panel(const float* x, std::int64_t x_stride, std::int64_t rows, const float* w,
                    std::int64_t k, float* sums) {
  HWY_DYNAMIC_DISPATCH(panel)(x, x_stride, rows, w, k, sums);
}

}  // namespace w4
#endif

#else
#include <algorithm>

namespace w4 {

void multiply_panel(const float* x, std::int64_t x_stride, std::int64_t rows, const float* w,
                    std::int64_t k, float* sums) {
  std::fill(sums, sums + rows * panel_columns, 0.0F);
  for (std::int64_t r = 0; r < rows; ++r) {
    float* __restrict sum = sums + r * panel_columns;
    for (std::int64_t i = 0; i < k; ++i) {
      const float value = x[r * x_stride + i];
      const float* __restrict row = w + i * panel_columns;
      for (std::int64_t j = 0; j < panel_columns; ++j) sum[j] += value * row[j];
    }
  }
}

}  // namespace w4
#endif
