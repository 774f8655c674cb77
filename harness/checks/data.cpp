// SPDX-License-Identifier: Apache-2.0
#include "harness/checks/data.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "harness/checks/rig.hpp"

namespace w4 {
namespace {

std::uint64_t mix(std::uint64_t v) {
  v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9ull;
  v = (v ^ (v >> 27)) * 0x94d049bb133111ebull;
  return v ^ (v >> 31);
}

// Equal groups of k/group, rows shuffled among them (Fisher-Yates).
std::vector<std::int32_t> shuffled_groups(const Problem& p) {
  std::vector<std::int32_t> g_idx(static_cast<std::size_t>(p.k));
  for (std::int64_t k = 0; k < p.k; ++k)
    g_idx[static_cast<std::size_t>(k)] = static_cast<std::int32_t>(k / p.group);
  for (std::size_t i = g_idx.size(); i > 1; --i)
    std::swap(g_idx[i - 1], g_idx[draw(p.seed, "g_idx", i) % i]);
  return g_idx;
}

// Any groups in any order; with three or more groups one in the middle is used by no row.
std::vector<std::int32_t> arbitrary_groups(const Problem& p) {
  std::vector<std::int32_t> g_idx(static_cast<std::size_t>(p.k));
  const auto unused = p.groups >= 3 ? p.groups / 2 : -1;
  for (std::size_t k = 0; k < g_idx.size(); ++k) {
    auto g =
        static_cast<std::int64_t>(draw(p.seed, "g_idx", k) % static_cast<std::uint64_t>(p.groups));
    if (g == unused) g = p.groups - 1;
    g_idx[k] = static_cast<std::int32_t>(g);
  }
  return g_idx;
}

// A scale that no row uses must not matter: it is larger than any other. Not NaN: a kernel may add
// 0 times it.
void poison_unused_scales(QuantizedMatrix& matrix) {
  if (matrix.g_idx.empty()) return;
  std::vector<bool> used(static_cast<std::size_t>(matrix.groups), false);
  for (const auto g : matrix.g_idx) used[static_cast<std::size_t>(g)] = true;
  const auto large = from_double(matrix.scale_type, 32);
  for (std::int64_t g = 0; g < matrix.groups; ++g)
    if (!used[static_cast<std::size_t>(g)])
      std::fill_n(matrix.scales.begin() + g * matrix.n, matrix.n, large);
}

// Differs between neighbouring groups and neighbouring columns wherever spread >= 2; with spread 1
// between neighbouring groups, and along columns in a pattern with no two equal neighbours either.
int scale_step(std::int64_t g, std::int64_t n, int spread) {
  const std::int64_t cycle = spread + 1;
  if (cycle < 5) return static_cast<int>((g + n) % cycle);
  return static_cast<int>((2 * g + 3 * n + (g / 5) * 2) % cycle);
}

// The zero point of a cell in code units (additive forms: in units of s). Its lowest bit
// alternates, so neighbours along groups and columns always differ; over a matrix every value of
// the form's range occurs.
double draw_zero(const Problem& p, const ExactRecipe& r, std::int64_t g, std::int64_t n) {
  const auto bits = draw(p.seed, "zero", static_cast<std::uint64_t>(g * p.n + n));
  const int value = static_cast<int>(2 * (bits % 8)) + static_cast<int>((g + n) & 1);
  switch (p.zero) {
    case Zero::signed_codes:
      return 0;
    case Zero::eight:
      return 8;
    case Zero::add:
    case Zero::add_8:
      return value % 15 - 7;
    default:
      break;
  }
  const int least = p.zero == Zero::code_m1 ? 1 : 0;
  if (r.fixed_difference > 0) return least;
  if (r.fixed_difference < 0) return 15;
  if (r.positive) return least + value % 8;  // leaves codes above it
  const bool whole = p.zero != Zero::real || r.small_differences;
  return least + value + (whole ? 0.0 : 0.5 * static_cast<double>(bits >> 8 & 1));
}

// The code whose q - z lies in the recipe's range, as random as it allows. `zero` is what is
// subtracted from q.
std::uint8_t draw_code(const ExactRecipe& r, Zero form, int zero, std::uint64_t bits) {
  const int low = form == Zero::signed_codes ? -8 : 0, high = low + 15;
  int from = low, to = high;
  if (r.small_differences) from = std::max(low, zero - 7), to = std::min(high, zero + 7);
  if (r.positive) from = std::max(from, zero);
  if (from > to) from = to;
  int q = from + static_cast<int>(bits % static_cast<std::uint64_t>(to - from + 1));
  if (r.fixed_difference != 0) q = std::clamp(zero + r.fixed_difference, low, high);
  return static_cast<std::uint8_t>(q & 15);
}

// What is subtracted from q to give w/s: the zero point, or minus the additive offset in units of
// s.
int subtracted(Zero form, double z) {
  const int whole = static_cast<int>(std::floor(z));
  if (form == Zero::add) return -whole;
  if (form == Zero::add_8) return 8 - whole;
  return whole;
}

// In units of 2^e. Different z under different scales may be the same word: the next ones are tried
// then, so that neighbours differ as they are stored.
double additive_zero(const QuantizedMatrix& matrix, const Problem& p, const ExactRecipe& r,
                     std::int64_t g, std::int64_t n, int e) {
  double z = draw_zero(p, r, g, n);
  for (std::int64_t other = 1; other < 16; ++other) {
    const auto word = zero_word(matrix, std::ldexp(z, e));
    const bool as_left = n > 0 && matrix.zeros[matrix.at(g, n - 1)] == word;
    const bool as_above = g > 0 && matrix.zeros[matrix.at(g - 1, n)] == word;
    if (!as_left && !as_above) break;
    z = draw_zero(p, r, g + other, n);
  }
  return z;
}

// Generic scales: a mixture of all mantissas, subnormals, smallest normal, powers of two, both
// signs; never so large that a weight or output overflows.
std::uint32_t draw_scale(const Problem& p, std::uint64_t index, std::uint64_t round) {
  const auto bits = draw(p.seed + 0x51ed2700 * round, "scale", index);
  const int kind = static_cast<int>(bits % 16);
  const double mantissa = 1.0 + static_cast<double>(bits >> 8 & 0x7fffff) / 8388608.0;
  const bool narrow = p.scale == Type::f16 || p.mul == Type::f16 || p.y == Type::f16 ||
                      (p.zero >= Zero::add && p.zero_type == Type::f16);
  int exponent = static_cast<int>(bits >> 40 & 0xff) % (narrow ? 18 : 60) - (narrow ? 14 : 40);
  double value = std::ldexp(mantissa, exponent);
  if (kind == 0) value = std::ldexp(1.0, exponent);
  if (kind == 1) value = std::ldexp(std::floor(mantissa * 512), narrow ? -24 : -60);
  if (kind == 2) value = std::ldexp(1.0, -14);
  if (kind == 3) value = 1.0 / 3.0;
  if (kind == 4 && (bits >> 52 & 3) == 0) return 0;
  if ((bits >> 50 & 3) == 0) value = -value;
  return from_double(p.scale, value);
}

}  // namespace

std::uint64_t draw(std::uint64_t seed, std::string_view tensor, std::uint64_t index) {
  std::uint64_t name = 0xcbf29ce484222325ull;
  for (const char c : tensor) name = (name ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return mix(mix(seed + 0x9e3779b97f4a7c15ull) ^ mix(name) ^
             mix(index * 0x9e3779b97f4a7c15ull + 1));
}

int neutral_zero(Zero form) {
  return form == Zero::signed_codes || form == Zero::add || form == Zero::add_8 ? 0 : 8;
}

std::uint8_t neutral_code(Zero form, int difference) {
  const int zero = form == Zero::signed_codes || form == Zero::add ? 0 : 8;
  return static_cast<std::uint8_t>((zero + difference) & 15);
}

std::uint32_t zero_word(const QuantizedMatrix& matrix, double z) {
  if (has_integer_zero(matrix.zero)) return static_cast<std::uint32_t>(z);
  return from_double(matrix.zero_type, z);
}

double zero_value(const QuantizedMatrix& matrix, std::uint32_t word) {
  if (has_integer_zero(matrix.zero)) return word;
  return to_double(matrix.zero_type, word);
}

QuantizedMatrix neutral_matrix(const CaseContext& c) {
  const auto& p = c.problem;
  QuantizedMatrix matrix;
  matrix.k = p.k, matrix.n = p.n, matrix.group = p.group, matrix.groups = p.groups;
  matrix.zero = p.zero, matrix.scale_type = p.scale, matrix.zero_type = p.zero_type;
  const auto cells = static_cast<std::size_t>(p.groups * p.n);
  matrix.codes.assign(static_cast<std::size_t>(p.k * p.n), neutral_code(p.zero, 0));
  matrix.scales.assign(cells, from_double(p.scale, 1.0));
  if (has_stored_zero(p.zero)) matrix.zeros.assign(cells, zero_word(matrix, neutral_zero(p.zero)));
  if (c.layer) matrix.g_idx = c.layer->matrix.g_idx;
  if (!c.layer && p.order == Order::perm) matrix.g_idx = shuffled_groups(p);
  if (!c.layer && p.order == Order::gidx) matrix.g_idx = arbitrary_groups(p);
  poison_unused_scales(matrix);
  matrix.bias_type = p.bias;
  if (p.bias != Type::none)
    matrix.bias.assign(static_cast<std::size_t>(p.n), from_double(p.bias, 0.0));
  return matrix;
}

QuantizedMatrix exact_matrix(const CaseContext& c, const ExactRecipe& r) {
  const auto& p = c.problem;
  auto matrix = neutral_matrix(c);
  std::vector<int> minus(static_cast<std::size_t>(p.groups * p.n));
  for (std::int64_t g = 0; g < p.groups; ++g)
    for (std::int64_t n = 0; n < p.n; ++n) {
      const auto i = matrix.at(g, n);
      const int e = r.lowest + scale_step(g, n, r.spread);
      const double z =
          p.zero >= Zero::add ? additive_zero(matrix, p, r, g, n, e) : draw_zero(p, r, g, n);
      matrix.scales[i] = from_double(p.scale, std::ldexp(1.0, e));
      minus[i] = subtracted(p.zero, z);
      if (!has_stored_zero(p.zero)) continue;
      matrix.zeros[i] = zero_word(matrix, p.zero >= Zero::add ? std::ldexp(z, e) : z);
    }
  for (std::int64_t k = 0; k < p.k; ++k)
    for (std::int64_t n = 0; n < p.n; ++n) {
      const auto i = matrix.at(k, n);
      const int zero = minus[matrix.at(matrix.group_of(k), n)];
      matrix.codes[i] = draw_code(r, p.zero, zero, draw(p.seed, "code", i));
    }
  // Not zero, exact in every float type, a multiple of the sums' unit.
  for (std::size_t n = 0; n < matrix.bias.size(); ++n)
    matrix.bias[n] = from_double(
        p.bias, std::ldexp(static_cast<double>(draw(p.seed, "bias", n) % 15) - 7, r.lowest));
  poison_unused_scales(matrix);
  return matrix;
}

QuantizedMatrix generic_matrix(const CaseContext& c, std::uint64_t round) {
  const auto& p = c.problem;
  ExactRecipe recipe;
  auto matrix = exact_matrix(c, recipe);
  for (std::size_t i = 0; i < matrix.scales.size(); ++i) {
    const double e = to_double(p.scale, matrix.scales[i]);
    matrix.scales[i] = draw_scale(p, i, round);
    if (p.zero < Zero::add) continue;
    // Additive zeros of the size of a weight, with a full significand.
    const auto bits = draw(p.seed + round, "add", i);
    const double z =
        to_double(matrix.zero_type, matrix.zeros[i]) / e + static_cast<double>(bits % 4096) / 4096;
    matrix.zeros[i] = zero_word(matrix, z * to_double(p.scale, matrix.scales[i]));
  }
  if (p.zero == Zero::real)
    for (std::size_t i = 0; i < matrix.zeros.size(); ++i)
      matrix.zeros[i] =
          zero_word(matrix, static_cast<double>(draw(p.seed + round, "real", i) % 60000) / 4000);
  std::fill(matrix.bias.begin(), matrix.bias.end(),
            from_double(p.bias == Type::none ? Type::f32 : p.bias, 0.0));
  poison_unused_scales(matrix);
  return matrix;
}

QuantizedMatrix ordinary_matrix(const CaseContext& c) {
  const auto& p = c.problem;
  auto matrix = exact_matrix(c, {});
  for (std::size_t i = 0; i < matrix.scales.size(); ++i) {
    const double unit = to_double(p.scale, matrix.scales[i]);
    const auto bits = draw(p.seed, "ordinary scale", i);
    const double mantissa = 1.0 + static_cast<double>(bits & 0x7fffff) / 8388608.0;
    matrix.scales[i] =
        from_double(p.scale, std::ldexp(mantissa, -8 + static_cast<int>(bits >> 32 & 3)));
    if (p.zero < Zero::add) continue;
    const double z = to_double(p.zero_type, matrix.zeros[i]) / unit;
    matrix.zeros[i] = zero_word(matrix, z * to_double(p.scale, matrix.scales[i]));
  }
  poison_unused_scales(matrix);
  return matrix;
}

Activations ordinary_rows(const Problem& p, std::int64_t m) {
  auto x = zero_rows(p, m);
  const int most = p.x == Type::s4 ? 7 : 127;
  for (std::size_t i = 0; i < x.words.size(); ++i) {
    const auto bits = draw(p.seed, "ordinary x", i);
    double value = static_cast<double>(1 + (bits >> 8) % static_cast<std::uint64_t>(most));
    if (is_float(p.x))
      value = std::ldexp(1.0 + static_cast<double>(bits >> 8 & 0x7fffff) / 8388608.0,
                         static_cast<int>(bits >> 40 & 3) - 2);
    x.words[i] = x_word(p, bits & 1 ? value : -value);
  }
  vary_x_scale(x, -6, 2);
  return x;
}

double x_unit(const Problem& p) {
  if (!quantises_x(p)) return 1;
  return p.mul == Type::s4 ? 7 : 127;
}

Activations zero_rows(const Problem& p, std::int64_t m) {
  Activations x;
  x.type = p.x, x.m = m, x.k = p.k;
  x.words.assign(static_cast<std::size_t>(m * p.k), 0);
  if (!has_x_scale(p)) return x;
  x.group = p.x_group;
  x.scale.assign(static_cast<std::size_t>(m * ((p.k + p.x_group - 1) / p.x_group)), 1.0F);
  return x;
}

void vary_x_scale(Activations& x, int lowest, int spread) {
  if (x.scale.empty()) return;
  const auto groups = (x.k + x.group - 1) / x.group;
  for (std::int64_t m = 0; m < x.m; ++m)
    for (std::int64_t g = 0; g < groups; ++g)
      x.scale[static_cast<std::size_t>(m * groups + g)] =
          std::ldexp(1.0F, lowest + static_cast<int>((m + g) % (spread + 1)));
}

std::uint32_t x_word(const Problem& p, double value) {
  return from_double(p.x, value);
}

}  // namespace w4
