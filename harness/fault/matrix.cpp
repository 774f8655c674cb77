// SPDX-License-Identifier: Apache-2.0
// Runs the engine once for each problem of the catalogue, and once for each fault alone.
#include "harness/fault/matrix.hpp"

#include <algorithm>

#include "reference/error.hpp"

namespace w4 {

namespace {

const SuiteKernel& mutant_named(const std::vector<SuiteKernel>& mutants, std::string_view name) {
  const auto found = std::find_if(mutants.begin(), mutants.end(),
                                  [name](const SuiteKernel& k) { return k.name == name; });
  require(found != mutants.end(), "the plugin has every kernel of the catalogue");
  return *found;
}

const Check& check_named(std::string_view id) {
  const auto all = checks();
  const auto found =
      std::find_if(all.begin(), all.end(), [id](const Check& c) { return c.id == id; });
  require(found != all.end(), "the catalogue names checks of the table");
  return *found;
}

bool is_seen(Outcome outcome) {
  return outcome == Outcome::fail || outcome == Outcome::fallback || outcome == Outcome::crashed ||
         outcome == Outcome::timed_out;
}

std::string kind_of(const Verdict& verdict) {
  const auto* object = std::get_if<Evidence::Object>(&verdict.evidence.value);
  if (object == nullptr) return {};
  for (const auto& [key, value] : *object) {
    const auto* text = std::get_if<std::string>(&value.value);
    if (key == "kind" && text != nullptr) return *text;
  }
  return {};
}

class Matrix {
 public:
  Matrix(const std::vector<SuiteKernel>& mutants, int jobs, const WorkerLimits& limits,
         const Bench& bench, const Hooks& hooks)
      : mutants_(mutants), bench_(bench), hooks_(hooks) {
    suite_.jobs = jobs;
    suite_.limits = limits;
    // Progress is told here, problem by problem, not by the engine.
    hooks_.progress = nullptr;
  }

  FaultMatrix judge(const std::vector<const Fault*>& faults, const Hooks& hooks) {
    for (const Fault* fault : faults) out_.faults.push_back({fault, true, "", "", {}, {}});
    const auto problems = problems_of(faults);
    const std::size_t total = faults.size() + problems.size();
    std::size_t done = 0;
    const auto step = [&](std::string_view what) {
      if (hooks.progress) hooks.progress(++done, total, std::string(what));
    };
    for (FaultResult& result : out_.faults) {
      for (const std::string_view line : result.fault->problems)
        if (!line.empty() && !stopped()) judge_alone(result, line);
      step(result.fault->id);
    }
    for (const std::string_view line : problems) {
      if (!stopped()) judge_together(line);
      step(line);
    }
    for (FaultResult& result : out_.faults) name_killers(result);
    out_.interrupted = stopped();
    return std::move(out_);
  }

 private:
  bool stopped() const { return hooks_.stop && hooks_.stop(); }

  static std::vector<std::string_view> problems_of(const std::vector<const Fault*>& faults) {
    std::vector<std::string_view> lines;
    for (const Fault* fault : faults) {
      for (const std::string_view line : fault->problems) {
        if (!line.empty() && std::find(lines.begin(), lines.end(), line) == lines.end())
          lines.push_back(line);
      }
    }
    return lines;
  }

  RunResult run(std::vector<SuiteKernel> kernels, std::string_view line,
                std::vector<const Check*> selected) {
    suite_.kernels = std::move(kernels);
    suite_.checks = std::move(selected);
    SuiteProblem problem;
    problem.problem = parse_problem(line);
    suite_.problems = {std::move(problem)};
    RunResult result = run_suite(suite_, bench_, hooks_);
    for (const RunCase& c : result.cases) {
      if (c.verdict.outcome == Outcome::harness_error)
        out_.failures.push_back(c.repro + ": " + c.verdict.reason);
    }
    return result;
  }

  static void miss(FaultResult& result, std::string why) {
    if (result.killed) result.why_not = std::move(why);
    result.killed = false;
  }

  void judge_alone(FaultResult& result, std::string_view line) {
    const Fault& fault = *result.fault;
    const SuiteKernel& kernel = mutant_named(mutants_, kernel_of(fault));
    const RunResult run_alone = run({kernel}, line, {&check_named(fault.check)});
    for (const RunCase& c : run_alone.cases) {
      result.cells.push_back({kernel.name, c.check, std::string(line), c.verdict.outcome});
      const std::string kind = kind_of(c.verdict);
      if (c.verdict.outcome != fault.outcome)
        miss(result, std::string(fault.check) + " says " +
                         std::string(to_string(c.verdict.outcome)) + ": " + c.verdict.reason);
      else if (kind != fault.kind)
        miss(result, std::string(fault.check) + " sees it as " + kind + ", expected " +
                         std::string(fault.kind));
    }
  }

  void judge_together(std::string_view line) {
    std::vector<SuiteKernel> kernels{mutant_named(mutants_, healthy_twin)};
    std::vector<FaultResult*> of_kernel{nullptr};
    for (FaultResult& result : out_.faults) {
      const auto& lines = result.fault->problems;
      if (std::find(lines.begin(), lines.end(), line) == lines.end()) continue;
      kernels.push_back(mutant_named(mutants_, kernel_of(*result.fault)));
      of_kernel.push_back(&result);
    }
    std::vector<const Check*> all;
    for (const Check& check : checks()) all.push_back(&check);
    const RunResult result = run(std::move(kernels), line, std::move(all));
    for (const RunCase& c : result.cases) add(result, c, of_kernel[c.kernel], line);
  }

  void add(const RunResult& result, const RunCase& c, FaultResult* fault, std::string_view line) {
    MatrixCell cell{result.kernels[c.kernel].name, c.check, std::string(line), c.verdict.outcome};
    if (fault == nullptr) {
      if (is_red(c))
        out_.alarms.push_back(c.check + "   " + cell.problem + "   " + c.verdict.reason);
      out_.healthy.push_back(std::move(cell));
    } else if (c.check != fault->fault->check) {
      fault->cells.push_back(std::move(cell));
    }
  }

  static void name_killers(FaultResult& result) {
    for (const Check& check : checks()) {
      const bool seen =
          std::any_of(result.cells.begin(), result.cells.end(), [&check](const MatrixCell& cell) {
            return cell.check == check.id && is_seen(cell.outcome);
          });
      if (seen && check.id != result.fault->check) result.also.emplace_back(check.id);
    }
    if (result.fault->only && !result.also.empty())
      miss(result, "only " + std::string(result.fault->check) +
                       " is meant to see it, and so does " + result.also.front());
    if (result.killed) {
      result.first = result.fault->check;
    } else if (!result.also.empty()) {
      result.first = result.also.front();
      result.also.erase(result.also.begin());
    }
  }

  const std::vector<SuiteKernel>& mutants_;
  const Bench& bench_;
  Hooks hooks_;
  Suite suite_;
  FaultMatrix out_;
};

}  // namespace

std::int64_t FaultMatrix::healthy_runs() const {
  return std::count_if(healthy.begin(), healthy.end(), [](const MatrixCell& cell) {
    return cell.outcome != Outcome::unsupported && cell.outcome != Outcome::not_run;
  });
}

std::int64_t FaultMatrix::killed() const {
  return std::count_if(faults.begin(), faults.end(), [](const FaultResult& f) { return f.killed; });
}

FaultMatrix run_faults(const std::vector<const Fault*>& faults,
                       const std::vector<SuiteKernel>& mutants, int jobs,
                       const WorkerLimits& limits, const Bench& bench, const Hooks& hooks) {
  return Matrix(mutants, jobs, limits, bench, hooks).judge(faults, hooks);
}

int exit_code(const FaultMatrix& matrix) {
  if (!matrix.failures.empty()) return 3;
  if (matrix.interrupted) return 2;
  const bool all = matrix.killed() == static_cast<std::int64_t>(matrix.faults.size());
  return all && matrix.alarms.empty() && matrix.healthy_runs() > 0 ? 0 : 1;
}

}  // namespace w4
