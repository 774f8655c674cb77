// SPDX-License-Identifier: Apache-2.0
// `layer convert` and the writing half of `layer pack`: a decoded layer as a checkpoint of another
// format.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/checkpoint/checkpoint.hpp"

namespace w4 {

// The layouts that a checkpoint can have: gptq_v1, gptq_v2, awq_gemm, ..., compressed_tensors.
const std::vector<std::string>& checkpoint_layouts();

struct NewLayer {
  std::string prefix;
  QuantizedMatrix matrix;  // in any zero form; its own bias is not written
  std::string bias_dtype;  // "": no bias
  std::vector<std::byte> bias;
};

// Writes OUT (*.safetensors) and its `<stem>.config.json`, which open_checkpoint and read_layer
// (with reader D1) read back as the same weight: that is checked before anything is written.
// Returns what read_layer warns of the new layer. Throws Error(input) `in: convert: cause` where
// the layout cannot express the matrix, which is what file `in` holds; `out: convert: cause` for a
// layout or a name that no checkpoint has, `out: write: cause`.
std::vector<std::string> write_layer(const NewLayer&, const std::string& layout,
                                     const std::string& in, const std::string& out);

struct Converted {
  std::string prefix, from;           // the format that was read
  std::vector<std::string> warnings;  // `path: prefix: what`
};
// Reads one layer (prefix "": the only one) and writes it; other tensors of the checkpoint are left
// out.
Converted convert_layer(const std::string& in, const std::string& prefix, V1Zeros reader,
                        const std::string& to_layout, const std::string& out);

}  // namespace w4
