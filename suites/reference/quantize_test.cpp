// SPDX-License-Identifier: Apache-2.0
// The article's quantiser against what its NumPy code gave, and the symmetric one against its
// definition.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "reference/error.hpp"
#include "reference/multiply.hpp"
#include "suites/support/property.hpp"

namespace w4 {
namespace {

// The data of the golden cases. In NumPy (1.24.2 and 2.4.6 agree on all of them):
//
//   def hash32(i, seed):
//     u = np.uint32; h = i.astype(u) * u(2654435761) + u(seed)
//     h ^= h >> u(16); h *= u(0x85ebca6b); h ^= h >> u(13); h *= u(0xc2b2ae35); h ^= h >> u(16);
//     return h
//   def unit(K, N, seed):
//     h = hash32(np.arange(K * N), seed).reshape(K, N)
//     return ((h >> np.uint32(8)).astype(np.int32) - 2**23).astype(np.float32) *
//     np.float32(2.0**-23)
//
// and the digest is FNV-1a (64 bits) over the bytes of q, scale and zero of the article's
// quantize_g128(w, group), with every fp16 NaN word replaced by 0x7e00. Where group does not divide
// K, the rest is a second call with its own length as the group, appended.
std::uint32_t hash32(std::uint32_t i, std::uint32_t seed) {
  std::uint32_t h = i * 2654435761u + seed;
  h ^= h >> 16;
  h *= 0x85ebca6b;
  h ^= h >> 13;
  h *= 0xc2b2ae35;
  return h ^ (h >> 16);
}

float unit(std::uint32_t i, std::uint32_t seed) {
  return static_cast<float>(static_cast<std::int32_t>(hash32(i, seed) >> 8) - (1 << 23)) * 0x1p-23f;
}

template <typename At>
std::vector<float> fill(std::uint32_t k, std::uint32_t n, At at) {
  std::vector<float> w;
  for (std::uint32_t i = 0; i < k * n; ++i) w.push_back(at(i, i % n));
  return w;
}

std::uint64_t digest(const QuantizedMatrix& q) {
  std::uint64_t h = 0xcbf29ce484222325;
  const auto eat = [&h](std::uint32_t byte) { h = (h ^ (byte & 0xff)) * 0x100000001b3; };
  for (const std::uint8_t code : q.codes) eat(code);
  for (const auto* words : {&q.scales, &q.zeros}) {
    for (const std::uint32_t word : *words) {
      eat(word);
      eat(word >> 8);
    }
  }
  return h;
}

QuantizedMatrix article(const std::vector<float>& w, std::int64_t n, std::int64_t group) {
  return quantize_article(w, static_cast<std::int64_t>(w.size()) / n, n, group);
}

using Words = std::vector<std::uint32_t>;
Words first(const Words& words, std::size_t count) {
  return {words.begin(), words.begin() + static_cast<std::ptrdiff_t>(count)};
}

}  // namespace

// unit(256, 24, 1) * np.exp2(-(column % 5)), group 128
TEST_CASE("quantize: the article's words on ordinary data") {
  const auto q =
      article(fill(256, 24,
                   [](auto i, auto c) { return std::ldexp(unit(i, 1), -static_cast<int>(c % 5)); }),
              24, 128);
  CHECK(q.zero == Zero::real);
  CHECK(q.groups == 2);
  CHECK(first(q.scales, 3) == Words{0x303d, 0x2c3b, 0x281e});
  CHECK(first(q.zeros, 3) == Words{0x4800, 0x4700, 0x4800});
  CHECK(std::vector<std::uint8_t>(q.codes.begin(), q.codes.begin() + 8) ==
        std::vector<std::uint8_t>{5, 9, 1, 5, 14, 15, 6, 9});
  CHECK(digest(q) == 0x50f56ad7f1a3fc71);
}

// unit(4096, 128, 8) * np.exp2(-(column % 11)) + 0.25, group 8: enough scales and ties to tell a
// multiplication by 1/15 from a division by 15
TEST_CASE("quantize: the article's words on 65536 groups") {
  const auto q = article(fill(4096, 128,
                              [](auto i, auto c) {
                                return std::ldexp(unit(i, 8), -static_cast<int>(c % 11)) + 0.25f;
                              }),
                         128, 8);
  CHECK(digest(q) == 0x243f17430c5bc097);
}

// unit(200, 17, 2), group 64: three groups and one of 8 rows
TEST_CASE("quantize: the article's words with a partial last group") {
  const auto q = article(fill(200, 17, [](auto i, auto) { return unit(i, 2); }), 17, 64);
  CHECK(q.groups == 4);
  CHECK(digest(q) == 0xc790a574e41cd1d8);
}

// unit(128, 16, 3) + (3 in even columns, -40 in odd ones), group 32
TEST_CASE("quantize: the article's zeros leave 0..15 on one-sided groups") {
  const auto q = article(
      fill(128, 16, [](auto i, auto c) { return unit(i, 3) + (c % 2 == 0 ? 3.0f : -40.0f); }), 16,
      32);
  CHECK(to_double(Type::f16, q.zeros[0]) == -16);
  CHECK(to_double(Type::f16, q.zeros[1]) == 318);
  CHECK(digest(q) == 0xb12590165f102fb2);
}

// even columns unit(1, 16, 4) repeated, odd ones unit(64, 16, 4) * 2**-30, group 32
TEST_CASE("quantize: the article gives NaN weights on a constant group") {
  const auto q = article(
      fill(64, 16, [](auto i, auto c) { return c % 2 == 0 ? unit(c, 4) : unit(i, 4) * 0x1p-30f; }),
      16, 32);
  CHECK(first(q.scales, 3) == Words{0, 0, 0});
  CHECK(first(q.zeros, 3) == Words{0x7c00, 0x3c00, 0x7c00});
  for (const Dequant d : {Dequant::d1, Dequant::d5, Dequant::d6}) {
    CHECK(weight(q, d, Type::f16, 0, 0).kind == NumberKind::nan);
    CHECK(weight(q, d, Type::f16, 0, 1).kind == NumberKind::finite);
  }
  CHECK(digest(q) == 0xf31c2a608ec3890f);
}

// np.zeros((16, 3)), group 16: -0/scale is the zero -0
TEST_CASE("quantize: the article's words on zeros") {
  const auto q = article(std::vector<float>(48), 3, 16);
  CHECK(q.scales == Words{0, 0, 0});
  CHECK(q.zeros == Words{0x8000, 0x8000, 0x8000});
  CHECK(digest(q) == 0xf5c6a38a9b7df6d5);
}

// unit(64, 16, 5) * np.exp2(column * 8 + 7), group 16: up to the top of fp32
TEST_CASE("quantize: the article's words where scales overflow fp16 and ranges overflow fp32") {
  const auto q = article(
      fill(64, 16,
           [](auto i, auto c) { return std::ldexp(unit(i, 5), static_cast<int>(c) * 8 + 7); }),
      16, 16);
  CHECK(first(q.scales, 3) == Words{0x4b69, 0x6bed, 0x7c00});
  CHECK(digest(q) == 0x3fab5295bf8121dd);
}

// hash32(np.arange(4096 * 8), 6).view(np.float32), group 4: NaN, infinities and subnormals among
// them
TEST_CASE("quantize: the article's words on any fp32 bits") {
  const auto q =
      article(fill(4096, 8, [](auto i, auto) { return std::bit_cast<float>(hash32(i, 6)); }), 8, 4);
  CHECK(std::count(q.scales.begin(), q.scales.end(), 0x7e00u) == 132);
  CHECK(digest(q) == 0x9eb0947d5a4e6d44);
}

// np.where(hash32(.., 7) % 9 == 0, inf, unit(64, 8, 7)), odd columns negated, group 16
TEST_CASE("quantize: the article's words with infinities") {
  const auto q = article(fill(64, 8,
                              [](auto i, auto c) {
                                const float v = hash32(i, 7) % 9 == 0
                                                    ? std::numeric_limits<float>::infinity()
                                                    : unit(i, 7);
                                return c % 2 == 0 ? v : -v;
                              }),
                         8, 16);
  CHECK(first(q.zeros, 3) == Words{0, 0x7e00, 0x4880});
  CHECK(digest(q) == 0xf174c1b4f6e716b6);
}

TEST_CASE("quantize: symmetric codes and scales are their definition") {
  check_property("s = RN(amax/7), q = rne(w/s) + 8", [](std::uint32_t seed, std::uint8_t pick) {
    const Type type = pick % 3 == 0 ? Type::f16 : (pick % 3 == 1 ? Type::bf16 : Type::f32);
    const int shift = pick / 3 % 24 - 20;
    const auto w = fill(10, 3, [&](auto i, auto) { return std::ldexp(unit(i, seed), shift); });
    const auto q = quantize_symmetric(w, 10, 3, 4, type);
    RC_ASSERT(q.zero == Zero::eight && q.groups == 3);
    for (std::int64_t col = 0; col < 3; ++col) {
      for (std::int64_t g = 0; g < 3; ++g) {
        float amax = 0;
        for (std::int64_t row = g * 4; row < std::min<std::int64_t>(10, g * 4 + 4); ++row)
          amax = std::max(amax, std::fabs(w[q.at(row, col)]));
        RC_ASSERT(q.scales[q.at(g, col)] == from_double(type, double{amax} / 7));
      }
      for (std::int64_t row = 0; row < 10; ++row) {
        const double s = to_double(type, q.scales[q.at(row / 4, col)]);
        const double code = s == 0 ? 0 : std::nearbyint(double{w[q.at(row, col)]} / s);
        RC_ASSERT(q.codes[q.at(row, col)] == std::clamp(code + 8, 0.0, 15.0));
      }
    }
  });
}

TEST_CASE("quantize: symmetric ties go to the even code, and the range is clamped") {
  const std::vector<float> w = {7, 0.5f, 1.5f, -0.5f, -1.5f, -7};  // s = 1
  const auto q = quantize_symmetric(w, 6, 1, 6, Type::f16);
  CHECK(q.scales == Words{0x3c00});
  CHECK(q.codes == std::vector<std::uint8_t>{15, 8, 10, 8, 6, 1});
}

TEST_CASE("quantize: a symmetric group of zeros, or one below the scale's range, is all eights") {
  const auto zeros = quantize_symmetric(std::vector<float>(4), 4, 1, 2, Type::f16);
  CHECK(zeros.scales == Words{0, 0});
  CHECK(zeros.codes == std::vector<std::uint8_t>{8, 8, 8, 8});
  const auto tiny = quantize_symmetric(std::vector<float>{1e-30f, -1e-38f}, 2, 1, 2, Type::f16);
  CHECK(tiny.scales == Words{0});
  CHECK(tiny.codes == std::vector<std::uint8_t>{8, 8});
}

TEST_CASE("quantize: symmetric refuses what has no scale") {
  const float inf = std::numeric_limits<float>::infinity();
  CHECK_THROWS_AS(quantize_symmetric(std::vector<float>{1, inf}, 2, 1, 2, Type::f16), Error);
  CHECK_THROWS_AS(quantize_symmetric(std::vector<float>{1, std::nanf("")}, 2, 1, 2, Type::f16),
                  Error);
  CHECK_THROWS_AS(quantize_symmetric(std::vector<float>{1, 1e30f}, 2, 1, 2, Type::f16), Error);
  CHECK_NOTHROW(quantize_symmetric(std::vector<float>{1, 1e30f}, 2, 1, 2, Type::bf16));
}

TEST_CASE("quantize: shapes that do not fit are refused") {
  CHECK_THROWS_AS(quantize_article(std::vector<float>(5), 2, 3, 2), Error);
  CHECK_THROWS_AS(quantize_article(std::vector<float>(6), 2, 3, 3), Error);
  CHECK_THROWS_AS(quantize_symmetric(std::vector<float>(6), 2, 3, 0, Type::f16), Error);
}

}  // namespace w4
