// SPDX-License-Identifier: Apache-2.0
// Drawing problems: shapes around every tile edge, and all else that a problem line can say.
#pragma once

#include <cstdint>

#include "reference/problem.hpp"

namespace w4 {

// Problem number `index` of the search with this seed: a pure function of the two. It contradicts
// nothing (contradiction() is "") and has data=gen. Cheap ones are the most frequent: m*n*k is at
// most 2^12 in most of them and never above 2^18. Throws Error(input) in a build without
// RapidCheck.
Problem draw_problem(std::uint64_t seed, std::uint64_t index);

}  // namespace w4
