// SPDX-License-Identifier: Apache-2.0
// One value as stored, and back: exact, or an exception.
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "suites/kernels/rig.hpp"

namespace w4 {

std::int64_t width_of(std::uint32_t type) {
  switch (type) {
    case W4_F32:
    case W4_S32:
      return 4;
    case W4_F16:
    case W4_BF16:
      return 2;
    default:
      return 1;
  }
}

namespace {

struct Format {
  int fraction_bits, bias, highest_field;
};
Format format_of(std::uint32_t type) {
  if (type == W4_F32) return {23, 127, 255};
  return type == W4_F16 ? Format{10, 15, 31} : Format{7, 127, 255};
}

}  // namespace

double decode(std::uint32_t type, std::uint32_t word) {
  const Format f = format_of(type);
  const int bits = type == W4_F32 ? 31 : 15;
  const int field = static_cast<int>(word >> f.fraction_bits) & f.highest_field;
  const auto fraction = static_cast<double>(word & ((1u << f.fraction_bits) - 1));
  double size = std::ldexp(fraction + (field == 0 ? 0 : std::ldexp(1, f.fraction_bits)),
                           std::max(field, 1) - f.bias - f.fraction_bits);
  if (field == f.highest_field) {
    size = fraction == 0 ? std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  }
  return (word >> bits & 1) != 0 ? -size : size;
}

std::uint32_t encode(std::uint32_t type, double value) {
  if (type == W4_S8 || type == W4_S4) {
    return static_cast<std::uint32_t>(static_cast<int>(value)) & (type == W4_S8 ? 255u : 15u);
  }
  const Format f = format_of(type);
  const std::uint32_t sign = std::signbit(value) ? 1u << (type == W4_F32 ? 31 : 15) : 0u;
  const std::uint32_t infinity = static_cast<std::uint32_t>(f.highest_field) << f.fraction_bits;
  if (std::isnan(value)) return infinity | 1u;
  if (std::isinf(value)) return sign | infinity;
  if (value == 0) return sign;
  int exponent = 0;
  std::frexp(value, &exponent);
  const int field = std::max(exponent - 1 + f.bias, 0);
  const double steps = std::ldexp(std::fabs(value), f.fraction_bits + f.bias - std::max(field, 1));
  if (steps != std::floor(steps)) throw std::runtime_error("encode: not exact");
  const auto whole = static_cast<std::uint32_t>(steps);
  const std::uint32_t hidden = field == 0 ? 0u : 1u << f.fraction_bits;
  return sign | (static_cast<std::uint32_t>(field) << f.fraction_bits) | (whole - hidden);
}

}  // namespace w4
