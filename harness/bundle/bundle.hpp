// SPDX-License-Identifier: Apache-2.0
// Offline bundles: the calls that the checks make, in a file; outputs of any kernel in any
// language, back; the verdicts of `run`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "harness/run/engine.hpp"

namespace w4 {

inline constexpr char bundle_schema[] = "w4check.bundle/1";

struct BundleOptions {
  std::vector<SuiteProblem> problems;
  std::string kernel{"bundle"};                   // its name in reports
  std::string contract;                           // as w4_plan has it, "dequant=D1 partials=f16"
  std::vector<std::string> claims{"repeatable"};  // of: repeatable batch_invariant row_local
  std::uint64_t seed{7};
  std::string out;
  std::function<bool()> stop;  // asked before each call: nothing is written once it says true
};

struct LeftOut {
  std::string check, why;
};

struct BundleSummary {
  std::size_t problems{}, cases{};
  std::int64_t bytes{};           // of the file
  std::vector<LeftOut> left_out;  // checks that a bundle cannot hold, each once
};

// Bits of w4_plan.claims. Throws Error (the cause only) for an unknown word.
std::uint64_t read_claims(const std::vector<std::string>&);

// Runs every check that a bundle can hold on a recorder and writes what it asks. Only operands are
// written, and y as a blank that reads as the call's poison. Error(input) `path: step: cause`,
// `path: write: interrupted` where `stop` said so.
BundleSummary make_bundle(const BundleOptions&);

// Of the table's checks, how many a bundle holds for a problem.
struct HeldChecks {
  std::string problem;
  std::size_t held{}, of{};
};

struct BundleJudgement {
  RunResult run;
  std::size_t cases{};
  std::vector<std::string> faults;  // missing, misshapen and untouched outputs, a sentence each
  std::vector<LeftOut> left_out;
  std::vector<HeldChecks> held;  // of each problem
};

// The verdicts on what was filled in. `checks` ids to judge, empty: all that are recorded. A
// non-empty `claims` replaces the file's. Error(input) `path: judge: cause` where no output was
// filled in, or no check is left.
BundleJudgement judge_bundle(const std::string& path, const std::vector<std::string>& checks,
                             const std::vector<std::string>& claims, const Hooks&);

}  // namespace w4
