// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/columns.hpp"

#include <algorithm>
#include <numeric>

#include "kernels/cpu/stored.hpp"

namespace w4 {
namespace {

constexpr std::int64_t block_rows = 64;
constexpr std::int64_t float_bytes = sizeof(float), index_bytes = sizeof(std::int32_t);

std::int64_t padded_k(const Request& request) {
  return ceil_div(request.p.k, simd_lanes) * simd_lanes;
}

// codes int8 [n][padded k], scale and (real, additive) zero fp32 [n][groups], bias fp32 [n]; where
// sorted, k of each place and group of each place, int32 [padded k].
struct Blob {
  std::int64_t scale, zero, bias, source, group, bytes;
};
Blob blob_of(const Request& request, bool sorted) {
  const w4_problem& p = request.p;
  const std::int64_t table = p.groups * p.n * float_bytes;
  const std::int64_t index = sorted ? padded_k(request) * index_bytes : 0;
  Blob blob{};
  blob.scale = padded_k(request) * p.n;
  blob.zero = blob.scale + table;
  blob.bias = blob.zero + (has_integer_zero(p.zero) ? 0 : table);
  blob.source = blob.bias + (request.has_bias() ? p.n * float_bytes : 0);
  blob.group = blob.source + index;
  blob.bytes = blob.group + index;
  return blob;
}

// The k at each place, and its group; null: k in order.
struct Places {
  std::int32_t *source, *group;
};
Places places_in(const Request& request, std::byte* blob, bool sorted) {
  if (!sorted) return {};
  const Blob at = blob_of(request, sorted);
  return {reinterpret_cast<std::int32_t*>(blob + at.source),
          reinterpret_cast<std::int32_t*>(blob + at.group)};
}

void sort_by_group(const Request& request, const Buffers& from, Places places) {
  const auto group = [&](std::int32_t k) {
    return static_cast<std::int32_t>(group_of(request, from, k));
  };
  std::int32_t* end = places.source + request.p.k;
  std::iota(places.source, end, 0);
  std::stable_sort(places.source, end,
                   [&](std::int32_t a, std::int32_t b) { return group(a) < group(b); });
  std::transform(places.source, end, places.group, group);
}

void pack_scales(const Request& request, const Buffers& from, float* scale, float* zero) {
  const w4_problem& p = request.p;
  for (std::int64_t n = 0; n < p.n; ++n) {
    for (std::int64_t g = 0; g < p.groups; ++g) {
      load_scales(request, from, g, n, 1, scale + n * p.groups + g);
      if (!has_integer_zero(p.zero)) {
        zero[n * p.groups + g] = load_float(p.zero_type, from.zero, g * p.n + n);
      }
    }
  }
}

// Integer zeros are subtracted here, where the difference (-16..15) is exact; so is the centre of
// add_8.
void pack_codes(const Request& request, const Buffers& from, Places places, std::byte* blob) {
  const w4_problem& p = request.p;
  for (std::int64_t n = 0; n < p.n; ++n) {
    std::byte* column = blob + n * padded_k(request);
    std::int16_t centre = p.zero == W4_ZERO_ADD_8 ? 8 : 0;
    std::int64_t last = -1;
    for (std::int64_t i = 0; i < p.k; ++i) {
      const std::int64_t k = places.source == nullptr ? i : places.source[i];
      const std::int64_t group = group_of(request, from, k);
      if (has_integer_zero(p.zero) && group != last) {
        load_integer_zeros(request, from, group, n, 1, &centre);
      }
      last = group;
      std::int16_t code;
      load_codes(request, from, k, n, 1, &code);
      column[i] = static_cast<std::byte>(code - centre);
    }
  }
}

// rows of x as floats, zeros up to the padded length; in the blob's order where it has one.
void load_rows(const Request& request, const Buffers& buffers, const std::int32_t* source,
               std::int64_t first, std::int64_t rows, float* out) {
  const w4_problem& p = request.p;
  const std::int64_t stride = padded_k(request);
  for (std::int64_t r = 0; r < rows; ++r) {
    float* row = out + r * stride;
    const std::int64_t from = (first + r) * p.x_stride;
    if (source == nullptr) {
      load_floats(p.x_type, buffers.x, from, p.k, row);
    } else {
      for (std::int64_t i = 0; i < p.k; ++i) {
        row[i] = load_float(p.x_type, buffers.x, from + source[i]);
      }
    }
    std::fill(row + p.k, row + stride, 0.0F);
  }
}

Column column_of(const Request& request, const std::byte* blob, ColumnKernel kernel,
                 std::int64_t n) {
  const w4_problem& p = request.p;
  const Blob at = blob_of(request, kernel.sorted);
  Column column{};
  column.d = reinterpret_cast<const std::int8_t*>(blob + n * padded_k(request));
  column.scale = reinterpret_cast<const float*>(blob + at.scale) + n * p.groups;
  column.form = kernel.form;
  if (!has_integer_zero(p.zero)) {
    column.zero = reinterpret_cast<const float*>(blob + at.zero) + n * p.groups;
  }
  column.k = p.k;
  column.group = p.group;
  if (kernel.sorted) column.group_of = reinterpret_cast<const std::int32_t*>(blob + at.group);
  return column;
}

void multiply_rows(const Request& request, const Buffers& buffers, ColumnKernel kernel,
                   std::int64_t first, std::int64_t rows) {
  const w4_problem& p = request.p;
  const std::int64_t stride = padded_k(request);
  const Blob at = blob_of(request, kernel.sorted);
  auto* x = reinterpret_cast<float*>(buffers.workspace);
  float* w = x + std::min(p.m, block_rows) * stride;
  float* sums = w + stride;
  const auto* source = reinterpret_cast<const std::int32_t*>(buffers.codes + at.source);
  load_rows(request, buffers, kernel.sorted ? source : nullptr, first, rows, x);
  const std::byte* bias = buffers.codes + at.bias;
  for (std::int64_t n = 0; n < p.n; ++n) {
    const Column column = column_of(request, buffers.codes, kernel, n);
    if (is_gemv(request)) {
      gemv_column(column, x, stride, rows, sums);
    } else {
      gemm_column(column, x, stride, rows, w, sums);
    }
    for (std::int64_t r = 0; r < rows; ++r) {
      const float total = request.has_bias() ? sums[r] + load_float(W4_F32, bias, n) : sums[r];
      store_rounded(p.y_type, buffers.y, (first + r) * p.y_stride + n, static_cast<double>(total));
    }
  }
}

}  // namespace

WeightForm plain_form(std::uint32_t zero) {
  if (has_integer_zero(zero)) return WeightForm::scaled;
  return is_additive(zero) ? WeightForm::shifted : WeightForm::centred;
}

bool is_gemv(const Request& request) {
  return request.p.m <= gemv_rows;
}

// Rows of x as floats, one column of weights, one sum a row.
std::int64_t column_workspace_bytes(const Request& request) {
  const std::int64_t rows = std::min(request.p.m, block_rows);
  return (rows + 1) * padded_k(request) * float_bytes + block_rows * float_bytes;
}

std::int64_t column_blob_bytes(const Request& request, bool sorted) {
  return blob_of(request, sorted).bytes;
}

void pack_columns(const Request& request, const Buffers& from, bool sorted, std::byte* blob) {
  const w4_problem& p = request.p;
  const Blob at = blob_of(request, sorted);
  const Places places = places_in(request, blob, sorted);
  if (sorted) sort_by_group(request, from, places);
  pack_scales(request, from, reinterpret_cast<float*>(blob + at.scale),
              reinterpret_cast<float*>(blob + at.zero));
  pack_codes(request, from, places, blob);
  if (request.has_bias()) {
    load_floats(p.bias_type, from.bias, 0, p.n, reinterpret_cast<float*>(blob + at.bias));
  }
}

void multiply_columns(const Request& request, const Buffers& buffers, ColumnKernel kernel) {
  const std::int64_t m = request.p.m;
  for (std::int64_t row = 0; row < m; row += block_rows) {
    multiply_rows(request, buffers, kernel, row, std::min(block_rows, m - row));
  }
}

}  // namespace w4
