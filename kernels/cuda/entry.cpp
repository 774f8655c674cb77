// SPDX-License-Identifier: Apache-2.0
// The ABI's plan and run for every row. Nothing here touches a device.
#include <cstddef>

#include "kernels/cuda/kernel.hpp"
#include "kernels/cuda/problem_rules.hpp"

namespace w4 {
namespace {

constexpr const char* contract =
    "dequant=D5 unit=fma/f32 order=chain(1,0..K) partials=f32 scale_at=weight epilogue=rne";
constexpr const char* biased_contract =
    "dequant=D5 unit=fma/f32 order=chain(1,0..K) partials=f32 scale_at=weight "
    "epilogue=bias/f32+rne";

const Row* row_of(const w4_kernel* self) {
  return self == nullptr ? nullptr : static_cast<const Row*>(self->user);
}

// Copies the fields that fit whole into what the host has; struct_bytes stays the host's.
void write_plan(const w4_plan& said, w4_plan* plan) {
  constexpr std::size_t ends[] = {
      offsetof(w4_plan, workspace_bytes), offsetof(w4_plan, packed_bytes),
      offsetof(w4_plan, claims),          offsetof(w4_plan, path),
      offsetof(w4_plan, symbols),         offsetof(w4_plan, contract),
      offsetof(w4_plan, reason)};
  const std::size_t room = std::min<std::size_t>(plan->struct_bytes, sizeof said);
  std::size_t bytes = 0;
  for (const std::size_t end : ends) bytes = end <= room ? end : bytes;
  if (room > offsetof(w4_plan, reason)) bytes = room;
  constexpr std::size_t first = offsetof(w4_plan, launches);
  if (bytes <= first) return;
  auto* target = reinterpret_cast<std::byte*>(plan);
  std::memcpy(target + first, reinterpret_cast<const std::byte*>(&said) + first, bytes - first);
  if (bytes > offsetof(w4_plan, reason)) target[bytes - 1] = std::byte{0};
}

bool fits(const void* data, std::uint64_t bytes, std::int64_t need) {
  return need == 0 || (data != nullptr && bytes >= static_cast<std::uint64_t>(need));
}
bool fits(const w4_in& buffer, std::int64_t need) {
  return fits(buffer.data, buffer.bytes, need);
}

bool operands_fit(const Request& request, const w4_call& call, const w4_weight& weight) {
  const BufferBytes& need = request.bytes;
  return fits(weight.codes, need.codes) && fits(weight.scale, need.scale) &&
         fits(weight.zero, need.zero) && fits(weight.g_idx, need.g_idx) &&
         fits(weight.bias, need.bias) && fits(call.x, need.x) &&
         fits(call.y.data, call.y.bytes, need.y) && call.x_scale.data == nullptr;
}

Operands operands_of(const Request& request, const w4_call& call, const w4_weight& weight) {
  const w4_problem& p = request.p;
  Operands o{};
  o.x = call.x.data;
  o.y = call.y.data;
  o.codes = weight.codes.data;
  o.scale = weight.scale.data;
  o.zero = weight.zero.data;
  o.g_idx = p.flags & W4_ACT_ORDER ? weight.g_idx.data : nullptr;
  o.bias = p.flags & W4_HAS_BIAS ? weight.bias.data : nullptr;
  o.m = p.m, o.n = p.n, o.k = p.k;
  o.group = p.group, o.groups = p.groups;
  o.x_stride = p.x_stride, o.y_stride = p.y_stride;
  o.codes_bytes = request.bytes.codes;
  o.x_type = p.x_type, o.y_type = p.y_type;
  o.scale_type = p.scale_type, o.bias_type = p.bias_type;
  o.zero_form = p.zero, o.zero_type = p.zero_type;
  o.storage = request.storage;
  return o;
}

}  // namespace

w4_status plan_row(const w4_kernel* self, const w4_problem* problem, w4_plan* plan) {
  const Row* row = row_of(self);
  if (row == nullptr || plan == nullptr) return W4_BAD_ARGUMENT;
  Request request;
  const Answer answer = check_problem(problem, request);
  w4_plan said{};
  if (answer.status == W4_OK) {
    said.path = row->path;
    said.symbols = row->symbols;
    said.contract = request.p.flags & W4_HAS_BIAS ? biased_contract : contract;
    said.launches = request.p.m > 0 ? row->launches : 0;
    said.claims = W4_REPEATABLE | W4_BATCH_INVARIANT | W4_ROW_LOCAL | W4_CONCURRENT;
    if (row->device == W4_CUDA) said.claims |= W4_GRAPH_SAFE;
  }
  static_assert(sizeof said.reason == sizeof answer.reason);
  std::memcpy(said.reason, answer.reason, sizeof said.reason);
  write_plan(said, plan);
  return answer.status;
}

w4_status run_row(const w4_kernel* self, w4_call* given) {
  const Row* row = row_of(self);
  if (row == nullptr || given == nullptr) return W4_BAD_ARGUMENT;
  const w4_call call = read_struct(given);
  Request request;
  const Answer answer = check_problem(call.problem, request);
  if (answer.status != W4_OK) return answer.status;
  if (request.p.m > 0) {
    const w4_weight weight = read_struct(call.weight);
    if (call.weight == nullptr || !operands_fit(request, call, weight)) return W4_BAD_ARGUMENT;
    const w4_status status = row->launch(operands_of(request, call, weight), call.stream);
    if (status != W4_OK) return status;
  }
  if (given->struct_bytes >= sizeof(w4_call)) given->ran = row->path;
  return W4_OK;
}

}  // namespace w4
