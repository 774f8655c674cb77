// SPDX-License-Identifier: Apache-2.0
// Every row of the layout table: an injection, undone by its own unpack, and equal to the published
// bits.
#include "reference/layout/layout.hpp"

#include <algorithm>
#include <string>

#include "reference/error.hpp"
#include "reference/layout/gptq_zeros.hpp"
#include "suites/reference/layout_support.hpp"
#include "suites/support/property.hpp"

namespace w4 {
namespace {

constexpr Zero forms[] = {Zero::signed_codes, Zero::eight, Zero::code, Zero::code_m1,
                          Zero::real,         Zero::add,   Zero::add_8};

std::vector<Layout> layouts() {
  std::vector<Layout> all;
  for (const std::string& name : layout_names()) all.push_back(*find_layout(name));
  for (const char* name : {"kpack:76543210", "npack:31740265"}) all.push_back(*find_layout(name));
  return all;
}

// A matrix of that shape with codes, scales and zeros from `draw(limit)`, which gives 0..limit-1.
QuantizedMatrix matrix(std::int64_t k, std::int64_t n, std::int64_t group, Zero zero, auto draw) {
  QuantizedMatrix w;
  w.k = k, w.n = n, w.group = group, w.groups = (k + group - 1) / group;
  w.zero = zero;
  w.zero_type = has_integer_zero(zero) ? Type::u8 : Type::f16;
  for (std::int64_t i = 0; i < k * n; ++i) w.codes.push_back(static_cast<std::uint8_t>(draw(16)));
  for (std::int64_t i = 0; i < w.groups * n; ++i) {
    w.scales.push_back(draw(0x10000));
    if (zero == Zero::code) w.zeros.push_back(draw(16));
    if (zero == Zero::code_m1) w.zeros.push_back(1 + draw(16));
    if (!has_integer_zero(zero)) w.zeros.push_back(draw(0x10000));
  }
  return w;
}

// A hash walk: cheap, and a pure function of the seed.
struct Walk {
  std::uint32_t state;
  std::uint32_t operator()(std::uint32_t limit) {
    state = state * 0x9E3779B1u + 0x27D4EB2Fu;
    return static_cast<std::uint32_t>((std::uint64_t{state ^ (state >> 15)} * limit) >> 32);
  }
};

QuantizedMatrix golden_matrix(Zero zero) {
  QuantizedMatrix w = matrix(256, 256, 128, zero, [](std::uint32_t) { return 0u; });
  for (std::uint32_t k = 0; k < 256; ++k)
    for (std::uint32_t n = 0; n < 256; ++n) w.codes[w.at(k, n)] = golden_code(k, n, 0);
  if (zero == Zero::code)
    for (std::uint32_t g = 0; g < 2; ++g)
      for (std::uint32_t n = 0; n < 256; ++n) w.zeros[w.at(g, n)] = golden_code(g, n, 7);
  return w;
}

std::vector<std::byte> bytes(std::initializer_list<std::uint32_t> words) {
  std::vector<std::byte> out;
  for (const std::uint32_t word : words) append_word(out, word);
  return out;
}

std::vector<std::byte> packed_codes(const char* layout, std::int64_t k, std::int64_t n, Zero zero,
                                    std::vector<std::uint8_t> codes) {
  QuantizedMatrix w = matrix(k, n, k, zero, [](std::uint32_t) { return 0u; });
  w.codes = std::move(codes);
  return pack(*find_layout(layout), w).codes;
}

std::string refusal(auto call) {
  try {
    call();
  } catch (const Error& e) {
    return e.blame() == Blame::input ? e.what() : "internal";
  }
  return "accepted";
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Bits that lie in no site stay clear, and no bit lies in two.
void check_sites(std::vector<bool>& used, Site site) {
  REQUIRE(site.bit >= 0);
  REQUIRE(site.bit % 4 == 0);
  REQUIRE(static_cast<std::size_t>(site.bit + site.width) <= used.size());
  for (auto b = static_cast<std::size_t>(site.bit);
       b < static_cast<std::size_t>(site.bit + site.width); ++b) {
    REQUIRE_FALSE(used[b]);
    used[b] = true;
  }
}

}  // namespace

TEST_CASE("layout: golden digest of the article's layout") {
  const Packed p = pack(*find_layout("kpack:02461357"), golden_matrix(Zero::eight));
  CHECK(fnv1a64(p.codes) == 0x56984568a4906b91u);
  CHECK(p.zero.empty());
}

TEST_CASE("layout: golden digest of GPTQ codes, v1 and v2") {
  CHECK(fnv1a64(pack(*find_layout("gptq_v1"), golden_matrix(Zero::eight)).codes) ==
        0xd5c30b8b4219d1eau);
  CHECK(fnv1a64(pack(*find_layout("gptq_v2"), golden_matrix(Zero::code)).codes) ==
        0xd5c30b8b4219d1eau);
  CHECK(fnv1a64(pack(*find_layout("kpack:01234567"), golden_matrix(Zero::real)).codes) ==
        0xd5c30b8b4219d1eau);
}

TEST_CASE("layout: golden digest of GPTQ v2 zeros") {
  CHECK(fnv1a64(pack(*find_layout("gptq_v2"), golden_matrix(Zero::code)).zero) ==
        0xd65d16561570895fu);
}

TEST_CASE("layout: golden digest of AWQ GEMM codes, which npack spells too") {
  CHECK(fnv1a64(pack(*find_layout("npack:02461357"), golden_matrix(Zero::eight)).codes) ==
        0x9d3481f79fb02c97u);
}

TEST_CASE("layout: golden digests of AWQ and compressed-tensors codes") {
  const auto digest = [](const char* name, Zero zero) {
    return fnv1a64(pack(*find_layout(name), golden_matrix(zero)).codes);
  };
  CHECK(digest("awq_gemm", Zero::code) == 0x9d3481f79fb02c97u);
  CHECK(digest("awq_gemv", Zero::code) == 0xaadf2b3860a97b9eu);
  CHECK(digest("awq_gemv_fast", Zero::add) == 0xdb091edf35e886abu);
  CHECK(digest("compressed_tensors", Zero::code) == 0xaadf2b3860a97b9eu);
  CHECK(digest("compressed_tensors", Zero::eight) == 0xaadf2b3860a97b9eu);
}

TEST_CASE("layout: golden digests of AWQ GEMM and compressed-tensors zeros") {
  const auto digest = [](const char* name) {
    return fnv1a64(pack(*find_layout(name), golden_matrix(Zero::code)).zero);
  };
  CHECK(digest("awq_gemm") == 0x8cab0d910a57f9d9u);
  CHECK(digest("compressed_tensors") == 0x7cfb7a9f7d06a647u);
}

TEST_CASE("layout: one word of eight rising codes shows the order of its nibbles") {
  const std::vector<std::uint8_t> rising = {0, 1, 2, 3, 4, 5, 6, 7};
  CHECK(packed_codes("kpack:02461357", 8, 1, Zero::eight, rising) == bytes({0x75316420}));
  CHECK(packed_codes("kpack:01234567", 8, 1, Zero::eight, rising) == bytes({0x76543210}));
  CHECK(packed_codes("npack:02461357", 1, 8, Zero::eight, rising) == bytes({0x75316420}));
  CHECK(packed_codes("npack:76543210", 1, 8, Zero::eight, rising) == bytes({0x01234567}));
}

TEST_CASE("layout: a ragged last word is padded with code 0") {
  const std::vector<std::uint8_t> nines(9, 9);
  CHECK(packed_codes("kpack:02461357", 9, 1, Zero::eight, nines) ==
        bytes({0x99999999, 0x00000009}));
  CHECK(packed_codes("kpack:76543210", 9, 1, Zero::eight, nines) ==
        bytes({0x99999999, 0x90000000}));
  CHECK(packed_codes("npack:01234567", 1, 9, Zero::signed_codes, nines) ==
        bytes({0x99999999, 0x00000009}));
}

TEST_CASE("layout: signed codes are two's complement, int8 in codes and the nibble elsewhere") {
  const std::vector<std::uint8_t> codes = {8, 15, 0, 1, 7, 9, 3, 13};  // -8 -1 0 1 7 -7 3 -3
  CHECK(packed_codes("codes", 8, 1, Zero::signed_codes, codes) == bytes({0x0100fff8, 0xfd03f907}));
  CHECK(packed_codes("codes", 8, 1, Zero::eight, codes) == bytes({0x01000f08, 0x0d030907}));
  CHECK(packed_codes("kpack:01234567", 8, 1, Zero::signed_codes, codes) == bytes({0xd39710f8}));
}

TEST_CASE("layout: symmetric GPTQ zeros are sevens in v1 and eights in v2") {
  const QuantizedMatrix w = matrix(16, 8, 8, Zero::eight, Walk{1});
  CHECK(pack(*find_layout("gptq_v1"), w).zero == bytes({0x77777777, 0x77777777}));
  CHECK(pack(*find_layout("gptq_v2"), w).zero == bytes({0x88888888, 0x88888888}));
}

TEST_CASE("layout: GPTQ v1 zeros are what every v1 writer writes, and 16 is a nibble of 15") {
  QuantizedMatrix w = matrix(8, 8, 8, Zero::code_m1, Walk{2});
  const std::array<std::uint8_t, 8> z = {1, 9, 15, 8, 7, 2, 9, 3};
  w.zeros.assign(z.begin(), z.end());
  CHECK(pack(*find_layout("gptq_v1"), w).zero == bytes({write_v1_word(V1Writer::e3, z)}));
  w.zeros[2] = 16;
  CHECK(pack(*find_layout("gptq_v1"), w).zero == bytes({0x28167f80}));
}

TEST_CASE("layout: integer zeros beside plain codes are bytes, code_m1 stored minus one") {
  QuantizedMatrix w = matrix(8, 4, 8, Zero::code, Walk{3});
  w.zeros = {0, 15, 8, 3};
  for (const char* name : {"codes", "kpack:02461357", "npack:01234567"})
    CHECK(pack(*find_layout(name), w).zero == bytes({0x03080f00}));
  w.zero = Zero::code_m1;
  w.zeros = {1, 16, 9, 4};
  for (const char* name : {"codes", "kpack:02461357", "npack:01234567"})
    CHECK(pack(*find_layout(name), w).zero == bytes({0x03080f00}));
}

TEST_CASE("layout: real zeros and scales are words of their types") {
  QuantizedMatrix w = matrix(8, 2, 8, Zero::real, Walk{4});
  w.scales = {0x3c00, 0x1234};
  w.zero_type = Type::f32;
  w.zeros = {0x41000000, 0xbf800001};
  const Packed p = pack(*find_layout("kpack:02461357"), w);
  CHECK(p.scale == bytes({0x12343c00}));
  CHECK(p.zero == bytes({0x41000000, 0xbf800001}));
}

namespace {

// Of any shape whether a layout takes it or not; the last are what the GEMV layouts take.
std::vector<Geometry> geometries(Zero zero) {
  std::vector<Geometry> all;
  for (const auto& [k, n, group] : {std::tuple{1, 1, 1},
                                    {7, 3, 3},
                                    {8, 8, 3},
                                    {9, 17, 3},
                                    {16, 24, 3},
                                    {20, 5, 3},
                                    {24, 8, 8},
                                    {12, 19, 4},
                                    {64, 8, 32},
                                    {320, 12, 64},
                                    {384, 4, 128},
                                    {1152, 5, 128}})
    all.push_back({k, n, (k + group - 1) / group, zero, Type::f16,
                   has_integer_zero(zero) ? Type::u8 : Type::f16, group, false});
  return all;
}

// A matrix that the layout takes, of a size from `draw`.
QuantizedMatrix fitting(const Layout& layout, Zero zero, auto draw, Walk walk) {
  const bool gemv = layout.name.starts_with("awq_gemv");
  const bool whole = gemv || layout.name == "awq_gemm" || layout.name == "compressed_tensors";
  const std::int64_t unit = layout.name.starts_with("gptq") || layout.name == "awq_gemm" ? 8 : 1;
  const std::int64_t n = (gemv ? 4 : unit) * draw(1, 24);
  if (!whole) {
    const std::int64_t k = unit * draw(1, 24);
    return matrix(k, n, draw(1, k + 1), zero, walk);
  }
  constexpr std::int64_t gemv_groups[] = {32, 64, 128, 192};
  const std::int64_t group = gemv ? gemv_groups[draw(0, 4)] : draw(1, 24);
  const std::int64_t count = draw(1, 12) * (gemv && group == 32 ? 2 : 1);
  return matrix(group * count, n, group, zero, walk);
}

}  // namespace

TEST_CASE("layout: every code, scale and zero has bits of its own, within the tensor") {
  for (const Layout& layout : layouts()) {
    std::size_t taken = 0;
    for (const Zero zero : forms)
      for (const Geometry& g : geometries(zero)) {
        if (!layout.refuses(g).empty()) continue;
        ++taken;
        const auto k = g.k, n = g.n;
        INFO(layout.name << " zero=" << to_string(zero) << " k=" << k << " n=" << n);
        std::vector<bool> code_used(static_cast<std::size_t>(layout.code_bits(g)));
        for (std::int64_t row = 0; row < k; ++row)
          for (std::int64_t col = 0; col < n; ++col)
            check_sites(code_used, layout.code_site(layout, g, row, col));
        std::vector<bool> scale_used(static_cast<std::size_t>(layout.scale_count(g)) * 4);
        for (std::int64_t group = 0; group < g.groups; ++group)
          for (std::int64_t col = 0; col < n; ++col)
            check_sites(scale_used, {4 * layout.scale_at(g, group, col), 4});
        std::vector<bool> zero_used(static_cast<std::size_t>(layout.zero_bits(g)));
        if (layout.zero_store(zero) == ZeroStore::none) REQUIRE(zero_used.empty());
        if (zero_used.empty()) continue;
        for (std::int64_t group = 0; group < g.groups; ++group)
          for (std::int64_t col = 0; col < n; ++col)
            check_sites(zero_used, layout.zero_site(layout, g, group, col));
      }
    CHECK(taken > 0);
  }
}

TEST_CASE("layout: a tensor has no more padding than its ragged edge") {
  for (const Layout& layout : layouts()) {
    const Geometry g{384, 16, 3, Zero::eight, Type::f16, Type::f16, 128, false};
    INFO(layout.name);
    CHECK(layout.code_bits(g) == 384 * 16 * (layout.word_bits == 8 ? 8 : 4));
    CHECK(layout.code_bits(g) % layout.word_bits == 0);
  }
}

TEST_CASE("layout: unpack undoes pack, for every layout and zero form") {
  const std::vector<Layout> all = layouts();
  check_property("unpack(pack(w)) == w", [all] {
    const auto seed = *rc::gen::arbitrary<std::uint32_t>();
    for (const Layout& layout : all)
      for (const Zero zero : forms) {
        if (!layout_stores(layout, zero)) continue;
        const auto draw = [](std::int64_t low, std::int64_t end) {
          return *rc::gen::inRange<std::int64_t>(low, end);
        };
        const QuantizedMatrix w = fitting(layout, zero, draw, Walk{seed});
        QuantizedMatrix like = w;
        like.codes.clear(), like.scales.clear(), like.zeros.clear();
        const QuantizedMatrix back = unpack(layout, pack(layout, w), like);
        RC_ASSERT(back.codes == w.codes);
        RC_ASSERT(back.scales == w.scales);
        RC_ASSERT(back.zeros == w.zeros);
      }
  });
}

TEST_CASE("layout: pack undoes unpack, whatever the stored words are") {
  const std::vector<Layout> all = layouts();
  check_property("pack(unpack(bytes)) == bytes", [all] {
    Walk walk{*rc::gen::arbitrary<std::uint32_t>()};
    for (const Layout& layout : all)
      for (const Zero zero : forms) {
        if (!layout_stores(layout, zero)) continue;
        const bool gemv = layout.name.starts_with("awq_gemv");
        QuantizedMatrix like = matrix(gemv ? 192 : 16, 24, gemv ? 64 : 8, zero, walk);
        const Geometry g = geometry_of(like);
        const Packed padding = padding_mask(layout, g);
        Packed stored = pack(layout, like);
        const auto fill = [&walk](std::vector<std::byte>& to, const std::vector<std::byte>& mask,
                                  std::uint32_t limit) {
          for (std::size_t i = 0; i < to.size(); ++i)
            to[i] = static_cast<std::byte>(walk(limit)) & ~mask[i];
        };
        // A byte that holds one code or one integer zero has no more than sixteen legal values.
        if (layout.code_site(layout, g, 0, 0).width == 4) fill(stored.codes, padding.codes, 256);
        if (has_stored_zero(zero))
          fill(stored.zero, padding.zero, layout.zero_site(layout, g, 0, 0).width == 8 ? 16 : 256);
        fill(stored.scale, padding.scale, 256);
        RC_ASSERT(pack(layout, unpack(layout, stored, like)) == stored);
      }
  });
}

TEST_CASE("layout: changing one code changes the bits of its site and no other") {
  const std::vector<Layout> all = layouts();
  check_property("one code, one site", [all] {
    const Layout layout = *rc::gen::elementOf(all);
    const Zero zero = layout.name == "awq_gemv_fast" ? Zero::add : Zero::eight;
    QuantizedMatrix w = matrix(128, 24, 64, zero, Walk{*rc::gen::arbitrary<std::uint32_t>()});
    const auto before = pack(layout, w).codes;
    const std::int64_t k = *rc::gen::inRange(0, 128), n = *rc::gen::inRange(0, 24);
    w.codes[w.at(k, n)] ^= 15;
    const auto after = pack(layout, w).codes;
    const Site site = layout.code_site(layout, geometry_of(w), k, n);
    for (std::size_t i = 0; i < after.size(); ++i) {
      const auto changed = std::to_integer<int>(before[i] ^ after[i]);
      const bool here = i == static_cast<std::size_t>(site.bit / 8);
      RC_ASSERT(changed == (here ? 15 << (site.bit % 8) : 0));
    }
  });
}

TEST_CASE("layout: names that are no layout are not found") {
  for (const char* name :
       {"", "code", "codes:", "codes:01234567", "kpack", "kpack:", "kpack:0123456",
        "kpack:012345678", "kpack:01234566", "kpack:01234568", "npack;01234567", "gptq", "gptq_v3",
        "gptq_v1:01234567", "kpackk:01234567", ":01234567"}) {
    INFO(name);
    CHECK_FALSE(find_layout(name).has_value());
  }
}

TEST_CASE("layout: every listed name is found and explained") {
  const std::vector<std::string> names = layout_names();
  CHECK(names.size() >= 11);
  for (const std::string& name : names) {
    INFO(name);
    REQUIRE(find_layout(name).has_value());
    CHECK(find_layout(name)->name == name);
    CHECK_FALSE(layout_summary(name).empty());
  }
  CHECK(layout_summary("gptq_v9").empty());
}

TEST_CASE("layout: each row stores its zero forms, in their types") {
  const auto stored = [](const char* name) {
    std::string list;
    for (const Zero zero : forms)
      if (layout_stores(*find_layout(name), zero))
        list += std::string(to_string(zero)) + ":" +
                std::string(to_string(stored_zero_type(*find_layout(name), zero, Type::bf16))) +
                " ";
    return list;
  };
  const std::string all = "signed:u8 8:u8 code:u8 code_m1:u8 real:bf16 add:bf16 add_8:bf16 ";
  CHECK(stored("codes") == all);
  CHECK(stored("kpack:02461357") == all);
  CHECK(stored("npack:01234567") == all);
  CHECK(stored("gptq_v1") == "8:u4 code_m1:u4 ");
  CHECK(stored("gptq_v2") == "8:u4 code:u4 ");
  CHECK(stored("awq_gemm") == "8:u4 code:u4 ");
  CHECK(stored("awq_gemv") == "8:u4 code:u4 ");
  CHECK(stored("awq_gemv_fast") == "add:bf16 ");
  CHECK(stored("compressed_tensors") == "8:u8 code:u4 ");
}

TEST_CASE("layout: pack refuses what a row cannot store, with the reason") {
  const auto packing = [](const char* name, const QuantizedMatrix& w) {
    return refusal([&] { pack(*find_layout(name), w); });
  };
  CHECK(has(packing("gptq_v1", matrix(12, 8, 4, Zero::eight, Walk{5})),
            "k=12 is not a multiple of 8"));
  CHECK(has(packing("gptq_v2", matrix(8, 12, 8, Zero::eight, Walk{5})),
            "n=12 is not a multiple of 8"));
  CHECK(has(packing("gptq_v2", matrix(8, 8, 8, Zero::code_m1, Walk{5})),
            "cannot express zero=code_m1"));
  CHECK(has(packing("gptq_v1", matrix(8, 8, 8, Zero::signed_codes, Walk{5})),
            "cannot express zero=signed"));
  CHECK(packing("gptq_v1", matrix(8, 8, 8, Zero::eight, Walk{5})) == "accepted");
}

TEST_CASE("layout: pack names the zero point that does not fit") {
  QuantizedMatrix w = matrix(16, 8, 8, Zero::code, Walk{6});
  w.zeros[11] = 16;
  for (const char* name : {"gptq_v2", "codes", "kpack:02461357"})
    CHECK(refusal([&] { pack(*find_layout(name), w); }) ==
          "zero point 16 at group 1, n 3 does not fit layout " + std::string(name) +
              ", which stores 0..15");
  w.zero = Zero::code_m1;
  w.zeros.assign(16, 16);
  w.zeros[2] = 0;
  CHECK(refusal([&] { pack(*find_layout("gptq_v1"), w); }) ==
        "zero point 0 at group 0, n 2 does not fit layout gptq_v1, which stores 1..16");
}

TEST_CASE("layout: unpack refuses tensors of another size") {
  const QuantizedMatrix w = matrix(16, 8, 8, Zero::code, Walk{7});
  const Layout layout = *find_layout("gptq_v2");
  const Packed good = pack(layout, w);
  Packed p = good;
  p.codes.pop_back();
  CHECK(refusal([&] { unpack(layout, p, w); }) == "codes: 63 bytes, layout gptq_v2 has 64");
  p = good, p.scale.push_back({});
  CHECK(refusal([&] { unpack(layout, p, w); }) == "scales: 33 bytes, layout gptq_v2 has 32");
  p = good, p.zero.clear();
  CHECK(refusal([&] { unpack(layout, p, w); }) == "zeros: 0 bytes, layout gptq_v2 has 8");
}

TEST_CASE("layout: unpack refuses bytes that are no code or no zero point") {
  const Layout layout = *find_layout("codes");
  QuantizedMatrix w = matrix(8, 4, 8, Zero::code, Walk{8});
  Packed p = pack(layout, w);
  p.codes[7] = std::byte{16};
  CHECK(refusal([&] { unpack(layout, p, w); }) == "byte 16 at k 1, n 3 is not a 4-bit code");
  p = pack(layout, w);
  p.zero[2] = std::byte{16};
  CHECK(refusal([&] { unpack(layout, p, w); }) == "zero byte 16 at group 0, n 2 is above 15");
  w = matrix(8, 4, 8, Zero::signed_codes, Walk{8});
  p = pack(layout, w);
  p.codes[0] = std::byte{8};
  CHECK(refusal([&] { unpack(layout, p, w); }) == "byte 8 at k 0, n 0 is not a 4-bit code");
  p.codes[0] = std::byte{0xf7};
  CHECK(refusal([&] { unpack(layout, p, w); }) == "byte 247 at k 0, n 0 is not a 4-bit code");
}

TEST_CASE("layout: unpack refuses stored zeros that zero=8 would lose") {
  const Layout layout = *find_layout("gptq_v1");
  const QuantizedMatrix w = matrix(16, 8, 8, Zero::eight, Walk{9});
  Packed p = pack(layout, w);
  p.zero[4] = std::byte{0x78};
  CHECK(refusal([&] { unpack(layout, p, w); }) ==
        "zero point 9 at group 1, n 0, where zero=8 needs 8");
}

TEST_CASE("layout: a matrix that does not hold together is our own fault") {
  QuantizedMatrix w = matrix(8, 8, 8, Zero::eight, Walk{10});
  w.codes[3] = 16;
  CHECK(refusal([&] { pack(*find_layout("codes"), w); }) == "internal");
  w = matrix(8, 8, 8, Zero::eight, Walk{10});
  w.scales.pop_back();
  CHECK(refusal([&] { pack(*find_layout("codes"), w); }) == "internal");
}

}  // namespace w4
