// SPDX-License-Identifier: Apache-2.0
// The rules of scope, required and never judged.
#include "harness/run/schedule.hpp"

#include <algorithm>
#include <iterator>
#include <set>

#include "harness/run/repro.hpp"

namespace w4 {

namespace {

// All that a geometry-scoped check does not depend on, set to one value.
std::string geometry_key(const Problem& problem, const std::string& path) {
  Problem same = problem;
  same.m = 1;
  same.seed = 7;
  same.x_stride = same.k;
  same.y_stride = same.n;
  same.align = 16;
  return path + '\0' + to_string(same);
}

// The cases of one kernel, problem by problem.
class KernelSchedule {
 public:
  KernelSchedule(const Suite& suite, std::size_t kernel, const std::vector<PlanAnswer>& answers,
                 Schedule& out)
      : suite_(suite),
        kernel_(suite.kernels[kernel]),
        index_(kernel),
        answers_(answers),
        out_(out) {
    const auto accepted =
        std::find_if(answers.begin(), answers.end(), [](const auto& a) { return a.accepted(); });
    once_ = accepted == answers.end() ? 0 : static_cast<std::size_t>(accepted - answers.begin());
  }

  void add_all() {
    if (!kernel_.cannot_run.empty()) {
      const bool required = suite_.require_gpu || kernel_.literal;
      add_decided(0, suite_.checks.front(), with(Outcome::not_run, kernel_.cannot_run), required);
      return;
    }
    for (std::size_t p = 0; p < suite_.problems.size(); ++p) add_problem(p);
  }

 private:
  void add_problem(std::size_t p) {
    const PlanAnswer& answer = answers_[p];
    if (!answer.accepted()) add_declined(p, answer);
    Unit unit{index_, p, out_.cases.size(), {}};
    for (const Check* check : suite_.checks) {
      if (!is_due(*check, p, answer)) continue;
      unit.checks.push_back(check);
      add(p, check).required = true;
    }
    if (!unit.checks.empty()) out_.units.push_back(std::move(unit));
  }

  bool is_due(const Check& check, std::size_t p, const PlanAnswer& answer) {
    if (!answer.accepted() && !(is_reject(check.id) && answer.asked && !answer.died()))
      return false;
    if (check.scope == Scope::kernel || !answer.accepted()) return p == once_;
    if (check.scope == Scope::problem) return true;
    const std::string key = geometry_key(suite_.problems[p].problem, answer.plan.path);
    return seen_.insert(std::string(check.id) + '\0' + key).second;
  }

  void add_declined(std::size_t p, const PlanAnswer& answer) {
    const auto first = std::find_if(suite_.checks.begin(), suite_.checks.end(),
                                    [](const Check* c) { return !is_reject(c->id); });
    const bool literal = kernel_.literal && suite_.problems[p].literal;
    const bool declined =
        answer.asked && answer.reply.answered() && !answer.plan.reason.empty() &&
        (answer.plan.status == W4_UNSUPPORTED || answer.plan.status == W4_BAD_ARGUMENT);
    const auto expected = expected_path(suite_.paths, kernel_.name, suite_.problems[p].problem);
    if (declined && !expected.empty()) {
      add_decided(p, first != suite_.checks.end() ? *first : suite_.checks.front(),
                  with(Outcome::fallback, "plan() declines where path '" + expected +
                                              "' is expected: " + answer.plan.reason),
                  true);
      return;
    }
    if (declined) {
      if (first != suite_.checks.end())
        add_decided(p, *first, with(Outcome::unsupported, answer.plan.reason), literal);
      return;
    }
    add_decided(p, first != suite_.checks.end() ? *first : suite_.checks.front(),
                plan_fault(answer), true);
  }

  static Verdict plan_fault(const PlanAnswer& answer) {
    if (!answer.asked) return with(Outcome::not_run, "");
    if (answer.died()) {
      const bool late = answer.reply.end == End::timed_out;
      Verdict verdict =
          with(late ? Outcome::timed_out : Outcome::crashed, "plan: " + answer.reply.how);
      verdict.signal = answer.reply.signal;
      return verdict;
    }
    const std::string status = std::to_string(answer.plan.status);
    if (answer.plan.reason.empty())
      return failed("plan declines with status " + status + " and gives no reason");
    return failed("plan answers with status " + status + ": " + answer.plan.reason);
  }

  RunCase& add(std::size_t p, const Check* check) {
    RunCase& c = out_.cases.emplace_back();
    c.kernel = index_;
    c.problem = p;
    c.check = check->id;
    c.verdict = with(Outcome::not_run, "");
    c.repro = make_repro(kernel_.name, c.check, kernel_.plugin.label,
                         to_string(suite_.problems[p].problem),
                         expected_path(suite_.paths, kernel_.name, suite_.problems[p].problem));
    const PlanAnswer& answer = answers_[p];
    c.verdict.path_declared = answer.plan.path;
    c.verdict.path_reason = answer.plan.reason;
    return c;
  }

  void add_decided(std::size_t p, const Check* check, Verdict verdict, bool required) {
    RunCase& c = add(p, check);
    verdict.path_declared = c.verdict.path_declared;
    verdict.path_reason = c.verdict.path_reason;
    c.verdict = std::move(verdict);
    c.required = required;
  }

  const Suite& suite_;
  const SuiteKernel& kernel_;
  std::size_t index_;
  const std::vector<PlanAnswer>& answers_;
  Schedule& out_;
  std::size_t once_{};  // where checks that run once a kernel run: the first accepted problem, else
                        // the first
  std::set<std::string> seen_;
};

// A case that neither ran nor was decided by plan.
bool is_waiting(const RunCase& c) {
  return c.verdict.outcome == Outcome::not_run && c.verdict.reason.empty();
}

void leave_out(RunCase& c, const std::string& reason) {
  Verdict verdict = with(Outcome::not_run, reason);
  verdict.path_declared = c.verdict.path_declared;
  verdict.path_reason = c.verdict.path_reason;
  c.verdict = std::move(verdict);
  c.calls = 0;
  c.seconds = 0;
}

void settle_kernel(std::span<RunCase> cases, bool was_interrupted) {
  int deaths = 0;
  for (RunCase& c : cases) {
    if (deaths >= deaths_allowed) {
      if (c.verdict.outcome != Outcome::unsupported)
        leave_out(c, "after 2 crashes or time-outs of this kernel");
    } else if (is_waiting(c) && was_interrupted) {
      leave_out(c, "interrupted");
      c.required = false;
    } else if (is_waiting(c)) {
      c.verdict = with(Outcome::harness_error, "the case was never reached");
    }
    if (is_death(c.verdict.outcome)) ++deaths;
  }
}

// The kernel's first case that is no reject.* becomes required where nothing else was judged, so
// that it is red.
bool mark_never_judged(std::span<RunCase> cases) {
  RunCase* first = nullptr;
  for (RunCase& c : cases) {
    if (is_reject(c.check)) continue;
    if (is_green(c.verdict.outcome) || is_red(c)) return false;
    if (first == nullptr) first = &c;
  }
  if (first == nullptr) return false;
  first->required = true;
  return true;
}

}  // namespace

bool is_death(Outcome outcome) {
  return outcome == Outcome::crashed || outcome == Outcome::timed_out;
}

Schedule make_schedule(const Suite& suite, const std::vector<std::vector<PlanAnswer>>& answers) {
  Schedule out;
  if (suite.problems.empty()) return out;
  for (std::size_t k = 0; k < suite.kernels.size(); ++k)
    KernelSchedule(suite, k, answers[k], out).add_all();
  return out;
}

namespace {

// The cases of each kernel are next to each other.
template <typename Visit>
void each_kernel(const Suite& suite, RunResult& run, Visit visit) {
  auto first = run.cases.begin();
  for (std::size_t k = 0; k < suite.kernels.size(); ++k) {
    const auto last =
        std::find_if(first, run.cases.end(), [k](const RunCase& c) { return c.kernel != k; });
    visit(k, std::span<RunCase>(first, last));
    first = last;
  }
}

}  // namespace

void settle_never_judged(const Suite& suite, RunResult& run) {
  each_kernel(suite, run, [&](std::size_t k, std::span<RunCase> cases) {
    const bool must =
        suite.kernels[k].must_be_judged && suite.kernels[k].cannot_run.empty() && !suite.by_layer;
    run.kernels[k].never_judged = must && !run.interrupted && mark_never_judged(cases);
  });
}

void settle(const Suite& suite, RunResult& run) {
  run.interrupted = run.interrupted && std::any_of(run.cases.begin(), run.cases.end(), is_waiting);
  each_kernel(suite, run, [&](std::size_t, std::span<RunCase> cases) {
    settle_kernel(cases, run.interrupted);
  });
  settle_never_judged(suite, run);
}

}  // namespace w4
