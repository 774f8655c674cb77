// SPDX-License-Identifier: Apache-2.0
// The exact accumulator: order cannot matter in a sum that never rounds.
#include <algorithm>
#include <bit>

#include "reference/error.hpp"
#include "reference/number/format.hpp"
#include "reference/number/number.hpp"

namespace w4 {
namespace {

constexpr int factors = 4;  // x_scale, x, q-z or z, s
constexpr int log2_terms = 40;

// f32 has the widest range of all the types, at both ends.
constexpr bool within_f32(const FloatFormat& f) {
  return f.smallest_exponent() >= f32_format.smallest_exponent() &&
         f.top_exponent() <= f32_format.top_exponent();
}
static_assert(within_f32(f16_format) && within_f32(bf16_format) && within_f32(e4m3_format) &&
              within_f32(e5m2_format) && s32_format.bits <= f32_format.top_exponent());

static_assert(ExactSum::lowest <= factors * f32_format.smallest_exponent(),
              "the smallest product of four words is a multiple of 2^lowest");
static_assert(factors * (f32_format.top_exponent() + 1) + log2_terms <= ExactSum::highest,
              "2^40 of the largest products stay below 2^highest");
// One product of four words is one call of add().
static_assert(factors * (f32_format.fraction_bits + 1) <= 127);

}  // namespace

void ExactSum::add(Int128 mant, int exp) {
  if (mant == 0) return;
  const bool negative = mant < 0;
  const UInt128 mag =
      negative ? UInt128{0} - static_cast<UInt128>(mant) : static_cast<UInt128>(mant);
  require(exp >= lowest && exp <= highest - 127, "a term within the range of ExactSum");
  const auto offset = static_cast<unsigned>(exp - lowest);
  const unsigned shift = offset % 64;
  std::uint64_t part[3] = {static_cast<std::uint64_t>(mag << shift),
                           static_cast<std::uint64_t>((mag << shift) >> 64),
                           shift == 0 ? 0 : static_cast<std::uint64_t>(mag >> (128 - shift))};
  std::uint64_t carry = 0;
  for (std::size_t i = offset / 64, p = 0; i < limbs && (p < 3 || carry != 0); ++i, ++p) {
    const UInt128 term = UInt128{p < 3 ? part[p] : 0} + carry;
    const UInt128 result = negative ? UInt128{limb_[i]} - term : UInt128{limb_[i]} + term;
    limb_[i] = static_cast<std::uint64_t>(result);
    carry = (result >> 64) != 0 ? 1 : 0;
  }
}

bool ExactSum::is_zero() const {
  return std::all_of(limb_.begin(), limb_.end(), [](std::uint64_t v) { return v == 0; });
}

int ExactSum::sign() const {
  if ((limb_.back() >> 63) != 0) return -1;
  return is_zero() ? 0 : 1;
}

namespace {

// A magnitude's leading bits from the highest one down, and whether anything lies below them.
struct Leading {
  UInt128 mant{};
  int exp{};
  bool sticky{};
};

template <std::size_t limbs>
Leading leading_bits(std::array<std::uint64_t, limbs> size, bool negative, int kept, int lowest) {
  std::uint64_t carry = 1;
  if (negative) {
    for (std::uint64_t& v : size) {
      v = ~v + carry;
      carry = carry != 0 && v == 0 ? 1 : 0;
    }
  }
  std::size_t top = limbs;
  while (top > 0 && size[top - 1] == 0) --top;
  if (top == 0) return {};
  const int length =
      static_cast<int>(top - 1) * 64 + static_cast<int>(std::bit_width(size[top - 1]));
  const int low = std::max(0, length - kept);
  Leading out{0, lowest + low, false};
  for (std::size_t i = 0; i < top; ++i) {
    const int at = static_cast<int>(i) * 64 - low;  // where this limb's bit 0 goes
    if (at <= -64) {
      out.sticky |= size[i] != 0;
    } else if (at < 0) {
      out.sticky |= (size[i] & ((std::uint64_t{1} << -at) - 1)) != 0;
      out.mant |= size[i] >> -at;
    } else {
      out.mant |= UInt128{size[i]} << at;
    }
  }
  return out;
}

}  // namespace

std::uint32_t ExactSum::round(Type t) const {
  const bool negative = sign() < 0;
  constexpr int kept = 126;
  const Leading bits = leading_bits(limb_, negative, kept, lowest);
  if (bits.mant == 0) return 0;
  const auto value = static_cast<Int128>(bits.mant);
  return round_to(t, negative ? -value : value, bits.exp, bits.sticky);
}

Dyadic ExactSum::to_odd(int bits) const {
  require(bits >= 2 && bits <= 62, "2..62 bits");
  const bool negative = sign() < 0;
  Leading lead = leading_bits(limb_, negative, bits, lowest);
  if (lead.mant == 0) return {};
  auto mant = static_cast<std::int64_t>(lead.mant);
  if (lead.sticky) {
    mant |= 1;
  } else {
    const int zeros = std::countr_zero(static_cast<std::uint64_t>(mant));
    mant >>= zeros, lead.exp += zeros;
  }
  return {negative ? -mant : mant, lead.exp};
}

}  // namespace w4
