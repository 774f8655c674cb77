// SPDX-License-Identifier: Apache-2.0
#include "harness/checkpoint/compressed_tensors.hpp"

#include <algorithm>
#include <cstring>

#include "harness/checkpoint/layer_reader.hpp"
#include "harness/checkpoint/text.hpp"
#include "reference/error.hpp"

namespace w4 {
namespace {

class Reader : LayerReader {
 public:
  Reader(const std::string& prefix, const Parts& parts, const QuantConfig* config)
      : LayerReader(prefix, parts, config) {
    layer_.format = "compressed_tensors";
  }

  Layer read() {
    say_names(
        {"weight_packed", "weight_scale", "weight_shape", "weight_zero_point", "weight_g_idx"});
    read_geometry();
    check_bits("weight_packed", (w_.k + 7) / 8);
    choose_whole_group("compressed-tensors");
    read_zero_point();
    read_g_idx();
    say_config();
    unpack_words();
    read_bias();
    oddities();
    return std::move(layer_);
  }

 private:
  void read_geometry() {
    const TensorView &q = needed("weight_packed", 2), &s = needed("weight_scale", 2);
    must_be_i32("weight_packed", q);
    if (q.shape[0] == 0 || q.shape[1] == 0 || s.shape[1] == 0)
      fail(text("weight_packed", q) + ": holds nothing");
    w_.n = q.shape[0];
    w_.groups = s.shape[1];
    must_have_shape("weight_scale", s, w_.n, w_.groups, "[N, groups]");
    read_scales("weight_scale", s);
    layer_.qweight = copy_of(q.bytes);
    read_shape(q);
    if (w_.groups > w_.k)
      fail(text("weight_scale", s) + " has more groups than K = " + std::to_string(w_.k));
    why("weight_packed int32 [N, K/8]");
  }

  void read_shape(const TensorView& q) {
    const auto most = q.shape[1] * 8;
    if (!find("weight_shape")) {
      // A last word may be padded; the config's groups say how far, where they do.
      const bool sane = config_.group && *config_.group > 0 && *config_.group <= most;
      const auto by_group = sane ? w_.groups * *config_.group : most;
      w_.k = by_group > most - 8 && by_group <= most ? by_group : most;
      warn("no weight_shape: K = " + std::to_string(w_.k) + " is assumed (the words hold up to " +
           std::to_string(most) + ")");
      return;
    }
    const TensorView& t = needed("weight_shape", 1);
    if (t.dtype != "I64" || t.shape[0] != 2) fail(text("weight_shape", t) + ": must be I64 [2]");
    std::int64_t shape[2];
    std::memcpy(shape, t.bytes.data(), sizeof shape);
    const bool fits = shape[0] == w_.n && shape[1] > most - 8 && shape[1] <= most;
    if (!fits)
      fail("weight_shape says N = " + std::to_string(shape[0]) +
           ", K = " + std::to_string(shape[1]) + ", but " + text("weight_packed", q) +
           " holds N = " + std::to_string(w_.n) + ", K up to " + std::to_string(most));
    w_.k = shape[1];
    why("weight_shape [" + std::to_string(w_.n) + ", " + std::to_string(w_.k) + "]");
  }

  void read_zero_point() {
    w_.zero = Zero::eight;
    if (!find("weight_zero_point")) {
      if (!config_.sym.value_or(true))
        fail("no weight_zero_point, and " + config_.file + " says symmetric false");
      if (!config_.sym) warn("no weight_zero_point, and no config says symmetric: z = 8 is taken");
      return;
    }
    const TensorView& t = needed("weight_zero_point", 2);
    must_be_i32("weight_zero_point", t);
    must_have_shape("weight_zero_point", t, (w_.n + 7) / 8, w_.groups, "[N/8, groups]");
    layer_.qzeros = copy_of(t.bytes);
    w_.zero = Zero::code;
    if (config_.sym.value_or(false))
      warn(config_.file + " says symmetric true, but weight_zero_point is there: the tensor wins");
  }

  bool config_orders_groups() const {
    return config_.actorder == "group" || config_.actorder == "dynamic" ||
           config_.actorder == "true";
  }

  void read_g_idx() {
    if (!find("weight_g_idx")) {
      if (config_orders_groups())
        fail("no weight_g_idx, and " + config_.file + " says actorder " +
             printable(config_.actorder) + ": the order of groups is lost");
      return;
    }
    const TensorView& t = needed("weight_g_idx", 1);
    must_be_i32("weight_g_idx", t);
    if (t.shape[0] != w_.k)
      fail("weight_g_idx has " + std::to_string(t.shape[0]) + " entries, K is " +
           std::to_string(w_.k));
    const auto words = words_of(t.bytes);
    const std::vector<std::int32_t> g_idx(words.begin(), words.end());
    if (std::find(g_idx.begin(), g_idx.end(), -1) != g_idx.end()) {
      warn("weight_g_idx holds -1: it was never set and is ignored");
      return;
    }
    for (std::size_t i = 0; i < g_idx.size(); ++i)
      if (g_idx[i] < 0 || g_idx[i] >= w_.groups)
        fail("weight_g_idx[" + std::to_string(i) + "] is " + std::to_string(g_idx[i]) +
             ": must be 0.." + std::to_string(w_.groups - 1));
    if (trivial_group(g_idx, w_.groups) == w_.group) {
      why("weight_g_idx is k/group");
      return;
    }
    layer_.act_order = true;
    w_.g_idx = g_idx;
    why("weight_g_idx is a real permutation");
    if (has_config_ && !config_orders_groups())
      warn("weight_g_idx is a real permutation, but " + config_.file + " does not say actorder " +
           "group: the tensor wins, act-order is on");
  }

  void say_config() {
    if (!has_config_) {
      warn("no config beside the file: names and types say compressed-tensors");
      return;
    }
    why(config_.file + " says " +
        (config_.method.empty() ? "no quant_method" : printable(config_.method)) +
        (config_.format.empty() ? "" : ", format " + printable(config_.format)));
    if (config_.overrides)
      warn(config_.file + " has config_groups that differ: not applied, the tensors decide");
  }
};

}  // namespace

Layer read_compressed_tensors(const std::string& prefix, const Parts& parts,
                              const QuantConfig* config) {
  return Reader(prefix, parts, config).read();
}

}  // namespace w4
