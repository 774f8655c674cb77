// SPDX-License-Identifier: Apache-2.0
// What the probe plugin reads from its codes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace w4 {

enum class ProbeOp : std::int32_t {
  addresses,    // y holds the address of each tensor, a word each
  read,         // the byte at `offset` from the start of `tensor`
  write,        // flips bits of it
  store,        // writes it without reading
  vector_read,  // sixteen bytes there, by an instruction that wants them aligned
  change_problem,
  change_weight,
  change_call,
  past_call,
  spin  // for `offset` milliseconds of this thread's own
};
// source: where pack() found the codes.
enum class ProbeTensor : std::int32_t {
  x,
  x_scale,
  codes,
  scale,
  zero,
  g_idx,
  bias,
  y,
  workspace,
  source
};
inline constexpr std::size_t probe_tensors = 10;
inline constexpr std::uint64_t probe_workspace_bytes = 1000;

struct ProbeCommand {
  ProbeOp op{};
  ProbeTensor tensor{};
  std::int64_t offset{};
};

}  // namespace w4
