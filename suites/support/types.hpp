// SPDX-License-Identifier: Apache-2.0
// Every combination of x, mul and y, for what must hold whatever the types.
#pragma once

#include <string>
#include <vector>

#include "reference/error.hpp"
#include "reference/problem.hpp"

namespace w4 {

// `line` with each x=, mul= and y= that it can have.
inline std::vector<std::string> lines_of_types(const std::string& line) {
  std::vector<std::string> lines;
  for (const char* x : {"f16", "bf16", "f32", "e4m3", "s8", "s4"})
    for (const char* mul : {"f16", "bf16", "f32", "e4m3", "s8", "s4"})
      for (const char* y : {"f16", "bf16", "f32", "s32"}) {
        const std::string typed = line + " x=" + x + " mul=" + mul + " y=" + y;
        try {
          parse_problem(typed);
        } catch (const Error&) {
          continue;  // they do not go together
        }
        lines.push_back(typed);
      }
  return lines;
}

}  // namespace w4
