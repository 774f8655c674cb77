// SPDX-License-Identifier: Apache-2.0
#include "harness/checkpoint/layer_reader.hpp"

#include <algorithm>
#include <cstring>

#include "harness/checkpoint/oddities.hpp"
#include "harness/checkpoint/safetensors.hpp"
#include "harness/checkpoint/text.hpp"
#include "reference/error.hpp"
#include "reference/layout/layout.hpp"

namespace w4 {

std::vector<std::byte> copy_of(std::span<const std::byte> bytes) {
  return {bytes.begin(), bytes.end()};
}

std::vector<std::uint32_t> words_of(std::span<const std::byte> bytes, std::size_t word_bytes) {
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

std::int64_t trivial_group(const std::vector<std::int32_t>& g_idx, std::int64_t groups) {
  const auto k = static_cast<std::int64_t>(g_idx.size());
  const auto end = std::find_if(g_idx.begin(), g_idx.end(), [](auto g) { return g != 0; });
  const std::int64_t size = end - g_idx.begin();
  if (size == 0 || (k + size - 1) / size != groups) return 0;
  for (std::int64_t i = 0; i < k; ++i)
    if (g_idx[static_cast<std::size_t>(i)] != i / size) return 0;
  return size;
}

void LayerReader::fail(const std::string& cause) {
  throw Error(cause);
}

void LayerReader::add(const std::vector<std::string>& lines) {
  layer_.warnings.insert(layer_.warnings.end(), lines.begin(), lines.end());
}

const TensorView* LayerReader::find(const char* name) const {
  const auto at = parts_.find(name);
  return at == parts_.end() ? nullptr : at->second;
}

std::string LayerReader::text(const char* name, const TensorView& t) {
  return std::string(name) + ' ' + printable(t.dtype) + ' ' + shape_text(t.shape);
}

const TensorView& LayerReader::needed(const char* name, std::size_t rank) const {
  const TensorView* t = find(name);
  if (!t) fail(std::string("no ") + name + " (there are " + describe(parts_) + ")");
  if (!dtype_bits(t->dtype))
    fail(std::string(name) + " has the unknown dtype " + in_quotes(t->dtype));
  if (t->shape.size() != rank)
    fail(text(name, *t) + " has rank " + std::to_string(t->shape.size()) + ": must have " +
         std::to_string(rank));
  return *t;
}

void LayerReader::must_be_i32(const char* name, const TensorView& t) {
  if (t.dtype != "I32" && t.dtype != "U32")
    fail(text(name, t) + ": must be a 32-bit integer (I32)");
}

void LayerReader::must_have_shape(const char* name, const TensorView& t, std::int64_t rows,
                                  std::int64_t columns, const char* meaning) {
  if (t.shape[0] == rows && t.shape[1] == columns) return;
  fail(text(name, t) + ": must be " + meaning + " = [" + std::to_string(rows) + ", " +
       std::to_string(columns) + "]");
}

void LayerReader::say_names(std::initializer_list<const char*> names) {
  std::vector<std::string> there;
  for (const char* name : names)
    if (find(name)) there.emplace_back(name);
  why("names " + some_of(there, there.size()));
}

void LayerReader::read_scales(const char* name, const TensorView& t) {
  const auto type = scale_type_of(t.dtype);
  if (!type) fail(text(name, t) + ": must be F16, BF16 or F32");
  w_.scale_type = *type;
  layer_.scales = copy_of(t.bytes);
}

void LayerReader::check_bits(const char* name, std::int64_t rows) {
  if (!config_.bits) return;
  if (*config_.bits == 4) {
    why(config_.file + " says bits 4");
    return;
  }
  const TensorView* g = find("g_idx");
  std::string cause = config_.file + " says bits " + std::to_string(*config_.bits) +
                      ", but the tensors are 4-bit sized: " + name + " has " +
                      std::to_string(rows) + " rows of words, K = " + std::to_string(w_.k) +
                      " at 4 bits";
  if (*config_.bits > 0 && rows * 32 % *config_.bits == 0)
    cause += " and " + std::to_string(rows * 32 / *config_.bits) + " at " +
             std::to_string(*config_.bits);
  if (g && g->shape.size() == 1) cause += ", g_idx has " + std::to_string(g->shape[0]);
  fail(cause);
}

void LayerReader::choose_whole_group(const char* format) {
  const auto seen = w_.k % w_.groups == 0 ? w_.k / w_.groups : 0;
  const std::string tensors =
      std::to_string(w_.groups) + " groups over K = " + std::to_string(w_.k);
  if (config_.group) {
    const auto said = *config_.group == -1 ? w_.k : std::min(*config_.group, w_.k);
    const std::string says = config_.file + " says group_size " + std::to_string(*config_.group);
    if (said == seen) {
      w_.group = said;
      why("group_size " + std::to_string(*config_.group) + " agrees with the number of groups");
      return;
    }
    if (w_.k % said != 0)
      fail(says + ", which does not divide K = " + std::to_string(w_.k) + " (the tensors have " +
           std::to_string(w_.groups) + " groups): " + format + " has no partial last group");
    if (seen)
      warn(says + ", but the tensors have " + tensors + ": conflict, the tensors win (group " +
           std::to_string(seen) + ")");
  }
  if (!seen) fail("group size is unknown: " + tensors + " do not divide it");
  w_.group = seen;
  if (!config_.group) why("group " + std::to_string(seen) + " from the number of groups over K");
}

void LayerReader::read_bias() {
  if (!find("bias")) return;
  const TensorView& t = needed("bias", 1);
  if (!scale_type_of(t.dtype)) fail(text("bias", t) + ": must be F16, BF16 or F32");
  if (t.shape[0] != w_.n)
    fail(text("bias", t) + ": must have N = " + std::to_string(w_.n) + " elements");
  layer_.bias = t;
}

void LayerReader::oddities() {
  add(scale_oddities(w_));
  add(group_oddities(w_));
  add(code_oddities(w_));
}

namespace {

bool touches(const std::vector<std::byte>& words, const std::vector<std::byte>& mask) {
  for (std::size_t i = 0; i < mask.size(); ++i)
    if ((words[i] & mask[i]) != std::byte{0}) return true;
  return false;
}

}  // namespace

void LayerReader::unpack_words() {
  const auto layout = find_layout(layer_.format);
  require(layout.has_value(), "a read format is a row of the layout table");
  const Packed words{layer_.qweight, layer_.scales, layer_.qzeros};
  w_ = unpack(*layout, words, std::move(w_));
  const Packed padding = padding_mask(*layout, geometry_of(w_));
  std::vector<std::string> where;
  if (touches(words.codes, padding.codes)) where.emplace_back("codes");
  if (touches(words.scale, padding.scale)) where.emplace_back("scales");
  if (touches(words.zero, padding.zero)) where.emplace_back("zeros");
  if (!where.empty()) warn("padding is not 0: of " + some_of(where) + ", ignored");
}

}  // namespace w4
