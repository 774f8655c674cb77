// SPDX-License-Identifier: Apache-2.0
// AWQ and compressed-tensors rows: the published words, where padding is, and what a row refuses.
#include <string>

#include "reference/error.hpp"
#include "reference/layout/layout.hpp"
#include "reference/problem.hpp"
#include "suites/reference/layout_support.hpp"
#include "suites/support/property.hpp"

namespace w4 {
namespace {

// All codes, scales and zeros 0 but for what a test sets.
QuantizedMatrix blank(std::int64_t k, std::int64_t n, std::int64_t group, Zero zero) {
  QuantizedMatrix w;
  w.k = k, w.n = n, w.group = group, w.groups = k / group, w.zero = zero;
  w.zero_type = has_integer_zero(zero) ? Type::u8 : Type::f16;
  w.codes.assign(static_cast<std::size_t>(k * n), 0);
  w.scales.assign(static_cast<std::size_t>(w.groups * n), 0);
  if (has_stored_zero(zero)) w.zeros.assign(w.scales.size(), 0);
  return w;
}

Packed packed(const char* layout, const QuantizedMatrix& w) {
  return pack(*find_layout(layout), w);
}

std::vector<std::byte> bytes(std::initializer_list<std::uint32_t> words) {
  std::vector<std::byte> out;
  for (const std::uint32_t word : words) append_word(out, word);
  return out;
}

std::string refusal(const char* layout, Geometry g) {
  return find_layout(layout)->refuses(g);
}

const Geometry sound{128, 64, 2, Zero::code, Type::f16, Type::u8, 64, false};
const Geometry sound_add{128, 64, 2, Zero::add, Type::f16, Type::f16, 64, false};

std::size_t ones(const std::vector<std::byte>& mask) {
  std::size_t count = 0;
  for (const std::byte b : mask)
    for (int bit = 0; bit < 8; ++bit) count += std::to_integer<unsigned>(b >> bit) & 1u;
  return count;
}

}  // namespace

TEST_CASE("layout awq: eight rising codes in each layout's order") {
  QuantizedMatrix row = blank(1, 8, 1, Zero::code), column = blank(8, 1, 8, Zero::code);
  for (std::uint8_t i = 0; i < 8; ++i) row.codes[i] = column.codes[i] = i;
  CHECK(packed("awq_gemm", row).codes == bytes({0x75316420}));
  CHECK(packed("compressed_tensors", column).codes == bytes({0x76543210}));
  QuantizedMatrix gemv = blank(32, 1, 32, Zero::code);
  for (std::uint8_t i = 0; i < 8; ++i) gemv.codes[i] = i;
  CHECK(packed("awq_gemv", gemv).codes == bytes({0x76543210, 0, 0, 0}));
}

TEST_CASE("layout awq: GEMM zeros are permuted along n") {
  QuantizedMatrix w = blank(1, 8, 1, Zero::code);
  w.zeros = {1, 0, 15, 8, 7, 2, 9, 3};
  CHECK(packed("awq_gemm", w).zero == bytes({0x328097f1}));
}

TEST_CASE("layout awq: GEMV zeros are packed along the groups and padded to the group's words") {
  QuantizedMatrix w = blank(128, 1, 64, Zero::code);
  w.zeros = {3, 12};
  w.scales = {0x3c00, 0x4000};
  CHECK(packed("awq_gemv", w).zero == bytes({0x000000c3, 0x00000000}));
  CHECK(packed("awq_gemv", w).scale == bytes({0x40003c00, 0, 0, 0, 0, 0, 0, 0}));
}

TEST_CASE("layout awq: GEMV zero words per column follow the group size") {
  const auto words = [](std::int64_t k, std::int64_t group) {
    return packed("awq_gemv", blank(k, 1, group, Zero::eight)).zero.size() / 4;
  };
  CHECK(words(128, 128) == 1);
  CHECK(words(1024, 128) == 1);
  CHECK(words(1152, 128) == 2);
  CHECK(words(64, 64) == 2);
  CHECK(words(1088, 64) == 4);
  CHECK(words(32, 32) == 4);
  CHECK(words(1056, 32) == 8);
  CHECK(words(384, 384) == 1);
}

TEST_CASE("layout awq: symmetric zeros are eights, and padding stays 0") {
  CHECK(packed("awq_gemm", blank(2, 8, 1, Zero::eight)).zero == bytes({0x88888888, 0x88888888}));
  CHECK(packed("awq_gemv", blank(192, 1, 64, Zero::eight)).zero == bytes({0x00000888, 0}));
}

TEST_CASE("layout awq: GEMV-fast interleaves four columns of 64 rows in 16-bit words") {
  QuantizedMatrix w = blank(64, 4, 64, Zero::add);
  constexpr std::uint8_t first[] = {7, 6, 7, 15, 4,  7, 8, 2, 8, 6,  14, 0, 2, 3, 2, 1,
                                    1, 5, 6, 10, 10, 4, 4, 3, 5, 15, 4,  3, 7, 4, 3, 11};
  for (std::int64_t k = 0; k < 32; ++k) w.codes[w.at(k, 0)] = first[k];
  const auto codes = packed("awq_gemv_fast", w).codes;
  const std::vector<std::byte> head(codes.begin(), codes.begin() + 16);
  CHECK(head == bytes({0xf5665187, 0x3a0f46e7, 0x44377a24, 0xb3123428}));
}

TEST_CASE("layout awq: GEMV-fast scales and what is added are padded in rows") {
  QuantizedMatrix w = blank(128, 4, 64, Zero::add);
  for (std::uint32_t i = 0; i < 8; ++i) w.scales[i] = 0x3c00 + i, w.zeros[i] = 0xc800 + i;
  const Packed p = packed("awq_gemv_fast", w);
  REQUIRE(p.scale.size() == 16 * 4 * 2);
  REQUIRE(p.zero.size() == 16 * 4 * 2);
  for (std::size_t i = 0; i < 64; ++i) {
    const auto at = [&](const std::vector<std::byte>& from) {
      return std::to_integer<unsigned>(from[2 * i]) | std::to_integer<unsigned>(from[2 * i + 1])
                                                          << 8;
    };
    CHECK(at(p.scale) == (i < 8 ? 0x3c00 + i : 0));
    CHECK(at(p.zero) == (i < 8 ? 0xc800 + i : 0));
  }
}

TEST_CASE("layout compressed-tensors: the last word of a column is padded with nibbles 0") {
  QuantizedMatrix w = blank(12, 1, 12, Zero::eight);
  w.codes = {0, 1, 7, 8, 9, 10, 14, 15, 11, 5, 13, 3};  // i4 + 8
  CHECK(packed("compressed_tensors", w).codes == bytes({0xfea98710, 0x00003d5b}));
  CHECK(packed("compressed_tensors", w).zero.empty());
}

TEST_CASE("layout compressed-tensors: zeros are packed along n, group after group") {
  QuantizedMatrix w = blank(8, 9, 4, Zero::code);
  for (std::uint32_t n = 0; n < 9; ++n) w.zeros[n] = n, w.zeros[9 + n] = 15 - n;
  CHECK(packed("compressed_tensors", w).zero ==
        bytes({0x76543210, 0x89abcdef, 0x00000008, 0x00000007}));
}

TEST_CASE("layout compressed-tensors: scales are column after column") {
  QuantizedMatrix w = blank(8, 2, 4, Zero::eight);
  w.scales = {0x3c00, 0x3c01, 0x4000, 0x4001};
  CHECK(packed("compressed_tensors", w).scale == bytes({0x40003c00, 0x40013c01}));
}

TEST_CASE("layout awq: the padding mask has the bits that no code, scale or zero has") {
  const auto mask = [](const char* layout, const Geometry& g) {
    return padding_mask(*find_layout(layout), g);
  };
  const Packed gemm = mask("awq_gemm", sound);
  CHECK(ones(gemm.codes) + ones(gemm.scale) + ones(gemm.zero) == 0);
  const Packed gemv = mask("awq_gemv", sound);
  CHECK(ones(gemv.codes) == 0);
  CHECK(ones(gemv.scale) == 64 * 14 * 16);
  CHECK(ones(gemv.zero) == 64 * 14 * 4);
  const Packed fast = mask("awq_gemv_fast", sound_add);
  CHECK(ones(fast.codes) == 0);
  CHECK(ones(fast.scale) == 64 * 14 * 16);
  CHECK(ones(fast.zero) == 64 * 14 * 16);
  Geometry ragged{12, 9, 3, Zero::code, Type::bf16, Type::u8, 4, false};
  const Packed compressed = mask("compressed_tensors", ragged);
  CHECK(ones(compressed.codes) == 9 * 4 * 4);
  CHECK(ones(compressed.scale) == 0);
  CHECK(ones(compressed.zero) == 3 * 7 * 4);
}

TEST_CASE("layout awq: unpack does not look at padding") {
  for (const char* name : {"awq_gemv", "awq_gemv_fast", "compressed_tensors"}) {
    INFO(name);
    const Layout layout = *find_layout(name);
    const Zero zero = layout_stores(layout, Zero::add) ? Zero::add : Zero::code;
    const QuantizedMatrix w = blank(192, 12, 64, zero);
    const Packed padding = padding_mask(layout, geometry_of(w));
    Packed p = pack(layout, w);
    for (std::size_t i = 0; i < p.codes.size(); ++i) p.codes[i] |= padding.codes[i];
    for (std::size_t i = 0; i < p.scale.size(); ++i) p.scale[i] |= padding.scale[i];
    for (std::size_t i = 0; i < p.zero.size(); ++i) p.zero[i] |= padding.zero[i];
    CHECK(p != pack(layout, w));
    const QuantizedMatrix back = unpack(layout, p, w);
    CHECK((back.codes == w.codes && back.scales == w.scales && back.zeros == w.zeros));
  }
}

TEST_CASE("layout awq: a row refuses what it cannot store, with the reason") {
  const auto with = [](Geometry g, auto edit) {
    edit(g);
    return g;
  };
  for (const char* name : {"awq_gemm", "awq_gemv", "compressed_tensors"})
    CHECK(refusal(name, sound).empty());
  CHECK(refusal("awq_gemv_fast", sound_add).empty());
  CHECK(refusal("awq_gemm", sound_add) ==
        "layout awq_gemm cannot express zero=add; it stores 8, code");
  CHECK(refusal("awq_gemv_fast", sound) ==
        "layout awq_gemv_fast cannot express zero=code; it stores add");
  CHECK(refusal("awq_gemm", with(sound, [](auto& g) { g.act_order = true; })) ==
        "layout awq_gemm has no g_idx: act-order cannot be stored");
  CHECK(refusal("compressed_tensors", with(sound, [](auto& g) { g.act_order = true; })).empty());
  const auto tail = with(sound, [](auto& g) { g.k = 96; });
  for (const char* name : {"awq_gemm", "awq_gemv", "compressed_tensors"})
    CHECK(refusal(name, tail) == "layout " + std::string(name) +
                                     " has no partial last group: k=96 is not a multiple of g=64");
  CHECK(refusal("awq_gemm", with(sound, [](auto& g) { g.n = 12; })) ==
        "layout awq_gemm packs 8 columns a word: n=12 is not a multiple of 8");
  CHECK(refusal("awq_gemv", with(sound, [](auto& g) { g.k = 80, g.group = 40; })) ==
        "layout awq_gemv has groups of 32, 64, 128 and more, not g=40");
  CHECK(refusal("awq_gemv", with(sound, [](auto& g) { g.k = 130, g.group = 130; })) ==
        "layout awq_gemv packs 8 rows a word: k=130 is not a multiple of 8");
  CHECK(refusal("awq_gemv_fast", with(sound_add, [](auto& g) { g.k = 96, g.group = 32; })) ==
        "layout awq_gemv_fast interleaves 64 rows: k=96 is not a multiple of 64");
  CHECK(refusal("awq_gemv_fast", with(sound_add, [](auto& g) { g.n = 6; })) ==
        "layout awq_gemv_fast interleaves 4 columns: n=6 is not a multiple of 4");
  CHECK(refusal("awq_gemv_fast", with(sound_add, [](auto& g) { g.zero_type = Type::f32; })) ==
        "layout awq_gemv_fast stores zeros in the type of the scales, f16, not f32");
}

TEST_CASE("layout awq: a problem line takes these layouts and refuses what they cannot store") {
  const auto fault = [](const char* line) -> std::string {
    try {
      parse_problem(line);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  CHECK(fault("m=1 n=64 k=128 g=64 layout=awq_gemm zero=code").empty());
  CHECK(fault("m=1 n=64 k=128 g=32 layout=awq_gemv zero=8").empty());
  CHECK(fault("m=1 n=64 k=128 g=64 layout=awq_gemv_fast zero=add").empty());
  CHECK(fault("m=1 n=33 k=100 layout=compressed_tensors").empty());
  CHECK(fault("m=1 n=64 k=128 g=64 layout=compressed_tensors zero=code order=perm").empty());
  CHECK(fault("m=1 n=64 k=128 g=64 layout=awq_gemv_fast zero=code").find("cannot express") !=
        std::string::npos);
  CHECK(fault("m=1 n=64 k=128 g=64 layout=awq_gemm zero=code order=perm").find("no g_idx") !=
        std::string::npos);
  CHECK(fault("m=1 data=layer:a#b layout=awq_gemv_fast zero=add").empty());
  CHECK(fault("m=1 g=64 data=layer:a#b layout=awq_gemv zero=code").empty());
}

}  // namespace w4
