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
  const std::string layout = "layout " + std::string(name);
  if (std::find(forms.begin(), forms.end(), g.zero) == forms.end()) {
    std::string stores;
    for (const Zero form : forms)
      stores += (stores.empty() ? "" : ", ") + std::string(to_string(form));
    return layout + " cannot express zero=" + std::string(to_string(g.zero)) + "; it stores " +
           stores;
  }
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
ZeroStore v2_zero_store(Zero) {
  return ZeroStore::nibble;
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
     refuse_gptq_v2, kpack_bits, kpack_site, gptq_zero_bits, gptq_zero_site, v2_zero_store},
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
  if (row->permuted && !read_permutation(name.substr(row->name.size() + 1), layout))
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
  return layout.refuses({8, 8, 1, zero, Type::f16, Type::f16}).empty();
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
