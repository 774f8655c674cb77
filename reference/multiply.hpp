// SPDX-License-Identifier: Apache-2.0
// The exact product: a sum of dyadic leaves, one rounding to the output type.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "reference/quantized.hpp"

namespace w4 {

// What is rounded to the weight type h before the sum (reference/README.md has the table).
//   d1 RN_h((q-z)*s)   d5 (q-z)*s unrounded   d6 RN_h(RN_h(q-z)*s)
// With additive zeros: d1 RN_h(q*s+z) (one rounding), d5 unrounded, d6 RN_h(RN_h(q*s)+z).
enum class Dequant : std::uint8_t { d1, d5, d6 };
std::string_view to_string(Dequant);  // "D1"

struct Activations {
  Type type{Type::f16};
  std::int64_t m{}, k{};
  std::vector<std::uint32_t> words;  // [m][k], dense
  std::vector<float> scale;          // [m][ceil(k/group)], or empty: 1
  std::int64_t group{};              // k per scale
};

// The weight W[k][n] as the kernel multiplies it: one or two dyadic terms (two where q*s and z have
// no common grid that fits), finite scales only.
struct WeightTerms {
  Dyadic term[2];
};
WeightTerms weight_terms(const QuantizedMatrix&, Dequant, Type weight_type, std::int64_t k,
                         std::int64_t n);

// The same weight, NaN and infinity included: from scales, from zeros, or from what overflows h
// when it is rounded.
struct Weight {
  NumberKind kind{};
  int sign{};           // -1, 0, 1 of the exact value; of an infinity -1, 1
  WeightTerms terms{};  // finite only
};
Weight weight(const QuantizedMatrix&, Dequant, Type weight_type, std::int64_t k, std::int64_t n);
// What a code 0..15 would become in group g of column n.
Weight weight_of_code(const QuantizedMatrix&, Dequant, Type weight_type, std::uint8_t code,
                      std::int64_t g, std::int64_t n);

// check_shape(W), and x is [m][k] with the same k, x_scale [m][ceil(k/group)]. Throws
// Error(internal).
void check_operands(const Activations&, const QuantizedMatrix&);

// y[m][n] = RN_y( sum_k x_scale*x*W + bias ), dense [m][n] words of `y`. The sum is exact. NaN and
// infinity in x or in scales follow IEEE: a NaN term, Inf*0, or infinities of both signs give NaN
// (nan_word(y): quiet, sign clear). Slow and obvious: one leaf at a time into ExactSum.
// `reference/fast/multiply.hpp` is its quick twin.
std::vector<std::uint32_t> multiply(const Activations&, const QuantizedMatrix&, Dequant,
                                    Type weight_type, Type y);

// The exact sums behind multiply(), dense [m][n]: finite ones rounded to odd at 62 bits
// (ExactSum::to_odd), so that round_word(Number, y) gives the word of every output type.
std::vector<Number> exact_products(const Activations&, const QuantizedMatrix&, Dequant,
                                   Type weight_type);
// The one rounding of such a sum.
std::uint32_t round_word(const Number&, Type y);

// Float -> codes, scales, zeros. w is [k][n] fp32.
// The article's quantiser bit for bit (fp32 steps of NumPy): asymmetric, fp16 scale and zero
// (Zero::real); a constant group gives what NumPy gives, NaN weights included. NaN words are
// nan_word (NumPy's sign is the processor's). A last partial group is quantised as a group of its
// own, where the article requires k % group == 0.
QuantizedMatrix quantize_article(std::span<const float> w, std::int64_t k, std::int64_t n,
                                 std::int64_t group);
// Symmetric, Zero::eight: s = RN_scale(amax/7), q = clamp(rne(w/s)+8, 0, 15); an all-zero group has
// s = 0, q = 8, and so has a group whose scale rounds to zero. Both roundings are of exact
// quotients. Throws Error(input) where w is not finite or a scale overflows.
QuantizedMatrix quantize_symmetric(std::span<const float> w, std::int64_t k, std::int64_t n,
                                   std::int64_t group, Type scale);

}  // namespace w4
