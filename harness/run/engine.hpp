// SPDX-License-Identifier: Apache-2.0
// Runs a suite: asks every plan, then judges unit after unit on several threads. The result does
// not depend on how many.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "harness/run/schedule.hpp"

namespace w4 {

// What the engine asks of kernels. The engine's own tests put a fake in its place.
struct Bench {
  std::function<std::unique_ptr<KernelPort>(const SuiteKernel&, const WorkerLimits&)> open;
  std::function<Plan(KernelPort&, const Problem&, Reply&)> plan;
};
Bench worker_bench();

struct Hooks {
  std::function<bool()> stop;  // no new case starts once it says true
  std::function<void(std::size_t done, std::size_t total, const std::string& kernel)> progress;
};

// Throws Error where a worker cannot be started at all; nothing a kernel or a check does throws.
RunResult run_suite(const Suite&, const Bench&, const Hooks&);

// One check on one kernel and problem: what run_suite() does with each case. `subject` is opened
// where it is null, and is left for the next case. Once `stop` says true the case stays as it was.
void run_case(const Suite&, const SuiteKernel&, const SuiteProblem&, const Plan&, const Check&,
              const Bench&, std::unique_ptr<KernelPort>& subject, RunCase&,
              const std::function<bool()>& stop = {});

}  // namespace w4
