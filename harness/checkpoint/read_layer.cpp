// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "harness/checkpoint/checkpoint.hpp"
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

// "" if the config lets GPTQ tensors be GPTQ.
std::string config_refuses(const QuantConfig& c, const Parts& parts) {
  const std::string tensors = "the tensors look like GPTQ (" + describe(parts) + ")";
  if (c.marlin.value_or(false) || c.format.starts_with("marlin"))
    return c.file + " says Marlin: not read by this build";
  if (is_auto_round(c)) {
    if (c.packing_format.empty() || c.packing_format.find("gptq") != std::string::npos) return {};
    return c.file + " says packing_format " + in_quotes(c.packing_format) + ", but " + tensors;
  }
  if (c.method.empty() || c.method == "gptq") {
    if (c.format.empty() || c.format == "gptq" || c.format == "gptq_v2") return {};
    return c.file + " says checkpoint_format " + in_quotes(c.format) + ": not read by this build";
  }
  const bool known =
      std::find(known_methods.begin(), known_methods.end(), c.method) != known_methods.end();
  if (known) return c.file + " says quant_method " + in_quotes(c.method) + ", but " + tensors;
  return "unknown quant_method " + in_quotes(c.method) + " in " + c.file + "; " + tensors;
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
  for (const char* name : {"bias", "g_idx", "qweight", "qzeros", "scales"}) {
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
  if (const auto format = foreign_format(parts, config); !format.empty()) {
    const bool called_gptq = config && config->method == "gptq";
    const bool lacks_zeros = format.starts_with("AWQ") && parts.count("qzeros") == 0;
    fail("detect", "looks like " + format + (lacks_zeros ? ", without qzeros" : "") +
                       ": not read by this build (" +
                       (called_gptq ? config->file + " says gptq; " : "") + describe(parts) + ")");
  }
  if (config)
    if (const auto cause = config_refuses(*config, parts); !cause.empty()) fail("detect", cause);
  Layer layer;
  try {
    layer = read_gptq(name, parts, config, reader);
  } catch (const Error& e) {
    if (e.blame() == Blame::internal) throw;
    fail("layer", e.what());
  }
  layer.sha256 = hash_of(name, parts);
  return layer;
}

}  // namespace w4
