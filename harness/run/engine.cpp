// SPDX-License-Identifier: Apache-2.0
// Threads take units in canonical order; results land in the slot of their case.
#include "harness/run/engine.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <exception>
#include <mutex>
#include <thread>

namespace w4 {

namespace {

// The prefix, and the checkpoint it is in where there are several: they may hold layers of one
// name.
std::string layer_name(const Suite& suite, const SuiteProblem& p) {
  if (p.prefix.empty()) return {};
  const auto path = [](const SuiteProblem& q) { return layer_source(q.problem.data).path; };
  const bool several =
      std::any_of(suite.problems.begin(), suite.problems.end(),
                  [&](const SuiteProblem& q) { return !q.prefix.empty() && path(q) != path(p); });
  return several ? p.prefix + "   of " + path(p) : p.prefix;
}

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::vector<PlanAnswer> ask_plans(const Suite& suite, const SuiteKernel& kernel, const Bench& bench,
                                  const Hooks& hooks) {
  std::vector<PlanAnswer> answers(suite.problems.size());
  if (!kernel.cannot_run.empty()) return answers;
  const auto subject = bench.open(kernel, suite.limits);
  int deaths = 0;
  for (std::size_t p = 0; p < answers.size() && deaths < deaths_allowed; ++p) {
    if (hooks.stop && hooks.stop()) break;
    answers[p].plan = bench.plan(*subject, suite.problems[p].problem, answers[p].reply);
    answers[p].asked = true;
    deaths += answers[p].died() ? 1 : 0;
  }
  return answers;
}

// Where each kernel died so far, so that a thread need not start what settle() would throw away.
class Deaths {
 public:
  explicit Deaths(std::size_t kernels) : at_(kernels) {}
  void add(std::size_t kernel, std::size_t index) {
    const std::lock_guard lock(mutex_);
    at_[kernel].push_back(index);
  }
  bool spent_before(std::size_t kernel, std::size_t index) {
    const std::lock_guard lock(mutex_);
    const auto& at = at_[kernel];
    return std::count_if(at.begin(), at.end(), [index](std::size_t i) { return i < index; }) >=
           deaths_allowed;
  }

 private:
  std::mutex mutex_;
  std::vector<std::vector<std::size_t>> at_;
};

class Execution {
 public:
  Execution(const Suite& suite, const Bench& bench, const Hooks& hooks, Schedule& schedule,
            const std::vector<std::vector<PlanAnswer>>& answers)
      : suite_(suite),
        bench_(bench),
        hooks_(hooks),
        schedule_(schedule),
        answers_(answers),
        deaths_(suite.kernels.size()) {
    for (std::size_t i = 0; i < schedule.cases.size(); ++i) {
      if (is_death(schedule.cases[i].verdict.outcome)) deaths_.add(schedule.cases[i].kernel, i);
    }
    for (const Unit& unit : schedule.units) total_ += unit.checks.size();
  }

  void run() {
    const std::size_t wanted = static_cast<std::size_t>(std::max(1, suite_.jobs));
    std::vector<std::thread> threads;
    for (std::size_t t = 1; t < std::min(wanted, schedule_.units.size()); ++t) {
      threads.emplace_back([this] { take_units(); });
    }
    take_units();
    for (std::thread& thread : threads) thread.join();
  }

 private:
  bool stopped() const { return hooks_.stop && hooks_.stop(); }

  void take_units() {
    while (!stopped()) {
      const std::size_t next = next_unit_.fetch_add(1);
      if (next >= schedule_.units.size()) return;
      run_unit(schedule_.units[next]);
    }
  }

  void run_unit(const Unit& unit) {
    std::unique_ptr<KernelPort> subject;
    for (std::size_t i = 0; i < unit.checks.size() && !stopped(); ++i) {
      const std::size_t index = unit.first_case + i;
      if (deaths_.spent_before(unit.kernel, index)) {
        report_progress(unit);
        continue;
      }
      RunCase& c = schedule_.cases[index];
      run_case(suite_, suite_.kernels[unit.kernel], suite_.problems[unit.problem],
               answers_[unit.kernel][unit.problem].plan, *unit.checks[i], bench_, subject, c,
               hooks_.stop);
      if (is_death(c.verdict.outcome)) deaths_.add(unit.kernel, index);
      report_progress(unit);
    }
  }

  void report_progress(const Unit& unit) {
    if (!hooks_.progress) return;
    const std::lock_guard lock(progress_mutex_);
    hooks_.progress(++done_, total_, suite_.kernels[unit.kernel].name);
  }

  const Suite& suite_;
  const Bench& bench_;
  const Hooks& hooks_;
  Schedule& schedule_;
  const std::vector<std::vector<PlanAnswer>>& answers_;
  Deaths deaths_;
  std::atomic<std::size_t> next_unit_{0};
  std::mutex progress_mutex_;
  std::size_t done_{}, total_{};
};

RunResult describe_suite(const Suite& suite) {
  RunResult run;
  run.seed = suite.seed;
  run.by_layer = suite.by_layer;
  run.started = utc_now();
  for (const SuiteKernel& kernel : suite.kernels) {
    run.kernels.push_back({kernel.name, kernel.plugin.label, kernel.on_device, false});
  }
  for (const SuiteProblem& p : suite.problems) {
    run.problems.push_back({p.problem, to_string(p.problem), layer_name(suite, p), p.about});
  }
  for (const Check* check : suite.checks) run.checks.emplace_back(check->id);
  return run;
}

}  // namespace

Bench worker_bench() {
  return {[](const SuiteKernel& kernel, const WorkerLimits& limits) {
            return std::make_unique<Subject>(*kernel.plugin.info, kernel.name, limits);
          },
          [](KernelPort& subject, const Problem& problem, Reply& reply) {
            return subject.plan(problem, &reply);
          }};
}

namespace {

// Another kernel of the same plugin, for checks that compare two.
std::unique_ptr<KernelPort> peer_of(const Suite& suite, const SuiteKernel& kernel,
                                    const Bench& bench, const std::string& name) {
  const auto& kernels = kernel.plugin.info->kernels;
  const bool known = std::any_of(kernels.begin(), kernels.end(),
                                 [&](const PluginInfo::Kernel& k) { return k.name == name; });
  if (!known || name == kernel.name) return nullptr;
  SuiteKernel other = kernel;
  other.name = name;
  return bench.open(other, suite.limits);
}

bool is_wrong(Outcome outcome) {
  return outcome == Outcome::fail || outcome == Outcome::fallback || outcome == Outcome::vacuous;
}

// A red case is judged once more in a worker of its own, as its replay will be, and that verdict is
// the one reported. One that is red only after the earlier calls of the run stays red and says so:
// it is no less a fault.
template <typename Run, typename Open>
Verdict judged_alone(Verdict verdict, Run run, Open open) {
  const auto fresh = open();
  auto alone = run(*fresh);
  if (is_wrong(alone.outcome) || alone.outcome == Outcome::crashed ||
      alone.outcome == Outcome::timed_out)
    return alone;
  verdict.why += std::string(verdict.why.empty() ? "" : "; ") +
                 "seen only after earlier calls of this run: alone, as in its replay, it passes";
  return verdict;
}

}  // namespace

void run_case(const Suite& suite, const SuiteKernel& kernel, const SuiteProblem& problem,
              const Plan& plan, const Check& check, const Bench& bench,
              std::unique_ptr<KernelPort>& subject, RunCase& c, const std::function<bool()>& stop) {
  const auto start = Clock::now();
  int calls_before = 0;
  Verdict verdict;
  try {
    if (check.fresh_worker) subject.reset();
    if (subject == nullptr) subject = bench.open(kernel, suite.limits);
    calls_before = subject->calls();
    const CaseContext context{
        problem.problem,
        problem.layer,
        plan,
        expected_path(suite.paths, kernel.name, problem.problem),
        [&](const std::string& name) { return peer_of(suite, kernel, bench, name); },
        stop};
    verdict = check.run(*subject, context);
    if (verdict.reason.empty()) verdict.reason = to_string(verdict.outcome);
    if (calls_before > 0 && is_wrong(verdict.outcome))
      verdict = judged_alone(
          std::move(verdict), [&](KernelPort& fresh) { return check.run(fresh, context); },
          [&] { return bench.open(kernel, suite.limits); });
  } catch (const CaseStopped&) {
    return;
  } catch (const std::exception& error) {
    verdict = with(Outcome::harness_error, error.what());
  } catch (...) {
    verdict = with(Outcome::harness_error, "an exception of unknown type");
  }
  if (verdict.path_declared.empty()) verdict.path_declared = plan.path;
  if (verdict.path_reason.empty()) verdict.path_reason = plan.reason;
  c.calls = subject != nullptr ? subject->calls() - calls_before : 0;
  c.seconds = seconds_since(start);
  if (verdict.outcome == Outcome::unsupported) c.required = false;
  c.verdict = std::move(verdict);
}

RunResult run_suite(const Suite& suite, const Bench& bench, const Hooks& hooks) {
  const auto start = Clock::now();
  RunResult run = describe_suite(suite);
  std::vector<std::vector<PlanAnswer>> answers;
  for (const SuiteKernel& kernel : suite.kernels)
    answers.push_back(ask_plans(suite, kernel, bench, hooks));
  for (std::size_t k = 0; k < answers.size(); ++k) {
    for (std::size_t p = 0; p < answers[k].size(); ++p) {
      const PlanAnswer& answer = answers[k][p];
      if (answer.asked)
        run.plans.push_back({k, p, answer.accepted(), answer.plan.path, answer.plan.reason});
    }
  }
  Schedule schedule = make_schedule(suite, answers);
  Execution(suite, bench, hooks, schedule, answers).run();
  run.cases = std::move(schedule.cases);
  run.interrupted = hooks.stop && hooks.stop();
  settle(suite, run);
  run.wall_s = seconds_since(start);
  return run;
}

}  // namespace w4
