// SPDX-License-Identifier: Apache-2.0
// Numbers by their bits, this plugin's own: nothing here may come from the reference that judges
// it.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/abi/w4_kernel.h"

namespace w4 {

// A binary format with `precision` significant bits (the hidden one included) and exponents of
// normal numbers from `lowest` to `highest`, stored in 16 bits.
struct HalfFormat {
  int precision, lowest, highest;
};
constexpr HalfFormat f16_format{11, -14, 15};
constexpr HalfFormat bf16_format{8, -126, 127};

// RN(value) to the format, ties to even: subnormals kept, overflow to infinity, any NaN to the
// quiet NaN.
template <HalfFormat format>
std::uint16_t round_to_half(double value) {
  constexpr int stored = format.precision - 1;
  constexpr std::uint64_t infinity = static_cast<std::uint64_t>(format.highest - format.lowest + 2)
                                     << stored;
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const std::uint64_t sign = bits >> 63 << 15;
  const int field = static_cast<int>(bits >> 52 & 0x7ff);
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
  if (field == 0x7ff) {
    const std::uint64_t quiet = fraction == 0 ? 0 : std::uint64_t{1} << (stored - 1);
    return static_cast<std::uint16_t>(sign | infinity | quiet);
  }
  const int exponent = field - 1023;
  if (exponent > format.highest) return static_cast<std::uint16_t>(sign | infinity);
  const bool normal = exponent >= format.lowest;
  const int drop = 52 - stored + (normal ? 0 : format.lowest - exponent);
  if (field == 0 || drop > 53)
    return static_cast<std::uint16_t>(sign);  // below half the smallest number
  const std::uint64_t significand = fraction | std::uint64_t{1} << 52;
  std::uint64_t kept = significand >> drop;
  const std::uint64_t rest = significand & ((std::uint64_t{1} << drop) - 1);
  const std::uint64_t tie = std::uint64_t{1} << (drop - 1);
  if (rest > tie || (rest == tie && (kept & 1) != 0)) ++kept;
  // A normal significand carries its hidden bit, which counts as one in the exponent field; so does
  // a carry.
  const std::uint64_t base =
      normal ? static_cast<std::uint64_t>(exponent - format.lowest) << stored : 0;
  return static_cast<std::uint16_t>(sign | (base + kept));
}

// a + b rounded to odd: the sum where it is exact, else of its two neighbours the one with an odd
// last bit. Rounded once more, to half a double's precision or less, it gives RN(a + b) of the
// exact sum.
inline double add_to_odd(double a, double b) {
  const double sum = a + b;
  const double from_b = sum - a;
  const double lost = (a - (sum - from_b)) + (b - from_b);
  const auto bits = std::bit_cast<std::uint64_t>(sum);
  if (!std::isfinite(sum) || lost == 0 || (bits & 1) != 0) return sum;
  return std::bit_cast<double>((lost > 0) == (sum > 0) ? bits + 1 : bits - 1);
}

inline std::uint16_t to_f16(double value) {
  return round_to_half<f16_format>(value);
}
inline std::uint16_t to_bf16(double value) {
  return round_to_half<bf16_format>(value);
}

inline float from_bf16(std::uint16_t word) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(word) << 16);
}

inline float from_f16(std::uint16_t word) {
  const std::uint32_t sign = static_cast<std::uint32_t>(word & 0x8000) << 16;
  const std::uint32_t field = word >> 10 & 0x1f;
  const std::uint32_t fraction = word & 0x3ff;
  if (field == 0) {
    const auto size = std::bit_cast<std::uint32_t>(static_cast<float>(fraction) * 0x1p-24f);
    return std::bit_cast<float>(sign | size);
  }
  const std::uint32_t exponent = field == 0x1f ? 0xff : field + 127 - 15;
  return std::bit_cast<float>(sign | exponent << 23 | fraction << 13);
}

// f16 or bf16, and back.
inline std::uint16_t to_half(std::uint32_t type, double value) {
  return type == W4_F16 ? to_f16(value) : to_bf16(value);
}
inline float from_half(std::uint32_t type, std::uint16_t word) {
  return type == W4_F16 ? from_f16(word) : from_bf16(word);
}

// Element `index` of an array of f32, f16 or bf16 that need not be aligned.
inline float load_float(std::uint32_t type, const std::byte* array, std::int64_t index) {
  if (type == W4_F32) {
    float value;
    std::memcpy(&value, array + index * 4, 4);
    return value;
  }
  std::uint16_t word;
  std::memcpy(&word, array + index * 2, 2);
  return type == W4_F16 ? from_f16(word) : from_bf16(word);
}

inline void load_floats(std::uint32_t type, const std::byte* array, std::int64_t first,
                        std::int64_t count, float* out) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = load_float(type, array, first + i);
}

// array[index] = RN(value), one rounding from `value` to f32, f16 or bf16.
inline void store_rounded(std::uint32_t type, std::byte* array, std::int64_t index, double value) {
  if (type == W4_F32) {
    const auto word = static_cast<float>(value);
    std::memcpy(array + index * 4, &word, 4);
    return;
  }
  const std::uint16_t word = type == W4_F16 ? to_f16(value) : to_bf16(value);
  std::memcpy(array + index * 2, &word, 2);
}

}  // namespace w4
