// SPDX-License-Identifier: Apache-2.0
// The built-in list reaches what it says it reaches.
#include <algorithm>
#include <functional>
#include <set>

#include <catch2/catch_test_macros.hpp>

#include "harness/run/problems.hpp"
#include "reference/layout/layout.hpp"

namespace w4 {

namespace {

const std::vector<Problem>& smoke() {
  static const std::vector<Problem> problems = [] {
    LayerStore store({});
    std::vector<Problem> out;
    for (const SuiteProblem& p : resolve_all(problem_lines("smoke", smoke_list()), 7, store))
      out.push_back(p.problem);
    return out;
  }();
  return problems;
}

bool some(const std::function<bool(const Problem&)>& holds) {
  return std::any_of(smoke().begin(), smoke().end(), holds);
}

}  // namespace

TEST_CASE("the smoke list has no double and stays small") {
  LayerStore store([](const std::string& line) { FAIL(line); });
  CHECK(resolve_all(problem_lines("smoke", smoke_list()), 7, store).size() >= 60);
  for (const Problem& p : smoke()) {
    INFO(to_string(p));
    CHECK(p.k <= 2080);
    CHECK(p.n <= 1040);
    CHECK(p.m <= 64);
    CHECK(p.k * p.n <= 32768);
  }
}

TEST_CASE("the smoke list reaches every layout, and two odd permutations") {
  for (const std::string& name : layout_names()) {
    INFO(name);
    CHECK(some([&](const Problem& p) { return p.layout == name; }));
  }
  std::set<std::string> permutations;
  for (const Problem& p : smoke()) {
    if (p.layout.starts_with("kpack:") && p.layout != "kpack:02461357" &&
        p.layout != "kpack:01234567") {
      permutations.insert(p.layout);
    }
  }
  CHECK(permutations.size() >= 2);
}

TEST_CASE("the smoke list reaches every zero form, and those of each checkpoint layout") {
  for (auto z = static_cast<unsigned>(Zero::signed_codes); z <= static_cast<unsigned>(Zero::add_8);
       ++z) {
    const auto zero = static_cast<Zero>(z);
    INFO(to_string(zero));
    CHECK(some([&](const Problem& p) { return p.zero == zero; }));
    for (const char* layout :
         {"gptq_v1", "gptq_v2", "awq_gemm", "awq_gemv", "awq_gemv_fast", "compressed_tensors"}) {
      if (layout_stores(*find_layout(layout), zero)) {
        CHECK(some([&](const Problem& p) { return p.zero == zero && p.layout == layout; }));
      }
    }
  }
}

TEST_CASE("the smoke list reaches every m path") {
  for (const std::int64_t m : {1, 2, 3, 4, 5, 8, 9, 16, 17, 33, 64}) {
    INFO(m);
    CHECK(some([&](const Problem& p) { return p.m == m; }));
  }
}

TEST_CASE("the smoke list reaches the widths of n") {
  for (const std::int64_t n : {1, 2, 3, 4, 5, 6, 7, 8, 16, 33, 64, 96}) {
    INFO(n);
    CHECK(some([&](const Problem& p) { return p.n == n; }));
  }
}

TEST_CASE("the smoke list reaches the group sizes, all of k, and a ragged last group") {
  for (const std::int64_t g : {16, 32, 64, 128, 256}) {
    INFO(g);
    CHECK(some([&](const Problem& p) { return p.group == g && p.k > g; }));
  }
  CHECK(some([](const Problem& p) { return p.group == p.k && p.k >= 256; }));
  CHECK(some([](const Problem& p) { return p.k % p.group != 0; }));
  CHECK(some([](const Problem& p) { return p.groups > 128; }));
}

TEST_CASE("the smoke list reaches the types") {
  for (const Type t : {Type::f16, Type::bf16, Type::f32, Type::s8, Type::s4}) {
    INFO(to_string(t));
    CHECK(some([&](const Problem& p) { return p.mul == t; }));
  }
  for (const Type t : {Type::f16, Type::bf16, Type::f32}) {
    INFO(to_string(t));
    CHECK(some([&](const Problem& p) { return p.y == t; }));
    CHECK(some([&](const Problem& p) { return p.scale == t; }));
  }
}

TEST_CASE("the smoke list reaches act-order, strides, alignment, bias and x groups") {
  for (const Order order : {Order::perm, Order::gidx})
    CHECK(some([&](const Problem& p) { return p.order == order; }));
  CHECK(some([](const Problem& p) {
    return p.order == Order::gidx && p.groups > (p.k + p.group - 1) / p.group;
  }));
  CHECK(some([](const Problem& p) { return p.x_stride > p.k && p.y_stride > p.n; }));
  CHECK(some([](const Problem& p) { return p.align == 2; }));
  CHECK(some([](const Problem& p) { return p.bias == Type::f16; }));
  CHECK(some([](const Problem& p) { return p.bias == Type::f32; }));
  CHECK(some([](const Problem& p) { return p.x_group < p.k; }));
}

TEST_CASE("the smoke list reaches ragged k and n in packed layouts") {
  CHECK(some([](const Problem& p) { return p.k % 8 != 0 && p.layout.starts_with("kpack:"); }));
  CHECK(some([](const Problem& p) { return p.n % 8 != 0 && p.layout.starts_with("npack:"); }));
}

}  // namespace w4
