// SPDX-License-Identifier: Apache-2.0
// What the readers of all formats share: tensors with their checks, evidence and warnings, the
// group size, the bias.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/checkpoint/checkpoint.hpp"
#include "harness/checkpoint/config.hpp"
#include "harness/checkpoint/detect.hpp"

namespace w4 {

std::vector<std::byte> copy_of(std::span<const std::byte>);
// Tensors may start at any byte, so words are copied out, never pointed at.
std::vector<std::uint32_t> words_of(std::span<const std::byte>, std::size_t word_bytes = 4);
std::vector<std::byte> bytes_of(const std::vector<std::uint32_t>& words);
std::optional<Type> scale_type_of(std::string_view dtype);  // F16, BF16, F32

// The group size that makes g_idx[k] == k/size, or 0.
std::int64_t trivial_group(const std::vector<std::int32_t>& g_idx, std::int64_t groups);

class LayerReader {
 protected:
  LayerReader(const std::string& prefix, const Parts& parts, const QuantConfig* config)
      : parts_(parts), config_(config ? *config : QuantConfig{}), has_config_(config != nullptr) {
    layer_.prefix = prefix;
  }

  [[noreturn]] static void fail(const std::string& cause);
  void warn(std::string text) { layer_.warnings.push_back(std::move(text)); }
  void why(std::string text) { layer_.evidence.push_back(std::move(text)); }
  void add(const std::vector<std::string>& lines);

  const TensorView* find(const char* name) const;
  static std::string text(const char* name, const TensorView&);  // "qweight I32 [8, 32]"
  const TensorView& needed(const char* name, std::size_t rank) const;
  static void must_be_i32(const char* name, const TensorView&);
  static void must_have_shape(const char* name, const TensorView&, std::int64_t rows,
                              std::int64_t columns, const char* meaning);

  // "no g_idx"-style evidence of which of the names are there.
  void say_names(std::initializer_list<const char*> names);
  void read_scales(const char* name, const TensorView&);  // type and bytes
  // Error where a config says another number of bits; K and its size in words are for the message.
  void check_bits(const char* name, std::int64_t rows_of_words);
  // The group size without g_idx, in a format without a partial last group: the config's where it
  // fits K and the number of groups, else the tensors' with a warning, else an error.
  void choose_whole_group(const char* format);
  void read_bias();
  void oddities();
  // Codes, scales and zeros from the words of the layer, by the row of its format. Error where the
  // row refuses; a warning where padding is not 0.
  void unpack_words();

  const Parts& parts_;
  QuantConfig config_;
  bool has_config_;
  Layer layer_;
  QuantizedMatrix& w_{layer_.matrix};
};

}  // namespace w4
