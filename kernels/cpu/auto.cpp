// SPDX-License-Identifier: Apache-2.0
// cpu.auto: chooses one of the other kernels by problem and shape, says which and why, and gives
// exactly its bits.
#include <cstring>
#include <iterator>

#include "kernels/cpu/kernel.hpp"

namespace w4 {
namespace {

constexpr std::int64_t dense_rows = 64;
constexpr std::int64_t section_bytes = 64;

// A kernel, a path that it declares, the path that is declared here, and why it is taken.
struct Route {
  const char *kernel, *inner, *path, *reason;
};
constexpr Route routes[] = {
    {"cpu.simd", "gemv", "cpu.simd/gemv",
     "m is at most 4: weights are made in registers and used for all rows at once"},
    {"cpu.simd", "gemm", "cpu.simd/gemm",
     "m is above 4: each column of weights is made once for all rows"},
    {"cpu.gather", "gather+gemv", "cpu.gather/gather+gemv",
     "act-order and m at most 4: rows lie sorted by group, activations are gathered"},
    {"cpu.gather", "gather+gemm", "cpu.gather/gather+gemm",
     "act-order: rows lie sorted by group, activations are gathered"},
    {"cpu.additive", "gemv", "cpu.additive/gemv",
     "additive zeros and m at most 4: weights are made in registers by 16-bit additions"},
    {"cpu.additive", "gemm", "cpu.additive/gemm",
     "additive zeros: each column of weights is made once by 16-bit additions"},
    {"cpu.dense", "dequant+dense", "cpu.dense/dequant+dense",
     "m is 64 or more: the whole matrix is made once, for a dense product"},
    {"cpu.scalar", "loop", "cpu.scalar/loop",
     "no vector kernel reads this layout with this zero form and order"},
    {"cpu.x_int8_amax", "amax+segments", "cpu.x_int8_amax/amax+segments",
     "x is wider than mul: it is narrowed to s8 first"},
    {"cpu.scalar_s8", "segments", "cpu.scalar_s8/segments", "x is s8: integer sums"},
    {"cpu.scalar_s4", "segments", "cpu.scalar_s4/segments", "x is s4: integer sums"},
};

// The kernels asked for m below 64, first come first served; the last one's refusal is the answer
// where none takes the problem.
constexpr const char* integer_kernels[] = {"cpu.x_int8_amax", "cpu.scalar_s4", "cpu.scalar_s8"};
constexpr const char* float_kernels[] = {"cpu.gather", "cpu.additive", "cpu.simd", "cpu.scalar"};

struct Candidate {
  const Row* row{};
  Request request;
  Answer answer;
};

Candidate ask(const char* name, const w4_problem* problem) {
  Candidate candidate;
  candidate.row = find_row(name);
  if (candidate.row == nullptr) {
    candidate.answer.status = W4_UNSUPPORTED;
    return candidate;
  }
  candidate.answer = check_problem(*candidate.row->can, problem, candidate.request);
  return candidate;
}

template <std::size_t count>
Candidate first_of(const char* const (&names)[count], const w4_problem* problem) {
  Candidate candidate;
  for (const char* name : names) {
    candidate = ask(name, problem);
    if (candidate.answer.status == W4_OK) break;
  }
  return candidate;
}

Candidate narrow_choice(const w4_problem* problem) {
  const w4_problem p = read_struct(problem);
  const bool integers = p.mul_type == W4_S8 || p.mul_type == W4_S4;
  return integers ? first_of(integer_kernels, problem) : first_of(float_kernels, problem);
}

// What serves a problem: one kernel for few rows, and cpu.dense, which rounds weights differently,
// for many, unless a row's bits may not depend on m. Neither depends on m itself.
struct Choice {
  Candidate few, many;
  bool has_dense{};
  bool takes_dense() const { return has_dense && few.request.p.m >= dense_rows; }
  const Candidate& taken() const { return takes_dense() ? many : few; }
};

Choice choose(const w4_problem* problem) {
  Choice choice;
  choice.few = narrow_choice(problem);
  if (choice.few.answer.status != W4_OK) return choice;
  choice.many = ask("cpu.dense", problem);
  const bool invariant = (choice.few.request.p.flags & W4_WANT_BATCH_INVARIANT) != 0;
  choice.has_dense = !invariant && choice.many.answer.status == W4_OK;
  return choice;
}

// Where a blob is needed it serves every m: the first kernel's blob, then, for cpu.dense, the
// operands as the layout has them.
struct Blob {
  std::int64_t codes, scale, zero, g_idx, bias, bytes;
};
Blob blob_of(const Choice& choice) {
  const auto padded = [](std::int64_t bytes) {
    return (bytes + section_bytes - 1) / section_bytes * section_bytes;
  };
  const Row& row = *choice.few.row;
  Blob blob{};
  if (!row.packs) return blob;
  const std::int64_t own = row.outline(choice.few.request).packed_bytes;
  if (own == 0) return blob;
  blob.codes = padded(own);
  blob.bytes = blob.codes;
  if (!choice.has_dense) return blob;
  const BufferBytes& raw = choice.few.request.bytes;
  blob.scale = blob.codes + padded(raw.codes);
  blob.zero = blob.scale + padded(raw.scale);
  blob.g_idx = blob.zero + padded(raw.zero);
  blob.bias = blob.g_idx + padded(raw.g_idx);
  blob.bytes = blob.bias + padded(raw.bias);
  return blob;
}

const Route* route_of(const Row& row, const char* path) {
  for (const Route& route : routes) {
    if (std::strcmp(route.kernel, row.name) == 0 && std::strcmp(route.inner, path) == 0) {
      return &route;
    }
  }
  return nullptr;
}

void copy_section(std::byte* to, const std::byte* from, std::int64_t bytes) {
  if (bytes > 0) std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

}  // namespace

Answer auto_check(const w4_problem* problem, Request& request) {
  const Candidate few = narrow_choice(problem);
  request = few.request;
  return few.answer;
}

Outline auto_outline(const Request& request) {
  const Choice choice = choose(&request.p);
  const Candidate& taken = choice.taken();
  Outline outline = taken.row->outline(taken.request);
  if (const Route* route = route_of(*taken.row, outline.path)) {
    outline.path = route->path;
    outline.reason = route->reason;
  }
  outline.packed_bytes = blob_of(choice).bytes;
  // From 64 rows on weights are rounded to 16 bits: a row's bits depend on m.
  if (choice.has_dense) outline.claims &= ~std::uint64_t{W4_BATCH_INVARIANT};
  return outline;
}

void auto_pack(const Request& request, const Buffers& from, std::byte* blob) {
  const Choice choice = choose(&request.p);
  const Blob at = blob_of(choice);
  choice.few.row->pack(choice.few.request, from, blob);
  if (!choice.has_dense) return;
  const BufferBytes& raw = request.bytes;
  copy_section(blob + at.codes, from.codes, raw.codes);
  copy_section(blob + at.scale, from.scale, raw.scale);
  copy_section(blob + at.zero, from.zero, raw.zero);
  copy_section(blob + at.g_idx, from.g_idx, raw.g_idx);
  copy_section(blob + at.bias, from.bias, raw.bias);
}

void auto_multiply(const Request& request, const Buffers& buffers) {
  const Choice choice = choose(&request.p);
  const Candidate& taken = choice.taken();
  const Blob at = blob_of(choice);
  Buffers own = buffers;
  if (choice.takes_dense() && at.bytes > 0) {
    own.codes = buffers.codes + at.codes;
    own.scale = buffers.codes + at.scale;
    own.zero = buffers.codes + at.zero;
    own.g_idx = buffers.codes + at.g_idx;
    own.bias = buffers.codes + at.bias;
  }
  taken.row->multiply(taken.request, own);
}

}  // namespace w4
