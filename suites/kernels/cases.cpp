// SPDX-License-Identifier: Apache-2.0
// Cases made harder: operands of full significand, act-order.
#include <algorithm>
#include <cmath>

#include "suites/kernels/rig.hpp"

namespace w4 {

double rounded(std::uint32_t type, double value) {
  int exponent = 0;
  std::frexp(value, &exponent);
  const int precision = type == W4_F16 ? 11 : type == W4_BF16 ? 8 : 24;
  const int least = type == W4_F16 ? -24 : type == W4_BF16 ? -133 : -149;
  const int step = std::max(exponent - precision, least);
  return std::ldexp(std::nearbyint(std::ldexp(value, -step)), step);
}

namespace {

// Words with all fraction bits in use, magnitudes around 1, both signs.
double odd_value(std::uint32_t type, std::size_t i) {
  const auto word = static_cast<std::uint32_t>(i * 2654435761u >> 7);
  if (type == W4_F16) return decode(type, (word & 0x83ff) | 0x3800 | (word >> 3 & 0x400));
  if (type == W4_BF16) return decode(type, (word & 0x80ff) | 0x3f00);
  return decode(type, (word << 7 & 0x80000000u) | 0x3f000000 | (word & 0x7fffff));
}

}  // namespace

Case ragged(Case c) {
  for (std::size_t i = 0; i < c.scales.size(); ++i) {
    c.scales[i] = odd_value(c.p.scale_type, i + 100) / 16;
  }
  for (std::size_t i = 0; c.p.zero >= W4_ZERO_REAL && i < c.zeros.size(); ++i) {
    c.zeros[i] = odd_value(c.p.zero_type, i + 900) * 4;
  }
  const bool integers = c.p.x_type == W4_S8 || c.p.x_type == W4_S4;
  for (std::size_t i = 0; !integers && i < c.x.size(); ++i) {
    c.x[i] = odd_value(c.p.x_type, i + 5000);
  }
  return c;
}

Case act_ordered(Case c, bool equal) {
  c.p.flags |= W4_ACT_ORDER;
  const std::int64_t k = c.p.k, groups = c.p.groups;
  for (std::int64_t i = 0; i < k; ++i) {
    const std::int64_t shuffled = (i * 7 + 3) % k;
    c.g_idx.push_back(
        static_cast<std::int32_t>(equal ? shuffled / c.p.group : shuffled * shuffled % groups));
  }
  return c;
}

}  // namespace w4
