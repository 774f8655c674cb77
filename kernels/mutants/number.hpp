// SPDX-License-Identifier: Apache-2.0
// f16 and bf16 for the mutants' own model: kernels share no arithmetic with the oracle that judges
// them.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "kernels/abi/w4_kernel.h"

namespace w4 {

inline float f16_to_float(std::uint32_t h) {
  const std::uint32_t sign = (h & 0x8000u) << 16, exponent = (h >> 10) & 31u;
  std::uint32_t fraction = h & 0x3ffu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | fraction << 13);
  if (exponent > 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  if (fraction == 0) return std::bit_cast<float>(sign);
  std::uint32_t biased = 113;
  for (; (fraction & 0x400u) == 0; fraction <<= 1) --biased;
  return std::bit_cast<float>(sign | biased << 23 | (fraction & 0x3ffu) << 13);
}

// v / 2^shift to nearest even, or toward zero. shift in 1..24.
inline std::uint32_t drop_bits(std::uint32_t v, unsigned shift, bool truncate) {
  if (truncate) return v >> shift;
  return (v + ((1u << (shift - 1)) - 1) + ((v >> shift) & 1u)) >> shift;
}

inline std::uint32_t float_to_f16(float value, bool truncate = false) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return 0x7e00u;
  if (magnitude == 0x7f800000u) return sign | 0x7c00u;
  if (magnitude >= 0x47800000u) return sign | (truncate ? 0x7bffu : 0x7c00u);
  if (magnitude >= 0x38800000u) return sign | drop_bits(magnitude - 0x38000000u, 13, truncate);
  const std::uint32_t exponent = magnitude >> 23;
  if (exponent < 102) return sign;  // below half of the least subnormal
  return sign | drop_bits((magnitude & 0x7fffffu) | 0x800000u, 126 - exponent, truncate);
}

inline float bf16_to_float(std::uint32_t h) {
  return std::bit_cast<float>(h << 16);
}

// An integer all the way: g++ 12 drops a conditional truncation of floats.
inline std::uint32_t float_to_bf16(float value, bool truncate = false) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fc0u;
  return drop_bits(bits, 16, truncate);
}

// Bytes of an element; 0 for a type that this model does not know.
inline std::int64_t float_bytes(std::uint32_t type) {
  return type == W4_F32 ? 4 : type == W4_F16 || type == W4_BF16 ? 2 : 0;
}

inline float load_float(std::uint32_t type, const void* data, std::int64_t index) {
  const auto* bytes = static_cast<const unsigned char*>(data) + index * float_bytes(type);
  if (type == W4_F32) {
    float f{};
    std::memcpy(&f, bytes, 4);
    return f;
  }
  std::uint16_t h{};
  std::memcpy(&h, bytes, 2);
  return type == W4_F16 ? f16_to_float(h) : bf16_to_float(h);
}

inline std::uint32_t round_to(std::uint32_t type, float value) {
  if (type == W4_F16) return float_to_f16(value);
  if (type == W4_BF16) return float_to_bf16(value);
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return (bits & 0x7fffffffu) > 0x7f800000u ? 0x7fc00000u : bits;
}

inline void store_word(std::uint32_t type, void* data, std::int64_t index, std::uint32_t word) {
  auto* bytes = static_cast<unsigned char*>(data) + index * float_bytes(type);
  const auto low = static_cast<std::uint16_t>(word);
  if (type == W4_F32)
    std::memcpy(bytes, &word, 4);
  else
    std::memcpy(bytes, &low, 2);
}

}  // namespace w4
