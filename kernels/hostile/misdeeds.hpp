// SPDX-License-Identifier: Apache-2.0
// The rows, a file each: memory, the process, and what is said in plan() and run().
#pragma once

#include <span>

#include "kernels/hostile/model.hpp"

namespace w4 {

std::span<const Misdeed> memory_misdeeds();
std::span<const Misdeed> process_misdeeds();
std::span<const Misdeed> answer_misdeeds();

}  // namespace w4
