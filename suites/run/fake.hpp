// SPDX-License-Identifier: Apache-2.0
// Kernels and checks without processes: the engine's rules can be tried where every answer is
// known.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "harness/run/engine.hpp"

namespace w4 {

// What a fake kernel plans and how fake checks end on it, keyed by "kernel/m" and "kernel/check/m".
// Default: accepted by path "loop", pass.
struct Script {
  std::map<std::string, Plan> plans;
  std::map<std::string, End> plan_ends;
  std::map<std::string, Outcome> outcomes;
  std::map<std::string, std::string> throws;
};

// The script of the next run, and what ran: "kernel/check/m", in the order of completion.
void set_script(Script);
std::vector<std::string> ran();

Plan declined(const std::string& reason);

// Checks "alpha.one" (per problem), "alpha.two" (per geometry), "beta.once" (per kernel),
// "reject.reason" (per kernel).
std::vector<const Check*> fake_checks();
Suite fake_suite(const std::vector<std::string>& kernels, const std::vector<std::string>& lines);
Bench fake_bench();

// "kernel check m outcome", one a case.
std::vector<std::string> told(const RunResult&);

}  // namespace w4
