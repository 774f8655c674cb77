// SPDX-License-Identifier: Apache-2.0
// Tiny products of every kernel on every layout and zero form that it takes, against a plain double
// loop. The operands make each sum exact in fp32, so the words must be equal.
#include <catch2/catch_test_macros.hpp>

#include "suites/kernels/rig.hpp"

namespace w4 {
namespace {

const std::vector<std::string> all_layouts = {"codes",          "kpack:01234567", "kpack:02461357",
                                              "kpack:73516240", "npack:02461357", "npack:76543210",
                                              "gptq_v1",        "gptq_v2"};
const std::vector<Sizes> all_sizes = {{1, 1, 1, 1},      {1, 8, 8, 8},    {2, 24, 40, 16},
                                      {5, 16, 32, 8},    {4, 9, 37, 5},   {17, 130, 48, 24},
                                      {3, 136, 264, 64}, {66, 3, 20, 32}, {7, 8, 16, 3}};
// For layouts with whole groups of the sizes that AWQ has.
const std::vector<Sizes> whole_groups = {
    {1, 8, 128, 128}, {2, 16, 192, 64}, {5, 136, 64, 32}, {67, 24, 1152, 128}, {3, 8, 320, 32}};

struct Outcome {
  int right{0}, declined{0};
};

// Runs one case; counts it as right only if every word is.
void judge(const w4_kernel& kernel, const Case& c, Outcome& outcome) {
  const Result result = run_case(kernel, c);
  INFO(kernel.name << " " << c.layout << " zero=" << c.p.zero << " type=" << c.p.x_type
                   << " m=" << c.p.m << " n=" << c.p.n << " k=" << c.p.k << " group=" << c.p.group
                   << ": " << result.reason);
  if (result.plan != W4_OK) {
    REQUIRE(result.plan == W4_UNSUPPORTED);
    REQUIRE_FALSE(result.reason.empty());
    ++outcome.declined;
    return;
  }
  REQUIRE(result.run == W4_OK);
  REQUIRE(result.ran == result.path);
  REQUIRE(result.gaps_untouched);
  REQUIRE(result.y == plain_product(c));
  ++outcome.right;
}

Outcome sweep(const std::string& plugin, const std::string& name,
              std::vector<std::uint32_t> types) {
  const w4_kernel& kernel = find_kernel(plugin, name);
  Outcome outcome;
  for (const std::string& layout : all_layouts) {
    for (std::uint32_t zero = W4_ZERO_SIGNED; zero <= W4_ZERO_ADD_8; ++zero) {
      for (const std::uint32_t type : types) {
        for (const Sizes& sizes : all_sizes) {
          const bool gptq = layout.rfind("gptq", 0) == 0;
          const bool stores =
              zero == W4_ZERO_8 || (zero == (layout == "gptq_v1" ? W4_ZERO_CODE_M1 : W4_ZERO_CODE));
          if (gptq && (!stores || sizes.n % 8 != 0 || sizes.k % 8 != 0)) continue;
          judge(kernel, make_case(layout, zero, type, sizes), outcome);
        }
      }
    }
  }
  return outcome;
}

// The layouts that checkpoints have, with the forms that they store.
Outcome sweep_stored(const std::string& name, std::vector<std::uint32_t> types) {
  struct Stored {
    const char* layout;
    std::uint32_t zero;
  };
  Outcome outcome;
  for (const auto& [layout, zero] : {Stored{"awq_gemm", W4_ZERO_8},
                                     {"awq_gemm", W4_ZERO_CODE},
                                     {"awq_gemv", W4_ZERO_8},
                                     {"awq_gemv", W4_ZERO_CODE},
                                     {"compressed_tensors", W4_ZERO_8},
                                     {"compressed_tensors", W4_ZERO_CODE},
                                     {"awq_gemv_fast", W4_ZERO_ADD}}) {
    for (const std::uint32_t type : types) {
      for (const Sizes& sizes : whole_groups) {
        judge(find_kernel("cpu", name), make_case(layout, zero, type, sizes), outcome);
      }
    }
  }
  return outcome;
}

constexpr int sizes = 9, sizes_of_8 = 5,
              sizes_k8 = 6;  // all; n and k multiples of 8; k a multiple of 8

TEST_CASE("cpu.scalar multiplies every layout, zero form and type") {
  const Outcome seen = sweep("cpu", "cpu.scalar", {W4_F16, W4_BF16, W4_F32});
  CHECK(seen.right == 3 * (6 * 7 * sizes + 2 * 2 * sizes_of_8));
  CHECK(seen.declined == 0);
}

TEST_CASE("cpu.simd multiplies all but npack and other kpack orders") {
  const Outcome seen = sweep("cpu", "cpu.simd", {W4_F16, W4_BF16, W4_F32});
  CHECK(seen.right == 3 * (3 * 7 * sizes + 2 * 2 * sizes_of_8));
}

TEST_CASE("cpu.bit_trick multiplies words in the article's order and GPTQ's") {
  const Outcome seen = sweep("cpu", "cpu.bit_trick", {W4_F16, W4_BF16});
  CHECK(seen.right == 2 * (4 * sizes_k8 + 2 * 2 * sizes_of_8));
}

TEST_CASE("cpu.scalar_s8 multiplies bytes and GPTQ words") {
  const Outcome seen = sweep("cpu", "cpu.scalar_s8", {W4_S8});
  CHECK(seen.right == 4 * sizes + 2 * 2 * sizes_of_8);
}

TEST_CASE("cpu.scalar_s4 multiplies nibbles") {
  const Outcome seen = sweep("cpu", "cpu.scalar_s4", {W4_S4});
  CHECK(seen.right == 4 * sizes + 2 * 2 * sizes_of_8);
}

TEST_CASE("the scalar kernels read what AWQ and compressed-tensors checkpoints hold") {
  CHECK(sweep_stored("cpu.scalar", {W4_F16, W4_BF16, W4_F32}).right == 7 * 3 * 5);
  CHECK(sweep_stored("cpu.scalar_s8", {W4_S8}).right == 6 * 5);
  CHECK(sweep_stored("cpu.scalar_s4", {W4_S4}).right == 6 * 5);
}

TEST_CASE("the other kernels read the stored layouts that they name") {
  CHECK(sweep_stored("cpu.simd", {W4_F16, W4_BF16, W4_F32}).right == 6 * 3 * 5);
  CHECK(sweep_stored("cpu.folded", {W4_F16, W4_BF16}).right == 6 * 2 * 5);
  CHECK(sweep_stored("cpu.dense", {W4_F16, W4_BF16}).right == 7 * 2 * 5);
  CHECK(sweep_stored("cpu.additive", {W4_F16, W4_BF16}).right == 2 * 5);
  CHECK(sweep_stored("cpu.auto", {W4_F16, W4_BF16, W4_F32}).right == 7 * 3 * 5);
  CHECK(sweep_stored("cpu.auto", {W4_S8}).right == 6 * 5);
}

TEST_CASE("cpu.folded multiplies all subtracted zeros but signed codes, along k") {
  const Outcome seen = sweep("cpu", "cpu.folded", {W4_F16, W4_BF16});
  CHECK(seen.right == 2 * (4 * 4 * sizes + 2 * 2 * sizes_of_8));
}

TEST_CASE("cpu.dense multiplies what cpu.scalar does, in 16 bits") {
  const Outcome seen = sweep("cpu", "cpu.dense", {W4_F16, W4_BF16});
  CHECK(seen.right == 2 * (6 * 7 * sizes + 2 * 2 * sizes_of_8));
  CHECK(seen.declined == 0);
}

TEST_CASE("cpu.additive multiplies both additive forms, in 16 bits") {
  const Outcome seen = sweep("cpu", "cpu.additive", {W4_F16, W4_BF16});
  CHECK(seen.right == 2 * 6 * 2 * sizes);
}

TEST_CASE("cpu.auto multiplies all that any other kernel does") {
  const Outcome seen = sweep("cpu", "cpu.auto", {W4_F16, W4_BF16, W4_F32});
  CHECK(seen.right == 3 * (6 * 7 * sizes + 2 * 2 * sizes_of_8));
  CHECK(seen.declined == 0);
  CHECK(sweep("cpu", "cpu.auto", {W4_S8, W4_S4}).right == 2 * (4 * sizes + 2 * 2 * sizes_of_8));
}

TEST_CASE("compressed-tensors needs no multiples of 8") {
  for (const std::uint32_t zero : {W4_ZERO_8, W4_ZERO_CODE}) {
    const Case c = make_case("compressed_tensors", zero, W4_F16, {3, 13, 30, 10});
    CHECK(run_case(find_kernel("cpu", "cpu.scalar"), c).y == plain_product(c));
  }
}

TEST_CASE("example.scalar multiplies codes with zero 8 and code") {
  const Outcome seen = sweep("example", "example.scalar", {W4_F16, W4_BF16});
  CHECK(seen.right == 2 * sizes);
}

TEST_CASE("bias is added, before the one rounding") {
  for (const char* name : {"cpu.scalar", "cpu.simd", "cpu.bit_trick", "cpu.folded", "cpu.dense",
                           "cpu.auto", "cpu.scalar_s8", "cpu.scalar_s4"}) {
    const std::string kernel = name;
    const std::uint32_t type = kernel == "cpu.scalar_s8"   ? W4_S8
                               : kernel == "cpu.scalar_s4" ? W4_S4
                                                           : W4_F16;
    for (const std::uint32_t bias_type : {W4_F16, W4_BF16, W4_F32}) {
      for (const char* layout : {"codes", "kpack:02461357", "gptq_v2"}) {
        Case c = make_case(layout, W4_ZERO_CODE, type, {6, 24, 40, 16});
        c.p.flags = W4_HAS_BIAS;
        c.p.bias_type = bias_type;
        for (int n = 0; n < 24; ++n) c.bias.push_back(n - 7.5);
        const Result result = run_case(find_kernel("cpu", name), c);
        if (result.plan == W4_UNSUPPORTED) continue;
        INFO(name << " " << layout);
        CHECK(result.run == W4_OK);
        CHECK(result.y == plain_product(c));
      }
    }
  }
}

TEST_CASE("act-order is followed by the scalar kernels and declined by the others") {
  for (const char* name :
       {"cpu.scalar", "cpu.scalar_s8", "cpu.scalar_s4", "cpu.simd", "cpu.bit_trick"}) {
    const std::string kernel = name;
    const std::uint32_t type = kernel == "cpu.scalar_s8"   ? W4_S8
                               : kernel == "cpu.scalar_s4" ? W4_S4
                                                           : W4_F16;
    Case c = make_case("gptq_v1", W4_ZERO_CODE_M1, type, {3, 16, 40, 8});
    c.p.flags = W4_ACT_ORDER;
    for (int k = 0; k < 40; ++k) c.g_idx.push_back(k * 7 % 5);
    const Result result = run_case(find_kernel("cpu", name), c);
    INFO(name);
    if (kernel == "cpu.simd" || kernel == "cpu.bit_trick") {
      CHECK(result.plan == W4_UNSUPPORTED);
      CHECK(result.reason.rfind("act-order", 0) == 0);
      continue;
    }
    CHECK(result.run == W4_OK);
    CHECK(result.y == plain_product(c));
    c.g_idx[17] = 5;
    CHECK(run_case(find_kernel("cpu", name), c).run == W4_BAD_ARGUMENT);
  }
}

TEST_CASE("activation scales of every group and row are used") {
  for (const char* name : {"cpu.scalar_s8", "cpu.scalar_s4"}) {
    const std::uint32_t type = std::string(name) == "cpu.scalar_s8" ? W4_S8 : W4_S4;
    for (const std::int64_t x_group : {1, 7, 16, 40, 64}) {
      Case c = make_case("codes", W4_ZERO_CODE, type, {18, 9, 40, 16});
      c.p.x_group = x_group;
      const std::int64_t scales = 18 * ((40 + x_group - 1) / x_group);
      for (std::int64_t i = 0; i < scales; ++i)
        c.x_scale.push_back(i % 3 == 0 ? 0.25 : i % 3 == 1 ? 1 : 4);
      INFO(name << " x_group=" << x_group);
      CHECK(run_case(find_kernel("cpu", name), c).y == plain_product(c));
    }
  }
}

TEST_CASE("integer sums are exact beyond 24 bits") {
  Case c = make_case("codes", W4_ZERO_8, W4_S8, {1, 1, 40000, 40000});
  for (std::int64_t k = 0; k < 40000; ++k) {
    c.x[static_cast<std::size_t>(k)] = k < 20001 ? 127 : -127;
    c.codes[static_cast<std::size_t>(k)] = 15;
  }
  c.scales[0] = 1;
  CHECK(run_case(find_kernel("cpu", "cpu.scalar_s8"), c).y == std::vector<double>{2 * 127 * 7});
}

TEST_CASE("a scale of another type than the activations") {
  for (const char* name : {"cpu.scalar", "cpu.simd"}) {
    for (const std::uint32_t scale : {W4_F16, W4_BF16, W4_F32}) {
      for (const std::uint32_t zero : {W4_F16, W4_BF16, W4_F32}) {
        Case c = make_case("codes", W4_ZERO_REAL, W4_F16, {2, 5, 33, 8});
        c.p.scale_type = scale;
        c.p.zero_type = zero;
        CHECK(run_case(find_kernel("cpu", name), c).y == plain_product(c));
      }
    }
  }
}

}  // namespace
}  // namespace w4
