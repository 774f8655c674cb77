// SPDX-License-Identifier: Apache-2.0
// Cutting k: where, what a rank is asked, and that the ranks' exact sums are the whole's.
#include "harness/checks/shards.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include <catch2/catch_test_macros.hpp>

#include "harness/checks/data.hpp"
#include "harness/checks/recipe.hpp"
#include "suites/support/context.hpp"
#include "suites/support/property.hpp"

namespace {

using namespace w4;

ExactOperands whole_of(const LooseContext& c) {
  const auto recipe = dense_recipe(c.problem, 3);
  return {exact_matrix(c.context, recipe.matrix), dense_rows(c.problem, c.problem.m, recipe)};
}

// The ranks' reference words, added in fp32, against the whole's.
bool add_up(const LooseContext& c, int ranks) {
  const auto whole = whole_of(c);
  const auto cuts = shard_cuts(c.problem, ranks);
  REQUIRE(cuts.size() == static_cast<std::size_t>(ranks) + 1);
  std::vector<float> total(static_cast<std::size_t>(c.problem.m * c.problem.n));
  for (std::size_t r = 0; r + 1 < cuts.size(); ++r) {
    const auto shard = shard_problem(c.problem, cuts[r], cuts[r + 1]);
    INFO(to_string(shard));
    REQUIRE(contradiction(shard).empty());
    const auto operands = shard_operands(whole, cuts[r], cuts[r + 1]);
    REQUIRE(operands.matrix.groups == shard.groups);
    REQUIRE(operands.matrix.group == shard.group);
    check_shape(operands.matrix);
    const auto words = expected_words(shard, operands);
    for (std::size_t i = 0; i < words.size(); ++i) total[i] += std::bit_cast<float>(words[i]);
  }
  const auto want = expected_words(c.problem, whole);
  return std::ranges::equal(
      total, want, [](float sum, std::uint32_t word) { return sum == std::bit_cast<float>(word); });
}

}  // namespace

TEST_CASE("ranks cut k on group boundaries, and nowhere where there is no room") {
  const auto cuts = [](const char* line, int ranks) {
    return shard_cuts(parse_problem(line), ranks);
  };
  using List = std::vector<std::int64_t>;
  CHECK(cuts("m=1 n=8 k=256 g=32", 2) == List{0, 128, 256});
  CHECK(cuts("m=1 n=8 k=256 g=32", 4) == List{0, 64, 128, 192, 256});
  CHECK(cuts("m=1 n=8 k=250 g=32", 2) == List{0, 128, 250});
  CHECK(cuts("m=1 n=8 k=384 g=128", 2) == List{0, 256, 384});
  CHECK(cuts("m=1 n=8 k=250", 2) == List{0, 128, 250});  // one group: anywhere, in whole words
  CHECK(cuts("m=1 n=8 k=256 g=128 order=perm", 4) == List{0, 64, 128, 192, 256});
  CHECK(cuts("m=1 n=8 k=256 g=128", 4).empty());
  CHECK(cuts("m=1 n=8 k=2", 2) == List{0, 1, 2});
  CHECK(cuts("m=1 n=8 k=1", 2).empty());
}

TEST_CASE("a shard keeps the whole's groups under act-order, and the bias only on rank 0") {
  const auto whole = parse_problem("m=4 n=32 k=256 g=64 order=gidx groups=6 bias=f32 y=f32");
  const auto first = shard_problem(whole, 0, 128), second = shard_problem(whole, 128, 256);
  CHECK(first.groups == 6);
  CHECK(second.groups == 6);
  CHECK(second.k == 128);
  CHECK(first.bias == Type::f32);
  CHECK(second.bias == Type::none);
  const auto grouped = shard_problem(parse_problem("m=4 n=32 k=256 g=64"), 64, 256);
  CHECK(grouped.groups == 3);
}

TEST_CASE("the shards' exact sums add up to the whole's, whatever the format") {
  const char* const keys[] = {"g=32 zero=signed",
                              "g=32 zero=8",
                              "g=32 zero=code",
                              "g=32 zero=code_m1",
                              "g=32 zero=real",
                              "g=32 zero=add",
                              "g=32 zero=add_8",
                              "zero=code",
                              "g=64 zero=code order=perm",
                              "g=64 order=gidx groups=9",
                              "g=32 bias=f32",
                              "g=32 x=s8 mul=s8 xg=64",
                              "g=32 x=s8 mul=s8",
                              "g=32 x=s4 mul=s4",
                              "g=128 layout=gptq_v1 zero=code_m1",
                              "g=32 xs=520",
                              "g=32 x=bf16 scale=bf16"};
  for (const std::string more : keys)
    for (const int ranks : {2, 4}) {
      const LooseContext c("m=3 n=16 k=512 y=f32 " + more);
      INFO(more << " ranks " << ranks);
      CHECK(add_up(c, ranks));
    }
}

TEST_CASE("shards add up for any k, group and number of ranks") {
  check_property("add up", [](std::uint16_t a, std::uint8_t b, bool act_order) {
    const std::int64_t k = 2 + a % 400, g = 1 + b % k;
    const LooseContext c("m=2 n=3 y=f32 zero=code k=" + std::to_string(k) +
                         " g=" + std::to_string(g) + (act_order ? " order=gidx" : ""));
    for (const int ranks : {2, 3, 4})
      if (!shard_cuts(c.problem, ranks).empty()) RC_ASSERT(add_up(c, ranks));
  });
}
