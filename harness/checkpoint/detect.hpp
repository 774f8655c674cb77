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

// "AWQ GEMM (qweight [K, N/8])" for a layer of a format that this build recognises but does not
// read; "" for the GPTQ family, damaged or not. Names and types come first, then shapes, then
// config.
std::string foreign_format(const Parts&, const QuantConfig* config);

// "qweight I32 [8, 32], scales F16 [2, 32]"
std::string describe(const Parts&);

}  // namespace w4
