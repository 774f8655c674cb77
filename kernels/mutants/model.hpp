// SPDX-License-Identifier: Apache-2.0
// One plain, healthy W4A16 kernel with hooks: a mutant is that kernel with a hook or two filled in.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/abi/w4_kernel.h"

namespace w4 {

// A packed word holds eight codes of one column: nibble p of it holds element element_at[p].
struct Storage {
  enum class Kind : std::uint8_t { unknown, codes, kpack, gptq_v1, gptq_v2 } kind{Kind::unknown};
  std::int64_t element_at[8]{0, 1, 2, 3, 4, 5, 6, 7};
  std::int64_t nibble_of[8]{0, 1, 2, 3, 4, 5, 6, 7};
};
Storage storage_named(const char* layout);

struct Bug;

// A call taken apart. plan() fills problem, storage and bug only.
struct Task {
  w4_problem problem{};
  Storage storage;
  const Bug* bug{};
  w4_weight weight{};
  w4_in x{}, x_scale{};
  w4_out y{}, workspace{};
};

// A row of the table. NULL hooks are healthy; a hook stands in for its healthy twin below.
struct Bug {
  const char* name{};
  const char* copies{};  // the report (repository#number) or the class in the catalogue of failures
  // Why the bug would not show on this geometry (plan declines it with that); NULL where it does.
  const char* (*harmless)(const Task&){};

  int (*code)(const Task&, std::int64_t k, std::int64_t n){};
  std::int64_t (*group)(const Task&, std::int64_t k){};
  float (*zero)(const Task&, std::int64_t g, std::int64_t n){};
  float (*scale)(const Task&, std::int64_t g, std::int64_t n){};
  float (*weight)(const Task&, std::int64_t k, std::int64_t n){};
  float (*x)(const Task&, std::int64_t m, std::int64_t k){};
  std::int64_t (*sums)(const Task&){};           // k that are summed: 0..sums-1
  bool (*backwards)(const Task&){};              // k from last to first
  std::int64_t chains{1};                        // k mod chains are sums apart, halved pairwise
  float (*settle)(float sum, std::int64_t k){};  // what becomes of a sum after term k
  bool bias_first{};                             // sums start from it
  float (*bias)(const Task&, std::int64_t n){};
  std::uint32_t (*round)(std::uint32_t type, float sum){};
  bool (*writes)(const Task&, std::int64_t m, std::int64_t n){};

  void (*before)(const Task&){};  // ahead of the computation, and after it
  void (*after)(const Task&){};
  w4_status (*finish)(const Task&){};  // the status of a call that computed
  w4_status (*at_m0)(const Task&){};
  void (*on_refusal)(const Task&){};  // run() was asked for what plan() declines
  const char* (*ran)(const Task&){};  // the path reported by run()
  const char* (*contract)(const w4_problem&){};
  const char* path{};  // that plan() and run() name, in place of healthy_path
  std::uint64_t workspace_bytes{};
  bool accepts_anything{};       // plan() says yes to contradictions, run() refuses nothing
  bool runs_what_it_declines{};  // plan() is healthy, run() does not ask it
  bool gives_no_reason{};        // when it declines
};

// The healthy pieces, for bugs that start from the right answer.
int stored_code(const Task&, std::int64_t k, std::int64_t n);  // code as its zero form reads it
std::int64_t group_of(const Task&, std::int64_t k);
float zero_point(const Task&, std::int64_t g, std::int64_t n);
float scale_of(const Task&, std::int64_t g, std::int64_t n);
// (q-z)*s in fp32, through the row's hooks.
float weight_of(const Task&, std::int64_t k, std::int64_t n);
// x times its scale, where there is one.
float activation(const Task&, std::int64_t m, std::int64_t k);
float activation_at(const Task&, std::int64_t m, std::int64_t k, std::int64_t x_stride);
float bias_of(const Task&, std::int64_t n);
std::int64_t stored_zero_bytes(const Task&);  // 0: this form stores none

inline const char* const healthy_contract =
    "dequant=D5 unit=fma/f32 order=chain(1,0..K) partials=f32 scale_at=weight epilogue=rne";
inline const char* const healthy_contract_with_bias =
    "dequant=D5 unit=fma/f32 order=chain(1,0..K) partials=f32 scale_at=weight "
    "epilogue=bias/f32+rne";
inline const char* const healthy_path = "scalar";
constexpr std::uint64_t all_claims =
    W4_REPEATABLE | W4_BATCH_INVARIANT | W4_ROW_LOCAL | W4_CONCURRENT;

// What plan() says about a problem, in full. `reason` is never empty but for gives_no_reason.
struct Answer {
  w4_status status{W4_OK};
  const char* reason{};
};
Answer consider(const Task&);
// For types and layouts that consider() takes. False: a contradiction in the geometry, a tensor
// absent or too small for it, or a g_idx outside the groups.
bool operands_fit(const Task&);
void compute(const Task&);

w4_status plan_mutant(const w4_kernel*, const w4_problem*, w4_plan*);
w4_status run_mutant(const w4_kernel*, w4_call*);

// The rows, a file each: the operand that feeds (k, n), the value made of it, all other effects,
// passing without computing, and what shows to one kind of data only.
std::span<const Bug> address_bugs();
std::span<const Bug> value_bugs();
std::span<const Bug> effect_bugs();
std::span<const Bug> cheat_bugs();
std::span<const Bug> lone_bugs();

}  // namespace w4
