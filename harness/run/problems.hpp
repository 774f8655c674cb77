// SPDX-License-Identifier: Apache-2.0
// From problem lines (command line, list files, the built-in list, layers) to resolved problems.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/check.hpp"
#include "harness/run/layers.hpp"
#include "reference/problem.hpp"

namespace w4 {

struct SuiteProblem {
  Problem problem;
  std::shared_ptr<const LayerData> layer;  // null for data=gen
  std::string prefix, about;               // of the layer
  bool literal{};                          // named by --problem or by a repro
};

struct ProblemLine {
  std::string where;  // "--problem", "smoke.txt:12": the path of a message
  Line line;
  bool literal{};
};

std::string_view smoke_list();  // fixtures/problems/smoke.txt

// One problem a line; empty lines and comments (# at the start or after white space) are left out.
// Errors: `NAME:12: parse: cause`, `NAME: list: no problems`.
std::vector<ProblemLine> problem_lines(const std::string& name, std::string_view text);
std::vector<ProblemLine> read_problem_list(const std::string& path);
ProblemLine problem_line(const std::string& where, std::string_view text);

// A line without seed= takes `seed`. Layers are opened and compared with what the line says.
// Error(input) with path.
SuiteProblem resolve(const ProblemLine&, std::uint64_t seed, LayerStore&);
// All lines; a problem met twice is kept once and warned about through `store`.
std::vector<SuiteProblem> resolve_all(const std::vector<ProblemLine>&, std::uint64_t seed,
                                      LayerStore& store);

}  // namespace w4
