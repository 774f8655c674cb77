// SPDX-License-Identifier: Apache-2.0
// Shrinking ends, on the smallest problem that still fails, and within its time.
#include "harness/search/shrink.hpp"

#include <chrono>
#include <string>

#include <catch2/catch_test_macros.hpp>

#include "harness/search/draw.hpp"

namespace {

using namespace w4;
using Clock = std::chrono::steady_clock;

Clock::time_point in_a_minute() {
  return Clock::now() + std::chrono::minutes(1);
}

std::string shrunk(const char* line, const std::function<bool(const Problem&)>& fails) {
  return to_string(shrink(parse_problem(line), fails, in_a_minute()).problem);
}

constexpr char large[] =
    "m=129 n=65 k=1040 g=32 zero=real layout=npack:35170624 x=bf16 y=f32 scale=f32 ztype=f16 "
    "order=perm bias=f16 xs=1048 ys=72 align=64 seed=0x99";

}  // namespace

TEST_CASE("what fails everywhere shrinks to the smallest problem there is") {
  CHECK(shrunk(large, [](const Problem&) { return true; }) == "m=1 n=1 k=1");
  CHECK(simpler(parse_problem("m=1 n=1 k=1")).empty());
}

TEST_CASE("what fails nowhere else stays as it is") {
  CHECK(shrunk(large, [](const Problem&) { return false; }) == to_string(parse_problem(large)));
}

TEST_CASE("each key that a failure needs is kept, all others go") {
  CHECK(shrunk(large, [](const Problem& p) { return p.m > 8; }) == "m=9 n=1 k=1");
  CHECK(shrunk(large, [](const Problem& p) { return p.n >= 17; }) == "m=1 n=17 k=1");
  CHECK(shrunk(large, [](const Problem& p) { return p.k > 128; }) == "m=1 n=1 k=129");
  CHECK(shrunk(large, [](const Problem& p) { return p.groups > 1; }) == "m=1 n=1 k=2 g=1");
  CHECK(shrunk(large, [](const Problem& p) { return p.y == Type::f32; }) == "m=1 n=1 k=1 y=f32");
  CHECK(shrunk(large, [](const Problem& p) { return p.x_stride > p.k; }) == "m=1 n=1 k=1 xs=9");
  CHECK(shrunk(large, [](const Problem& p) { return p.layout.starts_with("npack:"); }) ==
        "m=1 n=1 k=1 layout=npack:01234567");
  CHECK(shrunk(large, [](const Problem& p) { return p.layout.ends_with(":35170624"); }) ==
        "m=1 n=1 k=1 layout=kpack:35170624");
  CHECK(shrunk(large, [](const Problem& p) { return p.zero == Zero::real; }) ==
        "m=1 n=1 k=1 zero=real");
  CHECK(shrunk(large, [](const Problem& p) { return p.bias != Type::none; }) ==
        "m=1 n=1 k=1 bias=f16");
}

TEST_CASE("k and group shrink together") {
  const auto partial = [](const Problem& p) { return p.group < p.k && p.k % p.group != 0; };
  CHECK(shrunk("m=4 n=8 k=250 g=32 zero=code", partial) == "m=1 n=1 k=3 g=2");
  const auto groups_in_a_tile = [](const Problem& p) { return p.groups >= 3 && p.k > 128; };
  const Problem p =
      shrink(parse_problem("m=4 n=8 k=512 g=32"), groups_in_a_tile, in_a_minute()).problem;
  CHECK(p.k == 129);
}

TEST_CASE("every step is sound, and every walk ends") {
  for (std::uint64_t i = 0; i < 300; ++i) {
    Problem p = draw_problem(0x5, i);
    int steps = 0;
    // The last step is the least bold one, so this is the longest walk.
    for (auto next = simpler(p); !next.empty(); next = simpler(p), ++steps) {
      p = next.back();
      INFO(to_string(p));
      REQUIRE(contradiction(p).empty());
      REQUIRE(parse_problem(to_string(p)) == p);
      REQUIRE(steps < 5000);
    }
    CHECK(to_string(p) == "m=1 n=1 k=1");
  }
}

TEST_CASE("the deadline is kept, and said") {
  int asked = 0;
  const auto late = shrink(
      parse_problem(large), [&](const Problem&) { return ++asked, true; }, Clock::now());
  CHECK(asked == 0);
  CHECK_FALSE(late.smallest);
  const auto in_time = shrink(
      parse_problem(large), [](const Problem&) { return true; }, in_a_minute());
  CHECK(in_time.smallest);
}
