// SPDX-License-Identifier: Apache-2.0
// cpu.dense: dequantise, then multiply. Each call writes the whole matrix to the workspace as
// 16-bit weights, h((q-z)*s) rounded once in the type h of x, and runs a dense GEMM that knows
// nothing of codes.
#include <algorithm>
#include <cstring>

#include "kernels/cpu/dense_panel.hpp"
#include "kernels/cpu/stored.hpp"

namespace w4 {

const Support dense_can{
    .x = 0,
    .mul = set_of(W4_F16, W4_BF16),
    .y = floats,
    .scale = floats,
    .bias = floats,
    .zeros = every_zero,
    .storages = every_storage,
    .act_order = true,
    .x_scales = false,
    .declines = nullptr,
};

namespace {

constexpr std::int64_t block_columns = 128;
constexpr std::int64_t codes = 16;

// In the workspace: floats first, x [m][k], one panel of W [k][panel_columns], its sums
// [m][panel_columns]; then W [k][n] as 16-bit words.
struct Areas {
  std::int64_t panel, sums, weights, bytes;
};
Areas areas_of(const Request& request) {
  constexpr auto float_bytes = static_cast<std::int64_t>(sizeof(float));
  const w4_problem& p = request.p;
  Areas areas{};
  areas.panel = p.m * p.k * float_bytes;
  areas.sums = areas.panel + p.k * panel_columns * float_bytes;
  areas.weights = areas.sums + p.m * panel_columns * float_bytes;
  areas.bytes = areas.weights + p.k * p.n * 2;
  return areas;
}

// The scales and zeros of a stretch of columns in one group, as fp64; where the group is long
// enough to pay for it, the weight of every code.
struct GroupRow {
  std::int64_t group{-1};
  double scale[block_columns], zero[block_columns];
  std::uint16_t table[block_columns][codes];
};

void enter(const Request& request, const Buffers& buffers, std::int64_t group, std::int64_t first,
           std::int64_t count, GroupRow& row) {
  const w4_problem& p = request.p;
  row.group = group;
  float values[block_columns];
  load_scales(request, buffers, group, first, count, values);
  std::copy(values, values + count, row.scale);
  if (has_integer_zero(p.zero)) {
    std::int16_t zeros[block_columns];
    load_integer_zeros(request, buffers, group, first, count, zeros);
    std::copy(zeros, zeros + count, row.zero);
    return;
  }
  load_floats(p.zero_type, buffers.zero, group * p.n + first, count, values);
  std::copy(values, values + count, row.zero);
}

// h of the exact (q-z)*s, or q*s + z, or (q-8)*s + z. Every product of two of them fits fp64; what
// a sum of two products loses is kept by rounding it to odd.
std::uint16_t weight(const Request& request, std::int16_t code, double scale, double zero) {
  const w4_problem& p = request.p;
  if (has_integer_zero(p.zero)) return to_half(p.x_type, (code - zero) * scale);
  const int centre = p.zero == W4_ZERO_ADD_8 ? 8 : 0;
  const double addend = is_additive(p.zero) ? zero : -zero * scale;
  return to_half(p.x_type, add_to_odd((code - centre) * scale, addend));
}

// By the low four bits of a code: 0..15, or -8..7 where signed.
void fill_table(const Request& request, std::int64_t count, GroupRow& row) {
  const bool is_signed = request.p.zero == W4_ZERO_SIGNED;
  for (std::int64_t j = 0; j < count; ++j) {
    for (std::int16_t code = 0; code < codes; ++code) {
      const auto value = static_cast<std::int16_t>(is_signed && code > 7 ? code - codes : code);
      row.table[j][code] = weight(request, value, row.scale[j], row.zero[j]);
    }
  }
}

// W [k][n] as 16-bit words.
void dequantise(const Request& request, const Buffers& buffers, std::byte* out) {
  const w4_problem& p = request.p;
  const bool tabled = !request.act_order() && p.group >= 2 * codes;
  for (std::int64_t first = 0; first < p.n; first += block_columns) {
    const std::int64_t count = std::min(block_columns, p.n - first);
    GroupRow row;
    for (std::int64_t k = 0; k < p.k; ++k) {
      const std::int64_t group = group_of(request, buffers, k);
      if (group != row.group) {
        enter(request, buffers, group, first, count, row);
        if (tabled) fill_table(request, count, row);
      }
      std::int16_t code[block_columns];
      load_codes(request, buffers, k, first, count, code);
      std::uint16_t words[block_columns];
      for (std::int64_t j = 0; j < count; ++j) {
        words[j] = tabled ? row.table[j][code[j] & (codes - 1)]
                          : weight(request, code[j], row.scale[j], row.zero[j]);
      }
      std::memcpy(out + (k * p.n + first) * 2, words, static_cast<std::size_t>(count) * 2);
    }
  }
}

struct Stretch {
  std::int64_t column, columns;
};

void store(const Request& request, const Buffers& buffers, Stretch stretch, const float* sums) {
  const w4_problem& p = request.p;
  for (std::int64_t m = 0; m < p.m; ++m) {
    for (std::int64_t j = 0; j < stretch.columns; ++j) {
      const std::int64_t column = stretch.column + j;
      float total = sums[m * panel_columns + j];
      if (request.has_bias()) total += load_float(p.bias_type, buffers.bias, column);
      store_rounded(p.y_type, buffers.y, m * p.y_stride + column, static_cast<double>(total));
    }
  }
}

// y = x * W + bias for dense row-major matrices of one 16-bit type, fp32 sums, k in order.
void dense_product(const Request& request, const Buffers& buffers, const std::byte* weights) {
  const w4_problem& p = request.p;
  const Areas areas = areas_of(request);
  auto* x = reinterpret_cast<float*>(buffers.workspace);
  auto* panel = reinterpret_cast<float*>(buffers.workspace + areas.panel);
  auto* sums = reinterpret_cast<float*>(buffers.workspace + areas.sums);
  for (std::int64_t m = 0; m < p.m; ++m) {
    load_floats(p.x_type, buffers.x, m * p.x_stride, p.k, x + m * p.k);
  }
  for (std::int64_t column = 0; column < p.n; column += panel_columns) {
    const std::int64_t columns = std::min(panel_columns, p.n - column);
    std::fill(panel, panel + p.k * panel_columns, 0.0F);
    for (std::int64_t k = 0; k < p.k; ++k) {
      load_floats(p.x_type, weights, k * p.n + column, columns, panel + k * panel_columns);
    }
    multiply_panel(x, p.k, p.m, panel, p.k, sums);
    store(request, buffers, {column, columns}, sums);
  }
}

}  // namespace

Outline dense_outline(const Request& request) {
  static constexpr Contract contract{
      "dequant=D1 unit=mul+add/f32 order=chain(1,0..K) partials=f32 scale_at=weight"};
  Outline outline{};
  outline.path = "dequant+dense";
  outline.contract = contract.of(request);
  outline.reason = "the whole matrix becomes 16-bit weights first, for a dense GEMM";
  outline.workspace_bytes = areas_of(request).bytes;
  return outline;
}

void dense_multiply(const Request& request, const Buffers& buffers) {
  std::byte* weights = buffers.workspace + areas_of(request).weights;
  dequantise(request, buffers, weights);
  dense_product(request, buffers, weights);
}

}  // namespace w4
