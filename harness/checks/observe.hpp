// SPDX-License-Identifier: Apache-2.0
// One-hot rows as observations of single weights, and the verdict that follows from them.
#pragma once

#include <vector>

#include "harness/checks/form.hpp"
#include "harness/checks/rig.hpp"

namespace w4 {

// 1.333 in the x type; the largest odd integer for integer types.
double full_significand(const Problem&);

// The rows of k that one-hot rows look at in `runs` runs: all, or the ends and the middle where
// that would cost too much.
std::vector<std::int64_t> probe_rows(const Problem&, int runs);

// Runs one one-hot row per entry of `rows` (x there, 0 elsewhere) and appends an observation per
// output.
void observe_one_hot(Rig&, const QuantizedMatrix&, const std::vector<std::int64_t>& rows, double x,
                     float x_scale, std::vector<Observation>& seen);

// Why generic scales are not judged with y=s32.
inline constexpr char unsaid_s32_rounding[] =
    "y=s32: the header does not say how a fraction is rounded; exact.* judges whole sums";
// The reason where neither a form nor a known fault explains the words.
inline constexpr char unknown_form[] =
    "weights have values that no way of computing (q - z)*s gives";

// pass where one form gives all words (and is the declared class, if one is declared), else the
// fault.
Verdict judge_forms(Rig&, const std::vector<Observation>&);

}  // namespace w4
