// SPDX-License-Identifier: Apache-2.0
// Stands in for draw.cpp in a build without RapidCheck, as for a bare GPU host.
#include "harness/search/draw.hpp"
#include "reference/error.hpp"

namespace w4 {

Problem draw_problem(std::uint64_t, std::uint64_t) {
  fail_input("w4check run", "--search", "this build has no RapidCheck");
}

}  // namespace w4
