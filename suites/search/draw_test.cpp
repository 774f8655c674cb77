// SPDX-License-Identifier: Apache-2.0
// The sequence of problems: a pure function of the seed that reaches what it says it reaches.
#include "harness/search/draw.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "reference/layout/layout.hpp"

namespace {

using namespace w4;

const std::vector<Problem>& drawn() {
  static const std::vector<Problem> problems = [] {
    std::vector<Problem> out;
    for (std::uint64_t i = 0; i < 3000; ++i) out.push_back(draw_problem(0x1, i));
    return out;
  }();
  return problems;
}

std::int64_t how_many(const std::function<bool(const Problem&)>& holds) {
  return std::count_if(drawn().begin(), drawn().end(), holds);
}

}  // namespace

TEST_CASE("a number of the sequence needs nothing of those before it") {
  for (const std::uint64_t i : {0ull, 1ull, 17ull, 2999ull})
    CHECK(draw_problem(0x1, i) == drawn()[i]);
  CHECK(draw_problem(0x2, 5) != draw_problem(0x1, 5));
}

TEST_CASE("drawn problems contradict nothing and are their own line") {
  for (const Problem& p : drawn()) {
    INFO(to_string(p));
    REQUIRE(contradiction(p).empty());
    REQUIRE(parse_problem(to_string(p)) == p);
  }
}

TEST_CASE("nearly all draws are distinct, and most are cheap") {
  std::set<std::string> lines;
  for (const Problem& p : drawn()) lines.insert(to_string(p));
  CHECK(lines.size() > 2900);
  const auto work = [](const Problem& p) { return p.m * p.n * p.k; };
  CHECK(how_many([&](const Problem& p) { return work(p) <= 1 << 13; }) > 2000);
  // Whole words of a layout round k and n up to a multiple of 8 after the draw.
  CHECK(how_many([&](const Problem& p) { return work(p) > 64 << 18; }) == 0);
}

TEST_CASE("draws reach both sides of every tile edge in m, n and k") {
  for (const std::int64_t edge : {8, 16, 32, 64, 128, 256})
    for (const std::int64_t v : {edge - 1, edge, edge + 1}) {
      INFO(v);
      CHECK(how_many([v](const Problem& p) { return p.m == v; }) > 0);
      CHECK(how_many([v](const Problem& p) { return p.n == v; }) > 0);
      CHECK(how_many([v](const Problem& p) { return p.k == v; }) > 0);
    }
  for (std::int64_t v = 1; v <= 8; ++v) {
    INFO(v);
    CHECK(how_many([v](const Problem& p) { return p.m == v; }) > 10);
    CHECK(how_many([v](const Problem& p) { return p.n == v; }) > 10);
  }
}

TEST_CASE("draws reach groups of every kind") {
  for (const std::int64_t g : {16, 32, 64, 128, 256}) {
    INFO(g);
    CHECK(how_many([g](const Problem& p) { return p.group == g && p.k > g; }) > 10);
  }
  CHECK(how_many([](const Problem& p) { return p.group == p.k && p.k > 1; }) > 100);
  CHECK(how_many([](const Problem& p) { return p.k % p.group != 0; }) > 100);
  CHECK(how_many([](const Problem& p) { return p.groups > 128; }) > 10);
  CHECK(how_many([](const Problem& p) { return p.groups > 2 && p.groups % 2 == 1; }) > 100);
}

TEST_CASE("draws reach every layout, zero form and order of nibbles") {
  for (const std::string& name : layout_names()) {
    INFO(name);
    CHECK(how_many([&](const Problem& p) { return p.layout == name; }) > 0);
    for (auto z = static_cast<unsigned>(Zero::signed_codes);
         z <= static_cast<unsigned>(Zero::add_8); ++z) {
      const auto zero = static_cast<Zero>(z);
      if (!layout_stores(*find_layout(name), zero)) continue;
      INFO(to_string(zero));
      CHECK(how_many([&](const Problem& p) { return p.layout == name && p.zero == zero; }) > 0);
    }
  }
  std::set<std::string> kpack, npack;
  for (const Problem& p : drawn()) {
    if (p.layout.starts_with("kpack:")) kpack.insert(p.layout);
    if (p.layout.starts_with("npack:")) npack.insert(p.layout);
  }
  CHECK(kpack.size() > 100);
  CHECK(npack.size() > 50);
}

TEST_CASE("draws reach every type, act-order, bias, strides and alignment") {
  for (const Type x : {Type::f16, Type::bf16, Type::f32, Type::s8, Type::s4}) {
    INFO(to_string(x));
    CHECK(how_many([x](const Problem& p) { return p.x == x && p.mul == x; }) > 30);
  }
  for (const Type mul : {Type::s8, Type::s4})
    CHECK(how_many([mul](const Problem& p) { return is_float(p.x) && p.mul == mul; }) > 5);
  for (const Type t : {Type::f16, Type::bf16, Type::f32}) {
    INFO(to_string(t));
    CHECK(how_many([t](const Problem& p) { return p.y == t; }) > 100);
    CHECK(how_many([t](const Problem& p) { return p.scale == t; }) > 100);
    CHECK(how_many([t](const Problem& p) { return p.bias == t; }) > 30);
    CHECK(how_many([t](const Problem& p) { return p.zero_type == t; }) > 10);
  }
  CHECK(how_many([](const Problem& p) { return p.order == Order::perm; }) > 100);
  CHECK(how_many([](const Problem& p) { return p.order == Order::gidx; }) > 100);
  CHECK(how_many([](const Problem& p) {
          return p.order == Order::gidx && p.groups > (p.k + p.group - 1) / p.group;
        }) > 50);
  CHECK(how_many([](const Problem& p) { return p.x_stride > p.k; }) > 100);
  CHECK(how_many([](const Problem& p) { return p.y_stride > p.n; }) > 100);
  CHECK(how_many([](const Problem& p) { return p.align < 16; }) > 30);
  CHECK(how_many([](const Problem& p) { return p.align > 16; }) > 30);
  CHECK(how_many([](const Problem& p) { return p.x_group < p.k; }) > 20);
}
