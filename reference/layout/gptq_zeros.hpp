// SPDX-License-Identifier: Apache-2.0
// GPTQ v1 stores zero points minus one, and z = 0 underflows: three writers and three readers
// exist, and they disagree.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "reference/problem.hpp"

namespace w4 {

enum class V1Writer : std::uint8_t {
  e1,
  e2,
  e3
};  // nibble wrap; whole-word borrow; unmasked OR (z = 0 sets all above)

// Eight zero points (0..15, column order, lowest nibble first) -> one v1 word.
std::uint32_t write_v1_word(V1Writer, std::span<const std::uint8_t, 8> z);
// One v1 word -> eight zero points: d1 nibble+1 (1..16), d2 (nibble+1)&15, d3 word+0x11111111.
void read_v1_word(V1Zeros, std::uint32_t word, std::span<std::uint8_t, 8> z);

}  // namespace w4
