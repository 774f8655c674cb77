// SPDX-License-Identifier: Apache-2.0
// The operands of a call, and one output from them: functions for the device that are also compiled
// for the host, where suites judge them without a GPU.
#pragma once

#include <cstdint>

#include "kernels/abi/w4_kernel.h"

#ifdef __CUDACC__
#define W4_BOTH __host__ __device__ __forceinline__
#else
#define W4_BOTH inline
#endif

namespace w4 {

enum class Storage : std::uint32_t { codes, gptq_v1, gptq_v2 };

// What a launch is given: plain numbers, and pointers to where the kernel runs.
struct Operands {
  const void *x, *codes, *scale, *zero, *g_idx, *bias;  // g_idx, bias: null where there is none
  void* y;
  std::int64_t m, n, k, group, groups, x_stride, y_stride;
  std::int64_t codes_bytes;
  std::uint32_t x_type, y_type, scale_type, zero_form, zero_type, bias_type;
  Storage storage;
};

union FloatWord {
  std::uint32_t word;
  float value;
};

W4_BOTH float float_of(std::uint32_t word) {
  FloatWord both;
  both.word = word;
  return both.value;
}

W4_BOTH std::uint32_t word_of(float value) {
  FloatWord both;
  both.value = value;
  return both.word;
}

constexpr std::uint32_t quiet_nan = 0x7fc00000u;

// f16 to f32, exact; subnormals by a product that is exact too.
W4_BOTH float from_f16(std::uint32_t word) {
  const std::uint32_t sign = (word & 0x8000u) << 16, field = word >> 10 & 0x1fu;
  const std::uint32_t fraction = word & 0x3ffu;
  if (field == 0) return float_of(word_of(static_cast<float>(fraction) * 0x1p-24f) | sign);
  const std::uint32_t exponent = field == 0x1fu ? 0xffu : field + (127 - 15);
  return float_of(sign | exponent << 23 | fraction << 13);
}

// Element `index` of f32, f16 or bf16.
W4_BOTH float load_float(std::uint32_t type, const void* array, std::int64_t index) {
  if (type == W4_F32) return static_cast<const float*>(array)[index];
  const std::uint32_t word = static_cast<const std::uint16_t*>(array)[index];
  return type == W4_F16 ? from_f16(word) : float_of(word << 16);
}

// value >> by, rounded to nearest, ties to even; 0 < by < 32.
W4_BOTH std::uint32_t shift_rounded(std::uint32_t value, std::uint32_t by) {
  const std::uint32_t rest = value & ((1u << by) - 1u), tie = 1u << (by - 1u);
  const std::uint32_t kept = value >> by;
  return kept + (rest > tie || (rest == tie && (kept & 1u)) ? 1u : 0u);
}

// RN(f32) to f16, by integers: subnormals kept, overflow to infinity, any NaN to the quiet one.
W4_BOTH std::uint16_t to_f16(std::uint32_t word) {
  const std::uint32_t sign = word >> 16 & 0x8000u, size = word & 0x7fffffffu;
  if (size > 0x7f800000u) return 0x7e00u;
  if (size >= 0x47800000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // 2^16 and more
  if (size < 0x33000000u) return static_cast<std::uint16_t>(sign);             // below 2^-25
  if (size < 0x38800000u) {                                                    // below 2^-14
    const std::uint32_t significand = (size & 0x7fffffu) | 0x800000u;
    return static_cast<std::uint16_t>(sign | shift_rounded(significand, 126u - (size >> 23)));
  }
  return static_cast<std::uint16_t>(sign | shift_rounded(size - ((127u - 15u) << 23), 13));
}

W4_BOTH std::uint16_t to_bf16(std::uint32_t word) {
  if ((word & 0x7fffffffu) > 0x7f800000u) return 0x7fc0u;
  return static_cast<std::uint16_t>(shift_rounded(word, 16));
}

W4_BOTH void store_float(std::uint32_t type, void* array, std::int64_t index, float value) {
  if (type == W4_F32) {
    static_cast<float*>(array)[index] = value;
  } else {
    const std::uint32_t word = word_of(value);
    static_cast<std::uint16_t*>(array)[index] = type == W4_F16 ? to_f16(word) : to_bf16(word);
  }
}

// Nibble `element` of packed words: eight to a word, element e in bits 4e.
W4_BOTH int nibble(const void* words, std::int64_t word, std::int64_t element) {
  const std::uint32_t eight = static_cast<const std::uint32_t*>(words)[word];
  return static_cast<int>(eight >> (4 * element) & 15u);
}

// Code (k, n) as the integer that it means.
W4_BOTH int code_at(const Operands& o, std::int64_t k, std::int64_t n) {
  if (o.storage != Storage::codes) return nibble(o.codes, k / 8 * o.n + n, k % 8);
  const std::int64_t at = k * o.n + n;
  if (o.zero_form == W4_ZERO_SIGNED) return static_cast<const std::int8_t*>(o.codes)[at];
  return static_cast<const std::uint8_t*>(o.codes)[at];
}

// -1 where g_idx names a group that does not exist.
W4_BOTH std::int64_t group_at(const Operands& o, std::int64_t k) {
  if (o.g_idx == nullptr) return k / o.group;
  const std::int64_t group = static_cast<const std::int32_t*>(o.g_idx)[k];
  return group >= 0 && group < o.groups ? group : -1;
}

// The zero point of (group, n) in units of codes.
W4_BOTH float zero_at(const Operands& o, std::int64_t group, std::int64_t n) {
  if (o.zero_form == W4_ZERO_SIGNED) return 0;
  if (o.zero_form == W4_ZERO_8) return 8;
  if (o.zero_form == W4_ZERO_REAL) return load_float(o.zero_type, o.zero, group * o.n + n);
  const int stored = o.storage == Storage::codes
                         ? static_cast<const std::uint8_t*>(o.zero)[group * o.n + n]
                         : nibble(o.zero, group * (o.n / 8) + n / 8, n % 8);
  return static_cast<float>(o.zero_form == W4_ZERO_CODE_M1 ? stored + 1 : stored);
}

W4_BOTH float scale_at(const Operands& o, std::int64_t group, std::int64_t n) {
  return load_float(o.scale_type, o.scale, group * o.n + n);
}

// sum_k fma(x[m,k], (q - z) * s, sum) in fp32, k = 0, 1, 2, ..., plus the bias. `extra_zero` is 0:
// a mutant's is not.
W4_BOTH float output_at(const Operands& o, std::int64_t m, std::int64_t n, float extra_zero) {
  float sum = 0, scale = 0, zero = 0;
  std::int64_t group = -1;
  for (std::int64_t k = 0; k < o.k; ++k) {
    const std::int64_t now = group_at(o, k);
    if (now < 0) return float_of(quiet_nan);  // a number would hide it
    if (now != group) {
      group = now;
      scale = scale_at(o, group, n);
      zero = zero_at(o, group, n) + extra_zero;
    }
    const float weight = (static_cast<float>(code_at(o, k, n)) - zero) * scale;
    sum = __builtin_fmaf(load_float(o.x_type, o.x, m * o.x_stride + k), weight, sum);
  }
  return o.bias == nullptr ? sum : sum + load_float(o.bias_type, o.bias, n);
}

W4_BOTH void store_output(const Operands& o, std::int64_t m, std::int64_t n, float value) {
  store_float(o.y_type, o.y, m * o.y_stride + n, value);
}

}  // namespace w4
