// SPDX-License-Identifier: Apache-2.0
// What the kernels of this folder refuse, and why: one validation for plan() and run().
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kernels/cuda/operands.hpp"

namespace w4 {

// Bytes that a call needs of each buffer; 0 where it needs none.
struct BufferBytes {
  std::int64_t x{}, y{}, codes{}, scale{}, zero{}, g_idx{}, bias{};
};

struct Request {
  w4_problem p{};
  Storage storage{};
  BufferBytes bytes;
};

struct Answer {
  w4_status status{W4_OK};
  char reason[256]{};
};

// W4_BAD_ARGUMENT for what contradicts itself, W4_UNSUPPORTED for what is not done here.
Answer check_problem(const w4_problem* given, Request&);

// A host's struct as this library knows it: what lies beyond struct_bytes is 0.
template <typename Struct>
Struct read_struct(const Struct* given) {
  Struct copy{};
  if (given == nullptr) return copy;
  std::memcpy(&copy, given, std::min<std::size_t>(given->struct_bytes, sizeof copy));
  return copy;
}

}  // namespace w4
