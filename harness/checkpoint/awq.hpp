// SPDX-License-Identifier: Apache-2.0
// AWQ GEMM, GEMV and GEMV-fast (AutoAWQ's, and llm-awq's names for the last).
#pragma once

#include "harness/checkpoint/checkpoint.hpp"
#include "harness/checkpoint/detect.hpp"

namespace w4 {

// format: "awq_gemm", "awq_gemv", "awq_gemv_fast". Throws Error with the cause alone.
Layer read_awq(const std::string& format, const std::string& prefix, const Parts&,
               const QuantConfig* config);

}  // namespace w4
