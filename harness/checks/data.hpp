// SPDX-License-Identifier: Apache-2.0
// The operands of the checks: a pure function of (seed, tensor, index), so any host and any thread
// count agree.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "harness/check.hpp"

namespace w4 {

// 64 well-mixed bits for (seed, tensor, index).
std::uint64_t draw(std::uint64_t seed, std::string_view tensor, std::uint64_t index);

// A matrix of the problem's geometry (k, n, group, groups, types, zero form, g_idx): codes whose
// weight is 0 and scale 1, bias 0 where the problem has one. g_idx is the layer's for data=layer:,
// drawn otherwise.
QuantizedMatrix neutral_matrix(const CaseContext&);

// The nibble q for which (q - zero point) is `difference`, given the zero point that neutral_matrix
// sets: -8..7 (additive zeros without the 8: 0..15).
std::uint8_t neutral_code(Zero, int difference);
// The zero point of neutral_matrix: 8 for code, code_m1 and real; weights of 0 for the additive
// forms.
int neutral_zero(Zero);

// Zeros as `zeros` of a matrix holds them: the integer itself, or a word of zero_type.
std::uint32_t zero_word(const QuantizedMatrix&, double z);
double zero_value(const QuantizedMatrix&, std::uint32_t word);

// Random codes, zeros and power-of-two scales whose products are exact in every dequantisation
// class. |q - z| <= 15, scales 2^(lowest + 0..spread); neighbours along groups and columns always
// differ.
struct ExactRecipe {
  int lowest{}, spread{};
  bool small_differences{};  // |q - z| <= 7
  bool positive{};           // q - z >= 0
  int fixed_difference{};    // not 0: every q - z is this
};
QuantizedMatrix exact_matrix(const CaseContext&, const ExactRecipe&);
// Like it, with scales over the whole range of their type that keeps weights finite: all mantissas,
// subnormals, both signs. `round` draws another set.
QuantizedMatrix generic_matrix(const CaseContext&, std::uint64_t round = 0);

// Weights as real layers have them: random codes, positive scales 2^-8 .. 2^-5 of full mantissa,
// zeros of the form's range.
QuantizedMatrix ordinary_matrix(const CaseContext&);
// Full-significand activations of independent random sign, |x| in 1/4 .. 4 (integers: their whole
// range); x_scale varies.
Activations ordinary_rows(const Problem&, std::int64_t m);

// Rows of zeros of the problem's x type; x_scale 1 where the type has scales.
Activations zero_rows(const Problem&, std::int64_t m);
// The activation that stands for 1: where x is quantised the absolute maximum of each block must be
// exactly 127 (s4: 7) for the scale to be 1, so all probes use that.
double x_unit(const Problem&);
// Sets every x_scale to a power of two, 2^lowest .. 2^(lowest+spread), that differs between
// neighbouring rows and groups.
void vary_x_scale(Activations&, int lowest, int spread);
std::uint32_t x_word(const Problem&, double value);

}  // namespace w4
