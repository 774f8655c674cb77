// SPDX-License-Identifier: Apache-2.0
// The one line that replays a case: `kernel=... check=... [plugin=...] [path=...]` and the
// problem's own line.
#pragma once

#include <string>
#include <string_view>

#include "reference/problem.hpp"

namespace w4 {

struct Repro {
  std::string kernel, check;
  std::string plugin;  // "": the default plugins
  std::string path;    // the expected path (harness/run/paths.hpp), "": none
  Line problem;        // the problem's own pairs
};

// plugin "" and path "" are left out.
std::string make_repro(const std::string& kernel, const std::string& check,
                       const std::string& plugin, const std::string& problem_line,
                       const std::string& path = {});
// Throws Error (the cause only) for unknown keys and for a missing kernel= or check=.
Repro parse_repro(std::string_view text);

}  // namespace w4
