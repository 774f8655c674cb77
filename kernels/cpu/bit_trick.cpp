// SPDX-License-Identifier: Apache-2.0
// cpu.bit_trick: the register dequantisation of GPU kernels, lane for lane on uint32 words: a code
// becomes a 16-bit float by one AND and one OR, then zero and scale are applied in 16-bit
// arithmetic.
#include <algorithm>
#include <cstring>

#include "kernels/cpu/stored.hpp"

namespace w4 {
namespace {

bool article_order(const Request& request) {
  return std::strcmp(request.layout.digits, "02461357") == 0;
}

const char* bit_trick_declines(const Request& request) {
  const w4_problem& p = request.p;
  if (request.layout.storage == Storage::kpack && !article_order(request)) {
    return "layout: of the kpack orders only kpack:02461357 yields pairs in order";
  }
  if (p.k % 8 != 0) return "k: not a multiple of 8, the codes of one word";
  if (p.scale_type != p.x_type)
    return "scale: its type must be that of x, the arithmetic is 16-bit";
  if (p.zero == W4_ZERO_REAL && p.zero_type != p.x_type) {
    return "zero: its type must be that of x, the arithmetic is 16-bit";
  }
  return nullptr;
}

}  // namespace

const Support bit_trick_can{
    .x = 0,
    .mul = set_of(W4_F16, W4_BF16),
    .y = floats,
    .scale = set_of(W4_F16, W4_BF16),
    .bias = floats,
    .zeros = set_of(W4_ZERO_8, W4_ZERO_CODE, W4_ZERO_CODE_M1, W4_ZERO_REAL),
    .storages = set_of(Storage::kpack, Storage::gptq_v1, Storage::gptq_v2),
    .act_order = false,
    .x_scales = false,
    .declines = bit_trick_declines,
};

namespace {

constexpr int block_columns = 128;

// One 16-bit arithmetic: every operation is exact in fp64 or rounds harmlessly there (53 >=
// 2*11+2), then once.
struct F16 {
  static double value(std::uint16_t h) { return static_cast<double>(from_f16(h)); }
  static std::uint16_t round(double v) { return to_f16(v); }
};
struct Bf16 {
  static double value(std::uint16_t h) { return static_cast<double>(from_bf16(h)); }
  static std::uint16_t round(double v) { return to_bf16(v); }
};

template <typename Half>
std::uint16_t subtract(std::uint16_t a, std::uint16_t b) {
  return Half::round(Half::value(a) - Half::value(b));
}
template <typename Half>
std::uint16_t multiply(std::uint16_t a, std::uint16_t b) {
  return Half::round(Half::value(a) * Half::value(b));
}
template <typename Half>
std::uint16_t fused(std::uint16_t a, std::uint16_t b, std::uint16_t c) {
  return Half::round(Half::value(a) * Half::value(b) + Half::value(c));
}

// Two halves of a register.
struct Pair {
  std::uint16_t low, high;
};
Pair halves(std::uint32_t reg) {
  return {static_cast<std::uint16_t>(reg), static_cast<std::uint16_t>(reg >> 16)};
}

// One word -> codes of elements 0..7 as halves: q, or q - 8 where `symmetric`.
// fp16: 0x6400 is 1024, whose last place is 1; in the high nibbles' place the OR gives 1024 + 16q,
// and one fma by 1/16 brings it back.
void unpack(F16, std::uint32_t word, bool symmetric, std::uint16_t out[8]) {
  constexpr std::uint32_t low = 0x000f000f, high = 0x00f000f0, exponent = 0x64006400;
  constexpr std::uint16_t sixteenth = 0x2c00;
  const std::uint16_t bias = symmetric ? 0x6408 : 0x6400;        // 1032, 1024
  const std::uint16_t minus_bias = symmetric ? 0xd480 : 0xd400;  // -72, -64
  const std::uint32_t next = word >> 8;
  const std::uint32_t registers[4] = {(word & low) | exponent, (word & high) | exponent,
                                      (next & low) | exponent, (next & high) | exponent};
  for (int i = 0; i < 4; ++i) {
    const Pair v = halves(registers[i]);
    const bool shifted = i % 2 != 0;
    out[2 * i] = shifted ? fused<F16>(v.low, sixteenth, minus_bias) : subtract<F16>(v.low, bias);
    out[2 * i + 1] =
        shifted ? fused<F16>(v.high, sixteenth, minus_bias) : subtract<F16>(v.high, bias);
  }
}

// bf16: 0x4300 is 128, whose last place is 1. Its seven fraction bits have no room for 16q, so the
// word is shifted by four more for each pair and only the low nibbles' place is used.
void unpack(Bf16, std::uint32_t word, bool symmetric, std::uint16_t out[8]) {
  constexpr std::uint32_t low = 0x000f000f, exponent = 0x43004300;
  const std::uint16_t bias = symmetric ? 0x4308 : 0x4300;  // 136, 128
  for (int i = 0; i < 4; ++i) {
    const Pair v = halves((word >> (4 * i) & low) | exponent);
    out[2 * i] = subtract<Bf16>(v.low, bias);
    out[2 * i + 1] = subtract<Bf16>(v.high, bias);
  }
}

// Operands in the kernel's own order: words of kpack:02461357 [k/8][n]; scales, real zeros, bias as
// the layout has them; integer zeros one byte each, 0..16, or null (symmetric).
struct Operands {
  const std::byte *words, *scale, *zero, *bias;
  bool zero_is_byte;
  int zero_offset;  // added to the byte
};

// Where pack() puts them, each on a boundary of 64 bytes.
struct Blob {
  std::int64_t scale, zero, bias, bytes;
};
Blob blob_of(const Request& request) {
  const auto padded = [](std::int64_t bytes) { return ceil_div(bytes + 1, 64) * 64; };
  Blob blob{};
  blob.scale = padded(request.bytes.codes);
  blob.zero = blob.scale + padded(request.bytes.scale);
  blob.bias = blob.zero + padded(request.p.groups * request.p.n);
  blob.bytes = blob.bias + padded(request.bytes.bias);
  return blob;
}

Operands operands_of(const Request& request, const Buffers& buffers) {
  const bool real = request.p.zero == W4_ZERO_REAL;
  const bool symmetric = request.p.zero == W4_ZERO_8;
  if (!request.gptq()) {
    return {buffers.codes, buffers.scale, symmetric ? nullptr : buffers.zero,
            buffers.bias,  !real,         request.p.zero == W4_ZERO_CODE_M1 ? 1 : 0};
  }
  const Blob blob = blob_of(request);
  const std::byte* base = buffers.codes;
  return {base, base + blob.scale, symmetric ? nullptr : base + blob.zero, base + blob.bias, true,
          0};
}

// The scale and zero of one group as halves, for a stretch of columns.
template <typename Half>
struct GroupHalves {
  std::uint16_t scale[block_columns], zero[block_columns];

  void load(const Operands& operands, std::int64_t first, std::int64_t count) {
    std::memcpy(scale, operands.scale + first * 2, static_cast<std::size_t>(count) * 2);
    if (operands.zero == nullptr) return;
    if (!operands.zero_is_byte) {
      std::memcpy(zero, operands.zero + first * 2, static_cast<std::size_t>(count) * 2);
      return;
    }
    for (std::int64_t j = 0; j < count; ++j) {
      const int z = static_cast<int>(operands.zero[first + j]) + operands.zero_offset;
      zero[j] = Half::round(static_cast<double>(z));
    }
  }
};

struct Stretch {
  std::int64_t column, columns;
};

// w[e][j] = h((q - z) * s) for the eight k of one row of words; groups may change inside a word.
template <typename Half>
void dequantise(const Request& request, const Operands& operands, std::int64_t word_row,
                Stretch stretch, std::int64_t& group, GroupHalves<Half>& halves_of_group,
                float (*w)[block_columns]) {
  const w4_problem& p = request.p;
  const bool symmetric = operands.zero == nullptr;
  std::uint16_t codes[block_columns][8];
  for (std::int64_t j = 0; j < stretch.columns; ++j) {
    const std::uint32_t word = load_word(operands.words, word_row * p.n + stretch.column + j);
    unpack(Half{}, word, symmetric, codes[j]);
  }
  for (int e = 0; e < 8; ++e) {
    const std::int64_t now = (word_row * 8 + e) / p.group;
    if (now != group) halves_of_group.load(operands, now * p.n + stretch.column, stretch.columns);
    group = now;
    for (std::int64_t j = 0; j < stretch.columns; ++j) {
      std::uint16_t v = codes[j][e];
      if (!symmetric) v = subtract<Half>(v, halves_of_group.zero[j]);
      w[e][j] = static_cast<float>(Half::value(multiply<Half>(v, halves_of_group.scale[j])));
    }
  }
}

// sum[j] += x[e] * w[e][j], e = 0..7 in order. The product of two 16-bit floats is exact in fp32.
void add_word(const float x[8], const float (*w)[block_columns], float* __restrict sum) {
  for (int e = 0; e < 8; ++e) {
    const float* __restrict row = w[e];
    for (int j = 0; j < block_columns; ++j) sum[j] += x[e] * row[j];
  }
}

void store_stretch(const Request& request, const Operands& operands, Stretch stretch,
                   const float* sums, std::byte* y) {
  const w4_problem& p = request.p;
  for (std::int64_t m = 0; m < p.m; ++m) {
    for (std::int64_t j = 0; j < stretch.columns; ++j) {
      const std::int64_t column = stretch.column + j;
      float total = sums[m * block_columns + j];
      if (request.has_bias()) total += load_float(p.bias_type, operands.bias, column);
      store_rounded(p.y_type, y, m * p.y_stride + column, static_cast<double>(total));
    }
  }
}

// Every word is unpacked once and used for all rows; their sums wait in the workspace,
// [m][block_columns].
template <typename Half>
void multiply_stretch(const Request& request, const Buffers& buffers, Stretch stretch) {
  const w4_problem& p = request.p;
  const Operands operands = operands_of(request, buffers);
  auto* sums = reinterpret_cast<float*>(buffers.workspace);
  std::fill(sums, sums + p.m * block_columns, 0.0F);
  float w[8][block_columns] = {};
  GroupHalves<Half> halves_of_group;
  std::int64_t group = -1;
  for (std::int64_t word_row = 0; word_row < p.k / 8; ++word_row) {
    dequantise<Half>(request, operands, word_row, stretch, group, halves_of_group, w);
    for (std::int64_t m = 0; m < p.m; ++m) {
      float x[8];
      load_floats(p.x_type, buffers.x, m * p.x_stride + word_row * 8, 8, x);
      add_word(x, w, sums + m * block_columns);
    }
  }
  store_stretch(request, operands, stretch, sums, buffers.y);
}

// A word of the natural order (nibble e holds element e) in the article's: nibble p holds element
// 02461357[p].
std::uint32_t shuffle(std::uint32_t natural) {
  constexpr int order[8] = {0, 2, 4, 6, 1, 3, 5, 7};
  std::uint32_t word = 0;
  for (int p = 0; p < 8; ++p) word |= (natural >> (4 * order[p]) & 15) << (4 * p);
  return word;
}

}  // namespace

Outline bit_trick_outline(const Request& request) {
  static constexpr Contract d1{
      "dequant=D1 unit=fma/f32 order=chain(1,0..K) partials=f32 scale_at=weight"},
      d6{"dequant=D6 unit=fma/f32 order=chain(1,0..K) partials=f32 scale_at=weight"};
  const bool is_f16 = request.p.x_type == W4_F16;
  Outline outline{};
  outline.path = request.gptq() ? (is_f16 ? "f16.repacked" : "bf16.repacked")
                                : (is_f16 ? "f16.words" : "bf16.words");
  outline.contract = (request.p.zero == W4_ZERO_REAL ? d6 : d1).of(request);
  outline.workspace_bytes = request.p.m * block_columns * static_cast<std::int64_t>(sizeof(float));
  outline.packed_bytes = request.gptq() ? blob_of(request).bytes : 0;
  return outline;
}

void bit_trick_pack(const Request& request, const Buffers& from, std::byte* blob) {
  const w4_problem& p = request.p;
  const Blob at = blob_of(request);
  for (std::int64_t i = 0; i < p.k / 8 * p.n; ++i) {
    const std::uint32_t word = shuffle(load_word(from.codes, i));
    std::memcpy(blob + i * 4, &word, 4);
  }
  std::memcpy(blob + at.scale, from.scale, static_cast<std::size_t>(request.bytes.scale));
  for (std::int64_t g = 0; g < p.groups && p.zero != W4_ZERO_8; ++g) {
    for (std::int64_t n = 0; n < p.n; ++n) {
      std::int16_t zero;
      load_integer_zeros(request, from, g, n, 1, &zero);
      blob[at.zero + g * p.n + n] = static_cast<std::byte>(zero);
    }
  }
  if (request.has_bias()) {
    std::memcpy(blob + at.bias, from.bias, static_cast<std::size_t>(request.bytes.bias));
  }
}

void bit_trick_multiply(const Request& request, const Buffers& buffers) {
  const std::int64_t n = request.p.n;
  for (std::int64_t column = 0; column < n; column += block_columns) {
    const Stretch stretch{column, std::min<std::int64_t>(block_columns, n - column)};
    if (request.p.x_type == W4_F16) {
      multiply_stretch<F16>(request, buffers, stretch);
    } else {
      multiply_stretch<Bf16>(request, buffers, stretch);
    }
  }
}

}  // namespace w4
