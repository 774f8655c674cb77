// SPDX-License-Identifier: Apache-2.0
// Reads and resets the floating-point control of this thread, which a kernel may leave changed.
#pragma once

#include "harness/worker/protocol.hpp"

namespace w4 {

// Control bits only: rounding, flush-to-zero, denormals-are-zero, exception masks, x87 precision.
// On other machines than x86-64 and AArch64 (FPCR, in mxcsr) both words are 0.
wire::FloatBits read_float_state();
// Round to nearest, subnormals kept, exceptions masked: the state a process starts with.
void reset_float_state();

}  // namespace w4
