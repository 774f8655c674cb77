// SPDX-License-Identifier: Apache-2.0
#include "harness/checkpoint/form.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "reference/error.hpp"

namespace w4 {
namespace {

std::uint32_t added_word(Type type, std::uint32_t z, double scale) {
  return from_double(type, -(static_cast<double>(z) * scale));
}

bool same_value(Type type, std::uint32_t a, std::uint32_t b) {
  return to_double(type, a) == to_double(type, b);
}

std::string place(const QuantizedMatrix& w, std::size_t i) {
  const auto at = static_cast<std::int64_t>(i);
  return " at group " + std::to_string(at / w.n) + ", column " + std::to_string(at % w.n);
}

// z of every (group, n), in form code, whatever the form was.
void make_integer(QuantizedMatrix& w, const std::string& layout) {
  const auto count = static_cast<std::size_t>(w.groups * w.n);
  if (w.zero == Zero::signed_codes)
    for (auto& code : w.codes) code ^= 8;
  if (!has_stored_zero(w.zero)) w.zeros.assign(count, 8);
  if (w.zero == Zero::real || w.zero == Zero::add_8)
    throw Error("layout " + layout + " cannot express zero=" + std::string(to_string(w.zero)));
  if (w.zero == Zero::add)
    for (std::size_t i = 0; i < count; ++i) {
      const auto z = zero_point_of(w, i);
      if (!z)
        throw Error("what is added" + place(w, i) + " is -(z*s) of no z in 0..15: layout " +
                    layout + " cannot express it");
      w.zeros[i] = *z;
    }
  w.zero = Zero::code;
  w.zero_type = Type::u8;
}

void make_added(QuantizedMatrix& w, const std::string& layout) {
  w.zero = Zero::add;
  w.zero_type = w.scale_type;
  for (std::size_t i = 0; i < w.zeros.size(); ++i) {
    const auto z = w.zeros[i];
    w.zeros[i] = added_word(w.zero_type, z, to_double(w.scale_type, w.scales[i]));
    if (zero_point_of(w, i) != z)
      throw Error("zero point " + std::to_string(z) + place(w, i) +
                  " cannot be told from -(z*s): layout " + layout + " cannot express it");
  }
}

}  // namespace

std::optional<std::uint32_t> zero_point_of(const QuantizedMatrix& w, std::size_t index) {
  const double scale = to_double(w.scale_type, w.scales[index]);
  const double added = to_double(w.zero_type, w.zeros[index]);
  if (!std::isfinite(scale) || scale == 0 || !std::isfinite(added)) return std::nullopt;
  for (std::uint32_t z = 0; z < 16; ++z)
    if (same_value(w.zero_type, added_word(w.zero_type, z, scale), w.zeros[index])) return z;
  return std::nullopt;
}

QuantizedMatrix in_form_of(const Layout& layout, QuantizedMatrix w) {
  const auto as = [&](Zero zero) {
    Geometry g = geometry_of(w);
    g.zero = zero;
    if (zero == Zero::add) g.zero_type = w.scale_type;
    return g;
  };
  Zero to = Zero::add;
  for (const Zero zero : {Zero::code, Zero::code_m1, w.zero})
    if (layout_stores(layout, zero)) to = zero;
  if (const auto reason = layout.refuses(as(to)); !reason.empty()) throw Error(reason);
  if (!has_integer_zero(w.zero) && w.zero == to) return w;
  make_integer(w, layout.name);
  const bool eights = std::all_of(w.zeros.begin(), w.zeros.end(), [](auto z) { return z == 8; });
  if (to == Zero::add) {
    make_added(w, layout.name);
  } else if (eights && layout_stores(layout, Zero::eight)) {
    w.zero = Zero::eight;
    w.zeros.clear();
  } else {
    w.zero = to == Zero::code_m1 ? Zero::code_m1 : Zero::code;
  }
  return w;
}

}  // namespace w4
