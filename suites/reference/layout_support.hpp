// SPDX-License-Identifier: Apache-2.0
// The code function and the hash of the golden layout digests, shared by the tests that quote them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace w4 {

// The code at (k, n) of the golden matrices: 0..15, all arithmetic modulo 2^32.
inline std::uint8_t golden_code(std::uint32_t k, std::uint32_t n, std::uint32_t salt) {
  std::uint32_t h = k * 0x9E3779B1u + n * 0x85EBCA77u + salt * 0xC2B2AE3Du + 0x27D4EB2Fu;
  h ^= h >> 15;
  h *= 0x2C1B3C6Du;
  h ^= h >> 12;
  h *= 0x297A2D39u;
  h ^= h >> 15;
  return static_cast<std::uint8_t>(h & 15);
}

inline std::uint64_t fnv1a64(const std::vector<std::byte>& bytes) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const std::byte b : bytes)
    hash = (hash ^ std::to_integer<std::uint64_t>(b)) * 0x100000001b3u;
  return hash;
}

inline void append_word(std::vector<std::byte>& bytes, std::uint32_t word) {
  for (int shift = 0; shift < 32; shift += 8)
    bytes.push_back(static_cast<std::byte>((word >> shift) & 0xff));
}

}  // namespace w4
