// SPDX-License-Identifier: Apache-2.0
// Glue between the engine and the reports.
#include "tools/w4check/session.hpp"

#include <cerrno>
#include <cstdio>

#include "harness/report/json.hpp"
#include "harness/report/junit.hpp"
#include "harness/report/log.hpp"
#include "harness/report/progress.hpp"
#include "harness/run/interrupt.hpp"
#include "harness/run/select.hpp"
#include "harness/search/search.hpp"

namespace w4 {

std::vector<std::string> ReportFiles::paths() const {
  std::vector<std::string> out;
  for (const auto* file : {json.get(), junit.get()}) {
    if (file != nullptr) out.push_back(file->path());
  }
  return out;
}

ReportFiles open_reports(const std::string& json, const std::string& junit) {
  ReportFiles files;
  if (!json.empty()) files.json = std::make_unique<OutputFile>(json);
  if (!junit.empty()) files.junit = std::make_unique<OutputFile>(junit);
  return files;
}

Environment environment_with(const std::vector<LoadedPlugin>& plugins) {
  Environment host = this_environment();
  for (const LoadedPlugin& plugin : plugins) {
    if (plugin.info->device.empty()) continue;
    host.device = plugin.info->device;
    host.driver = plugin.info->driver;
  }
  return host;
}

std::vector<SuiteKernel> choose_kernels(const std::vector<LoadedPlugin>& plugins,
                                        const std::vector<std::string>& patterns,
                                        const std::string& command) {
  std::vector<SuiteKernel> all;
  for (const LoadedPlugin& plugin : plugins) {
    for (const auto& kernel : plugin.info->kernels) {
      const bool on_device = kernel.device != W4_HOST;
      all.push_back({plugin, kernel.name, on_device, false, !patterns.empty(),
                     on_device && !plugin.info->no_device.empty()
                         ? "no CUDA device: " + plugin.info->no_device
                         : ""});
    }
  }
  std::vector<std::string_view> names;
  for (const SuiteKernel& kernel : all) names.push_back(kernel.name);
  const Selection selection = select(names, patterns, command, "kernel");
  std::vector<SuiteKernel> chosen;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!selection.chosen[i]) continue;
    all[i].literal = selection.literal[i];
    chosen.push_back(std::move(all[i]));
  }
  return chosen;
}

std::vector<const Check*> choose_checks(const std::vector<std::string>& patterns,
                                        const std::string& command) {
  std::vector<std::string_view> ids;
  for (const Check& check : checks()) ids.push_back(check.id);
  const Selection selection = select(ids, patterns, command, "check");
  std::vector<const Check*> chosen;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (selection.chosen[i]) chosen.push_back(&checks()[i]);
  }
  return chosen;
}

LayerStore layer_store() {
  return LayerStore([](const std::string& line) { log_warning(line); });
}

RunResult run_watched(const Suite& suite, double search_seconds) {
  Progress progress;
  Hooks hooks;
  hooks.stop = interrupted;
  hooks.progress = [&progress](std::size_t done, std::size_t total, const std::string& kernel) {
    progress.show(done, total, kernel);
  };
  if (search_seconds <= 0) return run_suite(suite, worker_bench(), hooks);
  // Whether a kernel was ever judged is settled after the search.
  Suite listed = suite;
  for (SuiteKernel& kernel : listed.kernels) kernel.must_be_judged = false;
  RunResult run = run_suite(listed, worker_bench(), hooks);
  if (!run.interrupted) {
    SearchOptions options;
    options.seconds = search_seconds;
    search(suite, options, worker_bench(), hooks, run);
  }
  return run;
}

void write_reports(ReportFiles& files, const RunResult& run, const Environment& host) {
  if (files.json != nullptr) files.json->commit(run_json(run, host));
  if (files.junit != nullptr) files.junit->commit(run_junit(run));
}

namespace {
int first_output_error = 0;
}

void print(const std::string& text) {
  errno = 0;
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if ((std::fflush(stdout) != 0 || !written) && first_output_error == 0)
    first_output_error = errno != 0 ? errno : EIO;
}

int output_error() {
  return first_output_error;
}

}  // namespace w4
