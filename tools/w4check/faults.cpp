// SPDX-License-Identifier: Apache-2.0
// `w4check faults`: every deliberate wrong against every check, and the healthy twin beside them.
#include "harness/fault/report.hpp"
#include "harness/report/json.hpp"
#include "harness/report/log.hpp"
#include "harness/report/progress.hpp"
#include "harness/report/text.hpp"
#include "harness/run/interrupt.hpp"
#include "harness/run/select.hpp"
#include "tools/w4check/command.hpp"
#include "tools/w4check/session.hpp"
#include "tools/w4check/values.hpp"

namespace w4 {

namespace {

const std::string command = "w4check faults";

std::vector<const Fault*> choose_faults(const std::vector<std::string>& patterns) {
  std::vector<std::string> kernels;
  for (const Fault& fault : faults()) kernels.push_back(kernel_of(fault));
  const Selection selection = select({kernels.begin(), kernels.end()}, patterns, command, "kernel");
  std::vector<const Fault*> chosen;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (selection.chosen[i]) chosen.push_back(&faults()[i]);
  }
  return chosen;
}

}  // namespace

int faults_command(const FaultsArgs& args) {
  watch_signals();
  const std::vector<const Fault*> chosen = choose_faults(args.kernels);
  const WorkerLimits limits = read_timeout(args.timeout);
  const int jobs = read_jobs(args.jobs);
  ReportFiles files = open_reports(args.json, "");
  const Environment host = this_environment();
  const std::vector<SuiteKernel> mutants =
      choose_kernels(load_plugins({"libw4_mutants.so"}, limits), {}, command);
  print(header_text(7, host));
  Progress progress;
  Hooks hooks;
  hooks.stop = interrupted;
  hooks.progress = [&progress](std::size_t done, std::size_t total, const std::string& what) {
    progress.show(done, total, what);
  };
  const FaultMatrix matrix = run_faults(chosen, mutants, jobs, limits, worker_bench(), hooks);
  progress.clear();
  if (files.json != nullptr) files.json->commit(document_json(matrix_document(matrix)));
  print(matrix_text(matrix, args.verbose));
  for (const std::string& path : files.paths()) print("report: " + path + "\n");
  return exit_code(matrix);
}

}  // namespace w4
