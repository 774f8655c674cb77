// SPDX-License-Identifier: Apache-2.0
// contract.bits: a declared order of fp32 operations, repeated step by step, must give the kernel's
// very bits.
#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <optional>
#include <utility>

#include "harness/checks/data.hpp"
#include "harness/checks/form.hpp"
#include "harness/checks/order.hpp"
#include "harness/checks/table.hpp"
#include "harness/checks/terms.hpp"

namespace w4 {
namespace {

// The epilogue that says where the bias is added: to the fp32 sum, in fp32, before the rounding.
constexpr std::string_view biased_epilogue = "bias/f32+rne";

// "" where all that the contract declares can be repeated here, else why not.
std::string not_emulated(const Problem& p, const Plan& plan) {
  const auto field = [&](std::string_view name) { return claim_field(plan, name); };
  const auto unit = field("unit"), epilogue = field("epilogue");
  if (field("order").empty() || unit.empty() || field("dequant").empty())
    return "the contract does not declare order, unit and dequant";
  if (unit != "fma/f32" && unit != "mul+add/f32")
    return "no emulator for unit=" + unit + ": fp32 multiplications and additions are repeated";
  constexpr std::pair<std::string_view, std::string_view> only[] = {{"partials", "f32"},
                                                                    {"scale_at", "weight"}};
  for (const auto& [name, value] : only)
    if (const auto said = field(name); !said.empty() && said != value)
      return "no emulator for " + std::string(name) + "=" + said;
  if (!field("x_as").empty() || !is_w4a16(p))
    return "no emulator for activations that are narrowed";
  if (!epilogue.empty() && epilogue != "rne" && epilogue != biased_epilogue)
    return "no emulator for epilogue=" + epilogue;
  if (p.bias != Type::none && epilogue != biased_epilogue)
    return "the contract does not say where the bias is added";
  return {};
}

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

std::vector<std::int64_t> by_group(const QuantizedMatrix& matrix) {
  std::vector<std::int64_t> sorted(static_cast<std::size_t>(matrix.k));
  std::iota(sorted.begin(), sorted.end(), 0);
  std::stable_sort(sorted.begin(), sorted.end(), [&](std::int64_t a, std::int64_t b) {
    return matrix.group_of(a) < matrix.group_of(b);
  });
  return sorted;
}

float as_float(std::uint32_t word) {
  return std::bit_cast<float>(word);
}

// Column n of the weights under a form: a group has sixteen at most, so each is made once.
std::vector<float> column_under(const Problem& p, const QuantizedMatrix& matrix, const Form& form,
                                std::int64_t n) {
  std::vector<std::array<std::optional<float>, 16>> made(static_cast<std::size_t>(matrix.groups));
  std::vector<float> column;
  for (std::int64_t k = 0; k < matrix.k; ++k) {
    const auto group = matrix.group_of(k);
    const auto cell = matrix.at(group, n);
    Observation o;
    o.k = k, o.n = n;
    o.code = matrix.codes[matrix.at(k, n)];
    o.zero = matrix.zeros.empty() ? 0 : matrix.zeros[cell];
    o.scale = matrix.scales[cell];
    auto& weight = made[static_cast<std::size_t>(group)][o.code];
    if (!weight) weight = as_float(round_to(Type::f32, weight_under(p, form, o).term[0]));
    column.push_back(*weight);
  }
  return column;
}

std::vector<float> row_of(const Activations& x, std::int64_t m) {
  std::vector<float> row;
  for (std::int64_t k = 0; k < x.k; ++k)
    row.push_back(
        static_cast<float>(to_double(x.type, x.words[static_cast<std::size_t>(m * x.k + k)])));
  return row;
}

struct Miss {
  std::int64_t m{}, n{};
  std::uint32_t want{}, got{};
};

struct Judged {
  const Problem& p;
  const QuantizedMatrix& matrix;
  const Activations& x;
  const std::vector<std::uint32_t>& words;  // of the kernel
};

// m*n*k up to which every row is judged, not the first and the last alone.
constexpr std::int64_t every_row_work = 1 << 16;

std::vector<std::int64_t> judged_rows(const Judged& j) {
  if (j.x.m * j.p.n * j.p.k > every_row_work && j.x.m > 2) return {0, j.x.m - 1};
  std::vector<std::int64_t> rows(static_cast<std::size_t>(j.x.m));
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

std::optional<Miss> first_miss(const Judged& j, const SumPlan& plan, bool fused, const Form& form) {
  const auto rows = judged_rows(j);
  std::vector<std::vector<float>> x;
  for (const auto m : rows) x.push_back(row_of(j.x, m));
  for (std::int64_t n = 0; n < j.p.n; ++n) {
    const auto w = column_under(j.p, j.matrix, form, n);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      float sum = evaluate(plan, x[i], w, fused);
      if (!j.matrix.bias.empty()) sum += static_cast<float>(bias_of(j.matrix, n));
      const auto want = from_double(j.p.y, static_cast<double>(sum)),
                 got = j.words[static_cast<std::size_t>(rows[i] * j.p.n + n)];
      if (!same_word(j.p.y, want, got)) return Miss{rows[i], n, want, got};
    }
  }
  return std::nullopt;
}

}  // namespace

Verdict contract_bits(Rig& rig) {
  const auto& p = rig.problem();
  const auto& plan = rig.context().plan;
  if (const auto why = not_emulated(p, plan); !why.empty()) return with(Outcome::unsupported, why);
  const auto order = claim_field(plan, "order"), unit = claim_field(plan, "unit"),
             dequant = claim_field(plan, "dequant");
  const auto& layer = rig.context().layer;
  const auto matrix = layer ? layer->matrix : ordinary_matrix(rig.context());
  const auto sum = plan_sum(order, p.k, by_group(matrix));
  if (!sum.why_not.empty())
    return with(Outcome::unsupported, "no emulator for order=" + order + ": " + sum.why_not);
  const auto forms = declared_forms(p, dequant);
  if (forms.empty())
    return with(Outcome::unsupported, "no emulator for dequant=" + dequant + " here");
  const auto x = ordinary_rows(p, std::max<std::int64_t>(p.m, 1));
  auto context = with_wide_output(rig);
  if (context.plan.contract != plan.contract) context = rig.context();
  const Problem& asked = context.problem;
  Rig wide(rig.subject(), context);
  layer ? wide.bind(layer->stored, matrix) : wide.bind(matrix);
  const auto words = wide.run(x).words;
  const Judged judged{asked, matrix, x, words};
  Miss first;
  for (const auto& form : forms) {
    const auto miss = first_miss(judged, sum, unit == "fma/f32", form);
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
