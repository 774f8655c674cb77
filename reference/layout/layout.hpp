// SPDX-License-Identifier: Apache-2.0
// How a quantised matrix is stored: a layout is a row of a table, and pack, unpack, address map and
// tests come from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/quantized.hpp"

namespace w4 {

struct Geometry {
  std::int64_t k{}, n{}, groups{};
  Zero zero{};
  Type scale_type{}, zero_type{};
  std::int64_t group{};  // k per group
  bool act_order{};      // there is a g_idx
};
Geometry geometry_of(const QuantizedMatrix&);

// Where a code or a zero lives: a bit offset from the start of the tensor (little endian, so bit b
// is bit b%8 of byte b/8), `width` bits wide.
struct Site {
  std::int64_t bit{};
  int width{4};
};

// How a zero point becomes what is stored: m1 is z - 1, real the word of zero_type as it is.
enum class ZeroStore : std::uint8_t { none, byte, nibble, nibble_m1, real, byte_m1 };

struct Layout {
  std::string name;  // as in the problem line: "codes", "kpack:02461357", "gptq_v1"
  int word_bits{
      8};  // for messages: site.bit / word_bits is the word, its nibble (site.bit % word_bits) / 4
  int permutation[8]{0, 1, 2, 3, 4, 5, 6, 7};  // nibble p of a word holds element permutation[p]
  // "" if the matrix can be stored (zero form included), else the reason.
  std::string (*refuses)(const Geometry&){};
  std::int64_t (*code_bits)(const Geometry&){};  // size of the tensor of codes
  Site (*code_site)(const Layout&, const Geometry&, std::int64_t k, std::int64_t n){};
  std::int64_t (*zero_bits)(const Geometry&){};  // 0: no zeros stored
  Site (*zero_site)(const Layout&, const Geometry&, std::int64_t g, std::int64_t n){};
  ZeroStore (*zero_store)(Zero){};
  std::int64_t (*scale_count)(const Geometry&){};  // elements of scale_type, padding included
  std::int64_t (*scale_at)(const Geometry&, std::int64_t g, std::int64_t n){};  // which element
  int nibble_of[8]{0, 1, 2, 3, 4, 5, 6, 7};  // the inverse of permutation
};

// The table's row of that name, permutations included: "kpack:02461357". nullopt if there is none.
std::optional<Layout> find_layout(std::string_view name);
// Names to show and to suggest: kpack and npack with the identity and the article's permutation.
std::vector<std::string> layout_names();
// One sentence for `list layouts`.
std::string layout_summary(std::string_view name);
// The zero forms that the row can store.
bool layout_stores(const Layout&, Zero);
// The type of zeros in the ABI's sense: u4 where packed, u8, or the given float type.
Type stored_zero_type(const Layout&, Zero, Type float_type);

// Stored bytes, tensor by tensor, scales in the layout's own order.
struct Packed {
  std::vector<std::byte> codes, scale, zero;
  friend bool operator==(const Packed&, const Packed&) = default;
};
// Throws Error(input) with the reason if the layout refuses or a zero point does not fit its store.
Packed pack(const Layout&, const QuantizedMatrix&);
// `like` gives k, n, group, groups, zero form, types and g_idx; codes, scales and zeros come from
// the bytes.
QuantizedMatrix unpack(const Layout&, const Packed&, QuantizedMatrix like);
// Ones in every bit that no code, scale or zero has: what pack leaves 0 and unpack does not look
// at.
Packed padding_mask(const Layout&, const Geometry&);

}  // namespace w4
