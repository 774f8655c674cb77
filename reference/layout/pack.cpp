// SPDX-License-Identifier: Apache-2.0
// One loop for all layouts: a row says where, this says what is written there and read back.
#include <algorithm>
#include <string>

#include "reference/error.hpp"
#include "reference/layout/layout.hpp"

namespace w4 {
namespace {

std::size_t bytes_for(std::int64_t bits) {
  return static_cast<std::size_t>((bits + 7) / 8);
}

// Little endian; sites are whole nibbles, and bytes start as zero.
void put(std::vector<std::byte>& to, Site site, std::uint32_t value) {
  auto at = static_cast<std::size_t>(site.bit / 8);
  for (int low = 0; low < site.width; low += 8, ++at)
    to[at] |= static_cast<std::byte>(((value >> low) & 0xff) << (site.bit % 8));
}

std::uint32_t get(const std::vector<std::byte>& from, Site site) {
  auto at = static_cast<std::size_t>(site.bit / 8);
  if (site.width == 4) return (std::to_integer<std::uint32_t>(from[at]) >> (site.bit % 8)) & 15;
  std::uint32_t value = 0;
  for (int low = 0; low < site.width; low += 8, ++at)
    value |= std::to_integer<std::uint32_t>(from[at]) << low;
  return value;
}

std::string place(std::string_view row, std::int64_t i, std::int64_t n) {
  return " at " + std::string(row) + " " + std::to_string(i) + ", n " + std::to_string(n);
}

// A signed code takes the whole of a wider site.
std::uint32_t stored_code(const QuantizedMatrix& w, std::uint8_t code, int width) {
  if (width == 4 || w.zero != Zero::signed_codes) return code;
  return static_cast<std::uint32_t>(code_value(w.zero, code)) & 0xff;
}

// What the integer zero point z reads as when it is stored, and the range of z that fits.
struct IntegerStore {
  std::uint32_t low, high;  // of z; stored is z - low
};
IntegerStore integer_store(ZeroStore store) {
  const bool minus_one = store == ZeroStore::byte_m1 || store == ZeroStore::nibble_m1;
  return minus_one ? IntegerStore{1, 16} : IntegerStore{0, 15};
}

void pack_codes(const Layout& layout, const Geometry& g, const QuantizedMatrix& w, Packed& out) {
  out.codes.resize(bytes_for(layout.code_bits(g)));
  for (std::int64_t k = 0; k < w.k; ++k)
    for (std::int64_t n = 0; n < w.n; ++n) {
      const Site site = layout.code_site(layout, g, k, n);
      put(out.codes, site, stored_code(w, w.codes[w.at(k, n)], site.width));
    }
}

void pack_zeros(const Layout& layout, const Geometry& g, const QuantizedMatrix& w, Packed& out) {
  const ZeroStore store = layout.zero_store(w.zero);
  if (store == ZeroStore::none) return;
  out.zero.resize(bytes_for(layout.zero_bits(g)));
  const auto [low, high] = integer_store(store);
  for (std::int64_t group = 0; group < w.groups; ++group)
    for (std::int64_t n = 0; n < w.n; ++n) {
      const std::uint32_t z = w.zeros.empty() ? 8 : w.zeros[w.at(group, n)];
      const bool real = store == ZeroStore::real;
      if (!real && (z < low || z > high))
        throw Error("zero point " + std::to_string(z) + place("group", group, n) +
                    " does not fit layout " + layout.name + ", which stores " +
                    std::to_string(low) + ".." + std::to_string(high));
      put(out.zero, layout.zero_site(layout, g, group, n), real ? z : z - low);
    }
}

void expect_size(const Layout& layout, const char* tensor, std::size_t got, std::size_t want) {
  if (got != want)
    throw Error(std::string(tensor) + ": " + std::to_string(got) + " bytes, layout " + layout.name +
                " has " + std::to_string(want));
}

void unpack_codes(const Layout& layout, const Geometry& g, const Packed& from, QuantizedMatrix& w) {
  expect_size(layout, "codes", from.codes.size(), bytes_for(layout.code_bits(g)));
  w.codes.assign(static_cast<std::size_t>(w.k * w.n), 0);
  for (std::int64_t k = 0; k < w.k; ++k)
    for (std::int64_t n = 0; n < w.n; ++n) {
      const Site site = layout.code_site(layout, g, k, n);
      const std::uint32_t stored = get(from.codes, site);
      const auto code = static_cast<std::uint8_t>(stored & 15);
      if (stored != stored_code(w, code, site.width))
        throw Error("byte " + std::to_string(stored) + place("k", k, n) + " is not a 4-bit code");
      w.codes[w.at(k, n)] = code;
    }
}

void unpack_zeros(const Layout& layout, const Geometry& g, const Packed& from, QuantizedMatrix& w) {
  const ZeroStore store = layout.zero_store(w.zero);
  expect_size(layout, "zeros", from.zero.size(), bytes_for(layout.zero_bits(g)));
  w.zeros.clear();
  if (store == ZeroStore::none) return;
  const auto [low, high] = integer_store(store);
  for (std::int64_t group = 0; group < w.groups; ++group)
    for (std::int64_t n = 0; n < w.n; ++n) {
      const std::uint32_t stored = get(from.zero, layout.zero_site(layout, g, group, n));
      const std::uint32_t z = store == ZeroStore::real ? stored : stored + low;
      if (store != ZeroStore::real && z > high)
        throw Error("zero byte " + std::to_string(stored) + place("group", group, n) +
                    " is above " + std::to_string(high - low));
      if (w.zero == Zero::eight && z != 8)
        throw Error("zero point " + std::to_string(z) + place("group", group, n) +
                    ", where zero=8 needs 8");
      if (has_stored_zero(w.zero)) w.zeros.push_back(z);
    }
}

Site scale_site(const Layout& layout, const Geometry& g, std::int64_t group, std::int64_t n) {
  const int width = bits_of(g.scale_type);
  return {layout.scale_at(g, group, n) * width, width};
}
std::size_t scale_bytes(const Layout& layout, const Geometry& g) {
  return bytes_for(layout.scale_count(g) * bits_of(g.scale_type));
}

void pack_scales(const Layout& layout, const Geometry& g, const QuantizedMatrix& w, Packed& out) {
  out.scale.resize(scale_bytes(layout, g));
  for (std::int64_t group = 0; group < w.groups; ++group)
    for (std::int64_t n = 0; n < w.n; ++n)
      put(out.scale, scale_site(layout, g, group, n), w.scales[w.at(group, n)]);
}

void unpack_scales(const Layout& layout, const Geometry& g, const Packed& from,
                   QuantizedMatrix& w) {
  expect_size(layout, "scales", from.scale.size(), scale_bytes(layout, g));
  w.scales.assign(static_cast<std::size_t>(w.groups * w.n), 0);
  for (std::int64_t group = 0; group < w.groups; ++group)
    for (std::int64_t n = 0; n < w.n; ++n)
      w.scales[w.at(group, n)] = get(from.scale, scale_site(layout, g, group, n));
}

void clear(std::vector<std::byte>& from, Site site) {
  auto at = static_cast<std::size_t>(site.bit / 8);
  if (site.width == 4)
    from[at] &= static_cast<std::byte>(0xf0 >> (site.bit % 8));
  else
    std::fill_n(from.begin() + static_cast<std::ptrdiff_t>(at), site.width / 8, std::byte{0});
}

void check_refusal(const Layout& layout, const Geometry& g) {
  const std::string reason = layout.refuses(g);
  if (!reason.empty()) throw Error(reason);
}

}  // namespace

Geometry geometry_of(const QuantizedMatrix& w) {
  return {w.k, w.n, w.groups, w.zero, w.scale_type, w.zero_type, w.group, !w.g_idx.empty()};
}

Packed pack(const Layout& layout, const QuantizedMatrix& w) {
  check_shape(w);
  const Geometry g = geometry_of(w);
  check_refusal(layout, g);
  Packed out;
  pack_codes(layout, g, w, out);
  pack_scales(layout, g, w, out);
  pack_zeros(layout, g, w, out);
  return out;
}

QuantizedMatrix unpack(const Layout& layout, const Packed& from, QuantizedMatrix like) {
  const Geometry g = geometry_of(like);
  check_refusal(layout, g);
  unpack_codes(layout, g, from, like);
  unpack_scales(layout, g, from, like);
  unpack_zeros(layout, g, from, like);
  check_shape(like);
  return like;
}

Packed padding_mask(const Layout& layout, const Geometry& g) {
  constexpr std::byte ones{0xff};
  Packed mask;
  mask.codes.assign(bytes_for(layout.code_bits(g)), ones);
  mask.scale.assign(scale_bytes(layout, g), ones);
  mask.zero.assign(bytes_for(layout.zero_bits(g)), ones);
  for (std::int64_t k = 0; k < g.k; ++k)
    for (std::int64_t n = 0; n < g.n; ++n) clear(mask.codes, layout.code_site(layout, g, k, n));
  for (std::int64_t group = 0; group < g.groups; ++group)
    for (std::int64_t n = 0; n < g.n; ++n) {
      clear(mask.scale, scale_site(layout, g, group, n));
      if (!mask.zero.empty()) clear(mask.zero, layout.zero_site(layout, g, group, n));
    }
  return mask;
}

}  // namespace w4
