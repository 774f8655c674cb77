// SPDX-License-Identifier: Apache-2.0
// Asks plan(), makes the schedule of one problem, runs its cases.
#include "harness/search/judge.hpp"

#include <algorithm>
#include <string_view>

#include "harness/run/repro.hpp"

namespace w4 {

namespace {

bool is_worth_a_second_look(const RunCase& c) {
  return is_red(c) && c.verdict.outcome != Outcome::harness_error;
}

const Check* check_named(std::string_view id) {
  const auto all = checks();
  const auto found =
      std::find_if(all.begin(), all.end(), [id](const Check& c) { return c.id == id; });
  return found == all.end() ? nullptr : &*found;
}

class Judge {
 public:
  Judge(const Suite& suite, const std::vector<std::size_t>& kernels, const Problem& problem,
        const std::vector<const Check*>& selected, const Bench& bench, Workers& workers)
      : kernels_(kernels), bench_(bench), workers_(workers) {
    one_.checks = selected;
    one_.seed = suite.seed;
    one_.limits = suite.limits;
    SuiteProblem only;
    only.problem = problem;
    one_.problems = {std::move(only)};
    for (const std::size_t k : kernels) one_.kernels.push_back(suite.kernels[k]);
    // One declined problem says nothing about the kernel, and a search names none literally.
    for (SuiteKernel& kernel : one_.kernels) {
      kernel.must_be_judged = false;
      kernel.literal = kernel.literal && !kernel.cannot_run.empty();
    }
    one_.require_gpu = suite.require_gpu;
  }

  Judged judge() {
    std::vector<std::vector<PlanAnswer>> answers;
    for (std::size_t k = 0; k < kernels_.size(); ++k) answers.push_back({ask(k)});
    Schedule schedule = make_schedule(one_, answers);
    for (const Unit& unit : schedule.units) {
      for (std::size_t i = 0; i < unit.checks.size(); ++i)
        judge_case(unit.kernel, answers[unit.kernel][0].plan, *unit.checks[i],
                   schedule.cases[unit.first_case + i]);
    }
    Judged out;
    for (std::size_t k = 0; k < kernels_.size(); ++k) {
      const PlanAnswer& a = answers[k][0];
      out.taken = out.taken || a.accepted();
      if (a.asked) out.plans.push_back({kernels_[k], 0, a.accepted(), a.plan.path, a.plan.reason});
    }
    out.cases = std::move(schedule.cases);
    for (RunCase& c : out.cases) {
      out.taken = out.taken || is_red(c);
      c.kernel = kernels_[c.kernel];
    }
    return out;
  }

 private:
  PlanAnswer ask(std::size_t k) {
    PlanAnswer answer;
    if (!one_.kernels[k].cannot_run.empty()) return answer;
    auto& worker = workers_[kernels_[k]];
    if (worker == nullptr) worker = bench_.open(one_.kernels[k], one_.limits);
    answer.plan = bench_.plan(*worker, one_.problems[0].problem, answer.reply);
    answer.asked = true;
    if (answer.died()) worker.reset();
    return answer;
  }

  void run(std::size_t k, const Plan& plan, const Check& check, std::unique_ptr<KernelPort>& worker,
           RunCase& c) {
    run_case(one_, one_.kernels[k], one_.problems[0], plan, check, bench_, worker, c);
  }

  void judge_case(std::size_t k, const Plan& plan, const Check& check, RunCase& c) {
    auto& worker = workers_[kernels_[k]];
    const bool used = worker != nullptr && worker->calls() > 0 && !check.fresh_worker;
    run(k, plan, check, worker, c);
    if (!is_worth_a_second_look(c)) return;
    worker.reset();
    if (used) judge_fresh(k, plan, check, c);
  }

  // What a replay will say. If it is green, what the process did before plays a part.
  void judge_fresh(std::size_t k, const Plan& plan, const Check& check, RunCase& c) {
    RunCase fresh = c;
    for (const Check* other : {&check, check_named("effect.repeat"), check_named("effect.state")}) {
      if (other == nullptr) continue;
      std::unique_ptr<KernelPort> worker;
      fresh.check = other->id;
      fresh.required = true;
      run(k, plan, *other, worker, fresh);
      if (!is_worth_a_second_look(fresh)) continue;
      fresh.repro = make_repro(one_.kernels[k].name, fresh.check, one_.kernels[k].plugin.label,
                               to_string(one_.problems[0].problem));
      c = std::move(fresh);
      return;
    }
    c.verdict.why += c.verdict.why.empty() ? "" : "; ";
    c.verdict.why += "only after other calls of the same process: a replay alone does not show it";
  }

  const std::vector<std::size_t>& kernels_;
  const Bench& bench_;
  Workers& workers_;
  Suite one_;
};

}  // namespace

Judged judge_problem(const Suite& suite, const std::vector<std::size_t>& kernels,
                     const Problem& problem, const std::vector<const Check*>& selected,
                     const Bench& bench, Workers& workers) {
  return Judge(suite, kernels, problem, selected, bench, workers).judge();
}

std::optional<RunCase> red_case(const Suite& suite, std::size_t kernel, const Problem& problem,
                                const Check& check, const Bench& bench) {
  Workers workers;
  Judged judged = judge_problem(suite, {kernel}, problem, {&check}, bench, workers);
  for (RunCase& c : judged.cases) {
    if (c.check == check.id && is_worth_a_second_look(c)) return std::move(c);
  }
  return std::nullopt;
}

}  // namespace w4
