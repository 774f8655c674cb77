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
  if (request.layout.storage == Storage::npack) {
    const std::int64_t row = k * ceil_div(n, 8);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t column = first + i;
      const std::uint32_t word = load_word(buffers.codes, row + column / 8);
      out[i] = meaning(word >> (4 * nibble_of[column % 8]), is_signed);
    }
    return;
  }
  const int shift = 4 * nibble_of[k % 8];
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
    } else if (zero != W4_ZERO_SIGNED && request.gptq()) {
      const std::uint32_t word = load_word(buffers.zero, group * (n / 8) + column / 8);
      value = static_cast<int>(word >> (4 * (column % 8)) & 15) + offset;
    } else if (zero != W4_ZERO_SIGNED) {
      value =
          static_cast<int>(static_cast<std::uint8_t>(buffers.zero[group * n + column])) + offset;
    }
    out[i] = static_cast<std::int16_t>(value);
  }
}

void load_scales(const Request& request, const Buffers& buffers, std::int64_t group,
                 std::int64_t first, std::int64_t count, float* out) {
  load_floats(request.p.scale_type, buffers.scale, group * request.p.n + first, count, out);
}

}  // namespace w4
