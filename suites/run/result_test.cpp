// SPDX-License-Identifier: Apache-2.0
// Red, exit codes and ids.
#include "harness/run/result.hpp"

#include <catch2/catch_test_macros.hpp>

namespace w4 {

namespace {

RunResult run_of(const std::vector<std::pair<Outcome, bool>>& ends) {
  RunResult run;
  run.kernels = {{"cpu.a", "", false, false}};
  run.problems = {{parse_problem("m=1 n=2 k=3"), "m=1 n=2 k=3", "", ""}};
  for (const auto& [outcome, required] : ends) {
    RunCase c;
    c.check = "exact.zero";
    c.required = required;
    c.verdict = with(outcome, "so");
    run.cases.push_back(c);
  }
  return run;
}

}  // namespace

TEST_CASE("only a required case that is neither pass nor waived is red") {
  for (int i = 0; i < 11; ++i) {
    const auto outcome = static_cast<Outcome>(i);
    const bool green = outcome == Outcome::pass || outcome == Outcome::waived;
    CHECK(is_red(run_of({{outcome, true}}).cases[0]) == !green);
    CHECK_FALSE(is_red(run_of({{outcome, false}}).cases[0]));
  }
}

TEST_CASE("exit codes rank: harness failure, red, nothing judged, pass") {
  CHECK(exit_code(run_of({{Outcome::pass, true}})) == 0);
  CHECK(exit_code(run_of({{Outcome::pass, true}, {Outcome::unsupported, false}})) == 0);
  CHECK(exit_code(run_of({{Outcome::pass, true}, {Outcome::fail, true}})) == 1);
  CHECK(exit_code(run_of({{Outcome::fail, true}, {Outcome::harness_error, true}})) == 3);
  CHECK(exit_code(run_of({{Outcome::pass, true}, {Outcome::harness_error, false}})) == 3);
  CHECK(exit_code(run_of({})) == 2);
  CHECK(exit_code(run_of({{Outcome::unsupported, false}, {Outcome::not_run, false}})) == 2);
}

TEST_CASE("counts add up") {
  const RunResult run = run_of({{Outcome::pass, true},
                                {Outcome::fail, true},
                                {Outcome::fail, false},
                                {Outcome::not_run, false}});
  const Counts counts = count(run.cases);
  CHECK(counts.total == 4);
  CHECK(counts.required == 2);
  CHECK(counts.red == 1);
  CHECK(counts.judged == 3);
  CHECK(counts[Outcome::fail] == 2);
}

TEST_CASE("a case id ends in FNV-1a of the problem line") {
  RunResult run = run_of({{Outcome::pass, true}});
  // Published FNV-1a test vectors: "" is the offset basis, "foobar" is bf9cf968.
  run.problems[0].line = "";
  CHECK(case_id(run, run.cases[0]) == "cpu.a/exact.zero/811c9dc5");
  run.problems[0].line = "foobar";
  CHECK(case_id(run, run.cases[0]) == "cpu.a/exact.zero/bf9cf968");
}

TEST_CASE("groups and reject are read from the id") {
  CHECK(group_of("address.code") == "address");
  CHECK(is_reject("reject.nowrite"));
  CHECK_FALSE(is_reject("exact.zero"));
}

}  // namespace w4
