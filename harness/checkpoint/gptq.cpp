// SPDX-License-Identifier: Apache-2.0
#include "harness/checkpoint/gptq.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "harness/checkpoint/config.hpp"
#include "harness/checkpoint/gptq_zeros_report.hpp"
#include "harness/checkpoint/layer_reader.hpp"
#include "harness/checkpoint/text.hpp"
#include "reference/error.hpp"
#include "reference/layout/gptq_zeros.hpp"

namespace w4 {
namespace {

class Reader : LayerReader {
 public:
  Reader(const std::string& prefix, const Parts& parts, const QuantConfig* config, V1Zeros reader)
      : LayerReader(prefix, parts, config) {
    layer_.v1_reader = reader;
  }

  Layer read() {
    say_names({"qweight", "qzeros", "scales", "g_idx"});
    read_geometry();
    check_bits("qweight", w_.k / 8);
    read_g_idx();
    choose_group();
    settle_order();
    read_qzeros();
    choose_version();
    read_zeros();
    read_codes();
    read_bias();
    oddities();
    return std::move(layer_);
  }

 private:
  void read_geometry() {
    const TensorView& q = needed("qweight", 2);
    must_be_i32("qweight", q);
    const TensorView& s = needed("scales", 2);
    read_scales("scales", s);
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
    w_.scales = words_of(s.bytes, static_cast<std::size_t>(bits_of(w_.scale_type) / 8));
    layer_.qweight = copy_of(q.bytes);
    why("qweight [K/8, N]");
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
      must_have_shape("qzeros", t, w_.groups, row, "[groups, N/8]");
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

Packed stored_words(const Layer& layer) {
  return {layer.qweight, layer.scales, kernel_zeros(layer)};
}

}  // namespace w4
