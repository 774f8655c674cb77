// SPDX-License-Identifier: Apache-2.0
// Stored expectations of dispatch: which path a kernel takes on a problem, a line each, so that a
// silent change is red.
#pragma once

#include <map>
#include <string>

#include "harness/run/result.hpp"

namespace w4 {

// By kernel and problem shape (all keys but data, seed, v1zeros): the expected path.
using PathExpectations = std::map<std::string, std::string>;

// A file of `kernel=NAME path=PATH <problem line>` lines. Throws Error(input) `FILE:12: parse:
// cause`.
PathExpectations read_paths(const std::string& file);
void expect_path(PathExpectations&, const std::string& kernel, const Problem&,
                 const std::string& path);
// "" where nothing is said of that kernel and problem.
std::string expected_path(const PathExpectations&, const std::string& kernel, const Problem&);
// The lines of a run's accepted plans, each once, in canonical order; what `--record-paths` writes.
std::string paths_text(const RunResult&);

}  // namespace w4
