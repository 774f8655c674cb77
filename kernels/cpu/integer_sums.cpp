// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/integer_sums.hpp"

#include <algorithm>

#include "kernels/cpu/stored.hpp"

namespace w4 {
namespace {

constexpr int block_rows = 16, block_columns = 128, block_depth = 256;
// 255 * 271 * this stays below 2^31, so an int32 sum is exact whatever the bytes.
constexpr std::int64_t longest_segment = 16384;

void add_row(std::int16_t x, const std::int16_t* __restrict d, std::int32_t* __restrict sum) {
  for (int j = 0; j < block_columns; ++j) sum[j] += x * d[j];
}

struct Block {
  std::int64_t row, rows, column, columns;
};

class Sums {
 public:
  Sums(const Request& request, const Buffers& buffers, const IntegerRows& source,
       const Block& block)
      : request_(request), buffers_(buffers), source_(source), block_(block) {}

  // Every k of the next stretch belongs to `group` and `x_group`.
  void enter(std::int64_t group, std::int64_t x_group) {
    if (group != group_) {
      load_scales(request_, buffers_, group, block_.column, block_.columns, scale_);
      load_integer_zeros(request_, buffers_, group, block_.column, block_.columns, zero_);
    }
    group_ = group;
    x_group_ = x_group;
  }

  // x: activations of the block's rows at k, `step` apart.
  void add(std::int64_t k, const std::int16_t* x, std::int64_t step) {
    std::int16_t d[block_columns];
    load_codes(request_, buffers_, k, block_.column, block_.columns, d);
    for (std::int64_t j = 0; j < block_.columns; ++j) {
      d[j] = static_cast<std::int16_t>(d[j] - zero_[j]);
    }
    std::fill(d + block_.columns, d + block_columns, std::int16_t{0});
    for (std::int64_t i = 0; i < block_.rows; ++i) add_row(x[i * step], d, segment_[i]);
  }

  // Ends the stretch: total += (isum * s) * xs.
  void flush() {
    for (std::int64_t i = 0; i < block_.rows; ++i) {
      const double x_scale = activation_scale(block_.row + i);
      for (std::int64_t j = 0; j < block_.columns; ++j) {
        total_[i][j] += segment_[i][j] * static_cast<double>(scale_[j]) * x_scale;
      }
      std::fill(segment_[i], segment_[i] + block_columns, 0);
    }
  }

  void store() const {
    const w4_problem& p = request_.p;
    for (std::int64_t i = 0; i < block_.rows; ++i) {
      for (std::int64_t j = 0; j < block_.columns; ++j) {
        const std::int64_t column = block_.column + j;
        double total = total_[i][j];
        if (request_.has_bias()) {
          total += static_cast<double>(load_float(p.bias_type, buffers_.bias, column));
        }
        store_rounded(p.y_type, buffers_.y, (block_.row + i) * p.y_stride + column, total);
      }
    }
  }

 private:
  double activation_scale(std::int64_t row) const {
    const w4_problem& p = request_.p;
    const std::int64_t at = row * ceil_div(p.k, p.x_group) + x_group_;
    double scale = 1;
    if (buffers_.x_scale != nullptr) {
      scale = static_cast<double>(load_float(W4_F32, buffers_.x_scale, at));
    }
    return source_.scale == nullptr ? scale : scale * static_cast<double>(source_.scale[at]);
  }

  const Request& request_;
  const Buffers& buffers_;
  const IntegerRows& source_;
  const Block block_;
  std::int64_t group_{-1}, x_group_{-1};
  float scale_[block_columns]{};
  std::int16_t zero_[block_columns]{};
  std::int32_t segment_[block_rows][block_columns]{};
  double total_[block_rows][block_columns]{};
};

void multiply_block(const Request& request, const Buffers& buffers, const IntegerRows& source,
                    const Block& block) {
  const w4_problem& p = request.p;
  std::int16_t x[block_rows * block_depth];
  Sums sums(request, buffers, source, block);
  std::int64_t begin = 0;
  for (std::int64_t k = 0; k < p.k; ++k) {
    const std::int64_t in_chunk = k % block_depth;
    if (in_chunk == 0) {
      const std::int64_t depth = std::min<std::int64_t>(block_depth, p.k - k);
      for (std::int64_t i = 0; i < block.rows; ++i) {
        source.load(request, buffers, block.row + i, k, depth, x + i * block_depth);
      }
    }
    const std::int64_t group = group_of(request, buffers, k), x_group = k / p.x_group;
    if (k == begin) sums.enter(group, x_group);
    sums.add(k, x + in_chunk, block_depth);
    const std::int64_t next = k + 1;
    if (next == p.k || next - begin == longest_segment || next / p.x_group != x_group ||
        group_of(request, buffers, next) != group) {
      sums.flush();
      begin = next;
    }
  }
  sums.store();
}

}  // namespace

void multiply_integers(const Request& request, const Buffers& buffers, const IntegerRows& source) {
  const w4_problem& p = request.p;
  for (std::int64_t column = 0; column < p.n; column += block_columns) {
    for (std::int64_t row = 0; row < p.m; row += block_rows) {
      multiply_block(request, buffers, source,
                     {row, std::min<std::int64_t>(block_rows, p.m - row), column,
                      std::min<std::int64_t>(block_columns, p.n - column)});
    }
  }
}

}  // namespace w4
