// SPDX-License-Identifier: Apache-2.0
// A decoded layer against a truth file, array by array.
#pragma once

#include <catch2/catch_test_macros.hpp>

#include "harness/checkpoint/checkpoint.hpp"
#include "harness/checkpoint/form.hpp"
#include "harness/fixture/unpack.hpp"
#include "suites/checkpoint/truth.hpp"

namespace w4 {

inline void check_codes_scales_order(const Layer& layer, const Truth& truth) {
  const auto& w = layer.matrix;
  REQUIRE(w.k == truth.k);
  REQUIRE(w.n == truth.n);
  REQUIRE(w.groups == truth.groups);
  CHECK(w.codes == truth.codes);
  REQUIRE(w.scales.size() == truth.scales.size());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < w.scales.size(); ++i)
    wrong += to_double(w.scale_type, w.scales[i]) != static_cast<double>(truth.scales[i]);
  CHECK(wrong == 0);
  wrong = 0;
  for (std::int64_t k = 0; k < w.k; ++k)
    wrong += w.group_of(k) != truth.g_idx[static_cast<std::size_t>(k)];
  CHECK(wrong == 0);
}

inline void check_zeros(const Layer& layer, const Truth& truth) {
  const auto& w = layer.matrix;
  std::size_t wrong = 0;
  REQUIRE(w.scales.size() == truth.zeros.size());
  for (std::size_t i = 0; i < truth.zeros.size(); ++i) {
    const auto zero = w.zero == Zero::eight ? 8u
                      : w.zero == Zero::add ? zero_point_of(w, i).value_or(99)
                                            : w.zeros.at(i);
    wrong += static_cast<float>(zero) != truth.zeros[i];
    if (w.zero == Zero::add)
      wrong += to_double(w.zero_type, w.zeros.at(i)) != static_cast<double>(truth.added.at(i));
  }
  CHECK(wrong == 0);
  if (!truth.dequant.empty()) CHECK(dequantised(w) == truth.dequant);
}

inline void check_truth(const Layer& layer, const Truth& truth) {
  check_shape(layer.matrix);
  check_codes_scales_order(layer, truth);
  check_zeros(layer, truth);
}

}  // namespace w4
