// SPDX-License-Identifier: Apache-2.0
// `w4check replay`: one case again, alone, from the line that a failure printed.
#include "harness/report/log.hpp"
#include "harness/report/progress.hpp"
#include "harness/report/text.hpp"
#include "harness/run/interrupt.hpp"
#include "harness/run/repro.hpp"
#include "reference/error.hpp"
#include "tools/w4check/command.hpp"
#include "tools/w4check/session.hpp"
#include "tools/w4check/values.hpp"

namespace w4 {

namespace {

const std::string command = "w4check replay";

Repro read_repro(const std::string& text) try {
  return parse_repro(text);
} catch (const Error& error) {
  fail_input("repro", "parse", error.what());
}

// The one whose name is exactly this: a repro holds no globs.
template <typename T, typename NameOf>
T exactly(const std::vector<T>& chosen, const std::string& name, NameOf name_of) {
  for (const T& item : chosen) {
    if (name_of(item) == name) return item;
  }
  fail_input(command, "repro", "\"" + name + "\" is a pattern, one name is expected");
}

}  // namespace

int replay_command(const ReplayArgs& args) {
  const Repro repro = read_repro(args.repro);
  if (const std::string* data = repro.problem.find("data"); data && data->starts_with("bundle:"))
    return bundle_judge_command(
        {decode_value(data->substr(7)), "", args.json, args.junit, {repro.check}, args.verbose});
  watch_signals();
  Suite suite;
  suite.limits = read_timeout(args.timeout);
  suite.checks = {exactly(choose_checks({repro.check}, command), repro.check,
                          [](const Check* c) { return std::string(c->id); })};
  ReportFiles files = open_reports(args.json, args.junit);
  const std::vector<LoadedPlugin> plugins = load_plugins(
      repro.plugin.empty() ? std::vector<std::string>{} : std::vector{repro.plugin}, suite.limits);
  const Environment host = environment_with(plugins);
  suite.kernels = {exactly(choose_kernels(plugins, {repro.kernel}, command), repro.kernel,
                           [](const SuiteKernel& k) { return k.name; })};
  suite.kernels.front().literal = true;
  if (!repro.plugin.empty()) suite.kernels.front().plugin.label = repro.plugin;

  LayerStore store = layer_store();
  suite.problems = {resolve({"repro", repro.problem, true}, suite.seed, store)};
  if (!repro.path.empty())
    expect_path(suite.paths, repro.kernel, suite.problems.front().problem, repro.path);
  suite.seed = suite.problems.front().problem.seed;
  print(header_text(suite.seed, host));
  const RunResult run = run_watched(suite);
  write_reports(files, run, host);
  print(case_text(run, {colour_wanted(), args.verbose, files.paths()}));
  const int code = exit_code(run);
  if (code == 2 && !run.interrupted) log_error(command + ": cases: nothing ran");
  return code;
}

}  // namespace w4
