// SPDX-License-Identifier: Apache-2.0
// A case's context without a kernel, for tests of data and judgement.
#pragma once

#include <string>

#include "harness/check.hpp"

namespace w4 {

struct LooseContext {
  explicit LooseContext(const std::string& line)
      : problem(parse_problem(line)), context{problem, nullptr, {}} {}
  Problem problem;
  CaseContext context;
};

}  // namespace w4
