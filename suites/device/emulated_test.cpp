// SPDX-License-Identifier: Apache-2.0
// The device functions of cuda.scalar, compiled for the host and judged there against the
// reference.
#include <catch2/catch_test_macros.hpp>

#include "suites/support/judge.hpp"

namespace {

using namespace w4;

void pass(std::string_view check, const std::string& line) {
  const auto verdict = judge("cuda_emulated", "cuda_emulated.scalar", check, line);
  INFO(check << " " << line << ": " << verdict.reason << " " << verdict.where << " "
             << verdict.expected_got);
  CHECK(verdict.outcome == Outcome::pass);
}

constexpr const char* lines[] = {
    "m=3 n=24 k=136 g=32 zero=signed",
    "m=3 n=24 k=136 g=32 zero=8 x=bf16 y=bf16",
    "m=1 n=40 k=128 g=64 zero=code y=f32",
    "m=3 n=24 k=128 g=32 zero=code_m1 scale=f32",
    "m=2 n=24 k=128 g=32 zero=real bias=f16",
    "m=3 n=24 k=136 g=40 zero=code_m1 layout=gptq_v1",
    "m=3 n=24 k=128 layout=gptq_v1 zero=8 x=bf16 y=f32 bias=f32",
    "m=3 n=24 k=128 g=32 zero=code layout=gptq_v2 order=perm",
    "m=2 n=24 k=128 g=32 zero=code order=gidx groups=5 xs=140 ys=30 align=2",
};

}  // namespace

TEST_CASE("sums of the emulated kernel are exact where the data allow it") {
  for (const char* line : lines) {
    pass("exact.zero", line);
    pass("exact.dense24", line);
  }
}

TEST_CASE("the emulated kernel reads every operand where the layout has it") {
  for (const char* line : lines) {
    pass("address.code", line);
    pass("address.scale", line);
  }
}

TEST_CASE("the emulated kernel dequantises in the class that it declares") {
  for (const char* line : lines) pass("value.table", line);
}

TEST_CASE("NaN, infinity and subnormals go through the emulated kernel as IEEE says") {
  for (const char* line : lines) pass("exact.special", line);
}

TEST_CASE("the emulated kernel has no effect but its output") {
  for (const char* check : {"effect.written", "effect.guard", "effect.inputs", "effect.repeat",
                            "effect.batch", "effect.rowlocal", "effect.m0", "effect.stride",
                            "effect.state", "reject.reason", "reject.nowrite"})
    pass(check, "m=3 n=24 k=128 g=32 zero=code");
}

TEST_CASE("what the emulated kernel cannot do is declined with a reason") {
  for (const char* line : {"m=1 n=8 k=8 zero=add", "m=1 n=8 k=8 layout=kpack:01234567",
                           "m=1 n=8 k=8 x=f32 mul=f32", "m=1 n=8 k=8 x=s8 mul=s8"}) {
    const auto verdict = judge("cuda_emulated", "cuda_emulated.scalar", "exact.zero", line);
    INFO(line << ": " << verdict.reason);
    CHECK(verdict.outcome == Outcome::unsupported);
    CHECK(!verdict.reason.empty());
  }
}
