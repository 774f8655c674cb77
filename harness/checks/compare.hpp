// SPDX-License-Identifier: Apache-2.0
// Output words against the exact product, and what a difference looks like.
#pragma once

#include <span>

#include "harness/checks/rig.hpp"
#include "reference/multiply.hpp"

namespace w4 {

// Operands in the exact regime: every dequantisation class and every order of fp32 sums gives the
// same words.
struct ExactOperands {
  QuantizedMatrix matrix;
  Activations x;
};

// [m][n] words of the product, rounded once. Called after the kernel has answered, never before.
std::vector<std::uint32_t> expected_words(const Problem&, const ExactOperands&);

// Pass where every word is right, vacuous where each of them is also what x = 0 gives, else fail
// with the cause. `poison` is what y held before.
Verdict compare_exact(const Problem&, const ExactOperands&, std::span<const std::uint32_t> got,
                      std::uint8_t poison = 0xff);

// How many of the exact sums have more than `bits` significant bits; shows what the data could have
// seen.
std::size_t sums_wider_than(const Problem&, const ExactOperands&, int bits);

}  // namespace w4
