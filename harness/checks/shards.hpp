// SPDX-License-Identifier: Apache-2.0
// Row-parallel tensor parallelism in the exact regime: k is cut among ranks, and the ranks' sums
// add up to the whole's.
#pragma once

#include <functional>

#include "harness/checks/compare.hpp"

namespace w4 {

// Where `ranks` ranks cut k: 0, ..., k. On boundaries of groups and of blocks of x_scale, and on
// multiples of 8 where k has room for that; with act-order and with one group anywhere else. Empty
// where k is too small.
std::vector<std::int64_t> shard_cuts(const Problem&, int ranks);

// What the rank of rows first..last-1 is asked: its own k; under act-order the whole's `groups`,
// since g_idx stays global; one group stays one group. Only rank 0 has the bias.
Problem shard_problem(const Problem& whole, std::int64_t first, std::int64_t last);
// Its rows of codes and g_idx, its groups of scales and zeros (all of them under act-order and with
// one group); its columns of x.
ExactOperands shard_operands(const ExactOperands& whole, std::int64_t first, std::int64_t last);

// The whole's operands, for a context that may bring its own g_idx.
using MakeWhole = std::function<ExactOperands(const CaseContext&)>;

// Cuts the problem among 2 and 4 ranks, and with act-order among 2 with g_idx in ascending order,
// so that rank 1 does not use group 0. Each rank's words must be its exact sums; with y=f32, where
// the kernel takes it, their fp32 sum must be the words of the whole. Pass with the ranks judged as
// evidence; fail and fallback name the rank; unsupported if the problem cannot be cut, the kernel
// declines a shard, or declares 16-bit sums there and not `narrow_sums_too`.
Verdict judge_shards(Rig&, const MakeWhole&, bool narrow_sums_too);

}  // namespace w4
