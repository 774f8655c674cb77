// SPDX-License-Identifier: Apache-2.0
// The logical quantised weight: what a packed checkpoint or a generator means, before any layout.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/number/number.hpp"
#include "reference/type.hpp"

namespace w4 {

struct QuantizedMatrix {
  std::int64_t k{}, n{}, group{}, groups{};
  Zero zero{Zero::eight};
  Type scale_type{Type::f16};
  Type zero_type{Type::u8};  // of `zeros` where the form is real, add, add_8
  std::vector<std::uint8_t>
      codes;  // [k][n], nibbles 0..15; signed codes as two's complement nibbles
  std::vector<std::uint32_t> scales;  // [groups][n], words of scale_type
  std::vector<std::uint32_t>
      zeros;  // [groups][n]; code, code_m1: the zero point itself, 0..16 (not what a layout
              // stores); real, add, add_8: words of zero_type; empty for signed and 8
  std::vector<std::int32_t> g_idx;  // [k], or empty: k/group
  std::vector<std::uint32_t> bias;  // [n] words of bias_type, or empty
  Type bias_type{Type::none};

  std::int64_t group_of(std::int64_t row) const {
    return g_idx.empty() ? row / group : g_idx[static_cast<std::size_t>(row)];
  }
  std::size_t at(std::int64_t row, std::int64_t col) const {
    return static_cast<std::size_t>(row * n + col);
  }
};

// The integer that a nibble stands for: -8..7 for signed codes, 0..15 otherwise.
inline int code_value(Zero zero, std::uint8_t nibble) {
  return zero == Zero::signed_codes ? (nibble ^ 8) - 8 : nibble;
}

// Sizes agree, codes below 16, g_idx within 0..groups-1, zeros within their form. Throws
// Error(internal).
void check_shape(const QuantizedMatrix&);

}  // namespace w4
