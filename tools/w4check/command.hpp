// SPDX-License-Identifier: Apache-2.0
// The subcommands as plain functions: what the command line said, in; an exit code, out.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace w4 {

struct ListArgs {
  std::string what;  // kernels, checks, faults, layouts
  std::vector<std::string> plugins;
  std::string json;
};

struct RunArgs {
  std::vector<std::string> plugins, kernels, checks, problems;
  std::vector<std::string> layers;
  bool smoke{};  // the built-in list besides what else is named
  std::string list, paths, record_paths, prefix, batch, v1_zeros, search, seed, require, json,
      junit, jobs, timeout;
  bool verbose{};
};

struct ReplayArgs {
  std::string repro, json, junit, timeout;
  bool verbose{};
};

struct FaultsArgs {
  std::vector<std::string> kernels;
  std::string json, jobs, timeout;
  bool verbose{};
};

struct LayerArgs {
  std::string path, prefix, v1_zeros, to, out;
};

struct BundleMakeArgs {
  std::vector<std::pair<std::string, std::string>> keys;  // of the problem line; "": not given
  std::vector<std::string> problems;
  std::string list, kernel, contract, claim, seed, out;
};

struct BundleJudgeArgs {
  std::string path, claim, json, junit;
  std::vector<std::string> checks;
  bool verbose{};
};

struct GoldenRecordArgs {
  std::vector<std::string> problems;
  std::string list, layer, v1_zeros, kernel, plugin, commit, reference, seed, out;
};

struct GoldenArgs {
  std::vector<std::string> paths;
  std::string json;
};

// Throw Error for usage and unusable input (exit 2) or the harness itself (exit 3).
int list_command(const ListArgs&);
int run_command(const RunArgs&);
int replay_command(const ReplayArgs&);
int faults_command(const FaultsArgs&);
int layer_show_command(const LayerArgs&);
int layer_unpack_command(const LayerArgs&);
int layer_pack_command(const LayerArgs&);
int layer_convert_command(const LayerArgs&);
int bundle_make_command(const BundleMakeArgs&);
int bundle_judge_command(const BundleJudgeArgs&);
int golden_record_command(const GoldenRecordArgs&);
int golden_verify_command(const GoldenArgs&);
int golden_show_command(const GoldenArgs&);
int golden_diff_command(const GoldenArgs&);

// What to do for this command line. Help and version print and return 0. Throws Error
// `w4check run: arguments: cause`.
std::function<int()> parse_command_line(int argc, char** argv);

}  // namespace w4
