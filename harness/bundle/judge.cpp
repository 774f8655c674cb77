// SPDX-License-Identifier: Apache-2.0
// The engine of `run` over the player: same cases, same verdicts, same reports.
#include <algorithm>
#include <set>

#include "harness/bundle/bundle.hpp"
#include "harness/bundle/player.hpp"
#include "harness/run/repro.hpp"
#include "reference/error.hpp"

namespace w4 {
namespace {

Suite suite_for(const Bundle& bundle, const std::vector<std::string>& wanted) {
  Suite suite;
  auto info = std::make_shared<PluginInfo>();
  info->path = bundle.path;
  info->kernels.push_back({bundle.kernel, W4_HOST});
  suite.kernels.push_back({{info, ""}, bundle.kernel, false, true, false, ""});
  std::set<std::string> recorded;
  for (const auto& of_problem : bundle.checks)
    recorded.insert(of_problem.begin(), of_problem.end());
  for (const Check& check : checks()) {
    const std::string id(check.id);
    const bool asked =
        wanted.empty() || std::find(wanted.begin(), wanted.end(), id) != wanted.end();
    if (asked && recorded.contains(id)) suite.checks.push_back(&check);
  }
  if (suite.checks.empty())
    fail_input(bundle.path, "judge", "none of the checks asked for is in this bundle");
  for (const Problem& p : bundle.problems) suite.problems.push_back({p, nullptr, "", "", true});
  suite.seed = bundle.problems.front().seed;
  return suite;
}

// What was not recorded for a problem (too large there) was not asked of the kernel either.
void drop_unrecorded(const Bundle& bundle, RunResult& run) {
  std::erase_if(run.cases, [&](const RunCase& c) {
    const auto& held = bundle.checks[c.problem];
    return std::find(held.begin(), held.end(), c.check) == held.end();
  });
}

std::vector<std::string> faults_of(const Bundle& bundle) {
  std::vector<std::string> faults;
  for (const auto& c : bundle.cases)
    if (!c.y_fault.empty()) faults.push_back(c.y_fault);
  return faults;
}

void check_filled(const Bundle& bundle) {
  const bool any = std::any_of(bundle.cases.begin(), bundle.cases.end(), [](const BundleCase& c) {
    return c.fault_kind != "not_written" && c.fault_kind != "missing";
  });
  if (!any)
    fail_input(bundle.path, "judge",
               "no output was filled in: write y of each group below /cases, " +
                   std::to_string(bundle.cases.size()) + " of them");
}

}  // namespace

BundleJudgement judge_bundle(const std::string& path, const std::vector<std::string>& wanted,
                             const std::vector<std::string>& claims, const Hooks& hooks) {
  auto bundle = std::make_shared<Bundle>(read_bundle(path));
  if (!claims.empty()) bundle->plans.claims = read_claims(claims);
  check_filled(*bundle);
  const Suite suite = suite_for(*bundle, wanted);
  const Bench bench{
      [&](const SuiteKernel&, const WorkerLimits&) -> std::unique_ptr<KernelPort> {
        return std::make_unique<Player>(bundle);
      },
      [](KernelPort& port, const Problem& p, Reply& reply) { return port.plan(p, &reply); }};
  BundleJudgement out;
  out.run = run_suite(suite, bench, hooks);
  drop_unrecorded(*bundle, out.run);
  const std::string source = "bundle:" + encode_value(path);
  for (RunCase& c : out.run.cases) c.repro += " data=" + source;
  out.cases = bundle->cases.size();
  out.faults = faults_of(*bundle);
  for (std::size_t i = 0; i < bundle->problems.size(); ++i)
    out.held.push_back({to_string(bundle->problems[i]), bundle->checks[i].size(), checks().size()});
  for (const Check& check : checks())
    if (const auto why = not_in_a_bundle(check.id); !why.empty())
      out.left_out.push_back({std::string(check.id), why});
  return out;
}

}  // namespace w4
