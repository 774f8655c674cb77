// SPDX-License-Identifier: Apache-2.0
// The kill matrix: which check sees which fault, and that none is red on the healthy twin.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/fault/catalogue.hpp"
#include "harness/run/engine.hpp"

namespace w4 {

struct MatrixCell {
  std::string kernel, check, problem;
  Outcome outcome{};
};

struct FaultResult {
  const Fault* fault{};
  bool killed{};                  // by the check expected, with its outcome and evidence
  std::string why_not;            // not killed: what happened instead
  std::string first;              // the check expected where it kills, else the first that is red
  std::vector<std::string> also;  // all others that see it, in table order
  std::vector<MatrixCell> cells;
};

struct FaultMatrix {
  std::vector<FaultResult> faults;    // in the order asked for
  std::vector<MatrixCell> healthy;    // the twin, on every problem of those faults
  std::vector<std::string> alarms;    // red on the twin: check, problem, reason
  std::vector<std::string> failures;  // of the harness itself
  bool interrupted{};
  std::int64_t healthy_runs() const;  // judged cases of the twin
  std::int64_t killed() const;
};

// `mutants` holds the kernels of the plugin, by name; checks() are the checks. The check expected
// is judged in a worker of its own, as a replay would do it; all others share one a fault.
FaultMatrix run_faults(const std::vector<const Fault*>&, const std::vector<SuiteKernel>& mutants,
                       int jobs, const WorkerLimits&, const Bench&, const Hooks&);

// 3 the harness failed in a case; 2 interrupted; 1 a survivor or a false alarm; else 0.
int exit_code(const FaultMatrix&);

}  // namespace w4
