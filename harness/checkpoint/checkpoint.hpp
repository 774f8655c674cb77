// SPDX-License-Identifier: Apache-2.0
// Quantised checkpoints: what tensors a file, a sharded index or a folder holds, and which layers
// they make.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reference/layout/layout.hpp"
#include "reference/problem.hpp"
#include "reference/quantized.hpp"

namespace w4 {

struct QuantConfig;  // config.hpp

// One tensor of a safetensors file, in the mapping.
struct TensorView {
  std::string dtype;  // "I32", "F16", "BF16", ...
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;
  std::string file;  // for messages
};

struct Checkpoint {
  std::string path;  // as the user gave it
  std::string file;  // base name of the file or index that was read; of the folder else
  std::map<std::string, TensorView> tensors;  // all shards
  std::vector<std::shared_ptr<const void>> mappings;
  std::size_t shards{1};
  std::vector<std::string> warnings;  // `prefix: what`, without the leading "warning: path: "
  std::string configs_json;           // text of the config that is taken; "" if none was found
  std::shared_ptr<const QuantConfig> config;  // the same, read; null if none was found
};

// PATH: a .safetensors file, a *.index.json, or a folder. Throws Error(input) `path: step: cause`.
Checkpoint open_checkpoint(const std::string& path);

struct Layer {
  std::string prefix;  // "encoder.layer.2.output.dense"
  std::string format;  // "gptq_v1", "awq_gemm", ...: also the name of the layout of the words below
  std::vector<std::string> evidence;  // why this format, one clause each
  // Oddities that are worth a line; exit stays 0. Without path and prefix; up to the first ": " a
  // note by itself.
  std::vector<std::string> warnings;
  bool act_order{};        // g_idx is not k/group
  bool ambiguous_zeros{};  // v1 words with a nibble 15
  V1Zeros v1_reader{V1Zeros::d1};
  QuantizedMatrix matrix;  // zeros as the reader says
  // Stored words as they are in the file (dense copies), whatever their names there. A symmetric
  // GPTQ layer without qzeros gets the words that say 8; compressed-tensors without has none.
  std::vector<std::byte> qweight, qzeros, scales;
  std::optional<TensorView> bias;  // in the mapping: good while the Checkpoint lives
  // 64 hex digits, "" in builds without OpenSSL. Over the layer's tensors (bias, g_idx, qweight,
  // qzeros, scaled_zeros, scales, weight_g_idx, weight_packed, weight_scale, weight_shape,
  // weight_zero_point: those that are there) in order of their full names: name, dtype, number of
  // dimensions, each dimension, bytes; every string and the bytes after their length; all numbers
  // as 8 bytes, little endian.
  std::string sha256;
};

// Prefixes of all quantised layers, readable or not, in name order.
std::vector<std::string> quantised_prefixes(const Checkpoint&);

// prefix "": the only quantised layer, or Error naming the choices.
// Throws Error(input) `path: step: cause`.
Layer read_layer(const Checkpoint&, const std::string& prefix, V1Zeros reader);

// The layout whose zero points are the matrix's: `format`, but gptq_v2 where readers D2 and D3 made
// z of 0..15 out of v1 words (a v1 kernel would add one to the stored nibble).
std::string kernel_layout(const Layer&);
// The words of zeros in that layout: the file's own, or written anew from the matrix for gptq_v2.
std::vector<std::byte> kernel_zeros(const Layer&);
// What a kernel gets: the words in kernel_layout, the file's own but for zeros as above. So nobody
// past the readers needs to know a format.
Packed stored_words(const Layer&);

}  // namespace w4
