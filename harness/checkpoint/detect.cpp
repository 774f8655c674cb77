// SPDX-License-Identifier: Apache-2.0
#include "harness/checkpoint/detect.hpp"

#include "harness/checkpoint/config.hpp"
#include "harness/checkpoint/text.hpp"

namespace w4 {
namespace {

bool has(const Parts& parts, const char* name) {
  return parts.count(name) > 0;
}

bool has(const Parts& parts, const char* name, std::string_view dtype) {
  const auto at = parts.find(name);
  return at != parts.end() && at->second->dtype == dtype;
}

bool has_bytes(const Parts& parts, const char* name) {
  return has(parts, name, "U8") || has(parts, name, "I8");
}

// weight_packed of compressed-tensors is [N, K/8] beside scales [N, groups]; Machete's is [K/8, N]
// beside [groups, N].
bool rows_are_n(const Parts& parts) {
  const auto packed = parts.find("weight_packed"), scale = parts.find("weight_scale");
  if (packed == parts.end() || scale == parts.end()) return true;
  const auto &a = packed->second->shape, &b = scale->second->shape;
  return has(parts, "weight_shape") || a.empty() || b.empty() || a[0] == b[0];
}

struct NameRule {
  const char* format;
  bool (*holds)(const Parts&);
  const char* reader = "";
};

// The first that holds names the format.
const NameRule name_rules[] = {
    {"bitsandbytes 4-bit (codes index a table of NF4 or FP4 values: no affine form)",
     [](const Parts& p) { return has(p, "weight.absmax") || has(p, "weight.quant_map"); }},
    {"Marlin 2:4 sparse",
     [](const Parts& p) {
       return has(p, "B_24") || has(p, "B_meta") || (has(p, "weight_packed") && has(p, "meta"));
     }},
    {"FP4 (weight_packed holds bytes: NVFP4 or MXFP4, not INT4)",
     [](const Parts& p) {
       return has_bytes(p, "weight_packed") || (has(p, "weight", "U8") && has(p, "weight_scale_2"));
     }},
    {"compressed-tensors pack-quantized",
     [](const Parts& p) { return has(p, "weight_packed") && rows_are_n(p); }, "compressed_tensors"},
    {"Machete", [](const Parts& p) { return has(p, "weight_packed"); }},
    {"HQQ", [](const Parts& p) { return has(p, "W_q"); }},
    {"QServe W4A8",
     [](const Parts& p) {
       return has(p, "s1_scales") || (has(p, "qweight") && has(p, "s2_scales"));
     }},
    {"nunchaku AWQ W4A16", [](const Parts& p) { return has(p, "wscales") && has(p, "wzeros"); }},
    {"nunchaku SVDQuant W4A4",
     [](const Parts& p) { return has(p, "qweight") && (has(p, "wscales") || has(p, "wcscales")); }},
    {"llm-awq (TinyChat)",
     [](const Parts& p) { return has(p, "qweight", "I16") && has(p, "scaled_zeros"); },
     "awq_gemv_fast"},
    {"AWQ GEMV-fast", [](const Parts& p) { return has(p, "qweight", "I16"); }, "awq_gemv_fast"},
    {"QQQ", [](const Parts& p) { return has(p, "B") && has(p, "s_channel"); }},
    {"Marlin", [](const Parts& p) { return has(p, "B") && has(p, "s"); }},
    {"ONNX MatMulNBits", [](const Parts& p) { return has_bytes(p, "B") && has(p, "scales"); }},
    {"FasterTransformer weight-only",
     [](const Parts& p) { return has(p, "weight_only_quant_scale"); }},
    {"TensorRT-LLM weight-only",
     [](const Parts& p) { return has_bytes(p, "weight") && has(p, "weights_scaling_factor"); }},
    {"QuaRot", [](const Parts& p) { return has_bytes(p, "weight") && has(p, "weight_scales"); }},
    {"compressed-tensors int-quantized or CUTLASS int4",
     [](const Parts& p) { return has_bytes(p, "weight") && has(p, "weight_scale"); }},
};

bool is_gptq_family(const Parts& parts) {
  return has(parts, "qweight") || has(parts, "qzeros") ||
         (has(parts, "scales") && has(parts, "g_idx"));
}

const NameRule* rule_by_names(const Parts& parts) {
  for (const NameRule& rule : name_rules)
    if (rule.holds(parts)) return &rule;
  return nullptr;
}

// "blk.0.attn_q.weight" as bytes, alone: ggml's blocks in another container.
bool is_ggml(std::string_view prefix, const Parts& parts) {
  return prefix.starts_with("blk.") && parts.size() == 1 && has(parts, "weight", "U8");
}

const Format gptq{"gptq", "GPTQ"}, awq_gemm{"awq_gemm", "AWQ GEMM (qweight [K, N/8])"},
    awq_gemv{"awq_gemv", "AWQ GEMV (qweight [N, K/8])"},
    marlin{"", "Marlin under GPTQ's names (qweight [K/16, 2N])"};

// By shape, where names say GPTQ or AWQ. qweight [R, C], scales [SR, SC].
Format format_by_shape(const Parts& parts, const QuantConfig* config) {
  const auto q = parts.find("qweight"), s = parts.find("scales");
  if (q == parts.end() || s == parts.end()) return gptq;
  const auto &qs = q->second->shape, &ss = s->second->shape;
  if (qs.size() != 2 || ss.size() != 2) return gptq;
  const bool g_idx = has(parts, "g_idx");
  const bool n_major = qs[0] == ss[0] && !g_idx;
  const bool gemm = ss[1] / 8 == qs[1] && ss[1] % 8 == 0 && !g_idx;
  // AWQ GEMV's [N, K/8] beside [N, 8*ZW] can have the shapes of the others: of Marlin or GPTQ with
  // as many groups as rows of words, of AWQ GEMM with groups of 1. Only a config makes those
  // credible.
  const auto says = [&](const char* method, const char* version) {
    return config && config->method == method && (!*version || config->version == version);
  };
  if (n_major && gemm && says("awq", "gemm")) return awq_gemm;
  if (n_major && qs[1] == ss[1] && says("gptq", "")) return gptq;
  if (n_major) return awq_gemv;
  if (qs[1] / 2 == ss[1] && qs[1] % 2 == 0) return marlin;
  return gemm ? awq_gemm : gptq;
}

std::pair<std::string, std::string> split_name(const std::string& name) {
  constexpr std::string_view inside = ".weight.";  // bitsandbytes hangs its tables below the weight
  if (const auto at = name.find(inside); at != std::string::npos)
    return {name.substr(0, at), name.substr(at + 1)};
  const auto dot = name.rfind('.');
  if (dot == std::string::npos) return {"", name};
  return {name.substr(0, dot), name.substr(dot + 1)};
}

}  // namespace

std::map<std::string, Parts> quantised_layers(const Checkpoint& checkpoint) {
  std::map<std::string, Parts> layers;
  for (const auto& [name, view] : checkpoint.tensors) {
    auto [prefix, part] = split_name(name);
    layers[std::move(prefix)].emplace(std::move(part), &view);
  }
  std::erase_if(layers, [](const auto& layer) {
    const auto& [prefix, parts] = layer;
    return !is_gptq_family(parts) && !rule_by_names(parts) && !is_ggml(prefix, parts);
  });
  return layers;
}

std::string describe(const Parts& parts) {
  std::vector<std::string> words;
  for (const auto& [name, view] : parts)
    words.push_back(printable(name) + ' ' + printable(view->dtype) + ' ' + shape_text(view->shape));
  return some_of(words, 6);
}

Format detect_format(const Parts& parts, const QuantConfig* config) {
  if (const NameRule* rule = rule_by_names(parts)) return {rule->reader, rule->format};
  if (!is_gptq_family(parts)) return {"", "ggml blocks (GGUF)"};
  return format_by_shape(parts, config);
}

}  // namespace w4
