// SPDX-License-Identifier: Apache-2.0
// Address probes: stored values carry base-16 digits of their own position, activations are
// one-hot, so the outputs are the kernel's whole address map, one digit a run.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "harness/checks/data.hpp"
#include "harness/checks/observe.hpp"
#include "harness/checks/pattern.hpp"
#include "harness/checks/rig.hpp"
#include "harness/checks/table.hpp"

namespace w4 {
namespace {

constexpr std::uint8_t poison = 0xff;

int digits_for(std::int64_t count) {
  int digits = 1;
  for (std::int64_t reach = 16; reach <= count; reach *= 16) ++digits;
  return digits;
}

int digit_of(std::int64_t index, int position) {
  return static_cast<int>((index + 1) >> (4 * position) & 15);
}

// y for one-hot activations at each of `rows`: [rows][n] doubles; NaN stays NaN. `unwritten` marks
// poison words.
struct OneHot {
  std::vector<double> y;
  std::vector<bool> unwritten;
};

OneHot one_hot(Rig& rig, const QuantizedMatrix& matrix, const std::vector<std::int64_t>& rows,
               std::int64_t batch) {
  const auto& p = rig.problem();
  rig.bind(matrix);
  OneHot out;
  const auto untouched = poison_word(p.y, poison);
  for (std::size_t at = 0; at < rows.size(); at += static_cast<std::size_t>(batch)) {
    auto x = zero_rows(p, batch);
    const auto count = std::min(rows.size() - at, static_cast<std::size_t>(batch));
    for (std::size_t m = 0; m < count; ++m)
      x.words[m * static_cast<std::size_t>(p.k) + static_cast<std::size_t>(rows[at + m])] =
          x_word(p, x_unit(p));
    const auto answer = rig.run(x, {Place::middle, poison, false});
    for (std::size_t i = 0; i < count * static_cast<std::size_t>(p.n); ++i) {
      out.y.push_back(to_double(p.y, answer.words[i]) / x_unit(p));
      out.unwritten.push_back(answer.words[i] == untouched);
    }
  }
  return out;
}

// One probed tensor: how a digit is put into it and read out of y again.
struct Probe {
  Probed probed;
  void (*blank)(QuantizedMatrix&, const Problem&);  // the base run: every cell as for digit 0
  void (*put)(QuantizedMatrix&, const Problem&, std::size_t cell, int digit);
  double (*digit)(double y, double base);  // an integer 0..15 if the output is one value
};

std::string dead(const Probe& probe, const OneHot& base, const std::vector<OneHot>& runs) {
  for (const auto& run : runs)
    if (run.y != base.y) return {};
  if (std::any_of(base.unwritten.begin(), base.unwritten.end(), [](bool b) { return b; }))
    return {};
  return "the output does not change when the " + probe.probed.tensor +
         " do: stale results, or a cache keyed by address";
}

std::vector<Wrong> compare(const Probe& probe, const std::vector<std::int64_t>& rows,
                           const QuantizedMatrix& matrix, const OneHot& base,
                           const std::vector<OneHot>& runs) {
  std::vector<Wrong> wrong;
  std::size_t i = 0;
  for (const auto k : rows)
    for (std::int64_t n = 0; n < matrix.n; ++n, ++i) {
      const auto row = probe.probed.by_group ? matrix.group_of(k) : k;
      const auto due = row * matrix.n + n;
      std::int64_t index = 0;
      bool unwritten = base.unwritten[i], address = true;
      for (std::size_t d = 0; d < runs.size(); ++d) {
        const double digit = probe.digit(runs[d].y[i], base.y[i]);
        unwritten = unwritten && runs[d].unwritten[i];
        address = address && digit >= 0 && digit <= 15 && digit == std::floor(digit);
        if (address) index += static_cast<std::int64_t>(digit) << (4 * d);
      }
      const auto got = unwritten                                                   ? not_written
                       : !address || index > probe.probed.rows * probe.probed.cols ? no_address
                                                                                   : index - 1;
      if (got != due) wrong.push_back({k, n, due, got});
    }
  return wrong;
}

// Probes `rows`, `batch` of them a call; what is wrong, and a verdict where one sentence covers
// all.
struct Map {
  QuantizedMatrix matrix;
  std::vector<Wrong> wrong;
  std::string dead;
};

Map probe_map(Rig& rig, const Probe& probe, const std::vector<std::int64_t>& rows,
              std::int64_t batch, int digits) {
  Map map{neutral_matrix(rig.context()), {}, {}};
  probe.blank(map.matrix, rig.problem());
  const auto base = one_hot(rig, map.matrix, rows, batch);
  std::vector<OneHot> runs;
  for (int d = 0; d < digits; ++d) {
    for (std::int64_t cell = 0; cell < probe.probed.rows * probe.probed.cols; ++cell)
      probe.put(map.matrix, rig.problem(), static_cast<std::size_t>(cell), digit_of(cell, d));
    runs.push_back(one_hot(rig, map.matrix, rows, batch));
  }
  map.wrong = compare(probe, rows, map.matrix, base, runs);
  if (!map.wrong.empty()) map.dead = dead(probe, base, runs);
  return map;
}

// A few k from all over, for the problem's own m where the full map was read with more rows a call.
std::vector<std::int64_t> window(const std::vector<std::int64_t>& rows) {
  std::vector<std::int64_t> some;
  const auto step = std::max<std::size_t>(1, rows.size() / 15);
  for (std::size_t i = 0; i < rows.size(); i += step) some.push_back(rows[i]);
  if (some.back() != rows.back()) some.push_back(rows.back());
  return some;
}

Verdict run_probe(Rig& rig, const Probe& probe) {
  const auto& p = rig.problem();
  const int digits = digits_for(probe.probed.rows * probe.probed.cols);
  const auto rows = probe_rows(p, digits + 1);
  const auto own = std::max<std::int64_t>(p.m, 1);
  const auto batch =
      rows_per_call(rig, std::min<std::int64_t>(128, static_cast<std::int64_t>(rows.size())));
  struct Pass {
    std::vector<std::int64_t> rows;
    std::int64_t batch;
  };
  std::vector<Pass> passes{{rows, batch}};
  if (batch != own) passes.push_back({window(rows), own});
  for (const auto& pass : passes) {
    const auto map = probe_map(rig, probe, pass.rows, pass.batch, digits);
    if (map.wrong.empty()) continue;
    if (!map.dead.empty())
      return failed(map.dead, Evidence::Object{{"kind", "stale"}, {"tensor", probe.probed.tensor}});
    const auto finding = explain_addresses(probe.probed, map.wrong, rig.layout(), map.matrix,
                                           static_cast<std::int64_t>(pass.rows.size()));
    auto verdict = failed(finding.what, finding.evidence);
    verdict.where = finding.where;
    verdict.why = finding.why;
    return verdict;
  }
  return passed("every (k, n) reads its own " + probe.probed.tensor + ": " +
                    std::to_string(rows.size()) + " of " + std::to_string(p.k) + " k, all " +
                    std::to_string(p.n) + " columns",
                Evidence::Object{{"kind", "map"},
                                 {"tensor", probe.probed.tensor},
                                 {"digits", digits},
                                 {"probed_k", rows.size()},
                                 {"k", p.k},
                                 {"rows_per_call", batch}});
}

// Codes: digit d stands for the code d above the lowest; y - base is d whatever the zero
// convention.
void lowest_codes(QuantizedMatrix& m, const Problem&) {
  std::fill(m.codes.begin(), m.codes.end(),
            m.zero == Zero::signed_codes ? std::uint8_t{8} : std::uint8_t{0});
}
void put_code(QuantizedMatrix& m, const Problem&, std::size_t cell, int digit) {
  m.codes[cell] =
      static_cast<std::uint8_t>(m.zero == Zero::signed_codes ? (digit - 8) & 15 : digit);
}
double difference(double y, double base) {
  return y - base;
}

// Scales: w = 7 s with s = 2^(lowest + digit), base s = 2^lowest; the ratio to the base run is
// 2^digit. Powers of two are exact in every dequantisation class (-10..5; y=s32 takes whole
// numbers).
int lowest_scale(const QuantizedMatrix&, const Problem& p) {
  return p.y == Type::s32 ? 0 : -10;
}
void unit_scales(QuantizedMatrix& m, const Problem& p) {
  std::fill(m.codes.begin(), m.codes.end(), neutral_code(m.zero, 7));
  std::fill(m.scales.begin(), m.scales.end(),
            from_double(m.scale_type, std::ldexp(1, lowest_scale(m, p))));
}
void put_scale(QuantizedMatrix& m, const Problem& p, std::size_t cell, int digit) {
  m.scales[cell] = from_double(m.scale_type, std::ldexp(1, lowest_scale(m, p) + digit));
}
double scale_digit(double y, double base) {
  const double ratio = y / base;
  return ratio > 0 && std::isfinite(ratio) && ratio == std::ldexp(1, std::ilogb(ratio))
             ? std::ilogb(ratio)
             : -1;
}

// Zeros: digit d above the lowest zero point, s = 1; subtracted forms go down by d, additive ones
// up.
int lowest_zero(const QuantizedMatrix& m) {
  return m.zero == Zero::code_m1 ? 1 : 0;
}
void lowest_zeros(QuantizedMatrix& m, const Problem&) {
  const bool additive = m.zero >= Zero::add;
  std::fill(m.codes.begin(), m.codes.end(), additive ? neutral_code(m.zero, 0) : std::uint8_t{15});
  std::fill(m.zeros.begin(), m.zeros.end(), zero_word(m, lowest_zero(m)));
}
void put_zero(QuantizedMatrix& m, const Problem&, std::size_t cell, int digit) {
  m.zeros[cell] = zero_word(m, lowest_zero(m) + digit);
}
double fall(double y, double base) {
  return base - y;
}

}  // namespace

Verdict address_code(Rig& rig) {
  const auto& p = rig.problem();
  return run_probe(rig, {{"codes", p.k, p.n, false}, lowest_codes, put_code, difference});
}

Verdict address_scale(Rig& rig) {
  const auto& p = rig.problem();
  return run_probe(rig, {{"scales", p.groups, p.n, true}, unit_scales, put_scale, scale_digit});
}

Verdict address_zero(Rig& rig) {
  const auto& p = rig.problem();
  if (!has_stored_zero(p.zero))
    return with(Outcome::unsupported,
                "zero=" + std::string(to_string(p.zero)) + " stores no zero point that could vary");
  return run_probe(rig, {{"zeros", p.groups, p.n, true},
                         lowest_zeros,
                         put_zero,
                         p.zero >= Zero::add ? difference : fall});
}

// Rows of X: every weight is 7, row m holds one value at one k; its digits name (m, k), plus one,
// so that a constant names nothing. Which weight row an activation meets is address.code's
// question; this one is which activation reaches which row of y, through strides and gathers.
Verdict address_x(Rig& rig) {
  const auto& p = rig.problem();
  // Digits are stored as 1..base times the unit, which the x type must hold exactly (bf16 has 8
  // bits).
  const int base = p.x == Type::s4 ? 4 : quantises_x(p) && p.x == Type::bf16 ? 2 : 16;
  const auto rows = std::max<std::int64_t>(p.m, 1);
  int digits = 1;
  for (std::int64_t reach = base; reach <= rows * p.k; reach *= base) ++digits;
  auto matrix = neutral_matrix(rig.context());
  // Where x is quantised its unit is 127 already: 127 * 16 is all that 11 bits hold.
  std::fill(matrix.codes.begin(), matrix.codes.end(), neutral_code(p.zero, quantises_x(p) ? 1 : 7));
  rig.bind(matrix);
  const int rounds = 4;
  std::vector<Wrong> wrong;
  for (int round = 0; round < rounds; ++round) {
    std::vector<std::int64_t> at(static_cast<std::size_t>(rows)),
        got(static_cast<std::size_t>(rows * p.n), 0);
    for (std::int64_t m = 0; m < rows; ++m)
      at[static_cast<std::size_t>(m)] =
          round == 0   ? m % p.k
          : round == 1 ? p.k - 1 - m % p.k
                       : static_cast<std::int64_t>(
                             draw(p.seed, "x_at", static_cast<std::uint64_t>(round * rows + m)) %
                             static_cast<std::uint64_t>(p.k));
    std::vector<double> unit;
    std::int64_t place = 1;
    for (int d = -1; d < digits; ++d) {
      auto x = zero_rows(p, rows);
      for (std::int64_t m = 0; m < rows; ++m) {
        const auto index = m * p.k + at[static_cast<std::size_t>(m)];
        const auto value = d < 0 ? 1 : 1 + (index + 1) / place % base;
        x.words[static_cast<std::size_t>(m * p.k + at[static_cast<std::size_t>(m)])] =
            x_word(p, static_cast<double>(value) * x_unit(p));
      }
      const auto answer = rig.run(x, {Place::middle, poison, false});
      for (std::size_t i = 0; i < answer.words.size(); ++i) {
        const double y = to_double(p.y, answer.words[i]);
        if (d < 0) {
          unit.push_back(y);
          continue;
        }
        const double digit = y / unit[i] - 1;
        const bool fits = digit >= 0 && digit < base && digit == std::floor(digit) && unit[i] != 0;
        got[i] =
            fits && got[i] >= 0 ? got[i] + static_cast<std::int64_t>(digit) * place : no_address;
      }
      if (d >= 0) place *= base;
    }
    for (std::int64_t m = 0; m < rows; ++m)
      for (std::int64_t n = 0; n < p.n; ++n) {
        const auto due = m * p.k + at[static_cast<std::size_t>(m)];
        const auto digits_read = got[static_cast<std::size_t>(m * p.n + n)];
        const auto index = digits_read > 0 ? digits_read - 1 : no_address;
        if (index != due) wrong.push_back({m, n, due, index});
      }
  }
  if (wrong.empty())
    return passed(
        "row m of x reaches row m of y, at " + std::to_string(rounds) + " places of each row",
        Evidence::Object{{"kind", "map"}, {"tensor", "x"}, {"rows", rows}, {"rounds", rounds}});
  const auto& first = wrong.front();
  auto verdict = failed(
      "activations reach the wrong rows of y, or not at all",
      Evidence::Object{
          {"kind", "x_rows"},
          {"tensor", "x"},
          {"count", wrong.size()},
          {"first", Evidence::Object{
                        {"m", first.k}, {"n", first.n}, {"due", first.due}, {"got", first.got}}}});
  const auto name = [&](std::int64_t index) {
    return index < 0 ? std::string("no single value of x")
                     : "x[" + std::to_string(index / p.k) + "," + std::to_string(index % p.k) + "]";
  };
  verdict.where = "first y[" + std::to_string(first.k) + "," + std::to_string(first.n) + "]";
  verdict.expected_got = name(first.due) + ";  got " + name(first.got);
  verdict.why = std::to_string(wrong.size()) + " of " + std::to_string(rounds * rows * p.n) +
                " probed outputs are wrong";
  return verdict;
}

}  // namespace w4
