// SPDX-License-Identifier: Apache-2.0
// One place that says when a logical weight holds together, so that everything after it may index
// without asking.
#include "reference/quantized.hpp"

#include <algorithm>

#include "reference/error.hpp"

namespace w4 {
namespace {

bool all_below(const auto& values, std::uint32_t limit) {
  return std::all_of(values.begin(), values.end(), [limit](auto v) { return v < limit; });
}

void check_zeros(const QuantizedMatrix& w, std::size_t count) {
  require(w.zeros.size() == (has_stored_zero(w.zero) ? count : 0), "zeros are not [groups][n]");
  if (!has_stored_zero(w.zero)) return;
  if (has_integer_zero(w.zero))
    return require(all_below(w.zeros, 17), "an integer zero is above 16");
  require(is_float(w.zero_type), "the type of real zeros is not a float");
  const int bits = bits_of(w.zero_type);
  require(bits == 32 || all_below(w.zeros, 1u << bits), "a zero is wider than its type");
}

}  // namespace

void check_shape(const QuantizedMatrix& w) {
  require(w.k >= 1 && w.n >= 1, "k or n is below 1");
  require(w.group >= 1 && w.group <= w.k, "group is not within 1..k");
  const std::int64_t least = (w.k + w.group - 1) / w.group;
  require(w.g_idx.empty() ? w.groups == least : w.groups >= 1, "groups is not ceil(k/group)");
  require(w.codes.size() == static_cast<std::size_t>(w.k * w.n), "codes are not [k][n]");
  require(all_below(w.codes, 16), "a code is above 15");
  const auto count = static_cast<std::size_t>(w.groups * w.n);
  require(w.scales.size() == count, "scales are not [groups][n]");
  require(is_float(w.scale_type), "the type of scales is not a float");
  require(w.scale_type == Type::f32 || all_below(w.scales, 1u << bits_of(w.scale_type)),
          "a scale is wider than its type");
  check_zeros(w, count);
  require(w.g_idx.empty() || w.g_idx.size() == static_cast<std::size_t>(w.k), "g_idx is not [k]");
  for (const std::int32_t g : w.g_idx) require(g >= 0 && g < w.groups, "g_idx leaves the groups");
  require((w.bias_type == Type::none) == w.bias.empty(), "bias and its type disagree");
  require(w.bias.empty() || w.bias.size() == static_cast<std::size_t>(w.n), "bias is not [n]");
}

}  // namespace w4
