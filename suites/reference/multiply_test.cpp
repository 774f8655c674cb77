// SPDX-License-Identifier: Apache-2.0
// The oracle against double arithmetic wherever that is exact, and against IEEE's rules for what is
// not a number.
#include "reference/multiply.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "reference/error.hpp"
#include "suites/reference/product_support.hpp"
#include "suites/support/property.hpp"

namespace w4 {
namespace {

double rounded(Type t, double v) {
  return to_double(t, from_double(t, v));
}

// The weight in double steps, rounded where the class says. Exact between roundings for 16-bit
// scales and zeros.
double weight_in_double(const QuantizedMatrix& w, Dequant dequant, Type h, std::int64_t k,
                        std::int64_t n) {
  const std::size_t at = w.at(w.group_of(k), n);
  const double s = to_double(w.scale_type, w.scales[at]);
  double q = code_value(w.zero, w.codes[w.at(k, n)]), z = 0;
  if (w.zero == Zero::eight) z = 8;
  if (w.zero == Zero::code || w.zero == Zero::code_m1) z = w.zeros[at];
  if (w.zero >= Zero::real) z = to_double(w.zero_type, w.zeros[at]);
  if (w.zero == Zero::add || w.zero == Zero::add_8) {
    if (w.zero == Zero::add_8) q -= 8;
    if (dequant == Dequant::d6) return rounded(h, rounded(h, q * s) + z);
    return dequant == Dequant::d1 ? rounded(h, q * s + z) : q * s + z;
  }
  if (dequant == Dequant::d6) return rounded(h, rounded(h, q - z) * s);
  return dequant == Dequant::d1 ? rounded(h, (q - z) * s) : (q - z) * s;
}

double in_double(const Weight& w) {
  if (w.kind == NumberKind::nan) return std::numeric_limits<double>::quiet_NaN();
  if (w.kind == NumberKind::infinite) return w.sign * std::numeric_limits<double>::infinity();
  double sum = 0;
  for (const Dyadic& t : w.terms.term) sum += std::ldexp(static_cast<double>(t.mant), t.exp);
  return sum;
}

double y_in_double(const Product& p, Dequant dequant, Type h, std::int64_t m, std::int64_t n) {
  double sum =
      p.w.bias.empty() ? 0 : to_double(p.w.bias_type, p.w.bias[static_cast<std::size_t>(n)]);
  const std::int64_t groups = p.x.scale.empty() ? 0 : (p.x.k + p.x.group - 1) / p.x.group;
  for (std::int64_t k = 0; k < p.x.k; ++k) {
    const double x = to_double(p.x.type, p.x.words[static_cast<std::size_t>(m * p.x.k + k)]);
    const double scale =
        groups == 0
            ? 1.0
            : static_cast<double>(p.x.scale[static_cast<std::size_t>(m * groups + k / p.x.group)]);
    sum += scale * x * weight_in_double(p.w, dequant, h, k, n);
  }
  return sum;
}

bool same(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

const Dequant classes[] = {Dequant::d1, Dequant::d5, Dequant::d6};

// One code, one scale, one zero.
QuantizedMatrix one_weight(Zero zero, std::uint8_t code, std::uint32_t scale, std::uint32_t z) {
  QuantizedMatrix w{1,      1,       1,  1,  zero, Type::f16, Type::f16,
                    {code}, {scale}, {}, {}, {},   Type::none};
  if (has_stored_zero(zero)) w.zeros = {z};
  return w;
}

// y of one row x with the weights of column 0, D5.
std::uint32_t dot(std::vector<double> x, const std::vector<double>& w, Type y,
                  Type types = Type::f32) {
  const auto k = static_cast<std::int64_t>(x.size());
  QuantizedMatrix q;
  q.k = q.groups = k;
  q.n = q.group = 1;
  q.zero = Zero::signed_codes;
  q.scale_type = types;
  q.codes.assign(x.size(), 1);
  for (const double v : w) q.scales.push_back(from_double(types, v));
  Activations a{types, 1, k, {}, {}, 0};
  for (const double v : x) a.words.push_back(from_double(types, v));
  return multiply(a, q, Dequant::d5, types, y).at(0);
}

}  // namespace

TEST_CASE("multiply: f16 weights of every code, integer zero and f16 scale") {
  std::uint32_t wrong = 0, seen = 0;
  for (std::uint32_t scale = 0; scale < 0x10000; scale += 7) {
    for (std::uint8_t code = 0; code < 16; ++code) {
      const auto z = (scale / 7 + code) % 17;
      for (const Zero zero : {Zero::signed_codes, Zero::eight, Zero::code, Zero::code_m1}) {
        const QuantizedMatrix w = one_weight(zero, code, scale, z);
        for (const Dequant d : classes) {
          const double expected = weight_in_double(w, d, Type::f16, 0, 0);
          wrong += same(in_double(weight(w, d, Type::f16, 0, 0)), expected) ? 0 : 1;
          ++seen;
        }
      }
    }
  }
  CHECK(wrong == 0);
  CHECK(seen == 9363 * 16 * 4 * 3);
}

TEST_CASE("multiply: weights with real and additive zeros round where the class says") {
  check_property(
      "weight() == double steps", [](std::uint16_t scale, std::uint16_t zero, std::uint32_t pick) {
        const Zero form = static_cast<Zero>(static_cast<std::uint32_t>(Zero::real) + pick % 3);
        const Type h = pick / 3 % 2 == 0 ? Type::f16 : Type::bf16;
        const QuantizedMatrix w = one_weight(form, pick / 6 % 16, scale, zero);
        for (const Dequant d : classes) {
          RC_ASSERT(same(in_double(weight(w, d, h, 0, 0)), weight_in_double(w, d, h, 0, 0)));
        }
      });
}

TEST_CASE("multiply: the classes differ where they should") {
  // s = 1 + 2^-10: 3*s needs 12 bits; z = 0.1 in f16: 15-z needs 18.
  const QuantizedMatrix scaled = one_weight(Zero::signed_codes, 3, 0x3c01, 0);
  CHECK(in_double(weight(scaled, Dequant::d5, Type::f16, 0, 0)) == 3 + 3 * 0x1p-10);
  CHECK(in_double(weight(scaled, Dequant::d1, Type::f16, 0, 0)) == 3 + 2 * 0x1p-9);
  const QuantizedMatrix real = one_weight(Zero::real, 15, 0x3c01, 0x2e66);
  const double z = to_double(Type::f16, 0x2e66);
  const double difference = rounded(Type::f16, 15 - z);
  CHECK(in_double(weight(real, Dequant::d5, Type::f16, 0, 0)) == (15 - z) * (1 + 0x1p-10));
  CHECK(in_double(weight(real, Dequant::d6, Type::f16, 0, 0)) ==
        rounded(Type::f16, difference * (1 + 0x1p-10)));
  CHECK(difference != 15 - z);
}

TEST_CASE("multiply: a real zero far from the code's grid takes two terms, and none is lost") {
  QuantizedMatrix w = one_weight(Zero::real, 15, from_double(Type::f32, 1), 1);
  w.scale_type = w.zero_type = Type::f32;  // z = 2^-149
  const Weight v = weight(w, Dequant::d5, Type::f32, 0, 0);
  ExactSum left;
  for (const Dyadic& t : v.terms.term) left.add(t.mant, t.exp);
  left.add(-15, 0);
  left.add(1, -149);
  CHECK(left.is_zero());
  CHECK(v.sign == 1);
  CHECK(weight_terms(w, Dequant::d5, Type::f32, 0, 0).term[1].mant != 0);
}

TEST_CASE("multiply: weights that are no number") {
  const auto kind = [](const QuantizedMatrix& w, Dequant d) {
    return weight(w, d, Type::f16, 0, 0);
  };
  for (const Dequant d : classes) {
    CHECK(kind(one_weight(Zero::eight, 9, 0x7e00, 0), d).kind == NumberKind::nan);
    CHECK(kind(one_weight(Zero::eight, 9, 0x7c00, 0), d).kind == NumberKind::infinite);
    CHECK(kind(one_weight(Zero::eight, 7, 0x7c00, 0), d).sign == -1);
    CHECK(kind(one_weight(Zero::eight, 8, 0x7c00, 0), d).kind == NumberKind::nan);      // 0 * Inf
    CHECK(kind(one_weight(Zero::real, 3, 0x0000, 0x7c00), d).kind == NumberKind::nan);  // -Inf * 0
    CHECK(kind(one_weight(Zero::real, 3, 0x3c00, 0x7c00), d).sign == -1);
    CHECK(kind(one_weight(Zero::add, 1, 0x7c00, 0xfc00), d).kind == NumberKind::nan);  // Inf - Inf
    CHECK(kind(one_weight(Zero::add, 0, 0x3c00, 0xfc00), d).sign == -1);
  }
  // 15 * 65504 is a number until it is rounded to f16.
  const QuantizedMatrix large = one_weight(Zero::code, 15, 0x7bff, 0);
  CHECK(kind(large, Dequant::d5).kind == NumberKind::finite);
  CHECK(kind(large, Dequant::d1).kind == NumberKind::infinite);
  CHECK_NOTHROW(weight_terms(large, Dequant::d5, Type::f16, 0, 0));
  CHECK_THROWS_AS(weight_terms(large, Dequant::d1, Type::f16, 0, 0), Error);
}

TEST_CASE("multiply: integer data equal double arithmetic, for every form and type") {
  std::uint32_t cases = 0, wrong = 0, nonzero = 0;
  for (std::uint32_t pick = 0; pick < all_forms; ++pick) {
    const Forms f = forms_from(pick);
    const Product p = make_product({2, 3, 7, 3}, f, Data::integers, pick);
    const Dequant d = classes[pick % 3];
    const Type y = pick % 5 == 0 ? Type::f16 : Type::f32;
    const auto got = multiply(p.x, p.w, d, Type::f32, y);
    for (std::int64_t i = 0; i < 6; ++i) {
      const std::uint32_t expected = from_double(y, y_in_double(p, d, Type::f32, i / 3, i % 3));
      const std::uint32_t word = got[static_cast<std::size_t>(i)];
      wrong += same_word(y, word, expected) ? 0 : 1;
      nonzero += word != 0 ? 1 : 0;
      ++cases;
    }
  }
  CHECK(wrong == 0);
  CHECK(cases == all_forms * 6);
  CHECK(nonzero > cases / 2);
}

TEST_CASE("multiply: NaN and infinity follow IEEE, for every form and type") {
  check_property("NaN and infinities of y are those of double arithmetic",
                 [](std::uint32_t pick, std::uint64_t seed) {
                   const Forms f = forms_from(pick);
                   const Product p = make_product({2, 2, 5, 2}, f, Data::any, seed);
                   // Unrounded: in double nothing overflows, and no difference of unequal numbers
                   // is zero.
                   const auto got = multiply(p.x, p.w, Dequant::d5, Type::f32, Type::f32);
                   for (std::int64_t i = 0; i < 4; ++i) {
                     const double expected = y_in_double(p, Dequant::d5, Type::f32, i / 2, i % 2);
                     const double word = to_double(Type::f32, got[static_cast<std::size_t>(i)]);
                     if (std::isfinite(expected)) {
                       RC_ASSERT(!std::isnan(word));
                     } else {
                       RC_ASSERT(same(word, expected));
                     }
                   }
                 });
}

TEST_CASE("multiply: infinities that meet") {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  CHECK(dot({inf, 1}, {1, 1}, Type::f16) == 0x7c00);
  CHECK(dot({-inf, 1}, {1, 1}, Type::f16) == 0xfc00);
  CHECK(dot({inf, inf}, {1, -1}, Type::f16) == 0x7e00);
  CHECK(dot({inf, 1}, {0, 1}, Type::bf16) == 0x7fc0);
  CHECK(dot({-nan, 1}, {0, 1}, Type::f32) == 0x7fc00000);
  CHECK(dot({0, 1}, {inf, 1}, Type::f16) == 0x7e00);
  CHECK(dot({-2, 1}, {-inf, 1}, Type::f16) == 0x7c00);
  CHECK(dot({inf}, {1}, Type::s32) == 0x7fffffff);
  CHECK(dot({-inf}, {1}, Type::s32) == 0x80000000);
}

TEST_CASE("multiply: products beyond the output's range cancel before anything overflows") {
  CHECK(dot({0x1p100, -0x1p100, 3}, {0x1p100, 0x1p100, 1}, Type::f16) == 0x4200);
  CHECK(dot({0x1p100, 3}, {0x1p100, 1}, Type::f32) == 0x7f800000);
  CHECK(dot({0x1p100, -0x1p100, 0x1p-140}, {0x1p100, 0x1p100, 1}, Type::f32) ==
        from_double(Type::f32, 0x1p-140));
}

TEST_CASE("multiply: y is rounded once") {
  // 1 + 2^-11 is a tie of f16; a tail of 2^-60 decides it, and any float in between would lose it.
  CHECK(dot({1, 0x1p-11}, {1, 1}, Type::f16) == 0x3c00);
  CHECK(dot({1, 0x1p-11, 0x1p-60}, {1, 1, 1}, Type::f16) == 0x3c01);
  CHECK(dot({1, 0x1p-11, -0x1p-60}, {1, 1, 1}, Type::f16) == 0x3c00);
  CHECK(dot({1, 0x3p-11, -0x1p-60}, {1, 1, 1}, Type::f16) == 0x3c01);
  CHECK(dot({1, 0x3p-11}, {1, 1}, Type::f16) == 0x3c02);
  CHECK(dot({1, -1}, {1, 1}, Type::f32) == 0);
}

TEST_CASE("multiply: y in s32 rounds to even and saturates") {
  CHECK(dot({2.5}, {1}, Type::s32) == 2);
  CHECK(dot({3.5}, {1}, Type::s32) == 4);
  CHECK(dot({-2.5}, {1}, Type::s32) == static_cast<std::uint32_t>(-2));
  CHECK(dot({0x1p31, -0.75}, {1, 1}, Type::s32) == 0x7fffffff);
  CHECK(dot({0x1p31, -1.75}, {1, 1}, Type::s32) == 0x7ffffffe);
  CHECK(dot({0x1p40}, {-1}, Type::s32) == 0x80000000);
}

TEST_CASE("multiply: every row of g_idx picks its own scale and zero") {
  QuantizedMatrix w;
  w.k = 4;
  w.n = 1;
  w.group = 2;
  w.groups = 3;
  w.zero = Zero::code;
  w.codes = {5, 6, 7, 8};
  w.scales = {from_double(Type::f16, 1), from_double(Type::f16, 16), from_double(Type::f16, 256)};
  w.zeros = {1, 2, 3};
  w.g_idx = {2, 0, 2, 1};
  Activations x{Type::f16, 4, 4, std::vector<std::uint32_t>(16), {}, 0};
  for (std::size_t i = 0; i < 4; ++i) x.words[i * 5] = 0x3c00;  // the identity
  const auto y = multiply(x, w, Dequant::d1, Type::f16, Type::f32);
  const double expected[] = {(5 - 3) * 256, (6 - 1) * 1, (7 - 3) * 256, (8 - 2) * 16};
  for (std::size_t i = 0; i < 4; ++i) CHECK(to_double(Type::f32, y[i]) == expected[i]);
}

TEST_CASE("multiply: a last partial group and partial x group end where k ends") {
  QuantizedMatrix w;
  w.k = 5;
  w.n = 1;
  w.group = 2;
  w.groups = 3;
  w.zero = Zero::signed_codes;
  w.codes = {1, 1, 1, 1, 1};
  w.scales = {from_double(Type::f16, 1), from_double(Type::f16, 10), from_double(Type::f16, 100)};
  w.bias_type = Type::f32;
  w.bias = {from_double(Type::f32, 0.5)};
  const Activations x{Type::s8, 1, 5, {1, 1, 1, 1, 1}, {1.0f, 1000.0f}, 3};
  const auto y = multiply(x, w, Dequant::d5, Type::none, Type::f32);
  CHECK(to_double(Type::f32, y.at(0)) == 1 + 1 + 10 + 1000 * (10 + 100) + 0.5);
}

TEST_CASE("multiply: operands that do not fit are refused") {
  Product p = make_product({2, 3, 8, 4}, {}, Data::plain, 1);
  CHECK(multiply(p.x, p.w, Dequant::d1, Type::f16, Type::f16).size() == 6);
  Product other = p;
  other.x.k = 7;
  CHECK_THROWS_AS(multiply(other.x, other.w, Dequant::d1, Type::f16, Type::f16), Error);
  other = p;
  other.x.words.pop_back();
  CHECK_THROWS_AS(multiply(other.x, other.w, Dequant::d1, Type::f16, Type::f16), Error);
  other = p;
  other.x.scale = {1.0f};
  CHECK_THROWS_AS(multiply(other.x, other.w, Dequant::d1, Type::f16, Type::f16), Error);
  other = p;
  other.w.codes[0] = 16;
  CHECK_THROWS_AS(multiply(other.x, other.w, Dequant::d1, Type::f16, Type::f16), Error);
  p.x.m = 0;
  p.x.words.clear();
  CHECK(multiply(p.x, p.w, Dequant::d1, Type::f16, Type::f16).empty());
}

TEST_CASE("multiply: class names") {
  CHECK(to_string(Dequant::d1) == "D1");
  CHECK(to_string(Dequant::d5) == "D5");
  CHECK(to_string(Dequant::d6) == "D6");
}

}  // namespace w4
