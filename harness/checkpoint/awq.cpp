// SPDX-License-Identifier: Apache-2.0
#include "harness/checkpoint/awq.hpp"

#include <algorithm>

#include "harness/checkpoint/layer_reader.hpp"
#include "harness/checkpoint/text.hpp"
#include "reference/error.hpp"
#include "reference/layout/layout.hpp"

namespace w4 {
namespace {

class Reader : LayerReader {
 public:
  Reader(const std::string& format, const std::string& prefix, const Parts& parts,
         const QuantConfig* config)
      : LayerReader(prefix, parts, config) {
    layer_.format = format;
  }

  Layer read() {
    say_names({"qweight", "qzeros", "scaled_zeros", "scales"});
    zeros_name_ = find("scaled_zeros") ? "scaled_zeros" : "qzeros";
    const TensorView &q = needed("qweight", 2), &z = needed(zeros_name_, 2),
                     &s = needed("scales", 2);
    for (const TensorView* t : {&q, &z, &s})
      if (t->shape[0] == 0 || t->shape[1] == 0) fail("a tensor holds nothing: " + describe(parts_));
    layer_.qweight = copy_of(q.bytes);
    layer_.qzeros = copy_of(z.bytes);
    read_scales("scales", s);
    if (layer_.format == "awq_gemm") read_gemm(q, z, s);
    if (layer_.format == "awq_gemv") read_gemv(q, z, s);
    if (layer_.format == "awq_gemv_fast") read_gemv_fast(q, z, s);
    say_config();
    unpack_words();
    settle_zeros();
    read_bias();
    oddities();
    return std::move(layer_);
  }

 private:
  void read_gemm(const TensorView& q, const TensorView& z, const TensorView& s) {
    must_be_i32("qweight", q);
    must_be_i32("qzeros", z);
    w_.k = q.shape[0];
    w_.n = s.shape[1];
    w_.groups = s.shape[0];
    must_have_shape("qweight", q, w_.k, (w_.n + 7) / 8, "[K, N/8]");
    must_have_shape("qzeros", z, w_.groups, (w_.n + 7) / 8, "[groups, N/8]");
    if (w_.groups > w_.k)
      fail(text("scales", s) + " has more groups than K = " + std::to_string(w_.k));
    w_.zero = Zero::code;
    why("qweight [K, N/8]");
    check_bits("qweight", w_.k / 8);
    choose_whole_group("AWQ");
  }

  void read_gemv(const TensorView& q, const TensorView& z, const TensorView& s) {
    must_be_i32("qweight", q);
    must_be_i32("qzeros", z);
    w_.k = q.shape[1] * 8;
    w_.n = q.shape[0];
    must_have_shape("qzeros", z, w_.n, z.shape[1], "[N, zero words]");
    must_have_shape("scales", s, w_.n, 8 * z.shape[1], "[N, 8 * zero words]");
    w_.zero = Zero::code;
    why("qweight [N, K/8]");
    check_bits("qweight", q.shape[1]);
    choose_padded_group(8 * z.shape[1]);
  }

  void read_gemv_fast(const TensorView& q, const TensorView& z, const TensorView& s) {
    if (q.dtype != "I16" && q.dtype != "U16")
      fail(text("qweight", q) + ": must be a 16-bit integer (I16)");
    w_.k = q.shape[1];
    w_.n = q.shape[0] * 4;
    must_have_shape("scales", s, s.shape[0], w_.n, "[padded groups, N]");
    must_have_shape(zeros_name_, z, s.shape[0], w_.n, "[padded groups, N]");
    if (z.dtype != s.dtype)
      fail(text(zeros_name_, z) + ": must have the type of scales, " + printable(s.dtype));
    w_.zero = Zero::add;
    w_.zero_type = w_.scale_type;
    why("qweight int16 [N/4, K]");
    check_bits("qweight", q.shape[1] / 8);
    choose_padded_group(s.shape[0]);
  }

  // Padding hides the number of groups: the config says it, or the last one with a scale does.
  void choose_padded_group(std::int64_t padded) {
    const auto fits = [&](std::int64_t group) { return padded_groups(group) == padded; };
    const auto said = !config_.group         ? 0
                      : *config_.group == -1 ? w_.k
                                             : std::min(*config_.group, w_.k);
    const std::string says =
        config_.file + " says group_size " + std::to_string(config_.group.value_or(0));
    if (said != 0 && w_.k % said != 0)
      fail(says + ", which does not divide K = " + std::to_string(w_.k) +
           ": AWQ has no partial last group");
    if (said != 0 && fits(said)) {
      take(said);
      why("group_size " + std::to_string(*config_.group) + " agrees with the padded groups");
      return;
    }
    const auto used = groups_with_scales(padded);
    const auto seen = used > 0 && w_.k % used == 0 ? w_.k / used : 0;
    const std::string tensors = std::to_string(used) + " groups with scales, " +
                                std::to_string(padded) +
                                " with padding, over K = " + std::to_string(w_.k);
    if (seen == 0 || !fits(seen))
      fail((said != 0 ? says + ", which does not fit the tensors: " : "group size is unknown: ") +
           tensors);
    take(seen);
    if (said != 0)
      warn(says + ", but the tensors have " + tensors + ": conflict, the tensors win (group " +
           std::to_string(seen) + ")");
    else
      warn("no config says the group size: " + std::to_string(seen) + " is taken, from " + tensors);
  }

  void take(std::int64_t group) {
    w_.group = group;
    w_.groups = w_.k / group;
  }

  // Rows or columns of scales with that group size, padding included; 0 where the layout refuses.
  std::int64_t padded_groups(std::int64_t group) const {
    Geometry g = geometry_of(w_);
    g.group = group;
    g.groups = w_.k / group;
    const Layout layout = *find_layout(layer_.format);
    if (!layout.refuses(g).empty()) return 0;
    return layout.scale_count(g) / g.n;
  }

  std::int64_t groups_with_scales(std::int64_t padded) const {
    const auto words =
        words_of(layer_.scales, static_cast<std::size_t>(bits_of(w_.scale_type) / 8));
    const bool by_column = layer_.format == "awq_gemv";
    std::int64_t used = 0;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      if (words[i] != 0) used = std::max(used, by_column ? at % padded + 1 : at / w_.n + 1);
    }
    return used;
  }

  void say_config() {
    if (!has_config_) {
      warn("no config beside the file: names, types and shapes say AWQ");
      return;
    }
    why(config_.file + " says " +
        (config_.method.empty() ? "no quant_method" : printable(config_.method)) +
        (config_.version.empty() ? "" : ", version " + printable(config_.version)));
    if (config_.method == "gptq")
      warn(config_.file + " says gptq, but the tensors are " + layer_.format +
           " by shape: the tensors win");
    else if (!config_.version.empty() && "awq_" + config_.version != layer_.format)
      warn(config_.file + " says version " + printable(config_.version) + ", but the tensors are " +
           layer_.format + ": the tensors win");
  }

  void settle_zeros() {
    if (w_.zero != Zero::code) return;
    if (!std::all_of(w_.zeros.begin(), w_.zeros.end(), [](auto z) { return z == 8; })) return;
    w_.zero = Zero::eight;
    w_.zeros.clear();
    why("all zeros are 8");
  }

  const char* zeros_name_{};
};

}  // namespace

Layer read_awq(const std::string& format, const std::string& prefix, const Parts& parts,
               const QuantConfig* config) {
  return Reader(format, prefix, parts, config).read();
}

}  // namespace w4
