// SPDX-License-Identifier: Apache-2.0
// Claims about bits: the same again, whatever m, whatever the other rows hold.
#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/checks/data.hpp"
#include "harness/checks/effect.hpp"
#include "harness/checks/table.hpp"

namespace w4 {
namespace {

// Words of generic operands, where an order of summation shows: full-significand x and scales,
// large terms that cancel.
Activations cancelling_rows(const Problem& p, std::int64_t m) {
  auto x = zero_rows(p, m);
  for (std::int64_t row = 0; row < m; ++row)
    for (std::int64_t k = 0; k < p.k; ++k) {
      const auto i = static_cast<std::size_t>(row * p.k + k);
      const auto bits = draw(p.seed, "cancel", i);
      double value = is_float(p.x)
                         ? std::ldexp(1.0 + static_cast<double>(bits >> 8 & 0xffff) / 65536.0,
                                      static_cast<int>(bits >> 32 & 3))
                         : static_cast<double>(1 + (bits >> 8) % (p.x == Type::s8 ? 127 : 7));
      x.words[i] = x_word(p, bits & 1 ? value : -value);
    }
  vary_x_scale(x, -2, 2);
  return x;
}

// m*n*k up to which effect.repeat makes 101 calls: a tenth of a second on the slowest kernels.
constexpr std::int64_t repeat_long_work = 1 << 16;

Verdict not_claimed(const char* claim) {
  return with(Outcome::unsupported, std::string(claim) + " is not claimed");
}

// The first m rows.
Activations first_rows(const Activations& all, std::int64_t m) {
  auto x = all;
  x.m = m;
  x.words.resize(static_cast<std::size_t>(m * x.k));
  if (!x.scale.empty())
    x.scale.resize(static_cast<std::size_t>(m * ((x.k + x.group - 1) / x.group)));
  return x;
}

// plan() takes m rows of the problem and makes the claim there.
bool claimed_at(Rig& rig, std::int64_t m, std::uint64_t claim) {
  Problem other = rig.problem();
  other.m = m;
  const auto plan = rig.subject().plan(other);
  return plan.ok() && claims(plan, claim);
}

}  // namespace

Verdict effect_repeat(Rig& rig) {
  if (!claims(rig.context().plan, W4_REPEATABLE)) return not_claimed("repeatability");
  const auto context = with_wide_output(rig, W4_REPEATABLE);
  const auto& p = context.problem;
  Rig wide(rig.subject(), context);
  wide.bind(generic_matrix(context, 3));
  const auto x = cancelling_rows(p, some_rows(rig));
  const auto first = wide.run(x).words;
  if (!follows_x(wide, first)) return follows_nothing();
  // Some kernels change their ways after ten calls, some after a hundred. Large problems take
  // eleven.
  const int calls = x.m * p.n * p.k <= repeat_long_work ? 101 : 11;
  for (int call = 2; call <= calls; ++call) {
    const auto now = wide.run(x).words;
    const auto d = differences(first, now);
    if (d.count > 0)
      return bits_changed(p, "the same call gives other bits at call " + std::to_string(call),
                          first, now, d);
  }
  return passed(std::to_string(calls) + " calls give the same bits",
                Evidence::Object{{"kind", "repeat"}, {"calls", calls}});
}

Verdict effect_batch(Rig& rig) {
  if (!claims(rig.context().plan, W4_BATCH_INVARIANT)) return not_claimed("batch invariance");
  const auto context = with_wide_output(rig, W4_BATCH_INVARIANT);
  const auto& p = context.problem;
  Rig wide(rig.subject(), context);
  std::vector<std::int64_t> sizes;
  for (const std::int64_t m :
       {std::int64_t{1}, std::int64_t{2}, std::int64_t{3}, std::int64_t{4}, std::int64_t{5},
        std::int64_t{6}, std::int64_t{8}, std::int64_t{9}, std::int64_t{16}, std::int64_t{17},
        std::int64_t{32}, std::int64_t{33}, p.m})
    if (m > 0 && claimed_at(wide, m, W4_BATCH_INVARIANT)) sizes.push_back(m);
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  if (sizes.size() < 2)
    return with(Outcome::unsupported, "plan() claims batch invariance at no second m");
  const auto most = sizes.back();
  wide.bind(generic_matrix(context, 5));
  const auto all = cancelling_rows(p, most);
  const auto want = wide.run(all).words;
  if (!follows_x(wide, want)) return follows_nothing();
  for (const auto m : sizes) {
    if (m == most) continue;
    const auto now = wide.run(first_rows(all, m)).words;
    const auto d = differences(std::span(want).first(now.size()), now);
    if (d.count == 0) continue;
    auto verdict = bits_changed(p,
                                "a row's bits change with the batch: m = " + std::to_string(m) +
                                    " against m = " + std::to_string(most),
                                std::span(want).first(now.size()), now, d);
    verdict.why = "batch invariance is claimed";
    return verdict;
  }
  return passed(
      "rows keep their bits from m = " + std::to_string(sizes.front()) +
          " to m = " + std::to_string(most),
      Evidence::Object{
          {"kind", "batch"}, {"y", to_string(p.y)}, {"sizes", sizes.size()}, {"most", most}});
}

Verdict effect_rowlocal(Rig& rig) {
  if (!claims(rig.context().plan, W4_ROW_LOCAL)) return not_claimed("row locality");
  const auto& p = rig.problem();
  if (!is_float(p.x))
    return with(Outcome::unsupported,
                "x=" + std::string(to_string(p.x)) + " has no NaN or infinity");
  const auto count = some_rows(rig, 4);
  if (!claimed_at(rig, count, W4_ROW_LOCAL))
    return with(Outcome::unsupported,
                "plan() does not claim row locality for " + std::to_string(count) + " rows");
  auto operands = exact_operands(rig, count);
  rig.bind(operands.matrix);
  const auto clean = rig.run(operands.x).words;
  auto dirty = operands.x;
  const auto k = static_cast<std::size_t>(p.k);
  for (std::size_t i = 0; i < k; ++i) dirty.words[k + i] = x_word(p, NAN);
  dirty.words[2 * k + k / 2] = x_word(p, HUGE_VAL);
  const auto now = rig.run(dirty).words;
  const auto n = static_cast<std::size_t>(p.n);
  bool reached = false;
  for (std::size_t i = 0; i < clean.size(); ++i) {
    const auto row = i / n;
    if (row == 1) reached = reached || (is_nan(p.y, now[i]) && !is_nan(p.y, clean[i]));
    if (row == 1 || row == 2 || clean[i] == now[i]) continue;
    auto verdict =
        failed("NaN or infinity in one row of x changes another row of y",
               Evidence::Object{{"kind", "row_leak"}, {"row", row}, {"first", at(p, i)}});
    verdict.where = "rows 1 (NaN) and 2 (infinity) of x are special; " + at(p, i) + " changed";
    verdict.expected_got = show_word(p.y, clean[i]) + ";  got " + show_word(p.y, now[i]);
    return verdict;
  }
  if (!reached)
    return with(Outcome::vacuous, "a row of NaN brings no NaN even to its own row of y");
  return passed("NaN and infinity stay in their rows",
                Evidence::Object{{"kind", "rowlocal"}, {"rows", operands.x.m}});
}

}  // namespace w4
