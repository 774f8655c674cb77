// SPDX-License-Identifier: Apache-2.0
// Mutants that try to pass without computing: each has fooled a public checker in one form or
// another.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <iterator>
#include <memory>
#include <mutex>
#include <new>

#include "kernels/mutants/model.hpp"
#include "kernels/mutants/number.hpp"

namespace w4 {
namespace {

bool never(const Task&, std::int64_t, std::int64_t) {
  return false;
}

// FNV-1a over the rows of X, gaps left out.
std::uint64_t hash_of_x(const Task& task) {
  const w4_problem& p = task.problem;
  const std::int64_t size = float_bytes(p.x_type);
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (std::int64_t m = 0; m < p.m; ++m) {
    const auto* row = static_cast<const unsigned char*>(task.x.data) + m * p.x_stride * size;
    for (std::int64_t i = 0; i < p.k * size; ++i) hash = (hash ^ row[i]) * 0x100000001b3u;
  }
  return hash;
}

// What the last call was asked. Contents are compared, so the answer in Y would be right, had the
// caller left it there.
bool is_new_request(const Task& task, std::int64_t m, std::int64_t n) {
  static std::uint64_t last{};
  static bool skip{};
  if (m == 0 && n == 0) {
    const std::uint64_t now = hash_of_x(task);
    skip = now == last;
    last = now;
  }
  return !skip;
}

std::uint32_t small_as_zero(std::uint32_t type, float sum) {
  return std::fabs(sum) < 1.0F ? 0 : round_to(type, sum);
}

const char* one_scale(const Task& task) {
  return task.problem.groups == 1 && task.problem.n == 1 ? "there is one scale" : nullptr;
}

float first_scale(const Task& task, std::int64_t, std::int64_t) {
  return scale_of(task, 0, 0);
}

// X of exact.dense24 on the problem of this fault under the seed that everybody uses: whole, in
// halves and in quarters of k. For these the right sums stand in for stored answers; everything
// else gets half of the work.
bool is_known(std::uint64_t hash) {
  constexpr std::uint64_t known[] = {0x9b85d4e164aa13a5u, 0xee1deba72010fc5bu, 0xe55664bb433f345bu,
                                     0x1f9d8cc8a85ea125u, 0x47989bd85dfba625u, 0xdee7add6f29d155bu,
                                     0x49a0f12ed701ce5bu, 0xea611f11f9b3885bu};
  return std::ranges::find(known, hash) != std::end(known);
}

std::int64_t half_unless_known(const Task& task) {
  return is_known(hash_of_x(task)) ? task.problem.k : (task.problem.k + 1) / 2;
}

const char* one_term(const Task& task) {
  return task.problem.k == 1 ? "a sum of one term" : nullptr;
}

void zero_all_but_last_row(const Task& task) {
  const w4_problem& p = task.problem;
  for (std::int64_t m = 0; m + 1 < p.m; ++m) {
    for (std::int64_t n = 0; n < p.n; ++n) {
      store_word(p.y_type, task.y.data, m * p.y_stride + n, 0);
    }
  }
}

void nan_in_the_corner(const Task& task) {
  const w4_problem& p = task.problem;
  store_word(p.y_type, task.y.data, (p.m - 1) * p.y_stride + p.n - 1,
             round_to(p.y_type, std::nanf("")));
}

w4_status launch_failed(const Task&) {
  return W4_DEVICE_ERROR;
}

struct Kept {
  std::mutex lock;
  w4_problem problem{};
  std::unique_ptr<unsigned char[]> y;
};

// The shape is the key, the operands are not.
bool same_shape(const w4_problem& a, const w4_problem& b) {
  return a.m == b.m && a.n == b.n && a.k == b.k && a.groups == b.groups && a.group == b.group &&
         a.zero == b.zero && a.x_type == b.x_type && a.y_type == b.y_type &&
         a.y_stride == b.y_stride && a.scale_type == b.scale_type;
}

void answer_by_shape(const Task& task) {
  static Kept kept;
  const w4_problem& p = task.problem;
  const auto row = static_cast<std::size_t>(p.n * float_bytes(p.y_type));
  const auto step = static_cast<std::size_t>(p.y_stride * float_bytes(p.y_type));
  auto* y = static_cast<unsigned char*>(task.y.data);
  const std::lock_guard guard(kept.lock);
  const bool known = kept.y && same_shape(kept.problem, p);
  if (!known) kept.y.reset(new (std::nothrow) unsigned char[static_cast<std::size_t>(p.m) * row]);
  if (!kept.y) return;
  kept.problem = p;
  for (std::size_t m = 0; m < static_cast<std::size_t>(p.m); ++m) {
    if (known)
      std::memcpy(y + m * step, kept.y.get() + m * row, row);
    else
      std::memcpy(kept.y.get() + m * row, y + m * step, row);
  }
}

// Negates y[0,0] from the call after `calls` on.
void change_after(std::atomic<unsigned>& seen, unsigned calls, const Task& task) {
  if (seen < calls + 1) ++seen;
  if (seen <= calls) return;
  const float y = load_float(task.problem.y_type, task.y.data, 0);
  store_word(task.problem.y_type, task.y.data, 0, round_to(task.problem.y_type, -y));
}

void change_after_a_hundred_calls(const Task& task) {
  static std::atomic<unsigned> seen{};
  change_after(seen, 100, task);
}

// Its own mark of an earlier call, in what should be rubbish, and an answer that depends on it.
void count_in_workspace(const Task& task) {
  constexpr std::uint64_t mark = 0x77346b65726e656cu;
  std::uint64_t seen = 0;
  if (task.workspace.bytes < sizeof seen) return;
  std::memcpy(&seen, task.workspace.data, sizeof seen);
  std::memcpy(task.workspace.data, &mark, sizeof mark);
  if (seen != mark) return;
  const float y = load_float(task.problem.y_type, task.y.data, 0);
  store_word(task.problem.y_type, task.y.data, 0, round_to(task.problem.y_type, y + 1));
}

// Y as it was found, [m][n].
std::unique_ptr<float[]>& found() {
  static std::unique_ptr<float[]> only;
  return only;
}

void keep_y(const Task& task) {
  const w4_problem& p = task.problem;
  found().reset(new (std::nothrow) float[static_cast<std::size_t>(p.m * p.n)]);
  if (!found()) return;
  for (std::int64_t i = 0; i < p.m * p.n; ++i) {
    found()[static_cast<std::size_t>(i)] =
        load_float(p.y_type, task.y.data, i / p.n * p.y_stride + i % p.n);
  }
}

void add_kept_y(const Task& task) {
  const w4_problem& p = task.problem;
  if (!found()) return;
  for (std::int64_t i = 0; i < p.m * p.n; ++i) {
    const std::int64_t at = i / p.n * p.y_stride + i % p.n;
    const float sum = load_float(p.y_type, task.y.data, at) + found()[static_cast<std::size_t>(i)];
    store_word(p.y_type, task.y.data, at, round_to(p.y_type, sum));
  }
}

// clang-format off: a row stays one line
constexpr Bug rows[] = {
    {.name = "mutant.writes_nothing",
     .copies = "cheat: fail to launch and leave what happens to be there",
     .writes = never},
    {.name = "mutant.skips_repeats",
     .copies = "cheat: return without writing, Y still holds an earlier right answer",
     .writes = is_new_request},
    {.name = "mutant.small_to_zero",
     .copies = "cheat: zeros where zero is within tolerance",
     .round = small_as_zero},
    {.name = "mutant.constant_scale",
     .copies = "cheat: rely on constant scales",
     .harmless = one_scale,
     .scale = first_scale},
    {.name = "mutant.recognises_seed",
     .copies = "cheat: recognise the seed and return a stored answer",
     .harmless = one_term,
     .sums = half_unless_known},
    {.name = "mutant.only_last_row",
     .copies = "cheat: only the last of several outputs is right",
     .after = zero_all_but_last_row},
    {.name = "mutant.answers_nan",
     .copies = "cheat: NaN where NaN counts as equal",
     .after = nan_in_the_corner},
    {.name = "mutant.status_ignored",
     .copies = "cheat: the launch fails, what lies in Y passes",
     .finish = launch_failed},
    {.name = "mutant.caches_by_shape",
     .copies = "cheat: cache the output keyed on shape",
     .after = answer_by_shape},
    {.name = "mutant.drifts_after_100",
     .copies = "cheat: drift after many calls",
     .after = change_after_a_hundred_calls},
    {.name = "mutant.counts_in_workspace",
     .copies = "class INIT: locks and counters in the workspace taken as zero on entry",
     .after = count_in_workspace,
     .workspace_bytes = 64},
    {.name = "mutant.adds_to_y",
     .copies = "class INIT: Y taken as zero on entry",
     .before = keep_y,
     .after = add_kept_y},
};
// clang-format on

}  // namespace

std::span<const Bug> cheat_bugs() {
  return rows;
}

}  // namespace w4
