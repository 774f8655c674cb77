// SPDX-License-Identifier: Apache-2.0
// cpu.scalar_s8 and cpu.scalar_s4: W4A8 and W4A4, activations as they are stored.
#include "kernels/cpu/integer_sums.hpp"

namespace w4 {
namespace {

constexpr Support integer_can(std::uint32_t x_type) {
  return {
      .x = 0,
      .mul = set_of(x_type),
      .y = floats,
      .scale = floats,
      .bias = floats,
      .zeros = set_of(W4_ZERO_SIGNED, W4_ZERO_8, W4_ZERO_CODE, W4_ZERO_CODE_M1),
      .storages = set_of(Storage::codes, Storage::gptq_v1, Storage::gptq_v2, Storage::awq_gemm,
                         Storage::awq_gemv, Storage::compressed_tensors),
      .act_order = true,
      .x_scales = true,
      .declines = nullptr,
  };
}

}  // namespace

constinit const Support scalar_s8_can = integer_can(W4_S8);
constinit const Support scalar_s4_can = integer_can(W4_S4);

Outline scalar_integer_outline(const Request&) {
  return {
      "segments",
      "dequant=D5 unit=mul+add/s32 order=seq(segments) partials=f64 scale_at=group_sum:(isum*s)*xs "
      "epilogue=rne"};
}

namespace {

void load_activations(const Request& request, const Buffers& buffers, std::int64_t row,
                      std::int64_t first, std::int64_t count, std::int16_t* out) {
  const w4_problem& p = request.p;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t at = row * p.x_stride + first + i;
    if (p.x_type == W4_S8) {
      out[i] = static_cast<std::int8_t>(static_cast<std::uint8_t>(buffers.x[at]));
      continue;
    }
    const unsigned byte = static_cast<std::uint8_t>(buffers.x[at / 2]);
    const int nibble = static_cast<int>(at % 2 == 0 ? byte & 15 : byte >> 4);
    out[i] = static_cast<std::int16_t>(nibble > 7 ? nibble - 16 : nibble);
  }
}

}  // namespace

void scalar_integer_multiply(const Request& request, const Buffers& buffers) {
  multiply_integers(request, buffers, {load_activations, nullptr});
}

}  // namespace w4
