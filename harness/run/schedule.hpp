// SPDX-License-Identifier: Apache-2.0
// Which checks run on which kernel and problem, in canonical order, and what becomes required:
// everything about a run that does not depend on time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/check.hpp"
#include "harness/run/paths.hpp"
#include "harness/run/plugins.hpp"
#include "harness/run/problems.hpp"
#include "harness/run/result.hpp"

namespace w4 {

struct SuiteKernel {
  LoadedPlugin plugin;
  std::string name;
  bool on_device{};
  bool literal{};          // named without wildcards
  bool must_be_judged{};   // matched by --kernel, or of a --plugin over the smoke list
  std::string cannot_run;  // "no CUDA device", or ""
};

struct Suite {
  std::vector<SuiteKernel> kernels;
  std::vector<SuiteProblem> problems;
  std::vector<const Check*> checks;  // table order
  bool by_layer{};
  bool require_gpu{};
  PathExpectations paths;  // of dispatch; empty: none
  std::uint64_t seed{7};
  int jobs{1};
  WorkerLimits limits;
};

struct PlanAnswer {
  bool asked{};
  Plan plan;
  Reply reply;
  bool died() const { return asked && !reply.answered(); }
  bool accepted() const { return asked && reply.answered() && plan.ok(); }
};

// All checks of one kernel on one problem: they share a worker, and no state with any other unit.
struct Unit {
  std::size_t kernel{}, problem{};
  std::size_t first_case{};  // its cases follow one another
  std::vector<const Check*> checks;
};

struct Schedule {
  std::vector<RunCase> cases;  // canonical order: kernels, problems, checks. Those not decided by
                               // plan wait as not_run
  std::vector<Unit> units;
};

// answers[kernel][problem].
Schedule make_schedule(const Suite&, const std::vector<std::vector<PlanAnswer>>& answers);

// A kernel that died twice is not run again.
constexpr int deaths_allowed = 2;
bool is_death(Outcome);

// Applies, in canonical order, what must not depend on how threads were scheduled: the limit of
// deaths, cases that an interruption left, and "never judged".
void settle(const Suite&, RunResult&);
// The last part of it alone, for a run that grows after it was settled.
void settle_never_judged(const Suite&, RunResult&);

}  // namespace w4
