// SPDX-License-Identifier: Apache-2.0
// A run as CI systems read it: JUnit XML, one test suite a kernel.
#pragma once

#include <string>

#include "harness/run/result.hpp"

namespace w4 {

// Red cases are failures (errors where the kernel died or the harness failed); what is neither red
// nor green is skipped.
std::string run_junit(const RunResult&);

}  // namespace w4
