// SPDX-License-Identifier: Apache-2.0
// Exact-sum probes: operands whose sum is exact in fp32 whatever the order, so every right kernel
// returns the same words (README.md, "Exact").
#include <algorithm>
#include <cmath>
#include <set>

#include "harness/checks/compare.hpp"
#include "harness/checks/data.hpp"
#include "harness/checks/observe.hpp"
#include "harness/checks/recipe.hpp"
#include "harness/checks/shards.hpp"
#include "harness/checks/table.hpp"
#include "harness/checks/terms.hpp"

namespace w4 {
namespace {

Verdict narrow_sums_declared() {
  return with(Outcome::unsupported, "the contract declares 16-bit sums; these data need 24 bits");
}

Activations opposite(const Problem& p, Activations x) {
  for (auto& word : x.words) word = x_word(p, -to_double(p.x, word));
  return x;
}

// Binds once and runs each set of rows; the first difference is the verdict. Where one word is all
// that was expected a constant could pass, and the opposite signs must give another.
Verdict run_rows(Rig& rig, ExactOperands& operands, std::vector<Activations> sets) {
  rig.bind(operands.matrix);
  Verdict all = with(Outcome::vacuous, "every expected output is what x = 0 gives");
  std::size_t outputs = 0, wide = 0;
  std::set<std::uint32_t> words;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    operands.x = sets[i];
    const auto answer = rig.run(operands.x);
    const auto verdict = compare_exact(rig.problem(), operands, answer.words);
    if (verdict.outcome == Outcome::fail) return verdict;
    if (verdict.outcome == Outcome::pass) all = verdict;
    outputs += answer.words.size();
    wide += sums_wider_than(rig.problem(), operands, 11);
    words.insert(answer.words.begin(), answer.words.end());
    if (sets.size() == 1 && words.size() == 1 && all.outcome == Outcome::pass)
      sets.push_back(opposite(rig.problem(), sets[0]));
  }
  if (all.outcome == Outcome::pass)
    all.evidence =
        Evidence::Object{{"kind", "exact"}, {"outputs", outputs}, {"sums_over_11_bits", wide}};
  return all;
}

// Rows r of `count`, active where active(r, k); signs random; cut into calls of the path's rows.
template <typename Active>
std::vector<Activations> sparse_rows(Rig& rig, const Problem& p, std::int64_t count,
                                     Active active) {
  const auto batch = rows_per_call(rig, std::min<std::int64_t>(count, 128));
  std::vector<Activations> sets;
  for (std::int64_t at = 0; at < count; at += batch) {
    auto x = zero_rows(p, batch);
    for (std::int64_t m = 0; m < batch; ++m)
      for (std::int64_t k = 0; k < p.k; ++k)
        if (active((at + m) % count, k))
          x.words[static_cast<std::size_t>(m * p.k + k)] =
              x_word(p, draw(p.seed, "sign", static_cast<std::uint64_t>((at + m) * p.k + k)) & 1
                            ? x_unit(p)
                            : -x_unit(p));
    sets.push_back(std::move(x));
  }
  return sets;
}

// What the shards of the problem gave, beside `verdict`'s own evidence; theirs if they are wrong.
Verdict with_shards(Rig& rig, Verdict verdict, const MakeWhole& make, bool narrow_sums_too) {
  if (verdict.outcome != Outcome::pass) return verdict;
  auto shards = judge_shards(rig, make, narrow_sums_too);
  if (shards.outcome != Outcome::pass && shards.outcome != Outcome::unsupported) return shards;
  auto& evidence = std::get<Evidence::Object>(verdict.evidence.value);
  evidence.emplace_back("shards", shards.outcome == Outcome::pass ? std::move(shards.evidence)
                                                                  : Evidence(shards.reason));
  return verdict;
}

ExactRecipe sparse_recipe(const Problem& p) {
  ExactRecipe recipe;
  recipe.lowest = p.y == Type::s32 ? 0 : -4;
  recipe.spread = 1, recipe.small_differences = true;
  return recipe;
}

// Row r has its 128 activations side by side, or k/128 apart.
std::vector<Activations> sparse_sets(Rig& rig, const Problem& p, bool blocks) {
  const std::int64_t count = (p.k + 127) / 128;
  return sparse_rows(rig, p, count, [=](std::int64_t r, std::int64_t k) {
    return blocks ? k / 128 == r : k % count == r;
  });
}

Verdict sparse(Rig& rig, bool blocks) {
  const auto& p = rig.problem();
  ExactOperands operands{exact_matrix(rig.context(), sparse_recipe(p)), {}};
  return run_rows(rig, operands, sparse_sets(rig, p, blocks));
}

}  // namespace

Verdict exact_zero(Rig& rig) {
  const auto& p = rig.problem();
  ExactOperands operands{
      exact_matrix(rig.context(), {p.y == Type::s32 ? 0 : -6, 2, false, false, 0}),
      zero_rows(p, std::max<std::int64_t>(p.m, 1))};
  rig.bind(operands.matrix);
  const auto answer = rig.run(operands.x);
  auto verdict = compare_exact(p, operands, answer.words);
  // That is the point here: the poison shows that the outputs were written, random weights that
  // they are sums.
  if (verdict.outcome == Outcome::vacuous)
    verdict = passed("x = 0 gives 0",
                     Evidence::Object{{"kind", "exact"}, {"outputs", answer.words.size()}});
  if (verdict.outcome == Outcome::fail && verdict.reason.starts_with("outputs differ"))
    verdict.reason = "x = 0 does not give 0: an uninitialised or stale sum";
  return verdict;
}

Verdict exact_onehot(Rig& rig) {
  const auto& p = rig.problem();
  if (p.y == Type::s32) return with(Outcome::unsupported, unsaid_s32_rounding);
  const auto rows = probe_rows(p, 1);
  std::vector<Observation> seen;
  if (const auto& layer = rig.context().layer) {
    rig.bind(layer->stored, layer->matrix);
    observe_one_hot(rig, layer->matrix, rows, 1.0, 1.0F, seen);
  } else {
    const auto matrix = generic_matrix(rig.context(), 11);
    rig.bind(matrix);
    observe_one_hot(rig, matrix, rows, 1.0, 1.0F, seen);
  }
  auto verdict = judge_forms(rig, seen);
  if (verdict.outcome == Outcome::fail && verdict.reason == unknown_form)
    verdict.reason = "some weights are decoded wrong: a one-hot row does not return (q - z)*s";
  if (verdict.outcome == Outcome::pass && std::ssize(rows) < p.k)
    verdict.reason +=
        " (" + std::to_string(rows.size()) + " of " + std::to_string(p.k) + " k looked at)";
  return verdict;
}

Verdict exact_dense24(Rig& rig) {
  if (declares_narrow_sums(rig.context().plan)) return narrow_sums_declared();
  const auto type = rig.problem().x;
  const int wide = type == Type::s8 ? 127 : type == Type::s4 ? 7 : 3;
  const auto dense = [](const CaseContext& c, int magnitude) {
    const auto recipe = dense_recipe(c.problem, magnitude);
    return ExactOperands{exact_matrix(c, recipe.matrix),
                         dense_rows(c.problem, std::max<std::int64_t>(c.problem.m, 1), recipe)};
  };
  Verdict verdict;
  for (const int magnitude : {1, wide}) {
    auto operands = dense(rig.context(), magnitude);
    verdict = run_rows(rig, operands, {operands.x});
    if (verdict.outcome != Outcome::pass) return verdict;
  }
  return with_shards(
      rig, std::move(verdict), [&](const CaseContext& c) { return dense(c, wide); }, false);
}

Verdict exact_stride11(Rig& rig) {
  auto verdict = sparse(rig, false);
  if (!declares_narrow_sums(rig.context().plan)) return verdict;  // exact.dense24 cuts k then
  return with_shards(
      rig, std::move(verdict),
      [&](const CaseContext& c) {
        return ExactOperands{exact_matrix(c, sparse_recipe(c.problem)),
                             sparse_sets(rig, c.problem, false).front()};
      },
      true);
}
Verdict exact_block11(Rig& rig) {
  return sparse(rig, true);
}

Verdict exact_samesign(Rig& rig) {
  if (declares_narrow_sums(rig.context().plan)) return narrow_sums_declared();
  const auto& p = rig.problem();
  const auto rows = std::max<std::int64_t>(p.m, 1);
  const int most = p.x == Type::s8 ? 127 : p.x == Type::s4 ? 7 : 3;
  const int least = p.x == Type::s8 ? -128 : p.x == Type::s4 ? -8 : -3;
  auto random = dense_recipe(p, 1);
  random.matrix.positive = true;
  ExactOperands operands{exact_matrix(rig.context(), random.matrix), {}};
  auto verdict = run_rows(rig, operands, {constant_rows(p, rows, 1, random)});
  for (const auto& [x, difference] : {std::pair{most, 15}, {most, -15}, {least, -15}}) {
    if (verdict.outcome != Outcome::pass) return verdict;
    const auto recipe = extreme_recipe(p, std::abs(x), difference);
    operands.matrix = exact_matrix(rig.context(), recipe.matrix);
    const int value = std::clamp(x, -recipe.magnitude, recipe.magnitude);
    verdict = run_rows(rig, operands, {constant_rows(p, rows, value, recipe)});
  }
  return verdict;
}

namespace {

struct Special {
  const char* name;
  double value;
};

// Those that the type has: e4m3 has no infinity.
std::vector<Special> specials_of(const Problem& p) {
  std::vector<Special> all;
  for (const Special& special :
       {Special{"+Inf", HUGE_VAL}, {"-Inf", -HUGE_VAL}, {"NaN", NAN}, {"-0", -0.0}})
    if (!std::isinf(special.value) || is_inf(p.x, x_word(p, special.value))) all.push_back(special);
  return all;
}

// "" if the word is right for one special activation meeting weight w (its sign), else what went
// wrong.
std::string judge_special(const Problem& p, const Special& special, double w, double bias,
                          std::uint32_t got, bool& nan_for_inf) {
  const bool nan = is_nan(p.y, got), inf = is_inf(p.y, got);
  if (std::isnan(special.value))
    return nan ? "" : "NaN in x becomes " + std::string(inf ? "an infinity" : "a number");
  if (special.value == 0)
    return same_word(p.y, got, from_double(p.y, bias)) ? "" : "x = -0 does not give 0";
  if (w == 0 && !quantises_x(p)) return nan ? "" : "Inf times a weight of 0 does not give NaN";
  // Nor has a kernel that quantises x by its absolute maximum a finite scale.
  if (nan && quantises_x(p)) return nan_for_inf = true, "";
  // A kernel that sums the zero term apart has Inf - Inf here; IEEE arithmetic makes that NaN.
  if (nan) return nan_for_inf = true, "";
  if (!inf) return "an infinity in x becomes a finite number";
  const bool negative = decode(p.y, got).negative;
  return negative == ((w < 0) != (special.value < 0)) ? "" : "an infinity in x changes its sign";
}

}  // namespace

Verdict exact_special(Rig& rig) {
  const auto& p = rig.problem();
  if (!is_float(p.x))
    return with(Outcome::unsupported,
                "x=" + std::string(to_string(p.x)) + " has no NaN, infinity or -0");
  const auto matrix = exact_matrix(rig.context(), {p.y == Type::s32 ? 0 : -6, 2, false, false, 0});
  rig.bind(matrix);
  const std::int64_t places[] = {
      0, p.k - 1,
      static_cast<std::int64_t>(draw(p.seed, "special", 0) % static_cast<std::uint64_t>(p.k))};
  const auto specials = specials_of(p);
  const auto batch = rows_per_call(rig, std::ssize(specials));
  std::size_t judged = 0;
  bool nan_for_inf = false;
  for (const auto k : places)
    for (std::size_t at = 0; at < specials.size(); at += static_cast<std::size_t>(batch)) {
      auto x = zero_rows(p, batch);
      const auto count = std::min(specials.size() - at, static_cast<std::size_t>(batch));
      for (std::size_t i = 0; i < count; ++i)
        x.words[i * static_cast<std::size_t>(p.k) + static_cast<std::size_t>(k)] =
            x_word(p, specials[at + i].value);
      const auto answer = rig.run(x);
      for (std::size_t i = 0; i < count * static_cast<std::size_t>(p.n); ++i, ++judged) {
        const auto n = static_cast<std::int64_t>(i) % p.n;
        const auto& special = specials[at + i / static_cast<std::size_t>(p.n)];
        const auto terms = weight_terms(matrix, Dequant::d5, p.mul, k, n);
        const double w = std::ldexp(static_cast<double>(terms.term[0].mant), terms.term[0].exp) +
                         std::ldexp(static_cast<double>(terms.term[1].mant), terms.term[1].exp);
        const auto what =
            judge_special(p, special, w, bias_of(matrix, n), answer.words[i], nan_for_inf);
        if (what.empty()) continue;
        auto verdict = failed(
            what, Evidence::Object{{"kind", "special"}, {"x", special.name}, {"k", k}, {"n", n}});
        verdict.where = "x = " + std::string(special.name) + " at k " + std::to_string(k) +
                        ", column " + std::to_string(n) + ", weight " + std::to_string(w);
        verdict.expected_got =
            std::string(std::isnan(special.value) || (w == 0 && special.value != 0) ? "NaN"
                        : special.value == 0                                        ? "0"
                                             : "an infinity of the product's sign") +
            ";  got " + show_word(p.y, answer.words[i]);
        return verdict;
      }
    }
  return passed(
      nan_for_inf ? "NaN and infinities come through; some infinities become NaN, as where the "
                    "zero term is summed apart"
                  : "NaN, infinities and -0 come through as IEEE arithmetic has them",
      Evidence::Object{{"kind", "special"}, {"outputs", judged}, {"nan_for_inf", nan_for_inf}});
}

}  // namespace w4
