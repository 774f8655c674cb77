// SPDX-License-Identifier: Apache-2.0
// Reads the truth files beside vectors and layers, and what `layer unpack` writes. Only in builds
// with HDF5.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace w4 {

struct Truth {
  std::int64_t k{}, n{}, groups{};
  std::vector<std::uint8_t> codes;   // [k][n]
  std::vector<float> scales, zeros;  // [groups][n]
  std::vector<std::int32_t> g_idx;   // [k]
  std::vector<float> added;          // [groups][n], scaled_zeros; empty where the file has none
  std::vector<float> dequant;        // [k][n]; empty where the file has none
};

// Throws Error naming what is not there.
Truth read_truth(const std::string& path);

}  // namespace w4
