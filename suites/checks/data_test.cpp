// SPDX-License-Identifier: Apache-2.0
// The data must be able to show faults: coverage is asserted, neighbours differ, sums stay exact.
#include "harness/checks/data.hpp"

#include <bit>
#include <cmath>
#include <set>

#include <catch2/catch_test_macros.hpp>

#include "harness/checks/compare.hpp"
#include "harness/checks/recipe.hpp"
#include "suites/support/context.hpp"

namespace {

using namespace w4;

const char* const forms[] = {"signed", "8", "code", "code_m1", "real", "add", "add_8"};

std::string line(const std::string& zero, const std::string& more = "") {
  return "m=3 n=64 k=256 g=32 zero=" + zero + " " + more;
}

}  // namespace

TEST_CASE("draw is a pure function and depends on each argument") {
  CHECK(draw(7, "x", 3) == draw(7, "x", 3));
  CHECK(draw(7, "x", 3) != draw(8, "x", 3));
  CHECK(draw(7, "x", 3) != draw(7, "y", 3));
  CHECK(draw(7, "x", 3) != draw(7, "x", 4));
}

TEST_CASE("exact matrices hold all 16 codes in every nibble slot") {
  for (const auto* form : forms) {
    const LooseContext c(line(form));
    const auto matrix = exact_matrix(c.context, dense_recipe(c.problem, 1).matrix);
    std::set<std::pair<int, int>> seen;
    for (std::int64_t k = 0; k < matrix.k; ++k)
      for (std::int64_t n = 0; n < matrix.n; ++n)
        seen.insert({static_cast<int>(k % 8), matrix.codes[matrix.at(k, n)]});
    INFO(form);
    CHECK(seen.size() == 128);
  }
}

TEST_CASE("scales of neighbouring groups and columns always differ") {
  for (const auto* form : forms)
    for (const int spread : {1, 2, 4, 7, 8}) {
      const LooseContext c(line(form));
      ExactRecipe recipe;
      recipe.lowest = -6, recipe.spread = spread;
      const auto matrix = exact_matrix(c.context, recipe);
      for (std::int64_t g = 0; g < matrix.groups; ++g)
        for (std::int64_t n = 0; n < matrix.n; ++n) {
          if (n > 0) REQUIRE(matrix.scales[matrix.at(g, n)] != matrix.scales[matrix.at(g, n - 1)]);
          if (g > 0) REQUIRE(matrix.scales[matrix.at(g, n)] != matrix.scales[matrix.at(g - 1, n)]);
        }
    }
}

TEST_CASE("stored zeros of neighbours differ and every value of the form occurs") {
  for (const auto* form : {"code", "code_m1", "real", "add", "add_8"}) {
    const LooseContext c(line(form));
    const auto matrix = exact_matrix(c.context, dense_recipe(c.problem, 1).matrix);
    std::set<std::uint32_t> values(matrix.zeros.begin(), matrix.zeros.end());
    for (std::int64_t g = 0; g < matrix.groups; ++g)
      for (std::int64_t n = 1; n < matrix.n; ++n)
        REQUIRE(matrix.zeros[matrix.at(g, n)] != matrix.zeros[matrix.at(g, n - 1)]);
    INFO(form);
    CHECK(values.size() >= 14);
  }
}

TEST_CASE("both signs of weight occur, and |q - z| stays within 7 where asked") {
  for (const auto* form : forms) {
    const LooseContext c(line(form));
    ExactRecipe recipe;
    recipe.small_differences = true;
    const auto matrix = exact_matrix(c.context, recipe);
    bool below = false, above = false;
    for (std::int64_t k = 0; k < matrix.k; ++k)
      for (std::int64_t n = 0; n < matrix.n; ++n) {
        const auto terms = weight_terms(matrix, Dequant::d5, Type::f16, k, n);
        double w = 0;
        for (const auto& t : terms.term) w += std::ldexp(static_cast<double>(t.mant), t.exp);
        REQUIRE(std::abs(w) <= 8);
        below = below || w < 0, above = above || w > 0;
      }
    INFO(form);
    CHECK(below);
    CHECK((above || std::string(form) == "add"));
  }
}

namespace {

// The greatest power of two that divides v, as an exponent.
int grid_of(double v) {
  int exponent = 0;
  const auto mant = static_cast<std::uint64_t>(std::ldexp(std::frexp(std::abs(v), &exponent), 53));
  return exponent - 53 + std::countr_zero(mant);
}

// Bits that the sum of all |leaf| takes on the leaves' common grid, the zero term counted apart.
int bits_needed(const Problem& p, const QuantizedMatrix& matrix, const Activations& x,
                std::int64_t n) {
  int unit = 1000;
  double total = 0;
  for (std::int64_t k = 0; k < matrix.k; ++k) {
    const auto cell = matrix.at(matrix.group_of(k), n);
    const double s = to_double(p.scale, matrix.scales[cell]);
    const double z =
        matrix.zeros.empty() ? neutral_zero(p.zero) : zero_value(matrix, matrix.zeros[cell]);
    const double zs = p.zero >= Zero::add ? z : z * s;
    const double q = code_value(p.zero, matrix.codes[matrix.at(k, n)]) * s;
    const double xs =
        x.scale.empty() ? 1.0 : static_cast<double>(x.scale[static_cast<std::size_t>(k / x.group)]);
    const double xv = to_double(x.type, x.words[static_cast<std::size_t>(k)]) * xs;
    for (const double leaf : {q * xv, zs * xv}) {
      if (leaf == 0) continue;
      unit = std::min(unit, grid_of(leaf));
      total += std::abs(leaf);
    }
  }
  return static_cast<int>(std::ceil(std::log2(total))) - unit;
}

}  // namespace

TEST_CASE("dense data are exact in fp32 in any order, the zero term summed apart or not") {
  for (const auto* more : {"", "x=bf16 scale=bf16", "x=s8", "x=s4", "x=f32"})
    for (const auto* form : forms)
      for (const int magnitude : {1, 3, 127}) {
        const LooseContext c("m=1 n=8 k=512 g=32 y=f32 zero=" + std::string(form) + " " + more);
        const auto recipe = dense_recipe(c.problem, magnitude);
        const auto matrix = exact_matrix(c.context, recipe.matrix);
        const auto x = dense_rows(c.problem, 1, recipe);
        INFO(form << " " << more << " magnitude " << recipe.magnitude);
        for (std::int64_t n = 0; n < 8; ++n) CHECK(bits_needed(c.problem, matrix, x, n) <= 24);
      }
}

TEST_CASE("in every row some dense sums need more than 11 bits, so a 16-bit sum shows") {
  for (const std::uint64_t seed : {1, 2, 3, 4, 5, 6, 7, 8}) {
    const LooseContext c("m=1 n=32 k=256 g=32 seed=" + std::to_string(seed));
    const auto recipe = dense_recipe(c.problem, 1);
    const ExactOperands operands{exact_matrix(c.context, recipe.matrix),
                                 dense_rows(c.problem, 1, recipe)};
    CHECK(sums_wider_than(c.problem, operands, 11) > 0);
  }
}

TEST_CASE("generic scales hold subnormals, both signs and full mantissas") {
  const LooseContext c(line("code"));
  const auto matrix = generic_matrix(c.context);
  std::size_t subnormal = 0, negative = 0, full = 0;
  for (const auto word : matrix.scales) {
    const double s = to_double(Type::f16, word);
    REQUIRE(std::isfinite(s * 16));
    subnormal += s != 0 && std::abs(s) < 0x1p-14;
    negative += s < 0;
    full += (word & 1) != 0;
  }
  CHECK(subnormal > 10);
  CHECK(negative > 50);
  CHECK(full > 100);
}

TEST_CASE("a group that no row uses has scales of its own") {
  const LooseContext c("m=1 n=8 k=96 g=32 order=gidx");
  const auto matrix = neutral_matrix(c.context);
  CHECK(to_double(Type::f16, matrix.scales[matrix.at(1, 0)]) == 32);
  CHECK(to_double(Type::f16, matrix.scales[matrix.at(0, 0)]) == 1);
  for (const auto g : matrix.g_idx) CHECK(g != 1);
}

TEST_CASE("order=perm keeps group sizes and is a real permutation") {
  const LooseContext c("m=1 n=8 k=100 g=32 order=perm");
  const auto matrix = neutral_matrix(c.context);
  std::vector<int> sizes(4, 0);
  bool moved = false;
  for (std::size_t k = 0; k < matrix.g_idx.size(); ++k) {
    ++sizes[static_cast<std::size_t>(matrix.g_idx[k])];
    moved = moved || matrix.g_idx[k] != static_cast<std::int32_t>(k / 32);
  }
  CHECK(sizes == std::vector<int>{32, 32, 32, 4});
  CHECK(moved);
}
