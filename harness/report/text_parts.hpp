// SPDX-License-Identifier: Apache-2.0
// The parts that the text report is made of.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "harness/report/text.hpp"

namespace w4 {

enum class Ink { red, green };
std::string paint(const std::string&, Ink, bool colour);

// One table, or one a layer: passed/judged by group of checks.
std::string kernel_tables(const RunResult&, bool colour);

// How many cases ended how; what was not judged, with its reasons.
std::string counts_text(const RunResult&, bool verbose);

// Red cases with the same kernel, check, outcome and reason: one cause, said once.
struct FailureGroup {
  std::size_t first{};             // index of the case that is shown
  std::vector<std::size_t> cases;  // all of them
};
std::vector<FailureGroup> failure_groups(const RunResult&);
std::string failure_text(const RunResult&, const FailureGroup&, const TextOptions&);
// The first causes of each kernel as paragraphs, the rest of them counted in one line (verbose: all
// as paragraphs).
std::string failures_text(const RunResult&, const TextOptions&);

}  // namespace w4
