// SPDX-License-Identifier: Apache-2.0
// What a run leaves behind: kernels, problems and judged cases in canonical order. Every report is
// made from this alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/verdict.hpp"
#include "reference/problem.hpp"

namespace w4 {

struct RunKernel {
  std::string name;
  std::string plugin;  // as a repro says it; "" where it came from the default plugins
  bool on_device{};
  bool never_judged{};
};

struct RunProblem {
  Problem problem;
  std::string line;   // to_string(problem)
  std::string layer;  // for data=layer: the prefix, "   of PATH" where there are several
  std::string about;  // "gptq_v1, K 384, N 384, group 128, zero 8, act-order"; for layers
};

// What a kernel said about a problem before anything ran.
struct RunPlan {
  std::size_t kernel{}, problem{};  // indices
  bool accepted{};
  std::string path, reason;
};

struct RunCase {
  std::size_t kernel{}, problem{};  // indices
  std::string check;
  bool required{true};
  Verdict verdict;
  std::string repro;
  int calls{};
  double seconds{};
};

// What a search adds to a run; its problems and cases stand among the others.
struct RunSearch {
  bool done{};                        // there was one
  double seconds{};                   // asked for
  std::size_t problems{};             // distinct ones that at least one kernel took
  std::size_t declined{};             // drawn, but taken by none; not kept
  std::size_t shrunk{};               // failures, each shrunk to a smallest problem
  std::size_t enough{};               // so many failures end the search of a kernel
  std::vector<std::string> left_out;  // kernels that had shown enough: searched no further
};

struct RunResult {
  std::uint64_t seed{7};
  std::vector<RunKernel> kernels;
  std::vector<RunProblem> problems;
  std::vector<std::string> checks;  // selected ids in table order
  std::vector<RunPlan> plans;       // asked ones, in canonical order
  std::vector<RunCase> cases;
  RunSearch search;
  bool by_layer{};  // --layer: a row per kernel, layer and path
  bool interrupted{};
  std::string started;  // UTC, ISO 8601
  double wall_s{};
};

// Red: required and neither pass nor waived.
bool is_red(const RunCase&);
// The check reached an opinion: neither declined nor left out.
bool is_judged(const RunCase&);
bool is_reject(std::string_view check);
std::string group_of(std::string_view check);  // "address" of "address.code"

struct Counts {
  std::array<std::int64_t, 11> of{};  // by Outcome
  std::int64_t total{}, required{}, red{}, judged{};
  void add(const RunCase&);
  std::int64_t operator[](Outcome outcome) const { return of[static_cast<std::size_t>(outcome)]; }
};
Counts count(std::span<const RunCase>);

// 3 the harness failed in a case; 1 red; 2 nothing was judged, or interrupted; 0 otherwise.
int exit_code(const RunResult&);

// kernel/check/8 hex of FNV-1a over the problem line.
std::string case_id(const RunResult&, const RunCase&);

}  // namespace w4
