// SPDX-License-Identifier: Apache-2.0
// What the flags of this build must give: the compiler keeps bits and roundings that the project
// relies on (harness/decisions/0002). Calls go through volatile pointers, so that nothing is
// folded.
#include <bit>
#include <cstdint>

#include <catch2/catch_test_macros.hpp>

namespace {

// g++ 12 drops this at -O1 and above unless -fno-tree-ter is given.
float truncated_to_bf16_if(bool truncate, float x) {
  if (truncate) x = std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & 0xffff0000u);
  return x;
}

// Compiled for a machine that has a fused multiply-add, where contraction would show.
#if defined(__x86_64__)
[[gnu::target("fma")]]
#endif
float multiply_add(float a, float b, float c) {
  return a * b + c;
}

bool machine_has_fma() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("fma") != 0;
#else
  return true;
#endif
}

}  // namespace

TEST_CASE("conditional bf16 truncation of a float takes place") {
  float (*volatile truncate)(bool, float) = truncated_to_bf16_if;
  const float x = std::bit_cast<float>(0x3f80ffffu);
  CHECK(std::bit_cast<std::uint32_t>(truncate(true, x)) == 0x3f800000u);
  CHECK(std::bit_cast<std::uint32_t>(truncate(false, x)) == 0x3f80ffffu);
}

TEST_CASE("a product and a sum round twice and are not contracted to a fused multiply-add") {
  if (!machine_has_fma()) SKIP("this machine has no fused multiply-add");
  float (*volatile compute)(float, float, float) = multiply_add;
  // (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24: rounding the product cuts the last bit (a tie, to even).
  const float a = 1.0f + 0x1p-12f;
  CHECK(compute(a, a, -1.0f) == 0x1p-11f);
}
