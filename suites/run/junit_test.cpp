// SPDX-License-Identifier: Apache-2.0
// The JUnit document.
#include "harness/report/junit.hpp"

#include <catch2/catch_test_macros.hpp>

#include "suites/run/sample.hpp"

namespace w4 {

TEST_CASE("junit: one suite a kernel; failures, errors and skips") {
  CHECK(run_junit(red_sample()) == R"xml(<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="w4check" tests="7" failures="4" errors="1" skipped="0" time="0.000000">
  <testsuite name="cpu.a" tests="5" failures="3" errors="1" skipped="0" time="0.000000">
    <testcase classname="cpu.a" name="exact.dense24 m=4 n=64 k=512 g=128 zero=code" time="0.000000">
      <failure message="fail: sums are rounded to fp16 on the way: differs from the exact sum where a partial sum needs more than 11 bits">61 of 256 outputs, first y[0,3]
w4check replay &quot;kernel=cpu.a check=exact.dense24 m=4 n=64 k=512 g=128 zero=code&quot;</failure>
    </testcase>
    <testcase classname="cpu.a" name="exact.zero m=4 n=64 k=512 g=128 zero=code" time="0.000000">
      <error message="crashed: signal 11 (SIGSEGV) inside run">w4check replay &quot;kernel=cpu.a check=exact.zero m=4 n=64 k=512 g=128 zero=code&quot;</error>
    </testcase>
    <testcase classname="cpu.a" name="exact.dense24 m=1 n=8 k=16" time="0.000000">
      <failure message="fail: sums are rounded to fp16 on the way: differs from the exact sum where a partial sum needs more than 11 bits">61 of 256 outputs, first y[0,3]
w4check replay &quot;kernel=cpu.a check=exact.dense24 m=1 n=8 k=16&quot;</failure>
    </testcase>
    <testcase classname="cpu.a" name="exact.zero m=1 n=8 k=16" time="0.000000">
      <failure message="fail: something else">w4check replay &quot;kernel=cpu.a check=exact.zero m=1 n=8 k=16&quot;</failure>
    </testcase>
    <testcase classname="cpu.a" name="exact.zero m=1 n=8 k=16" time="0.000000"/>
  </testsuite>
  <testsuite name="cpu.b" tests="2" failures="1" errors="0" skipped="0" time="0.000000">
    <testcase classname="cpu.b" name="exact.zero m=4 n=64 k=512 g=128 zero=code" time="0.000000">
      <failure message="unsupported: no act-order">w4check replay &quot;kernel=cpu.b check=exact.zero m=4 n=64 k=512 g=128 zero=code&quot;</failure>
    </testcase>
    <testcase classname="cpu.b" name="reject.reason m=4 n=64 k=512 g=128 zero=code" time="0.000000"/>
  </testsuite>
</testsuites>
)xml");
}

TEST_CASE("junit: what is not required is skipped, and markup and stray bytes are escaped") {
  RunResult run = green_sample();
  run.cases[1].verdict.reason = "a < b & \"c\" \x01\xff";
  const std::string text = run_junit(run);
  CHECK(text.find("<skipped message=\"unsupported: a &lt; b &amp; &quot;c&quot; \\x01\\xff\"/>") !=
        std::string::npos);
  CHECK(text.find("failures=\"0\" errors=\"0\" skipped=\"2\"") != std::string::npos);
}

}  // namespace w4
