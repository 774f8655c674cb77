// SPDX-License-Identifier: Apache-2.0
// The table of layouts: every format is one row of small closed forms, and nothing else knows a
// format.
#include "reference/layout/layout.hpp"

#include <algorithm>
#include <initializer_list>

namespace w4 {
namespace {

constexpr std::int64_t words_for(std::int64_t nibbles) {
  return (nibbles + 7) / 8;
}

std::string refuse_types(const Geometry& g) {
  if (!is_float(g.scale_type) || bits_of(g.scale_type) < 16)
    return "scales are not a 16- or 32-bit float";
  if (!has_integer_zero(g.zero) && (!is_float(g.zero_type) || bits_of(g.zero_type) < 16))
    return "zero=" + std::string(to_string(g.zero)) + " needs zeros of a 16- or 32-bit float type";
  return "";
}

std::string refuse_form(std::string_view name, std::initializer_list<Zero> forms,
                        const Geometry& g) {
  if (std::find(forms.begin(), forms.end(), g.zero) != forms.end()) return "";
  std::string stores;
  for (const Zero form : forms)
    stores += (stores.empty() ? "" : ", ") + std::string(to_string(form));
  return "layout " + std::string(name) + " cannot express zero=" + std::string(to_string(g.zero)) +
         "; it stores " + stores;
}

// Scales [groups][n].

std::int64_t plain_scales(const Geometry& g) {
  return g.groups * g.n;
}
std::int64_t plain_scale_at(const Geometry& g, std::int64_t group, std::int64_t n) {
  return group * g.n + n;
}

// Bytes: codes [k][n], integer zeros [groups][n]; real zeros in their own words.

std::int64_t codes_bits(const Geometry& g) {
  return g.k * g.n * 8;
}
Site codes_site(const Layout&, const Geometry& g, std::int64_t k, std::int64_t n) {
  return {(k * g.n + n) * 8, 8};
}
ZeroStore plain_zero_store(Zero zero) {
  if (!has_stored_zero(zero)) return ZeroStore::none;
  if (!has_integer_zero(zero)) return ZeroStore::real;
  return zero == Zero::code_m1 ? ZeroStore::byte_m1 : ZeroStore::byte;
}
int plain_zero_width(const Geometry& g) {
  return has_integer_zero(g.zero) ? 8 : bits_of(g.zero_type);
}
std::int64_t plain_zero_bits(const Geometry& g) {
  return has_stored_zero(g.zero) ? g.groups * g.n * plain_zero_width(g) : 0;
}
Site plain_zero_site(const Layout&, const Geometry& g, std::int64_t group, std::int64_t n) {
  const int width = plain_zero_width(g);
  return {(group * g.n + n) * width, width};
}

// Words of eight nibbles along k: uint32 [ceil(k/8)][n].

std::int64_t kpack_bits(const Geometry& g) {
  return words_for(g.k) * g.n * 32;
}
Site kpack_site(const Layout& row, const Geometry& g, std::int64_t k, std::int64_t n) {
  return {((k / 8) * g.n + n) * 32 + 4 * row.nibble_of[k % 8], 4};
}

// Words of eight nibbles along n: uint32 [k][ceil(n/8)].

std::int64_t npack_bits(const Geometry& g) {
  return g.k * words_for(g.n) * 32;
}
Site npack_site(const Layout& row, const Geometry& g, std::int64_t k, std::int64_t n) {
  return {(k * words_for(g.n) + n / 8) * 32 + 4 * row.nibble_of[n % 8], 4};
}

// GPTQ: codes along k, zeros along n: uint32 [groups][n/8].

std::int64_t gptq_zero_bits(const Geometry& g) {
  return g.groups * words_for(g.n) * 32;
}
Site gptq_zero_site(const Layout&, const Geometry& g, std::int64_t group, std::int64_t n) {
  return {(group * words_for(g.n) + n / 8) * 32 + 4 * (n % 8), 4};
}
std::string refuse_gptq(std::string_view name, std::initializer_list<Zero> forms,
                        const Geometry& g) {
  if (const auto reason = refuse_form(name, forms, g); !reason.empty()) return reason;
  const std::string layout = "layout " + std::string(name);
  if (g.k % 8 != 0)
    return layout + " packs 8 rows a word: k=" + std::to_string(g.k) + " is not a multiple of 8";
  if (g.n % 8 != 0)
    return layout + " packs the zeros of 8 columns a word: n=" + std::to_string(g.n) +
           " is not a multiple of 8";
  return refuse_types(g);
}
std::string refuse_gptq_v1(const Geometry& g) {
  return refuse_gptq("gptq_v1", {Zero::eight, Zero::code_m1}, g);
}
std::string refuse_gptq_v2(const Geometry& g) {
  return refuse_gptq("gptq_v2", {Zero::eight, Zero::code}, g);
}
ZeroStore v1_zero_store(Zero) {
  return ZeroStore::nibble_m1;
}
ZeroStore nibble_zero_store(Zero) {
  return ZeroStore::nibble;
}

// Words of eight nibbles along k, column after column: uint32 [n][ceil(k/8)].

std::int64_t nmajor_bits(const Geometry& g) {
  return g.n * words_for(g.k) * 32;
}
Site nmajor_site(const Layout&, const Geometry& g, std::int64_t k, std::int64_t n) {
  return {(n * words_for(g.k) + k / 8) * 32 + 4 * (k % 8), 4};
}

// AWQ has neither g_idx nor a partial last group.

std::string refuse_groups(std::string_view name, const Geometry& g) {
  const std::string layout = "layout " + std::string(name);
  if (g.act_order) return layout + " has no g_idx: act-order cannot be stored";
  if (g.group < 1 || g.k % g.group != 0)
    return layout + " has no partial last group: k=" + std::to_string(g.k) +
           " is not a multiple of g=" + std::to_string(g.group);
  return "";
}

// AWQ GEMM: codes and zeros along n, in the order that register unpacking wants.

std::string refuse_awq_gemm(const Geometry& g) {
  if (auto reason = refuse_form("awq_gemm", {Zero::eight, Zero::code}, g); !reason.empty())
    return reason;
  if (auto reason = refuse_groups("awq_gemm", g); !reason.empty()) return reason;
  if (g.n % 8 != 0)
    return "layout awq_gemm packs 8 columns a word: n=" + std::to_string(g.n) +
           " is not a multiple of 8";
  return refuse_types(g);
}
Site awq_gemm_zero_site(const Layout& row, const Geometry& g, std::int64_t group, std::int64_t n) {
  return {(group * words_for(g.n) + n / 8) * 32 + 4 * row.nibble_of[n % 8], 4};
}

// AWQ GEMV: words of zeros along the groups, their number rounded up by group size.

std::int64_t gemv_zero_words(const Geometry& g) {
  const std::int64_t unit = g.group >= 128 ? 1 : g.group >= 64 ? 2 : 4;
  return (words_for(g.groups) + unit - 1) / unit * unit;
}
std::string refuse_gemv_groups(std::string_view name, const Geometry& g) {
  if (auto reason = refuse_groups(name, g); !reason.empty()) return reason;
  if (g.group != 32 && g.group != 64 && g.group < 128)
    return "layout " + std::string(name) +
           " has groups of 32, 64, 128 and more, not g=" + std::to_string(g.group);
  return "";
}
std::string refuse_awq_gemv(const Geometry& g) {
  if (auto reason = refuse_form("awq_gemv", {Zero::eight, Zero::code}, g); !reason.empty())
    return reason;
  if (auto reason = refuse_gemv_groups("awq_gemv", g); !reason.empty()) return reason;
  if (g.k % 8 != 0)
    return "layout awq_gemv packs 8 rows a word: k=" + std::to_string(g.k) +
           " is not a multiple of 8";
  return refuse_types(g);
}
std::int64_t awq_gemv_zero_bits(const Geometry& g) {
  return g.n * gemv_zero_words(g) * 32;
}
Site awq_gemv_zero_site(const Layout&, const Geometry& g, std::int64_t group, std::int64_t n) {
  return {(n * gemv_zero_words(g) + group / 8) * 32 + 4 * (group % 8), 4};
}
std::int64_t awq_gemv_scales(const Geometry& g) {
  return g.n * 8 * gemv_zero_words(g);
}
std::int64_t awq_gemv_scale_at(const Geometry& g, std::int64_t group, std::int64_t n) {
  return n * 8 * gemv_zero_words(g) + group;
}

// AWQ GEMV-fast: uint16 [n/4][k]; a word is k, k+8, k+16, k+24 of one column, four columns take
// turns every 16 words of their 64 k. Scales and what is added: [8 * gemv_zero_words][n].

std::string refuse_awq_gemv_fast(const Geometry& g) {
  if (auto reason = refuse_form("awq_gemv_fast", {Zero::add}, g); !reason.empty()) return reason;
  if (auto reason = refuse_gemv_groups("awq_gemv_fast", g); !reason.empty()) return reason;
  if (g.k % 64 != 0)
    return "layout awq_gemv_fast interleaves 64 rows: k=" + std::to_string(g.k) +
           " is not a multiple of 64";
  if (g.n % 4 != 0)
    return "layout awq_gemv_fast interleaves 4 columns: n=" + std::to_string(g.n) +
           " is not a multiple of 4";
  if (g.zero_type != g.scale_type)
    return "layout awq_gemv_fast stores zeros in the type of the scales, " +
           std::string(to_string(g.scale_type)) + ", not " + std::string(to_string(g.zero_type));
  return refuse_types(g);
}
std::int64_t gemv_fast_bits(const Geometry& g) {
  return g.n * g.k * 4;
}
Site gemv_fast_site(const Layout&, const Geometry& g, std::int64_t k, std::int64_t n) {
  const std::int64_t word = n / 4 * g.k + k / 64 * 64 + n % 4 * 16 + k % 64 / 32 * 8 + k % 8;
  return {word * 16 + 4 * (k % 32 / 8), 4};
}
std::int64_t gemv_fast_scales(const Geometry& g) {
  return 8 * gemv_zero_words(g) * g.n;
}
std::int64_t gemv_fast_zero_bits(const Geometry& g) {
  return gemv_fast_scales(g) * bits_of(g.zero_type);
}
ZeroStore real_zero_store(Zero) {
  return ZeroStore::real;
}

// compressed-tensors pack-quantized: scales [n][groups], zeros along n: uint32 [ceil(n/8)][groups],
// none for zero=8.

std::string refuse_compressed_tensors(const Geometry& g) {
  if (auto reason = refuse_form("compressed_tensors", {Zero::eight, Zero::code}, g);
      !reason.empty())
    return reason;
  if (g.group < 1 || g.k % g.group != 0)
    return "layout compressed_tensors has no partial last group: k=" + std::to_string(g.k) +
           " is not a multiple of g=" + std::to_string(g.group);
  return refuse_types(g);
}
std::int64_t compressed_zero_bits(const Geometry& g) {
  return g.zero == Zero::code ? words_for(g.n) * g.groups * 32 : 0;
}
Site compressed_zero_site(const Layout&, const Geometry& g, std::int64_t group, std::int64_t n) {
  return {(n / 8 * g.groups + group) * 32 + 4 * (n % 8), 4};
}
ZeroStore compressed_zero_store(Zero zero) {
  return zero == Zero::code ? ZeroStore::nibble : ZeroStore::none;
}
std::int64_t compressed_scale_at(const Geometry& g, std::int64_t group, std::int64_t n) {
  return n * g.groups + group;
}

struct Row {
  std::string_view name;
  bool permuted;  // "name:P", P eight digits
  std::string_view summary;
  int word_bits;
  std::string (*refuses)(const Geometry&);
  std::int64_t (*code_bits)(const Geometry&);
  Site (*code_site)(const Layout&, const Geometry&, std::int64_t, std::int64_t);
  std::int64_t (*zero_bits)(const Geometry&);
  Site (*zero_site)(const Layout&, const Geometry&, std::int64_t, std::int64_t);
  ZeroStore (*zero_store)(Zero);
  std::int64_t (*scale_count)(const Geometry&) = plain_scales;
  std::int64_t (*scale_at)(const Geometry&, std::int64_t, std::int64_t) = plain_scale_at;
  std::string_view order = "01234567";  // of a word where the name does not say it
};
// clang-format off
constexpr Row rows[] = {
    {"codes", false, "a byte a code [k][n], int8 if signed; integer zeros a byte each [groups][n]", 8,
     refuse_types, codes_bits, codes_site, plain_zero_bits, plain_zero_site, plain_zero_store},
    {"kpack", true, "uint32 [ceil(k/8)][n]: nibble p of a word holds row P[p] of its eight, the last word padded with code 0", 32,
     refuse_types, kpack_bits, kpack_site, plain_zero_bits, plain_zero_site, plain_zero_store},
    {"npack", true, "uint32 [k][ceil(n/8)]: nibble p of a word holds column P[p] of its eight, the last word padded with code 0", 32,
     refuse_types, npack_bits, npack_site, plain_zero_bits, plain_zero_site, plain_zero_store},
    {"gptq_v1", false, "GPTQ: qweight [k/8][n], qzeros [groups][n/8], nibbles in natural order, zeros stored minus one", 32,
     refuse_gptq_v1, kpack_bits, kpack_site, gptq_zero_bits, gptq_zero_site, v1_zero_store},
    {"gptq_v2", false, "GPTQ: qweight [k/8][n], qzeros [groups][n/8], nibbles in natural order, zeros as they are", 32,
     refuse_gptq_v2, kpack_bits, kpack_site, gptq_zero_bits, gptq_zero_site, nibble_zero_store},
    {"awq_gemm", false, "AWQ GEMM: qweight [k][n/8], qzeros [groups][n/8], nibble p of a word holds column 02461357[p] of its eight", 32,
     refuse_awq_gemm, npack_bits, npack_site, gptq_zero_bits, awq_gemm_zero_site, nibble_zero_store,
     plain_scales, plain_scale_at, "02461357"},
    {"awq_gemv", false, "AWQ GEMV: qweight [n][k/8], qzeros [n][zw], scales [n][8*zw]; zw is groups/8 rounded up by the group size, padded with 0", 32,
     refuse_awq_gemv, nmajor_bits, nmajor_site, awq_gemv_zero_bits, awq_gemv_zero_site, nibble_zero_store,
     awq_gemv_scales, awq_gemv_scale_at},
    {"awq_gemv_fast", false, "AWQ GEMV-fast, llm-awq: int16 qweight [n/4][k], scales and what is added [8*zw][n], padded with 0", 16,
     refuse_awq_gemv_fast, gemv_fast_bits, gemv_fast_site, gemv_fast_zero_bits, plain_zero_site, real_zero_store,
     gemv_fast_scales, plain_scale_at},
    {"compressed_tensors", false, "compressed-tensors pack-quantized: weight_packed [n][ceil(k/8)], weight_scale [n][groups], weight_zero_point [ceil(n/8)][groups] or none", 32,
     refuse_compressed_tensors, nmajor_bits, nmajor_site, compressed_zero_bits, compressed_zero_site, compressed_zero_store,
     plain_scales, compressed_scale_at},
};
// clang-format on

// Digit p is the element that nibble p holds. False unless the digits are a permutation of 0..7.
bool read_permutation(std::string_view digits, Layout& layout) {
  if (digits.size() != 8) return false;
  unsigned seen = 0;
  for (int p = 0; p < 8; ++p) {
    const int element = digits[static_cast<std::size_t>(p)] - '0';
    if (element < 0 || element > 7) return false;
    seen |= 1u << element;
    layout.permutation[p] = element;
    layout.nibble_of[element] = p;
  }
  return seen == 0xff;
}

const Row* row_named(std::string_view name) {
  for (const Row& row : rows)
    if (name.substr(0, name.find(':')) == row.name &&
        row.permuted == (name.size() > row.name.size()))
      return &row;
  return nullptr;
}

}  // namespace

std::optional<Layout> find_layout(std::string_view name) {
  const Row* row = row_named(name);
  if (!row) return std::nullopt;
  Layout layout;
  layout.name = name;
  layout.word_bits = row->word_bits;
  layout.refuses = row->refuses;
  layout.code_bits = row->code_bits;
  layout.code_site = row->code_site;
  layout.zero_bits = row->zero_bits;
  layout.zero_site = row->zero_site;
  layout.zero_store = row->zero_store;
  layout.scale_count = row->scale_count;
  layout.scale_at = row->scale_at;
  if (!read_permutation(row->permuted ? name.substr(row->name.size() + 1) : row->order, layout))
    return std::nullopt;
  return layout;
}

std::vector<std::string> layout_names() {
  std::vector<std::string> names;
  for (const Row& row : rows) {
    if (!row.permuted) names.emplace_back(row.name);
    for (const char* order : {":01234567", ":02461357"})
      if (row.permuted) names.push_back(std::string(row.name) + order);
  }
  return names;
}

std::string layout_summary(std::string_view name) {
  const Row* row = row_named(name);
  return row ? std::string(row->summary) : "";
}

bool layout_stores(const Layout& layout, Zero zero) {
  return layout.refuses({128, 128, 1, zero, Type::f16, Type::f16, 128, false}).empty();
}

Type stored_zero_type(const Layout& layout, Zero zero, Type float_type) {
  switch (layout.zero_store(zero)) {
    case ZeroStore::real:
      return float_type;
    case ZeroStore::nibble:
    case ZeroStore::nibble_m1:
      return Type::u4;
    case ZeroStore::none:
    case ZeroStore::byte:
    case ZeroStore::byte_m1:
      break;
  }
  return Type::u8;
}

}  // namespace w4
