// SPDX-License-Identifier: Apache-2.0
// What a person sees: a header, one row a kernel, one paragraph a failure, the verdict last.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/run/environment.hpp"
#include "harness/run/result.hpp"

namespace w4 {

struct TextOptions {
  bool colour{};
  bool verbose{};                    // lists what was not judged case by case, and shows evidence
  std::vector<std::string> reports;  // files written
};

std::string header_text(std::uint64_t seed, const Environment&);
std::string run_text(const RunResult&, const TextOptions&);
// One case alone, for replay: its paragraph (a pass too), evidence if verbose, the verdict.
std::string case_text(const RunResult&, const TextOptions&);

// `  label    text`, wrapped at 100 columns under itself.
std::string labelled(std::string_view label, std::string_view text);

}  // namespace w4
