// SPDX-License-Identifier: Apache-2.0
// Kernels that differ in how they come by a weight: gathered rows, folded and additive zeros, a
// dense matrix.
#include <algorithm>
#include <cmath>
#include <limits>

#include <catch2/catch_test_macros.hpp>

#include "suites/kernels/rig.hpp"

namespace w4 {
namespace {

const double nan_value = std::numeric_limits<double>::quiet_NaN();

// Scales of groups that no k names become NaN, and so do zeros that are numbers of a float type.
int poison_unused(Case& c) {
  int unused = 0;
  for (std::int64_t g = 0; g < c.p.groups; ++g) {
    if (std::count(c.g_idx.begin(), c.g_idx.end(), static_cast<std::int32_t>(g)) > 0) continue;
    ++unused;
    for (std::int64_t n = 0; n < c.p.n; ++n) {
      const auto i = static_cast<std::size_t>(g * c.p.n + n);
      c.scales[i] = nan_value;
      if (c.p.zero >= W4_ZERO_REAL) c.zeros[i] = nan_value;
    }
  }
  return unused;
}

TEST_CASE("cpu.gather, cpu.dense and cpu.scalar follow any g_idx and touch no unused group") {
  int unused = 0;
  for (const char* name : {"cpu.gather", "cpu.dense", "cpu.scalar", "cpu.auto"}) {
    for (const char* layout : {"codes", "gptq_v1", "gptq_v2", "compressed_tensors"}) {
      for (std::uint32_t zero = W4_ZERO_SIGNED; zero <= W4_ZERO_ADD_8; ++zero) {
        for (const std::int64_t m : {1, 5, 70}) {
          for (const bool equal : {true, false}) {
            const std::string stored = layout;
            const std::uint32_t integer = stored == "gptq_v1" ? W4_ZERO_CODE_M1 : W4_ZERO_CODE;
            if (stored != "codes" && zero != W4_ZERO_8 && zero != integer) continue;
            Case c = act_ordered(make_case(layout, zero, W4_F16, {m, 24, 88, 8}), equal);
            unused += poison_unused(c);
            const Result result = run_case(find_kernel("cpu", name), c);
            INFO(name << " " << layout << " zero=" << zero << " m=" << m << " " << result.reason);
            REQUIRE(result.run == W4_OK);
            REQUIRE(result.ran == result.path);
            REQUIRE(result.y == plain_product(c));
          }
        }
      }
    }
  }
  CHECK(unused > 100);
}

TEST_CASE("cpu.gather declines a problem without act-order") {
  const Case c = make_case("codes", W4_ZERO_CODE, W4_F16, {1, 8, 16, 8});
  const Result result = run_case(find_kernel("cpu", "cpu.gather"), c);
  CHECK(result.plan == W4_UNSUPPORTED);
  CHECK(result.reason.rfind("no act-order", 0) == 0);
}

// One-hot rows of 1: y[m][n] is the weight (m, n).
Case weights_seen(const char* layout, std::uint32_t zero, std::uint32_t type) {
  Case c = ragged(make_case(layout, zero, type, {64, 136, 64, 32}));
  for (std::size_t i = 0; i < c.x.size(); ++i) c.x[i] = i % 65 == 0 ? 1 : 0;
  return c;
}

struct Weight {
  double q, z, s;
};

template <typename Expected>
void check_weights(const char* kernel, const Case& c, Expected expected) {
  const Result result = run_case(find_kernel("cpu", kernel), c);
  INFO(kernel << " " << c.layout << " zero=" << c.p.zero << " type=" << c.p.x_type);
  REQUIRE(result.run == W4_OK);
  int other = 0;
  for (std::size_t i = 0; i < result.y.size(); ++i) {
    const std::size_t group = i / (136 * 32), cell = group * 136 + i % 136;
    const Weight w{static_cast<double>(c.codes[i]), c.zeros[cell], c.scales[cell]};
    REQUIRE(result.y[i] == expected(w));
    other += result.y[i] != rounded(c.p.x_type, (w.q - w.z) * w.s) ? 1 : 0;
  }
  // The case tells the class from RN((q-z)*s), unless that is the class.
  CHECK((std::string(kernel) == "cpu.dense" || other > 0));
}

TEST_CASE("cpu.folded: each weight is RN(q*s - RN(z*s))") {
  for (const std::uint32_t type : {W4_F16, W4_BF16}) {
    for (const std::uint32_t zero : {W4_ZERO_8, W4_ZERO_CODE, W4_ZERO_CODE_M1, W4_ZERO_REAL}) {
      if (zero == W4_ZERO_8) continue;  // 8*s is exact: the same words as D1
      check_weights("cpu.folded", weights_seen("codes", zero, type), [type](Weight w) {
        return rounded(type, w.q * w.s - rounded(type, w.z * w.s));
      });
    }
  }
}

TEST_CASE("cpu.dense: each weight is RN((q-z)*s), also with wide scales") {
  for (const std::uint32_t type : {W4_F16, W4_BF16}) {
    for (const std::uint32_t scale : {W4_F16, W4_BF16, W4_F32}) {
      for (std::uint32_t zero = W4_ZERO_SIGNED; zero <= W4_ZERO_REAL; ++zero) {
        Case c = make_case("codes", zero, type, {64, 136, 64, 32});
        c.p.scale_type = scale;
        c = ragged(c);
        for (std::size_t i = 0; i < c.x.size(); ++i) c.x[i] = i % 65 == 0 ? 1 : 0;
        check_weights("cpu.dense", c,
                      [type](Weight w) { return rounded(type, (w.q - w.z) * w.s); });
      }
    }
  }
}

TEST_CASE("cpu.additive: each weight is RN(RN(c*s) + z)") {
  for (const std::uint32_t type : {W4_F16, W4_BF16}) {
    for (const std::uint32_t zero : {W4_ZERO_ADD, W4_ZERO_ADD_8}) {
      Case c = weights_seen("kpack:02461357", zero, type);
      const int centre = zero == W4_ZERO_ADD_8 ? 8 : 0;
      check_weights("cpu.additive", c, [=](Weight w) {
        return rounded(type, rounded(type, (w.q - centre) * w.s) + w.z);
      });
    }
  }
}

TEST_CASE("cpu.additive rounds subnormal products and goes to infinity as f16 does") {
  Case c = make_case("codes", W4_ZERO_ADD, W4_F16, {1, 6, 1, 1});
  c.codes = {1, 3, 5, 15, 15, 0};
  c.scales = {0x1p-24, 0x3p-24, 0x1.004p-14, 60000, 4368, 1};
  c.zeros = {0x1p-24, -0x1p-24, 0, 0, 0, -0x1.ff8p-15};
  c.x = {1};
  const std::vector<double> y = run_case(find_kernel("cpu", "cpu.additive"), c).y;
  const double infinity = std::numeric_limits<double>::infinity();
  // 15 * 4368 = 65520 is the tie with the first number too large.
  CHECK(y == std::vector<double>{0x2p-24, 0x8p-24, rounded(W4_F16, 0x5.014p-14), infinity, infinity,
                                 -0x1.ff8p-15});
}

}  // namespace
}  // namespace w4
