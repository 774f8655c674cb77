// SPDX-License-Identifier: Apache-2.0
// What the two files of options share. CLI11 is named here and included there.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/w4check/command.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace w4 {

// What was said of each subcommand; `command` is the one that was chosen.
struct CommandLine {
  ListArgs list;
  RunArgs run;
  ReplayArgs replay;
  std::vector<std::string> repro;
  LayerArgs layer;
  BundleMakeArgs bundle_make;
  BundleJudgeArgs bundle_judge;
  GoldenRecordArgs golden_record;
  GoldenArgs golden;
  FaultsArgs faults;
  std::function<int()> command;
};

// One value an occurrence, all occurrences kept: a bare vector option would swallow what follows
// it.
CLI::Option* many(CLI::App*, const std::string& name, std::vector<std::string>& values,
                  const std::string& help);

void add_layer(CLI::App&, CommandLine&);
void add_bundle(CLI::App&, CommandLine&);
void add_golden(CLI::App&, CommandLine&);

}  // namespace w4
