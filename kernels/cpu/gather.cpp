// SPDX-License-Identifier: Apache-2.0
// cpu.gather: act-order. pack() sorts the rows of W by group once, so that groups lie together
// again; each call gathers the activations in the same order and goes the way of cpu.simd.
#include "kernels/cpu/columns.hpp"

namespace w4 {
namespace {

const char* gather_declines(const Request& request) {
  if (!request.act_order()) return "no act-order: there is nothing to gather";
  return request.p.k >> 31 != 0 ? "k: at most 2^31 - 1, which int32 can count" : nullptr;
}

}  // namespace

const Support gather_can{
    .x = 0,
    .mul = floats,
    .y = floats,
    .scale = floats,
    .bias = floats,
    .zeros = every_zero,
    .storages =
        set_of(Storage::codes, Storage::gptq_v1, Storage::gptq_v2, Storage::compressed_tensors),
    .act_order = true,
    .x_scales = false,
    .declines = gather_declines,
};

// K is sorted: place i holds the i-th k by (g_idx[k], k).
Outline gather_outline(const Request& request) {
  static constexpr Contract contract{
      "dequant=D5 unit=mul+add/f32 "
      "order=tree(chain(1,slice(0,sorted(K),16)),..,chain(1,slice(15,sorted(K),16))) partials=f32 "
      "scale_at=weight"};
  Outline outline{};
  outline.path = is_gemv(request) ? "gather+gemv" : "gather+gemm";
  outline.contract = contract.of(request);
  outline.reason = "act-order: rows lie sorted by group, activations are gathered to match";
  outline.workspace_bytes = column_workspace_bytes(request);
  outline.packed_bytes = column_blob_bytes(request, true);
  return outline;
}

void gather_pack(const Request& request, const Buffers& from, std::byte* blob) {
  pack_columns(request, from, true, blob);
}

void gather_multiply(const Request& request, const Buffers& buffers) {
  multiply_columns(request, buffers, {plain_form(request.p.zero), true});
}

}  // namespace w4
