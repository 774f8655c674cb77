// SPDX-License-Identifier: Apache-2.0
#include "harness/checkpoint/gptq.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "harness/checkpoint/config.hpp"
#include "harness/checkpoint/gptq_zeros_report.hpp"
#include "harness/checkpoint/oddities.hpp"
#include "harness/checkpoint/safetensors.hpp"
#include "harness/checkpoint/text.hpp"
#include "reference/error.hpp"
#include "reference/layout/gptq_zeros.hpp"

namespace w4 {
namespace {

std::vector<std::byte> copy_of(std::span<const std::byte> bytes) {
  return {bytes.begin(), bytes.end()};
}

// Tensors may start at any byte, so words are copied out, never pointed at.
std::vector<std::uint32_t> words_of(std::span<const std::byte> bytes, std::size_t word_bytes = 4) {
  std::vector<std::uint32_t> words(bytes.size() / word_bytes);
  for (std::size_t i = 0; i < words.size(); ++i)
    std::memcpy(&words[i], bytes.data() + i * word_bytes, word_bytes);
  return words;
}

std::vector<std::byte> bytes_of(const std::vector<std::uint32_t>& words) {
  std::vector<std::byte> bytes(words.size() * 4);
  if (!words.empty()) std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

std::optional<Type> scale_type_of(std::string_view dtype) {
  if (dtype == "F16") return Type::f16;
  if (dtype == "BF16") return Type::bf16;
  if (dtype == "F32") return Type::f32;
  return std::nullopt;
}

// Group of every k where the groups are consecutive: the size that makes g_idx[k] == k/size, or 0.
std::int64_t trivial_group(const std::vector<std::int32_t>& g_idx, std::int64_t groups) {
  const auto k = static_cast<std::int64_t>(g_idx.size());
  const auto end = std::find_if(g_idx.begin(), g_idx.end(), [](auto g) { return g != 0; });
  const std::int64_t size = end - g_idx.begin();
  if (size == 0 || (k + size - 1) / size != groups) return 0;
  for (std::int64_t i = 0; i < k; ++i)
    if (g_idx[static_cast<std::size_t>(i)] != i / size) return 0;
  return size;
}

class Reader {
 public:
  Reader(const std::string& prefix, const Parts& parts, const QuantConfig* config, V1Zeros reader)
      : parts_(parts), config_(config ? *config : QuantConfig{}), has_config_(config != nullptr) {
    layer_.prefix = prefix;
    layer_.v1_reader = reader;
  }

  Layer read() {
    say_names();
    read_geometry();
    check_bits();
    read_g_idx();
    choose_group();
    settle_order();
    read_qzeros();
    choose_version();
    read_zeros();
    read_codes();
    read_bias();
    add(scale_oddities(w_));
    add(group_oddities(w_));
    add(code_oddities(w_));
    return std::move(layer_);
  }

 private:
  [[noreturn]] static void fail(const std::string& cause) { throw Error(cause); }
  void warn(std::string text) { layer_.warnings.push_back(std::move(text)); }
  void why(std::string text) { layer_.evidence.push_back(std::move(text)); }
  void add(const std::vector<std::string>& lines) {
    layer_.warnings.insert(layer_.warnings.end(), lines.begin(), lines.end());
  }
  const TensorView* find(const char* name) const {
    const auto at = parts_.find(name);
    return at == parts_.end() ? nullptr : at->second;
  }
  static std::string text(const char* name, const TensorView& t) {
    return std::string(name) + ' ' + printable(t.dtype) + ' ' + shape_text(t.shape);
  }

  const TensorView& needed(const char* name, std::size_t rank) const {
    const TensorView* t = find(name);
    if (!t) fail(std::string("no ") + name + " (there are " + describe(parts_) + ")");
    if (!dtype_bits(t->dtype))
      fail(std::string(name) + " has the unknown dtype " + in_quotes(t->dtype));
    if (t->shape.size() != rank)
      fail(text(name, *t) + " has rank " + std::to_string(t->shape.size()) + ": must have " +
           std::to_string(rank));
    return *t;
  }
  static void must_be_i32(const char* name, const TensorView& t) {
    if (t.dtype != "I32" && t.dtype != "U32")
      fail(text(name, t) + ": must be a 32-bit integer (I32)");
  }

  void say_names() {
    std::vector<std::string> names;
    for (const char* name : {"qweight", "qzeros", "scales", "g_idx"})
      if (find(name)) names.emplace_back(name);
    why("names " + some_of(names, 4));
  }

  void read_geometry() {
    const TensorView& q = needed("qweight", 2);
    must_be_i32("qweight", q);
    const TensorView& s = needed("scales", 2);
    const auto type = scale_type_of(s.dtype);
    if (!type) fail(text("scales", s) + ": must be F16, BF16 or F32");
    const auto rows = q.shape[0], columns = q.shape[1];
    if (s.shape[1] != columns) {
      const bool turned = s.shape[0] == columns;
      fail(text("scales", s) + " does not fit " + text("qweight", q) + ": must be [groups, " +
           std::to_string(columns) + "]" + (turned ? "; it looks transposed" : ""));
    }
    if (rows == 0 || columns == 0 || s.shape[0] == 0) fail(text("qweight", q) + ": holds nothing");
    if (columns % 8 != 0) fail(text("qweight", q) + ": N must be a multiple of 8 for packed zeros");
    w_.k = rows * 8;
    w_.n = columns;
    w_.groups = s.shape[0];
    if (w_.groups > w_.k)
      fail(text("scales", s) + " has more groups than K = " + std::to_string(w_.k));
    w_.scale_type = *type;
    w_.scales = words_of(s.bytes, static_cast<std::size_t>(bits_of(*type) / 8));
    layer_.qweight = copy_of(q.bytes);
    layer_.scales = copy_of(s.bytes);
    why("qweight [K/8, N]");
  }

  void check_bits() {
    if (!config_.bits) return;
    if (*config_.bits == 4) {
      why(config_.file + " says bits 4");
      return;
    }
    const auto rows = w_.k / 8;
    const TensorView* g = find("g_idx");
    std::string cause = config_.file + " says bits " + std::to_string(*config_.bits) +
                        ", but the tensors are 4-bit sized: qweight has " + std::to_string(rows) +
                        " rows of words, K = " + std::to_string(w_.k) + " at 4 bits";
    if (*config_.bits > 0 && rows * 32 % *config_.bits == 0)
      cause += " and " + std::to_string(rows * 32 / *config_.bits) + " at " +
               std::to_string(*config_.bits);
    if (g && g->shape.size() == 1) cause += ", g_idx has " + std::to_string(g->shape[0]);
    fail(cause);
  }

  void read_g_idx() {
    if (!find("g_idx")) {
      if (config_.desc_act.value_or(false) && !config_.static_groups.value_or(false))
        fail("no g_idx, and " + config_.file + " says desc_act true: the order of groups is lost");
      warn("no g_idx: groups are taken as consecutive, k / group size");
      return;
    }
    const TensorView& t = needed("g_idx", 1);
    must_be_i32("g_idx", t);
    if (t.shape[0] != w_.k)
      fail("g_idx has " + std::to_string(t.shape[0]) + " entries, K is " + std::to_string(w_.k));
    const auto words = words_of(t.bytes);
    g_idx_.assign(words.begin(), words.end());
    for (std::size_t i = 0; i < g_idx_.size(); ++i)
      if (g_idx_[i] < 0 || g_idx_[i] >= w_.groups)
        fail("g_idx[" + std::to_string(i) + "] is " + std::to_string(g_idx_[i]) + ": must be 0.." +
             std::to_string(w_.groups - 1));
  }

  std::int64_t groups_with(std::int64_t group) const { return (w_.k + group - 1) / group; }

  // From the tensors alone; 0 where they leave it open.
  std::int64_t group_of_tensors() const {
    if (w_.groups == 1) return w_.k;
    if (const auto size = g_idx_.empty() ? 0 : trivial_group(g_idx_, w_.groups)) return size;
    if (!g_idx_.empty()) {  // act-order: full groups have exactly `group` members
      std::vector<std::int64_t> members(static_cast<std::size_t>(w_.groups));
      for (const auto g : g_idx_) ++members[static_cast<std::size_t>(g)];
      const auto largest = *std::max_element(members.begin(), members.end());
      if (groups_with(largest) == w_.groups) return largest;
    }
    return w_.k % w_.groups == 0 ? w_.k / w_.groups : 0;
  }

  void choose_group() {
    const auto seen = group_of_tensors();
    const auto trivial = g_idx_.empty() ? 0 : trivial_group(g_idx_, w_.groups);
    std::int64_t said = 0;
    if (config_.group) said = *config_.group == -1 ? w_.k : std::min(*config_.group, w_.k);
    const bool agrees = said && groups_with(said) == w_.groups && (!trivial || trivial == said);
    if (agrees) {
      w_.group = said;
      why("group_size " + std::to_string(*config_.group) + " agrees with the rows of scales");
      return;
    }
    if (!seen)
      fail("group size is unknown: " + std::to_string(w_.groups) +
           " groups do not divide K = " + std::to_string(w_.k));
    w_.group = seen;
    if (said)
      warn(config_.file + " says group_size " + std::to_string(*config_.group) +
           ", but the tensors have " + std::to_string(w_.groups) +
           " groups over K = " + std::to_string(w_.k) + ": conflict, the tensors win (group " +
           std::to_string(seen) + ")");
    else
      why("group " + std::to_string(seen) + " from the rows of scales over K");
  }

  void settle_order() {
    const bool trivial = g_idx_.empty() || trivial_group(g_idx_, w_.groups) == w_.group;
    if (trivial) {
      if (!g_idx_.empty()) why("g_idx is k/group");
      if (config_.desc_act.value_or(false))
        warn(config_.file + " says desc_act true, but g_idx is k/group: there is no act-order" +
             (config_.static_groups.value_or(false) ? " (static_groups)" : ""));
      return;
    }
    layer_.act_order = true;
    w_.g_idx = g_idx_;
    why("g_idx is a real permutation");
    if (!config_.desc_act.value_or(true))
      warn("g_idx is a real permutation, but " + config_.file +
           " says desc_act false: the tensor wins, act-order is on");
  }

  void read_qzeros() {
    const auto row = w_.n / 8;
    if (!find("qzeros")) {
      if (!config_.sym.value_or(false))
        fail("no qzeros, and the layer is not known to be symmetric (" +
             (config_.sym ? config_.file + " says sym false"
                          : std::string("no config says sym true")) +
             ")");
      warn("no qzeros: z = 8 is taken, because " + config_.file + " says sym true");
      words_.assign(static_cast<std::size_t>(w_.groups * row),
                    config_.format == "gptq_v2" ? 0x88888888u : 0x77777777u);
    } else {
      const TensorView& t = needed("qzeros", 2);
      must_be_i32("qzeros", t);
      if (t.shape[0] != w_.groups || t.shape[1] != row)
        fail(text("qzeros", t) + ": must be [groups, N/8] = [" + std::to_string(w_.groups) + ", " +
             std::to_string(row) + "]");
      words_ = words_of(t.bytes);
    }
    layer_.qzeros = bytes_of(words_);
  }

  bool all_words(std::uint32_t word) const {
    return std::all_of(words_.begin(), words_.end(), [&](auto v) { return v == word; });
  }

  void choose_version() {
    const bool content_v1 = all_words(0x77777777), content_v2 = all_words(0x88888888);
    const std::string label = config_.format;
    std::string said = label == "gptq_v2" ? "gptq_v2" : label == "gptq" ? "gptq_v1" : "";
    const bool stored = find("qzeros") != nullptr;
    if (stored && content_v1) why("all zeros stored as 7 (v1 reads 8)");
    if (stored && content_v2) why("all zeros stored as 8 (v2 reads 8)");
    const std::string content = content_v1 ? "gptq_v1" : content_v2 ? "gptq_v2" : "";
    if (has_config_)
      why(config_.file + " says " +
          (config_.method.empty() ? "no quant_method" : printable(config_.method)) +
          (label.empty() ? ", no checkpoint_format" : ", checkpoint_format " + printable(label)));
    layer_.format = !content.empty() ? content : !said.empty() ? said : "gptq_v1";
    if (!has_config_) {
      warn("no config beside the file: the names and shapes say GPTQ, " +
           (content.empty() ? std::string("v1 or v2 is unknown: v1 is assumed")
                            : "the zeros say " + content + ", which is assumed"));
    } else if (said.empty() && content.empty()) {
      warn(config_.file + " has no checkpoint_format: v1 is assumed (stored zero = z - 1)");
    } else if (!said.empty() && !content.empty() && said != content) {
      warn("labelled " + label + ", but every stored zero is " + (content_v1 ? "7" : "8") +
           ": the content is " + content + " (symmetric, z = 8) and wins");
    }
    if (config_.overrides)
      warn(config_.file + " has per-module overrides (dynamic): not applied, the tensors decide");
  }

  void read_zeros() {
    const bool v1 = layer_.format == "gptq_v1";
    w_.zero_type = Type::u8;
    w_.zeros.resize(static_cast<std::size_t>(w_.groups * w_.n));
    for (std::size_t i = 0; i < words_.size(); ++i) {
      std::array<std::uint8_t, 8> z{};
      if (v1)
        read_v1_word(layer_.v1_reader, words_[i], z);
      else
        for (std::size_t p = 0; p < 8; ++p)
          z[p] = static_cast<std::uint8_t>(words_[i] >> (4 * p) & 15);
      std::copy(z.begin(), z.end(), w_.zeros.begin() + static_cast<std::ptrdiff_t>(8 * i));
    }
    if (v1)
      if (auto line = ambiguous_zeros(words_, w_.n, layer_.v1_reader, config_.quantizer);
          !line.empty()) {
        layer_.ambiguous_zeros = true;
        warn(std::move(line));
      }
    const auto [low, high] = std::minmax_element(w_.zeros.begin(), w_.zeros.end());
    if (*low == 8 && *high == 8) {
      w_.zero = Zero::eight;
      w_.zeros.clear();
      return;
    }
    w_.zero = v1 && layer_.v1_reader == V1Zeros::d1 ? Zero::code_m1 : Zero::code;
    if (config_.sym.value_or(false))
      warn(config_.file + " says sym true, but zeros are " + std::to_string(*low) + ".." +
           std::to_string(*high) + ": the tensor wins");
  }

  void read_codes() {
    const auto words = words_of(layer_.qweight);
    w_.codes.resize(static_cast<std::size_t>(w_.k * w_.n));
    const auto n = static_cast<std::size_t>(w_.n);
    for (std::size_t row = 0; row < static_cast<std::size_t>(w_.k); ++row)
      for (std::size_t column = 0; column < n; ++column)
        w_.codes[row * n + column] =
            static_cast<std::uint8_t>(words[row / 8 * n + column] >> (4 * (row % 8)) & 15);
  }

  void read_bias() {
    if (!find("bias")) return;
    const TensorView& t = needed("bias", 1);
    if (!scale_type_of(t.dtype)) fail(text("bias", t) + ": must be F16, BF16 or F32");
    if (t.shape[0] != w_.n)
      fail(text("bias", t) + ": must have N = " + std::to_string(w_.n) + " elements");
    layer_.bias = t;
  }

  const Parts& parts_;
  QuantConfig config_;
  bool has_config_;
  Layer layer_;
  QuantizedMatrix& w_{layer_.matrix};
  std::vector<std::int32_t> g_idx_;
  std::vector<std::uint32_t> words_;  // of qzeros
};

}  // namespace

Layer read_gptq(const std::string& prefix, const Parts& parts, const QuantConfig* config,
                V1Zeros reader) {
  return Reader(prefix, parts, config, reader).read();
}

std::string kernel_layout(const Layer& layer) {
  return layer.format == "gptq_v1" && layer.matrix.zero == Zero::code ? "gptq_v2" : layer.format;
}

std::vector<std::byte> kernel_zeros(const Layer& layer) {
  if (kernel_layout(layer) == layer.format) return layer.qzeros;
  const auto& zeros = layer.matrix.zeros;
  std::vector<std::uint32_t> words(zeros.size() / 8);
  for (std::size_t i = 0; i < zeros.size(); ++i) words[i / 8] |= zeros[i] << (4 * (i % 8));
  return bytes_of(words);
}

}  // namespace w4
