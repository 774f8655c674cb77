// SPDX-License-Identifier: Apache-2.0
// A kernel by remote control: its codes are a command, so that a test says which byte it touches.
#include <cstring>
#include <ctime>

#include "kernels/abi/w4_kernel.h"

#include "suites/subject/probe_command.hpp"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace {

using w4::ProbeCommand;

const void* packed_from = nullptr;

const void* address_of(const w4_call& call, w4::ProbeTensor tensor) {
  const w4_weight& w = *call.weight;
  const void* addresses[] = {call.x.data,         call.x_scale.data, w.codes.data, w.scale.data,
                             w.zero.data,         w.g_idx.data,      w.bias.data,  call.y.data,
                             call.workspace.data, packed_from};
  return addresses[static_cast<std::size_t>(tensor)];
}

void report_addresses(const w4_call& call) {
  std::uint64_t words[w4::probe_tensors];
  for (std::size_t i = 0; i < w4::probe_tensors; ++i) {
    words[i] = reinterpret_cast<std::uintptr_t>(address_of(call, static_cast<w4::ProbeTensor>(i)));
  }
  if (call.y.bytes >= sizeof words) std::memcpy(call.y.data, words, sizeof words);
}

volatile unsigned char seen = 0;

void spin(std::int64_t milliseconds) {
  timespec used{};
  do {
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  } while (used.tv_sec * 1000 + used.tv_nsec / 1'000'000 < milliseconds);
}

void obey(const ProbeCommand& command, w4_call& call) {
  auto* at = static_cast<unsigned char*>(const_cast<void*>(address_of(call, command.tensor)));
  volatile unsigned char* byte = at + command.offset;
  switch (command.op) {
    case w4::ProbeOp::addresses:
      report_addresses(call);
      break;
    case w4::ProbeOp::read:
      seen = *byte;
      break;
    case w4::ProbeOp::write:
      *byte = static_cast<unsigned char>(*byte ^ 0x5a);
      break;
    case w4::ProbeOp::store:
      *byte = 0x11;
      break;
    case w4::ProbeOp::vector_read:
#if defined(__x86_64__)
    {
      __m128 value;
      __asm__ volatile("movaps (%1), %0" : "=x"(value) : "r"(at + command.offset) : "memory");
      seen = static_cast<unsigned char>(_mm_cvtss_si32(value));
    }
#endif
    break;
    case w4::ProbeOp::change_problem:
      const_cast<w4_problem*>(call.problem)->n += 1;
      break;
    case w4::ProbeOp::change_weight:
      const_cast<w4_weight*>(call.weight)->codes.bytes = 0;
      break;
    case w4::ProbeOp::change_call:
      call.x.bytes += 1;
      break;
    case w4::ProbeOp::past_call:
      std::memset(reinterpret_cast<char*>(&call) + call.struct_bytes, 0, 8);
      break;
    case w4::ProbeOp::spin:
      spin(command.offset);
      break;
  }
}

w4_status plan(const w4_kernel* self, const w4_problem* problem, w4_plan* out) {
  out->path = "probe";
  out->workspace_bytes = w4::probe_workspace_bytes;
  std::strcpy(out->reason, problem->layout);
  if (problem->m < 0) return W4_BAD_ARGUMENT;
  if (self->pack) out->packed_bytes = static_cast<std::uint64_t>(problem->k * problem->n);
  return W4_OK;
}

w4_status pack(const w4_kernel*, const w4_problem*, const w4_weight* from, w4_out to, void*) {
  packed_from = from->codes.data;
  std::memcpy(to.data, from->codes.data, to.bytes);
  return W4_OK;
}

w4_status run(const w4_kernel* self, w4_call* call) {
  if (call->problem->m < 0) return W4_BAD_ARGUMENT;
  if (call->problem->m == 0) return W4_OK;
  ProbeCommand command;
  std::memcpy(&command, call->weight->codes.data, sizeof command);
  obey(command, *call);
  call->ran = static_cast<const char*>(self->user);
  return W4_OK;
}

w4_kernel row(const char* name, bool packs) {
  w4_kernel kernel{};
  kernel.struct_bytes = sizeof kernel;
  kernel.device = W4_HOST;
  kernel.name = name;
  kernel.plan = plan;
  kernel.pack = packs ? pack : nullptr;
  kernel.run = run;
  kernel.user = "probe";
  return kernel;
}

}  // namespace

const w4_plugin* w4_plugin_entry(uint32_t) {
  static const w4_kernel raw = row("probe.raw", false), packed = row("probe.packed", true);
  static const w4_kernel* const kernels[] = {&raw, &packed};
  static const w4_plugin plugin = {
      sizeof(w4_plugin), W4_ABI_VERSION, "probe", "1", nullptr, nullptr, 2, 0, kernels};
  return &plugin;
}
