// SPDX-License-Identifier: Apache-2.0
// Decoding and rounding by a table of formats, so that no result depends on the compiler's or the
// machine's floats.
#include "reference/number/number.hpp"

#include <bit>
#include <cmath>
#include <limits>

#include "reference/error.hpp"
#include "reference/number/format.hpp"

namespace w4 {
namespace {

enum class Mode { nearest_even, toward_zero };

UInt128 magnitude(Int128 v) {
  return v < 0 ? UInt128{0} - static_cast<UInt128>(v) : static_cast<UInt128>(v);
}

int bit_length(UInt128 v) {
  const auto high = static_cast<std::uint64_t>(v >> 64), low = static_cast<std::uint64_t>(v);
  return high != 0 ? 64 + static_cast<int>(std::bit_width(high))
                   : static_cast<int>(std::bit_width(low));
}

std::uint32_t low_bits(int n) {
  return n >= 32 ? ~std::uint32_t{0} : (std::uint32_t{1} << n) - 1;
}

// mag / 2^drop, rounded; drop may be negative where the result fits.
UInt128 scale_down(UInt128 mag, std::int64_t drop, bool sticky, Mode mode) {
  if (drop <= 0) {
    require(!sticky, "a cut tail needs a bit below the last place");
    return mag << -drop;
  }
  if (drop > 128) return 0;  // below half: mag is at most 2^127
  const UInt128 kept = drop == 128 ? 0 : mag >> drop;
  if (mode == Mode::toward_zero) return kept;
  const UInt128 half = UInt128{1} << (drop - 1);
  const UInt128 rest = mag & ((half << 1) - 1);
  const bool up = rest > half || (rest == half && (sticky || (kept & 1) != 0));
  return kept + (up ? 1 : 0);
}

std::uint32_t to_float(const FloatFormat& f, Int128 mant, int exp, bool sticky, Mode mode) {
  const UInt128 mag = magnitude(mant);
  if (mag == 0) return 0;
  const std::uint32_t sign = mant < 0 ? f.sign_bit() : 0;
  const std::uint32_t overflow =
      sign | (mode == Mode::nearest_even ? f.past_largest() : f.largest());
  const std::int64_t top = std::int64_t{exp} + bit_length(mag) - 1;  // value in [2^top, 2^(top+1))
  if (top > f.top_exponent()) return overflow;
  const bool normal = top >= f.bottom_exponent();
  const std::int64_t last_place = (normal ? top : f.bottom_exponent()) - f.fraction_bits;
  const auto kept = static_cast<std::uint32_t>(scale_down(mag, last_place - exp, sticky, mode));
  // The leading one of a normal number adds 1 to the exponent field, and so does a carry out of the
  // fraction.
  const auto field = normal ? static_cast<std::uint32_t>(top + f.bias() - 1) : 0u;
  const std::uint32_t word = (field << f.fraction_bits) + kept;
  return word > f.largest() ? overflow : sign | word;
}

std::uint32_t to_integer(const IntegerFormat& f, Int128 mant, int exp, bool sticky, Mode mode) {
  const UInt128 mag = magnitude(mant);
  if (mag == 0) return 0;
  const std::int64_t bound = mant < 0 ? -f.lowest() : f.highest();
  // 2^32 and up saturates in every type, and is out of the way of the shifts.
  const bool huge = std::int64_t{exp} + bit_length(mag) - 1 >= 32;
  const UInt128 kept = huge ? UInt128{1} << 40 : scale_down(mag, -std::int64_t{exp}, sticky, mode);
  const std::int64_t size =
      kept > static_cast<UInt128>(bound) ? bound : static_cast<std::int64_t>(kept);
  return static_cast<std::uint32_t>(mant < 0 ? -size : size) & low_bits(f.bits);
}

std::uint32_t convert(Type t, Int128 mant, int exp, bool sticky, Mode mode) {
  if (const FloatFormat* f = float_format(t)) return to_float(*f, mant, exp, sticky, mode);
  return to_integer(integer_format(t), mant, exp, sticky, mode);
}

// The position of a word in its type's numeric order; zeros of either sign share one.
std::int64_t rank(Type t, std::uint32_t word) {
  const FloatFormat* f = float_format(t);
  if (f == nullptr) return decode(t, word).value.mant;
  const std::int64_t size = word & (f->sign_bit() - 1);
  return (word & f->sign_bit()) != 0 ? -size : size;
}

}  // namespace

Number decode(Type t, std::uint32_t word) {
  const FloatFormat* f = float_format(t);
  if (f == nullptr) {
    const IntegerFormat& i = integer_format(t);
    std::int64_t v = word & low_bits(i.bits);
    if (i.is_signed && (v >> (i.bits - 1)) != 0) v -= std::int64_t{1} << i.bits;
    return {NumberKind::finite, v < 0, {v, 0}};
  }
  const bool negative = (word & f->sign_bit()) != 0;
  const std::uint32_t size = word & (f->sign_bit() - 1);
  if (size > f->largest()) {
    const bool infinite = f->infinity && size == f->past_largest();
    return {infinite ? NumberKind::infinite : NumberKind::nan, negative, {}};
  }
  const std::uint32_t field = size >> f->fraction_bits;
  const std::int64_t fraction = size & low_bits(f->fraction_bits);
  const std::int64_t mant =
      field == 0 ? fraction : fraction + (std::int64_t{1} << f->fraction_bits);
  const int exp = f->smallest_exponent() + (field == 0 ? 0 : static_cast<int>(field) - 1);
  return {NumberKind::finite, negative, {negative ? -mant : mant, exp}};
}

std::uint32_t round_to(Type t, Int128 mant, int exp, bool sticky) {
  return convert(t, mant, exp, sticky, Mode::nearest_even);
}

std::uint32_t truncate_to(Type t, Int128 mant, int exp) {
  return convert(t, mant, exp, false, Mode::toward_zero);
}

std::uint32_t nan_word(Type t) {
  const FloatFormat* f = float_format(t);
  if (f == nullptr) return 0;
  const std::uint32_t quiet = f->infinity ? std::uint32_t{1} << (f->fraction_bits - 1) : 0;
  return f->past_largest() | quiet;
}

std::uint32_t inf_word(Type t, bool negative) {
  return round_to(t, negative ? -1 : 1, std::numeric_limits<int>::max() / 2);
}

double to_double(Type t, std::uint32_t word) {
  const Number v = decode(t, word);
  double size = std::numeric_limits<double>::quiet_NaN();
  if (v.kind == NumberKind::infinite) size = std::numeric_limits<double>::infinity();
  if (v.kind == NumberKind::finite)
    size = std::ldexp(static_cast<double>(v.value.mant), v.value.exp);
  return std::copysign(size, v.negative ? -1.0 : 1.0);
}

std::uint32_t from_double(Type t, double d) {
  const auto bits = std::bit_cast<std::uint64_t>(d);
  const bool negative = (bits >> 63) != 0;
  const int field = static_cast<int>(bits >> 52) & 0x7ff;
  const auto fraction = static_cast<std::int64_t>(bits & ((std::uint64_t{1} << 52) - 1));
  if (field == 0x7ff) return fraction != 0 ? nan_word(t) : inf_word(t, negative);
  const std::int64_t mant = field == 0 ? fraction : fraction + (std::int64_t{1} << 52);
  const FloatFormat* f = float_format(t);
  if (mant == 0) return negative && f != nullptr ? f->sign_bit() : 0;
  return round_to(t, negative ? -mant : mant, (field == 0 ? 1 : field) - 1075);
}

bool is_nan(Type t, std::uint32_t word) {
  return decode(t, word).kind == NumberKind::nan;
}
bool is_inf(Type t, std::uint32_t word) {
  return decode(t, word).kind == NumberKind::infinite;
}

bool same_word(Type t, std::uint32_t a, std::uint32_t b) {
  const FloatFormat* f = float_format(t);
  const int bits = f != nullptr ? f->bits() : integer_format(t).bits;
  if (((a ^ b) & low_bits(bits)) == 0) return true;
  return f != nullptr && ((a | b) & (f->sign_bit() - 1)) == 0;
}

std::int64_t ulps_between(Type t, std::uint32_t a, std::uint32_t b) {
  return rank(t, a) - rank(t, b);
}

}  // namespace w4
