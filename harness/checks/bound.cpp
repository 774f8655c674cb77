// SPDX-License-Identifier: Apache-2.0
// bound.d and bound.r: on ordinary data each output must lie in the interval that its own leaves
// and the declared sums allow (README.md, "Bound"). The acceptance is in output words:
// RN(y - E) <= got <= RN(y + E), no other slack.
#include "harness/checks/bound.hpp"

#include <algorithm>
#include <cmath>

#include "harness/checks/data.hpp"
#include "harness/checks/observe.hpp"
#include "harness/checks/table.hpp"
#include "harness/checks/terms.hpp"

namespace w4 {
namespace {

enum class Rule { any_order, random_signs };

// Splits across workers, scales and the bias add a few roundings to those of the sum itself.
constexpr double extra_roundings = 40;

Machine machine_of(const Rig& rig) {
  const auto partials = claim_field(rig.context().plan, "partials");
  const auto k = static_cast<double>(rig.problem().k);
  if (partials == "f16") return {0x1p-11, k + extra_roundings, "fp16 partial sums (declared)"};
  if (partials == "bf16") return {0x1p-8, k + extra_roundings, "bf16 partial sums (declared)"};
  if (claim_field(rig.context().plan, "unit").starts_with("mma"))
    return {5 * 0x1p-23, k / 4 + extra_roundings, "tensor cores (declared)"};
  return {0x1p-24, k + extra_roundings, "fp32 sums in any order"};
}

// The forms that the kernel's weights may have, from a few one-hot rows: several where y is too
// narrow to tell them apart. The check judges sums, not weights.
std::vector<Form> forms_of(Rig& rig, const QuantizedMatrix& matrix, bool& split) {
  std::vector<std::int64_t> rows;
  const auto step = std::max<std::int64_t>(1, matrix.k / 32);
  for (std::int64_t k = 0; k < matrix.k; k += step) rows.push_back(k);
  std::vector<Observation> seen;
  observe_one_hot(rig, matrix, rows, full_significand(rig.problem()), 1.0F, seen);
  const auto found = identify(rig.problem(), seen, declared_partial(rig.context().plan));
  if (found.forms.empty())
    throw CaseOver{with(
        Outcome::unsupported,
        "no known form of dequantisation gives the weights (value.table), so no bound follows")};
  split = std::any_of(found.forms.begin(), found.forms.end(), splits_zero);
  return found.forms;
}

// The exact sum of one output, the sum of |leaf| and of leaf^2, the zero term counted apart where
// it may be summed apart.
struct Leaves {
  ExactSum sum;
  double magnitude{}, squares{}, largest_step{};
};

double value_of(Dyadic d) {
  return std::ldexp(static_cast<double>(d.mant), d.exp);
}

Observation operands_at(const QuantizedMatrix& matrix, std::int64_t k, std::int64_t n) {
  const auto cell = matrix.at(matrix.group_of(k), n);
  Observation o;
  o.code = matrix.codes[matrix.at(k, n)];
  o.scale = matrix.scales[cell];
  if (!matrix.zeros.empty()) o.zero = matrix.zeros[cell];
  return o;
}

Leaves leaves_of(const Problem& p, const QuantizedMatrix& matrix, const Activations& x,
                 const Form& form, bool split, std::int64_t m, std::int64_t n) {
  Leaves all;
  const auto groups = x.scale.empty() ? 0 : (x.k + x.group - 1) / x.group;
  for (std::int64_t k = 0; k < matrix.k; ++k) {
    auto value = decode(x.type, x.words[static_cast<std::size_t>(m * x.k + k)]).value;
    if (groups > 0)
      value.exp += std::ilogb(
          x.scale[static_cast<std::size_t>(m * groups + k / x.group)]);  // a power of two
    const auto o = operands_at(matrix, k, n);
    const auto terms = weight_under(p, form, o);
    double leaf = 0;
    for (const auto& t : terms.term) {
      if (t.mant == 0) continue;
      all.sum.add(Int128{t.mant} * value.mant, t.exp + value.exp);
      leaf += std::abs(value_of(t) * value_of(value));
    }
    const double step = std::abs(value_of(value) * to_double(p.scale, o.scale));
    // q and z apart: |q| + |z| in steps of s.
    if (split && has_integer_zero(p.zero))
      leaf = step * (code_value(p.zero, o.code) +
                     (p.zero == Zero::eight ? 8 : static_cast<double>(o.zero)));
    all.magnitude += leaf;
    all.squares += leaf * leaf;
    all.largest_step = std::max(all.largest_step, step);
  }
  if (!matrix.bias.empty()) {
    const auto bias = decode(p.bias, matrix.bias[static_cast<std::size_t>(n)]).value;
    all.sum.add(bias.mant, bias.exp);
    all.magnitude += std::abs(value_of(bias));
    all.squares += value_of(bias) * value_of(bias);
  }
  return all;
}

// The error bound. A and B2 are sums of doubles of one sign: 2^-40 covers their own rounding.
double bound_of(Rule rule, const Machine& machine, const Leaves& leaves, double outputs) {
  const double a = leaves.magnitude * (1 + 0x1p-40);
  return rule == Rule::any_order ? bound_any_order(machine, a)
                                 : bound_random_signs(machine, a, leaves.squares, outputs);
}

std::uint32_t rounded(const ExactSum& sum, double error, Type y) {
  ExactSum moved = sum;
  int exponent = 0;
  const auto mant = static_cast<std::int64_t>(std::ldexp(std::frexp(error, &exponent), 53));
  moved.add(mant, exponent - 53);
  return moved.round(y);
}

struct Tally {
  std::size_t outputs{};
  double smallest{HUGE_VAL};  // fault that would have been seen, in output units
  double steps{};             // the same in steps of one code at the largest |x|*s of that output
  double nearest{};           // largest |got - y| / E; of 16-bit y it is the output's rounding
  std::size_t follow_x{};     // outputs whose interval does not hold what x = 0 gives
  bool useful{};              // E is below the size that random signs give a sum
};

void note_sight(Tally& tally, Type y, const Leaves& leaves, std::uint32_t hi) {
  const double exact = to_double(Type::f32, leaves.sum.round(Type::f32));
  const double top = to_double(y, hi);
  // The next word above must be reached: its distance from y is more than any smaller fault can
  // hide.
  const double next =
      y == Type::f32
          ? static_cast<double>(std::nextafter(static_cast<float>(top), HUGE_VALF))
          : to_double(y, from_double(
                             y, top + std::max(std::abs(top) * (y == Type::bf16 ? 0x1p-7 : 0x1p-10),
                                               0x1p-24)));
  const double sight = next - exact;
  if (!(sight < tally.smallest)) return;
  tally.smallest = sight;
  tally.steps = leaves.largest_step > 0 ? sight / leaves.largest_step : 0;
}

Verdict outside(const Problem& p, const char* rule, std::int64_t m, std::int64_t n,
                std::uint32_t got, std::uint32_t lo, std::uint32_t hi, const Machine& machine,
                const Form& form) {
  auto verdict =
      failed("an output lies outside what " + std::string(machine.name) + " can give",
             Evidence::Object{{"kind", "out_of_bound"}, {"rule", rule}, {"row", m}, {"column", n}});
  verdict.where = "first y[" + std::to_string(m) + "," + std::to_string(n) + "]";
  verdict.expected_got =
      show_word(p.y, lo) + " .. " + show_word(p.y, hi) + ";  got " + show_word(p.y, got);
  verdict.why =
      "weights as " + describe(form) + ", exact sum of the leaves plus or minus the bound";
  Worst worst{m, n, got, lo, hi, 0};
  if (!is_nan(p.y, got))
    worst.ulps = to_double(p.y, got) > to_double(p.y, hi) ? ulps_between(p.y, got, hi)
                                                          : ulps_between(p.y, got, lo);
  verdict.worst = worst;
  return verdict;
}

struct Run {
  const QuantizedMatrix& matrix;
  const Activations& x;
  const std::vector<std::uint32_t>& words;
};

// m*n*k up to which two rows between are judged too: exact sums of a real layer take seconds.
constexpr std::int64_t every_row_work = 1 << 20;

// Every judged output under one form of the weights.
Verdict bound_under(const Form& form, bool split, Rule rule, const Machine& machine,
                    const Problem& p, const Run& run) {
  const char* name = rule == Rule::any_order ? "D" : "R";
  // The first and the last row (of small problems two between) stand for the batch; every column is
  // judged.
  const auto rows = run.x.m;
  std::vector<std::int64_t> judged{0, rows - 1};
  if (rows * p.n * p.k <= every_row_work) judged = {0, rows / 3, 2 * rows / 3, rows - 1};
  judged.erase(std::unique(judged.begin(), judged.end()), judged.end());
  Tally tally;
  const double outputs = static_cast<double>(judged.size()) * static_cast<double>(p.n);
  for (const auto m : judged)
    for (std::int64_t n = 0; n < p.n; ++n, ++tally.outputs) {
      const auto leaves = leaves_of(p, run.matrix, run.x, form, split, m, n);
      const double error = bound_of(rule, machine, leaves, outputs);
      const auto lo = rounded(leaves.sum, -error, p.y), hi = rounded(leaves.sum, error, p.y);
      const auto got = run.words[static_cast<std::size_t>(m * p.n + n)];
      const double value = to_double(p.y, got);
      if (!(value >= to_double(p.y, lo) && value <= to_double(p.y, hi)))
        return outside(p, name, m, n, got, lo, hi, machine, form);
      note_sight(tally, p.y, leaves, hi);
      tally.useful = tally.useful || error < std::sqrt(leaves.squares);
      const double at_zero = to_double(p.y, from_double(p.y, bias_of(run.matrix, n)));
      tally.follow_x += to_double(p.y, lo) > at_zero || to_double(p.y, hi) < at_zero;
      if (error > 0)
        tally.nearest =
            std::max(tally.nearest,
                     std::abs(value - to_double(Type::f32, leaves.sum.round(Type::f32))) / error);
    }
  // 16-bit sums of a long k, and fp32 sums of a very long one, may lose everything: there is no
  // useful bound. Elsewhere the data are to blame.
  if (tally.follow_x == 0)
    return with(machine.eta >= 0x1p-11 || !tally.useful ? Outcome::unsupported : Outcome::vacuous,
                "what x = 0 gives lies within the bound of every output: " +
                    std::string(machine.name) + " allow too much here to show anything");
  auto verdict =
      passed("every output lies within the bound of " + std::string(machine.name),
             Evidence::Object{
                 {"kind", "bound"},
                 {"rule", name},
                 {"outputs", tally.outputs},
                 {"form", describe(form)},
                 {"share_of_bound", p.y == Type::f32 ? Evidence(tally.nearest) : Evidence(nullptr)},
                 {"smallest_fault", tally.smallest},
                 {"smallest_fault_code_steps", tally.steps}});
  char text[96];
  std::snprintf(text, sizeof text, "%.3g in y, %.2g of one code step at the largest |x|*s",
                tally.smallest, tally.steps);
  verdict.smallest_fault = text;
  return verdict;
}

Verdict bound(Rig& rig, Rule rule) {
  const auto& p = rig.problem();
  if (quantises_x(p))
    return with(Outcome::unsupported,
                "x is quantised by the kernel: value.activation and exact.* judge it");
  if (p.y == Type::s32)
    return with(Outcome::unsupported, "y=s32 sums are exact: exact.* judges them");
  const auto& layer = rig.context().layer;
  const auto matrix = layer ? layer->matrix : ordinary_matrix(rig.context());
  const auto bind = [&](const QuantizedMatrix& m) {
    layer ? rig.bind(layer->stored, m) : rig.bind(m);
  };
  // A bias would hide what the one-hot rows say of the weights.
  auto unbiased = matrix;
  std::ranges::fill(unbiased.bias, from_double(p.bias == Type::none ? Type::f32 : p.bias, 0.0));
  bind(unbiased);
  bool split = false;
  const auto forms = forms_of(rig, unbiased, split);
  if (!matrix.bias.empty()) bind(matrix);
  const auto machine = machine_of(rig);
  const auto x = ordinary_rows(p, std::max<std::int64_t>(p.m, 1));
  const auto answer = rig.run(x);
  Verdict verdict;
  for (const auto& form : forms) {
    auto now = bound_under(form, split, rule, machine, p, {matrix, x, answer.words});
    if (&form == &forms.front() || now.outcome == Outcome::pass) verdict = std::move(now);
    if (verdict.outcome == Outcome::pass) break;
  }
  return verdict;
}

}  // namespace

double bound_any_order(const Machine& machine, double magnitude) {
  return std::expm1(machine.depth * std::log1p(machine.eta)) * magnitude;
}

double sign_lambda(const Machine& machine, double outputs) {
  return std::sqrt(2 * std::log(2 * machine.depth * outputs * 0x1p40));
}

double bound_random_signs(const Machine& machine, double magnitude, double squares,
                          double outputs) {
  return 1.001 * machine.eta *
         (sign_lambda(machine, outputs) * machine.depth * std::sqrt(squares) + 4 * magnitude);
}

Verdict bound_d(Rig& rig) {
  return bound(rig, Rule::any_order);
}
Verdict bound_r(Rig& rig) {
  return bound(rig, Rule::random_signs);
}

}  // namespace w4
