// SPDX-License-Identifier: Apache-2.0
// From a problem that fails to a smallest one that still does: towards small sizes and defaults.
#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "reference/problem.hpp"

namespace w4 {

// Simpler problems one step away, the boldest steps first; none contradicts itself. Steps lead
// nowhere but down, so that any walk along them ends.
std::vector<Problem> simpler(const Problem&);

struct Shrunk {
  Problem problem;
  int steps{}, tries{};
  bool smallest{};  // no simpler() problem fails; false where time ran out first
};
// `fails` is asked about simpler problems until none fails or the deadline has passed.
Shrunk shrink(const Problem&, const std::function<bool(const Problem&)>& fails,
              std::chrono::steady_clock::time_point deadline);

}  // namespace w4
