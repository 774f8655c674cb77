// SPDX-License-Identifier: Apache-2.0
// Fills problem lines from checkpoint layers, and refuses lines that say something else than the
// file.
#include "harness/run/layers.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "harness/checkpoint/show.hpp"
#include "reference/layout/layout.hpp"

namespace w4 {

namespace {

constexpr std::array<std::string_view, 11> matrix_keys{
    "n", "k", "g", "groups", "zero", "layout", "scale", "ztype", "s2", "order", "bias"};

bool is_matrix_key(std::string_view key) {
  return std::find(matrix_keys.begin(), matrix_keys.end(), key) != matrix_keys.end();
}

V1Zeros reader_of(const Line& line) {
  const std::string* text = line.find("v1zeros");
  if (text == nullptr) return V1Zeros::d1;
  if (const auto reader = v1_zeros_named(*text)) return *reader;
  throw Error("v1zeros=" + *text + ": one of D1 D2 D3");
}

// What reader D1 makes of v1 words is stored as the file has it; D2 and D3 give zero points of
// 0..15, which are packed anew as v2 because no v1 word says them to a kernel.
std::string layout_of(const Layer& layer, V1Zeros reader) {
  return layer.format == "gptq_v1" && reader != V1Zeros::d1 ? "gptq_v2" : layer.format;
}

Zero zero_of(const Layer& layer, const std::string& layout) {
  if (layer.matrix.zero == Zero::code && layout == "gptq_v1") return Zero::code_m1;
  if (layer.matrix.zero == Zero::code_m1 && layout == "gptq_v2") return Zero::code;
  return layer.matrix.zero;
}

Line matrix_pairs(const Layer& layer, V1Zeros reader) {
  const QuantizedMatrix& w = layer.matrix;
  const std::string layout = layout_of(layer, reader);
  return {{{"n", std::to_string(w.n)},
           {"k", std::to_string(w.k)},
           {"g", std::to_string(std::min(w.group, w.k))},
           {"groups", std::to_string(w.groups)},
           {"zero", std::string(to_string(zero_of(layer, layout)))},
           {"layout", layout},
           {"scale", std::string(to_string(w.scale_type))},
           {"order", layer.act_order ? "gidx" : "none"},
           {"bias", "none"}}};
}

void set(Line& line, const std::string& key, const std::string& value) {
  for (auto& pair : line.pairs) {
    if (pair.first == key) {
      pair.second = value;
      return;
    }
  }
  line.pairs.emplace_back(key, value);
}

std::string about(const Layer& layer, const Problem& p) {
  std::string text = layer.format + ", K " + std::to_string(p.k) + ", N " + std::to_string(p.n) +
                     ", group " + std::to_string(p.group) + ", zero " +
                     std::string(to_string(p.zero));
  if (layer.act_order) text += ", act-order";
  if (p.layout != layer.format) {
    text += ", zeros read as " + std::string(to_string(p.v1zeros)) + " and packed as " + p.layout;
  }
  return text;
}

// Each matrix key that the line writes, put in place of the layer's own, must leave the problem
// what it is.
void check_agrees(const Line& line, const Line& full, const Problem& problem, const Line& own) {
  for (const auto& [key, value] : line.pairs) {
    if (!is_matrix_key(key)) continue;
    Line edited = full;
    set(edited, key, value);
    bool same = false;
    try {
      same = parse_problem(edited) == problem;
    } catch (const Error&) {
    }
    if (same) continue;
    const std::string* theirs = own.find(key);
    throw Error(key + "=" + value + " contradicts the layer" +
                (theirs ? ", which has " + key + "=" + *theirs : ""));
  }
}

void check_hash(const LayerSource& ref, const Layer& layer) {
  if (ref.sha256.empty() || layer.sha256.empty() || layer.sha256.starts_with(ref.sha256)) return;
  throw LayerError(ref.path + ": sha256: " + layer.prefix + " has " +
                   layer.sha256.substr(0, ref.sha256.size()) + ", the problem line says " +
                   ref.sha256);
}

}  // namespace

void LayerStore::warn(const std::string& line) {
  if (warned_.insert(line).second && warn_) warn_(line);
}

const Checkpoint& LayerStore::checkpoint(const std::string& path) try {
  auto at = checkpoints_.find(path);
  if (at == checkpoints_.end()) {
    at = checkpoints_.emplace(path, open_checkpoint(path)).first;
    for (const std::string& text : warning_lines(at->second)) warn(text);
  }
  return at->second;
} catch (const Error& error) {
  if (error.blame() == Blame::internal) throw;
  throw LayerError(error.what());
}

const Layer& LayerStore::layer(const std::string& path, const std::string& prefix, V1Zeros reader) {
  const Checkpoint& file = checkpoint(path);
  try {
    auto at = layers_.find({path, prefix, reader});
    if (at == layers_.end()) {
      at =
          layers_.emplace(std::tuple{path, prefix, reader}, read_layer(file, prefix, reader)).first;
      for (const std::string& text : warning_lines(file, at->second)) warn(text);
    }
    return at->second;
  } catch (const Error& error) {
    if (error.blame() == Blame::internal) throw;
    throw LayerError(error.what());
  }
}

std::vector<std::string> LayerStore::prefixes(const std::string& path) {
  std::vector<std::string> found = quantised_prefixes(checkpoint(path));
  if (found.empty()) throw LayerError(path + ": layers: no quantised layer");
  return found;
}

Line LayerStore::line_for(const std::string& path, const std::string& prefix, V1Zeros reader,
                          std::int64_t m) {
  const Layer& found = layer(path, prefix, reader);
  const std::string type(to_string(found.matrix.scale_type));
  Line line{{{"m", std::to_string(m)}, {"x", type}, {"mul", type}, {"y", type}}};
  if (reader != V1Zeros::d1 && found.format == "gptq_v1") {
    line.pairs.emplace_back("v1zeros", to_string(reader));
  }
  line.pairs.emplace_back("data", to_string(LayerSource{path, found.prefix, ""}));
  return line;
}

std::shared_ptr<const LayerData> LayerStore::data(const Layer& layer, const std::string& key,
                                                  const Problem& problem) {
  auto& slot = data_[key];
  if (slot != nullptr) return slot;
  auto fresh = std::make_shared<LayerData>();
  fresh->matrix = layer.matrix;
  fresh->matrix.zero = problem.zero;
  fresh->matrix.bias.clear();
  fresh->matrix.bias_type = Type::none;
  if (!layer.act_order) fresh->matrix.g_idx.clear();
  if (problem.layout == layer.format) {
    fresh->stored = {layer.qweight, layer.scales, layer.qzeros};
  } else {
    fresh->stored = pack(*find_layout(problem.layout), fresh->matrix);
  }
  return slot = std::move(fresh);
}

ResolvedLayer LayerStore::resolve(const Line& line) {
  LayerSource ref = layer_source(*line.find("data"));
  const V1Zeros reader = reader_of(line);
  const Layer& found = layer(ref.path, ref.prefix, reader);
  check_hash(ref, found);
  ref.prefix = found.prefix;
  ref.sha256 = found.sha256.substr(0, 12);

  const Line own = matrix_pairs(found, reader);
  Line full = own;
  for (const auto& [key, value] : line.pairs) {
    if (!is_matrix_key(key)) full.pairs.emplace_back(key, value);
  }
  set(full, "data", to_string(ref));
  ResolvedLayer out;
  out.problem = parse_problem(full);
  check_agrees(line, full, out.problem, own);
  const std::string key =
      ref.path + '\0' + ref.prefix + '\0' + std::to_string(static_cast<int>(reader));
  out.data = data(found, key, out.problem);
  out.prefix = found.prefix;
  out.about = about(found, out.problem);
  return out;
}

}  // namespace w4
