// SPDX-License-Identifier: Apache-2.0
// Activations narrowed to 8 bits by the kernel: the rule, what fills its range, what is no number.
#include <algorithm>
#include <cmath>
#include <limits>

#include <catch2/catch_test_macros.hpp>

#include "suites/kernels/rig.hpp"

namespace w4 {
namespace {

const double nan_value = std::numeric_limits<double>::quiet_NaN();

struct Narrowed {
  double scale;
  std::vector<double> x;  // what is multiplied, an integer
};

Narrowed by_amax(const double* x, std::int64_t count) {
  double amax = 0;
  for (std::int64_t i = 0; i < count; ++i) amax = std::max(amax, std::fabs(x[i]));
  Narrowed out{rounded(W4_F32, amax / 127), {}};
  for (std::int64_t i = 0; i < count; ++i) {
    out.x.push_back(out.scale == 0 ? 0 : std::nearbyint(x[i] / out.scale));
  }
  return out;
}

Narrowed by_minmax(const double* x, std::int64_t count) {
  const double lo = std::min(0.0, *std::min_element(x, x + count));
  const double hi = std::max(0.0, *std::max_element(x, x + count));
  Narrowed out{rounded(W4_F32, (hi - lo) / 255), {}};
  const double zero = out.scale == 0 ? 0 : std::nearbyint(-lo / out.scale);
  for (std::int64_t i = 0; i < count; ++i) {
    const double q = out.scale == 0 ? zero : std::nearbyint(x[i] / out.scale) + zero;
    out.x.push_back(std::clamp(q, 0.0, 255.0) - zero);
  }
  return out;
}

Case narrow_case(const char* layout, std::uint32_t zero, std::uint32_t type, std::int64_t x_group) {
  Case c = ragged(make_case(layout, zero, type, {5, 16, 80, 16}));
  for (double& s : c.scales) s = std::ldexp(1, -static_cast<int>(std::fabs(s) * 97) % 4);
  c.p.mul_type = W4_S8;
  c.p.x_group = x_group;
  for (std::size_t k = 0; k < 80; ++k) c.x[80 + k] = 0;  // row 1
  return c;
}

TEST_CASE("cpu.x_int8: rows are narrowed by their rule, then multiplied exactly") {
  for (const bool amax : {true, false}) {
    const w4_kernel& kernel = find_kernel("cpu", amax ? "cpu.x_int8_amax" : "cpu.x_int8_minmax");
    for (const char* layout : {"codes", "gptq_v2"}) {
      for (const std::uint32_t type : {W4_F16, W4_BF16, W4_F32}) {
        for (const std::int64_t x_group : {80, 32, 7}) {
          Case c = narrow_case(layout, W4_ZERO_CODE, type, x_group);
          const Result result = run_case(kernel, c);
          REQUIRE(result.run == W4_OK);
          // The same problem with the integers as stored activations.
          Case integers = c;
          for (std::int64_t m = 0; m < 5; ++m) {
            for (std::int64_t k = 0; k < 80; k += x_group) {
              double* x = integers.x.data() + m * 80 + k;
              const std::int64_t count = std::min(x_group, 80 - k);
              const Narrowed n = amax ? by_amax(x, count) : by_minmax(x, count);
              integers.x_scale.push_back(n.scale);
              std::copy(n.x.begin(), n.x.end(), x);
            }
          }
          const std::vector<double> want = plain_product(integers);
          for (std::size_t i = 0; i < want.size(); ++i) {
            INFO(kernel.name << " " << layout << " type=" << type << " x_group=" << x_group);
            // Few terms, each exact: fp64 has room for the sum but for its last places.
            REQUIRE(std::fabs(result.y[i] - want[i]) <= 0x1p-24 * std::fabs(want[i]));
            if (i / 16 == 1) REQUIRE(result.y[i] == 0);
          }
        }
      }
    }
  }
}

TEST_CASE("cpu.x_int8: integers that fill their range come through exactly") {
  for (const bool amax : {true, false}) {
    for (const std::uint32_t zero : {W4_ZERO_SIGNED, W4_ZERO_8, W4_ZERO_CODE, W4_ZERO_CODE_M1}) {
      Case c = make_case("codes", zero, W4_F16, {3, 8, 64, 16});
      c.p.mul_type = W4_S8;
      c.p.x_group = 16;
      for (std::size_t i = 0; i < c.x.size(); ++i) {
        c.x[i] = static_cast<double>(i * 37 % 255) - 127;
        if (i % 16 == 3) c.x[i] = 127;
        if (i % 16 == 9) c.x[i] = amax ? -127 : -128;
      }
      const char* name = amax ? "cpu.x_int8_amax" : "cpu.x_int8_minmax";
      CHECK(run_case(find_kernel("cpu", name), c).y == plain_product(c));
    }
  }
}

TEST_CASE("cpu.x_int8: a NaN or infinity makes its own row NaN") {
  for (const char* name : {"cpu.x_int8_amax", "cpu.x_int8_minmax"}) {
    for (const double special : {nan_value, std::numeric_limits<double>::infinity(),
                                 -std::numeric_limits<double>::infinity()}) {
      Case c = narrow_case("codes", W4_ZERO_CODE, W4_F16, 32);
      const std::vector<double> clean = run_case(find_kernel("cpu", name), c).y;
      c.x[2 * 80 + 41] = special;
      const std::vector<double> y = run_case(find_kernel("cpu", name), c).y;
      for (std::size_t i = 0; i < y.size(); ++i) {
        if (i / 16 == 2) {
          CHECK(std::isnan(y[i]));
        } else {
          CHECK(y[i] == clean[i]);
        }
      }
    }
  }
}

}  // namespace
}  // namespace w4
