// SPDX-License-Identifier: Apache-2.0
// How far a sum may lie from the exact one: the two rules behind bound.d and bound.r.
#pragma once

namespace w4 {

// One rounding of a sum errs by at most `eta` of its result, and at most `depth` of them lie on a
// path.
struct Machine {
  double eta{}, depth{};
  const char* name{};
};

// ((1 + eta)^depth - 1) * sum of |leaf|: any order, any data.
double bound_any_order(const Machine&, double magnitude);

// lambda = sqrt(2 ln(2 depth outputs 2^40)): with independent random signs no partial sum of any
// output exceeds lambda * sqrt(sum of leaf^2), but with a probability of at most 2^-40.
double sign_lambda(const Machine&, double outputs);
// 1.001 eta (lambda depth sqrt(squares) + 4 magnitude).
double bound_random_signs(const Machine&, double magnitude, double squares, double outputs);

}  // namespace w4
