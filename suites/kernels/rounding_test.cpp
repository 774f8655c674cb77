// SPDX-License-Identifier: Apache-2.0
// Conversions of the kernels, seen through the kernels: k = 1 and a weight of 1 turn a product into
// a conversion.
#include <cmath>
#include <limits>
#include <utility>

#include <catch2/catch_test_macros.hpp>

#include "suites/kernels/rig.hpp"

namespace w4 {
namespace {

// y[i] = y_type(x[i] * scale * (code - 8)).
Case conversion(std::uint32_t x_type, std::uint32_t y_type, std::vector<double> values) {
  Case c =
      make_case("codes", W4_ZERO_8, x_type, {static_cast<std::int64_t>(values.size()), 1, 1, 1});
  c.p.y_type = y_type;
  c.p.x_stride = c.p.y_stride = 1;
  c.codes[0] = 9;
  c.scales[0] = 1;
  c.x = std::move(values);
  return c;
}

std::uint32_t infinity_of(std::uint32_t type) {
  return type == W4_F16 ? 0x7c00 : 0x7f80;
}

// Every finite positive number of the type, the middle between it and the next, and a shade either
// side of the middle.
void check_rounding(const std::string& kernel, std::uint32_t type, double sign) {
  std::vector<double> values;
  std::vector<std::uint32_t> want;
  const std::uint32_t negative = sign < 0 ? 0x8000 : 0;
  for (std::uint32_t word = 0; word < infinity_of(type); ++word) {
    const double low = decode(type, word);
    const double step = decode(type, word | 1) - decode(type, word & ~1u);
    const double middle = low + step / 2, shade = step / 256;
    if (type == W4_BF16 && middle >= 0x1.fffffep127) continue;  // no fp32 number there
    if (type == W4_BF16 && shade < 0x1p-149) continue;
    const std::uint32_t odd = word & 1;
    const std::pair<double, std::uint32_t> near[] = {
        {low, 0}, {middle - shade, 0}, {middle, odd}, {middle + shade, 1}};
    for (const auto& [value, up] : near) {
      if (value == 0) continue;  // the sum of 0 and -0 is 0
      values.push_back(sign * value);
      want.push_back(negative | (word + up));
    }
  }
  const Result result = run_case(find_kernel("cpu", kernel), conversion(W4_F32, type, values));
  REQUIRE(result.run == W4_OK);
  REQUIRE(values.size() > 100000);
  for (std::size_t i = 0; i < values.size(); ++i) {
    INFO("value " << values[i]);
    if (result.words[i] != want[i]) FAIL("word " << result.words[i] << " instead of " << want[i]);
  }
}

TEST_CASE("fp32 to fp16 rounds to nearest even over all of fp16") {
  check_rounding("cpu.scalar", W4_F16, 1);
  check_rounding("cpu.simd", W4_F16, -1);
}

TEST_CASE("fp32 to bf16 rounds to nearest even over all of bf16") {
  check_rounding("cpu.scalar", W4_BF16, 1);
  check_rounding("cpu.simd", W4_BF16, -1);
}

TEST_CASE("overflow goes to infinity from half a step above the largest number") {
  const w4_kernel& kernel = find_kernel("cpu", "cpu.scalar");
  const auto words = [&kernel](std::uint32_t type, std::vector<double> v) {
    return run_case(kernel, conversion(W4_F32, type, std::move(v))).words;
  };
  CHECK(words(W4_F16, {65519.99609375, 65520, -65520, 0x1p100}) ==
        std::vector<std::uint32_t>{0x7bff, 0x7c00, 0xfc00, 0x7c00});
  CHECK(words(W4_BF16, {0x1.feffp127, 0x1.ffp127, -0x1.fffffep127}) ==
        std::vector<std::uint32_t>{0x7f7f, 0x7f80, 0xff80});
}

TEST_CASE("the sum is rounded once") {
  // 1 + 2^-11 is a tie of fp16, and 2^-30 beyond it, lost in fp32, decides it; integers keep it in
  // fp64.
  Case c = make_case("codes", W4_ZERO_8, W4_S8, {1, 1, 3, 1});
  c.p.y_type = W4_F16;
  c.codes = {9, 9, 9};
  c.x = {1, 1, 1};
  c.scales = {1, std::ldexp(1, -11), std::ldexp(1, -24)};
  CHECK(run_case(find_kernel("cpu", "cpu.scalar_s8"), c).words ==
        std::vector<std::uint32_t>{0x3c01});
  c.scales[2] = 0;
  CHECK(run_case(find_kernel("cpu", "cpu.scalar_s8"), c).words ==
        std::vector<std::uint32_t>{0x3c00});
}

TEST_CASE("every finite 16-bit number is read exactly") {
  for (const char* name : {"cpu.scalar", "cpu.simd", "example.scalar"}) {
    const std::string plugin = name[0] == 'c' ? "cpu" : "example";
    for (const std::uint32_t type : {W4_F16, W4_BF16}) {
      if (plugin == "example" && type == W4_BF16) continue;
      std::vector<double> values;
      for (std::uint32_t word = 0; word < 0x10000; ++word) {
        if ((word & 0x7fff) < infinity_of(type)) values.push_back(decode(type, word));
      }
      const Result result = run_case(find_kernel(plugin, name), conversion(type, W4_F32, values));
      REQUIRE(result.run == W4_OK);
      REQUIRE(result.y == values);
    }
  }
}

TEST_CASE("example.scalar rounds a half product to nearest even") {
  std::vector<double> values;
  for (std::uint32_t word = 0; word < 0x7c00; ++word) values.push_back(decode(W4_F16, word));
  Case c = conversion(W4_F16, W4_F16, values);
  c.codes[0] = 11;  // times 3, over 4
  c.scales[0] = 0.25;
  const Result result = run_case(find_kernel("example", "example.scalar"), c);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double exact = values[i] * 0.75;
    int exponent = 0;
    std::frexp(exact, &exponent);
    const int step = std::max(exponent, -13) - 11;
    const double want = std::ldexp(std::nearbyint(std::ldexp(exact, -step)), step);
    REQUIRE(result.y[i] == want);
  }
}

TEST_CASE("cpu.bit_trick: each code, zero and scale is RN((q-z)*s)") {
  for (const std::uint32_t type : {W4_F16, W4_BF16}) {
    for (const std::uint32_t zero : {W4_ZERO_8, W4_ZERO_CODE, W4_ZERO_CODE_M1, W4_ZERO_REAL}) {
      // Eight k, one-hot rows: y[m][n] is the weight (m, n).
      Case c = make_case("kpack:02461357", zero, type, {8, 256, 8, 8});
      for (std::size_t i = 0; i < c.x.size(); ++i) c.x[i] = i % 9 == 0 ? 1 : 0;
      for (std::size_t n = 0; n < 256; ++n) {
        c.scales[n] = decode(type, type == W4_F16 ? static_cast<std::uint32_t>(0x1001 + 7 * n)
                                                  : static_cast<std::uint32_t>(0x3c01 + n));
        if (zero == W4_ZERO_REAL) {
          c.zeros[n] = decode(
              type, static_cast<std::uint32_t>((type == W4_F16 ? 0x4013 : 0x4003) + 5 * n % 0x100));
        }
      }
      const Result result = run_case(find_kernel("cpu", "cpu.bit_trick"), c);
      REQUIRE(result.run == W4_OK);
      for (std::size_t i = 0; i < result.y.size(); ++i) {
        const double s = c.scales[i % 256], z = c.zeros[i % 256];
        REQUIRE(result.y[i] == rounded(type, rounded(type, c.codes[i] - z) * s));
      }
    }
  }
}

TEST_CASE("NaN and infinity stay in their row") {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const char* name :
       {"cpu.scalar", "cpu.simd", "cpu.bit_trick", "cpu.folded", "cpu.dense", "cpu.auto"}) {
    for (const std::uint32_t type : {W4_F32, W4_F16, W4_BF16}) {
      Case c = make_case("gptq_v2", W4_ZERO_8, W4_F16, {5, 8, 24, 8});
      c.p.y_type = type;
      c.codes.assign(c.codes.size(), 9);  // every weight is positive
      const std::vector<double> clean = run_case(find_kernel("cpu", name), c).y;
      c.x[24 + 3] = std::nan("");
      c.x[2 * 24 + 5] = infinity;
      c.x[3 * 24 + 5] = infinity, c.x[3 * 24 + 7] = -infinity;
      const std::vector<double> y = run_case(find_kernel("cpu", name), c).y;
      INFO(name << " y type " << type);
      REQUIRE(y.size() == 40);
      for (std::size_t n = 0; n < 8; ++n) {
        CHECK(y[n] == clean[n]);
        CHECK(std::isnan(y[8 + n]));
        CHECK(y[16 + n] == infinity);
        CHECK(std::isnan(y[24 + n]));
        CHECK(y[32 + n] == clean[32 + n]);
      }
    }
  }
}

TEST_CASE("a row has the same bits alone and among many") {
  for (const char* name : {"cpu.scalar", "cpu.simd", "cpu.bit_trick", "cpu.folded", "cpu.dense"}) {
    Case all = make_case("kpack:02461357", W4_ZERO_CODE, W4_F16, {70, 40, 160, 32});
    for (std::size_t i = 0; i < all.scales.size(); ++i) {
      all.scales[i] = decode(W4_F16, static_cast<std::uint32_t>(0x2c01 + i * 37 % 0x3ff));
    }
    for (std::size_t i = 0; i < all.x.size(); ++i) {
      const auto word = static_cast<std::uint32_t>(0x2001 + i * 7919 % 0x1fff);
      all.x[i] = decode(W4_F16, i % 3 == 0 ? word | 0x8000 : word);
    }
    const Result together = run_case(find_kernel("cpu", name), all);
    REQUIRE(together.run == W4_OK);
    for (const std::int64_t row : {0, 15, 16, 63, 64, 69}) {
      Case one = all;
      one.p.m = 1;
      one.x.assign(all.x.begin() + row * 160, all.x.begin() + (row + 1) * 160);
      const Result alone = run_case(find_kernel("cpu", name), one);
      const std::vector<std::uint32_t> same(together.words.begin() + row * 40,
                                            together.words.begin() + (row + 1) * 40);
      CHECK(alone.words == same);
    }
  }
}

}  // namespace
}  // namespace w4
