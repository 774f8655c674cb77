// SPDX-License-Identifier: Apache-2.0
// compressed-tensors pack-quantized, 4 bit integers.
#pragma once

#include "harness/checkpoint/checkpoint.hpp"
#include "harness/checkpoint/detect.hpp"

namespace w4 {

// Throws Error with the cause alone.
Layer read_compressed_tensors(const std::string& prefix, const Parts&, const QuantConfig* config);

}  // namespace w4
