// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "harness/checkpoint/awq.hpp"
#include "harness/checkpoint/checkpoint.hpp"
#include "harness/checkpoint/compressed_tensors.hpp"
#include "harness/checkpoint/config.hpp"
#include "harness/checkpoint/detect.hpp"
#include "harness/checkpoint/gptq.hpp"
#include "harness/checkpoint/safetensors.hpp"
#include "harness/checkpoint/text.hpp"
#include "harness/fixture/hdf5_file.hpp"
#include "reference/error.hpp"

namespace w4 {
namespace {

const std::vector<std::string_view> known_methods{"awq",
                                                  "awq_marlin",
                                                  "gptq_marlin",
                                                  "marlin",
                                                  "compressed-tensors",
                                                  "hqq",
                                                  "qqq",
                                                  "torchao",
                                                  "svdquant",
                                                  "bitsandbytes",
                                                  "fp8",
                                                  "quarot",
                                                  "aqlm",
                                                  "cutlass",
                                                  "eetq",
                                                  "exl2",
                                                  "fbgemm_fp8",
                                                  "modelopt",
                                                  "fastertransformer",
                                                  "nunchaku"};

bool is_auto_round(const QuantConfig& c) {
  return c.method == "auto-round" || c.method == "intel/auto-round" || c.method == "auto_round";
}

// What a config may say about the tensors of a reader.
struct Claim {
  const char* reader;  // its start
  const char* display;
  std::vector<std::string_view> methods;  // "" where a config has none
  std::vector<std::string_view> formats;
  const char* packing;  // part of AutoRound's packing_format
};
const Claim claims[] = {
    {"gptq", "GPTQ", {"", "gptq"}, {"", "gptq", "gptq_v2"}, "gptq"},
    {"awq", "AWQ", {"", "awq", "gptq"}, {"", "gptq", "gptq_v2", "gemm"}, "awq"},
    {"compressed_tensors",
     "compressed-tensors",
     {"", "compressed-tensors"},
     {"", "pack-quantized"},
     "llm_compressor"},
};

bool is_in(const std::vector<std::string_view>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// "" if the config lets the tensors be what they look like.
std::string config_refuses(const QuantConfig& c, const std::string& reader, const Parts& parts) {
  const auto& claim = *std::find_if(std::begin(claims), std::end(claims),
                                    [&](const Claim& at) { return reader.starts_with(at.reader); });
  const std::string tensors =
      std::string("the tensors look like ") + claim.display + " (" + describe(parts) + ")";
  if (c.marlin.value_or(false) || c.format.starts_with("marlin"))
    return c.file + " says Marlin: not read by this build";
  if (c.number == "float")
    return c.file + " says type \"float\": FP4, not INT4: not read by this build";
  if (is_auto_round(c)) {
    if (c.packing_format.empty() || c.packing_format.find(claim.packing) != std::string::npos)
      return {};
    return c.file + " says packing_format " + in_quotes(c.packing_format) + ", but " + tensors;
  }
  if (is_in(claim.methods, c.method)) {
    if (is_in(claim.formats, c.format)) return {};
    return c.file + " says checkpoint_format " + in_quotes(c.format) + ": not read by this build";
  }
  if (is_in(known_methods, c.method) || c.method == "gptq")
    return c.file + " says quant_method " + in_quotes(c.method) + ", but " + tensors;
  return "unknown quant_method " + in_quotes(c.method) + " in " + c.file + "; " + tensors;
}

Layer read_with(const std::string& reader, const std::string& prefix, const Parts& parts,
                const QuantConfig* config, V1Zeros v1) {
  if (reader == "gptq") return read_gptq(prefix, parts, config, v1);
  if (reader == "compressed_tensors") return read_compressed_tensors(prefix, parts, config);
  return read_awq(reader, prefix, parts, config);
}

std::string list_of(const std::map<std::string, Parts>& layers) {
  std::vector<std::string> names;
  for (const auto& [prefix, parts] : layers) names.push_back(printable(prefix));
  return some_of(names, 8);
}

const std::pair<const std::string, Parts>& pick(const Checkpoint& c,
                                                const std::map<std::string, Parts>& layers,
                                                const std::string& prefix) {
  if (layers.empty())
    fail_input(c.path, "detect",
               "no quantised layer among " + std::to_string(c.tensors.size()) + " tensors");
  if (prefix.empty() && layers.size() == 1) return *layers.begin();
  const auto at = layers.find(prefix);
  if (at != layers.end()) return *at;
  if (prefix.empty())
    fail_input(c.path, "layer",
               std::to_string(layers.size()) +
                   " quantised layers, name one with --prefix: " + list_of(layers));
  fail_input(c.path, "layer",
             "no quantised layer " + in_quotes(prefix) + "; there are " + list_of(layers));
}

// The preimage is laid down in checkpoint.hpp.
class Preimage {
 public:
  void number(std::uint64_t v) {
    for (int i = 0; i < 8; ++i) bytes_.push_back(static_cast<std::byte>(v >> (8 * i) & 255));
  }
  void data(std::span<const std::byte> d) {
    number(d.size());
    bytes_.insert(bytes_.end(), d.begin(), d.end());
  }
  void text(const std::string& t) { data(std::as_bytes(std::span(t))); }
  std::string sha256() const { return sha256_hex(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

std::string hash_of(const std::string& prefix, const Parts& parts) {
  Preimage preimage;
  for (const char* name :
       {"bias", "g_idx", "qweight", "qzeros", "scaled_zeros", "scales", "weight_g_idx",
        "weight_packed", "weight_scale", "weight_shape", "weight_zero_point"}) {
    const auto at = parts.find(name);
    if (at == parts.end()) continue;
    const TensorView& t = *at->second;
    preimage.text(prefix.empty() ? name : prefix + '.' + name);
    preimage.text(t.dtype);
    preimage.number(t.shape.size());
    for (const auto size : t.shape) preimage.number(static_cast<std::uint64_t>(size));
    preimage.data(t.bytes);
  }
  return preimage.sha256();
}

}  // namespace

std::vector<std::string> quantised_prefixes(const Checkpoint& checkpoint) {
  std::vector<std::string> prefixes;
  for (const auto& [prefix, parts] : quantised_layers(checkpoint)) prefixes.push_back(prefix);
  return prefixes;
}

Layer read_layer(const Checkpoint& checkpoint, const std::string& prefix, V1Zeros reader) {
  for (const auto& mapping : checkpoint.mappings)
    static_cast<const MappedFile*>(mapping.get())->check_size();
  const auto layers = quantised_layers(checkpoint);
  const auto& [name, parts] = pick(checkpoint, layers, prefix);
  const QuantConfig* config = checkpoint.config.get();
  const auto fail = [&, &layer_name = name](const char* step, const std::string& cause) {
    fail_input(checkpoint.path, step,
               (layer_name.empty() ? "" : printable(layer_name) + ": ") + cause);
  };
  const Format format = detect_format(parts, config);
  if (format.reader.empty()) {
    const bool called_gptq = config && config->method == "gptq";
    fail("detect", "looks like " + format.name + ": not read by this build (" +
                       (called_gptq ? config->file + " says gptq; " : "") + describe(parts) + ")");
  }
  if (config)
    if (const auto cause = config_refuses(*config, format.reader, parts); !cause.empty())
      fail("detect", cause);
  Layer layer;
  try {
    layer = read_with(format.reader, name, parts, config, reader);
  } catch (const Error& e) {
    if (e.blame() == Blame::internal) throw;
    fail("layer", (format.reader == "gptq" ? "" : format.name + ": ") + e.what());
  }
  layer.sha256 = hash_of(name, parts);
  return layer;
}

}  // namespace w4
