// SPDX-License-Identifier: Apache-2.0
#include "harness/checks/observe.hpp"

#include <algorithm>
#include <set>

#include "harness/checks/data.hpp"
#include "harness/checks/terms.hpp"

namespace w4 {
namespace {

// A window keeps a probe of a huge matrix on a slow path finite; below it every k is probed. A row
// of x costs about as much as `x_work` columns to hand over.
constexpr std::int64_t multiply_budget = 40'000'000'000, x_work = 16;

std::string operands_text(const Problem& p, const Observation& o) {
  std::string text = "code " + std::to_string(code_value(p.zero, o.code));
  if (p.zero == Zero::code || p.zero == Zero::code_m1)
    text += ", zero point " + std::to_string(o.zero);
  if (!has_integer_zero(p.zero)) text += ", zero " + show_word(p.zero_type, o.zero);
  return text + ", scale " + show_word(p.scale, o.scale) + ", x " + show_word(p.x, o.x);
}

// Stored additive zeros make classes meet: q*s + z in one rounding is D1 and D3 (and D7 by fma), in
// two D2 and D7.
void add_step_names(const Problem& p, const Form& form, std::set<std::string>& names) {
  names.insert(std::string(step_name(form)));
  // q - z is exact there: D6 rounds what D1 does.
  if (has_integer_zero(p.zero) && step_name(form) == "D1") names.insert("D6");
  if (p.zero < Zero::add) return;
  if (form.weight == WeightStep::round) names.insert({"D3", "D7"});
  if (form.weight == WeightStep::d7) names.insert("D2");
}

Verdict no_form(const Rig& rig, const Identified& found, const std::vector<Observation>& seen) {
  const auto& p = rig.problem();
  const auto& off = seen[found.off.front()];
  const auto want = predict(p, found.nearest, off);
  Evidence::Object evidence{{"kind", found.fault_id.empty() ? "unknown_form" : found.fault_id},
                            {"nearest", describe(found.nearest)},
                            {"missed", found.off.size()}};
  auto verdict = failed(found.fault.empty() ? unknown_form : found.fault, std::move(evidence));
  verdict.where = "first y[" + std::to_string(off.m) + "," + std::to_string(off.n) +
                  "], the weight at k " + std::to_string(off.k) + ", column " +
                  std::to_string(off.n);
  verdict.expected_got = show_word(p.y, want) + ";  got " + show_word(p.y, off.got);
  verdict.why = operands_text(p, off) + "; nearest form: " + describe(found.nearest);
  verdict.details = {show_words(p.y, {{"expected", want}, {"got", off.got}}),
                     show_words(p.scale, {{"scale", off.scale}})};
  Worst worst{off.m, off.n, off.got, want, want, 0};
  if (!is_nan(p.y, off.got)) worst.ulps = ulps_between(p.y, off.got, want);
  verdict.worst = worst;
  return verdict;
}

}  // namespace

std::vector<std::int64_t> probe_rows(const Problem& p, int runs) {
  const std::int64_t affordable =
      std::max<std::int64_t>(64, multiply_budget / (runs * p.k * (p.n + x_work)));
  std::vector<std::int64_t> rows;
  if (p.k <= affordable) {
    for (std::int64_t k = 0; k < p.k; ++k) rows.push_back(k);
    return rows;
  }
  const auto third = affordable / 3;
  for (std::int64_t k = 0; k < third; ++k) rows.push_back(k);
  for (std::int64_t k = p.k / 2; k < p.k / 2 + third; ++k) rows.push_back(k);
  for (std::int64_t k = p.k - third; k < p.k; ++k) rows.push_back(k);
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

double full_significand(const Problem& p) {
  if (quantises_x(p)) return x_unit(p);
  if (p.x == Type::s8) return 113;
  if (p.x == Type::s4) return 7;
  return to_double(p.x, from_double(p.x, 4.0 / 3.0));
}

void observe_one_hot(Rig& rig, const QuantizedMatrix& matrix, const std::vector<std::int64_t>& rows,
                     double x_value, float x_scale, std::vector<Observation>& seen) {
  const auto& p = rig.problem();
  const auto batch = static_cast<std::size_t>(
      rows_per_call(rig, std::min<std::int64_t>(128, static_cast<std::int64_t>(rows.size()))));
  const auto word = x_word(p, quantises_x(p) ? x_unit(p) : x_value);
  for (std::size_t at = 0; at < rows.size(); at += batch) {
    auto x = zero_rows(p, static_cast<std::int64_t>(batch));
    const auto count = std::min(rows.size() - at, batch);
    for (std::size_t m = 0; m < count; ++m)
      x.words[m * static_cast<std::size_t>(p.k) + static_cast<std::size_t>(rows[at + m])] = word;
    std::fill(x.scale.begin(), x.scale.end(), x_scale);
    const auto answer = rig.run(x);
    for (std::size_t m = 0; m < count; ++m)
      for (std::int64_t n = 0; n < p.n; ++n) {
        const auto k = rows[at + m];
        const auto cell = matrix.at(matrix.group_of(k), n);
        seen.push_back(
            {static_cast<std::int64_t>(m), k, n, matrix.codes[matrix.at(k, n)],
             matrix.zeros.empty() ? 0 : matrix.zeros[cell], matrix.scales[cell], word,
             x.scale.empty() ? 1.0F : x_scale,
             answer.words[m * static_cast<std::size_t>(p.n) + static_cast<std::size_t>(n)]});
      }
  }
}

Verdict judge_forms(Rig& rig, const std::vector<Observation>& seen) {
  const auto& p = rig.problem();
  const auto found = identify(p, seen, declared_partial(rig.context().plan));
  if (found.forms.empty()) return no_form(rig, found, seen);
  if (std::all_of(seen.begin(), seen.end(),
                  [&](const Observation& o) { return same_word(p.y, o.got, 0); }))
    return with(Outcome::vacuous, "every expected output is 0");
  std::set<std::string> classes, steps;
  Evidence::List forms;
  for (const auto& form : found.forms) {
    classes.insert(std::string(class_name(form)));
    // Steps in fp32 are the declared class itself only where fp32 is what the weights are rounded
    // to.
    if (form.at != Type::f32 || p.mul == Type::f32) add_step_names(p, form, steps);
    forms.emplace_back(describe(form));
  }
  std::string names;
  for (const auto& name : classes) names += (names.empty() ? "" : " or ") + name;
  Evidence::Object evidence{{"kind", "class"}, {"class", names}, {"forms", forms}};
  const auto declared = claim_field(rig.context().plan, "dequant");
  if (!declared.empty() && !classes.contains(declared) && !steps.contains(declared)) {
    auto verdict = failed("dequantisation is " + names + " where the contract declares " + declared,
                          std::move(evidence));
    verdict.why = "the only forms that give all " + std::to_string(seen.size()) +
                  " observed words are: " + describe(found.forms.front());
    return verdict;
  }
  return passed("dequantisation class " + names + " gives all " + std::to_string(seen.size()) +
                    " observed words",
                std::move(evidence));
}

}  // namespace w4
