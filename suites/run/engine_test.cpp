// SPDX-License-Identifier: Apache-2.0
// Scope, order, required, deaths, interruption and never judged, on kernels and checks that do as
// they are told.
#include "harness/run/engine.hpp"

#include <algorithm>
#include <atomic>

#include <catch2/catch_test_macros.hpp>

#include "suites/run/fake.hpp"
#include "suites/support/property.hpp"

namespace w4 {

namespace {

using Told = std::vector<std::string>;

RunResult run_fake(const Suite& suite, Script script = {}, const Hooks& hooks = {}) {
  set_script(std::move(script));
  return run_suite(suite, fake_bench(), hooks);
}

const Told two_problems{"m=1 n=8 k=16", "m=2 n=8 k=16"};

}  // namespace

TEST_CASE("cases come by kernel, then problem, then check, each check as often as its scope says") {
  const RunResult run = run_fake(fake_suite({"a", "b"}, two_problems));
  const Told per_kernel{"alpha.one 1 pass", "alpha.two 1 pass", "beta.once 1 pass",
                        "reject.reason 1 pass", "alpha.one 2 pass"};
  Told expected;
  for (const char* kernel : {"a ", "b "}) {
    for (const std::string& line : per_kernel) expected.push_back(kernel + line);
  }
  CHECK(told(run) == expected);
  CHECK(exit_code(run) == 0);
}

TEST_CASE(
    "a geometry check runs again for another path, and not for another m, seed, stride or "
    "alignment") {
  Script script;
  Plan tiled;
  tiled.path = "tiled";
  script.plans["a/9"] = tiled;
  Suite suite = fake_suite(
      {"a"}, {"m=1 n=8 k=16", "m=2 n=8 k=16 seed=0x9", "m=3 n=8 k=16 xs=20 ys=12 align=2",
              "m=9 n=8 k=16", "m=1 n=8 k=16 zero=code"});
  suite.checks = {fake_checks()[1]};
  CHECK(told(run_fake(suite, script)) ==
        Told{"a alpha.two 1 pass", "a alpha.two 9 pass", "a alpha.two 1 pass"});
}

TEST_CASE("a declined problem is one unsupported case that is not required") {
  Script script;
  script.plans["a/1"] = declined("no act-order");
  const RunResult run = run_fake(fake_suite({"a"}, two_problems), script);
  CHECK(told(run) == Told{"a alpha.one 1 unsupported optional", "a alpha.one 2 pass",
                          "a alpha.two 2 pass", "a beta.once 2 pass", "a reject.reason 2 pass"});
  CHECK(run.cases.front().verdict.reason == "no act-order");
  CHECK(exit_code(run) == 0);
}

TEST_CASE("a declined problem is required where kernel and problem are both named literally") {
  Script script;
  script.plans["a/1"] = declined("no act-order");
  Suite suite = fake_suite({"a"}, two_problems);
  suite.problems.front().literal = true;
  CHECK(exit_code(run_fake(suite, script)) == 0);
  suite.kernels.front().literal = true;
  const RunResult run = run_fake(suite, script);
  CHECK(told(run).front() == "a alpha.one 1 unsupported");
  CHECK(exit_code(run) == 1);
}

TEST_CASE("a plan that declines without a reason fails") {
  Script script;
  script.plans["a/1"] = declined("");
  const RunResult run = run_fake(fake_suite({"a"}, two_problems), script);
  CHECK(told(run).front() == "a alpha.one 1 fail");
  CHECK(exit_code(run) == 1);
}

TEST_CASE("a plan that answers with an internal error fails") {
  Script script;
  script.plans["a/1"] = declined("out of ideas");
  script.plans["a/1"].status = W4_INTERNAL;
  CHECK(told(run_fake(fake_suite({"a"}, two_problems), script)).front() == "a alpha.one 1 fail");
}

TEST_CASE("reject checks run on a kernel that declines everything, and judge nothing else") {
  Script script;
  script.plans["a/1"] = script.plans["a/2"] = declined("no");
  const RunResult run = run_fake(fake_suite({"a"}, two_problems), script);
  CHECK(told(run) == Told{"a alpha.one 1 unsupported optional", "a reject.reason 1 pass",
                          "a alpha.one 2 unsupported optional"});
}

TEST_CASE("a kernel that had to be judged and declined everything is red") {
  Script script;
  script.plans["a/1"] = script.plans["a/2"] = declined("no");
  Suite suite = fake_suite({"a"}, two_problems);
  suite.kernels.front().must_be_judged = true;
  const RunResult run = run_fake(suite, script);
  CHECK(run.kernels.front().never_judged);
  CHECK(told(run).front() == "a alpha.one 1 unsupported");
  CHECK(exit_code(run) == 1);
  suite.by_layer = true;
  CHECK(exit_code(run_fake(suite, script)) == 0);
}

TEST_CASE("one pass outside reject is enough to have been judged") {
  Script script;
  script.plans["a/1"] = declined("no");
  Suite suite = fake_suite({"a"}, two_problems);
  suite.kernels.front().must_be_judged = true;
  CHECK_FALSE(run_fake(suite, script).kernels.front().never_judged);
}

TEST_CASE("two deaths end a kernel: all that follows in canonical order is not run") {
  Script script;
  script.outcomes["a/alpha.one/1"] = Outcome::crashed;
  script.outcomes["a/beta.once/1"] = Outcome::timed_out;
  const RunResult run = run_fake(fake_suite({"a", "b"}, two_problems), script);
  const Told all = told(run);
  CHECK(Told(all.begin(), all.begin() + 6) ==
        Told{"a alpha.one 1 crashed", "a alpha.two 1 pass", "a beta.once 1 timed_out",
             "a reject.reason 1 not_run", "a alpha.one 2 not_run", "b alpha.one 1 pass"});
  CHECK(run.cases[3].verdict.reason == "after 2 crashes or time-outs of this kernel");
  CHECK(exit_code(run) == 1);
}

TEST_CASE("a kernel that dies in plan twice is asked no more") {
  Script script;
  script.plan_ends["a/1"] = script.plan_ends["a/2"] = End::crashed;
  const RunResult run =
      run_fake(fake_suite({"a"}, {"m=1 n=8 k=16", "m=2 n=8 k=16", "m=3 n=8 k=16"}), script);
  CHECK(told(run) ==
        Told{"a alpha.one 1 crashed", "a alpha.one 2 crashed", "a alpha.one 3 not_run"});
  CHECK(ran().empty());
}

TEST_CASE("the result does not depend on the number of threads") {
  check_property("jobs", [] {
    Told lines;
    for (int m = 1; m <= 12; ++m) lines.push_back("m=" + std::to_string(m) + " n=8 k=16");
    Suite suite = fake_suite({"a", "b"}, lines);
    Script script;
    for (const std::string kernel : {"a", "b"}) {
      for (int m = 1; m <= 12; ++m) {
        const int fate = *rc::gen::inRange(0, 12);
        const std::string at = "/" + std::to_string(m);
        if (fate == 0) script.outcomes[kernel + "/alpha.one" + at] = Outcome::crashed;
        if (fate == 1) script.plans[kernel + at] = declined("no");
        if (fate == 2) script.plan_ends[kernel + at] = End::timed_out;
        if (fate == 3) script.outcomes[kernel + "/alpha.one" + at] = Outcome::fail;
      }
    }
    suite.jobs = 1;
    const Told alone = told(run_fake(suite, script));
    suite.jobs = 7;
    RC_ASSERT(told(run_fake(suite, script)) == alone);
  });
}

TEST_CASE("a check that throws is a failure of the harness") {
  Script script;
  script.throws["a/alpha.one/2"] = "no memory";
  const RunResult run = run_fake(fake_suite({"a"}, two_problems), script);
  CHECK(told(run).back() == "a alpha.one 2 harness_error");
  CHECK(run.cases.back().verdict.reason == "no memory");
  CHECK(exit_code(run) == 3);
}

TEST_CASE("an interrupted run keeps what was judged and requires nothing of the rest") {
  std::atomic<int> left{3};
  Hooks hooks;
  hooks.stop = [&left] { return left.load() <= 0; };
  hooks.progress = [&left](std::size_t, std::size_t, const std::string&) { --left; };
  const RunResult run = run_fake(fake_suite({"a"}, two_problems), {}, hooks);
  CHECK(run.interrupted);
  CHECK(told(run) == Told{"a alpha.one 1 pass", "a alpha.two 1 pass", "a beta.once 1 pass",
                          "a reject.reason 1 not_run optional", "a alpha.one 2 not_run optional"});
  CHECK(exit_code(run) == 2);
}

TEST_CASE("an interrupted run with a red case exits 1") {
  std::atomic<int> left{1};
  Hooks hooks;
  hooks.stop = [&left] { return left.load() <= 0; };
  hooks.progress = [&left](std::size_t, std::size_t, const std::string&) { --left; };
  Script script;
  script.outcomes["a/alpha.one/1"] = Outcome::fail;
  CHECK(exit_code(run_fake(fake_suite({"a"}, two_problems), script, hooks)) == 1);
}

TEST_CASE("a signal after the last case interrupts nothing") {
  std::atomic<int> left{5};
  Hooks hooks;
  hooks.stop = [&left] { return left.load() <= 0; };
  hooks.progress = [&left](std::size_t, std::size_t, const std::string&) { --left; };
  const RunResult run = run_fake(fake_suite({"a"}, two_problems), {}, hooks);
  CHECK_FALSE(run.interrupted);
  CHECK(exit_code(run) == 0);
}

TEST_CASE("a device kernel without a device is one case, required only on demand") {
  Suite suite = fake_suite({"host", "device"}, two_problems);
  suite.kernels[1].on_device = true;
  suite.kernels[1].cannot_run = "no CUDA device";
  const RunResult run = run_fake(suite);
  CHECK(told(run).back() == "device alpha.one 1 not_run optional");
  CHECK(run.cases.back().verdict.reason == "no CUDA device");
  CHECK(exit_code(run) == 0);
  suite.require_gpu = true;
  CHECK(exit_code(run_fake(suite)) == 1);
  suite.require_gpu = false;
  suite.kernels[1].literal = true;
  CHECK(exit_code(run_fake(suite)) == 1);
}

TEST_CASE("a run in which nothing was judged is no pass") {
  Suite suite = fake_suite({"device"}, two_problems);
  suite.kernels[0].cannot_run = "no CUDA device";
  CHECK(exit_code(run_fake(suite)) == 2);
}

TEST_CASE("a check that finds nothing to look at does not make a case required") {
  Script script;
  script.outcomes["a/alpha.two/1"] = Outcome::unsupported;
  const RunResult run = run_fake(fake_suite({"a"}, two_problems), script);
  CHECK(told(run)[1] == "a alpha.two 1 unsupported optional");
  CHECK(exit_code(run) == 0);
}

TEST_CASE("a vacuous check is red") {
  Script script;
  script.outcomes["a/alpha.two/1"] = Outcome::vacuous;
  CHECK(exit_code(run_fake(fake_suite({"a"}, two_problems), script)) == 1);
}

TEST_CASE("every case carries the line that replays it") {
  Suite suite = fake_suite({"a"}, {"m=1 n=8 k=16 seed=0x1f"});
  suite.kernels.front().plugin.label = "lib fake.so";
  const RunResult run = run_fake(suite);
  CHECK(run.cases.front().repro ==
        "kernel=a check=alpha.one plugin=lib%20fake.so m=1 n=8 k=16 seed=0x1f");
}

}  // namespace w4
