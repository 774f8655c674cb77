// SPDX-License-Identifier: Apache-2.0
// value.activation: how X enters. Unit weights pass single activations through, so the output shows
// whether x is used as stored, rounded to another type, or quantised, by which rule and in which
// blocks.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "harness/checks/data.hpp"
#include "harness/checks/table.hpp"

namespace w4 {
namespace {

// x[m][k] as doubles, exact values of the x type.
struct Rows {
  std::int64_t m{}, k{};
  std::vector<double> x;
  double at(std::int64_t row, std::int64_t col) const {
    return x[static_cast<std::size_t>(row * k + col)];
  }
};

// Rows on a grid of 2^-8 (nine bits, one more than bf16 has), so that kernels that sum x*q and x*z
// apart stay exact: both signs; the same with one spike; all positive; the first, 64 times smaller.
// A row has one full significand alone. The last, where f16 is used as stored, holds subnormals of
// seven bits.
Rows probe_values(const Problem& p) {
  Rows rows{p.x == Type::f16 && !quantises_x(p) ? 6 : 5, p.k, {}};
  for (std::int64_t m = 0; m < rows.m; ++m)
    for (std::int64_t k = 0; k < p.k; ++k) {
      const auto bits = draw(p.seed, "activation", static_cast<std::uint64_t>(k));
      double v = std::ldexp(static_cast<double>(257 + 2 * (bits >> 8) % 254), -8);
      if (m != 2 && (bits & 1)) v = -v;
      if (m == 1 && k == p.k / 3) v = 96;
      if (m == 3) v /= 64;
      if (m == 4) v = k == 0 ? 4.0 / 3.0 : 0;
      if (m == 5) v = std::copysign(std::ldexp(static_cast<double>(1 + (bits >> 8) % 127), -24), v);
      rows.x.push_back(
          to_double(p.x, from_double(p.x, m == 4 ? std::nearbyint(v * 65536) / 65536 : v)));
    }
  return rows;
}

// What a block of x becomes: values that the product multiplies, in fp32 where a scale is applied.
using Rule = void (*)(std::span<const double> x, std::span<double> out);

void as_stored(std::span<const double> x, std::span<double> out) {
  for (std::size_t i = 0; i < x.size(); ++i) out[i] = x[i];
}
template <Type type>
void as_type(std::span<const double> x, std::span<double> out) {
  for (std::size_t i = 0; i < x.size(); ++i) out[i] = to_double(type, from_double(type, x[i]));
}

// q*s: a kernel sums in fp32, or in fp64 and rounds to y only.
template <bool wide>
double times_scale(double q, float s) {
  const double product = q * static_cast<double>(s);
  return wide ? product : static_cast<double>(static_cast<float>(product));
}

// Symmetric: s = amax/steps in fp32 (rounded to `scale`), q = nearest(x/s), x' = q*s.
template <int steps, Type scale_type, bool wide = false>
void symmetric(std::span<const double> x, std::span<double> out) {
  float amax = 0;
  for (const double v : x) amax = std::max(amax, static_cast<float>(std::abs(v)));
  const auto s = static_cast<float>(to_double(
      scale_type, from_double(scale_type, static_cast<double>(amax / static_cast<float>(steps)))));
  for (std::size_t i = 0; i < x.size(); ++i)
    out[i] = times_scale<wide>(
        s == 0 ? 0
               : std::clamp(std::nearbyint(x[i] / static_cast<double>(s)),
                            -static_cast<double>(steps) - 1, static_cast<double>(steps)),
        s);
}
// The same by the reciprocal: q = nearest(x * (steps/amax)), each step in fp32.
template <int steps, bool wide = false>
void reciprocal(std::span<const double> x, std::span<double> out) {
  float amax = 0;
  for (const double v : x) amax = std::max(amax, static_cast<float>(std::abs(v)));
  const float inverse = static_cast<float>(steps) / amax, s = amax / static_cast<float>(steps);
  for (std::size_t i = 0; i < x.size(); ++i)
    out[i] = times_scale<wide>(
        static_cast<double>(std::nearbyint(static_cast<float>(x[i]) * inverse)), s);
}
// Asymmetric: lo <= 0 <= hi, s = (hi-lo)/255, z = nearest(-lo/s), q = nearest(x/s) + z in 0..255,
// x' = (q-z)*s.
template <bool wide>
void minmax(std::span<const double> x, std::span<double> out) {
  double lo = 0, hi = 0;
  for (const double v : x) lo = std::min(lo, v), hi = std::max(hi, v);
  const auto s = static_cast<float>((hi - lo) / 255);
  const double z =
      s == 0 ? 0 : std::clamp(std::nearbyint(-lo / static_cast<double>(s)), 0.0, 255.0);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double q =
        s == 0 ? z : std::clamp(std::nearbyint(x[i] / static_cast<double>(s)) + z, 0.0, 255.0);
    out[i] = times_scale<wide>(q - z, s);
  }
}

struct Known {
  const char* name;  // as `x_as` of the contract says it
  Rule rule;
  bool blocks;  // depends on the block
};
constexpr std::array rules{
    Known{"as stored", as_stored, false},
    Known{"f16", as_type<Type::f16>, false},
    Known{"bf16", as_type<Type::bf16>, false},
    Known{"e4m3", as_type<Type::e4m3>, false},
    Known{"s8/amax/127", symmetric<127, Type::f32>, true},
    Known{"s8/amax/127", reciprocal<127>, true},
    Known{"s8/amax/127 with an fp16 scale", symmetric<127, Type::f16>, true},
    Known{"s4/amax/7", symmetric<7, Type::f32>, true},
    Known{"u8/minmax/255", minmax<false>, true},
    Known{"s8/amax/127", symmetric<127, Type::f32, true>, true},
    Known{"s8/amax/127", reciprocal<127, true>, true},
    Known{"s4/amax/7", symmetric<7, Type::f32, true>, true},
    Known{"u8/minmax/255", minmax<true>, true},
};

struct Reading {
  const Known* known{};
  std::int64_t block{};  // k per block; 0: no blocks
  bool shared{};         // one block over all rows
};

std::string name_of(const Reading& r, const Problem& p) {
  std::string text = r.known->name;
  if (!r.known->blocks) return text;
  if (r.shared) return text + ", one scale for all rows";
  return text + (r.block == p.k ? ", per row" : ", in blocks of " + std::to_string(r.block));
}

std::vector<Reading> readings(const Problem& p) {
  std::vector<Reading> all;
  for (const auto& known : rules) {
    if (!known.blocks) {
      all.push_back({&known, 0, false});
      continue;
    }
    std::vector<std::int64_t> blocks{p.x_group, p.k, 16, 32, 64, 128, 256};
    std::sort(blocks.begin(), blocks.end());
    blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
    for (const auto block : blocks)
      if (block <= p.k) all.push_back({&known, block, false});
    all.push_back({&known, p.k, true});
  }
  return all;
}

// x' of every element under a reading.
std::vector<double> read_as(const Reading& r, const Rows& rows) {
  std::vector<double> out(rows.x.size());
  const std::span<const double> x(rows.x);
  const std::span<double> y(out);
  if (r.shared || r.block == 0) {
    r.known->rule(x, y);
    return out;
  }
  for (std::int64_t m = 0; m < rows.m; ++m)
    for (std::int64_t k = 0; k < rows.k; k += r.block) {
      const auto at = static_cast<std::size_t>(m * rows.k + k),
                 size = static_cast<std::size_t>(std::min(r.block, rows.k - k));
      r.known->rule(x.subspan(at, size), y.subspan(at, size));
    }
  return out;
}

struct Seen {
  std::int64_t m{}, k{};
  std::uint32_t word{};
};

// Column n passes x[k] of its k through: weight 1 there, 0 elsewhere. Two bindings look at both
// ends of k.
std::vector<Seen> observe(Rig& rig, const Rows& rows) {
  const auto& p = rig.problem();
  std::vector<Seen> seen;
  const auto batch = rows_per_call(rig, rows.m);
  for (const bool from_end : {false, true}) {
    const auto row_of = [&](std::int64_t n) { return from_end ? p.k - 1 - n % p.k : n % p.k; };
    auto matrix = neutral_matrix(rig.context());
    for (std::int64_t n = 0; n < p.n; ++n)
      matrix.codes[matrix.at(row_of(n), n)] = neutral_code(p.zero, 1);
    rig.bind(matrix);
    for (std::int64_t at = 0; at < rows.m; at += batch) {
      auto x = zero_rows(p, batch);
      // Rows beyond these repeat the last, so that a scale shared by the call sees nothing new.
      for (std::int64_t m = 0; m < batch; ++m)
        for (std::int64_t k = 0; k < p.k; ++k)
          x.words[static_cast<std::size_t>(m * p.k + k)] =
              from_double(p.x, rows.at(std::min(at + m, rows.m - 1), k));
      const auto answer = rig.run(x);
      for (std::int64_t m = 0; m < batch && at + m < rows.m; ++m)
        for (std::int64_t n = 0; n < p.n; ++n)
          seen.push_back({at + m, row_of(n), answer.words[static_cast<std::size_t>(m * p.n + n)]});
    }
  }
  return seen;
}

bool explains(const Reading& r, const Rows& rows, const Problem& p, const std::vector<Seen>& seen,
              Seen& first_off) {
  const auto values = read_as(r, rows);
  for (const auto& s : seen) {
    const auto want = from_double(p.y, values[static_cast<std::size_t>(s.m * rows.k + s.k)]);
    if (same_word(p.y, want, s.word)) continue;
    first_off = s;
    return false;
  }
  return true;
}

// The rule that the problem or the contract asks for.
std::string due_rule(const CaseContext& c) {
  const auto declared = claim_field(c.plan, "x_as");
  if (declared == "stored") return "as stored";  // a value of a contract has no blank
  if (!declared.empty()) return declared;
  if (!quantises_x(c.problem)) return "as stored";
  return c.problem.mul == Type::s8   ? "s8/amax/127"
         : c.problem.mul == Type::s4 ? "s4/amax/7"
                                     : "e4m3";
}

}  // namespace

Verdict value_activation(Rig& rig) {
  const auto& p = rig.problem();
  if (!is_float(p.x))
    return with(Outcome::unsupported, "x=" + std::string(to_string(p.x)) +
                                          " is used as stored: address.x and exact.* judge it");
  if (p.mul == Type::e4m3)
    return with(Outcome::unsupported, "no rule for e4m3 activations is known");
  const auto rows = probe_values(p);
  const auto seen = observe(rig, rows);
  const auto due = due_rule(rig.context());
  std::vector<Reading> fitting;
  Seen off, due_off;
  for (const auto& r : readings(p)) {
    if (explains(r, rows, p, seen, off))
      fitting.push_back(r);
    else if (due == r.known->name && (r.block == 0 || r.block == p.x_group))
      due_off = off;
  }
  Evidence::List names;
  for (const auto& r : fitting) names.emplace_back(name_of(r, p));
  const bool right = std::any_of(fitting.begin(), fitting.end(), [&](const Reading& r) {
    return due == r.known->name && !r.shared && (r.block == 0 || r.block == p.x_group);
  });
  if (right)
    return passed(
        "x enters " + due,
        Evidence::Object{
            {"kind", "activation"}, {"x_as", due}, {"fitting", names}, {"outputs", seen.size()}});
  auto verdict = failed(
      fitting.empty() ? "x enters neither " + due + " nor by any rule known"
                      : "x enters " + name_of(fitting.front(), p) + " where " + due + " is due",
      Evidence::Object{{"kind", fitting.empty() ? "unknown_activation" : "activation"},
                       {"due", due},
                       {"fitting", names}});
  verdict.where = "first y for x[" + std::to_string(due_off.m) + "," + std::to_string(due_off.k) +
                  "] = " + show_word(p.x, from_double(p.x, rows.at(due_off.m, due_off.k)));
  verdict.expected_got = due + ";  got " + show_word(p.y, due_off.word);
  return verdict;
}

}  // namespace w4
