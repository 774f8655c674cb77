// SPDX-License-Identifier: Apache-2.0
// What a kernel of this plugin is: a row. entry.cpp turns a row into the ABI's functions, so a
// kernel's own file holds its limits, its numerics and its arithmetic, and no validation.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/problem_rules.hpp"

namespace w4 {

// What plan() says about a problem that the kernel takes.
struct Outline {
  const char* path;
  const char* contract;
  std::int64_t workspace_bytes{0};
  std::int64_t packed_bytes{0};
  const char* reason{""};  // why this path, one sentence
  std::uint64_t claims{W4_REPEATABLE | W4_BATCH_INVARIANT | W4_ROW_LOCAL};
};

// The contract of a kernel that adds the bias, where there is one, to the fp32 sum and rounds once:
// `text` is all of it but the epilogue.
template <std::size_t size>
struct Contract {
  char plain[size + sizeof " epilogue=rne"]{}, biased[size + sizeof " epilogue=bias/f32+rne"]{};
  constexpr explicit Contract(const char (&text)[size]) {
    join(text, " epilogue=rne", plain);
    join(text, " epilogue=bias/f32+rne", biased);
  }
  const char* of(const Request& request) const { return request.has_bias() ? biased : plain; }

 private:
  static constexpr void join(const char* text, const char* epilogue, char* to) {
    while (*text != 0) *to++ = *text++;
    while (*epilogue != 0) *to++ = *epilogue++;
  }
};

// Operands of one call, sizes checked. After pack() `codes` is the blob and scale, zero, bias are
// null.
struct Buffers {
  const std::byte *codes{}, *scale{}, *zero{}, *g_idx{}, *bias{};
  const std::byte *x{}, *x_scale{};
  std::byte *y{}, *workspace{};
};

struct Row {
  const char* name;
  const Support* can;  // null: `check` says what the kernel takes
  Answer (*check)(const w4_problem*, Request&);
  Outline (*outline)(const Request&);
  // Whether there is a pack(): said apart, as g++ with sanitizers compares no function with null at
  // compile time.
  bool packs;
  void (*pack)(const Request&, const Buffers& from, std::byte* blob);
  // m >= 1; writes y[m][0..n) and nothing else but the workspace.
  void (*multiply)(const Request&, const Buffers&);
};

// The kernels, each in a file of its own.
extern const Support scalar_can, scalar_s8_can, scalar_s4_can, bit_trick_can, folded_can, dense_can,
    x_int8_can, simd_can, gather_can, additive_can;
Outline scalar_outline(const Request&);
void scalar_multiply(const Request&, const Buffers&);
Outline scalar_integer_outline(const Request&);
void scalar_integer_multiply(const Request&, const Buffers&);
Outline bit_trick_outline(const Request&);
void bit_trick_pack(const Request&, const Buffers&, std::byte* blob);
void bit_trick_multiply(const Request&, const Buffers&);
Outline simd_outline(const Request&);
void simd_pack(const Request&, const Buffers&, std::byte* blob);
void simd_multiply(const Request&, const Buffers&);

Outline gather_outline(const Request&);
void gather_pack(const Request&, const Buffers&, std::byte* blob);
void gather_multiply(const Request&, const Buffers&);
Outline additive_outline(const Request&);
void additive_pack(const Request&, const Buffers&, std::byte* blob);
void additive_multiply(const Request&, const Buffers&);
Outline folded_outline(const Request&);
void folded_pack(const Request&, const Buffers&, std::byte* blob);
void folded_multiply(const Request&, const Buffers&);
Outline dense_outline(const Request&);
void dense_multiply(const Request&, const Buffers&);
Outline x_int8_amax_outline(const Request&);
void x_int8_amax_multiply(const Request&, const Buffers&);
Outline x_int8_minmax_outline(const Request&);
void x_int8_minmax_multiply(const Request&, const Buffers&);
Answer auto_check(const w4_problem*, Request&);
Outline auto_outline(const Request&);
void auto_pack(const Request&, const Buffers&, std::byte* blob);
void auto_multiply(const Request&, const Buffers&);

// Every row but cpu.auto's own; null where this build has no kernel of that name.
const Row* find_row(const char* name);

// The ABI's functions for a kernel whose `user` is its Row.
w4_status plan_kernel(const w4_kernel* self, const w4_problem*, w4_plan*);
w4_status pack_kernel(const w4_kernel* self, const w4_problem*, const w4_weight* from, w4_out to,
                      void* stream);
w4_status run_kernel(const w4_kernel* self, w4_call*);

}  // namespace w4
