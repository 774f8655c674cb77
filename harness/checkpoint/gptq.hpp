// SPDX-License-Identifier: Apache-2.0
// GPTQ v1 and v2: what the tensors say, what the config says, and who wins.
#pragma once

#include "harness/checkpoint/checkpoint.hpp"
#include "harness/checkpoint/detect.hpp"

namespace w4 {

// Throws Error with the cause alone.
Layer read_gptq(const std::string& prefix, const Parts&, const QuantConfig* config, V1Zeros reader);

}  // namespace w4
