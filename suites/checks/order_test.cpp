// SPDX-License-Identifier: Apache-2.0
// The order of a contract: what it parses to, against loops written out here, and what is refused.
#include "harness/checks/order.hpp"

#include <cmath>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

namespace {

using namespace w4;

constexpr char lanes[] = "tree(chain(1,slice(0,K,16)),..,chain(1,slice(15,K,16)))";

struct Operands {
  std::vector<float> x, w;
};

// Full significands of wide exponents, so that hardly two orders agree.
Operands operands(std::size_t k) {
  Operands o;
  std::uint32_t state = 12345;
  const auto next = [&] {
    state = state * 1664525u + 1013904223u;
    const float size = 1.0F + static_cast<float>(state >> 9) / 8388608.0F;
    return std::ldexp(state & 32 ? size : -size, static_cast<int>(state >> 6 & 7) - 4);
  };
  for (std::size_t i = 0; i < k; ++i) {
    o.x.push_back(next());
    o.w.push_back(next());
  }
  return o;
}

float sum_by(const std::string& order, const Operands& o, bool fused) {
  const auto plan = plan_sum(order, static_cast<std::int64_t>(o.x.size()));
  INFO(order << ": " << plan.why_not);
  REQUIRE(plan.why_not.empty());
  return evaluate(plan, o.x, o.w, fused);
}

std::string why_not(const std::string& order, std::int64_t k = 8) {
  return plan_sum(order, k).why_not;
}

}  // namespace

TEST_CASE("a chain adds one product after the other, fused or not") {
  const auto o = operands(100);
  float fused = 0, apart = 0;
  for (std::size_t k = 0; k < 100; ++k) {
    fused = std::fma(o.x[k], o.w[k], fused);
    apart = apart + o.x[k] * o.w[k];
  }
  CHECK(sum_by("chain(1,0..K)", o, true) == fused);
  CHECK(sum_by("chain(1,0..K)", o, false) == apart);
  CHECK(fused != apart);
}

TEST_CASE("sixteen lanes are halved pairwise, ragged tails and short sums included") {
  for (const std::size_t k : {5u, 16u, 100u}) {
    const auto o = operands(k);
    float lane[16]{};
    for (std::size_t i = 0; i < k; ++i) lane[i % 16] = std::fma(o.x[i], o.w[i], lane[i % 16]);
    for (std::size_t step = 8; step > 0; step /= 2)
      for (std::size_t i = 0; i < step; ++i) lane[i] += lane[i + step];
    CHECK(sum_by(lanes, o, true) == lane[0]);
  }
}

TEST_CASE("other trees and lanes give other bits") {
  int sequence_differs = 0, eight_differ = 0;
  for (std::size_t k = 100; k < 120; ++k) {
    const auto o = operands(k);
    const float want = sum_by(lanes, o, true);
    sequence_differs +=
        sum_by("seq(chain(1,slice(0,K,16)),..,chain(1,slice(15,K,16)))", o, true) != want;
    eight_differ += sum_by("tree(chain(1,slice(0,K,8)),..,chain(1,slice(7,K,8)))", o, true) != want;
  }
  CHECK(sequence_differs > 0);
  CHECK(eight_differ > 0);
}

TEST_CASE("splits of k are summed apart") {
  const auto o = operands(100);
  float first = 0, second = 0;
  for (std::size_t k = 0; k < 50; ++k) first = std::fma(o.x[k], o.w[k], first);
  for (std::size_t k = 50; k < 100; ++k) second = std::fma(o.x[k], o.w[k], second);
  CHECK(sum_by("seq(chain(1,0..50),chain(1,50..K))", o, true) == first + second);
}

TEST_CASE("a tree of three takes the third into the first") {
  const auto o = operands(3);
  const auto term = [&](std::size_t k) { return o.x[k] * o.w[k]; };
  CHECK(sum_by("tree(chain(1,0..1),chain(1,1..2),chain(1,2..3))", o, false) ==
        (term(0) + term(2)) + term(1));
  CHECK(sum_by("seq(chain(1,0..1),chain(1,1..2),chain(1,2..3))", o, false) ==
        (term(0) + term(1)) + term(2));
}

TEST_CASE("sums nest") {
  const auto o = operands(64);
  const float first =
      sum_by("tree(chain(1,slice(0,K,2)),chain(1,slice(1,K,2)))", operands(64), true);
  float even = 0, odd = 0;
  for (std::size_t k = 0; k < 64; k += 2) even = std::fma(o.x[k], o.w[k], even);
  for (std::size_t k = 1; k < 64; k += 2) odd = std::fma(o.x[k], o.w[k], odd);
  CHECK(first == even + odd);
  CHECK(sum_by("seq(tree(chain(1,slice(0,K,2))),seq(chain(1,slice(1,K,2))))", o, true) == first);
}

TEST_CASE("sorted(K) walks k by group") {
  const auto o = operands(4);
  const std::vector<std::int64_t> sorted{2, 0, 3, 1};
  const auto plan = plan_sum("chain(1,0..sorted(K))", 4, sorted);
  REQUIRE(plan.why_not.empty());
  float sum = 0;
  for (const auto k : sorted) {
    const auto i = static_cast<std::size_t>(k);
    sum = std::fma(o.x[i], o.w[i], sum);
  }
  CHECK(evaluate(plan, o.x, o.w, true) == sum);
  CHECK(why_not("chain(1,0..sorted(K))", 4) != "");
}

TEST_CASE("an order that does not name every k once is refused") {
  CHECK(why_not("chain(1,0..7)") == "it leaves out k=7");
  CHECK(why_not("seq(chain(1,0..5),chain(1,4..K))") == "it names k=4 twice");
  CHECK(why_not("chain(1,0..7)", 7) == "");
}

TEST_CASE("what is outside the grammar is refused with its place, whatever it is") {
  CHECK(why_not("chain(16,0..K)") ==
        "fused nodes of several products are not emulated: 'chain(16,0..K)'");
  for (const char* order : {"",
                            "chain",
                            "chain(",
                            "chain(((",
                            "chain()",
                            "chain(1)",
                            "chain(0,0..K)",
                            "chain(1,0..K",
                            "chain(1,0..K))",
                            "chain(1,K..0)x",
                            "chain(1,-1..K)",
                            "chain(1,0..M)",
                            "seq()",
                            "seq(..)",
                            "seq(segments)",
                            "tree(..,chain(1,0..K))",
                            "tree(chain(1,0..K),..)",
                            "sum(chain(1,0..K))",
                            "tree(chain(1,slice(3,K,4)),..,chain(1,slice(0,K,4)))",
                            "chain(1,slice(0,K,0))",
                            "tree(chain(1,slice(0,K,4)),..,chain(2,slice(3,K,4)))",
                            "tree(chain(1,slice(0,K,9)),..,chain(1,slice(99999999,K,9)))",
                            "chain(1,0..99999999999999999999)"}) {
    INFO(order);
    CHECK(why_not(order) != "");
  }
}

TEST_CASE("a contract cannot cost the judge more than its text and k are worth") {
  std::string deep = "chain(1,0..K)";
  for (int i = 0; i < 100; ++i) deep = "seq(" + deep + ")";
  CHECK(why_not(deep).starts_with("too deep"));
  std::string wide = "tree(chain(1,slice(0,K,1)),..,chain(1,slice(60000,K,1)))";
  CHECK(why_not("seq(" + wide + "," + wide + ")") != "");
  CHECK(why_not("chain(1,slice(0,K,9223372036854775807))") == "it leaves out k=1");
}
