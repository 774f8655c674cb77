// SPDX-License-Identifier: Apache-2.0
// A form predicts its own words and is told from the others; known faults are named.
#include "harness/checks/form.hpp"

#include <algorithm>
#include <cmath>

#include <catch2/catch_test_macros.hpp>

#include "harness/checks/data.hpp"
#include "suites/support/context.hpp"

namespace {

using namespace w4;

// Observations of all codes under generic scales and zeros, as a kernel of that form would give
// them.
std::vector<Observation> table_of(const LooseContext& c, const Form& form, double x = 4.0 / 3.0) {
  const auto& p = c.problem;
  const auto matrix = generic_matrix(c.context);
  std::vector<Observation> seen;
  for (std::int64_t g = 0; g < p.groups; ++g)
    for (std::int64_t n = 0; n < p.n; ++n)
      for (std::uint8_t code = 0; code < 16; ++code) {
        const auto cell = matrix.at(g, n);
        Observation o{0,
                      0,
                      n,
                      code,
                      matrix.zeros.empty() ? 0 : matrix.zeros[cell],
                      matrix.scales[cell],
                      from_double(p.x, x),
                      1.0F,
                      0};
        o.got = predict(p, form, o);
        seen.push_back(o);
      }
  return seen;
}

bool found(const Identified& i, std::string_view name) {
  return std::any_of(i.forms.begin(), i.forms.end(),
                     [&](const Form& f) { return class_name(f) == name; });
}

}  // namespace

TEST_CASE("each class is recognised from its words and the others are ruled out") {
  const LooseContext c("m=1 n=32 k=128 g=32 zero=code");
  struct Row {
    Form form;
    const char* name;
  };
  const Row rows[] = {{{WeightStep::round, Type::f16, OutputStep::through_f32}, "D1"},
                      {{WeightStep::d2, Type::f16, OutputStep::through_f32}, "D2"},
                      {{WeightStep::d3, Type::f16, OutputStep::through_f32}, "D3"},
                      {{WeightStep::d4, Type::f16, OutputStep::through_f32}, "D4"},
                      {{WeightStep::exact, Type::f32, OutputStep::through_f32}, "D5"}};
  for (const auto& row : rows) {
    const auto result = identify(c.problem, table_of(c, row.form));
    INFO(row.name);
    CHECK(found(result, row.name));
    for (const auto& other : rows)
      if (other.name != std::string(row.name)) CHECK_FALSE(found(result, other.name));
  }
}

TEST_CASE("with x = 1 a rounded weight and a late scale look alike") {
  const LooseContext c("m=1 n=32 k=128 g=32 zero=code");
  const auto result =
      identify(c.problem, table_of(c, {WeightStep::round, Type::f16, OutputStep::once}, 1.0));
  CHECK(found(result, "D1"));
  CHECK(found(result, "D5"));
}

TEST_CASE("real zeros: D6 is told from D1 and D5") {
  const LooseContext c("m=1 n=32 k=128 g=32 zero=real");
  const auto result =
      identify(c.problem, table_of(c, {WeightStep::d6, Type::f16, OutputStep::through_f32}));
  CHECK(found(result, "D6"));
  CHECK_FALSE(found(result, "D1"));
}

TEST_CASE("additive zeros: D7 is told from one fma") {
  const LooseContext c("m=1 n=32 k=128 g=32 zero=add_8");
  const auto result =
      identify(c.problem, table_of(c, {WeightStep::d7, Type::f16, OutputStep::through_f32}));
  CHECK(found(result, "D7"));
  CHECK_FALSE(found(result, "D1"));
}

TEST_CASE("predictions agree with plain float arithmetic where that is exact") {
  const LooseContext c("m=1 n=1 k=32 g=32 zero=code y=f32");
  Observation o;
  o.code = 11, o.zero = 3, o.scale = from_double(Type::f16, 0.3),
  o.x = from_double(Type::f16, 4.0 / 3.0);
  const float s = static_cast<float>(to_double(Type::f16, o.scale)),
              x = static_cast<float>(to_double(Type::f16, o.x));
  const auto word = [](float f) { return from_double(Type::f32, static_cast<double>(f)); };
  const auto& p = c.problem;
  CHECK(predict(p, {WeightStep::exact, Type::f32, OutputStep::scale_last}, o) ==
        word(x * 8.0F * s));
  CHECK(predict(p, {WeightStep::exact, Type::f32, OutputStep::x_times_scale}, o) ==
        word(x * s * 8.0F));
  CHECK(predict(p, {WeightStep::exact, Type::f32, OutputStep::split, {}, Type::none}, o) ==
        word(x * 11.0F * s - x * 3.0F * s));
  CHECK(predict(p, {WeightStep::d2, Type::f32, OutputStep::through_f32}, o) ==
        word(x * (11.0F * s - 3.0F * s)));
}

TEST_CASE("known faults are named") {
  struct Row {
    const char* id;
    void (*spoil)(const Problem&, Observation&);
  };
  const Row rows[] = {
      {"zero_plus_1", [](const Problem&, Observation& o) { o.zero += 1; }},
      {"zero_minus_1", [](const Problem&, Observation& o) { o.zero -= 1; }},
      {"zero_as_8", [](const Problem&, Observation& o) { o.zero = 8; }},
      {"scale_sign_lost", [](const Problem&, Observation& o) { o.scale &= 0x7fff; }},
      {"scale_flushed",
       [](const Problem&, Observation& o) {
         if ((o.scale & 0x7c00) == 0) o.scale = 0;
       }},
  };
  const LooseContext c("m=1 n=64 k=128 g=32 zero=code_m1");
  for (const auto& row : rows) {
    const Form form{WeightStep::exact, Type::f32, OutputStep::through_f32};
    auto seen = table_of(c, form);
    for (auto& o : seen) {
      Observation wrong = o;
      row.spoil(c.problem, wrong);
      o.got = predict(c.problem, form, wrong);
    }
    const auto result = identify(c.problem, seen);
    INFO(row.id);
    CHECK(result.forms.empty());
    CHECK(result.fault_id == row.id);
  }
}

TEST_CASE("truncation to the output type is named") {
  const LooseContext c("m=1 n=64 k=128 g=32 zero=code");
  LooseContext wide("m=1 n=64 k=128 g=32 zero=code y=f32");
  const Form form{WeightStep::exact, Type::f32, OutputStep::through_f32};
  auto seen = table_of(wide, form);
  for (auto& o : seen) {
    const auto exact = decode(Type::f32, o.got).value;
    o.got = truncate_to(Type::f16, exact.mant, exact.exp);
  }
  const auto result = identify(c.problem, seen);
  CHECK(result.forms.empty());
  CHECK(result.fault_id == "truncation");
}

TEST_CASE("zero=8 read as 7 is named though no zero is stored") {
  const LooseContext c("m=1 n=64 k=128 g=32 zero=8"), code("m=1 n=64 k=128 g=32 zero=code");
  const Form form{WeightStep::exact, Type::f32, OutputStep::through_f32};
  auto seen = table_of(c, form);
  for (auto& o : seen) {
    auto wrong = o;
    wrong.zero = 7;
    o.got = predict(code.problem, form, wrong);
  }
  const auto result = identify(c.problem, seen);
  CHECK(result.forms.empty());
  CHECK(result.fault_id == "zero_minus_1");
}

TEST_CASE("one wrong word among thousands leaves no form") {
  const LooseContext c("m=1 n=64 k=128 g=32 zero=code");
  auto seen = table_of(c, {WeightStep::exact, Type::f32, OutputStep::through_f32});
  seen[1717].got ^= 1;
  const auto result = identify(c.problem, seen);
  CHECK(result.forms.empty());
  CHECK(result.fault.empty());
  REQUIRE(result.off.size() == 1);
  CHECK(result.off.front() == 1717);
}
