// SPDX-License-Identifier: Apache-2.0
// Small runs with known contents, for tests of the reports.
#pragma once

#include "harness/run/result.hpp"

namespace w4 {

RunResult green_sample();  // two kernels, one without its device
RunResult red_sample();  // one cause twice, a crash, another cause, a kernel that was never judged
RunResult layer_sample();  // two layers, two kernels, two paths

}  // namespace w4
