// SPDX-License-Identifier: Apache-2.0
// cpu.auto: which kernel it takes, and that it gives that kernel's bits.
#include <algorithm>

#include <catch2/catch_test_macros.hpp>

#include "suites/kernels/rig.hpp"

namespace w4 {
namespace {

void check_same(const Case& c, std::int64_t& judged) {
  const Result chosen = run_case(find_kernel("cpu", "cpu.auto"), c);
  INFO("cpu.auto " << c.layout << " zero=" << c.p.zero << " type=" << c.p.x_type << " m=" << c.p.m
                   << ": " << chosen.path << " " << chosen.reason);
  REQUIRE(chosen.run == W4_OK);
  REQUIRE_FALSE(chosen.reason.empty());
  const std::size_t slash = chosen.path.find('/');
  REQUIRE(slash != std::string::npos);
  const Result alone = run_case(find_kernel("cpu", chosen.path.substr(0, slash)), c);
  REQUIRE(alone.path == chosen.path.substr(slash + 1));
  REQUIRE(alone.words == chosen.words);
  ++judged;
}

TEST_CASE("cpu.auto gives the bits of the kernel that it names") {
  std::int64_t judged = 0;
  for (const char* layout :
       {"codes", "kpack:02461357", "kpack:73516240", "npack:01234567", "gptq_v1", "awq_gemm",
        "awq_gemv", "awq_gemv_fast", "compressed_tensors"}) {
    for (std::uint32_t zero = W4_ZERO_SIGNED; zero <= W4_ZERO_ADD_8; ++zero) {
      for (const std::uint32_t type : {W4_F16, W4_BF16, W4_F32}) {
        for (const std::int64_t m : {1, 4, 5, 63, 64, 70}) {
          Case c = ragged(make_case(layout, zero, type, {m, 24, 128, 32}));
          c.p.flags = W4_HAS_BIAS;
          c.p.bias_type = W4_F16;
          for (int n = 0; n < 24; ++n) c.bias.push_back(n - 7.5);
          if (run_case(find_kernel("cpu", "cpu.scalar"), c).plan != W4_OK) continue;
          check_same(c, judged);
          if (layout[0] == 'a' || layout[0] == 'k' || layout[0] == 'n') continue;
          check_same(act_ordered(c, false), judged);
        }
      }
    }
  }
  CHECK(judged > 500);
}

std::string path_of(const Case& c) {
  return run_case(find_kernel("cpu", "cpu.auto"), c).path;
}

TEST_CASE("cpu.auto goes by order, zero form, layout, type and m") {
  const auto at = [](std::int64_t m) { return Sizes{m, 8, 64, 32}; };
  const auto plain = [&](std::int64_t m) {
    return make_case("gptq_v2", W4_ZERO_CODE, W4_F16, at(m));
  };
  CHECK(path_of(plain(1)) == "cpu.simd/gemv");
  CHECK(path_of(plain(4)) == "cpu.simd/gemv");
  CHECK(path_of(plain(5)) == "cpu.simd/gemm");
  CHECK(path_of(plain(63)) == "cpu.simd/gemm");
  CHECK(path_of(plain(64)) == "cpu.dense/dequant+dense");
  CHECK(path_of(act_ordered(plain(1), true)) == "cpu.gather/gather+gemv");
  CHECK(path_of(act_ordered(plain(9), true)) == "cpu.gather/gather+gemm");
  CHECK(path_of(act_ordered(plain(64), true)) == "cpu.dense/dequant+dense");
  CHECK(path_of(make_case("codes", W4_ZERO_ADD, W4_F16, at(2))) == "cpu.additive/gemv");
  CHECK(path_of(make_case("codes", W4_ZERO_ADD, W4_F32, at(2))) == "cpu.simd/gemv");
  CHECK(path_of(make_case("npack:01234567", W4_ZERO_8, W4_F16, at(2))) == "cpu.scalar/loop");
  CHECK(path_of(make_case("codes", W4_ZERO_8, W4_F32, at(99))) == "cpu.simd/gemm");
  CHECK(path_of(make_case("codes", W4_ZERO_8, W4_S8, at(99))) == "cpu.scalar_s8/segments");
  CHECK(path_of(make_case("codes", W4_ZERO_8, W4_S4, at(1))) == "cpu.scalar_s4/segments");
  Case narrowed = plain(3);
  narrowed.p.mul_type = W4_S8;
  CHECK(path_of(narrowed) == "cpu.x_int8_amax/amax+segments");
}

TEST_CASE("cpu.auto keeps to one kernel where a row's bits may not depend on m") {
  Case c = ragged(make_case("gptq_v2", W4_ZERO_CODE, W4_F16, {70, 8, 64, 32}));
  c.p.flags = W4_WANT_BATCH_INVARIANT;
  const Result many = run_case(find_kernel("cpu", "cpu.auto"), c);
  CHECK(many.path == "cpu.simd/gemm");
  Case one = c;
  one.p.m = 1;
  one.x.resize(64);
  const Result alone = run_case(find_kernel("cpu", "cpu.auto"), one);
  CHECK(alone.path == "cpu.simd/gemv");
  CHECK(alone.packed_bytes == many.packed_bytes);
  CHECK(std::equal(alone.words.begin(), alone.words.end(), many.words.begin()));
}

TEST_CASE("cpu.auto packs one blob for every m") {
  for (const char* layout : {"gptq_v2", "codes", "npack:01234567"}) {
    const auto bytes = [&](std::int64_t m) {
      const Case c = make_case(layout, W4_ZERO_CODE, W4_F16, {m, 8, 64, 32});
      return run_case(find_kernel("cpu", "cpu.auto"), c).packed_bytes;
    };
    CHECK(bytes(1) == bytes(64));
    CHECK(bytes(1) == bytes(20));
  }
}

}  // namespace
}  // namespace w4
