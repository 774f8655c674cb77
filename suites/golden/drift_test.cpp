// SPDX-License-Identifier: Apache-2.0
// Each kind of drift, planted in a file whose hashes are right, is named as what it is.
#include <catch2/catch_test_macros.hpp>

#include "harness/fixture/tensors.hpp"
#include "suites/golden/support.hpp"

namespace {

using namespace w4;

// The file as a reference would have written it that had other operands in its hands.
GoldenCase planted(const std::string& line,
                   const std::function<void(QuantizedMatrix&, Activations&)>& change) {
  auto c = golden_case(line);
  auto matrix = matrix_from(c.problem, c.weights);
  auto x = activations_from(c.problem, c.call);
  change(matrix, x);
  for (auto& result : c.classes) {
    result.exact = exact_products(x, matrix, result.dequant, c.problem.mul);
    for (std::size_t i = 0; i < result.y.size(); ++i)
      result.y[i] = round_word(result.exact[i], c.problem.y);
  }
  return c;
}

std::vector<Drift> drift_in(const GoldenCase& c) {
  const TemporaryFolder folder;
  return drift_of(through_file(c, folder).cases.at(0));
}

constexpr char plain[] = "m=3 n=12 k=96 g=32 zero=code";

}  // namespace

TEST_CASE("what was recorded does not drift") {
  for (const char* line : {plain, "m=2 n=8 k=64 g=16 zero=8 layout=gptq_v1 x=s8 y=f32 bias=f32",
                           "m=1 n=9 k=41 g=8 zero=real layout=kpack:02461357 x=bf16 y=bf16",
                           "m=2 n=8 k=40 g=8 groups=7 zero=add_8 x=f32 y=f32 order=gidx",
                           "m=2 n=5 k=31 zero=signed x=s4"})
    CHECK(drift_in(golden_case(line)).empty());
}

TEST_CASE("a zero point one step away is named with its group and column") {
  for (const char* line : {plain, "m=3 n=16 k=96 g=32 zero=code_m1 layout=gptq_v1",
                           "m=3 n=12 k=96 g=32 zero=real x=bf16 y=f32"}) {
    const auto drift = drift_in(planted(line, [](QuantizedMatrix& w, Activations&) {
      auto& z = w.zeros[w.at(2, 7)];
      z += z < 15 || !has_integer_zero(w.zero) ? 1u : 0xffffffffu;
    }));
    REQUIRE(drift.size() == 3);  // of each class
    for (const auto& d : drift) {
      INFO(d.what);
      CHECK(d.cls == DriftClass::zero);
      CHECK(d.tensor == "zero");
      CHECK(d.group == 2);
      CHECK(d.col == 7);
      CHECK(std::abs(d.step) == 1);
    }
  }
}

TEST_CASE("a zero point of 8 that became 9 everywhere is a step of every group") {
  const auto c = planted("m=3 n=8 k=64 g=16", [](QuantizedMatrix& w, Activations&) {
    w.zero = Zero::code;
    w.zeros.assign(static_cast<std::size_t>(w.groups * w.n), 9);
  });
  const auto drift = drift_in(c);
  REQUIRE(!drift.empty());
  CHECK(drift[0].cls == DriftClass::zero);
  CHECK(drift[0].step == 1);
  CHECK(drift[0].what.find("every group") != std::string::npos);
}

TEST_CASE("a scale one step away is named with its group and column") {
  const auto drift =
      drift_in(planted(plain, [](QuantizedMatrix& w, Activations&) { w.scales[w.at(1, 4)] -= 1; }));
  REQUIRE(!drift.empty());
  for (const auto& d : drift) {
    INFO(d.what);
    CHECK(d.cls == DriftClass::scale);
    CHECK(d.group == 1);
    CHECK(d.col == 4);
    CHECK(d.step == -1);
  }
}

TEST_CASE("words that were truncated are a rounding change toward zero") {
  auto c = golden_case(plain);
  auto& result = c.classes[1];
  std::size_t changed = 0;
  for (std::size_t i = 0; i < result.y.size(); ++i) {
    const auto cut =
        truncate_to(c.problem.y, result.exact[i].value.mant, result.exact[i].value.exp);
    changed += cut != result.y[i];
    result.y[i] = cut;
  }
  REQUIRE(changed > 2);
  const auto drift = drift_in(c);
  REQUIRE(drift.size() == 1);
  CHECK(drift[0].cls == DriftClass::rounding);
  CHECK(drift[0].dequant == "D5");
  CHECK(drift[0].count == changed);
  CHECK(drift[0].what.find("toward zero, at most 1 ulp") != std::string::npos);
}

TEST_CASE("one word one ulp high is a rounding change upward") {
  auto c = golden_case("m=1 n=4 k=32 zero=code y=f32 seed=3");
  auto& word = c.classes[0].y[2];
  word += word >> 31 ? 0xffffffffu : 1u;
  const auto drift = drift_in(c);
  REQUIRE(drift.size() == 1);
  CHECK(drift[0].cls == DriftClass::rounding);
  CHECK(drift[0].count == 1);
  CHECK(drift[0].what.find("upward, at most 1 ulp") != std::string::npos);
}

TEST_CASE("a lost tail is named with its length") {
  const auto drift =
      drift_in(planted("m=2 n=8 k=61 zero=code", [](QuantizedMatrix&, Activations& x) {
        for (std::int64_t m = 0; m < x.m; ++m)
          for (std::int64_t k = x.k - 5; k < x.k; ++k)
            x.words[static_cast<std::size_t>(m * x.k + k)] = 0;
      }));
  REQUIRE(!drift.empty());
  for (const auto& d : drift) {
    INFO(d.what);
    CHECK(d.cls == DriftClass::tail);
    CHECK(d.what == "the last 5 of k are left out");
  }
}

TEST_CASE("swapped columns and swapped nibbles are permutations") {
  auto c = golden_case(plain);
  for (auto& result : c.classes)
    for (std::int64_t m = 0; m < c.problem.m; ++m) {
      const auto at = static_cast<std::size_t>(m * c.problem.n);
      std::swap(result.exact[at + 2], result.exact[at + 9]);
      std::swap(result.y[at + 2], result.y[at + 9]);
    }
  const auto columns = drift_in(c);
  REQUIRE(columns.size() == 3);
  CHECK(columns[0].cls == DriftClass::permutation);
  CHECK(columns[0].tensor == "columns");
  CHECK(columns[0].what.find("0 1 9 3 4 5 6 7 8 2 10 11") != std::string::npos);

  const auto nibbles = drift_in(planted(plain, [](QuantizedMatrix& w, Activations&) {
    const auto codes = w.codes;
    for (std::int64_t k = 0; k < w.k; ++k)
      for (std::int64_t n = 0; n < w.n; ++n) w.codes[w.at(k, n)] = codes[w.at(k ^ 7, n)];
  }));
  REQUIRE(nibbles.size() == 3);
  CHECK(nibbles[0].cls == DriftClass::permutation);
  CHECK(nibbles[0].tensor == "codes");
  CHECK(nibbles[0].what.find("76543210") != std::string::npos);
}

TEST_CASE("what has no name is shown by its first elements") {
  const auto drift = drift_in(planted(plain, [](QuantizedMatrix& w, Activations&) {
    w.codes[w.at(3, 1)] ^= 5;
    w.codes[w.at(50, 2)] ^= 9;
  }));
  REQUIRE(!drift.empty());
  CHECK(drift[0].cls == DriftClass::other);
  CHECK(drift[0].what.find("y[0,1] was 0x") != std::string::npos);
}
