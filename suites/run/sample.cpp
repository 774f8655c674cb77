// SPDX-License-Identifier: Apache-2.0
// Builds the sample runs.
#include "suites/run/sample.hpp"

#include "harness/run/repro.hpp"

namespace w4 {

namespace {

RunProblem problem(const std::string& line, const std::string& layer = "") {
  return {parse_problem(line), line, layer, layer.empty() ? "" : "gptq_v1, K 16"};
}

RunCase& add(RunResult& run, std::size_t kernel, std::size_t at, const std::string& check,
             Verdict verdict, const std::string& path) {
  RunCase c;
  c.kernel = kernel;
  c.problem = at;
  c.check = check;
  c.verdict = std::move(verdict);
  c.verdict.path_declared = path;
  c.repro = make_repro(run.kernels[kernel].name, check, "", run.problems[at].line);
  run.cases.push_back(std::move(c));
  return run.cases.back();
}

Verdict half_sums() {
  Verdict verdict = failed(
      "sums are rounded to fp16 on the way: differs from the exact sum where a partial sum needs "
      "more than 11 bits",
      Evidence::Object{{"kind", "sums"}, {"wrong", 61}, {"ratio", 0.25}});
  verdict.where = "61 of 256 outputs, first y[0,3]";
  verdict.worst = Worst{0, 3, 0x6b20, 0x6b21, 0x6b21, -1};
  verdict.path_observed = "half";
  return verdict;
}

}  // namespace

RunResult green_sample() {
  RunResult run;
  run.kernels = {{"cpu.a", "", false, false}, {"cuda.b", "", true, false}};
  run.problems = {problem("m=1 n=8 k=16"), problem("m=2 n=8 k=16")};
  run.checks = {"address.code", "address.zero", "exact.zero", "reject.reason"};
  add(run, 0, 0, "address.code", passed("every (k, n) reads its own code"), "gemv");
  add(run, 0, 0, "address.zero", with(Outcome::unsupported, "zero=8 stores no zero point"), "gemv")
      .required = false;
  add(run, 0, 0, "exact.zero", passed("all words are zero"), "gemv");
  add(run, 0, 0, "reject.reason", passed("every contradiction is refused"), "gemv");
  add(run, 0, 1, "exact.zero", passed("all words are zero"), "tiled");
  add(run, 1, 0, "address.code", with(Outcome::not_run, "no CUDA device"), "").required = false;
  return run;
}

RunResult red_sample() {
  RunResult run;
  run.kernels = {{"cpu.a", "", false, false}, {"cpu.b", "", false, true}};
  run.problems = {problem("m=4 n=64 k=512 g=128 zero=code"), problem("m=1 n=8 k=16")};
  run.checks = {"exact.dense24", "exact.zero", "reject.reason"};
  add(run, 0, 0, "exact.dense24", half_sums(), "loop");
  Verdict crashed = with(Outcome::crashed, "signal 11 (SIGSEGV) inside run");
  crashed.signal = 11;
  add(run, 0, 0, "exact.zero", crashed, "loop");
  add(run, 0, 1, "exact.dense24", half_sums(), "loop");
  add(run, 0, 1, "exact.zero", failed("something else"), "loop");
  add(run, 0, 1, "exact.zero", passed("all words are zero"), "loop");
  add(run, 1, 0, "exact.zero", with(Outcome::unsupported, "no act-order"), "");
  add(run, 1, 0, "reject.reason", passed("every contradiction is refused"), "");
  return run;
}

RunResult layer_sample() {
  RunResult run;
  run.by_layer = true;
  run.kernels = {{"cpu.a", "", false, false}, {"cpu.b", "", false, false}};
  run.problems = {problem("m=1 n=8 k=16", "enc.q"), problem("m=8 n=8 k=16", "enc.q"),
                  problem("m=9 n=8 k=16", "enc.q"), problem("m=1 n=8 k=16", "enc.v")};
  run.checks = {"exact.zero"};
  run.plans = {{0, 0, true, "gemv", "one row"},   {0, 1, true, "tiled", ""},
               {0, 2, true, "tiled", ""},         {0, 3, true, "gemv", "one row"},
               {1, 0, false, "", "no act-order"}, {1, 1, false, "", "no act-order"}};
  add(run, 0, 0, "exact.zero", passed("so"), "gemv").verdict.path_reason = "one row";
  add(run, 0, 1, "exact.zero", passed("so"), "tiled");
  add(run, 0, 1, "exact.zero", passed("so"), "tiled");
  add(run, 0, 3, "exact.zero", passed("so"), "gemv").verdict.path_reason = "one row";
  add(run, 1, 0, "exact.zero", with(Outcome::unsupported, "no act-order"), "").required = false;
  add(run, 1, 1, "exact.zero", with(Outcome::unsupported, "no act-order"), "").required = false;
  return run;
}

}  // namespace w4
