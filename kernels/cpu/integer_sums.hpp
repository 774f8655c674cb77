// SPDX-License-Identifier: Apache-2.0
// Products of integer activations: int32 sums over every stretch of k that shares a weight scale
// and an activation scale, scaled and added up in fp64, rounded once.
#pragma once

#include "kernels/cpu/kernel.hpp"

namespace w4 {

struct IntegerRows {
  // x[row][first .. first+count-1] as integers, |x| <= 255.
  void (*load)(const Request&, const Buffers&, std::int64_t row, std::int64_t first,
               std::int64_t count, std::int16_t* out);
  // The kernel's own activation scales [m][ceil(k/x_group)], beside the caller's; null: none.
  const float* scale;
};

// y = sum over stretches of ((isum * s) * xs), + bias. Zero forms signed, 8, code, code_m1.
void multiply_integers(const Request&, const Buffers&, const IntegerRows&);

}  // namespace w4
