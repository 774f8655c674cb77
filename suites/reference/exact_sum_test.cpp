// SPDX-License-Identifier: Apache-2.0
// The accumulator that all expected words rest on: any order, any range, nothing lost.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "reference/error.hpp"
#include "reference/number/number.hpp"
#include "suites/support/property.hpp"

namespace w4 {
namespace {

using Term = std::pair<std::int64_t, int>;

ExactSum sum_of(const std::vector<Term>& terms) {
  ExactSum sum;
  for (const auto& [mant, exp] : terms) sum.add(mant, exp);
  return sum;
}

// Any term that a product of four f32 words can be.
std::vector<Term> spread(std::vector<Term> terms) {
  for (Term& t : terms) t.second = -596 + static_cast<int>(static_cast<unsigned>(t.second) % 1012);
  return terms;
}

// The largest and the smallest non-zero product of four f32 words.
constexpr std::int64_t f32_largest = 0xffffff;
const Int128 largest_mant = Int128{f32_largest * f32_largest} * (f32_largest * f32_largest);
constexpr int largest_exp = 4 * 104, smallest_exp = -4 * 149;

}  // namespace

TEST_CASE("exact_sum: order does not matter") {
  check_property("sum(terms) == sum(shuffled)", [](std::vector<Term> terms) {
    terms = spread(std::move(terms));
    const ExactSum forward = sum_of(terms);
    auto mixed = terms;
    std::reverse(mixed.begin(), mixed.end());
    RC_ASSERT(sum_of(mixed) == forward);
    std::sort(mixed.begin(), mixed.end());
    RC_ASSERT(sum_of(mixed) == forward);
  });
}

TEST_CASE("exact_sum: equals sums in __int128") {
  check_property("round(sum) == round_to(int128 sum)",
                 [](const std::vector<std::pair<std::int64_t, std::uint8_t>>& in) {
                   ExactSum sum;
                   Int128 expected = 0;
                   for (const auto& [mant, shift] : in) {
                     sum.add(mant, static_cast<int>(shift % 56) - 40);
                     expected += Int128{mant} << (shift % 56);
                   }
                   for (const Type t : {Type::f32, Type::f16, Type::bf16, Type::s32, Type::e4m3}) {
                     RC_ASSERT(sum.round(t) == round_to(t, expected, -40));
                   }
                   RC_ASSERT(sum.is_zero() == (expected == 0));
                   RC_ASSERT(sum.sign() == (expected < 0 ? -1 : (expected > 0 ? 1 : 0)));
                 });
}

TEST_CASE("exact_sum: what is taken away again leaves exactly nothing") {
  check_property("sum + terms - terms == sum", [](std::vector<Term> terms, std::int64_t rest) {
    terms = spread(std::move(terms));
    ExactSum sum = sum_of(terms);
    sum.add(rest, -300);
    for (const auto& [mant, exp] : terms) sum.add(-Int128{mant}, exp);
    ExactSum alone;
    alone.add(rest, -300);
    RC_ASSERT(sum == alone);
    RC_ASSERT(sum.is_zero() == (rest == 0));
  });
}

TEST_CASE("exact_sum: the smallest product survives beside the largest") {
  for (const int sign : {1, -1}) {
    ExactSum sum;
    sum.add(largest_mant * sign, largest_exp);
    sum.add(sign, smallest_exp);
    CHECK(sum.sign() == sign);
    sum.add(-largest_mant * sign, largest_exp);
    ExactSum alone;
    alone.add(sign, smallest_exp);
    CHECK(sum == alone);
    CHECK_FALSE(sum.is_zero());
  }
}

TEST_CASE("exact_sum: 2^40 of the largest products do not wrap") {
  for (const int sign : {1, -1}) {
    ExactSum sum;
    // Doubling by addition: 2^40 terms are 40 more in the exponent.
    sum.add(largest_mant * sign, largest_exp + 40);
    CHECK(sum.sign() == sign);
    CHECK(sum.round(Type::f32) == inf_word(Type::f32, sign < 0));
    sum.add(-largest_mant * sign, largest_exp + 40);
    CHECK(sum.is_zero());
  }
}

TEST_CASE("exact_sum: terms outside the range are refused") {
  ExactSum sum;
  CHECK_THROWS_AS(sum.add(1, ExactSum::lowest - 1), Error);
  CHECK_THROWS_AS(sum.add(1, ExactSum::highest), Error);
  CHECK_NOTHROW(sum.add(0, ExactSum::highest));
  CHECK(sum.is_zero());
}

TEST_CASE("exact_sum: a far tail decides a tie") {
  const int far = -590;
  for (const int tail : {-1, 0, 1}) {
    ExactSum sum;
    sum.add(2049, 0);  // between the f16 words of 2048 and 2050
    sum.add(tail, far);
    CHECK(sum.round(Type::f16) == (tail > 0 ? 0x6801u : 0x6800u));
    ExactSum odd;
    odd.add(-2051, 0);  // between 2050 and 2052: ties go to 2052
    odd.add(tail, far);
    CHECK(odd.round(Type::f16) == (tail > 0 ? 0xe801u : 0xe802u));
  }
}

TEST_CASE("exact_sum: one rounding where f32 in between would make two") {
  // 2049 + 2^-20 rounds up in f16; through f32 it would first become 2049, a tie, and then go down.
  ExactSum sum;
  sum.add(2049, 0);
  sum.add(1, -20);
  const auto through_f32 = from_double(Type::f16, to_double(Type::f32, sum.round(Type::f32)));
  CHECK(sum.round(Type::f16) == 0x6801);
  CHECK(through_f32 == 0x6800);
}

TEST_CASE("exact_sum: 128-bit terms land in any limb at any shift") {
  check_property("mant * 2^exp rounds as itself", [](std::int64_t high, std::uint64_t low,
                                                     std::uint16_t place) {
    const Int128 mant = (Int128{high} << 63) | static_cast<Int128>(low >> 1);
    const int exp = ExactSum::lowest + place % (ExactSum::highest - 127 - ExactSum::lowest);
    ExactSum sum;
    sum.add(mant, exp);
    RC_ASSERT(sum.round(Type::f32) == round_to(Type::f32, mant, exp));
    sum.add(mant, exp);
    RC_ASSERT(sum.round(Type::bf16) == round_to(Type::bf16, mant, exp + 1));
  });
}

}  // namespace w4
