// SPDX-License-Identifier: Apache-2.0
// Multiplies by the columns of a packed matrix, once for each instruction set (this file includes
// itself).
#include "kernels/cpu/simd_columns.hpp"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/simd_columns.cpp"
// Vectors without a size at compile time cannot be members of a struct.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace w4::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::CappedTag<float, 16>;
using Ints = hn::Rebind<std::int32_t, Floats>;
using Bytes = hn::Rebind<std::int8_t, Floats>;
using Vector = hn::Vec<Floats>;
constexpr std::int64_t width = static_cast<std::int64_t>(hn::MaxLanes(Floats()));
constexpr std::int64_t parts = simd_lanes / width;

// Sixteen logical lanes.
struct Lanes {
  Vector part[parts];
};

HWY_INLINE Lanes zeros() {
  Lanes all;
  for (std::int64_t i = 0; i < parts; ++i) all.part[i] = hn::Zero(Floats());
  return all;
}

HWY_INLINE Lanes load(const float* from) {
  Lanes all;
  for (std::int64_t i = 0; i < parts; ++i) all.part[i] = hn::LoadU(Floats(), from + i * width);
  return all;
}

// sum + x * w, two roundings on every target: a fused one would make the bits depend on the
// machine.
HWY_INLINE void accumulate(Lanes& sum, const float* x, const Lanes& w) {
  for (std::int64_t i = 0; i < parts; ++i) {
    const Vector product = hn::Mul(hn::LoadU(Floats(), x + i * width), w.part[i]);
    sum.part[i] = hn::Add(sum.part[i], product);
  }
}

HWY_INLINE float reduce(const Lanes& sum) {
  float lane[simd_lanes];
  for (std::int64_t i = 0; i < parts; ++i) {
    hn::StoreU(sum.part[i], Floats(), lane + i * width);
  }
  for (std::int64_t step = simd_lanes / 2; step > 0; step /= 2) {
    for (std::int64_t l = 0; l < step; ++l) lane[l] += lane[l + step];
  }
  return lane[0];
}

// v rounded to bf16, ties to even, still as a float. A NaN keeps its upper bits and is kept from
// becoming an infinity.
HWY_INLINE Vector to_bf16(Vector v) {
  const Ints ints;
  const auto bits = hn::BitCast(ints, v);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(ints, 1));
  const auto up = hn::Add(bits, hn::Add(odd, hn::Set(ints, 0x7fff)));
  const auto kept = hn::BitCast(Floats(), hn::And(up, hn::Set(ints, -0x10000)));
  return hn::IfThenElse(hn::IsNaN(v), v, kept);
}

// v rounded to f16, ties to even, still as a float. Below 2^-14 an addition that leaves steps of
// 2^-24 rounds; from 65520 on the result is infinite.
HWY_INLINE Vector to_f16(Vector v) {
  const Ints ints;
  const Floats floats;
  const auto bits = hn::BitCast(ints, v);
  const auto odd = hn::And(hn::ShiftRight<13>(bits), hn::Set(ints, 1));
  const auto up = hn::Add(bits, hn::Add(odd, hn::Set(ints, 0xfff)));
  const auto normal = hn::BitCast(floats, hn::And(up, hn::Set(ints, -0x2000)));
  const auto step = hn::Set(floats, 0.75F);
  const auto small = hn::Sub(hn::Add(v, step), step);
  const auto size = hn::Abs(v);
  auto kept = hn::IfThenElse(hn::Lt(size, hn::Set(floats, 0x1p-14F)), small, normal);
  const auto infinite = hn::CopySign(hn::Set(floats, HUGE_VALF), v);
  kept = hn::IfThenElse(hn::Ge(size, hn::Set(floats, 65520.0F)), infinite, kept);
  return hn::IfThenElse(hn::IsNaN(v), v, kept);
}

HWY_INLINE Vector apply(WeightForm form, Vector d, Vector scale, Vector zero) {
  switch (form) {
    case WeightForm::scaled:
      return hn::Mul(d, scale);
    case WeightForm::centred:
      return hn::Mul(hn::Sub(d, zero), scale);
    // d*s is exact in fp32, and 24 bits are enough for a sum of two halves to be rounded twice.
    case WeightForm::shifted_f16:
      return to_f16(hn::Add(to_f16(hn::Mul(d, scale)), zero));
    case WeightForm::shifted_bf16:
      return to_bf16(hn::Add(to_bf16(hn::Mul(d, scale)), zero));
    default:
      return hn::Add(hn::Mul(d, scale), zero);
  }
}

HWY_INLINE Vector codes(const std::int8_t* d) {
  return hn::ConvertTo(Floats(), hn::PromoteTo(Ints(), hn::LoadU(Bytes(), d)));
}

HWY_INLINE std::int64_t group_at(const Column& column, std::int64_t k) {
  return column.group_of == nullptr ? k / column.group : column.group_of[k];
}

// Weights of k0 .. k0+15 where they share a group.
HWY_INLINE Lanes one_group(const Column& column, std::int64_t k0, std::int64_t group) {
  const Vector scale = hn::Set(Floats(), column.scale[group]);
  const Vector zero = hn::Set(Floats(), column.zero == nullptr ? 0.0F : column.zero[group]);
  Lanes w;
  for (std::int64_t i = 0; i < parts; ++i) {
    w.part[i] = apply(column.form, codes(column.d + k0 + i * width), scale, zero);
  }
  return w;
}

// The same across group edges; beyond k the scale and zero are 0, and so is the weight.
HWY_INLINE Lanes several_groups(const Column& column, std::int64_t k0) {
  float scale[simd_lanes] = {}, zero[simd_lanes] = {};
  for (std::int64_t l = 0; l < simd_lanes && k0 + l < column.k; ++l) {
    const std::int64_t group = group_at(column, k0 + l);
    scale[l] = column.scale[group];
    zero[l] = column.zero == nullptr ? 0.0F : column.zero[group];
  }
  Lanes w;
  for (std::int64_t i = 0; i < parts; ++i) {
    w.part[i] =
        apply(column.form, codes(column.d + k0 + i * width), hn::LoadU(Floats(), scale + i * width),
              hn::LoadU(Floats(), zero + i * width));
  }
  return w;
}

HWY_INLINE Lanes weights(const Column& column, std::int64_t k0) {
  const std::int64_t last = k0 + simd_lanes - 1;
  const std::int64_t group = group_at(column, k0);
  if (last < column.k && group_at(column, last) == group) return one_group(column, k0, group);
  return several_groups(column, k0);
}

void gemv(const Column& column, const float* x, std::int64_t x_stride, std::int64_t rows,
          float* sums) {
  Lanes sum[gemv_rows];
  for (Lanes& row : sum) row = zeros();
  for (std::int64_t k0 = 0; k0 < column.k; k0 += simd_lanes) {
    const Lanes w = weights(column, k0);
    for (std::int64_t r = 0; r < rows; ++r) accumulate(sum[r], x + r * x_stride + k0, w);
  }
  for (std::int64_t r = 0; r < rows; ++r) sums[r] = reduce(sum[r]);
}

// `rows` chains at once, so that one addition need not wait for the last.
template <std::int64_t rows>
HWY_INLINE void dot(const float* w, std::int64_t k, const float* x, std::int64_t x_stride,
                    float* sums) {
  Lanes sum[rows];
  for (Lanes& row : sum) row = zeros();
  for (std::int64_t k0 = 0; k0 < k; k0 += simd_lanes) {
    const Lanes weight = load(w + k0);
    for (std::int64_t r = 0; r < rows; ++r) accumulate(sum[r], x + r * x_stride + k0, weight);
  }
  for (std::int64_t r = 0; r < rows; ++r) sums[r] = reduce(sum[r]);
}

void gemm(const Column& column, const float* x, std::int64_t x_stride, std::int64_t rows, float* w,
          float* sums) {
  for (std::int64_t k0 = 0; k0 < column.k; k0 += simd_lanes) {
    const Lanes weight = weights(column, k0);
    for (std::int64_t i = 0; i < parts; ++i) {
      hn::StoreU(weight.part[i], Floats(), w + k0 + i * width);
    }
  }
  std::int64_t r = 0;
  for (; r + 4 <= rows; r += 4) dot<4>(w, column.k, x + r * x_stride, x_stride, sums + r);
  for (; r < rows; ++r) dot<1>(w, column.k, x + r * x_stride, x_stride, sums + r);
}

}  // namespace w4::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace w4 {

HWY_EXPORT(gemv);
HWY_EXPORT(gemm);

void gemv_column(const Column& column, const float* x, std::int64_t x_stride, std::int64_t rows,
                 float* sums) {
  HWY_DYNAMIC_DISPATCH(gemv)(column, x, x_stride, rows, sums);
}

void gemm_column(const Column& column, const float* x, std::int64_t x_stride, std::int64_t rows,
                 float* w, float* sums) {
  HWY_DYNAMIC_DISPATCH(gemm)(column, x, x_stride, rows, w, sums);
}

}  // namespace w4
#endif
