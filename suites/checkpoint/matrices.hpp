// SPDX-License-Identifier: Apache-2.0
// Quantised matrices drawn by the tests, and layers written from them.
#pragma once

#include <cstdint>

#include "harness/checkpoint/convert.hpp"
#include "reference/quantized.hpp"
#include "suites/checkpoint/build.hpp"

namespace w4 {

// Pseudo-random words out of a seed: a matrix is a pure function of it.
struct Walk {
  std::uint32_t state;
  std::uint32_t operator()(std::uint32_t limit) {
    state = state * 0x9E3779B1u + 0x27D4EB2Fu;
    return static_cast<std::uint32_t>((std::uint64_t{state ^ (state >> 15)} * limit) >> 32);
  }
};

// Scales are normal and positive, within 2^-6 .. 2^6; zeros of form code 0..15, code_m1 1..16.
inline QuantizedMatrix random_matrix(std::int64_t k, std::int64_t n, std::int64_t group, Zero zero,
                                     Type scale, Walk walk) {
  QuantizedMatrix w;
  w.k = k, w.n = n, w.group = group, w.groups = (k + group - 1) / group;
  w.zero = zero, w.scale_type = scale;
  for (std::int64_t i = 0; i < k * n; ++i) w.codes.push_back(static_cast<std::uint8_t>(walk(16)));
  for (std::int64_t i = 0; i < w.groups * n; ++i) {
    const double mantissa = 1.0 + walk(1u << 10) / 1024.0;
    const int exponent = static_cast<int>(walk(12)) - 6;
    w.scales.push_back(from_double(
        scale, mantissa * (exponent < 0 ? 1.0 / (1 << -exponent) : double(1 << exponent))));
    if (has_stored_zero(zero)) w.zeros.push_back(walk(16) + (zero == Zero::code_m1));
  }
  return w;
}

// A shuffled g_idx with groups of equal size.
inline void shuffle_groups(QuantizedMatrix& w, Walk walk) {
  w.g_idx.clear();
  for (std::int64_t k = 0; k < w.k; ++k) w.g_idx.push_back(static_cast<std::int32_t>(k / w.group));
  for (std::size_t i = w.g_idx.size(); i > 1; --i)
    std::swap(w.g_idx[i - 1], w.g_idx[walk(static_cast<std::uint32_t>(i))]);
}

// Writes `m.safetensors` of that layout into the folder, layer "l", and gives its path.
inline std::string write_matrix(const TemporaryFolder& folder, const QuantizedMatrix& w,
                                const std::string& layout) {
  const std::string path = folder / "m.safetensors";
  write_layer({"l", w, "", {}}, layout, "a matrix", path);
  return path;
}

// The weight: codes, scales, zero points whatever their form, the group of each k.
inline bool same_weight(const QuantizedMatrix& a, const QuantizedMatrix& b) {
  if (a.k != b.k || a.n != b.n || a.groups != b.groups || a.group != b.group) return false;
  if (a.codes != b.codes || a.scales != b.scales || a.scale_type != b.scale_type) return false;
  for (std::size_t i = 0; i < a.scales.size(); ++i)
    if ((a.zeros.empty() ? 8 : a.zeros[i]) != (b.zeros.empty() ? 8 : b.zeros[i])) return false;
  for (std::int64_t k = 0; k < a.k; ++k)
    if (a.group_of(k) != b.group_of(k)) return false;
  return true;
}

}  // namespace w4
