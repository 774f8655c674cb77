// SPDX-License-Identifier: Apache-2.0
// Plugin paths and their kernels.
#include "harness/run/plugins.hpp"

#include <filesystem>
#include <map>

#include "reference/error.hpp"

namespace w4 {

namespace fs = std::filesystem;

std::string program_folder() {
  std::error_code failed;
  const fs::path program = fs::read_symlink("/proc/self/exe", failed);
  return failed ? "." : program.parent_path().string();
}

std::string find_plugin(const std::string& name) {
  std::error_code ignored;
  const fs::path given(name), beside = fs::path(program_folder()) / given;
  if (given.is_relative() && !fs::exists(given, ignored) && fs::exists(beside, ignored))
    return beside.string();
  return name.find('/') == std::string::npos ? "./" + name : name;
}

namespace {

std::string label_of(const std::string& given, const std::string& found) {
  std::error_code ignored;
  const fs::path path(found);
  return fs::equivalent(path.parent_path(), program_folder(), ignored) ? path.filename().string()
                                                                       : given;
}

std::vector<std::string> default_plugins() {
  const fs::path folder = program_folder();
  std::vector<std::string> paths{(folder / "libw4_cpu.so").string()};
  std::error_code ignored;
  if (fs::exists(folder / "libw4_cuda.so", ignored))
    paths.push_back((folder / "libw4_cuda.so").string());
  return paths;
}

void refuse_doubles(const std::vector<LoadedPlugin>& plugins) {
  std::map<std::string, std::string> owner;
  for (const LoadedPlugin& plugin : plugins) {
    for (const auto& kernel : plugin.info->kernels) {
      const auto [at, is_new] = owner.emplace(kernel.name, plugin.info->path);
      if (!is_new)
        fail_input(plugin.info->path, "load",
                   "kernel " + kernel.name + " is also in " + at->second);
    }
  }
}

}  // namespace

std::vector<LoadedPlugin> load_plugins(const std::vector<std::string>& names,
                                       const WorkerLimits& limits) {
  std::vector<LoadedPlugin> plugins;
  for (const std::string& name : names.empty() ? default_plugins() : names) {
    const std::string path = names.empty() ? name : find_plugin(name);
    plugins.push_back({std::make_shared<PluginInfo>(inspect_plugin(path, limits)),
                       names.empty() ? "" : label_of(name, path)});
  }
  refuse_doubles(plugins);
  return plugins;
}

}  // namespace w4
