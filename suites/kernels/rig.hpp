// SPDX-License-Identifier: Apache-2.0
// Loads a plugin into this process and runs one kernel on tiny operands, packed and multiplied by
// plain loops of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/abi/w4_kernel.h"

namespace w4 {

// Opened once for each file; throws std::runtime_error if it cannot be loaded.
const w4_plugin& load_plugin(const std::string& name);  // "cpu", "example"
const w4_kernel& find_kernel(const std::string& plugin, const std::string& name);

// Bytes that end right before a page that may not be touched, `align` permitting.
class Guarded {
 public:
  explicit Guarded(std::size_t bytes, std::size_t align = 1, std::uint8_t fill = 0xff);
  ~Guarded();
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  void* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  void* pages_;
  std::size_t mapped_, size_;
  void* data_;
};

// A problem with its logical operands. All values are numbers that a plain double loop multiplies
// and adds exactly.
struct Case {
  std::string layout{"codes"};
  w4_problem p{};              // layout pointer set by run()
  std::vector<int> codes;      // [k][n], 0..15, or -8..7 where signed
  std::vector<double> scales;  // [groups][n]
  std::vector<double> zeros;   // [groups][n]: zero point, or the real or additive zero
  std::vector<std::int32_t> g_idx;
  std::vector<double> x;        // [m][k]
  std::vector<double> x_scale;  // [m][ceil(k/x_group)], or empty
  std::vector<double> bias;
};

struct Sizes {
  std::int64_t m, n, k, group;
};
// Types all `type` (integers: scales f16), y f32, strides wider than the rows; values from a hash
// of their position.
Case make_case(const std::string& layout, std::uint32_t zero, std::uint32_t type, Sizes);

// RN to f16, bf16 or f32, by nearbyint in its steps; no overflow.
double rounded(std::uint32_t type, double value);
// The case with scales, float zeros and float activations of full significand.
Case ragged(Case);
// The case with a g_idx: groups of equal size, or of any.
Case act_ordered(Case, bool equal);

struct Result {
  w4_status plan{}, run{};
  std::string path, ran, reason;
  std::uint64_t packed_bytes{};
  std::vector<double> y;             // [m][n]
  std::vector<std::uint32_t> words;  // the same as stored
  bool gaps_untouched{true};
};
Result run_case(const w4_kernel&, const Case&);

// sum_k x_scale * x * w + bias in double: the plain loop.
std::vector<double> plain_product(const Case&);

// One value as stored, and back. encode() needs a value that the type holds exactly.
std::uint32_t encode(std::uint32_t type, double value);
double decode(std::uint32_t type, std::uint32_t word);
std::int64_t width_of(std::uint32_t type);

}  // namespace w4
