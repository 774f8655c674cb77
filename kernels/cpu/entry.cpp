// SPDX-License-Identifier: Apache-2.0
// The ABI's plan, pack and run for every row: validation, struct sizes and buffer sizes are the
// same for all kernels.
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <iterator>

#include "kernels/cpu/kernel.hpp"

namespace w4 {
namespace {

const Row* row_of(const w4_kernel* self) {
  if (self == nullptr || self->device != W4_HOST) return nullptr;
  return static_cast<const Row*>(self->user);
}

Answer check(const Row& row, const w4_problem* problem, Request& request) {
  if (row.can != nullptr) return check_problem(*row.can, problem, request);
  return row.check(problem, request);
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
  if (bytes <= sizeof said.struct_bytes) return;
  const std::size_t first = offsetof(w4_plan, launches);
  auto* target = reinterpret_cast<std::byte*>(plan);
  std::memcpy(target + first, reinterpret_cast<const std::byte*>(&said) + first, bytes - first);
  if (bytes > offsetof(w4_plan, reason)) target[bytes - 1] = std::byte{0};
}

bool fits(const w4_in& buffer, std::int64_t bytes) {
  return bytes == 0 ||
         (buffer.data != nullptr && buffer.bytes >= static_cast<std::uint64_t>(bytes));
}
bool fits(const w4_out& buffer, std::int64_t bytes) {
  return fits(w4_in{buffer.data, buffer.bytes}, bytes);
}

// The ABI aligns blobs and workspaces to 256 bytes; numbers of up to 8 are kept in them.
bool aligned(const void* data) {
  return reinterpret_cast<std::uintptr_t>(data) % 8 == 0;
}

const std::byte* bytes_at(const w4_in& buffer) {
  return static_cast<const std::byte*>(buffer.data);
}

// Weights as the layout stores them. False if one is missing, short, or names a group that does not
// exist.
bool read_weight(const Request& request, const w4_weight& weight, Buffers& buffers) {
  const BufferBytes& need = request.bytes;
  if (!fits(weight.codes, need.codes) || !fits(weight.scale, need.scale) ||
      !fits(weight.zero, need.zero) || !fits(weight.g_idx, need.g_idx) ||
      !fits(weight.bias, need.bias)) {
    return false;
  }
  buffers.codes = bytes_at(weight.codes);
  buffers.scale = bytes_at(weight.scale);
  buffers.zero = bytes_at(weight.zero);
  buffers.bias = bytes_at(weight.bias);
  if (!request.act_order()) return true;
  buffers.g_idx = bytes_at(weight.g_idx);
  for (std::int64_t k = 0; k < request.p.k; ++k) {
    std::int32_t group;
    std::memcpy(&group, buffers.g_idx + k * 4, 4);
    if (group < 0 || group >= request.p.groups) return false;
  }
  return true;
}

// Activations, outputs and workspace of a call; w4_call.workspace begins on a boundary of floats
// and doubles.
bool read_call(const Request& request, const Outline& outline, const w4_call& call,
               Buffers& buffers) {
  const bool scaled = call.x_scale.data != nullptr;
  if (!fits(call.x, request.bytes.x) || !fits(call.y, request.bytes.y) ||
      !fits(call.workspace, outline.workspace_bytes)) {
    return false;
  }
  if (scaled && (!request.can->x_scales || !fits(call.x_scale, request.bytes.x_scale)))
    return false;
  if (outline.workspace_bytes > 0 && !aligned(call.workspace.data)) return false;
  buffers.x = bytes_at(call.x);
  buffers.x_scale = bytes_at(call.x_scale);
  buffers.y = static_cast<std::byte*>(call.y.data);
  buffers.workspace = static_cast<std::byte*>(call.workspace.data);
  return true;
}

}  // namespace

w4_status plan_kernel(const w4_kernel* self, const w4_problem* problem, w4_plan* plan) {
  const Row* row = row_of(self);
  if (row == nullptr || plan == nullptr) return W4_BAD_ARGUMENT;
  Request request;
  const Answer answer = check(*row, problem, request);
  w4_plan said{};
  if (answer.status == W4_OK) {
    const Outline outline = row->outline(request);
    said.path = outline.path;
    said.contract = outline.contract;
    said.workspace_bytes = static_cast<std::uint64_t>(outline.workspace_bytes);
    said.packed_bytes = static_cast<std::uint64_t>(outline.packed_bytes);
    said.claims = outline.claims;
    std::snprintf(said.reason, sizeof said.reason, "%s", outline.reason);
  } else {
    static_assert(sizeof said.reason == sizeof answer.reason);
    std::memcpy(said.reason, answer.reason, sizeof said.reason);
  }
  write_plan(said, plan);
  return answer.status;
}

w4_status pack_kernel(const w4_kernel* self, const w4_problem* problem, const w4_weight* from,
                      w4_out to, void* /*stream*/) {
  const Row* row = row_of(self);
  if (row == nullptr || from == nullptr) return W4_BAD_ARGUMENT;
  Request request;
  const Answer answer = check(*row, problem, request);
  if (answer.status != W4_OK) return answer.status;
  const Outline outline = row->outline(request);
  Buffers buffers;
  if (outline.packed_bytes == 0 || !read_weight(request, read_struct(from), buffers) ||
      !fits(to, outline.packed_bytes) || !aligned(to.data)) {
    return W4_BAD_ARGUMENT;
  }
  auto* blob = static_cast<std::byte*>(to.data);
  std::memset(blob, 0, static_cast<std::size_t>(outline.packed_bytes));
  row->pack(request, buffers, blob);
  return W4_OK;
}

w4_status run_kernel(const w4_kernel* self, w4_call* given) {
  const Row* row = row_of(self);
  if (row == nullptr || given == nullptr) return W4_BAD_ARGUMENT;
  const w4_call call = read_struct(given);
  Request request;
  const Answer answer = check(*row, call.problem, request);
  if (answer.status != W4_OK) return answer.status;
  const Outline outline = row->outline(request);
  if (request.p.m > 0) {
    if (call.weight == nullptr) return W4_BAD_ARGUMENT;
    const w4_weight weight = read_struct(call.weight);
    Buffers buffers;
    if (outline.packed_bytes > 0) {
      if (!fits(weight.codes, outline.packed_bytes) || !aligned(weight.codes.data)) {
        return W4_BAD_ARGUMENT;
      }
      buffers.codes = bytes_at(weight.codes);
    } else if (!read_weight(request, weight, buffers)) {
      return W4_BAD_ARGUMENT;
    }
    if (!read_call(request, outline, call, buffers)) return W4_BAD_ARGUMENT;
    row->multiply(request, buffers);
  }
  if (given->struct_bytes >= sizeof(w4_call)) given->ran = outline.path;
  return W4_OK;
}

}  // namespace w4
