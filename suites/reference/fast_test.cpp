// SPDX-License-Identifier: Apache-2.0
// The fast product is the slow one, word by word, wherever its arithmetic changes.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "reference/error.hpp"
#include "reference/fast/multiply.hpp"
#include "suites/reference/product_support.hpp"
#include "suites/support/property.hpp"

namespace w4 {
namespace {

const Dequant classes[] = {Dequant::d1, Dequant::d5, Dequant::d6};
const Type weight_types[] = {Type::f16, Type::bf16, Type::f32, Type::e4m3};
const Type outputs[] = {Type::f16, Type::bf16, Type::f32, Type::s32};

struct Drawn {
  Shape shape;
  Forms forms;
  Dequant dequant{};
  Type h{}, y{};
  std::uint64_t seed{};
};

Drawn drawn() {
  Drawn d;
  d.shape.m = *rc::gen::inRange(0, 7);
  d.shape.n = *rc::gen::element(1, 2, 3, 5, 8, 63, 64, 65, 130);
  d.shape.k = *rc::gen::inRange(1, 40);
  d.shape.group = *rc::gen::inRange<std::int64_t>(1, d.shape.k + 1);
  d.forms = forms_from(*rc::gen::inRange<std::uint32_t>(0, all_forms));
  d.dequant = *rc::gen::elementOf(std::vector<Dequant>(std::begin(classes), std::end(classes)));
  d.h = *rc::gen::elementOf(std::vector<Type>(std::begin(weight_types), std::end(weight_types)));
  d.y = *rc::gen::elementOf(std::vector<Type>(std::begin(outputs), std::end(outputs)));
  d.seed = *rc::gen::arbitrary<std::uint64_t>();
  return d;
}

void check_twin(Data data) {
  check_property("fast::multiply == multiply", [data] {
    const Drawn d = drawn();
    RC_LOG() << show(d.forms) << ' ' << to_string(d.dequant) << " h=" << to_string(d.h)
             << " y=" << to_string(d.y);
    const Product p = make_product(d.shape, d.forms, data, d.seed);
    RC_ASSERT(fast::multiply(p.x, p.w, d.dequant, d.h, d.y) ==
              multiply(p.x, p.w, d.dequant, d.h, d.y));
  });
}

// x = +-(2^a - 1) in f32 times x_scale = 2^b - 1, weights (2^c - 1): sums of about a + b + c + log2
// k bits.
Product product_of_bits(int a, int b, int c, std::int64_t k, bool signs) {
  Product p;
  p.x = {Type::f32, 1, k, {}, {static_cast<float>((1 << b) - 1)}, k};
  p.w.k = p.w.group = k;
  p.w.n = p.w.groups = 1;
  p.w.zero = Zero::signed_codes;
  p.w.scale_type = Type::f32;
  p.w.scales = {from_double(Type::f32, (1 << c) - 1)};
  for (std::int64_t i = 0; i < k; ++i) {
    const int x = (1 << a) - 1;
    p.x.words.push_back(from_double(Type::f32, signs && i % 3 == 1 ? -x : x));
    p.w.codes.push_back(7);
  }
  return p;
}

void require_twins(const Product& p, Dequant dequant) {
  for (const Type y : outputs) {
    REQUIRE(fast::multiply(p.x, p.w, dequant, Type::f32, y) ==
            multiply(p.x, p.w, dequant, Type::f32, y));
  }
}

}  // namespace

TEST_CASE("fast: equals the reference on integers") {
  check_twin(Data::integers);
}
TEST_CASE("fast: equals the reference on ordinary data") {
  check_twin(Data::plain);
}
TEST_CASE("fast: equals the reference on any finite words") {
  check_twin(Data::finite);
}
TEST_CASE("fast: equals the reference on any words") {
  check_twin(Data::any);
}

TEST_CASE("fast: every form and type, on every kind of data") {
  for (std::uint32_t pick = 0; pick < all_forms; ++pick) {
    const Forms f = forms_from(pick);
    const Data data = static_cast<Data>((pick ^ pick / 7 ^ pick / 49) % 4);
    const Product p = make_product({3, 2, 9, 4}, f, data, pick);
    const Dequant d = classes[pick / 2 % 3];
    const Type h = weight_types[pick / 5 % 4], y = outputs[pick / 3 % 4];
    INFO(show(f));
    REQUIRE(fast::multiply(p.x, p.w, d, h, y) == multiply(p.x, p.w, d, h, y));
  }
}

// Where double, int64 and __int128 take over from one another, operands at the top of their bits.
TEST_CASE("fast: every width of the sum") {
  for (int bits = 3; bits <= 72; ++bits) {
    const int a = 1 + (bits - 3) / 3 + ((bits - 3) % 3 > 0 ? 1 : 0),
              b = 1 + (bits - 3) / 3 + ((bits - 3) % 3 > 1 ? 1 : 0);
    const int c = bits - a - b;
    for (const std::int64_t k : {1, 2, 3, 64, 127}) {
      require_twins(product_of_bits(a, b, c, k, false), Dequant::d5);
      require_twins(product_of_bits(a, b, c, k, true), Dequant::d5);
    }
  }
}

// The bias takes the leading bits away again, and s32 shows the last ones: what a sum lost to
// rounding is seen.
TEST_CASE("fast: every last bit of every width of the sum") {
  for (int bits = 30; bits <= 72; ++bits) {
    const int a = std::min(24, bits / 3), b = std::min(24, (bits - a) / 2), c = bits - a - b;
    Product p = product_of_bits(a, b, c, 127, false);
    p.w.codes.assign(127, 1);
    const auto sum = multiply(p.x, p.w, Dequant::d5, Type::f32, Type::f32).at(0);
    p.w.bias_type = Type::f32;
    p.w.bias = {sum ^ 0x80000000};
    require_twins(p, Dequant::d5);
  }
}

TEST_CASE("fast: wide rows times wide columns") {
  for (int span = 48; span <= 68; ++span) {
    for (const std::int64_t k : {2, 64, 65, 130}) {
      Product p = product_of_bits(1, 1, 1, k, false);
      p.w.codes.assign(static_cast<std::size_t>(k), 1);
      p.w.group = 1;
      p.w.groups = k;
      p.w.scales.assign(static_cast<std::size_t>(k), from_double(Type::f32, 1));
      p.x.words.back() = p.w.scales.back() = round_to(Type::f32, 1, 1 - span);
      require_twins(p, Dequant::d5);
    }
  }
}

TEST_CASE("fast: every distance between the largest and the smallest activation") {
  for (int exponent = -149; exponent <= 127; ++exponent) {
    Product p = make_product({2, 3, 6, 6}, {.x = Type::f32, .scale = Type::f32}, Data::plain, 11);
    p.x.words[2] = round_to(Type::f32, 1, exponent);
    p.x.words[4] = round_to(Type::f32, -1, 127);
    require_twins(p, Dequant::d5);
  }
}

TEST_CASE("fast: every distance between a scale and the others") {
  for (int exponent = -149; exponent <= 127; ++exponent) {
    Product p =
        make_product({2, 3, 6, 2}, {.zero = Zero::real, .scale = Type::f32, .zero_type = Type::f32},
                     Data::plain, 12);
    p.w.scales[1] = round_to(Type::f32, 1, exponent);
    p.w.zeros[2] = round_to(Type::f32, 1, -exponent);
    require_twins(p, Dequant::d5);
    require_twins(p, Dequant::d6);
  }
}

TEST_CASE("fast: one NaN row and one infinite column leave the others as they are") {
  Product p = make_product({6, 67, 16, 8}, {.bias = Type::f16}, Data::plain, 13);
  const auto before = fast::multiply(p.x, p.w, Dequant::d1, Type::f16, Type::f16);
  p.x.words[2 * 16 + 3] = nan_word(Type::f16);
  p.w.scales[5] = inf_word(Type::f16, false);
  p.w.bias[66] = nan_word(Type::f16);
  const auto after = fast::multiply(p.x, p.w, Dequant::d1, Type::f16, Type::f16);
  REQUIRE(after == multiply(p.x, p.w, Dequant::d1, Type::f16, Type::f16));
  for (std::size_t m = 0; m < 6; ++m) {
    for (std::size_t n = 0; n < 66; ++n) {
      if (m == 2) REQUIRE(is_nan(Type::f16, after[m * 67 + n]));
      if (m != 2 && n != 5) REQUIRE(after[m * 67 + n] == before[m * 67 + n]);
    }
    REQUIRE(is_nan(Type::f16, after[m * 67 + 66]));
  }
}

TEST_CASE("fast: refuses what the reference refuses") {
  Product p = make_product({2, 3, 8, 4}, {}, Data::plain, 1);
  p.x.words.pop_back();
  CHECK_THROWS_AS(fast::multiply(p.x, p.w, Dequant::d1, Type::f16, Type::f16), Error);
}

}  // namespace w4
