// SPDX-License-Identifier: Apache-2.0
// What each check is there for: a fault that it sees and no other check does. A check without such
// a fault could be taken away unnoticed.
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "harness/fault/catalogue.hpp"
#include "suites/support/judge.hpp"

namespace {

using namespace w4;

struct Row {
  std::string_view check, fault;
  std::string_view elsewhere{};  // where its fault is shown, if no host kernel can have it
};

constexpr Row rows[] = {
    {"address.code", "middle_swapped"},
    {"address.scale", "scale_saturates"},
    {"address.zero", "zero_hoisted"},
    {"address.x", "lone_x_shared"},
    {"value.table", "class_alone_wrong"},
    {"value.activation", "small_x_skipped"},
    {"exact.zero", "bias_lost_at_zero_x"},
    {"exact.onehot", "scale_unsigned_upper"},
    {"exact.dense24", "subtracts_in_16_bits"},
    {"exact.stride11", "hand_over_loses_term"},
    {"exact.block11", "full_tile_loses_term"},
    {"exact.samesign", "sum_saturates"},
    {"exact.special", "inf_sign_lost"},
    {"bound.d", "adds_in_17_bits"},
    {"bound.r", "adds_in_19_bits"},
    {"contract.bits", "order_claim_wrong"},
    {"effect.written", "adds_to_finite_y"},
    {"effect.guard", "loads_past_codes"},
    {"effect.inputs", "inputs_overwritten"},
    {"effect.repeat", "order_tuned_late"},
    {"effect.batch", "batch_variant"},
    {"effect.rowlocal", "row_leaks_up"},
    {"effect.m0", "reads_m0"},
    {"effect.stride", "x_gap_read"},
    {"effect.state", "ftz_left"},
    {"effect.threads", "threads_narrowed"},
    {"dispatch.path", "falls_back_at_tail"},
    {"dispatch.bits", "names_another"},
    {"dispatch.symbol", "", "suites/checks on a made-up device, cuda_mutant.launches_other"},
    {"reject.reason", "declines_without_reason"},
    {"reject.nowrite", "runs_what_it_declines"},
};

const Fault& fault_named(std::string_view id) {
  for (const Fault& fault : faults())
    if (fault.id == id) return fault;
  throw Error("no fault " + std::string(id), Blame::internal);
}

bool is_red(Outcome outcome) {
  return outcome == Outcome::fail || outcome == Outcome::fallback || outcome == Outcome::crashed ||
         outcome == Outcome::timed_out || outcome == Outcome::vacuous;
}

// Every check of the table on one kernel and problem, in workers as a run has them.
std::vector<std::string_view> red_checks(const std::string& kernel, std::string_view line) {
  const auto plugin = inspect_plugin(plugin_path("mutants"));
  const auto problem = parse_problem(std::string(line));
  const auto peer = [&](const std::string& name) -> std::unique_ptr<KernelPort> {
    return std::make_unique<Subject>(plugin, name, WorkerLimits{});
  };
  std::vector<std::string_view> red;
  auto subject = std::make_unique<Subject>(plugin, kernel, WorkerLimits{});
  const auto plan = subject->plan(problem);
  for (const Check& check : checks()) {
    if (check.fresh_worker) subject = std::make_unique<Subject>(plugin, kernel, WorkerLimits{});
    const auto verdict = check.run(*subject, CaseContext{problem, nullptr, plan, {}, peer});
    if (is_red(verdict.outcome)) red.push_back(check.id);
  }
  return red;
}

std::size_t rows_of(std::string_view check) {
  return static_cast<std::size_t>(std::count_if(
      std::begin(rows), std::end(rows), [&](const Row& row) { return row.check == check; }));
}

}  // namespace

TEST_CASE("every check has a row, with a fault of its own or the place where it is shown") {
  for (const Check& check : checks()) {
    INFO(check.id);
    CHECK(rows_of(check.id) == 1);
  }
  CHECK(std::size(rows) == checks().size());
  for (const Row& row : rows) {
    INFO(row.check);
    CHECK(row.fault.empty() != row.elsewhere.empty());
    if (row.fault.empty()) continue;
    CHECK(fault_named(row.fault).check == row.check);
    CHECK(fault_named(row.fault).only);
  }
}

TEST_CASE("the fault of a check turns that check red, and no other") {
  for (const Row& row : rows) {
    if (row.fault.empty()) continue;
    const Fault& fault = fault_named(row.fault);
    for (const std::string_view line : fault.problems) {
      if (line.empty()) continue;
      INFO(fault.id << " on " << line);
      CHECK(red_checks(kernel_of(fault), line) == std::vector<std::string_view>{row.check});
    }
  }
}

TEST_CASE("the healthy twin turns no check red") {
  for (const std::string_view line :
       {"m=4 n=32 k=256 g=32 zero=code", "m=4 n=32 k=2 zero=code y=f32"}) {
    INFO(line);
    CHECK(red_checks(std::string(healthy_twin), line).empty());
  }
}
