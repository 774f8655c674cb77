// SPDX-License-Identifier: Apache-2.0
// Mutants of addressing: the wrong stored code, group, scale, zero or activation feeds (k, n).
#include <algorithm>

#include "kernels/mutants/model.hpp"

namespace w4 {
namespace {

constexpr std::int64_t tile_k = 128;

const char* one_group(const Task& task) {
  return task.problem.groups == 1 ? "one group: there is no other to confuse it with" : nullptr;
}

const char* no_stored_zeros(const Task& task) {
  return stored_zero_bytes(task) == 0 ? "no zero point is stored" : nullptr;
}

const char* one_group_a_tile(const Task& task) {
  const w4_problem& p = task.problem;
  if (p.groups == 1) return one_group(task);
  if (p.flags & W4_ACT_ORDER) return nullptr;
  return p.group % tile_k == 0 ? "no tile of 128 k holds two groups" : nullptr;
}

// Block 3 of column 17 where they exist: a fault of a single word, away from the corners.
const char* no_whole_word(const Task& task) {
  return task.problem.k < 8 ? "there is no whole word of eight codes" : nullptr;
}

int reverse_one_word(const Task& task, std::int64_t k, std::int64_t n) {
  const w4_problem& p = task.problem;
  const std::int64_t block = p.k >= 32 ? 3 : 0, column = p.n > 17 ? 17 : p.n - 1;
  if (k / 8 != block || n != column) return stored_code(task, k, n);
  // Nibble 7-p in place of nibble p, whatever element the layout keeps in either.
  return stored_code(task, k / 8 * 8 + task.storage.element_at[7 - task.storage.nibble_of[k % 8]],
                     n);
}

const char* own_inverse(const Task& task) {
  if (task.storage.kind != Storage::Kind::kpack) return "only kpack has a nibble order to invert";
  if (task.problem.k % 8 != 0) return "an inverted order would read the padding of the last word";
  return std::equal(task.storage.element_at, task.storage.element_at + 8, task.storage.nibble_of)
             ? "this nibble order is its own inverse"
             : nullptr;
}

// Element e from nibble ORDER[e], where ORDER's inverse belongs.
int code_at_order(const Task& task, std::int64_t k, std::int64_t n) {
  const std::int64_t nibble = task.storage.element_at[k % 8];
  return stored_code(task, k / 8 * 8 + task.storage.element_at[nibble], n);
}

const char* not_packed(const Task& task) {
  if (task.storage.kind == Storage::Kind::codes) return "a byte a code: no nibbles to swap";
  return task.problem.k % 8 != 0 ? "a swap would read the padding of the last word" : nullptr;
}

int other_nibble_of_byte(const Task& task, std::int64_t k, std::int64_t n) {
  return stored_code(task, k / 8 * 8 + task.storage.element_at[task.storage.nibble_of[k % 8] ^ 1],
                     n);
}

std::int64_t group_before(const Task& task, std::int64_t k) {
  return std::max<std::int64_t>(group_of(task, k) - 1, 0);
}

std::int64_t first_group_of_tile(const Task& task, std::int64_t k) {
  return group_of(task, k / tile_k * tile_k);
}

const char* no_second_zero_in_a_tile(const Task& task) {
  const char* why = no_stored_zeros(task);
  return why ? why : one_group_a_tile(task);
}

float weight_with_first_zero_of_tile(const Task& task, std::int64_t k, std::int64_t n) {
  const float z = zero_point(task, first_group_of_tile(task, k), n);
  const auto q = static_cast<float>(stored_code(task, k, n));
  return (q - z) * scale_of(task, group_of(task, k), n);
}

std::int64_t group_zero_for_one_row(const Task& task, std::int64_t k) {
  return task.problem.m == 1 ? 0 : group_of(task, k);
}

const char* no_act_order(const Task& task) {
  if (!(task.problem.flags & W4_ACT_ORDER)) return "without act-order there is no g_idx to ignore";
  return one_group(task);
}

std::int64_t group_in_sequence(const Task& task, std::int64_t k) {
  return std::min(k / task.problem.group, task.problem.groups - 1);
}

// As if g_idx began at the rank's own first group.
std::int64_t group_of_this_rank(const Task& task, std::int64_t k) {
  std::int64_t first = group_of(task, 0);
  for (std::int64_t row = 1; row < task.problem.k; ++row)
    first = std::min(first, group_of(task, row));
  return group_of(task, k) - first;
}

// As if there were as many groups as the rank's own k has.
std::int64_t group_within_k(const Task& task, std::int64_t k) {
  const w4_problem& p = task.problem;
  return std::min(group_of(task, k), (p.k + p.group - 1) / p.group - 1);
}

const char* one_column(const Task& task) {
  return task.problem.n == 1 ? "one column: there is no other to confuse it with" : nullptr;
}

float scale_of_column_pair(const Task& task, std::int64_t g, std::int64_t n) {
  return scale_of(task, g, (n ^ 1) < task.problem.n ? n ^ 1 : n);
}

const char* few_groups(const Task& task) {
  return task.problem.groups <= 128 ? "no more than 128 groups" : nullptr;
}

float no_scale_past_128_groups(const Task& task, std::int64_t g, std::int64_t n) {
  return g < 128 ? scale_of(task, g, n) : 0.0F;
}

const char* no_interleaved_zeros(const Task& task) {
  return task.problem.n < 8 ? "fewer than eight columns of zeros" : no_stored_zeros(task);
}

float zero_of_interleaved_column(const Task& task, std::int64_t g, std::int64_t n) {
  constexpr std::int64_t order[8]{0, 2, 4, 6, 1, 3, 5, 7};
  const bool whole = n / 8 * 8 + 8 <= task.problem.n;
  return zero_point(task, g, whole ? n / 8 * 8 + order[n % 8] : n);
}

std::int64_t without_tail(const Task& task) {
  const std::int64_t k = task.problem.k, tail = k % 32 != 0 ? k % 32 : 8;
  return std::max<std::int64_t>(k - tail, 0);
}

const char* no_partial_group(const Task& task) {
  const w4_problem& p = task.problem;
  if (p.flags & W4_ACT_ORDER) return "with act-order no group comes last";
  return p.k % p.group == 0 || p.k < p.group ? "the last group is whole" : nullptr;
}

std::int64_t whole_groups_for_one_row(const Task& task) {
  const w4_problem& p = task.problem;
  return p.m == 1 ? p.k / p.group * p.group : p.k;
}

float x_of_dense_rows(const Task& task, std::int64_t m, std::int64_t k) {
  return activation_at(task, m, k, task.problem.k);
}

// Times zero, so only a NaN or an infinity in the gap shows. The last row has no gap behind it.
float x_with_the_gap(const Task& task, std::int64_t m, std::int64_t k) {
  const w4_problem& p = task.problem;
  const bool gap = k == p.k - 1 && m < p.m - 1 && p.x_stride > p.k;
  return gap ? activation(task, m, k) + 0.0F * activation(task, m, p.k) : activation(task, m, k);
}

// clang-format off: a row stays one line
constexpr Bug rows[] = {
    {.name = "mutant.word_reversed",
     .copies = "class PACK: one packed word nibble-reversed",
     .harmless = no_whole_word,
     .code = reverse_one_word},
    {.name = "mutant.order_inverse",
     .copies = "class PACK: nibble order applied instead of its inverse",
     .harmless = own_inverse,
     .code = code_at_order},
    {.name = "mutant.nibbles_swapped",
     .copies = "class PACK: high nibble first",
     .harmless = not_packed,
     .code = other_nibble_of_byte},
    {.name = "mutant.group_off_by_one",
     .copies = "class SCALE: group index off by one",
     .harmless = one_group,
     .group = group_before},
    {.name = "mutant.first_group_for_tile",
     .copies = "class SCALE: BLOCK_K=128 above the group",
     .harmless = one_group_a_tile,
     .group = first_group_of_tile},
    {.name = "mutant.first_zero_for_tile",
     .copies = "sgl-project/sglang#37759",
     .harmless = no_second_zero_in_a_tile,
     .weight = weight_with_first_zero_of_tile},
    {.name = "mutant.group_zero_at_m1",
     .copies = "intel/torch-xpu-ops#5001",
     .harmless = one_group,
     .group = group_zero_for_one_row},
    {.name = "mutant.g_idx_ignored",
     .copies = "vllm-project/vllm#7374, class GIDX",
     .harmless = no_act_order,
     .group = group_in_sequence},
    {.name = "mutant.g_idx_rebased",
     .copies = "vllm-project/vllm#7374, class TP: local group index",
     .harmless = no_act_order,
     .group = group_of_this_rank},
    {.name = "mutant.groups_from_k",
     .copies = "vllm-project/vllm#1258, class TP: groups inferred from shapes",
     .harmless = no_act_order,
     .group = group_within_k},
    {.name = "mutant.scale_column_swapped",
     .copies = "vllm-project/compressed-tensors#203, class SCALE",
     .harmless = one_column,
     .scale = scale_of_column_pair},
    {.name = "mutant.scale_past_128_groups",
     .copies = "vllm-project/vllm#9212",
     .harmless = few_groups,
     .scale = no_scale_past_128_groups},
    {.name = "mutant.zero_interleaved",
     .copies = "pie-project/pie#491",
     .harmless = no_interleaved_zeros,
     .zero = zero_of_interleaved_column},
    {.name = "mutant.k_tail_dropped", .copies = "ikawrakow/ik_llama.cpp#951", .sums = without_tail},
    {.name = "mutant.partial_group_at_m1",
     .copies = "class GROUP: a partial last group dropped at M = 1 only",
     .harmless = no_partial_group,
     .sums = whole_groups_for_one_row},
    {.name = "mutant.x_stride_ignored", .copies = "vllm-project/vllm#31637", .x = x_of_dense_rows},
    {.name = "mutant.x_gap_read", .copies = "vllm-project/vllm#52577", .x = x_with_the_gap},
};
// clang-format on

}  // namespace

std::span<const Bug> address_bugs() {
  return rows;
}

}  // namespace w4
