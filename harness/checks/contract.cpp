// SPDX-License-Identifier: Apache-2.0
// contract.bits: a declared order of fp32 operations, repeated step by step, must give the kernel's
// very bits.
#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "harness/checks/data.hpp"
#include "harness/checks/form.hpp"
#include "harness/checks/table.hpp"

namespace w4 {
namespace {

// The forms that a declared class may have: in the weight type, or (D5) step by step in fp32; empty
// for classes without an emulator. Several where q*s and z take more than 24 bits together.
std::vector<Form> declared_forms(const Problem& p, const std::string& dequant) {
  std::vector<Form> forms;
  for (const auto& form : healthy_forms(p)) {
    if (form.output != OutputStep::once || form.weight == WeightStep::exact) continue;
    const bool in_fp32 = form.at == Type::f32 && p.mul != Type::f32;
    if (dequant == "D5" ? form.at == Type::f32 : !in_fp32 && step_name(form) == dequant)
      forms.push_back(form);
  }
  return forms;
}

float as_float(std::uint32_t word) {
  return std::bit_cast<float>(word);
}

// One output: acc = fma(x, w, acc) or acc + x*w over k in order, then one rounding to y.
std::uint32_t chain(const Problem& p, const QuantizedMatrix& matrix, const Activations& x,
                    const Form& form, bool fused, std::int64_t m, std::int64_t n) {
  float sum = 0;
  for (std::int64_t k = 0; k < matrix.k; ++k) {
    const auto cell = matrix.at(matrix.group_of(k), n);
    const Observation o{0,
                        k,
                        n,
                        matrix.codes[matrix.at(k, n)],
                        matrix.zeros.empty() ? 0 : matrix.zeros[cell],
                        matrix.scales[cell],
                        0,
                        1.0F,
                        0};
    const auto terms = weight_under(p, form, o);
    const float w = as_float(round_to(Type::f32, terms.term[0]));
    const float v =
        static_cast<float>(to_double(x.type, x.words[static_cast<std::size_t>(m * x.k + k)]));
    sum = fused ? std::fma(v, w, sum) : sum + v * w;
  }
  return from_double(p.y, static_cast<double>(sum));
}

struct Miss {
  std::int64_t m{}, n{};
  std::uint32_t want{}, got{};
};

// m*n*k up to which every row is judged, not the first and the last alone.
constexpr std::int64_t every_row_work = 1 << 16;

std::optional<Miss> first_miss(const Problem& p, const QuantizedMatrix& matrix,
                               const Activations& x, const Form& form, bool fused,
                               const std::vector<std::uint32_t>& words) {
  const bool every = x.m * p.n * p.k <= every_row_work;
  for (std::int64_t m = 0; m < x.m; m += every ? 1 : std::max<std::int64_t>(1, x.m - 1))
    for (std::int64_t n = 0; n < p.n; ++n) {
      const auto want = chain(p, matrix, x, form, fused, m, n),
                 got = words[static_cast<std::size_t>(m * p.n + n)];
      if (!same_word(p.y, want, got)) return Miss{m, n, want, got};
    }
  return std::nullopt;
}

}  // namespace

Verdict contract_bits(Rig& rig) {
  const auto& p = rig.problem();
  const auto& plan = rig.context().plan;
  const auto order = claim_field(plan, "order"), unit = claim_field(plan, "unit"),
             dequant = claim_field(plan, "dequant");
  if (order.empty() || unit.empty() || dequant.empty())
    return with(Outcome::unsupported, "the contract does not declare order, unit and dequant");
  const bool fused = unit == "fma/f32";
  if (order != "chain(1,0..K)" || (!fused && unit != "mul+add/f32"))
    return with(Outcome::unsupported, "no emulator for order=" + order + " unit=" + unit);
  const auto forms = declared_forms(p, dequant);
  if (forms.empty() || !is_w4a16(p))
    return with(Outcome::unsupported, "no emulator for dequant=" + dequant + " here");
  if (p.bias != Type::none)
    return with(Outcome::unsupported, "the contract does not say where the bias is added");
  const auto& layer = rig.context().layer;
  const auto matrix = layer ? layer->matrix : ordinary_matrix(rig.context());
  const auto x = ordinary_rows(p, std::max<std::int64_t>(p.m, 1));
  auto context = with_wide_output(rig);
  if (context.plan.contract != plan.contract) context = rig.context();
  const Problem& asked = context.problem;
  Rig wide(rig.subject(), context);
  layer ? wide.bind(layer->stored, matrix) : wide.bind(matrix);
  const auto words = wide.run(x).words;
  Miss first;
  for (const auto& form : forms) {
    const auto miss = first_miss(asked, matrix, x, form, fused, words);
    if (!miss && std::all_of(words.begin(), words.end(),
                             [&](std::uint32_t w) { return same_word(asked.y, w, 0); }))
      return with(Outcome::vacuous, "every expected output is 0");
    if (!miss)
      return passed(
          "the declared order gives every bit",
          Evidence::Object{{"kind", "order"}, {"order", order}, {"weights", describe(form)}});
    if (&form == &forms.front()) first = *miss;
  }
  auto verdict = failed("the bits are not those of the declared order: " + order + " with " + unit,
                        Evidence::Object{{"kind", "order"}, {"order", order}, {"unit", unit}});
  verdict.where = "first y[" + std::to_string(first.m) + "," + std::to_string(first.n) + "]";
  verdict.expected_got = show_word(asked.y, first.want) + ";  got " + show_word(asked.y, first.got);
  return verdict;
}

}  // namespace w4
