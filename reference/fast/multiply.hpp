// SPDX-License-Identifier: Apache-2.0
// The quick twin of reference/multiply.hpp, proven equal to it by a property
// (suites/reference/fast_test.cpp).
#pragma once

#include "reference/multiply.hpp"

namespace w4::fast {

// Same contract as w4::multiply. Puts every row of x and every column of W on its own coarsest
// grid, sums integers where the operands prove that no sum can round or overflow (bits of max|x| +
// bits of max|W| + ceil(log2 K)), and hands other rows and columns (NaN, infinity, too wide a
// range) to w4::multiply.
std::vector<std::uint32_t> multiply(const Activations&, const QuantizedMatrix&, Dequant,
                                    Type weight_type, Type y);

}  // namespace w4::fast
