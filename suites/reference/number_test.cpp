// SPDX-License-Identifier: Apache-2.0
// Every word and every rounding against a second source: the compiler's own types, or a search
// among all values.
#include "reference/number/number.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "reference/error.hpp"

namespace w4 {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

float f32_of(std::uint32_t word) {
  return std::bit_cast<float>(word);
}
std::uint32_t word_of(float v) {
  return std::bit_cast<std::uint32_t>(v);
}

// IEEE-like words from their definition: sign, exponent field, fraction.
double by_formula(std::uint32_t word, int exponent_bits, int fraction_bits) {
  const auto fraction = static_cast<double>(word & ((1u << fraction_bits) - 1));
  const int field = static_cast<int>(word >> fraction_bits) & ((1 << exponent_bits) - 1);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const double unit = std::ldexp(fraction, -fraction_bits);
  const double size = field == 0 ? std::ldexp(unit, 1 - bias) : std::ldexp(1 + unit, field - bias);
  return (word >> (exponent_bits + fraction_bits)) != 0 ? -size : size;
}

// All non-negative finite values of a small float type, ascending: value i is word i.
std::vector<double> ladder(Type t) {
  std::vector<double> values;
  for (std::uint32_t word = 0; !is_nan(t, word) && !is_inf(t, word); ++word) {
    values.push_back(to_double(t, word));
  }
  return values;
}

// The nearest word by search. Midpoints have one bit more than the values, so double holds them
// exactly.
std::uint32_t nearest(const std::vector<double>& values, std::uint32_t sign, double d) {
  const double size = std::fabs(d);
  const auto above = static_cast<std::uint32_t>(
      std::upper_bound(values.begin(), values.end(), size) - values.begin());
  const std::uint32_t below = above - 1;  // values[0] is 0
  const double step = values.back() - values[values.size() - 2];
  const double next = above < values.size() ? values[above] : values.back() + step;
  const double middle = (values[below] + next) / 2;
  const bool up = size > middle || (size == middle && (below & 1) != 0);
  const std::uint32_t word = up ? above : below;
  return d < 0 ? word | sign : word;
}

const Type small_floats[] = {Type::f16, Type::bf16, Type::e4m3, Type::e5m2};

std::uint32_t sign_of(Type t) {
  return t == Type::f16 || t == Type::bf16 ? 0x8000u : 0x80u;
}

// 50000 words that look random, the same in every run: the finaliser of splitmix64.
template <typename Holds>
void each_random(Holds holds) {
  std::uint64_t state = 7, wrong = 0, worst = 0;
  for (int i = 0; i < 50000; ++i) {
    std::uint64_t v = (state += 0x9e3779b97f4a7c15);
    v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9;
    v = (v ^ (v >> 27)) * 0x94d049bb133111eb;
    v ^= v >> 31;
    if (holds(v)) continue;
    ++wrong;
    worst = v;
  }
  INFO("last failing bits: " << worst);
  CHECK(wrong == 0);
}

template <typename Visit>
void each_midpoint(Type t, Visit visit) {
  const std::vector<double> values = ladder(t);
  for (std::uint32_t word = 0; word + 1 < values.size(); ++word) {
    visit(word, (values[word] + values[word + 1]) / 2);
  }
}

}  // namespace

TEST_CASE("number: every word of every small type survives decode and round_to") {
  for (const Type t :
       {Type::f16, Type::bf16, Type::e4m3, Type::e5m2, Type::s8, Type::u8, Type::s4, Type::u4}) {
    std::uint32_t wrong = 0, finite = 0;
    for (std::uint32_t word = 0; word < (1u << bits_of(t)); ++word) {
      const Number v = decode(t, word);
      if (v.kind != NumberKind::finite) continue;
      ++finite;
      const bool minus_zero = v.value.mant == 0 && v.negative;
      if (round_to(t, v.value) != (minus_zero ? 0 : word)) ++wrong;
      if (truncate_to(t, v.value.mant, v.value.exp) != (minus_zero ? 0 : word)) ++wrong;
      if (from_double(t, to_double(t, word)) != word) ++wrong;
    }
    INFO(to_string(t));
    CHECK(wrong == 0);
    CHECK(finite > 0);
  }
}

TEST_CASE("number: f16 is what the formula says, word by word") {
  for (std::uint32_t word = 0; word < 0x10000; ++word) {
    if ((word & 0x7c00) == 0x7c00) {
      REQUIRE(is_nan(Type::f16, word) == ((word & 0x3ff) != 0));
      REQUIRE(is_inf(Type::f16, word) == ((word & 0x3ff) == 0));
    } else {
      REQUIRE(to_double(Type::f16, word) == by_formula(word, 5, 10));
      REQUIRE(std::signbit(to_double(Type::f16, word)) == ((word & 0x8000) != 0));
    }
  }
}

#if defined(__FLT16_MANT_DIG__) && defined(__GNUC__) && !defined(__clang__)
TEST_CASE("number: f16 is the compiler's _Float16, word by word") {
  for (std::uint32_t word = 0; word < 0x10000; ++word) {
    const auto native =
        static_cast<double>(std::bit_cast<_Float16>(static_cast<std::uint16_t>(word)));
    if (std::isnan(native)) {
      REQUIRE(is_nan(Type::f16, word));
    } else {
      REQUIRE(to_double(Type::f16, word) == native);
    }
  }
}

TEST_CASE("number: rounding to f16 is the compiler's") {
  each_random([](std::uint64_t bits) {
    // An exponent field within and a little beyond what f16 holds.
    const std::uint64_t field = 1023 - 28 + (bits >> 52 & 0x7ff) % 48;
    const double d = std::bit_cast<double>((bits & ~(0x7ffull << 52)) | field << 52);
    const auto native = std::bit_cast<std::uint16_t>(static_cast<_Float16>(d));
    return from_double(Type::f16, d) == native;
  });
}
#endif

TEST_CASE("number: bf16 is the upper half of f32, word by word") {
  for (std::uint32_t word = 0; word < 0x10000; ++word) {
    const float native = f32_of(word << 16);
    if (std::isnan(native)) {
      REQUIRE(is_nan(Type::bf16, word));
    } else {
      REQUIRE(to_double(Type::bf16, word) == double{native});
      REQUIRE(is_inf(Type::bf16, word) == std::isinf(native));
    }
  }
}

TEST_CASE("number: e5m2 is the upper half of f16, word by word") {
  for (std::uint32_t word = 0; word < 0x100; ++word) {
    REQUIRE(is_nan(Type::e5m2, word) == is_nan(Type::f16, word << 8));
    REQUIRE(is_inf(Type::e5m2, word) == is_inf(Type::f16, word << 8));
    if (!is_nan(Type::e5m2, word))
      REQUIRE(to_double(Type::e5m2, word) == to_double(Type::f16, word << 8));
  }
}

TEST_CASE("number: e4m3 has no infinity and two NaN words") {
  for (std::uint32_t word = 0; word < 0x100; ++word) {
    REQUIRE_FALSE(is_inf(Type::e4m3, word));
    REQUIRE(is_nan(Type::e4m3, word) == ((word & 0x7f) == 0x7f));
    if (!is_nan(Type::e4m3, word)) REQUIRE(to_double(Type::e4m3, word) == by_formula(word, 4, 3));
  }
  // Values named in the OCP 8-bit specification.
  CHECK(to_double(Type::e4m3, 0x7e) == 448);
  CHECK(to_double(Type::e4m3, 0x08) == 0x1p-6);
  CHECK(to_double(Type::e4m3, 0x01) == 0x1p-9);
  CHECK(to_double(Type::e5m2, 0x7b) == 57344);
  CHECK(to_double(Type::e5m2, 0x01) == 0x1p-16);
}

TEST_CASE("number: integers are two's complement in their low bits") {
  for (std::uint32_t word = 0; word < 0x100; ++word) {
    REQUIRE(to_double(Type::s8, word) == static_cast<std::int8_t>(word));
    REQUIRE(to_double(Type::u8, word) == static_cast<std::uint8_t>(word));
    REQUIRE(to_double(Type::u4, word) == (word & 15));
    REQUIRE(to_double(Type::s4, word) == static_cast<int>((word & 15) ^ 8) - 8);
  }
  CHECK(to_double(Type::s32, 0x80000000) == -2147483648.0);
  CHECK(to_double(Type::s32, 0x7fffffff) == 2147483647.0);
  CHECK(round_to(Type::s8, -1, 0) == 0xff);
  CHECK(round_to(Type::s4, -1, 0) == 0xf);
}

TEST_CASE("number: f32 words are the machine's floats") {
  each_random([](std::uint64_t bits) {
    const auto word = static_cast<std::uint32_t>(bits);
    const float native = f32_of(word);
    if (std::isnan(native)) return is_nan(Type::f32, word);
    return to_double(Type::f32, word) == double{native} &&
           from_double(Type::f32, double{native}) == word;
  });
}

TEST_CASE("number: rounding to f32 is the machine's, subnormals and overflow included") {
  each_random([](std::uint64_t bits) {
    const std::uint64_t field = 1023 - 155 + (bits >> 52 & 0x7ff) % 290;
    const double d = std::bit_cast<double>((bits & ~(0x7ffull << 52)) | field << 52);
    return from_double(Type::f32, d) == word_of(static_cast<float>(d));
  });
}

TEST_CASE("number: rounding any double to a small float finds the nearest word") {
  for (const Type t : small_floats) {
    const std::vector<double> values = ladder(t);
    const int range = std::ilogb(values.back()) - std::ilogb(values[1]) + 6;
    INFO(to_string(t));
    each_random([&](std::uint64_t bits) {
      const int exponent = std::ilogb(values[1]) - 3 + static_cast<int>(bits >> 52) % range;
      const double d =
          std::ldexp(static_cast<double>((bits & 0xfffffffffffff) | 1ull << 52), exponent - 52);
      const std::uint32_t word = nearest(values, 0, d);
      return from_double(t, d) == word && from_double(t, -d) == (word | sign_of(t));
    });
  }
}

TEST_CASE("number: midpoints go to the even word, their neighbours to the nearer one") {
  for (const Type t : small_floats) {
    const std::uint32_t sign = sign_of(t);
    each_midpoint(t, [&](std::uint32_t below, double middle) {
      const std::uint32_t even = below + (below & 1);
      REQUIRE(from_double(t, middle) == even);
      REQUIRE(from_double(t, -middle) == (even | sign));
      REQUIRE(from_double(t, std::nextafter(middle, 0)) == below);
      REQUIRE(from_double(t, std::nextafter(middle, infinity)) == below + 1);
      REQUIRE(from_double(t, -std::nextafter(middle, infinity)) == ((below + 1) | sign));
    });
  }
}

TEST_CASE("number: a cut tail turns a tie upwards in size, and nothing else") {
  for (const Type t : small_floats) {
    each_midpoint(t, [&](std::uint32_t below, double middle) {
      int exp = 0;
      const auto mant = static_cast<std::int64_t>(std::ldexp(std::frexp(middle, &exp), 53));
      REQUIRE(round_to(t, mant, exp - 53, true) == below + 1);
      REQUIRE(round_to(t, -mant, exp - 53, true) == ((below + 1) | sign_of(t)));
      REQUIRE(round_to(t, mant - 1, exp - 53, true) == below);
    });
  }
  CHECK(round_to(Type::f16, (1 << 12) + 0, -12, true) == 0x3c00);
  CHECK_THROWS_AS(round_to(Type::f16, 1 << 10, 0, true), Error);
}

TEST_CASE("number: where each float type overflows") {
  CHECK(from_double(Type::f16, 65519.99) == 0x7bff);
  CHECK(from_double(Type::f16, 65520) == 0x7c00);
  CHECK(from_double(Type::f16, -65520) == 0xfc00);
  CHECK(from_double(Type::bf16, 0x1.fefffp127) == 0x7f7f);
  CHECK(from_double(Type::bf16, 0x1.ffp127) == 0x7f80);
  CHECK(from_double(Type::f32, 0x1.fffffefp127) == 0x7f7fffff);
  CHECK(from_double(Type::f32, 0x1.ffffffp127) == 0x7f800000);
  CHECK(from_double(Type::e4m3, 464) == 0x7e);
  CHECK(from_double(Type::e4m3, std::nextafter(464, infinity)) == 0x7f);
  CHECK(from_double(Type::e4m3, 480) == 0x7f);
  CHECK(from_double(Type::e4m3, 1e30) == 0x7f);
  CHECK(from_double(Type::e5m2, std::nextafter(61440, 0)) == 0x7b);
  CHECK(from_double(Type::e5m2, 61440) == 0x7c);
  CHECK(round_to(Type::f32, 1, std::numeric_limits<int>::max()) == 0x7f800000);
}

TEST_CASE("number: the smallest subnormals and what lies below them") {
  CHECK(from_double(Type::f16, 0x1p-24) == 1);
  CHECK(from_double(Type::f16, 0x1p-25) == 0);
  CHECK(from_double(Type::f16, std::nextafter(0x1p-25, 1)) == 1);
  CHECK(from_double(Type::f16, -0x1p-25) == 0x8000);
  CHECK(from_double(Type::f16, 0x1.ffcp-15) == 0x3ff + 1);  // a tie between 0x3ff and 0x400
  CHECK(from_double(Type::bf16, 0x1p-133) == 1);
  CHECK(from_double(Type::f32, 0x1p-149) == 1);
  CHECK(from_double(Type::e4m3, 0x1p-10) == 0);
  CHECK(from_double(Type::e4m3, 0x1.8p-9) == 2);
  CHECK(round_to(Type::f32, 1, std::numeric_limits<int>::min()) == 0);
  CHECK(round_to(Type::f32, -1, -1000) == 0x80000000);
}

TEST_CASE("number: mantissas at the ends of 128 bits") {
  const Int128 most = std::numeric_limits<std::int64_t>::max();
  const Int128 top = (most << 64) | ~std::uint64_t{0};  // 2^127 - 1
  const Int128 bottom = -top - 1;
  CHECK(round_to(Type::f32, top, -127) == word_of(1.0f));
  CHECK(round_to(Type::f32, bottom, -127) == word_of(-1.0f));
  CHECK(round_to(Type::f16, bottom, -127 - 25) == 0x8000);
  CHECK(round_to(Type::f16, bottom, -127 - 25, true) == 0x8001);
  CHECK(round_to(Type::f16, bottom, -127 - 26, true) == 0x8000);
  CHECK(round_to(Type::f16, -(bottom / 2), -126 - 24) == 1);
  CHECK(round_to(Type::s32, bottom, 0) == 0x80000000);
  CHECK(round_to(Type::s32, bottom, -127) == 0xffffffff);
  CHECK(truncate_to(Type::f32, top, -127) == word_of(std::nextafter(1.0f, 0.0f)));
}

TEST_CASE("number: integers round to nearest even and saturate") {
  const auto s8 = [](double d) {
    return static_cast<int>(to_double(Type::s8, from_double(Type::s8, d)));
  };
  CHECK(s8(0.5) == 0);
  CHECK(s8(1.5) == 2);
  CHECK(s8(-0.5) == 0);
  CHECK(s8(-1.5) == -2);
  CHECK(s8(2.5000001) == 3);
  CHECK(s8(127.4) == 127);
  CHECK(s8(127.5) == 127);
  CHECK(s8(-128.5) == -128);
  CHECK(s8(1e300) == 127);
  CHECK(s8(-infinity) == -128);
  CHECK(from_double(Type::u8, -3) == 0);
  CHECK(from_double(Type::u4, 99) == 15);
  CHECK(from_double(Type::s4, -99) == 8);
  CHECK(from_double(Type::s32, 2147483646.5) == 2147483646);
  CHECK(from_double(Type::s32, 2147483647.5) == 0x7fffffff);
  CHECK(from_double(Type::s32, -2147483648.5) == 0x80000000);
  CHECK(round_to(Type::s32, 5, -1, true) == 3);
  CHECK(round_to(Type::s32, 1, 1000) == 0x7fffffff);
}

TEST_CASE("number: rounding to s32 is nearbyint") {
  each_random([](std::uint64_t bits) {
    const double d = std::ldexp(static_cast<double>(static_cast<std::int64_t>(bits) >> 31), -2);
    const double bounded = std::min(std::max(std::nearbyint(d), -0x1p31), 0x1p31 - 1);
    return to_double(Type::s32, from_double(Type::s32, d)) == bounded;
  });
}

TEST_CASE("number: truncation goes towards zero and stops at the largest value") {
  for (const Type t : small_floats) {
    each_midpoint(t, [&](std::uint32_t below, double middle) {
      int exp = 0;
      const auto mant = static_cast<std::int64_t>(std::ldexp(std::frexp(middle, &exp), 53));
      REQUIRE(truncate_to(t, mant, exp - 53) == below);
      REQUIRE(truncate_to(t, -mant, exp - 53) == (below | sign_of(t)));
    });
  }
  CHECK(truncate_to(Type::f16, 1, 100) == 0x7bff);
  CHECK(truncate_to(Type::e4m3, 479, 0) == 0x7e);
  CHECK(truncate_to(Type::s8, -15, -1) == 0xf9);
}

TEST_CASE("number: NaN and infinity words") {
  for (const Type t : {Type::f32, Type::f16, Type::bf16, Type::e5m2}) {
    CHECK(is_nan(t, nan_word(t)));
    CHECK(is_nan(t, from_double(t, -std::nan(""))));
    CHECK(to_double(t, inf_word(t, false)) == infinity);
    CHECK(to_double(t, inf_word(t, true)) == -infinity);
    CHECK(from_double(t, -infinity) == inf_word(t, true));
  }
  CHECK(nan_word(Type::f32) == 0x7fc00000);
  CHECK(nan_word(Type::f16) == 0x7e00);
  CHECK(nan_word(Type::bf16) == 0x7fc0);
  CHECK(nan_word(Type::e4m3) == 0x7f);
  CHECK(nan_word(Type::e5m2) == 0x7e);
  CHECK(inf_word(Type::e4m3, true) == 0xff);
  CHECK(inf_word(Type::s32, true) == 0x80000000);
  CHECK(nan_word(Type::s32) == 0);
}

TEST_CASE("number: zeros of either sign are the same word, nothing else is") {
  for (const Type t : {Type::f32, Type::f16, Type::bf16, Type::e4m3, Type::e5m2}) {
    const std::uint32_t minus_zero = from_double(t, -0.0);
    CHECK(minus_zero != 0);
    CHECK(same_word(t, 0, minus_zero));
    CHECK_FALSE(same_word(t, 1, minus_zero | 1));
    CHECK_FALSE(same_word(t, 0, 1));
    CHECK(same_word(t, nan_word(t), nan_word(t)));
  }
  CHECK_FALSE(same_word(Type::s8, 0, 0x80));
  CHECK(same_word(Type::s4, 0xf7, 7));
}

TEST_CASE("number: ulps_between counts words in numeric order") {
  CHECK(ulps_between(Type::f16, 0x3c01, 0x3c00) == 1);
  CHECK(ulps_between(Type::f16, 0x8001, 0x0001) == -2);
  CHECK(ulps_between(Type::f16, 0x8000, 0x0000) == 0);
  CHECK(ulps_between(Type::f16, 0x7c00, 0x7bff) == 1);
  CHECK(ulps_between(Type::f32, 0x7f800000, 0xff800000) == 2 * std::int64_t{0x7f800000});
  CHECK(ulps_between(Type::s32, 0x7fffffff, 0x80000000) == 0xffffffff);
}

namespace {

float bf16_truncated_if(bool condition, float x) {
  if (condition) x = f32_of(word_of(x) & 0xffff0000u);
  return x;
}

}  // namespace

// g++ 12.2 at -O1 and above drops the truncation unless built with -fno-tree-ter. Through a
// volatile pointer, so that the condition stays one.
TEST_CASE("number: this compiler keeps a conditional bf16 truncation") {
  float (*volatile truncated_if)(bool, float) = bf16_truncated_if;
  CHECK(word_of(truncated_if(true, f32_of(0x3f81ffff))) == 0x3f810000);
  CHECK(word_of(truncated_if(false, f32_of(0x3f81ffff))) == 0x3f81ffff);
}

}  // namespace w4
