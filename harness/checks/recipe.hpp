// SPDX-License-Identifier: Apache-2.0
// How large operands may be so that every sum stays exact in fp32 and finite in the output.
#pragma once

#include "harness/checks/data.hpp"

namespace w4 {

struct DenseRecipe {
  ExactRecipe matrix;
  int magnitude{};  // of x: what was asked for, or less where it would leave no room for scales
                    // that differ
  int x_scale_lowest{}, x_scale_spread{};
};

// |x| <= magnitude, all k active. With D = 32 (q + z of a zero term summed apart), F fraction bits
// of the zero and X bits of x_scale spread: k * magnitude * D * 2^(spread + F + X) <= 2^24, the
// spread at most 8; the lowest scale is such that no sum reaches 2^15, and at least 2^-14 so that
// no weight is subnormal.
DenseRecipe dense_recipe(const Problem&, int magnitude);
// The same where every q - z is +15 or -15 and z or q is 0 (D = 16), with one x_scale for all.
DenseRecipe extreme_recipe(const Problem&, int magnitude, int difference);

// Random signs; magnitudes 1, or odd ones up to the recipe's (any integer for integer types).
Activations dense_rows(const Problem&, std::int64_t m, const DenseRecipe&);
// Every activation the same.
Activations constant_rows(const Problem&, std::int64_t m, double value, const DenseRecipe&);

}  // namespace w4
