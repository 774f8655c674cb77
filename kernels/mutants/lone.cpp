// SPDX-License-Identifier: Apache-2.0
// Mutants that show to one kind of data only: shortcuts for what a call happens to hold, and losses
// below what all but one check can resolve.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <memory>
#include <new>

#include "kernels/mutants/model.hpp"
#include "kernels/mutants/number.hpp"

namespace w4 {
namespace {

using Flag = std::atomic<bool>;

// ---- shortcuts by what the weights hold

Flag& symmetric() {
  static Flag only{};
  return only;
}

void see_whether_symmetric(const Task& task) {
  const w4_problem& p = task.problem;
  bool all = p.zero != W4_ZERO_SIGNED;
  for (std::int64_t g = 0; g < p.groups && all; ++g)
    for (std::int64_t n = 0; n < p.n && all; ++n) all = zero_point(task, g, n) == 8.0F;
  symmetric() = all;
}

// The shortcut unrolls K in two halves and loads the codes that meet in the middle the wrong way
// round.
int code_across_the_middle(const Task& task, std::int64_t k, std::int64_t n) {
  const std::int64_t half = task.problem.k / 2;
  const bool meets = symmetric() && half > 0 && (k == half - 1 || k == half);
  return stored_code(task, meets ? 2 * half - 1 - k : k, n);
}

float scale_up_to_16(const Task& task, std::int64_t g, std::int64_t n) {
  return std::clamp(scale_of(task, g, n), -16.0F, 16.0F);
}

const char* one_group(const Task& task) {
  return task.problem.groups == 1 ? "one group: there is no other to confuse it with" : nullptr;
}

Flag& one_scale() {
  static Flag only{};
  return only;
}

void see_whether_one_scale(const Task& task) {
  const w4_problem& p = task.problem;
  const float first = scale_of(task, 0, 0);
  bool all = true;
  for (std::int64_t i = 0; i < p.groups * p.n && all; ++i)
    all = scale_of(task, i / p.n, i % p.n) == first;
  one_scale() = all;
}

float zero_of_first_group_under_one_scale(const Task& task, std::int64_t g, std::int64_t n) {
  return zero_point(task, one_scale() ? 0 : g, n);
}

float weight_with_unsigned_scale_in_upper_lanes(const Task& task, std::int64_t k, std::int64_t n) {
  const std::int64_t g = group_of(task, k);
  const float s = scale_of(task, g, n);
  return (static_cast<float>(stored_code(task, k, n)) - zero_point(task, g, n)) *
         (k % 32 < 16 ? s : std::fabs(s));
}

// ---- shortcuts by what the activations hold

std::atomic<float>& lone_value() {
  static std::atomic<float> only{};
  return only;
}

// Each row holds one activation: all are taken for that of the first row. 0: they do not.
void see_whether_rows_hold_one(const Task& task) {
  const w4_problem& p = task.problem;
  lone_value() = 0.0F;
  float first{};
  for (std::int64_t m = 0; m < p.m; ++m) {
    std::int64_t count{};
    for (std::int64_t k = 0; k < p.k; ++k) {
      const float x = activation(task, m, k);
      if (!std::isfinite(x)) return;
      if (x == 0.0F) continue;
      ++count;
      if (m == 0) first = x;
    }
    if (count != 1) return;
  }
  lone_value() = first;
}

float x_of_first_row_where_alone(const Task& task, std::int64_t m, std::int64_t k) {
  const float x = activation(task, m, k), lone = lone_value();
  return lone != 0.0F && x != 0.0F ? lone : x;
}

float x_above_threshold(const Task& task, std::int64_t m, std::int64_t k) {
  const float x = activation(task, m, k);
  return std::fabs(x) < 0x1p-5F ? 0.0F : x;
}

const char* no_bias(const Task& task) {
  return task.problem.flags & W4_HAS_BIAS ? nullptr : "without a bias there is none to lose";
}

// Rows whose bytes are all 0 are not multiplied, nor is the bias added.
void skip_rows_of_zeros(const Task& task) {
  const w4_problem& p = task.problem;
  const std::int64_t size = float_bytes(p.x_type);
  for (std::int64_t m = 0; m < p.m; ++m) {
    const auto* row = static_cast<const unsigned char*>(task.x.data) + m * p.x_stride * size;
    if (std::any_of(row, row + p.k * size, [](unsigned char b) { return b != 0; })) continue;
    for (std::int64_t n = 0; n < p.n; ++n) store_word(p.y_type, task.y.data, m * p.y_stride + n, 0);
  }
}

bool holds_some(const Task& task, std::int64_t m, std::int64_t from, std::int64_t to) {
  for (std::int64_t k = from; k < to; ++k)
    if (activation(task, m, k) != 0.0F) return true;
  return false;
}

const char* one_term(const Task& task) {
  return task.problem.k == 1 ? "a sum of one term" : nullptr;
}

// Two workers share K, one without work leaves. Where both have some, the last term of the first is
// lost as it hands over.
float x_lost_at_hand_over(const Task& task, std::int64_t m, std::int64_t k) {
  const std::int64_t last = task.problem.k, half = last / 2;
  const bool lost =
      k == half - 1 && holds_some(task, m, 0, half) && holds_some(task, m, half, last);
  return lost ? 0.0F : activation(task, m, k);
}

constexpr std::int64_t tile_k = 128;

const char* below_a_tile(const Task& task) {
  return task.problem.k < tile_k ? "there is no whole tile of 128 k" : nullptr;
}

// A tile of 128 k with no zero in it takes the unrolled loop, which loses a term in its middle.
float x_lost_in_full_tile(const Task& task, std::int64_t m, std::int64_t k) {
  const std::int64_t from = k / tile_k * tile_k;
  if (k % tile_k != tile_k / 2 - 1 || from + tile_k > task.problem.k) return activation(task, m, k);
  for (std::int64_t i = from; i < from + tile_k; ++i)
    if (activation(task, m, i) == 0.0F) return activation(task, m, k);
  return 0.0F;
}

// As row_leak, from a row to the one above it.
float x_with_the_row_below(const Task& task, std::int64_t m, std::int64_t k) {
  const float x = activation(task, m, k);
  return m % 2 == 0 && m + 1 < task.problem.m ? x + 0.0F * activation(task, m + 1, k) : x;
}

// ---- sums

std::uint32_t saturated(std::uint32_t type, float sum) {
  return round_to(type, std::isfinite(sum) ? std::clamp(sum, -4096.0F, 4096.0F) : sum);
}

// `bits` of 24 kept, cut or rounded; NaN and infinity stay.
float keep_bits(float v, unsigned bits, bool cut) {
  auto word = std::bit_cast<std::uint32_t>(v);
  if ((word & 0x7f800000u) == 0x7f800000u) return v;
  const unsigned drop = 24 - bits;
  if (!cut) word += ((1u << (drop - 1)) - 1) + (word >> drop & 1u);
  return std::bit_cast<float>(word >> drop << drop);
}

// y anew, each output by `sum` from x[m][0..k) and w[0..k).
template <class Sum>
void sum_again(const Task& task, Sum sum) {
  const w4_problem& p = task.problem;
  const std::unique_ptr<float[]> w(new (std::nothrow) float[static_cast<std::size_t>(p.k)]);
  if (!w) return;
  for (std::int64_t n = 0; n < p.n; ++n) {
    for (std::int64_t k = 0; k < p.k; ++k) w[static_cast<std::size_t>(k)] = weight_of(task, k, n);
    for (std::int64_t m = 0; m < p.m; ++m) {
      float y = sum(m, w.get());
      if (p.flags & W4_HAS_BIAS) y += bias_of(task, n);
      store_word(p.y_type, task.y.data, m * p.y_stride + n, round_to(p.y_type, y));
    }
  }
}

// Positive and negative terms summed apart; where there are both, the negative sum passes through a
// register of 16 bits.
void subtract_in_16_bits(const Task& task) {
  sum_again(task, [&](std::int64_t m, const float* w) {
    float up{}, down{};
    for (std::int64_t k = 0; k < task.problem.k; ++k) {
      const float x = activation(task, m, k);
      float& side = x * w[k] < 0.0F ? down : up;
      side = std::fma(x, w[k], side);
    }
    return up == 0.0F || down == 0.0F ? up + down : up + keep_bits(down, 16, false);
  });
}

// Sums of two numbers cut to `bits`, as adders of tensor cores cut what they align.
template <unsigned bits>
void add_in_few_bits(const Task& task) {
  sum_again(task, [&](std::int64_t m, const float* w) {
    float sum{};
    for (std::int64_t k = 0; k < task.problem.k; ++k) {
      const float term = activation(task, m, k) * w[k];
      const bool adds = sum != 0.0F && term != 0.0F;
      sum += term;
      if (adds) sum = keep_bits(sum, bits, true);
    }
    return sum;
  });
}

// The kernel times two ways of summing: from the third call of a shape in a row on it takes the
// other.
bool third_in_a_row(const Task& task) {
  struct Shape {
    std::int64_t m, n, k;
    bool operator==(const Shape&) const = default;
  };
  static thread_local Shape last{};
  static thread_local unsigned calls{};
  const Shape now{task.problem.m, task.problem.n, task.problem.k};
  calls = now == last ? std::min(calls + 1, 3u) : 1;
  last = now;
  return calls == 3;
}

bool always(const Task&) {
  return true;
}

// ---- buffers and paths

// Y as it was found, [m][n].
std::unique_ptr<float[]>& found() {
  static std::unique_ptr<float[]> only;
  return only;
}

void keep_finite_y(const Task& task) {
  const w4_problem& p = task.problem;
  found().reset(new (std::nothrow) float[static_cast<std::size_t>(p.m * p.n)]);
  if (!found()) return;
  for (std::int64_t i = 0; i < p.m * p.n; ++i) {
    const float y = load_float(p.y_type, task.y.data, i / p.n * p.y_stride + i % p.n);
    found()[static_cast<std::size_t>(i)] = std::isfinite(y) ? y : 0.0F;
  }
}

void add_what_was_found(const Task& task) {
  const w4_problem& p = task.problem;
  if (!found()) return;
  for (std::int64_t i = 0; i < p.m * p.n; ++i) {
    const std::int64_t at = i / p.n * p.y_stride + i % p.n;
    const float y = load_float(p.y_type, task.y.data, at);
    store_word(p.y_type, task.y.data, at,
               round_to(p.y_type, y + found()[static_cast<std::size_t>(i)]));
  }
}

// Whole tiles are loaded; what lies past the end is masked after the load.
void load_past_codes(const Task& task) {
  const auto* codes = static_cast<const volatile unsigned char*>(task.weight.codes.data);
  static_cast<void>(codes[task.weight.codes.bytes + 15]);
}

const char* library_for_three_rows_left(const Task& task) {
  const std::int64_t m = task.problem.m;
  return m > 8 && m % 8 == 3 ? "dense_library" : healthy_path;
}

const char* without_order(const w4_problem&) {
  return "dequant=D5 partials=f32 scale_at=weight epilogue=rne";
}
const char* f16_sums(const w4_problem&) {
  return "dequant=D5 partials=f16 scale_at=weight epilogue=rne";
}
const char* d1_without_order(const w4_problem&) {
  return "dequant=D1 partials=f32 scale_at=weight epilogue=rne";
}

// clang-format off: a row stays one line
constexpr Bug rows[] = {
    {.name = "mutant.middle_swapped",
     .copies = "class PACK: two code paths, one packed another way",
     .harmless = one_term,
     .code = code_across_the_middle,
     .before = see_whether_symmetric},
    {.name = "mutant.scale_saturates",
     .copies = "class OVERFLOW: a format of scales that ends at 16",
     .scale = scale_up_to_16},
    {.name = "mutant.zero_hoisted",
     .copies = "class ZP: z*s hoisted out of the loop over groups",
     .harmless = one_group,
     .zero = zero_of_first_group_under_one_scale,
     .before = see_whether_one_scale},
    {.name = "mutant.lone_x_shared",
     .copies = "class SHAPE: one row's operand used for the rows beside it",
     .x = x_of_first_row_where_alone,
     .before = see_whether_rows_hold_one},
    {.name = "mutant.class_alone_wrong",
     .copies = "class DISPATCH: another numeric path than declared",
     .contract = d1_without_order},
    {.name = "mutant.small_x_skipped",
     .copies = "cheat: compute less than was asked for",
     .x = x_above_threshold},
    {.name = "mutant.bias_lost_at_zero_x",
     .copies = "class INIT: an early way out that leaves the epilogue out",
     .harmless = no_bias,
     .after = skip_rows_of_zeros},
    {.name = "mutant.scale_unsigned_upper",
     .copies = "microsoft/onnxruntime-genai#2209",
     .weight = weight_with_unsigned_scale_in_upper_lanes},
    {.name = "mutant.subtracts_in_16_bits",
     .copies = "class PRECISION: a narrow reduce buffer, undeclared",
     .harmless = one_term,
     .after = subtract_in_16_bits,
     .contract = without_order},
    {.name = "mutant.hand_over_loses_term",
     .copies = "class RACE: one term lost between two workers of a split",
     .harmless = one_term,
     .x = x_lost_at_hand_over,
     .contract = f16_sums},
    {.name = "mutant.full_tile_loses_term",
     .copies = "class GROUP: the unrolled loop differs from the checked one",
     .harmless = below_a_tile,
     .x = x_lost_in_full_tile,
     .contract = f16_sums},
    {.name = "mutant.sum_saturates",
     .copies = "class OVERFLOW: accumulators that saturate",
     .round = saturated},
    {.name = "mutant.adds_in_17_bits",
     .copies = "class PRECISION: a tensor core's sums where fp32 is promised",
     .harmless = one_term,
     .after = add_in_few_bits<17>,
     .contract = without_order},
    {.name = "mutant.adds_in_19_bits",
     .copies = "class PRECISION: a tensor core's sums where fp32 is promised",
     .harmless = one_term,
     .after = add_in_few_bits<19>,
     .contract = without_order},
    {.name = "mutant.adds_to_finite_y",
     .copies = "sgl-project/sglang#29748",
     .before = keep_finite_y,
     .after = add_what_was_found},
    {.name = "mutant.loads_past_codes",
     .copies = "vllm-project/vllm#52577",
     .after = load_past_codes},
    {.name = "mutant.order_tuned_late",
     .copies = "vllm-project/vllm#56887",
     .harmless = one_term,
     .backwards = third_in_a_row,
     .contract = without_order},
    {.name = "mutant.row_leaks_up",
     .copies = "class OVERFLOW: NaN of a row leaks through the tile",
     .x = x_with_the_row_below},
    {.name = "mutant.falls_back_at_tail",
     .copies = "ModelCloud/GPTQModel#1092",
     .ran = library_for_three_rows_left},
    {.name = "mutant.names_another",
     .copies = "class DISPATCH: path swap",
     .harmless = one_term,
     .backwards = always,
     .contract = without_order,
     .path = "mutant.none/scalar"},
};
// clang-format on

}  // namespace

std::span<const Bug> lone_bugs() {
  return rows;
}

}  // namespace w4
