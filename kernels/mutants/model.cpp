// SPDX-License-Identifier: Apache-2.0
// The healthy kernel behind every mutant: dequantise in fp32 (class D5), one fma a term, k in
// order.
#include "kernels/mutants/model.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/mutants/number.hpp"

namespace w4 {
namespace {

constexpr std::int64_t tile_rows = 32, tile_columns = 16, most_chains = 8;

const unsigned char* bytes_of(const w4_in& in) {
  return static_cast<const unsigned char*>(in.data);
}

int nibble(const unsigned char* bytes, std::int64_t index) {
  return index % 2 == 0 ? bytes[index / 2] & 15 : bytes[index / 2] >> 4;
}

void add_row_plain(float* sums, const float* weights, float x) {
  for (std::int64_t j = 0; j < tile_columns; ++j) sums[j] = std::fma(x, weights[j], sums[j]);
}

#if defined(__x86_64__)
// The same fma sixteen columns at a time: a libm call a term would cost most of the run.
__attribute__((target("avx2,fma"))) void add_row_fma(float* sums, const float* weights, float x) {
  for (std::int64_t j = 0; j < tile_columns; ++j) sums[j] = __builtin_fmaf(x, weights[j], sums[j]);
}
#endif

using AddRow = void (*)(float*, const float*, float);
AddRow pick_add_row() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return add_row_fma;
#endif
  return add_row_plain;
}

using Tile = float[tile_rows][tile_columns];

void add_tile(Tile& sums, const Tile& others) {
  for (std::int64_t r = 0; r < tile_rows; ++r)
    for (std::int64_t j = 0; j < tile_columns; ++j) sums[r][j] += others[r][j];
}

void start_from_bias(const Task& task, std::int64_t n, Tile& sums) {
  if (!(task.problem.flags & W4_HAS_BIAS)) return;
  for (auto& row : sums)
    for (std::int64_t j = 0; j < std::min(tile_columns, task.problem.n - n); ++j)
      row[j] = bias_of(task, n + j);
}

void store_tile(const Task& task, std::int64_t m, std::int64_t n, const float* sums) {
  const w4_problem& p = task.problem;
  const Bug& bug = *task.bug;
  for (std::int64_t j = 0; j < std::min(tile_columns, p.n - n); ++j) {
    if (bug.writes && !bug.writes(task, m, n + j)) continue;
    float sum = sums[j];
    if ((p.flags & W4_HAS_BIAS) && !bug.bias_first)
      sum += bug.bias ? bug.bias(task, n + j) : bias_of(task, n + j);
    const std::uint32_t word = bug.round ? bug.round(p.y_type, sum) : round_to(p.y_type, sum);
    store_word(p.y_type, task.y.data, m * p.y_stride + n + j, word);
  }
}

}  // namespace

int stored_code(const Task& task, std::int64_t k, std::int64_t n) {
  const w4_problem& p = task.problem;
  int code{};
  if (task.storage.kind == Storage::Kind::codes) {
    code = bytes_of(task.weight.codes)[k * p.n + n] & 15;
  } else {
    const std::int64_t word = k / 8 * p.n + n;
    code = nibble(bytes_of(task.weight.codes), word * 8 + task.storage.nibble_of[k % 8]);
  }
  return p.zero == W4_ZERO_SIGNED ? (code ^ 8) - 8 : code;
}

std::int64_t group_of(const Task& task, std::int64_t k) {
  if (!(task.problem.flags & W4_ACT_ORDER)) return k / task.problem.group;
  std::int32_t g{};
  std::memcpy(&g, bytes_of(task.weight.g_idx) + k * 4, 4);
  return g;
}

float zero_point(const Task& task, std::int64_t g, std::int64_t n) {
  const w4_problem& p = task.problem;
  if (p.zero == W4_ZERO_SIGNED) return 0.0F;
  if (p.zero == W4_ZERO_8) return 8.0F;
  if (p.zero == W4_ZERO_REAL) return load_float(p.zero_type, task.weight.zero.data, g * p.n + n);
  const unsigned char* zeros = bytes_of(task.weight.zero);
  const bool packed = task.storage.kind >= Storage::Kind::gptq_v1;
  const int stored = packed ? nibble(zeros, g * ((p.n + 7) / 8 * 8) + n) : zeros[g * p.n + n];
  return static_cast<float>(p.zero == W4_ZERO_CODE_M1 ? stored + 1 : stored);
}

float scale_of(const Task& task, std::int64_t g, std::int64_t n) {
  return load_float(task.problem.scale_type, task.weight.scale.data, g * task.problem.n + n);
}

float weight_of(const Task& task, std::int64_t k, std::int64_t n) {
  const Bug& bug = *task.bug;
  const std::int64_t g = bug.group ? bug.group(task, k) : group_of(task, k);
  const auto q = static_cast<float>(bug.code ? bug.code(task, k, n) : stored_code(task, k, n));
  const float z = bug.zero ? bug.zero(task, g, n) : zero_point(task, g, n);
  const float s = bug.scale ? bug.scale(task, g, n) : scale_of(task, g, n);
  return (q - z) * s;
}

float activation_at(const Task& task, std::int64_t m, std::int64_t k, std::int64_t x_stride) {
  const w4_problem& p = task.problem;
  const float x = load_float(p.x_type, task.x.data, m * x_stride + k);
  if (task.x_scale.data == nullptr) return x;
  const std::int64_t blocks = (p.k + p.x_group - 1) / p.x_group;
  return x * load_float(W4_F32, task.x_scale.data, m * blocks + k / p.x_group);
}

float activation(const Task& task, std::int64_t m, std::int64_t k) {
  return activation_at(task, m, k, task.problem.x_stride);
}

float bias_of(const Task& task, std::int64_t n) {
  return load_float(task.problem.bias_type, task.weight.bias.data, n);
}

void compute(const Task& task) {
  static const AddRow add_row = pick_add_row();
  const w4_problem& p = task.problem;
  const Bug& bug = *task.bug;
  const std::int64_t terms = bug.sums ? bug.sums(task) : p.k;
  const bool backwards = bug.backwards && bug.backwards(task);
  for (std::int64_t m = 0; m < p.m; m += tile_rows) {
    const std::int64_t rows = std::min(tile_rows, p.m - m);
    for (std::int64_t n = 0; n < p.n; n += tile_columns) {
      float sums[most_chains][tile_rows][tile_columns]{};
      if (bug.bias_first) start_from_bias(task, n, sums[0]);
      float weights[tile_columns]{};
      for (std::int64_t i = 0; i < terms; ++i) {
        const std::int64_t k = backwards ? terms - 1 - i : i;
        for (std::int64_t j = 0; j < std::min(tile_columns, p.n - n); ++j) {
          weights[j] = bug.weight ? bug.weight(task, k, n + j) : weight_of(task, k, n + j);
        }
        auto& chain = sums[k % bug.chains];
        for (std::int64_t r = 0; r < rows; ++r) {
          add_row(chain[r], weights, bug.x ? bug.x(task, m + r, k) : activation(task, m + r, k));
          if (!bug.settle) continue;
          for (float& sum : chain[r]) sum = bug.settle(sum, k);
        }
      }
      for (std::int64_t half = bug.chains / 2; half > 0; half /= 2)
        for (std::int64_t c = 0; c < half; ++c) add_tile(sums[c], sums[c + half]);
      for (std::int64_t r = 0; r < rows; ++r) store_tile(task, m + r, n, sums[0][r]);
    }
  }
}

}  // namespace w4
