// SPDX-License-Identifier: Apache-2.0
// cpu.additive: zeros in units of weights, as AWQ's GEMV-fast and tinygemm keep them. The weight is
// rounded twice, w = h(h(c*s) + z) with c = q or q - 8 and h the type of x, then goes the way of
// cpu.simd.
#include "kernels/cpu/columns.hpp"

namespace w4 {
namespace {

const char* additive_declines(const Request& request) {
  const w4_problem& p = request.p;
  if (p.scale_type != p.x_type || p.zero_type != p.x_type) {
    return "scale and zero: their type must be that of x, the arithmetic is 16-bit";
  }
  return nullptr;
}

}  // namespace

const Support additive_can{
    .x = 0,
    .mul = set_of(W4_F16, W4_BF16),
    .y = floats,
    .scale = set_of(W4_F16, W4_BF16),
    .bias = floats,
    .zeros = set_of(W4_ZERO_ADD, W4_ZERO_ADD_8),
    .storages = set_of(Storage::codes, Storage::kpack, Storage::npack, Storage::awq_gemv_fast),
    .act_order = false,
    .x_scales = false,
    .declines = additive_declines,
};

Outline additive_outline(const Request& request) {
  static constexpr Contract contract{
      "dequant=D7 unit=mul+add/f32 order=tree(chain(1,slice(0,K,16)),..,chain(1,slice(15,K,16))) "
      "partials=f32 scale_at=weight"};
  Outline outline{};
  outline.path = is_gemv(request) ? "gemv" : "gemm";
  outline.contract = contract.of(request);
  outline.reason = "additive zeros: q*s and the sum with the zero are rounded to the type of x";
  outline.workspace_bytes = column_workspace_bytes(request);
  outline.packed_bytes = column_blob_bytes(request, false);
  return outline;
}

void additive_pack(const Request& request, const Buffers& from, std::byte* blob) {
  pack_columns(request, from, false, blob);
}

void additive_multiply(const Request& request, const Buffers& buffers) {
  const bool f16 = request.p.x_type == W4_F16;
  multiply_columns(request, buffers,
                   {f16 ? WeightForm::shifted_f16 : WeightForm::shifted_bf16, false});
}

}  // namespace w4
