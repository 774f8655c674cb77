// SPDX-License-Identifier: Apache-2.0
// The text report, letter by letter.
#include "harness/report/text.hpp"

#include <algorithm>

#include <catch2/catch_test_macros.hpp>

#include "harness/printable.hpp"
#include "harness/report/log.hpp"
#include "harness/report/progress.hpp"
#include "harness/report/text_parts.hpp"
#include "harness/report/words.hpp"
#include "suites/run/sample.hpp"

namespace w4 {

TEST_CASE("text: a green run ends in its verdict") {
  CHECK(run_text(green_sample(), {}) == R"(
kernel   path          address   exact   reject   verdict
cpu.a    gemv, tiled   1/1       2/2     1/1      pass
cuda.b   -             -         -       -        not run: no CUDA device

6 cases on 2 problems: pass 4, unsupported 1, not run 1
unsupported 1 (not required)
  cpu.a   1   zero=8 stores no zero point
not run 1 (not required)
  cuda.b   1   no CUDA device

verdict: pass 4 required, 0 red
)");
}

TEST_CASE("text: a red run says each cause once") {
  const RunResult run = red_sample();
  CHECK(run_text(run, {false, false, {"r.json"}}) == R"(
kernel   path   exact   reject   verdict
cpu.a    loop   1/5     -        FAIL 4
cpu.b    -      -       1/1      NEVER JUDGED: no act-order

7 cases on 2 problems: pass 2, fail 3, unsupported 1, crashed 1
unsupported 1 (required)
  cpu.b   1   no act-order

FAIL  exact.dense24   cpu.a   2 cases, first m=4 n=64 k=512 g=128 zero=code
  what     sums are rounded to fp16 on the way: differs from the exact sum where a partial sum needs
           more than 11 bits
  where    61 of 256 outputs, first y[0,3]
  expected y[0,3] = 0x6b21 (3650);  got 0x6b20 (3648), 1 ulp low
  claimed  path loop (plan); observed half
  replay   w4check replay "kernel=cpu.a check=exact.dense24 m=4 n=64 k=512 g=128 zero=code"

CRASHED  exact.zero   cpu.a   m=4 n=64 k=512 g=128 zero=code
  what     signal 11 (SIGSEGV) inside run
  replay   w4check replay "kernel=cpu.a check=exact.zero m=4 n=64 k=512 g=128 zero=code"

FAIL  exact.zero   cpu.a   m=1 n=8 k=16
  what     something else
  replay   w4check replay "kernel=cpu.a check=exact.zero m=1 n=8 k=16"

UNSUPPORTED  exact.zero   cpu.b   m=4 n=64 k=512 g=128 zero=code
  what     never judged: the kernel declined every problem: no act-order
  replay   w4check replay "kernel=cpu.b check=exact.zero m=4 n=64 k=512 g=128 zero=code"

verdict: FAIL 5 red of 7 required
report: r.json
)");
}

TEST_CASE("text: never judged says whether the kernel or the check declined") {
  RunResult run = red_sample();
  const auto said = [&] {
    const std::string text = run_text(run, {});
    const auto at = text.find("never judged: ") + 14;
    return text.substr(at, text.find('\n', at) - at);
  };
  run.plans = {{0, 0, true, "loop", ""}, {1, 0, false, "", "no act-order"}};
  CHECK(said() == "the kernel declined every problem: no act-order");
  run.plans.push_back({1, 1, true, "loop", ""});
  CHECK(said() == "the kernel takes the problem, the check does not: no act-order");
  for (RunCase& c : run.cases)
    if (c.kernel == 1 && c.check == "exact.zero") c.verdict = with(Outcome::not_run, "not held");
  CHECK(said() == "no check came to a verdict: not held");
}

TEST_CASE("text: verbose names every case that was not judged and shows evidence") {
  const std::string text = run_text(red_sample(), {false, true, {}});
  CHECK(text.find("  cpu.b   exact.zero   m=4 n=64 k=512 g=128 zero=code   no act-order\n") !=
        std::string::npos);
  CHECK(text.find("  evidence\n    {\n      \"kind\": \"sums\"") != std::string::npos);
  CHECK(text.find("  also     \"kernel=cpu.a check=exact.dense24 m=1 n=8 k=16\"\n") !=
        std::string::npos);
}

TEST_CASE("text: many causes of a kernel are counted after the first ones") {
  RunResult run = red_sample();
  run.cases.resize(1);
  for (int i = 0; i < 9; ++i) {
    run.cases.push_back(run.cases.front());
    run.cases.back().verdict.reason = "cause " + std::to_string(i);
    run.cases.back().check = i < 4 ? "exact.dense24" : "exact.zero";
  }
  const std::string text = failures_text(run, {});
  CHECK(text.find("cause 0") != std::string::npos);
  CHECK(text.find("cause 1") == std::string::npos);
  CHECK(text.find("cause 5") != std::string::npos);
  CHECK(text.find("cause 6") == std::string::npos);
  CHECK(
      text.ends_with("  and      6 more causes on cpu.a, cases by check: exact.dense24 3, "
                     "exact.zero 3 (-v shows them)\n"));
  const std::string all = failures_text(run, {false, true, {}});
  for (int i = 0; i < 9; ++i) CHECK(all.find("cause " + std::to_string(i)) != std::string::npos);
}

TEST_CASE("text: under --layer each kernel and layer has its path and reason") {
  CHECK(kernel_tables(layer_sample(), false) == R"(layer   enc.q   gptq_v1, K 16
kernel   m     path    exact   verdict
cpu.a    1     gemv    1/1     pass: one row
cpu.a    8,9   tiled   2/2     pass
cpu.b    1,8   -       -       unsupported: no act-order

layer   enc.v   gptq_v1, K 16
kernel   m   path   exact   verdict
cpu.a    1   gemv   1/1     pass: one row
)");
}

TEST_CASE("text: verdict lines of runs that are no pass") {
  RunResult run = green_sample();
  for (RunCase& c : run.cases) {
    c.verdict = with(Outcome::not_run, "interrupted");
    c.required = false;
  }
  CHECK(run_text(run, {}).ends_with("verdict: nothing was judged\n"));
  run.interrupted = true;
  CHECK(
      run_text(run, {}).ends_with("interrupted: 0 of 6 cases judged, the rest not run\nverdict: "
                                  "INTERRUPTED, 0 red of 0 required\n"));
  run.cases[0].verdict = with(Outcome::harness_error, "no memory");
  run.cases[0].required = true;
  CHECK(run_text(run, {}).ends_with("verdict: HARNESS FAILED in 1 case, 1 red of 1 required\n"));
}

TEST_CASE("text: colour only where it is wanted") {
  CHECK(run_text(red_sample(), {}).find('\x1b') == std::string::npos);
  CHECK(run_text(red_sample(), {true, false, {}}).find("\x1b[31mverdict: FAIL") !=
        std::string::npos);
}

TEST_CASE("text: a hostile name cannot tear the table") {
  RunResult run = green_sample();
  run.cases[0].verdict.path_declared = "x\x1b[2J\n\xff" + std::string(100, 'y');
  const std::string table = kernel_tables(run, false);
  CHECK(table.find('\x1b') == std::string::npos);
  CHECK(table.find('\xff') == std::string::npos);
  CHECK(std::count(table.begin(), table.end(), '\n') == 3);
}

TEST_CASE("text: replay shows its one case, a pass too") {
  RunResult run = green_sample();
  run.cases.resize(1);
  CHECK(case_text(run, {}) == R"(
PASS  address.code   cpu.a   m=1 n=8 k=16
  what     every (k, n) reads its own code
  replay   w4check replay "kernel=cpu.a check=address.code m=1 n=8 k=16"

verdict: pass 1 required, 0 red
)");
}

TEST_CASE("words: what a line may hold") {
  CHECK(printable("a\nb\tc\x7f") == "a\\x0ab\\x09c\\x7f");
  CHECK(printable("verdict: pass\x1b[31m") == "verdict: pass\\x1b[31m");
  CHECK(printable("\xc2\x9b"
                  "31m \xc2\xa0") == "\\xc2\\x9b31m \xc2\xa0");
  CHECK(printable("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80") ==
        "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
  CHECK(printable("\xff\xc3") == "\\xff\\xc3");
  CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");
  CHECK(printable("\xc0\xaf") == "\\xc0\\xaf");
  CHECK(printable(std::string(400, 'a')) == std::string(160, 'a') + "...");
  CHECK(printable(std::string(400, 'a'), whole_text) == std::string(400, 'a'));
}

TEST_CASE("text: a layer's name cannot end its line") {
  RunResult run = layer_sample();
  for (RunProblem& p : run.problems) p.layer = "a\nverdict: pass\x1b[31m";
  const std::string text = run_text(run, {});
  CHECK(text.find("layer   a\\x0averdict: pass\\x1b[31m   gptq_v1") != std::string::npos);
  CHECK(text.find('\x1b') == std::string::npos);
}

TEST_CASE("text: a search says what it drew and whom it left out") {
  RunResult run = green_sample();
  run.search = {true, 60, 5198, 120, 2, 3, {"cpu.a", "cpu.b"}};
  const std::string text = run_text(run, {});
  CHECK(text.find("search: 5198 problems drawn in 60 s, 2 failures shrunk; the seed fixes the "
                  "problems, the time how many\n"
                  "        120 more that no kernel takes\n"
                  "        searched no further after 3 failures or 2 deaths: cpu.a cpu.b\n") !=
        std::string::npos);
}

TEST_CASE("words: bits with their value") {
  CHECK(word_and_value(Type::f16, 0x4900) == "0x4900 (10)");
  CHECK(word_and_value(Type::f32, 0x3f800000) == "0x3f800000 (1)");
  CHECK(hex(0x7) == "0x7");
  CHECK(counted(1, "case") == "1 case");
  CHECK(counted(0, "case") == "0 cases");
  CHECK(in_words(Outcome::timed_out) == "timed out");
}

TEST_CASE("words: a repro is quoted so that a shell leaves it alone") {
  CHECK(shell_quoted("a b") == "\"a b\"");
  CHECK(shell_quoted("a $b") == "'a $b'");
  CHECK(shell_quoted("it's $b") == "'it'\\''s $b'");
}

TEST_CASE("progress: how many of how many, and how long is left") {
  CHECK(progress_line(0, 412, "cpu.simd", 0) == "0 of 412 cases   cpu.simd");
  CHECK(progress_line(103, 412, "cpu.simd", 4) == "103 of 412 cases   cpu.simd   about 12 s left");
}

TEST_CASE("labelled wraps at 100 columns under itself") {
  const std::string text =
      labelled("what", std::string(60, 'a') + " " + std::string(60, 'b') + " c");
  CHECK(text ==
        "  what     " + std::string(60, 'a') + "\n           " + std::string(60, 'b') + " c\n");
}

}  // namespace w4
