// SPDX-License-Identifier: Apache-2.0
// Mutants of effects and answers: right sums, but something else is not written, touched, kept,
// repeated or refused.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>

#if defined(__linux__)
#include <sched.h>
#endif
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "kernels/mutants/model.hpp"
#include "kernels/mutants/number.hpp"

namespace w4 {
namespace {

bool all_but_last_tile(const Task& task, std::int64_t, std::int64_t n) {
  return n < (task.problem.n - 1) / 16 * 16;
}

bool all_but_last_row(const Task& task, std::int64_t m, std::int64_t) {
  return task.problem.m == 1 || m < task.problem.m - 1;
}

const char* one_column(const Task& task) {
  return task.problem.n == 1 ? "one column is not worth guessing" : nullptr;
}

void copy_first_half(const Task& task) {
  const w4_problem& p = task.problem;
  const std::int64_t half = (p.n + 1) / 2, size = float_bytes(p.y_type);
  for (std::int64_t m = 0; m < p.m; ++m) {
    unsigned char* row = static_cast<unsigned char*>(task.y.data) + m * p.y_stride * size;
    std::memcpy(row + half * size, row, static_cast<std::size_t>((p.n - half) * size));
  }
}

void overwrite_x(const Task& task) {
  auto* x = static_cast<unsigned char*>(const_cast<void*>(task.x.data));
  x[0] = static_cast<unsigned char>(x[0] + 1);
}

// One ulp away from zero; NaN and infinity stay.
void nudge_first(const Task& task) {
  const std::uint32_t type = task.problem.y_type;
  std::uint32_t word{};
  std::memcpy(&word, task.y.data, static_cast<std::size_t>(float_bytes(type)));
  const std::uint32_t infinity = type == W4_F16 ? 0x7c00u : type == W4_BF16 ? 0x7f80u : 0x7f800000u;
  const std::uint32_t magnitude = word & (type == W4_F32 ? 0x7fffffffu : 0x7fffu);
  if (magnitude < infinity) store_word(type, task.y.data, 0, word + 1);
}

void nudge_every_other_call(const Task& task) {
  static std::atomic<unsigned> calls{};
  if (++calls % 2 == 0) nudge_first(task);
}

void nudge_after_ten_calls(const Task& task) {
  static std::atomic<unsigned> calls{};
  const unsigned call = calls < 11 ? ++calls : 11;
  if (call > 10) nudge_first(task);
}

bool many_rows(const Task& task) {
  return task.problem.m > 8;
}

// Both orders are declared for what they are: only the claim of batch invariance is wrong.
const char* contract_without_order_for_many_rows(const w4_problem& p) {
  return p.m > 8 ? "dequant=D5 unit=fma/f32 partials=f32 scale_at=weight epilogue=rne"
                 : healthy_contract;
}

// Times zero, so only a NaN or an infinity of the other row shows.
float x_with_the_row_beside(const Task& task, std::int64_t m, std::int64_t k) {
  const float x = activation(task, m, k);
  return (m ^ 1) < task.problem.m ? x + 0.0F * activation(task, m ^ 1, k) : x;
}

void clear_the_gaps(const Task& task) {
  const w4_problem& p = task.problem;
  for (std::int64_t m = 0; m + 1 < p.m; ++m) {
    for (std::int64_t n = p.n; n < p.y_stride; ++n) {
      store_word(p.y_type, task.y.data, m * p.y_stride + n, 0);
    }
  }
}

w4_status refuse_m0(const Task&) {
  return W4_INTERNAL;
}

void scribble(const w4_out& y) {
  if (y.data == nullptr || y.bytes == 0) return;
  auto* bytes = static_cast<unsigned char*>(y.data);
  bytes[0] = static_cast<unsigned char>(bytes[0] ^ 0x5a);
}

w4_status write_at_m0(const Task& task) {
  scribble(task.y);
  return W4_OK;
}

void write_on_refusal(const Task& task) {
  scribble(task.y);
}

void leave_flush_to_zero(const Task&) {
#if defined(__x86_64__)
  _mm_setcsr(_mm_getcsr() | 0x8040u);  // FTZ, DAZ
#elif defined(__aarch64__)
  std::uint64_t control{};
  __asm__ volatile("mrs %0, fpcr" : "=r"(control));
  control |= std::uint64_t{1} << 24;  // FZ
  __asm__ volatile("msr fpcr, %0" ::"r"(control));
#endif
}

struct Cache {
  std::mutex lock;
  const void* codes{};
  w4_problem problem{};
  std::unique_ptr<float[]> weights;
};
Cache& cache() {
  static Cache only;
  return only;
}

// The geometry is in the key, the contents are not: that is the bug.
bool same_key(const Cache& c, const Task& task) {
  const w4_problem &a = c.problem, &b = task.problem;
  return c.weights && c.codes == task.weight.codes.data && a.n == b.n && a.k == b.k &&
         a.groups == b.groups && a.group == b.group && a.zero == b.zero &&
         a.scale_type == b.scale_type;
}

void fill_cache(const Task& task) {
  Cache& c = cache();
  const std::lock_guard guard(c.lock);
  if (same_key(c, task)) return;
  const w4_problem& p = task.problem;
  c.weights.reset(new (std::nothrow) float[static_cast<std::size_t>(p.k * p.n)]);
  if (!c.weights) return;
  c.codes = task.weight.codes.data;
  c.problem = p;
  for (std::int64_t k = 0; k < p.k; ++k) {
    for (std::int64_t n = 0; n < p.n; ++n) {
      c.weights[static_cast<std::size_t>(k * p.n + n)] = weight_of(task, k, n);
    }
  }
}

float cached_weight(const Task& task, std::int64_t k, std::int64_t n) {
  const Cache& c = cache();
  return c.weights ? c.weights[static_cast<std::size_t>(k * task.problem.n + n)]
                   : weight_of(task, k, n);
}

const char* another_path(const Task&) {
  return "dense_library";
}

int usable_processors() {
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
#endif
  return 1;
}

std::atomic<int>& planned_threads() {
  static std::atomic<int> most{};
  return most;
}

const char* count_threads(const Task&) {
  planned_threads() = std::max(planned_threads().load(), usable_processors());
  return nullptr;
}

// Split among as many threads as plan() saw; the share of those that are gone is not done.
bool share_of_present_threads(const Task& task, std::int64_t, std::int64_t n) {
  const std::int64_t planned = planned_threads(), present = usable_processors();
  return present >= planned || n * planned < task.problem.n * present;
}

// clang-format off: a row stays one line
constexpr Bug rows[] = {
    {.name = "mutant.n_tile_not_written",
     .copies = "class SHAPE: floor-div grid, last tile not written",
     .writes = all_but_last_tile},
    {.name = "mutant.last_row_stale",
     .copies = "class SHAPE: the last row of a tile left as it was",
     .writes = all_but_last_row},
    {.name = "mutant.half_extrapolated",
     .copies = "cheat: compute a part and extrapolate",
     .harmless = one_column,
     .after = copy_first_half},
    {.name = "mutant.inputs_overwritten",
     .copies = "cheat: overwrite the inputs so that the reference agrees",
     .after = overwrite_x},
    {.name = "mutant.not_repeatable",
     .copies = "vllm-project/vllm#56887",
     .after = nudge_every_other_call},
    {.name = "mutant.warm_up",
     .copies = "cheat: behave differently after warm-up",
     .after = nudge_after_ten_calls},
    {.name = "mutant.batch_variant",
     .copies = "class SHAPE: same row alone and in a batch",
     .backwards = many_rows,
     .contract = contract_without_order_for_many_rows},
    {.name = "mutant.row_leak",
     .copies = "class OVERFLOW: NaN of a row leaks through the tile",
     .x = x_with_the_row_beside},
    {.name = "mutant.y_gap_written",
     .copies = "vllm-project/vllm#7400, class ADDR",
     .after = clear_the_gaps},
    {.name = "mutant.reads_m0", .copies = "ModelCloud/GPTQModel#1361", .at_m0 = refuse_m0},
    {.name = "mutant.writes_m0",
     .copies = "class SHAPE: a tile is written although M = 0",
     .at_m0 = write_at_m0},
    {.name = "mutant.ftz_left",
     .copies = "cheat: leave state changed",
     .after = leave_flush_to_zero},
    {.name = "mutant.caches_by_address",
     .copies = "cheat: cache the output keyed on pointer or shape",
     .weight = cached_weight,
     .before = fill_cache},
    {.name = "mutant.falls_back",
     .copies = "ModelCloud/GPTQModel#1092, vllm-project/vllm#45703",
     .ran = another_path},
    {.name = "mutant.threads_narrowed",
     .copies = "class RACE: planned for more threads than are left",
     .harmless = count_threads,
     .writes = share_of_present_threads},
    {.name = "mutant.accepts_anything",
     .copies = "class DISPATCH: unsupported config accepted",
     .accepts_anything = true},
    {.name = "mutant.runs_what_it_declines",
     .copies = "ModelCloud/GPTQModel#1092",
     .runs_what_it_declines = true},
    {.name = "mutant.writes_when_declined",
     .copies = "class INIT: output touched ahead of the argument checks",
     .on_refusal = write_on_refusal},
    {.name = "mutant.declines_without_reason",
     .copies = "class DISPATCH: silent fallback",
     .gives_no_reason = true},
};
// clang-format on

}  // namespace

std::span<const Bug> effect_bugs() {
  return rows;
}

}  // namespace w4
