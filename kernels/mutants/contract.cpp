// SPDX-License-Identifier: Apache-2.0
// The ABI side of every mutant: what plan() accepts and why not, and run() around the computation.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "kernels/mutants/model.hpp"
#include "kernels/mutants/number.hpp"

namespace w4 {
namespace {

using Kind = Storage::Kind;

constexpr std::uint32_t known_flags =
    W4_ACT_ORDER | W4_HAS_BIAS | W4_WANT_REPEATABLE | W4_WANT_BATCH_INVARIANT;

// A struct of the host's, with what lies beyond its struct_bytes taken as 0.
template <class T>
T read_struct(const T* from) {
  T copy{};
  std::memcpy(&copy, from, std::min<std::size_t>(from->struct_bytes, sizeof copy));
  return copy;
}

// 0 <= a*b*c, without overflow.
bool product_fits(std::int64_t a, std::int64_t b, std::int64_t c) {
  std::int64_t product{};
  return !__builtin_mul_overflow(a, b, &product) && !__builtin_mul_overflow(product, c, &product);
}

const char* contradiction(const w4_problem& p) {
  if (p.layout == nullptr) return "the layout has no name";
  if (p.m < 0) return "m is negative";
  if (p.n < 1 || p.k < 1) return "n and k must be at least 1";
  if (p.group < 1 || p.x_group < 1) return "group and x_group must be at least 1";
  if (p.groups < 1) return "groups must be at least 1";
  if (!(p.flags & W4_ACT_ORDER) && p.groups < (p.k - 1) / p.group + 1) {
    return "groups does not cover k";
  }
  if (p.x_stride < p.k) return "x_stride is below k";
  if (p.y_stride < p.n) return "y_stride is below n";
  if (static_cast<std::int64_t>(p.x_align) < float_bytes(p.x_type) ||
      static_cast<std::int64_t>(p.y_align) < float_bytes(p.y_type)) {
    return "an alignment is below one element";
  }
  if ((p.flags & W4_HAS_BIAS) && p.bias_type == 0) return "a bias without a type";
  return nullptr;
}

bool stores_zero_form(Kind kind, std::uint32_t zero) {
  if (zero == W4_ZERO_8) return true;
  if (kind == Kind::gptq_v1) return zero == W4_ZERO_CODE_M1;
  if (kind == Kind::gptq_v2) return zero == W4_ZERO_CODE;
  return zero >= W4_ZERO_SIGNED && zero <= W4_ZERO_REAL;
}

const char* limitation(const Task& task) {
  const w4_problem& p = task.problem;
  const Kind kind = task.storage.kind;
  if (p.flags & ~known_flags) {
    return "only act-order, bias, repeatable and batch-invariant are known flags here";
  }
  if (kind == Kind::unknown) return "only layouts codes, kpack:P, gptq_v1 and gptq_v2 are read";
  if (p.x_type != p.mul_type || (p.x_type != W4_F16 && p.x_type != W4_BF16)) {
    return "X must be f16 or bf16 and be multiplied as it is";
  }
  if (float_bytes(p.y_type) == 0) return "Y must be f16, bf16 or f32";
  if (float_bytes(p.scale_type) == 0) return "scales must be f16, bf16 or f32";
  if (p.scale2_type != 0) return "a second level of scales is not supported";
  if ((p.flags & W4_HAS_BIAS) && float_bytes(p.bias_type) == 0) {
    return "the bias must be f16, bf16 or f32";
  }
  if (!stores_zero_form(kind, p.zero)) return "the layout does not store this zero form here";
  const bool integer_zeros = p.zero == W4_ZERO_CODE || p.zero == W4_ZERO_CODE_M1;
  if (integer_zeros && p.zero_type != (kind >= Kind::gptq_v1 ? W4_U4 : W4_U8)) {
    return "integer zeros must be u4 where the layout packs them, else u8";
  }
  if (p.zero == W4_ZERO_REAL && float_bytes(p.zero_type) == 0) {
    return "real zeros must be f16, bf16 or f32";
  }
  if (p.k > INT64_MAX - 8 || p.n > INT64_MAX - 8 || !product_fits(p.m, p.x_stride, 4) ||
      !product_fits(p.m, p.y_stride, 4) || !product_fits(p.k + 8, p.n + 8, 4) ||
      !product_fits(p.groups, p.n + 8, 4)) {
    return "a tensor would not fit the address space";
  }
  return nullptr;
}

std::int64_t code_bytes(const Task& task) {
  const w4_problem& p = task.problem;
  return task.storage.kind == Kind::codes ? p.k * p.n : (p.k + 7) / 8 * p.n * 4;
}

bool holds(const w4_in& in, std::int64_t bytes) {
  return in.data != nullptr && in.bytes >= static_cast<std::uint64_t>(bytes);
}

Task task_of(const w4_kernel* self, const w4_problem* problem) {
  Task task;
  task.problem = read_struct(problem);
  task.storage = storage_named(task.problem.layout);
  task.bug = static_cast<const Bug*>(self->user);
  return task;
}

w4_status run_task(Task task) {
  const Bug& bug = *task.bug;
  if (bug.accepts_anything || bug.runs_what_it_declines) {
    // Wrong to answer, but not to crash: what cannot be read at all is left out.
    task.problem.flags &= known_flags;
    if (limitation(task) || !operands_fit(task)) return W4_OK;
  } else if (const w4_status asked = consider(task).status; asked != W4_OK) {
    if (bug.on_refusal) bug.on_refusal(task);
    return asked;
  }
  if (task.problem.m == 0) return bug.at_m0 ? bug.at_m0(task) : W4_OK;
  if (!operands_fit(task)) return W4_BAD_ARGUMENT;
  if (bug.before) bug.before(task);
  compute(task);
  if (bug.after) bug.after(task);
  return bug.finish ? bug.finish(task) : W4_OK;
}

}  // namespace

Storage storage_named(const char* layout) {
  Storage storage;
  if (layout == nullptr) return storage;
  if (std::strcmp(layout, "codes") == 0) storage.kind = Kind::codes;
  if (std::strcmp(layout, "gptq_v1") == 0) storage.kind = Kind::gptq_v1;
  if (std::strcmp(layout, "gptq_v2") == 0) storage.kind = Kind::gptq_v2;
  if (std::strncmp(layout, "kpack:", 6) != 0) return storage;
  const char* digits = layout + 6;
  unsigned seen{};
  for (std::int64_t p = 0; p < 8; ++p) {
    if (digits[p] < '0' || digits[p] > '7') return storage;
    const std::int64_t element = digits[p] - '0';
    seen |= 1u << element;
    storage.element_at[p] = element;
    storage.nibble_of[element] = p;
  }
  if (seen == 0xff && digits[8] == '\0') storage.kind = Kind::kpack;
  return storage;
}

std::int64_t stored_zero_bytes(const Task& task) {
  const w4_problem& p = task.problem;
  if (p.zero == W4_ZERO_REAL) return p.groups * p.n * float_bytes(p.zero_type);
  if (p.zero != W4_ZERO_CODE && p.zero != W4_ZERO_CODE_M1) return 0;
  return task.storage.kind >= Kind::gptq_v1 ? p.groups * ((p.n + 7) / 8) * 4 : p.groups * p.n;
}

Answer consider(const Task& task) {
  if (task.bug->accepts_anything) return {};
  if (const char* why = contradiction(task.problem)) return {W4_BAD_ARGUMENT, why};
  if (const char* why = limitation(task)) return {W4_UNSUPPORTED, why};
  if (const char* why = task.bug->harmless ? task.bug->harmless(task) : nullptr) {
    return {W4_UNSUPPORTED, why};
  }
  return {};
}

bool operands_fit(const Task& task) {
  const w4_problem& p = task.problem;
  const w4_weight& w = task.weight;
  if (p.m < 0 || p.n < 1 || p.k < 1 || p.group < 1 || p.x_group < 1 || p.groups < 1 ||
      p.x_stride < 0 || p.y_stride < 0) {
    return false;
  }
  const std::int64_t xb = float_bytes(p.x_type), yb = float_bytes(p.y_type);
  const std::int64_t sb = float_bytes(p.scale_type);
  if (!holds(w.codes, code_bytes(task)) || !holds(w.scale, p.groups * p.n * sb)) return false;
  if (stored_zero_bytes(task) > 0 && !holds(w.zero, stored_zero_bytes(task))) return false;
  if ((p.flags & W4_HAS_BIAS) && !holds(w.bias, p.n * float_bytes(p.bias_type))) return false;
  if ((p.flags & W4_ACT_ORDER) && !holds(w.g_idx, p.k * 4)) return false;
  if (p.m > 0 && (!holds(task.x, ((p.m - 1) * p.x_stride + p.k) * xb) ||
                  !holds({task.y.data, task.y.bytes}, ((p.m - 1) * p.y_stride + p.n) * yb))) {
    return false;
  }
  for (std::int64_t k = 0; k < p.k; ++k) {
    const std::int64_t g = group_of(task, k);
    if (g < 0 || g >= p.groups) return false;
  }
  return true;
}

w4_status plan_mutant(const w4_kernel* self, const w4_problem* problem, w4_plan* out) {
  if (problem == nullptr || out == nullptr) return W4_BAD_ARGUMENT;
  const Task task = task_of(self, problem);
  const Bug& bug = *task.bug;
  const Answer answer = consider(task);
  w4_plan plan{};
  plan.struct_bytes = out->struct_bytes;
  plan.workspace_bytes = bug.workspace_bytes;
  plan.claims = all_claims;
  plan.path = bug.path ? bug.path : healthy_path;
  plan.contract = bug.contract                       ? bug.contract(task.problem)
                  : task.problem.flags & W4_HAS_BIAS ? healthy_contract_with_bias
                                                     : healthy_contract;
  const char* reason = answer.reason ? answer.reason : "the only path";
  if (!bug.gives_no_reason || answer.status == W4_OK) {
    std::snprintf(plan.reason, sizeof plan.reason, "%s", reason);
  }
  std::memcpy(out, &plan, std::min<std::size_t>(out->struct_bytes, sizeof plan));
  return answer.status;
}

w4_status run_mutant(const w4_kernel* self, w4_call* host_call) {
  if (host_call == nullptr) return W4_BAD_ARGUMENT;
  const w4_call call = read_struct(host_call);
  if (call.problem == nullptr || call.weight == nullptr) return W4_BAD_ARGUMENT;
  Task task = task_of(self, call.problem);
  task.weight = read_struct(call.weight);
  task.x = call.x;
  task.x_scale = call.x_scale;
  task.y = call.y;
  task.workspace = call.workspace;
  const w4_status status = run_task(task);
  if (status == W4_OK && host_call->struct_bytes >= sizeof(w4_call)) {
    const char* path = task.bug->path ? task.bug->path : healthy_path;
    host_call->ran = task.bug->ran ? task.bug->ran(task) : path;
  }
  return status;
}

}  // namespace w4
