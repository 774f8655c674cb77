// SPDX-License-Identifier: Apache-2.0
// The JSON document: its keys, their order, and strings that are no UTF-8.
#include <cmath>
#include <limits>

#include <catch2/catch_test_macros.hpp>

#include "harness/report/json.hpp"
#include "suites/run/program.hpp"
#include "suites/run/sample.hpp"

namespace w4 {

namespace {

const Environment host{"Some CPU", "x86-64 AVX2", 2, 8, "g++ 12", "none", "none"};

std::string document(const RunResult& run) {
  return without_values(run_json(run, host), {"version", "commit"});
}

}  // namespace

TEST_CASE("json: the head of the document") {
  RunResult run = green_sample();
  run.cases.clear();
  run.kernels.resize(1);
  run.checks.resize(1);
  run.started = "2024-01-02T03:04:05Z";
  run.wall_s = 1.5;
  run.seed = 0xfeed;
  CHECK(document(run) == R"({
 "schema": "w4check.run/1",
 "version": -,
 "commit": -,
 "seed": "0xfeed",
 "environment": {
  "cpu": "Some CPU",
  "lanes": 8,
  "compiler": "g++ 12",
  "device": "none",
  "driver": "none"
 },
 "started": "2024-01-02T03:04:05Z",
 "wall_s": 1.5,
 "summary": {
  "total": 0,
  "required": 0,
  "red": 0,
  "problems": 2,
  "pass": 0,
  "fail": 0,
  "fallback": 0,
  "vacuous": 0,
  "unsupported": 0,
  "waived": 0,
  "xpass": 0,
  "crashed": 0,
  "timed_out": 0,
  "not_run": 0,
  "harness_error": 0,
  "interrupted": false,
  "never_judged": [],
  "kernels": {
   "cpu.a": {
    "pass": 0,
    "fail": 0,
    "fallback": 0,
    "vacuous": 0,
    "unsupported": 0,
    "waived": 0,
    "xpass": 0,
    "crashed": 0,
    "timed_out": 0,
    "not_run": 0,
    "harness_error": 0
   }
  },
  "checks": {
   "address.code": {
    "pass": 0,
    "fail": 0,
    "fallback": 0,
    "vacuous": 0,
    "unsupported": 0,
    "waived": 0,
    "xpass": 0,
    "crashed": 0,
    "timed_out": 0,
    "not_run": 0,
    "harness_error": 0
   }
  }
 },
 "cases": []
}
)");
}

TEST_CASE("json: a case with a worst word and evidence") {
  RunResult run = red_sample();
  run.cases.resize(1);
  const std::string text = document(run);
  CHECK(text.substr(text.find("\"cases\"")) == R"("cases": [
  {
   "id": "cpu.a/exact.dense24/)" + case_id(run, run.cases[0]).substr(20) +
                                                   R"(",
   "kernel": "cpu.a",
   "check": "exact.dense24",
   "problem": "m=4 n=64 k=512 g=128 zero=code",
   "required": true,
   "outcome": "fail",
   "reason": "sums are rounded to fp16 on the way: differs from the exact sum where a partial sum needs more than 11 bits",
   "where": "61 of 256 outputs, first y[0,3]",
   "repro": "kernel=cpu.a check=exact.dense24 m=4 n=64 k=512 g=128 zero=code",
   "calls": 0,
   "seconds": 0.0,
   "path": {
    "declared": "loop",
    "observed": "half",
    "reason": "",
    "launches": []
   },
   "evidence": {
    "kind": "sums",
    "wrong": 61,
    "ratio": 0.25
   },
   "worst": {
    "row": 0,
    "col": 3,
    "got_bits": "0x6b20",
    "want_lo_bits": "0x6b21",
    "want_hi_bits": "0x6b21",
    "ulps": -1
   },
   "smallest_fault": null,
   "signal": null
  }
 ]
}
)");
}

TEST_CASE("json: a crash carries its signal") {
  CHECK(holds(document(red_sample()), "\"signal\": 11"));
}

TEST_CASE("json: kernels that were never judged are named") {
  CHECK(holds(document(red_sample()), "\"never_judged\": [\n   \"cpu.b\"\n  ]"));
}

TEST_CASE("json: bytes that are no UTF-8 are replaced") {
  RunResult run = red_sample();
  run.cases[0].verdict.reason = "bad \xff byte";
  run.cases[0].verdict.evidence = Evidence(std::string("\xc3("));
  run.kernels[0].name = "cpu.\xfe";
  const std::string text = document(run);
  CHECK(holds(text, "bad \xef\xbf\xbd byte"));
  CHECK_FALSE(holds(text, "\xff"));
  CHECK_FALSE(holds(text, "\xfe"));
}

TEST_CASE("json: numbers that JSON cannot hold become words") {
  RunResult run = red_sample();
  run.cases[0].verdict.evidence =
      Evidence::List{std::nan(""), std::numeric_limits<double>::infinity(),
                     -std::numeric_limits<double>::infinity(), nullptr, true};
  std::string text = document(run);
  std::erase_if(text, [](char c) { return c == ' ' || c == '\n'; });
  CHECK(holds(text, R"("evidence":["nan","inf","-inf",null,true])"));
}

TEST_CASE("json: a list") {
  CHECK(list_json("kernels", {Evidence::Object{{"id", "cpu.a"}, {"device", "host"}}}) == R"({
 "kernels": [
  {
   "id": "cpu.a",
   "device": "host"
  }
 ]
}
)");
  CHECK(list_json("kernels", {}) == "{\n \"kernels\": []\n}\n");
}

}  // namespace w4
