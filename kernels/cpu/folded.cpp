// SPDX-License-Identifier: Apache-2.0
// cpu.folded: the zero point folded into an addend, as Machete and TinyChat do it: pack() stores
// zs = h(z*s), and each weight is one fma, w = h(q*s - zs), in the type h of x.
#include <algorithm>
#include <cstring>

#include "kernels/cpu/stored.hpp"

namespace w4 {
namespace {

const char* folded_declines(const Request& request) {
  const w4_problem& p = request.p;
  if (p.scale_type != p.x_type) {
    return "scale: its type must be that of x, the arithmetic is 16-bit";
  }
  return nullptr;
}

}  // namespace

const Support folded_can{
    .x = 0,
    .mul = set_of(W4_F16, W4_BF16),
    .y = floats,
    .scale = set_of(W4_F16, W4_BF16),
    .bias = floats,
    .zeros = set_of(W4_ZERO_8, W4_ZERO_CODE, W4_ZERO_CODE_M1, W4_ZERO_REAL),
    .storages = set_of(Storage::codes, Storage::kpack, Storage::gptq_v1, Storage::gptq_v2,
                       Storage::awq_gemm, Storage::awq_gemv, Storage::compressed_tensors),
    .act_order = false,
    .x_scales = false,
    .declines = folded_declines,
};

namespace {

constexpr std::int64_t block_columns = 128;

// codes, a byte each [k][n]; from there on 16-bit words: scale and zs [groups][n]; bias fp32 [n].
struct Blob {
  std::int64_t scale, folded, bias, bytes;
};
Blob blob_of(const Request& request) {
  const w4_problem& p = request.p;
  const auto padded = [](std::int64_t bytes) { return ceil_div(bytes, 64) * 64; };
  Blob blob{};
  blob.scale = padded(p.k * p.n);
  blob.folded = blob.scale + padded(p.groups * p.n * 2);
  blob.bias = blob.folded + padded(p.groups * p.n * 2);
  blob.bytes = blob.bias + (request.has_bias() ? p.n * 4 : 0);
  return blob;
}

void load_halves(const std::byte* array, std::uint32_t type, std::int64_t first, std::int64_t count,
                 double* out) {
  for (std::int64_t i = 0; i < count; ++i) {
    out[i] = static_cast<double>(load_float(type, array, first + i));
  }
}

struct Stretch {
  std::int64_t column, columns;
};

// Rows of W for a stretch of columns; scale and zs stay for as long as the group does.
class FoldedRows {
 public:
  FoldedRows(const Request& request, const std::byte* blob, Stretch stretch)
      : request_(request), blob_(blob), at_(blob_of(request)), stretch_(stretch) {}

  // out[j] = h(q*s - zs): q*s is exact in fp64, the sum is rounded once.
  void load(std::int64_t k, float* out) {
    const w4_problem& p = request_.p;
    if (k % p.group == 0) enter(k / p.group);
    const std::byte* codes = blob_ + k * p.n + stretch_.column;
    for (std::int64_t j = 0; j < stretch_.columns; ++j) {
      const double product = static_cast<double>(static_cast<std::uint8_t>(codes[j])) * scale_[j];
      out[j] = from_half(p.x_type, to_half(p.x_type, add_to_odd(product, -folded_[j])));
    }
  }

 private:
  void enter(std::int64_t group) {
    const std::int64_t first = group * request_.p.n + stretch_.column;
    load_halves(blob_ + at_.scale, request_.p.x_type, first, stretch_.columns, scale_);
    load_halves(blob_ + at_.folded, request_.p.x_type, first, stretch_.columns, folded_);
  }

  const Request& request_;
  const std::byte* blob_;
  const Blob at_;
  const Stretch stretch_;
  double scale_[block_columns]{}, folded_[block_columns]{};
};

// sum[j] += x * w[j]. Columns beyond n hold zeros and are not stored.
void add_row(float x, const float* __restrict w, float* __restrict sum) {
  for (std::int64_t j = 0; j < block_columns; ++j) sum[j] += x * w[j];
}

// Each weight is made once for all rows; their sums wait in the workspace, [m][block_columns].
void multiply_stretch(const Request& request, const Buffers& buffers, Stretch stretch) {
  const w4_problem& p = request.p;
  auto* sums = reinterpret_cast<float*>(buffers.workspace);
  std::fill(sums, sums + p.m * block_columns, 0.0F);
  FoldedRows rows(request, buffers.codes, stretch);
  float w[block_columns] = {};
  for (std::int64_t k = 0; k < p.k; ++k) {
    rows.load(k, w);
    for (std::int64_t m = 0; m < p.m; ++m) {
      add_row(load_float(p.x_type, buffers.x, m * p.x_stride + k), w, sums + m * block_columns);
    }
  }
  const std::byte* bias = buffers.codes + blob_of(request).bias;
  for (std::int64_t m = 0; m < p.m; ++m) {
    for (std::int64_t j = 0; j < stretch.columns; ++j) {
      const std::int64_t column = stretch.column + j;
      float total = sums[m * block_columns + j];
      if (request.has_bias()) total += load_float(W4_F32, bias, column);
      store_rounded(p.y_type, buffers.y, m * p.y_stride + column, static_cast<double>(total));
    }
  }
}

// zs = h(z*s) of one group and column.
std::uint16_t fold(const Request& request, const Buffers& from, std::int64_t group,
                   std::int64_t column, double scale) {
  const w4_problem& p = request.p;
  double zero = 0;
  if (has_integer_zero(p.zero)) {
    std::int16_t z;
    load_integer_zeros(request, from, group, column, 1, &z);
    zero = z;
  } else {
    zero = static_cast<double>(load_float(p.zero_type, from.zero, group * p.n + column));
  }
  return to_half(p.x_type, zero * scale);
}

}  // namespace

Outline folded_outline(const Request& request) {
  static constexpr Contract contract{
      "dequant=D3 unit=mul+add/f32 order=chain(1,0..K) partials=f32 scale_at=weight"};
  Outline outline{};
  outline.path = request.p.x_type == W4_F16 ? "d3.f16" : "d3.bf16";
  outline.contract = contract.of(request);
  outline.reason = "zero times scale is rounded once in pack(), each weight is one fma";
  outline.workspace_bytes = request.p.m * block_columns * static_cast<std::int64_t>(sizeof(float));
  outline.packed_bytes = blob_of(request).bytes;
  return outline;
}

void folded_pack(const Request& request, const Buffers& from, std::byte* blob) {
  const w4_problem& p = request.p;
  const Blob at = blob_of(request);
  for (std::int64_t k = 0; k < p.k; ++k) {
    for (std::int64_t n = 0; n < p.n; ++n) {
      std::int16_t code;
      load_codes(request, from, k, n, 1, &code);
      blob[k * p.n + n] = static_cast<std::byte>(code);
    }
  }
  for (std::int64_t g = 0; g < p.groups; ++g) {
    for (std::int64_t n = 0; n < p.n; ++n) {
      float scale;
      load_scales(request, from, g, n, 1, &scale);
      const std::int64_t i = (g * p.n + n) * 2;
      const std::uint16_t words[] = {to_half(p.x_type, static_cast<double>(scale)),
                                     fold(request, from, g, n, static_cast<double>(scale))};
      std::memcpy(blob + at.scale + i, &words[0], 2);
      std::memcpy(blob + at.folded + i, &words[1], 2);
    }
  }
  if (request.has_bias()) {
    load_floats(p.bias_type, from.bias, 0, p.n, reinterpret_cast<float*>(blob + at.bias));
  }
}

void folded_multiply(const Request& request, const Buffers& buffers) {
  const std::int64_t n = request.p.n;
  for (std::int64_t column = 0; column < n; column += block_columns) {
    multiply_stretch(request, buffers, {column, std::min(block_columns, n - column)});
  }
}

}  // namespace w4
