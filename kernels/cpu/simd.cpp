// SPDX-License-Identifier: Apache-2.0
// cpu.simd: W4A16 with Highway. pack() makes columns of bytes and fp32 scales; two paths, gemv for
// up to four rows and gemm above, with the same bits.
#include <algorithm>
#include <cstring>

#include "kernels/cpu/simd_columns.hpp"
#include "kernels/cpu/stored.hpp"

namespace w4 {
namespace {

const char* simd_declines(const Request& request) {
  if (request.layout.storage != Storage::kpack) return nullptr;
  for (const char* known : {"01234567", "02461357"}) {
    if (std::strcmp(request.layout.digits, known) == 0) return nullptr;
  }
  return "layout: of the kpack orders this kernel reads 01234567 and 02461357";
}

}  // namespace

const Support simd_can{
    .x = 0,
    .mul = floats,
    .y = floats,
    .scale = floats,
    .bias = floats,
    .zeros = set_of(W4_ZERO_SIGNED, W4_ZERO_8, W4_ZERO_CODE, W4_ZERO_CODE_M1, W4_ZERO_REAL,
                    W4_ZERO_ADD, W4_ZERO_ADD_8),
    .storages = set_of(Storage::codes, Storage::kpack, Storage::gptq_v1, Storage::gptq_v2),
    .act_order = false,
    .x_scales = false,
    .declines = simd_declines,
};

namespace {

constexpr std::int64_t block_rows = 64;
constexpr std::int64_t float_bytes = sizeof(float);

std::int64_t padded_k(const Request& request) {
  return ceil_div(request.p.k, simd_lanes) * simd_lanes;
}

// codes int8 [n][padded k], scale and (real, additive) zero fp32 [n][groups], bias fp32 [n].
struct Blob {
  std::int64_t scale, zero, bias, bytes;
};
Blob blob_of(const Request& request) {
  const w4_problem& p = request.p;
  const std::int64_t table = p.groups * p.n * float_bytes;
  Blob blob{};
  blob.scale = padded_k(request) * p.n;
  blob.zero = blob.scale + table;
  blob.bias = blob.zero + (has_integer_zero(p.zero) ? 0 : table);
  blob.bytes = blob.bias + (request.has_bias() ? p.n * float_bytes : 0);
  return blob;
}

WeightForm form_of(std::uint32_t zero) {
  if (has_integer_zero(zero)) return WeightForm::scaled;
  return is_additive(zero) ? WeightForm::shifted : WeightForm::centred;
}

bool is_gemv(const Request& request) {
  return request.p.m <= gemv_rows;
}

}  // namespace

Outline simd_outline(const Request& request) {
  Outline outline{};
  outline.path = is_gemv(request) ? "gemv" : "gemm";
  outline.contract =
      "dequant=D5 unit=mul+add/f32 order=tree(chain(1,slice(0,K,16)),..,chain(1,slice(15,K,16))) "
      "partials=f32 scale_at=weight epilogue=rne";
  // Rows of x as floats, one column of weights, one sum a row.
  const std::int64_t rows = std::min(request.p.m, block_rows);
  outline.workspace_bytes = (rows + 1) * padded_k(request) * float_bytes + block_rows * float_bytes;
  outline.packed_bytes = blob_of(request).bytes;
  return outline;
}

// Integer zeros are subtracted here, where the difference (-16..15) is exact; so is the centre of
// add_8.
void simd_pack(const Request& request, const Buffers& from, std::byte* blob) {
  const w4_problem& p = request.p;
  const Blob at = blob_of(request);
  auto* scale = reinterpret_cast<float*>(blob + at.scale);
  auto* zero = reinterpret_cast<float*>(blob + at.zero);
  for (std::int64_t n = 0; n < p.n; ++n) {
    for (std::int64_t g = 0; g < p.groups; ++g) {
      load_scales(request, from, g, n, 1, scale + n * p.groups + g);
      if (!has_integer_zero(p.zero)) {
        zero[n * p.groups + g] = load_float(p.zero_type, from.zero, g * p.n + n);
      }
    }
    std::byte* column = blob + n * padded_k(request);
    std::int16_t centre = p.zero == W4_ZERO_ADD_8 ? 8 : 0;
    for (std::int64_t k = 0; k < p.k; ++k) {
      if (has_integer_zero(p.zero) && k % p.group == 0) {
        load_integer_zeros(request, from, k / p.group, n, 1, &centre);
      }
      std::int16_t code;
      load_codes(request, from, k, n, 1, &code);
      column[k] = static_cast<std::byte>(code - centre);
    }
  }
  if (request.has_bias()) {
    load_floats(p.bias_type, from.bias, 0, p.n, reinterpret_cast<float*>(blob + at.bias));
  }
}

namespace {

// Rows of x as floats, padded with zeros up to a multiple of sixteen.
void load_rows(const Request& request, const Buffers& buffers, std::int64_t first,
               std::int64_t rows, float* out) {
  const w4_problem& p = request.p;
  const std::int64_t stride = padded_k(request);
  for (std::int64_t r = 0; r < rows; ++r) {
    float* row = out + r * stride;
    load_floats(p.x_type, buffers.x, (first + r) * p.x_stride, p.k, row);
    std::fill(row + p.k, row + stride, 0.0F);
  }
}

Column column_of(const Request& request, const std::byte* blob, std::int64_t n) {
  const w4_problem& p = request.p;
  const Blob at = blob_of(request);
  Column column{};
  column.d = reinterpret_cast<const std::int8_t*>(blob + n * padded_k(request));
  column.scale = reinterpret_cast<const float*>(blob + at.scale) + n * p.groups;
  column.form = form_of(p.zero);
  if (column.form != WeightForm::scaled) {
    column.zero = reinterpret_cast<const float*>(blob + at.zero) + n * p.groups;
  }
  column.k = p.k;
  column.group = p.group;
  return column;
}

void multiply_rows(const Request& request, const Buffers& buffers, std::int64_t first,
                   std::int64_t rows) {
  const w4_problem& p = request.p;
  const std::int64_t stride = padded_k(request);
  auto* x = reinterpret_cast<float*>(buffers.workspace);
  float* w = x + std::min(p.m, block_rows) * stride;
  float* sums = w + stride;
  load_rows(request, buffers, first, rows, x);
  const std::byte* bias = buffers.codes + blob_of(request).bias;
  for (std::int64_t n = 0; n < p.n; ++n) {
    const Column column = column_of(request, buffers.codes, n);
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

void simd_multiply(const Request& request, const Buffers& buffers) {
  const std::int64_t m = request.p.m;
  for (std::int64_t row = 0; row < m; row += block_rows) {
    multiply_rows(request, buffers, row, std::min(block_rows, m - row));
  }
}

}  // namespace w4
