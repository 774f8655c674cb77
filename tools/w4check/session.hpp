// SPDX-License-Identifier: Apache-2.0
// What `run` and `replay` share: choosing from the loaded plugins, running, writing the reports.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "harness/report/output_file.hpp"
#include "harness/run/engine.hpp"
#include "harness/run/environment.hpp"

namespace w4 {

struct ReportFiles {
  std::unique_ptr<OutputFile> json, junit;
  std::vector<std::string> paths() const;
};
ReportFiles open_reports(const std::string& json, const std::string& junit);

// Patterns choose among the kernels of all plugins; none: all. `command` begins the message where
// one matches nothing.
// The host, with the device that a plugin's worker found.
Environment environment_with(const std::vector<LoadedPlugin>&);
std::vector<SuiteKernel> choose_kernels(const std::vector<LoadedPlugin>&,
                                        const std::vector<std::string>& patterns,
                                        const std::string& command);
std::vector<const Check*> choose_checks(const std::vector<std::string>& patterns,
                                        const std::string& command);

// Prints warnings as they come.
LayerStore layer_store();

// Runs with progress and signals; then a search of so many seconds, if more than 0.
RunResult run_watched(const Suite&, double search_seconds = 0);
void write_reports(ReportFiles&, const RunResult&, const Environment&);
void print(const std::string&);
int output_error();  // errno of the first print() that failed, 0: none

}  // namespace w4
