// SPDX-License-Identifier: Apache-2.0
// Threads take drawn problems in order; what must not depend on how they were scheduled is settled
// afterwards, in the order of the numbers.
#include "harness/search/search.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <tuple>

#include "harness/checks/data.hpp"
#include "harness/search/draw.hpp"
#include "harness/search/judge.hpp"
#include "harness/search/shrink.hpp"

namespace w4 {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t checks_a_problem = 3;

Clock::duration seconds(double s) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(s));
}

// One-hot rows over all of k cost m*k*k*n; beyond this the cheap checks have to do.
constexpr std::int64_t one_hot_work = std::int64_t{1} << 20;

// What costs more than it shows, on most problems.
bool is_too_dear(const Check& check, const Problem& p, std::uint64_t chance) {
  const std::string_view id = check.id;
  if (id == "effect.repeat") return chance % 4 != 0;  // a worker of its own, a hundred calls
  const bool one_hot = id == "exact.onehot" || (id.starts_with("address.") && id != "address.x");
  return one_hot && p.k * p.k * p.n > one_hot_work;
}

// The densest data and a few other checks for the problem of that number, in table order. Those
// that run once a kernel are sure of the first problem.
std::vector<const Check*> draw_checks(const Suite& suite, const Problem& problem,
                                      std::uint64_t number) {
  std::vector<const Check*> pool, chosen;
  const std::uint64_t chance = draw(suite.seed, "dear", number);
  for (const Check* check : suite.checks) {
    if (check->id == "exact.dense24" || (check->scope == Scope::kernel && number == 0))
      chosen.push_back(check);
    else if (!is_too_dear(*check, problem, chance))
      pool.push_back(check);
  }
  for (std::size_t i = 0; i < checks_a_problem && !pool.empty(); ++i) {
    const auto at = static_cast<std::ptrdiff_t>(
        draw(suite.seed, "check", number * checks_a_problem + i) % pool.size());
    chosen.push_back(pool[static_cast<std::size_t>(at)]);
    pool.erase(pool.begin() + at);
  }
  // The table is an array: table order is the order of addresses.
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

// What has been seen of a kernel so far, by number of the problem.
class Record {
 public:
  void add(std::uint64_t number, const RunCase& c) {
    if (is_death(c.verdict.outcome)) deaths_.insert(number);
    if (!is_red(c)) return;
    const auto [at, is_new] = failed_.emplace(c.check, number);
    if (!is_new) at->second = std::min(at->second, number);
  }
  bool enough_before(std::uint64_t number) const {
    const auto deaths = std::distance(deaths_.begin(), deaths_.lower_bound(number));
    const auto failures = std::count_if(failed_.begin(), failed_.end(),
                                        [number](const auto& f) { return f.second < number; });
    return deaths >= deaths_allowed || failures >= static_cast<std::ptrdiff_t>(failures_enough);
  }
  bool failed_before(const std::string& check, std::uint64_t number) const {
    const auto at = failed_.find(check);
    return at != failed_.end() && at->second < number;
  }

 private:
  std::map<std::string, std::uint64_t> failed_;  // where each check first failed
  std::multiset<std::uint64_t> deaths_;
};

struct Reached {
  Problem problem;
  Judged judged;
};

class Search {
 public:
  Search(const Suite& suite, const SearchOptions& options, const Bench& bench, const Hooks& hooks)
      : suite_(suite),
        options_(options),
        bench_(bench),
        hooks_(hooks),
        start_(Clock::now()),
        records_(suite.kernels.size()) {}

  // Kernels whose part of the run ended in two deaths are not started again.
  void skip_dead(const RunResult& run) {
    std::vector<int> deaths(suite_.kernels.size());
    for (const RunCase& c : run.cases) deaths[c.kernel] += is_death(c.verdict.outcome) ? 1 : 0;
    for (std::size_t k = 0; k < deaths.size(); ++k) {
      if (!suite_.kernels[k].cannot_run.empty()) {
        if (suite_.problems.empty()) cannot_run_.push_back(k);
      } else if (deaths[k] < deaths_allowed) {
        alive_.push_back(k);
      }
    }
  }

  void walk() {
    std::vector<std::thread> threads;
    for (int t = 1; t < suite_.jobs; ++t) threads.emplace_back([this] { take_problems(); });
    take_problems();
    for (std::thread& thread : threads) thread.join();
    if (error_) std::rethrow_exception(error_);
  }

  void add_to(RunResult& run) {
    settle();
    shrink_failures();
    run.search.done = true;
    run.search.seconds = options_.seconds;
    run.search.shrunk = failures_.size();
    run.search.enough = failures_enough;
    for (const std::size_t k : alive_) {
      if (final_[k].enough_before(~0ull)) run.search.left_out.push_back(suite_.kernels[k].name);
    }
    for (const auto& [line, problem] : listed(run)) lines_.emplace(line, problem);
    for (auto& [number, reached] : reached_) {
      if (!reached.judged.taken && number > 0) {
        ++run.search.declined;
        continue;
      }
      ++run.search.problems;
      const std::size_t p = index_of(run, reached.problem);
      for (RunPlan plan : reached.judged.plans) {
        plan.problem = p;
        run.plans.push_back(std::move(plan));
      }
      for (RunCase& c : reached.judged.cases) {
        c.problem = p;
        run.cases.push_back(std::move(c));
      }
    }
    for (Failure& failure : failures_) {
      failure.shown.problem = index_of(run, failure.problem);
      run.cases.push_back(std::move(failure.shown));
    }
  }

 private:
  struct Failure {
    std::size_t kernel{};
    Problem problem;
    RunCase shown;
  };

  bool over() const {
    return (hooks_.stop && hooks_.stop()) || Clock::now() - start_ >= seconds(options_.seconds);
  }

  // The next problem that was not drawn before; false where the search is over.
  bool next(std::uint64_t& number, Problem& problem, std::vector<std::size_t>& kernels) {
    const std::lock_guard lock(mutex_);
    while (!over() && !error_ && drawn_.size() < options_.most_problems) {
      number = number_++;
      problem = draw_problem(suite_.seed, number);
      if (!drawn_.insert(to_string(problem)).second) continue;
      kernels.clear();
      // What cannot run here is said once.
      if (number == 0) kernels = cannot_run_;
      for (const std::size_t k : alive_) {
        if (!records_[k].enough_before(number)) kernels.push_back(k);
      }
      return !kernels.empty();
    }
    return false;
  }

  void take_problems() try {
    Workers workers;
    std::uint64_t number{};
    Problem problem;
    std::vector<std::size_t> kernels;
    while (next(number, problem, kernels)) {
      Judged judged = judge_problem(suite_, kernels, problem, draw_checks(suite_, problem, number),
                                    bench_, workers);
      // Drawn data may be unable to show anything; that is counted, and nobody's fault.
      for (RunCase& c : judged.cases) {
        if (c.verdict.outcome == Outcome::vacuous) c.required = false;
      }
      const std::lock_guard lock(mutex_);
      for (const RunCase& c : judged.cases) records_[c.kernel].add(number, c);
      reached_.emplace(number, Reached{problem, std::move(judged)});
      report_progress();
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    error_ = std::current_exception();
  }

  void report_progress() {
    if (!hooks_.progress) return;
    const double elapsed = std::chrono::duration<double>(Clock::now() - start_).count();
    const auto done = static_cast<double>(reached_.size());
    const double in_all = std::max(done, done * options_.seconds / std::max(elapsed, 0.001));
    hooks_.progress(reached_.size(), static_cast<std::size_t>(in_all), "search");
  }

  // Takes out what a thread did only because it did not know yet of an earlier failure.
  void settle() {
    final_.resize(suite_.kernels.size());
    for (auto& [number, reached] : reached_) {
      auto& cases = reached.judged.cases;
      std::erase_if(cases, [&, n = number](const RunCase& c) {
        return final_[c.kernel].enough_before(n) || final_[c.kernel].failed_before(c.check, n);
      });
      for (const RunCase& c : cases) final_[c.kernel].add(number, c);
      std::erase_if(cases, [&, &r = reached](const RunCase& c) {
        if (!is_red(c) || c.verdict.outcome == Outcome::harness_error) return false;
        failures_.push_back({c.kernel, r.problem, c});
        return true;
      });
    }
  }

  void shrink_failures() {
    std::vector<std::thread> threads;
    std::size_t taken = 0;
    const auto work = [&] {
      while (true) {
        std::size_t mine{};
        {
          const std::lock_guard lock(mutex_);
          if (taken == failures_.size()) return;
          mine = taken++;
        }
        shrink_one(failures_[mine]);
      }
    };
    for (int t = 1; t < suite_.jobs; ++t) threads.emplace_back(work);
    work();
    for (std::thread& thread : threads) thread.join();
  }

  void shrink_one(Failure& failure) {
    const Check* check = nullptr;
    for (const Check& c : checks()) {
      if (c.id == failure.shown.check) check = &c;
    }
    if (check == nullptr || (hooks_.stop && hooks_.stop())) return;
    const std::string from = to_string(failure.problem);
    const Outcome outcome = failure.shown.verdict.outcome;
    const auto fails = [&](const Problem& p) {
      if (hooks_.stop && hooks_.stop()) return false;
      auto red = red_case(suite_, failure.kernel, p, *check, bench_);
      if (!red || red->verdict.outcome != outcome) return false;
      failure.shown = std::move(*red);
      return true;
    };
    const Shrunk shrunk =
        shrink(failure.problem, fails, Clock::now() + seconds(options_.shrink_seconds));
    failure.problem = shrunk.problem;
    Verdict& verdict = failure.shown.verdict;
    if (shrunk.steps == 0) return;
    verdict.why += verdict.why.empty() ? "" : "; ";
    verdict.why += "found at " + from + " and shrunk in " + std::to_string(shrunk.steps) +
                   " steps" + (shrunk.smallest ? "" : ", as far as the time went");
  }

  static std::map<std::string, std::size_t> listed(const RunResult& run) {
    std::map<std::string, std::size_t> lines;
    for (std::size_t p = 0; p < run.problems.size(); ++p) lines.emplace(run.problems[p].line, p);
    return lines;
  }

  std::size_t index_of(RunResult& run, const Problem& problem) {
    const auto [at, is_new] = lines_.emplace(to_string(problem), run.problems.size());
    if (is_new) run.problems.push_back({problem, at->first, "", ""});
    return at->second;
  }

  const Suite& suite_;
  const SearchOptions& options_;
  const Bench& bench_;
  const Hooks& hooks_;
  Clock::time_point start_;
  std::vector<std::size_t> alive_, cannot_run_;

  std::mutex mutex_;  // what follows, while threads run
  std::uint64_t number_{};
  std::set<std::string> drawn_;
  std::vector<Record> records_;
  std::map<std::uint64_t, Reached> reached_;
  std::exception_ptr error_;

  std::vector<Record> final_;
  std::vector<Failure> failures_;
  std::map<std::string, std::size_t> lines_;
};

// Kernels, problems, checks.
void sort_cases(RunResult& run) {
  std::map<std::string_view, std::size_t> rank;
  for (const Check& check : checks()) rank.emplace(check.id, rank.size());
  std::stable_sort(run.cases.begin(), run.cases.end(), [&](const RunCase& a, const RunCase& b) {
    return std::tuple(a.kernel, a.problem, rank[a.check]) <
           std::tuple(b.kernel, b.problem, rank[b.check]);
  });
}

}  // namespace

void search(const Suite& suite, const SearchOptions& options, const Bench& bench,
            const Hooks& hooks, RunResult& run) {
  const auto start = Clock::now();
  Search search(suite, options, bench, hooks);
  search.skip_dead(run);
  search.walk();
  search.add_to(run);
  sort_cases(run);
  run.interrupted = run.interrupted || (hooks.stop && hooks.stop());
  settle_never_judged(suite, run);
  run.wall_s += std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace w4
