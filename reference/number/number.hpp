// SPDX-License-Identifier: Apache-2.0
// Numbers by their bits: every word of every type decoded exactly, and one rounding back, in
// integers only.
#pragma once

#include <array>
#include <cstdint>

#include "reference/type.hpp"

namespace w4 {

__extension__ typedef __int128 Int128;  // what -Wpedantic lets through
__extension__ typedef unsigned __int128 UInt128;

// mant * 2^exp, exactly.
struct Dyadic {
  std::int64_t mant{};
  int exp{};
  friend bool operator==(const Dyadic&, const Dyadic&) = default;
};

enum class NumberKind : std::uint8_t { finite, infinite, nan };

struct Number {
  NumberKind kind{};
  bool negative{};  // the sign bit, so that -0 and -Inf are told from +0 and +Inf
  Dyadic value{};   // finite only; mant carries the sign
};

// The exact value of a word (low bits_of(type) bits) of any type but none. e4m3 is the OCP "fn"
// form: no infinity, NaN is 0x7f and 0xff.
Number decode(Type, std::uint32_t word);

// Nearest, ties to even; subnormals kept; overflow to infinity (e4m3: to NaN; integers saturate).
// An exact zero is +0; what underflows keeps its sign, as IEEE does. `sticky` says that a non-zero
// part below mant*2^exp was cut (towards zero, same sign). mant must then reach at least one bit
// below the last place of the result; Error(internal) if it does not.
std::uint32_t round_to(Type, Int128 mant, int exp, bool sticky = false);
inline std::uint32_t round_to(Type t, Dyadic d) {
  return round_to(t, d.mant, d.exp);
}

// The same towards zero (what overflows becomes the largest finite value). Only for models of wrong
// kernels and for tests.
std::uint32_t truncate_to(Type, Int128 mant, int exp);

double to_double(Type,
                 std::uint32_t word);  // exact for every type here; for people, tests and int paths
std::uint32_t from_double(
    Type, double);  // one rounding, as round_to; -0 kept; NaN gives nan_word, infinity inf_word

std::uint32_t nan_word(Type);  // quiet, sign clear; integers have none: 0
std::uint32_t inf_word(Type,
                       bool negative);  // e4m3: NaN of that sign; integers: the end of the range

bool is_nan(Type, std::uint32_t word);
bool is_inf(Type, std::uint32_t word);
// Equal bits, or zeros of either sign.
bool same_word(Type, std::uint32_t a, std::uint32_t b);
// a - b counted in representable values of the type (both not NaN); for messages.
std::int64_t ulps_between(Type, std::uint32_t a, std::uint32_t b);

// A fixed-point sum wide enough for any sum of up to 2^40 products of four f32 words: exact, in any
// order. Range: multiples of 2^lowest below 2^highest; asserted at compile time against the formats
// (number.cpp).
class ExactSum {
 public:
  static constexpr int lowest = -4 * 149 - 8, limbs = 20, highest = lowest + limbs * 64 - 1;
  void add(Int128 mant, int exp);   // += mant * 2^exp; Error(internal) outside the range
  std::uint32_t round(Type) const;  // one rounding
  // The sum cut to `bits` (2..62) significant bits, the lowest of them set if anything below was
  // cut (rounding to odd): one more rounding, to any type of at most bits - 2 significant bits,
  // gives what the exact sum gives, ties included. Exact sums that fit keep no trailing zeros.
  Dyadic to_odd(int bits) const;
  bool is_zero() const;
  int sign() const;  // -1, 0, 1
  friend bool operator==(const ExactSum&, const ExactSum&) = default;

 private:
  std::array<std::uint64_t, limbs> limb_{};  // two's complement, little endian
};

}  // namespace w4
