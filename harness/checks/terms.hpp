// SPDX-License-Identifier: Apache-2.0
// The operands behind one output word, as a person checks them by hand (replay -v).
#pragma once

#include <vector>

#include "harness/checks/compare.hpp"

namespace w4 {

// x[m,k] * x_scale * (q - z)*s for every k, as doubles: exact in the exact regime, where every
// partial sum fits 24 bits of a common grid.
std::vector<double> leaves(const Problem&, const ExactOperands&, std::int64_t m, std::int64_t n);
double bias_of(const QuantizedMatrix&, std::int64_t n);  // 0 where there is none

// Words of a type with their bits: sign, exponent and fraction apart (integers as they are).
struct NamedWord {
  std::string name;
  std::uint32_t word{};
};
Table show_words(Type, const std::vector<NamedWord>&);
// A row for each k whose term is not 0, the middle ones of many together in one row, the bias, and
// the sum.
Table show_terms(const Problem&, const ExactOperands&, std::int64_t m, std::int64_t n);

}  // namespace w4
