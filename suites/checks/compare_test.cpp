// SPDX-License-Identifier: Apache-2.0
// Wrong words against exact sums, and the cause that is named.
#include "harness/checks/compare.hpp"

#include <catch2/catch_test_macros.hpp>

#include "harness/checks/data.hpp"
#include "harness/checks/recipe.hpp"
#include "suites/support/context.hpp"

namespace {

using namespace w4;

struct Fixture {
  explicit Fixture(const std::string& line) : c(line) {
    const auto recipe = dense_recipe(c.problem, 1);
    operands = {exact_matrix(c.context, recipe.matrix), dense_rows(c.problem, c.problem.m, recipe)};
    right = expected_words(c.problem, operands);
  }
  std::string kind(const std::vector<std::uint32_t>& got) const {
    const auto v = compare_exact(c.problem, operands, got);
    if (v.outcome != Outcome::fail) return std::string(to_string(v.outcome));
    return std::get<std::string>(std::get<Evidence::Object>(v.evidence.value).front().second.value);
  }
  LooseContext c;
  ExactOperands operands;
  std::vector<std::uint32_t> right;
};

}  // namespace

TEST_CASE("right words pass and any single changed word fails") {
  const Fixture f("m=3 n=8 k=64 g=32");
  CHECK(f.kind(f.right) == "pass");
  for (std::size_t i = 0; i < f.right.size(); ++i) {
    auto got = f.right;
    got[i] ^= 1;
    CHECK(f.kind(got) != "pass");
  }
}

TEST_CASE("all-zero expectations are vacuous") {
  Fixture f("m=1 n=8 k=64 g=32");
  std::fill(f.operands.x.words.begin(), f.operands.x.words.end(), 0);
  CHECK(f.kind(expected_words(f.c.problem, f.operands)) == "vacuous");
}

TEST_CASE("poison that is still there is named") {
  const Fixture f("m=2 n=8 k=64 g=32");
  auto got = f.right;
  got[15] = 0xffff;
  CHECK(f.kind(got) == "not_written");
}

TEST_CASE("a missing tail is named with its length") {
  const Fixture f("m=4 n=16 k=100 g=32");
  auto shorter = f.operands;
  for (std::int64_t m = 0; m < 4; ++m)
    for (std::int64_t k = 96; k < 100; ++k)
      shorter.x.words[static_cast<std::size_t>(m * 100 + k)] = 0;
  const auto got = expected_words(f.c.problem, shorter);
  const auto v = compare_exact(f.c.problem, f.operands, got);
  CHECK(f.kind(got) == "dropped");
  CHECK(v.reason == "the last 4 of k are dropped from the sum");
}

TEST_CASE("truncation is named") {
  const Fixture f("m=4 n=16 k=256 g=32");
  Problem wide = f.c.problem;
  wide.y = Type::f32;
  auto got = f.right;
  const auto exact = expected_words(wide, f.operands);
  for (std::size_t i = 0; i < got.size(); ++i) {
    const auto sum = decode(Type::f32, exact[i]).value;
    got[i] = truncate_to(Type::f16, sum.mant, sum.exp);
  }
  CHECK(f.kind(got) == "truncation");
}

TEST_CASE("exchanged rows are named") {
  const Fixture f("m=4 n=16 k=256 g=32");
  auto got = f.right;
  std::swap_ranges(got.begin(), got.begin() + 16, got.begin() + 16);
  CHECK(f.kind(got) == "rows");
}

TEST_CASE("NaN never equals anything") {
  const Fixture f("m=1 n=8 k=64 g=32");
  auto got = f.right;
  got[3] = 0x7e00;
  CHECK(f.kind(got) != "pass");
}

TEST_CASE("a wrong sum brings its words' bits and its terms, which add up") {
  const LooseContext c("m=1 n=2 k=20 g=8 zero=code bias=f16");
  const auto recipe = dense_recipe(c.problem, 1);
  const ExactOperands operands{exact_matrix(c.context, recipe.matrix),
                               dense_rows(c.problem, 1, recipe)};
  auto words = expected_words(c.problem, operands);
  words[1] ^= 1;
  const auto verdict = compare_exact(c.problem, operands, words);
  REQUIRE(verdict.details.size() == 2);
  const auto& bits = verdict.details[0];
  CHECK(bits[0][0] == "expected");
  CHECK(bits[0][4] != bits[1][4]);  // the fraction
  const auto& terms = verdict.details[1];
  double sum = 0;
  for (std::size_t row = 1; row + 1 < terms.size(); ++row) sum += std::stod(terms[row].back());
  CHECK(terms.back().front() == "sum");
  CHECK(sum == std::stod(terms.back().back()));
  CHECK(from_double(c.problem.y, sum) == (words[1] ^ 1));
}
