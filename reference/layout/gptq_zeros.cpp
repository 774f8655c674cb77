// SPDX-License-Identifier: Apache-2.0
// The writers and readers of GPTQ v1 zeros as their sources have them (README.md names who uses
// which).
#include "reference/layout/gptq_zeros.hpp"

namespace w4 {
namespace {

constexpr std::uint32_t ones = 0x11111111u;

}  // namespace

std::uint32_t write_v1_word(V1Writer writer, std::span<const std::uint8_t, 8> z) {
  std::uint32_t masked = 0, plain = 0, unmasked = 0;
  for (std::size_t j = 0; j < 8; ++j) {
    const std::uint32_t below = std::uint32_t{z[j]} - 1;
    masked |= (below & 15) << (4 * j);
    plain |= (std::uint32_t{z[j]} & 15) << (4 * j);
    unmasked |= below << (4 * j);
  }
  switch (writer) {
    case V1Writer::e1:
      return masked;
    case V1Writer::e2:
      return plain - ones;
    case V1Writer::e3:
      break;
  }
  return unmasked;
}

void read_v1_word(V1Zeros reader, std::uint32_t word, std::span<std::uint8_t, 8> z) {
  const std::uint32_t shifted = word + ones;
  for (std::size_t j = 0; j < 8; ++j) {
    const std::uint32_t nibble = (word >> (4 * j)) & 15;
    switch (reader) {
      case V1Zeros::d1:
        z[j] = static_cast<std::uint8_t>(nibble + 1);
        break;
      case V1Zeros::d2:
        z[j] = static_cast<std::uint8_t>((nibble + 1) & 15);
        break;
      case V1Zeros::d3:
        z[j] = static_cast<std::uint8_t>((shifted >> (4 * j)) & 15);
        break;
    }
  }
}

}  // namespace w4
