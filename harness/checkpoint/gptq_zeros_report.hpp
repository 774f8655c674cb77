// SPDX-License-Identifier: Apache-2.0
// What can be known about v1 words with a nibble of 15, which three readers read in three ways.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "reference/problem.hpp"

namespace w4 {

// words: qzeros [groups][n/8]. "" if no nibble is 15. One line; up to the first ": " a note by
// itself.
std::string ambiguous_zeros(std::span<const std::uint32_t> words, std::int64_t n, V1Zeros reader,
                            const std::vector<std::string>& quantizer);

}  // namespace w4
