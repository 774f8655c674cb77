// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/stored.hpp"

namespace w4 {
namespace {

constexpr std::int16_t meaning(std::uint32_t nibble, bool is_signed) {
  const auto code = static_cast<std::int16_t>(nibble & 15);
  return is_signed && code > 7 ? static_cast<std::int16_t>(code - 16) : code;
}

void load_bytes(const std::byte* row, std::int64_t count, bool is_signed, std::int16_t* out) {
  for (std::int64_t i = 0; i < count; ++i) {
    const auto byte = static_cast<std::uint8_t>(row[i]);
    out[i] = is_signed ? static_cast<std::int16_t>(static_cast<std::int8_t>(byte))
                       : static_cast<std::int16_t>(byte);
  }
}

// The layouts that keep a column's words and scales together.
bool columns_of_words(const Request& request) {
  return request.layout.storage == Storage::awq_gemv ||
         request.layout.storage == Storage::compressed_tensors;
}

// AWQ's GEMV-fast: a 16-bit word holds k, k+8, k+16, k+24 of one column; four columns take turns
// within 64 k.
std::uint32_t fast_nibble(const Request& request, const std::byte* codes, std::int64_t k,
                          std::int64_t column) {
  const std::int64_t at =
      column / 4 * request.p.k + k / 64 * 64 + column % 4 * 16 + k % 64 / 32 * 8 + k % 8;
  std::uint16_t word;
  std::memcpy(&word, codes + at * 2, 2);
  return static_cast<std::uint32_t>(word >> (4 * (k % 32 / 8)));
}

// A zero point of the layouts that pack eight in a word: along columns, or (AWQ GEMV) along groups.
std::uint32_t zero_nibble(const Request& request, const std::byte* zero, std::int64_t group,
                          std::int64_t column) {
  const w4_problem& p = request.p;
  std::int64_t word = group * (p.n / 8) + column / 8;
  std::int64_t nibble = column % 8;
  switch (request.layout.storage) {
    case Storage::awq_gemm:
      nibble = request.layout.nibble_of[column % 8];
      break;
    case Storage::awq_gemv:
      word = column * gemv_zero_words(p) + group / 8;
      nibble = group % 8;
      break;
    case Storage::compressed_tensors:
      word = column / 8 * p.groups + group;
      break;
    default:
      break;
  }
  return load_word(zero, word) >> (4 * nibble) & 15;
}

}  // namespace

void load_codes(const Request& request, const Buffers& buffers, std::int64_t k, std::int64_t first,
                std::int64_t count, std::int16_t* out) {
  const bool is_signed = request.p.zero == W4_ZERO_SIGNED;
  const std::int64_t n = request.p.n;
  const int* nibble_of = request.layout.nibble_of;
  if (request.layout.storage == Storage::codes) {
    load_bytes(buffers.codes + k * n + first, count, is_signed, out);
    return;
  }
  if (request.layout.storage == Storage::npack || request.layout.storage == Storage::awq_gemm) {
    const std::int64_t row = k * ceil_div(n, 8);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t column = first + i;
      const std::uint32_t word = load_word(buffers.codes, row + column / 8);
      out[i] = meaning(word >> (4 * nibble_of[column % 8]), is_signed);
    }
    return;
  }
  if (request.layout.storage == Storage::awq_gemv_fast) {
    for (std::int64_t i = 0; i < count; ++i) {
      out[i] = meaning(fast_nibble(request, buffers.codes, k, first + i), is_signed);
    }
    return;
  }
  const int shift = 4 * nibble_of[k % 8];
  if (columns_of_words(request)) {
    const std::int64_t words = ceil_div(request.p.k, 8);
    for (std::int64_t i = 0; i < count; ++i) {
      out[i] = meaning(load_word(buffers.codes, (first + i) * words + k / 8) >> shift, is_signed);
    }
    return;
  }
  const std::int64_t row = k / 8 * n + first;
  for (std::int64_t i = 0; i < count; ++i) {
    out[i] = meaning(load_word(buffers.codes, row + i) >> shift, is_signed);
  }
}

void load_integer_zeros(const Request& request, const Buffers& buffers, std::int64_t group,
                        std::int64_t first, std::int64_t count, std::int16_t* out) {
  const std::uint32_t zero = request.p.zero;
  const std::int64_t n = request.p.n;
  const int offset = zero == W4_ZERO_CODE_M1 ? 1 : 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t column = first + i;
    int value = 0;
    if (zero == W4_ZERO_8) {
      value = 8;
    } else if (zero != W4_ZERO_SIGNED && request.nibble_zeros()) {
      value = static_cast<int>(zero_nibble(request, buffers.zero, group, column)) + offset;
    } else if (zero != W4_ZERO_SIGNED) {
      value =
          static_cast<int>(static_cast<std::uint8_t>(buffers.zero[group * n + column])) + offset;
    }
    out[i] = static_cast<std::int16_t>(value);
  }
}

void load_scales(const Request& request, const Buffers& buffers, std::int64_t group,
                 std::int64_t first, std::int64_t count, float* out) {
  const w4_problem& p = request.p;
  if (!columns_of_words(request)) {
    load_floats(p.scale_type, buffers.scale, group * p.n + first, count, out);
    return;
  }
  const bool padded = request.layout.storage == Storage::awq_gemv;
  const std::int64_t per_column = padded ? 8 * gemv_zero_words(p) : p.groups;
  for (std::int64_t i = 0; i < count; ++i) {
    out[i] = load_float(p.scale_type, buffers.scale, (first + i) * per_column + group);
  }
}

}  // namespace w4
