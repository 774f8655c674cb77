// SPDX-License-Identifier: Apache-2.0
// Judges kernels on drawn problems for a while, and shrinks what fails.
#pragma once

#include <cstdint>

#include "harness/run/engine.hpp"

namespace w4 {

struct SearchOptions {
  double seconds{};                    // of drawing and judging; what fails is shrunk afterwards
  double shrink_seconds{10};           // for each failure
  std::uint64_t most_problems{~0ull};  // drawn at most, for tests
};

// A kernel that failed this many checks, or died twice, is searched no further.
constexpr std::size_t failures_enough = 3;

// Adds to `run` the problems that the search reached, in the order of their numbers, and their
// cases. Which problems are drawn, which checks each of them gets and what each says is a function
// of suite.seed; how many are reached depends on time. Per kernel and check one failure is kept,
// the first in that order, on the smallest problem it was shrunk to. suite.problems is not used.
void search(const Suite&, const SearchOptions&, const Bench&, const Hooks&, RunResult& run);

}  // namespace w4
