// SPDX-License-Identifier: Apache-2.0
// The `order` of a contract as a list of fp32 operations, so that a declared sum can be repeated
// step by step. Knows no kernel and no problem: text in, operations out.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace w4 {

// One fp32 operation on registers that start at +0.
struct SumStep {
  enum class Kind : std::uint8_t { term, add } kind{};
  std::int32_t to{};    // register
  std::int64_t from{};  // term: to += x[from] * w[from]; add: to += register `from`
};

struct SumPlan {
  std::vector<SumStep> steps;
  std::int32_t registers{}, result{};
  std::string why_not;  // the order has no emulator here, or contradicts itself; else ""
};

// The grammar, without spaces:
//
//   sum    = chain(1,leaves)       leaves added one after the other, from 0
//          | seq(sum,..)           the sums added from left to right
//          | tree(sum,..)          halved pairwise: of n sums the first ceil(n/2) take one of the
//                                  others each, i takes i + ceil(n/2), until one is left
//   leaves = a..b | slice(a,b,s)   a, a+s, a+2s, .. below b, which K limits
//   b      = number | K | sorted(K)
//
// Between two sums `..` stands for those whose text differs in one number, counted up by 1. With
// sorted(K) place i is the i-th k by (group, k), which `sorted` holds; it may be empty for other
// orders. Every k of 0..k-1 must be named exactly once. chain(L,..) with L > 1 is a fused node of a
// tensor core, and has no emulator.
SumPlan plan_sum(std::string_view order, std::int64_t k, std::span<const std::int64_t> sorted = {});

// The sum over x[k]*w[k] in the plan's order, each operation rounded to fp32: a term is one fma, or
// a product and an addition.
float evaluate(const SumPlan&, std::span<const float> x, std::span<const float> w, bool fused);

}  // namespace w4
