// SPDX-License-Identifier: Apache-2.0
#include "harness/checkpoint/convert.hpp"

#include <algorithm>
#include <filesystem>

#include "harness/checkpoint/config.hpp"
#include "harness/checkpoint/form.hpp"
#include "harness/checkpoint/safetensors.hpp"
#include "harness/checkpoint/safetensors_write.hpp"
#include "harness/checkpoint/show.hpp"
#include "harness/checkpoint/text.hpp"
#include "reference/error.hpp"

namespace w4 {
namespace {

using Shape = std::vector<std::int64_t>;

// One layer about to be written: the matrix in its layout's form, and its words.
struct Draft {
  const NewLayer& layer;
  QuantizedMatrix w;
  Packed words;
  std::vector<NewTensor> tensors{};

  void add(const char* name, std::string dtype, Shape shape, std::vector<std::byte> bytes) {
    const auto& prefix = layer.prefix;
    tensors.push_back({prefix.empty() ? name : prefix + '.' + name, std::move(dtype),
                       std::move(shape), std::move(bytes)});
  }
  std::string float_type() const {
    return w.scale_type == Type::f16 ? "F16" : w.scale_type == Type::bf16 ? "BF16" : "F32";
  }
  std::int64_t scale_elements() const {
    return static_cast<std::int64_t>(words.scale.size()) * 8 / bits_of(w.scale_type);
  }
};

template <typename T>
std::vector<std::byte> raw(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> group_index(const QuantizedMatrix& w) {
  std::vector<std::int32_t> out;
  for (std::int64_t k = 0; k < w.k; ++k) out.push_back(static_cast<std::int32_t>(w.group_of(k)));
  return raw(out);
}

std::string number(std::int64_t v) {
  return std::to_string(v);
}
const char* truth(bool v) {
  return v ? "true" : "false";
}

std::string gptq_config(const Draft& d, const char* format) {
  return R"({"quant_method": "gptq", "bits": 4, "group_size": )" + number(d.w.group) +
         R"(, "desc_act": )" + truth(!d.w.g_idx.empty()) + R"(, "static_groups": false, "sym": )" +
         truth(d.w.zero == Zero::eight) + R"(, "checkpoint_format": ")" + format + "\"}\n";
}

std::string draft_gptq(Draft& d, const char* format) {
  const auto& w = d.w;
  d.add("qweight", "I32", {w.k / 8, w.n}, d.words.codes);
  d.add("qzeros", "I32", {w.groups, w.n / 8}, d.words.zero);
  d.add("scales", d.float_type(), {w.groups, w.n}, d.words.scale);
  d.add("g_idx", "I32", {w.k}, group_index(w));
  return gptq_config(d, format);
}
std::string draft_gptq_v1(Draft& d) {
  return draft_gptq(d, "gptq");
}
std::string draft_gptq_v2(Draft& d) {
  return draft_gptq(d, "gptq_v2");
}

std::string awq_config(const Draft& d, const char* version) {
  return R"({"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": )" +
         number(d.w.group) + R"(, "zero_point": true, "version": ")" + version + "\"}}\n";
}
std::string draft_awq_gemm(Draft& d) {
  const auto& w = d.w;
  d.add("qweight", "I32", {w.k, w.n / 8}, d.words.codes);
  d.add("qzeros", "I32", {w.groups, w.n / 8}, d.words.zero);
  d.add("scales", d.float_type(), {w.groups, w.n}, d.words.scale);
  return awq_config(d, "gemm");
}
std::string draft_awq_gemv(Draft& d) {
  const auto& w = d.w;
  const auto padded = d.scale_elements() / w.n;
  d.add("qweight", "I32", {w.n, w.k / 8}, d.words.codes);
  d.add("qzeros", "I32", {w.n, padded / 8}, d.words.zero);
  d.add("scales", d.float_type(), {w.n, padded}, d.words.scale);
  return awq_config(d, "gemv");
}
std::string draft_awq_gemv_fast(Draft& d) {
  const auto& w = d.w;
  const auto padded = d.scale_elements() / w.n;
  d.add("qweight", "I16", {w.n / 4, w.k}, d.words.codes);
  d.add("qzeros", d.float_type(), {padded, w.n}, d.words.zero);
  d.add("scales", d.float_type(), {padded, w.n}, d.words.scale);
  return awq_config(d, "gemv_fast");
}

std::string draft_compressed_tensors(Draft& d) {
  const auto& w = d.w;
  const bool order = !w.g_idx.empty();
  d.add("weight_packed", "I32", {w.n, (w.k + 7) / 8}, d.words.codes);
  d.add("weight_scale", d.float_type(), {w.n, w.groups}, d.words.scale);
  d.add("weight_shape", "I64", {2}, raw(std::vector<std::int64_t>{w.n, w.k}));
  if (w.zero == Zero::code)
    d.add("weight_zero_point", "I32", {(w.n + 7) / 8, w.groups}, d.words.zero);
  if (order) d.add("weight_g_idx", "I32", {w.k}, group_index(w));
  const std::string strategy = w.groups == 1 ? R"("channel", "group_size": null)"
                                             : R"("group", "group_size": )" + number(w.group);
  return R"({"quantization_config": {"quant_method": "compressed-tensors", )"
         R"("format": "pack-quantized", "quantization_status": "compressed", "ignore": [], )"
         R"("config_groups": {"group_0": {"targets": ["Linear"], "input_activations": null, )"
         R"("weights": {"num_bits": 4, "type": "int", "symmetric": )" +
         std::string(truth(w.zero == Zero::eight)) + R"(, "strategy": )" + strategy +
         R"(, "actorder": )" + (order ? R"("group")" : "null") + R"(, "dynamic": false}}}}})" +
         "\n";
}

struct Writer {
  const char* layout;
  std::string (*draft)(Draft&);  // adds the tensors, gives the config
};
const Writer writers[] = {
    {"gptq_v1", draft_gptq_v1},
    {"gptq_v2", draft_gptq_v2},
    {"awq_gemm", draft_awq_gemm},
    {"awq_gemv", draft_awq_gemv},
    {"awq_gemv_fast", draft_awq_gemv_fast},
    {"compressed_tensors", draft_compressed_tensors},
};

// Read as a person would who has nothing but the file.
Layer read_back(const std::string& out, const std::string& stem, const std::string& prefix,
                const std::vector<std::byte>& file, const std::string& config) {
  Checkpoint checkpoint;
  checkpoint.path = out;
  checkpoint.tensors = read_safetensors(out, file).tensors;
  if (auto read = parse_config(stem + ".config.json", config))
    checkpoint.config = std::make_shared<const QuantConfig>(std::move(*read));
  Layer layer = read_layer(checkpoint, prefix, V1Zeros::d1);
  layer.bias.reset();  // it points into `file`
  return layer;
}

std::uint32_t zero_word(const QuantizedMatrix& w, std::size_t i) {
  return w.zeros.empty() ? 8 : w.zeros[i];
}

// "" if they are the same weight, stored the same way.
std::string difference(const Layer& back, const Draft& d, const std::string& layout) {
  const auto &a = back.matrix, &b = d.w;
  if (back.format != layout) return "the format would be read as " + back.format;
  if (a.k != b.k || a.n != b.n || a.groups != b.groups || a.group != b.group)
    return "the groups would be read as " + number(a.groups) + " of " + number(a.group);
  if (a.codes != b.codes || a.scales != b.scales || a.scale_type != b.scale_type)
    return "codes or scales would be read as others";
  for (std::int64_t k = 0; k < a.k; ++k)
    if (a.group_of(k) != b.group_of(k)) return "the order of groups would be read as another";
  for (std::size_t i = 0; i < a.scales.size(); ++i)
    if (zero_word(a, i) != zero_word(b, i)) {
      const auto at = static_cast<std::int64_t>(i);
      return "the zero at group " + number(at / a.n) + ", column " + number(at % a.n) +
             " would be read as " + number(zero_word(a, i)) + ", not " + number(zero_word(b, i));
    }
  return "";
}

bool is_trivial(const QuantizedMatrix& w) {
  if ((w.k + w.group - 1) / w.group != w.groups) return false;
  for (std::int64_t k = 0; k < w.k; ++k)
    if (w.group_of(k) != k / w.group) return false;
  return true;
}

Draft draft_of(const NewLayer& layer, const Layout& layout) {
  QuantizedMatrix w = layer.matrix;
  w.bias.clear();
  w.bias_type = Type::none;
  if (!w.g_idx.empty() && is_trivial(w)) w.g_idx.clear();
  w = in_form_of(layout, std::move(w));
  Packed words = pack(layout, w);
  return {layer, std::move(w), std::move(words)};
}

const Writer& writer_of(const std::string& layout, const std::string& out) {
  for (const Writer& writer : writers)
    if (writer.layout == layout) return writer;
  fail_input(out, "convert",
             "layout " + in_quotes(layout) + " is not one of a checkpoint: " +
                 some_of(checkpoint_layouts(), checkpoint_layouts().size()));
}

std::string stem_of(const std::string& out) {
  const std::filesystem::path path(out);
  if (path.extension() != ".safetensors" || path.stem().empty())
    fail_input(out, "convert", "the name must end in .safetensors");
  return path.stem().string();
}

}  // namespace

const std::vector<std::string>& checkpoint_layouts() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Writer& writer : writers) all.emplace_back(writer.layout);
    return all;
  }();
  return names;
}

std::vector<std::string> write_layer(const NewLayer& layer, const std::string& layout,
                                     const std::string& in, const std::string& out) {
  std::vector<std::byte> file;
  std::string config;
  std::vector<std::string> warnings;
  const Writer& writer = writer_of(layout, out);
  const auto stem = stem_of(out);
  try {
    Draft draft = draft_of(layer, *find_layout(layout));
    config = writer.draft(draft);
    if (!layer.bias_dtype.empty()) draft.add("bias", layer.bias_dtype, {draft.w.n}, layer.bias);
    file = safetensors_bytes(std::move(draft.tensors));
    const Layer back = read_back(out, stem, layer.prefix, file, config);
    if (const auto what = difference(back, draft, layout); !what.empty())
      throw Error("layout " + layout + " cannot express it: " + what);
    warnings = back.warnings;
  } catch (const Error& e) {
    if (e.blame() == Blame::internal) throw;
    fail_input(in, "convert", e.what());
  }
  const auto beside = std::filesystem::path(out).replace_filename(stem + ".config.json").string();
  write_files({{beside, std::as_bytes(std::span(config))}, {out, file}});
  return warnings;
}

Converted convert_layer(const std::string& in, const std::string& prefix, V1Zeros reader,
                        const std::string& to_layout, const std::string& out) {
  const Checkpoint checkpoint = open_checkpoint(in);
  const Layer layer = read_layer(checkpoint, prefix, reader);
  std::error_code error;
  if (std::filesystem::equivalent(in, out, error))
    fail_input(out, "convert", "is the file that is read");
  NewLayer fresh{layer.prefix, layer.matrix, "", {}};
  if (layer.bias) {
    fresh.bias_dtype = layer.bias->dtype;
    fresh.bias.assign(layer.bias->bytes.begin(), layer.bias->bytes.end());
  }
  Converted result{layer.prefix, layer.format, warning_lines(checkpoint)};
  for (const auto& line : warning_lines(checkpoint, layer)) result.warnings.push_back(line);
  const auto shown = layer.prefix.empty() ? "-" : printable(layer.prefix);
  for (const auto& line : write_layer(fresh, to_layout, in, out))
    if (std::find(layer.warnings.begin(), layer.warnings.end(), line) == layer.warnings.end())
      result.warnings.push_back(out + ": " + shown + ": " + line);
  return result;
}

}  // namespace w4
