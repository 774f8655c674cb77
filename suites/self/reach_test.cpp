// SPDX-License-Identifier: Apache-2.0
// Every key of the problem line reaches the kernel: two lines that differ in that key alone lead to
// another w4_problem or other bytes of operands.
#include <cstring>
#include <map>
#include <set>
#include <string>

#include <catch2/catch_test_macros.hpp>

#include "harness/checks/data.hpp"
#include "harness/checks/recipe.hpp"
#include "suites/self/echo.hpp"
#include "suites/support/context.hpp"

namespace {

using namespace w4;

using Bytes = std::vector<std::byte>;

// All that a call hands over, as bytes.
std::vector<Bytes> handed_over(const std::string& line) {
  const LooseContext c(line);
  const auto recipe = dense_recipe(c.problem, 1);
  const auto matrix = exact_matrix(c.context, recipe.matrix);
  const auto x = dense_rows(c.problem, c.problem.m, recipe);
  AbiProblem abi = to_abi(c.problem);
  abi.p.layout = nullptr;
  Bytes problem(sizeof abi.p), layout(abi.layout.size());
  std::memcpy(problem.data(), &abi.p, sizeof abi.p);
  std::memcpy(layout.data(), abi.layout.data(), layout.size());
  std::vector<Bytes> all{problem, layout};
  const auto weight = to_bytes(pack(*find_layout(c.problem.layout), matrix), matrix);
  for (const auto* tensor : {&weight.codes, &weight.scale, &weight.zero, &weight.scale2,
                             &weight.zero2, &weight.g_idx, &weight.bias})
    all.push_back(tensor->value_or(Bytes{}));
  const auto call = to_bytes(c.problem, x);
  all.push_back(call.x);
  all.push_back(call.x_scale.value_or(Bytes{}));
  return all;
}

std::uint64_t hash(std::uint64_t h, const void* data, std::size_t size) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < size; ++i) h = (h ^ bytes[i]) * 0x100000001b3ull;
  return (h ^ size) * 0x100000001b3ull;
}

// All calls that a check makes on a problem: what each hands over, in their order.
std::uint64_t calls_of(const Check& check, const std::string& line) {
  std::uint64_t seen = 0xcbf29ce484222325ull;
  Echo echo([](const w4_problem&, const CallBytes&, std::int64_t, std::uint32_t) { return 0u; },
            "echo", "");
  echo.handed_over = [&](const AbiProblem& a, const WeightBytes& w, const CallBytes& c) {
    auto p = a.p;
    p.layout = nullptr;
    seen = hash(seen, &p, sizeof p);
    seen = hash(seen, a.layout.data(), a.layout.size());
    for (const auto* tensor : {&w.codes, &w.scale, &w.zero, &w.scale2, &w.zero2, &w.g_idx, &w.bias,
                               &c.x_scale, &c.x_sum})
      if (tensor->has_value()) seen = hash(seen, (*tensor)->data(), (*tensor)->size());
    seen = hash(seen, c.x.data(), c.x.size());
  };
  const auto problem = parse_problem(line);
  check.run(echo, {problem, nullptr, echo.plan(problem), {}, {}});
  return seen;
}

struct Pair {
  const char* key;
  const char *base, *one, *other;  // the two values of the key behind the same base; "": left out
};

constexpr Pair pairs[] = {
    {"m", "n=16 k=64 g=32", "m=2", "m=3"},
    {"n", "m=2 k=64 g=32 ys=32", "n=16", "n=24"},
    {"k", "m=2 n=16 g=32 xs=128", "k=64", "k=96"},
    {"g", "m=2 n=16 k=64", "g=32", "g=64"},
    {"groups", "m=2 n=16 k=64 g=32 order=gidx", "groups=2", "groups=5"},
    {"zero", "m=2 n=16 k=64 g=32", "zero=code", "zero=code_m1"},
    {"layout", "m=2 n=16 k=64 g=32", "layout=codes", "layout=kpack:01234567"},
    {"x", "m=2 n=16 k=64 g=32 y=f32 scale=f16", "x=f16", "x=bf16"},
    {"mul", "m=2 n=16 k=64 g=32 x=f16 scale=f16", "mul=f16", "mul=s8"},
    {"y", "m=2 n=16 k=64 g=32", "y=f16", "y=bf16"},
    {"scale", "m=2 n=16 k=64 g=32", "scale=f16", "scale=f32"},
    {"ztype", "m=2 n=16 k=64 g=32 zero=real", "ztype=f16", "ztype=f32"},
    {"xg", "m=2 n=16 k=64 g=32 x=s8", "xg=64", "xg=32"},
    {"order", "m=2 n=16 k=64 g=32", "order=none", "order=perm"},
    {"bias", "m=2 n=16 k=64 g=32", "bias=none", "bias=f16"},
    {"xs", "m=2 n=16 k=64 g=32", "xs=64", "xs=72"},
    {"ys", "m=2 n=16 k=64 g=32", "ys=16", "ys=24"},
    {"align", "m=2 n=16 k=64 g=32", "align=16", "align=2"},
    {"seed", "m=2 n=16 k=64 g=32", "seed=7", "seed=8"},
};

}  // namespace

TEST_CASE("a key that changes alone changes what the kernel is handed") {
  for (const Pair& pair : pairs) {
    const std::string base = std::string(pair.base) + " ";
    INFO(pair.key << ": " << base << pair.one << " against " << pair.other);
    CHECK(handed_over(base + pair.one) != handed_over(base + pair.other));
    CHECK(handed_over(base + pair.one) == handed_over(base + pair.one));
    CHECK(std::string(pair.one).starts_with(std::string(pair.key) + "="));
    CHECK(std::string(pair.other).starts_with(std::string(pair.key) + "="));
  }
}

// A counter a key: a check that calls the kernel alike whatever the key says does not look at it.
TEST_CASE("every key changes the calls of most checks") {
  for (const Pair& pair : pairs) {
    const std::string base = std::string(pair.base) + " ";
    std::size_t judged = 0, reached = 0;
    for (const Check& check : checks()) {
      const auto one = calls_of(check, base + pair.one);
      CHECK(one == calls_of(check, base + pair.one));
      if (one == 0xcbf29ce484222325ull) continue;  // it makes no call on this problem
      ++judged;
      reached += one != calls_of(check, base + pair.other);
    }
    INFO(pair.key << " reached the kernel in " << reached << " of " << judged << " checks");
    CHECK(judged >= 10);
    CHECK(2 * reached > judged);
  }
}

TEST_CASE("each permutation of nibbles, and each kind of order, is handed over as its own") {
  std::set<std::vector<Bytes>> seen;
  const std::string base = "m=2 n=16 k=64 g=32 ";
  std::size_t lines = 0;
  for (const auto* value :
       {"layout=kpack:01234567", "layout=kpack:02461357", "layout=kpack:70615243",
        "layout=npack:01234567", "layout=npack:02461357", "layout=gptq_v1", "layout=gptq_v2",
        "order=perm", "order=gidx", ""}) {
    ++lines;
    seen.insert(handed_over(base + value));
  }
  CHECK(seen.size() == lines);
}

TEST_CASE("every key of the line has its pair, or a reason to have none") {
  const std::map<std::string_view, const char*> without{
      {"s2", "refused: no layout stores a second level of scales"},
      {"data", "the operands are those of a layer: suites/run, layer_run_test"},
      {"v1zeros", "how a layer is read: suites/run, layers_test"},
  };
  for (const std::string_view key : problem_keys()) {
    const bool paired = std::any_of(std::begin(pairs), std::end(pairs),
                                    [key](const Pair& p) { return p.key == key; });
    INFO(key);
    CHECK(paired != without.contains(key));
  }
  CHECK_THROWS(parse_problem("m=2 n=16 k=64 s2=f16"));
}
