// SPDX-License-Identifier: Apache-2.0
// cpu.x_int8_amax and cpu.x_int8_minmax: activations in floats that are narrowed to 8 bits before
// they are multiplied, each row and x_group with a scale of its own, by the rule in the name.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/integer_sums.hpp"
#include "kernels/cpu/stored.hpp"

namespace w4 {

const Support x_int8_can{
    .x = floats,
    .mul = set_of(W4_S8),
    .y = floats,
    .scale = floats,
    .bias = floats,
    .zeros = set_of(W4_ZERO_SIGNED, W4_ZERO_8, W4_ZERO_CODE, W4_ZERO_CODE_M1),
    .storages = set_of(Storage::codes, Storage::gptq_v1, Storage::gptq_v2),
    .act_order = true,
    .x_scales = true,
    .declines = nullptr,
};

namespace {

// In the workspace: scales float [m][x groups], one row of x as floats [k], integers int16 [m][k].
struct Narrow {
  float *scale, *row;
  std::int16_t* x;
};
constexpr std::int64_t float_bytes = sizeof(float), integer_bytes = sizeof(std::int16_t);

std::int64_t x_groups(const Request& request) {
  return ceil_div(request.p.k, request.p.x_group);
}
std::int64_t workspace_bytes(const Request& request) {
  const w4_problem& p = request.p;
  return (p.m * x_groups(request) + p.k) * float_bytes + p.m * p.k * integer_bytes;
}
Narrow narrow_in(const Request& request, std::byte* workspace) {
  const w4_problem& p = request.p;
  auto* scale = reinterpret_cast<float*>(workspace);
  float* row = scale + p.m * x_groups(request);
  return {scale, row, reinterpret_cast<std::int16_t*>(row + p.k)};
}

void load_narrow(const Request& request, const Buffers& buffers, std::int64_t row,
                 std::int64_t first, std::int64_t count, std::int16_t* out) {
  const std::int16_t* x = narrow_in(request, buffers.workspace).x + row * request.p.k + first;
  std::copy(x, x + count, out);
}

// The nearest integer to a / b, ties to even. Of two floats the quotient in fp64 is never a tie
// that the exact one is not.
int nearest(float a, float b) {
  return static_cast<int>(std::nearbyint(static_cast<double>(a) / static_cast<double>(b)));
}

// Where a value is no number the whole block is none: its integers 0, its scale NaN.
float spoilt(std::int16_t* out, std::int64_t count) {
  std::fill(out, out + count, std::int16_t{0});
  return std::numeric_limits<float>::quiet_NaN();
}

// scale = amax / 127, q = nearest(x / scale): -127..127.
float narrow_amax(const float* x, std::int64_t count, std::int16_t* out) {
  float amax = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    if (!std::isfinite(x[i])) return spoilt(out, count);
    amax = std::max(amax, std::fabs(x[i]));
  }
  const float scale = amax / 127.0F;
  for (std::int64_t i = 0; i < count; ++i) {
    const int q = scale == 0 ? 0 : nearest(x[i], scale);
    out[i] = static_cast<std::int16_t>(std::clamp(q, -127, 127));
  }
  return scale;
}

// lo and hi are the least and largest x, 0 among them; scale = (hi - lo) / 255, zero point
// z = nearest(-lo / scale), q = nearest(x / scale) + z within 0..255. out = q - z.
float narrow_minmax(const float* x, std::int64_t count, std::int16_t* out) {
  float lo = 0, hi = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    if (!std::isfinite(x[i])) return spoilt(out, count);
    lo = std::min(lo, x[i]);
    hi = std::max(hi, x[i]);
  }
  const auto scale =
      static_cast<float>((static_cast<double>(hi) - static_cast<double>(lo)) / 255.0);
  const int zero = scale == 0 ? 0 : std::clamp(nearest(-lo, scale), 0, 255);
  for (std::int64_t i = 0; i < count; ++i) {
    const int q = scale == 0 ? zero : std::clamp(nearest(x[i], scale) + zero, 0, 255);
    out[i] = static_cast<std::int16_t>(q - zero);
  }
  return scale;
}

using NarrowRule = float (*)(const float* x, std::int64_t count, std::int16_t* out);

void multiply_narrowed(const Request& request, const Buffers& buffers, NarrowRule rule) {
  const w4_problem& p = request.p;
  const Narrow narrow = narrow_in(request, buffers.workspace);
  for (std::int64_t m = 0; m < p.m; ++m) {
    load_floats(p.x_type, buffers.x, m * p.x_stride, p.k, narrow.row);
    for (std::int64_t g = 0; g < x_groups(request); ++g) {
      const std::int64_t first = g * p.x_group;
      const std::int64_t count = std::min(p.x_group, p.k - first);
      narrow.scale[m * x_groups(request) + g] =
          rule(narrow.row + first, count, narrow.x + m * p.k + first);
    }
  }
  multiply_integers(request, buffers, {load_narrow, narrow.scale});
}

Outline narrow_outline(const Request& request, const char* path, const char* contract,
                       const char* reason) {
  Outline outline{};
  outline.path = path;
  outline.contract = contract;
  outline.reason = reason;
  outline.workspace_bytes = workspace_bytes(request);
  return outline;
}

}  // namespace

Outline x_int8_amax_outline(const Request& request) {
  return narrow_outline(
      request, "amax+segments",
      "dequant=D5 unit=mul+add/s32 order=seq(segments) partials=f64 x_as=s8/amax/127 "
      "scale_at=group_sum:(isum*s)*xs epilogue=rne",
      "x is wider than mul: each row and x_group is narrowed to s8 by its absolute maximum");
}

void x_int8_amax_multiply(const Request& request, const Buffers& buffers) {
  multiply_narrowed(request, buffers, narrow_amax);
}

Outline x_int8_minmax_outline(const Request& request) {
  return narrow_outline(
      request, "minmax+segments",
      "dequant=D5 unit=mul+add/s32 order=seq(segments) partials=f64 x_as=u8/minmax/255 "
      "scale_at=group_sum:(isum*s)*xs epilogue=rne",
      "x is wider than mul: each row and x_group is narrowed to u8 by its least and largest value");
}

void x_int8_minmax_multiply(const Request& request, const Buffers& buffers) {
  multiply_narrowed(request, buffers, narrow_minmax);
}

}  // namespace w4
