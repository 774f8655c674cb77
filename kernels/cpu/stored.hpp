// SPDX-License-Identifier: Apache-2.0
// Reads stored codes, scales and zeros as they lie in each layout, a stretch of columns at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/cpu/half.hpp"
#include "kernels/cpu/kernel.hpp"

namespace w4 {

inline std::uint32_t load_word(const std::byte* words, std::int64_t index) {
  std::uint32_t word;
  std::memcpy(&word, words + index * 4, 4);
  return word;
}

inline std::int64_t group_of(const Request& request, const Buffers& buffers, std::int64_t k) {
  if (!request.act_order()) return k / request.p.group;
  std::int32_t group;
  std::memcpy(&group, buffers.g_idx + k * 4, 4);
  return group;
}

// codes of row k, columns first .. first+count-1, as the integers that they mean: -8..7 for signed
// codes, else 0..15.
void load_codes(const Request&, const Buffers&, std::int64_t k, std::int64_t first,
                std::int64_t count, std::int16_t* out);

// The integer zero points of a group (zero forms signed, 8, code, code_m1): 0, 8, z, stored + 1.
void load_integer_zeros(const Request&, const Buffers&, std::int64_t group, std::int64_t first,
                        std::int64_t count, std::int16_t* out);

// Scales of a group, as floats (exact).
void load_scales(const Request&, const Buffers&, std::int64_t group, std::int64_t first,
                 std::int64_t count, float* out);

constexpr bool is_additive(std::uint32_t zero) {
  return zero == W4_ZERO_ADD || zero == W4_ZERO_ADD_8;
}
constexpr bool has_integer_zero(std::uint32_t zero) {
  return zero <= W4_ZERO_CODE_M1;
}

}  // namespace w4
