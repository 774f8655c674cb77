// SPDX-License-Identifier: Apache-2.0
// The intervals of bound.* are no wider than they have to be: data made for the worst case use up
// all but what is kept for splits and for luck, so an interval narrower than that is red on a
// healthy kernel.
#include <cmath>

#include <catch2/catch_test_macros.hpp>

#include "harness/checks/bound.hpp"
#include "reference/type.hpp"
#include "suites/support/judge.hpp"

namespace {

using namespace w4;

// A sum in order, each step rounded to nearest in `type`, of 1 and then k - 1 terms of half a unit:
// each is lost. What it errs by is all of them.
struct Worst {
  double error{}, magnitude{}, squares{};
};

Worst losing_every_term(Type type, double half_unit, int k) {
  double sum = 1;
  for (int i = 1; i < k; ++i) sum = to_double(type, from_double(type, sum + half_unit));
  const double rest = (k - 1) * half_unit;
  return {1 + rest - sum, 1 + rest, 1 + rest * half_unit};
}

// ln of the probability that k fair signs sum up to at least t, both sides: an exact tail.
double log_tail(int k, int t) {
  double tail = -HUGE_VAL;
  const auto log_choose = [&](int j) {
    return std::lgamma(k + 1.0) - std::lgamma(j + 1.0) - std::lgamma(k - j + 1.0) -
           k * std::log(2.0);
  };
  for (int j = (k + t + 1) / 2; j <= k; ++j) {
    const double term = log_choose(j);
    const double high = std::max(tail, term), low = std::min(tail, term);
    tail = high + std::log1p(std::exp(low - high));
  }
  return tail + std::log(2.0);
}

constexpr double for_splits = 40;  // roundings that the bound keeps for splits, scales and bias

double share(const char* check, const std::string& line) {
  const auto verdict = judge("mutants", std::string("mutant.none"), check, line);
  CHECK(verdict.outcome == Outcome::pass);
  for (const auto& [key, value] : std::get<Evidence::Object>(verdict.evidence.value))
    if (key == "share_of_bound") return std::get<double>(value.value);
  return -1;
}

}  // namespace

TEST_CASE("the bound of any order is used up by a chain that loses every term") {
  for (const int k : {256, 4096, 16384}) {
    const Machine fp32{0x1p-24, k + for_splits, "fp32"};
    const auto worst = losing_every_term(Type::f32, 0x1p-24, k);
    const double used = worst.error / bound_any_order(fp32, worst.magnitude);
    INFO(k << ": " << used);
    CHECK(used <= 1);
    CHECK(used > 0.99 * (k - 1) / (k + for_splits));
  }
  // 16-bit sums: terms are lost only up to where the bound compounds.
  const Machine fp16{0x1p-11, 64 + for_splits, "fp16"};
  const auto worst = losing_every_term(Type::f16, 0x1p-11, 64);
  const double used = worst.error / bound_any_order(fp16, worst.magnitude);
  INFO("fp16: " << used);
  CHECK(used <= 1);
  CHECK(used > 0.9 * 63 / (64 + for_splits));
}

// The bound by signs is the same, but for lambda, which is what one run in 2^40 needs: the exact
// tail of equal terms allows no lambda that is smaller by more than a few parts in a hundred.
TEST_CASE("the bound by random signs is as wide as one false alarm in 2^40 needs") {
  constexpr double outputs = 128;
  for (const int k : {1024, 4096}) {
    const Machine fp32{0x1p-24, k + for_splits, "fp32"};
    const double lambda = sign_lambda(fp32, outputs);
    const auto chain = losing_every_term(Type::f32, 0x1p-24, k);
    const double used =
        chain.error / bound_random_signs(fp32, chain.magnitude, chain.squares, outputs);
    INFO(k << ": lambda " << lambda << ", used " << used);
    CHECK(used <= 1 / lambda);
    CHECK(used > 0.95 * (k - 1) / (k + for_splits) / lambda);
    const double allowed = -40 * std::log(2.0) - std::log(fp32.depth * outputs);
    int least = 0;
    while (log_tail(k, least) > allowed) least += 2;
    const double needed = least / std::sqrt(k);
    INFO("needed " << needed);
    CHECK(needed <= lambda);
    CHECK(needed > 0.93 * lambda);
  }
}

TEST_CASE("a healthy kernel's share of the bound is said") {
  for (const auto* check : {"bound.d", "bound.r"}) {
    const double used = share(check, "m=4 n=32 k=256 g=32 zero=code y=f32");
    INFO(check << ": " << used);
    CHECK(used > 0);
    CHECK(used < 0.1);
  }
}
