// SPDX-License-Identifier: Apache-2.0
// What every kernel of this plugin refuses, and why: one validation, asked by plan(), pack() and
// run() alike.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/abi/w4_kernel.h"

namespace w4 {

enum class Storage : std::uint8_t {
  codes,
  kpack,
  npack,
  gptq_v1,
  gptq_v2,
  awq_gemm,
  awq_gemv,
  awq_gemv_fast,
  compressed_tensors
};

// A layout name, taken apart. nibble_of[e]: the nibble of a word that holds element e of its eight.
struct Layout {
  Storage storage{Storage::codes};
  char digits[9]{};  // the permutation as written, "02461357"
  int nibble_of[8]{};
};

// Bytes that run() needs of each buffer; 0 where it needs none.
struct BufferBytes {
  std::int64_t x{}, x_scale{}, y{}, codes{}, scale{}, zero{}, g_idx{}, bias{};
};

struct Support;

// A problem that has passed: the host's fields, the layout taken apart, the sizes.
struct Request {
  w4_problem p{};
  const Support* can{};  // of the kernel that takes it
  Layout layout;
  BufferBytes bytes;
  bool act_order() const { return (p.flags & W4_ACT_ORDER) != 0; }
  bool has_bias() const { return (p.flags & W4_HAS_BIAS) != 0; }
  bool gptq() const {
    return layout.storage == Storage::gptq_v1 || layout.storage == Storage::gptq_v2;
  }
  bool nibble_zeros() const {
    return gptq() || layout.storage == Storage::awq_gemm || layout.storage == Storage::awq_gemv ||
           layout.storage == Storage::compressed_tensors;
  }
};

// One bit for each type, zero form or storage; the ABI's numbers are below 32.
template <typename... Id>
constexpr std::uint32_t set_of(Id... ids) {
  return (std::uint32_t{0} | ... | (std::uint32_t{1} << static_cast<std::uint32_t>(ids)));
}
constexpr bool holds(std::uint32_t set, std::uint32_t id) {
  return id < 32 && (set >> id & 1) != 0;
}

constexpr std::uint32_t floats = set_of(W4_F32, W4_F16, W4_BF16);
inline constexpr std::uint32_t every_zero =
    set_of(W4_ZERO_SIGNED, W4_ZERO_8, W4_ZERO_CODE, W4_ZERO_CODE_M1, W4_ZERO_REAL, W4_ZERO_ADD,
           W4_ZERO_ADD_8);
inline constexpr std::uint32_t every_storage = set_of(
    Storage::codes, Storage::kpack, Storage::npack, Storage::gptq_v1, Storage::gptq_v2,
    Storage::awq_gemm, Storage::awq_gemv, Storage::awq_gemv_fast, Storage::compressed_tensors);

// What a kernel takes. X is stored as it is multiplied, but for a kernel that narrows it: one whose
// `x` is not empty.
struct Support {
  std::uint32_t x, mul, y, scale, bias;  // sets of types
  std::uint32_t zeros;                   // set of zero forms
  std::uint32_t storages;                // set of Storage
  bool act_order, x_scales;
  const char* (*declines)(const Request&);  // a limit of this kernel alone: the reason, or null
};

struct Answer {
  w4_status status{W4_OK};
  char reason[256]{};
};

// Reads `given` (within its struct_bytes) into `request`. W4_BAD_ARGUMENT for what contradicts
// itself, W4_UNSUPPORTED for what the kernel does not do; a reason with either.
Answer check_problem(const Support&, const w4_problem* given, Request& request);

// ceil(a/b) for a >= 1, b >= 1.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a - 1) / b + 1;
}

// Words a column of zeros takes in the AWQ GEMV layouts: ceil(groups/8) rounded up to 1 (groups of
// 128 and more), 2 (64) or 4 (32).
constexpr std::int64_t gemv_zero_words(const w4_problem& p) {
  const std::int64_t unit = p.group >= 128 ? 1 : p.group >= 64 ? 2 : 4;
  return ceil_div(ceil_div(p.groups, 8), unit) * unit;
}

// A host's struct as this library knows it: what lies beyond struct_bytes is 0.
template <typename Struct>
Struct read_struct(const Struct* given) {
  Struct copy{};
  if (given == nullptr) return copy;
  std::uint32_t bytes = 0;
  std::memcpy(&bytes, given, sizeof bytes);
  std::memcpy(&copy, given, std::min<std::size_t>(bytes, sizeof copy));
  return copy;
}

// Element sizes of float and 8-bit types; 0 for the others.
constexpr std::int64_t bytes_of(std::uint32_t type) {
  switch (type) {
    case W4_F32:
    case W4_S32:
      return 4;
    case W4_F16:
    case W4_BF16:
      return 2;
    case W4_S8:
    case W4_U8:
    case W4_E4M3:
    case W4_E5M2:
      return 1;
    default:
      return 0;
  }
}

}  // namespace w4
