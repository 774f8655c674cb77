// SPDX-License-Identifier: Apache-2.0
// The same weight with its zero points in another form, exactly or not at all.
#pragma once

#include <cstdint>
#include <optional>

#include "reference/layout/layout.hpp"
#include "reference/quantized.hpp"

namespace w4 {

// Form add: the z of 0..15 whose -(z*s), rounded once to zero_type, is what is stored at `index` of
// zeros and scales. nullopt if there is none.
std::optional<std::uint32_t> zero_point_of(const QuantizedMatrix&, std::size_t index);

// The matrix in a zero form that the layout stores: integer zeros become one another, or are added
// as -(z*s) rounded to the type of the scales (refused where z could not be told from it); what is
// added becomes the z it was made from. Throws Error, with the cause alone, for a matrix that the
// layout cannot express, naming the first place.
QuantizedMatrix in_form_of(const Layout&, QuantizedMatrix);

}  // namespace w4
