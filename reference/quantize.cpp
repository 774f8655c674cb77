// SPDX-License-Identifier: Apache-2.0
// Float -> codes, scales, zeros: the article's quantiser to the bit, and a symmetric one by exact
// quotients.
#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

#include "reference/error.hpp"
#include "reference/multiply.hpp"

namespace w4 {
namespace {

QuantizedMatrix empty_matrix(std::span<const float> w, std::int64_t k, std::int64_t n,
                             std::int64_t group) {
  require(k > 0 && n > 0 && group > 0 && group <= k, "k, n and group to quantise by");
  require(w.size() == static_cast<std::size_t>(k * n), "w is [k][n]");
  QuantizedMatrix q;
  q.k = k;
  q.n = n;
  q.group = group;
  q.groups = (k + group - 1) / group;
  q.codes.resize(w.size());
  q.scales.resize(static_cast<std::size_t>(q.groups * n));
  return q;
}

// np.minimum and np.maximum: NaN wins, whichever side it is on.
float np_min(float a, float b) {
  return std::isnan(a) || a < b ? a : b;
}
float np_max(float a, float b) {
  return std::isnan(a) || a > b ? a : b;
}

std::uint32_t to_f16(float v) {
  return from_double(Type::f16, double{v});
}

// np.clip(np.round(v), 0, 15).astype(np.uint8); NaN becomes 0, as x86 and Arm conversions have it.
std::uint8_t article_code(float v) {
  if (std::isnan(v)) return 0;
  return static_cast<std::uint8_t>(std::clamp(std::nearbyint(v), 0.0f, 15.0f));
}

std::uint32_t bits(float v) {
  return std::bit_cast<std::uint32_t>(v);
}

// The integer nearest to w/s, ties to even, within -8..7. w and s finite, s > 0.
int symmetric_code(float w, Dyadic s) {
  const Dyadic v = decode(Type::f32, bits(w)).value;
  // |w/s| below 7.6 unless s was rounded down from below its smallest normal number: then clamp
  // before shifting.
  Int128 above = std::abs(v.mant), below = s.mant;
  const int shift = v.exp - s.exp;
  if (shift > 64) return v.mant == 0 ? 0 : (v.mant < 0 ? -8 : 7);
  if (shift < -64) return 0;
  (shift > 0 ? above : below) <<= std::abs(shift);
  Int128 whole = above / below;
  const Int128 twice_rest = 2 * (above % below);
  if (twice_rest > below || (twice_rest == below && (whole & 1) != 0)) ++whole;
  const auto size = static_cast<int>(std::min<Int128>(whole, 8));
  return std::clamp(v.mant < 0 ? -size : size, -8, 7);
}

// RN_scale(amax/7).
std::uint32_t symmetric_scale(float amax, Type scale) {
  const Dyadic v = decode(Type::f32, bits(amax)).value;
  const Int128 wide = Int128{v.mant} << 64;
  return round_to(scale, wide / 7, v.exp - 64, wide % 7 != 0);
}

std::string place(std::int64_t k, std::int64_t n) {
  return "w[" + std::to_string(k) + "][" + std::to_string(n) + "]";
}

}  // namespace

QuantizedMatrix quantize_article(std::span<const float> w, std::int64_t k, std::int64_t n,
                                 std::int64_t group) {
  QuantizedMatrix q = empty_matrix(w, k, n, group);
  q.zero = Zero::real;
  q.scale_type = q.zero_type = Type::f16;
  q.zeros.resize(q.scales.size());
  for (std::int64_t g = 0; g < q.groups; ++g) {
    const std::int64_t first = g * group, last = std::min(k, first + group);
    for (std::int64_t col = 0; col < n; ++col) {
      float lo = w[q.at(first, col)], hi = lo;
      for (std::int64_t row = first + 1; row < last; ++row) {
        lo = np_min(lo, w[q.at(row, col)]);
        hi = np_max(hi, w[q.at(row, col)]);
      }
      const float scale = np_max(hi - lo, 1e-8f) / 15.0f;
      const float zero = std::nearbyint(-lo / scale);
      for (std::int64_t row = first; row < last; ++row) {
        q.codes[q.at(row, col)] = article_code(w[q.at(row, col)] / scale + zero);
      }
      q.scales[q.at(g, col)] = to_f16(scale);
      q.zeros[q.at(g, col)] = to_f16(zero);
    }
  }
  return q;
}

QuantizedMatrix quantize_symmetric(std::span<const float> w, std::int64_t k, std::int64_t n,
                                   std::int64_t group, Type scale) {
  QuantizedMatrix q = empty_matrix(w, k, n, group);
  q.zero = Zero::eight;
  q.scale_type = scale;
  for (std::int64_t g = 0; g < q.groups; ++g) {
    const std::int64_t first = g * group, last = std::min(k, first + group);
    for (std::int64_t col = 0; col < n; ++col) {
      float amax = 0;
      for (std::int64_t row = first; row < last; ++row) {
        const float v = w[q.at(row, col)];
        if (!std::isfinite(v)) throw Error(place(row, col) + " is not finite");
        amax = std::max(amax, std::fabs(v));
      }
      const std::uint32_t word = q.scales[q.at(g, col)] = symmetric_scale(amax, scale);
      const Number s = decode(scale, word);
      if (s.kind != NumberKind::finite) {
        throw Error("the scale of group " + std::to_string(g) + ", column " + std::to_string(col) +
                    " overflows " + std::string(to_string(scale)));
      }
      for (std::int64_t row = first; row < last; ++row) {
        const int code = s.value.mant == 0 ? 0 : symmetric_code(w[q.at(row, col)], s.value);
        q.codes[q.at(row, col)] = static_cast<std::uint8_t>(code + 8);
      }
    }
  }
  return q;
}

}  // namespace w4
