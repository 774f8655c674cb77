// SPDX-License-Identifier: Apache-2.0
// From results that differ to the one change that explains them all: each guess is put into the
// operands, the oracle multiplies again, and every word must come out.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>

#include "harness/checks/rig.hpp"
#include "harness/fixture/tensors.hpp"
#include "harness/golden/golden.hpp"
#include "reference/error.hpp"

namespace w4 {
namespace {

bool same(const Number& a, const Number& b) {
  if (a.kind != b.kind) return false;
  if (a.kind == NumberKind::nan) return true;
  return a.kind == NumberKind::infinite ? a.negative == b.negative : a.value == b.value;
}

struct Scene {
  const Problem& p;
  const QuantizedMatrix& matrix;
  const Activations& x;
  const GoldenClass& stored;
  const std::vector<Number>& now;  // exact
  std::vector<std::size_t> off;    // outputs whose exact sums differ
  std::set<std::int64_t> columns, rows;
  std::size_t outputs() const { return now.size(); }
};

Drift found(const Scene& s, DriftClass cls, std::string what) {
  Drift d;
  d.cls = cls;
  d.what = std::move(what);
  d.count = s.off.size(), d.outputs = s.outputs();
  return d;
}

std::string at(const Problem& p, std::size_t i) {
  const auto index = static_cast<std::int64_t>(i);
  return "y[" + std::to_string(index / p.n) + "," + std::to_string(index % p.n) + "]";
}

// One column of the matrix as a matrix.
QuantizedMatrix column_of(const QuantizedMatrix& w, std::int64_t n) {
  QuantizedMatrix out = w;
  out.n = 1;
  const auto cut = [&](auto& to, const auto& from, std::int64_t rows) {
    to.clear();
    for (std::int64_t r = 0; r < rows && !from.empty(); ++r) to.push_back(from[w.at(r, n)]);
  };
  cut(out.codes, w.codes, w.k);
  cut(out.scales, w.scales, w.groups);
  cut(out.zeros, w.zeros, w.groups);
  cut(out.bias, w.bias, 1);
  return out;
}

bool gives(const Scene& s, const QuantizedMatrix& column, std::int64_t n) {
  const auto now = exact_products(s.x, column, s.stored.dequant, s.p.mul);
  for (std::int64_t m = 0; m < s.x.m; ++m)
    if (!same(now[static_cast<std::size_t>(m)],
              s.stored.exact[static_cast<std::size_t>(m * s.p.n + n)]))
      return false;
  return true;
}

// Zero points that the form leaves out are written out, so that one can be moved.
QuantizedMatrix with_zeros(QuantizedMatrix w) {
  if (has_stored_zero(w.zero)) return w;
  if (w.zero == Zero::signed_codes)
    for (auto& code : w.codes) code = static_cast<std::uint8_t>(code ^ 8);
  w.zero = Zero::code;
  w.zeros.assign(static_cast<std::size_t>(w.groups * w.n), 8);
  return w;
}

bool move_word(std::uint32_t& word, int step, std::uint32_t most) {
  if (step < 0 ? word == 0 : word >= most) return false;
  word += static_cast<std::uint32_t>(step);
  return true;
}

// Column by column: a single group's zero point (or scale) one step away, or all groups' by the
// same step.
struct Step {
  std::int64_t group{}, n{};
  int by{};
  bool all_groups{};
};

std::optional<Step> step_in(const Scene& s, const QuantizedMatrix& column, std::int64_t n,
                            bool zeros) {
  const auto most =
      zeros
          ? (has_integer_zero(column.zero)
                 ? 16u
                 : static_cast<std::uint32_t>((std::uint64_t{1} << bits_of(column.zero_type)) - 1))
          : static_cast<std::uint32_t>((std::uint64_t{1} << bits_of(column.scale_type)) - 1);
  for (const int by : {1, -1}) {
    auto all = column;
    bool moved = true;
    for (std::int64_t g = 0; g < column.groups; ++g) {
      auto one = column;
      auto& word = (zeros ? one.zeros : one.scales)[static_cast<std::size_t>(g)];
      if (!move_word(word, by, most)) {
        moved = false;
        continue;
      }
      (zeros ? all.zeros : all.scales)[static_cast<std::size_t>(g)] = word;
      if (gives(s, one, n)) return Step{g, n, by, false};
    }
    if (moved && column.groups > 1 && gives(s, all, n)) return Step{0, n, by, true};
  }
  return std::nullopt;
}

std::optional<Drift> one_step(const Scene& s, bool zeros) {
  const auto whole = zeros ? with_zeros(s.matrix) : s.matrix;
  std::vector<Step> steps;
  for (const auto n : s.columns) {
    const auto step = step_in(s, column_of(whole, n), n, zeros);
    if (!step) return std::nullopt;
    steps.push_back(*step);
  }
  const auto& first = steps.front();
  const std::string name = zeros ? "zero point" : "scale";
  const std::string by =
      std::string(first.by > 0 ? "+1" : "-1") + (zeros ? "" : " in its last place");
  std::string what = "the " + name + " of ";
  if (first.all_groups)
    what += "every group";
  else
    what += "group " + std::to_string(first.group);
  what += ", column " + std::to_string(first.n) + " is one step away (" + by + ")";
  if (steps.size() > 1)
    what += ", and so are those of " + std::to_string(steps.size() - 1) + " other columns";
  auto d = found(s, zeros ? DriftClass::zero : DriftClass::scale, what);
  d.tensor = zeros ? "zero" : "scale";
  d.group = first.group, d.col = first.n, d.step = first.by;
  return d;
}

std::optional<Drift> lost_tail(const Scene& s) {
  std::vector<std::int64_t> fits;
  for (std::int64_t t = 1; t < std::min<std::int64_t>(s.p.k, 513); ++t) fits.push_back(t);
  const auto some = std::min<std::size_t>(s.off.size(), 8);
  for (std::size_t i = 0; i < some && !fits.empty(); ++i) {
    const auto output = static_cast<std::int64_t>(s.off[i]);
    const auto n = output % s.p.n, m = output / s.p.n;
    const auto column = column_of(s.matrix, n);
    Activations row = s.x;
    row.m = 1;
    row.words.assign(s.x.words.begin() + m * s.x.k, s.x.words.begin() + (m + 1) * s.x.k);
    if (!s.x.scale.empty()) {
      const auto groups = (s.x.k + s.x.group - 1) / s.x.group;
      row.scale.assign(s.x.scale.begin() + m * groups, s.x.scale.begin() + (m + 1) * groups);
    }
    std::erase_if(fits, [&](std::int64_t t) {
      auto cut = row;
      std::fill(cut.words.end() - t, cut.words.end(), 0);
      return !same(exact_products(cut, column, s.stored.dequant, s.p.mul)[0],
                   s.stored.exact[s.off[i]]);
    });
  }
  if (fits.empty()) return std::nullopt;
  auto cut = s.x;
  const auto t = fits.front();
  for (std::int64_t m = 0; m < cut.m; ++m)
    std::fill_n(cut.words.begin() + (m + 1) * cut.k - t, t, 0);
  const auto now = exact_products(cut, s.matrix, s.stored.dequant, s.p.mul);
  for (const auto i : s.off)
    if (!same(now[i], s.stored.exact[i])) return std::nullopt;
  return found(s, DriftClass::tail, "the last " + std::to_string(t) + " of k are left out");
}

using Slice = std::vector<std::int64_t>;  // comparable form of a row or a column

Slice slice_of(const std::vector<Number>& y, std::int64_t from, std::int64_t stride,
               std::int64_t count) {
  Slice out;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto& v = y[static_cast<std::size_t>(from + i * stride)];
    const bool finite = v.kind == NumberKind::finite;
    out.push_back(finite ? v.value.mant : v.negative ? -1 : 1);
    out.push_back(finite ? v.value.exp : 1'000'000 + static_cast<int>(v.kind));
  }
  return out;
}

// Stored row (column) i is today's row (column) j of another index, for every i.
std::optional<Drift> permuted(const Scene& s, bool columns) {
  const auto count = columns ? s.p.n : s.p.m, length = columns ? s.p.m : s.p.n;
  const auto from = [&](std::int64_t i) { return columns ? i : i * s.p.n; };
  const auto stride = columns ? s.p.n : 1;
  std::map<Slice, std::int64_t> where;
  for (std::int64_t i = 0; i < count; ++i)
    if (!where.emplace(slice_of(s.now, from(i), stride, length), i).second) return std::nullopt;
  std::string map;
  std::set<std::int64_t> sources;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto it = where.find(slice_of(s.stored.exact, from(i), stride, length));
    if (it == where.end() || !sources.insert(it->second).second) return std::nullopt;
    if (i < 16) map += (i > 0 ? " " : "") + std::to_string(it->second);
  }
  const std::string axis = columns ? "columns" : "rows";
  auto d = found(s, DriftClass::permutation,
                 axis + " are permuted: the first ones come from " + axis + " " + map);
  d.tensor = axis;
  return d;
}

// Codes of a block of eight k in another order, as where the nibbles of a word are read otherwise.
std::optional<Drift> permuted_codes(const Scene& s) {
  static constexpr const char* orders[] = {"76543210", "10325476", "02461357", "04152637",
                                           "13570246", "45670123", "23016745"};
  for (const std::string order : orders) {
    auto w = s.matrix;
    for (std::int64_t k = 0; k + 8 <= w.k; k += 8)
      for (std::int64_t i = 0; i < 8; ++i)
        for (std::int64_t n = 0; n < w.n; ++n)
          w.codes[w.at(k + i, n)] =
              s.matrix.codes[s.matrix.at(k + (order[static_cast<std::size_t>(i)] - '0'), n)];
    const auto fits = [&](std::int64_t n) { return gives(s, column_of(w, n), n); };
    if (!std::all_of(s.columns.begin(), s.columns.end(), fits)) continue;
    auto d =
        found(s, DriftClass::permutation,
              "codes are permuted within each eight of k: place i holds that of place " + order);
    d.tensor = "codes";
    return d;
  }
  return std::nullopt;
}

std::optional<Drift> permutation(const Scene& s) {
  if (auto d = permuted(s, true)) return d;
  if (auto d = permuted(s, false)) return d;
  return permuted_codes(s);
}

Drift something_else(const Scene& s) {
  std::string what = "results differ in a way that has no name here: ";
  for (std::size_t i = 0; i < std::min<std::size_t>(3, s.off.size()); ++i)
    what += (i > 0 ? ", " : "") + at(s.p, s.off[i]) + " was " +
            show_word(s.p.y, round_word(s.stored.exact[s.off[i]], s.p.y)) + " and is " +
            show_word(s.p.y, round_word(s.now[s.off[i]], s.p.y));
  return found(s, DriftClass::other, what);
}

// Words that differ where the exact sums agree.
std::optional<Drift> rounding(const Problem& p, const GoldenClass& stored,
                              const std::vector<Number>& now) {
  Drift d;
  d.outputs = now.size();
  std::int64_t most = 0;
  bool up = false, down = false, toward = true;
  std::size_t first = 0;
  for (std::size_t i = 0; i < now.size(); ++i) {
    const auto want = round_word(now[i], p.y);
    if (!same(now[i], stored.exact[i]) || stored.y[i] == want) continue;
    if (d.count++ == 0) first = i;
    if (is_nan(p.y, want) || is_nan(p.y, stored.y[i])) {
      up = down = true, toward = false;
      continue;
    }
    const auto ulps = ulps_between(p.y, stored.y[i], want);
    most = std::max(most, std::abs(ulps));
    up = up || ulps > 0, down = down || ulps < 0;
    toward = toward && (ulps > 0) == now[i].negative;
  }
  if (d.count == 0) return std::nullopt;
  const std::string direction = up && down ? (toward ? "toward zero" : "both ways")
                                : up       ? "upward"
                                           : "downward";
  d.cls = DriftClass::rounding;
  d.what = "sums agree, rounding does not: the file's words lie " + direction + ", at most " +
           std::to_string(most) + (most == 1 ? " ulp" : " ulps") + "; first " + at(p, first) +
           ", was " + show_word(p.y, stored.y[first]) + " and is " +
           show_word(p.y, round_word(now[first], p.y));
  return d;
}

}  // namespace

std::string_view to_string(DriftClass cls) {
  constexpr std::string_view names[] = {"none",        "rounding", "zero", "scale",
                                        "permutation", "tail",     "other"};
  return names[static_cast<std::size_t>(cls)];
}

std::vector<Drift> drift_of(const GoldenCase& c) {
  std::vector<Drift> out;
  const auto& p = c.problem;
  const auto matrix = matrix_from(p, c.weights);
  const auto x = activations_from(p, c.call);
  for (const auto& stored : c.classes) {
    const auto now = exact_products(x, matrix, stored.dequant, p.mul);
    Scene s{p, matrix, x, stored, now, {}, {}, {}};
    for (std::size_t i = 0; i < now.size(); ++i) {
      if (same(now[i], stored.exact[i])) continue;
      s.off.push_back(i);
      s.columns.insert(static_cast<std::int64_t>(i) % p.n);
      s.rows.insert(static_cast<std::int64_t>(i) / p.n);
    }
    const auto add = [&](Drift d) {
      d.case_name = c.name, d.dequant = to_string(stored.dequant);
      out.push_back(std::move(d));
    };
    if (const auto d = rounding(p, stored, now)) add(*d);
    if (s.off.empty()) continue;
    std::optional<Drift> d = one_step(s, true);
    if (!d) d = one_step(s, false);
    if (!d) d = permutation(s);
    if (!d) d = lost_tail(s);
    add(d ? *d : something_else(s));
  }
  return out;
}

}  // namespace w4
