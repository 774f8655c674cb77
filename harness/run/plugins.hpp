// SPDX-License-Identifier: Apache-2.0
// Finding and loading the plugins of a run.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "harness/subject/subject.hpp"

namespace w4 {

struct LoadedPlugin {
  std::shared_ptr<const PluginInfo> info;
  std::string label;  // as a repro says it; "" for the default plugins
};

std::string program_folder();

// As given, else beside the program; always with a slash, so that the loader searches nowhere else.
std::string find_plugin(const std::string& name);

// No names: libw4_cpu.so, and libw4_cuda.so where there is one, beside the program. Error(input)
// `path: load: cause`, also for a kernel name that two plugins share.
std::vector<LoadedPlugin> load_plugins(const std::vector<std::string>& names, const WorkerLimits&);

}  // namespace w4
