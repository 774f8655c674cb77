// SPDX-License-Identifier: Apache-2.0
#include "harness/checks/shards.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "harness/checks/data.hpp"

namespace w4 {
namespace {

template <typename T>
std::vector<T> part(const std::vector<T>& all, std::int64_t first, std::int64_t last) {
  if (all.empty()) return {};
  return {all.begin() + first, all.begin() + last};
}

// Columns first..last-1 of rows of `width`.
template <typename T>
std::vector<T> columns(const std::vector<T>& all, std::int64_t rows, std::int64_t width,
                       std::int64_t first, std::int64_t last) {
  std::vector<T> cut;
  for (std::int64_t r = 0; r < rows && !all.empty(); ++r)
    cut.insert(cut.end(), all.begin() + r * width + first, all.begin() + r * width + last);
  return cut;
}

// The whole's operands for one split.
ExactOperands operands_for(const CaseContext& own, const MakeWhole& make,
                           const std::vector<std::int64_t>& cuts, bool ascending) {
  CaseContext c = own;
  if (ascending) {
    auto layer = std::make_shared<LayerData>();
    layer->matrix.g_idx = neutral_matrix(own).g_idx;
    std::ranges::sort(layer->matrix.g_idx);
    c.layer = layer;
  }
  const auto& p = c.problem;
  auto whole = make(c);
  // A rank that quantises x finds the absolute maximum in its own first block.
  if (quantises_x(p))
    for (std::int64_t m = 0; m < whole.x.m; ++m)
      for (std::size_t i = 0; i + 1 < cuts.size(); ++i)
        whole.x.words[static_cast<std::size_t>(m * p.k + cuts[i])] = x_word(p, x_unit(p));
  return whole;
}

struct Rank {
  int index{}, of{};
  std::int64_t first{}, last{};
};

std::string name_of(const Rank& rank) {
  return "rank " + std::to_string(rank.index) + " of " + std::to_string(rank.of) + ", k " +
         show_range(rank.first, rank.last - 1);
}

Verdict blame(Verdict verdict, const Rank& rank, const Problem& shard) {
  verdict.reason = "cut among ranks, " + name_of(rank) + ": " + verdict.reason;
  verdict.why = "the whole is right; the shard alone is " + to_string(shard);
  verdict.evidence = Evidence::Object{{"kind", "shard"},           {"rank", rank.index},
                                      {"ranks", rank.of},          {"first_k", rank.first},
                                      {"last_k", rank.last - 1},   {"shard", to_string(shard)},
                                      {"within", verdict.evidence}};
  return verdict;
}

// One rank alone; adds its sums to `total` ([m][n], used where y is f32).
Verdict judge_rank(Rig& rig, const CaseContext& shard, const ExactOperands& operands,
                   std::vector<float>& total) {
  Rig own(rig.subject(), shard);
  try {
    own.bind(operands.matrix);
    const auto words = own.run(operands.x).words;
    if (own.ran() != own.declared())
      return with(Outcome::fallback, "run() took path '" + own.ran() + "' where plan() declared '" +
                                         own.declared() + "'");
    for (std::size_t i = 0; i < words.size(); ++i) total[i] += std::bit_cast<float>(words[i]);
    return compare_exact(shard.problem, operands, words);
  } catch (const CaseOver& over) {
    return over.verdict;
  }
}

bool harmless(Outcome outcome) {
  return outcome == Outcome::pass || outcome == Outcome::vacuous;
}

struct Split {
  int ranks{};
  bool ascending{};  // g_idx
};

Verdict judge_split(Rig& rig, const CaseContext& whole, const MakeWhole& make, const Split& split,
                    bool narrow_sums_too) {
  const auto& p = whole.problem;
  const auto cuts = shard_cuts(p, split.ranks);
  if (cuts.empty()) return with(Outcome::unsupported, "k has no room for shards");
  const auto operands = operands_for(whole, make, cuts, split.ascending);
  std::vector<CaseContext> shards;
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
    const auto shard = shard_problem(p, cuts[i], cuts[i + 1]);
    if (const auto why = contradiction(shard); !why.empty())
      return with(Outcome::unsupported, "a shard is no problem: " + why);
    const auto plan = plan_of(rig, shard);
    if (!plan.ok()) return with(Outcome::unsupported, "a shard is declined: " + plan.reason);
    if (!narrow_sums_too && declares_narrow_sums(plan))
      return with(Outcome::unsupported, "a shard's contract declares 16-bit sums");
    shards.push_back({shard, nullptr, plan});
    if (const auto why = no_exact_x(shards.back()); !why.empty())
      return with(Outcome::unsupported, "a shard's " + why);
  }
  Rig all(rig.subject(), whole);
  all.bind(operands.matrix);
  const auto words = all.run(operands.x).words;
  if (auto verdict = compare_exact(p, operands, words); !harmless(verdict.outcome)) return verdict;
  std::vector<float> total(words.size());
  for (int r = 0; r < split.ranks; ++r) {
    const auto i = static_cast<std::size_t>(r);
    const Rank rank{r, split.ranks, cuts[i], cuts[i + 1]};
    auto verdict =
        judge_rank(rig, shards[i], shard_operands(operands, rank.first, rank.last), total);
    if (!harmless(verdict.outcome)) return blame(std::move(verdict), rank, shards[i].problem);
  }
  if (p.y != Type::f32) return passed("every shard gives its exact sums");
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto sum = std::bit_cast<std::uint32_t>(total[i]);
    if (same_word(p.y, sum, words[i])) continue;
    const auto at = static_cast<std::int64_t>(i);
    auto verdict = failed("the shards' fp32 sums are not the whole's",
                          Evidence::Object{{"kind", "shard_sums"}, {"ranks", split.ranks}});
    verdict.where = "first y[" + std::to_string(at / p.n) + "," + std::to_string(at % p.n) + "]";
    verdict.expected_got = show_word(p.y, words[i]) + ";  got " + show_word(p.y, sum);
    return verdict;
  }
  return passed("the shards' fp32 sums are the whole's");
}

}  // namespace

std::vector<std::int64_t> shard_cuts(const Problem& p, int ranks) {
  std::int64_t unit = p.order == Order::none && p.groups > 1 ? p.group : 1;
  if (p.x_group < p.k) unit = std::lcm(unit, p.x_group);
  if (p.k >= 8 * ranks) unit = std::lcm(unit, std::int64_t{8});
  std::vector<std::int64_t> cuts{0};
  for (int r = 1; r < ranks; ++r) {
    const auto at = (2 * r * p.k + ranks * unit) / (2 * ranks * unit) * unit;  // the nearest
    if (at <= cuts.back() || at >= p.k) return {};
    cuts.push_back(at);
  }
  cuts.push_back(p.k);
  return cuts;
}

Problem shard_problem(const Problem& whole, std::int64_t first, std::int64_t last) {
  Problem p = whole;
  p.data = "gen", p.v1zeros = V1Zeros::d1;
  p.k = last - first;
  p.x_stride = p.k + whole.x_stride - whole.k;
  p.x_group = whole.x_group == whole.k ? p.k : std::min(whole.x_group, p.k);
  p.group = whole.groups == 1 ? p.k : std::min(whole.group, p.k);
  if (whole.order == Order::none)
    p.groups = (p.k + p.group - 1) / p.group;
  else
    p.order = Order::gidx;
  if (first > 0) p.bias = Type::none;
  return p;
}

ExactOperands shard_operands(const ExactOperands& whole, std::int64_t first, std::int64_t last) {
  ExactOperands shard = whole;
  auto& matrix = shard.matrix;
  matrix.k = last - first;
  matrix.codes = part(whole.matrix.codes, first * matrix.n, last * matrix.n);
  matrix.g_idx = part(whole.matrix.g_idx, first, last);
  matrix.group = whole.matrix.groups == 1 ? matrix.k : std::min(whole.matrix.group, matrix.k);
  if (matrix.g_idx.empty() && matrix.groups > 1) {
    const auto from = first / whole.matrix.group;
    matrix.groups = (matrix.k + matrix.group - 1) / matrix.group;
    const auto to = from + matrix.groups;
    matrix.scales = part(whole.matrix.scales, from * matrix.n, to * matrix.n);
    matrix.zeros = part(whole.matrix.zeros, from * matrix.n, to * matrix.n);
  }
  if (first > 0) matrix.bias.clear(), matrix.bias_type = Type::none;
  auto& x = shard.x;
  x.k = matrix.k;
  x.words = columns(whole.x.words, x.m, whole.x.k, first, last);
  if (x.scale.empty()) return shard;
  const bool one = whole.x.group >= whole.x.k;
  const auto blocks = (whole.x.k + whole.x.group - 1) / whole.x.group;
  x.group = one ? x.k : std::min(whole.x.group, x.k);
  if (!one)
    x.scale = columns(whole.x.scale, x.m, blocks, first / whole.x.group,
                      (last + whole.x.group - 1) / whole.x.group);
  return shard;
}

Verdict judge_shards(Rig& rig, const MakeWhole& make, bool narrow_sums_too) {
  CaseContext whole = rig.context();
  Problem wide = whole.problem;
  wide.y = Type::f32;
  wide.align = std::max<std::int64_t>(wide.align, 4);
  // By whatever path: exact sums are the same on each.
  const auto plan = plan_of(rig, wide);
  const bool as_exact = no_exact_x({wide, whole.layer, plan}).empty() &&
                        declares_narrow_sums(plan) == declares_narrow_sums(whole.plan);
  if (plan.ok() && whole.problem.y != Type::s32 && as_exact)
    whole.problem = wide, whole.plan = plan;
  Evidence::List ranks;
  Verdict verdict;
  for (const Split& split : {Split{2, false}, Split{4, false}, Split{2, true}}) {
    if (split.ascending && whole.problem.order == Order::none) continue;
    verdict = judge_split(rig, whole, make, split, narrow_sums_too);
    if (verdict.outcome == Outcome::unsupported) continue;
    if (verdict.outcome != Outcome::pass) return verdict;
    ranks.emplace_back(split.ranks);
  }
  if (ranks.empty()) return verdict;
  return passed(
      "the shards of a cut k add up to the whole",
      Evidence::Object{
          {"kind", "shards"}, {"ranks", ranks}, {"summed", whole.problem.y == Type::f32}});
}

}  // namespace w4
