// SPDX-License-Identifier: Apache-2.0
// `w4check run`: judges kernels on problems.
#include <algorithm>

#include "harness/report/log.hpp"
#include "harness/report/progress.hpp"
#include "harness/report/text.hpp"
#include "harness/run/interrupt.hpp"
#include "harness/run/select.hpp"
#include "reference/error.hpp"
#include "tools/w4check/command.hpp"
#include "tools/w4check/session.hpp"
#include "tools/w4check/values.hpp"

namespace w4 {

namespace {

const std::string command = "w4check run";

void check_usage(const RunArgs& args) {
  for (const auto& [option, value] :
       {std::pair<const char*, const std::string&>{"--prefix", args.prefix},
        {"--batch", args.batch},
        {"--v1-zeros", args.v1_zeros}}) {
    if (!value.empty() && args.layers.empty())
      fail_input(command, "arguments", std::string(option) + " needs --layer");
  }
  if (!args.search.empty() && !args.layers.empty())
    fail_input(command, "arguments", "--search draws its own weights: not together with --layer");
  if (!args.require.empty() && args.require != "gpu") {
    fail_input(command, "arguments",
               "--require \"" + args.require + "\": only gpu can be required");
  }
}

// One reader for every --layer, or one for each in their order.
std::vector<V1Zeros> readers_of(const RunArgs& args) {
  const std::vector<std::string> words = split_list(args.v1_zeros, ',');
  if (words.size() <= 1) return {args.layers.size(), read_v1_zeros(args.v1_zeros)};
  if (words.size() != args.layers.size())
    fail_input(command, "arguments",
               "--v1-zeros names " + std::to_string(words.size()) + " readers for " +
                   std::to_string(args.layers.size()) + " --layer");
  std::vector<V1Zeros> readers;
  for (const std::string& word : words) readers.push_back(read_v1_zeros(word));
  return readers;
}

void add_layer_lines(const RunArgs& args, const std::string& layer, V1Zeros reader,
                     LayerStore& store, std::vector<ProblemLine>& lines) {
  const std::vector<std::int64_t> batches = read_batches(args.batch);
  const std::vector<std::string> prefixes =
      args.prefix.empty() ? store.prefixes(layer) : std::vector{args.prefix};
  for (const std::string& prefix : prefixes) {
    for (const std::int64_t m : batches) {
      lines.push_back({layer, store.line_for(layer, prefix, reader, m), false});
    }
  }
}

std::vector<ProblemLine> gather_lines(const RunArgs& args, LayerStore& store) {
  std::vector<ProblemLine> lines;
  for (const std::string& text : args.problems) {
    lines.push_back(problem_line("--problem", text));
    lines.back().literal = true;
  }
  if (!args.list.empty()) {
    const std::vector<ProblemLine> more = read_problem_list(args.list);
    lines.insert(lines.end(), more.begin(), more.end());
  }
  const std::vector<V1Zeros> readers = readers_of(args);
  for (std::size_t i = 0; i < args.layers.size(); ++i)
    add_layer_lines(args, args.layers[i], readers[i], store, lines);
  if ((lines.empty() && args.search.empty()) || args.smoke) {
    const std::vector<ProblemLine> more = problem_lines("smoke", smoke_list());
    lines.insert(lines.end(), more.begin(), more.end());
  }
  return lines;
}

void require_device(const Suite& suite) {
  const bool any = std::any_of(suite.kernels.begin(), suite.kernels.end(),
                               [](const auto& k) { return k.on_device; });
  if (suite.require_gpu && !any)
    fail_input(command, "--require gpu", "no device kernel is selected");
}

}  // namespace

int run_command(const RunArgs& args) {
  watch_signals();
  check_usage(args);
  Suite suite;
  suite.limits = read_timeout(args.timeout);
  suite.jobs = read_jobs(args.jobs);
  suite.checks = choose_checks(args.checks, command);
  suite.require_gpu = args.require == "gpu";
  suite.by_layer = !args.layers.empty();
  const double seconds = read_search(args.search);
  if (args.seed != "random") read_seed(args.seed);
  if (!args.paths.empty()) suite.paths = read_paths(args.paths);
  std::vector<std::string> inputs = args.layers;
  inputs.insert(inputs.end(), {args.list, args.paths});
  for (const std::string& plugin : args.plugins) inputs.push_back(find_plugin(plugin));
  std::erase(inputs, "");
  for (const std::string& out : {args.json, args.junit, args.record_paths})
    keep_inputs(out, inputs);
  if (!args.json.empty() && args.json == args.junit)
    fail_input(args.json, "arguments", "--json and --junit name the same file");
  ReportFiles files = open_reports(args.json, args.junit);
  std::unique_ptr<OutputFile> paths;
  if (!args.record_paths.empty()) paths = std::make_unique<OutputFile>(args.record_paths);
  const std::vector<LoadedPlugin> plugins = load_plugins(args.plugins, suite.limits);
  const Environment host = environment_with(plugins);
  suite.kernels = choose_kernels(plugins, args.kernels, command);
  require_device(suite);
  suite.seed = read_seed(args.seed);

  LayerStore store = layer_store();
  suite.problems = resolve_all(gather_lines(args, store), suite.seed, store);
  const bool smoke = args.smoke || (args.problems.empty() && args.list.empty() &&
                                    args.layers.empty() && args.search.empty());
  for (SuiteKernel& kernel : suite.kernels) kernel.must_be_judged |= smoke && !args.plugins.empty();

  print(header_text(suite.seed, host));
  const RunResult run = run_watched(suite, seconds);
  write_reports(files, run, host);
  if (paths) paths->commit(paths_text(run));
  print(run_text(run, {colour_wanted(), args.verbose, files.paths()}));
  const int code = exit_code(run);
  if (code == 2 && !run.interrupted)
    log_error(command + ": cases: nothing ran: no kernel was judged on any problem");
  return code;
}

}  // namespace w4
