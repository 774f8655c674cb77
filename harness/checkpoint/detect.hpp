// SPDX-License-Identifier: Apache-2.0
// Which tensors make a layer, and which format their names, types and shapes say it has.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "harness/checkpoint/checkpoint.hpp"

namespace w4 {

using Parts = std::map<std::string, const TensorView*>;  // name after the prefix -> tensor

// The quantised layers: prefix -> all tensors under it.
std::map<std::string, Parts> quantised_layers(const Checkpoint&);

struct Format {
  std::string reader;  // "gptq", "awq_gemm", "compressed_tensors", ...: of this build; "" for none
  std::string name;    // "AWQ GEMM (qweight [K, N/8])"
};
// Names and types come first, then shapes, then config. What has only some tensors of the GPTQ
// family is "gptq": its reader says what is missing.
Format detect_format(const Parts&, const QuantConfig* config);

// "qweight I32 [8, 32], scales F16 [2, 32]"
std::string describe(const Parts&);

}  // namespace w4
