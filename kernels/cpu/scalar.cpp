// SPDX-License-Identifier: Apache-2.0
// cpu.scalar: W4A16 by plain loops, every layout and zero form. The weight is an fp32 number, never
// rounded to 16 bits, and each output is one chain of fp32 multiplications and additions over k =
// 0, 1, 2, ...
#include <algorithm>

#include "kernels/cpu/stored.hpp"

namespace w4 {

const Support scalar_can{
    .x = 0,
    .mul = floats,
    .y = floats,
    .scale = floats,
    .bias = floats,
    .zeros = every_zero,
    .storages = every_storage,
    .act_order = true,
    .x_scales = false,
    .declines = nullptr,
};

Outline scalar_outline(const Request& request) {
  static constexpr Contract contract{
      "dequant=D5 unit=mul+add/f32 order=chain(1,0..K) partials=f32 scale_at=weight"};
  return {"loop", contract.of(request)};
}

namespace {

constexpr int block_rows = 16, block_columns = 128, block_depth = 256;

// Rows of W for a stretch of columns. Scales and zeros are kept for as long as the group stays.
class WeightRows {
 public:
  WeightRows(const Request& request, const Buffers& buffers, std::int64_t first, std::int64_t count)
      : request_(request), buffers_(buffers), first_(first), count_(count) {}

  // out[i] = W[k][first+i] in fp32: (q - z) * s, or q * s + z with additive zeros. Each operation
  // rounds to fp32; with integer zeros and 16-bit scales none of them has anything to round.
  void load(std::int64_t k, float* out) {
    const std::int64_t group = group_of(request_, buffers_, k);
    if (group != group_) enter(group);
    std::int16_t codes[block_columns];
    load_codes(request_, buffers_, k, first_, count_, codes);
    if (is_additive(request_.p.zero)) {
      const std::int16_t centre = request_.p.zero == W4_ZERO_ADD_8 ? 8 : 0;
      for (std::int64_t i = 0; i < count_; ++i) {
        out[i] = static_cast<float>(codes[i] - centre) * scale_[i] + zero_[i];
      }
      return;
    }
    for (std::int64_t i = 0; i < count_; ++i) {
      out[i] = (static_cast<float>(codes[i]) - zero_[i]) * scale_[i];
    }
  }

 private:
  void enter(std::int64_t group) {
    group_ = group;
    load_scales(request_, buffers_, group, first_, count_, scale_);
    const w4_problem& p = request_.p;
    if (!has_integer_zero(p.zero)) {
      load_floats(p.zero_type, buffers_.zero, group * p.n + first_, count_, zero_);
      return;
    }
    std::int16_t zeros[block_columns];
    load_integer_zeros(request_, buffers_, group, first_, count_, zeros);
    for (std::int64_t i = 0; i < count_; ++i) zero_[i] = static_cast<float>(zeros[i]);
  }

  const Request& request_;
  const Buffers& buffers_;
  std::int64_t first_, count_, group_{-1};
  float scale_[block_columns]{}, zero_[block_columns]{};
};

// sum[j] += x * w[j]. Always the whole block: columns beyond n hold zeros and are not stored.
void add_row(float x, const float* __restrict w, float* __restrict sum) {
  for (int j = 0; j < block_columns; ++j) sum[j] += x * w[j];
}

struct Block {
  std::int64_t row, rows, column, columns;
};

void multiply_block(const Request& request, const Buffers& buffers, const Block& block) {
  const w4_problem& p = request.p;
  float sum[block_rows][block_columns] = {};
  float x[block_rows][block_depth];
  float w[block_columns] = {};
  WeightRows weights(request, buffers, block.column, block.columns);
  for (std::int64_t k0 = 0; k0 < p.k; k0 += block_depth) {
    const std::int64_t depth = std::min<std::int64_t>(block_depth, p.k - k0);
    for (std::int64_t i = 0; i < block.rows; ++i) {
      load_floats(p.x_type, buffers.x, (block.row + i) * p.x_stride + k0, depth, x[i]);
    }
    for (std::int64_t k = 0; k < depth; ++k) {
      weights.load(k0 + k, w);
      for (std::int64_t i = 0; i < block.rows; ++i) add_row(x[i][k], w, sum[i]);
    }
  }
  float bias[block_columns] = {};
  if (request.has_bias()) {
    load_floats(p.bias_type, buffers.bias, block.column, block.columns, bias);
  }
  for (std::int64_t i = 0; i < block.rows; ++i) {
    const std::int64_t row = (block.row + i) * p.y_stride + block.column;
    for (std::int64_t j = 0; j < block.columns; ++j) {
      const float total = request.has_bias() ? sum[i][j] + bias[j] : sum[i][j];
      store_rounded(p.y_type, buffers.y, row + j, static_cast<double>(total));
    }
  }
}

}  // namespace

void scalar_multiply(const Request& request, const Buffers& buffers) {
  const w4_problem& p = request.p;
  for (std::int64_t column = 0; column < p.n; column += block_columns) {
    for (std::int64_t row = 0; row < p.m; row += block_rows) {
      multiply_block(request, buffers,
                     {row, std::min<std::int64_t>(block_rows, p.m - row), column,
                      std::min<std::int64_t>(block_columns, p.n - column)});
    }
  }
}

}  // namespace w4
