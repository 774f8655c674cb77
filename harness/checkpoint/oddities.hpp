// SPDX-License-Identifier: Apache-2.0
// Legal but odd values of a decoded layer, each with its positions.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "reference/quantized.hpp"

namespace w4 {

// "scale is NaN at group 0, column 3; group 1, column 31", and so for infinite, zero and negative
// scales.
std::vector<std::string> scale_oddities(const QuantizedMatrix&);
// "codes 0, 15 are never used"; groups that no k uses or that are larger than others in act-order.
std::vector<std::string> code_oddities(const QuantizedMatrix&);
std::vector<std::string> group_oddities(const QuantizedMatrix&);

std::array<std::int64_t, 16> code_counts(const QuantizedMatrix&);

}  // namespace w4
