// SPDX-License-Identifier: Apache-2.0
// One problem on some kernels: the engine's rules for a suite of one problem, with workers that are
// kept from problem to problem.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "harness/run/engine.hpp"

namespace w4 {

// Workers of one thread, by kernel.
using Workers = std::map<std::size_t, std::unique_ptr<KernelPort>>;

struct Judged {
  bool taken{};                // by at least one kernel, or something is red
  std::vector<RunPlan> plans;  // kernel indices are the suite's own; problem is 0
  std::vector<RunCase> cases;
};

// `kernels` are indices of suite.kernels. A worker that has seen red is not used again: the case is
// judged once more in a fresh one, as a replay would, and that counts. What fails only after other
// calls of its process is looked for by effect.repeat and effect.state, and else said in `why`.
Judged judge_problem(const Suite&, const std::vector<std::size_t>& kernels, const Problem&,
                     const std::vector<const Check*>&, const Bench&, Workers&);

// The case alone in a fresh worker, if it is red.
std::optional<RunCase> red_case(const Suite&, std::size_t kernel, const Problem&, const Check&,
                                const Bench&);

}  // namespace w4
