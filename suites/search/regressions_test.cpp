// SPDX-License-Identifier: Apache-2.0
// What once failed stays right: every line of regressions.txt, every kernel of this tree, every
// check.
#include <string>

#include <catch2/catch_test_macros.hpp>

#include "harness/run/engine.hpp"
#include "suites/support/judge.hpp"

TEST_CASE("regressions stay right on the kernels of this tree") {
  using namespace w4;
  Suite suite;
  LayerStore store([](const std::string& line) { FAIL(line); });
  suite.problems = resolve_all(
      read_problem_list(std::string(W4_FIXTURES) + "/problems/regressions.txt"), 7, store);
  const auto info = std::make_shared<PluginInfo>(inspect_plugin(plugin_path("cpu")));
  for (const auto& k : info->kernels) {
    SuiteKernel row;
    row.plugin = {info, ""};
    row.name = k.name;
    suite.kernels.push_back(std::move(row));
  }
  for (const Check& check : checks()) suite.checks.push_back(&check);
  suite.jobs = 2;
  const RunResult run = run_suite(suite, worker_bench(), {});
  for (const RunCase& c : run.cases)
    if (is_red(c)) FAIL_CHECK(c.repro << ": " << c.verdict.reason);
  CHECK(count(run.cases)[Outcome::pass] > 0);
}
