// SPDX-License-Identifier: Apache-2.0
// value.table: what code q becomes under (s, z): all codes x zeros x many scales, one-hot, with x =
// 1 and with an x of full significand, which tells "weight rounded, then multiplied" from "scaled
// after the sum".
#include <algorithm>
#include <set>

#include "harness/checks/data.hpp"
#include "harness/checks/form.hpp"
#include "harness/checks/observe.hpp"
#include "harness/checks/table.hpp"

namespace w4 {
namespace {

// Up to 16 rows of each of at most four groups (first, last and between), so that a column shows
// all 16 codes under one scale and zero.
std::vector<std::int64_t> table_rows(const QuantizedMatrix& matrix) {
  std::vector<std::vector<std::int64_t>> by_group(static_cast<std::size_t>(matrix.groups));
  for (std::int64_t k = 0; k < matrix.k; ++k) {
    auto& rows = by_group[static_cast<std::size_t>(matrix.group_of(k))];
    if (rows.size() < 16) rows.push_back(k);
  }
  std::erase_if(by_group, [](const auto& rows) { return rows.empty(); });
  std::vector<std::int64_t> all;
  const auto step = std::max<std::size_t>(1, by_group.size() / 4);
  for (std::size_t g = 0; g < by_group.size(); g += step)
    all.insert(all.end(), by_group[g].begin(), by_group[g].end());
  const auto& tail = by_group.back();
  all.insert(all.end(), tail.begin(), tail.end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

// Code r + n at the r-th row of its group: all sixteen in every column that has sixteen rows.
void spread_codes(QuantizedMatrix& matrix, const std::vector<std::int64_t>& rows,
                  std::uint64_t round) {
  std::vector<int> seen(static_cast<std::size_t>(matrix.groups), 0);
  for (const auto k : rows) {
    const int rank = seen[static_cast<std::size_t>(matrix.group_of(k))]++;
    for (std::int64_t n = 0; n < matrix.n; ++n)
      matrix.codes[matrix.at(k, n)] =
          static_cast<std::uint8_t>((rank + n * 5 + static_cast<std::int64_t>(round) * 7) & 15);
  }
}

Evidence coverage(const Problem& p, const std::vector<Observation>& seen) {
  std::set<std::uint32_t> codes, zeros, scales;
  std::size_t subnormal = 0, negative = 0;
  for (const auto& o : seen) {
    codes.insert(o.code), zeros.insert(o.zero);
    if (!scales.insert(o.scale).second) continue;
    const double s = to_double(p.scale, o.scale);
    negative += s < 0;
    subnormal += p.scale == Type::f16 && s != 0 && std::abs(s) < 0x1p-14;
  }
  return Evidence::Object{{"codes", codes.size()},         {"zeros", zeros.size()},
                          {"scales", scales.size()},       {"negative_scales", negative},
                          {"subnormal_scales", subnormal}, {"outputs", seen.size()}};
}

}  // namespace

Verdict value_table(Rig& rig) {
  const auto& p = rig.problem();
  if (p.y == Type::s32) return with(Outcome::unsupported, unsaid_s32_rounding);
  std::vector<Observation> seen;
  // Two rounds of scales where a matrix is small, so that a lone column still meets many.
  const std::uint64_t rounds = p.n * p.groups < 256 ? 4 : 1;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    auto matrix = generic_matrix(rig.context(), round);
    const auto rows = table_rows(matrix);
    spread_codes(matrix, rows, round);
    rig.bind(matrix);
    observe_one_hot(rig, matrix, rows, 1.0, 1.0F, seen);
    observe_one_hot(rig, matrix, rows, full_significand(p), has_x_scale(p) ? 1.3330078125F : 1.0F,
                    seen);
  }
  auto verdict = judge_forms(rig, seen);
  if (verdict.outcome == Outcome::pass || verdict.outcome == Outcome::fail)
    std::get<Evidence::Object>(verdict.evidence.value).emplace_back("coverage", coverage(p, seen));
  return verdict;
}

}  // namespace w4
