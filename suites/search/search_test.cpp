// SPDX-License-Identifier: Apache-2.0
// Whole searches, ended by a number of problems.
#include "harness/search/search.hpp"

#include <algorithm>
#include <map>
#include <string>

#include <catch2/catch_test_macros.hpp>

#include "suites/support/judge.hpp"

namespace {

using namespace w4;

Suite suite_of(const std::string& plugin, const std::string& kernel = "") {
  Suite suite;
  const auto info = std::make_shared<PluginInfo>(inspect_plugin(plugin_path(plugin)));
  for (const auto& k : info->kernels) {
    if (!kernel.empty() && k.name != kernel) continue;
    SuiteKernel row;
    row.plugin = {info, "libw4_" + plugin + ".so"};
    row.name = k.name;
    row.must_be_judged = !kernel.empty();
    suite.kernels.push_back(std::move(row));
  }
  for (const Check& check : checks()) suite.checks.push_back(&check);
  suite.seed = 0x1;
  suite.jobs = 2;
  return suite;
}

RunResult searched(const Suite& suite, std::uint64_t problems) {
  SearchOptions options;
  options.seconds = 100;
  options.most_problems = problems;
  RunResult run = run_suite(suite, worker_bench(), {});
  search(suite, options, worker_bench(), {}, run);
  return run;
}

std::vector<std::string> told(const RunResult& run) {
  std::vector<std::string> lines;
  for (const RunCase& c : run.cases)
    lines.push_back(c.repro + " " + std::string(to_string(c.verdict.outcome)) + " " +
                    c.verdict.reason);
  return lines;
}

const RunCase* first_red(const RunResult& run) {
  const auto at = std::find_if(run.cases.begin(), run.cases.end(), is_red);
  return at == run.cases.end() ? nullptr : &*at;
}

}  // namespace

TEST_CASE("a search of the kernels of this tree is green, and the same on any number of threads") {
  Suite suite = suite_of("cpu");
  const RunResult two = searched(suite, 80);
  for (const RunCase& c : two.cases)
    if (is_red(c)) FAIL_CHECK(c.repro << ": " << c.verdict.reason);
  CHECK(two.search.problems > 40);
  CHECK(two.problems.size() == two.search.problems);
  CHECK(exit_code(two) == 0);
  suite.jobs = 1;
  CHECK(told(searched(suite, 80)) == told(two));
}

TEST_CASE("cases stand in canonical order, and refusals are judged") {
  const RunResult run = searched(suite_of("mutants", "mutant.none"), 60);
  CHECK(std::is_sorted(run.cases.begin(), run.cases.end(), [](const auto& a, const auto& b) {
    return std::pair(a.kernel, a.problem) < std::pair(b.kernel, b.problem);
  }));
  std::map<std::string, int> refusals;
  for (const RunCase& c : run.cases)
    if (is_reject(c.check)) ++refusals[c.check];
  CHECK(refusals["reject.nowrite"] > 1);
  CHECK(refusals["reject.reason"] > 1);
  CHECK(exit_code(run) == 0);
}

TEST_CASE("a fault is found and shrunk to what it needs, with its repro") {
  struct Row {
    const char* mutant;
    std::int64_t m, n, k;  // no more than this
  };
  for (const Row& row :
       {Row{"mutant.nibbles_swapped", 1, 8, 8}, Row{"mutant.group_off_by_one", 1, 1, 2},
        Row{"mutant.n_tile_not_written", 1, 17, 1}, Row{"mutant.only_last_row", 2, 1, 1}}) {
    const char* mutant = row.mutant;
    const RunResult run = searched(suite_of("mutants", mutant), 400);
    INFO(mutant);
    REQUIRE(first_red(run) != nullptr);
    CHECK(exit_code(run) == 1);
    const bool small = std::any_of(run.cases.begin(), run.cases.end(), [&](const RunCase& c) {
      const Problem& p = run.problems[c.problem].problem;
      return is_red(c) && p.m <= row.m && p.n <= row.n && p.k <= row.k;
    });
    CHECK(small);
    const RunCase& red = *first_red(run);
    CHECK(red.repro.find("kernel=" + std::string(mutant)) != std::string::npos);
    CHECK(red.repro.ends_with(run.problems[red.problem].line));
    CHECK(judge("mutants", mutant, red.check, run.problems[red.problem].line).outcome ==
          red.verdict.outcome);
  }
}

TEST_CASE("one failure a check is kept, and a kernel that failed three is searched no further") {
  const RunResult run = searched(suite_of("mutants", "mutant.writes_nothing"), 400);
  std::map<std::string, int> red;
  for (const RunCase& c : run.cases) red[c.check] += is_red(c) ? 1 : 0;
  for (const auto& [check, count] : red) CHECK(count <= 1);
  CHECK(run.search.left_out == std::vector<std::string>{"mutant.writes_nothing"});
  CHECK(run.search.problems < 100);
}

TEST_CASE("what only a used process shows is found by another check, or said to be so") {
  for (const auto* mutant : {"mutant.warm_up", "mutant.drifts_after_100"}) {
    const RunResult run = searched(suite_of("mutants", mutant), 200);
    INFO(mutant);
    REQUIRE(first_red(run) != nullptr);
    for (const RunCase& c : run.cases)
      if (is_red(c)) {
        const auto alone = judge("mutants", mutant, c.check, run.problems[c.problem].line).outcome;
        CHECK((alone == c.verdict.outcome ||
               c.verdict.why.find("only after other calls") != std::string::npos));
      }
  }
}

TEST_CASE("a kernel that dies is searched until its second death") {
  const RunResult run = searched(suite_of("hostile", "hostile.segfault"), 100);
  const auto deaths = std::count_if(run.cases.begin(), run.cases.end(),
                                    [](const RunCase& c) { return is_death(c.verdict.outcome); });
  CHECK(deaths >= 1);
  CHECK(run.search.problems < 50);
  CHECK(exit_code(run) == 1);
}

TEST_CASE("a stopped search reports what it judged and is not green") {
  const Suite suite = suite_of("mutants", "mutant.none");
  SearchOptions options;
  options.seconds = 100;
  int left = 20;
  Hooks hooks;
  hooks.stop = [&left] { return left <= 0; };
  hooks.progress = [&left](std::size_t, std::size_t, const std::string&) { --left; };
  RunResult run = run_suite(suite, worker_bench(), {});
  search(suite, options, worker_bench(), hooks, run);
  CHECK(run.interrupted);
  CHECK_FALSE(run.cases.empty());
  CHECK(exit_code(run) != 0);
}

TEST_CASE("a kernel that takes nothing that was drawn was never judged") {
  const RunResult run = searched(suite_of("mutants", "mutant.scale_past_128_groups"), 3);
  CHECK(run.kernels[0].never_judged);
  CHECK(exit_code(run) == 1);
}
