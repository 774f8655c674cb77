// SPDX-License-Identifier: Apache-2.0
// cpu.simd: W4A16 with Highway. pack() makes columns of bytes and fp32 scales; two paths, gemv for
// up to four rows and gemm above, with the same bits.
#include <cstring>

#include "kernels/cpu/columns.hpp"

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
    .zeros = every_zero,
    .storages = set_of(Storage::codes, Storage::kpack, Storage::gptq_v1, Storage::gptq_v2,
                       Storage::awq_gemm, Storage::awq_gemv, Storage::compressed_tensors),
    .act_order = false,
    .x_scales = false,
    .declines = simd_declines,
};

Outline simd_outline(const Request& request) {
  static constexpr Contract contract{
      "dequant=D5 unit=mul+add/f32 order=tree(chain(1,slice(0,K,16)),..,chain(1,slice(15,K,16))) "
      "partials=f32 scale_at=weight"};
  Outline outline{};
  outline.path = is_gemv(request) ? "gemv" : "gemm";
  outline.contract = contract.of(request);
  outline.workspace_bytes = column_workspace_bytes(request);
  outline.packed_bytes = column_blob_bytes(request, false);
  return outline;
}

void simd_pack(const Request& request, const Buffers& from, std::byte* blob) {
  pack_columns(request, from, false, blob);
}

void simd_multiply(const Request& request, const Buffers& buffers) {
  multiply_columns(request, buffers, {plain_form(request.p.zero), false});
}

}  // namespace w4
